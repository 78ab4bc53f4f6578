//! A model as an ONNX file.
//!
//! Opset 17 and the LabelEncoder of `ai.onnx.ml` 2, in double precision. Every column is an input
//! of the shape [N, 1]: numbers and indicators as doubles (NaN is a missing value), categories as
//! strings. ONNX is a protocol buffer; the few message types that a graph needs are written here by
//! their field numbers.

use super::{Axis, axes, cells, spellings};
use crate::error::Result;
use crate::model::Model;
use crate::target::Target;
use hushstream_mechanism::{Axis as Kind, Probability, TableMap};
use hushstream_read::TargetKind;

/// Element types of tensors, by their ONNX numbers.
const INT64: u64 = 7;
const STRING: u64 = 8;
const DOUBLE: u64 = 11;

impl Model {
    /// The model as an ONNX file. Inputs are the columns of the training data, but for the target,
    /// by their names. Outputs are
    /// - for two classes `score` (N, 1), `probability` (N, 1) of the positive one, `label` (N);
    /// - for several classes `score` (N, K), `probability` (N, K), `label` (N);
    /// - for a number `prediction` (N, 1).
    ///
    /// # Errors
    /// A model that does not predict, or has hashed features or dates.
    pub fn to_onnx(&self) -> Result<Vec<u8>> {
        let axes = axes(self)?;
        let mut graph = Graph::default();
        let codes = Codes::new(&mut graph, &axes);
        let scores = match &self.tables {
            Some(map) => self.curves(map, &mut graph, &codes),
            None => self.linear(&mut graph, &codes),
        };
        self.outputs(&mut graph, &scores);
        Ok(graph.file(&format!(
            "Learned by {}, release {}. {}",
            self.recipe, self.release, self.guarantee
        )))
    }

