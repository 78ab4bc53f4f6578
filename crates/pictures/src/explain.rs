//! The page of a published model: one HTML file that may be published with it.

use crate::chart::escape;
use crate::page::{self, Origin};
use crate::panels;
use crate::shapes::{Column, Effect, Shape, Shapes, plain, signed};
use std::fmt::Write;

/// Bars of one column.
const MOST_BARS: usize = 12;
/// Rows of the table of effects.
const MOST_ROWS: usize = 12;

/// The contents of a page.
pub struct Page<'a> {
    /// What the model says.
    pub shapes: &'a Shapes,
    /// The guarantee in words, line by line.
    pub guarantee: &'a str,
    /// Whether the noise came from a seed.
    pub is_simulated: bool,
    /// One line about the model: recipe and release.
    pub headline: &'a str,
    /// Where it comes from.
    pub origin: Origin<'a>,
}

/// The page.
#[must_use]
pub fn page(told: &Page<'_>) -> String {
    let shapes = told.shapes;
    let title = format!("What the model says about {}", shapes.predicts);
    let mut page = page::head(&title);
    let _ = writeln!(
        page,
        "<h1>What the model says</h1>\n<p class=\"lead\">It predicts <b>{}</b>. {}</p>",
        escape(&shapes.predicts),
        escape(told.headline)
    );
    if told.is_simulated {
        page::simulated(&mut page);
    }
    page.push_str("<h2>What is promised about the people in the data</h2>\n");
    page::guarantee(&mut page, told.guarantee);
    page.push_str(&body(shapes));
    told.origin.tell(&mut page);
    page.push_str(&page::foot("model", shapes));
    page
}

/// Curves, pairs and the largest effects: the part that a report shows too.
#[must_use]
pub fn body(shapes: &Shapes) -> String {
    let mut text = String::from("<h2>What each column does</h2>\n");
    let meaning = if shapes.is_odds {
        "An effect is added to the log-odds: +0.69 doubles the odds, −0.69 halves them. "
    } else {
        ""
    };
    let has_noise = shapes.columns.iter().any(|column| {
        let effects = column.missing.first();
        effects.is_some_and(|effect| effect.sd.is_some())
    });
    let bands = if has_noise {
        "Bands and whiskers are at most about two standard deviations of the noise that was added \
         for privacy, to both sides: what lies within them may be noise. They do not cover the \
         chance that other people would have been in the data."
    } else {
        "The model file does not tell the noise of its weights, so there are no bands."
    };
    let base: Vec<String> = shapes.base.iter().map(|&base| signed(base)).collect();
    let _ = writeln!(
        text,
        "<p class=\"soft\">How far a column moves the {}, by itself, from its mean; columns that \
         move it most come first, and every panel has its own scale. {meaning}{bands} Where all \
         curves are at their means, the score is {}.</p>",
        escape(&shapes.unit),
        base.join(", ")
    );
    if shapes.outputs.len() > 1 {
        let _ = writeln!(text, "<p>{}</p>", panels::legend(&shapes.outputs));
    }
    let most = shapes.columns.iter().map(|column| column.range);
    let span = 0.15 * most.fold(0.0, f64::max);
    text.push_str("<div class=\"grid\">\n");
    for column in &shapes.columns {
        text.push_str(&panel(column, &shapes.outputs, span));
    }
    text.push_str("</div>\n");
    if !shapes.pairs.is_empty() {
        text.push_str(
            "<h2>What columns do together</h2>\n<p class=\"soft\">Beyond their curves: the sum of \
             all tables that hold both columns, averaged over their third. Orange raises the \
             score, blue lowers it; hover for numbers.</p>\n<div class=\"grid wide\">\n",
        );
        for pair in &shapes.pairs {
            let output = if pair.output.is_empty() {
                String::new()
            } else {
                format!(", for {}", pair.output)
            };
            let most = pair.cells.iter().map(|e| e.value.abs()).fold(0.0, f64::max);
            let _ = writeln!(
                text,
                "<div class=\"panel\"><h3>{}</h3><p class=\"note\">up to ±{}</p>{}</div>",
                escape(&format!("{} × {}{output}", pair.names[0], pair.names[1])),
                plain(most),
                panels::heat(pair)
            );
        }
        text.push_str("</div>\n");
    }
    text.push_str(&largest(shapes));
    text
}

