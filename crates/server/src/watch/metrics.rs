//! Metrics: what anybody may see, and what is the operator's, as two types with two registries. A
//! count that depends on rewards or contents cannot get into the first.

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// What anybody may see: numbers of decisions, batches and releases, which are public.
pub struct PublicMetrics {
    registry: Registry,
    /// Slots that were given out.
    pub slots: Counter,
    /// Decisions that were turned away before they took a slot.
    pub shed: Counter,
    /// Batches that were closed.
    pub batches: Counter,
}

/// What is for the operator: requests by route and status, and times.
pub struct OperatorMetrics {
    registry: Registry,
    /// Requests by route and status.
    pub requests: Family<RouteStatus, Counter>,
    /// Seconds of a request.
    pub seconds: Histogram,
    /// Commits of the store.
    pub commits: Counter,
    /// Seconds of a sync of the store's file.
    pub syncs: Histogram,
}

/// A route and a status.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RouteStatus(pub &'static str, pub u16);

impl EncodeLabelSet for RouteStatus {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), std::fmt::Error> {
        ("route", self.0).encode(encoder.encode_label())?;
        ("status", u32::from(self.1)).encode(encoder.encode_label())
    }
}

/// Both.
pub struct Metrics {
    /// For anybody.
    pub public: PublicMetrics,
    /// For the operator.
    pub operator: OperatorMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("hushstream");
        let (slots, shed, batches) = (Counter::default(), Counter::default(), Counter::default());
        registry.register("slots", "Slots that were given out", slots.clone());
        let told = "Decisions that were turned away before they took a slot";
        registry.register("shed", told, shed.clone());
        registry.register(
            "closed_batches",
            "Batches that were closed",
            batches.clone(),
        );
        let public = PublicMetrics {
            registry,
            slots,
            shed,
            batches,
        };
        let mut registry = Registry::with_prefix("hushstream");
        let requests = Family::<RouteStatus, Counter>::default();
        let seconds = Histogram::new(exponential_buckets(0.000_25, 2.0, 16));
        let commits = Counter::default();
        let told = "Requests by route and status: operator only";
        registry.register("requests", told, requests.clone());
        let told = "Seconds of a request: operator only";
        registry.register("request_seconds", told, seconds.clone());
        registry.register("commits", "Durable commits of the store", commits.clone());
        // From 50 µs to a second, a quarter apart: fine enough to read percentiles from.
        let syncs = Histogram::new(exponential_buckets(0.000_05, 1.25, 45));
        let told = "Seconds of a sync of the store's file: operator only";
        registry.register("sync_seconds", told, syncs.clone());
        Self {
            public,
            operator: OperatorMetrics {
                registry,
                requests,
                seconds,
                commits,
                syncs,
            },
        }
    }
}

fn text(registry: &Registry) -> String {
    let mut text = String::new();
    // Writing to a text does not fail.
    let _ = encode(&mut text, registry);
    text
}

impl PublicMetrics {
    /// As Prometheus reads it.
    #[must_use]
    pub fn text(&self) -> String {
        text(&self.registry)
    }
}

impl OperatorMetrics {
    /// As Prometheus reads it.
    #[must_use]
    pub fn text(&self) -> String {
        text(&self.registry)
    }
}