    /// Scores of curves and tables, [N, K].
    fn curves(&self, map: &TableMap, graph: &mut Graph, codes: &Codes) -> Value {
        let shape = map.shape();
        let outputs = self.weights.len() / map.dimension().max(1);
        let weights = graph.doubles(&[map.dimension(), outputs], &self.weights);
        let mut parts = Vec::new();
        let mut squares = Vec::new();
        let mut curves = codes.categories.len() as f64;
        let mut tail = None;
        if !codes.categories.is_empty() {
            let firsts = codes.categories.iter().map(|&axis| map.curve(axis).start);
            let firsts = graph.row(&firsts.map(|first| first as f64).collect::<Vec<_>>());
            let places = graph.op("Add", &[&codes.places, &firsts]);
            let places = graph.cast(&places, INT64);
            let found = graph.op("Gather", &[&weights, &places]);
            parts.push(graph.sum_scores(&found));
            squares.push(graph.row(&[curves]));
        }
        if !codes.numbers.is_empty() {
            let about: Vec<Hats> = codes
                .numbers
                .iter()
                .enumerate()
                .filter_map(|(column, &axis)| match shape.axes[axis] {
                    Kind::Number { knots, .. } => Some(Hats {
                        column,
                        first: map.curve(axis).start,
                        knots,
                        missing: map.curve(axis).start + knots as usize,
                    }),
                    Kind::Category { .. } => None,
                })
                .collect();
            let half: Vec<f64> = about.iter().map(|a| f64::from(a.knots - 1) / 2.0).collect();
            let half = graph.row(&half);
            let up = graph.op("Mul", &[&codes.scaled, &half]);
            let place = graph.op("Add", &[&up, &half]);
            let (score, square) = hats(graph, &weights, &about, &place, &codes.missing);
            curves += about.len() as f64;
            parts.push(graph.sum_scores(&score));
            squares.push(graph.sum(&square));
            let tails: Vec<(Hats, f64, f64, f64)> = codes
                .numbers
                .iter()
                .zip(&about)
                .filter_map(|(&axis, hats)| match shape.axes[axis] {
                    Kind::Number { log: Some(log), .. } => {
                        let (low, factor) = log.range();
                        let first = hats.missing + 1;
                        let own = Hats {
                            column: hats.column,
                            first,
                            knots: log.knots,
                            missing: first,
                        };
                        Some((own, log.origin, low, factor * f64::from(log.knots - 1)))
                    }
                    _ => None,
                })
                .collect();
            if !tails.is_empty() {
                let (score, square, present) =
                    self.tails(graph, codes, &weights, tails.into_iter());
                tail = Some(graph.sum(&present));
                parts.push(score);
                squares.push(square);
            }
        }
        let rest = graph.row(&[1.0 - shape.share]);
        let scale = if shape.l1 {
            let mut present = graph.row(&[curves]);
            if let Some(tail) = &tail {
                present = graph.op("Add", &[&present, tail]);
            }
            graph.op("Div", &[&rest, &present])
        } else {
            let square = graph.total(&squares);
            let ratio = graph.op("Div", &[&rest, &square]);
            graph.op("Sqrt", &[&ratio])
        };
        let sum = graph.total(&parts);
        let curves = graph.op("Mul", &[&scale, &sum]);
        let tables = cells(map);
        if tables.is_empty() {
            return curves;
        }
        // Every axis' code, in order; the bins of a table's axes; the cell that they make.
        let codes = codes.in_order(graph, shape.axes.len());
        let starts: Vec<f64> = tables.iter().map(|cells| cells.first as f64).collect();
        let mut place = graph.row(&starts);
        let mut lacking: Option<Value> = None;
        let arity = tables.iter().map(|cells| cells.places.len()).max();
        for at in 0..arity.unwrap_or(0) {
            // Tables with fewer axes count their first one without a stride.
            let bins = tables
                .iter()
                .map(|cells| cells.places.get(at).unwrap_or(&cells.places[0]));
            let of =
                |part: &dyn Fn(&super::Bins) -> f64| bins.clone().map(part).collect::<Vec<_>>();
            let strides: Vec<f64> = tables
                .iter()
                .map(|cells| cells.places.get(at).map_or(0.0, |bins| bins.stride as f64))
                .collect();
            let axis: Vec<i64> = bins.clone().map(|bins| bins.axis as i64).collect();
            let axis = graph.indices(&axis);
            let (scale, shift) = (graph.row(&of(&|b| b.scale)), graph.row(&of(&|b| b.shift)));
            let stride = graph.row(&strides);
            let own = graph.along("Gather", &[&codes.values, &axis], 1);
            let own = graph.op("Mul", &[&own, &scale]);
            let own = graph.op("Add", &[&own, &shift]);
            let own = graph.op("Floor", &[&own]);
            let own = graph.op("Mul", &[&own, &stride]);
            place = graph.op("Add", &[&place, &own]);
            let without = graph.along("Gather", &[&codes.missing, &axis], 1);
            lacking = Some(match lacking {
                Some(known) => graph.op("Max", &[&known, &without]),
                None => without,
            });
        }
        let place = graph.cast(&place, INT64);
        let found = graph.op("Gather", &[&weights, &place]);
        let found = match lacking {
            Some(lacking) => {
                let present = graph.op("Sub", &[&graph.one.clone(), &lacking]);
                let present = graph.unsqueeze(&present);
                graph.op("Mul", &[&found, &present])
            }
            None => found,
        };
        let found = graph.sum_scores(&found);
        graph.op("Add", &[&curves, &found])
    }

