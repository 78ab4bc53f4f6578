//! The commands of every page run, on small files of the names that they use, and print what the
//! page shows.
//!
//! All `sh` blocks of a page are one script. A line that ends with `# refused` must fail. Every
//! line of a `text` block after commands must be among what they print; one that ends with `…` must
//! be the beginning of one that is. Pages whose commands are run elsewhere are in [`ELSEWHERE`].

use crate::{blocks, pages, root, text};
use flate2::read::GzDecoder;
use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// Pages with commands that other tests run, and where.
const ELSEWHERE: [(&str, &str); 5] = [
    (
        "how-to/clusters.md",
        "crates/cli/tests/learn/elsewhere.rs and python/tests_spark",
    ),
    ("results.md", "scripts/results.py measures on real data"),
    ("serving-clients.md", "python/tests/test_client.py"),
    ("serving.md", "crates/cli/tests/serve, on the same routes"),
    ("tutorials/product.md", "product.rs beside this file"),
];

/// Pages whose commands build on each other, so that ledgers stay.
const IN_ORDER: [&str; 3] = [
    "tutorials/file.md",
    "tutorials/question.md",
    "how-to/ledger.md",
];

#[test]
fn every_page_with_commands_is_run() {
    for page in pages() {
        let content = text(&format!("docs/{page}"));
        let has_commands = !blocks(&content, "sh").is_empty();
        let is_elsewhere = ELSEWHERE.iter().any(|(name, _)| *name == page);
        let is_here = HERE.contains(&page.as_str());
        assert_eq!(has_commands, is_elsewhere || is_here, "{page}");
    }
}

macro_rules! run_here {
    ($($test:ident $page:literal)+) => {
        const HERE: &[&str] = &[$($page),+];
        $(#[test]
        fn $test() {
            runs($page);
        })+
    };
}

run_here! {
    choice "concepts/choice.md"
    data "how-to/data.md"
    decisions "how-to/decisions.md"
    file "tutorials/file.md"
    ledger "how-to/ledger.md"
    malformed "how-to/malformed.md"
    model_file "model-file.md"
    persons "how-to/persons.md"
    question "tutorials/question.md"
    recipes "how-to/recipes.md"
    statistics "how-to/statistics.md"
    streams "how-to/streams.md"
    tasks "how-to/tasks.md"
    window "how-to/window.md"
    words "how-to/words.md"
}

fn runs(page: &str) {
    let content = text(&format!("docs/{page}"));
    let folder = tempfile::tempdir().unwrap();
    prepare(folder.path());
    let mut script = String::from("set -eu\ntrap 'echo \"failed: $BASH_COMMAND\"' ERR\n");
    if !IN_ORDER.contains(&page) {
        // Every command finds the budget of its data whole.
        script.push_str(
            "hushstream() { command hushstream \"$@\"; rm -f *.csv.ledger* data/*.ledger*; }\n",
        );
    }
    for block in blocks(&content, "sh") {
        for line in block.lines() {
            let Some(command) = line.strip_suffix("# refused") else {
                let _ = writeln!(script, "{line}");
                continue;
            };
            let _ = writeln!(script, "if {command}; then echo 'not refused'; exit 1; fi");
        }
    }
    let program = Path::new(env!("CARGO_BIN_EXE_hushstream"))
        .parent()
        .unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-c", &format!("exec 2>&1\n{script}")])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", program.display()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{page}\n{told}");
    let first = content.find("```sh\n").unwrap();
    for line in blocks(&content[first..], "text")
        .iter()
        .flat_map(|block| block.lines())
    {
        let line = line.trim_end();
        let is_there = match line.strip_suffix('…') {
            Some(start) => told
                .lines()
                .any(|other| other.starts_with(start.trim_end())),
            None => told.lines().any(|other| other.trim_end() == line),
        };
        assert!(
            is_there,
            "{page} shows what was not printed:\n{line}\n\n{told}"
        );
    }
}

