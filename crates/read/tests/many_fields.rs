//! Tables of numbers, read many fields at a time.
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

/// Quoted fields are read one by one, plain ones many at a time: coordinates, or the fault and its place, must be the same.
#[test]
fn many_fields_at_a_time_are_the_same_as_one_by_one() {
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

/// Rows that look alike but for their digits are read by what the one before looked like: they, and the few among them that look otherwise, must be what they are one by one. Tables are narrow, wide,
/// longer than what is looked at together, and with a column in the middle that is no number.
#[test]
fn rows_that_look_alike_are_the_same_as_one_by_one() {
    let mut dice = dice(2);
    let mut read = 0;
    for round in 0..200 {
        let columns = [5, 54, 130, 300][round % 4];
        let middle = (round % 3 == 0).then_some(columns / 2);
        let tabs = round % 5 == 0;
        let (format, delimiter) = if tabs {
            (Format::Tsv, "\t")
        } else {
            (Format::Csv, ",")
        };
        let line_break = ["\n", "\r\n"][round % 2];
        let name = |i| {
            let letter = if middle == Some(i) { 'w' } else { 'x' };
            format!("{letter}{i}")
        };
        let names: Vec<String> = (0..columns).map(name).collect();
        let header = format!("{}{delimiter}y{line_break}", names.join(delimiter));
        let decimals: Vec<usize> = (0..columns).map(|_| dice(7) as usize).collect();
        let mut texts = [header.clone(), header];
        for _ in 0..80 {
            let odd = dice(30 * columns as u64);
            let mut row: Vec<String> = (0_u64..)
                .zip(&decimals)
                .map(|(i, &digits)| match dice(10_000_000) {
                    _ if middle == Some(i as usize) => "word".to_owned(),
                    number if i == odd => ["", "-1.5", "12.25", "1e-2", "0.1234567890", "-0.0"]
                        [number as usize % 6]
                        .to_owned(),
                    number => {
                        let number = format!("{number:07}");
                        format!("{}.{}", &number[..1], &number[7 - digits.min(6)..])
                    }
                })
                .collect();
            row.push(dice(2).to_string());
            texts[0] += &(row.join(delimiter) + line_break);
            let between = format!("\"{delimiter}\"");
            texts[1] += &format!("\"{}\"{line_break}", row.join(&between));
        }
        let ignored = middle.map_or("", |_| "ignore = ['w*']\n");
        // Also bounds around zero, of which it is the middle.
        let low = [-3, -9][round / 2 % 2];
        let stated = format!("target = 'y'\n{ignored}[bounds]\n'x*' = [{low}, 9]");
        let [plain, quoted] = texts.map(|text| {
            let reader = open(format, &stated, text.as_bytes()).unwrap();
            rows(reader).map_err(|error| error.to_string()).unwrap()
        });
        // As text, which tells zeros of either sign apart.
        assert_eq!(format!("{plain:?}"), format!("{quoted:?}"), "{round}");
        read += plain.len();
    }
    assert_eq!(read, 200 * 80);
}
