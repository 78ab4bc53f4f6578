use super::*;
use hushstream_noise::{Instance, Key, Source};

const RADIUS: i64 = 1 << 20;
const ARMS: usize = 3;

fn source(seed: u64) -> Source {
    Source::open(
        &Key::insecure_from_seed(seed),
        Instance::from_bytes([1; 16]),
        1,
    )
}

fn context(columns: usize) -> ContextMap {
    ContextMap::linear(vec![Plain::Number; columns], (columns as f64).sqrt()).unwrap()
}

fn evaluation(policies: usize, share: f64) -> Evaluation {
    let frozen = |arm| {
        let (map, p) = (context(2), 3);
        let policy = Policy::new(map, vec![0.0; ARMS * p], ARMS, Rule::Always(arm)).unwrap();
        Judged::Frozen(Box::new(policy))
    };
    Evaluation {
        judged: (0..policies).map(|k| frozen(k % ARMS)).collect(),
        most: 8.0,
        share,
    }
}

fn log(evaluation: Option<Evaluation>) -> DecisionMap {
    let outcomes = Outcomes::Log {
        stated: true,
        most: 8.0,
    };
    DecisionMap::new(context(2), outcomes, ARMS, evaluation).unwrap()
}

/// A row of a log: context, arm and probability, with its reward; or anything else.
fn row(values: &[f64], reward: f64) -> Record {
    let mut values = values.to_vec();
    if values.len() > 1 {
        values.insert(values.len() - 1, reward);
    }
    plain(&values)
}

fn plain(values: &[f64]) -> Record {
    Record {
        features: Features::Dense(values.to_vec()),
        target: 0.0,
    }
}

/// The integers of an item of these records.
fn item(map: &DecisionMap, adjacency: Adjacency, records: &[Record]) -> Vec<i64> {
    let Geometry::Decisions { evaluated, .. } = map.geometry(adjacency) else {
        panic!("decisions");
    };
    let mut form = DecisionForm::new(map, evaluated);
    let mut sums = vec![0; map.dimension()];
    let p = map.context().features();
    let policy = Policy::new(
        map.context().clone(),
        vec![0.0; map.arms() * p],
        map.arms(),
        Rule::Uniform,
    )
    .unwrap();
    for (slot, record) in (0..).zip(records) {
        let coins = source(7);
        let sums = Some(&mut sums[..]);
        form.add(map, &policy, (&coins, slot), record, RADIUS, None, sums);
    }
    form.close(&mut sums, RADIUS);
    sums
}

fn apart(a: &[i64], b: &[i64]) -> f64 {
    let square = |(a, b): (&i64, &i64)| ((a - b) as f64).powi(2);
    a.iter().zip(b).map(square).sum::<f64>().sqrt()
}

/// The distance that the plan pays for.
fn paid(map: &DecisionMap, adjacency: Adjacency) -> f64 {
    let Geometry::Decisions { weight, evaluated } = map.geometry(adjacency) else {
        panic!("decisions");
    };
    distance(weight, evaluated, adjacency) * RADIUS as f64 + (map.dimension() as f64).sqrt()
}

/// A cheap deterministic generator.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Mostly the corners of what a row can be, where distances are largest; sometimes far beyond.
    fn row(&mut self) -> Record {
        let corner = |dice: &mut Self| match (dice.next() * 8.0) as u32 {
            0..3 => 1.0,
            3..6 => -1.0,
            6 => 1e9 * (dice.next() - 0.5),
            _ => 2.0 * dice.next() - 1.0,
        };
        let (x, y, target) = (corner(self), corner(self), corner(self));
        let arm = (self.next() * ARMS as f64).floor();
        let probability = if self.next() < 0.5 {
            0.125
        } else {
            self.next()
        };
        row(&[x, y, arm, probability], target)
    }
}

