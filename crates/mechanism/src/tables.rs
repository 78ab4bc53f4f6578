//! Curves and tables: the features of a model that is not linear, and what a record adds to its
//! sums.
//!
//! **The map** x → φ is public. Every column is an *axis*. A number gives two neighbouring *hats*,
//! piecewise linear functions on equal knots between its bounds, which add up to 1; a category
//! gives the indicator of its value; a missing or unknown value an indicator of its own. Every
//! *table* is a tuple of axes, numbers cut into equal bins, and gives the indicator of the *cell*
//! that the record falls into (a record whose number is missing falls into none). All these are
//! ≥ 0. Hats are scaled to length √(1−α) together, cells to √(α/M) each, so ‖φ‖ ≤ 1. (For noise
//! that is bounded in L1: hats to Σ = 1−α, cells to α/M each.)
//!
//! **What a record adds**: r ⊗ φ, with r the residual of its prediction at the public weights,
//! clipped to length ρ; and, if features are counted, κρ·φ with a weight κ ≤ 1.
//!
//! **The proof, in integers.** Let q be the integers of φ and b those of r. The code checks q ≥ 0,
//! Σq² ≤ A² and Σb² ≤ B² (L1: Σq ≤ A, Σ|b| ≤ B) with A·B ≤ R, the radius of the plan, and adds
//! b ⊗ q and, if counted, K·q with K = ⌊κB⌋. For two records
//!
//! ‖b⊗q − b′⊗q′‖² + K²‖q − q′‖² = (‖b‖² + K²)‖q‖² + (‖b′‖² + K²)‖q′‖²
//! − 2(⟨b, b′⟩ + K²)⟨q, q′⟩.
//!
//! In the last term ⟨b, b′⟩ ≥ −B² and, here it matters that features are not negative,
//! 0 ≤ ⟨q, q′⟩ ≤ A². So it is at most 2(B² − K²)A², and the whole at most 2(B² + K²)A² +
//! 2(B² − K²)A² = 4A²B²: the distance is at most 2R, and **counts are free** under replace-one.
//! Against nothing (zero-out, or an empty record) it is √(‖b‖² + K²)·‖q‖ ≤ √(1 + κ²)·R. In L1 every
//! part counts by itself: 2(1 + κ)R and (1 + κ)R. Without counts κ = 0. Floats enter before the
//! check only. The residual depends on the record and on public weights, so the bounds hold for
//! every question, and adaptively. A question may have an *offset* behind its weights, which is
//! added to every score: it is public as they are, moves residuals before they are clipped, and so
//! changes nothing here.

use crate::lattice::{Norm, Outcome, integer};
use crate::losses::{Features, Record, class};
use crate::scoreboard::Scoreboard;
use crate::wide::wide;
use hushstream_account::ParameterError;
use serde::{Deserialize, Serialize};

/// One column of the records that a [`TableMap`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// A number, scaled to [−1, 1]; its curve has this many knots. NaN is a missing value.
    Number {
        /// Knots of its curve, at least 2.
        knots: u32,
        /// A second curve, for numbers with a long tail.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<LogScale>,
    },
    /// A category, by its place 0, 1, …; anything else is an unknown value.
    Category {
        /// Number of categories.
        values: u32,
    },
}

/// A curve on a scale that is logarithmic in the distance from an origin, on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LogScale {
    /// Its knots, at least 2.
    pub knots: u32,
    /// The origin, in [−1, 1].
    pub origin: f64,
}

impl LogScale {
    /// The place in [0, 1] of a number in [−1, 1]. The scale is linear within a thousandth of the
    /// range around the origin and logarithmic beyond, with straight lines between the powers of
    /// two: so no logarithm is computed.
    #[must_use]
    pub fn place(self, value: f64) -> f64 {
        let (low, factor) = self.range();
        ((self.scaled(value) - low) * factor).clamp(0.0, 1.0)
    }

    fn scaled(self, value: f64) -> f64 {
        scaled(value, self.origin)
    }

    /// The scaled lower bound, and the factor that makes the range 1.
    #[must_use]
    pub fn range(self) -> (f64, f64) {
        let (low, high) = (self.scaled(-1.0), self.scaled(1.0));
        (low, 1.0 / (high - low))
    }
}

/// The scale of a [`LogScale`] with this origin.
#[inline(always)]
fn scaled(value: f64, origin: f64) -> f64 {
    let distance = (value - origin) * 500.0;
    // Exponent and mantissa side by side: the logarithm to base 2 at its powers, a line between.
    let bits = (1.0 + distance.abs()).to_bits();
    let logarithm = bits.wrapping_sub(1.0_f64.to_bits()) as f64 / (1_u64 << 52) as f64;
    logarithm.copysign(distance)
}

impl Axis {
    /// Coordinates of its curve; the last is that of a missing or unknown value.
    fn width(self) -> u32 {
        match self {
            Self::Number { knots, log } => knots + 1 + log.map_or(0, |log| log.knots),
            Self::Category { values } => values + 1,
        }
    }
}

