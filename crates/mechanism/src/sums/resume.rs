//! Coming back after a stop: bit for bit, or under a new name.
//!
//! The journal holds what was taken in; the ledger holds how far releases may have left the process. If the journal reaches that
//! far, replaying it gives the very same sum. If not (an old copy, a lost disk), items were published that it does not know: the same
//! addresses would meet other contents, and the difference of two such releases is exact. So the run continues as a
//! new instance, with fresh addresses, from the last release it does know, on items that nobody has seen. Each item is in one instance only, so this costs
//! nothing: the guarantee of each instance covers its own items. The decision depends on counts, never on contents.

use super::build::build;
use super::error::SumError;
use super::journal::{Checkpoint, Item, Journal, Life};
use super::plan::SumPlan;
use super::private_sum::{PrivateSum, check_grant};
use crate::boundary::{GuaranteeKind, Pending};
use crate::durable::{Ledger, Storage};
use crate::persons::{Participation, Persons};
use hushstream_noise::{Instance, Key};

/// How a run came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resumed {
    /// Everything that was ever published is in the journal: bit for bit as if it had never stopped.
    Continued,
    /// The journal is older than what was published. A new instance goes on from the last release it knows; the items in
    /// between are lost to the sum and must not be fed again.
    NewInstance {
        /// How many items are missing.
        lost: u64,
    },
}

/// A run that came back.
pub struct Resumption<G> {
    /// The sum, ready for its next item.
    pub sum: PrivateSum<G>,
    /// How it came back.
    pub outcome: Resumed,
    /// All releases since the journal's last checkpoint. Sync, publish, and nothing is missing; what was published before may come again,
    /// never with another value.
    pub recent: Vec<Pending<Vec<f64>, G>>,
    /// The note of the last checkpoint, and how many steps it covers.
    pub note: Option<(u64, Vec<u8>)>,
}

