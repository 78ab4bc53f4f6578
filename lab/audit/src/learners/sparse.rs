//! Duels against the sparse learner: its models, after every record, in all coordinates.
//!
//! Weights are −η times the released prefix sum, coordinate by coordinate, and the rate is so small
//! that the box never binds and every slope of the hinge is 1: the attacker reads the sums off the
//! models, takes off what the others added, and looks at a binary tree in several coordinates.
//! Models are read twice, which must show nothing new.
//!
//! In one duel the other records *ask*: the canary has a little of as many features as there are
//! records, each record has one of these, and the loss's slope is the sign of the score. So what
//! each adds is what a read of its feature said about the canary, and it adds far more of it than
//! the canary did: if reads saw next to no noise, the canary would stand in every coordinate.
//! (Planted in the learner: reads with a tenth of their noise are refuted over seven releases, with
//! a third they are not.)

use super::Target;
use super::stage::{Interruption, Stage, Terms};
use super::target::{LineUp, boxed};
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_account::Adjacency;
use hushstream_mechanism::Raw;
use hushstream_mechanism::losses::{Bounds, Features, Link, Record};
use hushstream_recipes::{SparsePlayer, SparseRecipe, SparseRequest};

/// Features, of which the canary has two.
const FEATURES: u32 = 4;
/// Small beside the box.
const RATE: f64 = 1e-6;
/// Longer than any sum, where weights are sums.
const LONG: f64 = 1e9;
/// Most records that ask: what is seen has as many coordinates as there are records.
const ASKING: u64 = 64;

/// What is seen of the models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Every model, all weights.
    Dense,
    /// Every model without the weights that noise explains.
    Thresholded,
}

/// What the records around the canary do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    /// Nothing.
    Idle,
    /// They touch the feature whose published weight is largest.
    Adaptive,
    /// Each answers with the sign of what it reads of one of the canary's features.
    Asking,
}

/// Two neighbouring streams against the sparse learner.
struct Touched {
    recipe: SparseRecipe,
    terms: Terms,
    /// The round, from 1, whose record differs.
    canary: u64,
    /// Whether it has other features in the right world, instead of the other sign.
    elsewhere: bool,
    others: Others,
    reading: Reading,
    interruption: Interruption,
    what: String,
}

/// The recipe over so many releases.
fn recipe(target: &Target) -> Result<SparseRecipe, AuditError> {
    Ok(SparseRequest {
        features: FEATURES,
        bounds: Bounds::new(1.0, (-1.0, 1.0), 1.0)?,
        link: Link::Hinge,
        rounds: target.releases.saturating_add(1),
        budget: target.budget,
        adjacency: target.adjacency,
        rate: Some(RATE),
    }
    .plan()?)
}

/// The same whose weights are the sums, for records that ask: there is a feature for each.
fn asking(target: &Target) -> Result<SparseRecipe, AuditError> {
    let plain = recipe(target)?;
    Ok(SparseRequest {
        features: target.releases as u32,
        bounds: Bounds::new(1.0, (-1.0, 1.0), LONG)?,
        link: Link::Absolute,
        rate: Some(1.0),
        ..plain.request().clone()
    }
    .plan()?)
}

/// First, middle and last record, one that has other features, one among records that touch what
/// was published, one among records that ask; thresholded models; interrupted runs.
pub(super) fn duels(target: &Target) -> Result<LineUp, AuditError> {
    let recipe = recipe(target)?;
    let n = target.releases;
    let plan = recipe.plan();
    let terms = target.terms(plan.charge(), plan.scope(), plan.guarantee(true))?;
    let plain = |canary: u64, interruption: Interruption| Touched {
        recipe: recipe.clone(),
        terms: terms.clone(),
        canary,
        elsewhere: false,
        others: Others::Idle,
        reading: Reading::Dense,
        interruption,
        what: format!("record {canary} of {n}{interruption}"),
    };
    let never = Interruption::Never;
    let mut duels: Vec<Touched> = target
        .places(1)
        .into_iter()
        .map(|place| plain(place, never))
        .collect();
    duels.push(Touched {
        elsewhere: true,
        what: format!("features of record 1 of {n}"),
        ..plain(1, never)
    });
    duels.push(Touched {
        others: Others::Adaptive,
        what: format!("record 1 of {n}, adaptive stream"),
        ..plain(1, never)
    });
    if (2..=ASKING).contains(&n) {
        let recipe = asking(target)?;
        let plan = recipe.plan();
        duels.push(Touched {
            terms: target.terms(plan.charge(), plan.scope(), plan.guarantee(true))?,
            recipe,
            others: Others::Asking,
            what: format!("record 1 of {n}, others ask about it"),
            ..plain(1, never)
        });
    }
    duels.push(Touched {
        reading: Reading::Thresholded,
        what: format!("record 1 of {n}, thresholded models"),
        ..plain(1, never)
    });
    let interrupted = target.interruptions(1).into_iter();
    duels.extend(interrupted.map(|(place, interruption)| plain(place, interruption)));
    Ok((terms, boxed(duels)))
}

