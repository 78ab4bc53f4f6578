//! A noise-cancelled audit: deterministic, without statistics.
//!
//! Two runs on neighbouring streams have one key, and the second is asked the first one's
//! questions: noise cancels exactly, and what is left is what one record moved. It is compared with
//! what was paid. See `docs/auditing.md` for what that proves.
#![allow(clippy::unwrap_used)]

mod adapter;
mod addresses;
mod decisions;
mod others;
mod selections;
mod shelf;
mod statistics;
mod sums;
mod tables;

use adapter::{Entry, Play, Seen, Stop};
use hushstream_noise::Key;

/// Both worlds of every pair of streams, plain, resumed and after a checkpoint: the largest share
/// of the price that a record moved, over all pairs. Everything that must be equal in both worlds
/// is.
fn share_of_price(cell: &dyn Play) -> f64 {
    let mut worst = 0.0_f64;
    for (pair, [left, right]) in (0..).zip(cell.streams()) {
        let what = || format!("{}, streams {pair}", cell.name());
        let play = |stream: &[_], path: Option<&Seen>, stop| {
            let (key, recorder) = Key::insecure_recorded(11 + pair);
            let mut seen = cell.play(stream, path, &key, stop);
            seen.reads = recorder.take();
            seen.reads.sort_unstable();
            seen
        };
        // In whole batches of up to four.
        let middle = left.len() / 2 / 4 * 4;
        // As a user plays it, through the learner; stopped in the middle it is the same, and so is
        // the mechanism alone when it is asked the same questions.
        let replayed = |stream: &[_]| {
            let own = play(stream, None, Stop::Never);
            let resumed = play(stream, None, Stop::Resumed(middle));
            assert_eq!(own.published, resumed.published, "{}: resumed", what());
            let replayed = play(stream, Some(&own), Stop::Never);
            assert_eq!(own.published, replayed.published, "{}: replayed", what());
            replayed
        };
        let plain = replayed(&left);
        replayed(&right);
        for stop in [
            Stop::Never,
            Stop::Resumed(middle),
            Stop::Checkpointed(middle),
        ] {
            // A checkpoint has one entry per person, which is private by design.
            let persons = |entries: &[Entry]| entries.iter().map(|e| e.person).collect::<Vec<_>>();
            let same_persons = persons(&left) == persons(&right);
            let left = play(&left, Some(&plain), stop);
            let mut right = play(&right, Some(&plain), stop);
            assert_eq!(left.values, plain.values, "{}, {stop:?}", what());
            if !same_persons {
                right.bytes[0] = left.bytes[0];
            }
            left.assert_same_form(&right, &format!("{}, {stop:?}", what()));
            let share = cell.moved(&left, &right) / cell.price();
            assert!(
                share <= 1.0 + 1e-9,
                "{}, {stop:?}: moved {share} of the price",
                what()
            );
            worst = worst.max(share);
        }
    }
    worst
}
