//! A model as one SQL query.
//!
//! Standard SQL with common table expressions, `CASE`, `FLOOR`, `SQRT` and `EXP`, each stage a
//! column of numbers that the next one uses. Stages are materialised: a database that pasted one
//! into the next would compute its expressions many times over. Piecewise linear curves become
//! `CASE` expressions.

use super::{Axis, axes, cells, spellings};
use crate::error::Result;
use crate::model::Model;
use crate::target::Target;
use hushstream_mechanism::{Axis as Kind, Probability, TableMap};
use hushstream_read::TargetKind;
use std::fmt::Write;

impl Model {
    /// The model as a query on a table that has the columns of the training data, but for the
    /// target. Numbers must be numbers, and a missing value is NULL. The result has the columns of
    /// `key` (or of the model, if it is empty), and
    /// - for two classes `score`, `probability` of the positive one, and `prediction`;
    /// - for several classes `score_1`, …, `probability_1`, …, and `prediction`;
    /// - for a number `prediction`.
    ///
    /// # Errors
    /// A model that does not predict, or has hashed features or dates.
    pub fn to_sql(&self, table: &str, key: &[&str]) -> Result<String> {
        let axes = axes(self)?;
        let query = Query {
            model: self,
            axes: &axes,
        };
        let stages = match &self.tables {
            Some(map) => query.curves(map),
            None => query.linear(),
        };
        let columns = axes.iter().flat_map(|axis| match axis {
            Axis::Number { column, .. } | Axis::Category { column, .. } => vec![*column],
            Axis::Group(members) => members.clone(),
        });
        let shown: Vec<&str> = if key.is_empty() {
            columns.collect()
        } else {
            key.to_vec()
        };
        let mut text = format!(
            "-- A model of {}, release {}, written by Hushstream.\n-- {}\nWITH ",
            one_line(&self.recipe),
            self.release,
            one_line(&self.guarantee.to_string()),
        );
        let mut from = format!("{} AS t", quoted(table));
        for (number, stage) in stages.iter().chain(&query.predictions()).enumerate() {
            let name = format!("hush_{number}");
            let columns: Vec<String> = stage
                .iter()
                .map(|(name, value)| format!("    {value} AS {name}"))
                .collect();
            let _ = write!(
                text,
                "{}{name} AS MATERIALIZED (\n  SELECT t.*,\n{}\n  FROM {from})",
                if number > 0 { ",\n" } else { "" },
                columns.join(",\n"),
            );
            from = format!("{name} AS t");
        }
        let outputs = query.outputs().into_iter();
        let outputs = outputs.map(|(from, name)| format!("t.{from} AS {name}"));
        let shown = shown.iter().map(|name| format!("t.{}", quoted(name)));
        let all: Vec<String> = shown.chain(outputs).collect();
        let _ = write!(text, "\nSELECT {}\nFROM {from};\n", all.join(", "));
        Ok(text)
    }
}

/// Columns that a stage adds: name and expression.
type Stage = Vec<(String, String)>;

struct Query<'a> {
    model: &'a Model,
    axes: &'a [Axis<'a>],
}

