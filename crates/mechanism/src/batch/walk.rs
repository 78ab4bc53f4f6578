//! The state of a solver, and its step on one record.
//!
//! Epoch m holds records 2ᵐ … 2ᵐ⁺¹ − 1, n = 2ᵐ of them. Phase i = 1 … m takes ⌊n/2ⁱ⌋ fresh records,
//! one step each, from the projected noisy end of the phase before. Its result is the average of
//! its iterates, which is released only with noise. The one remaining record is not used. An epoch
//! of one record changes nothing.

use super::plan::{BatchError, SolverPlan};
use crate::sums::Draws;
use hushstream_sets::ConvexSet;
use serde::{Deserialize, Serialize};

/// The state. Private, except for `current`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Walk {
    pub(crate) records: u64,
    phase: u32,
    in_phase: u64,
    /// Where the phase began: public or noisy, and inside the set.
    start: Vec<f64>,
    /// The iterate.
    pub(crate) at: Vec<f64>,
    /// Σ(iterate − start) over the phase.
    moved: Vec<f64>,
    /// The last released point.
    pub(crate) current: Vec<f64>,
}

impl Walk {
    pub(crate) fn begin(set: &dyn ConvexSet) -> Result<Self, BatchError> {
        let mut centre = vec![0.0; set.dimension()];
        set.centre(&mut centre)?;
        Ok(Self {
            records: 0,
            phase: 1,
            in_phase: 0,
            start: centre.clone(),
            at: centre.clone(),
            moved: vec![0.0; set.dimension()],
            current: centre,
        })
    }

    /// Whether a stored walk fits.
    pub(crate) fn fits(&self, dimension: usize) -> bool {
        let all = [&self.start, &self.at, &self.moved, &self.current];
        all.iter()
            .all(|vector| vector.len() == dimension && vector.iter().all(|value| value.is_finite()))
    }

    /// n and the number of the next record within its epoch.
    fn epoch(&self) -> (u64, u64) {
        let number = self.records + 1;
        let size = 1 << number.ilog2();
        (size, number - size)
    }

    /// The size of the step of the next record; none for the last of an epoch.
    pub(crate) fn next_step(&self, plan: &SolverPlan) -> Option<f64> {
        let (size, place) = self.epoch();
        (place + 1 < size).then(|| plan.step_size(size, self.phase))
    }

    /// Takes one step along a gradient at [`Walk::at`], or none; returns whether an epoch is
    /// complete.
    pub(crate) fn step(
        &mut self,
        gradient: Option<&[f64]>,
        plan: &SolverPlan,
        set: &dyn ConvexSet,
        draws: &mut Draws,
    ) -> Result<bool, BatchError> {
        let (size, place) = self.epoch();
        self.records += 1;
        let last = place + 1 == size;
        if !last {
            let step = plan.step_size(size, self.phase);
            self.descend(gradient, plan.offset, step, set)?;
            self.in_phase += 1;
            if self.in_phase == size >> self.phase {
                self.finish_phase(size, plan, set, draws)?;
            }
        }
        if last {
            self.current.clone_from(&self.start);
            self.phase = 1;
        }
        Ok(last)
    }

    /// A null has no gradient but the public part.
    fn descend(
        &mut self,
        gradient: Option<&[f64]>,
        offset: f64,
        step: f64,
        set: &dyn ConvexSet,
    ) -> Result<(), BatchError> {
        if gradient.is_some() || offset.abs() > 0.0 {
            for (i, at) in self.at.iter_mut().enumerate() {
                let slope = gradient.map_or(0.0, |gradient| gradient[i]);
                *at -= step * (slope + offset);
            }
            set.project(&mut self.at)?;
        }
        for ((moved, at), start) in self.moved.iter_mut().zip(&self.at).zip(&self.start) {
            *moved += at - start;
        }
        Ok(())
    }

    /// The average's distance from the phase's start, before noise.
    pub(crate) fn average(&self) -> Vec<f64> {
        let count = self.in_phase as f64;
        self.moved.iter().map(|moved| moved / count).collect()
    }