/// Brute force: one record of an item replaced by any other, or by nothing. No pair of items is
/// further apart than is paid for, and some come within a percent.
#[test]
fn arms_cost_no_sensitivity() {
    for policies in [None, Some(0), Some(2)] {
        let map = log(policies.map(|count| evaluation(count, 0.3)));
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            let limit = paid(&map, adjacency);
            let (mut dice, mut most) = (Dice(1), 0.0_f64);
            for _ in 0..6000 {
                let common = dice.row();
                let (one, other) = (dice.row(), dice.row());
                let left = item(&map, adjacency, &[one, common.duplicate()]);
                let right = match adjacency {
                    Adjacency::ReplaceOne => item(&map, adjacency, &[other, common]),
                    Adjacency::ZeroOut => item(&map, adjacency, &[row(&[], 0.0), common]),
                };
                most = most.max(apart(&left, &right) / limit);
            }
            assert!(most <= 1.0, "{policies:?} {adjacency}: {most}");
            // With evaluations a worst case in all coordinates at once is not a record's.
            let tight = if policies.is_none() { 0.95 } else { 0.75 };
            assert!(most > tight, "{policies:?} {adjacency}: {most}");
        }
    }
}

/// The worst pair of one block: ⟨v, w⟩ = κ²/2 = ¼ of R², opposite rewards.
#[test]
fn the_distance_of_one_block_is_reached() {
    let map = log(None);
    // R² = 3, φ = (x, y, 1): ⟨v, w⟩ = −¼·3 + … with x₁x₂ + y₁y₂ = −¼.
    let one = row(&[1.0, 1.0, 0.0, 1.0], 1.0);
    let limit = paid(&map, Adjacency::ReplaceOne);
    let mut most = 0.0_f64;
    for step in 0..400 {
        let angle = f64::from(step) / 400.0 * std::f64::consts::TAU;
        let length = 2.0_f64.sqrt();
        let (x, y) = (length * angle.cos(), length * angle.sin());
        let other = row(&[x.clamp(-1.0, 1.0), y.clamp(-1.0, 1.0), 0.0, 1.0], -1.0);
        let pair = [one.duplicate(), other].map(|row| item(&map, Adjacency::ReplaceOne, &[row]));
        most = most.max(apart(&pair[0], &pair[1]) / limit);
    }
    assert!((0.95..=1.0).contains(&most), "{most}");
}

/// The evaluation takes the share that it was given.
#[test]
fn an_evaluation_takes_its_share() {
    for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
        let map = log(Some(evaluation(2, 0.05)));
        let Geometry::Decisions { weight, evaluated } = map.geometry(adjacency) else {
            panic!("decisions");
        };
        let (moments, own) = (weight.distance(adjacency), evaluated.distance(adjacency));
        let share = own * own / (moments * moments + own * own);
        assert!((0.0499..=0.05).contains(&share), "{share}");
        assert!(evaluated.is_sound());
    }
}

/// A record's arm, and nobody else's, gets its moments; a missing reward counts as the middle.
#[test]
fn only_the_played_arm_learns() {
    let map = log(None);
    let size = map.moments().dimension();
    let told = item(
        &map,
        Adjacency::ReplaceOne,
        &[row(&[0.5, -0.5, 1.0, 0.5], 1.0)],
    );
    let is_zero = |arm: usize, values: &[i64]| {
        let block = &values[arm * size..(arm + 1) * size];
        block.iter().all(|&value| value == 0)
    };
    assert!(is_zero(0, &told) && !is_zero(1, &told) && is_zero(2, &told));
    let missing = item(
        &map,
        Adjacency::ReplaceOne,
        &[row(&[0.5, -0.5, 1.0, 0.5], f64::NAN)],
    );
    let middle = item(
        &map,
        Adjacency::ReplaceOne,
        &[row(&[0.5, -0.5, 1.0, 0.5], 0.0)],
    );
    assert_eq!(missing, middle);
    assert_ne!(missing, told);
    for bad in [
        row(&[0.5, 1.0, 0.5], 1.0),
        row(&[0.5, -0.5, 3.0, 0.5], 1.0),
        row(&[0.5, -0.5, f64::NAN, 0.5], 1.0),
        row(&[0.5, -0.5, 1.0, 0.0], 1.0),
        row(&[0.5, -0.5, 1.0, f64::NAN], 1.0),
    ] {
        let nothing = item(&map, Adjacency::ReplaceOne, &[bad]);
        assert!(nothing.iter().all(|&value| value == 0));
    }
}

