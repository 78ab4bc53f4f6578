//! At most k contributions per person, with a least distance between two: the basis of a
//! person-level guarantee.
//!
//! A contribution beyond the limit becomes null, and the round still counts; this is never
//! published. Persons are identified by a 64-bit name. A hash will do. Two persons with the same
//! hash share one limit: under replace-one that nulls more records and breaks nothing; under
//! zero-out the one's records could take the other's turns, so names must differ there. Among n
//! persons two hashes are the same with probability below n²/2⁶⁵.

use crate::durable::{DiaryError, append, decode, packed};
use hushstream_account::{Adjacency, GuaranteeBuilder, ParameterError};
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Participation {
    /// Every record counts as a separate person.
    #[default]
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

    /// Whether persons are protected, and not records.
    #[must_use]
    pub fn is_per_person(self) -> bool {
        matches!(self, Self::PerPerson { .. })
    }

    /// How many items differ between two neighbours, at most: one for a record. A person's k turns
    /// may be in k items of one neighbour and, because empty records use up no turn, in k other
    /// items of the other; under zero-out there are none in the other.
    pub(crate) fn differing(self, adjacency: Adjacency) -> u64 {
        let (most, _) = self.limits();
        match adjacency {
            Adjacency::ReplaceOne if self.is_per_person() => 2 * most,
            _ => most,
        }
    }

    /// The stated name of a record's person: one if and only if persons are protected.
    pub(crate) fn name_of(self, person: Option<u64>) -> Result<Option<u64>, PersonError> {
        match (person, self.is_per_person()) {
            (Some(_), false) => Err(PersonError("single records", "without")),
            (None, true) => Err(PersonError("persons", "with")),
            (person, _) => Ok(person.map(person_name)),
        }
    }

    /// Refuses what selections, answers and solvers do not price: several passes, and more
    /// contributions than their prices are exact for.
    pub(crate) fn check_few(self) -> Result<(), ParameterError> {
        match self {
            Self::OncePerRecord => Ok(()),
            Self::PerPerson { most, separation } if separation > 0 => {
                if (1..=MOST_CONTRIBUTIONS).contains(&most) {
                    return Ok(());
                }
                Err(ParameterError::new(
                    "contributions of a person",
                    most,
                    "1 to 4096",
                ))
            }
            Self::PerPerson { separation, .. } => Err(ParameterError::new(
                "distance of a person's contributions",
                separation,
                "at least 1",
            )),
            Self::Passes { passes, .. } => Err(ParameterError::new(
                "passes",
                passes,
                "one reading of every record; several are for curves and tables",
            )),
        }
    }

    /// A stored plan, with its participation after it where persons are limited: journals from
    /// before there were such plans are read as they are.
    pub(crate) fn after(self, plan: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
        if self.is_per_person() {
            append(&self, plan)
        } else {
            Ok(plan)
        }
    }

    /// What follows a stored plan.
    pub(crate) fn read(rest: &[u8]) -> Result<Self, DiaryError> {
        if rest.is_empty() {
            Ok(Self::OncePerRecord)
        } else {
            decode(rest)
        }
    }

    /// What a guarantee says of persons.
    pub(crate) fn stated(self, builder: GuaranteeBuilder) -> GuaranteeBuilder {
        let Self::PerPerson { most, separation } = self else {
            return builder;
        };
        let builder = builder
            .person(most)
            .assume("a person's record is replaced by one of the same person, or by an empty one");
        if separation > 1 {
            return builder.assume(format!(
                "one person's contributions are at least {separation} items apart; others are \
                 nulled"
            ));
        }
        builder
    }
}

/// The most contributions of a person where prices multiply by them, so that products are exact.
const MOST_CONTRIBUTIONS: u64 = 1 << 12;

/// A record without its person, or with one where the plan has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this plan protects {0}: a record must come {1} its person")]
pub struct PersonError(&'static str, &'static str);

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

/// Admits persons to a mechanism's items. The names of an item go into the journal with it, so that
/// a replay admits the same.
#[derive(Default)]
pub(crate) struct Admission {
    /// If the plan limits persons.
    limits: Option<(u64, u64)>,
    persons: Persons,
    /// The persons of the incomplete item.
    names: Vec<u64>,
}

impl Admission {
    pub(crate) fn new(participation: Participation) -> Self {
        Self {
            limits: participation
                .is_per_person()
                .then(|| participation.limits()),
            ..Self::default()
        }
    }

    /// Whether a record counts in `item`: by names and places. An empty record has no name, so it
    /// uses up no turn, and a later one of its person may count instead.
    pub(crate) fn admit(&mut self, person: Option<u64>, item: u64) -> bool {
        let (Some(limits), Some(person)) = (self.limits, person) else {
            return true;
        };
        self.names.push(person);
        self.persons.admit(limits, person, item)
    }

    /// Appends the names of the item.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for name in &self.names {
            out.extend_from_slice(&name.to_le_bytes());
        }
    }

    /// Takes the names of an item of so many records from a journal; false if they are not its.
    pub(crate) fn read(&mut self, item: u64, bytes: &[u8], records: u64) -> bool {
        let (names, rest) = bytes.as_chunks::<8>();
        let expected = if self.limits.is_some() { records } else { 0 };
        if !rest.is_empty() || names.len() as u64 != expected {
            return false;
        }
        for &name in names {
            self.admit(Some(u64::from_le_bytes(name)), item);
        }
        true
    }

    /// After an item.
    pub(crate) fn end_item(&mut self) {
        self.names.clear();
    }

    /// A stored state, with the counts of persons after it where they are limited.
    pub(crate) fn after(&self, state: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
        match self.limits {
            Some(_) => append(&self.persons, state),
            None => Ok(state),
        }
    }

    /// Takes what follows a stored state.
    pub(crate) fn restore(&mut self, rest: &[u8]) -> Result<(), DiaryError> {
        self.persons = match self.limits {
            Some(_) => decode(rest)?,
            None if rest.is_empty() => Persons::default(),
            None => return Err(DiaryError::Journal("its state belongs to another plan")),
        };
        Ok(())
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
