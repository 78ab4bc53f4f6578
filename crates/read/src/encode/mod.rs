//! From fields to coordinates: the columns of a row, and the record that is built from it.

pub(crate) mod calendar;
pub(crate) mod hash;
mod short;
mod step;
mod target;
mod value;

pub(crate) use short::Shorts;
pub(crate) use step::Step;
pub(crate) use target::number;
pub(crate) use value::{Missing, confusion, decimal, is_number, parse_number};

use crate::error::{Column, Fault};
use crate::reader::Sealed;
use crate::schema::{Layout, MissingTarget, SchemaSpec};
use hushstream_mechanism::losses::{Features, Record, Records};
use hushstream_mechanism::{OperatorOnly, Raw, RowDigest};
use short::TOGETHER;
use std::collections::HashMap;
use std::hint::black_box;
use std::ops::Range;
use std::sync::Arc;
use step::Scale;
use target::TargetEncoder;

/// Whole numbers from here on are not exact as floats.
const INEXACT: f64 = (1_u64 << 53) as f64;

/// Memory for so many records to come is kept.
const SPARES: usize = 64;

/// Columns that are read beside the features and the target.
#[derive(Clone, Copy, Default)]
pub(crate) struct Beside<'a> {
    pub(crate) person: Option<&'a str>,
    pub(crate) time: Option<&'a str>,
}

impl<'a> Beside<'a> {
    pub(crate) fn of(schema: &'a SchemaSpec) -> Self {
        Self {
            person: schema.person.as_deref(),
            time: schema.time.as_deref(),
        }
    }
}

/// The columns of a file by name, and what to do with each.
pub(crate) struct Columns {
    pub(crate) names: Vec<Arc<str>>,
    pub(crate) steps: Vec<Step>,
}

impl Columns {
    /// The columns of a file with these names. The target may be absent: new data has none.
    pub(crate) fn new(
        layout: &Layout,
        names: &[String],
        beside: Beside<'_>,
    ) -> Result<Self, Fault> {
        let missing = Missing::new(layout.missing());
        // Models of earlier versions hold names as their headers wrote them, with spaces.
        let mut members: HashMap<u32, u32> = HashMap::new();
        let mut columns: HashMap<&str, Step> = layout
            .columns()
            .map(|(column, first)| {
                let step = if layout.is_coded() {
                    let place = members.entry(first).or_default();
                    *place += 1;
                    Step::coded(&column.encoding, first, *place - 1, &missing)
                } else {
                    Step::new(&column.encoding, first, &missing)
                };
                (column.name.trim_ascii(), step)
            })
            .collect();
        let target = layout.target_column().map(str::trim_ascii);
        columns.extend(target.map(|name| (name, Step::Target)));
        columns.extend(beside.person.map(|name| (name, Step::Person)));
        columns.extend(beside.time.map(|name| (name, Step::Time)));
        let steps = names
            .iter()
            .map(|name| columns.remove(name.trim_ascii()).unwrap_or(Step::Skip))
            .collect();
        columns.remove(target.unwrap_or(""));
        if let Some(absent) = columns.keys().min() {
            return Err(Fault::NoSuchColumn {
                what: "the model's layout",
                name: (*absent).to_owned(),
                near: None,
            });
        }
        Ok(Self {
            names: names.iter().map(|name| Arc::from(&**name)).collect(),
            steps,
        })
    }

