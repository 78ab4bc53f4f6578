//! Files as they come, through the program: a skeleton that is filled in, flags for tables without
//! a header, and
//! what a person is warned of.

use crate::common::{BUDGET, Folder, SCHEMA, rows};
use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A table without a header, with spaces and `?`, from [`rows`].
fn messy(count: u64) -> String {
    let text = rows(count, 1);
    let lines = text.lines().skip(1).enumerate();
    lines
        .map(|(number, line)| {
            let line = line.replace(',', ", ");
            match number % 10 {
                3 => line.replacen(line.split(", ").next().unwrap(), "?", 1) + "\n",
                _ => line + "\n",
            }
        })
        .collect()
}

#[test]
fn a_skeleton_is_filled_in_learned_from_and_predicted_with() {
    let folder = Folder::new();
    folder.write("d.csv", messy(400));
    // What the first row holds is not repeated, and the message says what to do.
    let message = folder.fails(&format!("learn d.csv {SCHEMA} {BUDGET}"));
    assert!(
        message.contains("--no-header") && message.contains("--names"),
        "{message}"
    );
    let names = "--names a,b,c,who,y";
    let (skeleton, _) = folder.succeeds(&format!(
        "schema d.csv {names} --missing ? --target y --ignore who"
    ));
    folder.write("s.toml", &skeleton);
    let unfilled = folder.fails(&format!("learn d.csv --schema s.toml {BUDGET}"));
    assert!(
        unfilled.contains("s.toml, line ") && unfilled.contains("??? is left"),
        "{unfilled}"
    );
    let filled = skeleton
        .replace("a = [???, ???]\n", "a = [0, 1]\n")
        .replace("b = [???, ???]\n", "b = [0, 10]\n")
        .replace("c = [???, ???]\n", "")
        .replace(
            "[vocabulary]\n",
            "[vocabulary]\nc = [\"x\", \"y\", \"z\"]\n",
        );
    folder.write("s.toml", &filled);
    let told = folder.json(&format!(
        "learn d.csv --schema s.toml {BUDGET} --seed-insecure 1 --passes 1 --model m"
    ));
    assert_eq!((&told["rounds"], &told["nulls"]), (&400.into(), &0.into()));
    // The model remembers what is missing, and that there was no header.
    let (out, _) = folder.succeeds(&format!("predict m d.csv {names}"));
    assert!(out.lines().count() >= 400);
    assert_eq!(folder.succeeds("predict m d.csv").0, out);
    let refused = folder.fails("predict m d.csv --header");
    assert!(refused.contains("--no-header"), "{refused}");

    // The same table with a header and without spaces is learned from alike.
    let plain = messy(400).replace(", ", ",").replace('?', "");
    folder.write("p.csv", format!("a,b,c,who,y\n{plain}"));
    let same = folder.json(&format!(
        "learn p.csv {SCHEMA} {BUDGET} --seed-insecure 1 --passes 1"
    ));
    assert_eq!(told["metrics"], same["metrics"]);
    // Flags do as well as a schema.
    let same = folder.json(&format!(
        "learn d.csv {names} {SCHEMA} {BUDGET} --missing ? --seed-insecure 1 --passes 1"
    ));
    assert_eq!(told["metrics"], same["metrics"]);
}

