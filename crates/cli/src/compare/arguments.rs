//! What `compare` is asked.

use crate::figure::Figure;
use crate::names::{AdjacencyName, NoiseName};
use crate::sets::SetName;
use clap::Args;
use hushstream_account::Adjacency;
use hushstream_arena::{Game, Task};
use hushstream_mechanism::sums::SumKind;
use hushstream_pictures::numbers::{count, delta, finite, grouped};
use hushstream_recipes::RecipeName;
use std::path::PathBuf;

/// Arguments of `compare`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Recipes, separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        required_unless_present = "figure",
        conflicts_with = "figure"
    )]
    pub(crate) recipes: Vec<RecipeName>,
    /// A figure of a paper instead, as printed and as corrected.
    #[arg(long, value_enum)]
    pub(crate) figure: Option<Figure>,
    /// With --figure: the paper's own constants beside the corrected ones. Needs --public-data.
    #[arg(long, requires = "public_data", requires = "figure")]
    pub(crate) as_printed: bool,
    /// The data is public, so that unsound noise harms nobody.
    #[arg(long)]
    pub(crate) public_data: bool,
    /// The data of a figure that needs some (jkt2c: covtype.csv).
    #[arg(long, requires = "figure")]
    pub(crate) data: Option<PathBuf>,
    /// Sums, separated by commas; each recipe's own if none is named.
    #[arg(long, value_delimiter = ',')]
    pub(crate) sum: Vec<SumKind>,
    /// experts, linear, mean, classify, regress or ridge.
    #[arg(long, default_value = "experts")]
    pub(crate) task: Task,
    /// stochastic, switching, drifting, blocks or adaptive.
    #[arg(long, default_value = "switching")]
    pub(crate) game: Game,
    /// Coordinates (experts: how many).
    #[arg(long, default_value_t = 4)]
    pub(crate) dim: usize,
    /// Rounds of a game; 16384 if not given (a figure's own number for figures).
    #[arg(long, value_parser = count)]
    pub(crate) rounds: Option<u64>,
    /// Records summed into one item.
    #[arg(long, value_parser = count, default_value_t = 1)]
    pub(crate) batch: u64,
    /// Privacy losses ε, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = finite, default_value = "1")]
    pub(crate) epsilon: Vec<f64>,
    /// Privacy loss δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, default_value_t = 1e-6)]
    pub(crate) delta: f64,
    /// The noise; by default Gaussian for δ > 0 and the paper's own for δ = 0.
    #[arg(long, value_enum)]
    pub(crate) noise: Option<NoiseName>,
    /// What a neighbouring data set is.
    #[arg(long, value_enum, default_value_t = AdjacencyName::ReplaceOne)]
    pub(crate) adjacency: AdjacencyName,
    /// Protect a record in this many releases (window recipes).
    #[arg(long, value_parser = count)]
    pub(crate) window: Option<u64>,
    /// Curvature H, or α for pqftl, if not the calibrated one.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, visible_alias = "strong-convexity")]
    pub(crate) curvature: Option<f64>,
    /// Learning rate of ftrl, if not the calibrated one.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// Where the weights live, if not where the task has them.
    #[arg(long, value_enum)]
    pub(crate) set: Option<SetName>,
    /// Its radius; 1 if not given.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, requires = "set")]
    pub(crate) radius: Option<f64>,
    /// coco-l with tuned constants.
    #[arg(long)]
    pub(crate) tuned: bool,
    /// How often each game is played, with seeds 0, 1, ….
    #[arg(long, value_parser = count, default_value_t = 5)]
    pub(crate) repeats: u64,
    /// Print a JSON list.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the regret curves.
    #[arg(long)]
    pub(crate) csv: Option<PathBuf>,
    /// Write a picture of the regret curves.
    #[arg(long)]
    pub(crate) svg: Option<PathBuf>,
    /// Write table and picture as one page.
    #[arg(long)]
    pub(crate) html: Option<PathBuf>,
}

impl Arguments {
    /// Rounds of a game.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.unwrap_or(16_384)
    }

    /// The games in one line.
    pub(crate) fn title(&self) -> String {
        let set = self.set.map_or_else(String::new, |set| {
            let radius = self
                .radius
                .map_or_else(String::new, |radius| format!(" of radius {radius}"));
            format!(" over a {set}{radius}")
        });
        format!(
            "{} in {} dimensions{set}, {} game, {} rounds, δ = {}, {}, {} repeats",
            self.task,
            self.dim,
            self.game,
            grouped(self.rounds()),
            delta(self.delta),
            Adjacency::from(self.adjacency),
            self.repeats
        )
    }
}
