//! Figures by hand.

use super::*;
use crate::losses::Features;

fn record(values: &[f64], target: f64) -> Raw<Record> {
    let features = Features::Dense(values.to_vec());
    Raw::seal(Record { features, target })
}

#[test]
fn signs_constants_and_repeats() {
    let mut board = Scoreboard::new(Yardstick::Sign, 1.0);
    for (x, y) in [(1.0, 1.0), (1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)] {
        board.score(&record(&[x], y), &[2.0]);
    }
    let summary = *board.summary().for_the_operator();
    assert_eq!(summary.records, 4);
    // Wrong once; the constant is wrong at first and at last; the repeat at first (0 counts as −1) and at last.
    assert!((summary.average - 0.25).abs() < 1e-15);
    assert!((summary.constant - 0.5).abs() < 1e-15);
    assert!((summary.repeat - 0.5).abs() < 1e-15);
    // Of three positives two are above the one negative, and one beside it; squares of clamped scores: 0, 0, 4, 0.
    assert!((summary.ranking.unwrap() - 2.5 / 3.0).abs() < 1e-15);
    assert!((summary.squares.unwrap().0 - 1.0).abs() < 1e-15);
    board.mark();
    board.score(&record(&[1.0], 1.0), &[2.0]);
    assert!(board.summary().for_the_operator().since_last.abs() < 1e-15);
}

#[test]
fn classes_take_the_largest_score_and_numbers_the_square() {
    let mut board = Scoreboard::new(Yardstick::Classes(3), 1.0);
    board.score(&record(&[1.0], 2.0), &[0.1, 0.2, 0.3]);
    board.score(&record(&[1.0], 0.0), &[0.1, 0.2, 0.3]);
    board.score(&record(&[1.0], 7.0), &[0.1, 0.2, 0.3]);
    let summary = *board.summary().for_the_operator();
    // The third has no such class, so two count.
    assert_eq!((summary.records, summary.scored), (3, 2));
    assert!((summary.average - 0.5).abs() < 1e-15);
    // Features of length 2 are clipped to 1 before they are used.
    let mut board = Scoreboard::new(Yardstick::Number(0.0, 3.0), 1.0);
    board.score(&record(&[2.0], 3.0), &[1.0]);
    assert!((board.summary().for_the_operator().average - 4.0).abs() < 1e-15);
    // A prediction of −1 is kept at 0; a record without a target changes no average; the constant is the mean of what came before, 3.
    board.score(&record(&[1.0], f64::NAN), &[1.0]);
    board.score(&record(&[1.0], 2.0), &[-1.0]);
    let summary = *board.summary().for_the_operator();
    assert!((summary.average - 4.0).abs() < 1e-15);
    assert!((summary.constant - (9.0 + 1.0) / 2.0).abs() < 1e-15);
}

#[test]
fn experts_pay_what_they_follow() {
    let mut board = Scoreboard::new(Yardstick::Experts(2), 1.0);
    board.score(&record(&[0.0, 1.0], 0.0), &[0.5, 0.5]);
    board.score(&record(&[0.0, 1.0], 0.0), &[1.0, 0.0]);
    let summary = *board.summary().for_the_operator();
    assert!((summary.average - 0.25).abs() < 1e-15);
    assert!((summary.constant - 0.5).abs() < 1e-15);
    assert!(summary.repeat.abs() < 1e-15);
}
