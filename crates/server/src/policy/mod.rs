//! Published models that answer now, read back from the store.

use crate::problem::Problem;
use crate::spec::{Mode, ModelSpec, Task};
use crate::store::{ModelRow, Published, Reads, StoreError, Witness};
use hushstream::{Decider, Model};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// A published model, ready to answer.
pub struct Serving {
    /// The release.
    pub published: Published,
    /// The model.
    pub model: Model,
    /// Its decider, if it decides.
    pub decider: Option<Mutex<Decider>>,
}

impl Serving {
    /// Reads a release.
    ///
    /// # Errors
    /// A file that is no model.
    pub fn new(published: Published, row: &ModelRow) -> Result<Self, Problem> {
        let broken = |error: hushstream::Error| {
            tracing::error!(%error, model = row.name, "a stored release cannot be read");
            Problem::internal()
        };
        let (model, _) = Model::from_bytes(&published.file, &row.name).map_err(broken)?;
        let spec: ModelSpec = serde_json::from_str(&row.spec).map_err(|_| Problem::internal())?;
        let decider = if spec.task == Task::Decide {
            let decider = model.decider().map_err(broken)?;
            let decider = match spec.mode.unwrap_or_default() {
                Mode::Online => decider,
                Mode::Shadow => decider.first_arm().map_err(broken)?,
            };
            Some(Mutex::new(decider))
        } else {
            None
        };
        Ok(Self {
            published,
            model,
            decider,
        })
    }
}

/// The newest releases of the models that were asked for last.
pub struct Policies {
    db: Arc<dyn Reads>,
    /// Notices an old copy of the folder.
    witness: Witness,
    newest: RwLock<HashMap<u64, Held>>,
    most: usize,
    asked: AtomicU64,
}

/// A release that answers, and when it was asked for, in questions.
struct Held {
    serving: Arc<Serving>,
    used: AtomicU64,
}

impl Policies {
    /// None yet: each is read when it is needed, and at most so many are kept.
    #[must_use]
    pub(crate) fn new(db: Arc<dyn Reads>, witness: Witness, most: usize) -> Self {
        Self {
            db,
            witness,
            newest: RwLock::default(),
            most: most.max(1),
            asked: AtomicU64::new(0),
        }
    }

    /// How many are kept.
    #[must_use]
    pub fn kept(&self) -> usize {
        let known = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        known.len()
    }

    /// Forgets them: each is read again when it is needed.
    pub(crate) fn forget(&self) {
        let mut known = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        known.clear();
    }

    fn now(&self) -> u64 {
        self.asked.fetch_add(1, Ordering::Relaxed)
    }

    /// The newest release of a model.
    ///
    /// # Errors
    /// No release; a store that fails.
    pub fn newest(&self, row: &ModelRow) -> Result<Arc<Serving>, Problem> {
        let known = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = known.get(&row.number) {
            held.used.store(self.now(), Ordering::Relaxed);
            return Ok(Arc::clone(&held.serving));
        }
        drop(known);
        self.renew(row)
    }

    /// Reads the newest release from the store, and answers with it from now on.
    ///
    /// # Errors
    /// As [`Policies::newest`].
    pub fn renew(&self, row: &ModelRow) -> Result<Arc<Serving>, Problem> {
        let published = self.version(row.number, None)?;
        let Some(published) = published else {
            return Err(Problem::unavailable("the model is being begun: ask again"));
        };
        self.attest(row)?;
        let serving = Arc::new(Serving::new(published, row)?);
        let mut known = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.most && !known.contains_key(&row.number) {
            let used = |held: &Held| held.used.load(Ordering::Relaxed);
            let oldest = known.iter().min_by_key(|(_, held)| used(held));
            if let Some(oldest) = oldest.map(|(model, _)| *model) {
                known.remove(&oldest);
            }
        }
        let held = known.entry(row.number).or_insert_with(|| Held {
            serving: Arc::clone(&serving),
            used: AtomicU64::new(0),
        });
        held.used.store(self.now(), Ordering::Relaxed);
        if held.serving.published.version < serving.published.version {
            held.serving = serving;
        }
        Ok(Arc::clone(&held.serving))
    }

    /// Whether this release answers now.
    pub(crate) fn answers_with(&self, row: &ModelRow, version: u64) -> bool {
        let known = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        let held = known.get(&row.number);
        held.is_some_and(|held| held.serving.published.version >= version)
    }

    /// Notes outside of the store how far it is, before a release that was read from it leaves: a
    /// restored copy would forget it, and draw its noise once more. What could not be noted before
    /// is noted now.
    ///
    /// # Errors
    /// A witness that cannot be written; an old copy; a store that fails.
    pub(crate) fn attest(&self, row: &ModelRow) -> Result<(), Problem> {
        let noted = self.db.attest(row, &self.witness);
        noted.map_err(|error| {
            tracing::error!(%error, "the witness cannot be written");
            Problem::unavailable("the witness cannot be written: see the server's log")
        })
    }

    /// A stored release; the newest without a version. To be attested before it leaves.
    ///
    /// # Errors
    /// Those of the store.
    pub fn version(
        &self,
        model: u64,
        version: Option<u64>,
    ) -> Result<Option<Published>, StoreError> {
        self.db.release(model, version)
    }

    /// This version, ready to answer.
    ///
    /// # Errors
    /// No such version; a store that fails.
    pub fn serving(&self, row: &ModelRow, version: u64) -> Result<Arc<Serving>, Problem> {
        let newest = self.newest(row)?;
        if newest.published.version == version {
            return Ok(newest);
        }
        match self.version(row.number, Some(version))? {
            Some(published) => {
                self.attest(row)?;
                Ok(Arc::new(Serving::new(published, row)?))
            }
            None => Err(Problem::not_found("version of the policy")),
        }
    }
}
