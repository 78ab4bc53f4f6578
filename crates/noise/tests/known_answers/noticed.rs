//! The comparisons with known answers can fail.

use crate::gaussian::{BYTES_FINE, BYTES_ROUNDED};
use crate::vectors::{Gaussian, Place, vectors};
use hushstream_noise::{DiscreteLaplace, Dyadic, L2Laplace};

/// A changed value, a neighbouring address, another source or another parameter makes the
/// comparison fail in every family.
#[test]
fn a_wrong_answer_is_noticed() {
    let mut vectors = vectors();

    let known = vectors.rounded_gaussian.pop().unwrap();
    let source = vectors.open(&known.place);
    let draws = known.draw_rounded(&source, known.place.node);
    assert!(known.holds(&draws, BYTES_ROUNDED));
    assert!(known.sha256.is_some(), "the last run is a long one");
    for at in [0, known.count - 1] {
        let mut planted = draws.clone();
        planted[at] += 1;
        assert!(!known.holds(&planted, BYTES_ROUNDED));
    }
    assert!(!known.holds(
        &known.draw_rounded(&source, known.place.node ^ 1),
        BYTES_ROUNDED
    ));
    let neighbour = Gaussian {
        first: known.first - 1,
        ..known
    };
    let draws = neighbour.draw_rounded(&source, neighbour.place.node);
    assert!(!neighbour.holds(&draws, BYTES_ROUNDED));

    let known = vectors.fine_gaussian.pop().unwrap();
    let source = vectors.open(&Place {
        source: (known.place.source + 1) % vectors.sources.len(),
        ..known.place
    });
    assert!(!known.holds(&known.draw_fine(&source, known.place.node), BYTES_FINE));

    let known = &vectors.discrete_laplace[0];
    let source = vectors.open(&known.place);
    let mut draws = vec![0; known.values.len()];
    let law = DiscreteLaplace::new(known.scale + 1).unwrap();
    law.fill(&source, known.place.node, known.first, &mut draws);
    assert_ne!(draws, known.values);

    let known = vectors.l2_laplace.last().unwrap();
    let source = vectors.open(&known.place);
    let mut draws = vec![0; known.values.len()];
    // One dimension more: the same directions, another length.
    let law = L2Laplace::new(known.dimension.unwrap() + 1, known.scale).unwrap();
    law.fill(&source, known.place.node, known.first, &mut draws);
    assert_ne!(draws, known.values);

    let known = &vectors.coin[0];
    let source = vectors.open(&known.place);
    let mut neighbour = source.cursor(known.place.node, known.lane + 1);
    assert_ne!(known.toss(&mut neighbour), known.tosses);

    let known = &vectors.exponential_choice[0];
    let source = vectors.open(&known.place);
    let mut cursor = source.cursor(known.place.node, known.lane);
    let steeper = Dyadic::from_f64(0.5).unwrap();
    assert_ne!(known.draw(steeper, &mut cursor), known.drawn);
}
