//! Decisions: second moments in the block of an arm, and an evaluation beside them.
//!
//! Two records of one arm whose features meet at ⟨v, w⟩ = κ²/2 of R², with opposite rewards, are as
//! far apart as two can be; under zero-out any record of full length is. Records of two arms are √2
//! radii apart, of the δ that are paid for. In an evaluation the largest weight, 1, and the least,
//! 1/M, come within 1/M of all that is paid.

use crate::adapter::{
    Entry, Own, Play, Pull, RELEASES, Seen, Stop, all_sums, amount, budget, filter, neighbours_in,
    paid,
};
use crate::share_of_price;
use crate::shelf::Shelf;
use crate::sums::Rows;
use crate::tables::{Sum, replayed};
use hushstream_account::Adjacency;
use hushstream_learn::Learner;
use hushstream_mechanism::decisions::{ContextMap, Judged, Outcomes, Plain, Policy, Rule};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{Geometry, Noise, SumKind};
use hushstream_mechanism::{Grant, Ledger, Participation, Raw};
use hushstream_noise::{Instance, Key, Source};
use hushstream_recipes::{
    Column, DecisionsRecipe, DecisionsRequest, DecisionsRun, Judging, RecipeError, RecipeName,
    Release,
};

const ARMS: usize = 3;
/// M.
const MOST: f64 = 1000.0;

/// `igw` on a sum, from a log.
struct OnDecisions {
    recipe: DecisionsRecipe,
    rows: Rows,
    /// Whether the two records of a pair have different arms.
    apart: bool,
}

impl OnDecisions {
    fn plan(
        (sum, noise): (SumKind, Noise),
        adjacency: Adjacency,
        (persons, batch): (u64, u64),
        share: f64,
        apart: bool,
    ) -> Result<Self, RecipeError> {
        let always = |arm| {
            let map = ContextMap::linear(vec![Plain::Number; 2], 1.0)?;
            Policy::new(map, vec![0.0; ARMS * 3], ARMS, Rule::Always(arm))
        };
        let evaluation = (share > 0.0).then_some(Judging {
            judged: vec![Judged::Frozen(Box::new(always(0).unwrap()))],
            most: None,
            share,
        });
        let recipe = DecisionsRequest {
            recipe: RecipeName::Igw,
            columns: vec![Column::Number { zero: 0.0 }; 2],
            arms: ARMS,
            outcomes: Outcomes::Log {
                stated: true,
                most: MOST,
            },
            rounds: RELEASES * batch,
            horizon_unknown: sum.needs_no_horizon(),
            budget: budget(noise.is_pure()),
            adjacency,
            participation: match persons {
                1 => Participation::OncePerRecord,
                most => Participation::PerPerson {
                    most,
                    separation: 1,
                },
            },
            sum: Some(sum),
            noise: Some(noise),
            batch: Some(batch),
            knots: Some(0),
            length: Some(1.0),
            ridge: None,
            exploration: None,
            evaluation,
            first_arm: false,
        }
        .plan()?;
        Ok(Self {
            rows: Rows::of(recipe.plan()),
            recipe,
            apart,
        })
    }

    fn record(&self, pull: Pull) -> Record {
        let turned = 3.0_f64.sqrt() / 2.0;
        // Context, arm, reward, probability.
        let values = match pull {
            Pull::Low => vec![1.0, 0.0, 0.0, -1.0, 1.0],
            Pull::High => {
                let arm = if self.apart { 1.0 } else { 0.0 };
                vec![-0.5, turned, arm, 1.0, 1.0 / MOST]
            }
            Pull::Huge => vec![1e9, -1e9, 2.0, 1e300, 1e-9],
            Pull::Other(k) => {
                let x = (k as f64).sin();
                vec![x, 0.3 - x, (k % 3) as f64, (k % 5) as f64 / 4.0, 0.4]
            }
            Pull::Null => Vec::new(),
        };
        Record {
            features: Features::Dense(values),
            target: 0.0,
        }
    }