    /// Curves on logarithmic scales: their score [N, K], squared length [N, 1], and 1 where a value
    /// is present [N, L].
    fn tails(
        &self,
        graph: &mut Graph,
        codes: &Codes,
        weights: &Value,
        tails: impl Iterator<Item = (Hats, f64, f64, f64)>,
    ) -> (Value, Value, Value) {
        let (mut about, mut origins, mut lows, mut spans) = (vec![], vec![], vec![], vec![]);
        for (hats, origin, low, span) in tails {
            about.push(hats);
            origins.push(origin);
            lows.push(low);
            spans.push(span);
        }
        let columns: Vec<i64> = about.iter().map(|hats| hats.column as i64).collect();
        let columns = graph.indices(&columns);
        let value = graph.along("Gather", &[&codes.scaled, &columns], 1);
        let missing = graph.along("Gather", &[&codes.missing, &columns], 1);
        let (origins, lows, spans) = (graph.row(&origins), graph.row(&lows), graph.row(&spans));
        let away = graph.op("Sub", &[&value, &origins]);
        let distance = graph.op("Mul", &[&away, &graph.number(500.0)]);
        let size = graph.op("Abs", &[&distance]);
        let size = graph.op("Add", &[&size, &graph.one.clone()]);
        // Exponent and mantissa: lines between the powers of two.
        let exponent = graph.op("Log", &[&size]);
        let exponent = graph.op("Div", &[&exponent, &graph.number(std::f64::consts::LN_2)]);
        let exponent = graph.op("Floor", &[&exponent]);
        let power = graph.op("Pow", &[&graph.number(2.0), &exponent]);
        let mantissa = graph.op("Div", &[&size, &power]);
        let logarithm = graph.op("Add", &[&exponent, &mantissa]);
        let logarithm = graph.op("Sub", &[&logarithm, &graph.one.clone()]);
        let sign = graph.op("Sign", &[&distance]);
        let signed = graph.op("Mul", &[&sign, &logarithm]);
        let above = graph.op("Sub", &[&signed, &lows]);
        let place = graph.op("Mul", &[&above, &spans]);
        let ends: Vec<f64> = about.iter().map(|hats| f64::from(hats.knots - 1)).collect();
        let place = graph.op("Max", &[&place, &graph.number(0.0)]);
        let place = graph.op("Min", &[&place, &graph.row(&ends)]);
        let none = graph.op("Mul", &[&missing, &graph.number(0.0)]);
        let (score, square) = hats(graph, weights, &about, &place, &none);
        let present = graph.op("Sub", &[&graph.one.clone(), &missing]);
        let square = graph.op("Mul", &[&square, &present]);
        let wide = graph.unsqueeze(&present);
        let score = graph.op("Mul", &[&score, &wide]);
        (graph.sum_scores(&score), graph.sum(&square), present)
    }