    fn finish_phase(
        &mut self,
        size: u64,
        plan: &SolverPlan,
        set: &dyn ConvexSet,
        draws: &mut Draws,
    ) -> Result<(), BatchError> {
        const MOST: f64 = (1_u64 << 60) as f64;
        let unit = plan.unit(size, self.phase);
        // One address per phase: epochs are numbered by the logarithm of their size.
        let node = u64::from(size.ilog2()) << 8 | u64::from(self.phase);
        let average = self.average();
        let noise = draws.node(node);
        for ((start, moved), noise) in self.start.iter_mut().zip(average).zip(noise) {
            let lattice = (moved / unit).round().clamp(-MOST, MOST) as i64;
            *start += unit * (lattice + noise) as f64;
        }
        set.project(&mut self.start)?;
        self.at.clone_from(&self.start);
        self.moved.fill(0.0);
        self.in_phase = 0;
        self.phase += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::SolverRequest;
    use super::super::steps::Solver;
    use super::*;
    use crate::lattice::Contribution;
    use crate::losses::{Bounds, Features, LinearModel, Link, Loss, Record};
    use crate::sums::Noise;
    use hushstream_account::{Adjacency, Budget, Charge};
    use hushstream_noise::{Instance, Key, L2Laplace, RoundedGaussian, Source};
    use hushstream_sets::{Ball, BoxSet};
    use std::sync::Arc;

    fn source() -> Source {
        Source::open(
            &Key::insecure_from_seed(1),
            Instance::from_bytes([0; 16]),
            1,
        )
    }

    fn draws() -> Draws {
        Draws::new(Noise::Gaussian, 2, source()).unwrap()
    }

    /// Slopes of at most ½, which targets far from the score attain.
    fn model() -> LinearModel {
        let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
        LinearModel::new(2, Link::Huber(0.5), bounds).unwrap()
    }

    fn plan(loss: &LinearModel, set: &Ball, epsilon: f64) -> SolverPlan {
        within(loss, set, Budget::approx(epsilon, 1e-6).unwrap())
    }

    fn within(loss: &LinearModel, set: &Ball, budget: Budget) -> SolverPlan {
        let set: Arc<dyn ConvexSet> = Arc::new(set.clone());
        SolverRequest {
            loss,
            set: &set,
            adjacency: Adjacency::ReplaceOne,
            participation: crate::Participation::OncePerRecord,
            budget,
        }
        .plan()
        .unwrap()
    }

    fn gradient(loss: &LinearModel, record: &([f64; 2], f64), at: &[f64]) -> Vec<f64> {
        let record = Record {
            features: Features::Dense(record.0.to_vec()),
            target: record.1,
        };
        match loss.gradient(record, at) {
            Contribution::Dense(values) => values,
            _ => vec![0.0; 2],
        }
    }

    fn distance(a: &[f64], b: &[f64]) -> f64 {
        let squares = a.iter().zip(b).map(|(a, b)| (a - b).powi(2));
        squares.sum::<f64>().sqrt()
    }

    fn records(seed: u64, count: usize) -> Vec<([f64; 2], f64)> {
        let mut state = seed;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 40) as f64 / (1_u64 << 23) as f64 - 1.0
        };
        (0..count)
            .map(|_| ([next(), next()], 2.0 * next()))
            .collect()
    }

    /// Two neighbouring epochs of 16 through the real walk: within its first phase the averages are
    /// within the sensitivity, and attain it when the first record changes.
    #[test]
    fn one_record_moves_a_phase_by_at_most_its_sensitivity() {
        let (loss, set) = (model(), Ball::new(2, 1.0).unwrap());
        let plan = plan(&loss, &set, 1.0);
        let limit = plan.sensitivity(16, 1);
        let run = |stream: &[([f64; 2], f64)]| {
            let mut walk = Walk::begin(&set).unwrap();
            walk.records = 15; // the epoch of 16
            for record in stream {
                let slope = gradient(&loss, record, &walk.at);
                walk.step(Some(&slope), &plan, &set, &mut draws()).unwrap();
            }
            walk.average()
        };
        let mut most = 0.0_f64;
        for seed in 0..40 {
            for place in 0..7 {
                let mut stream = records(seed, 7);
                if seed == 0 {
                    stream = vec![([0.0, 0.0], 0.0); 7];
                }
                let mut averages = vec![run(&stream)];
                for target in [9.0, -9.0] {
                    stream[place] = ([5.0, 0.0], target);
                    averages.push(run(&stream));
                }
                for here in &averages {
                    for there in &averages {
                        assert!(distance(here, there) <= limit);
                        most = most.max(distance(here, there) / limit);
                    }
                }
            }
        }
        assert!(most > 0.999, "{most}");
    }

    /// Phase by phase, from records that say nothing: what is added is the whole noise of the
    /// phase's own address, at the scale that makes one record's distance, κLη in exact arithmetic,
    /// cost no more than μ.
    #[test]
    fn the_noise_of_every_phase_has_the_scale_that_is_charged() {
        let (loss, set) = (model(), Ball::new(2, 1.0).unwrap());
        // So much budget that no noise reaches the border, where projection would hide it.
        let gaussian = plan(&loss, &set, 20.0);
        let Charge::Gaussian(mu) = gaussian.charge().unwrap().charge else {
            panic!("Gaussian noise has a Gaussian price");
        };
        let pure = within(&loss, &set, Budget::pure(60.0).unwrap());
        let Charge::Pure(epsilon) = pure.charge().unwrap().charge else {
            panic!("pure noise has a pure price");
        };
        assert!(epsilon.get() <= 60.0);
        // Mean square lengths of noises of scale 1: d, and d(d + 1).
        phases_have_scale(&gaussian, &set, mu.get(), 2.0);
        phases_have_scale(&pure, &set, epsilon.get(), 6.0);
    }

    fn phases_have_scale(plan: &SolverPlan, set: &Ball, cost: f64, square: f64) {
        let mut draws = Draws::new(plan.noise(), 2, source()).unwrap();
        for size in [16_u64, 64, 256] {
            let mut walk = Walk::begin(set).unwrap();
            walk.records = size - 1;
            for phase in 1..=size.ilog2() {
                let start = walk.start.clone();
                for _ in 0..size >> phase {
                    walk.step(None, plan, set, &mut draws).unwrap();
                }
                let node = u64::from(size.ilog2()) << 8 | u64::from(phase);
                let mut noise = [0; 2];
                match plan.noise() {
                    Noise::Gaussian => {
                        RoundedGaussian::STANDARD.fill(&source(), node, 0, &mut noise);
                    }
                    _ => L2Laplace::new(2, 1 << 30)
                        .unwrap()
                        .fill(&source(), node, 0, &mut noise),
                }
                // (D/L)·min(1/√n, μ/√d)/4ⁱ, and two gradients of length L = ½ that point apart.
                let rate = (1.0 / (size as f64).sqrt()).min(cost / square.sqrt());
                let moves = 2.0 * 0.5 * (2.0 / 0.5 * rate / 4_f64.powi(phase as i32));
                for ((at, start), noise) in walk.start.iter().zip(&start).zip(noise) {
                    let deviation = (at - start) / noise as f64 * 2_f64.powi(30);
                    let ratio = deviation * cost / moves;
                    assert!((1.0..1.0 + 1e-6).contains(&ratio), "{size} {phase} {ratio}");
                }
            }
        }
    }

    /// A phase ends where its average is, plus its noise: with one gradient g throughout, ηg(n +
    /// 1)/2 from its start.
    #[test]
    fn a_phase_ends_at_its_noisy_average() {
        let (loss, set) = (model(), Ball::new(2, 1.0).unwrap());
        let plan = plan(&loss, &set, 20.0);
        let (size, slope) = (64_u64, [0.003, -0.002]);
        let mut walk = Walk::begin(&set).unwrap();
        walk.records = size - 1;
        for phase in 1..=size.ilog2() {
            let start = walk.start.clone();
            let steps = size >> phase;
            for _ in 0..steps {
                walk.step(Some(&slope), &plan, &set, &mut draws()).unwrap();
            }
            let mut noise = [0; 2];
            let node = u64::from(size.ilog2()) << 8 | u64::from(phase);
            RoundedGaussian::STANDARD.fill(&source(), node, 0, &mut noise);
            let unit = plan.unit(size, phase);
            let far = plan.step_size(size, phase) * (steps as f64 + 1.0) / 2.0;
            for i in 0..2 {
                let expected = start[i] - far * slope[i] + unit * noise[i] as f64;
                assert!((walk.start[i] - expected).abs() < 2.0 * unit, "{phase}");
            }
        }
    }

    /// With noise much larger than the set, phases still begin inside it, and so does what is
    /// released.
    #[test]
    fn every_start_is_inside() {
        let (loss, set) = (model(), Ball::new(2, 1.0).unwrap());
        let plan = plan(&loss, &set, 1e-3);
        let mut walk = Walk::begin(&set).unwrap();
        let mut moved = false;
        for record in records(3, 127) {
            let slope = gradient(&loss, &record, &walk.at);
            walk.step(Some(&slope), &plan, &set, &mut draws()).unwrap();
            for point in [&walk.start, &walk.at, &walk.current] {
                assert!(set.contains(point, 1e-9), "{point:?}");
            }
            moved |= walk.current.iter().any(|value| value.abs() > 0.1);
        }
        assert!(moved, "noise of this size must be seen");
    }

    /// The average of a descent without noise; the planted bugs are a `clip` of gradients instead
    /// of data, and a `start` outside the set.
    fn planted(
        loss: &LinearModel,
        set: &dyn ConvexSet,
        start: &[f64],
        stream: &[(Vec<f64>, f64)],
        step: f64,
        clip: f64,
    ) -> Vec<f64> {
        let mut at = start.to_vec();
        let mut mean = vec![0.0; at.len()];
        for (features, target) in stream {
            let record = Record {
                features: Features::Dense(features.clone()),
                target: *target,
            };
            let Contribution::Dense(slope) = loss.gradient(record, &at) else {
                panic!("dense features have dense gradients");
            };
            let length = distance(&slope, &vec![0.0; slope.len()]);
            for (at, slope) in at.iter_mut().zip(slope) {
                *at -= step * slope * (clip / length.max(1e-300)).min(1.0);
            }
            set.project(&mut at).unwrap();
            for (mean, at) in mean.iter_mut().zip(&at) {
                *mean += at / stream.len() as f64;
            }
        }
        mean
    }

    /// Gradients clipped to L where data should be: curvature is then unbounded, steps overshoot,
    /// and a difference of 10⁻⁴ in each of four coordinates becomes one of 2Lη in each, twice the
    /// sensitivity in all. With clipped data the same records stay far below it.
    #[test]
    fn clipped_gradients_are_caught() {
        let set = Ball::new(4, 1.0).unwrap();
        let (step, clip) = (0.05, 2.0);
        let limit = 2.0 * clip * step;
        let moved = |features: f64| {
            let bounds = Bounds::new(features, (-1.0, 1.0), 1.0).unwrap();
            let loss = LinearModel::new(4, Link::Squared, bounds).unwrap();
            let run = |target: f64| {
                let mut stream = vec![(vec![0.0; 4], 0.0); 400];
                stream[0] = (vec![0.5; 4], target);
                for axis in 0..4 {
                    stream[axis + 1].0[axis] = 1e6;
                }
                planted(&loss, &set, &[0.0; 4], &stream, step, clip)
            };
            distance(&run(1e-2), &run(-1e-2))
        };
        assert!(moved(1.0) < 0.01 * limit, "{}", moved(1.0));
        assert!(moved(1e7) > 1.9 * limit, "{}", moved(1e7));
    }

    /// On |⟨w, x⟩ − y| gradient steps cross its corner: a difference of 10⁻³ of a step in each of
    /// four coordinates becomes one of nearly 2Lη in each, twice the sensitivity in all. Implicit
    /// steps on the same records end in the corner, and stay within it.
    #[test]
    fn gradient_steps_over_corners_are_caught() {
        let ball = Ball::new(4, 1.0).unwrap();
        let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
        let loss = LinearModel::new(4, Link::Absolute, bounds).unwrap();
        let plan = plan(&loss, &ball, 1.0);
        let set: Arc<dyn ConvexSet> = Arc::new(ball.clone());
        let loss: Arc<dyn Loss> = Arc::new(loss);
        let solver = Solver::of(loss.as_ref(), &set).unwrap();
        let direction = solver.steps().direction(loss.clone(), &set).unwrap();
        let implicit = |size, at: &[f64], record| match direction(Some(size), at, record) {
            Contribution::Dense(slope) => slope,
            _ => panic!("a gradient is dense"),
        };
        let (size, phase) = (16, 1);
        let limit = plan.sensitivity(size, phase);
        let ideal = 2.0 * loss.lipschitz() * plan.step_size(size, phase);
        assert!(
            limit >= ideal && limit < ideal * (1.0 + 1e-6),
            "{limit} {ideal}"
        );
        let run = |target: f64, is_implicit: bool| {
            let mut walk = Walk::begin(set.as_ref()).unwrap();
            walk.records = size - 1;
            let canary = (vec![5e-4; 4], target);
            let axis = |axis: usize| {
                let mut features = vec![0.0; 4];
                features[axis] = 1.0;
                (features, 0.0)
            };
            for (features, target) in [canary, axis(0), axis(1), axis(2), axis(3)] {
                let record = || Record {
                    features: Features::Dense(features.clone()),
                    target,
                };
                let slope = if is_implicit {
                    let step = walk.next_step(&plan).unwrap();
                    implicit(step, &walk.at, record())
                } else {
                    match loss.gradient(record(), &walk.at) {
                        Contribution::Dense(slope) => slope,
                        _ => panic!("a gradient is dense"),
                    }
                };
                walk.step(Some(&slope), &plan, set.as_ref(), &mut draws())
                    .unwrap();
            }
            walk.at
        };
        let moved = |is_implicit| distance(&run(1.0, is_implicit), &run(-1.0, is_implicit));
        assert!(moved(true) < 0.01 * limit, "{}", moved(true));
        assert!(moved(false) > 1.9 * limit, "{}", moved(false));
        // The canary alone moves as far as is paid for.
        let far = |target: f64| {
            let mut walk = Walk::begin(set.as_ref()).unwrap();
            walk.records = size - 1;
            let record = Record {
                features: Features::Dense(vec![0.5; 4]),
                target,
            };
            let step = walk.next_step(&plan).unwrap();
            let slope = implicit(step, &walk.at, record);
            walk.step(Some(&slope), &plan, set.as_ref(), &mut draws())
                .unwrap();
            walk.at
        };
        let share = distance(&far(1.0), &far(-1.0)) / limit;
        assert!((0.999..=1.0).contains(&share), "{share}");
    }

    /// A start that was not projected: slopes there exceed L, and in a box one coordinate's
    /// distance drives the other.
    #[test]
    fn an_unprojected_start_is_caught() {
        let set = BoxSet::cube(2, 1.0).unwrap();
        let bounds = Bounds::new(1.0, (-1.0, 1.0), set.largest_norm()).unwrap();
        let loss = LinearModel::new(2, Link::Squared, bounds).unwrap();
        let step = 0.05;
        let limit = 2.0 * loss.lipschitz() * step;
        let moved = |start: &[f64]| {
            let run = |second: f64| {
                let stream = [(vec![1.0, second], 0.0)];
                planted(&loss, &set, start, &stream, step, f64::INFINITY)
            };
            distance(&run(1.0), &run(-1.0))
        };
        let far = [40.0, 0.0];
        let mut near = far;
        set.project(&mut near).unwrap();
        assert!(moved(&near) <= limit, "{}", moved(&near));
        assert!(moved(&far) > 5.0 * limit, "{}", moved(&far));
    }
}