    /// The share of the price that the two records of a pair move, derived from what they are.
    fn reach(&self) -> f64 {
        let request = self.recipe.plan().request();
        let Geometry::Decisions { weight, .. } = request.geometry else {
            panic!("decisions");
        };
        let evaluation = self.recipe.map().evaluation();
        let share = evaluation.map_or(0.0, |evaluation| evaluation.share);
        let (moments, evaluated) = match request.adjacency {
            Adjacency::ZeroOut => (1.0, 1.0),
            Adjacency::ReplaceOne => {
                let delta = weight.distance(Adjacency::ReplaceOne);
                let moments = if self.apart {
                    2.0 / (delta * delta)
                } else {
                    1.0
                };
                // In S: y by 2, w·y from −1/M to 1, w from 2/M to 2; of 4 + 5.
                let (sum, gap) = (1.0 + 1.0 / MOST, 1.0 - 1.0 / MOST);
                (moments, (4.0 + sum * sum + 4.0 * gap * gap) / 9.0)
            }
        };
        ((1.0 - share) * moments + share * evaluated).sqrt()
    }

    fn paid(&self) -> (Ledger, Grant, Shelf) {
        let plan = self.recipe.plan();
        let noise = filter(plan.request().noise);
        paid(1, noise, plan.charge().unwrap(), plan.scope())
    }

    fn policy(&self, question: &[f64]) -> Policy {
        let (map, arms) = (self.recipe.map().context().clone(), ARMS);
        let (weights, gamma) = question.split_at(question.len() - 1);
        Policy::new(map, weights.to_vec(), arms, Rule::InverseGap(gamma[0])).unwrap()
    }
}

fn shown(policy: &Policy) -> Vec<f64> {
    let Rule::InverseGap(gamma) = policy.rule() else {
        panic!("igw");
    };
    let weights = policy.weights().iter().copied();
    weights.chain([*gamma]).collect()
}

impl Play for OnDecisions {
    fn name(&self) -> String {
        let request = self.recipe.plan().request();
        format!(
            "igw on {}, {}, {:?}, {:?}, batch {}, evaluation {:?}",
            request.kind,
            request.noise,
            request.adjacency,
            request.participation,
            request.batch,
            self.recipe.evaluated(),
        )
    }

    fn price(&self) -> f64 {
        amount(self.recipe.plan().charge().unwrap())
    }

    fn streams(&self) -> Vec<[Vec<Entry>; 2]> {
        neighbours_in(self.recipe.plan(), &self.rows, &[8])
    }

    fn play(&self, stream: &[Entry], path: Option<&Seen>, key: &Key, stop: Stop) -> Seen {
        let Some(path) = path else {
            let (mut ledger, grant, _) = self.paid();
            let shelf = Shelf::default();
            let recipe = || self.recipe.clone();
            let run = DecisionsRun::open(recipe(), grant, key, &mut ledger, shelf.clone());
            // The policy that a record meets is the last one that was published.
            let last = std::cell::RefCell::new(vec![0.0; ARMS * 3 + 1]);
            last.borrow_mut()[ARMS * 3] = self.recipe.gamma(0);
            let own = Own {
                ask: &|_: &DecisionsRun| last.borrow().clone(),
                learn: &|run, entry| {
                    run.learn(entry.person, Raw::seal(self.record(entry.pull)))
                        .unwrap();
                },
                sync: &|run, ledger| {
                    let released = run.sync(ledger).unwrap().into_iter();
                    let shown = |release: Release| shown(&release.policy);
                    let all: Vec<_> = released.map(|one| shown(one.into_value())).collect();
                    if let Some(newest) = all.last() {
                        last.borrow_mut().clone_from(newest);
                    }
                    all
                },
                resume: &|ledger| {
                    let back = DecisionsRun::resume(recipe(), shelf.clone(), key, ledger, None);
                    back.unwrap().0
                },
            };
            return own.play(run.unwrap(), &mut ledger, stream, stop);
        };
        let plan = self.recipe.plan();
        // A log draws nothing: these coins are never read.
        let coins = Source::open(key, Instance::from_bytes([9; 16]), 1 << 61);
        let mut learner = self.recipe.learner().unwrap();
        let map = self.recipe.map();
        let ask = |sum: &mut Sum, entry: Entry, number: usize| {
            let policy = self.policy(&path.questions[number]);
            let record = Raw::seal(self.record(entry.pull));
            sum.add_decision(entry.person, map, &policy, &coins, record, None)
        };
        let publish = &mut |value: &[f64]| {
            learner.observe(&value[..map.learned()]).unwrap();
            let mut shown = learner.iterate().to_vec();
            shown.push(self.recipe.gamma(learner.rounds()));
            shown
        };
        replayed(
            (plan, self.paid()),
            (stream, path),
            (key, stop),
            &ask,
            publish,
        )
    }

