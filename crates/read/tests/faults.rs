//! Every fault: its place, its words, and that no message holds what a field held. Fields that could leak carry a marker.
#![allow(clippy::unwrap_used)]

mod common;

use common::refused;
use hushstream_read::{Format, Input, Reader, SchemaSpec};

const MARKER: &str = "zq7secret";
const XY: &str = "target = 'y'\nbounds = { x = [0, 1] }";

/// Schema, text, and the whole message.
fn check(format: Format, stated: &str, text: &str, message: &str) {
    let given = refused(format, stated, text.as_bytes()).to_string();
    assert!(
        given.starts_with(message),
        "{text:?}\n given {given}\n expected {message}"
    );
    assert!(!given.contains('\n') && !given.contains(MARKER), "{given}");
}

#[test]
fn tables() {
    for (text, message) in [
        (
            "",
            "t: the file is empty; there must be at least a header and one row",
        ),
        ("\n\n", "t: the file is empty"),
        ("x,y\n", "t: there is a header and nothing after it"),
        (
            "x,z\n0,1\n",
            "t: no column is named `y`, which --target names",
        ),
        (
            "z,y\n0,1\n",
            "t: no column is named `x`, which --bounds names",
        ),
        (
            "x,x\n0,1\n",
            "t, line 1, column 2: the header has two columns named `x`",
        ),
        (
            "x,\n0,1\n",
            "t, line 1, column 2: the header has a column without a name",
        ),
        (
            "0.5,1\n0,1\n",
            "t, line 1, column 1: the first row holds only numbers, so it is no header",
        ),
        (
            "x,y\n0,1\n0\n",
            "t, line 3, column 2 (`y`): the row ends after 1 of 2 columns",
        ),
        (
            "x,y\n0,1,zq7secret\n",
            "t, line 2, column 3: the row goes on after its 2 columns",
        ),
        (
            "x,y\n\"0\"\n",
            "t, line 2, column 2 (`y`): the row ends after 1 of 2 columns",
        ),
        (
            "x,y\n0,\"1\",zq7secret\n",
            "t, line 2, column 3: the row goes on after its 2 columns",
        ),
        (
            "x,y\nzq7secret,1\n",
            "t, line 2, column 1 (`x`): text where a number is needed; allowed: a decimal number",
        ),
        (
            "x,y\n1zq7secret,1\n",
            "t, line 2, column 1 (`x`): text where a number is needed",
        ),
        (
            "x,y\n\"\n\nzq7secret\",1\n",
            "t, line 2, column 1 (`x`): text where a number is needed",
        ),
        (
            "x,y\ninf,1\n",
            "t, line 2, column 1 (`x`): an infinite number; allowed: finite numbers",
        ),
        (
            "x,y\n-1e999,1\n",
            "t, line 2, column 1 (`x`): an infinite number",
        ),
        (
            "x,y\n0,\"zq7secret\n",
            "t, line 2, column 3: a quote is opened and never closed",
        ),
        (
            "x,y\n0,zq7\"secret\n",
            "t, line 2, column 6: a quote inside a field; write it twice",
        ),
        (
            "x,y\n0,\"zq7\"secret\n",
            "t, line 2, column 8: a quote inside a field",
        ),
        (
            "x,y\n0,zq7secret\n",
            "t, line 2, column 2 (`y`): not a label; allowed: 0 and 1, -1 and 1",
        ),
        ("x,y\n0,2\n", "t, line 2, column 2 (`y`): not a label"),
        (
            "x,y\n0,\n",
            "t, line 2, column 2 (`y`): the target is missing; remove the row",
        ),
        (
            "x,y\r\n0,1\r\n0,NA\r\n",
            "t, line 3, column 2 (`y`): the target is missing",
        ),
        ("x,y\n0,zq7secret\0\n", "t, line 2, column 12: a NUL byte"),
    ] {
        check(Format::Csv, XY, text, message);
        check(Format::Tsv, XY, &text.replace(',', "\t"), message);
    }
    let error = refused(Format::Csv, XY, b"x,y\n0,zq7secret\xff\n").to_string();
    assert_eq!(
        error,
        "t, line 2, column 12: not UTF-8; convert the file to UTF-8"
    );
    let classes =
        "target = 'y'\ntask = 'multiclass'\nclasses = ['a', 'b']\nbounds = { x = [0, 1] }";
    check(
        Format::Csv,
        classes,
        "x,y\n0,a\n0,zq7secret\n",
        "t, line 3, column 2 (`y`): not one of the stated classes",
    );
    let number = "target = 'y'\ntask = 'regress'\ntarget_bounds = [0, 1]\nbounds = { x = [0, 1] }";
    check(
        Format::Csv,
        number,
        "x,y\n0,zq7secret\n",
        "t, line 2, column 2 (`y`): text where a number is needed",
    );
    check(
        Format::Csv,
        number,
        "x,y\n0,1e999\n",
        "t, line 2, column 2 (`y`): an infinite number",
    );
}

