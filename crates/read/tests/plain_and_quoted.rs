//! Quotes around a field change nothing.
#![allow(clippy::unwrap_used)]

mod common;

use common::{open, rows};
use hushstream_read::Format;

/// Numbers below so many, the same ones at every run.
fn dice(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |sides| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % sides
    }
}

/// Coordinates, or the fault and its place, must be the same.
#[test]
fn quoted_fields_are_the_same_as_plain_ones() {
    let (columns, mut dice) = (90, dice(1));
    let names: Vec<String> = (0..columns).map(|i| format!("x{i}")).collect();
    let stated = "target = 'y'\n[bounds]\n'x*' = [-3, 9]";
    let (mut read, mut refused) = (0, 0);
    for _ in 0..300 {
        let header = format!("{},y\n", names.join(","));
        let mut texts = [header.clone(), header];
        for _ in 0..1 + dice(4) {
            let mut row: Vec<String> = (0..columns)
                .map(|_| match dice(60) {
                    0 => String::new(),
                    1 => format!("{}e-7", dice(1 << 30)),
                    2 => format!("{}.{:09}", dice(9), dice(1 << 29)),
                    3 if dice(20) == 0 => "1.2.3".to_owned(),
                    4..20 => dice(12).to_string(),
                    _ => format!(
                        "{}{}.{:04}",
                        ["", "-"][dice(2) as usize],
                        dice(8),
                        dice(10_000)
                    ),
                })
                .collect();
            row.push(dice(2).to_string());
            texts[0] += &(row.join(",") + "\n");
            texts[1] += &format!("\"{}\"\n", row.join("\",\""));
        }
        let [plain, quoted] = texts.map(|text| {
            let reader = open(Format::Csv, stated, text.as_bytes()).unwrap();
            rows(reader).map_err(|error| error.to_string())
        });
        assert_eq!(plain, quoted);
        if plain.is_ok() {
            read += 1;
        } else {
            refused += 1;
        }
    }
    assert!(read > 50 && refused > 20, "{read} {refused}");
}