    /// Scores of a linear model, [N, K].
    fn linear(&self, graph: &mut Graph, codes: &Codes) -> Value {
        let dimension = self.layout.dimension();
        let outputs = self.weights.len() / dimension.max(1);
        // By coordinate: the file has class after class. Behind them zeros, for unknown categories.
        let weight = |at: usize, k: usize| match at < dimension {
            true => self.weights[k * dimension + at],
            false => 0.0,
        };
        let all = (0..=dimension).flat_map(|at| (0..outputs).map(move |k| weight(at, k)));
        let all: Vec<f64> = all.collect();
        let weights = graph.doubles(&[dimension + 1, outputs], &all);
        let (mut parts, mut squares) = (Vec::new(), Vec::new());
        let mut at = 0;
        let (mut numbers, mut marks, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
        for axis in &codes.widths {
            match *axis {
                Width::Number => numbers.push(at as i64),
                Width::Category(_) => firsts.push(at),
                Width::Group(width) => marks.extend((at..at + width).map(|at| at as i64)),
            }
            at += match *axis {
                Width::Number => 1,
                Width::Category(width) | Width::Group(width) => width,
            };
        }
        for (values, places) in [(&codes.scaled, &numbers), (&codes.marks, &marks)] {
            if !places.is_empty() {
                let places = graph.indices(places);
                let own = graph.op("Gather", &[&weights, &places]);
                parts.push(graph.op("MatMul", &[values, &own]));
                let square = graph.op("Mul", &[values, values]);
                squares.push(graph.sum(&square));
            }
        }
        if !firsts.is_empty() {
            let widths: Vec<f64> = codes
                .widths
                .iter()
                .filter_map(|width| match *width {
                    Width::Category(width) => Some(width as f64),
                    _ => None,
                })
                .collect();
            let widths = graph.row(&widths);
            // Groups of indicators have places too, which count for curves alone.
            let texts = graph.indices(&codes.texts);
            let places = graph.along("Gather", &[&codes.places, &texts], 1);
            let known = graph.op("Less", &[&places, &widths]);
            let firsts: Vec<f64> = firsts.iter().map(|&first| first as f64).collect();
            let place = graph.op("Add", &[&places, &graph.row(&firsts)]);
            let nowhere = graph.number(dimension as f64);
            let place = graph.op("Where", &[&known, &place, &nowhere]);
            let place = graph.cast(&place, INT64);
            let own = graph.op("Gather", &[&weights, &place]);
            parts.push(graph.sum_scores(&own));
            let known = graph.cast(&known, DOUBLE);
            squares.push(graph.sum(&known));
        }
        let (sum, square) = (graph.total(&parts), graph.total(&squares));
        let bound = self.layout.features_norm();
        let fit = shrink(graph, &square, bound);
        let sum = graph.op("Mul", &[&fit, &sum]);
        let Some(at) = self.layout.intercept() else {
            let square = graph.op("Mul", &[&square, &fit]);
            let square = graph.op("Mul", &[&square, &fit]);
            let last = shrink(graph, &square, self.length);
            return graph.op("Mul", &[&last, &sum]);
        };
        let constants: Vec<f64> = (0..outputs).map(|k| weight(at, k)).collect();
        let sum = graph.op("Add", &[&sum, &graph.row(&constants)]);
        let square = graph.op("Mul", &[&square, &fit]);
        let square = graph.op("Mul", &[&square, &fit]);
        let square = graph.op("Add", &[&square, &graph.one.clone()]);
        let last = shrink(graph, &square, self.length);
        graph.op("Mul", &[&last, &sum])
    }

    /// Predictions from scores.
    fn outputs(&self, graph: &mut Graph, score: &Value) {
        let target = Target::new(&self.layout, self.probability);
        let (low, high) = (Probability::LEAST, 1.0 - Probability::LEAST);
        match self.layout.target() {
            TargetKind::Number { low, high } => {
                let value = graph.op("Add", &[score, &graph.number(self.offset)]);
                let value = clip(graph, &value, *low, *high);
                graph.output("prediction", &value, DOUBLE, Some(1));
            }
            TargetKind::Class { classes } => {
                let best = graph.best(score);
                let names = graph.strings(classes);
                let label = graph.op("Gather", &[&names, &best]);
                let chance = self.probability.map(|map| match map {
                    Probability::Logistic => graph.along("Softmax", &[score], 1),
                    Probability::Linear => {
                        let kept = clip(graph, score, Probability::LEAST, 1.0);
                        let total = graph.sum(&kept);
                        graph.op("Div", &[&kept, &total])
                    }
                });
                graph.output("score", score, DOUBLE, Some(classes.len()));
                if let Some(chance) = chance {
                    graph.output("probability", &chance, DOUBLE, Some(classes.len()));
                }
                graph.output("label", &label, STRING, None);
            }
            _ => {
                let is_positive = graph.op("Greater", &[score, &graph.number(0.0)]);
                let place = graph.cast(&is_positive, INT64);
                let place = graph.squeeze(&place);
                let names: Vec<String> = (0..2).map(|k| target.name(k).to_owned()).collect();
                let names = graph.strings(&names);
                let label = graph.op("Gather", &[&names, &place]);
                let chance = self.probability.map(|map| match map {
                    Probability::Logistic => graph.op("Sigmoid", &[score]),
                    Probability::Linear => {
                        let up = graph.op("Add", &[score, &graph.one.clone()]);
                        let half = graph.op("Mul", &[&up, &graph.number(0.5)]);
                        clip(graph, &half, low, high)
                    }
                });
                graph.output("score", score, DOUBLE, Some(1));
                if let Some(chance) = chance {
                    graph.output("probability", &chance, DOUBLE, Some(1));
                }
                graph.output("label", &label, STRING, None);
            }
        }
    }
}

/// 1, or what takes a length down to its bound, from the squared length.
fn shrink(graph: &mut Graph, square: &Value, bound: f64) -> Value {
    let length = graph.op("Sqrt", &[square]);
    let length = graph.op("Max", &[&length, &graph.number(bound)]);
    graph.op("Div", &[&graph.number(bound), &length])
}

fn clip(graph: &mut Graph, value: &Value, low: f64, high: f64) -> Value {
    let value = graph.op("Max", &[value, &graph.number(low)]);
    graph.op("Min", &[&value, &graph.number(high)])
}

/// A curve: its column among the numbers, its first knot, and the coordinate of a missing value.
struct Hats {
    column: usize,
    first: usize,
    knots: u32,
    missing: usize,
}

/// The weighted hats around places [N, A]: scores [N, A, K] and squared lengths [N, A].
fn hats(
    graph: &mut Graph,
    weights: &Value,
    about: &[Hats],
    place: &Value,
    missing: &Value,
) -> (Value, Value) {
    let last: Vec<f64> = about.iter().map(|hats| f64::from(hats.knots - 2)).collect();
    let firsts: Vec<f64> = about.iter().map(|hats| hats.first as f64).collect();
    let nowhere: Vec<f64> = about.iter().map(|hats| hats.missing as f64).collect();
    let left = graph.op("Floor", &[place]);
    let left = graph.op("Min", &[&left, &graph.row(&last)]);
    let share = graph.op("Sub", &[place, &left]);
    let present = graph.op("Sub", &[&graph.one.clone(), missing]);
    let share = graph.op("Mul", &[&share, &present]);
    let rest = graph.op("Sub", &[&graph.one.clone(), &share]);
    let left = graph.op("Add", &[&left, &graph.row(&firsts)]);
    let is_missing = graph.op("Greater", &[missing, &graph.number(0.5)]);
    let left = graph.op("Where", &[&is_missing, &graph.row(&nowhere), &left]);
    // A missing value has one coordinate.
    let right = graph.op("Add", &[&left, &present]);
    let mut score = Vec::new();
    for (place, weight) in [(&left, &rest), (&right, &share)] {
        let place = graph.cast(place, INT64);
        let found = graph.op("Gather", &[weights, &place]);
        let wide = graph.unsqueeze(weight);
        score.push(graph.op("Mul", &[&found, &wide]));
    }
    let score = graph.op("Add", &[&score[0], &score[1]]);
    let (rest, share) = (
        graph.op("Mul", &[&rest, &rest]),
        graph.op("Mul", &[&share, &share]),
    );
    (score, graph.op("Add", &[&rest, &share]))
}

/// How many coordinates an axis of a linear model has.
enum Width {
    Number,
    Category(usize),
    Group(usize),
}

/// The inputs of a graph as matrices.
struct Codes {
    /// Axes that are numbers, and that have categories.
    numbers: Vec<usize>,
    categories: Vec<usize>,
    widths: Vec<Width>,
    /// Numbers scaled to [−1, 1], 0 where missing, [N, A], and 1 where missing.
    scaled: Value,
    missing: Value,
    /// Places of categories, [N, C]; unknown ones come last. Which of them are columns of texts.
    places: Value,
    texts: Vec<i64>,
    /// Indicators clipped to [0, 1].
    marks: Value,
}

impl Codes {
    fn new(graph: &mut Graph, axes: &[Axis<'_>]) -> Self {
        let (mut numbers, mut categories, mut widths) = (vec![], vec![], vec![]);
        let (mut values, mut places, mut marks) = (vec![], vec![], vec![]);
        let (mut middles, mut factors, mut texts) = (vec![], vec![], vec![]);
        for (at, axis) in axes.iter().enumerate() {
            match axis {
                Axis::Number { column, low, high } => {
                    numbers.push(at);
                    widths.push(Width::Number);
                    middles.push((low + high) / 2.0);
                    factors.push(2.0 / (high - low));
                    values.push(graph.input(column, DOUBLE));
                }
                Axis::Category { column, values } => {
                    texts.push(categories.len() as i64);
                    categories.push(at);
                    widths.push(Width::Category(values.len()));
                    let text = graph.input(column, STRING);
                    let place = graph.places(&text, values);
                    places.push(graph.cast(&place, DOUBLE));
                }
                Axis::Group(members) => {
                    categories.push(at);
                    widths.push(Width::Group(members.len()));
                    let own: Vec<Value> = members
                        .iter()
                        .map(|name| graph.input(name, DOUBLE))
                        .collect();
                    let own = graph.concat(&own);
                    let lacks = graph.op("IsNaN", &[&own]);
                    let own = graph.op("Where", &[&lacks, &graph.number(0.0), &own]);
                    marks.push(clip(graph, &own, 0.0, 1.0));
                    // The last one that is set, as a row is read; none is unknown.
                    let set = graph.op("Greater", &[&own, &graph.number(0.5)]);
                    let set = graph.cast(&set, DOUBLE);
                    let count = members.len();
                    let ranks: Vec<f64> = (1..=count).map(|rank| rank as f64).collect();
                    let set = graph.op("Mul", &[&set, &graph.row(&ranks)]);
                    let top = graph.top(&set);
                    let none = graph.op("Less", &[&top, &graph.number(0.5)]);
                    let place = graph.op("Sub", &[&top, &graph.one.clone()]);
                    let unknown = graph.number(count as f64);
                    places.push(graph.op("Where", &[&none, &unknown, &place]));
                }
            }
        }
        let empty = || graph.one.clone();
        let (mut scaled, mut missing) = (empty(), empty());
        if !values.is_empty() {
            let all = graph.concat(&values);
            let lacks = graph.op("IsNaN", &[&all]);
            missing = graph.cast(&lacks, DOUBLE);
            let all = graph.op("Sub", &[&all, &graph.row(&middles)]);
            let all = graph.op("Mul", &[&all, &graph.row(&factors)]);
            let all = graph.op("Where", &[&lacks, &graph.number(0.0), &all]);
            scaled = clip(graph, &all, -1.0, 1.0);
        }
        let whole = |graph: &mut Graph, parts: &[Value]| match parts {
            [] => graph.one.clone(),
            parts => graph.concat(parts),
        };
        Self {
            numbers,
            categories,
            widths,
            scaled,
            missing,
            places: whole(graph, &places),
            texts,
            marks: whole(graph, &marks),
        }
    }

    /// All codes in the order of the axes, and 1 where a number is missing.
    fn in_order(&self, graph: &mut Graph, axes: usize) -> InOrder {
        let mut order = vec![0; axes];
        for (at, &axis) in self.numbers.iter().chain(&self.categories).enumerate() {
            order[axis] = at as i64;
        }
        let order = graph.indices(&order);
        let zero = graph.number(0.0);
        let (values, missing) = match (self.numbers.is_empty(), self.categories.is_empty()) {
            (false, false) => {
                let known = graph.op("Mul", &[&self.places, &zero]);
                (
                    graph.concat(&[self.scaled.clone(), self.places.clone()]),
                    graph.concat(&[self.missing.clone(), known]),
                )
            }
            (false, true) => (self.scaled.clone(), self.missing.clone()),
            _ => {
                let known = graph.op("Mul", &[&self.places, &zero]);
                (self.places.clone(), known)
            }
        };
        InOrder {
            values: graph.along("Gather", &[&values, &order], 1),
            missing: graph.along("Gather", &[&missing, &order], 1),
        }
    }
}

struct InOrder {
    values: Value,
    missing: Value,
}

/// The name of a value in a graph.
type Value = std::rc::Rc<str>;

/// A graph in the making.
struct Graph {
    nodes: Vec<Message>,
    constants: std::cell::RefCell<Vec<Message>>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    next: std::cell::Cell<usize>,
    one: Value,
}

impl Default for Graph {
    fn default() -> Self {
        let mut graph = Self {
            nodes: Vec::new(),
            constants: std::cell::RefCell::default(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            next: std::cell::Cell::new(0),
            one: Value::from(""),
        };
        graph.one = graph.number(1.0);
        graph
    }
}

impl Graph {
    fn name(&self) -> Value {
        let number = self.next.get();
        self.next.set(number + 1);
        // No column is called so.
        format!("hushstream:{number}").into()
    }

