//! Files as they come: spaces around fields, numbers written in several ways, other texts for
//! missing values, no header, an index without a name, another separator.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

mod common;

use common::{open, refused, rows};
use hushstream_read::{Fault, Form, Format, Input, Layout, Reader, SchemaSpec, skeleton_of};

const FLIGHTS: &str = "target = 'late'\nperson = 'who'\nhashed = { tail = 4 }\n[bounds]\n\
    hour = [0, 24]\nair = [0, 10]\n[vocabulary]\ncarrier = ['AA', 'DL']";

#[test]
fn spaces_around_fields_and_names_are_no_part_of_them() {
    let plain = "hour,air,who,tail,carrier,late\n6,5,ann,N1,DL,1\n7,,bob,N2,AA,0\n";
    let expected = rows(open(Format::Csv, FLIGHTS, plain.as_bytes()).unwrap()).unwrap();
    let persons = |text: &str, format| {
        let mut reader = open(format, FLIGHTS, text.as_bytes()).unwrap();
        std::iter::from_fn(|| reader.next_record().unwrap().map(|row| row.person)).collect()
    };
    let ids: Vec<Option<u64>> = persons(plain, Format::Csv);
    let spaced = plain.replace(',', " , \t").replace('\n', "  \n");
    let quoted = "hour, air ,who,tail,carrier,late\n\" 6 \",5,\"ann \",\" N1\",\" DL\",\"1 \"\n\
        7, ,bob, N2 ,AA , 0\n";
    let tabs = plain.replace(',', " \t ");
    let objects = "{\"hour\":\" 6\",\"air\":5,\"who\":\" ann\",\"tail\":\"N1 \",\"carrier\":\"DL \",\"late\":\" 1\"}\n\
                   {\"hour\":7,\"air\":\" \",\"who\":\"bob \",\"tail\":\" N2\",\"carrier\":\" \
                       AA\",\"late\":0}\n";
    for (text, format) in [
        (&*spaced, Format::Csv),
        (quoted, Format::Csv),
        (&*tabs, Format::Tsv),
    ] {
        let found = rows(open(format, FLIGHTS, text.as_bytes()).unwrap()).unwrap();
        assert_eq!(found, expected, "{text}");
        assert_eq!(persons(text, format), ids, "{text}");
    }
    // Objects have their columns in the order of the schema.
    let plain_objects = objects.replace("\" ", "\"").replace(" \"", "\"");
    let of_objects = |text: &str| rows(open(Format::JsonLines, FLIGHTS, text.as_bytes()).unwrap());
    assert_eq!(of_objects(objects), of_objects(&plain_objects));
    assert_eq!(persons(objects, Format::JsonLines), ids);
}

#[test]
fn equal_numbers_name_the_same_category_class_arm_and_label() {
    let stated = "target = 'y'\npositive = '1'\nintercept = false\n\
        vocabulary = { grade = ['1', '2', '2.5', '03'] }";
    let text = "grade,y\n1,1\n1.0,1.0\n 2.50,2\n3,0\n03,1e0\n";
    let expected = [
        (vec![1.0, 0.0, 0.0, 0.0], Some(1.0)),
        (vec![1.0, 0.0, 0.0, 0.0], Some(1.0)),
        (vec![0.0, 0.0, 1.0, 0.0], Some(-1.0)),
        (vec![0.0; 4], Some(-1.0)),
        (vec![0.0, 0.0, 0.0, 1.0], Some(1.0)),
    ];
    let found = rows(open(Format::Csv, stated, text.as_bytes()).unwrap()).unwrap();
    assert_eq!(found, expected);
    let objects = "{\"grade\":1.0,\"y\":1.0}\n{\"grade\":\"2.50\",\"y\":2}\n";
    let found = rows(open(Format::JsonLines, stated, objects.as_bytes()).unwrap()).unwrap();
    assert_eq!(found, [expected[1].clone(), expected[2].clone()]);
    let classes =
        "target = 'y'\ntask = 'multiclass'\nclasses = ['1', '2']\nbounds = { x = [0, 1] }";
    let found = rows(open(Format::Csv, classes, b"x,y\n0,2.0\n0,1\n").unwrap()).unwrap();
    assert_eq!([found[0].1, found[1].1], [Some(1.0), Some(0.0)]);
    let arms = "target = 'y'\ntask = 'bandit'\narms = ['1', '2']";
    let found = rows(open(Format::Csv, arms, b"x,y\n0,2.0\n0,1\n").unwrap()).unwrap();
    assert_eq!([&*found[0].0, &*found[1].0], [[1.0, 0.0], [0.0, 1.0]]);
}

