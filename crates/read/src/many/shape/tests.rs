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

/// A row after others, read with what is known of them: where its numbers end, and those.
fn read(vectors: impl Vectors, fields: &mut Fields, row: &str) -> (usize, Vec<u64>) {
    let scales = Scales::of([[0.0, 1.0, -1e9, 1e9]; MOST].into_iter());
    let room = format!("{row}\n9,8,7");
    fields.find(vectors, (room.as_bytes(), row.len()), 0, b',', MOST);
    let mut out = vec![0.0; fields.count];
    let plain = fields.decode(vectors, room.as_bytes(), &scales, 0, &mut out);
    (plain, out[..plain].iter().map(|x| x.to_bits()).collect())
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
            let row = String::from_utf8(row).unwrap();
            let before = known.shapes.served;
            let found = read(vectors, &mut known, &row);
            shaped += u32::from(known.shapes.served > before);
            assert_eq!(found, read(Words, &mut Fields::default(), &row), "{row}");
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

/// Every byte in every place of a field whose shape is known.
fn see_every_byte(vectors: impl Vectors) {
    for text in ["0.1234", "12345678", "1.234567", "7", "12345.", ".5"] {
        for place in 0..text.len() {
            for byte in (0..=127).filter(|&byte| byte != b',') {
                let mut other = text.as_bytes().to_vec();
                let usual = std::mem::replace(&mut other[place], byte);
                let row = format!("{},{text},1", String::from_utf8(other).unwrap());
                let mut fields = Fields::default();
                read(vectors, &mut fields, &format!("{text},{text},1"));
                assert!(fields.shapes.are_known());
                let alone = read(Words, &mut Fields::default(), &row);
                assert_eq!(read(vectors, &mut fields, &row), alone, "{row}");
                let is_like = byte == usual || byte.is_ascii_digit() && usual.is_ascii_digit();
                assert_eq!(fields.shapes.served == 1, is_like, "{row}");
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
        let row = if round % 2 == 0 {
            "1.25,2.5,1"
        } else {
            "12.5,.25,1"
        };
        let before = fields.shapes.are_known();
        read(Slowly, &mut fields, row);
        made += u32::from(fields.shapes.are_known() && !before);
    }
    assert!((2..40).contains(&made), "{made}");
    for _ in 0..2 * PATIENCE {
        read(Slowly, &mut fields, "12.5,.25,1");
    }
    for row in ["1.25,2.5,1", "1.25,2.5,1"] {
        assert!(fields.shapes.are_known());
        read(Slowly, &mut fields, row);
    }
    assert!(fields.shapes.are_known());
}
