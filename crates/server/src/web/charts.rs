//! Charts as SVG that take their colours and fonts from the page.
//!
//! Widths are in percent and heights in pixels, so that a chart fits a phone and a wide screen and
//! its words stay as large as the text around it: lines lie in an inner picture that is stretched
//! sideways, words and dots around it are not.

use super::html::escape;
use hushstream_pictures::numbers::short;
use std::fmt::Write;

/// Colours that the style has, and lines that can be told apart.
pub(super) const COLOURS: usize = 7;
/// Points that a chart shows at most.
const MOST_POINTS: usize = 256;
/// More points than this are not marked by dots, but for the last.
const MOST_DOTS: usize = 64;

/// One line with its band.
pub(super) struct Line {
    pub(super) name: String,
    /// Value, low and high at each place; none where nothing was released.
    pub(super) points: Vec<Option<[f64; 3]>>,
    /// Whether the band is drawn.
    pub(super) has_band: bool,
}

/// Lines over releases.
pub(super) fn lines(about: &str, places: &[u64], lines: &[Line]) -> String {
    const HEIGHT: f64 = 260.0;
    const TOP: f64 = 14.0;
    const BOTTOM: f64 = 26.0;
    let step = places.len().div_ceil(MOST_POINTS).max(1);
    // The last one always.
    let kept: Vec<usize> = (0..places.len()).rev().step_by(step).collect();
    let kept: Vec<usize> = kept.into_iter().rev().collect();
    let values = |line: &Line| -> Vec<(usize, [f64; 3])> {
        let found = kept.iter().enumerate();
        found
            .filter_map(|(x, &at)| Some((x, (*line.points.get(at)?)?)))
            .collect()
    };
    let shown: Vec<_> = lines.iter().take(COLOURS).map(values).collect();
    let ends = || {
        let points = shown.iter().zip(lines).flat_map(|(points, line)| {
            points.iter().map(move |(_, [value, low, high])| {
                if line.has_band {
                    (*low, *high)
                } else {
                    (*value, *value)
                }
            })
        });
        points.filter(|(low, high)| low.is_finite() && high.is_finite())
    };
    let marks = scale(
        ends().map(|end| end.0).fold(f64::INFINITY, f64::min),
        ends().map(|end| end.1).fold(f64::NEG_INFINITY, f64::max),
    );
    let (Some(&low), Some(&high)) = (marks.first(), marks.last()) else {
        return String::new();
    };
    let last = kept.len().saturating_sub(1).max(1) as f64;
    // Room for the marks of the axis, and so that dots at the ends are whole.
    let x = |place: usize| 9.0 + 89.5 * place as f64 / last;
    let y = |value: f64| {
        let part = ((high - value) / (high - low)).clamp(-0.02, 1.02);
        TOP + part * (HEIGHT - TOP - BOTTOM)
    };
    let mut svg = open(about, HEIGHT, "plot");
    for &mark in &marks {
        let at = y(mark);
        let _ = write!(
            svg,
            "<line x1=\"0\" x2=\"100%\" y1=\"{at:.1}\" y2=\"{at:.1}\" class=\"rule\"/>"
        );
    }
    let _ = write!(
        svg,
        "<svg x=\"0\" y=\"0\" width=\"100%\" height=\"{HEIGHT}\" viewBox=\"0 0 100 {HEIGHT}\" \
         preserveAspectRatio=\"none\">"
    );
    for (k, (points, line)) in shown.iter().zip(lines).enumerate().rev() {
        let path = |side: usize| {
            let point = move |(place, values): &(usize, [f64; 3])| {
                format!("{:.2},{:.1}", x(*place), y(values[side]))
            };
            points.iter().map(point).collect::<Vec<String>>()
        };
        if line.has_band {
            let mut edge = path(2);
            edge.extend(path(1).into_iter().rev());
            let _ = write!(
                svg,
                "<polygon class=\"band f{k}\" points=\"{}\"/>",
                edge.join(" ")
            );
        }
        let dashed = if line.has_band { "" } else { " dashed" };
        let _ = write!(
            svg,
            "<polyline class=\"line s{k}{dashed}\" vector-effect=\"non-scaling-stroke\" points=\"{}\"/>",
            path(0).join(" ")
        );
    }
    svg.push_str("</svg>");
    for (k, (points, line)) in shown.iter().zip(lines).enumerate().rev() {
        let skip = if points.len() > MOST_DOTS {
            points.len() - 1
        } else {
            0
        };
        for (place, [value, low, high]) in points.iter().skip(skip) {
            let version = kept.get(*place).and_then(|at| places.get(*at));
            let _ = write!(
                svg,
                "<circle class=\"dot f{k}\" cx=\"{:.2}%\" cy=\"{:.1}\" r=\"3.5\"><title>{}, \
                 release \
                 {}: {} ({} to {})</title></circle>",
                x(*place),
                y(*value),
                escape(&line.name),
                version.copied().unwrap_or(0),
                short(*value),
                short(*low),
                short(*high)
            );
        }
    }
    for &mark in &marks {
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{:.1}\" class=\"mark-y\">{}</text>",
            y(mark) - 3.0,
            tick(mark, &marks)
        );
    }
    if let (Some(first), Some(last)) = (places.first(), places.last()) {
        for (at, anchor, words) in [
            ("9%", "start", format!("release {first}")),
            ("98.5%", "end", format!("release {last}")),
        ] {
            if anchor == "start" && first == last {
                continue;
            }
            let _ = write!(
                svg,
                "<text x=\"{at}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{words}</text>",
                HEIGHT - 6.0
            );
        }
    }
    svg + "</svg>"
}