/// What a record's target is, and what its residual means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Response {
    /// ±1; the residual of the logistic loss, clipped to ±½.
    Sign,
    /// 0 … K − 1; the residuals of the softmax, shrunk together to length √½.
    Classes(usize),
    /// A number within ± this of 0; the residual as a share of it, clipped to ±1.
    Number(f64),
}

impl Response {
    /// Scores of a prediction.
    #[must_use]
    pub fn scores(self) -> usize {
        match self {
            Self::Classes(classes) => classes,
            Self::Sign | Self::Number(_) => 1,
        }
    }

    /// ρ: the length that residuals are clipped to.
    #[must_use]
    pub fn residual_bound(self) -> f64 {
        match self {
            Self::Sign => 0.5,
            Self::Classes(_) => std::f64::consts::FRAC_1_SQRT_2,
            Self::Number(_) => 1.0,
        }
    }

    /// Turns scores into residuals, before they are clipped; false for a target that is none.
    fn residuals(self, scores: &mut [f64], target: f64) -> bool {
        match self {
            Self::Sign => {
                let positive = f64::from(u8::from(target > 0.0));
                scores[0] = 1.0 / (1.0 + libm::exp(-scores[0])) - positive;
                target.is_finite()
            }
            Self::Number(half) => {
                // Not `clamp`, which panics for bounds that are none.
                scores[0] = (scores[0] - target.min(half).max(-half)) / half;
                target.is_finite()
            }
            Self::Classes(classes) => {
                let Some(own) = class(target, classes) else {
                    return false;
                };
                let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                scores
                    .iter_mut()
                    .for_each(|score| *score = libm::exp(*score - top));
                let total: f64 = scores.iter().sum();
                scores.iter_mut().for_each(|score| *score /= total);
                scores[own] -= 1.0;
                true
            }
        }
    }
}

/// Parameters of a [`TableMap`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableShape {
    /// The columns.
    pub axes: Vec<Axis>,
    /// Every table's axes, in increasing order; at most four each.
    pub tables: Vec<Vec<u32>>,
    /// Bins that a number is cut into. An offset of the table's own moves their edges, so a table
    /// has one bin more.
    pub bins: u32,
    /// α, the share of the squared length that belongs to tables; 0 without tables.
    pub share: f64,
    /// Whether lengths are L1, for Laplace noise, and not L2.
    pub l1: bool,
}

/// The public map from records to hats and cells.
///
/// ```
/// use hushstream_mechanism::losses::Features;
/// use hushstream_mechanism::{Axis, TableMap, TableShape};
///
/// let axes = vec![Axis::Number { knots: 3, log: None }, Axis::Category { values: 2 }];
/// let shape = TableShape { axes, tables: vec![vec![0, 1]], bins: 4, share: 0.5, l1: false };
/// let map = TableMap::new(shape)?;
/// assert_eq!((map.hats(), map.cells()), (4 + 3, 5 * 3));
///
/// // A weight for every coordinate: the score of a row is that of its curves and its cells.
/// let mut weights = vec![0.0; map.dimension()];
/// weights[0] = 2.0; // the first column at its lower bound
/// let row = Features::Dense(vec![-1.0, 1.0]);
/// let mut scores = [0.0];
/// map.add_scores(&row, &weights, &mut scores);
/// assert!((scores[0] - 2.0 * 0.5).abs() < 1e-12); // √(1−α) / √2
/// # Ok::<(), hushstream_account::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "TableShape", into = "TableShape")]
pub struct TableMap {
    shape: TableShape,
    /// First coordinate of every axis, and the end of the last.
    firsts: Vec<u32>,
    /// The curves, prepared for rows: one of every axis, then the logarithmic ones.
    curves: Curves,
    /// First coordinate of every table, and the end of the last.
    cells: Vec<u32>,
    /// The first axis of every table, the second, and so on; tables with fewer have strides of 0.
    places: Vec<Places>,
}

/// Curves, prepared for rows, column by column: there are vectors for what all of them do alike.
/// A category is a curve too, whose place is always on a knot.
#[derive(Debug, Clone, Default, PartialEq)]
struct Curves {
    /// Coordinate of the first knot, and the last knot but one: whole numbers.
    first: Vec<f64>,
    last: Vec<f64>,
    /// The place among the knots is value·span + shift.
    span: Vec<f64>,
    shift: Vec<f64>,
    /// Axes with categories, and how many.
    categories: Vec<(u32, u32)>,
    /// Axes with a logarithmic scale, its origin and its scaled lower bound.
    logs: Vec<u32>,
    origins: Vec<f64>,
    lows: Vec<f64>,
}

