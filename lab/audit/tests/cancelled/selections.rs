//! Selections: log-weights and coins.
//!
//! A reference of a few lines draws every play of the program once more from the run's own bits,
//! and must agree; its log-weights and probabilities of a switch are then those of the program.
//! What one record changes in them, at the outcomes that tell most, is compared with the price.

use crate::adapter::{Law, OnSelection, Play, Seen, Stop, Until};
use crate::share_of_price;
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::select::Board;
use hushstream_noise::Key;
use hushstream_recipes::RecipeName;

/// Dartboard, calibrated, and limited updates hold no play for a batch; a net needs a horizon.
fn fits(recipe: RecipeName, batch: u64, until: Until) -> bool {
    match recipe {
        RecipeName::Dartboard => batch == 1 || until != Until::Unknown,
        RecipeName::Cover => until != Until::Unknown,
        RecipeName::LimitedUpdates => batch == 1 && until != Until::Seasons,
        _ => true,
    }
}

/// What is accepted of a recipe is audited, what is not is refused.
fn audit(recipe: RecipeName, cells: u64) {
    let mut audited = 0;
    for pure in [true, false] {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            let lengths = [Until::Known, Until::Unknown, Until::Seasons];
            let sizes = [1, 4]
                .into_iter()
                .flat_map(|batch| lengths.map(|until| (batch, until)));
            for (persons, (batch, until)) in sizes.flat_map(|size| [(1, size), (2, size)]) {
                let fits = fits(recipe, batch, until);
                let size = (batch, persons);
                let cell = match OnSelection::plan(recipe, pure, adjacency, size, until) {
                    Ok(cell) => cell,
                    Err(error) => {
                        assert!(!fits, "{recipe} {batch} {until:?}: {error}");
                        continue;
                    }
                };
                assert!(fits, "{} is not refused", cell.name());
                audited += 1;
                share_of_price(&cell);
                share_of_delta(&cell);
                checkpoints_change_nothing(&cell);
                let range = range(&cell);
                assert!(
                    range <= 1.0 + 1e-9,
                    "{}: a draw's range is {range}",
                    cell.name()
                );
                assert!(
                    range >= 0.99,
                    "{}: only {range} of a draw's range",
                    cell.name()
                );
            }
        }
    }
    assert_eq!(audited, cells, "{recipe}");
}

#[test]
fn one_record_moves_no_dartboard_by_more_than_was_paid() {
    audit(RecipeName::Dartboard, 40);
}

#[test]
fn one_record_moves_no_batched_dartboard_by_more_than_was_paid() {
    audit(RecipeName::DartboardBatched, 48);
}

#[test]
fn one_record_moves_no_hedge_by_more_than_was_paid() {
    audit(RecipeName::HedgeBatched, 48);
}

#[test]
fn one_record_moves_no_net_by_more_than_was_paid() {
    audit(RecipeName::Cover, 32);
}

#[test]
fn one_record_moves_no_limited_update_by_more_than_was_paid() {
    audit(RecipeName::LimitedUpdates, 16);
}

/// The reference knows no journal: the program's own runs are compared, and their ledgers.
fn checkpoints_change_nothing(cell: &OnSelection) {
    for (seed, pair) in (0..).zip(cell.streams()) {
        let key = Key::insecure_from_seed(seed);
        let [left, right] = pair.map(|stream| {
            let own = cell.play(&stream, None, &key, Stop::Never);
            let middle = stream.len() / 2 / 4 * 4;
            let back = cell.checkpointed(&stream, &key, middle);
            assert_eq!(own.published, back, "{}: checkpoint", cell.name());
            own
        });
        assert_eq!(
            left.bytes[1],
            right.bytes[1],
            "{}: bytes of the ledger",
            cell.name()
        );
    }
}

/// The largest share of a draw's range.
fn range(cell: &OnSelection) -> f64 {
    let mut worst = 0.0_f64;
    for [left, right] in cell.streams() {
        let key = Key::insecure_from_seed(3);
        let own: Seen = cell.play(&left, None, &key, Stop::Never);
        let path = cell.play(&left, Some(&own), &key, Stop::Never);
        let other = cell.play(&right, Some(&path), &key, Stop::Never);
        worst = worst.max(cell.range(&path, &other));
    }
    worst
}

/// Σ (P − e^ε·Q)⁺ over all transcripts, exactly: the plays, and whether each was kept or drawn,
/// which is more than is released.
struct Beyond<'a> {
    left: &'a [Law],
    right: &'a [Law],
    factor: f64,
    /// From here on both worlds are the same.
    same: usize,
}

