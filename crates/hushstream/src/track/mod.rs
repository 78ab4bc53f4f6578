//! Running statistics: counts, sums, means, histograms and quantiles by group, published at every
//! tick of a public clock.
//!
//! One record adds one vector, formed inside the boundary
//! ([`Statistics`](hushstream_mechanism::Statistics)). One continual sum releases it at every tick,
//! for one charge. Everything else is a function of releases: spans of ticks, means, quantiles,
//! values that fit together, and their intervals.

mod asked;
mod book;
mod clock;
mod estimates;
mod file;
mod plan;
mod running;
mod tables;
mod tracker;

pub use asked::{Asked, OTHER};
pub use clock::{By, parse_time};
pub use estimates::Estimate;
pub use file::Tracked;
pub use plan::{Share, TrackPlan};
pub use running::{RunningCount, RunningHistogram, RunningMean, RunningSum};
pub use tables::{Span, Table, TableRow};
pub use tracker::{CommittedTable, Tracker, Tracking};
