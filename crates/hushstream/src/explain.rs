//! What a model of curves and tables says: every column's curve, the strongest pairs of columns,
//! and how far noise could have moved each.
//!
//! **The curve of a column** is the sum of its hats on the linear and on the logarithmic scale,
//! less its mean over the knots (or categories). Hats are scaled together to a fixed length, so a
//! row's own factor depends on how near it is to knots; here it is that of a row whose places
//! between knots are spread evenly. It differs from a row's own factor by a few percent.
//!
//! **Noise.** Every effect is a linear form of weights. Their noises are independent up to the
//! damping of the mean, which mostly makes them cancel, so variances are added.

use crate::error::{Error, refuse};
use crate::model::Model;
use hushstream_mechanism::{Axis, LogScale, TableMap};
use hushstream_pictures::shapes::number;
pub use hushstream_pictures::shapes::{Column, Effect, Pair, Point, Shape, Shapes};
use hushstream_read::{AxisKind, LayoutAxis, TargetKind};
use std::collections::BTreeMap;

/// Categories that are listed.
const MOST_CATEGORIES: usize = 48;
/// Pairs that are listed.
const MOST_PAIRS: usize = 6;
/// Places along a number in a picture of a pair.
const PLACES: usize = 12;
/// Pairs of columns with more categories than this are not pictured.
const MOST_LABELS: usize = 24;

/// A model's weights, by linear forms: coordinates and their coefficients.
struct Weights<'a> {
    weights: &'a [f64],
    sds: Option<&'a [f64]>,
    outputs: usize,
}

type Form = Vec<(usize, f64)>;

impl Weights<'_> {
    fn variance(&self, coordinate: usize) -> f64 {
        self.sds.map_or(0.0, |sds| sds[coordinate].powi(2))
    }

    fn value(&self, form: &Form, output: usize) -> f64 {
        let weight = |i: usize| self.weights[i * self.outputs + output];
        form.iter().map(|&(i, c)| c * weight(i)).sum()
    }

    /// The effects of forms, each less their mean, and that mean; `others` too, less the same mean.
    fn centred(&self, forms: &[Form], others: &[Form]) -> (Vec<Vec<Effect>>, Vec<f64>) {
        let mut mean: BTreeMap<usize, f64> = BTreeMap::new();
        for (i, c) in forms.iter().flatten() {
            *mean.entry(*i).or_insert(0.0) += c / forms.len() as f64;
        }
        let of_mean: f64 = mean.iter().map(|(&i, c)| c * c * self.variance(i)).sum();
        let mean_form: Form = mean.iter().map(|(&i, &c)| (i, c)).collect();
        let outputs = 0..self.outputs;
        let means: Vec<f64> = outputs.map(|k| self.value(&mean_form, k)).collect();
        let effects = forms.iter().chain(others).map(|form| {
            // Σ(c − m)²s², where c is 0 for all but a few coordinates.
            let rest = form.iter().map(|&(i, c)| {
                let m = mean.get(&i).copied().unwrap_or(0.0);
                ((c - m).powi(2) - m * m) * self.variance(i)
            });
            let variance = of_mean + rest.sum::<f64>();
            let sd = self.sds.map(|_| variance.max(0.0).sqrt());
            let effect = |(k, mean): (usize, &f64)| Effect {
                value: self.value(form, k) - mean,
                sd,
            };
            means.iter().enumerate().map(effect).collect()
        });
        (effects.collect(), means)
    }
}

