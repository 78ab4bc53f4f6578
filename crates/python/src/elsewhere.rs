//! Sums made elsewhere, for adapters to clusters: bytes in, bytes out.

use crate::error::{broken, raised, refused};
use crate::rows::Table;
use hushstream::elsewhere::{self, Delivery, Positions, Span};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A partition, the position of its first record, and the position after its last one.
pub(crate) type Range = (String, u64, u64);

fn spans(ranges: Vec<Range>) -> Vec<Span> {
    let span = |(partition, start, end)| Span {
        partition,
        start,
        end,
    };
    ranges.into_iter().map(span).collect()
}

/// Answers a question with rows: it holds no key and draws no noise.
#[pyclass(module = "hushstream._native", frozen)]
pub(crate) struct Worker {
    worker: Mutex<Option<elsewhere::Worker>>,
    columns: Vec<String>,
}

#[pymethods]
impl Worker {
    #[new]
    fn new(question: &[u8]) -> PyResult<Self> {
        let worker = elsewhere::Worker::new(question).map_err(raised)?;
        Ok(Self {
            columns: worker.columns().to_vec(),
            worker: Mutex::new(Some(worker)),
        })
    }

    /// The columns of a row, in order.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.columns.clone()
    }

    /// Adds the rows of a table.
    fn add(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, PyAny>>,
        texts: Vec<Option<Vec<String>>>,
    ) -> PyResult<()> {
        let table = Table::new(columns, texts)?;
        table.blocks(|_, block| {
            py.check_signals()?;
            py.detach(|| {
                let mut worker = self.worker.lock().map_err(broken)?;
                let worker = worker.as_mut().ok_or_else(finished)?;
                block.each(|_, row| worker.add(&row)).map_err(raised)
            })
        })
    }

    /// The bytes of the partial sum, as private as the rows, which came from these positions.
    fn finish<'py>(&self, py: Python<'py>, ranges: Vec<Range>) -> PyResult<Bound<'py, PyBytes>> {
        let worker = self.worker.lock().map_err(broken)?.take();
        let worker = worker.ok_or_else(finished)?;
        let bytes = py.detach(|| worker.finish(spans(ranges)).map_err(raised))?;
        Ok(PyBytes::new(py, &bytes))
    }
}

fn finished() -> PyErr {
    refused("this worker has given its sum: make another")
}

/// Adds up partial sums of one batch: as private as the rows.
#[pyfunction]
pub(crate) fn merge<'py>(
    py: Python<'py>,
    question: &[u8],
    parts: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let bytes = py.detach(|| elsewhere::merge(question, &parts).map_err(raised))?;
    Ok(PyBytes::new(py, &bytes))
}

/// The positions that partial sums cover.
#[pyfunction]
pub(crate) fn covered(parts: Vec<Vec<u8>>) -> PyResult<Vec<Range>> {
    let positions = elsewhere::covered(&parts).map_err(raised)?;
    let range = |span: &Span| (span.partition.clone(), span.start, span.end);
    Ok(positions.spans().iter().map(range).collect())
}

/// Batch `number` of a source, with a statement about its first new records where there is one.
pub(crate) fn delivery(
    (source, number, ranges): (String, u64, Vec<Range>),
    first: Option<&BTreeMap<String, u64>>,
) -> PyResult<Delivery> {
    let stated = |error: elsewhere::DeliveryError| refused(error.to_string());
    let positions = Positions::new(spans(ranges)).map_err(stated)?;
    let delivery = Delivery::new(source, number, positions).map_err(stated)?;
    match first {
        Some(first) => delivery.accept_new_source(first).map_err(stated),
        None => Ok(delivery),
    }
}
