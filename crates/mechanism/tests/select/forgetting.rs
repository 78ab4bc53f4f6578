//! A new octave, or season, knows nothing of the last: the privacy of one item is paid for in its
//! own only.

use crate::{Disk, open, request};
use hushstream_account::Budget;
use hushstream_mechanism::Raw;
use hushstream_mechanism::select::{Horizon, Method, SelectPlan};
use hushstream_noise::Key;

const LAST: u32 = 64;

fn plan(method: Method, horizon: Horizon) -> SelectPlan {
    let mut request = request(method, 4, 1, 1);
    request.horizon = horizon;
    request.budget = Budget::approx(20.0, 1e-6).unwrap();
    request.plan().unwrap()
}

/// The plays after each item, with one key: before item `from` expert `early` is perfect, then
/// expert 3.
fn plays(plan: &SelectPlan, seed: u64, from: u32, early: usize) -> Vec<u32> {
    let key = Key::insecure_from_seed(seed);
    let (_, mut selection) = open(plan, &key, Disk::default());
    let play = |item: u32| {
        let mut losses = vec![1.0; 4];
        losses[if item < from { early } else { 3 }] = 0.0;
        selection.add(None, Raw::seal(losses)).unwrap();
        selection.question()
    };
    (1..LAST).map(play).collect()
}

/// With the same random bits, whatever was lost before an octave or a season began: from its first
/// play on, all plays are the same. Totals or draws kept from before would show.
#[test]
fn plays_do_not_depend_on_losses_of_earlier_octaves_and_seasons() {
    let seasons = Horizon::Seasons {
        season: 16,
        rounds: Some(64),
    };
    for (horizon, begins) in [(Horizon::Unknown, [8_u32, 16, 32]), (seasons, [17, 33, 49])] {
        let plan = plan(Method::Dartboard, horizon);
        for from in begins {
            let (mut before, mut steady) = (false, true);
            for seed in 0..20 {
                let runs: Vec<Vec<u32>> = (0..4)
                    .map(|early| plays(&plan, seed, from, early))
                    .collect();
                // The play after item from − 1 is the first of the octave.
                let first = from as usize - 2;
                for run in &runs {
                    assert_eq!(
                        run[first..],
                        runs[0][first..],
                        "begun at {from}, seed {seed}"
                    );
                    before |= run[..first] != runs[0][..first];
                    steady &= run[first..].iter().all(|play| *play == run[first]);
                }
            }
            assert!(before, "losses must be seen in their own octave");
            assert!(!steady, "and in the new one");
        }
    }
}

/// Limited updates draw at the end of an octave and play by it: after the next, what came before it
/// is gone.
#[test]
fn limited_updates_choose_by_the_last_octave_alone() {
    let plan = plan(Method::LimitedUpdates, Horizon::Unknown);
    for from in [8_u32, 16] {
        for seed in 0..20 {
            let runs: Vec<Vec<u32>> = (0..4)
                .map(|early| plays(&plan, seed, from, early))
                .collect();
            let settled = 2 * from as usize - 2;
            for run in &runs {
                for item in (2..LAST).filter(|item| !(item + 1).is_power_of_two()) {
                    let play = item as usize - 1;
                    assert_eq!(run[play], run[play - 1], "drawn after item {item}");
                }
                assert_eq!(
                    run[settled..],
                    runs[0][settled..],
                    "octave at {from}, seed {seed}"
                );
            }
        }
    }
}