#[test]
fn objects() {
    for (text, message) in [
        ("", "t: the file is empty; there must be at least one line"),
        ("[\"zq7secret\"]", "t, line 1, column 1: not a JSON object"),
        ("zq7secret", "t, line 1, column 1: not a JSON object"),
        (
            "{\"x\":0,\"y\":1}\n{\"x\":\"\\q\"}",
            "t, line 2, column 7: a bad escape in a string",
        ),
        (
            "{\"x\":0,\"y\":1}\n{\"x\":{\"zq7secret\":1}}",
            "t, line 2, column 6 (`x`): a nested value; allowed: numbers",
        ),
        (
            "{\"x\":0,\"y\":1}\n{\"zq7secret\":[1]}",
            "t, line 2, column 14: a nested value",
        ),
        (
            "{\"x\":0,\"y\":1}\n{\"x\":1,\"x\":2}",
            "t, line 2, column 12 (`x`): a key that the object already has",
        ),
        (
            "{\"x\":0,\"x\":1}",
            "t, line 1, column 12 (`x`): a key that the object already has",
        ),
        (
            "{\"\":0}",
            "t, line 1, column 7 (`y`): the target is missing",
        ),
        (
            "{\"x\":1e999,\"y\":1}",
            "t, line 1, column 6 (`x`): an infinite number",
        ),
        (
            "{\"x\":\"zq7secret\",\"y\":1}",
            "t, line 1, column 6 (`x`): text where a number is needed",
        ),
        (
            "{\"x\":0,\"y\":null}",
            "t, line 1, column 12 (`y`): the target is missing",
        ),
        (
            "{\"x\":0}",
            "t, line 1, column 8 (`y`): the target is missing",
        ),
        (
            "{\"x\":zq7secret}",
            "t, line 1, column 6: not JSON: expected a string, a number, true, false or null",
        ),
        (
            "{\"x\":0,\"y\":1} zq7secret",
            "t, line 1, column 15: not JSON: expected the end of the line",
        ),
        (
            "{\"x\":\"zq7secret",
            "t, line 1, column 16: not JSON: expected a closing quote",
        ),
        (
            "{\"x\" 1}",
            "t, line 1, column 6: not JSON: expected a colon",
        ),
    ] {
        check(Format::JsonLines, XY, text, message);
    }
}

/// Which keys the first object has, and in which order, is one person's record: nothing that is published may depend on it.
#[test]
fn the_first_object_decides_no_column() {
    let stated = "target = 'y'\nhash_bits = 4\nfeatures = ['a', 'b']\nbounds = { c = [0, 1] }";
    let layout = |text: &'static str| {
        let schema: SchemaSpec = stated.parse().unwrap();
        let input = Input::from_reader("t", text.as_bytes()).unwrap();
        let reader = Reader::open(input, Format::JsonLines, &schema).map(|r| r.layout().clone());
        reader.map_err(|error| error.to_string())
    };
    let usual = layout("{\"a\":1,\"b\":2,\"c\":0,\"y\":1}");
    assert_eq!(layout("{\"y\":1,\"zq7secret\":3,\"b\":2}"), usual);
    assert_eq!(layout("zq7secret"), usual);
}

#[test]
fn examples_and_pairs() {
    for (text, message) in [
        ("1 zq7secret", "t, line 1, column 12: no `|` on the line"),
        (
            "zq7secret | a",
            "t, line 1, column 1: not a label; allowed: 0 and 1",
        ),
        ("1 | a\n| a", "t, line 2, column 1: the target is missing"),
        (
            "1 zq7secret | a",
            "t, line 1, column 3: not a label of VW text",
        ),
        ("1 1 0 | a", "t, line 1, column 5: not a label of VW text"),
        (
            "1 2.5 | a",
            "t, line 1, column 3: an importance other than 1",
        ),
        ("1 |zq7secret:x a", "t, line 1, column 4: not a namespace"),
        ("1 |:2 a", "t, line 1, column 4: not a namespace"),
        (
            "1 | a:zq7secret",
            "t, line 1, column 7: not a value; allowed after the colon",
        ),
        ("1 | a:", "t, line 1, column 7: not a value"),
        ("1 | a:1:2", "t, line 1, column 7: not a value"),
        ("1 | a:1e200", "t, line 1, column 7: not a value"),
        ("1 | a :2", "t, line 1, column 7: a feature without a name"),
    ] {
        check(Format::Vw, "norm = 1", text, message);
    }
    for (text, message) in [
        ("zq7secret 1:1", "t, line 1, column 1: not a label"),
        ("1:1", "t, line 1, column 1: the target is missing"),
        ("# zq7secret", "t, line 1, column 1: the target is missing"),
        ("1 2:1 1:1", "t, line 1, column 7: indices must increase"),
        ("1 2:1 2:1", "t, line 1, column 7: indices must increase"),
        (
            "1 0:1",
            "t, line 1, column 3: the index is outside 1..=3, which is what --dim and --index-base allow",
        ),
        ("1 4:1", "t, line 1, column 3: the index is outside 1..=3"),
        (
            "1 99999999999999999999:1",
            "t, line 1, column 3: not a pair",
        ),
        ("1 zq7secret", "t, line 1, column 3: not a pair"),
        ("1 1:zq7secret", "t, line 1, column 3: not a pair"),
        ("1 -1:1", "t, line 1, column 3: not a pair"),
        ("1 1:nan", "t, line 1, column 3: not a pair"),
    ] {
        check(Format::Libsvm, "norm = 1\ndimension = 3", text, message);
    }
}

