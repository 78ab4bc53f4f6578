//! Files that cannot be learned from: one line that says where, never what, and nothing spent or
//! left behind that could be known before.

use crate::common::{BUDGET, Folder, HEADER, rows};

/// A private value: it must be in no output, whatever happens.
const MARKER: &str = "8675309.25";

const FLAGS: &str = "--target y --ignore who --bounds a=0:1,b=0:10 --vocabulary c=x|y|z --passes 1";

/// Everything that was written besides the data, as text.
fn written(folder: &Folder) -> String {
    let mut all = String::new();
    for name in folder.names() {
        if !name.starts_with('d') {
            all += &String::from_utf8_lossy(&folder.read(&name));
        }
    }
    all
}

/// Learns from `content` with all outputs asked for; gives the message.
fn refused(name: &str, content: &[u8], flags: &str) -> (Folder, String) {
    let folder = Folder::new();
    folder.write(name, content);
    let message = folder.fails(&format!(
        "learn {name} {flags} {BUDGET} --ledger ledger --model model --report report"
    ));
    assert!(!message.contains("8675309"), "{message}");
    assert!(!written(&folder).contains("8675309"));
    let left = folder.names();
    for output in ["model", "report"] {
        assert!(!left.contains(&output.to_owned()), "{output} is left");
    }
    assert!(left.iter().all(|name| !name.contains("unfinished")));
    (folder, message)
}

/// Faults of the file as a whole or of its header: nothing is spent, not even a ledger made.
fn known_before(name: &str, content: &[u8], flags: &str, told: &str) {
    let (folder, message) = refused(name, content, flags);
    assert!(message.contains(told), "{message}");
    assert_eq!(folder.names(), [name], "{message}");
}

/// Faults of the row with the marker, which is line 12: told with line and column, before anything
/// is spent. Where that is asked for, and in a stream, it is a round without a record.
fn in_a_row(row: &str, flags: &str, place: &str, told: &str) {
    let content = format!("{}{row}\n{}", rows(10, 1), &rows(5, 2)[HEADER.len()..]);
    let (folder, message) = refused("d.csv", content.as_bytes(), flags);
    assert!(message.contains("line 12"), "{message}");
    assert!(
        message.contains(place) && message.contains(told),
        "{message}"
    );
    assert!(message.contains("nothing is charged"), "{message}");
    assert_eq!(folder.names(), ["d.csv"], "{message}");
    let empty = format!("learn d.csv {flags} {BUDGET} --seed-insecure 1 --malformed empty");
    let told = folder.json(&empty);
    let counts = ["rounds", "nulls", "malformed"].map(|key| told[key].as_u64());
    assert_eq!(counts, [Some(16), Some(1), Some(1)]);
    assert!(!told.to_string().contains("8675309"));
}

#[test]
fn files_as_a_whole() {
    let good = rows(20, 1);
    known_before("d.csv", b"", FLAGS, "the file is empty");
    known_before(
        "d.csv",
        HEADER.as_bytes(),
        FLAGS,
        "a header and nothing after it",
    );
    known_before("d.csv", b"\n\r\n\n", FLAGS, "line 1, column 1: a blank");
    known_before("d.csv.gz", good.as_bytes(), FLAGS, "not gzip");
    known_before("d.data", good.as_bytes(), FLAGS, "--format");
    known_before("d.csv", b"1,2,3\n4,5,6\n", FLAGS, "no header");
    known_before(
        "d.csv",
        b"a,b,a,y\n1,2,3,0\n",
        FLAGS,
        "two columns named `a`",
    );
    known_before("d.csv", b"a,,c,y\n1,2,3,0\n", FLAGS, "without a name");
    known_before(
        "d.csv",
        b"a,c,who,y\n1,x,3,0\n1,x,3,0\n",
        FLAGS,
        "no column is named `b`",
    );
    let without = FLAGS.replace(",b=0:10", "");
    known_before(
        "d.csv",
        good.as_bytes(),
        &without,
        "column `b` has no public bounds",
    );
    let target = FLAGS.replace("--target y", "--target z");
    known_before("d.csv", good.as_bytes(), &target, "no column is named `z`");
    let none = FLAGS.replace("--target y", "--ignore y");
    known_before("d.csv", good.as_bytes(), &none, "--target");
    known_before("d.libsvm", b"1 1:0.5\n", "", "--dim");
    known_before("d.vw", b"1 | a\n", "--hash-bits 4", "--norm");
}

