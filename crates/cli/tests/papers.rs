//! Every command of docs/papers.md runs.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A small table of CoverType's form.
fn cover(records: u64) -> String {
    let mut text = String::from("header\n");
    for t in 0..records {
        let steep = t * 37 % 66;
        let _ = write!(text, "{},{},{steep},0,0,0,0,0,0,0,", 1900 + t, t % 360);
        for (count, one) in [(4, t % 4), (40, t % 40)] {
            (0..count).for_each(|place| {
                let _ = write!(text, "{},", u8::from(place == one));
            });
        }
        let _ = writeln!(text, "{}", if steep > 33 { 2 } else { 1 });
    }
    text
}

/// A small table of Year Prediction's form.
fn years(records: u64) -> String {
    let mut text = String::new();
    for t in 0..records {
        let _ = write!(text, "{}", 1922 + t % 90);
        (0..90).for_each(|i| {
            let _ = write!(text, ",{}", (t * (i + 3)) % 97 * 10);
        });
        text.push('\n');
    }
    text
}

#[test]
fn every_command_of_the_page_runs() {
    let page = include_str!("../../../docs/papers.md");
    let (table, rest): (Vec<&str>, Vec<&str>) =
        page.lines().partition(|line| line.starts_with('|'));
    assert!(rest.iter().any(|line| line.contains("separation.svg")));
    let commands: Vec<&str> = table
        .iter()
        .flat_map(|line| line.split('`'))
        .filter(|text| text.starts_with("hushstream "))
        .collect();
    assert!(commands.len() >= 50, "{}", commands.len());
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("covtype.csv");
    std::fs::write(&data, cover(400)).unwrap();
    let music = directory.path().join("YearPredictionMSD.txt");
    std::fs::write(&music, years(1200)).unwrap();
    let points = directory.path().join("points.csv");
    let rows = (0..1200).map(|t| format!("{},{},{}\n", t % 7 - 3, t % 5 - 2, i32::from(t % 7 > 3)));
    std::fs::write(&points, format!("a,b,y\n{}", rows.collect::<String>())).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for command in commands {
        let words = command.replace("data/covtype.csv", &data.display().to_string());
        let words = words.replace("data/YearPredictionMSD.txt", &music.display().to_string());
        let words = words.replace("data/points.csv", &points.display().to_string());
        let output = Command::new(env!("CARGO_BIN_EXE_hushstream"))
            .args(words.split_whitespace().skip(1))
            .current_dir(&root)
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command}: {told}");
        assert!(!output.stdout.is_empty(), "{command}");
    }
}

/// Every recipe of the five papers has a command of its own, and every erratum's letter its paper.
#[test]
fn every_recipe_is_on_the_page() {
    let page = include_str!("../../../docs/papers.md");
    for entry in hushstream_recipes::CATALOGUE {
        let beyond = entry.source.starts_with("beyond")
            || entry.recipe.decides()
            || entry.name == "sparse-ftrl";
        let named = page.contains(&format!("--recipe {} ", entry.name))
            || page.contains(&format!("--recipes {}", entry.name))
            || page.contains(&format!(",{}", entry.name));
        assert!(beyond || named, "{}", entry.name);
    }
}
