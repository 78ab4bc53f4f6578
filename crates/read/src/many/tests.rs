//! Every shape of field, and both ways to read it.

use super::*;
use crate::number;

/// Random bytes of a small alphabet.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What every finder of delimiters finds in this row, and the coordinates, if all are plain numbers.
fn read(row: &str, behind: &str, most: usize) -> (usize, usize, Option<Vec<f64>>) {
    let room = format!("{row}{behind}");
    let scales = Scales::of([[0.0, 1.0, -1e9, 1e9]; MOST].into_iter());
    let found = read_by(Words, &scales, (room.as_bytes(), row.len()), most);
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        let by_vectors = read_by(v3, &scales, (room.as_bytes(), row.len()), most);
        assert_eq!(by_vectors, found, "{row}");
    }
    found
}

fn read_by<V: Vectors>(
    vectors: V,
    scales: &Scales,
    line: (&[u8], usize),
    most: usize,
) -> (usize, usize, Option<Vec<f64>>) {
    let mut fields = Fields::default();
    fields.find(vectors, line, 0, b',', most);
    let mut out = vec![0.0; fields.count];
    let plain = fields.decode(vectors, line.0, scales, 0, &mut out);
    let next = fields.behind(plain).unwrap_or(0);
    (plain, next, (plain == fields.count).then_some(out))
}

const BEHIND: &str =
    "\n9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9,9";

#[test]
fn fields_are_the_numbers_that_the_standard_library_reads() {
    let mut dice = Dice(7);
    let mut seen = [0; 2];
    for _ in 0..200_000 {
        let length = 1 + dice.below(8);
        let field: String = (0..length)
            .map(|_| char::from(b"0123456789.-"[dice.below(12) as usize]))
            .collect();
        let (plain, next, found) = read(&format!("{field},1"), BEHIND, MOST);
        let is_plain = found.is_some();
        let expected = if is_plain { field.len() + 1 } else { 0 };
        assert_eq!((plain, next), (usize::from(is_plain), expected));
        // Minus zero is zero here.
        let expected = number::parse(field.as_bytes()).map(|value| vec![value + 0.0]);
        assert_eq!(found, expected, "{field}");
        seen[usize::from(found.is_some())] += 1;
    }
    assert!(seen.iter().all(|&count| count > 10_000), "{seen:?}");
}

#[test]
fn every_byte_that_is_no_digit_is_seen() {
    for byte in 0..=127_u8 {
        if byte.is_ascii_digit() || [b'.', b'-', b','].contains(&byte) {
            continue;
        }
        for place in 0..8 {
            let mut field = *b"12345678";
            field[place] = byte;
            let field = std::str::from_utf8(&field).unwrap();
            assert_eq!(read(&format!("{field},1"), BEHIND, MOST).2, None, "{field}");
        }
    }
    assert_eq!(read("1é5,1", BEHIND, MOST).2, None);
}

#[test]
fn rows_of_many_fields_across_blocks_are_cut_where_they_end() {
    let mut dice = Dice(11);
    for _ in 0..20_000 {
        let numbers: Vec<String> = (0..1 + dice.below(70))
            .map(|_| {
                let cut = 10_u64.pow(dice.below(8) as u32);
                (dice.below(100_000_000) / cut).to_string()
            })
            .collect();
        let row = numbers.join(",");
        // The last has no delimiter behind it: what follows the row does not count.
        let plain = (numbers.len() - 1).min(MOST);
        let (count, next, found) = read(&row, BEHIND, MOST);
        assert_eq!(count, plain, "{row}");
        let taken: usize = numbers[..plain].iter().map(|text| text.len() + 1).sum();
        assert_eq!(next, taken);
        let expected: Vec<f64> = numbers[..plain]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        assert_eq!(found, Some(expected));
        let fewer = dice.below(5) as usize;
        assert_eq!(read(&row, BEHIND, fewer).0, fewer.min(plain));
    }
}

#[test]
fn what_is_too_long_or_empty_is_left_with_all_that_follow() {
    assert_eq!(read("1,123456789,3,", BEHIND, MOST).0, 1);
    assert_eq!(read("1,,3,", BEHIND, MOST).0, 1);
    assert_eq!(read(",1,", BEHIND, MOST).0, 0);
    let long = format!("1,2,{},3", "x".repeat(100));
    assert_eq!(read(&long, BEHIND, MOST).0, 2);
}