    fn node(&mut self, kind: &str, inputs: &[&Value], about: Vec<Message>, domain: &str) -> Value {
        let name = self.name();
        let mut node = Message::default();
        for input in inputs {
            node.text(1, input);
        }
        node.text(2, &name);
        node.text(4, kind);
        for attribute in about {
            node.message(5, &attribute);
        }
        node.text(7, domain);
        self.nodes.push(node);
        name
    }

    fn op(&mut self, kind: &str, inputs: &[&Value]) -> Value {
        self.node(kind, inputs, Vec::new(), "")
    }

    /// An operation along an axis.
    fn along(&mut self, kind: &str, inputs: &[&Value], axis: i64) -> Value {
        self.node(kind, inputs, vec![whole("axis", axis)], "")
    }

    fn concat(&mut self, parts: &[Value]) -> Value {
        let parts: Vec<&Value> = parts.iter().collect();
        self.along("Concat", &parts, 1)
    }

    fn cast(&mut self, value: &Value, to: u64) -> Value {
        self.node("Cast", &[value], vec![whole("to", to as i64)], "")
    }

    /// Adds up columns: [N, A] becomes [N, 1].
    fn sum(&mut self, value: &Value) -> Value {
        let axes = self.indices(&[1]);
        self.node("ReduceSum", &[value, &axes], vec![whole("keepdims", 1)], "")
    }

