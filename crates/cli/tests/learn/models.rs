//! Model files: what a checksum finds, and files of other versions.

use crate::common::{BUDGET, Folder, SCHEMA};
use serde_json::Value;

fn golden(name: &str) -> String {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// Every value of a model is covered: an edited ε is not believed, and neither is anything else.
#[test]
fn an_edited_model_is_refused() {
    let folder = Folder::with_rows(100);
    folder.succeeds(&format!(
        "learn d.csv {SCHEMA} {BUDGET} --seed-insecure 1 --model model"
    ));
    let text = folder.text("model");
    let edited = text.replace("\"epsilon\": 1.0", "\"epsilon\": 0.1");
    assert_ne!(edited, text);
    folder.write("edited", &edited);
    for command in ["inspect edited", "predict edited d.csv"] {
        let message = folder.fails(command);
        assert!(message.contains("its checksum does not fit"), "{message}");
    }
    // Every number and every word, one at a time; and a key that nothing knows.
    let model: Value = serde_json::from_str(&text).unwrap();
    let mut pointers = Vec::new();
    leaves(&model, String::new(), &mut pointers);
    let statements = pointers
        .iter()
        .filter(|pointer| !pointer.starts_with("/weights/"));
    let mut seen = 0;
    for pointer in statements.chain(&["/weights/0".to_owned()]) {
        let mut model = model.clone();
        let leaf = model.pointer_mut(pointer).unwrap();
        *leaf = match leaf {
            Value::Bool(value) => (!*value).into(),
            Value::Number(value) => (value.as_f64().unwrap() + 1.0).into(),
            Value::String(text) => format!("{text}x").into(),
            _ => 1.into(),
        };
        folder.write("edited", serde_json::to_string(&model).unwrap());
        let output = folder.run("inspect edited");
        assert_eq!(output.status.code(), Some(2), "{pointer}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
    folder.write("edited", text.replacen('{', "{\"more\": 1,", 1));
    folder.fails("inspect edited");
    // Spaces say nothing.
    folder.write("edited", serde_json::to_string(&model).unwrap());
    folder.succeeds("inspect edited");
}

fn leaves(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| leaves(value, format!("{at}/{key}"), into)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(place, value)| leaves(value, format!("{at}/{place}"), into)),
        _ => into.push(at),
    }
}

#[test]
fn models_of_other_versions_are_read_or_refused_in_words() {
    let folder = Folder::new();
    folder.write("first", golden("model-v1.json"));
    let (out, told) = folder.succeeds("inspect first");
    assert!(out.contains("It predicts whether y"), "{out}");
    assert!(told.contains("written by an earlier version"), "{told}");
    let broken = golden("model-v1.json").replace("\"checksum\": ", "\"checksum\": 1");
    folder.write("broken", broken);
    folder.fails("inspect broken");
    folder.write("second", golden("model-v2.json"));
    let (second, told) = folder.succeeds("inspect second");
    assert!(told.is_empty(), "{told}");
    assert_eq!(second, out);
    // A model of curves and tables, which version 2 refuses as one of a later version.
    if std::env::var_os("HUSHSTREAM_WRITE_GOLDEN").is_some() {
        let folder = Folder::with_rows(60);
        folder.succeeds(&format!(
            "learn d.csv {SCHEMA} {BUDGET} --recipe tables --tables 2 --batch 20 --seed-insecure 1 \
             --model model"
        ));
        folder.write("d.csv", crate::common::rows(9, 1));
        let path = format!("{}/tests/golden/model-v3", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(format!("{path}.json"), folder.text("model")).unwrap();
        let (predicted, _) = folder.succeeds("predict model d.csv");
        std::fs::write(format!("{path}.predictions"), predicted).unwrap();
    }
    folder.write("third", golden("model-v3.json"));
    let (third, told) = folder.succeeds("inspect third");
    assert!(told.is_empty() && !third.is_empty(), "{told}");
    folder.write("d.csv", crate::common::rows(9, 1));
    let (predicted, _) = folder.succeeds("predict third d.csv");
    assert_eq!(predicted, golden("model-v3.predictions"));
    let without = golden("model-v3.json").replace("\"version\": 3", "\"version\": 2");
    folder.write("back", without);
    folder.fails("inspect back");
    let later = golden("model-v2.json").replace("\"version\": 2", "\"version\": 5");
    folder.write("later", later);
    let message = folder.fails("inspect later");
    assert!(
        message.contains("a later version of Hushstream"),
        "{message}"
    );
    // A version cannot be turned back to a weaker checksum.
    let back = golden("model-v2.json").replace("\"version\": 2", "\"version\": 1");
    folder.write("back", back);
    folder.fails("inspect back");
}

/// The lines of Python in docs/model-file.md give the scores of `predict`.
#[test]
fn the_documented_python_scores_as_predict_does() {
    let folder = Folder::with_rows(100);
    folder.succeeds(&format!(
        "learn d.csv {SCHEMA} {BUDGET} --recipe pqftl --seed-insecure 1 --model model"
    ));
    let page = include_str!("../../../../docs/model-file.md");
    let code = page.split("```python\n").nth(1).unwrap();
    folder.write("score.py", code.split("```").next().unwrap());
    let mut python = std::process::Command::new("python3");
    for name in ["score.py", "model", "d.csv"] {
        python.arg(folder.path(name));
    }
    let told = python.output().unwrap();
    assert!(told.status.success(), "{told:?}");
    let theirs = String::from_utf8(told.stdout).unwrap();
    let (ours, _) = folder.succeeds("predict model d.csv");
    let scores = ours
        .lines()
        .skip(1)
        .map(|line| line.rsplit(',').next().unwrap());
    let pairs: Vec<(f64, f64)> = scores
        .zip(theirs.lines())
        .map(|(ours, theirs)| (ours.parse().unwrap(), theirs.parse().unwrap()))
        .collect();
    assert_eq!(pairs.len(), 100);
    for (ours, theirs) in pairs {
        assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
    }
}

/// A model of tables is the last release of its run. Predicted with it, the last batch of a run of
/// two has the figures that the run told: the first batch was predicted by nothing, half and half.
#[test]
fn a_model_of_tables_predicts_as_its_run_did() {
    let folder = Folder::with_rows(80);
    let learn = |rows: u64| {
        folder.write("part.csv", crate::common::rows(rows, 1));
        let told = folder.json(&format!(
            "learn part.csv {SCHEMA} --epsilon 8 --delta 1e-6 --recipe tables --tables 2 --batch 40 \
             --rounds 80 --seed-insecure 1 --model model --releases releases"
        ));
        let releases = folder.text("releases");
        let last: Value = serde_json::from_str(releases.lines().last().unwrap()).unwrap();
        let model: Value = serde_json::from_str(&folder.text("model")).unwrap();
        assert_eq!(last["weights"], model["weights"]);
        assert!(model["tables"]["tables"].as_array().unwrap().len() > 1);
        told["metrics"]["log_loss"].as_f64().unwrap()
    };
    let both = learn(80);
    let first = learn(40);
    // The model of the first batch, on the second.
    let text = folder.text("d.csv");
    let lines: Vec<&str> = text.lines().collect();
    folder.write(
        "second.csv",
        [&lines[..1], &lines[41..]].concat().join("\n"),
    );
    let second = folder.json("predict model second.csv");
    let second = second["metrics"]["log_loss"].as_f64().unwrap();
    assert!((both - f64::midpoint(first, second)).abs() < 1e-9, "{both}");
}

/// The commands of docs/model-file.md write a query and an ONNX file; what cannot be exported is
/// refused by name. (That both predict alike is tested in Python, where the databases are.)
#[test]
fn the_documented_exports_run() {
    let folder = Folder::with_rows(100);
    folder.succeeds(&format!(
        "learn d.csv {SCHEMA} {BUDGET} --seed-insecure 1 --model model.json"
    ));
    let page = include_str!("../../../../docs/model-file.md");
    for command in ["--sql people --key id", "--onnx model.onnx"] {
        assert!(page.contains(&format!("hushstream export model.json {command}")));
    }
    let (query, _) = folder.succeeds("export model.json --sql people --key id");
    assert!(
        query.contains("FROM \"people\" AS t") && query.ends_with(";\n"),
        "{query}"
    );
    folder.succeeds("export model.json --onnx model.onnx");
    assert!(folder.read("model.onnx").len() > 1000);
    let message = folder.fails("export model.json");
    assert!(message.contains("--sql"), "{message}");
}

/// Every command has a manual page, and shells complete them.
#[test]
fn packages_have_manual_pages_and_completions() {
    let folder = Folder::new();
    folder.succeeds("man pages");
    let pages = std::fs::read_dir(folder.path("pages")).unwrap().count();
    assert!(pages > 15, "{pages}");
    for shell in ["bash", "zsh", "fish"] {
        let (script, _) = folder.succeeds(&format!("completions {shell}"));
        assert!(script.contains("learn"), "{shell}");
    }
}
