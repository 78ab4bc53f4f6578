//! One function for each page, from what the API told to HTML.

use super::charts;
use super::html::{Page, SIMULATED, Viewer, escape, status, tile, time, trail};
use super::told::{Audit, Dataset, Estimate, Evaluated, Guarantee, Model, Operator, Release, Run};
use axum::http::StatusCode;
use hushstream::read::AxisKind;
use hushstream_pictures::numbers::{grouped, percent, short};
use serde_json::Value;
use std::fmt::Write;

/// Rows of a table of releases or batches.
const ROWS: usize = 12;
/// Columns whose part in a policy is drawn.
const MOST_COLUMNS: usize = 8;
/// Categories of a column that are drawn.
const MOST_CATEGORIES: usize = 8;
/// Places along a number.
const PLACES: u32 = 41;

/// The page that asks for a token.
pub(super) fn sign_in(next: Option<&str>, refusal: Option<&str>) -> Page {
    let mut page = Page::new("Sign in", None);
    let refusal = refusal.map_or_else(String::new, |why| {
        format!(
            "<p class=\"alarm\" id=\"refusal\" role=\"alert\">{}</p>",
            escape(why)
        )
    });
    let about = if refusal.is_empty() {
        ""
    } else {
        " aria-describedby=\"refusal\" aria-invalid=\"true\""
    };
    let next = next.map_or_else(String::new, |next| {
        format!(
            "<input type=\"hidden\" name=\"next\" value=\"{}\">",
            escape(next)
        )
    });
    page.push(&format!(
        "<section class=\"sign-in\"><p class=\"brand-large\">Hushstream</p>\
         <h1>Sign in</h1><p class=\"soft\">What was learned, what was promised to people, and what \
         is left of their budget.</p>{refusal}\
         <form method=\"post\" action=\"/sign-in\"><label for=\"token\">Token</label>\
         <input id=\"token\" name=\"token\" type=\"password\" autocomplete=\"off\" \
         autocapitalize=\"off\" spellcheck=\"false\" placeholder=\"hs_…\" required \
         autofocus{about}>\
         {next}<button type=\"submit\">Sign in</button></form>\
         <p class=\"note\">A reader's token shows what is released; an operator's also exact \
         numbers, \
         marked as such. The browser keeps a cookie that opens these pages for 12 hours, not the \
         token.</p></section>"
    ));
    page
}

/// A page that is not shown, and why.
pub(super) fn refused(status: StatusCode, detail: &str, viewer: Option<&Viewer>) -> Page {
    let title = match status {
        StatusCode::FORBIDDEN => "This token may not see this",
        StatusCode::NOT_FOUND => "There is no such page",
        _ => "This page cannot be shown",
    };
    let mut page = Page::new(title, viewer);
    let detail = if detail.is_empty() {
        "The server gave no reason."
    } else {
        detail
    };
    page.push(&format!(
        "<h1>{title}</h1><p>{}</p><p><a href=\"/\">To the first page</a></p>",
        escape(detail)
    ));
    page
}

fn promise(epsilon: f64, d: f64) -> String {
    if d > 0.0 {
        format!("ε = {}, δ = {}", short_number(epsilon), delta(d))
    } else {
        format!("ε = {}", short_number(epsilon))
    }
}

/// A δ in three digits, rounded up: 1e-6.
fn delta(value: f64) -> String {
    if value <= 0.0 {
        return "0".to_owned();
    }
    let unit = 10_f64.powf(value.log10().floor() - 2.0);
    let above = (value / unit - 1e-9).ceil() * unit;
    let text = format!("{above:.2e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{digits}e{power}")
}