    /// Adds up the scores of columns: [N, A, K] becomes [N, K].
    fn sum_scores(&mut self, value: &Value) -> Value {
        let axes = self.indices(&[1]);
        self.node("ReduceSum", &[value, &axes], vec![whole("keepdims", 0)], "")
    }

    fn top(&mut self, value: &Value) -> Value {
        let about = vec![wholes("axes", &[1]), whole("keepdims", 1)];
        self.node("ReduceMax", &[value], about, "")
    }

    fn best(&mut self, value: &Value) -> Value {
        let about = vec![whole("axis", 1), whole("keepdims", 0)];
        self.node("ArgMax", &[value], about, "")
    }

    fn unsqueeze(&mut self, value: &Value) -> Value {
        let axes = self.indices(&[2]);
        self.op("Unsqueeze", &[value, &axes])
    }

    fn squeeze(&mut self, value: &Value) -> Value {
        let axes = self.indices(&[1]);
        self.op("Squeeze", &[value, &axes])
    }

    /// The places of texts among categories.
    fn places(&mut self, text: &Value, values: &[String]) -> Value {
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        for (place, value) in values.iter().enumerate() {
            for key in spellings(value) {
                keys.push(key);
                places.push(place as i64);
            }
        }
        let mut names = Message::attribute("keys_strings", 8);
        keys.iter().for_each(|key| names.text(9, key));
        let about = vec![
            names,
            wholes("values_int64s", &places),
            whole("default_int64", values.len() as i64),
        ];
        self.node("LabelEncoder", &[text], about, "ai.onnx.ml")
    }

