//! Public events of models, for subscribers.

use crate::clock::{Millis, rfc3339};
use crate::policy::Serving;
use crate::store::ModelRow;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use tokio::sync::broadcast;

/// A public event.
#[derive(Debug, Clone)]
pub struct Event {
    /// Its kind.
    pub kind: &'static str,
    /// Its data.
    pub data: Value,
}

/// Events that may wait for a slow watcher, who then misses the oldest.
const WAITING: usize = 64;

/// Where events go.
#[derive(Default)]
pub struct Hub(Mutex<HashMap<u64, broadcast::Sender<Event>>>);

impl Hub {
    /// Watches a model.
    #[must_use]
    pub fn watch(&self, model: u64) -> broadcast::Receiver<Event> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(model)
            .or_insert_with(|| broadcast::channel(WAITING).0)
            .subscribe()
    }

    fn tell(&self, model: u64, kind: &'static str, data: Value) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = all.get(&model)
            && sender.send(Event { kind, data }).is_err()
        {
            // Nobody watches any more.
            all.remove(&model);
        }
    }

    /// A batch is closed.
    pub fn closed(&self, row: &ModelRow, batch: u64, at: Millis) {
        let data = json!({"batch": batch, "at": rfc3339(at)});
        self.tell(row.number, "closed", data);
    }

    /// A release is stored.
    pub fn released(&self, row: &ModelRow, serving: &Serving) {
        let published = &serving.published;
        let evaluation = serving.model.policy.as_ref().map(|own| &own.evaluation);
        let data = json!({
            "version": published.version,
            "at": rfc3339(published.at),
            "evaluation": evaluation,
        });
        self.tell(row.number, "released", data);
    }

    /// All batches were learned from.
    pub fn finished(&self, row: &ModelRow, at: Millis) {
        self.tell(row.number, "finished", json!({"at": rfc3339(at)}));
    }
}
