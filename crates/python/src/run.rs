//! A run for Python: rows in, released models out.

use crate::elsewhere::{Range, delivery};
use crate::error::{HushstreamError, broken, raised, refused};
use crate::model::Model;
use crate::rows::{Sparse, Table, fields, value};
use crate::settings::opened;
use hushstream::Value;
use hushstream::read::{Encoder, Nameless};
use hushstream::scores::Scores;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// A run in progress.
#[pyclass(module = "hushstream._native", frozen)]
pub(crate) struct Run {
    run: Mutex<Option<hushstream::Run>>,
    /// The columns of a row, and how many of them are features.
    columns: Vec<Py<PyString>>,
    features: usize,
    /// Both names of a target of two values: another one is no label.
    names: Option<[String; 2]>,
}

impl Run {
    fn lock(&self) -> PyResult<MutexGuard<'_, Option<hushstream::Run>>> {
        self.run.lock().map_err(broken)
    }

    /// Works on the run without Python's lock.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut hushstream::Run) -> hushstream::Result<T> + Send,
    ) -> PyResult<T> {
        py.detach(|| {
            let mut run = self.lock()?;
            let run = run.as_mut().ok_or_else(finished)?;
            work(run).map_err(raised)
        })
    }
}

fn finished() -> PyErr {
    refused("this run is finished: begin another")
}

#[pymethods]
impl Run {
    /// Plans, charges the ledger and opens a run, or resumes one.
    #[new]
    fn new(
        py: Python<'_>,
        settings: &str,
        features: usize,
        names: Option<[String; 2]>,
    ) -> PyResult<Self> {
        let run = py.detach(|| opened(settings))?;
        let columns = run.columns().into_iter();
        let columns: Vec<Py<PyString>> = columns
            .map(|name| PyString::intern(py, name).unbind())
            .collect();
        Ok(Self {
            features: features.min(columns.len()),
            columns,
            names,
            run: Mutex::new(Some(run)),
        })
    }

    /// The columns of a row, in order.
    #[getter]
    fn columns(&self, py: Python<'_>) -> Vec<Py<PyString>> {
        self.columns.iter().map(|name| name.clone_ref(py)).collect()
    }

    /// How often the rows are to be given.
    #[getter]
    fn passes(&self) -> PyResult<u64> {
        Ok(self.lock()?.as_ref().ok_or_else(finished)?.passes())
    }

    /// Records that the run has learned.
    #[getter]
    fn records(&self) -> PyResult<u64> {
        Ok(self.lock()?.as_ref().ok_or_else(finished)?.records())
    }

    /// The message about a resume.
    #[getter]
    fn resumed(&self) -> PyResult<Option<String>> {
        let run = self.lock()?;
        Ok(run
            .as_ref()
            .ok_or_else(finished)?
            .resumed()
            .map(str::to_owned))
    }

    /// Learns from the rows of a table. Between blocks Python may run: a signal stops here, and
    /// `tell` hears how many rows were learned since.
    fn learn(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, PyAny>>,
        texts: Vec<Option<Vec<String>>>,
        tell: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let table = Table::new(columns, texts)?;
        table.blocks(|first, block| {
            if first > 0 {
                py.check_signals()?;
            }
            self.work(py, |run| match block.numbers() {
                Some(rows) => run.learn_all(rows),
                None => block.each(|_, row| run.learn(&row)),
            })?;
            if let Some(tell) = &tell {
                tell.call1((block.rows(),))?;
            }
            Ok(())
        })
    }

    /// Learns from the rows of a sparse matrix.
    fn learn_sparse(
        &self,
        py: Python<'_>,
        ends: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i64>,
        values: PyReadonlyArray1<'_, f64>,
        labels: (PyReadonlyArray1<'_, f64>, Option<Vec<String>>),
        tell: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (targets, texts) = labels;
        let matrix = Sparse {
            ends,
            indices,
            values,
        };
        let targets = targets.as_array();
        if targets.len() != matrix.rows() {
            return Err(refused("X and y have different numbers of rows"));
        }
        let (mut entries, mut learned) = (Vec::new(), 0);
        for row in 0..matrix.rows() {
            if row > 0 && row % 1024 == 0 {
                py.check_signals()?;
                if let Some(tell) = &tell {
                    tell.call1((row - learned,))?;
                }
                learned = row;
            }
            matrix.row(row, &mut entries)?;
            let target = coded(targets[row], texts.as_deref());
            self.work(py, |run| run.learn(&Nameless::Indexed(target, &entries)))?;
        }
        if let Some(tell) = &tell {
            tell.call1((matrix.rows() - learned,))?;
        }
        Ok(())
    }

    /// Learns from one row: a mapping of features, the target and the person, where there are such
    /// columns.
    fn learn_one(
        &self,
        row: &Bound<'_, PyDict>,
        target: &Bound<'_, PyAny>,
        person: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let mut found = fields(row, &self.columns[..self.features])?;
        let others = self.columns.len() - self.features;
        found.extend([target, person].into_iter().take(others).cloned());
        let mut values = Vec::with_capacity(found.len());
        for object in &found {
            values.push(value(object)?);
        }
        if let (Some(names), Some(target)) = (&self.names, values.get_mut(self.features)) {
            *target = label(*target, names);
        }
        let mut run = self.lock()?;
        let run = run.as_mut().ok_or_else(finished)?;
        run.learn(&Nameless::Values(&values)).map_err(raised)
    }

    /// Makes everything durable, and gives the models that may now leave.
    fn publish(&self, py: Python<'_>) -> PyResult<Vec<Model>> {
        let models = self.work(py, hushstream::Run::publish)?;
        models
            .into_iter()
            .map(|model| Model::new(py, model.into_value()))
            .collect()
    }

    /// Makes everything durable, and gives the last model.
    fn model(&self, py: Python<'_>) -> PyResult<Model> {
        let model = self.work(py, hushstream::Run::model)?;
        Model::new(py, model.into_value())
    }

    /// The play of a bandit that the next row answers: shares of the arms, and the propensity.
    fn play(&self, py: Python<'_>) -> PyResult<(Vec<f64>, f64)> {
        let play = self.work(py, hushstream::Run::play)?.into_value();
        Ok((
            play.arms.into_iter().map(|arm| arm.1).collect(),
            play.propensity,
        ))
    }

    /// The question for workers on other machines, as public bytes.
    fn question<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let question = self.work(py, hushstream::Run::question)?;
        Ok(PyBytes::new(py, &question))
    }

