//! Buffered linear Toeplitz sums (BLT): a few buffers, and nearly the least noise that any
//! factorisation allows.
//!
//! The strategy is the lower-triangular Toeplitz matrix C with c_0 = 1 and c_k = Σ_j ω_j·θ_j^{k−1}:
//! an encoder needs one vector for each of 1 to 8 buffers, never O(n). Row t of Cx plus Gaussian
//! noise is released; prefix sums are post-processing, A·C⁻¹·(Cx + z), and carry noise A·C⁻¹·z.
//! (Dvijotham, McMahan, Pillutla, Steinke & Thakurta 2024, "Efficient and near-optimal noise
//! generation for streaming differential privacy"; the strategies with min-separation are McMahan &
//! Pillutla 2024.)
//!
//! The way through this module, in the order of a run:
//! 1. [`optimise()`] chooses [`BltParameters`] for a number of releases;
//! 2. [`DyadicBlt`] rounds them to dyadic numbers and states the sensitivity of *those*, rounded
//!    up;
//! 3. [`Layout`] picks the width of the integers and the guard bits, and [`DyadicBlt::inflation`]
//!    prices the floors;
//! 4. [`FixedBlt`] encodes integer vectors, exactly reproducibly; noise is added to its rows by the
//!    caller;
//! 5. [`BltDecoder`] turns released rows into prefix sums, in floating point.
//!
//! ```
//! use hushstream_mechanism::sums::blt::{BltDecoder, DyadicBlt, FixedBlt, Layout, optimise};
//!
//! let (releases, dimension) = (1 << 10, 2);
//! let blt = DyadicBlt::new(&optimise(releases, 4)?)?;
//! // Noise has standard deviation 2³⁰, and the grant says μ = 0.25: that is the room for one person's change.
//! let room = 0.25 * f64::from(1 << 30);
//! let bound = (room / blt.sensitivity(releases)) as i64;
//! let layout = Layout::choose(&blt, releases, dimension, bound, 1e-3 * room)?;
//! let inflation = blt.inflation(layout, releases, dimension);
//! let radius = ((room - inflation) / blt.sensitivity(releases)) as i64;
//!
//! let mut encoder = FixedBlt::open(&blt, layout, releases, dimension, radius)?;
//! let mut decoder = BltDecoder::new(blt.parameters(), dimension, layout.unit());
//! let (mut row, mut prefix) = ([0; 2], [0.0; 2]);
//! for item in [[3000, -5000], [4000, 5000]] {
//!     encoder.encode(&item, &mut row)?;
//!     // … the caller adds noise of standard deviation 2³⁰ lattice units to `row` here …
//!     decoder.step(&row.map(|y| y as f64), &mut prefix)?;
//! }
//! // Rows are rounded to whole units of the lattice here.
//! assert!((prefix[0] - 7000.0).abs() <= 1.0 && prefix[1].abs() <= 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod decode;
mod doubles;
mod dyadic;
mod error;
mod fixed;
mod geometric;
mod inverse;
mod layout;
mod objective;
mod optimise;
mod parameters;
mod participation;

pub use decode::{BltDecoder, DecodeError};
pub use dyadic::{DECAY_BITS, DyadicBlt, WEIGHT_BITS};
pub use error::BltError;
pub(crate) use fixed::RoundNoise;
pub use fixed::{EncodeError, FixedBlt};
pub use inverse::BltInverse;
pub use layout::{Layout, LayoutError, Width};
pub use optimise::optimise;
pub use parameters::{BltParameters, MAX_BUFFERS, MAX_RELEASES};