#[test]
fn values_that_cannot_be_told_apart_are_refused_before_a_row_is_read() {
    for (stated, message) in [
        (
            "target = 'y'\nvocabulary = { x = ['1', '1.0'] }",
            "t: vocabulary of `x`: two values are the same number, as 1 and 1.0 are",
        ),
        (
            "target = 'y'\nvocabulary = { x = ['a', ' a'] }",
            "t: vocabulary of `x`: two values are the same but for the spaces around them",
        ),
        (
            "target = 'y'\ntask = 'multiclass'\nclasses = ['1', '1e0']\nbounds = { x = [0, 1] }",
            "t: classes: two values are the same number",
        ),
        (
            "target = 'y'\ntask = 'bandit'\narms = ['0', '-0']",
            "t: arms: two values are the same number",
        ),
    ] {
        let message_given = refused(Format::Csv, stated, b"x,y\n0,1\n").to_string();
        assert!(message_given.starts_with(message), "{message_given}");
    }
}

/// Twelve columns, so that they are read many at a time.
fn wide(missing: &str) -> (String, String) {
    let columns: Vec<String> = (0..12).map(|n| format!("x{n}")).collect();
    let text = format!(
        "{},kind,y\n{}a,1\n{missing}{}b,0\n",
        columns.join(","),
        "5,".repeat(12),
        ",7".repeat(11) + ","
    );
    let stated =
        "target = 'y'\nbounds = { 'x*' = [-1000, 10] }\nhashed = { kind = 3 }\nintercept = false";
    (text, stated.to_owned())
}

#[test]
fn stated_texts_are_missing_values_wherever_they_stand() {
    let (reference, stated) = wide("");
    let expected = rows(open(Format::Csv, &stated, reference.as_bytes()).unwrap()).unwrap();
    for missing in ["?", "-999", "-999.0", " ? "] {
        let (text, stated) = wide(missing);
        let stated = format!("missing = ['?', '-999']\n{stated}");
        let reader = open(Format::Csv, &stated, text.as_bytes()).unwrap();
        let layout = reader.layout().clone();
        assert_eq!(rows(reader).unwrap(), expected, "{missing}");
        // New data for a published model is read in the same way.
        let stored = serde_json::to_string(&layout).unwrap();
        let layout: Layout = serde_json::from_str(&stored).unwrap();
        let input = Input::from_reader("t", std::io::Cursor::new(text)).unwrap();
        let again = Reader::with_layout(input, Format::Csv, &layout).unwrap();
        assert_eq!(rows(again).unwrap(), expected, "{missing}");
    }
    let hashed = "missing = ['?']\ntarget = 'y'\nhashed = { k = 3 }\nintercept = false";
    let found = rows(open(Format::Csv, hashed, b"k,y\n?,1\n").unwrap()).unwrap();
    assert_eq!(found, [(vec![0.0; 8], Some(1.0))]);
    let target = "missing = ['?']\ntarget = 'y'\npositive = 'a'\nbounds = { x = [0, 1] }";
    assert_eq!(
        refused(Format::Csv, target, b"x,y\n0,a\n0,?\n").fault,
        Fault::MissingTarget
    );
}

