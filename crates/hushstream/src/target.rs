//! Predictions in the terms of the data: names of classes, probabilities, numbers.

use hushstream_mechanism::{Probability, Yardstick};
use hushstream_read::{Layout, Space, TargetKind};

/// The target in the terms of the data.
pub struct Target {
    /// Names of classes, the negative one of two first; empty for a numeric target.
    pub names: Vec<String>,
    /// The map from scores to probabilities, if there is one.
    pub probability: Option<Probability>,
    /// The midpoint of a numeric target's bounds.
    pub midpoint: f64,
}

impl Target {
    /// Of a layout.
    pub fn new(layout: &Layout, probability: Option<Probability>) -> Self {
        let names = match layout.target() {
            TargetKind::Sign {
                positive: Some(value),
            } => vec![format!("not {value}"), value.clone()],
            // As such files mostly spell them.
            TargetKind::Sign { positive: None } => match layout.space() {
                Space::Columns(_) => vec!["0".to_owned(), "1".to_owned()],
                _ => vec!["-1".to_owned(), "1".to_owned()],
            },
            TargetKind::Class { classes } => classes.clone(),
            TargetKind::Number { .. } | TargetKind::None => Vec::new(),
        };
        Self {
            names,
            probability,
            midpoint: layout.target().midpoint(),
        }
    }

    /// The name of a class, by its number.
    pub fn name(&self, class: usize) -> &str {
        self.names.get(class).map_or("", String::as_str)
    }

    /// A record's label and prediction as a board has them.
    pub fn words(&self, yardstick: Yardstick, label: f64, score: f64) -> (String, String) {
        match yardstick {
            Yardstick::Sign(map) => (
                self.name(usize::from(label > 0.0)).to_owned(),
                format!("{:.3}", map.map_or(score, |map| map.of_positive(score))),
            ),
            Yardstick::Classes(..) => {
                let name = |class: f64| self.name(class as usize).to_owned();
                (name(label), name(score))
            }
            Yardstick::Log(_) => (format!("{label:.4}"), String::new()),
            _ => {
                let number = |value: f64| format!("{:.4}", value + self.midpoint);
                (number(label), number(score))
            }
        }
    }
}
