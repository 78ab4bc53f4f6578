//! The picture of `plan`: error against the number of items.

use super::arguments::Arguments;
use super::rows::Row;
use hushstream_pictures::chart::{Series, log_log};
use hushstream_pictures::numbers::delta;

/// The largest error of every sum up to t, at geometrically spaced t.
pub(crate) fn picture(arguments: &Arguments, rows: &[Row]) -> String {
    const STEPS: u32 = 2000;
    let series: Vec<Series> = rows
        .iter()
        .map(|row| {
            let last = row.releases;
            let mut times: Vec<u64> = (0..=STEPS)
                .map(|step| {
                    (last as f64)
                        .powf(f64::from(step) / f64::from(STEPS))
                        .round() as u64
                })
                // Trees are worst where t is all ones in binary (octaves one before): peaks that a
                // grid would miss.
                .flat_map(|t| {
                    [
                        t,
                        t.next_power_of_two() - 1,
                        t.next_power_of_two().max(2) - 2,
                    ]
                })
                .map(|t| t.clamp(1, last))
                .collect();
            times.sort_unstable();
            times.dedup();
            let mut worst = 0.0_f64;
            let points = times.into_iter().map(|t| {
                worst = worst.max(row.plan.prefix_sd(t));
                (t as f64, worst)
            });
            Series {
                name: row.sum.clone(),
                points: points.collect(),
            }
        })
        .collect();
    let title = format!(
        "Error of private prefix sums at ε = {}, δ = {}, {}",
        arguments.epsilon,
        delta(arguments.delta),
        rows[0].plan.request().adjacency
    );
    log_log(
        &title,
        "items summed, t",
        "worst standard deviation so far, one coordinate",
        &series,
    )
}