impl Touched {
    /// Features and target of round t's record; no features is a gradient of 0.
    fn record(&self, t: u64, world: World, (feature, side): (u32, f64)) -> Record {
        let share = std::f64::consts::FRAC_1_SQRT_2;
        let request = self.recipe.request();
        let (entries, target) = if t == self.canary {
            match (request.adjacency, world) {
                (Adjacency::ZeroOut, World::Left) => {
                    // Malformed: a null record, which touches nothing.
                    return Record {
                        features: Features::Sparse(vec![(request.features, 1.0)]),
                        target: 1.0,
                    };
                }
                (_, World::Right) if self.elsewhere => (vec![(2, share), (3, share)], 1.0),
                _ if self.others == Others::Asking => {
                    let each = f64::from(request.features).sqrt().recip();
                    let all = (0..request.features).map(|feature| (feature, each));
                    (all.collect(), -world.sign())
                }
                _ => (vec![(0, share), (1, share)], -world.sign()),
            }
        } else {
            match self.others {
                Others::Idle => (Vec::new(), 1.0),
                Others::Adaptive => (vec![(feature, 1.0)], -side),
                Others::Asking => (vec![(t as u32 - 1, 1.0)], 0.0),
            }
        };
        Record {
            features: Features::Sparse(entries),
            target,
        }
    }
}

impl Duel for Touched {
    fn name(&self) -> String {
        self.what.clone()
    }

    /// Every coordinate of every sum without what the others added, then the last model read again,
    /// then what came after an interruption.
    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let mut stage = (self.terms).open::<SparsePlayer>(&self.recipe, seed, self.interruption)?;
        let mut known = vec![0.0; self.recipe.request().features as usize];
        let mut next = (2, 1.0);
        let (mut seen, mut again) = (Vec::new(), Vec::new());
        let read = |stage: &mut Stage<SparsePlayer>| -> Result<Vec<f64>, AuditError> {
            let model = stage.run.sparse_model(&mut stage.ledger)?.into_value();
            let weights = match self.reading {
                Reading::Dense => model.dense(),
                Reading::Thresholded => model.thresholded(),
            };
            let rate = self.recipe.rule().rate();
            Ok(weights.iter().map(|weight| -weight / rate).collect())
        };
        for t in 1..=self.recipe.plan().most_releases() {
            stage
                .run
                .learn(None, Raw::seal(self.record(t, world, next)))?;
            if self.others == Others::Adaptive && t != self.canary {
                known[next.0 as usize] += next.1;
            }
            let sums = read(&mut stage)?;
            // Against the largest weight, as an adversary would.
            let largest = (0_u32..)
                .zip(&sums)
                .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()));
            next = largest.map_or(next, |(feature, sum)| {
                (feature, if *sum > 0.0 { 1.0 } else { -1.0 })
            });
            // A thresholded model shows no sums to take anything off.
            let others = known.iter().map(|known| match self.reading {
                Reading::Dense => *known,
                Reading::Thresholded => 0.0,
            });
            seen.extend(sums.iter().zip(others).map(|(sum, others)| sum - others));
            if stage.stops_after(t)? {
                again.extend(read(&mut stage)?);
                self.interruption.check_again(&sums, &again)?;
            }
        }
        seen.extend(read(&mut stage)?);
        seen.append(&mut again);
        Ok(seen)
    }
}
