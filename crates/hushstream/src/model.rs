//! The model file: a publishable model with its layout and its guarantee.
//!
//! JSON, one object, with a version and a checksum. It is written whole or not at all, and holds
//! nothing but public statements and a released iterate. The checksum covers every value in the
//! file: it detects accidents and careless edits. It does not authenticate, since anyone can
//! compute it. Version 1 had a checksum of the weights alone; it is read with a note.

use crate::decisions::{Decider, Decision, Evaluation};
use crate::error::{Context, Error, Result, refuse};
use crate::files;
use crate::methods::session::Published;
use crate::outcome::Arm;
use crate::target::Target;
use hushstream_account::Guarantee;
use hushstream_mechanism::decisions::{ContextMap, Policy, Rule};
use hushstream_mechanism::losses::Features;
use hushstream_mechanism::{AskerOnly, Probability, TableMap};
use hushstream_noise::{Instance, Key, Source};
use hushstream_read::{Encoder, Fields as Row, Layout, SchemaSpec, TargetKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::path::Path;

const FORMAT: &str = "hushstream model";
const VERSION: u32 = 2;
/// The version of models with curves and tables, which version 2 would not understand.
const TABLES_VERSION: u32 = 3;

/// The version of policies.
const POLICY_VERSION: u32 = 4;

/// What makes a model a policy of contexts: the map to features, how estimates become
/// probabilities, and what was evaluated.
#[derive(Debug, Serialize, Deserialize, Clone)]
pub struct PublishedPolicy {
    /// From a context to features.
    pub map: ContextMap,
    /// From estimates to probabilities.
    pub rule: Rule,
    /// What policies earn, from releases alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<Vec<Evaluation>>,
}

/// The prediction of a model for a row.
///
/// ```
/// use hushstream::prelude::*;
///
/// let late = Prediction::Class { name: "late".into(), probability: Some(0.7), score: 0.85 };
/// assert_eq!(late.to_string(), "late");
/// assert_eq!(Prediction::Number(2.5).to_string(), "2.5");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Prediction {
    /// A class.
    Class {
        /// Its name.
        name: String,
        /// Its probability, if the loss gives probabilities.
        probability: Option<f64>,
        /// Its score.
        score: f64,
    },
    /// A number.
    Number(f64),
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class { name, .. } => f.write_str(name),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// A published model.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut run = Learner::regress(0.0..10.0)
///     .features(1)
///     .records(100)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .start()?;
/// for i in 0..100 {
///     run.learn(&[f64::from(i) / 100.0, f64::from(i) / 10.0])?;
/// }
/// let model = run.model()?.into_value();
/// println!("{}", model.predict(&[0.5])?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Serialize, Deserialize, Clone)]
pub struct Model {
    format: String,
    version: u32,
    /// How it was learned.
    pub recipe: String,
    /// The layout of features and target.
    pub layout: Layout,
    /// Features longer than this are scaled down to it.
    pub length: f64,
    /// Curves and tables, if the weights are theirs and not those of a linear model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tables: Option<TableMap>,
    /// The number of its release.
    pub release: u64,
    /// The weights, class after class if there are several.
    pub weights: Vec<f64>,
    /// Of curves and tables: about the largest standard deviation that noise gives the weights of
    /// every coordinate; see docs/model-file.md.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_sd: Option<Vec<f64>>,
    /// Added to the score of a numeric target: the midpoint of its bounds, and what was learned
    /// beside curves.
    #[serde(default)]
    pub offset: f64,
    /// The map from scores to probabilities of classes, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<Probability>,
    /// The guarantee for this and all earlier releases.
    pub guarantee: Guarantee,
    /// For a bandit: estimates for each arm, from releases alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arms: Option<Vec<Arm>>,
    /// For decisions: the policy of contexts, whose weights are the model's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<PublishedPolicy>,
    /// Whether it was learned from a table without a header.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_header: bool,
    /// The stated column names of that table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    checksum: u32,
}

impl Model {
    /// Builds a model.
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
            tables: None,
            release,
            weights,
            noise_sd: None,
            offset: 0.0,
            probability: None,
            guarantee,
            arms: None,
            policy: None,
            no_header: false,
            names: Vec::new(),
            checksum: 0,
        }
    }

    /// Adds the table layout of the training data.
    pub fn of_table(mut self, schema: &SchemaSpec) -> Self {
        self.no_header = schema.no_header.unwrap_or(!schema.names.is_empty());
        self.names.clone_from(&schema.names);
        self
    }

    /// Adds the map of curves and tables. Behind their weights there may be an offset.
    pub fn with_tables(mut self, tables: Option<&TableMap>) -> Self {
        if tables.is_some() {
            (self.tables, self.version) = (tables.cloned(), TABLES_VERSION);
        }
        if let (Some(map), TargetKind::Number { .. }) = (tables, self.layout.target())
            && self.weights.len() > map.dimension()
        {
            self.offset += self.weights.pop().unwrap_or(0.0);
        }
        self
    }

    /// Adds the deviation that noise gives every coordinate, in four digits.
    pub fn with_noise(mut self, deviations: &[f64]) -> Self {
        let short = |sd: &f64| format!("{sd:.3e}").parse().unwrap_or(*sd);
        let known = self.tables.is_some() && !deviations.is_empty();
        self.noise_sd = known.then(|| deviations.iter().map(short).collect());
        self
    }

    /// Adds the map from scores to predictions.
    pub fn with_target(mut self, target: &Target) -> Self {
        (self.offset, self.probability) = (target.midpoint, target.probability);
        self
    }

    /// Adds the estimates for each arm.
    pub fn with_arms(mut self, arms: Option<Vec<Arm>>) -> Self {
        self.arms = arms;
        self
    }

    /// Makes it a policy: its rows are contexts alone.
    pub(crate) fn with_policy(mut self, published: Option<Published>) -> Self {
        if let Some((policy, evaluation)) = published {
            self.version = POLICY_VERSION;
            self.layout = self.layout.contexts().unwrap_or(self.layout);
            self.weights = policy.weights().to_vec();
            self.names.clear();
            self.policy = Some(PublishedPolicy {
                map: policy.map().clone(),
                rule: policy.rule().clone(),
                evaluation,
            });
        }
        self
    }

    /// The names of the arms of a policy.
    #[must_use]
    pub fn arm_names(&self) -> &[String] {
        self.layout.decides().map_or(&[], |decides| &decides.arms)
    }

    /// The policy of a model of decisions.
    ///
    /// # Errors
    /// Weights that do not fit it.
    pub fn policy(&self) -> Result<Option<Policy>> {
        let Some(own) = &self.policy else {
            return Ok(None);
        };
        let (map, weights) = (own.map.clone(), self.weights.clone());
        let policy = Policy::new(map, weights, self.arm_names().len(), own.rule.clone())?;
        Ok(Some(policy))
    }

    /// Decides for a context, with a coin from the operating system: for a policy that answers
    /// where nothing is learned. Its id is 0.
    ///
    /// # Errors
    /// A model that is no policy; a row without one of the columns; a value that cannot be read.
    pub fn decide(&self, row: &(impl Row + ?Sized)) -> Result<AskerOnly<Decision>, Error> {
        let coins = Source::open(&Key::from_os()?, Instance::from_os()?, 0);
        self.decider()?.decide(row, &coins, 0)
    }

    /// The policy, ready to decide often and with coins of the caller's.
    ///
    /// # Errors
    /// A model that is no policy.
    pub fn decider(&self) -> Result<Decider, Error> {
        let Some(policy) = self.policy()? else {
            refuse!("this model predicts and does not decide: use predict");
        };
        Ok(Decider::new(
            policy,
            Encoder::with_layout(&self.layout, &self.names)?,
            self.arm_names().to_vec(),
        ))
    }

    /// The file's bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut whole = self.clone();
        // The checksum of version 1 is not written any more.
        whole.version = whole.version.max(VERSION);
        // Use numbers as a reader will parse them.
        let stated: Value = serde_json::from_str(&serde_json::to_string(&whole)?)?;
        whole.checksum = checksum(stated)?;
        let mut text = serde_json::to_string_pretty(&whole)?;
        text.push('\n');
        Ok(text.into_bytes())
    }

    /// Reads a model file, with notes about it.
    pub fn read(path: &Path) -> Result<(Self, Vec<String>)> {
        let name = path.display().to_string();
        let text = std::fs::read(path).with_context(|| format!("cannot read {name}"))?;
        Self::from_bytes(&text, &name)
    }

    /// Reads the bytes of a model file of this name, with notes about it.
    ///
    /// # Errors
    /// Bytes that are no model, or were changed.
    pub fn from_bytes(text: &[u8], name: &str) -> Result<(Self, Vec<String>)> {
        let mut notes = Vec::new();
        let what =
            |problem: &str| format!("{name} is not a model that this version can read: {problem}");
        let broken = |error: serde_json::Error| Error::refused(what(&error.to_string()));
        let stated: Value = serde_json::from_slice(text).map_err(broken)?;
        let version = stated.get("version").and_then(Value::as_u64);
        match (stated.get("format").and_then(Value::as_str), version) {
            (Some(FORMAT), Some(1)) => {}
            (Some(FORMAT), Some(version)) if version <= u64::from(POLICY_VERSION) => {}
            (Some(FORMAT), Some(version)) => refuse!(
                "{}",
                what(&format!(
                    "a later version of Hushstream wrote it (format {version}; this version reads up \
                 to format {POLICY_VERSION}): use that version"
                ))
            ),
            _ => refuse!("{}", what("another format or version")),
        }
        // Decode from the file itself, where a duplicate key is an error.
        let model: Self = serde_json::from_slice(text).map_err(broken)?;
        if version == Some(1) {
            if model.checksum != checksum_of_weights(&model.weights) {
                refuse!("{}", what("its checksum does not fit its weights"));
            }
            notes.push(format!(
                "note: {name} was written by an earlier version: its checksum covers the weights \
                 alone, so nothing tells whether its guarantee is as it was written"
            ));
        } else if model.checksum != checksum(stated)? {
            refuse!(
                "{}",
                what("its checksum does not fit: it was damaged or changed after it was written")
            );
        }
        let dimension = model.layout.dimension();
        let dimension = match &model.tables {
            Some(map) if map.shape().axes.len() != dimension || !model.layout.is_coded() => {
                refuse!("{}", what("curves that do not fit its layout"))
            }
            Some(map) => map.dimension(),
            None => dimension,
        };
        let weights = match model.layout.target() {
            TargetKind::Class { classes } => classes.len() * dimension,
            TargetKind::None if model.policy.is_some() => {
                let policy = model.policy();
                let is_sound = policy.as_ref().is_ok_and(|policy| {
                    let columns = policy.as_ref().map(|policy| policy.map().columns());
                    columns == Some(dimension)
                });
                if !is_sound {
                    refuse!("{}", what("a policy that does not fit its layout"));
                }
                model.weights.len()
            }
            TargetKind::None => model.layout.arms().unwrap_or(dimension),
            _ => dimension,
        };
        if model.weights.len() != weights
            || !(model.length > 0.0 && model.length.is_finite())
            || model.weights.iter().any(|w| !w.is_finite())
            || !model.offset.is_finite()
            || model.noise_sd.as_ref().is_some_and(|sds| {
                sds.len() != dimension || !sds.iter().all(|sd| (0.0..1e300).contains(sd))
            })
        {
            refuse!("{}", what("weights that do not fit its layout"));
        }
        Ok((model, notes))
    }

    /// Reads a model file.
    ///
    /// # Errors
    /// A file that is not a model, or is damaged.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::read(path.as_ref())?.0)
    }

    /// Writes the model file, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        files::write_whole(path.as_ref(), &self.to_bytes()?)
    }

    /// Predicts a row, which need not have a target. Numbers are in the order of the training
    /// columns.
    ///
    /// # Errors
    /// A model of experts or arms; a row without one of the columns; a value that cannot be read.
    pub fn predict(&self, row: &(impl Row + ?Sized)) -> Result<Prediction, Error> {
        if *self.layout.target() == TargetKind::None {
            refuse!(
                "this model weights experts or arms and predicts no target: see its weights, or ask \
                 a policy to decide"
            );
        }
        let mut read = hushstream_read::Row::default();
        Encoder::with_layout(&self.layout, &self.names)?.row(row, &mut read)?;
        Ok(self.prediction(&self.scores(&read.features)))
    }

    /// The interval that holds the score without the noise that this model was given, with this
    /// confidence: of the number that is predicted, or of the probability of the positive class.
    /// Nothing for several classes, and for models that do not tell their noise.
    ///
    /// Noise is meant, not the chance of other records: the interval says how far privacy may have
    /// moved the prediction. Noises of single weights count as independent and normal, and their
    /// sum as if no later record had corrected it. In fact they partly cancel, along the mean of
    /// the features, and later records correct them: intervals of 90 % hold 99 % and more in
    /// simulated runs on data with something to learn. They are wide, never too sure.
    ///
    /// # Errors
    /// As [`Model::predict`]; a confidence that is not between 0 and 1.
    pub fn interval(
        &self,
        row: &(impl Row + ?Sized),
        confidence: f64,
    ) -> Result<Option<(f64, f64)>, Error> {
        let deviations = deviations(confidence)?;
        let (Some(map), Some(sds)) = (&self.tables, &self.noise_sd) else {
            return Ok(None);
        };
        let mut read = hushstream_read::Row::default();
        Encoder::with_layout(&self.layout, &self.names)?.row(row, &mut read)?;
        let coordinates = map.coordinates(&read.features);
        let variance = coordinates.iter().map(|&(i, c)| (c * sds[i]).powi(2));
        let margin = deviations * variance.sum::<f64>().sqrt();
        let scores = self.scores(&read.features);
        let [score] = scores[..] else {
            return Ok(None);
        };
        let end = |score: f64| match (self.layout.target(), self.probability) {
            (TargetKind::Number { low, high }, _) => (score + self.offset).clamp(*low, *high),
            (_, Some(map)) => map.of_positive(score),
            _ => score,
        };
        Ok(Some((end(score - margin), end(score + margin))))
    }

    /// The intervals of all weights, as [`Model::interval`] has them.
    ///
    /// # Errors
    /// A confidence that is not between 0 and 1.
    pub fn weight_intervals(&self, confidence: f64) -> Result<Option<Vec<(f64, f64)>>, Error> {
        let deviations = deviations(confidence)?;
        let Some(sds) = &self.noise_sd else {
            return Ok(None);
        };
        let outputs = self.weights.len() / sds.len().max(1);
        let margins = sds
            .iter()
            .flat_map(|sd| std::iter::repeat_n(sd * deviations, outputs));
        let weights = self.weights.iter().zip(margins);
        let intervals = weights.map(|(weight, margin)| (weight - margin, weight + margin));
        Ok(Some(intervals.collect()))
    }

    /// The prediction for these scores.
    fn prediction(&self, scores: &[f64]) -> Prediction {
        let first = scores.first().copied().unwrap_or(0.0);
        let target = Target::new(&self.layout, self.probability);
        let named = |class: usize, probability, score| Prediction::Class {
            name: target.name(class).to_owned(),
            probability,
            score,
        };
        match self.layout.target() {
            TargetKind::Number { low, high } => {
                Prediction::Number((first + self.offset).clamp(*low, *high))
            }
            TargetKind::Class { .. } => {
                let best = (0..scores.len())
                    .fold(0, |best, k| if scores[k] > scores[best] { k } else { best });
                let chance = self.probability.and_then(|map| {
                    let mut chances = scores.to_vec();
                    map.of_classes(&mut chances);
                    chances.get(best).copied()
                });
                named(best, chance, scores.get(best).copied().unwrap_or(0.0))
            }
            _ => {
                let chance = self.probability.map(|map| map.of_positive(first));
                let chance = chance.map(|chance| if first > 0.0 { chance } else { 1.0 - chance });
                named(usize::from(first > 0.0), chance, first)
            }
        }
    }

    /// One score per class, or a single score, for features clipped as in learning.
    pub fn scores(&self, features: &Features) -> Vec<f64> {
        if let Some(map) = &self.tables {
            let mut scores = vec![0.0; self.weights.len() / map.dimension().max(1)];
            map.add_scores(features, &self.weights, &mut scores);
            return scores;
        }
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

/// How many standard deviations on both sides hold this share of a normal law.
fn deviations(confidence: f64) -> Result<f64> {
    if !(confidence > 0.0 && confidence < 1.0) {
        refuse!("a confidence of {confidence} is not allowed; allowed: between 0 and 1");
    }
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if libm::erf(middle / std::f64::consts::SQRT_2) < confidence {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(high)
}