/// As short as it can be written.
fn short_number(value: f64) -> String {
    let text = short(value);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn adjacency(name: &str) -> &str {
    match name {
        "replace-one" => "one record replaced by any other",
        "zero-out" => "one record left empty",
        other => other,
    }
}

/// A share that is left, rounded down: nobody should plan with more.
fn left(share: f64) -> String {
    let percent = 100.0 * share.clamp(0.0, 1.0);
    if percent < 10.0 {
        format!("{}", (10.0 * percent + 1e-9).floor() / 10.0)
    } else {
        format!("{}", (percent + 1e-9).floor())
    }
}

fn budget_bar(told: &Dataset) -> String {
    let about = format!(
        "{} % of the budget is spent, {} % is left",
        percent(told.used),
        left(told.left)
    );
    let class = if told.left < 0.1 {
        "spent low"
    } else {
        "spent"
    };
    charts::meter(&about, told.used, class)
}

/// All data sets.
pub(super) fn datasets(viewer: &Viewer, all: &[Dataset]) -> Page {
    let mut page = Page::new("Data sets", Some(viewer));
    page.push(
        "<h1>Data sets</h1><p class=\"lead\">The people in the data, and the budget of what may be \
         told about them. Everything that is learned from a data set is charged here first.</p>",
    );
    if all.is_empty() {
        page.push("<p class=\"empty\">There is no data set yet.</p>");
        return page;
    }
    page.push("<ul class=\"cards\">");
    for told in all {
        let name = escape(&told.dataset);
        page.push(&format!(
            "<li class=\"card\"><h2><a href=\"/datasets/{name}\">{name}</a></h2>\
             <p class=\"big\">{} %<span> left</span></p>{}<p class=\"soft\">{} % spent of {}</p>\
             <p class=\"note\">{}{}</p>{}</li>",
            left(told.left),
            budget_bar(told),
            percent(told.used),
            escape(&promise(told.epsilon, told.delta)),
            unit(told),
            if told.raised {
                "; the budget was raised"
            } else {
                ""
            },
            if told.simulated { SIMULATED } else { "" },
        ));
    }
    page.push("</ul>");
    page
}

fn unit(told: &Dataset) -> String {
    let whose = if told.persons {
        "protects persons"
    } else {
        "protects single records"
    };
    format!("{whose}: {}", escape(adjacency(&told.adjacency)))
}

/// A data set: what is promised, what is spent, and by whom.
pub(super) fn dataset(viewer: &Viewer, told: &Dataset) -> Page {
    let mut page = Page::new(&told.dataset, Some(viewer));
    page.push(&trail(&[("/datasets", "Data sets")], &told.dataset));
    page.push(&format!("<h1>{}</h1>", escape(&told.dataset)));
    if told.simulated {
        page.push(SIMULATED);
    }
    page.push(&format!(
        "<section class=\"panel\" aria-labelledby=\"budget\"><h2 id=\"budget\">Budget</h2>\
         <dl class=\"tiles\">{}{}{}</dl>{}<p class=\"note\">{}. Nobody learns more about one of \
         them \
         from all models together than this total allows; a run that does not fit is refused \
         before \
         it begins.{}</p></section>",
        tile(
            "Total",
            &promise(told.epsilon, told.delta),
            if told.raised {
                "was raised; the audit log says why"
            } else {
                "as first promised"
            }
        ),
        tile(
            "Spent",
            &format!("{} %", percent(told.used)),
            "of the total"
        ),
        tile("Left", &format!("{} %", left(told.left)), "for other runs"),
        budget_bar(told),
        upper(&unit(told)),
        ""
    ));
    page.push(
        "<section class=\"panel\" aria-labelledby=\"charges\"><h2 id=\"charges\">Who spent it</h2>",
    );
    if told.runs.is_empty() {
        page.push("<p class=\"empty\">Nothing has been charged yet.</p></section>");
        return page;
    }
    let most = told.runs.iter().map(|run| run.epsilon).fold(0.0, f64::max);
    let rows: Vec<(String, f64, String)> = told.runs.iter().map(bar_of_run).collect();
    page.push(&charts::bars(&rows, most.max(told.epsilon), "spent"));
    page.push(
        "<p class=\"note\">Each run by itself, on the scale of the total ε. Runs add up to less \
         than \
         the sum of their ε, so the spent share above is what counts.</p>",
    );
    page.push(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Charges\"><table>\
         <caption class=\"unseen\">Charges</caption><thead><tr><th scope=\"col\" \
         class=\"n\">Run</th>\
         <th scope=\"col\">Model</th><th scope=\"col\" class=\"n\">ε</th><th scope=\"col\" \
         class=\"n\">δ</th><th scope=\"col\">Noise</th><th \
         scope=\"col\">State</th></tr></thead><tbody>",
    );
    for run in &told.runs {
        let model = run.model.as_deref().map_or_else(
            || "–".to_owned(),
            |model| format!("<a href=\"/models/{0}\">{0}</a>", escape(model)),
        );
        let state = match (run.begun, run.simulated) {
            (_, true) => "simulated",
            (true, _) => "begun",
            (false, _) => "charged, not begun",
        };
        page.push(&format!(
            "<tr><td class=\"n\">{}</td><td>{model}</td><td class=\"n\">{}</td><td \
             class=\"n\">{}</td>\
             <td>{}</td><td>{state}</td></tr>",
            run.number,
            short_number(run.epsilon),
            delta(run.delta),
            escape(&run.kind)
        ));
    }
    page.push("</tbody></table></div></section>");
    page
}

fn bar_of_run(run: &Run) -> (String, f64, String) {
    let name = run.model.clone();
    let name = name.unwrap_or_else(|| format!("run {}", run.number));
    (name, run.epsilon, promise(run.epsilon, run.delta))
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

fn task(name: &str) -> &str {
    match name {
        "decide" => "decides",
        "classify" => "predicts yes or no",
        "classes" => "predicts classes",
        "regress" => "predicts a number",
        other => other,
    }
}

/// What the numbered releases are called.
fn releases_are(told: &Model) -> &'static str {
    if told.decides() { "policy" } else { "model" }
}

/// All models.
pub(super) fn models(viewer: &Viewer, all: &[Model]) -> Page {
    let mut page = Page::new("Models", Some(viewer));
    page.push(
        "<h1>Models</h1><p class=\"lead\">What learns, how far it is, and which version answers \
         now.</p>",
    );
    if all.is_empty() {
        page.push("<p class=\"empty\">There is no model yet.</p>");
        return page;
    }
    page.push("<ul class=\"cards\">");
    for told in all {
        let name = escape(&told.model);
        let done = told.closed_batches as f64 / told.batches.max(1) as f64;
        let about = format!(
            "{} of {} batches are closed",
            told.closed_batches, told.batches
        );
        page.push(&format!(
            "<li class=\"card\"><h2><a href=\"/models/{name}\">{name}</a> {}</h2>\
             <p class=\"soft\">{} · {}</p>{}<p class=\"soft\">batch {} of {} · {} {} · {} \
             {}</p>{}</li>",
            status(&told.status),
            escape(task(&told.task)),
            escape(&told.dataset),
            charts::meter(&about, done, "done"),
            grouped((told.open_batch + 1).min(told.batches)),
            grouped(told.batches),
            releases_are(told),
            told.policy,
            grouped(told.slots),
            taken(told),
            if told.simulated { SIMULATED } else { "" },
        ));
    }
    page.push("</ul>");
    page
}

/// What slots are called.
fn taken(told: &Model) -> &'static str {
    if told.decides() {
        "decisions"
    } else {
        "records"
    }
}

