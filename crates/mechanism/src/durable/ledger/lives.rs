//! The mechanisms that have begun: instance, life and mark of each.

use super::{Ledger, LedgerError};
use crate::durable::records::{Record, opened, widened};
use std::collections::BTreeMap;

/// Marks and lives written before the log is compacted to the last ones. Nothing else of them is
/// ever read: whether a journal may go on, and whether a release may leave, is decided by the last
/// instance, life and mark of its run.
pub(super) const MARKS_KEPT: u64 = 1 << 16;

/// Marks written before the witness is renewed. A lost mark lets an old copy of a journal pass for
/// the newest, and a witness that lags so far may miss it; but it saves most of the syncs.
const MARKS_UNWITNESSED: u64 = 64;

/// One mechanism that has begun.
#[derive(Clone, Copy)]
pub(crate) struct Begun {
    pub(crate) instance: [u8; 16],
    pub(crate) life: [u8; 16],
    pub(crate) mark: u64,
}

impl Ledger {
    /// The record of a mechanism that has begun.
    pub(crate) fn begun(&self, number: u64) -> Option<Begun> {
        self.begun.get(&number).copied()
    }

    /// Records that a mechanism begins, or continues, as `instance` in the life `life`; if its
    /// noise is simulated, records that first.
    pub(crate) fn begin(
        &mut self,
        number: u64,
        instance: [u8; 16],
        life: [u8; 16],
        simulated: bool,
    ) -> Result<(), LedgerError> {
        self.grant(number)?;
        if simulated && !self.simulated && !self.is_unprotected(number) {
            self.write(&Record::Simulated { number })?;
            self.unprotected.insert(number);
        }
        self.write(&Record::Begun {
            number,
            instance,
            life,
        })?;
        self.marks_written += 1;
        let mark = self.begun.get(&number).map_or(0, |begun| begun.mark);
        self.begun.insert(
            number,
            Begun {
                instance,
                life,
                mark,
            },
        );
        if self.is_long() {
            return self.compact(&self.begun.clone());
        }
        self.attest()
    }

    /// Records that releases up to `step` may leave the process, if `life` is still the one that
    /// may publish.
    pub(crate) fn mark(
        &mut self,
        number: u64,
        life: [u8; 16],
        step: u64,
    ) -> Result<(), LedgerError> {
        let begun = self.begun(number).ok_or(LedgerError::Unknown(number))?;
        if begun.life != life {
            return Err(LedgerError::TakenOver(number));
        }
        self.log.check()?;
        if step <= begun.mark {
            return Ok(());
        }
        let marked = Begun {
            mark: step,
            ..begun
        };
        if self.is_long() {
            let mut all = self.begun.clone();
            all.insert(number, marked);
            self.compact(&all)?;
        } else {
            self.write(&Record::Marked { number, step })?;
            self.marks_written += 1;
            self.marks_unwitnessed += 1;
        }
        self.begun.insert(number, marked);
        if self.marks_unwitnessed >= MARKS_UNWITNESSED {
            self.attest()?;
        }
        Ok(())
    }

    /// Whether a compaction makes the log much shorter.
    fn is_long(&self) -> bool {
        self.marks_written >= MARKS_KEPT.max(4 * self.begun.len() as u64)
    }

    fn compact(&mut self, begun: &BTreeMap<u64, Begun>) -> Result<(), LedgerError> {
        let epoch = self.epoch + 1;
        let mut records = vec![
            opened(self.name, &self.first, self.scope, self.simulated),
            Record::Rewritten { epoch },
        ];
        // Before the charges, which may not fit the first budget.
        if self.widened {
            records.push(widened(&self.filter));
        }
        for (&number, &price) in &self.charges {
            if let Some(merged) = self.merged.iter().find(|merged| merged.first == number) {
                let runs = self.charges.range(number..number + merged.count);
                records.push(Record::Merged {
                    from: merged.from,
                    first: number,
                    runs: runs.map(|(_, &price)| (price, false)).collect(),
                });
            } else if !self.is_merged(number) {
                records.push(Record::Paid { number, price });
            }
        }
        if let Some(into) = self.closed {
            records.push(Record::Closed { into });
        }
        let unprotected = self.unprotected.iter();
        records.extend(unprotected.map(|&number| Record::Simulated { number }));
        for (
            &number,
            &Begun {
                instance,
                life,
                mark,
            },
        ) in begun
        {
            records.push(Record::Begun {
                number,
                instance,
                life,
            });
            records.push(Record::Marked { number, step: mark });
        }
        let payloads = records
            .iter()
            .map(Record::encode)
            .collect::<Result<Vec<_>, _>>()?;
        self.log.replace(&payloads)?;
        self.epoch = epoch;
        self.marks_written = 2 * begun.len() as u64;
        self.attest()
    }
}
