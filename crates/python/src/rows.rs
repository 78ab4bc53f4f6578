//! Rows of arrays and of mappings, in the order of an encoder's columns.

use crate::error::refused;
use hushstream::Value;
use hushstream::read::Nameless;
use numpy::ndarray::{ArrayView1, ArrayView2, Axis, Slice};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString};
use std::ops::Range;

/// Numbers that are copied at a time, while Python waits: a block of rows fits the cache.
const BLOCK: usize = 1 << 13;
/// Whole numbers up to here are exact as floats.
const EXACT: i64 = 1 << 53;

/// Columns of equal length: numbers, or places in a list of texts; NaN is a missing value.
pub(crate) struct Table<'py> {
    parts: Vec<Part<'py>>,
    texts: Vec<Option<Vec<String>>>,
    rows: usize,
}

enum Part<'py> {
    Column(PyReadonlyArray1<'py, f64>),
    Matrix(PyReadonlyArray2<'py, f64>),
}

impl Part<'_> {
    fn shape(&self) -> (usize, usize) {
        match self {
            Self::Column(column) => (column.as_array().len(), 1),
            Self::Matrix(matrix) => matrix.as_array().dim(),
        }
    }
}

impl<'py> Table<'py> {
    /// A table of float64 arrays side by side, each a column or a matrix of columns; `texts` has
    /// for every column the list that its numbers are places in, or nothing.
    pub(crate) fn new(
        parts: Vec<Bound<'py, PyAny>>,
        texts: Vec<Option<Vec<String>>>,
    ) -> PyResult<Self> {
        let part = |part: Bound<'py, PyAny>| {
            if let Ok(column) = part.cast::<PyArray1<f64>>() {
                return Ok(Part::Column(column.try_readonly()?));
            }
            let matrix = part
                .cast::<PyArray2<f64>>()
                .map_err(|_| refused("columns are arrays of float64 with one or two dimensions"))?;
            Ok(Part::Matrix(matrix.try_readonly()?))
        };
        let parts = parts.into_iter().map(part).collect::<PyResult<Vec<_>>>()?;
        let rows = parts.first().map_or(0, |part| part.shape().0);
        if parts.iter().any(|part| part.shape().0 != rows) {
            return Err(refused("columns of different lengths"));
        }
        let width: usize = parts.iter().map(|part| part.shape().1).sum();
        if texts.len() != width {
            return Err(refused("another number of columns than of their texts"));
        }
        Ok(Self { parts, texts, rows })
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Gives every block of rows, copied, with the number of its first row.
    pub(crate) fn blocks(
        &self,
        mut give: impl FnMut(usize, &Block<'_>) -> PyResult<()>,
    ) -> PyResult<()> {
        let width = self.texts.len().max(1);
        let height = (BLOCK / width).max(1);
        let mut numbers = vec![0.0; height * width];
        for first in (0..self.rows).step_by(height) {
            let last = (first + height).min(self.rows);
            let part_of = Slice::from(first..last);
            let numbers = &mut numbers[..(last - first) * width];
            let mut place = 0;
            let mut parts = self.parts.as_slice();
            while let Some(part) = parts.first() {
                if let Some(columns) = columns(parts, first..last) {
                    fill_some(&columns, numbers, place, width);
                    (place, parts) = (place + SOME, &parts[SOME..]);
                    continue;
                }
                match part {
                    Part::Column(column) => {
                        let column = column.as_array();
                        fill(column.slice_axis(Axis(0), part_of), numbers, place, width);
                        place += 1;
                    }
                    Part::Matrix(matrix) => {
                        let matrix = matrix.as_array();
                        fill_rows(matrix.slice_axis(Axis(0), part_of), numbers, place, width);
                        place += matrix.ncols();
                    }
                }
                parts = &parts[1..];
            }
            let block = Block {
                numbers,
                width,
                texts: &self.texts,
                is_plain: self.texts.iter().all(Option::is_none),
            };
            give(first, &block)?;
        }
        Ok(())
    }
}

/// Columns that are copied side by side: a line of the cache.
const SOME: usize = 8;

/// These rows of the next columns, if so many lie in memory as they are.
fn columns<'a>(parts: &'a [Part<'_>], rows: Range<usize>) -> Option<[&'a [f64]; SOME]> {
    let parts = parts.first_chunk::<SOME>()?;
    let mut columns = [[].as_slice(); SOME];
    for (part, column) in parts.iter().zip(&mut columns) {
        let Part::Column(array) = part else {
            return None;
        };
        *column = array.as_slice().ok()?.get(rows.clone())?;
    }
    Some(columns)
}

fn fill_some(columns: &[&[f64]; SOME], numbers: &mut [f64], place: usize, width: usize) {
    for (number, row) in numbers.chunks_exact_mut(width).enumerate() {
        let row = &mut row[place..place + SOME];
        for (slot, column) in row.iter_mut().zip(columns) {
            *slot = column[number];
        }
    }
}

fn fill(column: ArrayView1<'_, f64>, numbers: &mut [f64], place: usize, width: usize) {
    let rows = numbers.chunks_exact_mut(width);
    column
        .iter()
        .zip(rows)
        .for_each(|(value, row)| row[place] = *value);
}

fn fill_rows(matrix: ArrayView2<'_, f64>, numbers: &mut [f64], place: usize, width: usize) {
    let rows = numbers.chunks_exact_mut(width);
    for (values, row) in matrix.rows().into_iter().zip(rows) {
        let row = &mut row[place..place + values.len()];
        match values.as_slice() {
            Some(values) => row.copy_from_slice(values),
            None => values
                .iter()
                .zip(row)
                .for_each(|(value, slot)| *slot = *value),
        }
    }
}

/// Some rows, copied.
pub(crate) struct Block<'a> {
    numbers: &'a [f64],
    width: usize,
    texts: &'a [Option<Vec<String>>],
    is_plain: bool,
}

