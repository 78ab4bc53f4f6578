//! Where a batch comes from, and whether its records have been learned: the decision on which
//! exactly-once rests.
//!
//! A *source* is a stream with a name; it cuts its records into batches 0, 1, 2, … A batch covers
//! a range of positions in some of the source's *partitions* (offsets of a log, rows of a file). A
//! batch with the same name and number may come again after any crash, and a source that is
//! restored from a backup may cut the same records otherwise. So ids alone do not suffice: the
//! journal also keeps where each partition ended, and the next batch must begin there.
//!
//! With (q, l) the last batch in the journal, batch b of source s is answered so:
//!
//! | delivery | answer |
//! |---|---|
//! | s = q, b = l + 1, every partition begins where it ended | taken |
//! | s = q, b = l | not added: the recorded release is returned, bit for bit |
//! | s = q, b < l | not added: already taken |
//! | s = q, b > l + 1 | refused: a batch is missing |
//! | s = q, b = l + 1, another beginning | refused: records would be learned twice, or never |
//! | s ≠ q | refused: a new source may read everybody again |
//! | b > l, and the journal is an old copy, whose later batches were published | refused: batch b may be one of them |
//!
//! What is refused can be accepted with a statement: the first new record of every partition. The
//! batch must then begin exactly there, and not before the end that the journal knows.
//!
//! **Partitions to come.** A statement may list a family, `days/*` at 0: no record of any partition
//! whose name begins with `days/`, and that is not listed itself, was ever learned. A partition of
//! the family begins at 0 when it comes, and goes on where it ended, as every other; so a position
//! is taken once. The statement is about people who are yet to come, and holds as long as a name
//! stands for the same records for ever: files with a date in their names, not `log.1`, which was
//! `log` yesterday. After a loss the journal does not know what lost batches have read. Then a
//! family that has a known partition is refused unless that partition is listed too.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The most bytes of a name, and the most partitions of a batch.
const LONGEST_NAME: usize = 256;
const MOST_PARTITIONS: usize = 1 << 16;

/// Records of one partition, from position `start` up to, and without, `end`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The name of the partition: a file, or a topic and its partition.
    pub partition: String,
    /// The position of the first record.
    pub start: u64,
    /// The position after the last record.
    pub end: u64,
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}:{}", self.partition, self.start, self.end)
    }
}

/// Ranges of positions that do not overlap. Public.
///
/// ```
/// use hushstream_mechanism::sums::{Positions, Span};
///
/// let span = |start, end| Span { partition: "clicks-0".into(), start, end };
/// let both = Positions::new([span(5, 9), span(0, 5)])?; // neighbours are joined
/// assert_eq!(both.spans(), [span(0, 9)]);
/// assert!(Positions::new([span(0, 5), span(4, 9)]).is_err()); // record 4 would count twice
/// # Ok::<(), hushstream_mechanism::sums::DeliveryError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Span>", into = "Vec<Span>")]
pub struct Positions {
    /// By partition and start; neighbours are joined.
    spans: Vec<Span>,
}

impl Positions {
    /// These ranges, in any order.
    ///
    /// # Errors
    /// Ranges that overlap, or end before they begin; a name that is empty, too long or has control
    /// characters; more than 65,536 ranges.
    pub fn new(spans: impl IntoIterator<Item = Span>) -> Result<Self, DeliveryError> {
        let mut all: Vec<Span> = spans.into_iter().collect();
        all.sort_by(|a, b| (&a.partition, a.start, a.end).cmp(&(&b.partition, b.start, b.end)));
        let mut joined: Vec<Span> = Vec::with_capacity(all.len());
        for span in all {
            check_name("partition", &span.partition)?;
            if span.start > span.end {
                return Err(DeliveryError::Backwards(span));
            }
            let last = joined.last_mut();
            match last.filter(|last| last.partition == span.partition) {
                // A range without positions says something about a partition that has no other.
                Some(_) if span.start == span.end => {}
                Some(last) if last.start == last.end => *last = span,
                Some(last) if span.start < last.end => {
                    return Err(DeliveryError::Twice {
                        partition: span.partition,
                        start: span.start,
                        end: last.end.min(span.end),
                    });
                }
                Some(last) if span.start == last.end => last.end = span.end,
                _ => joined.push(span),
            }
        }
        if joined.len() > MOST_PARTITIONS {
            return Err(DeliveryError::Partitions);
        }
        Ok(Self { spans: joined })
    }

