//! The report of a run: one HTML file that needs no network, with SVG pictures. For the operator
//! only: most of it is computed from private data.
//!
//! Every figure on the page is a figure of the run's JSON object, which the page also holds.

use crate::chart::escape;
use crate::explain;
use crate::numbers::{grouped, short};
use crate::page::{self, Origin};
use crate::panels::{self, Bar};
use crate::shapes::Shapes;
use serde_json::Value;
use std::fmt::Write;

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

/// Records and scores; each score may have a twin without privacy.
const SCORES: &Rows = &[
    ("records", "rounds"),
    ("records scored here", "scored"),
    ("scored on", "scored_on"),
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

/// How scores of two classes rank the records.
pub struct Ranking<'a> {
    /// The ROC curve, (false alarms, hits).
    pub roc: &'a [(f64, f64)],
    /// That of the learner without privacy.
    pub without: Option<&'a [(f64, f64)]>,
    /// Mean probability, share of positives and records of groups; empty without probabilities.
    pub calibration: &'a [(f64, f64, u64)],
}

/// The contents of a page.
pub struct Page<'a> {
    /// The run's JSON object.
    pub run: &'a Value,
    /// The guarantee in words, line by line.
    pub guarantee: &'a str,
    /// The recipe.
    pub recipe: Recipe<'a>,
    /// What the model says, if it has curves.
    pub shapes: Option<&'a Shapes>,
    /// What the scored records are, in words that follow "records".
    pub scored_on: &'a str,
    /// For two classes.
    pub ranking: Option<Ranking<'a>>,
    /// Pictures of the figures over time, as SVG.
    pub figures: &'a [String],
    /// The picture of noise against signal, where both are lengths.
    pub noise: Option<&'a str>,
    /// Where it comes from.
    pub origin: Origin<'a>,
}

/// The figure that says most about a run, in a measure that people know.
pub struct Headline {
    /// Its name.
    pub measure: &'static str,
    /// What it means.
    pub meaning: String,
    /// The private model's.
    pub own: f64,
    /// Without looking at features.
    pub guess: f64,
    /// How that guesses.
    pub guesses: &'static str,
    /// The same learner's without privacy.
    pub without: Option<f64>,
    /// Whether more is better.
    pub more: bool,
}

impl Headline {
    /// Of a run's JSON object.
    #[must_use]
    pub fn of(run: &Value) -> Option<Self> {
        let at = |path: &str| find(run, path).as_f64();
        let of = |measure, path: &str, (guess, guesses), more, meaning: String| {
            Some(Self {
                measure,
                meaning,
                own: at(path)?,
                guess,
                guesses,
                without: at(&format!("without_privacy.{path}")),
                more,
            })
        };
        if let Some(auc) = at("metrics.auc") {
            let meaning = format!(
                "Of one positive and one negative record, it ranks the positive one higher {:.0} \
                 times in 100; guessing does so 50 times.",
                100.0 * auc
            );
            return of("AUC", "metrics.auc", (0.5, "guessing"), true, meaning);
        }
        if let Some(majority) = at("metrics.majority") {
            let meaning = "The share of predictions that are right.".to_owned();
            let guess = (majority, "always the commonest class");
            return of("accuracy", "metrics.accuracy", guess, true, meaning);
        }
        if at("metrics.r2").is_some() {
            let meaning = "The share of the target's variance that the model explains.".to_owned();
            return of("R²", "metrics.r2", (0.0, "always the mean"), true, meaning);
        }
        let guess = (at("loss.baseline")?, "all alike");
        let meaning = "The average loss per record; less is better.".to_owned();
        let mut told = of("average loss", "loss.average", guess, false, meaning)?;
        told.without = at("without_privacy.loss");
        Some(told)
    }