#[test]
fn what_is_stated() {
    for (stated, message) in [
        (
            "target = 'y'",
            "t: column `x` has no public bounds or categories; state them: --bounds 'x=LOW:HIGH', --vocabulary 'x=A|B|C', --hashed 'x=BITS' or --one-hot 'x', or leave it out: --ignore 'x'",
        ),
        (
            "bounds = { x = [0, 1], y = [0, 1] }",
            "t: no target is stated; name the column: --target COL",
        ),
        (
            "target = 'Y'\nbounds = { x = [0, 1] }",
            "t: no column is named `Y`, which --target names",
        ),
        (
            "target = 'y'\nbounds = { 'w*' = [0, 1] }",
            "t: no column is named `w*`, which --bounds names",
        ),
        (
            "target = 'y'\nfeatures = ['q']",
            "t: no column is named `q`, which --features names",
        ),
        (
            "target = 'y'\none_hot = ['x|q']",
            "t: no column is named `q`, which --one-hot names",
        ),
        (
            "target = 'y'\nperson = 'p'",
            "t: no column is named `p`, which --person names",
        ),
        (
            "target = 'y'\nbounds = { x = [1, 0] }",
            "t: bounds of `x`: allowed: two finite numbers, the smaller first",
        ),
        (
            "target = 'y'\nbounds = { x = [0, nan] }",
            "t: bounds of `x`",
        ),
        (
            "target = 'y'\nbounds = { x = [-1.7e308, 1.7e308] }",
            "t: bounds of `x`",
        ),
        (
            "target = 'y'\nvocabulary = { x = ['a', 'a'] }",
            "t: vocabulary of `x`: a value is listed twice",
        ),
        (
            "target = 'y'\nvocabulary = { x = [] }",
            "t: vocabulary of `x`: every value needs a name",
        ),
        (
            "target = 'y'\nhashed = { x = 40 }",
            "t: bits of `x`: allowed: 1 to 28",
        ),
        (
            "target = 'y'\nbounds = { x = [0, 1] }\nhashed = { x = 4 }",
            "t: column `x` is stated twice: by --bounds and by --hashed",
        ),
        (
            "target = 'y'\nfeatures = ['y']",
            "t: column `y` cannot be a feature: it is the target",
        ),
        ("target = 'y'\nignore = ['x']", "t: no feature is left"),
        (
            "target = 'y'\nnorm = 0\nbounds = { x = [0, 1] }",
            "t: norm: allowed: a positive finite number",
        ),
        (
            "target = 'y'\nnorm = 1e-200\nbounds = { x = [0, 1] }",
            "t: norm",
        ),
        (
            "target = 'y'\ntask = 'regress'\nbounds = { x = [0, 1] }",
            "t: no target bounds are stated; regression needs them: --target-bounds LOW:HIGH",
        ),
        (
            "target = 'y'\ntask = 'regress'\ntarget_bounds = [1, 0]\nbounds = { x = [0, 1] }",
            "t: bounds of `y`",
        ),
        (
            "target = 'y'\ntask = 'multiclass'\nbounds = { x = [0, 1] }",
            "t: no classes are stated",
        ),
        (
            "target = 'y'\ntask = 'multiclass'\nclasses = ['a']\nbounds = { x = [0, 1] }",
            "t: classes: at least two are needed",
        ),
        (
            "target = 'y'\nclasses = ['a', 'b']\nbounds = { x = [0, 1] }",
            "t: --classes does not fit here: it is for --task multiclass",
        ),
        (
            "task = 'experts'\nbounds = { x = [0, 1], y = [0, 2] }",
            "t: the losses of experts are compared",
        ),
        (
            "task = 'experts'\ntarget = 'y'\nbounds = { x = [0, 1] }",
            "t: --target does not fit here: experts have losses",
        ),
        (
            "target = 'y'\ndimension = 3\nbounds = { x = [0, 1] }",
            "t: --dim does not fit here",
        ),
    ] {
        check(Format::Csv, stated, "x,y\n0,1\n", message);
    }
    check(
        Format::Csv,
        "target = 'arival'",
        "arrival,x\n0,1\n",
        "t: no column is named `arival`, which --target names; is it `arrival`?",
    );
    for (format, stated, message) in [
        (
            Format::Vw,
            "",
            "t: vw says nothing about the size of values; state the greatest length of a feature vector: --norm 1",
        ),
        (
            Format::Libsvm,
            "norm = 1",
            "t: libsvm does not tell how many features there are; state it: --dim N",
        ),
        (
            Format::Libsvm,
            "norm = 1\ndimension = 0",
            "t: no feature is left",
        ),
        (
            Format::Libsvm,
            "norm = 1\ndimension = 4294967295",
            "t: the dimension: allowed: 1 to 2147483648",
        ),
        (
            Format::Libsvm,
            "norm = 1\ndimension = 3\nindex_base = 2",
            "t: index base: allowed: 0 or 1",
        ),
        (
            Format::Vw,
            "norm = 1\nbounds = { x = [0, 1] }",
            "t: --bounds does not fit here: columns have no names in this format",
        ),
        (
            Format::Vw,
            "norm = 1\nperson = 'x'",
            "t: --person does not fit here: only VW text names persons",
        ),
        (
            Format::Vw,
            "norm = 1\ntarget = 'x'",
            "t: --target does not fit here: the label comes first",
        ),
    ] {
        check(format, stated, "1 | a\n", message);
    }
}