    /// No columns: of rows that are pairs of an index and a value.
    pub(crate) fn none() -> Self {
        Self {
            names: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// A column in a message, by its place in the header.
    pub(crate) fn numbered(field: usize) -> Column {
        Column::Field {
            number: field as u64 + 1,
            name: None,
        }
    }

    /// The same, with its name.
    pub(crate) fn column(&self, field: usize) -> Column {
        self.named(field, field)
    }

    /// A column in a message, by the byte `at` which its value stands, and its name.
    pub(crate) fn named(&self, at: usize, field: usize) -> Column {
        Column::Field {
            number: at as u64 + 1,
            name: self.names.get(field).cloned(),
        }
    }
}

/// Columns whose fields come by name and in any order.
pub(crate) struct Keyed {
    pub(crate) columns: Columns,
    places: HashMap<Arc<str>, usize>,
    /// In which row a column was given last.
    given: Vec<u64>,
    row: u64,
}

impl Keyed {
    pub(crate) fn new(columns: Columns) -> Self {
        Self {
            places: columns.names.iter().cloned().zip(0..).collect(),
            given: vec![0; columns.names.len()],
            row: 0,
            columns,
        }
    }

    /// Begins a row.
    pub(crate) fn begin(&mut self) {
        self.row += 1;
    }

    /// The place of a column.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Notes that the row gives this column; false if it has given it before.
    pub(crate) fn is_first(&mut self, field: usize) -> bool {
        std::mem::replace(&mut self.given[field], self.row) != self.row
    }

    /// The columns that the row has not given.
    pub(crate) fn absent(&self) -> impl Iterator<Item = usize> {
        let given = self.given.iter().enumerate();
        given.filter_map(|(field, row)| (*row != self.row).then_some(field))
    }
}

/// The requirements on targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Targets {
    /// A record needs one, or is null.
    Needed(MissingTarget),
    /// New data may have none.
    Welcome,
}

/// The scales of columns that are all numbers, in the order of their coordinates, before the
/// target: rows of such numbers are scaled without a look at every column.
pub(crate) struct Scales {
    /// Numbers of a row.
    count: usize,
    /// Those that fill whole lines; and the last so many numbers, however they lie.
    lines: Vec<Lines>,
    last: Lines,
    dimension: usize,
    intercept: Option<usize>,
    norm: Option<f64>,
}

impl Scales {
    /// How many records are made together, and how many numbers they may have, to stay in a
    /// processor's nearest cache.
    const MOST: usize = 64;
    const NEAR: usize = 1 << 12;

    /// How many records are made together.
    pub(crate) fn together(&self) -> usize {
        (Self::NEAR / self.dimension.max(1)).clamp(1, Self::MOST)
    }

    /// No records of such rows.
    pub(crate) fn no_records(&self) -> Records {
        Records::new(self.dimension)
    }

    /// The target of a row of so many numbers, and the others.
    fn split<'a>(&self, numbers: &'a [f64]) -> Option<(f64, &'a [f64])> {
        let (target, numbers) = numbers.split_last()?;
        (numbers.len() == self.count).then_some((*target, numbers))
    }

    /// Scales the numbers of a row; false, and the features are anything, if one is not finite.
    fn scale(&self, numbers: &[f64], features: &mut [f64]) -> bool {
        pulp::Arch::new().dispatch(Scaled {
            numbers,
            scales: self,
            features,
        })
    }

    /// Makes scaled rows what they will be: shortened to the norm if they are longer, and with an
    /// intercept. How many were longer.
    fn finish<'a>(&self, rows: impl Iterator<Item = &'a mut [f64]>) -> u64 {
        pulp::Arch::new().dispatch(Finished(self, rows))
    }

    /// The same for all records.
    pub(crate) fn finish_all(&self, records: &mut Records) -> u64 {
        self.finish(records.each_mut())
    }
}

/// A row of numbers on its way to the coordinates.
struct Scaled<'a> {
    numbers: &'a [f64],
    scales: &'a Scales,
    /// All coordinates, and perhaps some behind them: no number is for these, and they become 0.
    features: &'a mut [f64],
}

impl pulp::WithSimd for Scaled<'_> {
    /// Whether all numbers are finite.
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        let Self {
            numbers,
            scales,
            features,
        } = self;
        match features.last_chunk_mut() {
            Some(last) => *last = [0.0; TOGETHER],
            None => features.fill(0.0),
        }
        let features = &mut features[..numbers.len()];
        // Becomes NaN by a number that is not finite.
        let mut strange = [0.0; TOGETHER];
        // The last numbers lie in two lines, where some of them are scaled twice: that is less than
        // to copy those beyond the whole lines.
        if let Some(last) = numbers.last_chunk()
            && let Some(features) = features.last_chunk_mut()
        {
            scale(last, &scales.last, features, &mut strange);
        } else {
            let (mut last, mut scaled) = ([0.0; TOGETHER], [0.0; TOGETHER]);
            let absent = TOGETHER - numbers.len();
            last[absent..].copy_from_slice(numbers);
            scale(&last, &scales.last, &mut scaled, &mut strange);
            features.copy_from_slice(&scaled[absent..]);
        }
        let (numbers, features) = (numbers.as_chunks().0, features.as_chunks_mut().0);
        for (features, (numbers, lines)) in
            features.iter_mut().zip(numbers.iter().zip(&scales.lines))
        {
            scale(numbers, lines, features, &mut strange);
        }
        strange.iter().sum::<f64>().abs() <= 0.0
    }
}

