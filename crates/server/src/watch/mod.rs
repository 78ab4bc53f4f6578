//! What is watched: public events, metrics, the audit log.

mod hub;
mod metrics;

pub use hub::{Event, Hub};
pub use metrics::{Metrics, RouteStatus};
