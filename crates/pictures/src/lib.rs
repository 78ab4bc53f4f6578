//! Charts and reports of Hushstream: functions from plain data to SVG and HTML.
//!
//! Nothing here reads a file, draws noise or depends on a recipe, so the program and every other
//! front end show the same pictures. Most pictures are computed from private data and are for the
//! operator only.

pub mod chart;
pub mod explain;
pub mod fragment;
pub mod glance;
pub mod numbers;
pub mod page;
pub mod panels;
pub mod report;
pub mod roc;
pub mod series;
pub mod shapes;