/// Scaled rows that become what they will be. They do not wait for each other's roots and
/// quotients, as they would if each were made from its numbers to its end.
struct Finished<'a, I>(&'a Scales, I);

impl<'a, I: Iterator<Item = &'a mut [f64]>> pulp::WithSimd for Finished<'_, I> {
    /// How many were longer than the norm.
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> u64 {
        let Self(scales, rows) = self;
        let mut longer = 0;
        for features in rows {
            longer += u64::from(shorten(scales.norm, features, scales.dimension));
            if let Some(last) = scales.intercept {
                features[last] = 1.0;
            }
        }
        longer
    }
}

/// Scales numbers side by side.
#[inline(always)]
fn scale(
    numbers: &[f64; TOGETHER],
    lines: &Lines,
    features: &mut [f64; TOGETHER],
    strange: &mut [f64; TOGETHER],
) {
    *strange = std::array::from_fn(|i| strange[i] + numbers[i] * 0.0);
    *features = std::array::from_fn(|i| {
        let bounds = [lines.low[i], lines.high[i]];
        line(numbers[i], [lines.shift[i], lines.factor[i]], bounds)
    });
}

/// Coordinates that are shortened to the norm if they are longer; whether they were.
struct Shortened<'a>(Option<f64>, &'a mut [f64]);

impl pulp::WithSimd for Shortened<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> bool {
        shorten(self.0, self.1, self.1.len())
    }
}

/// Only zeros may be behind the coordinates.
#[inline(always)]
fn shorten(norm: Option<f64>, features: &mut [f64], dimension: usize) -> bool {
    let factor = shrink(norm, || squared_length(&features[..dimension]));
    if let Some(factor) = factor {
        let (lines, rest) = features.as_chunks_mut::<TOGETHER>();
        for line in lines {
            *line = line.map(|value| value * factor);
        }
        rest.iter_mut().for_each(|value| *value *= factor);
    }
    factor.is_some()
}

/// The columns of a table by how a row without quotes is read: numbers all together, indicators of
/// groups, and the others by their text.
pub(crate) struct ByKind {
    /// The scale of every number, and which fields are numbers or indicators: all bits, or none.
    lines: Vec<Lines>,
    needed: Vec<[u64; TOGETHER]>,
    /// Numbers side by side: their fields, and the coordinate of the first.
    runs: Vec<(Range<usize>, usize)>,
    /// Fields of indicators.
    marks: Vec<usize>,
    /// Fields that are read by their text.
    texts: Vec<usize>,
    /// A row's numbers, scaled.
    scaled: Vec<[f64; TOGETHER]>,
}

impl ByKind {
    pub(crate) fn new(steps: &[Step]) -> Self {
        let groups = steps.len().div_ceil(TOGETHER);
        let mut kinds = Self {
            lines: vec![Lines::default(); groups],
            needed: vec![[0; TOGETHER]; groups],
            runs: Vec::new(),
            marks: Vec::new(),
            texts: Vec::new(),
            scaled: vec![[0.0; TOGETHER]; groups],
        };
        for (field, step) in steps.iter().enumerate() {
            match step {
                Step::Skip => continue,
                Step::Number(scale) => {
                    kinds.lines[field / TOGETHER].set(field % TOGETHER, scale);
                    let slot = scale.slot as usize;
                    match kinds.runs.last_mut() {
                        Some((fields, first))
                            if fields.end == field && *first + fields.len() == slot =>
                        {
                            fields.end += 1;
                        }
                        _ => kinds.runs.push((field..field + 1, slot)),
                    }
                }
                Step::Mark { .. } => kinds.marks.push(field),
                _ => {
                    kinds.texts.push(field);
                    continue;
                }
            }
            kinds.needed.as_flattened_mut()[field] = u64::MAX;
        }
        kinds
    }