    fn total(&mut self, parts: &[Value]) -> Value {
        let mut parts = parts.iter();
        let first = parts.next().unwrap_or(&self.one).clone();
        parts.fold(first, |sum, part| self.op("Add", &[&sum, part]))
    }

    fn tensor(&self, dims: &[usize], kind: u64, fill: impl FnOnce(&mut Message)) -> Value {
        let name = self.name();
        let mut tensor = Message::default();
        dims.iter().for_each(|&dim| tensor.number(1, dim as u64));
        tensor.number(2, kind);
        fill(&mut tensor);
        tensor.text(8, &name);
        self.constants.borrow_mut().push(tensor);
        name
    }

    fn doubles(&self, dims: &[usize], values: &[f64]) -> Value {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.tensor(dims, DOUBLE, |tensor| tensor.bytes(9, &bytes))
    }

    fn row(&self, values: &[f64]) -> Value {
        self.doubles(&[1, values.len()], values)
    }

    fn number(&self, value: f64) -> Value {
        self.doubles(&[], &[value])
    }

    fn indices(&self, values: &[i64]) -> Value {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.tensor(&[values.len()], INT64, |tensor| tensor.bytes(9, &bytes))
    }

    fn strings(&self, values: &[String]) -> Value {
        self.tensor(&[values.len()], STRING, |tensor| {
            values.iter().for_each(|value| tensor.text(6, value));
        })
    }