impl Beyond<'_> {
    fn mass(left: &[Law], right: &[Law], epsilon: f64) -> f64 {
        let differs = |(left, right): (&Law, &Law)| left != right;
        let first = left.iter().zip(right).position(differs);
        let same = left.iter().zip(right).rposition(differs);
        let (Some(first), Some(last)) = (first, same) else {
            return 0.0;
        };
        let beyond = Beyond {
            left,
            right,
            factor: epsilon.exp(),
            same: last + 1,
        };
        // Until the worlds differ only the played expert and the number of draws matter.
        let experts = left[0].keep.len();
        let mut states = vec![vec![0.0; left.len() + 1]; experts];
        for state in &mut states {
            state[0] = 1.0 / experts as f64;
        }
        for law in &left[..first] {
            let mut next = vec![vec![0.0; left.len() + 1]; experts];
            for (played, state) in states.iter().enumerate() {
                for (used, mass) in state.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
                    let keep = if used as u64 >= law.most {
                        1.0
                    } else {
                        law.keep[played]
                    };
                    let after = |used: usize| if law.ends { 0 } else { used };
                    next[played][after(used)] += mass * keep;
                    for (drawn, share) in law.draw.iter().enumerate() {
                        next[drawn][after((used + 1).min(left.len()))] +=
                            mass * (1.0 - keep) * share;
                    }
                }
            }
            states = next;
        }
        let states = states.iter().enumerate();
        let states = states.flat_map(|(played, state)| {
            let used = (0..).zip(state).filter(|(_, mass)| **mass > 0.0);
            used.map(move |(used, &mass)| (played, used, mass))
        });
        states
            .map(|(played, used, mass)| beyond.after(first, played, used, mass, mass))
            .sum()
    }

    fn after(&self, item: usize, played: usize, used: u64, p: f64, q: f64) -> f64 {
        if item == self.same {
            return (p - self.factor * q).max(0.0);
        }
        let (left, right) = (&self.left[item], &self.right[item]);
        let next = |used: u64| if left.ends { 0 } else { used };
        if used >= left.most {
            return self.after(item + 1, played, next(used), p, q);
        }
        let (keep, keep_right) = (left.keep[played], right.keep[played]);
        let mut sum = 0.0;
        if keep > 0.0 {
            sum += self.after(item + 1, played, next(used), p * keep, q * keep_right);
        }
        if keep < 1.0 {
            let (p, q) = (p * (1.0 - keep), q * (1.0 - keep_right));
            for (drawn, (share, share_right)) in left.draw.iter().zip(&right.draw).enumerate() {
                let (p, q) = (p * share, q * share_right);
                sum += self.after(item + 1, drawn, next(used + 1), p, q);
            }
        }
        sum
    }
}

/// The mass of what is beyond the ε that was paid, as a share of the δ that was; both worlds, every
/// pair of streams. Without a δ there is none.
fn share_of_delta(cell: &OnSelection) -> f64 {
    let (paid, _) = cell.paid_and_pure();
    let mut worst = 0.0_f64;
    for pair in cell.streams() {
        let [left, right] = pair.map(|stream| cell.laws(&stream));
        for (left, right) in [(&left, &right), (&right, &left)] {
            let mass = Beyond::mass(left, right, paid.epsilon());
            // A thousand roundings of products.
            assert!(
                mass <= paid.delta() + 1e-12,
                "{}: {mass} beyond {paid:?}",
                cell.name()
            );
            worst = worst.max(mass / paid.delta());
        }
    }
    worst
}

/// Where a δ buys a smaller ε, the loss beyond that ε has a mass of at most δ.
#[test]
fn what_is_beyond_epsilon_is_paid_with_delta() {
    let budget = Budget::approx(1.0, 1e-2).unwrap();
    let board = Board::new(0.05, 0.2, 6).unwrap();
    for (recipe, least) in [
        (RecipeName::Dartboard, 0.15),
        (RecipeName::DartboardBatched, 0.15),
        (RecipeName::HedgeBatched, 0.3),
        (RecipeName::Cover, 0.015),
    ] {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            let cell =
                OnSelection::plan_at(recipe, (budget, board), adjacency, (1, 1), Until::Known)
                    .unwrap();
            let (paid, pure) = cell.paid_and_pure();
            assert!(
                paid.epsilon() < 0.8 * pure,
                "{}: {paid:?} {pure}",
                cell.name()
            );
            let share = share_of_delta(&cell);
            assert!(share >= least, "{}: {share} of delta", cell.name());
        }
    }
}
