//! Faults in rows: tables, objects, examples and pairs.

use crate::common::refused;
use crate::{XY, check};
use hushstream_read::{Format, Input, Reader, SchemaSpec};

#[test]
fn tables() {
    for (text, message) in [
        (
            "",
            "t: the file is empty; there must be at least a header and one row",
        ),
        ("\n\n", "t, line 1, column 1: a blank line"),
        ("x,y\n\n0,1\n", "t, line 2, column 1: a blank line"),
        ("x,y\n0,1\n\r\n", "t, line 3, column 1: a blank line"),
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
            "t, line 2, column 1: a quote is opened and not closed on the line",
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
            "t, line 2, column 3: a quote is opened and not closed on the line; if quoted",
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
            "t, line 2, column 2 (`y`): the target is missing; fill it in",
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
            "t, line 2, column 8: not JSON: invalid escape",
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
            "t, line 1, column 6: not JSON: expected value",
        ),
        (
            "{\"x\":0,\"y\":1} zq7secret",
            "t, line 1, column 15: not JSON: trailing characters",
        ),
        (
            "{\"x\":\"zq7secret",
            "t, line 1, column 15: not JSON: EOF while parsing a string",
        ),
        ("{\"x\" 1}", "t, line 1, column 6: not JSON: expected `:`"),
    ] {
        check(Format::JsonLines, XY, text, message);
    }
}

/// Which keys the first object has, and in which order, is one person's record: nothing that is
/// published may depend on it.
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
            "t, line 1, column 3: the index is outside 1..=3, which is what --dim and --index-base \
             allow",
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
