//! The choice of κ, p and K from a budget (card C14; errata F3, F4, F7).
//!
//! **Regret.** As long as draws are left, the played expert has the law of Hedge with rate κ on the
//! items (a kept expert is one whose weight survived, a drawn one has the law itself), also with
//! forced switches. So against losses that do not depend on the plays, for T losses in batches of
//! B,
//!
//! E regret ≤ ln d/κ + κBT/8 + T·P(draws run out) + T·2⁻²⁴,
//!
//! by Hoeffding's lemma on the batch means, and because truncation lowers no loss by more than a
//! unit. The paper states ln d/η + ηT for the first two terms; this is the same rate with better
//! constants. A switch after an item has probability at most q = p + (1−p)(1−e^{−κB}), so draws run
//! out with at most P[Bin(n, q) > K−1], n items.
//!
//! **Choice.** K−1 is the least for which that is at most 1/T; κ is the largest that the budget
//! allows, and no larger than √(8 ln d/(TB)), where the bound is smallest and privacy is free; p
//! minimises the bound. The search is quick and rough: plain floats, forty Rényi orders. Only its
//! result is made exact: κ is corrected until the ε of `board.rs`, computed from the rounded
//! parameters, fits the budget, and that ε is what is claimed.

use super::board::{Board, Exposure};
use hushstream_account::{AccountError, Budget};

/// The setting that parameters are chosen for.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// d, the number of experts.
    pub experts: u64,
    /// T, the number of rounds.
    pub rounds: u64,
    /// B, the batch size.
    pub batch: u64,
    /// What neighbours change.
    pub exposure: Exposure,
    /// The budget.
    pub budget: Budget,
}

impl Setting {
    /// Items that are followed by a release: all but the last.
    fn items(&self) -> u64 {
        self.rounds.div_ceil(self.batch).saturating_sub(1)
    }

    fn log_experts(&self) -> f64 {
        libm::log(self.experts.max(2) as f64)
    }

    /// The best rate without privacy, limited to what batches can hold exactly.
    fn free_rate(&self) -> f64 {
        let rounds = self.rounds.max(1) as f64 * self.batch as f64;
        (8.0 * self.log_experts() / rounds)
            .sqrt()
            .min(1.0 / self.batch as f64)
    }

    /// The bound on the expected regret, against losses that do not depend on the plays; never more
    /// than T.
    #[must_use]
    pub fn regret_bound(&self, board: &Board) -> f64 {
        self.objective(board).min(self.rounds as f64)
    }

    /// The same bound without the limit T, so that parameters can be compared above it too.
    pub(crate) fn objective(&self, board: &Board) -> f64 {
        let (rounds, batch) = (self.rounds as f64, self.batch as f64);
        let learning = self.log_experts() / board.rate() + board.rate() * batch * rounds / 8.0;
        let out = if board.has_coin() {
            rounds
                * tail(
                    self.items(),
                    board.switch_probability(self.batch),
                    board.resamples,
                )
        } else {
            0.0
        };
        learning + out + rounds / 2_f64.powi(24)
    }

    fn affords(&self, board: &Board) -> bool {
        board
            .epsilon(self.exposure, self.budget.delta())
            .is_ok_and(|spent| spent <= self.budget.epsilon())
    }

    /// An approximation of [`Board::epsilon`]: the same formulas in plain floats, at few orders.
    fn rough_epsilon(&self, board: &Board) -> f64 {
        let delta = self.budget.delta();
        let pure = board.pure_epsilon(self.exposure);
        if delta == 0.0 || board.resamples == 0 {
            return pure;
        }
        let range = board.range(self.exposure);
        let draws = board.resamples as f64 * range * range / 8.0;
        let (p, rate) = (board.forced(), board.rate());
        let q = p + (1.0 - p) * -libm::expm1(-rate);
        let divergence = |alpha: f64, p: f64, q: f64| {
            let rare = alpha * libm::log(p) - (alpha - 1.0) * libm::log(q);
            let common = alpha * libm::log1p(-p) - (alpha - 1.0) * libm::log1p(-q);
            let (most, least) = (rare.max(common), rare.min(common));
            (most + libm::log1p(libm::exp(least - most))) / (alpha - 1.0)
        };
        let mut best = pure;
        for half_octave in -4..36 {
            let alpha = 1.0 + libm::exp2(f64::from(half_octave) / 2.0);
            let coin = if board.has_coin() {
                self.exposure.coins() * divergence(alpha, p, q).max(divergence(alpha, q, p))
            } else {
                0.0
            };
            let rest = libm::log1p(-1.0 / alpha) - libm::log(alpha * delta) / (alpha - 1.0);
            let apart =
                self.exposure.coins() * board.coin_epsilon() + alpha * draws + rest.max(0.0);
            best = best.min((coin + alpha * draws + rest).max(0.0)).min(apart);
        }
        best
    }

