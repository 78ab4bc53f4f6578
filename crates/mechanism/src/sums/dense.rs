//! The strategy with the least error of all, for up to 1,024 releases: a whole triangle of
//! coefficients, chosen for a [`Workload`] (`dense/optimum.rs`).
//!
//! **As implemented.** C is lower triangular with coefficients c_ts/2ᵖ, integers c_ts. Row t is
//!
//! Y_t = ⌊Σ_{s ≤ t} c_ts·x_s / 2ᵖ⌋ + z_t,
//!
//! with one fresh z_t for each row: *rows* are noised, not prefixes. Items are kept, exactly, and
//! are as private as the records. Release t is Σ_{s ≤ t} b_ts·Y_s with B = A·C⁻¹, in floats.
//! (Adding Σ b_ts·z_s to an exact prefix would not be private at all: with dyadic b, differences of
//! releases would show items modulo powers of two.)
//!
//! **Claim.** Gaussian differential privacy with μ = (sens·Δ + √(n·d))/2³⁰, where Δ is the distance
//! of two neighbouring items, sens the longest column of C, and d the number of coordinates.
//!
//! **Proof for this code path.** Fix what was released before; then two neighbouring runs agree in
//! all items but one, x_s, because everything else is a function of releases. Rows before s agree.
//! In row t ≥ s the sums differ by c_ts·Δx/2ᵖ, where Δx is the difference of that item. For real
//! numbers a and b, |(⌊a⌋ − ⌊b⌋) − (a − b)| < 1: coordinate for coordinate, row t shifts by
//! c_ts·Δx/2ᵖ and less than 1. Over all rows and coordinates, by the triangle inequality,
//!
//! ‖shift‖ ≤ ‖(c_ts/2ᵖ)_t‖·‖Δx‖ + √(n·d) ≤ sens·Δ + √(n·d),
//!
//! whatever the stream answers to earlier releases. The squares of columns are added up in
//! integers, Σ_t c_ts² ≤ 2¹⁰·2⁴⁰ < 2⁵³, which a float holds exactly; the square root is rounded up.
//! z_t is round(2³⁰·N(0,1)) on integers, hence post-processing of Gaussian noise, and the bound
//! holds on every path, so the whole transcript has this μ (Denisov et al. 2022; because rows are
//! rounded, by the fully adaptive composition of Gaussian mechanisms, Smith and Thakurta 2022).
//! What follows sees noisy rows only. ∎
//!
//! **No overflow.** Items are at most X = batch·R in every coordinate, which the lattice and
//! `restore` check, and p is the largest number of bits, up to 20, for which X·Σ_s|c_ts| < 2⁶² in
//! every row. Noise adds less than 2³⁵. The plan is refused if that needs p < 8.
//!
//! **Persons with up to k items**, any two at least b apart, and several passes: let g(m) be the
//! largest |⟨C_i, C_j⟩| of two columns with |i − j| ≥ m, in integers. The l-th and the j-th of a
//! person's items are at least b·|l − j| apart, and differences of items have inner products of at
//! most Δ², so ‖Σ_j C_{i_j}·Δx_j‖² ≤ Δ²·Σ_{l,j} g(b·|l − j|) = sens²·Δ². That holds for any pattern
//! and needs no sign. Floors still move a row's coordinate by less than 1, however many items
//! differ. (For k = 1 it is g(0), the longest column.) After the loss of a journal a person's
//! passes are spread over several instances: Σ_{l,j} over k₁ + k₂ + … items without the pairs of
//! different instances, all of which are positive. ∎
//!
//! **State.** All items and all noisy rows: 2n vectors. That, and n²/2 products for each
//! coordinate, is why it ends at 1,024.

mod optimum;
mod workload;

pub use workload::Workload;

use super::Strategy;
use super::SumKind;
use super::blt::BltError;
use super::cover::{Draws, Noise};
use super::error::SumError;
use super::plan::{PlanError, SumPlan, SumRequest};
use super::running::{Running, State, StateError};
use super::strategy::{About, Streams, SumStrategy};
use crate::persons::Participation;
use hushstream_account::ParameterError;
use optimum::Optimum;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The most releases.
pub(crate) const MOST_RELEASES: u64 = 1 << 10;
/// p at most and at least.
const BITS: u32 = 20;
const LEAST_BITS: u32 = 8;

/// A triangle of coefficients. It is written as its integers, so that a resumed run has the same.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub(crate) struct Dense {
    workload: Workload,
    bits: u32,
    triangle: Arc<Triangle>,
}

/// C and B, row by row.
struct Triangle {
    /// c_ts.
    strategy: Vec<Vec<i32>>,
    /// g(0), g(1), …, g(n − 1) in units of 2⁻²ᵖ, computed when needed.
    nearness: OnceLock<Vec<u64>>,
    /// b_ts.
    decode: Vec<Vec<f64>>,
}