/// A model: everything on this page is released or public.
pub(super) fn model(
    viewer: &Viewer,
    told: &Model,
    releases: &[Release],
    policy: Option<&hushstream::Model>,
) -> Page {
    let mut page = Page::new(&told.model, Some(viewer));
    let name = escape(&told.model);
    page.push(&trail(&[("/models", "Models")], &told.model));
    page.push(&format!(
        "<div class=\"title\"><h1>{name}</h1>{}{}</div><p class=\"lead\">It {}{}. Data set {}.</p>",
        status(&told.status),
        if viewer.is_operator() {
            format!(
                "<a class=\"button operator-link\" href=\"/models/{name}/operator\">Exact numbers, \
                 operator only</a>"
            )
        } else {
            String::new()
        },
        escape(task(&told.task)),
        about_actions(told),
        dataset_link(viewer, &told.dataset),
    ));
    if told.simulated {
        page.push(SIMULATED);
    }
    page.push(&now(told));
    page.push(&rewards(told, releases));
    page.push(&guarantee(told.guarantee.as_ref()));
    page.push(&shape(told, policy));
    page.push(&history(told, releases));
    page.push(&settings(told));
    page.push(
        "<p class=\"note released-note\">Everything on this page is released or public: it may be \
         shown to anybody.</p>",
    );
    page
}