    /// The ranges, by partition and start.
    #[must_use]
    pub fn spans(&self) -> &[Span] {
        &self.spans
    }

    /// Number of positions: no fewer than records.
    #[must_use]
    pub fn count(&self) -> u64 {
        let lengths = self.spans.iter().map(|span| span.end - span.start);
        lengths.fold(0, u64::saturating_add)
    }

    /// These and others.
    pub(super) fn with(self, others: Self) -> Result<Self, DeliveryError> {
        Self::new(self.spans.into_iter().chain(others.spans))
    }

    /// The first range that one of the two has and the other has not.
    pub(super) fn difference(&self, other: &Self) -> Option<Span> {
        let some = |spans: &[Span]| -> Vec<Span> {
            let spans = spans.iter().filter(|span| span.start < span.end);
            spans.cloned().collect()
        };
        let (own, other) = (some(&self.spans), some(&other.spans));
        let unlike = own.iter().zip(&other).find(|(a, b)| a != b);
        let longer = || own.get(other.len()).or_else(|| other.get(own.len()));
        unlike.map(|(a, _)| a).or_else(longer).cloned()
    }
}

impl TryFrom<Vec<Span>> for Positions {
    type Error = DeliveryError;

    fn try_from(spans: Vec<Span>) -> Result<Self, DeliveryError> {
        Self::new(spans)
    }
}

impl From<Positions> for Vec<Span> {
    fn from(positions: Positions) -> Self {
        positions.spans
    }
}

fn check_name(what: &'static str, name: &str) -> Result<(), DeliveryError> {
    let is_name = (1..=LONGEST_NAME).contains(&name.len()) && !name.chars().any(char::is_control);
    if is_name {
        Ok(())
    } else {
        Err(DeliveryError::Name(what))
    }
}

/// The first position of a partition that is new: its own, or that of its family.
fn listed(first: &BTreeMap<String, u64>, partition: &str) -> Option<u64> {
    let is_family = |(name, start): (&String, &u64)| {
        let prefix = name.strip_suffix('*').filter(|_| *start == 0);
        prefix.is_some_and(|prefix| partition.starts_with(prefix))
    };
    let own = first.get(partition).copied();
    own.or_else(|| first.iter().any(is_family).then_some(0))
}

/// One batch of a source: its name, its number and its positions. Public.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    source: String,
    batch: u64,
    positions: Positions,
    /// The statement with which it was accepted, if it needed one: the first new record of every
    /// partition.
    accepted: Option<BTreeMap<String, u64>>,
}

/// The last batch of the journal, and where each partition ended.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delivered {
    source: String,
    batch: u64,
    ends: BTreeMap<String, u64>,
    /// Whether a partition that is not listed is unknown, and not new: since a statement.
    only_listed: bool,
    /// Whether later batches were taken that this journal does not know.
    lost: bool,
}

/// What to do with a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Take it.
    Next,
    /// It is the last one: return its release.
    Last,
    /// It was taken before the last one.
    Old,
}

impl Delivery {
    /// Batch `batch` of a source, with one range in each of its partitions. A batch without records
    /// is one too: its ranges are empty, or there are none.
    ///
    /// # Errors
    /// A name that is empty, too long or has control characters; two ranges in one partition.
    pub fn new(
        source: impl Into<String>,
        batch: u64,
        positions: Positions,
    ) -> Result<Self, DeliveryError> {
        let source = source.into();
        check_name("source", &source)?;
        let mut pairs = positions.spans.windows(2);
        if let Some(pair) = pairs.find(|pair| pair[0].partition == pair[1].partition) {
            return Err(DeliveryError::Hole {
                partition: pair[0].partition.clone(),
                start: pair[0].end,
                end: pair[1].start,
            });
        }
        Ok(Self {
            source,
            batch,
            positions,
            accepted: None,
        })
    }

