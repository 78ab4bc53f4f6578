//! Convex sets on slices of floats: where an online learner's iterates live.
//!
//! A learner asks its set for one thing a round: the nearest point (`pftal`, `coco-p`), the lowest point in a direction
//! (`ftpl`), a point that is low *and near* (`coco-l`), a barrier (`scrible`), a net (`cover`) or all vertices (`exp2`). One
//! trait, [`ConvexSet`], has them all; what a set cannot do is a typed error, [`Unable`], that names the recipes the set
//! does serve. Everything here is geometry of public points: nothing in this crate sees data.
//!
//! Start with the example, then the file of your set: each file says what the set is, the formulas, what they cost, and why
//! they are right. Numbers are safe to calibrate with (diameters never too small, inner radii never too large), projections
//! return a bound on their own error, and every answer is a deterministic function of its arguments.
//!
//! ```
//! use hushstream_sets::{ConvexSet, FlowPolytope, SetError};
//!
//! // Routes from node 0 to node 3 over five roads; a point says how much traffic each road carries.
//! let routes = FlowPolytope::new(4, &[(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], 0, 3)?;
//! let mut best = [0.0; 5];
//! routes.minimise(&[1.0, 4.0, -2.0, 5.0, 1.0], &mut best)?; // a road may have a negative cost
//! assert_eq!(best, [1.0, 0.0, 1.0, 0.0, 1.0]);
//!
//! let mut traffic = [0.9, 0.3, 0.0, 0.7, 0.1]; // leaks: not a flow
//! let error = routes.project(&mut traffic)?; // the nearest flow, and how exact it is
//! assert!(routes.contains(&traffic, 1e-12) && error < 1e-7);
//! assert!((traffic[0] + traffic[1] - 1.0).abs() < 1e-12);
//! # Ok::<(), SetError>(())
//! ```
//!
//! | set | project | minimise | local oracle | barrier | net | vertices |
//! |---|---|---|---|---|---|---|
//! | [`Ball`] | ✓ | ✓ | ✓ | ✓ | ✓ | – |
//! | [`BoxSet`] | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ |
//! | [`Simplex`] | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ |
//! | [`L1Ball`] | ✓ | ✓ | ✓ | – | ✓ | ✓ |
//! | [`VertexPolytope`] | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ |
//! | [`HalfspacePolytope`] | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ |
//! | [`FlowPolytope`] | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ |
//! | [`UniformMatroid`] | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ |
//! | [`GraphicMatroid`] | ✓ | ✓ | ✓ | – | ✓ | ✓ |
//! | [`Spectrahedron`] | ✓ | ✓ | – | – | ✓ | – |
//! | [`Scaled`], [`Shifted`] | as inside | as inside | as inside | as inside | as inside | as inside |
//!
//! Nets and lists of vertices are for small sets and refuse large ones ([`SetError::TooMany`]); a `VertexPolytope` has its
//! barrier where its facets can be found, and its local oracle there or with a constant that you give.
//!
//! Constants of the local oracles, ‖x − p‖ ≤ ρ·r (k: dimension of the polytope, D: its diameter; [`DecomposedOracle`] has
//! the proof):
//!
//! | set | ρ |
//! |---|---|
//! | ball | 1 |
//! | box, L1 ball | √d |
//! | simplex | √(d/2) |
//! | flow polytope | √k·D |
//! | uniform matroid | D·max(√(k(d−k)/d), …), k-subsets of d: √(d/2) for k = 1 and even d, at most D·√d |
//! | graphic matroid | √m·r/2·D, m edges and rank r without bridges |
//! | polytopes by vertices or inequalities | computed from all facets |

mod affine_map;
mod ball;
mod barrier;
mod box_set;
mod caratheodory;
mod connected;
mod decomposed;
mod enumerate;
mod error;
mod facets;
mod flow_polytope;
mod graphic_matroid;
mod halfspace_polytope;
mod hull;
mod l1_ball;
mod local;
mod log_barrier;
mod moved;
mod net;
mod paths;
#[cfg(test)]
mod samples;
mod set;
mod simplex;
mod spectrahedron;
mod uniform_matroid;
mod vector;
mod vertex_polytope;
mod wolfe;

pub use ball::Ball;
pub use barrier::Barrier;
pub use box_set::BoxSet;
pub use decomposed::DecomposedOracle;
pub use error::{SetError, Unable};
pub use flow_polytope::FlowPolytope;
pub use graphic_matroid::GraphicMatroid;
pub use halfspace_polytope::HalfspacePolytope;
pub use l1_ball::L1Ball;
pub use local::{DirectOracle, LocalOracle};
pub use log_barrier::LogBarrier;
pub use moved::{Scaled, Shifted};
pub use net::NET_CAP;
pub use set::{Capability, ConvexSet, VERTEX_CAP};
pub use simplex::Simplex;
pub use spectrahedron::Spectrahedron;
pub use uniform_matroid::UniformMatroid;
pub use vector::all_finite;
pub use vertex_polytope::VertexPolytope;
