//! The flags of `compare`.

use crate::figure::Figure;
use crate::names::{AdjacencyName, NoiseName};
use crate::sets::{LossesName, SetName};
use anyhow::{Result, bail};
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
    /// Draw a figure of a paper instead, as printed and as corrected.
    #[arg(long, value_enum)]
    pub(crate) figure: Option<Figure>,
    /// With --figure: also draw the paper's own constants. Needs --public-data.
    #[arg(long, requires = "public_data", requires = "figure")]
    pub(crate) as_printed: bool,
    /// Confirm that the data is public, so that unsound noise harms nobody.
    #[arg(long)]
    pub(crate) public_data: bool,
    /// The data file of a figure (jkt2b: YearPredictionMSD.txt, jkt2c: covtype.csv).
    #[arg(long, requires = "figure")]
    pub(crate) data: Option<PathBuf>,
    /// Sums, separated by commas; by default each recipe's own.
    #[arg(long, value_delimiter = ',')]
    pub(crate) sum: Vec<SumKind>,
    /// The task: experts, linear, mean, classify, regress or ridge.
    #[arg(long, default_value = "experts")]
    pub(crate) task: Task,
    /// Games, separated by commas: stochastic, switching, drifting, blocks, adaptive; afkt4, afkt5
    /// and afkt6, the adversaries of AFKT22's lower bounds for experts; and adaptive-replayed,
    /// afkt4-replayed, …, which play the losses of an adaptive game once more, fixed in advance.
    #[arg(long, value_delimiter = ',', default_value = "switching")]
    pub(crate) game: Vec<Game>,
    /// Number of coordinates, or of experts; by default 4, or what the game asks for.
    #[arg(long)]
    pub(crate) dim: Option<usize>,
    /// Where linear losses lie; by default between two bounds, coordinate by coordinate.
    #[arg(long, value_enum)]
    pub(crate) losses: Option<LossesName>,
    /// Rounds of a game; by default 16384, and the paper's number for a figure.
    #[arg(long, value_parser = count)]
    pub(crate) rounds: Option<u64>,
    /// Records summed into one item.
    #[arg(long, value_parser = count, default_value_t = 1)]
    pub(crate) batch: u64,
    /// Begin anew after so many rounds, for streams that drift: experts and bandits. Every season has
    /// the whole budget.
    #[arg(long, value_parser = count)]
    pub(crate) restart_every: Option<u64>,
    /// Values of ε, separated by commas.
    #[arg(long, value_delimiter = ',', value_parser = finite, default_value = "1")]
    pub(crate) epsilon: Vec<f64>,
    /// Privacy loss δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, default_value_t = 1e-6)]
    pub(crate) delta: f64,
    /// The noise; by default Gaussian for δ > 0 and the paper's own for δ = 0.
    #[arg(long, value_enum)]
    pub(crate) noise: Option<NoiseName>,
    /// The neighbouring relation.
    #[arg(long, value_enum, default_value_t = AdjacencyName::ReplaceOne)]
    pub(crate) adjacency: AdjacencyName,
    /// Releases over which a window recipe protects a record.
    #[arg(long, value_parser = count)]
    pub(crate) window: Option<u64>,
    /// Curvature H, or α for pqftl; by default calibrated.
    #[arg(
        long,
        value_parser = finite,
        allow_negative_numbers = true,
        visible_alias = "strong-convexity"
    )]
    pub(crate) curvature: Option<f64>,
    /// Learning rate of ftrl; by default calibrated.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// The set of the weights: ball, box, simplex, l1-ball, spectrahedron, or a file with a graph, a
    /// matroid or a polytope. By default the task's.
    #[arg(long)]
    pub(crate) set: Option<SetName>,
    /// The radius of the set; by default 1.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, requires = "set")]
    pub(crate) radius: Option<f64>,
    /// Use tuned constants for coco-l.
    #[arg(long)]
    pub(crate) tuned: bool,
    /// Repeats of each game, with seeds 0, 1, ….
    #[arg(long, value_parser = count, default_value_t = 5)]
    pub(crate) repeats: u64,
    /// Print a JSON list.
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the regret curves to this CSV file.
    #[arg(long)]
    pub(crate) csv: Option<PathBuf>,
    /// Write a picture of the regret curves to this SVG file.
    #[arg(long)]
    pub(crate) svg: Option<PathBuf>,
    /// Write the table and the picture to this HTML file.
    #[arg(long)]
    pub(crate) html: Option<PathBuf>,
}

impl Arguments {
    /// Rounds of a game.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds.unwrap_or(16_384)
    }

    /// Number of coordinates, or of experts.
    pub(crate) fn dim(&self, game: Game) -> Result<usize> {
        let own = game.experts(self.rounds()).map_err(anyhow::Error::msg)?;
        let of_set = self.set.as_ref().map(SetName::own_dimension);
        let own = own.or(of_set.transpose()?.flatten());
        match (own, self.dim) {
            (Some(own), Some(stated)) if stated != own => {
                bail!("the game or the set has {own} coordinates: leave out --dim")
            }
            (own, stated) => Ok(own.or(stated).unwrap_or(4)),
        }
    }

    /// The games in one line.
    pub(crate) fn title(&self) -> Result<String> {
        let set = self.set.as_ref().map_or_else(String::new, |set| {
            let radius = self
                .radius
                .map_or_else(String::new, |radius| format!(" of radius {radius}"));
            format!(" over {set}{radius}")
        });
        let mut names = Vec::new();
        for &game in &self.game {
            names.push(format!("{game} game in {} dimensions", self.dim(game)?));
        }
        Ok(format!(
            "{}{set}, {}, {} rounds, δ = {}, {}, {} repeats",
            self.task,
            names.join(" and "),
            grouped(self.rounds()),
            delta(self.delta),
            Adjacency::from(self.adjacency),
            self.repeats
        ))
    }
}
