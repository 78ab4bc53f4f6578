//! The native half of the Python package: arrays into rows, errors into exceptions, and work
//! without the interpreter's lock. What a user sees is in `python/hushstream`.

// What Python hands over is owned here.
#![allow(clippy::needless_pass_by_value)]

mod elsewhere;
mod error;
mod lab;
mod model;
mod public;
mod rows;
mod run;
mod settings;
mod track;

#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use crate::elsewhere::{Worker, covered, merge};
    #[pymodule_export]
    use crate::error::{BudgetExceeded, HushstreamError};
    #[pymodule_export]
    use crate::lab::{Spending, audit, compare, gaussian_mu};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::public::{card, ledger, ledger_raise, plan, recipes, table};
    #[pymodule_export]
    use crate::run::{Run, check};
    #[pymodule_export]
    use crate::track::Tracking;
}
