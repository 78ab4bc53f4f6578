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
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

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
    /// The task: experts, linear, mean, classify, regress or ridge; or decide, where the best arm
    /// depends on a context.
    #[arg(long, default_value = "experts")]
    pub(crate) task: TaskName,
    /// Games, separated by commas: stochastic, switching, drifting, blocks, adaptive; afkt4, afkt5
    /// and afkt6, the adversaries of AFKT22's lower bounds for experts; and adaptive-replayed,
    /// afkt4-replayed, …, which play the losses of an adaptive game once more, fixed in advance. By
    /// default switching.
    #[arg(long, value_delimiter = ',')]
    pub(crate) game: Vec<Game>,
    /// Number of coordinates, of experts, or of a context's columns; by default 4, or what the game
    /// asks for.
    #[arg(long)]
    pub(crate) dim: Option<usize>,
    /// Numbers of arms, separated by commas; by default 5. For --task decide.
    #[arg(long, value_delimiter = ',')]
    pub(crate) arms: Vec<usize>,
    /// What gamma is multiplied by; by default 4. For --task decide.
    #[arg(long, value_parser = finite)]
    pub(crate) exploration: Option<f64>,
    /// Where linear losses lie; by default between two bounds, coordinate by coordinate.
    #[arg(long, value_enum)]
    pub(crate) losses: Option<LossesName>,
    /// Rounds of a game; by default 16384, and the paper's number for a figure.
    #[arg(long, value_parser = count)]
    pub(crate) rounds: Option<u64>,
    /// Records summed into one item; by default 1, and of decisions a 256th of the rounds.
    #[arg(long, value_parser = count)]
    pub(crate) batch: Option<u64>,
    /// Start afresh after this many rounds, for streams that drift: experts and bandits. Each
    /// season has the whole budget.
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
    /// The set of the weights: ball, box, simplex, l1-ball, spectrahedron, or a file with a graph,
    /// a matroid or a polytope. By default the task's.
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

/// A task of the arena, or decisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskName {
    Losses(Task),
    Decide,
}

impl FromStr for TaskName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "decide" => Ok(Self::Decide),
            name => {
                let task = name.parse::<Task>();
                task.map(Self::Losses)
                    .map_err(|told| format!("{told}, decide"))
            }
        }
    }
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Losses(task) => task.fmt(f),
            Self::Decide => f.write_str("decide"),
        }
    }
}

impl Arguments {
    /// Refuses what the task does not hear.
    pub(crate) fn check(&self) -> Result<()> {
        let decides = self.task == TaskName::Decide;
        let other = [
            ("--arms", !self.arms.is_empty(), !decides),
            ("--exploration", self.exploration.is_some(), !decides),
            ("--game", !self.game.is_empty(), decides),
            ("--losses", self.losses.is_some(), decides),
            ("--window", self.window.is_some(), decides),
            ("--curvature", self.curvature.is_some(), decides),
            ("--learning-rate", self.learning_rate.is_some(), decides),
            ("--set", self.set.is_some(), decides),
            ("--tuned", self.tuned, decides),
            ("--restart-every", self.restart_every.is_some(), decides),
        ];
        match other.iter().find(|(_, stated, odd)| *stated && *odd) {
            Some((flag, ..)) => bail!("{flag} is not for the task {}: leave it out", self.task),
            None => Ok(()),
        }
    }

    /// The games.
    pub(crate) fn games(&self) -> &[Game] {
        match &self.game[..] {
            [] => &[Game::Switching],
            games => games,
        }
    }

    /// Numbers of arms.
    pub(crate) fn arms(&self) -> &[usize] {
        match &self.arms[..] {
            [] => &[5],
            arms => arms,
        }
    }

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
        if self.task == TaskName::Decide {
            let arms: Vec<String> = self.arms().iter().map(usize::to_string).collect();
            let arms = arms.join(" and ");
            let columns = self.dim.unwrap_or(4);
            names.push(format!("{arms} arms, contexts of {columns} columns"));
        } else {
            for &game in self.games() {
                names.push(format!("{game} game in {} dimensions", self.dim(game)?));
            }
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