#[test]
fn coordinates_are_shifted_scaled_and_clipped() {
    let scales = Scales::of([[0.5, 2.0, -1.0, 1.0]; 3].into_iter());
    let mut fields = Fields::default();
    let row = b"0.25,7,-3,";
    let room = [&row[..], &[b'x'; 64]].concat();
    fields.find(Words, (&room, row.len()), 0, b',', MOST);
    let mut out = [0.0; 3];
    assert_eq!(fields.decode(Words, &room, &scales, 0, &mut out), 3);
    assert_eq!(out.to_vec(), vec![-0.5, 1.0, -1.0]);
}

/// What is known from the row before must never change what is read: rows of one layout, of layouts that differ in one delimiter, in windows of any length.
#[test]
fn rows_after_each_other_are_read_like_rows_alone() {
    let mut dice = Dice(13);
    let scales = Scales::of([[0.0, 1.0, -1e9, 1e9]; MOST].into_iter());
    let mut known = Fields::default();
    let mut same = 0;
    for round in 0..20_000 {
        let columns = [4, 30, MOST + 40][dice.below(3) as usize];
        // Rarely two digits where all others have one.
        let wide = dice.below(4 * columns as u64) as usize;
        let row: Vec<String> = (0..columns)
            .map(|i| (dice.below(10) + 10 * u64::from(i == wide)).to_string())
            .collect();
        let row = row.join(",");
        let room = format!(
            "{row}{}",
            &BEHIND[..dice.below(BEHIND.len() as u64) as usize]
        );
        let line = (room.as_bytes(), row.len());
        let (first, most) = (
            [0, 2][dice.below(2) as usize],
            [4, MOST][dice.below(2) as usize],
        );
        let mut alone = Fields::default();
        same += u64::from(known.question.length == row.len() && known.question.first == first);
        for fields in [&mut known, &mut alone] {
            fields.find(Words, line, first, b',', most);
        }
        assert_eq!(known.count, alone.count, "{round}");
        let mut out = [vec![0.0; known.count], vec![0.0; known.count]];
        let [known_out, alone_out] = &mut out;
        let plain = known.decode(Words, line.0, &scales, 0, known_out);
        assert_eq!(plain, alone.decode(Words, line.0, &scales, 0, alone_out));
        assert_eq!(known.behind(plain), alone.behind(plain));
        assert_eq!(known_out, alone_out, "{round}");
    }
    assert!(same > 2000, "{same}");
}

/// At the end of what was read there is less behind a row than is loaded with it: a copy is searched instead, also of a row with the marks of the one before.
#[test]
fn what_lies_behind_a_row_does_not_matter() {
    let row = "7,".repeat(31) + "8";
    let far = "x".repeat(REACH + 8);
    let mut fields = Fields::default();
    let scales = Scales::of([[0.0, 1.0, -1e9, 1e9]; MOST].into_iter());
    for (first, behind) in [
        (0, ""),
        (0, "\n"),
        (0, &far),
        (2, &far),
        (2, "\n9"),
        (2, ""),
    ] {
        let room = format!("{row}{behind}");
        fields.find(Words, (room.as_bytes(), row.len()), first, b',', MOST);
        let count = 31 - first / 2;
        let mut out = vec![0.0; count];
        let plain = fields.decode(Words, room.as_bytes(), &scales, 0, &mut out);
        assert_eq!((fields.count(), plain), (count, count));
        assert_eq!(out, vec![7.0; count]);
        assert_eq!(fields.behind(plain), Some(row.len() - 1));
    }
}

/// A row longer than what is searched: what lies beyond is left, wherever the last block cuts.
#[test]
fn fields_beyond_the_reach_are_left() {
    for width in 1..=8 {
        let field = "1234567"[..width - 1].to_owned() + "5,";
        let (row, fitting) = (field.repeat(200), (REACH / (width + 1)).min(MOST));
        let (plain, next, found) = read(&row, BEHIND, 200);
        assert_eq!((plain, next), (fitting, fitting * (width + 1)));
        assert!(
            found
                .is_some_and(|numbers| numbers.iter().all(|x| x.to_bits() == numbers[0].to_bits()))
        );
    }
}