/// What a file holds.
#[derive(Serialize, Deserialize)]
struct Written {
    workload: Workload,
    bits: u32,
    /// One row after the other.
    coefficients: Vec<i32>,
}

pub(crate) const ABOUT: About = About {
    refuses: |noise| {
        noise
            .is_pure()
            .then_some("its rows are real-weighted, so it needs Gaussian noise and delta > 0")
    },
    most_releases: MOST_RELEASES,
    ..About::any_noise("dense")
};

impl Dense {
    /// The best for n ≤ 1,024 releases.
    pub(super) fn best(workload: Workload, releases: u64) -> Result<Self, PlanError> {
        if let Workload::Decay(gamma) = workload
            && !(1..=1000).contains(&gamma)
        {
            return Err(ParameterError::new("thousandths of decay", gamma, "1 to 1000").into());
        }
        let one = f64::from(1_u32 << BITS);
        let exact = Optimum::of(workload, releases as usize).strategy();
        let nearest = |row: &Vec<f64>| row.iter().map(|c| (c * one).round() as i32).collect();
        Self::new(workload, BITS, exact.iter().map(nearest).collect()).ok_or(PlanError::Stored)
    }

    /// `None` unless every coefficient is at most 1 and the diagonal is positive.
    fn new(workload: Workload, bits: u32, strategy: Vec<Vec<i32>>) -> Option<Self> {
        let one = 1_u32 << bits.min(BITS);
        let sound = (LEAST_BITS..=BITS).contains(&bits)
            && strategy.iter().flatten().all(|c| c.unsigned_abs() <= one)
            && strategy
                .iter()
                .all(|row| row.last().is_some_and(|&c| c > 0));
        sound.then(|| Self {
            workload,
            bits,
            triangle: Arc::new(Triangle {
                decode: decode(&strategy, f64::from(one)),
                strategy,
                nearness: OnceLock::new(),
            }),
        })
    }

    fn releases(&self) -> usize {
        self.triangle.strategy.len()
    }

    /// Whether no row can overflow if no item exceeds this.
    fn holds(&self, item: u128) -> bool {
        let sum = |row: &Vec<i32>| row.iter().map(|c| u128::from(c.unsigned_abs())).sum();
        let most: u128 = self.triangle.strategy.iter().map(sum).max().unwrap_or(0);
        most.checked_mul(item).is_some_and(|reach| reach < 1 << 62)
    }

    /// b_ts of release t.
    fn decode(&self, t: u64) -> &[f64] {
        &self.triangle.decode[t as usize - 1]
    }
}

impl Triangle {
    /// The largest square of a column.
    fn longest(&self) -> u64 {
        let mut squares = vec![0; self.strategy.len()];
        for row in &self.strategy {
            for (square, c) in squares.iter_mut().zip(row) {
                *square += u64::from(c.unsigned_abs()).pow(2);
            }
        }
        squares.into_iter().max().unwrap_or(0)
    }

    /// g(0), g(1), …
    fn nearness(&self) -> Vec<u64> {
        let n = self.strategy.len();
        let mut products: Vec<Vec<i64>> = (0..n).map(|j| vec![0; j + 1]).collect();
        for row in &self.strategy {
            let row: Vec<i64> = row.iter().copied().map(i64::from).collect();
            for (j, products) in products.iter_mut().enumerate().take(row.len()) {
                add_multiple(products, row[j], &row[..=j]);
            }
        }
        let mut nearness = vec![0; n];
        for (j, products) in products.iter().enumerate() {
            for (i, product) in products.iter().enumerate() {
                let most = &mut nearness[j - i];
                *most = product.unsigned_abs().max(*most);
            }
        }
        // Of all that are at least so far apart.
        for apart in (1..n).rev() {
            nearness[apart - 1] = nearness[apart].max(nearness[apart - 1]);
        }
        nearness
    }
}

/// B = A·C⁻¹: row t is the row before it, and row t of C⁻¹.
fn decode(strategy: &[Vec<i32>], one: f64) -> Vec<Vec<f64>> {
    let mut rows: Vec<Vec<f64>> = Vec::with_capacity(strategy.len());
    for t in 0..strategy.len() {
        let mut inverse = vec![0.0; t + 1];
        inverse[t] = one;
        for u in (0..=t).rev() {
            let (left, coefficients) = (&mut inverse[..=u], &strategy[u]);
            let value = left[u] / f64::from(coefficients[u]);
            left[u] = value;
            for (left, c) in left[..u].iter_mut().zip(coefficients) {
                *left -= value * f64::from(*c);
            }
        }
        for (inverse, before) in inverse.iter_mut().zip(rows.last().into_iter().flatten()) {
            *inverse += before;
        }
        rows.push(inverse);
    }
    rows
}