impl Curves {
    fn new(axes: &[Axis], firsts: &[u32]) -> Self {
        let mut curves = Self::default();
        for (axis, (&kind, &first)) in (0..).zip(axes.iter().zip(firsts)) {
            match kind {
                Axis::Number { knots, .. } => {
                    let half = f64::from(knots - 1) * 0.5;
                    curves.push(first, knots, (half, half));
                }
                Axis::Category { values } => {
                    curves.categories.push((axis, values));
                    curves.push(first, values + 1, (1.0, 0.0));
                }
            }
        }
        for (axis, (&kind, &first)) in (0..).zip(axes.iter().zip(firsts)) {
            if let Axis::Number {
                knots,
                log: Some(log),
            } = kind
            {
                let (low, factor) = log.range();
                curves.logs.push(axis);
                curves.origins.push(log.origin);
                curves.lows.push(low);
                let span = factor * f64::from(log.knots - 1);
                curves.push(first + knots + 1, log.knots, (span, 0.0));
            }
        }
        curves
    }

    fn push(&mut self, first: u32, knots: u32, (span, shift): (f64, f64)) {
        self.first.push(f64::from(first));
        self.last.push(f64::from(knots) - 2.0);
        self.span.push(span);
        self.shift.push(shift);
    }
}

/// One axis of every table: its bin is ⌊value·scale + shift⌋, and counts `stride` cells.
#[derive(Debug, Clone, Default, PartialEq)]
struct Places {
    axis: Vec<u32>,
    scale: Vec<f64>,
    shift: Vec<f64>,
    stride: Vec<u32>,
}

impl Places {
    fn push(&mut self, axis: u32, (scale, shift): (f64, f64), stride: u32) {
        self.axis.push(axis);
        self.scale.push(scale);
        self.shift.push(shift);
        self.stride.push(stride);
    }
}

/// The most coordinates that a map may have.
const MOST: u64 = 1 << 28;

impl TryFrom<TableShape> for TableMap {
    type Error = ParameterError;

    fn try_from(shape: TableShape) -> Result<Self, ParameterError> {
        Self::new(shape)
    }
}

impl From<TableMap> for TableShape {
    fn from(map: TableMap) -> Self {
        map.shape
    }
}

/// The offset of a table's bins along one of its axes: multiples of the golden ratio, spread evenly
/// over [0, 1) and known to everybody.
fn offset(table: usize, place: usize) -> f64 {
    // Away from 1, so that no value at its upper bound can round into a bin that there is not.
    ((4 * table + place + 1) as f64 * 0.618_033_988_749_894_9)
        .fract()
        .min(1.0 - 1e-6)
}

impl TableMap {
    /// The map of a shape.
    ///
    /// # Errors
    /// No axis; fewer than two knots, no category or no bin; a table with an axis that there is
    /// not; a share that does not fit; more than 2²⁸ coordinates.
    pub fn new(shape: TableShape) -> Result<Self, ParameterError> {
        let refuse =
            |parameter, given: f64, allowed| Err(ParameterError::new(parameter, given, allowed));
        if shape.axes.is_empty() {
            return refuse("axes", 0.0, "at least one column");
        }
        for axis in &shape.axes {
            match *axis {
                Axis::Number { knots, .. } if !(2..=1 << 16).contains(&knots) => {
                    return refuse("knots", knots.into(), "2 to 65536");
                }
                Axis::Number { log: Some(log), .. } if !(2..=1 << 16).contains(&log.knots) => {
                    return refuse("knots", log.knots.into(), "2 to 65536");
                }
                Axis::Number { log: Some(log), .. } if !(-1.0..=1.0).contains(&log.origin) => {
                    return refuse("origin of a logarithmic scale", log.origin, "-1 to 1");
                }
                Axis::Category { values } if !(1..=1 << 26).contains(&values) => {
                    return refuse("categories", values.into(), "1 to 2^26");
                }
                _ => {}
            }
        }
        if !(1..=1 << 10).contains(&shape.bins) {
            return refuse("bins", shape.bins.into(), "1 to 1024");
        }
        let has_tables = !shape.tables.is_empty();
        if !(shape.share >= 0.0 && shape.share < 1.0) || has_tables != (shape.share > 0.0) {
            let allowed = "above 0 and below 1 with tables, 0 without";
            return refuse("share of tables", shape.share, allowed);
        }
        let mut end = 0_u64;
        let mut next = |width: u64| {
            end = end.saturating_add(width).min(MOST + 1);
            end as u32
        };
        let mut firsts = vec![0];
        firsts.extend(shape.axes.iter().map(|axis| next(axis.width().into())));
        let arity = shape.tables.iter().map(Vec::len).max().unwrap_or(0);
        let (mut cells, mut places) = (vec![next(0)], vec![Places::default(); arity.min(4)]);
        for (number, table) in shape.tables.iter().enumerate() {
            let increasing = table.windows(2).all(|pair| pair[0] < pair[1]);
            let inside = table.iter().all(|&axis| (axis as usize) < shape.axes.len());
            if table.is_empty() || arity > 4 || !increasing || !inside {
                let allowed = "1 to 4 different columns in increasing order";
                return refuse("columns of a table", table.len() as f64, allowed);
            }
            let mut stride = 1_u64;
            for (place, &axis) in table.iter().enumerate() {
                let here = stride as u32;
                let (bins, scale, shift) = match shape.axes[axis as usize] {
                    Axis::Number { .. } => {
                        let half = f64::from(shape.bins) / 2.0;
                        (shape.bins + 1, half, half + offset(number, place))
                    }
                    Axis::Category { values } => (values + 1, 1.0, 0.0),
                };
                places[place].push(axis, (scale, shift), here);
                stride = stride.saturating_mul(bins.into()).min(MOST + 1);
            }
            for place in &mut places[table.len()..] {
                place.push(table[0], (0.0, 0.0), 0);
            }
            cells.push(next(stride));
        }
        if end > MOST {
            return refuse("coordinates", end as f64, "at most 2^28 hats and cells");
        }
        Ok(Self {
            curves: Curves::new(&shape.axes, &firsts),
            shape,
            firsts,
            cells,
            places,
        })
    }

