//! Whole learners as targets: played through their public interface, attacked by what they publish.

mod contest;
mod interrupted;
mod nodes;
mod scene;
mod target;

pub(crate) use nodes::Nodes;
pub use target::Target;
