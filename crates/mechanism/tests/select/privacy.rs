//! The true privacy loss, over all neighbouring sequences on a grid, against the claim; and the
//! planted bugs that must exceed it.

use crate::law::{Bug, grid, hockey_stick, law, loss, sequences};
use hushstream_account::Adjacency;
use hushstream_mechanism::Participation;
use hushstream_mechanism::select::{Board, Exposure};

fn record(adjacency: Adjacency) -> Exposure {
    Exposure::of(adjacency, Participation::OncePerRecord)
}

fn person(adjacency: Adjacency, most: u64) -> Exposure {
    let separation = 1;
    Exposure::of(adjacency, Participation::PerPerson { most, separation })
}

/// Disjoint batches, or the paper's printed ones that share their border (erratum F5).
fn batches(items: &[Vec<f64>], batch: usize, overlap: bool) -> Vec<Vec<f64>> {
    let starts = (0..items.len()).step_by(batch);
    let whole = starts.filter(|start| start + batch + usize::from(overlap) <= items.len());
    whole
        .map(|start| {
            let part = &items[start..start + batch + usize::from(overlap)];
            (0..part[0].len())
                .map(|expert| part.iter().map(|losses| losses[expert]).sum())
                .collect()
        })
        .collect()
}

struct Case {
    board: Board,
    experts: usize,
    items: usize,
    batch: usize,
    overlap: bool,
    bug: Bug,
    values: &'static [f64],
}

impl Case {
    /// The largest ratio, and the largest δ at `epsilon`, over all neighbours.
    fn worst(&self, adjacency: Adjacency, epsilon: f64) -> (f64, f64) {
        let grid = grid(self.values, self.experts);
        let null = vec![vec![0.0; self.experts]];
        let of = |items: &[Vec<f64>]| {
            let items = batches(items, self.batch, self.overlap);
            law(&self.board, &items, self.experts, self.bug)
        };
        let (mut ratio, mut delta) = (0.0_f64, 0.0_f64);
        for items in sequences(&grid, self.items) {
            let there = of(&items);
            for place in 0..self.items {
                let others = match adjacency {
                    Adjacency::ReplaceOne => &grid,
                    Adjacency::ZeroOut => &null,
                };
                for other in others {
                    let mut items = items.clone();
                    items[place].clone_from(other);
                    let here = of(&items);
                    ratio = ratio.max(loss(&there, &here));
                    delta = delta.max(hockey_stick(&there, &here, epsilon));
                    delta = delta.max(hockey_stick(&here, &there, epsilon));
                }
            }
        }
        (ratio, delta)
    }
}

impl Case {
    /// The same over all neighbours that differ in `most` items, those of one person.
    fn worst_of_a_person(&self, adjacency: Adjacency, most: usize, epsilon: f64) -> (f64, f64) {
        let grid = grid(self.values, self.experts);
        let others = match adjacency {
            Adjacency::ReplaceOne => sequences(&grid, most).collect(),
            Adjacency::ZeroOut => vec![vec![vec![0.0; self.experts]; most]],
        };
        let of = |items: &[Vec<f64>]| law(&self.board, items, self.experts, self.bug);
        let (mut ratio, mut delta) = (0.0_f64, 0.0_f64);
        for items in sequences(&grid, self.items) {
            let there = of(&items);
            for place in 0..=self.items - most {
                for other in &others {
                    let mut items = items.clone();
                    items[place..place + most].clone_from_slice(other);
                    let here = of(&items);
                    ratio = ratio.max(loss(&there, &here));
                    delta = delta.max(hockey_stick(&there, &here, epsilon));
                    delta = delta.max(hockey_stick(&here, &there, epsilon));
                }
            }
        }
        (ratio, delta)
    }
}

const BINARY: &[f64] = &[0.0, 1.0];
const THIRDS: &[f64] = &[0.0, 0.3, 1.0];

#[test]
fn the_true_loss_never_exceeds_the_claim() {
    for (rate, forced, resamples, experts, items, batch, values) in [
        (0.3, 0.2, 1, 2, 4, 1, BINARY),
        (0.3, 0.2, 2, 2, 4, 1, BINARY),
        (0.5, 0.45, 3, 2, 4, 1, BINARY),
        (0.2, 0.1, 2, 2, 3, 1, THIRDS),
        (0.4, 0.3, 2, 3, 3, 1, BINARY),
        (0.178, 0.45, 2, 2, 6, 2, BINARY),
        (0.3, 1.0, 3, 2, 3, 1, THIRDS),
        (0.2, 1.0, 2, 2, 4, 2, BINARY),
    ] {
        let case = Case {
            board: Board::new(rate, forced, resamples).unwrap(),
            experts,
            items,
            batch,
            overlap: false,
            bug: Bug::None,
            values,
        };
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            let claim = case.board.pure_epsilon(record(adjacency));
            for delta in [1e-2, 1e-4] {
                let epsilon = case.board.epsilon(record(adjacency), delta).unwrap();
                let (ratio, lost) = case.worst(adjacency, epsilon);
                assert!(ratio <= claim, "{:?} {ratio} {claim}", case.board);
                assert!(lost <= delta, "{:?} {lost} {delta}", case.board);
                // Not by a wide margin: the claim is nearly attained when a draw follows every
                // item.
                assert!(ratio > 0.3 * claim, "{:?} {ratio} {claim}", case.board);
            }
        }
    }
}