    /// Its parameters.
    #[must_use]
    pub fn shape(&self) -> &TableShape {
        &self.shape
    }

    /// Coordinates of curves, which come first.
    #[must_use]
    pub fn hats(&self) -> usize {
        self.firsts.last().map_or(0, |&end| end as usize)
    }

    /// Coordinates of cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        self.dimension() - self.hats()
    }

    /// All coordinates.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.cells.last().map_or(0, |&end| end as usize)
    }

    /// Number of tables, M.
    #[must_use]
    pub fn tables(&self) -> usize {
        self.shape.tables.len()
    }

    /// The coordinates of an axis: those of its knots or categories, and the last for a missing or
    /// unknown value.
    #[must_use]
    pub fn curve(&self, axis: usize) -> std::ops::Range<usize> {
        self.firsts[axis] as usize..self.firsts[axis + 1] as usize
    }

    /// The coordinates of a table's cells; the first axis of the table runs fastest.
    #[must_use]
    pub fn table(&self, table: usize) -> std::ops::Range<usize> {
        self.cells[table] as usize..self.cells[table + 1] as usize
    }

    /// The edges of a table's bins along one of its axes, in [−1, 1], without the outermost two;
    /// none for a category.
    #[must_use]
    pub fn edges(&self, table: usize, place: usize) -> Vec<f64> {
        let places = &self.places[place];
        let (scale, shift) = (places.scale[table], places.shift[table]);
        match self.shape.axes[places.axis[table] as usize] {
            Axis::Number { .. } => (1..=self.shape.bins)
                .map(|bin| (f64::from(bin) - shift) / scale)
                .collect(),
            Axis::Category { .. } => Vec::new(),
        }
    }

    /// The weight of a cell in φ: √(α/M), or α/M in L1; 0 without tables.
    #[must_use]
    pub fn cell_length(&self) -> f64 {
        let share = self.shape.share / self.tables().max(1) as f64;
        if self.shape.l1 { share } else { share.sqrt() }
    }

    /// The L2 length of a record's hats, at most: √(1−α), or less in L1, where it is that of equal
    /// parts for every axis.
    #[must_use]
    pub fn hats_length(&self) -> f64 {
        let rest = 1.0 - self.shape.share;
        if self.shape.l1 {
            rest / (self.shape.axes.len() as f64).sqrt()
        } else {
            rest.sqrt()
        }
    }

    /// Adds a row's scores: ⟨w, hats⟩ + Σ of the weights of its cells. Weights lie coordinate by
    /// coordinate, the scores of one coordinate side by side; behind them there may be an offset of
    /// every score. A row that is none adds nothing.
    pub fn add_scores(&self, features: &Features, weights: &[f64], scores: &mut [f64]) {
        let mut expanded = Expanded::default();
        if self.expand(features, &mut expanded) {
            expanded.add_scores(weights, scores);
        }
    }

    /// Whether so many weights are those of so many scores, with their offsets or without.
    #[must_use]
    pub fn fits(&self, weights: usize, scores: usize) -> bool {
        let own = self.dimension().saturating_mul(scores);
        weights == own || weights.checked_sub(own) == Some(scores)
    }

    /// A row's coordinates, hats and cells, with what their weights count in its score. Nothing for
    /// a row that is none.
    #[must_use]
    pub fn coordinates(&self, features: &Features) -> Vec<(usize, f64)> {
        let mut expanded = Expanded::default();
        if !self.expand(features, &mut expanded) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (&left, pair) in expanded.left.iter().zip(&expanded.hats) {
            let hats = (left as usize..).zip(pair.map(|hat| hat * expanded.scale));
            found.extend(hats.filter(|&(_, hat)| hat > 0.0));
        }
        found.extend(expanded.cells.iter().map(|&i| (i as usize, 1.0)));
        found
    }

    /// The hats and cells of a row; false if it is none.
    pub(crate) fn expand(&self, features: &Features, out: &mut Expanded) -> bool {
        let axes = &self.shape.axes;
        let values = match features {
            Features::Dense(values) if values.len() == axes.len() => values,
            _ => return false,
        };
        let curves = &self.curves;
        out.dimension = self.dimension();
        out.codes.clear();
        out.codes
            .extend(values.iter().map(|value| value.clamp(-1.0, 1.0)));
        for &(axis, count) in &curves.categories {
            let value = values[axis as usize];
            let is_known = value >= 0.0 && value < f64::from(count);
            let code = if is_known { value as u32 } else { count };
            out.codes[axis as usize] = f64::from(code);
        }
        out.places.clear();
        out.places.extend(&out.codes);
        let tails = curves.logs.iter().map(|&axis| out.codes[axis as usize]);
        out.places.extend(tails);
        scale_tails(curves, &mut out.places[axes.len()..]);
        out.left.resize(curves.first.len(), 0);
        out.hats.resize(curves.first.len(), [0.0; 2]);
        let missing = find_hats(curves, &out.places, &mut out.left, &mut out.hats);
        let absent = if missing > 0 {
            self.mark_missing(out)
        } else {
            0
        };
        let rest = 1.0 - self.shape.share;
        out.scale = if self.shape.l1 {
            rest / (curves.first.len() - absent) as f64
        } else {
            (rest / squared_length(out.hats.as_flattened())).sqrt()
        };
        self.find_cells(out);
        if missing > 0 {
            self.leave_out(&out.codes, &mut out.cells);
        }
        true
    }

    /// Gives every missing number its own coordinate, and no place on a logarithmic scale; returns
    /// how many curves a row lacks.
    fn mark_missing(&self, out: &mut Expanded) -> usize {
        let axes = self.shape.axes.len();
        for (axis, code) in out.codes.iter().enumerate() {
            if let (Axis::Number { knots, .. }, true) = (self.shape.axes[axis], code.is_nan()) {
                // The last knot, and behind it the coordinate of a missing value.
                out.left[axis] = self.firsts[axis] + knots - 1;
                out.hats[axis] = [0.0, 1.0];
            }
        }
        let mut absent = 0;
        for (curve, &axis) in (axes..).zip(&self.curves.logs) {
            if out.codes[axis as usize].is_nan() {
                out.hats[curve] = [0.0; 2];
                absent += 1;
            }
        }
        absent
    }

    /// The cells of a row, one of every table.
    fn find_cells(&self, out: &mut Expanded) {
        out.cells.clear();
        if self.tables() == 0 {
            return;
        }
        out.cells.extend(&self.cells[..self.tables()]);
        // Up to 256 axes are found without a check of each.
        let mut few = [0.0; 256];
        let is_few = out.codes.len() <= few.len();
        if is_few {
            few[..out.codes.len()].copy_from_slice(&out.codes);
        }
        for places in &self.places {
            out.places.clear();
            let axes = places.axis.iter();
            if is_few {
                out.places
                    .extend(axes.map(|&axis| few[usize::from(axis as u8)]));
            } else {
                out.places
                    .extend(axes.map(|&axis| out.codes[axis as usize]));
            }
            add_bins(places, &out.places, &mut out.cells);
        }
    }

    /// Leaves out the cells of tables with a missing number.
    fn leave_out(&self, codes: &[f64], cells: &mut Vec<u32>) {
        let mut table = 0;
        cells.retain(|_| {
            table += 1;
            let axes = &self.shape.tables[table - 1];
            axes.iter().all(|&axis| !codes[axis as usize].is_nan())
        });
    }
}

