//! Rows of a table without quotes: where fields end, and whether all of them are decimals.
//!
//! Bytes are sorted sixteen at a time into separators, digits, points and minus signs, one bit
//! each. A search from one field to the next would have to wait for each to end. A check reads
//! nothing more of a row of decimals: sums and shifts of these bits tell whether every field is
//! one. Together with [`Shorts`](crate::encode::Shorts) this halves the time of a run on a table of
//! numbers.

/// Bytes that are looked at together: one bit each.
const BLOCK: usize = 64;
/// A decimal that is no longer is finite.
const FINITE: usize = 300;

/// The fields of a row.
pub(super) struct Fields {
    separator: u8,
    /// Where each ends; as many as there are columns.
    ends: Vec<usize>,
    found: usize,
}

/// What a row is.
#[derive(Debug, PartialEq)]
pub(super) enum Kind {
    /// It has quotes, and was not cut into fields.
    Quoted,
    /// It has more fields than columns: the first of those begins here.
    Long(usize),
    /// It has no more fields than columns.
    Fields,
    /// The same, and every field is a finite decimal: found only if it was asked for.
    Decimals,
}

impl Fields {
    pub(super) fn new(columns: usize, separator: u8) -> Self {
        Self {
            separator,
            ends: vec![0; columns],
            found: 0,
        }
    }

    /// Where the fields of the last row end.
    pub(super) fn ends(&self) -> &[usize] {
        &self.ends[..self.found]
    }

    /// The place of a field.
    pub(super) fn place(&self, field: usize) -> std::ops::Range<usize> {
        let before = field.checked_sub(1).map(|before| self.ends[before] + 1);
        before.unwrap_or(0)..self.ends[field]
    }

    /// Cuts a row into fields.
    pub(super) fn cut(&mut self, line: &[u8]) -> Kind {
        self.find::<false>(line)
    }

    /// The same, and looks whether all of them are decimals.
    pub(super) fn check(&mut self, line: &[u8]) -> Kind {
        self.find::<true>(line)
    }

    #[inline(always)]
    fn find<const CHECKS: bool>(&mut self, line: &[u8]) -> Kind {
        let (blocks, rest) = line.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        let (columns, mut slots) = (self.ends.len(), self.ends.iter_mut());
        let (mut begin, mut longest, mut too_many) = (0, 0, None);
        let (mut quotes, mut shapes) = (0, Shapes::new());
        let mut base = 0;
        for block in blocks.iter().chain([&last]) {
            let marks = Marks::new::<CHECKS>(block, self.separator);
            quotes |= marks.quotes;
            let is_last = line.len() - base < BLOCK;
            // A row ends as its fields do.
            let end = u64::from(is_last) << (rest.len() & (BLOCK - 1));
            let inside = if is_last {
                end.wrapping_sub(1)
            } else {
                u64::MAX
            };
            if CHECKS {
                shapes.look(&marks, end, inside);
            }
            let mut ends = (marks.ends & inside) | end;
            while ends != 0 {
                let at = base + ends.trailing_zeros() as usize;
                ends &= ends - 1;
                let Some(slot) = slots.next() else {
                    too_many = too_many.or(Some(begin));
                    break;
                };
                *slot = at;
                longest = longest.max(at - begin);
                begin = at + 1;
            }
            base += BLOCK;
        }
        self.found = columns - slots.len();
        match too_many {
            _ if quotes != 0 => Kind::Quoted,
            Some(at) => Kind::Long(at),
            None if CHECKS && shapes.are_decimals() && longest <= FINITE => Kind::Decimals,
            None => Kind::Fields,
        }
    }
}

/// Whether fields are decimals, block after block: digits, at least one, with perhaps a minus
/// before them and a point among them.
struct Shapes {
    /// Whether the next block begins with a field, with what follows a minus, with what follows a
    /// point that begins a number, or among the decimals behind a point: one bit each.
    begins: u64,
    signed: u64,
    pointed: u64,
    fraction: u64,
    /// A bit for every byte that is wrong.
    wrong: u64,
}

impl Shapes {
    fn new() -> Self {
        Self {
            begins: 1,
            signed: 0,
            pointed: 0,
            fraction: 0,
            wrong: 0,
        }
    }