    /// The board with this rate and the number of draws that it needs.
    fn board(&self, rate: f64, forced: f64) -> Option<Board> {
        let mut board = Board::new(rate, forced, 0).ok()?;
        board.resamples = if board.has_coin() {
            self.draws_needed(&board)
        } else {
            self.items()
        };
        Some(board)
    }

    /// The board with, roughly, the largest affordable rate for this p.
    fn rough(&self, forced: f64) -> Option<Board> {
        let fits = |rate: f64| {
            let board = self.board(rate, forced)?;
            (self.rough_epsilon(&board) <= self.budget.epsilon()).then_some(board)
        };
        self.largest(
            fits,
            self.free_rate() * 2_f64.powi(-30),
            self.free_rate(),
            1.001,
        )
    }

    /// The largest rate that fits, up to a factor `precision`, between two rates.
    fn largest(
        &self,
        fits: impl Fn(f64) -> Option<Board>,
        mut low: f64,
        mut high: f64,
        precision: f64,
    ) -> Option<Board> {
        if let Some(free) = fits(high) {
            return Some(free);
        }
        let mut best = fits(low)?;
        while high / low > precision {
            let middle = (low * high).sqrt();
            match fits(middle) {
                Some(found) => (low, best) = (middle, found),
                None => high = middle,
            }
        }
        Some(best)
    }

    /// The same board with the largest rate near its own that is affordable exactly.
    fn polished(&self, board: &Board) -> Option<Board> {
        let fits = |rate: f64| {
            let board = self.board(rate, board.forced())?;
            self.affords(&board).then_some(board)
        };
        let high = (1.02 * board.rate()).min(self.free_rate());
        // The rough search is within a few percent; if not, any affordable rate below will do.
        [0.95, 0.5, 1e-3]
            .into_iter()
            .find_map(|share| self.largest(fits, share * board.rate(), high, 1.0005))
    }