impl Query<'_> {
    fn scores(&self) -> usize {
        match self.model.layout.target() {
            TargetKind::Class { classes } => classes.len(),
            _ => 1,
        }
    }

    /// One number for every axis: scaled to [−1, 1], or the place of a category.
    fn codes(&self) -> Stage {
        let codes = self.axes.iter().enumerate().map(|(i, axis)| {
            let code = match axis {
                Axis::Number { column, low, high } => scaled(column, *low, *high),
                Axis::Category { column, values } => {
                    let mut cases = format!("CASE TRIM(CAST(t.{} AS VARCHAR))", quoted(column));
                    for (place, value) in values.iter().enumerate() {
                        for text in spellings(value) {
                            let _ = write!(cases, " WHEN {} THEN {place}", literal(&text));
                        }
                    }
                    format!("{cases} ELSE {} END", values.len())
                }
                Axis::Group(members) => {
                    // The last one that is set, as a row is read.
                    let mut cases = "CASE".to_owned();
                    for (place, column) in members.iter().enumerate().rev() {
                        let _ = write!(cases, " WHEN t.{} > 0.5 THEN {place}", quoted(column));
                    }
                    format!("{cases} ELSE {} END", members.len())
                }
            };
            (format!("hush_c{i}"), code)
        });
        codes.collect()
    }

    /// Curves and tables: codes, distances on logarithmic scales, places among knots, scores.
    fn curves(&self, map: &TableMap) -> Vec<Stage> {
        let shape = map.shape();
        let mut stages = vec![self.codes(), Vec::new(), Vec::new()];
        let (mut squares, mut absent) = (Vec::new(), Vec::new());
        let mut curves = vec![Vec::new(); self.scores()];
        let mut count = 0;
        for (i, kind) in shape.axes.iter().enumerate() {
            let first = map.curve(i).start;
            count += 1;
            match *kind {
                Kind::Category { values } => {
                    squares.push("1.0".to_owned());
                    for (k, terms) in curves.iter_mut().enumerate() {
                        let weights = (0..=values as usize).map(|v| self.weight(first + v, k));
                        terms.push(lookup(&format!("t.hush_c{i}"), weights));
                    }
                }
                Kind::Number { knots, log } => {
                    let half = f64::from(knots - 1) / 2.0;
                    let place = format!("(t.hush_c{i} + 1.0) * {}", number(half));
                    stages[2].push((format!("hush_p{i}"), place));
                    squares.push(format!("COALESCE({}, 1.0)", square(&format!("hush_p{i}"))));
                    let missing = first + knots as usize;
                    for (k, terms) in curves.iter_mut().enumerate() {
                        let weights = (first..missing).map(|at| self.weight(at, k));
                        let weights: Vec<f64> = weights.collect();
                        let curve = curve(&format!("t.hush_p{i}"), &weights);
                        let without = number(self.weight(missing, k));
                        terms.push(format!("COALESCE({curve}, {without})"));
                    }
                    let Some(log) = log else { continue };
                    count += 1;
                    let distance = format!("(t.hush_c{i} - {}) * 500.0", number(log.origin));
                    stages[1].push((format!("hush_d{i}"), distance));
                    let (low, factor) = log.range();
                    let span = f64::from(log.knots - 1);
                    let place = format!(
                        "({} - {}) * {}",
                        logarithm(&format!("t.hush_d{i}")),
                        number(low),
                        number(factor * span)
                    );
                    stages[2].push((format!("hush_l{i}"), place));
                    squares.push(format!("COALESCE({}, 0.0)", square(&format!("hush_l{i}"))));
                    absent.push(format!(
                        "CASE WHEN t.hush_c{i} IS NULL THEN 1.0 ELSE 0.0 END"
                    ));
                    let first = missing + 1;
                    for (k, terms) in curves.iter_mut().enumerate() {
                        let weights = (0..log.knots as usize).map(|v| self.weight(first + v, k));
                        let weights: Vec<f64> = weights.collect();
                        let curve = curve(&format!("t.hush_l{i}"), &weights);
                        terms.push(format!("COALESCE({curve}, 0.0)"));
                    }
                }
            }
        }
        let rest = number(1.0 - shape.share);
        let scale = if shape.l1 {
            absent.insert(0, "0.0".to_owned());
            format!("{rest} / ({count}.0 - ({}))", sum(&absent))
        } else {
            format!("SQRT({rest} / ({}))", sum(&squares))
        };
        let tables = cells(map);
        let scores = curves.iter().enumerate().map(|(k, curves)| {
            let cells = tables.iter().map(|cells| {
                let places = cells.places.iter().map(|bins| {
                    let code = format!("t.hush_c{}", bins.axis);
                    let bin = match self.axes.get(bins.axis) {
                        Some(Axis::Number { .. }) => format!(
                            "FLOOR({code} * {} + {})",
                            number(bins.scale),
                            number(bins.shift)
                        ),
                        _ => code,
                    };
                    format!("{bin} * {}", bins.stride)
                });
                let place = sum(&places.collect::<Vec<_>>());
                let weights = (0..cells.count).map(|cell| self.weight(cells.first + cell, k));
                lookup(&place, weights)
            });
            let cells: Vec<String> = cells.collect();
            let cells = if cells.is_empty() {
                String::new()
            } else {
                format!("\n      + {}", sum(&cells))
            };
            let score = format!("{scale} * (\n      {}){cells}", sum(curves));
            (format!("hush_s{k}"), score)
        });
        stages.push(scores.collect());
        stages.retain(|stage| !stage.is_empty());
        stages
    }

    /// A linear model: codes; the squared length; scores of rows that are not too long.
    fn linear(&self) -> Vec<Stage> {
        let layout = &self.model.layout;
        let outputs = self.scores();
        let dimension = layout.dimension();
        let weight = |at: usize, k: usize| self.model.weights[k * dimension + at];
        let (mut squares, mut sums) = (Vec::new(), vec![Vec::new(); outputs]);
        let mut codes = Vec::new();
        let mut at = 0;
        for (i, axis) in self.axes.iter().enumerate() {
            let code = format!("t.hush_c{i}");
            match axis {
                Axis::Number { column, low, high } => {
                    let scaled = format!("COALESCE({}, 0.0)", scaled(column, *low, *high));
                    codes.push((format!("hush_c{i}"), scaled));
                    squares.push(format!("{code} * {code}"));
                    for (k, sum) in sums.iter_mut().enumerate() {
                        sum.push(format!("{code} * {}", number(weight(at, k))));
                    }
                    at += 1;
                }
                Axis::Category { values, .. } => {
                    codes.extend(self.codes().into_iter().nth(i));
                    let is_known =
                        format!("CASE WHEN {code} < {} THEN 1.0 ELSE 0.0 END", values.len());
                    squares.push(is_known);
                    for (k, sum) in sums.iter_mut().enumerate() {
                        let weights = (0..values.len()).map(|v| weight(at + v, k));
                        sum.push(lookup(&code, weights));
                    }
                    at += values.len();
                }
                Axis::Group(members) => {
                    for (j, column) in members.iter().enumerate() {
                        let own = format!("hush_c{i}_{j}");
                        let column = format!("t.{}", quoted(column));
                        let value = format!(
                            "CASE WHEN {column} >= 1.0 THEN 1.0 WHEN {column} > 0.0 THEN {column} \
                             ELSE 0.0 END"
                        );
                        codes.push((own.clone(), value));
                        squares.push(format!("t.{own} * t.{own}"));
                        for (k, sum) in sums.iter_mut().enumerate() {
                            sum.push(format!("t.{own} * {}", number(weight(at + j, k))));
                        }
                    }
                    at += members.len();
                }
            }
        }
        // Features longer than stated are scaled down to it; then the whole, with the intercept.
        let bound = layout.features_norm();
        let own = vec![("hush_q".to_owned(), sum(&squares))];
        let fit = format!(
            "CASE WHEN t.hush_q > {0} THEN {1} / SQRT(t.hush_q) ELSE 1.0 END",
            number(bound * bound),
            number(bound)
        );
        let intercept = layout.intercept();
        let length = self.model.length;
        let all = format!(
            "t.hush_f * t.hush_f * t.hush_q + {}",
            if intercept.is_some() { "1.0" } else { "0.0" }
        );
        let shrink = format!(
            "CASE WHEN {all} > {} THEN {} / SQRT({all}) ELSE 1.0 END",
            number(length * length),
            number(length)
        );
        let scores = sums.iter().enumerate().map(|(k, terms)| {
            let constant = intercept.map_or(0.0, |at| weight(at, k));
            let score = format!(
                "t.hush_r * (t.hush_f * ({}) + {})",
                sum(terms),
                number(constant)
            );
            (format!("hush_s{k}"), score)
        });
        vec![
            codes,
            own,
            vec![("hush_f".to_owned(), fit)],
            vec![("hush_r".to_owned(), shrink)],
            scores.collect(),
        ]
    }

    /// Predictions from scores.
    fn predictions(&self) -> Vec<Stage> {
        let target = Target::new(&self.model.layout, self.model.probability);
        let stage = |name: &str, value: String| vec![(name.to_owned(), value)];
        match self.model.layout.target() {
            TargetKind::Number { low, high } => {
                let score = format!("(t.hush_s0 + {})", number(self.model.offset));
                let (low, high) = (number(*low), number(*high));
                vec![stage(
                    "hush_y",
                    format!(
                        "CASE WHEN {score} < {low} THEN {low} WHEN {score} > {high} THEN {high} \
                         ELSE {score} END"
                    ),
                )]
            }
            TargetKind::Class { classes } => {
                let count = classes.len();
                let mut best = "CASE".to_owned();
                let mut top = "CASE t.hush_b".to_owned();
                let mut name = "CASE t.hush_b".to_owned();
                for k in 0..count {
                    let others: Vec<String> = (0..count)
                        .filter(|j| *j != k)
                        .map(|j| format!("t.hush_s{k} >= t.hush_s{j}"))
                        .collect();
                    let _ = write!(best, " WHEN {} THEN {k}", others.join(" AND "));
                    let _ = write!(top, " WHEN {k} THEN t.hush_s{k}");
                    let _ = write!(name, " WHEN {k} THEN {}", literal(target.name(k)));
                }
                let mut stages = vec![
                    stage("hush_b", format!("{best} END")),
                    vec![
                        ("hush_top".to_owned(), format!("{top} END")),
                        ("hush_y".to_owned(), format!("{name} END")),
                    ],
                ];
                if let Some(map) = self.model.probability {
                    let chance = |k: usize| match map {
                        Probability::Logistic => format!("EXP(t.hush_s{k} - t.hush_top)"),
                        Probability::Linear => clamped(&format!("t.hush_s{k}"), 1.0),
                    };
                    let all: Vec<String> = (0..count).map(chance).collect();
                    let total = sum(&all);
                    let chances = all.iter().enumerate();
                    let chances = chances.map(|(k, chance)| {
                        (format!("hush_chance{k}"), format!("{chance} / ({total})"))
                    });
                    stages.push(chances.collect());
                }
                stages
            }
            _ => {
                let (yes, no) = (literal(target.name(1)), literal(target.name(0)));
                let mut last = stage(
                    "hush_y",
                    format!("CASE WHEN t.hush_s0 > 0.0 THEN {yes} ELSE {no} END"),
                );
                if let Some(map) = self.model.probability {
                    let chance = match map {
                        Probability::Logistic => "1.0 / (1.0 + EXP(-t.hush_s0))".to_owned(),
                        Probability::Linear => {
                            clamped("((1.0 + t.hush_s0) / 2.0)", 1.0 - Probability::LEAST)
                        }
                    };
                    last.push(("hush_chance".to_owned(), chance));
                }
                vec![last]
            }
        }
    }

    /// What the result shows: the names inside and outside.
    fn outputs(&self) -> Vec<(String, String)> {
        let has_chance = self.model.probability.is_some();
        let mut shown: Vec<(String, String)> = Vec::new();
        match self.model.layout.target() {
            TargetKind::Number { .. } => {}
            TargetKind::Class { classes } => {
                let each = |inside: &str, outside: &str| {
                    let pair = |k| (format!("hush_{inside}{k}"), format!("{outside}_{}", k + 1));
                    (0..classes.len()).map(pair).collect::<Vec<_>>()
                };
                shown.extend(each("s", "score"));
                if has_chance {
                    shown.extend(each("chance", "probability"));
                }
            }
            _ => {
                shown.push(("hush_s0".to_owned(), "score".to_owned()));
                if has_chance {
                    shown.push(("hush_chance".to_owned(), "probability".to_owned()));
                }
            }
        }
        shown.push(("hush_y".to_owned(), "prediction".to_owned()));
        shown
    }

    /// The weight of a coordinate of curves and tables for a score.
    fn weight(&self, at: usize, score: usize) -> f64 {
        self.model.weights[at * self.scores() + score]
    }
}

