//! The door: rows of a program and rows of a file are the same run, a stop changes nothing, and
//! nothing is spent by mistake.

use hushstream::prelude::*;
use std::fmt::Write;
use std::path::Path;

fn stated(learner: Learner) -> Learner {
    learner
        .records(600)
        .budget(Budget::approx(1.0, 1e-6).expect("allowed numbers"))
        .adjacency(ReplaceOne)
}

/// Rows with numbers outside their bounds, unknown categories and values that cannot be read.
fn rows(kind: &str) -> Vec<Vec<String>> {
    let row = |i: u32| {
        let age = f64::from(i * 7 % 130) - 5.0;
        let job = ["cook", "clerk", "smith"][i as usize % 3].to_owned();
        let target = match kind {
            "classify" => (i % 3 % 2).to_string(),
            "classes" => ["a", "b", "c"][i as usize % 3].to_owned(),
            _ => (f64::from(i % 40) - 3.5).to_string(),
        };
        let target = if i % 50 == 49 { "?".to_owned() } else { target };
        vec![age.to_string(), job, target]
    };
    (0..600).map(row).collect()
}

fn learner(kind: &str) -> Learner {
    let schema = "names = ['age', 'job', 'y']
        target = 'y'
        bounds = { age = [0, 110] }
        vocabulary = { job = ['cook', 'clerk'] }
        norm = 1.1";
    let learner = match kind {
        "classify" => Learner::classify(),
        "classes" => Learner::classes(["a", "b", "c"]),
        _ => Learner::regress(0.0..30.0),
    };
    stated(learner.schema(schema.parse().expect("a schema"))).simulated(11)
}

fn bits(model: &Model) -> Vec<u64> {
    model
        .weights
        .iter()
        .map(|weight| weight.to_bits())
        .collect()
}

/// Rows that are given all at once are those that are given one by one, up to the last that the run
/// has room for, and up to a row that is none.
#[test]
fn rows_at_once_are_rows_one_by_one() {
    let row = |i: u32| {
        let x = f64::from(i * 37 % 200) / 100.0 - 1.0;
        let strange = [f64::NAN, 1e300, -0.0, 0.3][i as usize % 4];
        [
            x,
            if i.is_multiple_of(11) { strange } else { -x },
            f64::from(i % 2),
        ]
    };
    let rows: Vec<[f64; 3]> = (0..603).map(row).collect();
    let begin = |norm: Option<f64>| {
        let learner = stated(Learner::classify().features(2)).simulated(5);
        let learner = norm.map_or(learner.clone(), |norm| learner.norm(norm));
        learner.every_release().start().unwrap()
    };
    let released = |run: &mut Run| -> Vec<Vec<u64>> {
        let models = run.publish().unwrap();
        models.iter().map(|model| bits(model.value())).collect()
    };
    for norm in [None, Some(1.0)] {
        let mut alone = begin(norm);
        rows[..600].iter().for_each(|row| alone.learn(row).unwrap());
        let wanted = (released(&mut alone), alone.figures().unwrap());
        for size in [1, 7, 8, 9, 100, 603] {
            let mut run = begin(norm);
            let mut refused = None;
            for part in rows.chunks(size) {
                refused = refused.or(run.learn_all(part).err());
            }
            let refusal = refused.expect("three rows too many").to_string();
            assert!(refusal.contains("has learned them all"), "{refusal}");
            assert_eq!(run.records(), 600);
            let found = (released(&mut run), run.figures().unwrap());
            assert_eq!(found.0, wanted.0, "{size}");
            assert!(found.1.for_the_operator() == wanted.1.for_the_operator());
        }
    }
    let mut run = begin(None);
    let short: [&[f64]; 12] = std::array::from_fn(|i| &rows[i][..if i == 10 { 2 } else { 3 }]);
    assert!(run.learn_all(short).is_err());
    assert_eq!(run.records(), 10);
}