    /// Fields that are read by their text.
    pub(crate) fn texts(&self) -> &[usize] {
        &self.texts
    }

    /// Whether all numbers and indicators of a row are short decimals.
    fn are_short(&self, shorts: &Shorts) -> bool {
        let others = shorts.others().as_flattened().iter();
        let needed = self.needed.as_flattened();
        0 == others
            .zip(needed)
            .fold(0, |all, (other, needed)| all | other & needed)
    }
}

/// Scales of fields that are read together, side by side.
#[derive(Clone, Copy, Default)]
struct Lines {
    shift: [f64; TOGETHER],
    factor: [f64; TOGETHER],
    low: [f64; TOGETHER],
    high: [f64; TOGETHER],
}

impl Lines {
    fn set(&mut self, place: usize, scale: &Scale) {
        self.shift[place] = scale.shift;
        self.factor[place] = scale.factor;
        self.low[place] = scale.low;
        self.high[place] = scale.high;
    }
}

struct Scaling<'a> {
    values: &'a [[f64; TOGETHER]],
    lines: &'a [Lines],
    scaled: &'a mut [[f64; TOGETHER]],
}

impl pulp::WithSimd for Scaling<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let numbers = self.values.iter().zip(self.lines);
        for (scaled, (values, lines)) in self.scaled.iter_mut().zip(numbers) {
            let bounds = |i: usize| [lines.low[i], lines.high[i]];
            *scaled = std::array::from_fn(|i| {
                line(values[i], [lines.shift[i], lines.factor[i]], bounds(i))
            });
        }
    }
}

/// A row in the making, and what all rows have in common.
pub(crate) struct Builder {
    sparse: bool,
    dimension: usize,
    /// What the coordinates of a dense record are before their columns are read: NaN in a coded
    /// one.
    blanks: Vec<f64>,
    intercept: Option<usize>,
    /// The length to which features are scaled down, if they can be longer.
    norm: Option<f64>,
    target_encoder: TargetEncoder,
    missing: Missing,
    /// Whether a number can be a missing value.
    has_missing_numbers: bool,
    /// Whether persons are told apart.
    has_persons: bool,
    /// Whether rows have a time.
    pub(crate) has_times: bool,
    dense: Vec<f64>,
    entries: Vec<(u32, f64)>,
    /// Memory for the coordinates of records to come.
    spares: Vec<Vec<f64>>,
    /// The target, if there is one.
    pub(crate) target: Option<f64>,
    /// The person, if they are told apart.
    pub(crate) person: Option<u64>,
    /// The row's time, in seconds since 1970, if it can be read.
    pub(crate) time: Option<i64>,
    /// Whether the target of the row lies outside its bounds, and how many so far.
    pub(crate) target_was_clipped: bool,
    pub(crate) clipped_targets: u64,
    /// Records so far without a usable target, and malformed ones.
    pub(crate) nulls: u64,
    pub(crate) malformed: u64,
    /// Whether the last row was longer than the norm.
    was_longer: bool,
    /// Whether all coordinates of the row are what they will be.
    is_finished: bool,
    /// Whether rows are only checked: numbers are then read and not kept.
    pub(crate) only_checks: bool,
    /// Whether nothing but the time is read, of a row that is malformed.
    pub(crate) only_times: bool,
}

