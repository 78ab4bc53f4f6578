//! What a model says of itself: the law of its noise, intervals, and curves.
#![allow(clippy::unwrap_used)]

use hushstream::explain::Shape;
use hushstream::prelude::*;
use std::fmt::Write;

const SCHEMA: &str = "target = 'y'\npositive = '1'
    bounds = { a = [0, 10], gain = [0, 100000] }
    vocabulary = { c = ['red', 'green', 'blue'], d = ['u', 'v'] }";

/// A model of this table, learned in a file's way.
fn learned(table: &str, seed: u64, passes: u64) -> Model {
    learned_by(table, passes, |learner| {
        learner.privacy.seed_insecure = Some(seed);
    })
}

/// The same with other settings.
fn learned_by(table: &str, passes: u64, set: impl Fn(&mut Learner)) -> Model {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("d.csv"), folder.path().join("m.json"));
    std::fs::write(&data, table).unwrap();
    let mut learner = Learner::classify()
        .schema(SCHEMA.parse().unwrap())
        .budget(Budget::approx(1.0, 1e-6).unwrap())
        .adjacency(ReplaceOne)
        .model(&path);
    set(&mut learner);
    learner.data.passes = Some(passes);
    learner.data.malformed = Some(hushstream::learner::Malformed::Empty);
    learner.output.quiet = true;
    learner.learn_file(data.to_str().unwrap()).unwrap();
    Model::load(path).unwrap()
}

/// Rows without a target: nothing is learned, and every weight is noise.
fn nothing(rows: u32) -> String {
    let row = |i: u32| {
        format!(
            "{},{},{},u,\n",
            i % 10,
            i * 77,
            ["red", "green", "blue"][i as usize % 3]
        )
    };
    (0..rows).fold("a,gain,c,d,y\n".to_owned(), |text, i| text + &row(i))
}

/// On a stream of nothing, weights are noise with the stated deviation, and intervals hold the
/// score without noise, 0, as often as they say.
#[test]
fn the_stated_deviation_is_that_of_the_noise() {
    for passes in [1, 20] {
        let table = nothing(300);
        let (mut square, mut count, mut held, mut asked) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..60 {
            let model = learned(&table, seed, passes);
            let sds = model.noise_sd.clone().unwrap();
            assert_eq!(sds.len(), model.weights.len());
            for (weight, sd) in model.weights.iter().zip(&sds) {
                square += (weight / sd).powi(2);
                count += 1.0;
            }
            for gain in [0.0, 5000.0, 90_000.0] {
                let row = [
                    ("a", Value::Number(3.0)),
                    ("gain", Value::Number(gain)),
                    ("c", Value::Text("green")),
                    ("d", Value::Text("v")),
                ];
                let (low, high) = model.interval(&row, 0.9).unwrap().unwrap();
                asked += 1.0;
                held += f64::from(u8::from(low <= 0.5 && 0.5 <= high));
            }
            let intervals = model.weight_intervals(0.95).unwrap().unwrap();
            assert!(
                (intervals[0].1 - intervals[0].0 - 2.0 * 1.959_964 * sds[0]).abs() < 1e-3 * sds[0]
            );
        }
        // Some 2,000 squares, not all independent: about 0.03 of deviation.
        let ratio = f64::sqrt(square / count);
        assert!((0.93..1.06).contains(&ratio), "{passes} passes: {ratio}");
        let coverage = held / asked;
        assert!(
            (0.83..0.97).contains(&coverage),
            "{passes} passes: {coverage}"
        );
    }
}

