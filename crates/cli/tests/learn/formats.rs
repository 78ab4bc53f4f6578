//! The same records in every format make the same model.

use crate::common::{BUDGET, Folder, SCHEMA, rows};
use std::fmt::Write;

const OUT: &str = "--seed-insecure 1 --batch 10 --releases releases";

fn releases(folder: &Folder, data: &str) -> String {
    folder.succeeds(&format!("learn {data} {OUT} {BUDGET}"));
    folder.text("releases")
}

#[test]
fn tables_and_objects() {
    let folder = Folder::with_rows(200);
    let csv = releases(&folder, &format!("d.csv {SCHEMA}"));
    let data = rows(200, 1);
    folder.write("d.tsv", data.replace(',', "\t"));
    folder.write("d.data", &data);
    folder.write("crlf.csv", data.replace('\n', "\r\n"));
    let mut objects = String::new();
    for line in data.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let [a, b, c, who, y] = fields[..] else {
            panic!()
        };
        let _ = writeln!(
            objects,
            r#"{{"a":{a},"b":{b},"c":"{c}","who":{who},"y":{y}}}"#
        );
    }
    folder.write("d.jsonl", objects);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, data.as_bytes()).unwrap();
    folder.write("d.csv.gz", encoder.finish().unwrap());
    let schema = "target = 'y'\nignore = ['who']\nbounds = { a = [0, 1], b = [0, 10] }\nvocabulary \
        = { c = ['x', 'y', 'z'] }\n";
    folder.write("schema.toml", schema);
    for other in [
        format!("d.tsv {SCHEMA}"),
        format!("d.data --format csv {SCHEMA}"),
        format!("crlf.csv {SCHEMA}"),
        format!("d.jsonl {SCHEMA}"),
        format!("d.csv.gz {SCHEMA}"),
        "d.csv --schema schema.toml".to_owned(),
    ] {
        assert_eq!(releases(&folder, &other), csv, "{other}");
    }
}

#[test]
fn sparse_text() {
    let folder = Folder::new();
    let (mut vw, mut svm) = (String::new(), String::new());
    for line in rows(3000, 1).lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let label = if fields[4] == "1" { 1 } else { -1 };
        let (a, c) = (fields[0], fields[2]);
        let _ = writeln!(vw, "{label} |n a:{a} c={c}");
        let class = 2 + "xyz".find(c).unwrap();
        let _ = writeln!(svm, "{label} 1:{a} {class}:1");
    }
    folder.write("d.vw", vw);
    folder.write("d.libsvm", svm);
    for flags in [
        "d.vw --hash-bits 6 --norm 1.5",
        "d.libsvm --dim 4 --norm 1.5",
    ] {
        let told = folder.json(&format!(
            "learn {flags} --epsilon 50 --delta 1e-6 --seed-insecure 1 --model model"
        ));
        assert_eq!(told["rounds"], 3000);
        let file = flags.split(' ').next().unwrap();
        let found = folder.json(&format!("predict model {file}"));
        assert!(
            found["metrics"]["accuracy"].as_f64().unwrap() > 0.7,
            "{flags}: {found}"
        );
    }
    let message = folder.fails(&format!(
        "learn d.libsvm --dim 3 --norm 1.5 {BUDGET} --ledger l"
    ));
    assert!(
        message.contains("line") && message.contains("--dim"),
        "{message}"
    );
}

#[test]
fn an_order_from_a_public_seed() {
    let folder = Folder::with_rows(200);
    let one = releases(&folder, &format!("d.csv {SCHEMA} --shuffle 1"));
    assert_eq!(
        releases(&folder, &format!("d.csv {SCHEMA} --shuffle 1")),
        one
    );
    assert_ne!(
        releases(&folder, &format!("d.csv {SCHEMA} --shuffle 2")),
        one
    );
}

/// The default program reads Parquet: a file that only begins like one is told to be broken.
#[cfg(feature = "parquet")]
#[test]
fn parquet_is_read_by_default() {
    let folder = Folder::new();
    folder.write("d.parquet", "PAR1 and nothing else");
    let message = folder.fails("check d.parquet --target y --bounds x=0:1");
    assert!(message.contains("broken Parquet"), "{message}");
}
