//! Whole learners as targets: played through their public interface, attacked by what they publish.
//! One file a family of mechanisms; [`Target`] knows which.

mod batch;
mod contest;
mod decisions;
mod feedback;
mod iterate;
mod law;
mod list;
mod nodes;
mod scene;
mod selection;
mod sparse;
mod stage;
mod tables;
mod target;
mod values;

pub(crate) use law::Law;
pub(crate) use nodes::Nodes;
pub use target::Target;