    fn are_decimals(&self) -> bool {
        self.wrong == 0
    }

    /// The next block, of which these bytes are inside the row; the last block has its end.
    #[inline(always)]
    fn look(&mut self, marks: &Marks, end: u64, inside: u64) {
        let ends = (marks.ends & inside) | end;
        let within = inside & !ends;
        let (digits, points) = (marks.digits & within, marks.points & within);
        let signs = marks.signs & within;
        // Other bytes.
        let mut wrong = within & !(digits | points | signs);
        // A minus anywhere but at the beginning.
        let begins = ends << 1 | self.begins;
        wrong |= signs & !begins;
        // Numbers that end where they begin, and points that begin a number and no digit follows.
        let numbers = (begins & !signs) | signs << 1 | self.signed;
        let pointed = numbers & points;
        wrong |= numbers & ends | (pointed << 1 | self.pointed) & !digits;
        // Adding the place behind a point carries over all digits that follow, to what ends them:
        // not another point.
        let (sum, carries) = digits.overflowing_add(points << 1 | self.fraction);
        wrong |= sum & !digits & points;
        // What follows the row does not count.
        self.wrong |= wrong & (inside | end);
        self.begins = ends >> (BLOCK - 1);
        self.signed = signs >> (BLOCK - 1);
        self.pointed = pointed >> (BLOCK - 1);
        self.fraction = u64::from(carries) | points >> (BLOCK - 1);
    }
}

/// What the bytes of a block are: one bit each. Without a check, the last three are not looked for.
#[derive(Debug, Default, PartialEq)]
struct Marks {
    ends: u64,
    quotes: u64,
    digits: u64,
    points: u64,
    signs: u64,
}

impl Marks {
    #[inline(always)]
    fn new<const CHECKS: bool>(block: &[u8; BLOCK], separator: u8) -> Self {
        let mut marks = Self::default();
        let (sixteens, _) = block.as_chunks::<16>();
        for (bytes, shift) in sixteens.iter().zip([0, 16, 32, 48]) {
            let [ends, quotes, digits, points, signs] = kinds::<CHECKS>(bytes, separator);
            marks.ends |= u64::from(ends) << shift;
            marks.quotes |= u64::from(quotes);
            marks.digits |= u64::from(digits) << shift;
            marks.points |= u64::from(points) << shift;
            marks.signs |= u64::from(signs) << shift;
        }
        marks
    }
}

/// A bit for every byte that is the separator, a quote, a digit, a point, or a minus.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn kinds<const CHECKS: bool>(bytes: &[u8; 16], separator: u8) -> [u16; 5] {
    // Every processor of this kind has it.
    let Some(simd) = pulp::core_arch::x86::Sse2::try_new() else {
        return kinds_one_by_one::<CHECKS>(bytes, separator);
    };
    let bytes = pulp::cast(*bytes);
    let all = |byte: u8| simd._mm_set1_epi8(byte.cast_signed());
    let is = |byte: u8| simd._mm_movemask_epi8(simd._mm_cmpeq_epi8(bytes, all(byte))) as u16;
    let (ends, quotes) = (is(separator), is(b'"'));
    if !CHECKS {
        return [ends, quotes, 0, 0, 0];
    }
    let value = simd._mm_sub_epi8(bytes, all(b'0'));
    let digits = simd._mm_cmpeq_epi8(simd._mm_min_epu8(value, all(9)), value);
    let digits = simd._mm_movemask_epi8(digits) as u16;
    [ends, quotes, digits, is(b'.'), is(b'-')]
}

#[cfg(not(target_arch = "x86_64"))]
fn kinds<const CHECKS: bool>(bytes: &[u8; 16], separator: u8) -> [u16; 5] {
    kinds_one_by_one::<CHECKS>(bytes, separator)
}