fn dataset_link(viewer: &Viewer, name: &str) -> String {
    let name = escape(name);
    if viewer.home() == "/datasets" {
        format!("<a href=\"/datasets/{name}\">{name}</a>")
    } else {
        name
    }
}

fn about_actions(told: &Model) -> String {
    let Some(actions) = told.actions.as_deref().filter(|_| told.decides()) else {
        return String::new();
    };
    const MOST: usize = 6;
    let names: Vec<String> = actions.iter().take(MOST).map(|name| escape(name)).collect();
    let more = match actions.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(" among <b>{}</b>{more}", names.join("</b>, <b>"))
}

/// What happens now: changed by the script as events come.
fn now(told: &Model) -> String {
    let taken_now = told.in_batch();
    let share = taken_now as f64 / told.batch.max(1) as f64;
    let about = format!("{taken_now} of {} slots of the open batch", told.batch);
    let closes = match &told.closes_at {
        Some(at) => format!("closes at {}", time(at)),
        None => "closes when it is full".to_owned(),
    };
    let line = if told.status == "finished" {
        "All batches are given out<span data-closes></span>".to_owned()
    } else {
        format!(
            "Batch <b data-open>{}</b> of {} is open: <span data-in-batch>{}</span> of {} slots\
             <span data-closes> · {closes}</span>",
            grouped((told.open_batch + 1).min(told.batches)),
            grouped(told.batches),
            grouped(taken_now),
            grouped(told.batch)
        )
    };
    format!(
        "<section class=\"panel now\" aria-labelledby=\"now\" data-live=\"/models/{}/live\" \
         data-batch=\"{}\" data-batches=\"{}\" data-open-batch=\"{}\">\
         <div class=\"row\"><h2 id=\"now\">Now</h2>\
         <span class=\"pulse\" data-pulse>as of the last reload</span></div><dl class=\"tiles\">\
         <div class=\"tile\"><dt>{} in use</dt><dd data-policy>{}</dd><p>version</p></div>\
         <div class=\"tile\"><dt>Releases</dt><dd data-released>{}</dd><p>published so \
         far</p></div>\
         <div class=\"tile\"><dt>Batches closed</dt><dd data-closed>{}</dd><p>of {} \
         planned</p></div>\
         <div class=\"tile\"><dt>{}</dt><dd data-slots>{}</dd><p>slots given out</p></div></dl>\
         <p class=\"batch-line\">{line}</p>{}\
         <ul class=\"log\" data-log aria-live=\"polite\" aria-label=\"What has happened since this \
         page was opened\"></ul></section>",
        escape(&told.model),
        told.batch,
        told.batches,
        told.open_batch,
        upper(releases_are(told)),
        told.policy,
        grouped(told.released),
        grouped(told.closed_batches),
        grouped(told.batches),
        upper(taken(told)),
        grouped(told.slots),
        charts::meter(&about, share, "done").replace("class=\"done\"", "class=\"done\" data-fill"),
    )
}

/// The bounds of rewards, if they are stated.
fn reward_bounds(told: &Model) -> (f64, f64) {
    let bounds = told.settings.as_ref().and_then(|s| s.get("reward_bounds"));
    let end = |place: usize| bounds.and_then(|b| b.get(place)).and_then(Value::as_f64);
    (end(0).unwrap_or(0.0), end(1).unwrap_or(1.0))
}

/// What an estimate is of.
fn judged(estimate: &Estimate) -> String {
    match &*estimate.policy {
        "as played" => "this model, as it decided".to_owned(),
        other => other.to_owned(),
    }
}

/// The estimates that a chart shows: the mean of what was played, and one of each other policy.
fn is_shown(estimate: &Estimate) -> bool {
    matches!(&*estimate.estimate, "mean" | "snips")
}

