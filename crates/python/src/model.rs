//! A released model for Python.

use crate::error::{broken, raised, refused};
use crate::rows::{Sparse, Table, fields, value};
use crate::run::{json, told};
use hushstream::Value;
use hushstream::read::{Encoder, Encoding, Nameless, Row, Space, TargetKind};
use hushstream::target::Target;
use hushstream_pictures::fragment;
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::path::PathBuf;
use std::sync::Mutex;

type Linear<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// A released model, which may be published.
#[pyclass(module = "hushstream._native", frozen)]
pub(crate) struct Model {
    model: hushstream::Model,
    /// None for models of experts and arms.
    encoder: Option<Mutex<Encoder>>,
    columns: Vec<Py<PyString>>,
}

impl Model {
    pub(crate) fn new(py: Python<'_>, model: hushstream::Model) -> PyResult<Self> {
        let encoder = Encoder::with_layout(&model.layout, &model.names).ok();
        let target = model.layout.target_column().map(str::to_owned);
        let columns = encoder.iter().flat_map(Encoder::columns);
        let columns = columns
            .filter(|name| Some(&***name) != target.as_deref())
            .map(|name| PyString::intern(py, name).unbind())
            .collect();
        Ok(Self {
            columns,
            encoder: encoder.map(Mutex::new),
            model,
        })
    }

    fn outputs(&self) -> usize {
        let dimension = match &self.model.tables {
            Some(map) => map.dimension(),
            None => self.model.layout.dimension(),
        };
        self.model.weights.len() / dimension.max(1)
    }

    /// Scores of rows, one row after the other.
    fn scored(
        &self,
        rows: usize,
        each: impl FnOnce(&mut dyn FnMut(usize, Nameless<'_>) -> PyResult<()>) -> PyResult<()>,
    ) -> PyResult<Array2<f64>> {
        let encoder = self.encoder.as_ref().ok_or_else(|| {
            refused("this model predicts no target from columns: see its weights")
        })?;
        let outputs = self.outputs();
        let mut scores = Vec::with_capacity(rows * outputs);
        let mut read = Row::default();
        each(&mut |number, row| {
            let mut encoder = encoder.lock().map_err(broken)?;
            encoder.row(&row, &mut read).map_err(|error| {
                refused(format!(
                    "row {number} (from 0) cannot be predicted: {error}"
                ))
            })?;
            scores.extend(self.model.scores(&read.features));
            Ok(())
        })?;
        let shape = (rows, outputs);
        Array2::from_shape_vec(shape, scores).map_err(|_| refused("a row without a score"))
    }
}

#[pymethods]
impl Model {
    /// The scores of the rows of a table, one column per output.
    fn scores<'py>(
        &self,
        py: Python<'py>,
        columns: Vec<Bound<'py, PyAny>>,
        texts: Vec<Option<Vec<String>>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let table = Table::new(columns, texts)?;
        let scores = self.scored(table.rows(), |give| {
            table.blocks(|first, block| {
                py.check_signals()?;
                block.each(|row, fields| give(first + row, fields))
            })
        })?;
        Ok(scores.into_pyarray(py))
    }

    /// The same for a sparse matrix.
    fn scores_sparse<'py>(
        &self,
        py: Python<'py>,
        ends: PyReadonlyArray1<'py, i64>,
        indices: PyReadonlyArray1<'py, i64>,
        values: PyReadonlyArray1<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let matrix = Sparse {
            ends,
            indices,
            values,
        };
        let scores = self.scored(matrix.rows(), |give| {
            let mut entries = Vec::new();
            (0..matrix.rows()).try_for_each(|row| {
                matrix.row(row, &mut entries)?;
                give(row, Nameless::Indexed(Value::Missing, &entries))
            })
        })?;
        Ok(scores.into_pyarray(py))
    }

    /// The scores of one row, a mapping.
    fn scores_one(&self, row: &Bound<'_, PyDict>) -> PyResult<Vec<f64>> {
        let found = fields(row, &self.columns)?;
        let mut values = Vec::with_capacity(found.len());
        for object in &found {
            values.push(value(object)?);
        }
        let scores = self.scored(1, |give| give(0, Nameless::Values(&values)))?;
        Ok(scores.into_raw_vec_and_offset().0)
    }