#[test]
fn files() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let read = |name: &str, bytes: &[u8]| {
        std::fs::write(path(name), bytes).unwrap();
        let input = Input::open(&path(name))?;
        let format = input.guess_format()?;
        let mut reader = Reader::open(input, format, &XY.parse::<SchemaSpec>()?)?;
        while reader.next_record()?.is_some() {}
        Ok::<u64, hushstream_read::ReadError>(reader.rows())
    };
    let text: String = std::iter::once("x,y\n".to_owned())
        .chain((0..5000).map(|n| format!("0.{n},1\n")))
        .collect();
    let whole = gzip(text.as_bytes());
    assert_eq!(read("a.csv", text.as_bytes()), Ok(5000));
    assert_eq!(read("a.csv.gz", &whole), Ok(5000));
    assert_eq!(read("gzip_without_its_name.csv", &whole), Ok(5000));
    let fault = |name, bytes: &[u8]| {
        read(name, bytes)
            .unwrap_err()
            .to_string()
            .replace(&path(name), "F")
    };
    assert_eq!(
        fault("b.csv.gz", &whole[..whole.len() / 2]),
        "F: broken gzip: it ends too early; fetch or compress the file again"
    );
    let mut flipped = whole.clone();
    flipped[whole.len() - 6] ^= 1;
    assert_eq!(
        fault("c.csv.gz", &flipped),
        "F: broken gzip: its checksum or its structure is wrong; fetch or compress the file again"
    );
    assert!(
        fault("d.csv.gz", text.as_bytes())
            .starts_with("F: the name ends in .gz, but this is not gzip")
    );
    assert!(
        fault("e.xls", text.as_bytes())
            .starts_with("F: the name does not tell the format; state it: --format csv, tsv")
    );
    assert!(
        Input::open(&path("none.csv"))
            .err()
            .unwrap()
            .to_string()
            .ends_with("none.csv: there is no such file")
    );
    assert!(
        Input::open(&path(""))
            .err()
            .unwrap()
            .to_string()
            .contains(": this is a directory")
    );
    assert!(
        SchemaSpec::from_file(&path("none.toml"))
            .unwrap_err()
            .to_string()
            .ends_with("there is no such file")
    );
    std::fs::write(path("s.toml"), "target = 'y'\nbounds = {").unwrap();
    let toml = SchemaSpec::from_file(&path("s.toml"))
        .unwrap_err()
        .to_string();
    assert!(toml.contains("s.toml, line 2, column 1"), "{toml}");
}

/// Input that fails in the middle.
struct Failing(bool);

impl std::io::Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if std::mem::replace(&mut self.0, false) {
            buffer[..2].copy_from_slice(b"x,");
            return Ok(2);
        }
        Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            MARKER,
        ))
    }
}

#[test]
fn input_that_fails_says_so_without_details() {
    let unreadable = Input::from_reader("t", Failing(false)).err().unwrap();
    assert_eq!(
        unreadable.to_string(),
        "t: cannot be read (permission denied)"
    );
    let later = Input::from_reader("t", Failing(true))
        .and_then(|input| Reader::open(input, Format::Csv, &XY.parse()?));
    assert_eq!(
        later.err().unwrap().to_string(),
        "t: cannot be read (permission denied)"
    );
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
