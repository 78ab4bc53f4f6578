//! Rows from Arrow record batches.

use crate::error::{Result, refuse};
use crate::run::Run;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use hushstream_read::{Fields, Value};

/// Whole numbers up to here are exact as floats.
const EXACT: u64 = 1 << 53;

/// One row of a batch.
struct BatchRow<'a> {
    batch: &'a RecordBatch,
    row: usize,
}

/// Booleans, numbers and texts, as a CSV of the batch has them: an `f32` is the number that its
/// shortest text is, and whole numbers that no float holds are texts.
fn give(column: &dyn Array, row: usize, give: &mut dyn FnMut(Value<'_>)) {
    macro_rules! whole {
        ($kind:ty) => {{
            let whole = column.as_primitive::<$kind>().value(row);
            if u64::try_from(i128::from(whole).unsigned_abs()).is_ok_and(|size| size <= EXACT) {
                give(Value::Number(whole as f64));
            } else {
                give(Value::Text(&whole.to_string()));
            }
        }};
    }
    if column.is_null(row) {
        return give(Value::Missing);
    }
    match column.data_type() {
        DataType::Boolean => give(column.as_boolean().value(row).into()),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::Int64 => whole!(Int64Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => whole!(UInt64Type),
        DataType::Float32 => {
            let text = column.as_primitive::<Float32Type>().value(row).to_string();
            give(Value::Number(text.parse().unwrap_or(f64::NAN)));
        }
        DataType::Float64 => give(Value::Number(
            column.as_primitive::<Float64Type>().value(row),
        )),
        DataType::Utf8 => give(Value::Text(column.as_string::<i32>().value(row))),
        DataType::LargeUtf8 => give(Value::Text(column.as_string::<i64>().value(row))),
        DataType::Utf8View => give(Value::Text(column.as_string_view().value(row))),
        // Refused before.
        _ => give(Value::Missing),
    }
}

impl Fields for BatchRow<'_> {
    fn each(&self, take: &mut dyn FnMut(&str, Value<'_>)) {
        let schema = self.batch.schema_ref();
        for (field, column) in schema.fields().iter().zip(self.batch.columns()) {
            give(column, self.row, &mut |value| take(field.name(), value));
        }
    }
}

impl Run {
    /// Learns from every row of an Arrow record batch, as [`Run::learn`] does: the same bits as
    /// from a CSV of the batch. Columns are found by name, and a null is a missing value. The
    /// coordinates of the model are in the order of the schema's `names`, if it states them.
    ///
    /// ```
    /// use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch};
    /// use hushstream::prelude::*;
    /// use std::sync::Arc;
    ///
    /// let mut run = Learner::classify()
    ///     .schema("target = 'late'\nbounds = { hour = [0, 24] }".parse()?)
    ///     .records(100)
    ///     .budget(Budget::approx(1.0, 1e-6)?)
    ///     .adjacency(ReplaceOne)
    ///     .simulated(7)
    ///     .start()?;
    /// let batch = RecordBatch::try_from_iter([
    ///     ("hour", Arc::new(Float64Array::from(vec![6.5, 18.0])) as ArrayRef),
    ///     ("late", Arc::new(BooleanArray::from(vec![false, true]))),
    /// ])?;
    /// run.learn_arrow(&batch)?;
    /// assert_eq!(run.records(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A column of another type than booleans, numbers and texts, before any row is learned; as
    /// [`Run::learn`], after the rows before.
    pub fn learn_arrow(&mut self, batch: &RecordBatch) -> Result<()> {
        for field in batch.schema_ref().fields() {
            let kind = field.data_type();
            let is_text = matches!(
                kind,
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
            );
            let is_number =
                kind.is_integer() || matches!(kind, DataType::Float32 | DataType::Float64);
            if !is_text && !is_number && *kind != DataType::Boolean {
                refuse!(
                    "column {} of the batch is of type {kind}; allowed: booleans, integers, \
                     Float32, Float64 and texts: cast it first",
                    field.name()
                );
            }
        }
        (0..batch.num_rows()).try_for_each(|row| self.learn(&BatchRow { batch, row }))
    }
}
