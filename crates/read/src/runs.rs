//! Columns of a kind that lie side by side.

use crate::many::MOST;
use crate::step::Step;

/// Rooms for runs of numbers, some ten kilobytes each: those behind share the last.
const ROOMS: usize = 8;
/// Numbers that are worth reading together.
pub(crate) const WORTH: usize = 4;

/// From every column on, how many of a kind follow each other, each joined to the next.
pub(crate) fn runs(
    steps: &[Step],
    is_kind: impl Fn(&Step) -> bool,
    is_joined: impl Fn(&Step, &Step) -> bool,
) -> Vec<usize> {
    let mut runs: Vec<usize> = steps
        .iter()
        .map(|step| usize::from(is_kind(step)))
        .collect();
    for at in (1..steps.len()).rev() {
        if runs[at - 1] > 0 && is_joined(&steps[at - 1], &steps[at]) {
            runs[at - 1] += runs[at];
        }
    }
    runs
}

/// Which room the numbers of each column have: another one for every run of them, and for every so many as are read together, as long as there are rooms.
pub(crate) fn rooms(numbers: &[usize]) -> Vec<usize> {
    let (mut room, mut used) = (0, 0);
    let (mut before, mut is_long) = (0, false);
    let rooms = numbers.iter().map(|&left| {
        // A run goes on where one number fewer is left.
        let goes_on = left > 0 && left + 1 == before;
        before = left;
        if !goes_on {
            is_long = left >= WORTH;
        }
        if is_long {
            if used > 0 && (!goes_on || used == MOST) {
                (room, used) = ((room + 1).min(ROOMS - 1), 0);
            }
            used += 1;
        }
        room
    });
    rooms.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_has_a_room_while_there_are_some() {
        // A run of five, two alone, one of six.
        let numbers = [5, 4, 3, 2, 1, 0, 2, 1, 0, 6, 5, 4, 3, 2, 1];
        let found = rooms(&numbers);
        assert_eq!(found[..5], [0; 5]);
        assert_eq!(found[9..], [1; 6]);
        // What is between two runs that fill their rooms takes none.
        let full = || (1..=MOST).rev();
        let two: Vec<usize> = full().chain([0]).chain(full()).collect();
        assert_eq!(rooms(&two).last(), Some(&1));
        // Long runs are read in parts; those behind the last room share it.
        let long: Vec<usize> = (1..=12 * MOST).rev().collect();
        let found = rooms(&long);
        for (part, rooms) in found.chunks(MOST).enumerate() {
            assert!(rooms.iter().all(|&room| room == part.min(ROOMS - 1)));
        }
        // Runs that touch: the second begins where more are left than before.
        assert_eq!(rooms(&[4, 3, 2, 1, 5, 4, 3, 2, 1])[4], 1);
        assert!(rooms(&[]).is_empty());
    }
}