    /// The least number of draws that run out with probability at most 1/T.
    fn draws_needed(&self, board: &Board) -> u64 {
        let (items, q) = (self.items(), board.switch_probability(self.batch));
        let allowed = 1.0 / self.rounds.max(1) as f64;
        let (mut low, mut high) = (0, items);
        while low < high {
            let middle = low + (high - low) / 2;
            if tail(items, q, middle) <= allowed {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// The dartboard with the least regret bound within the budget.
///
/// # Errors
/// A budget so small that no parameters fit.
pub fn best_board(setting: &Setting) -> Result<Board, AccountError> {
    let least = -libm::log(2.0 * setting.items().max(1) as f64) - 1.0;
    let (least, most) = (least.max(-25.0), libm::log(0.5));
    const POINTS: u32 = 10;
    let width = (most - least) / f64::from(POINTS);
    let mut search = Search {
        setting,
        best: None,
    };
    for point in 0..=POINTS {
        search.consider(least + f64::from(point) * width);
    }
    let (_, around, _) = search.best.ok_or_else(too_small)?;
    // Golden section between the neighbours of the best point.
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    let (mut low, mut high) = (around - width, (around + width).min(most));
    let (mut left, mut right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut at_left, mut at_right) = (search.consider(left), search.consider(right));
    for _ in 0..9 {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - GOLDEN * (high - low);
            at_left = search.consider(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + GOLDEN * (high - low);
            at_right = search.consider(right);
        }
    }
    let (_, _, rough) = search.best.ok_or_else(too_small)?;
    // The search uses rough orders; the price uses exact ones, and must fit.
    if setting.affords(&rough) {
        return Ok(rough);
    }
    setting.polished(&rough).ok_or_else(too_small)
}

/// The best p so far.
struct Search<'a> {
    setting: &'a Setting,
    /// Bound, ln p, board.
    best: Option<(f64, f64, Board)>,
}

impl Search<'_> {
    /// The bound at this ln p, infinite if nothing fits.
    fn consider(&mut self, log_forced: f64) -> f64 {
        let Some(board) = self.setting.rough(libm::exp(log_forced)) else {
            return f64::INFINITY;
        };
        let bound = self.setting.objective(&board);
        if self.best.is_none_or(|(known, _, _)| bound < known) {
            self.best = Some((bound, log_forced, board));
        }
        bound
    }
}

/// Hedge in batches: a draw after every batch.
///
/// # Errors
/// A budget so small that no rate fits.
pub fn best_hedge(setting: &Setting) -> Result<Board, AccountError> {
    let rough = setting.rough(1.0).ok_or_else(too_small)?;
    setting.polished(&rough).ok_or_else(too_small)
}

fn too_small() -> AccountError {
    AccountError::NotFinite {
        quantity: "rate of a selection",
    }
}

/// An upper bound on P[Bin(n, q) > k]: the first term times a geometric series, once terms fall; 1
/// before.
fn tail(n: u64, q: f64, k: u64) -> f64 {
    if k >= n || q <= 0.0 {
        return 0.0;
    }
    if q >= 1.0 {
        return 1.0;
    }
    let (n, j) = (n as f64, k as f64 + 1.0);
    let ratio = (n - j) / (j + 1.0) * q / (1.0 - q);
    if ratio >= 1.0 {
        return 1.0;
    }
    let log_choose = libm::lgamma(n + 1.0) - libm::lgamma(j + 1.0) - libm::lgamma(n - j + 1.0);
    let first = log_choose + j * libm::log(q) + (n - j) * libm::log1p(-q);
    (libm::exp(first) / (1.0 - ratio)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persons::Participation;
    use hushstream_account::Adjacency;

    fn setting(epsilon: f64, delta: f64, rounds: u64) -> Setting {
        Setting {
            experts: 100,
            rounds,
            batch: 1,
            exposure: Exposure::of(Adjacency::ReplaceOne, Participation::OncePerRecord),
            budget: Budget::approx(epsilon, delta).unwrap(),
        }
    }

    #[test]
    fn certified_regret() {
        // The spec's table, computed with the paper's ηT + ln d/η, has 269, 1230 and 4340 here.
        for (epsilon, delta, rounds, most) in [
            (1.0, 1e-6, 1 << 10, 269.0),
            (1.0, 1e-6, 1 << 16, 1230.0),
            (1.0, 0.0, 1 << 16, 4340.0),
        ] {
            let setting = setting(epsilon, delta, rounds);
            let board = best_board(&setting).unwrap();
            let bound = setting.regret_bound(&board);
            assert!(bound <= most, "{bound} {board:?}");
            let spent = board.epsilon(setting.exposure, delta).unwrap();
            assert!(spent <= epsilon && spent > 0.995 * epsilon, "{spent}");
        }
    }

    #[test]
    fn no_nearby_parameters_do_much_better() {
        let setting = setting(0.5, 1e-6, 1 << 14);
        let best = setting.regret_bound(&best_board(&setting).unwrap());
        for step in 1..200 {
            if let Some(board) = setting.rough(0.5 * 0.95_f64.powi(step)) {
                assert!(setting.regret_bound(&board) > 0.995 * best, "{step}");
            }
        }
    }

    /// Where the bound says nothing, the choice must not degenerate: near the spec's start p ≈
    /// 1/√(2T), κ ≈ ε/(2√(2T)).
    #[test]
    fn a_vacuous_bound_still_chooses() {
        let setting = Setting {
            experts: 44_444,
            ..setting(0.1, 0.0, 20_000)
        };
        let board = best_board(&setting).unwrap();
        assert!(setting.regret_bound(&board) >= 20_000.0);
        let root = 1.0 / 40_000_f64.sqrt();
        assert!((0.3..3.0).contains(&(board.forced() / root)), "{board:?}");
        assert!(
            (0.3..3.0).contains(&(board.rate() / (0.05 * root))),
            "{board:?}"
        );
    }

    #[test]
    fn privacy_is_free_for_long_runs_and_refused_for_none() {
        let setting = setting(4.0, 1e-6, 1 << 20);
        let board = best_board(&setting).unwrap();
        assert!((board.rate() / setting.free_rate() - 1.0).abs() < 1e-6);
        let tiny = Setting {
            budget: Budget::pure(1e-13).unwrap(),
            ..setting
        };
        assert!(best_board(&tiny).is_err() && best_hedge(&tiny).is_err());
    }

    #[test]
    fn tails_bound_the_binomial() {
        for (n, q) in [(20_u64, 0.3_f64), (200, 0.02), (50, 0.9)] {
            let mut law = vec![(1.0 - q).powi(n as i32)];
            for j in 1..=n {
                let last = law[j as usize - 1];
                law.push(last * (n - j + 1) as f64 / j as f64 * q / (1.0 - q));
            }
            for k in 0..n {
                let exact: f64 = law[k as usize + 1..].iter().sum();
                let bound = tail(n, q, k);
                assert!(bound >= exact * (1.0 - 1e-9), "{n} {q} {k}");
                if exact > 1e-12 && exact < 1e-2 {
                    assert!(bound < 2.5 * exact, "{n} {q} {k} {bound} {exact}");
                }
            }
        }
    }
}
