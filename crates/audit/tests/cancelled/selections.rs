//! Selections: log-weights and coins.
//!
//! A reference of a few lines draws every play of the program once more from the run's own bits,
//! and must agree; its log-weights and probabilities of a switch are then those of the program.
//! What one record changes in them, at the outcomes that tell most, is compared with the price.

use crate::adapter::{OnSelection, Play, Seen, Stop};
use crate::share_of_price;
use hushstream_account::Adjacency;
use hushstream_engine::{CATALOGUE, MechanismKind, RecipeName};
use hushstream_noise::Key;

#[test]
fn one_record_moves_no_selection_by_more_than_was_paid() {
    let selections = CATALOGUE.iter().map(|entry| entry.recipe).filter(|recipe| {
        // The solver for experts is a selection too.
        recipe.entry().mechanism == MechanismKind::Selection
            || *recipe == RecipeName::LimitedUpdates
    });
    let mut audited = 0;
    for recipe in selections {
        for pure in [true, false] {
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                for (batch, known) in [(1, true), (4, true), (1, false), (4, false)] {
                    // A net needs a horizon; these two hold no play for a batch.
                    let fits = match recipe {
                        RecipeName::Cover => known,
                        RecipeName::LimitedUpdates => batch == 1,
                        RecipeName::Dartboard => batch == 1 || known,
                        _ => true,
                    };
                    let cell = match OnSelection::plan(recipe, pure, adjacency, batch, known) {
                        Ok(cell) => cell,
                        Err(error) => {
                            assert!(!fits, "{recipe} {batch} {known}: {error}");
                            continue;
                        }
                    };
                    assert!(fits, "{} is not refused", cell.name());
                    audited += 1;
                    let share = share_of_price(&cell);
                    let range = range(&cell);
                    println!("{share:.4} {range:.4} {}", cell.name());
                    assert!(
                        range <= 1.0 + 1e-9,
                        "{}: a draw's range is {range}",
                        cell.name()
                    );
                    // On a line no loss can single out a point.
                    let least = if recipe == RecipeName::Cover {
                        0.5
                    } else {
                        0.99
                    };
                    assert!(
                        range >= least,
                        "{}: only {range} of a draw's range",
                        cell.name()
                    );
                }
            }
        }
    }
    assert!(audited >= 30, "{audited}");
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
