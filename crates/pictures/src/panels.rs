//! Small pictures of a model: curves with bands, bars of categories, heat maps, a ROC curve and a
//! calibration curve. Each is one SVG element that takes its colours from the page.

use crate::chart::escape;
use crate::shapes::{Effect, Pair, Point, number, plain, signed};
use std::fmt::Write;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 210.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 10.0;
const BOTTOM: f64 = 26.0;

/// Colours of several outputs (Okabe and Ito); the first is the page's own.
const COLOURS: [&str; 7] = [
    "#0b66b0", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f",
];

fn open(width: f64, height: f64, about: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-size=\"11\" role=\"img\"><title>{}</title>\n",
        escape(about)
    )
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, class: &str, words: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" class=\"{class}\">{}</text>",
        escape(words)
    );
}

fn line(svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64), class: &str) {
    let _ = writeln!(
        svg,
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" class=\"{class}\"/>"
    );
}

/// Round numbers from at most `low` to at least `high`.
fn scale(low: f64, high: f64) -> Vec<f64> {
    let rough = ((high - low) / 4.0).max(1e-12);
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(rough);
    let (from, to) = ((low / step).floor() as i64, (high / step).ceil() as i64);
    (from..=to).map(|i| i as f64 * step).collect()
}

/// The curve of a number with its band, at least `span` high.
#[must_use]
pub fn curve(about: &str, points: &[Point], ticks: &[(f64, f64)], span: f64) -> String {
    let effects = || points.iter().flat_map(|point| &point.effects);
    let low = effects().map(|e| e.end(-1.0)).fold(0.0, f64::min);
    let high = effects().map(|e| e.end(1.0)).fold(0.0, f64::max);
    let spare = ((span - (high - low)) / 2.0).max(0.0);
    let marks = scale(low - spare, high + spare);
    let (low, high) = match marks[..] {
        [low, .., high] => (low, high),
        _ => (-1.0, 1.0),
    };
    let x = |at: f64| LEFT + at * (WIDTH - LEFT - RIGHT);
    let y = |value: f64| TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM);
    let mut svg = open(WIDTH, HEIGHT, about);
    for &mark in &marks {
        let class = if mark.abs() < 1e-9 { "zero" } else { "rule" };
        line(&mut svg, (LEFT, y(mark)), (WIDTH - RIGHT, y(mark)), class);
        let words = signed(mark);
        let words = words.strip_suffix(".00").unwrap_or(&words);
        text(&mut svg, (LEFT - 6.0, y(mark) + 4.0), "end", "soft", words);
    }
    for &(at, value) in ticks {
        let anchor = match at {
            ..0.04 => "start",
            0.96.. => "end",
            _ => "middle",
        };
        let bottom = HEIGHT - BOTTOM;
        line(&mut svg, (x(at), bottom), (x(at), bottom + 4.0), "rule");
        text(
            &mut svg,
            (x(at), bottom + 17.0),
            anchor,
            "soft",
            &number(value),
        );
    }
    let outputs = points.first().map_or(0, |point| point.effects.len());
    for k in (0..outputs).rev() {
        let path = |end: &dyn Fn(&Effect) -> f64| -> Vec<String> {
            let places = points.iter();
            let place = |p: &Point| format!("{:.1},{:.1}", x(p.at), y(end(&p.effects[k])));
            places.map(place).collect()
        };
        if outputs == 1 && points.iter().any(|point| point.effects[k].sd.is_some()) {
            let mut edge = path(&|effect| effect.end(1.0));
            edge.extend(path(&|effect| effect.end(-1.0)).into_iter().rev());
            let _ = writeln!(
                svg,
                "<polygon points=\"{}\" class=\"band\" fill=\"#0b66b033\"/>",
                edge.join(" ")
            );
        }
        let stroke = if outputs == 1 {
            "class=\"curve\" fill=\"none\" stroke=\"#0b66b0\"".to_owned()
        } else {
            format!("fill=\"none\" stroke=\"{}\"", COLOURS[k % COLOURS.len()])
        };
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" {stroke} stroke-width=\"2\" stroke-linejoin=\"round\"/>",
            path(&|effect| effect.value).join(" ")
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// The names of several outputs in their colours.
#[must_use]
pub fn legend(outputs: &[String]) -> String {
    let name = |(k, name): (usize, &String)| {
        let colour = COLOURS[k % COLOURS.len()];
        format!("<span style=\"color:{colour}\">●</span> {}", escape(name))
    };
    let names: Vec<String> = outputs.iter().enumerate().map(name).collect();
    names.join(" &nbsp; ")
}

/// Bars of categories with whiskers, the greatest effect first; of one output.
#[must_use]
pub fn bars(about: &str, values: &[(String, Effect)], span: f64) -> String {
    const ROW: f64 = 19.0;
    const NAMES: f64 = 128.0;
    const VALUES: f64 = 42.0;
    let low = values
        .iter()
        .map(|v| v.1.end(-1.0))
        .fold(-span / 2.0, f64::min);
    let high = values
        .iter()
        .map(|v| v.1.end(1.0))
        .fold(span / 2.0, f64::max);
    let x =
        |value: f64| NAMES + 8.0 + (value - low) / (high - low) * (WIDTH - NAMES - VALUES - 12.0);
    let height = ROW * values.len() as f64 + 4.0;
    let mut svg = open(WIDTH, height, about);
    line(&mut svg, (x(0.0), 0.0), (x(0.0), height), "zero");
    for (row, (name, effect)) in values.iter().enumerate() {
        let y = ROW * row as f64 + 2.0;
        let class = if effect.value < 0.0 { "down" } else { "up" };
        let (from, to) = (x(effect.value.min(0.0)), x(effect.value.max(0.0)));
        let _ = writeln!(
            svg,
            "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"2\" \
             class=\"{class}\"/>",
            y + 3.0,
            (to - from).max(0.5),
            ROW - 6.0
        );
        if effect.sd.is_some() {
            let ends = [-1.0, 1.0].map(|side| x(effect.end(side)));
            let middle = y + ROW / 2.0;
            line(&mut svg, (ends[0], middle), (ends[1], middle), "whisker");
        }
        let short = shortened(name, 21);
        let _ = writeln!(
            svg,
            "<text x=\"{NAMES}\" y=\"{:.1}\" text-anchor=\"end\" class=\"ink\">\
             <title>{}</title>{}</text>",
            y + 13.0,
            escape(name),
            escape(&short)
        );
        let at = (WIDTH, y + 13.0);
        text(&mut svg, at, "end", "soft", &signed(effect.value));
    }
    svg.push_str("</svg>\n");
    svg
}

fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    let start: String = name.chars().take(most - 1).collect();
    format!("{start}…")
}

