//! What `plan` is asked, and how it is read.

use super::task::TaskArguments;
use crate::names::{AdjacencyName, NoiseName};
use clap::Args;
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::Noise;
use hushstream_pictures::numbers::{count, finite};
use hushstream_recipes::RecipeName;
use std::path::PathBuf;

/// Arguments of `plan`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Prefix sums that will be released.
    #[arg(long, value_parser = count, conflicts_with = "rounds", required_unless_present_any = ["rounds", "excess_risk"])]
    pub(crate) releases: Option<u64>,
    /// Rounds of a learner: it releases one sum fewer.
    #[arg(long, value_parser = count)]
    pub(crate) rounds: Option<u64>,
    /// A recipe: its calibration, its sum and its regret bound for the public numbers below.
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// How many records `--recipe pol` needs for a model whose expected loss is at most so far above the best.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, requires = "recipe", conflicts_with_all = ["rounds", "releases"])]
    pub(crate) excess_risk: Option<f64>,
    /// With which probability it may be farther.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 0.05)]
    pub(crate) failing: f64,
    /// Coordinates of a contribution (of the weights, with a recipe; `pqftl` sums their second moments).
    #[arg(long, default_value_t = 1)]
    pub(crate) dim: u32,
    /// Privacy loss ε.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) epsilon: f64,
    /// Privacy loss δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 0.0)]
    pub(crate) delta: f64,
    /// What a neighbouring data set is.
    #[arg(long, value_enum, default_value_t = AdjacencyName::ReplaceOne)]
    pub(crate) adjacency: AdjacencyName,
    /// tree, tree-padded, honaker, smooth, blt, kary, window, octave; `best`, or `all` side by side. If not given: the recipe's own, or the best.
    #[arg(long)]
    pub(crate) sum: Option<String>,
    /// The noise; by default Gaussian for δ > 0 and L2-Laplace for δ = 0.
    #[arg(long, value_enum)]
    pub(crate) noise: Option<NoiseName>,
    /// Public bound on the length of one contribution (L1 for Laplace noise, else L2). A recipe has its own.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 1.0, conflicts_with = "recipe")]
    pub(crate) bound: f64,
    #[command(flatten)]
    pub(crate) task: TaskArguments,
    /// Records summed into one item.
    #[arg(long, value_parser = count, default_value_t = 1)]
    pub(crate) batch: u64,
    /// Items for which `--sum window` protects a record.
    #[arg(long, value_parser = count)]
    pub(crate) window: Option<u64>,
    /// Buffers of `--sum blt`, 2 to 8.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=8))]
    pub(crate) buffers: u8,
    /// Protect persons with at most this many contributions each.
    #[arg(long, value_parser = count)]
    pub(crate) max_per_person: Option<u64>,
    /// Least distance, in items, between two contributions of one person.
    #[arg(long, value_parser = count, default_value_t = 1, requires = "max_per_person")]
    pub(crate) min_separation: u64,
    /// Print one JSON object (with `--sum all` a list).
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a picture of the error against the number of items.
    #[arg(long)]
    pub(crate) svg: Option<PathBuf>,
}

impl Arguments {
    pub(crate) fn participation(&self) -> Participation {
        match self.max_per_person {
            None => Participation::OncePerRecord,
            Some(most) => Participation::PerPerson {
                most,
                separation: self.min_separation,
            },
        }
    }

    /// The noise of a sum alone; a recipe has its own default.
    pub(crate) fn noise_of_sum(&self) -> Noise {
        match self.noise {
            Some(name) => name.into(),
            None if self.delta > 0.0 => Noise::Gaussian,
            None => Noise::L2Laplace,
        }
    }

    pub(crate) fn wants(&self, sum: &str) -> bool {
        self.sum.as_deref() == Some(sum)
    }
}
