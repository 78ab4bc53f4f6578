//! The report of a run: one HTML file that needs no network, with SVG pictures. For the operator
//! only: most of it is computed from private data.
//!
//! Every figure on the page is a figure of the run's JSON object, which the page also holds.

use crate::chart::escape;
use serde_json::Value;
use std::fmt::Write;

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 \
    1rem;color:#222;background:#fff}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}table{border-collapse:collapse;margin:1rem \
0;width:100%}td,th{padding:.2rem .8rem;text-align:left;border-bottom:1px solid #ddd}\
td:first-child{width:20rem;color:#555}td:last-child{font-variant-numeric:tabular-nums}.card{border:2px solid #0072b2;border-radius:.5rem;padding:1rem}.warning{background:#fff3cd;padding:.6rem 1rem;border-radius:.5rem}\
svg{width:100%;height:auto}pre{white-space:pre-wrap}";

/// The name of a row, and the path of its figure in the object.
type Rows = [(&'static str, &'static str)];

const PROMISE: &Rows = &[
    ("privacy loss ε", "guarantee.epsilon"),
    ("privacy loss δ", "guarantee.delta"),
    ("as one Gaussian, μ", "guarantee.mu"),
    ("as zero-concentrated, ρ", "guarantee.rho"),
    ("neighbouring data sets", "guarantee.adjacency"),
    ("unit of protection", "guarantee.unit"),
    ("contributions per unit", "guarantee.participations"),
    ("releases", "guarantee.releases"),
    ("window", "guarantee.window"),
    ("sum", "guarantee.sum"),
    ("noise", "guarantee.noise"),
    ("levels", "guarantee.levels"),
    ("noise σ, in bounds", "guarantee.sigma"),
    ("precision slack", "guarantee.precision_slack"),
    ("simulated", "guarantee.simulated"),
    ("runs on this ledger", "ledger.runs"),
    ("ε of all of them", "ledger.epsilon"),
    ("at δ", "ledger.delta"),
    ("ε they may spend", "ledger.total_epsilon"),
];

/// Records and scores; each score has its twin without privacy.
const SCORES: &Rows = &[
    ("records", "rounds"),
    ("of them scored here", "scored"),
    ("accuracy", "metrics.accuracy"),
    ("AUC", "metrics.auc"),
    ("AUC is off by at most", "metrics.auc_error"),
    ("log loss", "metrics.log_loss"),
    ("Brier score", "metrics.brier"),
    ("calibration error", "metrics.calibration_error"),
    ("mean squared error", "metrics.mse"),
    ("mean absolute error", "metrics.mae"),
    ("R²", "metrics.r2"),
];

/// The rest of how well it learned.
const FIGURES: &Rows = &[
    ("accuracy of the majority class", "metrics.majority"),
    ("accuracy of repeating the last label", "metrics.last_label"),
    ("log loss of the class shares", "metrics.prior_log_loss"),
    ("mean squared error of the mean", "metrics.constant"),
    ("average loss", "loss.average"),
    ("average loss of the uniform policy", "loss.baseline"),
    ("average loss of the best expert or arm", "loss.hindsight"),
    ("average loss without privacy", "without_privacy.loss"),
    ("regret", "regret.value"),
    ("regret per record", "regret.per_round"),
    ("regret is against", "regret.comparator"),
    ("average reward", "rewards.average"),
    ("average reward of the uniform policy", "rewards.uniform"),
    ("average reward of the best arm", "rewards.best"),
    ("average reward without privacy", "rewards.without_privacy"),
    ("off-policy loss (IPS)", "off_policy.ips"),
    ("off-policy loss (SNIPS)", "off_policy.snips"),
    (
        "off-policy loss (doubly robust)",
        "off_policy.doubly_robust",
    ),
    ("records without a usable target", "nulls"),
    ("clipped records", "clipped"),
    ("malformed rows", "malformed"),
    ("clipped targets", "targets_clipped"),
    ("seconds", "seconds"),
    ("records per second", "rows_per_second"),
    ("peak memory, bytes", "peak_memory_bytes"),
];

const PARAMETERS: &Rows = &[
    ("sum", "parameters.sum"),
    ("noise", "parameters.noise"),
    ("records per batch", "parameters.batch"),
    ("the model is", "parameters.model"),
    ("releases", "parameters.releases"),
    ("radius of the set", "parameters.radius"),
    ("curvature", "parameters.curvature"),
    ("learning rate", "parameters.learning_rate"),
    ("ridge", "parameters.ridge"),
    ("largest length of features", "parameters.length"),
    ("largest noise sd of a sum", "parameters.noise_sd"),
    ("forced draws p", "parameters.p"),
    ("rate η of the board", "parameters.eta"),
    ("largest number of draws per batch", "parameters.k"),
    ("certified regret", "parameters.regret_bound"),
    ("trivial regret", "parameters.trivial_regret"),
    (
        "records with only one feature until it stands out from the noise",
        "parameters.rows_until_signal",
    ),
];

/// The recipe of a run, as the catalogue describes it.
pub struct Recipe<'a> {
    /// Its name.
    pub name: &'a str,
    /// The paper.
    pub source: &'a str,
    /// Errata to it.
    pub errata: &'a [&'a str],
    /// When to use it.
    pub when: &'a str,
    /// The regret as the paper prints it.
    pub printed: &'a str,
    /// The corrected regret bound.
    pub holds: &'a str,
}