/// The heat map of a pair: the first column from left to right, the second upwards.
#[must_use]
pub fn heat(pair: &Pair) -> String {
    let [across, up] = [pair.labels[0].len(), pair.labels[1].len()];
    let names = up_width(&pair.labels[1]);
    let (left, bottom, top) = (names + 20.0, 44.0, 4.0);
    let high = (up as f64 * 17.0).clamp(110.0, 260.0);
    let (wide, height) = ((WIDTH - left - 6.0) / across as f64, top + high + bottom);
    let tall = high / up as f64;
    let most = pair
        .cells
        .iter()
        .map(|e| e.value.abs())
        .fold(1e-12, f64::max);
    let about = format!("{} and {}", pair.names[0], pair.names[1]);
    let mut svg = open(WIDTH, height, &about);
    for (index, effect) in pair.cells.iter().enumerate() {
        let (i, j) = (index % across, index / across);
        let class = if effect.value < 0.0 { "down" } else { "up" };
        let _ = writeln!(
            svg,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.2}\" class=\"{class}\" \
             fill-opacity=\"{:.2}\"><title>{} {}, {} {}: {}</title></rect>",
            left + i as f64 * wide,
            top + high - (j + 1) as f64 * tall,
            wide + 0.3,
            tall + 0.3,
            effect.value.abs() / most,
            escape(&pair.names[0]),
            escape(&pair.labels[0][i]),
            escape(&pair.names[1]),
            escape(&pair.labels[1][j]),
            effect.text()
        );
    }
    // As many labels as there is room for.
    let widest = pair.labels[0]
        .iter()
        .map(|label| label.chars().count().min(12));
    let room = widest.max().unwrap_or(1) as f64 * 6.2 + 8.0;
    let every = ((room / wide).ceil() as usize).max(1);
    for (i, label) in pair.labels[0].iter().enumerate().step_by(every) {
        let at = (left + (i as f64 + 0.5) * wide, top + high + 14.0);
        text(&mut svg, at, "middle", "soft", &shortened(label, 12));
    }
    let every = ((13.0 / tall).ceil() as usize).max(1);
    for (j, label) in pair.labels[1].iter().enumerate().step_by(every) {
        let at = (left - 5.0, top + high - (j as f64 + 0.5) * tall + 4.0);
        text(&mut svg, at, "end", "soft", &shortened(label, 14));
    }
    let middle = left + (WIDTH - left) / 2.0;
    let at = (middle, height - 12.0);
    text(&mut svg, at, "middle", "ink", &pair.names[0]);
    let _ = writeln!(
        svg,
        "<text transform=\"translate(11 {:.1}) rotate(-90)\" text-anchor=\"middle\" \
         class=\"ink\">{}</text>\n</svg>",
        top + high / 2.0,
        escape(&shortened(&pair.names[1], 24))
    );
    svg
}

