//! Published models that answer now, read back from the store.

use crate::problem::Problem;
use crate::spec::{Mode, ModelSpec, Task};
use crate::store::{ModelRow, Published, StoreError};
use hushstream::{Decider, Model};
use redb::Database;
use std::collections::HashMap;
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

/// The newest release of every model that was asked for.
pub struct Policies {
    db: Arc<Database>,
    newest: RwLock<HashMap<u64, Arc<Serving>>>,
}

impl Policies {
    /// None yet: each is read when it is needed.
    #[must_use]
    pub fn new(db: Arc<Database>) -> Self {
        Self {
            db,
            newest: RwLock::default(),
        }
    }

    /// The newest release of a model.
    ///
    /// # Errors
    /// No release; a store that fails.
    pub fn newest(&self, row: &ModelRow) -> Result<Arc<Serving>, Problem> {
        let known = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(serving) = known.get(&row.number) {
            return Ok(Arc::clone(serving));
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
        let serving = Arc::new(Serving::new(published, row)?);
        let mut known = self.newest.write().unwrap_or_else(PoisonError::into_inner);
        let entry = known
            .entry(row.number)
            .or_insert_with(|| Arc::clone(&serving));
        if entry.published.version < serving.published.version {
            *entry = Arc::clone(&serving);
        }
        Ok(Arc::clone(entry))
    }

    /// A stored release; the newest without a version.
    ///
    /// # Errors
    /// Those of the store.
    pub fn version(
        &self,
        model: u64,
        version: Option<u64>,
    ) -> Result<Option<Published>, StoreError> {
        crate::store::published(&self.db, model, version)
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
            Some(published) => Ok(Arc::new(Serving::new(published, row)?)),
            None => Err(Problem::not_found("version of the policy")),
        }
    }
}
