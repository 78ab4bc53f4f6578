//! Charts and reports of Hushstream: functions from plain data to SVG and HTML.
//!
//! Nothing here reads a file, draws noise or knows a recipe, so that the program and every other
//! front end show the same pictures. What they are drawn from decides who may see them: most are for
//! the operator only.

pub mod chart;
pub mod numbers;
pub mod report;
pub mod roc;
