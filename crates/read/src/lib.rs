//! Readers: files of events, and rows of a program, into sealed records, by a public schema.
//!
//! A [`SchemaSpec`] states what is known about the columns without looking at the rows; with the
//! header it makes a [`Layout`], which says what every coordinate means and how long a record can
//! be. A [`Reader`] then turns the rows of a file into records that are sealed before anything else
//! sees them, and an [`Encoder`] does the same with rows that were never in a file. An error names
//! the place of a fault and never a value ([`ReadError`]).
//!
//! Every line is one record, whatever it holds: a malformed one is empty, and moves no other.
//! [`Reader::check`] finds all of them before anything is charged.
//!
//! | format | columns | how they are encoded |
//! |---|---|---|
//! | CSV, TSV | header | [`SchemaSpec`] |
//! | JSON lines | names in the schema; patterns find none | [`SchemaSpec`] |
//! | VW text | hashed names | values as they are, [`SchemaSpec::norm`] |
//! | libsvm | indices | values as they are, [`SchemaSpec::norm`] |
//!
//! Input may be compressed with gzip and may be standard input ([`Input`]). With the feature
//! `parquet`, Parquet files are read as the CSV of their table. Column names, the number of rows
//! and everything in the schema are public; nothing else is.

mod check;
mod encode;
mod encoder;
mod error;
mod formats;
mod reader;
mod schema;
mod source;

pub use check::{Checked, Finding, Findings};
pub use encode::calendar::{parse_time, written as written_time};
pub use encoder::{Encoder, Fields, Nameless, Value};
pub use error::{Column, Fault, Place, ReadError};
pub use formats::{Form, Format};
pub use reader::{Reader, Row, Sealed, SealedRecords};
pub use schema::{AxisKind, Decides, Encoding, FeatureColumn, Layout, LayoutAxis};
pub use schema::{MissingTarget, SchemaSpec};
pub use schema::{Space, TargetKind, Task, Told, skeleton_of};
pub use source::Input;
