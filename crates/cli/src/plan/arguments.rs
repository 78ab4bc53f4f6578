//! The flags of `plan`.

use super::task::TaskArguments;
use crate::names::{AdjacencyName, NoiseName};
use crate::sets::SetName;
use anyhow::{Result, anyhow};
use clap::Args;
use hushstream_mechanism::Participation;
use hushstream_mechanism::sums::{Noise, Workload};
use hushstream_pictures::numbers::{count, finite};
use hushstream_recipes::RecipeName;
use hushstream_sets::{ConvexSet, SetError};
use std::path::PathBuf;
use std::sync::Arc;

/// Arguments of `plan`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Number of prefix sums to release.
    #[arg(
        long,
        value_parser = count,
        conflicts_with = "rounds",
        required_unless_present_any = ["rounds", "excess_risk"]
    )]
    pub(crate) releases: Option<u64>,
    /// Rounds of a learner, which releases one sum fewer.
    #[arg(long, value_parser = count)]
    pub(crate) rounds: Option<u64>,
    /// Plan what `learn` would do with a table that this schema describes: the choice, its reasons
    /// and the noise in a score. Needs --rounds; with patterns in the schema also --header.
    #[arg(long, requires = "rounds", conflicts_with_all = ["recipe", "excess_risk", "svg"])]
    pub(crate) schema: Option<PathBuf>,
    /// The table whose header names the columns; nothing else of it is read. Without it, rows come
    /// from a stream, which is read once.
    #[arg(long, requires = "schema")]
    pub(crate) header: Option<String>,
    /// Plan a recipe: its calibration, sum and regret bound for the public numbers below.
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// Compute the records that `--recipe pol` needs for an expected loss within this distance of
    /// the best.
    #[arg(
        long,
        value_parser = finite,
        allow_negative_numbers = true,
        requires = "recipe",
        conflicts_with_all = ["rounds", "releases"]
    )]
    pub(crate) excess_risk: Option<f64>,
    /// The probability that --excess-risk, or the certified regret of iterates, may be exceeded; by
    /// default 0.05, and an expected regret.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) failing: Option<f64>,
    /// For `limited-updates` among experts: the mean loss of every other expert is at least this
    /// much above the best one's. The certified regret then stops growing with --rounds.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, requires = "recipe")]
    pub(crate) gap: Option<f64>,
    /// Coordinates of a contribution; with a recipe, of the weights.
    #[arg(long, default_value_t = 1)]
    pub(crate) dim: u32,
    /// Privacy loss ε.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) epsilon: f64,
    /// Privacy loss δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 0.0)]
    pub(crate) delta: f64,
    /// The neighbouring relation.
    #[arg(long, value_enum, default_value_t = AdjacencyName::ReplaceOne)]
    pub(crate) adjacency: AdjacencyName,
    /// The sum: tree, tree-padded, honaker, smooth, blt, kary, window, octave, eras, fresh, dense
    /// or blt-normalised; `best`; or `all` to compare. By default the recipe's own, or the best.
    #[arg(long)]
    pub(crate) sum: Option<String>,
    /// Which releases count: max (the worst one), mean, running-mean (release t divided by t),
    /// decay(G) (release t of n counts G^(n-t)), or last (as much as all others together). `dense`
    /// has the least error for it, and `best` is the sum with the least.
    #[arg(long, default_value_t = Workload::Max)]
    pub(crate) workload: Workload,
    /// The noise; by default Gaussian for δ > 0 and L2-Laplace for δ = 0.
    #[arg(long, value_enum)]
    pub(crate) noise: Option<NoiseName>,
    /// Public bound on the length of one contribution (L1 for Laplace noise, else L2). A recipe has
    /// its own.
    #[arg(
        long,
        value_parser = finite,
        allow_negative_numbers = true,
        default_value_t = 1.0,
        conflicts_with = "recipe"
    )]
    pub(crate) bound: f64,
    #[command(flatten)]
    pub(crate) task: TaskArguments,
    /// Records summed into one item.
    #[arg(long, value_parser = count, default_value_t = 1)]
    pub(crate) batch: u64,
    /// Start afresh after this many rounds, for streams that drift: experts and bandits. Each
    /// season has the whole budget.
    #[arg(long, value_parser = count)]
    pub(crate) restart_every: Option<u64>,
    /// Items over which `--sum window` protects a record.
    #[arg(long, value_parser = count)]
    pub(crate) window: Option<u64>,
    /// Buffers of `--sum blt` (by default 4) and `--sum blt-normalised` (5), 2 to 8.
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=8))]
    pub(crate) buffers: Option<u8>,
    /// Protect persons, each with at most this many contributions.
    #[arg(long, value_parser = count)]
    pub(crate) max_per_person: Option<u64>,
    /// Least distance, in items, between two contributions of one person.
    #[arg(long, value_parser = count, default_value_t = 1, requires = "max_per_person")]
    pub(crate) min_separation: u64,
    /// Print one JSON object (with `--sum all` a list).
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a picture of the error against the number of items to this SVG file.
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

    /// Coordinates: the set's own, where it has some.
    pub(crate) fn dimension(&self) -> Result<u32> {
        let own = self.task.set.as_ref().map(SetName::own_dimension);
        let own = own.transpose()?.flatten();
        Ok(own.map_or(Ok(self.dim), u32::try_from)?)
    }

    /// The set of a recipe's weights.
    pub(crate) fn set_of(&self, recipe: RecipeName) -> Result<Arc<dyn ConvexSet>> {
        let set = self.task.set_of(recipe);
        let built = set.build(self.dimension()? as usize, self.task.radius);
        built.map_err(|error| match error.downcast_ref::<SetError>() {
            Some(SetError::Parameter(refused)) if refused.parameter == "dimension" => anyhow!(
                "--dim {} is not allowed here; allowed: {}, the number of coordinates, experts or \
                 arms",
                refused.given,
                refused.allowed
            ),
            _ => error,
        })
    }

    /// The default noise of a sum; a recipe has its own default.
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
