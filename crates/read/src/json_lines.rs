//! JSON lines: one flat object a line.
//!
//! Columns are those that the schema names, in its order, because the keys of a record are private; a key that a row does not have is a missing value, and a key that
//! is no column is passed over. A nested value is an error wherever it stands, because half of a structure is easily taken for all of it.

use crate::encode::{Builder, Targets};
use crate::error::Fault;
use crate::json_scan::{Scan, Value};
use crate::rows::Failure;
use crate::schema::SchemaSpec;
use crate::step::Step;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows that are objects with known keys.
pub(crate) struct Objects {
    steps: Vec<Step>,
    pub(crate) names: Vec<Arc<str>>,
    index: HashMap<Arc<str>, usize>,
    /// In which row a key was seen last.
    seen: Vec<u64>,
    row: u64,
}

impl Objects {
    pub(crate) fn new(steps: Vec<Step>, names: Vec<Arc<str>>) -> Self {
        Self {
            index: names.iter().cloned().zip(0..).collect(),
            seen: vec![0; names.len()],
            row: 0,
            steps,
            names,
        }
    }

    pub(crate) fn step(&self, field: usize) -> Option<&Step> {
        self.steps.get(field)
    }

    /// Calls back for every known key of an object that is in order.
    pub(crate) fn each_field(&self, line: &[u8], mut field: impl FnMut(usize, &[u8])) {
        let _ = Scan::new(line).members(|_, key, value| {
            let known = std::str::from_utf8(key)
                .ok()
                .and_then(|key| self.index.get(key));
            if let (Some(&known), Value::Text(text)) = (known, value) {
                field(known, text);
            }
            Ok(())
        });
    }

    pub(crate) fn row(
        &mut self,
        line: &[u8],
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<(), Failure> {
        self.row += 1;
        let mut expected = 0;
        Scan::new(line).members(|at, key, value| {
            // Keys mostly come in the same order.
            let field = match self.names.get(expected) {
                Some(name) if name.as_bytes() == key => Some(expected),
                _ => std::str::from_utf8(key)
                    .ok()
                    .and_then(|key| self.index.get(key).copied()),
            };
            let fail = |fault| Failure { at, field, fault };
            if matches!(value, Value::Nested) {
                return Err(fail(Fault::Nested));
            }
            let Some(known) = field else {
                return Ok(());
            };
            expected = known + 1;
            if std::mem::replace(&mut self.seen[known], self.row) == self.row {
                return Err(fail(Fault::DuplicateKey));
            }
            match value {
                Value::Text(text) => builder.field(&self.steps[known], text, targets),
                Value::Null | Value::Nested => builder.missing(&self.steps[known], targets),
            }
            .map_err(fail)
        })?;
        for (field, step) in self.steps.iter().enumerate() {
            if self.seen[field] != self.row {
                builder.missing(step, targets).map_err(|fault| Failure {
                    at: line.len(),
                    field: Some(field),
                    fault,
                })?;
            }
        }
        Ok(())
    }
}

/// The columns: what the schema names, in its order. Never the keys of an object: which keys a record has, and in which order, is private.
pub(crate) fn columns(schema: &SchemaSpec) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in schema.named() {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}