    fn input(&mut self, name: &str, kind: u64) -> Value {
        self.inputs.push(described(name, kind, Some(1)));
        name.into()
    }

    fn output(&mut self, name: &str, value: &Value, kind: u64, width: Option<usize>) {
        let mut node = Message::default();
        node.text(1, value);
        node.text(2, name);
        node.text(4, "Identity");
        self.nodes.push(node);
        self.outputs.push(described(name, kind, width));
    }

    fn file(self, about: &str) -> Vec<u8> {
        let mut graph = Message::default();
        self.nodes.iter().for_each(|node| graph.message(1, node));
        graph.text(2, "hushstream");
        let constants = self.constants.into_inner();
        constants.iter().for_each(|tensor| graph.message(5, tensor));
        graph.text(10, about);
        self.inputs
            .iter()
            .for_each(|input| graph.message(11, input));
        self.outputs
            .iter()
            .for_each(|output| graph.message(12, output));
        let mut model = Message::default();
        model.number(1, 8);
        model.text(2, "hushstream");
        model.text(3, env!("CARGO_PKG_VERSION"));
        model.message(7, &graph);
        for (domain, version) in [("", 17), ("ai.onnx.ml", 2)] {
            let mut opset = Message::default();
            opset.text(1, domain);
            opset.number(2, version);
            model.message(8, &opset);
        }
        model.0
    }
}

/// A named tensor of the shape [N], or [N, width].
fn described(name: &str, kind: u64, width: Option<usize>) -> Message {
    let mut rows = Message::default();
    rows.text(2, "N");
    let mut shape = Message::default();
    shape.message(1, &rows);
    if let Some(width) = width {
        let mut columns = Message::default();
        columns.number(1, width as u64);
        shape.message(1, &columns);
    }
    let mut tensor = Message::default();
    tensor.number(1, kind);
    tensor.message(2, &shape);
    let mut of = Message::default();
    of.message(1, &tensor);
    let mut value = Message::default();
    value.text(1, name);
    value.message(2, &of);
    value
}

fn whole(name: &str, value: i64) -> Message {
    let mut attribute = Message::attribute(name, 2);
    attribute.number(3, value as u64);
    attribute
}

fn wholes(name: &str, values: &[i64]) -> Message {
    let mut attribute = Message::attribute(name, 7);
    values
        .iter()
        .for_each(|&value| attribute.number(8, value as u64));
    attribute
}

/// A message of a protocol buffer.
#[derive(Default, Clone)]
struct Message(Vec<u8>);

impl Message {
    /// An attribute of a node, of this type.
    fn attribute(name: &str, kind: u64) -> Self {
        let mut message = Self::default();
        message.text(1, name);
        message.number(20, kind);
        message
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    fn text(&mut self, field: u64, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    fn message(&mut self, field: u64, value: &Self) {
        self.bytes(field, &value.0);
    }
}
