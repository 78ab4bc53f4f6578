//! Rows that were never in a file are encoded as the same rows of a table.
#![allow(clippy::unwrap_used)]

mod common;

use common::{open, schema};
use hushstream_mechanism::losses::Features;
use hushstream_read::{Encoder, Fault, Format, Nameless, ReadError, Row, Value};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashMap};

/// What can be seen of a sealed record: the person, whether it was longer, whether it is malformed.
type Seen = (Option<u64>, bool, bool);

/// Coordinates and target, to the last bit.
type Bits = (Vec<(u32, u64)>, Option<u64>);

fn bits(row: &Row) -> Bits {
    let entries = match &row.features {
        Features::Dense(values) => (0..).zip(values.iter().map(|v| v.to_bits())).collect(),
        Features::Sparse(entries) => entries.iter().map(|(i, v)| (*i, v.to_bits())).collect(),
    };
    (entries, row.target.map(f64::to_bits))
}

/// The rows of a table, sealed and in the open.
fn of_table(stated: &str, text: &str) -> Vec<(Seen, Result<Bits, Fault>)> {
    let mut sealed = open(Format::Csv, stated, text.as_bytes()).unwrap();
    let mut plain = open(Format::Csv, stated, text.as_bytes()).unwrap();
    let mut all = Vec::new();
    while let Some(record) = sealed.next_record().unwrap() {
        let mut row = Row::default();
        let read = plain.next_row(&mut row).map(|_| bits(&row));
        all.push((seen(&record), read.map_err(|error| error.fault)));
    }
    all
}

fn seen(sealed: &hushstream_read::Sealed) -> Seen {
    (
        sealed.person,
        *sealed.was_longer.for_the_operator(),
        *sealed.is_malformed.for_the_operator(),
    )
}

fn value(text: &str) -> Value<'_> {
    match text.parse() {
        // Texts that a number is not written as stay texts.
        Ok(number) if f64::to_string(&number) == text => Value::Number(number),
        _ if text.is_empty() => Value::Missing,
        _ => Value::Text(text),
    }
}

#[test]
fn maps_give_the_records_of_the_same_table() {
    let wide = "target = 'y'\nperson = 'who'\nignore = ['note']\nnorm = 1.5\nmissing = ['-9']
        [bounds]\nage = [0, 90]\nwage = [-1, 1]\n[vocabulary]\njob = ['clerk', 'cook', '7']
        [hashed]\ncity = 7";
    let narrow = "target = 'y'\ntask = 'regress'\ntarget_bounds = [0, 4]\nmissing_target = 'null'
        one_hot = ['wage']\nignore = ['note']\nperson = 'who'
        [bounds]\nage = [0, 90]\n[vocabulary]\njob = ['clerk', 'cook']\ncity = ['Rome']";
    let header = ["who", "age", "wage", "job", "city", "note", "y"];
    let rows = [
        ["ann", "45", "0.25", "clerk", "Rome", "x", "1"],
        ["bob", "-9", "1e3", " cook ", "17", "", "0"],
        ["", "200", "-0", "7.0", "Oslo", "x", "1"],
        ["ann", "", "NaN", "baker", "", "x", "1.0"],
        ["eve", "old", "0", "cook", "Rome", "x", "0"],
        ["eve", "30", "inf", "cook", "Rome", "x", "0"],
        ["eve", "30", "0.1", "cook", "Rome", "x", "perhaps"],
        ["eve", "30", "0.1", "cook", "Rome", "x", ""],
        ["eve", "true", "0.1", "cook", "Rome", "x", "true"],
    ];
    for stated in [wide, narrow] {
        let lines = rows.map(|row| row.join(",")).join("\n");
        let expected = of_table(stated, &format!("{}\n{lines}\n", header.join(",")));
        // The order of the columns, which a table takes from its header.
        let named = format!("names = {header:?}\n{stated}");
        let mut encoder = Encoder::new(&schema(&named)).unwrap();
        assert_eq!(rows.len(), expected.len());
        for (row, (seen_there, read)) in rows.iter().zip(expected) {
            let mut fields: Vec<_> = header.iter().copied().zip(row.map(value)).collect();
            assert_eq!(
                seen(&encoder.record(&fields[..]).unwrap()),
                seen_there,
                "{row:?}"
            );
            fields.reverse();
            let map: HashMap<_, _> = fields.iter().copied().collect();
            assert_eq!(seen(&encoder.record(&map).unwrap()), seen_there, "{row:?}");
            let map: BTreeMap<_, _> = fields.into_iter().collect();
            let mut open = Row::default();
            let found = encoder.row(&map, &mut open).map(|()| bits(&open));
            assert_eq!(found.map_err(|error| error.fault), read, "{row:?}");
        }
    }
}

#[test]
fn numbers_in_the_order_of_the_columns() {
    let stated = "names = ['a', 'b', 'y']\ntarget = 'y'\nbounds = { '*' = [0, 4] }";
    let mut encoder = Encoder::new(&schema(stated)).unwrap();
    let columns: Vec<&str> = encoder.columns().iter().map(|name| &**name).collect();
    assert_eq!(columns, ["a", "b", "y"]);
    let malformed = |encoder: &mut Encoder, numbers: &[f64]| {
        let sealed = encoder.record(numbers)?;
        Ok::<bool, ReadError>(*sealed.is_malformed.for_the_operator())
    };
    assert!(!malformed(&mut encoder, &[1.0, f64::NAN, 0.0]).unwrap());
    assert!(malformed(&mut encoder, &[f64::INFINITY, 1.0, 0.0]).unwrap());
    assert!(malformed(&mut encoder, &[1.0, 1.0, 7.0]).unwrap());
    let short = malformed(&mut encoder, &[1.0, 1.0]).unwrap_err();
    assert_eq!(short.to_string(), "the row ends after 2 of 3 columns");
    let long = malformed(&mut encoder, &[1.0; 4]).unwrap_err();
    assert_eq!(long.to_string(), "the row goes on after its 3 columns");
}