/// A row's hats and cells. As private as the row.
#[derive(Default)]
pub(crate) struct Expanded {
    /// Of the map.
    dimension: usize,
    /// Of every curve the left one of its two hats, which lie side by side.
    left: Vec<u32>,
    /// Their weights, before scaling: they add up to 1, or are 0 where a value is missing.
    hats: Vec<[f64; 2]>,
    /// What hats are scaled by.
    scale: f64,
    cells: Vec<u32>,
    codes: Vec<f64>,
    /// The values of all curves, then those of an axis of all tables.
    places: Vec<f64>,
}

impl Expanded {
    pub(crate) fn add_scores(&self, weights: &[f64], scores: &mut [f64]) {
        let count = scores.len();
        if let [score] = scores {
            *score += score_at(self, weights);
            return;
        }
        let offsets = weights.get(self.dimension * count..).unwrap_or_default();
        let pairs = scores.iter_mut().zip(offsets);
        pairs.for_each(|(score, offset)| *score += offset);
        for (&left, hats) in self.left.iter().zip(&self.hats) {
            let [low, high] = hats.map(|hat| hat * self.scale);
            let (lower, upper) = weights[left as usize * count..][..2 * count].split_at(count);
            for ((score, lower), upper) in scores.iter_mut().zip(lower).zip(upper) {
                *score += low * lower + high * upper;
            }
        }
        for &cell in &self.cells {
            let own = &weights[cell as usize * count..][..count];
            let pairs = scores.iter_mut().zip(own);
            pairs.for_each(|(score, weight)| *score += weight);
        }
    }

