//! Streams of records to try learners with, and how far two of them drive a learner apart.

use hushstream_account::Adjacency;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::perturb::StableLearner;

/// Reproducible dice (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on [−1, 1).
    pub(crate) fn even(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }
}

/// A record that can be copied; `None` is null.
pub(crate) type Row = Option<(Vec<f64>, f64)>;

pub(crate) fn record(row: &(Vec<f64>, f64)) -> Record {
    Record {
        features: Features::Dense(row.0.clone()),
        target: row.1,
    }
}

/// One of many kinds of record: inside its bounds, on them, far outside, along an axis, null,
/// malformed.
pub(crate) fn row(dice: &mut Dice, dimension: usize) -> Row {
    let size = [0.1, 1.0, 3.0, 1e3, 1e-8][dice.below(5) as usize];
    let mut features: Vec<f64> = (0..dimension).map(|_| size * dice.even()).collect();
    match dice.below(8) {
        0 => return None,
        1 => features = vec![f64::NAN; dimension],
        2 | 3 => {
            let axis = dice.below(dimension as u64) as usize;
            features = vec![0.0; dimension];
            features[axis] = 2.0 * size * if dice.below(2) == 0 { 1.0 } else { -1.0 };
        }
        _ => {}
    }
    let target = [1.0, -1.0, 0.3, 7.0][dice.below(4) as usize];
    Some((features, target))
}

/// The largest ‖x_{t+1} − x'_{t+1}‖ divided by `bound(t)`, over all t, for two streams.
pub(crate) fn apart(
    learner: &dyn StableLearner,
    ours: &[Row],
    theirs: &[Row],
    bound: impl Fn(u64) -> f64,
) -> f64 {
    let mut states = [learner.start(), learner.start()];
    let mut worst = 0.0_f64;
    for (t, pair) in (1_u64..).zip(ours.iter().zip(theirs)) {
        for (state, row) in states.iter_mut().zip([pair.0, pair.1]) {
            learner.step(t, state, row.as_ref().map(record).as_ref());
        }
        let distance = distance(learner, t, &states[0], &states[1]);
        if distance > 0.0 {
            worst = worst.max(distance / bound(t));
        }
    }
    worst
}

pub(crate) fn distance(learner: &dyn StableLearner, t: u64, a: &[f64], b: &[f64]) -> f64 {
    let mut points = [0; 2].map(|_| vec![0.0; learner.dimension()]);
    learner.iterate(t, a, &mut points[0]);
    learner.iterate(t, b, &mut points[1]);
    let squares = points[0]
        .iter()
        .zip(&points[1])
        .map(|(a, b)| (a - b).powi(2));
    squares.sum::<f64>().sqrt()
}

/// Random neighbouring streams, then small changes that drive them further apart. The largest ratio
/// found, and how many pairs were tried.
pub(crate) fn search(
    learner: &dyn StableLearner,
    adjacency: Adjacency,
    pairs: u64,
    seed: u64,
) -> f64 {
    let mut dice = Dice(seed);
    let d = learner.dimension();
    let bounds: Vec<f64> = (1..=12)
        .map(|t| learner.sensitivity(t, adjacency))
        .collect();
    let measure = |ours: &[Row], place: usize, other: &Row| {
        let mut theirs = ours.to_vec();
        theirs[place].clone_from(other);
        apart(learner, ours, &theirs, |t| bounds[t as usize - 1])
    };
    let other = |dice: &mut Dice| match adjacency {
        Adjacency::ReplaceOne => row(dice, d),
        Adjacency::ZeroOut => None,
    };
    let (mut worst, mut tried) = (0.0_f64, 0);
    while tried < pairs {
        let length = 1 + dice.below(12) as usize;
        let mut stream: Vec<Row> = (0..length).map(|_| row(&mut dice, d)).collect();
        let place = dice.below(length as u64) as usize;
        let mut instead = other(&mut dice);
        let mut best = measure(&stream, place, &instead);
        for _ in 0..30 {
            let (mut next, mut next_instead) = (stream.clone(), instead.clone());
            let changed = dice.below(length as u64 + 1) as usize;
            let target = if changed < length {
                &mut next[changed]
            } else {
                &mut next_instead
            };
            match target {
                Some((features, _)) if dice.below(3) > 0 => {
                    features
                        .iter_mut()
                        .for_each(|value| *value += 0.5 * dice.even());
                }
                _ if changed < length => *target = row(&mut dice, d),
                _ => *target = other(&mut dice),
            }
            let ratio = measure(&next, place, &next_instead);
            if ratio >= best {
                (stream, instead, best) = (next, next_instead, ratio);
            }
        }
        tried += 31;
        worst = worst.max(best);
    }
    worst
}
