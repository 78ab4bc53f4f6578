//! One duel against a learner: neighbouring streams that differ in the canary's records, and
//! everything the learner publishes about them.

use super::interrupted::{Interruption, Shelf};
use super::nodes::Nodes;
use super::paid::{Paid, filter_for};
use super::scene::Scene;
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_account::Adjacency;
use hushstream_mechanism::{GuaranteeKind, Participation, Raw, Released, Transcript, Windowed};
use hushstream_noise::Key;
use hushstream_recipes::{Recipe, RecipeError, SumRun};

/// The person whose records are the canary, where persons count.
const CANARY: u64 = 0;

/// Two neighbouring streams against a recipe.
pub(crate) struct Contest {
    pub(crate) recipe: Recipe,
    pub(crate) scene: Scene,
    /// The rounds, from 1, whose records differ.
    pub(crate) canaries: Vec<u64>,
    /// Whether the other records follow what was published.
    pub(crate) adaptive: bool,
    pub(crate) interruption: Interruption,
    /// Published releases that the guarantee speaks of: all of them but for windows.
    pub(crate) seen: u64,
    pub(crate) nodes: Option<Nodes>,
    pub(crate) what: String,
}

impl Contest {
    /// How much a canary pulls.
    fn pull(&self, world: World) -> f64 {
        match (self.recipe.request().adjacency, world) {
            (Adjacency::ReplaceOne, _) => world.sign(),
            (Adjacency::ZeroOut, World::Left) => 0.0,
            (Adjacency::ZeroOut, World::Right) => 1.0,
        }
    }

    /// What the canaries are worth in each sum.
    fn worth(&self, world: World) -> Vec<f64> {
        let taken = |t: u64| self.canaries.iter().filter(|&&canary| canary <= t).count() as f64;
        (1..=self.seen)
            .map(|t| self.pull(world) * taken(t))
            .collect()
    }

    fn play_with<G: GuaranteeKind>(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let plan = self.recipe.plan();
        let paid = Paid {
            budget: plan.request().budget,
            filter: filter_for(plan.request().noise),
            scope: plan.scope(),
            charge: plan.charge().map_err(RecipeError::from)?,
        };
        let (mut ledger, grant) = paid.open()?;
        let key = Key::insecure_from_seed(seed);
        let shelf = Shelf::default();
        let mut run =
            SumRun::<G>::open(self.recipe.clone(), grant, &key, &mut ledger, shelf.open())?;
        let first = run.question().for_the_operator().to_vec();
        let mut iterates: Vec<Vec<f64>> = Vec::new();
        let mut again = Vec::new();
        let mut known = Vec::new();
        let (mut sum_known, mut direction) = (0.0, 1.0);
        let persons = matches!(
            self.recipe.request().participation,
            Participation::PerPerson { .. }
        );
        let rounds = self.recipe.plan().request().releases;
        let mut old = shelf.copy();
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
            let behind = self.recipe.request().batch - 1 - before;
            let fill = |run: &mut SumRun<G>, count: u64| {
                (0..count).try_for_each(|_| run.learn(None, Raw::seal(self.scene.record(0.0))))
            };
            fill(&mut run, before)?;
            run.learn(person, Raw::seal(self.scene.record(pull)))?;
            fill(&mut run, behind)?;
            let mut published: Vec<Vec<f64>> = run
                .sync(&mut ledger)?
                .into_iter()
                .map(Released::into_value)
                .collect();
            if self.interruption.is_after(t) {
                let lost = self.interruption.restore(&shelf, &old);
                drop(run);
                let back = SumRun::<G>::resume(
                    self.recipe.clone(),
                    shelf.open(),
                    &key,
                    &mut ledger,
                    None,
                )?;
                run = back.0;
                self.interruption.check(back.1, lost)?;
                // What is published again must be the same; if it is not, the attacker sees both.
                for release in run.sync(&mut ledger)? {
                    again.extend(release.into_value());
                }
            }
            old = shelf.copy();
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
            seen.iter_mut()
                .zip(&known)
                .for_each(|(sum, known)| *sum -= known);
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