    /// The score at every one of these weights, of one score each: hats and cells are looked up
    /// once. In lanes, because one addition has to wait for the other.
    #[inline(always)]
    fn scores_at<const N: usize>(&self, weights: [&[f64]; N]) -> [f64; N] {
        // Known to be of one length: a place is looked for once.
        let length = weights.first().map_or(0, |weights| weights.len());
        let weights = weights.map(|weights| &weights[..length]);
        let (left, last_left) = self.left.as_chunks::<2>();
        let (hats, last_hats) = self.hats.as_chunks::<2>();
        let (mut even, mut odd) = ([[0.0; 2]; N], [[0.0; 2]; N]);
        let add = |lanes: &mut [[f64; 2]; N], left: u32, hats: [f64; 2]| {
            for (lanes, weights) in lanes.iter_mut().zip(weights) {
                let own = &weights[two(left)];
                *lanes = [lanes[0] + hats[0] * own[0], lanes[1] + hats[1] * own[1]];
            }
        };
        for (left, hats) in left.iter().zip(hats) {
            add(&mut even, left[0], hats[0]);
            add(&mut odd, left[1], hats[1]);
        }
        if let ([left], [hats]) = (last_left, last_hats) {
            add(&mut even, *left, *hats);
        }
        let (fours, last_cells) = self.cells.as_chunks::<4>();
        let (mut lanes, mut rest) = ([[0.0; N]; 4], [0.0; N]);
        let add = |sums: &mut [f64; N], cell: u32| {
            for (sum, weights) in sums.iter_mut().zip(weights) {
                *sum += weights[cell as usize];
            }
        };
        for four in fours {
            for (lane, &cell) in lanes.iter_mut().zip(four) {
                add(lane, cell);
            }
        }
        last_cells.iter().for_each(|&cell| add(&mut rest, cell));
        std::array::from_fn(|n| {
            let ([even, odd], [a, b, c, d]) = ([even[n], odd[n]], lanes.map(|lane| lane[n]));
            let hats = (even[0] + even[1]) + (odd[0] + odd[1]);
            let offset = weights[n].get(self.dimension).copied().unwrap_or(0.0);
            hats * self.scale + ((a + b) + (c + d) + rest[n]) + offset
        })
    }
}

/// The places of two hats side by side.
#[inline(always)]
fn two(left: u32) -> std::ops::Range<usize> {
    left as usize..left as usize + 2
}

wide! {
    /// Takes values to their places on logarithmic scales, above the lower bound.
    fn scale_tails<'a>(curves: &'a Curves, tails: &'a mut [f64]) -> () {
        let scales = curves.origins.iter().zip(&curves.lows);
        for (tail, (&origin, low)) in tails.iter_mut().zip(scales) {
            *tail = scaled(*tail, origin) - low;
        }
    }

    /// The two hats around every place; returns 0 if none is missing.
    fn find_hats<'a>(
        curves: &'a Curves,
        places: &'a [f64],
        left: &'a mut [u32],
        hats: &'a mut [[f64; 2]],
    ) -> u64 {
        let scales = curves.span.iter().zip(&curves.shift);
        let knots = curves.first.iter().zip(&curves.last);
        let rows = left.iter_mut().zip(hats);
        let mut missing = 0;
        for (((place, (span, shift)), (first, last)), (left, hats)) in
            places.iter().zip(scales).zip(knots).zip(rows)
        {
            missing |= u64::from(place.is_nan());
            let place = place * span + shift;
            // What is not a number is at 0. All in floats: there are vectors for that.
            let knot = if place > 0.0 { place.trunc() } else { 0.0 };
            let knot = if knot < *last { knot } else { *last };
            let high = (place - knot).clamp(0.0, 1.0);
            *left = whole(first + knot);
            *hats = [1.0 - high, high];
        }
        missing
    }

    /// Moves every table's cell by the bin of one of its axes.
    fn add_bins<'a>(places: &'a Places, codes: &'a [f64], cells: &'a mut [u32]) -> () {
        let scales = places.scale.iter().zip(&places.shift).zip(&places.stride);
        for ((cell, code), ((scale, shift), stride)) in cells.iter_mut().zip(codes).zip(scales) {
            // At least 0; the cast makes 0 of what is missing.
            let bin = (code * scale + shift) as i32;
            *cell = cell.wrapping_add(bin.cast_unsigned().wrapping_mul(*stride));
        }
    }

    /// The score at these weights, of one score.
    fn score_at<'a>(expanded: &'a Expanded, weights: &'a [f64]) -> f64 {
        expanded.scores_at([weights])[0]
    }

    /// The scores at two kinds of weights.
    fn scores_at_both<'a>(expanded: &'a Expanded, weights: [&'a [f64]; 2]) -> [f64; 2] {
        expanded.scores_at(weights)
    }

    /// Adds the products of q with two factors to two totals of one number per coordinate: what
    /// most rows do, and both are found by one look at a place. All of them fit 32 bits, whose
    /// products vectors know.
    fn add_both<'a>(
        integers: &'a Integers,
        expanded: &'a Expanded,
        factors: [i32; 2],
        totals: [&'a mut [i64]; 2],
    ) -> () {
        let [first, second] = totals;
        // Known to be of one length.
        let second = &mut second[..first.len()];
        let [a, b] = factors.map(i64::from);
        let small = |q: i64| i64::from(q as i32);
        for (&left, &[low, high]) in expanded.left.iter().zip(&integers.hats) {
            let (low, high) = (small(low), small(high));
            let own = &mut first[two(left)];
            own[0] = own[0].wrapping_add(low.wrapping_mul(a));
            own[1] = own[1].wrapping_add(high.wrapping_mul(a));
            let own = &mut second[two(left)];
            own[0] = own[0].wrapping_add(low.wrapping_mul(b));
            own[1] = own[1].wrapping_add(high.wrapping_mul(b));
        }
        let [a, b] = [a, b].map(|factor| factor.wrapping_mul(integers.cell));
        for &cell in &expanded.cells {
            let cell = cell as usize;
            first[cell] = first[cell].wrapping_add(a);
            second[cell] = second[cell].wrapping_add(b);
        }
    }

    /// In four lanes.
    fn squared_length<'a>(values: &'a [f64]) -> f64 {
        let (chunks, rest) = values.as_chunks::<4>();
        let mut lanes = [0.0; 4];
        for chunk in chunks {
            for (lane, value) in lanes.iter_mut().zip(chunk) {
                *lane += value * value;
            }
        }
        let rest: f64 = rest.iter().map(|value| value * value).sum();
        (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
    }

    /// Writes the integers of hats. Tells whether none is negative or above `most`, and their
    /// length is within the limit: what is proved is proved here, whatever the floats were.
    fn quantise<'a>(
        hats: &'a [f64],
        scale: f64,
        norm: Norm,
        most: i64,
        limit: u64,
        out: &'a mut [i64],
    ) -> bool {
        let (mut signs, mut low, mut high) = (0, 0_u64, 0_u64);
        for (out, hat) in out.iter_mut().zip(hats) {
            *out = integer(hat * scale);
            // Negative if either is.
            signs |= *out | most.wrapping_sub(*out);
            // Below 2³², or it does not count.
            let size = out.cast_unsigned() & 0xffff_ffff;
            let term = match norm {
                Norm::L1 => size,
                Norm::L2 => size.wrapping_mul(size),
            };
            // By halves of 32 bits: fewer than 2³² terms do not wrap.
            low = low.wrapping_add(term & 0xffff_ffff);
            high = high.wrapping_add(term >> 32);
        }
        signs >= 0 && (u128::from(high) << 32) + u128::from(low) <= u128::from(limit)
    }
}

