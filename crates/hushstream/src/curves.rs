//! The pictures of a report: metrics over time, and noise against signal.

use crate::outcome::Kind;
use hushstream_mechanism::{ClassMetrics, Metrics, NumberMetrics, OperatorOnly, Summary};
use hushstream_pictures::chart::{Series, semi_log};

/// The number of records, the run's figures, and those of the learner without privacy.
type Point = (u64, Summary, Option<Summary>);

/// Figures at geometrically spaced counts.
#[derive(Default)]
pub(crate) struct Curves {
    next: u64,
    points: Vec<Point>,
}

impl Curves {
    /// Whether a point is due: about sixteen per doubling.
    pub(crate) fn is_due(&self, records: u64) -> bool {
        records >= self.next
    }

    /// Adds a point; the last one is the end of the run.
    pub(crate) fn add(
        &mut self,
        records: u64,
        own: &OperatorOnly<Summary>,
        shadow: Option<&OperatorOnly<Summary>>,
    ) {
        self.points.push((
            records,
            *own.for_the_operator(),
            shadow.map(|shadow| *shadow.for_the_operator()),
        ));
        self.next = (records + 1).max((records as f64 * 1.045) as u64);
    }
}

/// All pictures of a kind of task.
pub(crate) fn all(curves: &Curves, kind: Kind) -> Vec<String> {
    match kind {
        Kind::Classes => {
            let mut pictures = Vec::new();
            let known = curves
                .points
                .last()
                .is_some_and(|point| classes(&point.1).is_some_and(|m| m.log_loss.is_some()));
            if known {
                pictures.push(log_loss(curves));
            }
            pictures.push(accuracy(curves));
            pictures
        }
        Kind::Number => vec![squared_error(curves)],
        Kind::Experts => vec![average_loss(curves, "uniform weights", "best expert")],
        Kind::Bandit => vec![average_loss(curves, "uniform policy", "best arm")],
    }
}

fn log_loss(curves: &Curves) -> String {
    let series = [
        line(curves, "private", |point| classes(&point.1)?.log_loss),
        line(curves, "without privacy", |point| {
            classes(point.2.as_ref()?)?.log_loss
        }),
        line(curves, "class shares", |point| {
            Some(classes(&point.1)?.prior_log_loss)
        }),
    ];
    semi_log("Log loss so far", "records", "log loss", &series)
}

fn accuracy(curves: &Curves) -> String {
    let series = [
        line(curves, "private", |point| Some(classes(&point.1)?.accuracy)),
        line(curves, "without privacy", |point| {
            Some(classes(point.2.as_ref()?)?.accuracy)
        }),
        line(curves, "majority class", |point| {
            Some(classes(&point.1)?.majority)
        }),
        line(curves, "last label", |point| classes(&point.1)?.last_label),
    ];
    semi_log("Accuracy so far", "records", "accuracy", &series)
}

fn squared_error(curves: &Curves) -> String {
    let series = [
        line(curves, "private", |point| Some(number(&point.1)?.mse)),
        line(curves, "without privacy", |point| {
            Some(number(point.2.as_ref()?)?.mse)
        }),
        line(curves, "mean target", |point| {
            Some(number(&point.1)?.constant)
        }),
        line(curves, "last target", |point| number(&point.1)?.last_label),
    ];
    semi_log(
        "Mean squared error so far",
        "records",
        "mean squared error",
        &series,
    )
}

fn average_loss(curves: &Curves, uniform: &str, best: &str) -> String {
    let series = [
        line(curves, "private", |point| Some(point.1.average)),
        line(curves, "without privacy", |point| {
            Some(point.2.as_ref()?.average)
        }),
        line(curves, uniform, |point| Some(point.1.uniform)),
        line(curves, best, |point| Some(point.1.best)),
    ];
    semi_log("Average loss so far", "records", "average loss", &series)
}

fn classes(summary: &Summary) -> Option<ClassMetrics> {
    match summary.metrics {
        Some(Metrics::Classes(metrics)) => Some(metrics),
        _ => None,
    }
}

fn number(summary: &Summary) -> Option<NumberMetrics> {
    match summary.metrics {
        Some(Metrics::Number(metrics)) => Some(metrics),
        _ => None,
    }
}

/// A line from the sixteenth record on: earlier averages are meaningless.
fn line(curves: &Curves, name: &str, value: impl Fn(&Point) -> Option<f64>) -> Series {
    let points = curves.points.iter().filter(|point| point.0 >= 16);
    Series {
        name: name.to_owned(),
        points: points
            .filter_map(|point| Some((point.0 as f64, value(point)?)))
            .collect(),
    }
}