fn open(about: &str, height: f64, class: &str) -> String {
    format!(
        "<svg class=\"chart {class}\" width=\"100%\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"{}\">",
        escape(about)
    )
}

/// Round numbers from at most `low` to at least `high`.
fn scale(low: f64, high: f64) -> Vec<f64> {
    if !(low.is_finite() && high.is_finite()) {
        return Vec::new();
    }
    let (low, high) = if low < high {
        (low, high)
    } else {
        (low - 0.5, high + 0.5)
    };
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(rough);
    let (from, to) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    (from..=to).map(|i| i as f64 * step).collect()
}

/// A mark of an axis, with as many decimals as its step needs.
fn tick(mark: f64, marks: &[f64]) -> String {
    let step = match marks {
        [first, second, ..] => second - first,
        _ => 1.0,
    };
    let mut decimals = 0;
    while decimals < 6 && {
        let scaled = step * 10_f64.powi(decimals);
        (scaled - scaled.round()).abs() > 1e-6
    } {
        decimals += 1;
    }
    let text = format!("{:.*}", decimals as usize, mark);
    if text
        .trim_start_matches('-')
        .chars()
        .all(|c| c == '0' || c == '.')
    {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

/// How much of something is used: one bar.
pub(super) fn meter(about: &str, share: f64, class: &str) -> String {
    let share = (100.0 * share).clamp(0.0, 100.0);
    let mut svg = open(about, 14.0, "meter");
    let _ = write!(
        svg,
        "<rect class=\"track\" width=\"100%\" height=\"14\" rx=\"7\"/>\
         <rect class=\"{class}\" width=\"{share:.2}%\" height=\"14\" rx=\"7\"/></svg>"
    );
    svg
}

/// Bars of numbers with names beside them, as rows of a list.
pub(super) fn bars(rows: &[(String, f64, String)], most: f64, class: &str) -> String {
    let mut html = String::from("<ul class=\"bars\">");
    for (name, value, words) in rows {
        let share = (100.0 * value / most.max(f64::MIN_POSITIVE)).clamp(0.0, 100.0);
        let _ = write!(
            html,
            "<li><span class=\"name\">{}</span><svg class=\"chart\" width=\"100%\" height=\"14\" \
             aria-hidden=\"true\"><rect class=\"track\" width=\"100%\" height=\"14\" rx=\"3\"/>\
             <rect class=\"{class}\" width=\"{share:.2}%\" height=\"14\" rx=\"3\"/></svg>\
             <span class=\"value\">{}</span></li>",
            escape(name),
            escape(words)
        );
    }
    html + "</ul>"
}

/// Parts of 1 that change along a number: one area on the other.
pub(super) fn areas(about: &str, ends: (f64, f64), parts: &[Vec<f64>]) -> String {
    const HEIGHT: f64 = 150.0;
    const BOTTOM: f64 = 20.0;
    let plot = HEIGHT - BOTTOM;
    let places = parts.first().map_or(0, Vec::len);
    let x = |place: usize| 100.0 * place as f64 / places.saturating_sub(1).max(1) as f64;
    let mut svg = open(about, HEIGHT, "areas");
    let _ = write!(
        svg,
        "<svg x=\"0\" y=\"0\" width=\"100%\" height=\"{plot}\" viewBox=\"0 0 100 {plot}\" \
         preserveAspectRatio=\"none\">"
    );
    let mut below = vec![0.0; places];
    for (k, part) in parts.iter().enumerate() {
        let lower: Vec<String> = (0..places)
            .map(|i| format!("{:.2},{:.2}", x(i), plot * below[i]))
            .collect();
        below
            .iter_mut()
            .zip(part)
            .for_each(|(sum, own)| *sum += own);
        let upper = (0..places).rev();
        let upper = upper.map(|i| format!("{:.2},{:.2}", x(i), plot * below[i].min(1.0)));
        let points: Vec<String> = lower.into_iter().chain(upper).collect();
        let _ = write!(
            svg,
            "<polygon class=\"area f{}\" points=\"{}\"/>",
            k % COLOURS,
            points.join(" ")
        );
    }
    let _ = write!(
        svg,
        "</svg><text x=\"0\" y=\"{0}\">{1}</text><text x=\"100%\" y=\"{0}\" text-anchor=\"end\">\
         {2}</text></svg>",
        HEIGHT - 4.0,
        short(ends.0),
        short(ends.1)
    );
    svg
}

/// Parts of 1 for each of some categories: one bar each.
pub(super) fn stacks(about: &str, rows: &[(String, Vec<f64>)]) -> String {
    let mut html = format!(
        "<ul class=\"bars stacks\" role=\"img\" aria-label=\"{}\">",
        escape(about)
    );
    for (name, parts) in rows {
        let _ = write!(
            html,
            "<li><span class=\"name\">{}</span><svg class=\"chart\" width=\"100%\" height=\"18\" \
             aria-hidden=\"true\">",
            escape(name)
        );
        let mut from = 0.0;
        for (k, part) in parts.iter().enumerate() {
            let _ = write!(
                html,
                "<rect class=\"area f{}\" x=\"{:.2}%\" width=\"{:.2}%\" height=\"18\"/>",
                k % COLOURS,
                100.0 * from,
                (100.0 * part).max(0.0)
            );
            from += part;
        }
        html.push_str("</svg></li>");
    }
    html + "</ul>"
}

/// Names in their colours, each with something to say.
pub(super) fn legend(names: &[(String, String)]) -> String {
    let mut html = String::from("<ul class=\"legend\">");
    for (k, (name, words)) in names.iter().enumerate() {
        let _ = write!(
            html,
            "<li><svg width=\"12\" height=\"12\" aria-hidden=\"true\"><circle class=\"f{}\" \
             cx=\"6\" cy=\"6\" r=\"5\"/></svg> <span>{}</span> <b>{}</b></li>",
            k % COLOURS,
            escape(name),
            escape(words)
        );
    }
    html + "</ul>"
}