impl From<Dense> for Written {
    fn from(dense: Dense) -> Self {
        Self {
            workload: dense.workload,
            bits: dense.bits,
            coefficients: dense.triangle.strategy.concat(),
        }
    }
}

impl TryFrom<Written> for Dense {
    type Error = PlanError;

    fn try_from(written: Written) -> Result<Self, PlanError> {
        let (mut rows, mut left) = (Vec::new(), &written.coefficients[..]);
        while !left.is_empty() {
            let (row, rest) = left
                .split_at_checked(rows.len() + 1)
                .ok_or(PlanError::Stored)?;
            rows.push(row.to_vec());
            left = rest;
        }
        let fits = (1..=MOST_RELEASES as usize).contains(&rows.len());
        let dense = fits.then(|| Self::new(written.workload, written.bits, rows));
        dense.flatten().ok_or(PlanError::Stored)
    }
}

impl PartialEq for Dense {
    fn eq(&self, other: &Self) -> bool {
        (self.workload, self.bits) == (other.workload, other.bits)
            && self.triangle.strategy == other.triangle.strategy
    }
}

impl fmt::Debug for Dense {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dense")
            .field("workload", &self.workload)
            .field("bits", &self.bits)
            .field("releases", &self.releases())
            .finish_non_exhaustive()
    }
}

impl SumPlan {
    /// The strategy matrix of a dense sum, row by row up to the diagonal; `None` for other sums.
    /// Public: it depends on no data.
    #[must_use]
    pub fn dense_rows(&self) -> Option<Vec<Vec<f64>>> {
        let Strategy::Dense(dense) = &self.fields.strategy else {
            return None;
        };
        let one = f64::from(1_u32 << dense.bits);
        let exact = |row: &Vec<i32>| row.iter().map(|&c| f64::from(c) / one).collect();
        Some(dense.triangle.strategy.iter().map(exact).collect())
    }
}

impl SumStrategy for Dense {
    fn name(&self) -> String {
        format!(
            "dense optimum for {} releases, workload {}",
            self.releases(),
            self.workload
        )
    }

    fn citation(&self, _: Noise) -> (&'static str, &'static [&'static str]) {
        (
            "Denisov et al. 2022, optimal strategies and Theorem 2.1; with rounded rows, Smith and \
             Thakurta 2022",
            &[],
        )
    }

    fn fits(&self, kind: SumKind, releases: u64) -> bool {
        kind == SumKind::Dense(self.workload) && self.releases() as u64 == releases
    }

    fn levels(&self, _: u64, _: u32) -> Option<u32> {
        None
    }

    fn sensitivity(
        &self,
        _: Noise,
        releases: u64,
        _: u32,
        participation: Participation,
    ) -> Result<f64, BltError> {
        let (most, separation) = participation.limits();
        let square = if most == 1 {
            u128::from(self.triangle.longest())
        } else {
            let nearness = self
                .triangle
                .nearness
                .get_or_init(|| self.triangle.nearness());
            let count = most.min(releases.div_ceil(separation));
            let pairs = (0..count).zip(nearness.iter().step_by(separation as usize));
            pairs
                .map(|(apart, &g)| {
                    let pairs = if apart == 0 {
                        count
                    } else {
                        2 * (count - apart)
                    };
                    u128::from(pairs) * u128::from(g)
                })
                .sum()
        };
        // Exact below 2⁵³, and to nearest above.
        let norm = (square as f64).next_up().sqrt().next_up();
        Ok(norm / f64::from(1_u32 << self.bits))
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        self.decode(t).iter().map(|b| b * b).sum()
    }

    fn combined_variance(&self, weights: &[f64]) -> Option<f64> {
        let mut of_rows = vec![0.0; weights.len().min(self.releases())];
        for (row, weight) in self.triangle.decode.iter().zip(weights) {
            for (sum, b) in of_rows.iter_mut().zip(row) {
                *sum += weight * b;
            }
        }
        Some(of_rows.iter().map(|sum| sum * sum).sum())
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        let all = 1..=releases;
        all.map(|t| self.variance(t, releases)).fold(0.0, f64::max)
    }

    fn vectors(&self, releases: u64) -> u64 {
        2 * releases + 5
    }

    /// Every row depends on the first item.
    fn draws_of_a_person(&self, releases: u64, _: f64) -> f64 {
        releases as f64
    }

    fn keeps_items(&self) -> bool {
        true
    }

    /// Rows keep no sums: `laid_out` leaves room for them.
    fn exact_items(&self, _: u64) -> u64 {
        1
    }

    /// With as many bits as rows of the plan's items have room for, and of items twice as large:
    /// shorter coefficients may be a little smaller, and leave the plan a larger radius.
    fn laid_out(&self, plan: &SumPlan, _: f64) -> Result<Option<Strategy>, PlanError> {
        let item = plan.largest_item();
        for bits in (LEAST_BITS..=self.bits).rev() {
            let shift = self.bits - bits;
            let half = (1 << shift) >> 1;
            let shorter = |row: &Vec<i32>| row.iter().map(|c| (c + half) >> shift).collect();
            let rows = self.triangle.strategy.iter().map(shorter).collect();
            match Self::new(self.workload, bits, rows) {
                Some(dense) if dense.holds(2 * item) => return Ok(Some(Strategy::Dense(dense))),
                _ => {}
            }
        }
        Err(PlanError::Overflow {
            releases: plan.request().releases,
            batch: plan.request().batch,
            radius: plan.radius(),
        })
    }

    /// Less than one for each row and coordinate.
    fn inflation(&self, request: &SumRequest, _: u32) -> f64 {
        (request.releases as f64 * f64::from(request.dimension))
            .sqrt()
            .next_up()
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        let item = plan.largest_item();
        if !self.holds(item) {
            return Err(PlanError::Stored.into());
        }
        let largest = i64::try_from(item).map_err(|_| PlanError::Stored)?;
        let (draws, unit) = (streams.draws(Streams::MAIN)?, plan.lattice(0)?.unit());
        Ok(Box::new(Rows::new(self.clone(), draws, largest, unit)))
    }
}

/// The running mechanism.
pub(crate) struct Rows {
    dense: Dense,
    draws: Draws,
    largest: i64,
    unit: f64,
    /// All items, exactly.
    items: Vec<Vec<i64>>,
    /// All noisy rows: public.
    noisy: Vec<Vec<f64>>,
    row: Vec<i64>,
}

impl Rows {
    pub(crate) fn new(dense: Dense, draws: Draws, largest: i64, unit: f64) -> Self {
        Self {
            row: vec![0; draws.dimension()],
            dense,
            draws,
            largest,
            unit,
            items: Vec::new(),
            noisy: Vec::new(),
        }
    }
}

impl Running for Rows {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        assert_eq!(
            t,
            self.items.len() as u64 + 1,
            "items come one after the other"
        );
        let largest = self.largest.unsigned_abs();
        let fits = item.iter().all(|x| x.unsigned_abs() <= largest);
        assert!(fits, "the plan's lattice bounds every item");
        self.items.push(item.to_vec());
        self.row.fill(0);
        for (c, item) in self.dense.triangle.strategy[t as usize - 1]
            .iter()
            .zip(&self.items)
        {
            add_multiple(&mut self.row, i64::from(*c), item);
        }
        let (noise, bits) = (self.draws.node(t), self.dense.bits);
        // A shift rounds down.
        let noisy = self
            .row
            .iter()
            .zip(noise)
            .map(|(row, z)| ((row >> bits) + z) as f64);
        self.noisy.push(noisy.collect());
        self.last(t, out);
    }

