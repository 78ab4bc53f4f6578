//! What every run is played on: a simulated ledger that has paid for it, and a journal. Runs may
//! stop in the middle: the journal is kept, or an older copy of it comes back.

use crate::AuditError;
use crate::bound::Claim;
use hushstream_account::{Budget, Charge, Guarantee, Price};
use hushstream_mechanism::{CameBack, Ledger, Released, Scope, Storage};
use hushstream_noise::Key;
use hushstream_recipes::{Player, Run};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, io};

/// What a plan tells about its runs: what they are paid with, and what they promise.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) budget: Budget,
    pub(super) price: Price,
    pub(super) scope: Scope,
    pub(super) guarantee: Guarantee,
}

impl Terms {
    /// What is claimed: the price that the ledger is charged, which is never above the budget.
    pub(super) fn claim(&self) -> Claim {
        let (epsilon, delta) = (self.guarantee.epsilon(), self.guarantee.delta());
        match self.price.charge {
            Charge::Gaussian(mu) => Claim::Gaussian {
                mu: mu.get(),
                epsilon,
                delta,
            },
            Charge::Approximate(_) => Claim::Approximate { epsilon, delta },
            _ => Claim::Pure { epsilon },
        }
    }

    /// A fresh run of a recipe, with noise from `seed`.
    pub(super) fn open<P: Player<Recipe: Clone>>(
        &self,
        recipe: &P::Recipe,
        seed: u64,
        interruption: Interruption,
    ) -> Result<Stage<P>, AuditError> {
        let (key, shelf) = (Key::insecure_from_seed(seed), Shelf::default());
        let paid = (self.budget, self.price, self.scope);
        let (run, ledger) = hushstream_arena::open(recipe.clone(), paid, &key, shelf.clone())?;
        Ok(Stage {
            old: shelf.copy(),
            run,
            ledger,
            key,
            shelf,
            interruption,
        })
    }
}

/// A run with its ledger and its journal.
pub(super) struct Stage<P: Player> {
    pub(super) run: Run<P>,
    pub(super) ledger: Ledger,
    key: Key,
    shelf: Shelf,
    /// The journal as it was before the present item.
    old: Vec<u8>,
    interruption: Interruption,
}

impl<P: Player<Recipe: Clone>> Stage<P> {
    /// What may leave now.
    pub(super) fn sync(&mut self) -> Result<Vec<P::Output>, AuditError> {
        let outputs = self.run.sync(&mut self.ledger)?;
        Ok(outputs.into_iter().map(Released::into_value).collect())
    }

    /// Stops after an item and comes back, if that is what happens here, and says whether it does.
    /// What is published again then must be the same; if it is not, the attacker sees both.
    pub(super) fn stops_after(&mut self, item: u64) -> Result<bool, AuditError> {
        let stops = self.interruption.is_after(item);
        if stops {
            let lost = self.interruption.restore(&self.shelf, &self.old);
            let recipe = self.run.recipe().clone();
            let storage = self.shelf.clone();
            let (run, outcome) = Run::resume(recipe, storage, &self.key, &mut self.ledger, None)?;
            self.run = run;
            self.interruption.check(outcome, lost)?;
        }
        self.old = self.shelf.copy();
        Ok(stops)
    }
}

/// Where and how a run is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// Not at all.
    Never,
    /// After this round; the journal is as it was left.
    Stopped(u64),
    /// After this round; the journal is replaced by its copy from before the round, whose release
    /// was published.
    Restored(u64),
}

impl Interruption {
    fn is_after(self, round: u64) -> bool {
        matches!(self, Self::Stopped(at) | Self::Restored(at) if at == round)
    }

    /// Puts the old copy back, if that is what happens; says how many items are lost.
    fn restore(self, shelf: &Shelf, old: &[u8]) -> u64 {
        if matches!(self, Self::Restored(_)) {
            *shelf.bytes() = old.to_vec();
            1
        } else {
            0
        }
    }

    /// A kept journal is continued; a lost item makes a new instance.
    fn check(self, outcome: CameBack, lost: u64) -> Result<(), AuditError> {
        let expected = match lost {
            0 => CameBack::Continued,
            lost => CameBack::NewInstance { lost },
        };
        if outcome == expected {
            Ok(())
        } else {
            Err(AuditError::Resumed(format!("{outcome:?} after {self:?}")))
        }
    }

    /// What is published again after a journal that was kept must be what was published last, bit
    /// for bit: other noise on the same record would be paid for by nobody.
    pub(crate) fn check_again(self, published: &[f64], again: &[f64]) -> Result<(), AuditError> {
        let tail = published.len().saturating_sub(again.len());
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
        if matches!(self, Self::Stopped(_)) && bits(&published[tail..]) != bits(again) {
            let what = format!("{self:?}: a release came again with another value");
            return Err(AuditError::Resumed(what));
        }
        Ok(())
    }
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => Ok(()),
            Self::Stopped(at) => write!(f, ", stopped after {at}"),
            Self::Restored(at) => write!(f, ", old journal after {at}"),
        }
    }
}

/// Bytes that outlive the process that wrote them.
#[derive(Debug, Clone, Default)]
struct Shelf(Arc<Mutex<Vec<u8>>>);

impl Shelf {
    fn copy(&self) -> Vec<u8> {
        self.bytes().clone()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Storage for Shelf {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.copy())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes()
            .truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        *self.bytes() = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
