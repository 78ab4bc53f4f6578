//! The pictures of a report: how averages went, and noise against signal.

use super::outcome::{Kind, losses};
use crate::chart::{Series, semi_log};
use hushstream_mechanism::{OperatorOnly, Summary};

/// Records so far, the run's averages, and those of the learner without privacy.
type Point = (u64, Summary, Option<Summary>);

/// Averages at geometrically spaced counts.
#[derive(Default)]
pub(crate) struct Curves {
    next: u64,
    points: Vec<Point>,
}

impl Curves {
    /// Whether a point is due: about sixteen a doubling.
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

/// The average loss, beside predictors that see no features where they have the same loss.
pub(crate) fn average_loss(curves: &Curves, kind: Kind) -> String {
    let mut series = vec![
        line(curves, "private", |point| Some(losses(kind, &point.1).0)),
        line(curves, "without privacy", |point| {
            Some(losses(kind, point.2.as_ref()?).0)
        }),
    ];
    let (constant, other) = match kind {
        Kind::Experts => ("all experts alike", "best expert"),
        Kind::Bandit => ("all arms alike", "best arm"),
        Kind::Number | Kind::Classes => ("best constant", "last target again"),
    };
    series.push(line(curves, constant, |point| {
        Some(losses(kind, &point.1).1)
    }));
    if kind != Kind::Classes {
        series.push(line(curves, other, |point| Some(point.1.repeat)));
    }
    semi_log("Average loss so far", "records", "average loss", &series)
}

/// For classes: how often the prediction was wrong.
pub(crate) fn error_rate(curves: &Curves) -> String {
    let series = [
        line(curves, "private", |point| Some(point.1.average)),
        line(curves, "without privacy", |point| {
            Some(point.2.as_ref()?.average)
        }),
        line(curves, "commonest class", |point| Some(point.1.constant)),
        line(curves, "last class again", |point| Some(point.1.repeat)),
    ];
    semi_log("Wrong so far", "records", "share of records", &series)
}

/// A line over the records from the sixteenth on: before, averages say nothing.
fn line(curves: &Curves, name: &str, value: impl Fn(&Point) -> Option<f64>) -> Series {
    let points = curves.points.iter().filter(|point| point.0 >= 16);
    Series {
        name: name.to_owned(),
        points: points
            .filter_map(|point| Some((point.0 as f64, value(point)?)))
            .collect(),
    }
}
