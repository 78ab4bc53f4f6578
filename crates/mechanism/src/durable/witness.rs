//! The witness of a ledger: its length and last record, in a separate file.
//!
//! A record damaged at the very end of a ledger looks like one torn by a crash, and an old copy of
//! a ledger looks like a ledger. So a small file beside it stores the ledger's name, the number of
//! its rewrites, the number of its records, and the CRC of the last. It is written after the ledger
//! was synced, so it is never newer than the ledger. A witness that is *ahead* proves that records
//! are lost. One with another record at its place proves that the ledger continued from an old
//! copy. One that is *behind* is what a crash between the two writes leaves. A witness that lags
//! detects less and never refuses wrongly, so marks, which are frequent, renew it only
//! occasionally. It does not authenticate: anyone who can replace one file can replace both.
//!
//! Format, three lines of text: `hushstream witness 1`; name, rewrites, records and CRC; CRC-32 of
//! the lines before.

use super::LedgerError;

const FIRST_LINE: &str = "hushstream witness 1";

/// Length and last record of a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Witness {
    pub(crate) name: [u8; 16],
    /// How many times the ledger was rewritten.
    pub(crate) epoch: u64,
    pub(crate) records: u64,
    /// CRC of the last record.
    pub(crate) last: u32,
}

impl Witness {
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let Self {
            name,
            epoch,
            records,
            last,
        } = self;
        let name = hex(name);
        let text = format!("{FIRST_LINE}\n{name} {epoch} {records} {last:08x}\n");
        format!("{text}{:08x}\n", crc32fast::hash(text.as_bytes())).into_bytes()
    }

    pub(crate) fn read(bytes: &[u8]) -> Result<Self, LedgerError> {
        let text = std::str::from_utf8(bytes).map_err(|_| LedgerError::WitnessDamaged)?;
        if !text.starts_with(FIRST_LINE) && text.starts_with("hushstream witness ") {
            return Err(LedgerError::WitnessVersion);
        }
        let read = || {
            let (body, sum) = text.trim_end().rsplit_once('\n')?;
            let hash = crc32fast::hash(format!("{body}\n").as_bytes());
            let fields = body.strip_prefix(FIRST_LINE)?.trim();
            let mut fields = fields.split(' ');
            let name = fields.next()?;
            let mut bytes = [0; 16];
            for (place, byte) in bytes.iter_mut().enumerate() {
                *byte = u8::from_str_radix(name.get(2 * place..2 * place + 2)?, 16).ok()?;
            }
            let witness = Self {
                name: bytes,
                epoch: fields.next()?.parse().ok()?,
                records: fields.next()?.parse().ok()?,
                last: u32::from_str_radix(fields.next()?, 16).ok()?,
            };
            (u32::from_str_radix(sum, 16).ok()? == hash).then_some(witness)
        };
        read().ok_or(LedgerError::WitnessDamaged)
    }

    /// Checks a ledger, given its name, its number of rewrites and the CRCs of its records.
    pub(crate) fn check(
        &self,
        name: [u8; 16],
        epoch: u64,
        sums: impl ExactSizeIterator<Item = u32>,
    ) -> Result<(), LedgerError> {
        if self.name != name {
            return Err(LedgerError::OtherWitness);
        }
        let records = sums.len() as u64;
        if (self.epoch, self.records) > (epoch, records) {
            return Err(LedgerError::Behind {
                records,
                witnessed: self.records,
            });
        }
        let mut sums = sums;
        let place = usize::try_from(self.records.saturating_sub(1)).unwrap_or(usize::MAX);
        if self.epoch == epoch && sums.nth(place) != Some(self.last) {
            return Err(LedgerError::Branched);
        }
        Ok(())
    }
}

/// A ledger's name as text.
pub(crate) fn hex(name: [u8; 16]) -> String {
    use std::fmt::Write;
    name.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WITNESS: Witness = Witness {
        name: [0xab; 16],
        epoch: 1,
        records: 3,
        last: 30,
    };

    #[test]
    fn what_was_written_is_read_and_any_changed_byte_is_seen() {
        let bytes = WITNESS.to_bytes();
        assert_eq!(Witness::read(&bytes).unwrap(), WITNESS);
        for place in 0..bytes.len() - 1 {
            let mut bytes = bytes.clone();
            bytes[place] ^= 1;
            assert!(Witness::read(&bytes).is_err(), "{place}");
        }
        let later = String::from_utf8(bytes)
            .unwrap()
            .replace("witness 1", "witness 2");
        let refused = Witness::read(later.as_bytes()).unwrap_err().to_string();
        assert!(refused.contains("a later version"), "{refused}");
    }

    #[test]
    fn behind_is_a_crash_and_ahead_is_a_loss() {
        let check = |epoch, sums: &[u32]| WITNESS.check([0xab; 16], epoch, sums.iter().copied());
        check(1, &[10, 20, 30]).unwrap();
        check(1, &[10, 20, 30, 40]).unwrap();
        check(2, &[10]).unwrap();
        assert!(matches!(
            check(1, &[10, 20]),
            Err(LedgerError::Behind { .. })
        ));
        assert!(matches!(
            check(0, &[1, 2, 3, 4, 5]),
            Err(LedgerError::Behind { .. })
        ));
        assert!(matches!(
            check(1, &[10, 20, 31, 40]),
            Err(LedgerError::Branched)
        ));
        let other = WITNESS.check([1; 16], 1, [10, 20, 30].into_iter());
        assert!(matches!(other, Err(LedgerError::OtherWitness)));
    }
}