impl Model {
    /// What the model says, for a model of curves and tables.
    ///
    /// # Errors
    /// Another model: its weights say all.
    pub fn explain(&self) -> Result<Shapes, Error> {
        let Some(map) = &self.tables else {
            refuse!(
                "{} has no curves to explain: `hushstream inspect` shows its weights",
                self.recipe
            );
        };
        let outputs = match self.layout.target() {
            TargetKind::Class { classes } => classes.clone(),
            _ => vec![String::new()],
        };
        let weights = Weights {
            weights: &self.weights,
            sds: self.noise_sd.as_deref(),
            outputs: outputs.len(),
        };
        let (unit, is_odds) = match self.layout.target() {
            TargetKind::Sign { .. } => ("log-odds", true),
            TargetKind::Class { .. } => ("score of a class", false),
            _ => (self.layout.target_column().unwrap_or("target"), false),
        };
        let axes = self.layout.axes();
        let scale = usual_scale(map);
        let mut base = vec![self.offset; outputs.len()];
        let mut columns = Vec::new();
        for (index, axis) in axes.iter().enumerate() {
            let (column, means) = column(&weights, map, index, axis, scale);
            base.iter_mut().zip(means).for_each(|(base, m)| *base += m);
            columns.push(column);
        }
        columns.sort_by(|a, b| {
            (b.sure, b.range)
                .partial_cmp(&(a.sure, a.range))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        Ok(Shapes {
            predicts: self.predicts(),
            unit: unit.to_owned(),
            is_odds,
            pairs: pairs(&weights, map, &axes, &outputs),
            outputs,
            base,
            columns,
        })
    }

    /// What is predicted, in words.
    pub fn predicts(&self) -> String {
        let column = self.layout.target_column().unwrap_or("the label");
        match self.layout.target() {
            TargetKind::Sign {
                positive: Some(positive),
            } => format!("whether {column} is {positive}"),
            TargetKind::Sign { positive: None } => format!("whether {column} holds"),
            TargetKind::Class { classes } => format!("{column}, one of {}", classes.join(", ")),
            TargetKind::Number { low, high } => {
                format!("{column}, a number from {low} to {high}")
            }
            TargetKind::None if self.policy.is_some() => {
                format!(
                    "which arm to play for a context: {}",
                    self.arm_names().join(", ")
                )
            }
            TargetKind::None if self.arms.is_some() => "how often to play each arm".to_owned(),
            TargetKind::None => "which experts to follow".to_owned(),
        }
    }
}

/// What hats are scaled by in a row whose places between knots are spread evenly: two neighbouring
/// hats then have a squared length of 2/3.
fn usual_scale(map: &TableMap) -> f64 {
    let shape = map.shape();
    let size = |axis: &Axis| match (axis, shape.l1) {
        (Axis::Category { .. }, _) | (Axis::Number { log: None, .. }, true) => 1.0,
        (Axis::Number { .. }, true) => 2.0,
        (Axis::Number { log: None, .. }, false) => 2.0 / 3.0,
        (Axis::Number { .. }, false) => 4.0 / 3.0,
    };
    let size: f64 = shape.axes.iter().map(size).sum();
    let rest = 1.0 - shape.share;
    if shape.l1 {
        rest / size
    } else {
        (rest / size).sqrt()
    }
}

/// A column's effects, and the mean that was taken from them.
fn column(
    weights: &Weights<'_>,
    map: &TableMap,
    index: usize,
    axis: &LayoutAxis,
    scale: f64,
) -> (Column, Vec<f64>) {
    let first = map.curve(index).start;
    let (mut shape, missing, mut effects, means);
    match map.shape().axes[index] {
        Axis::Number { knots, log } => {
            let (low, high) = match axis.kind {
                AxisKind::Number { low, high } => (low, high),
                _ => (-1.0, 1.0),
            };
            let places = knot_places(knots, log);
            let form = |&v: &f64| number_form(first, knots, log, v, scale);
            let forms: Vec<Form> = places.iter().map(form).collect();
            let absent = vec![(first + knots as usize, scale)];
            (effects, means) = weights.centred(&forms, &[absent]);
            missing = effects.pop().unwrap_or_default();
            let points = places.iter().zip(&effects).map(|(&v, effects)| Point {
                x: low + (v + 1.0) / 2.0 * (high - low),
                at: (v + 1.0) / 2.0,
                effects: effects.clone(),
            });
            shape = Shape::Curve {
                points: points.collect(),
                ticks: ticks(low, high),
            };
            if let (Shape::Curve { points, ticks }, Some(log)) = (&mut shape, log)
                && is_near_origin(points, log)
            {
                points.iter_mut().for_each(|point| {
                    point.at = log.place(2.0 * point.at - 1.0);
                });
                *ticks = log_ticks(low, high, log);
            }
        }
        Axis::Category { values } => {
            let forms: Vec<Form> = (0..=values as usize)
                .map(|value| vec![(first + value, scale)])
                .collect();
            let (absent, forms) = forms
                .split_last()
                .map_or((&[][..], &[][..]), |(a, f)| (std::slice::from_ref(a), f));
            (effects, means) = weights.centred(forms, absent);
            missing = effects.pop().unwrap_or_default();
            let name = |value: usize| match &axis.kind {
                AxisKind::Category(names) => names.get(value).cloned().unwrap_or_default(),
                _ => format!("hash {value}"),
            };
            let mut values: Vec<(String, Vec<Effect>)> = effects
                .iter()
                .enumerate()
                .map(|(value, effects)| (name(value), effects.clone()))
                .collect();
            // By what noise does not explain.
            let size = |effects: &[Effect]| {
                let sure = effects
                    .iter()
                    .map(|e| e.value.abs() - 2.0 * e.sd.unwrap_or(0.0));
                sure.fold(f64::NEG_INFINITY, f64::max)
            };
            values.sort_by(|a, b| size(&b.1).total_cmp(&size(&a.1)));
            let left_out = values.len().saturating_sub(MOST_CATEGORIES);
            values.truncate(MOST_CATEGORIES);
            shape = Shape::Categories { values, left_out };
        }
    }
    let span = |end: &dyn Fn(&Effect, f64) -> f64| {
        let of_output = |k: usize| {
            let low = effects.iter().map(|e| end(&e[k], 1.0));
            let high = effects.iter().map(|e| end(&e[k], -1.0));
            high.fold(f64::NEG_INFINITY, f64::max) - low.fold(f64::INFINITY, f64::min)
        };
        let most = (0..weights.outputs).map(of_output);
        most.fold(0.0, f64::max)
    };
    let column = Column {
        name: axis.name.clone(),
        range: span(&|effect, _| effect.value),
        sure: span(&Effect::end),
        shape,
        missing,
    };
    (column, means)
}

/// The knots of both scales, in [−1, 1], in order.
fn knot_places(knots: u32, log: Option<LogScale>) -> Vec<f64> {
    let even = |knots: u32| (0..knots).map(move |i| f64::from(i) / f64::from(knots - 1));
    let mut places: Vec<f64> = even(knots).map(|place| 2.0 * place - 1.0).collect();
    if let Some(log) = log {
        places.extend(even(log.knots).map(|place| log_value(log, place)));
    }
    places.sort_by(f64::total_cmp);
    places.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
    places
}

/// The number in [−1, 1] at a place of a logarithmic scale: the inverse of [`LogScale::place`],
/// which is monotone, by bisection.
fn log_value(log: LogScale, place: f64) -> f64 {
    let (mut low, mut high) = (-1.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if log.place(middle) < place {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

fn number_form(first: usize, knots: u32, log: Option<LogScale>, v: f64, scale: f64) -> Form {
    let mut form = Form::new();
    let mut put = |first: usize, knots: u32, place: f64| {
        let place = place * f64::from(knots - 1);
        let left = (place as u32).min(knots - 2);
        let share = place - f64::from(left);
        let first = first + left as usize;
        form.push((first, scale * (1.0 - share)));
        form.push((first + 1, scale * share));
    };
    put(first, knots, (v + 1.0) / 2.0);
    if let Some(log) = log {
        put(first + knots as usize + 1, log.knots, log.place(v));
    }
    form
}

/// Whether most of a curve's ups and downs are within a tenth of the range around the origin.
fn is_near_origin(points: &[Point], log: LogScale) -> bool {
    let (mut near, mut all) = (0.0, 0.0);
    for pair in points.windows(2) {
        let moved: f64 = (pair[0].effects.iter().zip(&pair[1].effects))
            .map(|(a, b)| (a.value - b.value).abs())
            .sum();
        let middle = pair[0].at + pair[1].at - 1.0;
        all += moved;
        if (middle - log.origin).abs() < 0.2 {
            near += moved;
        }
    }
    near > 0.5 * all
}

/// Round numbers between two bounds, with their places.
fn ticks(low: f64, high: f64) -> Vec<(f64, f64)> {
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| *step >= rough * 0.999);
    let step = step.unwrap_or(rough);
    let (from, to) = (
        (low / step - 1e-9).ceil() as i64,
        (high / step + 1e-9).floor() as i64,
    );
    let values = (from..=to).map(|i| i as f64 * step);
    values.map(|x| ((x - low) / (high - low), x)).collect()
}

/// The origin and powers of ten around it, not too close.
fn log_ticks(low: f64, high: f64, log: LogScale) -> Vec<(f64, f64)> {
    let scaled = |x: f64| 2.0 * (x - low) / (high - low) - 1.0;
    let origin = low + (log.origin + 1.0) / 2.0 * (high - low);
    let mut ticks = vec![(log.place(log.origin), origin)];
    for power in (-6..=12).rev() {
        for x in [origin + 10_f64.powi(power), origin - 10_f64.powi(power)] {
            let place = log.place(scaled(x));
            let is_apart = ticks.iter().all(|(at, _)| (at - place).abs() > 0.16);
            if (low..=high).contains(&x) && is_apart {
                ticks.push((place, x));
            }
        }
    }
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    ticks
}

/// One place of a pair's grid along an axis: the number in [−1, 1], or the category.
struct Grid {
    labels: Vec<String>,
    places: Vec<f64>,
}

fn grid(axis: &LayoutAxis) -> Option<Grid> {
    match &axis.kind {
        AxisKind::Number { low, high } => {
            let place = |i: usize| (i as f64 + 0.5) / PLACES as f64;
            Some(Grid {
                labels: (0..PLACES)
                    .map(|i| number(low + place(i) * (high - low)))
                    .collect(),
                places: (0..PLACES).map(|i| 2.0 * place(i) - 1.0).collect(),
            })
        }
        AxisKind::Category(names) if names.len() <= MOST_LABELS => Some(Grid {
            labels: names.clone(),
            places: (0..names.len()).map(|i| i as f64).collect(),
        }),
        _ => None,
    }
}

/// Value for every output, and variance, of every cell of a pair's grid.
type Cells = Vec<(Vec<f64>, f64)>;

/// The strongest pairs: the sum of all tables that hold both columns, each averaged over its other
/// columns, on one grid.
fn pairs(
    weights: &Weights<'_>,
    map: &TableMap,
    axes: &[LayoutAxis],
    outputs: &[String],
) -> Vec<Pair> {
    let grids: Vec<Option<Grid>> = axes.iter().map(grid).collect();
    let mut sums: BTreeMap<(usize, usize), Cells> = BTreeMap::new();
    for (table, members) in map.shape().tables.iter().enumerate() {
        for (i, &a) in members.iter().enumerate() {
            for (j, &b) in members.iter().enumerate().skip(i + 1) {
                let pair = (a as usize, b as usize);
                let (Some(x), Some(y)) = (&grids[pair.0], &grids[pair.1]) else {
                    continue;
                };
                let size = x.places.len() * y.places.len();
                let zero = || vec![(vec![0.0; outputs.len()], 0.0); size];
                let cells = sums.entry(pair).or_insert_with(zero);
                add_table(weights, map, (table, members), [(i, x), (j, y)], cells);
            }
        }
    }
    let mut all: Vec<Pair> = Vec::new();
    for ((a, b), cells) in sums {
        let (Some(x), Some(y)) = (&grids[a], &grids[b]) else {
            continue;
        };
        let shown = (0..outputs.len()).map(|k| {
            let mean = cells.iter().map(|cell| cell.0[k]).sum::<f64>() / cells.len() as f64;
            // Less the square that noise alone would have.
            let square = cells.iter().map(|(v, noise)| (v[k] - mean).powi(2) - noise);
            let strength = (square.sum::<f64>() / cells.len() as f64).max(0.0).sqrt();
            (k, mean, strength)
        });
        let strongest = shown.max_by(|a, b| a.2.total_cmp(&b.2));
        let Some((k, mean, strength)) = strongest else {
            continue;
        };
        let cell = |(values, variance): &(Vec<f64>, f64)| Effect {
            value: values[k] - mean,
            sd: weights.sds.map(|_| variance.sqrt()),
        };
        all.push(Pair {
            names: [a, b].map(|axis| axes[axis].name.clone()),
            output: outputs[k].clone(),
            labels: [x.labels.clone(), y.labels.clone()],
            cells: cells.iter().map(cell).collect(),
            strength,
        });
    }
    all.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    all.truncate(MOST_PAIRS);
    all
}

/// Adds a table, averaged over the columns that are not shown.
fn add_table(
    weights: &Weights<'_>,
    map: &TableMap,
    (table, members): (usize, &[u32]),
    shown: [(usize, &Grid); 2],
    cells: &mut Cells,
) {
    let widths: Vec<usize> = members
        .iter()
        .map(|&axis| match map.shape().axes[axis as usize] {
            Axis::Number { .. } => map.shape().bins as usize + 1,
            Axis::Category { values } => values as usize + 1,
        })
        .collect();
    let strides: Vec<usize> = widths
        .iter()
        .scan(1, |stride, width| {
            let here = *stride;
            *stride *= width;
            Some(here)
        })
        .collect();
    // The coordinates of all combinations of the columns that are averaged over; an unknown
    // category is none of them.
    let mut rest = vec![map.table(table).start];
    for (place, &axis) in members.iter().enumerate() {
        if shown.iter().any(|(at, _)| *at == place) {
            continue;
        }
        let width = match map.shape().axes[axis as usize] {
            Axis::Number { .. } => widths[place],
            Axis::Category { values } => values as usize,
        };
        let longer = rest.iter().flat_map(|first| {
            let stride = strides[place];
            (0..width).map(move |bin| first + bin * stride)
        });
        rest = longer.collect();
    }
    let bins = shown.map(|(place, grid)| {
        let edges = map.edges(table, place);
        let bin = |&v: &f64| match map.shape().axes[members[place] as usize] {
            Axis::Number { .. } => edges.partition_point(|edge| *edge <= v),
            Axis::Category { .. } => v as usize,
        };
        let bins = grid.places.iter().map(bin);
        bins.map(|bin| bin * strides[place]).collect::<Vec<_>>()
    });
    let count = rest.len() as f64;
    let mut cells = cells.iter_mut();
    for y in &bins[1] {
        for x in &bins[0] {
            let Some((values, variance)) = cells.next() else {
                return;
            };
            for &first in &rest {
                let i = first + x + y;
                for (k, value) in values.iter_mut().enumerate() {
                    *value += weights.weights[i * weights.outputs + k] / count;
                }
                *variance += weights.variance(i) / (count * count);
            }
        }
    }
}