    fn last(&mut self, t: u64, out: &mut [f64]) {
        out.fill(0.0);
        if t == 0 {
            return;
        }
        for (b, row) in self.dense.decode(t).iter().zip(&self.noisy) {
            add_decoded(out, *b, row);
        }
        for out in out {
            *out *= self.unit;
        }
    }

    fn state(&self) -> State {
        State {
            integers: self
                .items
                .iter()
                .flatten()
                .map(|&x| i128::from(x))
                .collect(),
            floats: self.noisy.concat(),
        }
    }

    fn restore(&mut self, t: u64, state: &State) -> Result<(), StateError> {
        let (dimension, most) = (self.row.len(), self.dense.releases() as u64);
        if t > most {
            return Err(StateError);
        }
        state.check(t as usize * dimension, t as usize * dimension)?;
        let item = |&x: &i128| match i64::try_from(x) {
            Ok(x) if x.unsigned_abs() <= self.largest.unsigned_abs() => Ok(x),
            _ => Err(StateError),
        };
        let items: Vec<i64> = state.integers.iter().map(item).collect::<Result<_, _>>()?;
        self.items = items.chunks(dimension).map(<[_]>::to_vec).collect();
        self.noisy = state.floats.chunks(dimension).map(<[_]>::to_vec).collect();
        Ok(())
    }
}

crate::wide::wide! {
    /// `row` += c·`item`. Nothing wraps: `Dense::holds` for rows, 2¹⁰·2⁴⁰ for products of columns.
    fn add_multiple<'a>(row: &'a mut [i64], c: i64, item: &'a [i64]) -> () {
        for (row, x) in row.iter_mut().zip(item) {
            *row = row.wrapping_add(c.wrapping_mul(*x));
        }
    }

    /// `out` += b·`row`, both rounded.
    fn add_decoded<'a>(out: &'a mut [f64], b: f64, row: &'a [f64]) -> () {
        for (out, y) in out.iter_mut().zip(row) {
            *out += b * y;
        }
    }
}

#[cfg(test)]
mod tests;