    /// What privacy costs, in the measure; at least 0. Of figures with three decimals, as they are
    /// shown.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        let rounded = |value: f64| (value * 1e3).round() / 1e3;
        let lost = rounded(self.without?) - rounded(self.own);
        Some(if self.more { lost } else { -lost }.max(0.0))
    }

    /// In one line: `AUC 0.905; guessing 0.500; without privacy 0.908: privacy costs 0.003`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut text = format!(
            "{} {:.3}; {} {:.3}",
            self.measure, self.own, self.guesses, self.guess
        );
        if let (Some(without), Some(cost)) = (self.without, self.cost()) {
            let _ = write!(
                text,
                "; without privacy {without:.3}: privacy costs {cost:.3}"
            );
        }
        text
    }

    /// The picture: guessing, the private model, the same learner without privacy.
    #[must_use]
    pub fn picture(&self) -> String {
        let mut bars = vec![
            Bar::new(self.guesses, self.guess, "soft"),
            Bar::new("this model, private", self.own, "down"),
        ];
        bars.extend(
            self.without
                .map(|without| Bar::new("without privacy", without, "up")),
        );
        panels::glance(self.measure, &bars)
    }

    fn tell(&self, page: &mut String) {
        page.push_str("<div class=\"tiles\">");
        let mut tile = |value: String, words: &str| {
            let _ = write!(
                page,
                "<div class=\"tile\"><b>{value}</b><span>{}</span></div>",
                escape(words)
            );
        };
        tile(
            format!("{:.3}", self.own),
            &format!("{} of the private model", self.measure),
        );
        tile(
            format!("{:.3}", self.guess),
            &format!("{} of {}", self.measure, self.guesses),
        );
        if let (Some(without), Some(cost)) = (self.without, self.cost()) {
            tile(
                format!("{without:.3}"),
                &format!("{} without privacy", self.measure),
            );
            tile(format!("{cost:.3}"), "is what privacy costs");
        }
        page.push_str("</div>\n");
        page.push_str("<div class=\"panel\" style=\"max-width:48rem\">");
        page.push_str(&self.picture());
        let _ = writeln!(
            page,
            "</div>\n<p class=\"soft\">{}</p>",
            escape(&self.meaning)
        );
    }
}

fn find<'a>(run: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(run, |value, key| &value[key])
}