/// The contents of a page.
pub struct Page<'a> {
    /// The run's JSON object.
    pub run: &'a Value,
    /// The guarantee in words, line by line.
    pub guarantee: &'a str,
    /// The recipe.
    pub recipe: Recipe<'a>,
    /// Pictures of the figures over time, as SVG.
    pub figures: &'a str,
    /// The picture of noise against signal, where both are lengths.
    pub noise: Option<&'a str>,
}

/// The page.
#[must_use]
pub fn page(told: &Page<'_>) -> String {
    let (json, recipe) = (told.run, &told.recipe);
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\">\
         <title>Hushstream: {0}</title><style>{STYLE}</style></head><body>\n<h1>Hushstream: a run \
         of {0}</h1>\n\
         <p class=\"warning\"><b>For the operator only.</b> The figures and pictures on this page \
         are computed from private data without noise: do not publish them. \
         The model file and the guarantee below may be published.</p>\n<h2>The \
         guarantee</h2>\n<div class=\"card\">",
        escape(recipe.name)
    );
    for line in told.guarantee.lines() {
        let _ = writeln!(page, "<p>{}</p>", escape(line));
    }
    page.push_str("</div>\n");
    table(&mut page, json, PROMISE);
    page.push_str("<h2>How well it learned</h2>\n<table>\n");
    for (name, path) in SCORES {
        row(&mut page, json, name, path);
    }
    for (name, path) in SCORES {
        if path.starts_with("metrics.") && *path != "metrics.auc_error" {
            let (name, path) = (
                format!("{name} without privacy"),
                format!("without_privacy.{path}"),
            );
            row(&mut page, json, &name, &path);
        }
    }
    for (name, path) in FIGURES {
        row(&mut page, json, name, path);
    }
    page.push_str("</table>\n");
    page.push_str(told.figures);
    if let Some(arms) = json["arms"].as_array() {
        page.push_str(&of_arms(arms));
    }
    if let Some(picture) = told.noise {
        page.push_str(
            "<h2>Noise against signal</h2>\n<p>The largest possible length of the sum of the \
             records, and the length of the noise of a release. Both follow from public numbers. \
             The true length of the sum is private, so the picture predicts no accuracy.</p>\n",
        );
        page.push_str(picture);
    }
    let _ = writeln!(
        page,
        "<h2>The recipe</h2>\n<p><b>{}</b>: {}, with errata {}. When: {}.</p>\n\
         <p>Regret as printed: {}. As corrected: {}.</p>",
        escape(recipe.name),
        escape(recipe.source),
        escape(&recipe.errata.join(", ")),
        escape(recipe.when),
        escape(recipe.printed),
        escape(recipe.holds)
    );
    table(&mut page, json, PARAMETERS);
    let reasons = json["parameters"]["reasons"].as_array();
    if let Some(reasons) = reasons.filter(|reasons| !reasons.is_empty()) {
        page.push_str("<p>Chosen from public numbers alone:</p><ul>");
        for reason in reasons.iter().filter_map(Value::as_str) {
            let _ = write!(page, "<li>{}</li>", escape(reason));
        }
        page.push_str("</ul>");
    }
    let text = serde_json::to_string_pretty(json).unwrap_or_default();
    // A closing tag inside the data would end the element.
    let _ = writeln!(
        page,
        "\n<script type=\"application/json\" id=\"run\">{}</script>\n</body></html>",
        text.replace("</", "<\\/")
    );
    page
}

/// The estimates for each arm from releases alone: the only figures that may be published.
fn of_arms(arms: &[Value]) -> String {
    let mut text = "<h2>The arms</h2>\n\
        <p>The loss or reward of each arm, from plays, propensities and noisy answers alone, so \
        this table may be published. IPS weights by inverse propensities, SNIPS is \
        self-normalised.</p>\n\
        <table>\n<tr><th>arm</th><th>probability</th><th>batches</th><th>IPS</th>\
        <th>standard error</th><th>SNIPS</th></tr>\n"
        .to_owned();
    for arm in arms {
        let number = |key: &str| {
            let value = arm[key].as_f64();
            value.map_or(String::new(), |value| format!("{value:.6}"))
        };
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            escape(arm["arm"].as_str().unwrap_or_default()),
            number("probability"),
            arm["plays"],
            number("ips"),
            number("standard_error"),
            number("snips"),
        );
    }
    text.push_str("</table>\n");
    text
}

fn table(page: &mut String, json: &Value, rows: &Rows) {
    page.push_str("<table>\n");
    for (name, path) in rows {
        row(page, json, name, path);
    }
    page.push_str("</table>\n");
}

/// The row of a figure, if that exists. It carries its path, so that a test can find it in the
/// object.
fn row(page: &mut String, json: &Value, name: &str, path: &str) {
    let text = match path.split('.').fold(json, |value, key| &value[key]) {
        Value::Null => return,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let _ = writeln!(
        page,
        "<tr><td>{name}</td><td data-key=\"{path}\">{}</td></tr>",
        escape(&text)
    );
}
