//! The deviations that curves and tables state are those of their weights.

use hushstream_learn::{CurvesAndTables, Learner, TableRule};

/// Normal numbers from a seed.
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ self.0 >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        (mixed >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn draw(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().max(1e-300).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn rule(cells: usize) -> TableRule {
    TableRule {
        hats: 4,
        cells,
        tables: cells.min(1),
        scores: 1,
        count_weight: 1.0,
        batch: 50.0,
        step: 0.4,
        spread: 0.5,
        unit: 2.0,
        residual_bound: 0.5,
        cell_length: 0.6,
        curvature: 0.25,
        averaged: true,
        repeats: false,
        offset: None,
        noise: vec![3.0],
    }
}

/// Releases whose sums are one and the same noise: there the stated bound is reached.
#[test]
fn the_bound_is_reached_where_releases_share_their_noise() {
    for cells in [0, 3] {
        let size = 4 + cells;
        let mut normal = Normal(11);
        let (runs, mut squares, mut stated) = (4000, vec![0.0; size], Vec::new());
        for _ in 0..runs {
            let mut learner = CurvesAndTables::new(rule(cells)).unwrap();
            let noise: Vec<f64> = (0..size).map(|_| 3.0 * normal.draw()).collect();
            for t in 1..=6 {
                let counts = (0..size).map(|i| f64::from(t) * 4.0 * (i + 1) as f64);
                let sums = noise.iter().copied().chain(counts);
                learner.observe(&sums.collect::<Vec<_>>()).unwrap();
            }
            for (square, weight) in squares.iter_mut().zip(learner.published()) {
                *square += weight * weight / f64::from(runs);
            }
            stated = learner.deviations().to_vec();
            let shares: f64 = learner.shares().iter().sum();
            assert!((0.9..1.0).contains(&shares)); // the rest is the start at 0
        }
        // A row of the inverse is not quite the same at every release, so the average may have a
        // little less. Four deviations of a deviation from 4,000 draws are 4.5 %.
        for (square, stated) in squares.iter().zip(&stated) {
            let ratio = square.sqrt() / stated;
            assert!((0.90..1.045).contains(&ratio), "{cells}: {ratio}");
        }
    }
}

#[test]
fn deviations_survive_a_restart() {
    let mut learner = CurvesAndTables::new(rule(3)).unwrap();
    let sums: Vec<f64> = (1..=14).map(f64::from).collect();
    learner.observe(&sums).unwrap();
    let mut copy = CurvesAndTables::new(rule(3)).unwrap();
    copy.restore(learner.rounds(), &learner.state()).unwrap();
    learner.observe(&sums).unwrap();
    copy.observe(&sums).unwrap();
    assert_eq!(copy.deviations(), learner.deviations());
    assert!(copy.restore(1, &learner.state()[1..]).is_err());
}

/// The deviation of an offset is what noise makes of it, where it is about 1, about ½, and little.
#[test]
fn offsets_have_the_stated_noise() {
    for rest in [2.0, 5.0, 20.0] {
        let mut normal = Normal(5);
        let (runs, mut sum, mut squares, mut stated) = (4000, 0.0, 0.0, 0.0);
        for _ in 0..runs {
            let rule = TableRule {
                batch: 1000.0,
                residual_bound: 1.0,
                offset: Some(1e9),
                repeats: true,
                noise: vec![0.3],
                ..rule(0)
            };
            let mut learner = CurvesAndTables::new(rule).unwrap();
            // Along the mean −0.8 everywhere, and something at a right angle to it.
            let sums = [rest, rest, -rest, -rest].map(|rest| 400.0 + rest + 0.3 * normal.draw());
            learner.observe(&[sums, [500.0; 4]].concat()).unwrap();
            let offset = learner.iterate()[4];
            (sum, squares) = (sum + offset, squares + offset * offset);
            stated += learner.offset_noise() / f64::from(runs);
        }
        let mean = sum / f64::from(runs);
        let deviation = (squares / f64::from(runs) - mean * mean).sqrt();
        // Four deviations of a deviation from 4,000 draws are 4.5 %; the rest is the second order.
        let ratio = deviation / stated;
        assert!(
            (0.93..1.07).contains(&ratio),
            "{rest}: {ratio} of {stated}, {mean}"
        );
    }
}
