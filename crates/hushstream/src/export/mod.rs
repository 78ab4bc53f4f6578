//! A published model in the languages of other systems: SQL and ONNX.
//!
//! A model file is public, so a copy of it in another language is too. Both exports compute what
//! [`Model::predict`](crate::Model::predict) computes, up to rounding, from columns with the names
//! of the training data.
//!
//! ```
//! use hushstream::prelude::*;
//!
//! let schema: Schema = "target = 'late'\nbounds = { hour = [0, 24] }
//!     vocabulary = { carrier = ['AA', 'DL'] }".parse()?;
//! let mut run = Learner::classify()
//!     .schema(schema)
//!     .records(100)
//!     .budget(Budget::approx(1.0, 1e-6)?)
//!     .adjacency(ReplaceOne)
//!     .simulated(7)
//!     .start()?;
//! for i in 0..100 {
//!     let number = |i: i32| Value::Number(f64::from(i));
//!     run.learn(&[
//!         ("late", number(i % 2)),
//!         ("hour", number(i % 24)),
//!         ("carrier", Value::Text("AA")),
//!     ])?;
//! }
//! let model = run.model()?.into_value();
//! assert!(model.to_sql("flights", &["flight"])?.contains("FROM \"flights\""));
//! assert!(!model.to_onnx()?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod onnx;
mod sql;

use crate::error::{Result, refuse};
use crate::model::Model;
use hushstream_read::{Encoding, Space, TargetKind};

/// Where one number of a row comes from.
#[derive(Debug)]
enum Axis<'a> {
    /// A column between bounds, which become −1 and 1.
    Number {
        column: &'a str,
        low: f64,
        high: f64,
    },
    /// A column of texts.
    Category {
        column: &'a str,
        values: &'a [String],
    },
    /// Indicator columns, at most one of them set.
    Group(Vec<&'a str>),
}

/// The columns of a model as axes. Indicators of a group are one axis.
fn axes(model: &Model) -> Result<Vec<Axis<'_>>> {
    if model.policy.is_some() || *model.layout.target() == TargetKind::None {
        refuse!(
            "this model decides, or weights experts or arms: exports are for models that predict \
             a class or a number"
        );
    }
    let Space::Columns(columns) = model.layout.space() else {
        refuse!(
            "this model has hashed or numbered features: exports are for models of named columns"
        );
    };
    let mut axes = Vec::new();
    let mut groups: Vec<(u32, usize)> = Vec::new();
    for column in columns {
        let name = &*column.name;
        match &column.encoding {
            &Encoding::Number { low, high } => axes.push(Axis::Number {
                column: name,
                low,
                high,
            }),
            Encoding::Category { values } => axes.push(Axis::Category {
                column: name,
                values,
            }),
            Encoding::Indicator { group } => {
                let known = groups.iter().find(|(own, _)| own == group);
                if let Some(Axis::Group(members)) = known.and_then(|&(_, at)| axes.get_mut(at)) {
                    members.push(name);
                } else {
                    groups.push((*group, axes.len()));
                    axes.push(Axis::Group(vec![name]));
                }
            }
            _ => refuse!(
                "the column {name} is hashed or a date, which exports do not compute: learn from \
                 numbers and categories to export the model"
            ),
        }
    }
    Ok(axes)
}

/// Texts that mean a category: itself and, if it is a number, how numbers are written out.
fn spellings(value: &str) -> Vec<String> {
    let value = value.trim();
    let mut all = vec![value.to_owned()];
    let digits = value.trim_start_matches(['-', '+']).as_bytes();
    let is_code = matches!(digits, [b'0', b'0'..=b'9', ..]);
    let is_plain = value
        .bytes()
        .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if let (Ok(number), true, false) = (value.parse::<f64>(), is_plain, is_code)
        && number.abs() < 9e15
    {
        let number = number + 0.0;
        for text in [format!("{number}"), format!("{number:?}")] {
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    all
}

/// Cells of one table: which axes, and how many cells each bin counts.
struct Cells {
    /// First coordinate.
    first: usize,
    /// Number of cells.
    count: usize,
    places: Vec<Bins>,
}

/// A table's bins along one axis: ⌊code·scale + shift⌋.
struct Bins {
    axis: usize,
    scale: f64,
    shift: f64,
    stride: usize,
}

/// The tables of a model of curves and tables.
fn cells(map: &hushstream_mechanism::TableMap) -> Vec<Cells> {
    use hushstream_mechanism::Axis as Kind;
    let shape = map.shape();
    let tables = shape.tables.iter().enumerate().map(|(table, members)| {
        let mut stride = 1;
        let places = members.iter().enumerate().map(|(place, &axis)| {
            let here = stride;
            let (scale, shift) = match shape.axes[axis as usize] {
                Kind::Number { .. } => {
                    stride *= shape.bins as usize + 1;
                    let scale = f64::from(shape.bins) / 2.0;
                    let edges = map.edges(table, place);
                    (scale, 1.0 - edges.first().map_or(0.0, |edge| edge * scale))
                }
                Kind::Category { values } => {
                    stride *= values as usize + 1;
                    (1.0, 0.0)
                }
            };
            Bins {
                axis: axis as usize,
                scale,
                shift,
                stride: here,
            }
        });
        let range = map.table(table);
        Cells {
            first: range.start,
            count: range.len(),
            places: places.collect(),
        }
    });
    tables.collect()
}
