//! Discrete Laplace and L2-Laplace draws.

use crate::vectors::vectors;
use hushstream_noise::{DiscreteLaplace, L2Laplace};

#[test]
fn discrete_laplace() {
    let vectors = vectors();
    for known in &vectors.discrete_laplace {
        let source = vectors.open(&known.place);
        let mut draws = vec![0; known.values.len()];
        DiscreteLaplace::new(known.scale).unwrap().fill(
            &source,
            known.place.node,
            known.first,
            &mut draws,
        );
        assert_eq!(
            draws, known.values,
            "scale {} first {}",
            known.scale, known.first
        );
    }
}

#[test]
fn l2_laplace() {
    let vectors = vectors();
    for known in &vectors.l2_laplace {
        let source = vectors.open(&known.place);
        let dimension = known.dimension.unwrap();
        let mut draws = vec![0; known.values.len()];
        L2Laplace::new(dimension, known.scale).unwrap().fill(
            &source,
            known.place.node,
            known.first,
            &mut draws,
        );
        assert_eq!(
            draws, known.values,
            "dimension {dimension} scale {}",
            known.scale
        );
    }
}
