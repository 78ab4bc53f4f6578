//! Rows from Arrow batches: the same bits as from a CSV.

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Float64Array, Int64Array, RecordBatch,
    StringArray,
};
use hushstream::prelude::*;
use std::fmt::Write;
use std::sync::Arc;

const SCHEMA: &str = "names = ['day', 'stops', 'hour', 'wind', 'late']\ntarget = 'late'\nbounds = { hour = [0, 24], wind = [0, 50], stops = [0, 9] }\n\
                      vocabulary = { day = ['mo', 'tu'] }";

fn described() -> Learner {
    Learner::classify()
        .schema(SCHEMA.parse().unwrap())
        .records(60)
        .budget(Budget::approx(1.0, 1e-6).unwrap())
        .adjacency(ReplaceOne)
        .recipe(RecipeName::PftalConvex)
        .batch(4)
        .simulated(7)
}

/// Missing values, 32-bit floats and integers included.
fn batch(from: i64, rows: i64) -> RecordBatch {
    let each = || from..from + rows;
    let hour = each().map(|i| (i % 7 != 3).then_some(24.0 * (i as f64 * 0.37).fract()));
    let wind = each().map(|i| 0.1 * i as f32);
    let day = each().map(|i| if i % 3 == 0 { "mo" } else { "tu" });
    RecordBatch::try_from_iter([
        (
            "day",
            Arc::new(StringArray::from_iter_values(day)) as ArrayRef,
        ),
        (
            "stops",
            Arc::new(Int64Array::from_iter_values(each().map(|i| i % 4))),
        ),
        ("hour", Arc::new(Float64Array::from_iter(hour))),
        ("wind", Arc::new(Float32Array::from_iter_values(wind))),
        (
            "late",
            Arc::new(BooleanArray::from_iter(each().map(|i| Some(i % 2 == 0)))),
        ),
    ])
    .unwrap()
}

fn csv() -> String {
    let mut text = String::new();
    for i in 0..60_i64 {
        let hour = if i % 7 == 3 {
            String::new()
        } else {
            (24.0 * (i as f64 * 0.37).fract()).to_string()
        };
        let (day, wind) = (if i % 3 == 0 { "mo" } else { "tu" }, 0.1 * i as f32);
        writeln!(text, "{day},{},{hour},{wind},{}", i % 4, i % 2 == 0).unwrap();
    }
    text
}

#[test]
fn batches_are_learned_as_a_csv_of_them() {
    let mut run = described().start().unwrap();
    for (from, rows) in [(0, 1), (1, 30), (31, 29)] {
        run.learn_arrow(&batch(from, rows)).unwrap();
    }
    let of_batches = run.model().unwrap().into_value();
    let folder = tempfile::tempdir().unwrap();
    let (file, model) = (
        folder.path().join("rows.csv"),
        folder.path().join("model.json"),
    );
    std::fs::write(&file, csv()).unwrap();
    described()
        .model(&model)
        .learn_file(file.to_str().unwrap())
        .unwrap();
    let (of_csv, _) = Model::read(&model).unwrap();
    let bits = |model: &Model| {
        model
            .weights
            .iter()
            .map(|w| w.to_bits())
            .collect::<Vec<_>>()
    };
    assert_eq!(bits(&of_batches), bits(&of_csv));
    assert!(of_batches.weights.iter().any(|weight| weight.abs() > 0.0));
}

#[test]
fn types_that_are_no_values_are_refused_before_a_row_is_learned() {
    let mut run = described().start().unwrap();
    let good = batch(0, 2);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("day", good.column(0).clone()),
        ("stops", Arc::new(Date32Array::from(vec![1, 2]))),
        ("hour", good.column(2).clone()),
        ("wind", good.column(3).clone()),
        ("late", good.column(4).clone()),
    ];
    let dates = RecordBatch::try_from_iter(columns.clone()).unwrap();
    let refused = run.learn_arrow(&dates).unwrap_err().to_string();
    assert!(
        refused.contains("column stops") && refused.contains("Date32"),
        "{refused}"
    );
    assert_eq!(run.records(), 0);
    // A column that the schema does not name is refused, as in a file.
    columns[1].1 = good.column(1).clone();
    columns.push(("gate", good.column(0).clone()));
    let other = RecordBatch::try_from_iter(columns).unwrap();
    let refused = run.learn_arrow(&other).unwrap_err().to_string();
    assert!(refused.contains("gate"), "{refused}");
    assert_eq!(run.records(), 0);
}