impl Builder {
    pub(crate) fn new(layout: &Layout, beside: Beside<'_>) -> Self {
        let missing = Missing::new(layout.missing());
        let blank = if layout.is_coded() { f64::NAN } else { 0.0 };
        let coordinates = if layout.is_sparse() {
            0
        } else {
            layout.dimension()
        };
        Self {
            sparse: layout.is_sparse(),
            dimension: layout.dimension(),
            blanks: vec![blank; coordinates],
            intercept: layout.intercept(),
            norm: layout.may_exceed_norm().then(|| layout.features_norm()),
            target_encoder: TargetEncoder::new(layout.target(), &missing),
            has_missing_numbers: missing.has_numbers(),
            missing,
            has_persons: beside.person.is_some(),
            has_times: beside.time.is_some(),
            dense: Vec::new(),
            entries: Vec::new(),
            spares: Vec::new(),
            target: None,
            person: None,
            time: None,
            target_was_clipped: false,
            clipped_targets: 0,
            nulls: 0,
            malformed: 0,
            was_longer: false,
            is_finished: false,
            only_checks: false,
            only_times: false,
        }
    }

    /// The scales of these columns, if all are numbers, each with its own coordinate, and the
    /// target comes last.
    pub(crate) fn scales(&self, steps: &[Step]) -> Option<Scales> {
        let (last, columns) = steps.split_last()?;
        let is_plain = matches!(last, Step::Target)
            && !self.sparse
            && !self.has_missing_numbers
            && columns.len() + usize::from(self.intercept.is_some()) == self.dimension;
        if !is_plain {
            return None;
        }
        let mut lines = vec![Lines::default(); columns.len() / TOGETHER];
        let mut last = Lines::default();
        for (place, step) in columns.iter().enumerate() {
            match step {
                Step::Number(scale) if scale.slot as usize == place => {
                    if let Some(lines) = lines.get_mut(place / TOGETHER) {
                        lines.set(place % TOGETHER, scale);
                    }
                    if let Some(place) = (place + TOGETHER).checked_sub(columns.len()) {
                        last.set(place, scale);
                    }
                }
                _ => return None,
            }
        }
        Some(Scales {
            count: columns.len(),
            lines,
            last,
            dimension: self.dimension,
            intercept: self.intercept,
            norm: self.norm,
        })
    }

    /// Reads a row of finite numbers and a target; nothing for a row that is none.
    pub(crate) fn scaled(
        &mut self,
        scales: &Scales,
        numbers: &[f64],
        targets: Targets,
    ) -> Option<Result<(), Fault>> {
        let (target, numbers) = scales.split(numbers)?;
        self.clear();
        if !scales.scale(numbers, &mut self.dense) {
            return None;
        }
        self.was_longer = scales.finish(std::iter::once(&mut self.dense[..])) > 0;
        self.is_finished = true;
        (self.target, self.person, self.target_was_clipped) = (None, None, false);
        let target = self.target_encoder.encode_number(target);
        Some(self.put_target(target, targets))
    }

    /// Adds the record of such a row, with a target that can be read, to be finished
    /// ([`Scales::finish_all`]); nothing for another row. Whether its target had to be clipped.
    pub(crate) fn push(
        &self,
        scales: &Scales,
        numbers: &[f64],
        records: &mut Records,
    ) -> Option<bool> {
        let (target, numbers) = scales.split(numbers)?;
        let (target, was_clipped) = self.target_encoder.encode_number(target).ok()?;
        records.push(|features| {
            let are_finite = scales.scale(numbers, features);
            are_finite.then_some((target, was_clipped))
        })
    }

    /// Begins a row.
    pub(crate) fn begin(&mut self) {
        if self.sparse {
            self.entries.clear();
        } else if !self.only_checks || self.dense.is_empty() {
            // Of a row that is only checked nothing is kept.
            self.clear();
        }
        self.target = self.target_encoder.is_none().then_some(0.0);
        self.is_finished = false;
        (self.person, self.time) = (None, None);
        self.target_was_clipped = false;
    }

    /// Makes all coordinates blank.
    fn clear(&mut self) {
        if self.dense.capacity() == 0 {
            self.dense = self.spares.pop().unwrap_or_default();
        }
        self.dense.clear();
        self.dense.extend_from_slice(&self.blanks);
    }

    /// Takes memory for a record to come.
    pub(crate) fn reuse(&mut self, mut spare: Vec<f64>) {
        if spare.capacity() >= self.dimension && self.spares.len() < SPARES {
            spare.clear();
            self.spares.push(spare);
        }
    }