/// A column scaled to [−1, 1], NULL where it is.
fn scaled(column: &str, low: f64, high: f64) -> String {
    let column = format!("t.{}", quoted(column));
    format!(
        "CASE WHEN {column} <= {0} THEN -1.0 WHEN {column} >= {1} THEN 1.0 \
         ELSE (2.0 * {column} - {2}) / {3} END",
        number(low),
        number(high),
        number(low + high),
        number(high - low)
    )
    // A comparison with NULL is not true, and arithmetic on it is NULL.
}

/// The logarithm of 1 + distance with lines between the powers of two, with the distance's sign.
/// Distances are at most 1,000.
fn logarithm(distance: &str) -> String {
    let mut cases = "CASE".to_owned();
    for power in 0..11_i32 {
        let (end, size) = (2.0_f64.powi(power + 1), 2.0_f64.powi(power));
        let line = format!("{}.0 + (1.0 + ABS({distance})) / {size:.1}", power - 1);
        if power < 10 {
            let _ = write!(cases, " WHEN 1.0 + ABS({distance}) < {end:.1} THEN {line}");
        } else {
            let _ = write!(cases, " ELSE {line} END");
        }
    }
    format!("(CASE WHEN {distance} < 0.0 THEN -1.0 ELSE 1.0 END) * ({cases})")
}

