//! Running statistics for Python: rows in, tables out.

use crate::elsewhere::{Range, delivery};
use crate::error::{broken, raised, refused};
use crate::rows::Table;
use crate::run::{json, told};
use crate::settings::Settings;
use hushstream::track::{Asked, Span, Tracker};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What is asked, as the package writes it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    asked: Asked,
    /// None if their number is not known.
    ticks: Option<u64>,
    last: Vec<u64>,
    decay: Vec<f64>,
    confidence: f64,
    settings: Settings,
}

impl Wanted {
    fn tracker(text: &str) -> PyResult<(Tracker, bool)> {
        let wanted: Self = serde_json::from_str(text)
            .map_err(|error| refused(format!("the description: {error}")))?;
        let resumes = wanted.settings.resumes();
        let mut tracker = match wanted.ticks {
            Some(ticks) => Tracker::by_ticks(ticks),
            None => Tracker::by_any_ticks(),
        };
        let is_open = tracker.learner.privacy.horizon_unknown;
        tracker.learner = wanted.settings.learner()?;
        tracker.learner.privacy.horizon_unknown = is_open;
        tracker.asked = wanted.asked;
        tracker
            .spans
            .extend(wanted.last.into_iter().map(Span::Last));
        tracker
            .spans
            .extend(wanted.decay.into_iter().map(Span::Fading));
        tracker.confidence = wanted.confidence;
        Ok((tracker, resumes))
    }
}

/// Running statistics in progress.
#[pyclass(module = "hushstream._native", frozen)]
pub(crate) struct Tracking(Mutex<Option<hushstream::track::Tracking>>);

impl Tracking {
    /// Works on the run, if it is open.
    fn work<T>(
        &self,
        work: impl FnOnce(&mut hushstream::track::Tracking) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut run = self.0.lock().map_err(broken)?;
        let run = run
            .as_mut()
            .ok_or_else(|| refused("this run is closed: resume it"))?;
        work(run)
    }
}

#[pymethods]
impl Tracking {
    /// Plans, charges the ledger and opens a run, or resumes one.
    #[new]
    fn new(py: Python<'_>, wanted: &str) -> PyResult<Self> {
        let (tracker, resumes) = Wanted::tracker(wanted)?;
        let run = py.detach(|| {
            let run = if resumes {
                tracker.resume()
            } else {
                tracker.start()
            };
            run.map_err(raised)
        })?;
        Ok(Self(Mutex::new(Some(run))))
    }

    /// The columns of a row, in order.
    #[getter]
    fn columns(&self) -> PyResult<Vec<String>> {
        self.work(|run| Ok(run.columns().into_iter().map(str::to_owned).collect()))
    }

    /// Rows so far.
    #[getter]
    fn records(&self) -> PyResult<u64> {
        self.work(|run| Ok(run.records()))
    }

    /// Ticks that have closed.
    #[getter]
    fn ticks(&self) -> PyResult<u64> {
        self.work(|run| Ok(run.ticks()))
    }

    /// The message about a resume.
    #[getter]
    fn resumed(&self) -> PyResult<Option<String>> {
        self.work(|run| Ok(run.resumed().map(str::to_owned)))
    }

    /// The table of the last tick before a resume, as JSON.
    #[getter]
    fn last(&self) -> PyResult<Option<String>> {
        self.work(|run| run.last().map(json).transpose())
    }

    /// The plan, in words.
    #[getter]
    fn plan(&self) -> PyResult<String> {
        self.work(|run| Ok(run.plan().to_string()))
    }

    /// Counts the rows of a table in the open tick.
    fn add(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, PyAny>>,
        texts: Vec<Option<Vec<String>>>,
    ) -> PyResult<()> {
        let table = Table::new(columns, texts)?;
        table.blocks(|first, block| {
            if first > 0 {
                py.check_signals()?;
            }
            py.detach(|| self.work(|run| block.each(|_, row| run.add(&row)).map_err(raised)))
        })
    }

    /// Closes the tick: its table, as JSON, when it is durable.
    fn tick(&self, py: Python<'_>) -> PyResult<String> {
        let table = py.detach(|| self.work(|run| run.tick().map_err(raised)))?;
        json(table.value())
    }

    /// The question for workers on other machines, as public bytes.
    fn question<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let question = self.work(|run| run.question().map_err(raised))?;
        Ok(PyBytes::new(py, &question))
    }

    /// Whether another tick is planned.
    #[getter]
    fn asks(&self) -> PyResult<bool> {
        self.work(|run| Ok(run.asks()))
    }

    /// The source and the number of the last batch that was taken.
    #[getter]
    fn delivered(&self) -> PyResult<Option<(String, u64)>> {
        let owned = |(source, number): (&str, u64)| (source.to_owned(), number);
        self.work(|run| Ok(run.delivered().map(owned)))
    }

    /// Takes a batch of a source as the next tick, exactly once: whether it was new, and its table
    /// as JSON, if it is the last one.
    fn commit(
        &self,
        py: Python<'_>,
        batch: (String, u64, Vec<Range>),
        parts: Vec<Vec<u8>>,
        first: Option<BTreeMap<String, u64>>,
    ) -> PyResult<(bool, Option<String>)> {
        let delivery = delivery(batch, first.as_ref())?;
        let taken = py.detach(|| self.work(|run| run.commit(&delivery, &parts).map_err(raised)))?;
        let table = taken.table.map(|table| json(table.value())).transpose()?;
        Ok((taken.is_new, table))
    }

    /// The guarantee for all tables, as JSON and in words.
    fn guarantee(&self) -> PyResult<(String, String)> {
        self.work(|run| told(&run.guarantee()))
    }

    /// Rows that counted for nothing: for the operator only.
    fn nulls(&self) -> PyResult<u64> {
        self.work(|run| Ok(*run.nulls().for_the_operator()))
    }

    /// Closes the run: its ledger and its state folder are free. What was released is durable.
    fn close(&self) -> PyResult<()> {
        drop(self.0.lock().map_err(broken)?.take());
        Ok(())
    }
}
