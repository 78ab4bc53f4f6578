//! Command-line names of the library's types.

use clap::ValueEnum;
use hushstream_account::Adjacency;
use hushstream_mechanism::sums::Noise;

/// A neighbouring relation.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum AdjacencyName {
    ReplaceOne,
    ZeroOut,
}

impl From<AdjacencyName> for Adjacency {
    fn from(name: AdjacencyName) -> Self {
        match name {
            AdjacencyName::ReplaceOne => Self::ReplaceOne,
            AdjacencyName::ZeroOut => Self::ZeroOut,
        }
    }
}

/// A noise distribution.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum NoiseName {
    Gaussian,
    Laplace,
    L2Laplace,
}

impl From<NoiseName> for Noise {
    fn from(name: NoiseName) -> Self {
        match name {
            NoiseName::Gaussian => Self::Gaussian,
            NoiseName::Laplace => Self::Laplace,
            NoiseName::L2Laplace => Self::L2Laplace,
        }
    }
}
