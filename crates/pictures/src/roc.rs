//! The picture of an audit: the attack's ROC curve and the region that the guarantee allows.

use crate::chart::escape;
use std::fmt::Write;

const SIDE: f64 = 300.0;
const MARGIN: f64 = 44.0;

/// The measured, refuted and allowed rates of an attack. Points are (false alarms, hits).
pub struct Roc<'a> {
    /// The measured curve.
    pub curve: &'a [(f64, f64)],
    /// The largest rate of hits that the claim allows at a rate of false alarms.
    pub allows: &'a dyn Fn(f64) -> f64,
    /// The largest rate of hits that a refuted promise allows at a rate of false alarms.
    pub proved: &'a dyn Fn(f64) -> f64,
    /// Whether the claim is refuted.
    pub is_refuted: bool,
}

/// The measured curve, the allowed region, and the edge of what is refuted, as a whole SVG file.
#[must_use]
pub fn picture(title: &str, roc: &Roc<'_>) -> String {
    let x = |alarms: f64| MARGIN + alarms * SIDE;
    let y = |hits: f64| MARGIN + (1.0 - hits) * SIDE;
    let place = |(alarms, hits): (f64, f64)| format!("{:.1},{:.1}", x(alarms), y(hits));
    let path = |points: &mut dyn Iterator<Item = (f64, f64)>| {
        let places: Vec<String> = points.map(place).collect();
        places.join(" ")
    };
    let steps = || (0..=200).map(|i| f64::from(i) / 200.0);
    let edge = || steps().map(|alarms| (alarms, (roc.allows)(alarms)));
    // The region lies between the edge and its mirror image; attacks are drawn on the upper side.
    let region = path(&mut edge().chain([(1.0, 1.0), (0.0, 0.0)]));
    let whole = SIDE + 2.0 * MARGIN;
    let (low, high, middle) = (MARGIN, MARGIN + SIDE, MARGIN + SIDE / 2.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {whole} {whole}\" \
         width=\"{whole}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{low}\" y=\"22\" font-size=\"13\">{}</text>\n\
         <polygon points=\"{region}\" fill=\"#56b4e9\" fill-opacity=\"0.25\" stroke=\"#0072b2\"/>\n\
         <rect x=\"{low}\" y=\"{low}\" width=\"{SIDE}\" height=\"{SIDE}\" fill=\"none\" \
         stroke=\"#999\"/>\n\
         <text x=\"{middle}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#333\">false \
         alarms</text>\n\
         <text transform=\"translate(16 {middle}) rotate(-90)\" text-anchor=\"middle\" \
             fill=\"#333\">hits</text>\n",
        escape(title),
        high + 30.0
    );
    for (value, label) in [(0.0, "0"), (1.0, "1")] {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#333\">{label}</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#333\">{label}</text>",
            x(value),
            high + 14.0,
            low - 5.0,
            y(value) + 4.0
        );
    }
    let curve = path(&mut roc.curve.iter().copied());
    let refuted = path(&mut steps().map(|alarms| (alarms, (roc.proved)(alarms))));
    let colour = if roc.is_refuted { "#d55e00" } else { "#009e73" };
    let _ = writeln!(
        svg,
        "<polyline points=\"{refuted}\" fill=\"none\" stroke=\"{colour}\" \
             stroke-width=\"1.5\"><title>refuted</title></polyline>\n\
         <polyline points=\"{curve}\" fill=\"none\" stroke=\"#333\" \
             stroke-width=\"1.5\"/>\n</svg>"
    );
    svg
}