#[test]
fn wrong_names_are_errors_and_wrong_values_are_empty_records() {
    let stated = "target = 'y'\nbounds = { age = [0, 90] }";
    let mut encoder = Encoder::new(&schema(stated)).unwrap();
    let (age, y) = (("age", Value::Number(3.0)), ("y", Value::Number(1.0)));
    let refused = |encoder: &mut Encoder, fields: &[(&str, Value<'_>)]| {
        let error = encoder.record(fields).err().unwrap();
        error.to_string()
    };
    assert_eq!(
        refused(&mut encoder, &[age, y, ("agee", Value::Missing)]),
        "no column is named `agee`, which the row names; is it `age`?"
    );
    assert!(refused(&mut encoder, &[y]).starts_with("the row does not give `age`"));
    assert!(refused(&mut encoder, &[age]).starts_with("the row does not give `y`"));
    assert!(refused(&mut encoder, &[age, y, y]).starts_with("a key that the object already has"));
    // One wrong row spoils no other.
    assert_eq!(
        seen(&encoder.record(&[y, age]).unwrap()),
        (None, false, false)
    );
    for text in ["x", "\0", "1e999"] {
        let sealed = encoder.record(&[y, ("age", Value::Text(text))]).unwrap();
        assert_eq!(seen(&sealed), (None, false, true), "{text:?}");
    }
    // In the open, and for a model: a target is welcome.
    let mut encoder = Encoder::with_layout(encoder.layout(), &[]).unwrap();
    let mut row = Row::default();
    encoder.row(&[age], &mut row).unwrap();
    assert_eq!(row.target, None);
    let error = encoder.row(&[("age", Value::Text("x"))], &mut row);
    assert_eq!(error.unwrap_err().fault, Fault::NotANumber);
}

/// A person has one name, or none: a float that may have lost digits names nobody, and the record
/// is empty. Otherwise a column that one missing value turned into floats would rename everybody in
/// it.
#[test]
fn a_number_that_is_not_exact_names_no_person() {
    let stated = schema("target = 'y'\nperson = 'who'\n[bounds]\nage = [0, 90]");
    let mut encoder = Encoder::new(&stated).unwrap();
    let mut name = |who: Value<'_>| {
        let row = [
            ("age", Value::Number(3.0)),
            ("who", who),
            ("y", Value::Number(1.0)),
        ];
        seen(&encoder.record(&row[..]).unwrap())
    };
    let exact = name(Value::Text("1234567890123456789"));
    let (float, nobody) = (
        name(Value::Number(1_234_567_890_123_456_789_i64 as f64)),
        name(Value::Text("no\0body")),
    );
    assert!(!exact.2 && float.2 && nobody.2);
    assert_eq!(float.0, nobody.0);
    let last = (1_i64 << 53) - 1;
    assert_eq!(
        name(Value::Number(last as f64)),
        name(Value::Text(&last.to_string()))
    );
    assert!(name(Value::Number(-9_007_199_254_740_992.0)).2);
}

/// Numbers that a column may hold by mistake, or at an edge.
const STRANGE: [f64; 12] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    5e-324,
    -2.5e-310,
    0.0,
    -0.0,
    f64::MAX,
    -1e300,
    1.0,
    -1.0,
    1e19,
];

proptest! {
    /// Rows of numbers are scaled all at once, and one by one where they are values: the same bits,
    /// lengths and faults, however long the row is. Memory of earlier records changes nothing.
    #[test]
    fn rows_of_numbers_are_rows_of_values(
        values in proptest::collection::vec(-1.5..1.5_f64, 1..=200),
        strange in proptest::collection::vec((0_usize..200, 0_usize..STRANGE.len()), 0..3),
        target in prop_oneof![Just(0.0), Just(1.0), Just(-1.0), Just(0.5), Just(f64::NAN)],
        norm in prop_oneof![Just(None), Just(Some(1.0)), Just(Some(1e6))],
        (low, high) in prop_oneof![Just((-1.0, 1.0)), Just((-0.25, 3.0)), Just((0.0, 1e-3))],
        spare in prop_oneof![Just(0_usize), Just(7), Just(300)],
    ) {
        let mut numbers = values;
        for (place, which) in strange {
            let count = numbers.len();
            numbers[place % count] = STRANGE[which];
        }
        let norm = norm.map_or(String::new(), |norm: f64| format!("norm = {norm:?}\n"));
        let names: Vec<String> = (0..numbers.len()).map(|i| format!("'x{i}', ")).collect();
        let stated = format!(
            "target = 'y'\n{norm}names = [{}'y']\n[bounds]\n'x*' = [{low:?}, {high:?}]",
            names.concat()
        );
        numbers.push(target);
        let given: Vec<Value<'_>> = numbers.iter().map(|number| Value::Number(*number)).collect();
        let mut encoder = Encoder::new(&schema(&stated)).unwrap();
        encoder.reuse(vec![3.0; spare]);
        let mut read = |row: Nameless<'_>| {
            let sealed = seen(&encoder.record(&row).unwrap());
            let mut open = Row::default();
            let read = encoder.row(&row, &mut open).map(|()| bits(&open));
            (sealed, read.map_err(|error| error.fault))
        };
        let together = read(Nameless::Numbers(&numbers));
        prop_assert_eq!(&together, &read(Nameless::Values(&given)));
        prop_assert_eq!(together, read(Nameless::Numbers(&numbers)));
    }
}
