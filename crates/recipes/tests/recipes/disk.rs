//! A machine with two disks in memory, one for the ledger and one for the journal: it can be copied
//! as it stands, and it can crash.

use crate::game::{filter, key};
use hushstream_mechanism::CameBack;
use hushstream_mechanism::{GuaranteeKind, Ledger, Storage};
use hushstream_recipes::{Recipe, RunError, SumRun};
use std::io;
use std::sync::{Arc, Mutex};

/// How many of the unsynced bytes a crash leaves behind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leftover {
    Nothing,
    Half,
    Everything,
}

#[derive(Clone, Default)]
struct Platter {
    bytes: Vec<u8>,
    /// So many of them survive every crash.
    durable: usize,
}

/// A disk; clones share the platter.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<Platter>>);

impl Disk {
    fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
    }

    fn crash(&self, leftover: Leftover) {
        let mut platter = self.0.lock().unwrap();
        let unsynced = platter.bytes.len() - platter.durable;
        let kept = match leftover {
            Leftover::Nothing => 0,
            Leftover::Half => unsynced / 2,
            Leftover::Everything => unsynced,
        };
        platter.durable += kept;
        let length = platter.durable;
        platter.bytes.truncate(length);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap().bytes.len()
    }
}

impl Storage for Disk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().bytes.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut platter = self.0.lock().unwrap();
        platter.bytes.truncate(length as usize);
        platter.durable = platter.durable.min(length as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut platter = self.0.lock().unwrap();
        platter.bytes = bytes.to_vec();
        platter.durable = bytes.len();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut platter = self.0.lock().unwrap();
        platter.durable = platter.bytes.len();
        Ok(())
    }
}

/// Where a run lives.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) ledger: Disk,
    pub(crate) journal: Disk,
}

impl Machine {
    /// Another machine with the same content.
    pub(crate) fn copy(&self) -> Self {
        Self {
            ledger: self.ledger.copy(),
            journal: self.journal.copy(),
        }
    }

    pub(crate) fn crash(&self, leftover: Leftover) {
        self.ledger.crash(leftover);
        self.journal.crash(leftover);
    }

    /// Pays for the recipe from a new ledger with exactly its budget, and opens it.
    pub(crate) fn open<G: GuaranteeKind>(
        &self,
        recipe: &Recipe,
    ) -> Result<(SumRun<G>, Ledger), RunError> {
        let plan = recipe.plan();
        let budget = plan.request().budget;
        let noise = plan.request().noise;
        let mut ledger =
            Ledger::create(self.ledger.clone(), budget, filter(noise), plan.scope()).unwrap();
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let run = SumRun::open(
            recipe.clone(),
            grant,
            &key(),
            &mut ledger,
            self.journal.clone(),
        )?;
        Ok((run, ledger))
    }

    pub(crate) fn resume<G: GuaranteeKind>(
        &self,
        recipe: &Recipe,
    ) -> Result<(SumRun<G>, Ledger, CameBack), RunError> {
        let mut ledger = Ledger::open(self.ledger.clone()).unwrap();
        let storage = self.journal.clone();
        let (run, outcome) = SumRun::resume(recipe.clone(), storage, &key(), &mut ledger, None)?;
        Ok((run, ledger, outcome))
    }
}
