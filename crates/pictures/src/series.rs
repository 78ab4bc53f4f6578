//! A statistic over time, one line for every group with its band of uncertainty, as a whole SVG
//! file without scripts.

use crate::chart::escape;
use crate::numbers::short;
use std::fmt::Write;

/// One group: value, lower and upper end of every tick.
pub struct Line {
    /// Its name in the legend.
    pub name: String,
    /// (value, low, high).
    pub points: Vec<(f64, f64, f64)>,
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 45.0;
/// Lines that can be told apart; the others are left out, and the legend says so.
const MOST: usize = 7;

/// A palette for colour-blind readers (Okabe and Ito).
const COLOURS: [&str; MOST] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f",
];

/// The picture. Lines with the largest values come first.
#[must_use]
pub fn picture(title: &str, times: &[String], lines: &[Line]) -> String {
    let mut shown: Vec<&Line> = lines
        .iter()
        .filter(|line| !line.points.is_empty())
        .collect();
    let size = |line: &Line| line.points.iter().map(|point| point.0).sum::<f64>();
    shown.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let left = shown.len().saturating_sub(MOST);
    shown.truncate(MOST);
    let ends = || shown.iter().flat_map(|line| &line.points);
    let low = ends().map(|point| point.1).fold(0.0_f64, f64::min);
    let high = ends()
        .map(|point| point.2)
        .fold(f64::MIN_POSITIVE, f64::max);
    let last = times.len().saturating_sub(1).max(1) as f64;
    let x = |place: usize| LEFT + place as f64 / last * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{}</text>\n",
        escape(title)
    );
    for part in 0..=4 {
        let value = low + (high - low) * f64::from(part) / 4.0;
        let at = y(value);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#ddd\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#333\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 8.0,
            at + 4.0,
            short(value)
        );
        let place = (times.len().saturating_sub(1)) * part as usize / 4;
        if let Some(time) = times.get(place) {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#333\">{}</text>",
                x(place),
                HEIGHT - BOTTOM + 18.0,
                escape(time)
            );
        }
    }
    for (line, colour) in shown.iter().zip(COLOURS) {
        let upper = line.points.iter().enumerate().map(|(i, p)| (x(i), y(p.2)));
        let lower = line
            .points
            .iter()
            .enumerate()
            .rev()
            .map(|(i, p)| (x(i), y(p.1)));
        let band: Vec<(f64, f64)> = upper.chain(lower).collect();
        let middle: Vec<(f64, f64)> = (0..)
            .zip(&line.points)
            .map(|(i, p)| (x(i), y(p.0)))
            .collect();
        let _ = writeln!(
            svg,
            "<polygon points=\"{}\" fill=\"{colour}\" opacity=\"0.18\"/>\n\
             <polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.4\"/>",
            path(&band),
            path(&middle)
        );
    }
    for (place, (line, colour)) in shown.iter().zip(COLOURS).enumerate() {
        let at = TOP + 12.0 + 18.0 * place as f64;
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"12\" height=\"4\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{at:.1}\" fill=\"#333\">{}</text>",
            WIDTH - RIGHT + 12.0,
            at - 6.0,
            WIDTH - RIGHT + 30.0,
            escape(&line.name)
        );
    }
    if left > 0 {
        let at = TOP + 12.0 + 18.0 * shown.len() as f64;
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{at:.1}\" fill=\"#333\">and {left} more</text>",
            WIDTH - RIGHT + 12.0
        );
    }
    svg + "</svg>\n"
}

fn path(points: &[(f64, f64)]) -> String {
    let mut text = String::new();
    for (x, y) in points {
        let _ = write!(text, "{x:.1},{y:.1} ");
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_bands_are_drawn_and_names_escaped() {
        let line = |name: &str, size: f64| Line {
            name: name.to_owned(),
            points: (0..5)
                .map(|i| (size + f64::from(i), size, size + 9.0))
                .collect(),
        };
        let times: Vec<String> = (1..=5).map(|day| format!("2013-01-0{day}")).collect();
        let lines: Vec<Line> = (0..9)
            .map(|i| line(&format!("<{i}>"), f64::from(i)))
            .collect();
        let svg = picture("a & b", &times, &lines);
        assert_eq!(svg.matches("<polyline").count(), MOST);
        assert!(
            svg.contains("&lt;8&gt;") && svg.contains("and 2 more") && svg.contains("a &amp; b")
        );
        assert!(picture("none", &[], &[]).ends_with("</svg>\n"));
    }
}