/// Where there is something to learn, weights and scores stay around their means over many seeds at
/// least about as often as intervals say: the stated deviation counts no correction by later
/// records.
#[test]
fn intervals_hold_where_something_is_learned() {
    let mut table = "a,gain,c,d,y\n".to_owned();
    for i in 0..1500_u32 {
        let (a, gain) = (i * 7 % 11 % 10, i * 31 % 97 * 1000);
        let (c, d) = (i * 13 % 17 % 3, i * 5 % 7 % 2);
        let y = (a + 3 * c + i * 11 % 13) % 19 > 9;
        let (c, d) = (["red", "green", "blue"][c as usize], ["u", "v"][d as usize]);
        let _ = writeln!(table, "{a},{gain},{c},{d},{}", u8::from(y));
    }
    let rows = [(3.0, 0.0, "green", "v"), (9.0, 90_000.0, "red", "u")].map(|(a, gain, c, d)| {
        let (a, gain) = (Value::Number(a), Value::Number(gain));
        [
            ("a", a),
            ("gain", gain),
            ("c", Value::Text(c)),
            ("d", Value::Text(d)),
        ]
    });
    // Passes, tables of pairs, and an unknown horizon.
    for (passes, tables, unknown) in [(20, None, false), (1, Some(2), false), (1, Some(0), true)] {
        let learned = |seed| {
            learned_by(&table, passes, |learner| {
                learner.wishes.tables = tables;
                learner.privacy.seed_insecure = Some(seed);
                learner.privacy.horizon_unknown = unknown;
                learner.privacy.rounds = unknown.then_some(1500);
            })
        };
        let models: Vec<Model> = (0..20).map(learned).collect();
        let held = |ends: &dyn Fn(&Model) -> (f64, f64, f64)| -> f64 {
            let all: Vec<_> = models.iter().map(ends).collect();
            let mean = all.iter().map(|(value, ..)| value).sum::<f64>() / all.len() as f64;
            let inside = all
                .iter()
                .filter(|(_, low, high)| (*low..=*high).contains(&mean));
            inside.count() as f64 / all.len() as f64
        };
        let weights = models[0].weights.len();
        let of_weights = (0..weights).map(|i| {
            held(&|model| {
                let (low, high) = model.weight_intervals(0.9).unwrap().unwrap()[i];
                (model.weights[i], low, high)
            })
        });
        let of_weights = of_weights.sum::<f64>() / weights as f64;
        let of_scores = rows.iter().map(|row| {
            held(&|model| {
                let (low, high) = model.interval(row, 0.9).unwrap().unwrap();
                let Prediction::Class { score, .. } = model.predict(row).unwrap() else {
                    panic!("a class");
                };
                let logit = |p: f64| (p / (1.0 - p)).ln();
                (score, logit(low), logit(high))
            })
        });
        let of_scores = of_scores.sum::<f64>() / rows.len() as f64;
        let what = format!("{passes} passes, {tables:?}: {of_weights}, {of_scores}");
        // The noise of a count moves its own cell too, which is not counted.
        let least = if tables == Some(2) { 0.8 } else { 0.9 };
        assert!(of_weights > least && of_scores > 0.94, "{what}");
    }
}