#[test]
fn layouts_of_earlier_versions_are_read_as_they_were() {
    let column = r#"{"name":" x","encoding":{"category":{"values":["1","1.0"]}}}"#;
    let target = r#""target_column":" y","target":{"sign":{"positive":null}}"#;
    let old = format!(
        "{{\"space\":{{\"columns\":[{column}]}},\"intercept\":false,\"norm\":null,{target}}}"
    );
    let layout: Layout = serde_json::from_str(&old).unwrap();
    assert_eq!(serde_json::to_string(&layout).unwrap(), old);
    let input = Input::from_reader("t", &b" x, y\n1,0\n1.0,1\n"[..]).unwrap();
    let found = rows(Reader::with_layout(input, Format::Csv, &layout).unwrap()).unwrap();
    assert_eq!(
        found,
        [(vec![1.0, 0.0], Some(-1.0)), (vec![0.0, 1.0], Some(1.0))]
    );
}

#[test]
fn a_table_without_a_header_has_numbers_or_stated_names() {
    let body = "0.5,\"a,b\",1\n1,c,0\n";
    let described = |x: &str, k: &str, y: &str| {
        format!("target = '{y}'\nbounds = {{ {x} = [0, 1] }}\nvocabulary = {{ {k} = ['c'] }}")
    };
    let headed = format!("x,k,y\n{body}");
    let expected = rows(open(Format::Csv, &described("x", "k", "y"), headed.as_bytes()).unwrap());
    for stated in [
        format!("no_header = true\n{}", described("c1", "c2", "c3")),
        format!("names = ['x', ' k', 'y']\n{}", described("x", "k", "y")),
    ] {
        let reader = open(Format::Csv, &stated, body.as_bytes()).unwrap();
        assert_eq!(rows(reader), expected, "{stated}");
    }
    let stated = format!(
        "names = ['x', 'y']\n{}",
        "target = 'y'\nbounds = { x = [0, 1] }"
    );
    assert_eq!(
        refused(Format::Csv, &stated, b"0.5,1,1\n").to_string(),
        "t, line 1, column 3: the row goes on after its 2 columns"
    );
    // Faults are still placed by their line.
    let stated = format!("no_header = true\n{}", described("c1", "c2", "c3"));
    let wrong = refused(Format::Csv, &stated, b"0,c,1\nx,c,1\n").to_string();
    assert!(
        wrong.starts_with("t, line 2, column 1 (`c1`): text"),
        "{wrong}"
    );
    let empty = refused(Format::Csv, &stated, b"").to_string();
    assert_eq!(
        empty,
        "t: the file is empty; there must be at least one line"
    );
}

#[test]
fn another_separator_reads_the_same_numbers() {
    let mut state = 7_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 40) as f64 / 1000.0 - 5000.0
    };
    let names: Vec<String> = (0..20).map(|n| format!("x{n}")).collect();
    let mut text = format!("{},k,y\n", names.join(","));
    for row in 0..200 {
        let numbers: Vec<String> = (0..20).map(|_| next().to_string()).collect();
        text += &format!("{},\"a,b\",{}\n", numbers.join(","), row % 2);
    }
    let stated = "target = 'y'\nbounds = { 'x*' = [-5000, 5000] }\n\
        vocabulary = { k = ['a,b', 'a;b', 'a|b', 'a\tb'] }";
    let expected = rows(open(Format::Csv, stated, text.as_bytes()).unwrap()).unwrap();
    for separator in [";", "|", "tab"] {
        let byte = if separator == "tab" { "\t" } else { separator };
        let other = text.replace(',', byte).replace(&format!("a{byte}b"), "a,b");
        let stated = format!("separator = '{separator}'\n{stated}");
        let found = rows(open(Format::Csv, &stated, other.as_bytes()).unwrap()).unwrap();
        assert_eq!(found, expected, "{separator}");
    }
}