/// A folder like the repository's with the public data sets, but small: some rows of the real ones
/// where the program has them, and made ones of the same columns elsewhere.
fn prepare(folder: &Path) {
    for name in ["examples", "scripts", "crates"] {
        std::os::unix::fs::symlink(root().join(name).canonicalize().unwrap(), folder.join(name))
            .unwrap();
    }
    let write = |name: &str, rows: String| std::fs::write(folder.join(name), rows).unwrap();
    std::fs::create_dir_all(folder.join("data/portfolios")).unwrap();
    let mut flights = String::new();
    let packed = include_bytes!("../../data/flights.csv.gz");
    GzDecoder::new(&packed[..])
        .read_to_string(&mut flights)
        .unwrap();
    let first: Vec<&str> = flights.lines().take(2500).collect();
    write("flights.csv", first.join("\n") + "\n");
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, (first.join("\n") + "\n").as_bytes()).unwrap();
    std::fs::write(folder.join("data/flights.csv.gz"), packed.finish().unwrap()).unwrap();
    let mut dice = 1_u64;
    let mut below = |limit: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (dice >> 33) % limit
    };
    write("data/covtype.csv", forest(600, true, &mut below));
    write("new.csv", forest(20, false, &mut below));
    for (name, columns) in [("elec2", 8), ("weather", 8)] {
        let names: Vec<String> = (1..=columns).map(|place| format!("feat_{place}")).collect();
        let mut rows = format!("{},target\n", names.join(","));
        for _ in 0..600 {
            let values: Vec<String> = names
                .iter()
                .map(|_| format!("0.{:03}", below(1000)))
                .collect();
            let _ = writeln!(rows, "{},{}", values.join(","), below(2));
        }
        write(&format!("data/{name}.csv"), rows);
    }
    let mut prices = String::from("a,b,c\n");
    let mut rows = [
        "a,b,c\n".to_owned(),
        "age,a,b,c\n".to_owned(),
        "age,item,clicks,chance\n".to_owned(),
    ];
    for _ in 0..300 {
        let [a, b, c] = [50, 70, 90].map(|most| 1.0 + below(most) as f64 / 1000.0);
        let _ = writeln!(prices, "{a},{b},{c}");
        let _ = writeln!(
            rows[0],
            "0.{:02},0.{:02},0.{:02}",
            below(100),
            below(90),
            below(80)
        );
        let age = below(90);
        let _ = writeln!(rows[1], "{age},{},{},{}", below(5), below(7), below(9));
        let item = ["A", "B", "C"][below(3) as usize];
        let _ = writeln!(rows[2], "{age},{item},{},0.333", below(2));
    }
    write("data/portfolios/nyse_o.csv", prices);
    for (name, rows) in ["losses.csv", "rewards.csv", "log.csv"].iter().zip(rows) {
        write(name, rows);
    }
    let mut people = String::from("who,a,b,c,y\n");
    for row in 0..300 {
        let _ = writeln!(
            people,
            "{row},0.{},{},{},{}",
            below(10),
            below(10),
            ["x", "y", "z"][below(3) as usize],
            below(2)
        );
    }
    write("people.csv", people);
    let run = |flags: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_hushstream"))
            .args(flags.split_whitespace())
            .current_dir(folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "{flags}: {output:?}");
    };
    let learn = "learn people.csv --target y --ignore who --bounds a=0:1,b=0:10 \
                 --vocabulary c=x|y|z --epsilon 1 --delta 1e-6 --quiet";
    run(&format!(
        "{learn} --model model.json --ledger data.csv.ledger"
    ));
    run(&format!("{learn} --ledger old.ledger"));
    std::fs::copy(folder.join("people.csv"), folder.join("old.csv")).unwrap();
    run(&format!("{learn} --ledger old.csv.ledger"));
}

/// CoverType's columns, with or without the target.
fn forest(count: usize, has_target: bool, below: &mut impl FnMut(u64) -> u64) -> String {
    let numbers = [
        ("Elevation", 4000),
        ("Aspect", 360),
        ("Slope", 60),
        ("Horizontal_Distance_To_Hydrology", 1500),
        ("Vertical_Distance_To_Hydrology", 600),
        ("Horizontal_Distance_To_Roadways", 7500),
        ("Hillshade_9am", 255),
        ("Hillshade_Noon", 255),
        ("Hillshade_3pm", 255),
        ("Horizontal_Distance_To_Fire_Points", 7500),
    ];
    let groups = [("Wilderness_Area", 4_u64), ("Soil_Type", 40)];
    let mut header: Vec<String> = numbers.iter().map(|(name, _)| (*name).to_owned()).collect();
    for (name, places) in groups {
        header.extend((1..=places).map(|place| format!("{name}{place}")));
    }
    header.extend(has_target.then(|| "Cover_Type".to_owned()));
    let mut rows = header.join(",") + "\n";
    for _ in 0..count {
        let mut row: Vec<String> = Vec::new();
        for (_, most) in numbers {
            row.push(below(most).to_string());
        }
        for (_, places) in groups {
            let set = below(places);
            row.extend((0..places).map(|place| u8::from(place == set).to_string()));
        }
        row.extend(has_target.then(|| (1 + below(7)).to_string()));
        rows.push_str(&(row.join(",") + "\n"));
    }
    rows
}
