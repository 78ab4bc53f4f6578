//! Pairs of an index and a value: short ones are read in one go, any others word by word.
#![allow(clippy::unwrap_used)]

mod common;

use common::{open, rows};
use hushstream_read::Format;

/// Coordinates, or the fault, must be the same with zeros before an index and without them.
#[test]
fn short_pairs_are_the_same_as_long_ones() {
    let mut state = 1_u64;
    let mut dice = |sides: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    };
    let (mut read, mut refused) = (0, 0);
    for _ in 0..4000 {
        // Rarely, so that most of a row is read before a fault.
        let odd = [
            ":", ":1.2.3", ":nan", ":1e101", ":-", ":7x", ":1:2", ":0x1", ":1|", ":+", ":1e", "",
            ";1", "x", ".1",
        ];
        let mut pairs: Vec<(u64, String)> = Vec::new();
        let mut index = 0;
        for _ in 0..dice(9) {
            // Now and then again the same, or beyond the last.
            index += dice(12);
            let rest = match dice(40) {
                0 => odd[dice(odd.len() as u64) as usize].to_owned(),
                1 => format!(":{}e-{}", dice(1 << 30), dice(12)),
                2 => format!(":+{}.", dice(9)),
                3 => format!(":.{}", dice(1000)),
                4 => format!(":{}.{:018}", dice(9), dice(1 << 30)),
                5..20 => ":1".to_owned(),
                _ => format!(
                    ":{}{}.{:03}",
                    ["", "-"][dice(2) as usize],
                    dice(20),
                    dice(1000)
                ),
            };
            pairs.push((index + 1, rest));
        }
        let space = [" ", "\t", "  "][dice(3) as usize];
        let end = ["", " ", "\t "][dice(3) as usize];
        let text = |head: &str, zeros: usize| {
            let words = pairs
                .iter()
                .map(|(index, rest)| format!("{space}{index:0zeros$}{rest}"));
            head.to_owned() + &words.collect::<String>() + end
        };
        for (format, stated, head, tail) in [
            (
                Format::Libsvm,
                "norm = 1e9\ndimension = 60",
                "1",
                "# 2:3 x\n",
            ),
            (Format::Vw, "norm = 1e9\nhash_bits = 7", "1 |", "\n"),
        ] {
            // To VW, such a word is a name, and zeros are part of it.
            let is_name = |(_, rest): &(u64, String)| !rest.is_empty() && !rest.starts_with(':');
            if format == Format::Vw && pairs.iter().any(is_name) {
                continue;
            }
            let [short, long] = [0, 12].map(|zeros| {
                let text = text(head, zeros) + tail;
                let reader = open(format, stated, text.as_bytes()).unwrap();
                // Where the fault stands depends on the zeros; what it is does not.
                rows(reader).map_err(|error| {
                    let said = error.to_string();
                    said.rsplit(": ").next().unwrap().to_owned()
                })
            });
            assert_eq!(short, long, "{}", text(head, 0));
            if short.is_ok() {
                read += 1;
            } else {
                refused += 1;
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} {refused}");
}
