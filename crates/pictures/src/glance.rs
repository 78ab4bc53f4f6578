//! One picture of a run: how much better than guessing, what privacy costs, and what was learned.

use crate::chart::escape;
use crate::panels;
use crate::report::Headline;
use crate::shapes::{Shape, Shapes};
use std::fmt::Write;

const STYLE: &str = "text{font-family:system-ui,-apple-system,'Segoe UI',sans-serif}\
.paper{fill:#fff}.ink{fill:#1c2330}.soft{fill:#5b6575}.rule{stroke:#e3e6eb}.zero{stroke:#8a94a3}\
rect.soft{fill:#b9c0ca}.up{fill:#c2560a}.down{fill:#0b66b0}.band{fill:#0b66b0;fill-opacity:.2}\
.curve{stroke:#0b66b0}@media (prefers-color-scheme:dark){.paper{fill:#12161d}.ink{fill:#e8ebf0}\
.soft{fill:#a0aab8}.rule{stroke:#2b333f}.zero{stroke:#77828f}rect.soft{fill:#4b5665}.up{fill:#ff9a4d}\
.down{fill:#62b4ff}.band{fill:#62b4ff;fill-opacity:.25}.curve{stroke:#62b4ff}}";

/// The picture as a whole SVG file: bars, and the strongest curves of numbers.
#[must_use]
pub fn picture(title: &str, under: &str, headline: &Headline, shapes: &Shapes) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 500\">\n<style>{STYLE}</style>\n\
         <rect width=\"960\" height=\"500\" rx=\"8\" class=\"paper\"/>\n"
    );
    let mut text = |(x, y): (u32, u32), size: u32, class: &str, words: &str| {
        let weight = if size > 30 { 650 } else { 400 };
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" font-weight=\"{weight}\" \
             class=\"{class}\">{}</text>",
            escape(words)
        );
    };
    text((28, 44), 23, "ink", title);
    text((28, 70), 14, "soft", under);
    text((28, 112), 16, "ink", headline.measure);
    text((28, 250), 14, "soft", &headline.meaning);
    if let Some(cost) = headline.shown_cost() {
        text((690, 148), 44, "ink", &cost);
        let of = format!("of the {} is what", headline.measure);
        text((692, 174), 15, "soft", &of);
        text((692, 195), 15, "soft", "privacy costs");
    }
    let what = format!(
        "What it learned: the effect of single columns on the {}. Shaded: the noise that privacy \
         adds, at most two standard deviations.",
        shapes.unit
    );
    text((28, 300), 14, "soft", &what);
    svg.push_str(&placed(&headline.picture(), (28.0, 120.0), (560.0, 106.0)));
    let curves = shapes
        .columns
        .iter()
        .filter_map(|column| match &column.shape {
            Shape::Curve { points, ticks } => Some((column, points, ticks)),
            Shape::Categories { .. } => None,
        });
    for (place, (column, points, ticks)) in curves.take(3).enumerate() {
        let left = 24.0 + 310.0 * place as f64;
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"326\" font-size=\"14\" class=\"ink\">{}</text>",
            left + 36.0,
            escape(&column.name)
        );
        let curve = panels::curve(&column.name, points, ticks, 0.0);
        svg.push_str(&placed(&curve, (left, 330.0), (280.0, 163.0)));
    }
    svg.push_str("</svg>\n");
    svg
}

/// A picture inside another.
fn placed(svg: &str, (x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let place = format!("<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" ");
    svg.replacen("<svg ", &place, 1)
}
