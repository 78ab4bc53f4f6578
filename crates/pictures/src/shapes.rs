//! What a model of curves and tables says, as plain data.

use crate::numbers::short;
use serde::Serialize;

/// A number of the model, and the standard deviation that noise gives it, if it is known.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Effect {
    /// What it adds to the score.
    pub value: f64,
    /// The deviation.
    pub sd: Option<f64>,
}

impl Effect {
    /// The end of the band on one side: two deviations away.
    #[must_use]
    pub fn end(&self, side: f64) -> f64 {
        self.value + side * 2.0 * self.sd.unwrap_or(0.0)
    }

    /// As text, with its band: `+0.41 ± 0.05`.
    #[must_use]
    pub fn text(&self) -> String {
        match self.sd {
            Some(sd) => format!("{} ± {}", signed(self.value), plain(2.0 * sd)),
            None => signed(self.value),
        }
    }
}

/// Two decimals, or three digits of what is larger.
#[must_use]
pub fn plain(value: f64) -> String {
    let size = value.abs();
    if size < 10.0 {
        format!("{value:.2}")
    } else if size < 1000.0 {
        format!("{value:.1}")
    } else {
        short(value)
    }
}

/// The same with its sign.
#[must_use]
pub fn signed(value: f64) -> String {
    let text = plain(value.abs());
    if text.chars().all(|c| matches!(c, '0' | '.')) {
        text
    } else if value < 0.0 {
        format!("−{text}")
    } else {
        format!("+{text}")
    }
}

/// A model.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shapes {
    /// What is predicted, in words.
    pub predicts: String,
    /// What a score is: "log-odds", or the units of a number.
    pub unit: String,
    /// Whether scores are log-odds, so that e to an effect is a factor.
    pub is_odds: bool,
    /// The scores: one without a name, or one for each class.
    pub outputs: Vec<String>,
    /// The scores where every curve is at its mean.
    pub base: Vec<f64>,
    /// The columns, the one that moves the score most first.
    pub columns: Vec<Column>,
    /// Pairs of columns that act together, the strongest first.
    pub pairs: Vec<Pair>,
}

/// The effect of a column by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// From the least to the greatest effect, in the output where that is most.
    pub range: f64,
    /// The same between the ends of the bands that face each other: what noise does not explain.
    pub sure: f64,
    /// Its effects.
    pub shape: Shape,
    /// The effect of a missing or unknown value.
    pub missing: Vec<Effect>,
}

/// Effects by value.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Of a number: straight lines between these points.
    Curve {
        /// The points, from left to right.
        points: Vec<Point>,
        /// Marks of the axis: place from 0 to 1, and value.
        ticks: Vec<(f64, f64)>,
    },
    /// Of categories, the largest effects beyond noise first.
    Categories {
        /// Each category, with one effect per output.
        values: Vec<(String, Vec<Effect>)>,
        /// Further categories, which are not listed.
        left_out: usize,
    },
}

/// A point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The number, in the units of its column.
    pub x: f64,
    /// Its place on the axis, from 0 to 1.
    pub at: f64,
    /// One effect per output.
    pub effects: Vec<Effect>,
}

/// What two columns add together, beyond their curves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// Their names.
    pub names: [String; 2],
    /// The output that is shown.
    pub output: String,
    /// The labels along both axes.
    pub labels: [Vec<String>; 2],
    /// Effects, the first axis running fastest.
    pub cells: Vec<Effect>,
    /// The root of the mean square, less that of the noise.
    pub strength: f64,
}

impl Column {
    /// Every value with its effects: numbers as text.
    #[must_use]
    pub fn values(&self) -> Vec<(String, &[Effect])> {
        match &self.shape {
            Shape::Curve { points, .. } => {
                let values = points.iter();
                values.map(|p| (number(p.x), &p.effects[..])).collect()
            }
            Shape::Categories { values, .. } => {
                let values = values.iter();
                values.map(|(name, all)| (name.clone(), &all[..])).collect()
            }
        }
    }
}

/// A value of a column, short: 12, 0.25, 1.5k, 200k, 3M.
#[must_use]
pub fn number(value: f64) -> String {
    let size = value.abs();
    let (scaled, unit) = match size {
        9.995e5.. => (value / 1e6, "M"),
        1e4.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let size = scaled.abs();
    let digits = if size >= 100.0 {
        0
    } else if size >= 10.0 {
        1
    } else if size >= 1.0 || size == 0.0 {
        2
    } else {
        3 - (size.log10().ceil() as i32).max(-6)
    };
    let text = format!("{scaled:.*}", digits.max(0) as usize);
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{}{unit}", text.replace('-', "−"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_and_signed() {
        let shown = [0.0, 12.0, 0.25, 1500.0, 200_000.0, 3e6, -17.04, 0.00123].map(number);
        assert_eq!(
            shown,
            ["0", "12", "0.25", "1500", "200k", "3M", "−17", "0.00123"]
        );
        let effect = Effect {
            value: -0.414,
            sd: Some(0.0261),
        };
        assert_eq!(effect.text(), "−0.41 ± 0.05");
        assert_eq!(
            (signed(0.001), signed(12.34)),
            ("0.00".into(), "+12.3".into())
        );
        assert!((effect.end(1.0) + 0.3618).abs() < 1e-12);
    }
}
