//! What the formats share: a line comes in, coordinates go to the builder, or a place and a fault come back.

use crate::csv::{Line, Table};
use crate::encode::{Builder, Targets};
use crate::error::{Column, Fault};
use crate::json_lines::Objects;
use crate::layout::Layout;
use crate::libsvm::Pairs;
use crate::step::Step;
use crate::value::Missing;
use crate::vw::Examples;
use std::collections::HashMap;
use std::sync::Arc;

/// Where in a row something is wrong.
pub(crate) struct Failure {
    /// Bytes from the beginning of the record.
    pub(crate) at: usize,
    /// The column, counted from 0, if it has a name.
    pub(crate) field: Option<usize>,
    pub(crate) fault: Fault,
}

/// How rows are parsed.
pub(crate) enum Rows {
    Table(Table),
    Objects(Objects),
    Examples(Examples),
    Pairs(Pairs),
}

impl Rows {
    pub(crate) fn parse(
        &mut self,
        line: Line<'_>,
        quoted: bool,
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<(), Failure> {
        match self {
            Self::Table(table) => table.row(line, quoted, builder, targets),
            Self::Objects(objects) => objects.row(line.row, builder, targets),
            Self::Examples(examples) => examples.row(line.row, builder, targets),
            Self::Pairs(pairs) => pairs.row(line.row, builder, targets),
        }
    }

    /// The names of the columns, where they have names.
    pub(crate) fn names(&self) -> &[Arc<str>] {
        match self {
            Self::Table(table) => &table.names,
            Self::Objects(objects) => &objects.names,
            Self::Examples(_) | Self::Pairs(_) => &[],
        }
    }

    pub(crate) fn step(&self, field: usize) -> Option<&Step> {
        match self {
            Self::Table(table) => table.step(field),
            Self::Objects(objects) => objects.step(field),
            Self::Examples(_) | Self::Pairs(_) => None,
        }
    }

    /// Calls back for every field of a row that is in order, where columns have names.
    pub(crate) fn each_field(&self, row: &[u8], quoted: bool, field: impl FnMut(usize, &[u8])) {
        match self {
            Self::Table(table) => table.each_field(row, quoted, field),
            Self::Objects(objects) => objects.each_field(row, field),
            Self::Examples(_) | Self::Pairs(_) => {}
        }
    }

    /// The column of a failure, if it has a name; otherwise the byte has to do.
    pub(crate) fn column(&self, failure: &Failure) -> Option<Column> {
        let field = failure.field?;
        let (number, names) = match self {
            Self::Table(table) => (field, &table.names),
            Self::Objects(objects) => (failure.at, &objects.names),
            Self::Examples(_) | Self::Pairs(_) => return None,
        };
        Some(Column::Field {
            number: number as u64 + 1,
            name: names.get(field).cloned(),
        })
    }
}

/// What to do with every column of a file. The target may be absent: new data has none.
pub(crate) fn steps(
    layout: &Layout,
    names: &[String],
    person: Option<&str>,
) -> Result<Vec<Step>, Fault> {
    let missing = Missing::new(layout.missing());
    // Models of earlier versions hold names as their headers wrote them, with spaces.
    let mut columns: HashMap<&str, Step> = layout
        .columns()
        .map(|(column, first)| {
            let step = Step::new(&column.encoding, first, &missing);
            (column.name.trim_ascii(), step)
        })
        .collect();
    let target = layout.target_column().map(str::trim_ascii);
    columns.extend(target.map(|name| (name, Step::Target)));
    columns.extend(person.map(|name| (name, Step::Person)));
    let steps = names
        .iter()
        .map(|name| columns.remove(name.trim_ascii()).unwrap_or(Step::Skip))
        .collect();
    columns.remove(target.unwrap_or(""));
    match columns.keys().min() {
        Some(absent) => Err(Fault::NoSuchColumn {
            what: "the model's layout",
            name: (*absent).to_owned(),
            near: None,
        }),
        None => Ok(steps),
    }
}

/// Names that messages can share.
pub(crate) fn shared(names: &[String]) -> Vec<Arc<str>> {
    names.iter().map(|name| Arc::from(&**name)).collect()
}
