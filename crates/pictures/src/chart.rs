//! A small line chart as SVG: a logarithmic x axis, a logarithmic or linear y axis, one line per
//! series, no scripts.

use crate::numbers::short;
use std::fmt::Write;

/// One line.
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// (x, y), all positive.
    pub points: Vec<(f64, f64)>,
}

const PLOT: f64 = 540.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 50.0;

/// A palette for colour-blind readers (Okabe and Ito).
const COLOURS: [&str; 7] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f",
];

/// The chart with both axes logarithmic, as a whole SVG file.
#[must_use]
pub fn log_log(title: &str, x_label: &str, y_label: &str, series: &[Series]) -> String {
    let values = series.iter().flat_map(|series| &series.points);
    let (low, high) = decades(values.map(|point| point.1));
    let powers = low.ceil() as i32..=high.floor() as i32;
    let scale = Scale {
        place: |value| value.log10(),
        low,
        high,
        ticks: powers
            .map(|power| (f64::from(power), tick(power)))
            .collect(),
    };
    draw(title, x_label, y_label, series, &scale)
}

/// The chart with only x logarithmic.
#[must_use]
pub fn semi_log(title: &str, x_label: &str, y_label: &str, series: &[Series]) -> String {
    let values = series.iter().flat_map(|series| &series.points);
    let values = values.map(|point| point.1);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let (low, high) = if low < high { (low, high) } else { (0.0, 1.0) };
    // The largest of 1, 2 and 5 times a power of ten that gives at least four steps.
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [5.0, 2.0, 1.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step <= rough)
        .unwrap_or(power);
    let (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    let steps = ((high - low) / step).round() as i32;
    let scale = Scale {
        place: |value| value,
        low,
        high,
        ticks: (0..=steps)
            .map(|index| {
                let at = low + f64::from(index) * step;
                (at, format!("{:.*}", (-power.log10()).max(0.0) as usize, at))
            })
            .collect(),
    };
    draw(title, x_label, y_label, series, &scale)
}

/// The y axis.
struct Scale {
    place: fn(f64) -> f64,
    low: f64,
    high: f64,
    /// Position and text of each label.
    ticks: Vec<(f64, String)>,
}

fn draw(title: &str, x_label: &str, y_label: &str, series: &[Series], scale: &Scale) -> String {
    // Room for the longest name and its last value beside the lines.
    let longest = series
        .iter()
        .map(|series| series.name.chars().count())
        .max()
        .unwrap_or(0);
    // Wide enough for most names, so that charts on one page have the same scale.
    let right = (80.0 + 7.0 * longest as f64).max(230.0);
    let width = LEFT + PLOT + right;
    let points = || series.iter().flat_map(|series| &series.points);
    let (x_low, x_high) = decades(points().map(|point| point.0));
    let x = |value: f64| LEFT + (value.log10() - x_low) / (x_high - x_low) * (PLOT);
    let height = |place: f64| {
        HEIGHT - BOTTOM - (place - scale.low) / (scale.high - scale.low) * (HEIGHT - TOP - BOTTOM)
    };
    let y = |value: f64| height((scale.place)(value));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\" class=\"paper\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\" class=\"ink\">{}</text>\n",
        escape(title)
    );
    let line = |svg: &mut String, (x1, y1): (f64, f64), (x2, y2): (f64, f64)| {
        let _ = writeln!(
            svg,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"#ddd\" \
             class=\"rule\"/>"
        );
    };
    let label = |svg: &mut String, (x, y): (f64, f64), anchor: &str, text: &str| {
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" fill=\"#333\" \
             class=\"soft\">{}</text>",
            escape(text)
        );
    };
    for power in x_low.ceil() as i32..=x_high.floor() as i32 {
        let at = x(10_f64.powi(power));
        line(&mut svg, (at, TOP), (at, HEIGHT - BOTTOM));
        label(
            &mut svg,
            (at, HEIGHT - BOTTOM + 18.0),
            "middle",
            &tick(power),
        );
    }
    for (place, text) in &scale.ticks {
        let at = height(*place);
        line(&mut svg, (LEFT, at), (LEFT + PLOT, at));
        label(&mut svg, (LEFT - 8.0, at + 4.0), "end", text);
    }
    label(
        &mut svg,
        (LEFT + PLOT / 2.0, HEIGHT - 10.0),
        "middle",
        x_label,
    );
    let _ = writeln!(
        svg,
        "<text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\" \
         fill=\"#333\" class=\"soft\">{}</text>",
        (TOP + HEIGHT - BOTTOM) / 2.0,
        escape(y_label)
    );
    // The legend stands beside the ends of the lines, pushed apart where they would touch.
    let mut ends: Vec<(f64, usize)> = series
        .iter()
        .enumerate()
        .filter_map(|(index, series)| Some((y(series.points.last()?.1), index)))
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut lowest = TOP;
    for (height, index) in ends {
        let colour = COLOURS[index % COLOURS.len()];
        let series = &series[index];
        let path: Vec<String> = series
            .points
            .iter()
            .map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1)))
            .collect();
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" points=\"{}\"/>",
            path.join(" ")
        );
        let at = height.max(lowest);
        lowest = at + 15.0;
        let end = series.points.last().map_or(1.0, |point| point.1);
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{} ({})</text>",
            LEFT + PLOT + 8.0,
            at + 4.0,
            escape(&series.name),
            short(end)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// From the decade below the values to a little above them, at least one decade.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value.log10()), high.max(value.log10()))
    });
    if !low.is_finite() || !high.is_finite() {
        return (0.0, 1.0);
    }
    (low.floor(), (high + 0.03).max(low.floor() + 1.0))
}

fn tick(power: i32) -> String {
    match power {
        0..=3 => 10_i32.pow(power.unsigned_abs()).to_string(),
        -2..0 => format!("{}", 10_f64.powi(power)),
        _ => format!("1e{power}"),
    }
}

/// Escapes text for SVG and HTML.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_holds_its_lines_and_names() {
        let series = ["a<b", "c"].map(|name| Series {
            name: name.to_owned(),
            points: vec![(1.0, 2.0), (1000.0, 50.0)],
        });
        let svg = log_log("title & more", "x", "y", &series);
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert!(svg.contains("a&lt;b (50.00)") && svg.contains("title &amp; more"));
        assert!(!svg.contains("NaN"));
    }

    #[test]
    fn a_plain_axis_has_round_ticks_around_its_values() {
        let series = [Series {
            name: "a".to_owned(),
            points: vec![(1.0, 0.243), (100.0, 0.512)],
        }];
        let svg = semi_log("t", "x", "y", &series);
        for text in [">0.20<", ">0.25<", ">0.50<", ">0.55<"] {
            assert!(svg.contains(text), "{text} {svg}");
        }
        assert!(!semi_log("", "", "", &[]).contains("NaN"));
    }

    #[test]
    fn ticks_are_powers_of_ten() {
        let ticks: Vec<String> = (-3..=4).map(tick).collect();
        assert_eq!(
            ticks,
            ["1e-3", "0.01", "0.1", "1", "10", "100", "1000", "1e4"]
        );
    }

    #[test]
    fn an_empty_chart_is_still_a_chart() {
        assert!(log_log("", "", "", &[]).ends_with("</svg>\n"));
    }
}
