//! The batches of AFKT22 §3.1.1 as printed, Σ from Bt to B(t+1): a record at the border is in two
//! of them (erratum F5).

use crate::duel::{Duel, World};
use crate::learners::Law;
use crate::planted::{Dartboard, aimed, batch, scored};
use hushstream_account::AccountError;
use hushstream_mechanism::select::Board;

/// Experts of the dartboard, records of a batch, and draws, K − 1.
const EXPERTS: usize = 8;
const BATCH: usize = 2;
const DRAWS: u64 = 2;

/// Parameters that cost ε = 1 when batches are disjoint.
pub(crate) fn board() -> Result<Board, AccountError> {
    let rate = -libm::log1p(-0.2) / BATCH as f64;
    Board::new(rate, 0.125, DRAWS)
}

/// The largest log-ratio over all plays after two batches.
pub(crate) fn truth(board: Board) -> f64 {
    let transcripts = (0..EXPERTS * EXPERTS).map(|code| {
        let plays = [0, code % EXPERTS, code / EXPERTS];
        ratio(board, &plays).abs()
    });
    transcripts.fold(0.0, f64::max)
}

/// Two batches that share their border, where the canary is: it loses with all experts but the
/// second, or with that one alone.
fn shared(world: World) -> Vec<Vec<f64>> {
    let mut records = vec![vec![0.0; EXPERTS]; 2 * BATCH + 1];
    records[BATCH] = aimed(EXPERTS, 1, world);
    (0..2)
        .map(|k| batch(&records[BATCH * k..=BATCH * (k + 1)]))
        .collect()
}

/// The record at the border, and plays by a dartboard whose law the attacker knows.
pub(crate) fn duel(board: Board) -> Box<dyn Duel> {
    let dartboard = Dartboard {
        rate: board.rate(),
        forced: board.forced(),
        draws: board.resamples(),
    };
    scored(
        "the record at the border of two batches",
        move |world, source| Ok(dartboard.play(source, 0, &shared(world))),
        move |seen| {
            let plays: Vec<usize> = seen.iter().map(|&play| play as usize).collect();
            Some(ratio(board, &plays))
        },
    )
}

fn ratio(board: Board, plays: &[usize]) -> f64 {
    let ln = |world: World| {
        let items = shared(world);
        Law::Board(board).ln_probability(EXPERTS, plays, |item| {
            items[usize::try_from(item).unwrap_or(1) - 1].clone()
        })
    };
    ln(World::Right) - ln(World::Left)
}
