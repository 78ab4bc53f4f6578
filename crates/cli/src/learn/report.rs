//! The report of a run: one HTML file that needs no network, with pictures as SVG. For the operator only: most of it is computed from private data.
//!
//! Every figure on the page is a figure of the run's JSON object, which the page also holds.

use super::methods::Method;
use super::outcome::Outcome;
use crate::chart::{Series, escape, semi_log};
use hushstream_mechanism::{OperatorOnly, Summary};
use serde_json::Value;
use std::fmt::Write;

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

    /// Adds a point.
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

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #ddd}\
td:last-child{font-variant-numeric:tabular-nums}.card{border:2px solid #0072b2;border-radius:.5rem;padding:1rem}.warning{background:#fff3cd;padding:.6rem 1rem;border-radius:.5rem}\
svg{width:100%;height:auto}pre{white-space:pre-wrap}";

/// The page.
pub(crate) fn page(
    outcome: &Outcome,
    curves: &Curves,
    loss: impl Fn(Summary) -> f64,
    method: &dyn Method,
) -> String {
    let json = serde_json::to_value(outcome).unwrap_or(Value::Null);
    let entry = method.recipe().entry();
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Hushstream: {0}</title><style>{STYLE}</style></head><body>\n<h1>Hushstream: a run of {0}</h1>\n\
         <p class=\"warning\"><b>For the operator only.</b> The figures and pictures on this page are computed from private data without noise: do not publish them. \
         The model file and the guarantee below may be published.</p>\n<h2>The guarantee</h2>\n<div class=\"card\">",
        escape(entry.name)
    );
    for line in outcome.guarantee.to_string().lines() {
        let _ = writeln!(page, "<p>{}</p>", escape(line));
    }
    page.push_str("</div>\n");
    table(
        &mut page,
        &json,
        "guarantee",
        &[
            "epsilon",
            "delta",
            "mu",
            "rho",
            "adjacency",
            "unit",
            "participations",
            "releases",
            "window",
            "sum",
            "noise",
            "levels",
            "sigma",
            "precision_slack",
            "simulated",
        ],
    );
    page.push_str("<h2>How well it learned</h2>\n");
    table(
        &mut page,
        &json,
        "",
        &[
            "rounds",
            "accuracy",
            "ranking",
            "nulls",
            "clipped",
            "seconds",
            "rows_per_second",
            "peak_memory_bytes",
        ],
    );
    for part in ["loss", "baselines", "without_privacy", "regret"] {
        table(
            &mut page,
            &json,
            part,
            &[
                "average",
                "baseline",
                "hindsight",
                "constant",
                "no_change",
                "loss",
                "accuracy",
                "value",
                "per_round",
                "comparator",
            ],
        );
    }
    page.push_str(&learning_curve(curves, loss));
    page.push_str(&regret_curve(curves));
    if let Some(picture) = method.picture() {
        page.push_str("<h2>Noise against signal</h2>\n<p>What the records add up to at most, and the noise of a release. Where the lines cross, learning begins.</p>\n");
        page.push_str(&picture);
    }
    let _ = writeln!(
        page,
        "<h2>The recipe</h2>\n<p><b>{}</b>: {}. Corrected from the paper: {}. {}.</p>\n<p>Regret as printed: {}. As it holds: {}.</p>",
        escape(entry.name),
        escape(entry.source),
        escape(&entry.errata.join(", ")),
        escape(entry.when),
        escape(entry.printed),
        escape(entry.holds)
    );
    table(
        &mut page,
        &json,
        "parameters",
        &[
            "sum",
            "noise",
            "batch",
            "releases",
            "curvature",
            "learning_rate",
            "ridge",
            "length",
            "noise_sd",
            "p",
            "eta",
            "k",
            "regret_bound",
            "rows_until_signal",
        ],
    );
    page.push_str("<p>Chosen from public numbers alone:</p><ul>");
    for reason in &outcome.parameters.reasons {
        let _ = write!(page, "<li>{}</li>", escape(reason));
    }
    let text = serde_json::to_string_pretty(&json).unwrap_or_default();
    // A closing tag inside the data would end the element.
    let _ = writeln!(
        page,
        "</ul>\n<script type=\"application/json\" id=\"run\">{}</script>\n</body></html>",
        text.replace("</", "<\\/")
    );
    page
}

/// Rows of keys that are there; each carries its path, so that a test can find it in the JSON.
fn table(page: &mut String, json: &Value, part: &str, keys: &[&str]) {
    let object = if part.is_empty() { json } else { &json[part] };
    let mut rows = String::new();
    for key in keys {
        let path = if part.is_empty() {
            (*key).to_owned()
        } else {
            format!("{part}.{key}")
        };
        let text = match &object[*key] {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let _ = writeln!(
            rows,
            "<tr><td>{}</td><td data-key=\"{path}\">{}</td></tr>",
            path.replace(['.', '_'], " "),
            escape(&text)
        );
    }
    if !rows.is_empty() {
        let _ = writeln!(page, "<table>{rows}</table>");
    }
}

fn learning_curve(curves: &Curves, loss: impl Fn(Summary) -> f64) -> String {
    let line = |name: &str, value: &dyn Fn(&Point) -> Option<f64>| Series {
        name: name.to_owned(),
        points: curves
            .points
            .iter()
            .filter(|point| point.0 >= 16)
            .filter_map(|point| Some((point.0 as f64, value(point)?)))
            .collect(),
    };
    let series = [
        line("private", &|point| Some(loss(point.1))),
        line("without privacy", &|point| point.2.map(&loss)),
        line("best constant", &|(_, own, _)| {
            Some(own.squares.map_or(own.constant, |squares| squares.1))
        }),
    ];
    semi_log("Average loss so far", "records", "average loss", &series)
}

/// Regret a record against the same learner without privacy, and error rates beside the predictors that know nothing.
fn regret_curve(curves: &Curves) -> String {
    let of = |name: &str, value: &dyn Fn(&Summary, &Summary) -> f64| Series {
        name: name.to_owned(),
        points: curves
            .points
            .iter()
            .filter(|point| point.0 >= 16)
            .filter_map(|(records, own, shadow)| {
                Some((*records as f64, value(own, shadow.as_ref()?)))
            })
            .collect(),
    };
    let series = [
        of("private", &|own, _| own.average),
        of("without privacy", &|_, shadow| shadow.average),
        of("best constant", &|own, _| own.constant),
        of("last label again (experts: best one)", &|own, _| own.repeat),
    ];
    semi_log(
        "Average error so far, beside predictors that see no features",
        "records",
        "average error",
        &series,
    )
}