impl Block<'_> {
    pub(crate) fn rows(&self) -> usize {
        self.numbers.len() / self.width
    }

    /// The rows, if all columns are numbers.
    pub(crate) fn numbers(&self) -> Option<impl Iterator<Item = Nameless<'_>>> {
        let rows = self.numbers.chunks_exact(self.width);
        self.is_plain.then(|| rows.map(Nameless::Numbers))
    }

    /// Gives every row.
    pub(crate) fn each<E>(
        &self,
        mut give: impl FnMut(usize, Nameless<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = self.numbers.chunks_exact(self.width).enumerate();
        if self.is_plain {
            return rows.try_for_each(|(number, row)| give(number, Nameless::Numbers(row)));
        }
        let mut values = Vec::with_capacity(self.width);
        rows.try_for_each(|(number, row)| {
            values.clear();
            values.extend(row.iter().zip(self.texts).map(|(&number, texts)| {
                match texts {
                    None => Value::Number(number),
                    // No place, also where there is no such text.
                    Some(texts) => (number >= 0.0)
                        .then(|| texts.get(number as usize))
                        .flatten()
                        .map_or(Value::Missing, |text| Value::Text(text)),
                }
            }));
            give(number, Nameless::Values(&values))
        })
    }
}

/// A sparse matrix in rows, copied row by row.
pub(crate) struct Sparse<'py> {
    pub(crate) ends: PyReadonlyArray1<'py, i64>,
    pub(crate) indices: PyReadonlyArray1<'py, i64>,
    pub(crate) values: PyReadonlyArray1<'py, f64>,
}

impl Sparse<'_> {
    pub(crate) fn rows(&self) -> usize {
        self.ends.as_array().len().saturating_sub(1)
    }

    /// The entries of a row.
    pub(crate) fn row(&self, row: usize, entries: &mut Vec<(u32, f64)>) -> PyResult<()> {
        let broken = || refused("this is no sparse matrix in rows: its parts do not fit");
        let (ends, indices, values) = (
            self.ends.as_array(),
            self.indices.as_array(),
            self.values.as_array(),
        );
        let (start, end) = (ends[row], ends[row + 1]);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        let (start, end) = range
            .filter(|&(start, end)| start <= end && end <= indices.len() && end <= values.len())
            .ok_or_else(broken)?;
        entries.clear();
        for at in start..end {
            entries.push((
                u32::try_from(indices[at]).map_err(|_| broken())?,
                values[at],
            ));
        }
        Ok(())
    }
}

/// The value of a Python object: numbers, texts, booleans and None; what is none of these is no
/// value that can be read.
pub(crate) fn value<'a>(object: &'a Bound<'_, PyAny>) -> PyResult<Value<'a>> {
    if let Ok(float) = object.cast::<PyFloat>() {
        return Ok(Value::Number(float.value()));
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::Text(text.to_str()?));
    }
    if object.is_none() {
        return Ok(Value::Missing);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        // As Python writes them, and tables of pandas.
        return Ok(Value::Text(if truth.is_true() { "True" } else { "False" }));
    }
    if object.cast::<PyInt>().is_ok() {
        return match object.extract::<i64>() {
            Ok(whole) if (-EXACT..=EXACT).contains(&whole) => Ok(Value::Number(whole as f64)),
            // Too large to be exact: the package writes such numbers as texts.
            _ => Ok(Value::Number(object.extract().unwrap_or(f64::INFINITY))),
        };
    }
    // Numbers of numpy.
    match object.extract::<f64>() {
        Ok(number) => Ok(Value::Number(number)),
        Err(_) => Err(refused(
            "a value is a number, a text, a truth or None; convert others first",
        )),
    }
}

/// The fields of a mapping, in the order of these columns.
pub(crate) fn fields<'py>(
    row: &Bound<'py, PyDict>,
    columns: &[Py<PyString>],
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = row.py();
    let mut found = Vec::with_capacity(columns.len() + 2);
    for column in columns {
        match row.get_item(column.bind(py))? {
            Some(value) => found.push(value),
            None => {
                return Err(refused(format!(
                    "the row does not give `{}`: give every column, None where there is no value",
                    column.bind(py).to_str()?
                )));
            }
        }
    }
    if row.len() > columns.len() {
        for key in row.keys() {
            let is_known = |column: &Py<PyString>| key.eq(column.bind(py)).unwrap_or(false);
            if !columns.iter().any(is_known) {
                return Err(refused(format!(
                    "the row gives `{}`, which is no column of this model: leave it out",
                    key.str()?
                )));
            }
        }
    }
    Ok(found)
}