/// A whole number that is not negative and below 2³², as an integer: the last digits of a float
/// near 2⁵² count ones. (A cast asks of each float whether it fits.)
#[inline(always)]
fn whole(value: f64) -> u32 {
    const ONES: f64 = (1_u64 << 52) as f64;
    (value + ONES).to_bits() as u32
}

/// Forms what records add to a sum, in integers. It holds memory that records share.
pub(crate) struct TableForm {
    norm: Norm,
    /// A and B.
    features: i64,
    residual: i64,
    /// What all features of a record may take, A² or, in L1, A; and what one cell takes of it.
    whole: u64,
    taken: u64,
    counted: bool,
    /// K, the integer by which features are counted.
    count: i64,
    expanded: Expanded,
    scores: Vec<f64>,
    integers: Integers,
    residuals: Vec<i64>,
}

/// q: the integers of a record's hats and of every cell.
struct Integers {
    hats: Vec<[i64; 2]>,
    cell: i64,
}

/// The most steps that a residual is cut into, and a feature: squares of the latter fit 60 bits.
/// (No radius asks for more: it is at most 2⁴⁰.)
const RESIDUAL_STEPS: i64 = 1 << 10;
const MOST_FEATURES: i64 = 1 << 30;

impl TableForm {
    /// For contributions of integer radius R.
    /// Counts weigh so many sixteenths of residuals.
    pub(crate) fn new(map: &TableMap, response: Response, sixteenths: u8, radius: i64) -> Self {
        // Whatever the split, A·B ≤ R.
        let residual = (radius.isqrt() / 4).clamp(1, RESIDUAL_STEPS);
        let features = (radius / residual).min(MOST_FEATURES);
        let norm = if map.shape.l1 { Norm::L1 } else { Norm::L2 };
        let cell = (features as f64 * map.cell_length()) as i64;
        let (a, c) = (features as u64, cell as u64);
        let (whole, taken) = match norm {
            Norm::L2 => (a * a, c * c),
            Norm::L1 => (a, c),
        };
        Self {
            norm,
            features,
            residual,
            whole,
            taken,
            counted: sixteenths > 0,
            count: residual * i64::from(sixteenths.min(16)) / 16,
            expanded: Expanded::default(),
            scores: vec![0.0; response.scores()],
            integers: Integers {
                hats: Vec::new(),
                cell,
            },
            residuals: Vec::new(),
        }
    }