/// The squared length of the two hats around a place.
fn square(place: &str) -> String {
    let share = format!("(t.{place} - FLOOR(t.{place}))");
    format!("1.0 - 2.0 * {share} * (1.0 - {share})")
}

/// A piecewise linear curve through weights at the places 0, 1, …; NULL at NULL.
fn curve(place: &str, weights: &[f64]) -> String {
    let mut cases = format!("CASE WHEN {place} IS NULL THEN NULL");
    let pairs = weights.windows(2).enumerate();
    let last = weights.len().saturating_sub(2);
    for (left, pair) in pairs {
        let line = format!(
            "{} + {} * ({place} - {left}.0)",
            number(pair[0]),
            number(pair[1] - pair[0])
        );
        if left < last {
            let _ = write!(cases, " WHEN {place} < {}.0 THEN {line}", left + 1);
        } else {
            let _ = write!(cases, " ELSE {line} END");
        }
    }
    cases
}

/// A weight by its place; 0 where there is none.
fn lookup(place: &str, weights: impl Iterator<Item = f64>) -> String {
    let mut cases = format!("CASE {place}");
    let mut is_empty = true;
    for (at, weight) in weights.enumerate().filter(|(_, weight)| *weight != 0.0) {
        is_empty = false;
        let _ = write!(cases, " WHEN {at} THEN {}", number(weight));
    }
    if is_empty {
        return "0.0".to_owned();
    }
    format!("{cases} ELSE 0.0 END")
}

fn clamped(value: &str, high: f64) -> String {
    let (low, high) = (number(Probability::LEAST), number(high));
    format!(
        "CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
    )
}

fn sum(terms: &[String]) -> String {
    terms.join("\n      + ")
}

/// A float that every database reads as one.
fn number(value: f64) -> String {
    if value < 0.0 {
        format!("({value:e})")
    } else {
        format!("{value:e}")
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A comment must not end early.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