/// The same at the ends of batches: a batch ends within a call and within records that are made
/// together, and rows that are no record are the first of a batch, the last, or several.
#[test]
fn rows_at_once_are_rows_one_by_one_at_the_ends_of_batches() {
    type Row = [f64; 10];
    let row = |i: usize| -> Row {
        let mut row: Row = std::array::from_fn(|j| ((i * 31 + j * 17) % 97) as f64 / 40.0 - 1.2);
        row[9] = (i % 3 % 2) as f64;
        match i % 100 {
            0 | 6 | 63 | 64 => row[i % 9] = f64::NAN,
            20..=24 => row[9] = f64::NAN,
            99 => row[8] = f64::INFINITY,
            _ => {}
        }
        row
    };
    let rows: Vec<Row> = (0..600).map(row).collect();
    for (task, batch, quiet) in [
        (Learner::classify(), 1, false),
        (Learner::classify(), 7, false),
        (Learner::classify(), 64, true),
        (Learner::classify(), 100, false),
        (Learner::regress(0.0..0.7), 100, false),
    ] {
        let begin = || {
            let learner = stated(task.clone().features(9)).simulated(5).norm(1.0);
            let learner = if quiet { learner.quiet() } else { learner };
            let learner = learner.recipe("pftal-convex".parse().unwrap()).batch(batch);
            learner.every_release().start().unwrap()
        };
        let told = |mut run: Run| {
            let models: Vec<(u64, Vec<u64>)> = run
                .publish()
                .unwrap()
                .iter()
                .map(|model| (model.release(), bits(model.value())))
                .collect();
            let last = bits(run.model().unwrap().value());
            let figures = run.figures().map(|figures| *figures.for_the_operator());
            let told = run.finish().unwrap();
            let counts = [
                told.nulls,
                told.clipped,
                told.malformed,
                told.targets_clipped,
            ];
            (models, last, figures, counts)
        };
        let mut alone = begin();
        rows.iter().for_each(|row| alone.learn(row).unwrap());
        let wanted = told(alone);
        assert_eq!(wanted.0.len(), (600_usize.div_ceil(batch as usize)) - 1);
        for size in [1, 5, 63, 64, 65, 600] {
            let mut run = begin();
            for part in rows.chunks(size) {
                run.learn_all(part).unwrap();
            }
            assert!(told(run) == wanted, "batches of {batch}, {size} at once");
        }
    }
}

/// The same for rows of every width: they end within lines of memory and between them.
#[test]
fn rows_of_any_width_at_once_are_rows_one_by_one() {
    for width in 1..=26 {
        let row = |i: usize| -> Vec<f64> {
            let number = |j: usize| ((i * 31 + j * 17) % 97) as f64 / 40.0 - 1.2;
            let target = (i % 3 % 2) as f64;
            (0..width).map(number).chain([target]).collect()
        };
        let rows: Vec<Vec<f64>> = (0..300).map(row).collect();
        for norm in [0.8, 100.0] {
            let begin = || {
                let learner = stated(Learner::classify().features(width)).simulated(5);
                let learner = learner.norm(norm).batch(50);
                let recipe = "pftal-convex".parse().unwrap();
                learner.recipe(recipe).start().unwrap()
            };
            let told = |mut run: Run| {
                let last = bits(run.model().unwrap().value());
                let figures = run.figures().map(|figures| *figures.for_the_operator());
                (last, figures, run.finish().unwrap().clipped)
            };
            let (mut alone, mut together) = (begin(), begin());
            rows.iter().for_each(|row| alone.learn(row).unwrap());
            together.learn_all(&rows).unwrap();
            assert!(
                told(alone) == told(together),
                "{width} numbers, norm {norm}"
            );
        }
    }
}

/// Rows with persons are learned one by one, and each is its person's.
#[test]
fn rows_of_persons_at_once_are_rows_one_by_one() {
    let rows: Vec<[f64; 4]> = (0..600)
        .map(|i| {
            let x = f64::from(i * 37 % 200) / 100.0 - 1.0;
            [x, -x * x, f64::from(i % 70), f64::from(i % 3 % 2)]
        })
        .collect();
    let schema = "names = ['a', 'b', 'who', 'y']
        target = 'y'
        person = 'who'
        bounds = { '*' = [-1, 1] }
        norm = 1";
    let learned = |learn: &dyn Fn(&mut Run)| {
        let learner = Learner::classify().schema(schema.parse().unwrap());
        let mut learner = stated(learner).simulated(3);
        learner.privacy.max_per_person = Some(4);
        let mut run = learner.start().unwrap();
        learn(&mut run);
        let model = bits(run.model().unwrap().value());
        (model, run.finish().unwrap().nulls)
    };
    let alone = learned(&|run| rows.iter().for_each(|row| run.learn(row).unwrap()));
    let together = learned(&|run| run.learn_all(&rows).unwrap());
    assert_eq!(alone, together);
    assert!(alone.1 > Some(300));
}

