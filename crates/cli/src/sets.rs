//! Command-line names of the sets of weights: one of a few shapes, or a file.

use crate::set_file;
use anyhow::{Result, bail};
use clap::ValueEnum;
use hushstream_mechanism::losses::LossSet;
use hushstream_sets::{Ball, BoxSet, ConvexSet, L1Ball, Simplex, Spectrahedron};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Where linear losses lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LossesName {
    /// Every coordinate between −1 and 1.
    Box,
    /// Vectors of length at most 1.
    Ball,
    /// Vectors whose absolute values sum to at most 1.
    L1Ball,
}

impl LossesName {
    /// The set, of this radius.
    pub(crate) fn of_radius(self, radius: f64) -> LossSet {
        match self {
            Self::Box => LossSet::Box(-radius, radius),
            Self::Ball => LossSet::Ball(radius),
            Self::L1Ball => LossSet::L1Ball(radius),
        }
    }

    /// The set, of radius 1.
    pub(crate) fn unit(self) -> LossSet {
        self.of_radius(1.0)
    }
}

/// The set of the weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SetName {
    /// Vectors of length at most the radius.
    Ball,
    /// Vectors whose coordinates lie within ± the radius.
    Box,
    /// Probabilities.
    Simplex,
    /// Vectors whose absolute values sum to at most the radius.
    L1Ball,
    /// Density matrices, as n(n+1)/2 coordinates.
    Spectrahedron,
    /// The set that a file describes.
    File(String),
}

impl SetName {
    const SHAPES: [(&'static str, Self); 5] = [
        ("ball", Self::Ball),
        ("box", Self::Box),
        ("simplex", Self::Simplex),
        ("l1-ball", Self::L1Ball),
        ("spectrahedron", Self::Spectrahedron),
    ];

    /// The number of coordinates, where the set itself decides it.
    pub(crate) fn own_dimension(&self) -> Result<Option<usize>> {
        match self {
            Self::File(path) => Ok(Some(set_file::read(path)?.dimension())),
            _ => Ok(None),
        }
    }

    /// Builds the set. A simplex and a spectrahedron have no radius.
    pub(crate) fn build(&self, dim: usize, radius: Option<f64>) -> Result<Arc<dyn ConvexSet>> {
        let size = radius.unwrap_or(1.0);
        if radius.is_some() && matches!(self, Self::Simplex | Self::Spectrahedron | Self::File(_)) {
            bail!("--radius is not for this set: it has its own size");
        }
        Ok(match self {
            Self::Ball => Arc::new(Ball::new(dim, size)?),
            Self::Box => Arc::new(BoxSet::cube(dim, size)?),
            Self::Simplex => Arc::new(Simplex::new(dim)?),
            Self::L1Ball => Arc::new(L1Ball::new(dim, size)?),
            Self::Spectrahedron => {
                let found = (2..=1024).find(|n| n * (n + 1) / 2 == dim);
                let Some(rows) = found else {
                    bail!(
                        "--dim {dim} is not allowed for a spectrahedron; \
                         allowed: n(n+1)/2, such as 3, 6, 10, 15"
                    );
                };
                Arc::new(Spectrahedron::new(rows)?)
            }
            Self::File(path) => {
                let set = set_file::read(path)?;
                if set.dimension() != dim {
                    bail!(
                        "{path} has {} coordinates: state --dim {0}",
                        set.dimension()
                    );
                }
                set
            }
        })
    }
}

impl fmt::Display for SetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = Self::SHAPES.iter().find(|(_, shape)| shape == self);
        f.write_str(match (self, shape) {
            (Self::File(path), _) => path,
            (_, shape) => shape.map_or("", |(name, _)| name),
        })
    }
}

impl FromStr for SetName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let shape = Self::SHAPES.iter().find(|(known, _)| *known == name);
        match shape {
            Some((_, shape)) => Ok(shape.clone()),
            None if name.contains('.') || name.contains('/') => Ok(Self::File(name.to_owned())),
            None => Err(format!(
                "no set is called {name}; there are: ball, box, simplex, l1-ball, spectrahedron, \
                 or the name of a file, such as roads.set"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_a_set_of_its_dimension() {
        for (_, name) in SetName::SHAPES {
            let set = name.build(6, None).unwrap();
            assert_eq!(set.dimension(), 6);
        }
        let wide = SetName::Box.build(4, Some(3.0)).unwrap();
        assert!((wide.diameter() - 12.0).abs() < 1e-12);
        assert!(SetName::Simplex.build(6, Some(2.0)).is_err());
        assert!(SetName::Spectrahedron.build(7, None).is_err());
        assert!(SetName::Ball.build(3, Some(-1.0)).is_err());
    }
}