#[test]
fn gzip_that_is_broken() {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(rows(5000, 1).as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    let cut = &whole[..whole.len() / 2];
    known_before("d.csv.gz", cut, FLAGS, "ends too early");
    let mut flipped = whole.clone();
    let crc = flipped.len() - 8;
    flipped[crc] ^= 1;
    known_before("d.csv.gz", &flipped, FLAGS, "its checksum");
}

#[test]
fn quotes_and_lines_that_do_not_end() {
    let open = format!("{}0.5,1,\"{MARKER},1,0\n", rows(10, 1));
    known_before(
        "d.csv",
        open.as_bytes(),
        FLAGS,
        "line 12, column 7: a quote is opened",
    );
    let stray = format!("{}0.5,1,\"x\"{MARKER},1,0\n", rows(10, 1));
    known_before(
        "d.csv",
        stray.as_bytes(),
        FLAGS,
        "line 12, column 10: a quote inside",
    );
    let huge = format!("{}0.5,{MARKER}{}\n", rows(10, 1), "7".repeat(17 << 20));
    known_before("d.csv", huge.as_bytes(), FLAGS, "line 12");
}

#[test]
fn rows_that_cannot_be_read() {
    let ragged = format!("0.5,{MARKER},x,1");
    in_a_row(&ragged, FLAGS, "column 5", "ends after 4 of 5 columns");
    let long = format!("0.5,1,x,1,0,{MARKER}");
    in_a_row(&long, FLAGS, "column 6", "goes on after its 5 columns");
    let text = format!("0.5,about{MARKER},x,1,0");
    in_a_row(
        &text,
        FLAGS,
        "column 2 (`b`)",
        "text where a number is needed",
    );
    in_a_row("inf,1,x,1,0", FLAGS, "column 1 (`a`)", "infinite");
    let label = format!("0.5,1,x,1,{MARKER}");
    in_a_row(&label, FLAGS, "column 5 (`y`)", "not a label");
    in_a_row(
        "0.5,1,x,1,",
        FLAGS,
        "column 5 (`y`)",
        "the target is missing",
    );
    let class = FLAGS.replace("--target y", "--target y --classes 0,1");
    in_a_row(
        &label,
        &class,
        "column 5 (`y`)",
        "not one of the stated classes",
    );
    let nul = format!("0.5,\0{MARKER},x,1,0");
    in_a_row(&nul, FLAGS, "column 5", "NUL");
}

#[test]
fn what_is_not_a_fault() {
    // Byte order mark, CRLF, quotes, missing features, unknown categories, values out of bounds,
    // and no line break at the end.
    let mut text = format!("\u{feff}{}", rows(60, 1)).replace('\n', "\r\n");
    text += "\"0.5\",NaN,\"w,\"\"\",1,1\r\n,,,,0\r\n7,-99,x,1,1";
    let folder = Folder::new();
    folder.write("d.csv", &text);
    let told = folder.json(&format!("learn d.csv {FLAGS} {BUDGET} --seed-insecure 1"));
    assert_eq!(told["rounds"], 63);
    assert_eq!(told["scored"], 63);
    // A number beyond its bounds is clipped to them, a missing target may be a round without a
    // record.
    folder.write("d.csv", text + "\n0.5,1,x,1,\n");
    let null = format!("learn d.csv {FLAGS} {BUDGET} --seed-insecure 1 --missing-target null");
    let told = folder.json(&null);
    assert_eq!((&told["rounds"], &told["scored"]), (&64.into(), &63.into()));
    folder.write("e.csv", rows(60, 1).replace(",y\n", ",z\n"));
    let number = FLAGS.replace("--target y", "--target z --target-bounds 0:0.5");
    let told = folder.json(&format!("learn e.csv {number} {BUDGET} --seed-insecure 1"));
    assert_eq!(told["scored"], 60);
}

/// Only input that cannot be read stops a run that is charged for, and it can go on.
#[test]
fn a_broken_stream_leaves_a_run_that_can_go_on() {
    use std::io::Write;
    let flags = format!("{FLAGS} {BUDGET} --batch 3 --seed-insecure 5 --rounds 5000");
    let files = "--state state --ledger ledger --releases releases --model model";
    let learn = format!("learn - --format csv {flags} {files}");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(rows(5000, 1).as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let whole = Folder::new();
    assert!(whole.piped(&learn, &packed).status.success());

    let folder = Folder::new();
    let output = folder.piped(&learn, &packed[..packed.len() / 2]);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("ends too early") && message.contains("--resume"),
        "{message}"
    );
    // The model of a stream may be there already: the newest that was released.
    let output = folder.piped(&format!("{learn} --resume"), &packed);
    assert!(output.status.success());
    for name in ["releases", "model"] {
        assert_eq!(folder.read(name), whole.read(name), "{name}");
    }
    assert_eq!(folder.charges("ledger"), 1);
}

#[test]
fn nothing_private_is_published() {
    // The marker is a value of a column that is used: what may be published must not hold it.
    let folder = Folder::new();
    let data = rows(200, 1) + &format!("0.5,{MARKER},x,1,1\n");
    folder.write("d.csv", data);
    // With a seed: among ten thousand digits of real noise, these seven would stand once in a
    // thousand runs.
    let flags = format!("{FLAGS} {BUDGET} --batch 3 --ledger ledger --seed-insecure 1");
    let (out, _) = folder.succeeds(&format!(
        "learn d.csv {flags} --model model --releases releases --quiet"
    ));
    assert!(!out.contains("8675309") && !written(&folder).contains("8675309"));
}

/// A link stays a link, and what is no file is never replaced by one.
#[cfg(unix)]
#[test]
fn what_stands_where_a_model_goes_stays_what_it_is() {
    let folder = Folder::with_rows(60);
    let learn = format!("learn d.csv {FLAGS} {BUDGET} --seed-insecure 1 --model");
    folder.write("far", "old");
    std::os::unix::fs::symlink(folder.path("far"), folder.path("near")).unwrap();
    folder.succeeds(&format!("{learn} near"));
    assert!(folder.path("near").is_symlink());
    assert!(folder.text("far").contains("weights"));
    let socket = std::os::unix::net::UnixListener::bind(folder.path("socket")).unwrap();
    folder.fails(&format!("{learn} socket"));
    let found = std::fs::symlink_metadata(folder.path("socket")).unwrap();
    assert!(!found.is_file());
    drop(socket);
}