#[test]
fn rows_of_a_program_are_the_rows_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for kind in ["classify", "classes", "regress"] {
        let mut table = String::new();
        let mut run = learner(kind).start().unwrap();
        for row in rows(kind) {
            writeln!(table, "{}", row.join(",")).unwrap();
            let number = |text: &str| text.parse().map_or(Value::Text("?"), Value::Number);
            let target = match kind {
                "regress" => number(&row[2]),
                _ => Value::Text(&row[2]),
            };
            run.learn(&[
                ("age", number(&row[0])),
                ("job", Value::Text(&row[1])),
                ("y", target),
            ])
            .unwrap();
        }
        std::fs::write(path("table.csv"), table).unwrap();
        let mut from_file = learner(kind).model(path("model.json"));
        from_file.data.malformed = Some(hushstream::learner::Malformed::Empty);
        let outcome = from_file.learn_file(path("table.csv")).unwrap();
        let read = Model::load(path("model.json")).unwrap();
        let own = run.model().unwrap().into_value();
        assert_eq!(bits(&own), bits(&read), "{kind}");
        assert_eq!(own.release, read.release);
        let told = run.finish().unwrap();
        assert_eq!(told.malformed, outcome.malformed);
        assert_eq!(told.malformed, Some(12));
        assert_eq!(told.targets_clipped, outcome.targets_clipped);
        assert_eq!(told.clipped, outcome.clipped);
    }
}

#[test]
fn a_stop_changes_nothing_and_costs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let described = |name: &str| {
        stated(Learner::classify().features(2))
            .ledger(folder.path().join(format!("{name}.ledger")))
            .state(folder.path().join(name))
            .simulated(5)
    };
    let row = |i: u64| [(i % 7) as f64 / 7.0, (i % 3) as f64 / 3.0, (i % 2) as f64];
    let mut whole = described("whole").start().unwrap();
    (0..600).for_each(|i| whole.learn(&row(i)).unwrap());
    let mut first = described("stopped").start().unwrap();
    (0..333).for_each(|i| first.learn(&row(i)).unwrap());
    drop(first);
    // A description that is not the same is refused.
    let other = described("stopped").batch(7).resume();
    assert!(other.err().unwrap().to_string().contains("`batch` 7"));
    let mut second = described("stopped").resume().unwrap();
    assert!(second.resumed().unwrap().starts_with("resumed after"));
    (second.records()..600).for_each(|i| second.learn(&row(i)).unwrap());
    assert_eq!(
        bits(second.model().unwrap().value()),
        bits(whole.model().unwrap().value())
    );
    let more = second.learn(&row(600)).unwrap_err().to_string();
    assert!(more.contains("planned for 600 records"), "{more}");
    assert_eq!(second.finish().unwrap().ledger.runs, 1);
    drop(whole); // a ledger is locked while a run has it
    // A folder has one run, and a ledger no room for a second one.
    let again = described("stopped").start().err().unwrap().to_string();
    assert!(again.contains("holds a run already"), "{again}");
    let second = described("other").ledger(folder.path().join("whole.ledger"));
    let refused = second.start().err().unwrap().to_string();
    assert!(refused.contains("does not fit the budget"), "{refused}");
}

#[test]
fn every_release_is_given_once() {
    let described = || {
        stated(Learner::classify().features(1))
            .batch(50)
            .simulated(5)
    };
    let mut all = described().every_release().start().unwrap();
    let mut last = described().start().unwrap();
    let (mut numbers, mut lasts) = (Vec::new(), Vec::new());
    for i in 0..600_u32 {
        for run in [&mut all, &mut last] {
            run.learn(&[f64::from(i % 5) / 5.0, f64::from(i % 2)])
                .unwrap();
        }
        if i % 150 == 149 {
            let given = all.publish().unwrap();
            numbers.extend(given.iter().map(|model| model.release()));
            lasts.push(last.publish().unwrap());
            assert_eq!(lasts.last().unwrap().len(), 1);
            let both = (
                given.last().unwrap().value(),
                lasts.last().unwrap()[0].value(),
            );
            assert_eq!(bits(both.0), bits(both.1));
        }
    }
    assert!(
        numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{numbers:?}"
    );
    assert_eq!(numbers.first(), Some(&1));
    assert!(all.publish().unwrap().is_empty() && last.publish().unwrap().is_empty());
}

