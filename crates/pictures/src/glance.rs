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

/// The picture as a whole SVG file: bars, and the two strongest curves of numbers.
#[must_use]
pub fn picture(title: &str, under: &str, headline: &Headline, shapes: &Shapes) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 352\">\n<style>{STYLE}</style>\n\
         <rect width=\"960\" height=\"352\" rx=\"8\" class=\"paper\"/>\n"
    );
    let mut text = |(x, y): (f64, f64), size: u32, class: &str, words: &str| {
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" class=\"{class}\">{}</text>",
            escape(words)
        );
    };
    text((24.0, 40.0), 21, "ink", title);
    text((24.0, 64.0), 13, "soft", under);
    text((24.0, 112.0), 15, "ink", headline.measure);
    text((24.0, 272.0), 13, "soft", &headline.meaning);
    if let Some(cost) = headline.cost() {
        let cost = format!("Privacy costs {cost:.3} of it.");
        text((24.0, 294.0), 13, "soft", &cost);
    }
    text(
        (24.0, 330.0),
        12,
        "soft",
        "Curves: effect on the log-odds. Shaded: two standard deviations of the noise that privacy \
         adds.",
    );
    let bars = headline.picture();
    svg.push_str(&placed(&bars, (24.0, 122.0), (500.0, 120.0)));
    let curves = shapes
        .columns
        .iter()
        .filter_map(|column| match &column.shape {
            Shape::Curve { points, ticks } => Some((column, points, ticks)),
            Shape::Categories { .. } => None,
        });
    for (row, (column, points, ticks)) in curves.take(2).enumerate() {
        let top = 26.0 + 152.0 * row as f64;
        let _ = writeln!(
            svg,
            "<text x=\"696\" y=\"{}\" font-size=\"14\" class=\"ink\">{}</text>",
            top + 12.0,
            escape(&column.name)
        );
        let curve = panels::curve(&column.name, points, ticks, 0.0);
        svg.push_str(&placed(&curve, (660.0, top + 16.0), (280.0, 128.0)));
    }
    svg.push_str("</svg>\n");
    svg
}

/// A picture inside another.
fn placed(svg: &str, (x, y): (f64, f64), (width, height): (f64, f64)) -> String {
    let place = format!("<svg x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" ");
    svg.replacen("<svg ", &place, 1)
}