    /// The same, with the statement that no record of its source from here on was ever learned by
    /// this run: `first` is the position of the first new record of every partition of the source,
    /// also of those that this batch has nothing of. A name that ends in `*`, at 0, stands for all
    /// partitions to come whose names begin so. The run keeps the statement: later batches begin
    /// there, and a partition that it does not list needs a statement of its own. This is how a run
    /// goes on with another source, or after batches that are lost. **If the statement is
    /// wrong, people are counted twice, and the guarantee does not hold for them.**
    ///
    /// # Errors
    /// A partition that does not begin at its first new record, or has none.
    pub fn accept_new_source(
        mut self,
        first: &BTreeMap<String, u64>,
    ) -> Result<Self, DeliveryError> {
        for span in &self.positions.spans {
            let stated = listed(first, &span.partition);
            if stated != Some(span.start) {
                return Err(DeliveryError::NotTheFirst {
                    partition: span.partition.clone(),
                    start: span.start,
                    stated,
                });
            }
        }
        self.accepted = Some(first.clone());
        Ok(self)
    }

    /// The source's name.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The number of the batch.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// Whether it comes with the statement that its records are new.
    pub(crate) fn is_accepted(&self) -> bool {
        self.accepted.is_some()
    }

    /// Its positions.
    #[must_use]
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// Decides by names and positions alone.
    pub(crate) fn verdict(&self, last: Option<&Delivered>) -> Result<Verdict, DeliveryError> {
        let Some(last) = last else {
            return Ok(Verdict::Next);
        };
        if self.source == last.source && self.batch <= last.batch {
            return Ok(if self.batch == last.batch {
                Verdict::Last
            } else {
                Verdict::Old
            });
        }
        if let Some(first) = &self.accepted {
            // Records that the journal knows are not new, whatever is stated.
            let known = first.iter().find_map(|(partition, &start)| {
                let end = *last.ends.get(partition)?;
                (self.source == last.source && start < end).then(|| last.again(partition, start))
            });
            // Nor are they if a family covers their partition.
            let within = self.positions.spans.iter().find_map(|span| {
                let end = *last.ends.get(&span.partition)?;
                let is_known = self.source == last.source && span.start < end;
                is_known.then(|| last.again(&span.partition, span.start))
            });
            if let Some(error) = known.or(within) {
                return Err(error);
            }
            let mut known = last.ends.iter();
            let forgotten = known.find(|(name, end)| {
                let is_own = !name.ends_with('*') || **end > 0;
                is_own && !first.contains_key(*name) && listed(first, name).is_some()
            });
            return match forgotten {
                Some((name, _)) if self.source == last.source && last.lost => {
                    Err(DeliveryError::NotListed(name.clone()))
                }
                _ => Ok(Verdict::Next),
            };
        }
        if last.lost {
            return Err(DeliveryError::Lost {
                name: last.source.clone(),
                last: last.batch,
            });
        }
        if self.source != last.source {
            return Err(DeliveryError::OtherSource {
                given: self.source.clone(),
                own: last.source.clone(),
            });
        }
        if self.batch - last.batch > 1 {
            return Err(DeliveryError::Missing {
                name: self.source.clone(),
                last: last.batch,
                given: self.batch,
            });
        }
        for span in &self.positions.spans {
            // A partition that is new begins at its beginning.
            let end = match listed(&last.ends, &span.partition) {
                Some(end) => end,
                None if last.only_listed => {
                    return Err(DeliveryError::Unlisted(span.partition.clone()));
                }
                None => 0,
            };
            if span.start < end {
                return Err(last.again(&span.partition, span.start));
            }
            if span.start > end {
                return Err(DeliveryError::LeftOut {
                    partition: span.partition.clone(),
                    start: span.start,
                    end,
                });
            }
        }
        Ok(Verdict::Next)
    }