impl<G: GuaranteeKind> PrivateSum<G> {
    /// Continues a run from its journal. `last_published` is the number of the last release known from outside to have been published,
    /// if it is known: the ledger knows too, unless it was restored from a backup together with the journal.
    ///
    /// # Errors
    /// [`SumError::NoRun`] if the journal is empty; another key or ledger; a journal that has been superseded; lost persons; storage.
    pub fn resume(
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<Resumption<G>, SumError> {
        Self::resume_if(storage, key, ledger, last_published, |_| true)
    }

    /// As [`PrivateSum::resume`], if the caller accepts the note of the last checkpoint; nothing has changed if not.
    ///
    /// # Errors
    /// [`SumError::NotAccepted`], and those of [`PrivateSum::resume`].
    pub fn resume_if(
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
        accepts: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<Resumption<G>, SumError> {
        let (journal, found) = Journal::open(Box::new(storage))?;
        let found = found.ok_or(SumError::NoRun)?;
        let mut opening = found.opening.clone();
        if opening.ledger != ledger.name() {
            return Err(SumError::WrongLedger);
        }
        if opening.key != key.fingerprint() {
            return Err(SumError::WrongKey);
        }
        let plan = SumPlan {
            fields: opening.plan.clone(),
        };
        plan.check_stored()?;
        let planned = plan.most_releases();
        if let Some(given) = last_published.filter(|&given| given > planned) {
            return Err(SumError::LastPublished { given, planned });
        }
        let grant = ledger.grant(opening.number)?;
        check_grant(&plan, &grant)?;
        let begun = ledger.begun(grant.number);
        let mark = match begun {
            // The ledger's note of the beginning was lost in a crash: `open` has not returned, so nothing was taken in.
            None if found.is_fresh() => 0,
            None => return Err(SumError::Superseded),
            Some(begun) => {
                let same = begun.instance == opening.instance;
                // A new instance or life that the journal had begun when a crash kept the ledger from hearing of it.
                let heard = found.life.name == begun.life;
                let unheard = found.life.after == Some(begun.life) && found.life_is_fresh;
                let next = opening.after == Some(begun.instance)
                    && found.is_fresh()
                    && opening.before >= begun.mark;
                if !(same && (heard || unheard) || next && unheard) {
                    return Err(SumError::Superseded);
                }
                begun.mark
            }
        };
        let published = mark.max(last_published.unwrap_or(0));
        let note = found.checkpoint.as_ref();
        if !accepts(note.map(|checkpoint| &checkpoint.note[..])) {
            return Err(SumError::NotAccepted);
        }
        // From here on files change. The new life takes over from the one that the ledger knows.
        opening.life = Life {
            name: Instance::from_os()?.to_bytes(),
            after: begun.map(|begun| begun.life),
        };
        opening.simulated |= grant.simulated || key.is_simulated();
        let mut sum = Self::assemble(plan, grant, key, journal, opening)?;
        let note = found.checkpoint.as_ref();
        let note = note.map(|checkpoint| {
            (
                sum.opening.before + checkpoint.items,
                checkpoint.note.clone(),
            )
        });
        let recent = sum.replay(found.checkpoint, found.items)?;
        let known = sum.steps();
        let outcome = if known >= published {
            sum.journal.begin_life(&sum.opening.life)?;
            Resumed::Continued
        } else {
            let kept = note.as_ref().map(|(_, note)| note.clone());
            let after = begun.map(|begun| begun.instance);
            sum.begin_new_instance(key, published, after, kept.unwrap_or_default())?;
            Resumed::NewInstance {
                lost: published - known,
            }
        };
        // From here on this object, and no other, may publish.
        sum.begin(ledger)?;
        ledger.mark(sum.grant.number, sum.life, published)?;
        sum.durable = published;
        Ok(Resumption {
            sum,
            outcome,
            recent,
            note,
        })
    }

    fn replay(
        &mut self,
        checkpoint: Option<Checkpoint>,
        items: Vec<Item>,
    ) -> Result<Vec<Pending<Vec<f64>, G>>, SumError> {
        let unfit = |_| SumError::Journal("its state belongs to another plan");
        let most = self.plan.most_releases();
        let within = |steps: u64| steps <= most;
        if let Some(checkpoint) = checkpoint {
            if !within(self.opening.before.saturating_add(checkpoint.items)) {
                return Err(SumError::Journal("it is longer than its plan"));
            }
            self.running
                .restore(checkpoint.items, &checkpoint.state)
                .map_err(unfit)?;
            self.items = checkpoint.items;
            self.persons = checkpoint.persons;
            (self.counts.nulls, self.counts.clipped) = (checkpoint.nulls, checkpoint.clipped);
        }
        let limits = self.plan.request().participation.limits();
        let mut recent = Vec::new();
        for item in items {
            if !within(self.steps() + 1) {
                return Err(SumError::Journal("it is longer than its plan"));
            }
            // Noise was paid for items inside the radius; what the file says is no reason to believe more.
            let lattice = self.plan.lattice(self.octave())?;
            if !lattice.holds_sum(&item.values, self.plan.request().batch) {
                return Err(SumError::Journal("an item is not one of this plan"));
            }
            self.items += 1;
            for &person in &item.persons {
                self.persons.admit(limits, person, self.items);
            }
            self.counts.nulls += item.nulls;
            self.counts.clipped += item.clipped;
            let release = self.release(&item.values);
            recent.push(release);
        }
        if self.steps() < most {
            self.lattice = self.plan.lattice(self.octave())?;
        }
        Ok(recent)
    }

    /// New addresses, from the last release that is known: what was published since is not known, so its noise must not be met again.
    fn begin_new_instance(
        &mut self,
        key: &Key,
        published: u64,
        after: Option<[u8; 16]>,
        note: Vec<u8>,
    ) -> Result<(), SumError> {
        if self.plan.request().participation != Participation::OncePerRecord {
            return Err(SumError::PersonsLost);
        }
        let mut base = vec![0.0; self.batch.len()];
        self.running.last(self.items, &mut base);
        for (base, earlier) in base.iter_mut().zip(&self.opening.base) {
            *base += earlier;
        }
        self.opening.base = base;
        self.opening.before = published;
        let instance = Instance::fresh(key, self.grant.number, published)?;
        self.opening.after = after;
        self.opening.instance = instance.to_bytes();
        self.running = build(&self.plan, key, instance, self.grant.number)?;
        self.lattice = self.plan.lattice(0)?;
        self.items = 0;
        // The caller's note goes along: a crash right here must not lose it.
        let checkpoint = Checkpoint {
            items: 0,
            state: self.running.state(),
            persons: Persons::default(),
            nulls: self.counts.nulls,
            clipped: self.counts.clipped,
            note,
        };
        self.journal.restart(&self.opening, &checkpoint)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
