//! Selections: exact laws by enumeration, privacy against every neighbour on a grid, planted bugs,
//! and resuming after a stop.
#![allow(clippy::unwrap_used)]

mod crashes;
mod forgetting;
mod law;
mod privacy;
mod resuming;
mod sampling;

use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::select::{Horizon, Method, SelectPlan, SelectRequest, Selection};
use hushstream_mechanism::{Ledger, Participation, Storage};
use hushstream_noise::Key;
use std::io;
use std::sync::{Arc, Mutex};

/// A disk that outlives the run that writes on it.
#[derive(Clone, Default)]
struct Disk(Arc<Mutex<Vec<u8>>>);

impl Disk {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// A copy of its current content, on another disk.
    fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
    }
}

impl Storage for Disk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.lock().unwrap().truncate(length as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        *self.0.lock().unwrap() = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn request(method: Method, experts: u32, rounds: u64, batch: u64) -> SelectRequest {
    SelectRequest {
        method,
        experts,
        horizon: Horizon::Known(rounds),
        batch: Some(batch),
        adjacency: Adjacency::ReplaceOne,
        budget: Budget::approx(1.0, 1e-6).unwrap(),
        participation: Participation::OncePerRecord,
    }
}

/// A ledger that can pay for the plan, and a selection opened with it.
fn open(plan: &SelectPlan, key: &Key, storage: Disk) -> (Ledger, Selection) {
    let charge = plan.charge().unwrap();
    let budget = Budget::approx(charge.charge.epsilon().unwrap(), charge.charge.delta()).unwrap();
    let mut ledger = Ledger::simulated(budget, plan.filter(), plan.scope()).unwrap();
    let grant = ledger.debit(charge, plan.scope()).unwrap();
    let selection = Selection::open(plan.clone(), grant, key, &mut ledger, storage).unwrap();
    (ledger, selection)
}
