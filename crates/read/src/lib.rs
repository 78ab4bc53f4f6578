//! Readers: files of events into sealed records, by a public schema.
//!
//! A [`SchemaSpec`] states what is known about the columns without looking at the rows; with the header it makes a [`Layout`], which says what every
//! coordinate means and how long a record can be; a [`Reader`] then turns rows into records that are sealed before anything else sees them.
//! What is wrong with a file is told by place and never by value ([`ReadError`]).
//!
//! Every line is one record, whatever it holds: a malformed one is empty, and moves no other.
//! [`Reader::check`] finds all of them before anything is charged.
//!
//! | format | columns | what becomes of them |
//! |---|---|---|
//! | CSV, TSV | header | [`SchemaSpec`] |
//! | JSON lines | names in the schema; patterns find none | [`SchemaSpec`] |
//! | VW text | hashed names | values as they are, [`SchemaSpec::norm`] |
//! | libsvm | indices | values as they are, [`SchemaSpec::norm`] |
//!
//! Input may be compressed with gzip and may be standard input ([`Input`]). With the feature `parquet`, Parquet files are read as the CSV of their table. Column names, the number of rows and everything in the schema are public;
//! nothing else is.

mod check;
mod csv;
mod digits;
mod encode;
mod encoding;
mod error;
mod form;
mod format;
mod hash;
mod header;
mod input;
mod json_lines;
mod json_scan;
mod layout;
mod libsvm;
mod many;
mod number;
#[cfg(feature = "parquet")]
mod parquet_table;
mod pattern;
mod reader;
mod record_end;
mod resolve;
mod rows;
mod runs;
mod schema;
mod schema_file;
mod shuffle;
mod skeleton;
mod source;
mod step;
mod target;
mod value;
mod vw;
mod word;

pub use check::{Checked, Finding, Findings};
pub use encoding::{Encoding, FeatureColumn, Space, TargetKind};
pub use error::{Column, Fault, Place, ReadError};
pub use form::Form;
pub use format::Format;
pub use input::Input;
pub use layout::Layout;
pub use reader::{Reader, Row, Sealed};
pub use schema::{MissingTarget, SchemaSpec, Task};
pub use skeleton::skeleton_of;