/// The page.
#[must_use]
pub fn page(told: &Page<'_>) -> String {
    let (json, recipe) = (told.run, &told.recipe);
    let mut page = page::head(&format!("Hushstream: {}", recipe.name));
    let _ = writeln!(page, "<h1>A run of {}</h1>", escape(recipe.name));
    page.push_str(
        "<p class=\"warning\"><b>For the operator only.</b> The figures and pictures on this page \
         are computed from private data without noise: do not publish them. \
         The model file and the guarantee below may be published.</p>\n",
    );
    let is_simulated = json["guarantee"]["simulated"] == true;
    if is_simulated {
        page::simulated(&mut page);
    }
    if let Some(headline) = Headline::of(json) {
        headline.tell(&mut page);
    }
    if let Some(scored) = json["scored"].as_u64() {
        let _ = writeln!(
            page,
            "<p class=\"soft\">Figures are on {} records{}.</p>",
            grouped(scored),
            escape(told.scored_on)
        );
    }
    page.push_str("<h2>What is promised</h2>\n");
    page::guarantee(&mut page, told.guarantee);
    let ranking = told
        .ranking
        .as_ref()
        .filter(|ranking| !ranking.roc.is_empty());
    if let Some(ranking) = ranking {
        page.push_str(
            "<h2>How well it ranks, and whether its probabilities hold</h2>\n<div class=\"grid \
             wide\">",
        );
        let dashed = ranking.without.map_or("", |_| "; dashed without privacy");
        let _ = writeln!(
            page,
            "<div class=\"panel square\"><h3>ROC curve</h3><p class=\"note\">the diagonal is \
             guessing{dashed}</p>{}</div>",
            panels::roc(ranking.roc, ranking.without)
        );
        if !ranking.calibration.is_empty() {
            let _ = writeln!(
                page,
                "<div class=\"panel square\"><h3>Calibration</h3><p class=\"note\">15 groups of equal \
                 size; on the diagonal, probabilities are what happens</p>{}</div>",
                panels::calibration(ranking.calibration)
            );
        }
        page.push_str("</div>\n");
    }
    if !told.figures.is_empty() {
        page.push_str("<h2>While it learned</h2>\n<div class=\"column\">");
        for figure in told.figures {
            let _ = writeln!(page, "<div class=\"panel\">{figure}</div>");
        }
        page.push_str("</div>\n");
    }
    if let Some(shapes) = told.shapes {
        page.push_str(&explain::body(shapes));
    }
    if let Some(arms) = json["arms"].as_array() {
        page.push_str(&of_arms(arms));
    }
    page.push_str("<h2>In numbers</h2>\n<details><summary>All figures</summary>");
    page.push_str("<table class=\"rows\">\n");
    let has_twin = !json["without_privacy"].is_null();
    if has_twin {
        page.push_str("<tr><th></th><th>private</th><th>without privacy</th></tr>\n");
    }
    for (name, path) in SCORES.iter().chain(FIGURES) {
        let twin = format!("without_privacy.{path}");
        row(
            &mut page,
            json,
            name,
            &[*path, &*twin][..1 + usize::from(has_twin)],
        );
    }
    page.push_str("</table></details>\n<details><summary>The guarantee</summary>");
    table(&mut page, json, PROMISE);
    page.push_str("</details>\n");
    if let Some(picture) = told.noise {
        page.push_str(
            "<h2>Noise against signal</h2>\n<p>The largest possible length of the sum of the \
             records, and the length of the noise of a release. Both follow from public numbers. \
             The true length of the sum is private, so the picture predicts no accuracy.</p>\n",
        );
        let _ = writeln!(page, "<div class=\"panel\">{picture}</div>");
    }
    let _ = writeln!(
        page,
        "<details><summary>The recipe, and why it was chosen</summary>\n<p><b>{}</b>: {}{}. When: {}.</p>\n\
         <p>Regret as printed: {}. As corrected: {}.</p>",
        escape(recipe.name),
        escape(recipe.source),
        match recipe.errata {
            [] => String::new(),
            errata => format!(", with errata {}", escape(&errata.join(", "))),
        },
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
        page.push_str("</ul>\n");
    }
    page.push_str("</details>\n");
    told.origin.tell(&mut page);
    page.push_str(&page::foot("run", json));
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

/// Rows of the figures that exist, rounded. Each carries its path, so that a test can find it in
/// the object.
fn table(page: &mut String, json: &Value, rows: &Rows) {
    page.push_str("<table class=\"rows\">\n");
    for (name, path) in rows {
        row(page, json, name, &[path]);
    }
    page.push_str("</table>\n");
}

/// The row of a figure, if that exists, and of others beside it.
fn row(page: &mut String, json: &Value, name: &str, paths: &[&str]) {
    if find(json, paths[0]).is_null() {
        return;
    }
    let _ = write!(page, "<tr><td>{name}</td>");
    for path in paths {
        let value = find(json, path);
        let _ = match value {
            Value::Null => write!(page, "<td></td>"),
            _ => write!(
                page,
                "<td data-key=\"{path}\">{}</td>",
                escape(&rounded(value))
            ),
        };
    }
    page.push_str("</tr>\n");
}

/// A value as people read it: whole numbers in groups, others in four digits.
#[must_use]
pub fn rounded(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        other => match (other.as_u64(), other.as_f64()) {
            (Some(whole), _) => grouped(whole),
            (None, Some(number)) if number.fract() == 0.0 && number.abs() < 1e15 => {
                format!("{number:.0}")
            }
            (None, Some(number)) => short(number),
            _ => other.to_string(),
        },
    }
}