    /// Whether there is another question.
    #[getter]
    fn asks(&self, py: Python<'_>) -> PyResult<bool> {
        self.work(py, |run| Ok(run.asks()))
    }

    /// The source and the number of the last batch that was taken.
    #[getter]
    fn delivered(&self, py: Python<'_>) -> PyResult<Option<(String, u64)>> {
        self.work(py, |run| Ok(run.delivered()))
    }

    /// Takes a batch of a source exactly once: whether it was new, and the model after it, if it is
    /// the last one. `first` is the statement that no record from these positions on was learned.
    fn commit(
        &self,
        py: Python<'_>,
        batch: (String, u64, Vec<Range>),
        parts: Vec<Vec<u8>>,
        first: Option<BTreeMap<String, u64>>,
    ) -> PyResult<(bool, Option<Model>)> {
        let delivery = delivery(batch, first.as_ref())?;
        let taken = self.work(py, |run| run.commit(&delivery, &parts))?;
        let model = taken.model.map(|model| Model::new(py, model.into_value()));
        Ok((taken.is_new, model.transpose()?))
    }

    /// The guarantee, as JSON and in words.
    fn guarantee(&self) -> PyResult<(String, String)> {
        let run = self.lock()?;
        told(&run.as_ref().ok_or_else(finished)?.guarantee())
    }

    /// Figures from private data so far, as JSON: for the operator only.
    fn figures(&self) -> PyResult<Option<String>> {
        let run = self.lock()?;
        let Some(summary) = run.as_ref().ok_or_else(finished)?.figures() else {
            return Ok(None);
        };
        let scores = Scores::of(summary.for_the_operator());
        scores.map(|scores| json(&scores)).transpose()
    }

    /// Ends the run: its outcome, as JSON.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let outcome = py.detach(|| {
            let run = self.lock()?.take().ok_or_else(finished)?;
            run.finish().map_err(raised)
        })?;
        json(&outcome)
    }
}

/// A guarantee as JSON and in words.
pub(crate) fn told(guarantee: &hushstream::Guarantee) -> PyResult<(String, String)> {
    Ok((json(guarantee)?, guarantee.to_string()))
}

pub(crate) fn json(object: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(object).map_err(|error| HushstreamError::new_err(error.to_string()))
}

/// A target of a sparse row: a number, or the text at its place.
fn coded(number: f64, texts: Option<&[String]>) -> Value<'_> {
    match texts {
        None => Value::Number(number),
        Some(texts) => (number >= 0.0)
            .then(|| texts.get(number as usize))
            .flatten()
            .map_or(Value::Missing, |text| Value::Text(text)),
    }
}

/// One of two names, or no label.
fn label<'a>(target: Value<'a>, names: &'a [String; 2]) -> Value<'a> {
    let is = |name: &String| match target {
        Value::Text(text) => text == name,
        Value::Number(number) => name.parse() == Ok(number),
        Value::Missing => false,
    };
    names
        .iter()
        .find(|name| is(name))
        .map_or(Value::Missing, |name| Value::Text(name))
}

/// Checks every row of a table as a run would read it. The error has the row and the column of the
/// first fault, and never a value.
#[pyfunction]
pub(crate) fn check(
    py: Python<'_>,
    schema: &str,
    columns: Vec<Bound<'_, PyAny>>,
    texts: Vec<Option<Vec<String>>>,
) -> PyResult<()> {
    let schema: hushstream::Schema =
        serde_json::from_str(schema).map_err(|error| refused(format!("the schema: {error}")))?;
    let mut encoder = Encoder::new(&schema).map_err(raised)?;
    let table = Table::new(columns, texts)?;
    let (mut faults, mut told) = (0_u64, None);
    table.blocks(|first, block| {
        py.check_signals()?;
        let result: Result<(), ()> = block.each(|row, fields| {
            if let Err(error) = encoder.check(&fields) {
                faults += 1;
                told.get_or_insert_with(|| (first + row, error));
            }
            Ok(())
        });
        debug_assert!(result.is_ok());
        Ok(())
    })?;
    match told {
        None => Ok(()),
        Some((row, error)) => {
            let text = error.to_string();
            Err(refused(format!(
                "row {row} (from 0), {text}; {faults} of {} rows cannot be read, and nothing is \
                 charged: mend them, or let each be a round without a record: partial_fit",
                table.rows()
            )))
        }
    }
}
