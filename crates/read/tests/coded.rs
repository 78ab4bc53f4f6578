//! Coded records: one number per axis, the same whatever the rows came from.
#![allow(clippy::unwrap_used)]

mod common;

use common::{open, rows, schema};
use hushstream_mechanism::losses::Features;
use hushstream_read::{AxisKind, Encoder, Format, Row, Value};

const STATED: &str = "target = 'y'\none_hot = ['wage_low|wage_high']\nmissing = ['-9']
    [bounds]\nage = [0, 90]\n[vocabulary]\njob = ['clerk', 'cook']\n[hashed]\ncity = 3";
/// In the order in which the schema names them, which is that of objects.
const HEADER: [&str; 6] = ["age", "job", "city", "wage_low", "wage_high", "y"];
const ROWS: [[&str; 6]; 6] = [
    ["0", "clerk", "Rome", "1", "0", "1"],
    ["90", "cook", "Oslo", "0", "1", "0"],
    ["45", "baker", "Rome", "0", "0", "1"],
    ["-9", "", "", "1", "0", "0"],
    ["200", "cook", "Rome", "0", "1", "1"],
    ["-45", "clerk", "Bonn", "0", "1", "0"],
];

/// Values to the last bit; one NaN is as good as another.
fn bits(values: &[f64]) -> Vec<Option<u64>> {
    let known = |value: &f64| (!value.is_nan()).then(|| value.to_bits());
    values.iter().map(known).collect()
}

#[test]
fn axes_are_columns_and_groups() {
    let reader = open(Format::Csv, STATED, (HEADER.join(",") + "\n").as_bytes()).unwrap();
    let layout = reader.layout().coded().unwrap();
    assert!(layout.is_coded() && !reader.layout().is_coded());
    let axes = layout.axes();
    let names: Vec<&str> = axes.iter().map(|axis| &*axis.name).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(layout.dimension(), 4);
    assert!(matches!(axes[0].kind, AxisKind::Number { low, high } if (low, high) == (0.0, 90.0)));
    assert!(matches!(&axes[1].kind, AxisKind::Category(values) if values == &["clerk", "cook"]));
    assert!(matches!(axes[2].kind, AxisKind::Hashed(3)));
    assert!(matches!(&axes[3].kind, AxisKind::Category(values) if values.len() == 2));
    // A coded layout is stored with a model, and comes back.
    let stored = serde_json::to_string(&layout).unwrap();
    let again: hushstream_read::Layout = serde_json::from_str(&stored).unwrap();
    assert_eq!(again, layout);
}

#[test]
fn tables_objects_and_programs_give_the_same_codes() {
    let table = ROWS.map(|row| row.join(",")).join("\n");
    let table = format!("{}\n{table}\n", HEADER.join(","));
    let of_table = rows(
        open(Format::Csv, STATED, table.as_bytes())
            .unwrap()
            .coded()
            .unwrap(),
    )
    .unwrap();
    let objects: String = ROWS
        .iter()
        .map(|row| {
            let fields = HEADER.iter().zip(row).map(|(name, value)| {
                let is_number = value.parse::<f64>().is_ok();
                let value = match (value.is_empty(), is_number) {
                    (true, _) => "null".to_owned(),
                    (_, true) => (*value).to_owned(),
                    _ => format!("\"{value}\""),
                };
                format!("\"{name}\": {value}")
            });
            format!("{{{}}}\n", fields.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let of_objects = rows(
        open(Format::JsonLines, STATED, objects.as_bytes())
            .unwrap()
            .coded()
            .unwrap(),
    )
    .unwrap();
    let mut encoder = Encoder::new(&schema(STATED)).unwrap().coded().unwrap();
    for (((row, (codes, target)), (again, other)), text) in
        (0..).zip(&of_table).zip(&of_objects).zip(ROWS)
    {
        let fields = HEADER.iter().zip(text).map(|(name, text)| {
            let value = match text.parse() {
                Ok(number) => Value::Number(number),
                Err(_) if text.is_empty() => Value::Missing,
                Err(_) => Value::Text(text),
            };
            (*name, value)
        });
        let fields: Vec<_> = fields.collect();
        let mut open = Row::default();
        encoder.row(&fields[..], &mut open).unwrap();
        let Features::Dense(program) = &open.features else {
            panic!("coded records are dense");
        };
        assert_eq!(bits(codes), bits(again), "row {row}");
        assert_eq!(bits(codes), bits(program), "row {row}");
        assert_eq!((target, target), (other, &open.target), "row {row}");
    }
    let codes: Vec<Vec<f64>> = of_table.into_iter().map(|(codes, _)| codes).collect();
    // Scaled to the bounds and clipped to them; places of values; NaN for what is missing.
    let first = |axis: usize| -> Vec<f64> { codes.iter().map(|codes| codes[axis]).collect() };
    let nan = f64::NAN;
    assert_eq!(bits(&first(0)), bits(&[-1.0, 1.0, 0.0, nan, 1.0, -1.0]));
    assert_eq!(bits(&first(1)), bits(&[0.0, 1.0, nan, nan, 1.0, 0.0]));
    assert_eq!(bits(&first(3)), bits(&[0.0, 1.0, nan, 0.0, 1.0, 1.0]));
    let hashed = first(2);
    assert!(hashed[3].is_nan());
    assert!(bits(&hashed)[0] == bits(&hashed)[2] && bits(&hashed)[0] == bits(&hashed)[4]);
    assert!(
        hashed
            .iter()
            .all(|code| code.is_nan() || (0.0..8.0).contains(code))
    );
}

#[test]
fn some_records_have_no_codes() {
    let stated = "task = 'experts'\nfeatures = ['a', 'b']\nbounds = { '*' = [0, 1] }";
    let reader = open(Format::Csv, stated, b"a,b\n0,1\n").unwrap();
    assert!(reader.layout().coded().is_none() && reader.coded().is_err());
    let reader = open(Format::Vw, "hash_bits = 4\nnorm = 1", b"1 | a\n").unwrap();
    assert!(reader.coded().is_err());
}