/// A person with two loss vectors moves coins twice and every draw by twice the range. The price of
/// one would be exceeded.
#[test]
fn a_person_with_two_losses_never_exceeds_the_claim() {
    let mut exceeded = 0;
    for (rate, forced, resamples, items) in [
        (0.3, 0.2, 1, 3),
        (0.5, 0.45, 3, 4),
        (0.2, 0.1, 2, 4),
        (0.3, 1.0, 4, 4),
    ] {
        let case = Case {
            board: Board::new(rate, forced, resamples).unwrap(),
            experts: 2,
            items,
            batch: 1,
            overlap: false,
            bug: Bug::None,
            values: BINARY,
        };
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            let claim = case.board.pure_epsilon(person(adjacency, 2));
            let alone = case.board.pure_epsilon(record(adjacency));
            for delta in [1e-2, 1e-4] {
                let epsilon = case.board.epsilon(person(adjacency, 2), delta).unwrap();
                let (ratio, lost) = case.worst_of_a_person(adjacency, 2, epsilon);
                assert!(ratio <= claim, "{:?} {ratio} {claim}", case.board);
                assert!(lost <= delta, "{:?} {lost} {delta}", case.board);
                assert!(ratio > 0.3 * claim, "{:?} {ratio} {claim}", case.board);
            }
            let (ratio, lost) = case.worst_of_a_person(adjacency, 2, alone);
            exceeded += u32::from(ratio > 1.02 * alone && lost > 1e-4);
        }
    }
    assert!(exceeded > 0, "the price of one must not do for two");
}

/// An empty record uses up no turn: a person with one turn may be in one item of one world and in
/// another of the other, nulls in its place. Then two coins differ, where a record has one: its price
/// would be exceeded.
#[test]
fn a_turn_that_moves_to_another_item_never_exceeds_the_claim() {
    let mut exceeded = 0;
    for (rate, forced, resamples, items) in [(0.3, 0.05, 1, 3), (0.5, 0.1, 1, 4), (0.3, 0.3, 2, 4)]
    {
        let board = Board::new(rate, forced, resamples).unwrap();
        let grid = grid(BINARY, 2);
        let of = |items: &[Vec<f64>]| law(&board, items, 2, Bug::None);
        let claim = board.pure_epsilon(person(Adjacency::ReplaceOne, 1));
        let alone = board.pure_epsilon(record(Adjacency::ReplaceOne));
        let spent = |delta| {
            board
                .epsilon(person(Adjacency::ReplaceOne, 1), delta)
                .unwrap()
        };
        let mut worst = 0.0_f64;
        for others in sequences(&grid, items) {
            for (from, to) in (0..items).flat_map(|from| (0..items).map(move |to| (from, to))) {
                for said in sequences(&grid, 2) {
                    let at = |place: usize, what: &Vec<f64>| {
                        let mut all = others.clone();
                        (all[from], all[to]) = (vec![0.0; 2], vec![0.0; 2]);
                        all[place].clone_from(what);
                        of(&all)
                    };
                    let (there, here) = (at(from, &said[0]), at(to, &said[1]));
                    worst = worst.max(loss(&there, &here));
                    for delta in [1e-2, 1e-4] {
                        let lost = hockey_stick(&there, &here, spent(delta));
                        assert!(lost <= delta, "{board:?} {lost} {delta}");
                    }
                }
            }
        }
        assert!(worst <= claim, "{board:?} {worst} {claim}");
        exceeded += u32::from(worst > 1.02 * alone);
    }
    assert!(
        exceeded > 0,
        "the price of a record must not do for a person"
    );
}

/// Erratum F5: batches that share their border count one person twice. Two neighbours among 30
/// experts, which differ in the shared item, are enough: the claim is 0.896, disjoint batches stay
/// below it, overlapping ones do not.
#[test]
fn overlapping_batches_are_caught() {
    let board = Board::new(-(0.7_f64.ln()) / 2.0, 0.45, 2).unwrap();
    let claim = board.pure_epsilon(record(Adjacency::ReplaceOne));
    assert!((claim - 0.896).abs() < 1e-3, "{claim}");
    let stream = |good: bool| {
        let mut items = vec![vec![0.0; 30]; 5];
        items[2] = vec![f64::from(u8::from(good)); 30];
        items[2][0] = f64::from(u8::from(!good));
        items
    };
    let true_loss = |overlap| {
        let of = |good| law(&board, &batches(&stream(good), 2, overlap), 30, Bug::None);
        loss(&of(true), &of(false))
    };
    assert!(true_loss(false) <= claim, "{}", true_loss(false));
    assert!(true_loss(true) > 1.1 * claim, "{}", true_loss(true));
}

/// Erratum F1: drawing on when no draws are left.
#[test]
fn draws_beyond_the_last_are_caught() {
    let case = |bug| Case {
        board: Board::new(-(0.6_f64.ln()), 0.3, 1).unwrap(),
        experts: 2,
        items: 5,
        batch: 1,
        overlap: false,
        bug,
        values: BINARY,
    };
    let adjacency = Adjacency::ReplaceOne;
    let claim = case(Bug::None).board.pure_epsilon(record(adjacency));
    assert!(case(Bug::None).worst(adjacency, claim).0 <= claim);
    let (ratio, delta) = case(Bug::DrawsForever).worst(adjacency, claim);
    assert!(ratio > 1.1 * claim && delta > 0.0, "{ratio} {claim}");
}
