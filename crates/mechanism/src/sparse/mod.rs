//! A private linear learner over millions of hashed features, at the price of the few that a record
//! has.
//!
//! **The idea.** Dual averaging moves every weight by a public function of the released prefix sum
//! at its own coordinate: w_t,j = φ(ŝ_t,j). Noise of the binary tree is addressed, so the released
//! ŝ_t,j = S_t,j + Σ noise(node, j) can be computed for the coordinates of one record alone:
//! O(nnz·log T) work in place of O(d).
//!
//! **Claim.** The mechanism is the binary tree on d coordinates ([`crate::sums::SumKind::Tree`],
//! Gaussian noise), with its guarantee.
//!
//! **Proof.** Define the full release: all d coordinates of every noisy prefix sum, t = 1 … n. It
//! has the tree's guarantee against adaptive streams. The question put to record t is w_t, a
//! function of releases before t; this code computes the coordinates of w_t where the record is not
//! zero, and the gradient depends on no other. So what enters the sum is what a machine that holds
//! the full release would enter, and everything that leaves ([`SparseLearner::model`]) is a
//! function of the full release. For that to be true of *this* code:
//! 1. every read adds all noises of the cover, also where no record ever had a feature: there is no
//!    default, no slot made on first touch;
//! 2. the rule φ is public and depends on one coordinate: no counts of features, no scales learned
//!    from data, no projection of touched coordinates;
//! 3. touched coordinates, the amount of noise drawn, caches and times are never revealed; the
//!    prediction for a record is for its operator only;
//! 4. a model is computed from all d coordinates. To make it sparse, weights are dropped *after*
//!    the noise ([`Model::thresholded`]). ∎
//!
//! **Caches** hold noise of nodes that live long, which is a function of addresses; they change no
//! value, only time.
//!
//! **Cost.** A record with k features: k·popcount(t) draws without caches; memory 8d bytes and the
//! caches.

mod cache;
mod fit;
mod learner;
mod model;
mod rate;
mod rule;

pub use cache::CACHE_BYTES;
pub use fit::SparseError;
pub use learner::{SparseLearner, SparsePlan, Weights};
pub use model::Model;
pub use rate::Balance;
pub use rule::Rule;
