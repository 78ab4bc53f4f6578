//! A published model predicts outside what it predicted inside.

use crate::common::{BUDGET, Dice, Folder, SCHEMA};
use std::fmt::Write;

/// A run long enough to have learned something, with a model.
const ENOUGH: &str = "--seed-insecure 1 --batch 20 --model model --epsilon 20 --delta 1e-6";

#[test]
fn signs_with_and_without_targets() {
    let folder = Folder::with_rows(2000);
    folder.succeeds(&format!("learn d.csv {SCHEMA} {ENOUGH}"));
    let (out, told) = folder.succeeds("predict model d.csv");
    assert_eq!(out.lines().count(), 2000);
    let right = out
        .lines()
        .zip(folder.text("d.csv").lines().skip(1))
        .filter(|(said, row)| said.starts_with("1 ") == row.ends_with(",1"))
        .count();
    assert!(right > 1700, "{right}");
    assert!(
        told.contains(&format!("{:.6} right", right as f64 / 2000.0)),
        "{told}"
    );
    let json = folder.json("predict model d.csv");
    assert_eq!(json["labelled"], 2000);
    assert!((json["accuracy"].as_f64().unwrap() - right as f64 / 2000.0).abs() < 1e-12);
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
    assert_eq!(folder.json("predict model new.csv")["labelled"], 0);
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
        .zip(folder.text("d.csv").lines().skip(1))
        .filter(|(said, row)| row.split(',').nth(2) == Some(*said))
        .count();
    // Classes are drawn alike and tell little: better than one of three, and as told.
    assert!(right > 1000, "{right}");
    let json = folder.json("predict model d.csv");
    assert!((json["accuracy"].as_f64().unwrap() - right as f64 / 3000.0).abs() < 1e-12);
    let (shown, _) = folder.succeeds("inspect model --weights 3");
    assert!(shown.contains("c, one of x, y, z"), "{shown}");
    assert_eq!(
        shown.lines().filter(|line| line.starts_with("  ")).count(),
        3
    );

    let number = "--target b --target-bounds 0:10 --features a,y --bounds a=0:1,y=0:1";
    folder.succeeds(&format!("learn d.csv {number} {ENOUGH}"));
    let (out, _) = folder.succeeds("predict model d.csv");
    let mut squares = 0.0;
    for (said, row) in out.lines().zip(folder.text("d.csv").lines().skip(1)) {
        let said: f64 = said.parse().unwrap();
        assert!((0.0..=10.0).contains(&said));
        squares += (said - row.split(',').nth(1).unwrap().parse::<f64>().unwrap()).powi(2);
    }
    let json = folder.json("predict model d.csv");
    let told = json["squared_error"].as_f64().unwrap();
    assert!((told - squares / 3000.0).abs() < 1e-9, "{told}");
    // The mean alone would be off by 100/12.
    assert!(told < 8.0, "{told}");
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
    let (shown, _) = folder.succeeds("inspect model");
    let first = shown.lines().find(|line| line.starts_with("  ")).unwrap();
    assert!(first.ends_with("good"), "{shown}");
}
