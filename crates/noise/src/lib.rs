//! Exact integer noise from a keyed, addressable generator.
//!
//! A privacy proof is about real numbers; a computer draws from finite sets, and the gap between
//! the two has broken floating-point mechanisms before. This crate closes the gap in two steps:
//!
//! 1. **Everything is an integer.** For an integer query q, q + round(Z) = round(q + Z): adding
//!    *rounded* noise to an integer is post-processing of the ideal continuous mechanism, so its
//!    exact guarantee carries over.
//! 2. **The law is the stated law**, exactly or up to a total-variation slack of at most 2⁻⁹⁶ per
//!    draw (L2-Laplace: per coordinate of a whole node). Each sampler states its slack as a
//!    number, and the accountant adds it.
//!
//! All bits come from a 256-bit [`Key`] through AES-256 in counter mode, *addressed* by (instance,
//! mechanism, node, coordinate): noise is a pure function of its address. It can be regenerated
//! instead of stored, a replay is bit-identical, and a sparse read touches only its own
//! coordinates. In return, no address may be used for two contents. This crate cannot
//! check that; the layer that owns the data does, and a [`Recorder`] lets an audit of simulated
//! runs verify it.
//!
//! ```
//! use hushstream_noise::{Instance, Key, RoundedGaussian, Source};
//!
//! let key = Key::from_os()?;
//! let source = Source::open(&key, Instance::from_os()?, 1);
//! let mut noise = [0_i64; 54];
//! RoundedGaussian::STANDARD.fill(&source, 7, 0, &mut noise); // node 7, coordinates 0..54
//! let mut again = [0_i64; 4];
//! RoundedGaussian::STANDARD.fill(&source, 7, 50, &mut again); // coordinates 50..54, drawn alone
//! assert_eq!(noise[50..], again);
//! # Ok::<(), hushstream_noise::NoiseError>(())
//! ```
//!
//! | sampler | law | slack per draw |
//! |---|---|---|
//! | [`RoundedGaussian`] | round(2³⁰·N(0,1)) | 2⁻¹¹² |
//! | [`FineGaussian`] | ⌊2³⁰⁺ᶠ·N(0,1)⌋ | 2⁻¹¹² |
//! | [`L2Laplace`] | round(v), density of v ∝ e^(−‖v‖₂/c) | d·2⁻¹¹⁰ per node |
//! | [`DiscreteLaplace`] | P(k) ∝ e^(−\|k\|/b) | exact |
//! | [`Coin`] | probability p/q, or e^(−p/q) | exact |
//! | [`ExponentialChoice`] | P(i) ∝ e^(−γ·penalty_i) | exact |
//!
//! "Exact" and every slack are relative to ideal bits: that AES-256 stands in for them is a
//! computational assumption (see [`Source`]), so pure differential privacy is computational,
//! as with any generator.

mod choice;
mod coin;
mod error;
mod exponential;
mod gaussian;
mod key;
mod l2_laplace;
mod laplace;
mod recorder;
mod source;

pub use choice::{Dyadic, ExponentialChoice};
pub use coin::Coin;
pub use error::NoiseError;
pub use gaussian::{FineGaussian, LISTED, RoundedGaussian, Scattered};
pub use key::{Instance, Key};
pub use l2_laplace::L2Laplace;
pub use laplace::DiscreteLaplace;
pub use recorder::{Address, Recorder};
pub use source::{Cursor, Source};