fn kinds_one_by_one<const CHECKS: bool>(bytes: &[u8; 16], separator: u8) -> [u16; 5] {
    let is = |kind: &dyn Fn(u8) -> bool| {
        let bits = bytes.iter().zip(0..);
        bits.fold(0, |all, (byte, bit)| all | u16::from(kind(*byte)) << bit)
    };
    let (ends, quotes) = (is(&|byte| byte == separator), is(&|byte| byte == b'"'));
    if !CHECKS {
        return [ends, quotes, 0, 0, 0];
    }
    let digits = is(&|byte| byte.is_ascii_digit());
    let (points, signs) = (is(&|byte| byte == b'.'), is(&|byte| byte == b'-'));
    [ends, quotes, digits, points, signs]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::parse_number;
    use proptest::prelude::*;

    /// By a walk over bytes: a decimal without an exponent or a plus, whose value is finite.
    fn is_decimal(field: &[u8]) -> bool {
        let is_plain = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-');
        let number = parse_number(field).filter(|number| number.is_finite());
        number.is_some() && field.iter().all(is_plain) && field.len() <= FINITE
    }

    fn check_line(line: &[u8], columns: usize) {
        let walk: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
        let mut fields = Fields::new(columns, b',');
        let (cut, checked) = (fields.cut(line), fields.check(line));
        let expected = if line.contains(&b'"') {
            Kind::Quoted
        } else if walk.len() > columns {
            let before: usize = walk[..columns].iter().map(|field| field.len() + 1).sum();
            Kind::Long(before)
        } else {
            Kind::Fields
        };
        assert_eq!(cut, expected);
        if expected == Kind::Fields && walk.iter().all(|field| is_decimal(field)) {
            assert_eq!(checked, Kind::Decimals, "{}", line.escape_ascii());
        } else {
            assert_eq!(checked, expected, "{}", line.escape_ascii());
        }
        if expected == Kind::Fields {
            assert_eq!(fields.ends().len(), walk.len());
            for (number, field) in walk.iter().enumerate() {
                assert_eq!(&line[fields.place(number)], *field);
            }
        }
    }

    fn decimal() -> impl Strategy<Value = String> {
        prop_oneof![
            8 => "-?[0-9]{1,6}(\\.[0-9]{0,6})?",
            2 => "-?\\.[0-9]{1,9}",
            1 => "-?[0-9]{20,70}(\\.[0-9]{0,70})?",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn fields_are_those_of_a_walk(
            line in prop::collection::vec(
                prop_oneof![
                    4 => Just(b','), 2 => Just(b'.'), 2 => Just(b'-'), 12 => b'0'..=b'9',
                    1 => any::<u8>(),
                ],
                0..300,
            ),
            columns in 1_usize..80,
        ) {
            check_line(&line, columns);
            if let Some(sixteen) = line.first_chunk() {
                prop_assert_eq!(kinds::<true>(sixteen, b','), kinds_one_by_one::<true>(sixteen, b','));
                prop_assert_eq!(
                    kinds::<false>(sixteen, b','),
                    kinds_one_by_one::<false>(sixteen, b',')
                );
            }
        }

        /// Rows of decimals, whole and with one byte changed.
        #[test]
        fn decimals_are_told_from_what_is_none(
            fields in prop::collection::vec(decimal(), 1..60),
            at: prop::sample::Index,
            byte in prop_oneof![Just(b'.'), Just(b'-'), Just(b','), Just(b'e'), any::<u8>()],
        ) {
            let mut line = fields.join(",").into_bytes();
            check_line(&line, 64);
            let at = at.index(line.len());
            line[at] = byte;
            check_line(&line, 64);
            check_line(&line[..at], 64);
        }
    }

    /// Every place of a fault, across the edges of blocks.
    #[test]
    fn faults_are_seen_wherever_they_stand() {
        for wrong in [
            "", "-", ".", "-.", "1.2.3", "--1", "1-", ".-1", "+1", "1e5", " 1", ".1.", "é",
        ] {
            for right in ["1", "-1", "1.", ".1", "-.1", "-1.5", "0.1234"] {
                for before in 0..140 {
                    let padding = "7".repeat(before);
                    let check = |line: String| check_line(line.as_bytes(), 9);
                    check(format!("{padding},{wrong},{right}"));
                    check(format!("{padding},{right},{wrong}"));
                    check(format!("{padding},{right}"));
                    check(format!("{right},{padding}.{padding}"));
                    check(format!("{right},{padding}.{padding}."));
                }
            }
        }
        for length in [FINITE, FINITE + 1, 400] {
            check_line("9".repeat(length).as_bytes(), 1);
        }
    }
}
