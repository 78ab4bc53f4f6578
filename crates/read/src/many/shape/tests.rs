//! Rows by their shapes: the same numbers as without, and no byte of another kind passes.

use super::super::tests::Dice;
use super::super::{Fields, Scales, Vectors, Words};
use super::*;

/// The way of any processor, made to use shapes.
#[derive(Clone, Copy)]
struct Slowly;

impl Vectors for Slowly {
    const SHUFFLES: bool = true;

    fn marks(self, bytes: &[u8; 64], byte: u8) -> u64 {
        Words.marks(bytes, byte)
    }

    fn numbers(
        self,
        words: &[u64; WIDTH],
        bits: &[u64; WIDTH],
        out: &mut [f64; WIDTH],
    ) -> [u64; WIDTH] {
        Words.numbers(words, bits, out)
    }
}

/// A row after others, read with what is known of them: where its numbers end, and those. What lies behind it is enough to be looked at in place, or not.
fn read(vectors: impl Vectors, fields: &mut Fields, row: &[u8], is_far: bool) -> (usize, Vec<u64>) {
    let scales = Scales::of([[0.0, 1.0, -1e9, 1e9]; MOST].into_iter());
    let behind = b"\n9,8,7".repeat(if is_far { 200 } else { 1 });
    let room = [row, &behind].concat();
    fields.find(vectors, (&room, row.len()), 0, b',', MOST);
    let mut out = vec![0.0; fields.count];
    let plain = fields.decode(vectors, &room, &scales, 0, &mut out);
    (plain, out[..plain].iter().map(|x| x.to_bits()).collect())
}

fn read_alone(row: &[u8]) -> (usize, Vec<u64>) {
    read(Words, &mut Fields::default(), row, false)
}

/// Rows that are like the one before, or unlike it in a single byte, are read as rows alone are. Gives how many were read by shapes.
fn like_rows_alone(vectors: impl Vectors, seed: u64) -> u32 {
    let mut dice = Dice(seed);
    let mut shaped = 0;
    for _ in 0..200 {
        let mut known = Fields::default();
        // Of every length and with the point anywhere, or without one.
        let widths: Vec<(usize, usize)> = (0..1 + dice.below(70))
            .map(|_| (1 + dice.below(8) as usize, dice.below(10) as usize))
            .collect();
        for _ in 0..60 {
            let mut row: Vec<u8> = Vec::new();
            for &(width, point) in &widths {
                for place in 0..width {
                    let digit = b'0' + dice.below(10) as u8;
                    let is_point = place == point && width > 1;
                    row.push(if is_point { b'.' } else { digit });
                }
                row.push(b',');
            }
            row.push(b'1');
            if dice.below(12) == 0 {
                let place = dice.below(row.len() as u64) as usize;
                row[place] = b"0123456789.-,/:x"[dice.below(16) as usize];
            }
            let before = known.shapes.served;
            let found = read(vectors, &mut known, &row, dice.below(2) == 0);
            shaped += u32::from(known.shapes.served > before);
            assert_eq!(found, read_alone(&row), "{row:?}");
        }
    }
    shaped
}

#[test]
fn rows_by_shape_are_read_like_rows_alone() {
    let slowly = like_rows_alone(Slowly, 5);
    assert!(slowly > 4000, "{slowly}");
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        assert_eq!(like_rows_alone(v3, 5), slowly);
    }
}

/// Every byte in every place of every field of a vector, and of the one behind it that is not whole.
fn see_every_byte(vectors: impl Vectors) {
    for text in ["0.1234", "12345678", "1.234567", "7", "12345.", ".5"] {
        let usual = format!("{text},{text},{text},{text},{text},1").into_bytes();
        for place in (0..usual.len() - 1).filter(|&place| usual[place] != b',') {
            for byte in (0..=255).filter(|&byte| byte != b',') {
                let mut row = usual.clone();
                row[place] = byte;
                let mut fields = Fields::default();
                read(vectors, &mut fields, &usual, true);
                assert!(fields.shapes.are_known());
                let found = read(vectors, &mut fields, &row, true);
                assert_eq!(found, read_alone(&row), "{text} {place} {byte}");
                let is_like =
                    byte == usual[place] || byte.is_ascii_digit() && usual[place].is_ascii_digit();
                assert_eq!(fields.shapes.served == 1, is_like, "{text} {place} {byte}");
            }
        }
    }
}

#[test]
fn every_byte_of_another_shape_is_seen() {
    see_every_byte(Slowly);
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        see_every_byte(v3);
    }
}

/// Shapes that never last are made ever more rarely; ones that do are made at once.
#[test]
fn what_does_not_last_is_not_made_again_at_once() {
    let mut fields = Fields::default();
    let mut made = 0;
    for round in 0..20_000 {
        let row: &[u8] = if round % 2 == 0 {
            b"1.25,2.5,1"
        } else {
            b"12.5,.25,1"
        };
        let before = fields.shapes.are_known();
        read(Slowly, &mut fields, row, false);
        made += u32::from(fields.shapes.are_known() && !before);
    }
    assert!((2..40).contains(&made), "{made}");
    for _ in 0..2 * PATIENCE {
        read(Slowly, &mut fields, b"12.5,.25,1", false);
    }
    // One that looks otherwise is passed, and the next is learned from.
    for (row, are_known) in [
        (b"1.25,2.5,1", false),
        (b"12.5,.25,1", true),
        (b"12.5,.25,1", true),
    ] {
        read(Slowly, &mut fields, row, false);
        assert_eq!(fields.shapes.are_known(), are_known);
    }
}

/// One row in twelve that looks otherwise costs itself and the one behind it.
#[test]
fn few_that_look_otherwise_do_not_spoil_it() {
    let mut fields = Fields::default();
    let mut shaped = 0;
    for round in 0..1000 {
        let odd = round % 12 == 5;
        let row: &[u8] = if odd { b"-1.5,.25,1" } else { b"12.5,.25,1" };
        let before = fields.shapes.served;
        read(Slowly, &mut fields, row, false);
        shaped += u32::from(fields.shapes.served > before);
    }
    assert!(shaped > 800, "{shaped}");
}