/// Contexts that are longer than the map's length are scaled down to it, and the 1 is not.
#[test]
fn long_contexts_are_scaled() {
    let map = ContextMap::linear(vec![Plain::Number, Plain::Category(2)], 1.0).unwrap();
    let mut features = Vec::new();
    assert!(map.map(&[0.75, 1.0], &mut features));
    let expected = [(0, 0.6), (2, 0.8), (3, 1.0)];
    assert_eq!(features.len(), 3);
    for ((place, value), (wanted, exact)) in features.iter().zip(expected) {
        assert!(
            *place == wanted && (value - exact).abs() < 1e-12,
            "{features:?}"
        );
    }
    assert!(map.map(&[7.0, f64::NAN], &mut features));
    assert_eq!(features, [(0, 1.0), (3, 1.0)]);
}

/// Of a table and a label only the drawn arm's reward is looked at.
#[test]
fn other_arms_rewards_are_not_read() {
    let map = DecisionMap::new(context(2), Outcomes::Table, ARMS, None).unwrap();
    let drawn = draw(&[1.0 / 3.0; 3], 0);
    let mut rewards = [-0.4, -0.2, 0.0];
    let with = |rewards: &[f64]| {
        let values: Vec<f64> = [0.3, 0.4].iter().chain(rewards).copied().collect();
        item(&map, Adjacency::ReplaceOne, &[plain(&values)])
    };
    let before = with(&rewards);
    for (arm, reward) in rewards.iter_mut().enumerate() {
        if arm != drawn {
            *reward = f64::NAN;
        }
    }
    assert_eq!(with(&rewards), before);
    rewards[drawn] = 1e9;
    let clipped = with(&rewards);
    rewards[drawn] = 1.0;
    assert_eq!(with(&rewards), clipped);
    assert_ne!(clipped, before);
}

fn draw(probabilities: &[f64], slot: u64) -> usize {
    super::policy::draw(probabilities, &source(7), slot)
}

/// Inverse gap weighting: the lemma, on all small cases and many others, and its tightness.
#[test]
fn the_regret_of_inverse_gaps_is_as_proved() {
    let mut dice = Dice(5);
    let mut most = f64::NEG_INFINITY;
    for round in 0..20_000 {
        let arms = 2 + round % 4;
        let gamma = 40.0 * dice.next() + 0.1;
        let map = context(1);
        let estimates: Vec<f64> = (0..arms).map(|_| dice.next()).collect();
        let weights = estimates.iter().flat_map(|y| [0.0, y - 0.5]).collect();
        let policy = Policy::new(map, weights, arms, Rule::InverseGap(gamma)).unwrap();
        let p = policy.answer(&[0.0]).unwrap();
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for best in 0..arms {
            // The worst rewards of the proof, and random ones.
            let worst: Vec<f64> = (0..arms)
                .map(|arm| {
                    if arm == best {
                        estimates[arm] + 2.0 * (1.0 - p[arm]) / (gamma * p[arm])
                    } else {
                        estimates[arm] - 2.0 / gamma
                    }
                })
                .collect();
            let random: Vec<f64> = (0..arms).map(|_| dice.next()).collect();
            for f in [worst, random] {
                let term = |arm: usize| {
                    let error = estimates[arm] - f[arm];
                    p[arm] * (f[best] - f[arm] - gamma / 4.0 * error * error)
                };
                let left: f64 = (0..arms).map(term).sum();
                let bound = 2.0 * (arms as f64 - 1.0) / gamma;
                assert!(left <= bound * (1.0 + 1e-9), "{left} {bound}");
                most = most.max(left / bound);
            }
        }
    }
    assert!(most > 0.9, "{most}");
}