    /// The last batch, after this one.
    pub(crate) fn after(&self, last: Option<Delivered>) -> Delivered {
        // The partitions of another source have nothing to do with these.
        let before = last.filter(|last| last.source == self.source);
        let is_loss = before.as_ref().is_some_and(|last| last.lost);
        let (mut ends, mut only_listed) =
            before.map_or_else(Default::default, |last| (last.ends, last.only_listed));
        if let Some(first) = &self.accepted {
            if is_loss {
                // Lost batches went further: what is not stated is not known.
                ends.clear();
            }
            ends.extend(
                first
                    .iter()
                    .map(|(partition, &start)| (partition.clone(), start)),
            );
            only_listed = true;
        }
        for span in &self.positions.spans {
            ends.insert(span.partition.clone(), span.end);
        }
        Delivered {
            source: self.source.clone(),
            batch: self.batch,
            ends,
            only_listed,
            lost: false,
        }
    }
}

impl Delivered {
    /// The same after a loss: later batches were taken and published, and nobody knows which.
    pub(crate) fn with_loss(self) -> Self {
        Self { lost: true, ..self }
    }

    fn again(&self, partition: &str, start: u64) -> DeliveryError {
        DeliveryError::Again {
            partition: partition.to_owned(),
            start,
            end: self.ends.get(partition).copied().unwrap_or(0),
        }
    }

    pub(crate) fn name(&self) -> (&str, u64) {
        (&self.source, self.batch)
    }
}