    /// Adds a record's integers to `total`: residuals coordinate by coordinate, then counts. The
    /// board, if there is one, first scores the record with the published weights.
    pub(crate) fn add(
        &mut self,
        map: &TableMap,
        response: Response,
        weights: &[f64],
        record: &Record,
        board: Option<(&mut Scoreboard, &[f64])>,
        total: Option<&mut [i64]>,
    ) -> Outcome {
        let count = response.scores();
        let (dimension, blocks) = (map.dimension(), count + usize::from(self.counted));
        let is_row = map.expand(&record.features, &mut self.expanded);
        let fits = |weights: &[f64]| is_row && count == 1 && map.fits(weights.len(), 1);
        let mut known = None;
        match board {
            Some((board, published)) if fits(weights) && weights.len() == published.len() => {
                let [own, other] = scores_at_both(&self.expanded, [weights, published]);
                board.note_score(record, other);
                known = Some(own);
            }
            Some((board, published)) => {
                let expanded = is_row.then_some(&self.expanded);
                board.score_expanded(record, expanded, published);
            }
            None => {}
        }
        let is_fit = is_row && map.fits(weights.len(), count);
        let total = total.filter(|total| is_fit && total.len() == blocks * dimension);
        let Some(total) = total else {
            return Outcome::Null;
        };
        self.scores.fill(known.unwrap_or(0.0));
        if known.is_none() {
            self.expanded.add_scores(weights, &mut self.scores);
        }
        let Some(clipped) = self.quantise_residuals(response, record.target) else {
            return Outcome::Null;
        };
        if !self.quantise_hats() {
            return Outcome::Null;
        }
        let (sums, counts) = total.split_at_mut(count * dimension);
        let (integers, expanded) = (&self.integers, &self.expanded);
        match (&self.residuals[..], self.counted) {
            (&[residual], true) => {
                // Both are checked to be at most B, which is 2¹⁰ or less.
                let factors = [residual as i32, self.count as i32];
                add_both(integers, expanded, factors, [sums, counts]);
            }
            (residuals, is_counted) => {
                integers.add_products(expanded, residuals, sums);
                if is_counted {
                    integers.add_products(expanded, &[self.count], counts);
                }
            }
        }
        if clipped {
            Outcome::Clipped
        } else {
            Outcome::Kept
        }
    }

    /// b, checked; whether it was clipped. Nothing if the record has no residual.
    fn quantise_residuals(&mut self, response: Response, target: f64) -> Option<bool> {
        if !response.residuals(&mut self.scores, target) {
            return None;
        }
        let values = self.scores.iter();
        let length = match self.norm {
            Norm::L2 => values.map(|r| r * r).sum::<f64>().sqrt(),
            Norm::L1 => values.map(|r| r.abs()).sum(),
        };
        let bound = response.residual_bound();
        let clipped = length > bound;
        let scale = self.residual as f64 / if clipped { length } else { bound };
        let most = i128::from(self.residual);
        // A single residual is rounded to the nearest integer: clipped, it cannot exceed B.
        let is_single = self.scores.len() == 1;
        self.residuals.clear();
        let mut sum = 0_i128;
        for value in &self.scores {
            let scaled = value * scale;
            if scaled.is_nan() {
                return None;
            }
            let integer = if is_single {
                scaled.round_ties_even()
            } else {
                scaled
            } as i64;
            let size = i128::from(integer).abs();
            if size > most {
                return None;
            }
            sum += match self.norm {
                Norm::L2 => size * size,
                Norm::L1 => size,
            };
            self.residuals.push(integer);
        }
        let limit = match self.norm {
            Norm::L2 => most * most,
            Norm::L1 => most,
        };
        (sum <= limit).then_some(clipped)
    }

    /// q of the hats, checked: not negative, and no more than what this record's cells leave.
    fn quantise_hats(&mut self) -> bool {
        let (expanded, hats) = (&self.expanded, &mut self.integers.hats);
        let cells = self.taken.saturating_mul(expanded.cells.len() as u64);
        let Some(left) = self.whole.checked_sub(cells) else {
            return false;
        };
        hats.resize(expanded.hats.len(), [0; 2]);
        let (values, integers) = (expanded.hats.as_flattened(), hats.as_flattened_mut());
        [1.0, 1.0 - 1e-6].into_iter().any(|shrink| {
            let scale = expanded.scale * self.features as f64 * shrink;
            quantise(values, scale, self.norm, self.features, left, integers)
        })
    }
}

impl Integers {
    /// Adds every factor's product with q, coordinate by coordinate. A plan keeps sums of products
    /// within A·B below 2⁶¹, so nothing wraps, here and above.
    fn add_products(&self, expanded: &Expanded, factors: &[i64], total: &mut [i64]) {
        let Expanded { left, cells, .. } = expanded;
        let count = factors.len();
        let add = |own: &mut [i64], value: i64| {
            for (own, factor) in own.iter_mut().zip(factors) {
                *own = own.wrapping_add(factor.wrapping_mul(value));
            }
        };
        for (&left, hats) in left.iter().zip(&self.hats) {
            let own = total[left as usize * count..][..2 * count].chunks_exact_mut(count);
            own.zip(hats).for_each(|(own, hat)| add(own, *hat));
        }
        for &cell in cells {
            add(&mut total[cell as usize * count..][..count], self.cell);
        }
    }
}

#[cfg(test)]
mod tests;
