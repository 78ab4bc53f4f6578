//! A binary-tree sum as one would write it in an afternoon: exact integers, the product's samplers,
//! a public learner on top. No ledger, no journal, no boundary.

use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_arena::add;
use hushstream_learn::{DualAveraging, Learner};
use hushstream_mechanism::sums::{BinaryTree, Cover, Noise};
use hushstream_noise::{DiscreteLaplace, Instance, Key, L2Laplace, RoundedGaussian, Source};
use hushstream_sets::Ball;
use std::sync::Arc;

/// Standard deviation or scale of a node's integer noise.
pub(crate) const UNIT: u64 = 1 << 30;

/// A sum of vectors whose bound is 1.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handmade {
    pub(crate) noise: Noise,
    pub(crate) dimension: u32,
    /// Standard deviation or scale of a node's noise, in units of the bound.
    pub(crate) scale: f64,
}

impl Handmade {
    pub(crate) fn new(noise: Noise, dimension: u32, scale: f64) -> Self {
        Self {
            noise,
            dimension,
            scale,
        }
    }

    /// One coordinate.
    pub(crate) fn line(noise: Noise, scale: f64) -> Self {
        Self::new(noise, 1, scale)
    }

    /// The noise at an address, in units of the bound.
    pub(crate) fn node(&self, source: &Source, address: u64) -> Result<Vec<f64>, AuditError> {
        let mut noise = vec![0; self.dimension as usize];
        match self.noise {
            Noise::Gaussian => RoundedGaussian::STANDARD.fill(source, address, 0, &mut noise),
            Noise::Laplace => DiscreteLaplace::new(UNIT)?.fill(source, address, 0, &mut noise),
            Noise::L2Laplace => {
                L2Laplace::new(self.dimension, UNIT)?.fill(source, address, 0, &mut noise);
            }
        }
        let unit = self.scale / UNIT as f64;
        Ok(noise.into_iter().map(|value| value as f64 * unit).collect())
    }

    /// Values with the noise at an address.
    pub(crate) fn onto(
        &self,
        source: &Source,
        address: u64,
        mut values: Vec<f64>,
    ) -> Result<Vec<f64>, AuditError> {
        add(&mut values, self.node(source, address)?);
        Ok(values)
    }

    /// Release t of a stream of numbers, over the nodes of the binary tree; `address` may spoil a
    /// node's address.
    pub(crate) fn release(
        &self,
        source: &Source,
        items: &[f64],
        t: u64,
        address: impl Fn(u64) -> u64,
    ) -> Result<f64, AuditError> {
        let mut sum: f64 = items.iter().take(usize::try_from(t).unwrap_or(0)).sum();
        for term in BinaryTree.terms(t) {
            sum += self.node(source, address(term.node))?[0];
        }
        Ok(sum)
    }

    /// The releases 1 to n, as a public learner's iterates show them: read back, since inside its
    /// set dual averaging is −sum/t.
    pub(crate) fn publish(
        &self,
        source: &Source,
        items: &[f64],
        n: u64,
        address: impl Fn(u64, u64) -> u64,
    ) -> Result<Vec<f64>, AuditError> {
        let mut learner = DualAveraging::new(Arc::new(Ball::new(1, 1e12)?), 1.0)?;
        (1..=n)
            .map(|t| {
                let sum = self.release(source, items, t, |node| address(node, t))?;
                learner.observe(&[sum])?;
                Ok(-(t as f64) * learner.iterate()[0])
            })
            .collect()
    }
}

/// A duel made of functions; `play` gets the generator of its run.
struct HandmadeDuel<P, L> {
    name: &'static str,
    play: P,
    likelihood: L,
}

impl<P, L> Duel for HandmadeDuel<P, L>
where
    P: Fn(World, &Source) -> Result<Vec<f64>, AuditError> + Sync,
    L: Fn(&[f64]) -> Option<f64> + Sync,
{
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let key = Key::insecure_from_seed(seed);
        (self.play)(world, &Source::open(&key, Instance::from_bytes([0; 16]), 1))
    }

    fn likelihood(&self, seen: &[f64]) -> Option<f64> {
        (self.likelihood)(seen)
    }
}

/// A duel with a likelihood of its own.
pub(crate) fn scored(
    name: &'static str,
    play: impl Fn(World, &Source) -> Result<Vec<f64>, AuditError> + Sync + 'static,
    likelihood: impl Fn(&[f64]) -> Option<f64> + Sync + 'static,
) -> Box<dyn Duel> {
    Box::new(HandmadeDuel {
        name,
        play,
        likelihood,
    })
}

/// A duel without one.
pub(crate) fn duel(
    name: &'static str,
    play: impl Fn(World, &Source) -> Result<Vec<f64>, AuditError> + Sync + 'static,
) -> Box<dyn Duel> {
    scored(name, play, |_| None)
}

/// A stream of zeros with the canary, ±1, at the given places from 1.
pub(crate) fn ones(length: u64, places: &[u64], world: World) -> Vec<f64> {
    let mut items = vec![0.0; length as usize];
    for &place in places {
        items[place as usize - 1] = world.sign();
    }
    items
}