/// The private average reward with its interval, against other policies.
fn rewards(told: &Model, releases: &[Release]) -> String {
    let mut html = String::from(
        "<section class=\"panel\" id=\"rewards\" aria-labelledby=\"reward\"><h2 \
         id=\"reward\">Average \
         reward</h2>",
    );
    let latest = releases.iter().rev().find_map(|r| r.evaluation.as_ref());
    let Some(latest) = latest.filter(|_| told.decides()) else {
        if !told.decides() {
            return String::new();
        }
        let is_planned = told
            .settings
            .as_ref()
            .is_some_and(|settings| settings.get("evaluation").is_some_and(|e| !e.is_null()));
        html.push_str(if is_planned {
            "<p class=\"empty\">Nothing is released yet: the first batch is not \
             closed.</p></section>"
        } else {
            "<p class=\"empty\">No evaluation was planned for this model, so its average reward \
             is not \
             released.</p></section>"
        });
        return html;
    };
    let (low, high) = reward_bounds(told);
    let within = |value: f64| value.clamp(low, high);
    let of = |release: &Release, policy: &str| {
        let all = release.evaluation.iter().flatten();
        let mut own = all.filter(|e| is_shown(e) && e.policy == policy);
        own.next()
            .map(|e| [within(e.reward), within(e.low), within(e.high)])
    };
    let shown: Vec<&Estimate> = latest.iter().filter(|e| is_shown(e)).collect();
    let places: Vec<u64> = releases.iter().map(|release| release.version).collect();
    let lines: Vec<charts::Line> = shown
        .iter()
        .enumerate()
        .map(|(k, e)| charts::Line {
            name: judged(e),
            points: releases.iter().map(|r| of(r, &e.policy)).collect(),
            has_band: k == 0,
        })
        .collect();
    let legend: Vec<(String, String)> = shown
        .iter()
        .map(|e| (judged(e), short(within(e.reward))))
        .collect();
    html.push_str(&charts::legend(&legend));
    let about = format!(
        "Average reward over {} releases, with 95 % intervals; the numbers follow in a table",
        places.len()
    );
    html.push_str(&charts::lines(&about, &places, &lines));
    html.push_str(
        "<p class=\"note\">Estimated from released sums, since the beginning. Shaded: the 95 % \
         interval of this model, which covers the noise of privacy; those of other policies are in \
         the table. They are estimated from the same decisions, as if they had decided.</p><div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-label=\"Latest estimates\"><table><caption class=\"unseen\">Latest \
         estimates</caption>\
         <thead><tr><th scope=\"col\">Policy</th><th scope=\"col\" class=\"n\">Average reward</th>\
         <th scope=\"col\" class=\"n\">95 % interval</th><th \
         scope=\"col\">Estimate</th></tr></thead>\
         <tbody>",
    );
    for e in latest {
        let _ = write!(
            html,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{} to {}</td><td>{}</td></tr>",
            escape(&judged(e)),
            short(e.reward),
            short(e.low),
            short(e.high),
            escape(match &*e.estimate {
                "mean" => "mean of what was told",
                "ips" => "inverse propensities",
                "snips" => "inverse propensities, normalised",
                other => other,
            })
        );
    }
    html + "</tbody></table></div></section>"
}

fn guarantee(told: Option<&Guarantee>) -> String {
    let Some(told) = told else {
        return String::new();
    };
    let joint = if told.joint {
        tile(
            "Covers",
            "policies",
            "and the decisions made for everybody else",
        )
    } else {
        String::new()
    };
    let mut sentence = String::new();
    for line in told.sentence.lines() {
        let _ = if line.starts_with('(') {
            write!(
                sentence,
                "<details><summary>Mechanism and assumptions</summary><p class=\"note\">{}</p>\
                 </details>",
                escape(line)
            )
        } else {
            write!(sentence, "<p>{}</p>", escape(line))
        };
    }
    format!(
        "<section class=\"panel promise\" aria-labelledby=\"promise\"><h2 id=\"promise\">What is \
         promised to people</h2><dl class=\"tiles\">{}{}{}{joint}</dl>{sentence}</section>",
        tile("ε", &short_number(told.epsilon), "smaller protects more"),
        tile("δ", &delta(told.delta), "chance that ε does not hold"),
        tile("Unit", &told.adjacency, adjacency(&told.adjacency)),
    )
}