#[test]
fn all_columns_without_a_description_are_told_with_their_lines_of_a_schema() {
    let folder = Folder::with_rows(10);
    let output = folder.run(&format!("learn d.csv --target y --bounds a=0:1 {BUDGET}"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(
        error.contains("[bounds]\nb = [???, ???]\nc = [???, ???]\nwho = [???, ???]\n"),
        "{error}"
    );
    let last = error.lines().last().unwrap();
    assert!(
        last.contains("3 columns have no public bounds or categories: `b`, `c`, `who`;"),
        "{last}"
    );
}

#[test]
fn semicolons_and_an_index_without_a_name_are_read() {
    let folder = Folder::new();
    let text = rows(50, 1);
    let indexed: Vec<String> = text
        .lines()
        .enumerate()
        .map(|(number, line)| match number {
            0 => format!(";{}", line.replace(',', ";")),
            _ => format!("{number};{}", line.replace(',', ";")),
        })
        .collect();
    folder.write("d.csv", indexed.join("\n"));
    let learn = format!("learn d.csv {SCHEMA} {BUDGET} --seed-insecure 1");
    let message = folder.fails(&learn);
    assert!(
        message.contains("a semicolon; state it: --separator ';'"),
        "{message}"
    );
    let (_, error) = folder.succeeds(&format!("{learn} --separator ;"));
    assert!(
        error.contains("note: the first column has no name"),
        "{error}"
    );
}

#[test]
fn a_large_delta_is_warned_of_in_learn_and_plan() {
    let folder = Folder::with_rows(100);
    let learn = |delta: &str| {
        let (_, error) = folder.succeeds(&format!(
            "learn d.csv {SCHEMA} --epsilon 1 --delta {delta} --seed-insecure 1"
        ));
        error.contains("is not below 1/n for n = 100 records")
    };
    assert!(learn("0.01") && !learn("0.001"));
    let told = folder.json(&format!(
        "learn d.csv {SCHEMA} --epsilon 1 --delta 0.01 --seed-insecure 1"
    ));
    assert_eq!(told["public_warnings"].as_array().unwrap().len(), 1);
    let plan = |delta: &str| {
        let (out, _) = folder.succeeds(&format!("plan --rounds 100 --epsilon 1 --delta {delta}"));
        out.contains("is not below 1/n")
    };
    assert!(plan("0.01") && !plan("0.001"));
    assert!(plan("0.01 --recipe dartboard --dim 9") && !plan("0.001 --recipe dartboard --dim 9"));
}

#[test]
fn a_bound_that_says_nothing_is_told() {
    let folder = Folder::new();
    let table: String = (0..20)
        .map(|n| format!("{},{}\n", n % 2, 1 - n % 2))
        .collect();
    folder.write("e.csv", format!("a,b\n{table}"));
    let (_, error) = folder.succeeds(
        "learn e.csv --task experts --bounds *=0:1 --epsilon 0.1 --delta 1e-6 --recipe dartboard \
         --seed-insecure 1",
    );
    assert!(
        error.contains("is not below the trivial one") && error.contains("says nothing here"),
        "{error}"
    );
    let plan = |rounds: &str| {
        folder
            .succeeds(&format!(
                "plan --recipe pftal-convex --lipschitz 1 --dim 2 --rounds {rounds} --epsilon 1 \
                 --delta 1e-9"
            ))
            .0
            .contains("says nothing here")
    };
    assert!(plan("10") && !plan("1e8"));
    let (out, _) =
        folder.succeeds("plan --recipe dartboard --dim 10 --rounds 10 --epsilon 0.1 --delta 1e-6");
    assert!(out.contains("says nothing here"), "{out}");
    let least = |rounds: &str| {
        let plan =
            format!("plan --recipe pqftl --dim 3 --rounds {rounds} --epsilon 1 --delta 1e-13");
        let (out, _) = folder.succeeds(&plan);
        assert!(out.contains("regret of"), "{out}");
        out.contains("says nothing here")
    };
    assert!(least("10") && !least("1e6"));
    folder.write("d.csv", rows(60, 1));
    let cover = "--target y --features a --bounds a=0:1 --recipe cover --seed-insecure 1";
    let told = folder.json(&format!("learn d.csv {cover} {BUDGET}"));
    let parameter = |key: &str| told["parameters"][key].as_f64().unwrap();
    assert!(
        parameter("regret_bound") > parameter("trivial_regret"),
        "{told}"
    );
    let warned = told["public_warnings"].to_string();
    assert!(warned.contains("says nothing here"), "{warned}");
}

#[test]
fn a_ledger_whose_data_was_renamed_is_told() {
    let folder = Folder::with_rows(100);
    let warns = |file: &str| {
        let (_, error) = folder.succeeds(&format!("learn {file} {SCHEMA} {BUDGET}"));
        error.contains("is a ledger whose data is not there") && error.contains("ledger move")
    };
    assert!(!warns("d.csv"));
    std::fs::rename(folder.path("d.csv"), folder.path("renamed.csv")).unwrap();
    assert!(warns("renamed.csv"));
    // A file that was not there yet when the ledger was begun is none that was renamed.
    folder.write("young.csv", rows(100, 2));
    let about = folder.path("young.csv").metadata().unwrap();
    assert_eq!(warns("young.csv"), about.created().is_err());
    // A ledger that is named was decided on.
    let (_, error) = folder.succeeds(&format!(
        "learn renamed.csv {SCHEMA} {BUDGET} --ledger named"
    ));
    assert!(!error.contains("whose data is not there"), "{error}");
}

#[test]
fn predictions_of_one_class_alone_are_told_to_the_operator() {
    let folder = Folder::new();
    let table: String = (0..400)
        .map(|n| format!("1,{}\n", u8::from(n % 20 == 19)))
        .collect();
    folder.write("d.csv", format!("a,y\n{table}"));
    let learn = "learn d.csv --target y --bounds a=0:1 --epsilon 20 --delta 1e-6 --seed-insecure 1";
    let (_, error) = folder.succeeds(learn);
    assert!(error.contains("predictions were the same class"), "{error}");
    let quiet = folder.json(&format!("{learn} --quiet"));
    assert!(quiet["warnings"].is_null());
}

/// Far longer than any sync takes.
const FOREVER: Duration = Duration::from_secs(120);

#[test]
fn the_model_of_a_live_stream_is_the_newest_and_whole_at_every_moment() {
    let folder = Folder::new();
    let text = rows(400, 1);
    let mut lines = text.lines();
    let mut command = folder.command(&format!(
        "learn - --format csv {SCHEMA} {BUDGET} --recipe pftal-convex --batch 1 --rounds 1000 \
         --ledger ledger --model model --quiet --sync-milliseconds 20"
    ));
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    writeln!(pipe, "{}", lines.next().unwrap()).unwrap();
    let mut written = 0;
    for burst in [1, 40, 3] {
        for row in lines.by_ref().take(burst) {
            writeln!(pipe, "{row}").unwrap();
        }
        written += burst as u64;
        let start = Instant::now();
        loop {
            let model = std::fs::read(folder.path("model")).unwrap_or_else(|_| b"{}".to_vec());
            // A file that is being replaced is the old one or the new one.
            let model: serde_json::Value = serde_json::from_slice(&model).unwrap();
            if model["release"] == written {
                assert!(model["guarantee"]["epsilon"].as_f64().unwrap() <= 1.0 + 1e-9);
                break;
            }
            assert!(
                start.elapsed() < FOREVER,
                "{} of {written}",
                model["release"]
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
    // A kill leaves the last model, which can be used.
    child.kill().unwrap();
    child.wait().unwrap();
    folder.write("new.csv", rows(5, 2));
    folder.succeeds("predict model new.csv");
}
