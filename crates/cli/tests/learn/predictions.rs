//! A published model predicts outside what it predicted inside.

use crate::common::{BUDGET, Dice, Folder, SCHEMA};
use std::fmt::Write;

/// A run long enough to have learned something, with a model.
const ENOUGH: &str = "--seed-insecure 1 --batch 20 --model model --epsilon 20 --delta 1e-6";

#[test]
fn signs_with_and_without_targets() {
    let folder = Folder::with_rows(2000);
    folder.succeeds(&format!("learn d.csv {SCHEMA} {ENOUGH} --recipe pqftl"));
    let (out, told) = folder.succeeds("predict model d.csv");
    let header = "prediction,probability of 1,score";
    assert_eq!(out.lines().next(), Some(header));
    assert_eq!(out.lines().count(), 2001);
    let data = folder.text("d.csv");
    let (mut right, mut log_loss) = (0, 0.0);
    for (said, row) in out.lines().zip(data.lines()).skip(1) {
        let [class, chance, score]: [&str; 3] =
            said.split(',').collect::<Vec<_>>().try_into().unwrap();
        let (chance, score): (f64, f64) = (chance.parse().unwrap(), score.parse().unwrap());
        assert_eq!(class, if chance > 0.5 { "1" } else { "0" });
        // Least squares: the map that the book states.
        let mapped = (0.5 * (1.0 + score)).clamp(0.001, 0.999);
        assert!((mapped - chance).abs() < 1e-12, "{said}");
        let truth = row.rsplit(',').next().unwrap();
        right += usize::from(class == truth);
        log_loss -= if truth == "1" { chance } else { 1.0 - chance }.ln() / 2000.0;
    }
    assert!(right > 1700, "{right}");
    assert!(
        told.contains(&format!("accuracy {:.3}", right as f64 / 2000.0)),
        "{told}"
    );
    let json = folder.json("predict model d.csv");
    assert_eq!(json["labelled"], 2000);
    let metric = |key: &str| json["metrics"][key].as_f64().unwrap();
    assert!((metric("accuracy") - right as f64 / 2000.0).abs() < 1e-12);
    assert!((metric("log_loss") - log_loss).abs() < 1e-9);
    assert!(metric("auc") > 0.9 && metric("auc_error") < 5e-4, "{json}");
    // Columns may come in another order, the target may be missing, and a file may be asked for.
    let mut turned = "c,b,a\n".to_owned();
    for row in folder.text("d.csv").lines().skip(1) {
        let fields: Vec<&str> = row.split(',').collect();
        let _ = writeln!(turned, "{},{},{}", fields[2], fields[1], fields[0]);
    }
    folder.write("new.csv", turned);
    let (again, told) = folder.succeeds("predict model new.csv --output out");
    assert!(again.is_empty() && told.is_empty());
    assert_eq!(folder.text("out"), out);
    let json = folder.json("predict model new.csv");
    assert!(json["labelled"] == 0 && json["metrics"].is_null(), "{json}");
    // A row that cannot be read leaves no file that looks whole.
    folder.write("new.csv", "a,b,c\n0,0,x\n0,much,x\n");
    let message = folder.fails("predict model new.csv --output half");
    assert!(message.contains("line 3, column 2 (`b`)"), "{message}");
    assert!(folder.names().iter().all(|name| !name.contains("half")));
    let message = folder.fails("predict model d.csv --output d.csv");
    assert!(message.contains("same file"), "{message}");
    let (shown, _) = folder.succeeds("inspect model");
    assert!(
        shown.contains("whether y holds") && shown.contains("(intercept)"),
        "{shown}"
    );
}

#[test]
fn whoever_reads_may_stop_early() {
    use std::io::Read;
    let folder = Folder::with_rows(20_000);
    folder.succeeds(&format!("learn d.csv {SCHEMA} {ENOUGH}"));
    let mut command = folder.command("predict model d.csv");
    let pipes = command.stdout(std::process::Stdio::piped());
    let mut child = pipes.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut start = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    let mut error = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut error)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{error}");
    assert!(!error.contains("panicked"), "{error}");
}

#[test]
fn classes_and_numbers() {
    let folder = Folder::with_rows(3000);
    let classes = "--target c --classes x,y,z --ignore who --bounds a=0:1,b=0:10,y=0:1";
    folder.succeeds(&format!("learn d.csv {classes} {ENOUGH}"));
    let (out, _) = folder.succeeds("predict model d.csv");
    let right = out
        .lines()
        .zip(folder.text("d.csv").lines())
        .filter(|(said, row)| row.split(',').nth(2) == said.split(',').next())
        .count();
    assert_eq!(out.lines().next(), Some("prediction,probability,score"));
    for chance in out.lines().skip(1).map(|line| line.split(',').nth(1)) {
        // Of three the likeliest.
        assert!((1.0 / 3.0..=1.0).contains(&chance.unwrap().parse::<f64>().unwrap()));
    }
    // Classes are drawn alike and tell little: better than one of three, and as told.
    assert!(right > 1000, "{right}");
    let json = folder.json("predict model d.csv");
    let told = json["metrics"]["accuracy"].as_f64().unwrap();
    assert!((told - right as f64 / 3000.0).abs() < 1e-12);
    assert!(
        json["metrics"]["log_loss"].as_f64().unwrap() < 1.2,
        "{json}"
    );
    let (shown, _) = folder.succeeds("inspect model --weights 3");
    assert!(shown.contains("c, one of x, y, z"), "{shown}");

    let number = "--target b --target-bounds 0:10 --features a,y --bounds a=0:1,y=0:1";
    folder.succeeds(&format!("learn d.csv {number} {ENOUGH}"));
    let (out, _) = folder.succeeds("predict model d.csv");
    let mut squares = 0.0;
    for (said, row) in out.lines().zip(folder.text("d.csv").lines()).skip(1) {
        let said: f64 = said.parse().unwrap();
        assert!((0.0..=10.0).contains(&said));
        squares += (said - row.split(',').nth(1).unwrap().parse::<f64>().unwrap()).powi(2);
    }
    let json = folder.json("predict model d.csv");
    let told = json["metrics"]["mse"].as_f64().unwrap();
    assert!((told - squares / 3000.0).abs() < 1e-9, "{told}");
    // The mean alone would be off by 100/12.
    assert!(told < 8.0, "{told}");
    let (shown, _) = folder.succeeds("inspect model");
    assert!(shown.contains("as 5 plus the score"), "{shown}");
}