#[test]
fn a_plan_spends_nothing_and_real_noise_needs_a_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("people.ledger");
    let described = stated(Learner::regress(-1.0..1.0).features(3));
    let plan = described.clone().ledger(&ledger).plan().unwrap();
    assert!(plan.to_string().contains("features, 600 records"), "{plan}");
    assert!(!Path::new(&ledger).exists());
    let error = described.start().err().unwrap().to_string();
    assert!(error.contains("name the ledger"), "{error}");
}

#[test]
fn what_is_not_stated_is_told() {
    let told = |learner: Learner| learner.start().err().unwrap().to_string();
    let budget = Budget::approx(1.0, 1e-6).unwrap();
    let bare = Learner::classify().features(1).simulated(1);
    let records = bare.clone().budget(budget).adjacency(ReplaceOne);
    assert!(told(records).contains("the number of records"));
    assert!(told(bare.clone().records(10).budget(budget)).contains("adjacency"));
    let no_columns = Learner::classify()
        .records(10)
        .budget(budget)
        .adjacency(ReplaceOne);
    let no_target = told(no_columns.simulated(1));
    assert!(
        no_target.contains("`target`") && !no_target.contains("--"),
        "{no_target}"
    );
    let mut run = stated(bare).start().unwrap();
    let short = run.learn(&[0.5]).unwrap_err().to_string();
    assert!(short.contains("1 of 2 columns"), "{short}");
    assert_eq!(run.records(), 0);
}

/// A live bandit is asked for its play before the loss is known, and learns what a run that is
/// given all losses learns: only the played arm is looked at.
#[test]
fn a_live_bandit_plays_before_its_answer() {
    let described = || stated(Learner::bandit(3)).batch(1).simulated(11);
    let losses = |i: u32| [0.9, f64::from(i % 2) / 2.0, 0.4];
    let (mut live, mut table) = (described().start().unwrap(), described().start().unwrap());
    let mut played = [0; 3];
    for i in 0..600 {
        let play = live.play().unwrap();
        // Asking twice is the same play.
        assert_eq!(play.value(), live.play().unwrap().value());
        let shares: Vec<f64> = play.value().arms.iter().map(|arm| arm.1).collect();
        let arm = shares.iter().position(|share| *share > 0.5).unwrap();
        assert!((play.value().propensity) > 0.0);
        played[arm] += 1;
        let mut row = [0.0; 3];
        row[arm] = losses(i)[arm];
        live.learn(&row).unwrap();
        table.learn(&losses(i)).unwrap();
    }
    assert!(played.iter().all(|plays| *plays > 20), "{played:?}");
    let (live, table) = (live.model().unwrap(), table.model().unwrap());
    assert_eq!(bits(live.value()), bits(table.value()));
    let refused = stated(Learner::classify().features(1)).simulated(1);
    let refused = refused.start().unwrap().play().unwrap_err().to_string();
    assert!(refused.contains("only a bandit plays"), "{refused}");
}

/// Persons of rows that were never in a file: what each contributes is limited, as in a file.
#[test]
fn rows_of_a_program_name_their_persons() {
    let folder = tempfile::tempdir().unwrap();
    let described = |most: u64, seed: u64| {
        let mut learner = stated(Learner::classify().features(1))
            .batch(50)
            .simulated(seed);
        learner.data.schema.names.push("who".to_owned());
        learner.data.schema.person = Some("who".to_owned());
        learner.privacy.max_per_person = Some(most);
        learner
    };
    let learned = |most: u64, persons: u32| {
        let mut run = described(most, 3).start().unwrap();
        for i in 0..600_u32 {
            let row = [
                f64::from(i % 5) / 5.0,
                f64::from(i % 2),
                f64::from(i % persons),
            ];
            run.learn(&row).unwrap();
        }
        assert!(run.guarantee().to_string().contains("person"));
        run.finish().unwrap().nulls.unwrap()
    };
    // Two records of each of a hundred persons count, and all of six hundred.
    assert_eq!(learned(2, 100), 600 - 200);
    assert_eq!(learned(2, 600), 0);
    // Persons that are told apart need a limit.
    let mut unlimited = described(2, 3);
    unlimited.privacy.max_per_person = None;
    let refused = unlimited.ledger(folder.path().join("a.ledger")).start();
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("`max_per_person`"), "{refused}");
}