fn up_width(labels: &[String]) -> f64 {
    let longest = labels.iter().map(|label| label.chars().count().min(14));
    longest.max().unwrap_or(1) as f64 * 6.0 + 6.0
}

/// A bar of a picture at a glance.
pub struct Bar<'a> {
    name: &'a str,
    value: f64,
    class: &'static str,
}

impl<'a> Bar<'a> {
    /// A bar in the colour of a class of the page.
    #[must_use]
    pub fn new(name: &'a str, value: f64, class: &'static str) -> Self {
        Self { name, value, class }
    }
}

/// Bars from 0, one below the other, with their values.
#[must_use]
pub fn glance(measure: &str, bars: &[Bar<'_>]) -> String {
    const ROW: f64 = 34.0;
    let (wide, names) = (560.0, 170.0);
    let most = bars.iter().map(|bar| bar.value).fold(1e-12, f64::max);
    let most = if (0.5..=1.0).contains(&most) {
        1.0
    } else {
        most
    };
    let mut svg = open(wide, ROW * bars.len() as f64 + 6.0, measure);
    for (row, bar) in bars.iter().enumerate() {
        let y = ROW * row as f64 + 4.0;
        let long = (bar.value.max(0.0) / most * (wide - names - 70.0)).max(1.0);
        let _ = writeln!(
            svg,
            "<rect x=\"{names}\" y=\"{y:.1}\" width=\"{long:.1}\" height=\"24\" rx=\"3\" \
             class=\"{}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" class=\"ink\" \
             font-size=\"14\">{}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" class=\"ink\" font-size=\"15\" \
             font-weight=\"600\">{:.3}</text>",
            bar.class,
            names - 10.0,
            y + 17.0,
            escape(bar.name),
            names + long + 8.0,
            y + 17.5,
            bar.value
        );
    }
    svg.push_str("</svg>\n");
    svg
}

const SIDE: f64 = 300.0;

/// A square with both axes from 0 to 1.
fn square(about: &str, x_label: &str, y_label: &str) -> String {
    let mut svg = open(SIDE + 60.0, SIDE + 52.0, about);
    for i in 0..=4 {
        let at = f64::from(i) / 4.0;
        let (x, y) = (48.0 + at * SIDE, 8.0 + (1.0 - at) * SIDE);
        line(&mut svg, (x, 8.0), (x, 8.0 + SIDE), "rule");
        line(&mut svg, (48.0, y), (48.0 + SIDE, y), "rule");
        text(&mut svg, (x, SIDE + 23.0), "middle", "soft", &number(at));
        text(&mut svg, (42.0, y + 4.0), "end", "soft", &number(at));
    }
    line(&mut svg, (48.0, 8.0 + SIDE), (48.0 + SIDE, 8.0), "zero");
    let middle = 48.0 + SIDE / 2.0;
    text(&mut svg, (middle, SIDE + 44.0), "middle", "ink", x_label);
    let _ = writeln!(
        svg,
        "<text transform=\"translate(12 {:.1}) rotate(-90)\" text-anchor=\"middle\" \
         class=\"ink\">{}</text>",
        8.0 + SIDE / 2.0,
        escape(y_label)
    );
    svg
}

fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let place =
        |(x, y): (f64, f64)| format!("{:.1},{:.1}", 48.0 + x * SIDE, 8.0 + (1.0 - y) * SIDE);
    points.map(place).collect::<Vec<_>>().join(" ")
}