/// Why a batch is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// A name.
    #[error(
        "the name of the {0} is not allowed; allowed: 1 to {LONGEST_NAME} bytes without control \
         characters"
    )]
    Name(&'static str),
    /// Too many ranges.
    #[error("a batch has at most {MOST_PARTITIONS} ranges of positions")]
    Partitions,
    /// A range that ends before it begins.
    #[error("{0}: a range of positions must not end before it begins")]
    Backwards(Span),
    /// Two ranges of one batch overlap.
    #[error(
        "positions {start} to {end} of {partition} are in two partial sums: the people there would \
         be counted twice; leave out the copy"
    )]
    Twice {
        /// The partition.
        partition: String,
        /// The first position that both have.
        start: u64,
        /// The position after the last.
        end: u64,
    },
    /// Two ranges in one partition, with others between them.
    #[error(
        "positions {start} to {end} of {partition} are missing: the people there would be left out \
         of this batch, and could not come later; add their partial sum"
    )]
    Hole {
        /// The partition.
        partition: String,
        /// The first missing position.
        start: u64,
        /// The position after the last.
        end: u64,
    },
    /// A batch is missing.
    #[error(
        "batch {given} of source {name} came after batch {last}: the people of the batches \
         between them would be left out; commit those batches first. If they are lost, or this \
         journal is an old copy of a run that has taken them, state the first new record of every \
         partition: accept a new source"
    )]
    Missing {
        /// The source.
        name: String,
        /// The last batch that was taken.
        last: u64,
        /// The number that was given.
        given: u64,
    },
    /// Records that were learned come again in another batch.
    #[error(
        "the batch begins at position {start} of {partition}, and records up to {end} are learned: \
         the people between would be counted twice, at twice the privacy loss that was paid for. \
         A source that was restored or restarted cuts its batches anew: begin at {end}"
    )]
    Again {
        /// The partition.
        partition: String,
        /// Where the batch begins.
        start: u64,
        /// Where the last one ended.
        end: u64,
    },
    /// Records between two batches are missing.
    #[error(
        "the batch begins at position {start} of {partition}, and the last one ended at {end}: the \
         people between would be left out; begin at {end}. If their records are gone, state the \
         first new record of every partition: accept a new source"
    )]
    LeftOut {
        /// The partition.
        partition: String,
        /// Where the batch begins.
        start: u64,
        /// Where the last one ended.
        end: u64,
    },
    /// Items that came from no known source.
    #[error(
        "this run has learned records whose positions are not known: people of this batch may be \
         among them, and would be counted twice. If they are not, state the first new record of \
         every partition: accept a new source"
    )]
    Unknown,
    /// A partition that a statement did not list.
    #[error(
        "the partition {0} was not listed when the source was accepted: its records may have been \
         learned, and its people would be counted twice. If they were not, state its first new \
         record: accept a new source"
    )]
    Unlisted(String),
    /// A partition that is known, and that a statement after a loss leaves to its family.
    #[error(
        "records of the partition {0} are learned, and lost batches may have read more of it: its \
         people would be counted twice. State its own first new record beside its family"
    )]
    NotListed(String),
    /// A journal that lacks batches.
    #[error(
        "this journal is an old copy: batches after batch {last} of source {name} were taken and \
         published, and are lost here. People of this batch may be among them, and would be \
         counted twice. State the first record of every partition that no batch has learned: \
         accept a new source"
    )]
    Lost {
        /// The source.
        name: String,
        /// The last batch that the journal knows.
        last: u64,
    },
    /// Another source.
    #[error(
        "the batch comes from source {given}, and this run learns from {own}: a new source may \
         read everybody again, and a person who comes twice loses twice the privacy that was paid \
         for. If none of its records was ever learned, state the first new record of every partition: \
         accept a new source"
    )]
    OtherSource {
        /// The source of the batch.
        given: String,
        /// The source of the run.
        own: String,
    },
    /// A batch that does not begin where the statement says.
    #[error(
        "the batch begins at position {start} of {partition}, and its first new record is stated \
         as {}: state the first record that no batch has learned, and begin there",
        stated.map_or("nothing".to_owned(), |stated| format!("position {stated}"))
    )]
    NotTheFirst {
        /// The partition.
        partition: String,
        /// Where the batch begins.
        start: u64,
        /// The stated position.
        stated: Option<u64>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a statement about a new beginning must say of the partitions that a journal knows,
    /// where that journal is an old copy, and where it is not.
    #[test]
    fn a_statement_names_what_an_old_copy_knows() {
        let forgotten = |name: &str| Err(DeliveryError::NotListed(name.to_owned()));
        let next = Ok(Verdict::Next);
        for (source, known, is_copy, stated, verdict) in [
            // A family says nothing about a partition that the copy knows, learned from or not.
            ("clicks", ("log-0", 5), true, "log-*", forgotten("log-0")),
            ("clicks", ("log-0", 0), true, "log-*", forgotten("log-0")),
            ("clicks", ("log-*", 5), true, "lo*", forgotten("log-*")),
            // A family that was stated before has no records of its own.
            ("clicks", ("log-*", 0), true, "lo*", next.clone()),
            // Nothing was lost, or the partition is another source's.
            ("clicks", ("log-0", 5), false, "log-*", next.clone()),
            ("orders", ("log-0", 5), true, "log-*", next.clone()),
        ] {
            let last = Delivered {
                source: "clicks".to_owned(),
                batch: 4,
                ends: BTreeMap::from([(known.0.to_owned(), known.1)]),
                only_listed: false,
                lost: is_copy,
            };
            let new = Span {
                partition: "log-9".to_owned(),
                start: 0,
                end: 1,
            };
            let delivery = Delivery::new(source, 9, Positions::new([new]).unwrap()).unwrap();
            let first = BTreeMap::from([(stated.to_owned(), 0)]);
            let delivery = delivery.accept_new_source(&first).unwrap();
            assert_eq!(delivery.verdict(Some(&last)), verdict, "{source} {known:?}");
            // A partition that is listed goes on exactly where it ended.
            let goes_on = Span {
                partition: known.0.to_owned(),
                start: known.1,
                end: known.1 + 1,
            };
            let goes_on = Positions::new([goes_on]).unwrap();
            let delivery = Delivery::new(source, 9, goes_on).unwrap();
            let first = BTreeMap::from([(known.0.to_owned(), known.1)]);
            let delivery = delivery.accept_new_source(&first).unwrap();
            assert_eq!(delivery.verdict(Some(&last)), next, "{source} {known:?}");
        }
    }
}