/// Draws have the policy's probabilities, one coin a slot.
#[test]
fn arms_are_drawn_as_often_as_they_should_be() {
    let probabilities = [0.05, 0.6, 0.0, 0.35];
    let coins = source(3);
    let mut counts = [0_u32; 4];
    for slot in 0..40_000 {
        counts[super::policy::draw(&probabilities, &coins, slot)] += 1;
    }
    for (count, p) in counts.iter().zip(probabilities) {
        // Six deviations of a binomial: a false alarm in 5·10⁸, and the seed is fixed.
        let sd = (40_000.0 * p * (1.0 - p)).sqrt();
        assert!(
            (f64::from(*count) - 40_000.0 * p).abs() <= 6.0 * sd,
            "{counts:?}"
        );
    }
    let again = super::policy::draw(&probabilities, &coins, 17);
    assert_eq!(again, super::policy::draw(&probabilities, &coins, 17));
}

/// Off-policy estimates without noise: on average what the policy earns, and inside their
/// intervals.
#[test]
fn policies_are_evaluated_without_bias() {
    let (rewards, logging) = ([0.2, 0.9, 0.5], [0.5, 0.2, 0.3]);
    let map = log(Some(evaluation(3, 0.05)));
    let Geometry::Decisions { evaluated, .. } = map.geometry(Adjacency::ReplaceOne) else {
        panic!("decisions");
    };
    let mut records = Vec::new();
    for k in 0..1000 {
        let arm = match k % 10 {
            0..5 => 0,
            5..7 => 1,
            _ => 2,
        };
        let reward = 2.0 * rewards[arm] - 1.0;
        records.push(row(&[0.1, 0.2, arm as f64, logging[arm]], reward));
    }
    let integers = item(&map, Adjacency::ReplaceOne, &records);
    let bound = map.moments().bound();
    let sums: Vec<f64> = integers[map.learned()..]
        .iter()
        .map(|&value| value as f64 * bound / RADIUS as f64)
        .collect();
    let read = map.evaluation().unwrap();
    let (mean, judged) = read
        .read(&sums, (evaluated.unit(bound), 0.0), 1000)
        .unwrap();
    assert!(
        (mean.value - (0.5 * 0.2 + 0.2 * 0.9 + 0.3 * 0.5)).abs() < 1e-4,
        "{mean:?}"
    );
    for (arm, [ips, snips]) in judged.iter().enumerate() {
        assert!((ips.value - rewards[arm]).abs() < 1e-3, "{ips:?}");
        assert!((snips.value - rewards[arm]).abs() < 1e-3, "{snips:?}");
        assert!(ips.deviation > 0.0 && snips.deviation > 0.0);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let map = || context(2);
    assert!(ContextMap::linear(vec![], 1.0).is_err());
    assert!(ContextMap::linear(vec![Plain::Category(0)], 1.0).is_err());
    assert!(ContextMap::linear(vec![Plain::Number], f64::NAN).is_err());
    assert!(DecisionMap::new(map(), Outcomes::Labels, 1, None).is_err());
    let odd = Outcomes::Log {
        stated: true,
        most: 0.5,
    };
    assert!(DecisionMap::new(map(), odd, 2, None).is_err());
    let weights = || vec![0.0; 6];
    assert!(Policy::new(map(), weights(), 2, Rule::InverseGap(f64::NAN)).is_err());
    assert!(Policy::new(map(), weights(), 2, Rule::Always(2)).is_err());
    assert!(Policy::new(map(), vec![0.0; 5], 2, Rule::Uniform).is_err());
}