/// What the published policy or model does with each column.
fn shape(told: &Model, policy: Option<&hushstream::Model>) -> String {
    let mut html = format!(
        "<section class=\"panel\" id=\"shape\" aria-labelledby=\"says\"><h2 id=\"says\">What the \
         {} \
         says</h2>",
        releases_are(told)
    );
    let Some(model) = policy else {
        html.push_str("<p class=\"empty\">Nothing is released yet.</p></section>");
        return html;
    };
    match model.policy() {
        Ok(Some(policy)) => html.push_str(&decisions(model, &policy)),
        _ => match model.explain() {
            Ok(shapes) => html.push_str(&hushstream_pictures::explain::body(&shapes)),
            Err(_) => html.push_str(&weights(model)),
        },
    }
    html + "</section>"
}

/// How likely each action is along each column.
fn decisions(
    model: &hushstream::Model,
    policy: &hushstream::mechanism::decisions::Policy,
) -> String {
    let names = model.arm_names();
    let axes = model.layout.axes();
    // Numbers in the middle, categories open.
    let middle: Vec<f64> = axes
        .iter()
        .map(|axis| match axis.kind {
            AxisKind::Number { .. } => 0.0,
            _ => f64::NAN,
        })
        .collect();
    let usual = policy.answer(&middle).unwrap_or_default();
    let legend: Vec<(String, String)> = names
        .iter()
        .zip(&usual)
        .map(|(name, chance)| (name.clone(), format!("{:.0} %", 100.0 * chance)))
        .collect();
    let mut html = format!(
        "<p class=\"soft\">How likely each action is, column by column; other numbers are in the \
         middle of their bounds, other categories unknown. Beside the names: for a context with \
         all \
         columns so.</p>{}<div class=\"grid\">",
        charts::legend(&legend)
    );
    let answer = |column: usize, code: f64| {
        let mut context = middle.clone();
        context[column] = code;
        policy.answer(&context).unwrap_or_default()
    };
    for (column, axis) in axes.iter().enumerate().take(MOST_COLUMNS) {
        let about = format!("probabilities of actions by {}", axis.name);
        let picture = match &axis.kind {
            AxisKind::Number { low, high } => {
                let mut parts = vec![Vec::new(); names.len()];
                for place in 0..PLACES {
                    let code = -1.0 + 2.0 * f64::from(place) / f64::from(PLACES - 1);
                    let chances = answer(column, code);
                    parts
                        .iter_mut()
                        .zip(chances)
                        .for_each(|(part, chance)| part.push(chance));
                }
                charts::areas(&about, (*low, *high), &parts)
            }
            AxisKind::Category(values) => {
                let rows: Vec<(String, Vec<f64>)> = (0_u32..)
                    .zip(values)
                    .take(MOST_CATEGORIES)
                    .map(|(place, value)| (value.clone(), answer(column, place.into())))
                    .collect();
                let more = match values.len().saturating_sub(MOST_CATEGORIES) {
                    0 => String::new(),
                    more => format!("<p class=\"note\">and {more} more</p>"),
                };
                charts::stacks(&about, &rows) + &more
            }
            AxisKind::Hashed(_) => "<p class=\"note\">a hashed column has no names</p>".to_owned(),
        };
        let _ = write!(
            html,
            "<figure class=\"small\"><figcaption>{}</figcaption>{picture}</figure>",
            escape(&axis.name)
        );
    }
    html.push_str("</div>");
    if axes.len() > MOST_COLUMNS {
        let more = axes.len() - MOST_COLUMNS;
        let _ = write!(
            html,
            "<p class=\"note\">{more} more columns are not drawn.</p>"
        );
    }
    html
}

/// The largest weights of a linear model.
fn weights(model: &hushstream::Model) -> String {
    let mut all: Vec<(usize, f64)> = model.weights.iter().copied().enumerate().collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    let dimension = model.layout.dimension().max(1);
    let most = all.first().map_or(1.0, |weight| weight.1.abs());
    let rows: Vec<(String, f64, String)> = all
        .iter()
        .take(ROWS)
        .map(|&(place, weight)| {
            let name = model.layout.feature_name(place % dimension);
            (name, weight.abs(), short(weight))
        })
        .collect();
    format!(
        "<p class=\"soft\">The {} largest of {} weights.</p>{}",
        rows.len(),
        grouped(all.len() as u64),
        charts::bars(&rows, most, "done")
    )
}