    /// Probabilities for rows of scores, one column per class; nothing if the loss gives none.
    fn probabilities<'py>(
        &self,
        py: Python<'py>,
        scores: numpy::PyReadonlyArray2<'py, f64>,
    ) -> Option<Bound<'py, PyArray2<f64>>> {
        let map = self.model.probability?;
        let scores = scores.as_array();
        let classes = scores.ncols().max(2);
        let mut chances = Vec::with_capacity(scores.nrows() * classes);
        for row in scores.rows() {
            if let [score] = row.to_vec()[..] {
                let positive = map.of_positive(score);
                chances.extend([1.0 - positive, positive]);
            } else {
                let mut row = row.to_vec();
                map.of_classes(&mut row);
                chances.extend(row);
            }
        }
        let chances = Array2::from_shape_vec((scores.nrows(), classes), chances).ok()?;
        Some(chances.into_pyarray(py))
    }

    /// What a score means as a number: the least, what is added, and the greatest.
    #[getter]
    fn range(&self) -> (f64, f64, f64) {
        match self.model.layout.target() {
            TargetKind::Number { low, high } => (*low, self.model.offset, *high),
            _ => (f64::NEG_INFINITY, 0.0, f64::INFINITY),
        }
    }

    /// Coefficients and intercepts for values as they are, output after output, of a linear model
    /// in which every column is one number.
    fn linear<'py>(&self, py: Python<'py>) -> Option<Linear<'py>> {
        if self.model.tables.is_some() || self.model.policy.is_some() {
            return None;
        }
        let layout = &self.model.layout;
        // Every value x becomes s·x + t.
        let maps: Vec<(f64, f64)> = match layout.space() {
            Space::Columns(columns) => columns
                .iter()
                .map(|column| match column.encoding {
                    Encoding::Number { low, high } => {
                        Some((2.0 / (high - low), -(low + high) / (high - low)))
                    }
                    Encoding::Indicator { .. } => Some((1.0, 0.0)),
                    _ => None,
                })
                .collect::<Option<_>>()?,
            Space::Indexed { dimension, .. } => vec![(1.0, 0.0); *dimension as usize],
            Space::Hashed { .. } => return None,
        };
        let (mut coefficients, mut intercepts) = (Vec::new(), Vec::new());
        for weights in self.model.weights.chunks_exact(layout.dimension().max(1)) {
            let pairs = || weights.iter().zip(&maps);
            let own = layout.intercept().map_or(0.0, |place| weights[place]);
            let shifts: f64 = pairs().map(|(weight, (_, t))| weight * t).sum();
            coefficients.extend(pairs().map(|(weight, (s, _))| weight * s));
            intercepts.push(own + shifts + self.model.offset);
        }
        let shape = (intercepts.len(), maps.len());
        let coefficients = Array2::from_shape_vec(shape, coefficients).ok()?;
        Some((coefficients.into_pyarray(py), intercepts.into_pyarray(py)))
    }

    /// The columns that features are made of.
    #[getter]
    fn features(&self) -> Vec<&str> {
        match self.model.layout.space() {
            Space::Columns(columns) => columns.iter().map(|column| &*column.name).collect(),
            _ => Vec::new(),
        }
    }

    /// The names of classes, the negative one of two first.
    #[getter]
    fn classes(&self) -> Vec<String> {
        Target::new(&self.model.layout, None).names
    }

    /// The recipe that learned it.
    #[getter]
    fn recipe(&self) -> &str {
        &self.model.recipe
    }

    /// The number of its release.
    #[getter]
    fn release(&self) -> u64 {
        self.model.release
    }

    /// The columns that it predicts from, in order.
    #[getter]
    fn columns(&self, py: Python<'_>) -> Vec<Py<PyString>> {
        self.columns.iter().map(|name| name.clone_ref(py)).collect()
    }

    /// Whether it predicts rows of coordinates with indices.
    #[getter]
    fn is_sparse(&self) -> bool {
        matches!(self.model.layout.space(), Space::Indexed { .. })
    }

    /// The weights, class after class.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.model.weights.clone().into_pyarray(py)
    }

    /// The names of the coordinates of one class; none for curves and tables.
    #[getter]
    fn feature_names(&self) -> Vec<String> {
        if self.model.tables.is_some() {
            return Vec::new();
        }
        let layout = &self.model.layout;
        (0..layout.dimension())
            .map(|place| layout.feature_name(place))
            .collect()
    }

    /// The standard deviation that noise gives the weights of every coordinate, where it is known.
    #[getter]
    fn noise_sd<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let sds = self.model.noise_sd.clone();
        sds.map(|sds| sds.into_pyarray(py))
    }

    /// For a bandit: estimates for each arm, as JSON.
    #[getter]
    fn arms(&self) -> PyResult<Option<String>> {
        self.model.arms.as_ref().map(json).transpose()
    }

    /// The guarantee, as JSON and in words.
    fn guarantee(&self) -> PyResult<(String, String)> {
        told(&self.model.guarantee)
    }

    /// What each column does, as JSON; an error for models that are not of curves and tables.
    fn explain(&self) -> PyResult<String> {
        json(&self.model.explain().map_err(raised)?)
    }

    /// A query that predicts the rows of a table.
    fn to_sql(&self, table: &str, key: Vec<String>) -> PyResult<String> {
        let key: Vec<&str> = key.iter().map(String::as_str).collect();
        self.model.to_sql(table, &key).map_err(raised)
    }

    /// The bytes of an ONNX file.
    fn to_onnx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_onnx().map_err(raised)?))
    }

    /// A card for notebooks.
    fn html(&self) -> String {
        fragment::model(
            &self.model.guarantee.to_string(),
            self.model.guarantee.is_simulated(),
            &format!(
                "Learned by {}, release {}.",
                self.model.recipe, self.model.release
            ),
            self.model.explain().ok().as_ref(),
            &self.model.largest(12),
        )
    }

    /// Writes the model file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        self.model.save(path).map_err(raised)
    }

    /// The bytes of the model file.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_bytes().map_err(raised)?))
    }

    /// A model from the bytes of its file.
    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        let (model, _) = hushstream::Model::from_bytes(bytes, "the model").map_err(raised)?;
        Self::new(py, model)
    }

    /// A model from its file.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::new(py, hushstream::Model::load(path).map_err(raised)?)
    }
}
