//! The BLT encoder's refusals and restarts, and that it reveals nothing of the data.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use hushstream_mechanism::sums::blt::{DyadicBlt, EncodeError, FixedBlt, Layout, Width, optimise};

const WIDTHS: [Width; 2] = [Width::Double, Width::Wide];

fn open(width: Width, n: u64, dimension: usize, radius: i64) -> FixedBlt {
    let blt = DyadicBlt::new(&optimise(1 << 20, 4).unwrap()).unwrap();
    FixedBlt::open(&blt, Layout::new(width, 16), n, dimension, radius).unwrap()
}

#[test]
fn refusals_change_nothing() {
    for width in WIDTHS {
        let mut encoder = open(width, 2, 2, 10);
        let mut row = [0; 2];
        encoder.encode(&[10, -10], &mut row).unwrap();
        let before = encoder.state();
        for bad in [[11, 0], [0, -11], [i64::MIN, 0], [i64::MAX, 0]] {
            assert_eq!(
                encoder.encode(&bad, &mut row),
                Err(EncodeError::Radius { radius: 10 })
            );
        }
        assert_eq!(
            encoder.encode(&[0], &mut row),
            Err(EncodeError::Length {
                given: 1,
                wanted: 2
            })
        );
        assert_eq!(
            encoder.encode(&[0, 0], &mut [0]),
            Err(EncodeError::Length {
                given: 1,
                wanted: 2
            })
        );
        assert_eq!((encoder.used(), encoder.state()), (1, before));
        encoder.encode(&[0, 0], &mut row).unwrap();
        assert_eq!(
            encoder.encode(&[0, 0], &mut row),
            Err(EncodeError::Exhausted { releases: 2 })
        );
    }
}

/// Wherever it stands among whole fours and what is left over.
#[test]
fn a_coordinate_beyond_the_radius_is_seen_at_every_place() {
    for width in WIDTHS {
        for dimension in [1, 4, 5, 9] {
            let mut encoder = open(width, 1, dimension, 10);
            let mut row = vec![0; dimension];
            for place in 0..dimension {
                for bad in [11, -11, i64::MIN, i64::MAX] {
                    let mut item = vec![10; dimension];
                    item[place] = bad;
                    let refused = encoder.encode(&item, &mut row);
                    assert_eq!(refused, Err(EncodeError::Radius { radius: 10 }));
                }
            }
            encoder.encode(&vec![-10; dimension], &mut row).unwrap();
        }
    }
}

#[test]
fn a_restored_run_continues_bit_for_bit() {
    for width in WIDTHS {
        let mut encoder = open(width, 100, 3, 1000);
        let (mut row, mut other) = ([0; 3], [0; 3]);
        let item = |t: i64| [t * 17 % 1001, -(t * 31 % 1000), 1000];
        for t in 0..40 {
            encoder.encode(&item(t), &mut row).unwrap();
        }
        let mut copy = open(width, 100, 3, 1000);
        copy.restore(encoder.used(), &encoder.state()).unwrap();
        for t in 40..100 {
            encoder.encode(&item(t), &mut row).unwrap();
            copy.encode(&item(t), &mut other).unwrap();
            assert_eq!(row, other);
        }
        let state = encoder.state();
        assert_eq!(copy.restore(101, &state), Err(EncodeError::State));
        assert_eq!(
            copy.restore(1, &state),
            Err(EncodeError::State),
            "one step cannot reach that far"
        );
        assert_eq!(copy.restore(0, &state), Err(EncodeError::State));
        assert_eq!(
            copy.restore(1, &state[1..]),
            Err(EncodeError::Length {
                given: 11,
                wanted: 12
            })
        );
    }
}

#[test]
fn debug_shows_no_data() {
    for width in WIDTHS {
        let mut encoder = open(width, 2, 1, 123_456);
        encoder.encode(&[98_765], &mut [0]).unwrap();
        let text = format!("{encoder:?}");
        assert!(
            !text.contains("98765") && !text.contains(&encoder.state()[0].to_string()),
            "{text}"
        );
    }
}