    /// Sets a coordinate.
    pub(crate) fn put(&mut self, slot: u32, value: f64) {
        if !self.sparse {
            self.dense[slot as usize] = value;
        } else if value != 0.0 {
            self.entries.push((slot, value));
        }
    }

    fn put_number(&mut self, scale: &Scale, value: f64) {
        let bounds = [scale.low, scale.high];
        self.put(scale.slot, line(value, [scale.shift, scale.factor], bounds));
    }

    /// The parts of a date.
    fn put_date(&mut self, first: u32, is_coded: bool, field: &[u8]) -> Result<(), Fault> {
        let parts = calendar::parts(field).ok_or(Fault::NotADate)?;
        let mut slot = first;
        for (value, part) in parts.into_iter().zip(&calendar::PARTS) {
            match value {
                Some(value) if is_coded => self.put(slot, value.into()),
                Some(value) => self.put(slot + value, 1.0),
                None => {}
            }
            slot += if is_coded { 1 } else { part.count as u32 };
        }
        Ok(())
    }

    /// An indicator of a group.
    fn put_mark(&mut self, step: &Step, value: f64) {
        if let Step::Mark { slot, place } = step
            && value > 0.5
        {
            self.put(*slot, *place);
        }
    }

    /// Whether fields that are decimals are numbers, and nothing else is asked of them.
    pub(crate) fn reads_decimals(&self) -> bool {
        !self.has_missing_numbers && !self.only_times
    }

    /// Puts all numbers and indicators of a row in their places; false, and nothing is done, if
    /// some are no short decimals, or if the record is sparse.
    pub(crate) fn short_fields(
        &mut self,
        kinds: &mut ByKind,
        steps: &[Step],
        shorts: &Shorts,
    ) -> bool {
        if self.sparse || !self.reads_decimals() || !kinds.are_short(shorts) {
            return false;
        }
        if self.only_checks {
            return true;
        }
        pulp::Arch::new().dispatch(Scaling {
            values: shorts.values(),
            lines: &kinds.lines,
            scaled: &mut kinds.scaled,
        });
        for (fields, slot) in &kinds.runs {
            let scaled = &kinds.scaled.as_flattened()[fields.clone()];
            self.dense[*slot..*slot + scaled.len()].copy_from_slice(scaled);
        }
        for &field in &kinds.marks {
            self.put_mark(&steps[field], shorts.values().as_flattened()[field]);
        }
        true
    }