/// With categories alone every row has the same factor, and effects add up to the score exactly.
#[test]
fn effects_of_categories_add_up_to_the_score() {
    let mut table = "c,d,y\n".to_owned();
    for i in 0..2000_u32 {
        let (c, d) = (
            ["red", "green", "blue"][i as usize % 3],
            ["u", "v"][i as usize / 3 % 2],
        );
        let _ = writeln!(
            table,
            "{c},{d},{}",
            u8::from(c == "red" || d == "u" && i % 5 > 0)
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("d.csv"), folder.path().join("m.json"));
    std::fs::write(&data, table).unwrap();
    let schema = "target = 'y'\npositive = '1'
        vocabulary = { c = ['red', 'green', 'blue'], d = ['u', 'v'] }";
    let learner = Learner::classify()
        .schema(schema.parse().unwrap())
        .budget(Budget::approx(8.0, 1e-6).unwrap())
        .adjacency(ReplaceOne)
        .simulated(3)
        .model(&path);
    learner.learn_file(data.to_str().unwrap()).unwrap();
    let model = Model::load(path).unwrap();
    let shapes = model.explain().unwrap();
    assert_eq!(shapes.predicts, "whether y is 1");
    let effect = |column: &str, value: &str| {
        let column = shapes.columns.iter().find(|c| c.name == column).unwrap();
        let Shape::Categories { values, .. } = &column.shape else {
            panic!("categories");
        };
        let found = values.iter().find(|(name, _)| name == value).unwrap();
        found.1[0].value
    };
    for c in ["red", "green", "blue"] {
        for d in ["u", "v"] {
            let row = [("c", Value::Text(c)), ("d", Value::Text(d))];
            let Prediction::Class { score, .. } = model.predict(&row).unwrap() else {
                panic!("a class");
            };
            // Cells of tables, where there are any, come on top.
            let sum = shapes.base[0] + effect("c", c) + effect("d", d);
            assert!(model.tables.as_ref().unwrap().tables() > 0 || (score - sum).abs() < 1e-9);
        }
    }
    assert!(effect("c", "red") > effect("c", "blue"));
    let mean: f64 = ["red", "green", "blue"]
        .iter()
        .map(|c| effect("c", c))
        .sum();
    assert!(mean.abs() < 1e-9);
    let row = [("c", Value::Text("red")), ("d", Value::Text("u"))];
    assert!(model.interval(&row, 1.0).is_err());
}

/// A curve in the units of its column: the points are the knots of both scales, from bound to
/// bound.
#[test]
fn curves_are_in_the_units_of_their_columns() {
    let mut table = "a,gain,c,d,y\n".to_owned();
    for i in 0..3000_u32 {
        let _ = writeln!(
            table,
            "{},{},red,u,{}",
            i % 10,
            i % 7 * 1000,
            u8::from(i % 10 > 4)
        );
    }
    let model = learned(&table, 5, 20);
    let shapes = model.explain().unwrap();
    let a = shapes
        .columns
        .iter()
        .find(|column| column.name == "a")
        .unwrap();
    assert_eq!(shapes.columns[0].name, "a"); // it decides
    let Shape::Curve { points, ticks } = &a.shape else {
        panic!("a curve");
    };
    let (first, last) = (&points[0], &points[points.len() - 1]);
    assert!(first.x.abs() < 1e-9 && (last.x - 10.0).abs() < 1e-9);
    assert!(points.is_sorted_by(|a, b| a.x < b.x && a.at < b.at));
    assert!(last.effects[0].value > first.effects[0].value + 1.0);
    let mean: f64 = points.iter().map(|p| p.effects[0].value).sum();
    assert!(mean.abs() < 1e-9 * points.len() as f64);
    assert!(
        ticks
            .iter()
            .all(|(at, x)| (0.0..=1.0).contains(at) && (0.0..=10.0).contains(x))
    );
    assert!(points.iter().all(|p| p.effects[0].sd.unwrap() > 0.0));
    assert!(a.sure < a.range && a.sure > 0.0);
}

#[test]
fn a_model_without_curves_says_where_to_look() {
    let mut run = Learner::classify()
        .features(1)
        .norm(1.0)
        .records(50)
        .budget(Budget::approx(1.0, 1e-6).unwrap())
        .adjacency(ReplaceOne)
        .simulated(7)
        .start()
        .unwrap();
    for i in 0..50 {
        run.learn(&[f64::from(i % 5) / 5.0, f64::from(i % 2)])
            .unwrap();
    }
    let model = run.model().unwrap().into_value();
    let told = model.explain().unwrap_err().to_string();
    assert!(told.contains("hushstream inspect"), "{told}");
    assert_eq!(model.interval(&[0.5][..], 0.9).unwrap(), None);
}

/// Numbers in a twentieth of their bounds, read twenty times: the model's offset moves from the
/// middle of the bounds to them, and predictions, curves and intervals begin there.
#[test]
fn an_offset_is_part_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let (data, path) = (folder.path().join("d.csv"), folder.path().join("m.json"));
    let mut table = "a,c,y\n".to_owned();
    for i in 0..3000 {
        let (a, c) = (i % 11, ["red", "green"][i as usize % 2]);
        writeln!(table, "{a},{c},{}", 400 + 40 * a + i * 7 % 13).unwrap();
    }
    std::fs::write(&data, table).unwrap();
    let schema = "target = 'y'\nbounds = { a = [0, 10] }\nvocabulary = { c = ['red', 'green'] }";
    let mut learner = Learner::regress(0.0..20000.0)
        .schema(schema.parse().unwrap())
        .budget(Budget::approx(10.0, 1e-6).unwrap())
        .adjacency(ReplaceOne)
        .simulated(3)
        .model(&path);
    learner.output.quiet = true;
    learner.learn_file(data.to_str().unwrap()).unwrap();
    let model = Model::load(&path).unwrap();
    assert_eq!(
        model.weights.len(),
        model.tables.as_ref().unwrap().dimension()
    );
    assert!((0.0..5000.0).contains(&model.offset), "{}", model.offset);
    for a in [0, 5, 10] {
        let row: [(&str, Value<'_>); 2] = [("a", Value::Number(f64::from(a))), ("c", "red".into())];
        let Prediction::Number(number) = model.predict(&row[..]).unwrap() else {
            panic!("a number");
        };
        assert!(
            (number - 406.0 - 40.0 * f64::from(a)).abs() < 300.0,
            "{a}: {number}"
        );
        let (low, high) = model.interval(&row[..], 0.9).unwrap().unwrap();
        assert!(low < number && number < high, "{low} {number} {high}");
    }
    let base = model.explain().unwrap().base[0];
    assert!((300.0..900.0).contains(&base), "{base}");
    let sql = model.to_sql("t", &[]).unwrap();
    assert!(sql.contains(&format!("+ {:e})", model.offset)), "{sql}");
}