#[test]
fn a_wrong_separator_is_guessed() {
    let stated = "target = 'y'\nbounds = { x = [0, 1] }";
    for (format, text, message) in [
        (
            Format::Csv,
            "x;y\n0;1\n",
            "a semicolon; state it: --separator ';'",
        ),
        (
            Format::Csv,
            "x|y\n0|1\n",
            "a bar; state it: --separator '|'",
        ),
        (
            Format::Csv,
            "x\ty\n0\t1\n",
            "a tab; state it: --format tsv, or --separator tab",
        ),
        (
            Format::Tsv,
            "x,y\n0,1\n",
            "a comma; state it: --format csv, or --separator ','",
        ),
    ] {
        let given = refused(format, stated, text.as_bytes()).to_string();
        let expected = format!(
            "t, line 1, column 1: the first row is one field; its separator seems to be {message}"
        );
        assert_eq!(given, expected);
        let bare = format!("no_header = true\n{stated}");
        let given = refused(format, &bare, text.as_bytes()).fault;
        assert!(matches!(given, Fault::Separator(_)), "{given}");
    }
}

#[test]
fn an_index_without_a_name_is_passed_over_and_no_other_column_is() {
    let stated = "target = 'y'\nbounds = { '*' = [0, 1] }\nintercept = false";
    let reader = open(Format::Csv, stated, b",x,y\n17,1,0\n").unwrap();
    assert!(reader.has_nameless_index());
    let layout = reader.layout().clone();
    assert_eq!(rows(reader).unwrap(), [(vec![1.0], Some(-1.0))]);
    let input = Input::from_reader("t", &b" ,x\n3,0\n"[..]).unwrap();
    let found = rows(Reader::with_layout(input, Format::Csv, &layout).unwrap()).unwrap();
    assert_eq!(found, [(vec![-1.0], None)]);
    for text in ["x,,y\n0,0,1\n", "x,y,\n0,1,\n", ",,y\n0,0,1\n"] {
        let message = refused(Format::Csv, stated, text.as_bytes()).to_string();
        assert!(
            message.contains("a column without a name; give it one"),
            "{message}"
        );
    }
    assert!(
        !open(Format::Csv, stated, b"x,y\n1,0\n")
            .unwrap()
            .has_nameless_index()
    );
}

#[test]
fn a_record_in_place_of_the_header_is_not_told() {
    // What the first row holds may be somebody's: no message repeats it.
    for (stated, text) in [
        (
            "target = 'y'\nbounds = { x = [0, 1] }",
            "39,zq7secret,1\n40,b,0\n",
        ),
        ("target = 'y'", "39,zq7secret,zq7secret\n40,b,0\n"),
        (
            "hash_bits = 3\ntarget = 'zq7secre'",
            "39,zq7secret,1\n40,b,0\n",
        ),
    ] {
        let error = refused(Format::Csv, stated, text.as_bytes());
        let message = error.to_string();
        assert!(
            matches!(error.fault, Fault::RecordForHeader { .. }),
            "{message}"
        );
        assert!(
            message.contains("--no-header") && !message.contains("zq7secret\""),
            "{message}"
        );
        assert!(
            !message.contains("zq7secret,") && !message.contains("`zq7secret`"),
            "{message}"
        );
    }
    // A column that is named as the header writes it shows that it is one.
    let years = "target = 'late'\nbounds = { 2024 = [0, 1] }";
    let message = refused(Format::Csv, years, b"2023,2024,late\n1,1,1\n").to_string();
    assert!(
        message.contains("column `2023` has no public bounds"),
        "{message}"
    );
}

#[test]
fn all_columns_that_nothing_describes_are_told_at_once() {
    let stated = "target = 'y'\nbounds = { b = [0, 1] }";
    let error = refused(Format::Csv, stated, b"a,b,c d,y\n1,2,3,4\n");
    assert_eq!(error.fault, Fault::Unstated(vec!["a".into(), "c d".into()]));
    let message = error.to_string();
    assert!(
        message.starts_with(
            "t: 2 columns have no public bounds or categories: `a`, `c d`; state them: \
             --bounds 'NAME=LOW:HIGH'"
        ),
        "{message}"
    );
}

