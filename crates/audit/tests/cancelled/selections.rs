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

#[test]
fn one_record_moves_no_dartboard_by_more_than_was_paid() {
    let selections = [RecipeName::Dartboard, RecipeName::DartboardBatched];
    let mut audited = 0;
    for recipe in selections {
        for pure in [true, false] {
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                for (batch, known) in [(1, true), (4, true), (1, false), (4, false)] {
                    // Calibrated, a dartboard holds no play for a batch.
                    let fits = recipe != RecipeName::Dartboard || batch == 1 || known;
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
    }
    assert!(audited == 28, "{audited}");
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
