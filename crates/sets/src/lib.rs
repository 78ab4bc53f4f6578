//! Convex sets on slices of floats: the feasible sets of online learners.
//!
//! A learner needs one operation of its set per round: the nearest point (`pftal`, `coco-p`), the
//! lowest point in a direction (`ftpl`), a point that is low *and near* (`coco-l`), a barrier
//! (`scrible`), a net (`cover`) or all vertices (`exp2`). The trait [`ConvexSet`] has them all. A
//! missing capability is a typed error, [`Unable`], that names the recipes the set serves.
//! Everything here is geometry of public points: nothing in this crate sees data.
//!
//! Start with the example, then read the file of your set: each file gives the definition, the
//! formulas, their cost and their proofs. Numbers are safe for calibration (diameters never too
//! small, inner radii never too large), projections return a bound on their own error, and every
//! answer is a deterministic function of its arguments.
//!
//! ```
//! use hushstream_sets::{ConvexSet, FlowPolytope, SetError};
//!
//! // Routes from node 0 to node 3 over five roads; a point is the traffic on each road.
//! let routes = FlowPolytope::new(4, &[(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], 0, 3)?;
//! let mut best = [0.0; 5];
//! routes.minimise(&[1.0, 4.0, -2.0, 5.0, 1.0], &mut best)?; // a road may have a negative cost
//! assert_eq!(best, [1.0, 0.0, 1.0, 0.0, 1.0]);
//!
//! let mut traffic = [0.9, 0.3, 0.0, 0.7, 0.1]; // leaks: not a flow
//! let error = routes.project(&mut traffic)?; // the nearest flow, and a bound on the error
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
//!
//! [`Moved`], a set that is scaled or shifted, has the capabilities of its inner set. Nets and
//! lists of vertices are for small sets; large ones are refused ([`SetError::TooMany`]). A
//! `VertexPolytope` has a barrier and a local oracle if its facets can be computed; a local oracle
//! also with a constant that you supply.
//!
//! Constants of the local oracles, ‖x − p‖ ≤ ρ·r (k: dimension of the polytope, D: its diameter;
//! [`DecomposedOracle`] has the proof):
//!
//! | set | ρ |
//! |---|---|
//! | ball | 1 |
//! | box, L1 ball | √d |
//! | simplex | √(d/2) |
//! | flow polytope | √k·D |
//! | uniform matroid, k of d | D·max(√(k(d−k)/d), …) ≤ D·√d; √(d/2) for k = 1 and even d |
//! | graphic matroid | √m·r/2·D, m edges and rank r without bridges |
//! | polytopes by vertices or inequalities | computed from all facets |

mod ball;
mod barrier;
mod box_set;
mod decomposed;
mod enumerate;
mod error;
mod facets;
mod flow_polytope;
mod graphic_matroid;
mod halfspace_polytope;
mod hull;
mod image;
mod l1_ball;
mod local;
mod log_barrier;
mod moved;
mod net;
mod paths;
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
pub use image::Image;
pub use l1_ball::L1Ball;
pub use local::LocalOracle;
pub use moved::Moved;
pub use net::NET_CAP;
pub use set::{Capability, ConvexSet, Flat, Shape, VERTEX_CAP};
pub use simplex::Simplex;
pub use spectrahedron::Spectrahedron;
pub use uniform_matroid::UniformMatroid;
pub use vector::{
    all_finite, check, check_length, check_not_negative, check_positive, dot, square_and_dot,
};
pub use vertex_polytope::VertexPolytope;

/// Deterministic random numbers for tests.
#[cfg(test)]
mod samples {
    /// SplitMix64, and normal numbers from twelve uniform ones.
    #[derive(Debug, Clone)]
    pub(crate) struct Draws(u64);

    impl Draws {
        pub(crate) fn new(seed: u64) -> Self {
            Self(seed)
        }

        pub(crate) fn uniform(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut bits = self.0;
            bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((bits ^ (bits >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }

        pub(crate) fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }

        pub(crate) fn normals(&mut self, count: usize) -> Vec<f64> {
            (0..count).map(|_| self.normal()).collect()
        }
    }
}
