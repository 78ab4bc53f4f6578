//! Selections: log-weights and coins.
//!
//! A reference of a few lines draws every play of the program once more from the run's own bits,
//! and must agree; its log-weights and probabilities of a switch are then those of the program.
//! What one record changes in them, at the outcomes that tell most, is compared with the price.

use crate::adapter::{OnSelection, Play, Seen, Stop};
use crate::share_of_price;
use hushstream_account::Adjacency;
use hushstream_engine::RecipeName;
use hushstream_noise::Key;

/// Dartboard, calibrated, and limited updates hold no play for a batch; a net needs a horizon.
fn fits(recipe: RecipeName, batch: u64, known: bool) -> bool {
    match recipe {
        RecipeName::Dartboard => batch == 1 || known,
        RecipeName::Cover => known,
        RecipeName::LimitedUpdates => batch == 1,
        _ => true,
    }
}

/// What is accepted of a recipe is audited, what is not is refused.
fn audit(recipe: RecipeName, cells: u64) {
    let mut audited = 0;
    for pure in [true, false] {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            for (batch, known) in [(1, true), (4, true), (1, false), (4, false)] {
                let fits = fits(recipe, batch, known);
                let cell = match OnSelection::plan(recipe, pure, adjacency, batch, known) {
                    Ok(cell) => cell,
                    Err(error) => {
                        assert!(!fits, "{recipe} {batch} {known}: {error}");
                        continue;
                    }
                };
                assert!(fits, "{} is not refused", cell.name());
                audited += 1;
                share_of_price(&cell);
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
    audit(RecipeName::Dartboard, 12);
}

#[test]
fn one_record_moves_no_batched_dartboard_by_more_than_was_paid() {
    audit(RecipeName::DartboardBatched, 16);
}

#[test]
fn one_record_moves_no_hedge_by_more_than_was_paid() {
    audit(RecipeName::HedgeBatched, 16);
}

#[test]
fn one_record_moves_no_net_by_more_than_was_paid() {
    audit(RecipeName::Cover, 8);
}

#[test]
fn one_record_moves_no_limited_update_by_more_than_was_paid() {
    audit(RecipeName::LimitedUpdates, 8);
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