#[test]
fn classes_have_the_names_of_the_data() {
    let folder = Folder::with_rows(500);
    let named = "--target c --positive x --ignore who --bounds a=0:1,b=0:10,y=0:1";
    folder.succeeds(&format!("learn d.csv {named} {ENOUGH}"));
    let (out, _) = folder.succeeds("predict model d.csv");
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("prediction,probability of x,score"));
    for line in lines {
        let mut fields = line.split(',');
        let (name, chance) = (fields.next().unwrap(), fields.next().unwrap());
        let likely = chance.parse::<f64>().unwrap() > 0.5;
        assert_eq!(name, if likely { "x" } else { "not x" });
    }
    // A hinge loss tells a score and no probability.
    folder.succeeds(&format!("learn d.csv {named} {ENOUGH} --loss hinge"));
    let (out, _) = folder.succeeds("predict model d.csv");
    assert_eq!(out.lines().next(), Some("prediction,score"));
}

/// A model knows whether its table had a header: new rows are read in the same way.
#[test]
fn a_table_without_a_header_is_predicted_without_one() {
    let folder = Folder::with_rows(300);
    let text = folder.text("d.csv");
    let plain = text.split_once('\n').unwrap().1;
    folder.write("plain.csv", plain);
    for (learned, flags) in [
        (
            "--no-header",
            "--target c5 --ignore c4 --bounds c1=0:1,c2=0:10 --vocabulary c3=x|y|z".to_owned(),
        ),
        ("--names a,b,c,who,y", SCHEMA.to_owned()),
    ] {
        folder.succeeds(&format!("learn plain.csv {learned} {flags} {ENOUGH}"));
        let (out, told) = folder.succeeds("predict model plain.csv");
        assert_eq!(out.lines().count(), 301);
        assert!(
            told.contains("without a header") && told.contains("300 rows"),
            "{told}"
        );
        let (same, _) = folder.succeeds(&format!("predict model plain.csv {learned}"));
        assert_eq!(same, out);
        folder.write(
            "headed.csv",
            text.replace(
                "a,b,c,who,y\n",
                if learned == "--no-header" {
                    "c1,c2,c3,c4,c5\n"
                } else {
                    "a,b,c,who,y\n"
                },
            ),
        );
        let (same, told) = folder.succeeds("predict model headed.csv --header");
        assert!(same == out && !told.contains("note"), "{told}");
    }
}

#[test]
fn experts_are_followed_and_shown() {
    let folder = Folder::new();
    let mut dice = Dice(3);
    let mut text = "good,bad,worse\n".to_owned();
    for _ in 0..3000 {
        let _ = writeln!(
            text,
            "{:.3},{:.3},{:.3}",
            0.3 * dice.share(),
            dice.share(),
            0.5 + 0.5 * dice.share()
        );
    }
    folder.write("d.csv", text);
    let flags = "learn d.csv --task experts --bounds *=0:1 --seed-insecure 1 --model model";
    // By itself one expert is drawn at a time; on sums they are weighed.
    for (recipe, budget) in [("", "--epsilon 8 --delta 1e-6"), ("--recipe ftrl", BUDGET)] {
        let told = folder.json(&format!("{flags} {recipe} {budget}"));
        let (own, best) = (&told["loss"]["average"], &told["loss"]["hindsight"]);
        let (own, best) = (own.as_f64().unwrap(), best.as_f64().unwrap());
        assert!((best - 0.15).abs() < 0.01, "{best}");
        assert!(own < best + 0.1, "{}: {own} {best}", told["recipe"]);
        assert_eq!(told["regret"]["comparator"], "best expert in hindsight");
    }
    assert!(folder.fails("predict model d.csv").contains("inspect"));
    let (_, progress) = folder.succeeds(&format!("{flags} {BUDGET}"));
    let head = progress.lines().find(|line| line.contains("since last"));
    let head: Vec<&str> = head.unwrap().split_whitespace().collect();
    let expected = [
        "loss", "since", "last", "records", "mean", "loss", "own", "loss",
    ];
    assert_eq!(head, expected);
    let (shown, _) = folder.succeeds("inspect model");
    let first = shown.lines().find(|line| line.starts_with("  ")).unwrap();
    assert!(first.ends_with("good"), "{shown}");
}
