//! Whole learners as targets: played through their public interface, attacked by what they publish.

mod contest;
mod interrupted;
mod iterate;
mod nodes;
mod scene;
mod sparse;
mod target;

pub(crate) use nodes::Nodes;
pub use target::Target;
