//! One duel against a learner: neighbouring streams that differ in the canary's records, and
//! everything the learner publishes about them.

use super::nodes::Nodes;
use super::scene::Scene;
use super::stage::{Interruption, Terms};
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_arena::add;
use hushstream_mechanism::{GuaranteeKind, Participation, Raw, Transcript, Windowed};
use hushstream_recipes::{Recipe, SumPlayer};

/// The person whose records are the canary, where persons count.
const CANARY: u64 = 0;

/// Two neighbouring streams against a recipe.
pub(super) struct Contest {
    pub(super) recipe: Recipe,
    pub(super) terms: Terms,
    pub(super) scene: Scene,
    /// The rounds, from 1, whose records differ.
    pub(super) canaries: Vec<u64>,
    /// Whether the other records follow what was published.
    pub(super) adaptive: bool,
    pub(super) interruption: Interruption,
    /// Published releases that the guarantee speaks of: all of them but for windows.
    pub(super) seen: u64,
    pub(super) nodes: Option<Nodes>,
    pub(super) what: String,
}

impl Contest {
    /// How much a canary pulls.
    fn pull(&self, world: World) -> f64 {
        let pull = world.pull(self.recipe.request().adjacency);
        pull.unwrap_or(0.0)
    }

    /// What the canaries are worth in each sum.
    fn worth(&self, world: World) -> Vec<f64> {
        let taken = |t: u64| self.canaries.iter().filter(|&&canary| canary <= t).count() as f64;
        (1..=self.seen)
            .map(|t| self.pull(world) * taken(t))
            .collect()
    }

    fn play_with<G: GuaranteeKind>(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let mut stage = (self.terms).open::<SumPlayer<G>>(&self.recipe, seed, self.interruption)?;
        let first = stage.run.question().for_the_operator().to_vec();
        let mut iterates: Vec<Vec<f64>> = Vec::new();
        let mut again = Vec::new();
        let mut known = Vec::new();
        let (mut sum_known, mut direction) = (0.0, 1.0);
        let persons = matches!(
            self.recipe.request().participation,
            Participation::PerPerson { .. }
        );
        let rounds = self.recipe.plan().request().releases;
        for t in 1..=rounds {
            let canary = self.canaries.contains(&t);
            let pull = if canary {
                self.pull(world)
            } else if self.adaptive {
                direction
            } else {
                0.0
            };
            if !canary {
                sum_known += pull;
            }
            let person = persons.then_some(if canary { CANARY } else { t });
            let before = self.recipe.request().batch / 2;
            for k in 0..self.recipe.request().batch {
                let (person, pull) = if k == before {
                    (person, pull)
                } else {
                    (None, 0.0)
                };
                stage
                    .run
                    .learn(person, Raw::seal(self.scene.record(pull)))?;
            }
            let mut published = stage.sync()?;
            if stage.stops_after(t)? {
                again.extend(stage.sync()?.concat());
            }
            // The others go against what was published last, as an adversary would.
            if let Some(last) = published.last().and_then(|x| x.first()) {
                direction = if *last >= first[0] { 1.0 } else { -1.0 };
            }
            iterates.append(&mut published);
            known.push(sum_known);
        }
        iterates.truncate(usize::try_from(self.seen).unwrap_or(usize::MAX));
        let numbers = (self.recipe.curvature(), self.recipe.learning_rate());
        let name = self.recipe.request().recipe;
        let mut seen = self.scene.read(name, numbers, &first, &iterates);
        if self.scene.reads_sums() {
            add(&mut seen, known.iter().map(|known| -known));
        }
        seen.append(&mut again);
        Ok(seen)
    }
}

impl Duel for Contest {
    fn name(&self) -> String {
        self.what.clone()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        if self.recipe.plan().request().kind.is_windowed() {
            self.play_with::<Windowed>(world, seed)
        } else {
            self.play_with::<Transcript>(world, seed)
        }
    }

    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        let sums = seen.get(..usize::try_from(self.seen).ok()?)?;
        let nodes = self.nodes.as_ref()?;
        Some(nodes.ratio(sums, &self.worth(World::Left), &self.worth(World::Right)))
    }
}
