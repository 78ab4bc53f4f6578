//! At most k contributions per person, with a least distance between two: the basis of a
//! person-level guarantee.
//!
//! A contribution beyond the limit becomes null, and the round still counts; this is never
//! published. Persons are identified by a 64-bit name. A hash will do: two persons with the same
//! hash share one limit, which nulls more records and breaks nothing.

use crate::durable::packed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How often a person contributes.
///
/// ```
/// use hushstream_mechanism::Participation;
///
/// let persons = Participation::PerPerson { most: 5, separation: 100 };
/// assert_eq!(persons.limits(), (5, 100));
/// assert_eq!(Participation::OncePerRecord.limits().0, 1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Participation {
    /// Every record counts as a separate person.
    OncePerRecord,
    /// One person has at most `most` contributions, any two at least `separation` items apart.
    PerPerson {
        /// k ≥ 1.
        most: u64,
        /// b ≥ 1; 1 means no restriction.
        separation: u64,
    },
    /// Every record counts as a separate person and is read several times, always at the same place
    /// of the same order: any two of its items are a multiple of `separation` apart. The caller
    /// keeps to that, as it keeps to one reading otherwise.
    ///
    /// After the loss of a journal its items are spread over several instances, k₁ + k₂ + … ≤ k,
    /// which add up: in squares for Gaussian noise, as they are for pure noise. They stay within
    /// the price of one instance with k items. Pure noise, and trees: k·depth adds up, and k²·depth
    /// and k²(depth − 1) + k grow faster than k. Filters: an instance that began anew releases rows
    /// of its own items alone. Had it gone on, the same rows would hold the earlier items too, and
    /// since no coefficient is negative and a record's shifts count as equal, they would be longer.
    Passes {
        /// k ≥ 1.
        passes: u64,
        /// Items in a pass.
        separation: u64,
    },
}

impl Participation {
    /// (k, b).
    #[must_use]
    pub fn limits(self) -> (u64, u64) {
        match self {
            Self::OncePerRecord => (1, 1),
            Self::PerPerson { most, separation } => (most, separation),
            Self::Passes { passes, separation } => (passes, separation),
        }
    }
}

/// The name of nobody, in lists that have a name for every record.
pub(crate) const NOBODY: u64 = u64::MAX;

/// The name of a person, never [`NOBODY`]: two persons may share one.
pub(crate) fn person_name(person: u64) -> u64 {
    person.min(NOBODY - 1)
}

/// Whether an item is in the slot of a person: i ≡ h(person) modulo the number of slots m, with a
/// public h that is fixed before any data. Items of one person are then multiples of m apart, and
/// at most ⌈T/m⌉ of T, whatever the data is and wherever it is summed.
pub(crate) fn in_slot(person: u64, slots: u64, item: u64) -> bool {
    mixed(person) % slots == item % slots
}

/// A bijection that spreads names of any pattern (the finaliser of SplitMix64).
fn mixed(name: u64) -> u64 {
    let name = (name ^ (name >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let name = (name ^ (name >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    name ^ (name >> 31)
}

/// Counts of contributions. Private: part of the mechanism's state, and stored with it.
#[derive(Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(into = "Stored", from = "Stored")]
pub(crate) struct Persons {
    /// (contributions so far, item of the last one).
    seen: BTreeMap<u64, (u64, u64)>,
}

/// Three numbers for each person.
#[derive(Serialize, Deserialize)]
struct Stored(#[serde(with = "packed")] Vec<u64>);

impl From<Persons> for Stored {
    fn from(persons: Persons) -> Self {
        let entries = persons.seen.into_iter();
        Self(
            entries
                .flat_map(|(person, (count, last))| [person, count, last])
                .collect(),
        )
    }
}

impl From<Stored> for Persons {
    fn from(stored: Stored) -> Self {
        let entries = stored.0.as_chunks().0.iter();
        Self {
            seen: entries
                .map(|&[person, count, last]| (person, (count, last)))
                .collect(),
        }
    }
}

impl Persons {
    /// Why a run with limited persons cannot lose items.
    pub(crate) const NEEDED: &'static str = "and with them how often each person has contributed";

    /// Whether this person may contribute to `item`.
    pub(crate) fn admits(&self, (most, separation): (u64, u64), person: u64, item: u64) -> bool {
        match self.seen.get(&person) {
            None => most > 0,
            Some(&(count, last)) => count < most && item - last >= separation,
        }
    }

    /// Whether this person may contribute to `item`; if so, counts the contribution.
    pub(crate) fn admit(&mut self, limits: (u64, u64), person: u64, item: u64) -> bool {
        let (most, separation) = limits;
        match self.seen.get_mut(&person) {
            None => {
                self.seen.insert(person, (1, item));
                most > 0
            }
            Some((count, last)) => {
                let admitted = *count < most && item - *last >= separation;
                if admitted {
                    (*count, *last) = (*count + 1, item);
                }
                admitted
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_distances_are_enforced() {
        let mut persons = Persons::default();
        let admitted: Vec<u64> = (1..=20)
            .filter(|&item| persons.admit((3, 4), 7, item))
            .collect();
        assert_eq!(admitted, [1, 5, 9]);
        assert!(
            persons.admit((3, 4), 8, 20),
            "another person has its own count"
        );
    }

    #[test]
    fn several_contributions_to_one_item_count_each() {
        let mut persons = Persons::default();
        assert!(persons.admit((2, 1), 7, 1));
        assert!(
            !persons.admit((2, 1), 7, 1),
            "one item apart means not the same item"
        );
        assert!(persons.admit((2, 1), 7, 2));
    }

    #[test]
    fn nobody_contributes_where_nobody_may() {
        let mut persons = Persons::default();
        assert!(!persons.admit((0, 1), 7, 1) && !persons.admit((0, 1), 7, 2));
    }
}