    fn moved(&self, left: &Seen, right: &Seen) -> f64 {
        self.rows.moved(&right.minus(left))
    }
}

/// On every sum, with every noise and adjacency, persons and batches, with an evaluation and
/// without: what a record moves is no more than what was paid, and where it can be, all of it.
#[test]
fn one_record_moves_no_arm_by_more_than_was_paid() {
    let mut audited = 0;
    for sum in all_sums() {
        for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
            let fits = RecipeName::Igw.accepts(sum, noise).is_ok();
            for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
                for (persons, batch) in [(1, 1), (1, 4), (3, 1)] {
                    for (share, apart) in [(0.0, false), (0.0, true), (0.05, false)] {
                        let cell = (sum, noise);
                        let plan = (persons, batch);
                        let cell = OnDecisions::plan(cell, adjacency, plan, share, apart);
                        let Ok(cell) = cell else {
                            assert!(
                                !fits || sum == SumKind::Eras && persons > 1,
                                "{sum} {noise}"
                            );
                            continue;
                        };
                        assert!(fits, "{} is not refused", cell.name());
                        let moved = share_of_price(&cell);
                        // Where a person's items move most, each by all that its pair can.
                        let (_, most) = cell.rows.worst_items(cell.recipe.plan());
                        let plan = cell.recipe.plan();
                        let least = 0.99 * most * cell.reach() * plan.share_of_one_item();
                        assert!(moved >= least, "{}: only {moved}", cell.name());
                        audited += 1;
                    }
                }
            }
        }
    }
    assert!(audited > 150, "{audited}");
}

/// Every slot has a coin of its own, no coin is a noise, and a run that was stopped tosses the same
/// ones again for the same slots.
#[test]
fn every_decision_has_a_coin_of_its_own() {
    let cell = (
        (SumKind::Tree, Noise::Gaussian),
        Adjacency::ReplaceOne,
        (1, 4),
    );
    let cell = OnDecisions::plan(cell.0, cell.1, cell.2, 0.0, false).unwrap();
    let mut request = cell.recipe.request().clone();
    request.outcomes = Outcomes::Labels;
    let recipe = request.plan().unwrap();
    let (key, recorder) = Key::insecure_recorded(5);
    let (mut ledger, grant, _) = cell.paid();
    let shelf = Shelf::default();
    let mut run =
        DecisionsRun::open(recipe.clone(), grant, &key, &mut ledger, shelf.clone()).unwrap();
    let record = |k: u64| {
        Raw::seal(Record {
            features: Features::Dense(vec![(k as f64).sin(), 0.2, (k % 3) as f64]),
            target: 0.0,
        })
    };
    let _ = recorder.take();
    let mut coins = Vec::new();
    let mut noises = Vec::new();
    for k in 0..24 {
        run.learn(None, record(k)).unwrap();
        let (coin, noise): (Vec<_>, Vec<_>) = recorder
            .take()
            .into_iter()
            .partition(|read| read.mechanism >= 1 << 62);
        assert_eq!(coin.len(), 1, "one coin a decision");
        coins.extend(coin);
        noises.extend(noise);
    }
    run.sync(&mut ledger).unwrap();
    let all: std::collections::HashSet<_> = coins.iter().collect();
    assert_eq!(all.len(), 24, "no coin twice");
    assert!(noises.iter().all(|noise| !all.contains(noise)));
    // Half a batch is lost with the process; its slots come again, with their coins.
    run.learn(None, record(24)).unwrap();
    let lost = recorder.take();
    drop(run);
    let (mut run, _) = DecisionsRun::resume(recipe, shelf, &key, &mut ledger, None).unwrap();
    let _ = recorder.take();
    run.learn(None, record(24)).unwrap();
    assert_eq!(recorder.take(), lost);
}