/// The latest releases.
fn history(told: &Model, releases: &[Release]) -> String {
    let mut html = String::from(
        "<section class=\"panel\" id=\"history\" aria-labelledby=\"releases\"><h2 \
         id=\"releases\">Releases</h2>",
    );
    if releases.is_empty() {
        html.push_str("<p class=\"empty\">Nothing is released yet.</p></section>");
        return html;
    }
    let has_rewards = told.decides() && releases.iter().any(|r| r.evaluation.is_some());
    let _ = write!(
        html,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Latest \
         releases\"><table>\
         <caption class=\"unseen\">Latest releases</caption><thead><tr><th scope=\"col\" \
         class=\"n\">Version</th><th scope=\"col\">Published</th>{}</tr></thead><tbody>",
        if has_rewards {
            "<th scope=\"col\" class=\"n\">Average reward so far</th><th scope=\"col\" \
             class=\"n\">95 % \
             interval</th>"
        } else {
            ""
        }
    );
    for release in releases.iter().rev().take(ROWS) {
        let _ = write!(
            html,
            "<tr><td class=\"n\">{}</td><td>{}</td>",
            release.version,
            time(&release.at)
        );
        let mean = release.evaluation.iter().flatten();
        let mean = mean.into_iter().find(|e| e.estimate == "mean");
        match mean {
            Some(e) if has_rewards => {
                let _ = write!(
                    html,
                    "<td class=\"n\">{}</td><td class=\"n\">{} to {}</td>",
                    short(e.reward),
                    short(e.low),
                    short(e.high)
                );
            }
            None if has_rewards => html.push_str("<td></td><td></td>"),
            _ => {}
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    if told.released > ROWS as u64 {
        let _ = write!(
            html,
            "<p class=\"note\">The latest {ROWS} of {}; all are at \
             <code>/v1/models/{}/releases</code>.\
             </p>",
            grouped(told.released),
            escape(&told.model)
        );
    }
    html + "</section>"
}

/// What was stated when the model was made.
fn settings(told: &Model) -> String {
    let mut rows = vec![
        ("recipe".to_owned(), told.recipe.clone()),
        ("columns".to_owned(), told.columns.join(", ")),
    ];
    rows.extend(
        told.created
            .iter()
            .map(|at| ("made".to_owned(), at.clone())),
    );
    if let Some(Value::Object(all)) = &told.settings {
        let stated = all.iter().filter(|(name, _)| *name != "dataset");
        rows.extend(stated.map(|(name, value)| {
            let words = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            (name.replace('_', " "), words)
        }));
    }
    let mut html = String::from(
        "<details class=\"panel\"><summary>Settings, all public</summary><dl class=\"facts\">",
    );
    for (name, value) in rows {
        let _ = write!(
            html,
            "<div><dt>{}</dt><dd>{}</dd></div>",
            escape(&name),
            escape(&value)
        );
    }
    html + "</dl></details>"
}

/// What the exact numbers are, in order.
const EXACT: [(&str, &str, &str); 10] = [
    ("mean_reward", "Mean reward", "of decisions with a reward"),
    ("rewards", "Rewards", "that came in time"),
    ("default", "Default rewards", "nothing was told in time"),
    ("late", "Late", "refused: the batch was closed"),
    ("repeated", "Repeated", "the same again"),
    ("clipped", "Clipped", "outside of their bounds"),
    (
        "refused_contents",
        "Refused contents",
        "did not fit the schema",
    ),
    ("null", "Empty slots", "count for nothing"),
    ("learned_slots", "Learned from", "slots of closed batches"),
    (
        "waiting_slots",
        "Waiting",
        "slots that are not learned from",
    ),
];

/// Exact numbers, each marked, beside what is released of them.
pub(super) fn operator(
    viewer: &Viewer,
    told: &Model,
    exact: &Operator,
    released: Option<&Evaluated>,
) -> Page {
    let title = format!("{}, operator only", told.model);
    let mut page = Page::new(&title, Some(viewer));
    let name = escape(&told.model);
    let back = format!("/models/{name}");
    page.push(&trail(
        &[("/models", "Models"), (&back, &told.model)],
        "operator only",
    ));
    page.push(&format!(
        "<h1>{name}, exact numbers</h1><p class=\"only\" role=\"note\"><b>Operator only.</b> \
         These are \
         computed from people's data without noise. They are not released, and the guarantee does \
         not \
         cover them: show them to nobody else, and remember that what you decide after looking at \
         them is outside of the guarantee too.</p>"
    ));
    page.push(
        "<section class=\"panel exact\" aria-labelledby=\"exact\"><h2 id=\"exact\">Exact \
               <span class=\"tag tag-only\">operator only</span></h2><dl class=\"tiles\">",
    );
    for (key, name, note) in EXACT {
        let value = match exact.others.get(key) {
            Some(Value::Number(number)) => match number.as_u64() {
                Some(whole) => grouped(whole),
                None => short(number.as_f64().unwrap_or(f64::NAN)),
            },
            Some(Value::Null) => "–".to_owned(),
            _ => continue,
        };
        page.push(&tile(name, &value, note));
    }
    page.push("</dl>");
    let sum: u64 = exact.plays.values().sum();
    if sum > 0 {
        let rows: Vec<(String, f64, String)> = exact
            .plays
            .iter()
            .map(|(action, plays)| {
                let share = 100.0 * *plays as f64 / sum as f64;
                let words = format!("{} ({share:.1} %)", grouped(*plays));
                (action.clone(), *plays as f64, words)
            })
            .collect();
        page.push("<h3>Plays of each action</h3>");
        page.push(&charts::bars(&rows, sum as f64, "only-fill"));
    }
    page.push("</section>");
    if let Some(released) = released {
        page.push(&format!(
            "<section class=\"panel\" aria-labelledby=\"released\"><h2 id=\"released\">The same, \
             as \
             anybody may see it <span class=\"tag tag-released\">released</span></h2>\
             <p class=\"soft\">With release {}.</p><ul class=\"plain\">",
            released.version
        ));
        for e in released.evaluation.iter().filter(|e| is_shown(e)) {
            page.push(&format!(
                "<li><b>{}</b> average reward of {}, 95 % interval {} to {}</li>",
                short(e.reward),
                escape(&judged(e)),
                short(e.low),
                short(e.high)
            ));
        }
        page.push("</ul></section>");
    }
    page.push(&format!(
        "<p><a href=\"{back}\">Back to what is released</a></p>"
    ));
    page
}

/// The audit log, and whether its rows hang together.
pub(super) fn audit(viewer: &Viewer, rows: &[Audit]) -> Page {
    let mut page = Page::new("Audit log", Some(viewer));
    page.push(
        "<h1>Audit log</h1><p class=\"lead\">Budgets, models, tokens and refusals, in order. It \
         holds \
         no values of anybody's data.</p>",
    );
    if rows.is_empty() {
        page.push("<p class=\"empty\">Nothing has happened yet.</p>");
        return page;
    }
    // Rows of other tenants may lie between: only neighbours in number can be compared.
    let broken = rows
        .windows(2)
        .find(|pair| pair[0].seq + 1 == pair[1].seq && pair[0].hash != pair[1].prev);
    page.push(&match broken {
        None => {
            "<p class=\"good\">Each row holds the hash of the row before it, wherever both are \
                 shown.</p>"
                .to_owned()
        }
        Some(pair) => format!(
            "<p class=\"alarm\" role=\"alert\">Row {} does not hold the hash of the row before \
             it: the \
             log was changed or damaged.</p>",
            pair[1].seq
        ),
    });
    page.push(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Audit log\"><table \
         class=\"audit\"><caption class=\"unseen\">Audit log, latest first</caption><thead><tr>\
         <th scope=\"col\" class=\"n\">Row</th><th scope=\"col\">When</th><th \
         scope=\"col\">Who</th>\
         <th scope=\"col\">What</th><th scope=\"col\">Of</th><th \
         scope=\"col\">Hash</th></tr></thead>\
         <tbody>",
    );
    for row in rows.iter().rev() {
        let short: String = row.hash.chars().take(12).collect();
        page.push(&format!(
            "<tr><td class=\"n\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td><code>{}</code></td></tr>",
            row.seq,
            time(&row.at),
            escape(&row.who),
            escape(&row.what),
            escape(row.subject.as_deref().unwrap_or("")),
            escape(&short)
        ));
    }
    page.push("</tbody></table></div>");
    page
}