fn panel(column: &Column, outputs: &[String], span: f64) -> String {
    let about = format!("effect of {}", column.name);
    let mut notes = vec![format!("range {}", plain(column.range))];
    let picture = match &column.shape {
        Shape::Curve { points, ticks } => panels::curve(&about, points, ticks, span),
        Shape::Categories { values, left_out } => {
            let single = |k: usize| {
                let mut shown: Vec<(String, Effect)> = values
                    .iter()
                    .take(MOST_BARS)
                    .filter_map(|(name, effects)| Some((name.clone(), *effects.get(k)?)))
                    .collect();
                shown.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
                panels::bars(&about, &shown, span)
            };
            let hidden = left_out + values.len().saturating_sub(MOST_BARS);
            if hidden > 0 {
                notes.push(format!("{hidden} others not shown"));
            }
            if outputs.len() == 1 {
                single(0)
            } else {
                classes(values, outputs)
            }
        }
    };
    if let [missing] = column.missing[..] {
        let is_clear = missing.sd.is_none_or(|sd| missing.value.abs() > 2.0 * sd);
        if is_clear && missing.value.abs() > 0.005 {
            notes.push(format!("missing {}", missing.text()));
        }
    }
    if column.sure <= 0.0 {
        notes.push("no more than noise".to_owned());
    }
    format!(
        "<div class=\"panel\"><h3>{}</h3><p class=\"note\">{}</p>{picture}</div>\n",
        escape(&column.name),
        escape(&notes.join(" · "))
    )
}

/// Categories of several outputs, as a table.
fn classes(values: &[(String, Vec<Effect>)], outputs: &[String]) -> String {
    let mut text = "<div class=\"scroll\"><table><tr><th></th>".to_owned();
    for output in outputs {
        let _ = write!(text, "<th class=\"n\">{}</th>", escape(output));
    }
    text.push_str("</tr>");
    for (name, effects) in values.iter().take(MOST_BARS) {
        let _ = write!(text, "<tr><td>{}</td>", escape(name));
        for effect in effects {
            let _ = write!(text, "<td class=\"n\">{}</td>", signed(effect.value));
        }
        text.push_str("</tr>");
    }
    text.push_str("</table></div>");
    text
}

/// The largest effects that noise does not explain, at most two of a column: its ends.
fn largest(shapes: &Shapes) -> String {
    let mut rows: Vec<(String, String, Effect)> = Vec::new();
    for column in &shapes.columns {
        for (k, output) in shapes.outputs.iter().enumerate() {
            let values = column.values();
            let at = |value: &&(String, &[Effect])| value.1[k].value;
            let ends = [
                values.iter().max_by(|a, b| at(a).total_cmp(&at(b))),
                values.iter().min_by(|a, b| at(a).total_cmp(&at(b))),
            ];
            for (value, effects) in ends.into_iter().flatten() {
                let name = match column.shape {
                    Shape::Curve { .. } => format!("{} = {value}", column.name),
                    Shape::Categories { .. } => format!("{}: {value}", column.name),
                };
                rows.push((name, output.clone(), effects[k]));
            }
        }
    }
    rows.retain(|row| row.2.sd.is_none_or(|sd| row.2.value.abs() > 2.0 * sd));
    rows.sort_by(|a, b| b.2.value.abs().total_cmp(&a.2.value.abs()));
    rows.truncate(MOST_ROWS);
    if rows.is_empty() {
        return "<p>No effect is larger than the noise.</p>\n".to_owned();
    }
    let odds = if shapes.is_odds {
        "<th class=\"n\">odds ×</th>"
    } else {
        ""
    };
    let class = if shapes.outputs.len() > 1 {
        "<th>class</th>"
    } else {
        ""
    };
    let mut text = format!(
        "<h2>The largest effects</h2>\n<div class=\"scroll\"><table><tr><th>where</th>{class}\
         <th class=\"n\">effect</th><th class=\"n\">interval of the noise, at least about 95 %</th>{odds}</tr>\n"
    );
    for (name, output, effect) in rows {
        let _ = write!(text, "<tr><td>{}</td>", escape(&name));
        if shapes.outputs.len() > 1 {
            let _ = write!(text, "<td>{}</td>", escape(&output));
        }
        let interval = match effect.sd {
            Some(sd) => {
                let ends = [-1.96, 1.96].map(|side| signed(effect.value + side * sd));
                format!("{} to {}", ends[0], ends[1])
            }
            None => "not known".to_owned(),
        };
        let _ = write!(
            text,
            "<td class=\"n\">{}</td><td class=\"n\">{interval}</td>",
            signed(effect.value)
        );
        if shapes.is_odds {
            let _ = write!(text, "<td class=\"n\">{}</td>", plain(effect.value.exp()));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table></div>\n");
    text
}
