//! Figures by hand.

use super::*;
use crate::losses::Features;

fn record(values: &[f64], target: f64) -> Raw<Record> {
    let features = Features::Dense(values.to_vec());
    Raw::seal(Record { features, target })
}

#[test]
fn predictions_of_one_class_alone_are_noticed() {
    let record = |x: f64, target: f64| {
        Raw::seal(Record {
            features: Features::Dense(vec![x]),
            target,
        })
    };
    let one_sided = |rows: &[(f64, f64, f64)]| {
        let mut board = Scoreboard::new(Yardstick::Sign(None), f64::INFINITY);
        for &(x, weight, target) in rows {
            board.score(&record(x, target), &[weight]);
        }
        of_classes(&board).is_one_sided
    };
    // The first score is 0, before anything is learned.
    assert!(one_sided(&[
        (1.0, 0.0, -1.0),
        (1.0, 1.0, 1.0),
        (2.0, 1.0, -1.0)
    ]));
    assert!(!one_sided(&[(1.0, 1.0, 1.0), (-1.0, 1.0, -1.0)]));
    assert!(!one_sided(&[(1.0, 1.0, 1.0), (1.0, 1.0, 1.0)]), "one label");
    let mut board = Scoreboard::new(Yardstick::Classes(3, None), f64::INFINITY);
    for (x, target) in [(1.0, 2.0), (1.0, 1.0)] {
        board.score(&record(x, target), &[0.0, 1.0, 0.5]);
    }
    assert!(of_classes(&board).is_one_sided);
    board.score(&record(-1.0, 0.0), &[0.0, 1.0, 0.5]);
    assert!(!of_classes(&board).is_one_sided);
}

fn of_classes(board: &Scoreboard) -> ClassMetrics {
    match board.summary().for_the_operator().metrics {
        Some(Metrics::Classes(metrics)) => metrics,
        _ => panic!("no metrics of classes"),
    }
}

fn close(told: Option<f64>, expected: f64) {
    let told = told.unwrap();
    assert!((told - expected).abs() < 1e-12, "{told} {expected}");
}

/// Scores 2, 2, −2, −2 and −2, of which the third is positive too; far beyond ±1 as logistic scores
/// are.
#[test]
fn two_classes_with_a_logistic_map() {
    let mut board = Scoreboard::new(Yardstick::Sign(Some(Probability::Logistic)), 1.0);
    for (x, y) in [
        (1.0, 1.0),
        (1.0, 1.0),
        (-1.0, 1.0),
        (-1.0, -1.0),
        (-1.0, f64::NAN),
    ] {
        board.score(&record(&[x], y), &[2.0]);
    }
    let summary = *board.summary().for_the_operator();
    assert_eq!((summary.records, summary.scored), (5, 4));
    let metrics = of_classes(&board);
    close(Some(metrics.accuracy), 0.75);
    close(Some(metrics.majority), 0.75);
    close(metrics.last_label, 2.0 / 3.0);
    // Two of three positives are above the negative, and one beside it.
    let (auc, bound) = metrics.auc.unwrap();
    close(Some(auc), 2.5 / 3.0);
    close(Some(bound), 0.5 / 3.0);
    let sure = 1.0 / (1.0 + (-2.0_f64).exp());
    let log_loss = -(3.0 * sure.ln() + (1.0 - sure).ln()) / 4.0;
    close(metrics.log_loss, log_loss);
    close(Some(summary.average), log_loss);
    let brier = (3.0 * (1.0 - sure).powi(2) + sure.powi(2)) / 4.0;
    close(metrics.brier, brier);
    // Two groups of equal scores: two of two are positive, and one of two.
    let gap = 2.0 * (1.0 - sure) + (2.0 * (1.0 - sure) - 1.0).abs();
    close(metrics.calibration_error, gap / 4.0);
    close(Some(metrics.prior_log_loss), 0.562_335_144_618_808_3);
    board.mark();
    board.score(&record(&[1.0], 1.0), &[2.0]);
    close(
        Some(board.summary().for_the_operator().since_last),
        -sure.ln(),
    );
}

#[test]
fn scores_that_tell_no_probability_have_accuracy_and_auc_alone() {
    let mut board = Scoreboard::new(Yardstick::Sign(None), 1.0);
    for (x, y) in [(1.0, 1.0), (0.5, -1.0), (-1.0, -1.0)] {
        board.score(&record(&[x], y), &[9.0]);
    }
    let metrics = of_classes(&board);
    close(metrics.auc.map(|auc| auc.0), 1.0);
    close(Some(metrics.accuracy), 2.0 / 3.0);
    close(Some(board.summary().for_the_operator().average), 2.0 / 3.0);
    let unknown = [metrics.log_loss, metrics.brier, metrics.calibration_error];
    assert_eq!(unknown, [None; 3]);
}

#[test]
fn several_classes_take_the_largest_score() {
    let mut board = Scoreboard::new(Yardstick::Classes(3, Some(Probability::Linear)), 1.0);
    for target in [2.0, 0.0, 7.0] {
        board.score(&record(&[1.0], target), &[-0.2, 0.2, 0.6]);
    }
    // The third has no such class, so two count.
    let summary = *board.summary().for_the_operator();
    assert_eq!((summary.records, summary.scored), (3, 2));
    let metrics = of_classes(&board);
    close(Some(metrics.accuracy), 0.5);
    let total = 0.001 + 0.2 + 0.6;
    let log_loss = -((0.6_f64 / total).ln() + (0.001_f64 / total).ln()) / 2.0;
    close(metrics.log_loss, log_loss);
    assert!(metrics.auc.is_none() && metrics.brier.is_none());
}

#[test]
fn numbers_are_kept_within_their_bounds() {
    // Features of length 2 are clipped to 1 before they are used.
    let mut board = Scoreboard::new(Yardstick::Number(0.0, 3.0), 1.0);
    board.score(&record(&[2.0], 3.0), &[1.0]);
    close(Some(board.summary().for_the_operator().average), 4.0);
    // A prediction of −1 is kept at 0; a record without a target changes no average.
    board.score(&record(&[1.0], f64::NAN), &[1.0]);
    board.score(&record(&[1.0], 2.0), &[-1.0]);
    let summary = *board.summary().for_the_operator();
    let Some(Metrics::Number(metrics)) = summary.metrics else {
        panic!("no metrics of numbers");
    };
    close(Some(metrics.mse), 4.0);
    close(Some(metrics.mae), 2.0);
    close(Some(metrics.constant), 0.25);
    close(metrics.r2, -15.0);
    close(metrics.last_label, 1.0);
}

#[test]
fn experts_pay_what_they_follow() {
    let mut board = Scoreboard::new(Yardstick::Experts(2), 1.0);
    board.score(&record(&[0.0, 1.0], 0.0), &[0.5, 0.5]);
    board.score(&record(&[0.0, 1.0], 0.0), &[1.0, 0.0]);
    let summary = *board.summary().for_the_operator();
    close(Some(summary.average), 0.25);
    close(Some(summary.uniform), 0.5);
    assert!(summary.best.abs() < 1e-15 && summary.metrics.is_none());
}
