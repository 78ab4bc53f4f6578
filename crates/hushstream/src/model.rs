//! The model file: what may be published, with everything needed to use it and to know what it promises.
//!
//! JSON, one object, with a version and a checksum. It is written whole or not at all, and holds
//! nothing but public statements and a released iterate. The checksum covers every value in the
//! file: it detects accidents and careless edits. It does not authenticate, since anyone can
//! compute it. Version 1 had a checksum of the weights alone; it is read with a note.

use crate::outcome::Arm;
use crate::target::Target;
use anyhow::{Context, Result, bail};
use hushstream_account::Guarantee;
use hushstream_mechanism::Probability;
use hushstream_mechanism::losses::Features;
use hushstream_read::{Layout, SchemaSpec, TargetKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

const FORMAT: &str = "hushstream model";
const VERSION: u32 = 2;

/// A published model.
#[derive(Serialize, Deserialize, Clone)]
pub struct Model {
    format: String,
    version: u32,
    /// How it was learned.
    pub recipe: String,
    /// What features mean, and what is predicted.
    pub layout: Layout,
    /// Features longer than this are scaled down to it.
    pub length: f64,
    /// Which release it is.
    pub release: u64,
    /// Class after class, if there are several.
    pub weights: Vec<f64>,
    /// Added to the score of a number: the midpoint of its bounds.
    #[serde(default)]
    pub offset: f64,
    /// How scores become probabilities of classes, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// What is promised about it and all releases before it.
    pub guarantee: Guarantee,
    /// Of a bandit: what its releases tell about each arm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<Vec<Arm>>,
    /// Whether it was learned from a table without a header.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_header: bool,
    /// The names of columns that were stated then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    checksum: u32,
}

impl Model {
    /// A model to be written.
    pub fn new(
        recipe: String,
        layout: Layout,
        length: f64,
        (release, weights): (u64, Vec<f64>),
        guarantee: Guarantee,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            recipe,
            layout,
            length,
            release,
            weights,
            offset: 0.0,
            probability: None,
            guarantee,
            arms: None,
            no_header: false,
            names: Vec::new(),
            checksum: 0,
        }
    }

    /// Learned from a table that this schema describes.
    pub fn of_table(mut self, schema: &SchemaSpec) -> Self {
        self.no_header = schema.no_header == Some(true) || !schema.names.is_empty();
        self.names.clone_from(&schema.names);
        self
    }

    /// With what turns scores into predictions.
    pub fn with_target(mut self, target: &Target) -> Self {
        (self.offset, self.probability) = (target.midpoint, target.probability);
        self
    }

    /// With what the releases tell about each arm.
    pub fn with_arms(mut self, arms: Option<Vec<Arm>>) -> Self {
        self.arms = arms;
        self
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        // As it will be read: numbers as they are parsed.
        let stated: Value = serde_json::from_str(&serde_json::to_string(self)?)?;
        let whole = Self {
            checksum: checksum(stated)?,
            ..self.clone()
        };
        let mut text = serde_json::to_string_pretty(&whole)?;
        text.push('\n');
        Ok(text.into_bytes())
    }

    /// Reads a model file, with notes about it.
    pub fn read(path: &Path) -> Result<(Self, Vec<String>)> {
        let mut notes = Vec::new();
        let text =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let what = |problem: &str| {
            format!(
                "{} is not a model that this version can read: {problem}",
                path.display()
            )
        };
        let broken = |error: serde_json::Error| anyhow::anyhow!(what(&error.to_string()));
        let stated: Value = serde_json::from_slice(&text).map_err(broken)?;
        let version = stated.get("version").and_then(Value::as_u64);
        match (stated.get("format").and_then(Value::as_str), version) {
            (Some(FORMAT), Some(1)) => {}
            (Some(FORMAT), Some(version)) if version == u64::from(VERSION) => {}
            (Some(FORMAT), Some(version)) if version > u64::from(VERSION) => bail!(what(&format!(
                "a later version of Hushstream wrote it (format {version}; this version reads up to format {VERSION}): use that version"
            ))),
            _ => bail!(what("another format or version")),
        }
        // Decoded from the file itself: a second key of one name is an error there.
        let model: Self = serde_json::from_slice(&text).map_err(broken)?;
        if version == Some(1) {
            if model.checksum != checksum_of_weights(&model.weights) {
                bail!(what("its checksum does not fit its weights"));
            }
            notes.push(format!(
                "note: {} was written by an earlier version: its checksum covers the weights alone, so nothing tells whether its guarantee is as it was written",
                path.display()
            ));
        } else if model.checksum != checksum(stated)? {
            bail!(what(
                "its checksum does not fit: it was damaged or changed after it was written"
            ));
        }
        let dimension = model.layout.dimension();
        let weights = match model.layout.target() {
            TargetKind::Class { classes } => classes.len() * dimension,
            TargetKind::None => model.layout.arms().unwrap_or(dimension),
            _ => dimension,
        };
        if model.weights.len() != weights
            || !(model.length > 0.0 && model.length.is_finite())
            || model.weights.iter().any(|w| !w.is_finite())
            || !model.offset.is_finite()
        {
            bail!(what("weights that do not fit its layout"));
        }
        Ok((model, notes))
    }

    /// One score a class, or the only one, for features that are clipped as they were in learning.
    pub fn scores(&self, features: &Features) -> Vec<f64> {
        let norm = features.norm();
        let shrink = if norm > self.length {
            self.length / norm
        } else {
            1.0
        };
        self.weights
            .chunks_exact(self.layout.dimension().max(1))
            .map(|block| shrink * features.dot(block))
            .collect()
    }
}

/// CRC-32 of everything but the checksum: keys in order, no spaces, numbers as they are parsed.
fn checksum(mut stated: Value) -> Result<u32> {
    if let Some(keys) = stated.as_object_mut() {
        keys.remove("checksum");
    }
    Ok(crc32fast::hash(&serde_json::to_vec(&stated)?))
}

/// The checksum of version 1.
fn checksum_of_weights(weights: &[f64]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    weights
        .iter()
        .for_each(|weight| hasher.update(&weight.to_bits().to_le_bytes()));
    hasher.finalize()
}
