//! What a file is, and what it says: a model, a ledger or a state folder.

use crate::error::{Context, Result, refuse};
use crate::ledgers;
use crate::model::Model;
use hushstream_mechanism::Ledger;
use hushstream_read::TargetKind;
use std::path::Path;

/// A file of this library.
pub enum Inspected {
    /// A model, and notes about its file.
    Model(Box<Model>, Vec<String>),
    /// A ledger.
    Ledger(Box<Ledger>),
    /// A state folder, with the card of its run: secret.
    State(String),
}

/// Reads a file. It changes nothing.
///
/// # Errors
/// A file that cannot be read, or is none of these.
pub fn inspect(path: &Path) -> Result<Inspected> {
    if path.is_dir() {
        return match std::fs::read_to_string(path.join("run.json")) {
            Ok(card) => Ok(Inspected::State(card)),
            Err(_) => refuse!("{} holds no run", path.display()),
        };
    }
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.first() == Some(&b'{') {
        let (model, notes) = Model::read(path)?;
        return Ok(Inspected::Model(Box::new(model), notes));
    }
    let unknown = || format!("{} is neither a model nor a ledger", path.display());
    Ok(Inspected::Ledger(Box::new(
        ledgers::read(path).with_context(unknown)?,
    )))
}

impl Model {
    /// The largest weights, at most this many, each with the name of its feature and class. Zeros
    /// are left out: a thresholded model is mostly zeros.
    #[must_use]
    pub fn largest(&self, most: usize) -> Vec<(String, f64)> {
        let policy = self.policy.as_ref();
        let features = policy.map(|policy| policy.map.features());
        let dimension = features.unwrap_or(self.layout.dimension()).max(1);
        let mut weights: Vec<(usize, f64)> = self.weights.iter().copied().enumerate().collect();
        weights.retain(|(_, weight)| weight.abs() > 0.0);
        weights.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let name = |index: usize| {
            if let Some(policy) = policy {
                let arm = self.arm_names().get(index / dimension);
                let (column, part) = policy.map.column_of(index % dimension);
                let column = match column {
                    Some(column) => self.layout.feature_name(column),
                    None => "(intercept)".to_owned(),
                };
                return format!("{column} {part} [{}]", arm.map_or("", String::as_str));
            }
            let feature = self.layout.feature_name(index % dimension);
            match self.layout.target() {
                TargetKind::Class { classes } => {
                    let class = classes.get(index / dimension);
                    format!("{feature} [{}]", class.map_or("", String::as_str))
                }
                _ => feature,
            }
        };
        let largest = weights.into_iter().take(most);
        largest
            .map(|(index, weight)| (name(index), weight))
            .collect()
    }
}