/// ROC curves, with and without privacy; the diagonal is guessing.
#[must_use]
pub fn roc(own: &[(f64, f64)], without: Option<&[(f64, f64)]>) -> String {
    let about = "ROC curve";
    let mut svg = square(
        about,
        "share of negatives flagged",
        "share of positives found",
    );
    if let Some(without) = without {
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#d55e00\" stroke-width=\"2\" \
             stroke-dasharray=\"5 4\"/>",
            path(without.iter().copied())
        );
    }
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" class=\"curve\" fill=\"none\" stroke=\"#0b66b0\" \
         stroke-width=\"2.2\"/>\n</svg>",
        path(own.iter().copied())
    );
    svg
}

/// The share of positives among records by predicted probability.
#[must_use]
pub fn calibration(groups: &[(f64, f64, u64)]) -> String {
    let mut svg = square("Calibration", "predicted probability", "share that was so");
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" class=\"curve\" fill=\"none\" stroke=\"#0b66b0\" \
         stroke-width=\"2\"/>",
        path(groups.iter().map(|group| (group.0, group.1)))
    );
    for &(chance, share, count) in groups {
        let _ = writeln!(
            svg,
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3.5\" class=\"down\"><title>{} predicted, {} \
             were: {count} records</title></circle>",
            48.0 + chance * SIDE,
            8.0 + (1.0 - share) * SIDE,
            plain(chance),
            plain(share)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(value: f64) -> Effect {
        Effect {
            value,
            sd: Some(0.1),
        }
    }

    #[test]
    fn names_are_escaped_and_nothing_is_a_nan() {
        let point = |at: f64| Point {
            x: at,
            at,
            effects: vec![effect(at - 0.5)],
        };
        let svg = curve(
            "<a>",
            &[point(0.0), point(1.0)],
            &[(0.0, 0.0), (1.0, 1.0)],
            1.0,
        );
        assert!(svg.contains("&lt;a&gt;") && svg.contains("<polygon"));
        let values = [
            ("</svg><b>".to_owned(), effect(0.3)),
            ("c".to_owned(), effect(-1.0)),
        ];
        let more = bars("x", &values, 0.5);
        assert!(more.contains("&lt;/svg&gt;") && !more.contains("<b>"));
        let pair = Pair {
            names: ["<x>".to_owned(), "y".to_owned()],
            output: String::new(),
            labels: [vec!["1".to_owned(), "2".to_owned()], vec!["<u>".to_owned()]],
            cells: vec![effect(0.2), effect(-0.4)],
            strength: 0.3,
        };
        let heat = heat(&pair);
        assert_eq!(heat.matches("<rect").count(), 2);
        assert!(!heat.contains("<u>") && !heat.contains("<x>"));
        let flat = curve("", &[], &[], 0.0);
        for svg in [svg, more, heat, flat, roc(&[], None), calibration(&[])] {
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn scales_reach_around_their_values() {
        assert_eq!(scale(-0.9, 2.1), [-1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(scale(0.0, 0.0).len(), 1);
    }
}