    /// A field of a row without quotes, which may be a short number.
    pub(crate) fn plain_field(
        &mut self,
        step: &Step,
        short: Option<f64>,
        text: &[u8],
        targets: Targets,
    ) -> Result<(), Fault> {
        if self.reads_decimals() {
            match step {
                Step::Number(scale) => {
                    if let Some(value) = short.or_else(|| decimal(text)) {
                        self.put_number(scale, value);
                        return Ok(());
                    }
                }
                Step::Mark { .. } => {
                    if let Some(value) = short.or_else(|| decimal(text)) {
                        self.put_mark(step, value);
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        self.field(step, text, targets)
    }

    /// A field that is a number already: as if it were written out. Whole numbers from 2⁵³ on lose
    /// digits on the way to a float, so they name no person: one person would have two names, that
    /// of the exact text elsewhere and this one, and contribute twice as often as was paid for.
    pub(crate) fn number(
        &mut self,
        step: &Step,
        value: f64,
        targets: Targets,
    ) -> Result<(), Fault> {
        match step {
            Step::Number(scale) if value.is_finite() && !self.has_missing_numbers => {
                self.put_number(scale, value);
                Ok(())
            }
            Step::Target if !self.has_missing_numbers => {
                let target = self.target_encoder.encode_number(value);
                self.put_target(target, targets)
            }
            Step::Person if value.abs() >= INEXACT => Err(Fault::InexactPerson),
            _ => self.field(step, value.to_string().as_bytes(), targets),
        }
    }

    /// A field that is there. White space around it is no part of it, in quotes or not.
    pub(crate) fn field(
        &mut self,
        step: &Step,
        field: &[u8],
        targets: Targets,
    ) -> Result<(), Fault> {
        let field = field.trim_ascii();
        match step {
            Step::Time => self.time = Some(calendar::seconds(field).ok_or(Fault::NotATime)?),
            Step::Skip => {}
            _ if self.only_times => {}
            Step::Number(scale) => match number(field, &self.missing)? {
                Some(value) => self.put_number(scale, value),
                None => self.put(scale.slot, scale.missing),
            },
            Step::Category {
                first,
                values,
                tally,
            } => match values.find(field) {
                Some(value) => {
                    tally.see(value);
                    self.put(first + value, 1.0);
                }
                None if self.missing.is(field) => {}
                None => tally.miss(),
            },
            Step::Hashed { first, mask } => {
                if !field.is_empty() && !self.missing.is_stated(field) {
                    self.put(first + (hash::murmur3(field, 0) & mask), 1.0);
                }
            }
            Step::Code {
                slot,
                values,
                tally,
            } => match values.find(field) {
                Some(value) => {
                    tally.see(value);
                    self.put(*slot, value.into());
                }
                None if self.missing.is(field) => {}
                None => tally.miss(),
            },
            Step::HashedCode { slot, mask } => {
                if !field.is_empty() && !self.missing.is_stated(field) {
                    self.put(*slot, (hash::murmur3(field, 0) & mask).into());
                }
            }
            Step::Date { first, is_coded } => {
                if !self.missing.is(field) {
                    self.put_date(*first, *is_coded, field)?;
                }
            }
            Step::Mark { .. } => {
                if let Some(value) = number(field, &self.missing)? {
                    self.put_mark(step, value);
                }
            }
            Step::Label(_) | Step::Arm(_) | Step::Outcome(_) | Step::Propensity { .. } => {
                match (self.feedback(step, field), targets) {
                    // A coordinate that is no number says nothing: an unknown label leaves all arms
                    // open.
                    (Err((first, _)), Targets::Needed(MissingTarget::Null)) => {
                        let open = match step {
                            Step::Label(arms) => arms.count,
                            _ => 1,
                        };
                        (first..first + open).for_each(|slot| self.put(slot, f64::NAN));
                    }
                    (Err((_, fault)), _) => return Err(fault),
                    (Ok(()), _) => {}
                }
            }
            Step::Target => self.set_target(field, targets)?,
            Step::Person => self.person = Some(hash::person(field)),
        }
        Ok(())
    }

    /// What a bandit learns from; a fault comes with the coordinate that it leaves open.
    fn feedback(&mut self, step: &Step, field: &[u8]) -> Result<(), (u32, Fault)> {
        match step {
            Step::Label(arms) => {
                let right = arms.find(field).map_err(|fault| (arms.first, fault))?;
                for arm in (0..arms.count).filter(|&arm| arm != right) {
                    self.put(arms.first + arm, 1.0);
                }
            }
            Step::Arm(arms) => {
                let played = arms.find(field).map_err(|fault| (arms.first, fault))?;
                self.put(arms.first + played, 1.0);
            }
            Step::Outcome(scale) => {
                let open = |fault| (scale.slot, fault);
                let value = number(field, &self.missing).map_err(open)?;
                self.put_number(scale, value.ok_or(open(Fault::MissingTarget))?);
            }
            Step::Propensity { slot } => match number(field, &self.missing) {
                Ok(Some(value)) if value > 0.0 && value <= 1.0 => self.put(*slot, value),
                _ => return Err((*slot, Fault::NotAPropensity)),
            },
            _ => {}
        }
        Ok(())
    }

    /// A field that is not there.
    pub(crate) fn missing(&mut self, step: &Step, targets: Targets) -> Result<(), Fault> {
        match step {
            Step::Number(scale) => {
                self.put(scale.slot, scale.missing);
                Ok(())
            }
            Step::Target
            | Step::Person
            | Step::Time
            | Step::Label(_)
            | Step::Arm(_)
            | Step::Outcome(_)
            | Step::Propensity { .. } => self.field(step, b"", targets),
            Step::Skip
            | Step::Category { .. }
            | Step::Hashed { .. }
            | Step::Date { .. }
            | Step::Code { .. }
            | Step::HashedCode { .. }
            | Step::Mark { .. } => Ok(()),
        }
    }

    pub(crate) fn set_target(&mut self, field: &[u8], targets: Targets) -> Result<(), Fault> {
        let target = self.target_encoder.encode(field);
        self.put_target(target, targets)
    }

    fn put_target(
        &mut self,
        target: Result<(f64, bool), Fault>,
        targets: Targets,
    ) -> Result<(), Fault> {
        match (target, targets) {
            (Ok((target, clipped)), _) => {
                self.target = Some(target);
                self.target_was_clipped = clipped;
            }
            (Err(_), Targets::Needed(MissingTarget::Null))
            | (Err(Fault::MissingTarget), Targets::Welcome) => {}
            (Err(fault), _) => return Err(fault),
        }
        Ok(())
    }

    /// Ends a row: its features, clipped, with the intercept.
    pub(crate) fn finish(&mut self) -> Features {
        if self.sparse {
            sort_and_add(&mut self.entries);
            let squares = || self.entries.iter().map(|(_, v)| v * v).sum();
            let factor = shrink(self.norm, squares);
            self.was_longer = factor.is_some();
            if let Some(factor) = factor {
                self.entries.iter_mut().for_each(|(_, v)| *v *= factor);
            }
            self.entries
                .extend(self.intercept.map(|last| (last as u32, 1.0)));
            return Features::Sparse(self.entries.clone());
        }
        if !self.is_finished {
            let shortened = Shortened(self.norm, &mut self.dense);
            self.was_longer = pulp::Arch::new().dispatch(shortened);
            if let Some(last) = self.intercept {
                self.dense[last] = 1.0;
            }
        }
        Features::Dense(std::mem::take(&mut self.dense))
    }

    /// Ends a row as a sealed record. A malformed row, and one without a target, gives an empty
    /// record, which no loss learns from: the round passes with nothing added.
    pub(crate) fn seal(&mut self, is_malformed: bool, digest: Option<RowDigest>) -> Sealed {
        if is_malformed {
            self.malformed += 1;
            self.target = None;
            // An empty record belongs to nobody: it must not use up what a person may contribute.
            self.person = self.has_persons.then(hash::nobody);
        } else {
            self.nulls += u64::from(self.target.is_none());
        }
        let record = match self.target {
            Some(target) => Record {
                features: self.finish(),
                target,
            },
            None => {
                self.was_longer = false;
                Record {
                    features: Features::Dense(Vec::new()),
                    target: f64::NAN,
                }
            }
        };
        Sealed {
            person: self.person,
            time: self.time,
            record: Raw::seal(record),
            was_longer: OperatorOnly::new(self.was_longer),
            digest,
            is_malformed: OperatorOnly::new(is_malformed),
            target_was_clipped: OperatorOnly::new(!is_malformed && self.target_was_clipped),
        }
    }
}

/// A number on its way to its coordinate: (value − shift)·factor within bounds; at a bound it is
/// the bound.
#[inline(always)]
fn line(value: f64, [shift, factor]: [f64; 2], [low, high]: [f64; 2]) -> f64 {
    // Minus zero becomes zero, also at a bound, which `clamp` would not do.
    let value = (value + 0.0 - shift) * factor;
    let above = if value > low { value } else { low };
    if above < high { above } else { high }
}

/// The factor that brings features down to their norm, if they are longer.
#[inline(always)]
fn shrink(norm: Option<f64>, squares: impl FnOnce() -> f64) -> Option<f64> {
    let norm = norm?;
    let squares = squares();
    (squares > norm * norm).then(|| norm / squares.sqrt())
}

/// In four lanes, because one addition has to wait for the other.
#[inline(always)]
fn squared_length(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value * value;
        }
    }
    // Or the compiler sees pairs in the last additions, and shuffles every number into them.
    let lanes = black_box(lanes);
    let rest: f64 = rest.iter().map(|value| value * value).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// Entries in the order of their coordinates; what falls on one coordinate is added.
fn sort_and_add(entries: &mut Vec<(u32, f64)>) {
    let increasing = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if increasing {
        return;
    }
    // A stable sort: sums must not depend on how the sort breaks ties.
    entries.sort_by_key(|&(slot, _)| slot);
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}