#[test]
fn a_filled_skeleton_loads_and_fits_its_file() {
    let text = "x ,\"odd \"\"name\\\",k,late\n1,2,a,0\n2,1,b,1\n";
    let input = || Input::from_reader("t", text.as_bytes()).unwrap();
    let stated = "target = 'late'\nignore = ['k*']\nmissing = ['?']";
    let stated: SchemaSpec = stated.parse().unwrap();
    let skeleton = stated.skeleton(input(), Format::Csv).unwrap();
    assert!(
        skeleton.contains("x = [???, ???]\n\"odd \\\"name\\\\\" = [???, ???]\n"),
        "{skeleton}"
    );
    let unfilled = skeleton.parse::<SchemaSpec>().unwrap_err();
    assert_eq!(unfilled.fault, Fault::Unfilled, "{unfilled}");
    let filled: SchemaSpec = skeleton.replace("[???, ???]", "[0, 2]").parse().unwrap();
    assert_eq!((filled.missing.len(), filled.ignore.len()), (1, 1));
    let found = rows(Reader::open(input(), Format::Csv, &filled).unwrap()).unwrap();
    assert_eq!(found[0], (vec![0.0, 1.0, 1.0], Some(-1.0)));

    // Without a header, and of objects.
    let bare = SchemaSpec {
        no_header: Some(true),
        separator: Some(";".into()),
        ..SchemaSpec::default()
    };
    let body = Input::from_reader("t", &b"1;2\n"[..]).unwrap();
    let skeleton = bare.skeleton(body, Format::Csv).unwrap();
    let filled = skeleton
        .replace("[???, ???]", "[0, 2]")
        .replace("???", "c2");
    let filled: SchemaSpec = filled.parse().unwrap();
    let body = Input::from_reader("t", &b"1;1\n"[..]).unwrap();
    assert_eq!(
        rows(Reader::open(body, Format::Csv, &filled).unwrap())
            .unwrap()
            .len(),
        1
    );
    let object = Input::from_reader("t", &b"{\"b\":1,\"a\":\"x\"}\n"[..]).unwrap();
    let skeleton = SchemaSpec::default()
        .skeleton(object, Format::JsonLines)
        .unwrap();
    assert!(
        skeleton.contains("[bounds]\na = [???, ???]\nb = [???, ???]\n"),
        "{skeleton}"
    );

    // What is refused: a record for a header, and formats without names.
    let record = Input::from_reader("t", &b"39,zq7secret\n40,b\n"[..]).unwrap();
    let refused = SchemaSpec::default()
        .skeleton(record, Format::Csv)
        .unwrap_err();
    assert!(
        matches!(refused.fault, Fault::RecordForHeader { .. })
            && !refused.to_string().contains("zq7")
    );
    let pairs = Input::from_reader("t", &b"1 1:2\n"[..]).unwrap();
    let refused = SchemaSpec::default()
        .skeleton(pairs, Format::Libsvm)
        .unwrap_err();
    assert!(
        refused.to_string().contains("there is nothing to describe"),
        "{refused}"
    );
    assert!(skeleton_of(&["a"]).contains("a = [???, ???]"));
}

#[test]
fn what_is_about_the_text_of_tables_does_not_fit_other_files() {
    let stated = "names = ['x', 'y']\ntarget = 'y'\nbounds = { x = [0, 1] }";
    let message = refused(Format::JsonLines, stated, b"{\"x\":1,\"y\":1}\n").to_string();
    assert_eq!(message, "--names does not fit here: it is for csv and tsv");
    assert_eq!(
        Form::new(Format::Csv, Some("ab"), false, &[])
            .unwrap_err()
            .to_string(),
        "--separator: allowed: one sign such as ; or |, or tab"
    );
}
