//! What rows become.
#![allow(clippy::unwrap_used, clippy::float_cmp)]

mod common;

use common::{dense, open, rows, schema};
use hushstream_mechanism::losses::Features;
use hushstream_read::{Format, Input, Layout, Reader, Row, Space};

const FLIGHTS: &str = "target = 'late'\nperson = 'who'\n[bounds]\nhour = [0, 24]\n\
    [vocabulary]\ncarrier = ['AA', 'DL']";

#[test]
fn columns_are_scaled_clipped_and_spread() {
    let text = "\u{feff}hour,who,carrier,late\r\n6,ann,DL,1\r\n30,bob,XX,0\r\n,ann,AA,true\r\n";
    let expected = [
        (vec![-0.5, 0.0, 1.0, 1.0], Some(1.0)),
        (vec![1.0, 0.0, 0.0, 1.0], Some(-1.0)),
        (vec![0.0, 1.0, 0.0, 1.0], Some(1.0)),
    ];
    assert_eq!(
        rows(open(Format::Csv, FLIGHTS, text.as_bytes()).unwrap()).unwrap(),
        expected
    );
    let tabs = text.replace(',', "\t");
    assert_eq!(
        rows(open(Format::Tsv, FLIGHTS, tabs.as_bytes()).unwrap()).unwrap(),
        expected
    );
    let quoted = text.replace("DL", "\"DL\"").replace("ann", "\"a,\"\"n\"");
    assert_eq!(
        rows(open(Format::Csv, FLIGHTS, quoted.as_bytes()).unwrap()).unwrap(),
        expected
    );
    let objects = "{\"hour\":6,\"who\":\"ann\",\"carrier\":\"D\\u004c\",\"late\":1}\n\
                   {\"late\":false,\"carrier\":\"XX\",\"hour\":3e1,\"other\":\"x\"}\n\
                   {\"carrier\":\"AA\",\"hour\":null,\"late\":true}";
    assert_eq!(
        rows(open(Format::JsonLines, FLIGHTS, objects.as_bytes()).unwrap()).unwrap(),
        expected
    );
}

#[test]
fn persons_are_hashes_of_their_field() {
    let text = b"hour,who,carrier,late\n6,ann,DL,1\n7,bob,DL,1\n8,ann,DL,0\n9,,DL,0\n";
    let mut reader = open(Format::Csv, FLIGHTS, text).unwrap();
    let mut persons = Vec::new();
    while let Some(sealed) = reader.next_record().unwrap() {
        persons.push(sealed.person.unwrap());
    }
    assert_eq!((persons.len(), reader.rows()), (4, 4));
    assert_eq!(persons[0], persons[2]);
    assert!(persons[0] != persons[1] && persons[1] != persons[3]);
    let mut tagged = open(
        Format::Vw,
        "norm = 1\nperson = 'tag'",
        b"1 'ann| a\n0 1 ann| b\n1 | a",
    )
    .unwrap();
    let mut next = || tagged.next_record().unwrap().unwrap().person.unwrap();
    let (first, second, third) = (next(), next(), next());
    assert_eq!((first, second), (persons[0], persons[0]));
    assert_eq!(third, persons[3], "no tag is the empty name");
}

#[test]
fn one_hot_groups_have_length_one_and_rows_that_break_them_are_scaled_down() {
    let stated = "target = 'y'\none_hot = ['a*', 'b1|b2']\nbounds = { x = [0, 4] }";
    let text = b"a1,a2,a3,a4,a5,b1,b2,x,y\n0,0,0,0,1,1,0,4,0\n1,1,1,1,1,0,0,4,1\n\
        0,0,0,0,true,9,,2,1\n0,0,0,0,0,0,0,0,1\n";
    let reader = open(Format::Csv, stated, text).unwrap();
    assert_eq!(
        reader.layout().norm(),
        2.0,
        "two groups, one number, one intercept"
    );
    let rows = rows(reader).unwrap();
    assert_eq!(rows[0].0, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
    let shrunk = 0.5_f64.sqrt(); // √3 over √6
    for (coordinate, expected) in [(0, shrunk), (4, shrunk), (7, shrunk), (8, 1.0)] {
        assert!((rows[1].0[coordinate] - expected).abs() < 1e-15);
    }
    assert_eq!(rows[2].0, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    assert_eq!(rows[3].0, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0, 1.0]);
}

#[test]
fn a_stated_norm_scales_down_without_the_intercept() {
    let stated = "target = 'y'\nnorm = 0.5\nbounds = { 'x*' = [-1, 1] }";
    let rows = rows(open(Format::Csv, stated, b"x1,x2,y\n0.6,0.8,1\n0.3,0,1\n").unwrap()).unwrap();
    assert_eq!(rows[0].0, [0.3, 0.4, 1.0]);
    assert_eq!(rows[1].0, [0.3, 0.0, 1.0]);
}

#[test]
fn hashed_columns_set_one_coordinate_each() {
    let stated = "target = 'y'\nhash_bits = 5\nhashed = { b = 6 }\nintercept = false";
    let mut reader = open(Format::Csv, stated, b"a,b,y\nx,x,1\nx,,0\n").unwrap();
    assert_eq!(reader.layout().dimension(), 96);
    assert!(reader.layout().is_sparse());
    let mut row = Row::default();
    reader.next_row(&mut row).unwrap();
    let Features::Sparse(entries) = &row.features else {
        panic!()
    };
    let first = entries.clone();
    assert!(first.len() == 2 && first[0].0 < 32 && (32..96).contains(&first[1].0));
    assert!(
        reader
            .layout()
            .feature_name(first[1].0 as usize)
            .starts_with("b#")
    );
    reader.next_row(&mut row).unwrap();
    let Features::Sparse(entries) = &row.features else {
        panic!()
    };
    assert_eq!(*entries, [(first[0].0, 1.0)], "an empty text sets nothing");
}

#[test]
fn targets_of_every_task() {
    let table = |stated: &str| {
        let text = b"x,y\n0,3\n0,NA\n0,1.0\n";
        let mut reader = open(
            Format::Csv,
            &format!("{stated}\nmissing_target = 'null'\nbounds = {{ x = [0, 1] }}"),
            text,
        )
        .unwrap();
        let mut count = 0;
        while reader.next_record().unwrap().is_some() {
            count += 1;
        }
        let (nulls, clipped) = (
            *reader.nulls().for_the_operator(),
            *reader.clipped_targets().for_the_operator(),
        );
        let rows = rows(
            open(
                Format::Csv,
                &format!("{stated}\nbounds = {{ x = [0, 1] }}"),
                text,
            )
            .unwrap(),
        )
        .unwrap();
        let targets: Vec<Option<f64>> = rows.into_iter().map(|(_, target)| target).collect();
        (count, nulls, clipped, targets)
    };
    assert_eq!(
        table("target = 'y'\npositive = '3'"),
        (3, 1, 0, vec![Some(1.0), None, Some(-1.0)])
    );
    assert_eq!(
        table("target = 'y'\ntask = 'multiclass'\nclasses = ['1', '2', '3']"),
        (3, 1, 0, vec![Some(2.0), None, Some(0.0)])
    );
    assert_eq!(
        table("target = 'y'\ntask = 'regress'\ntarget_bounds = [0, 2]"),
        (3, 1, 1, vec![Some(1.0), None, Some(0.0)])
    );
}

#[test]
fn experts_keep_their_losses() {
    let stated = "task = 'experts'\nignore = ['day']\nbounds = { '*' = [-1, 3] }";
    let rows = rows(open(Format::Csv, stated, b"day,a,b\nmon,0,9\ntue,,-2.5\n").unwrap()).unwrap();
    assert_eq!(
        rows,
        [(vec![0.0, 3.0], Some(0.0)), (vec![1.0, -1.0], Some(0.0))]
    );
}

#[test]
fn vw_text_is_hashed_as_vowpal_wabbit_does() {
    let stated = "norm = 100\nhash_bits = 10";
    let text = b"1 |a:2 x:0.5 y |7 3:1.5\n-1 1.0 'tag |\n0 1 tag|a x:1 x:2 | 12 12:-1\n|a x\n";
    let rows = rows(open(Format::Vw, stated, text).unwrap()).unwrap();
    let nonzero = |row: usize| -> Vec<(usize, f64)> {
        rows[row]
            .0
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, value)| *value != 0.0)
            .collect()
    };
    // Coordinates of x and y in the namespace a, from an independent implementation of MurmurHash3
    // in Python.
    let (x, y) = (136, 863);
    assert_eq!((rows[0].0[x], rows[0].0[y]), (1.0, 2.0));
    assert_eq!(
        rows.iter().map(|row| row.1).collect::<Vec<_>>(),
        [Some(1.0), Some(-1.0), Some(-1.0), None]
    );
    assert_eq!(nonzero(1), [(1024, 1.0)]);
    assert_eq!(nonzero(0).len(), 4);
    assert!(nonzero(0).contains(&(10, 1.5)), "numbers are added: 7 + 3");
    assert_eq!(nonzero(2).len(), 2, "12 and its negative cancel");
    assert_eq!(rows[2].0[x], 3.0, "what meets is added");
    assert_eq!(nonzero(3), [(x, 1.0), (1024, 1.0)]);
}

/// The coordinate of a name is the same wherever it stands in the line.
#[test]
fn a_vw_name_is_the_same_feature_wherever_it_stands() {
    let names = [
        "0",
        "007",
        "7",
        "1234567",
        "12345678",
        "4294967299",
        "12.",
        "1.5",
        "1e3",
        "12x",
        "-3",
        "x12",
    ];
    for name in names {
        for value in ["", ":2", ":-0.25", ":1e-1"] {
            let line = |behind: &str| format!("1 |n:0.5 {name}{value}{behind}\n");
            let text = [
                line(""),
                line(" 999999999:0"),
                line("\t999999999:0"),
                line("|z 999999999:0"),
            ];
            let stated = "norm = 100\nhash_bits = 10";
            let rows = rows(open(Format::Vw, stated, text.concat().as_bytes()).unwrap()).unwrap();
            assert!(rows.iter().all(|row| *row == rows[0]), "{name}{value}");
            assert_eq!(rows[0].0.iter().filter(|value| **value != 0.0).count(), 2);
        }
    }
}

#[test]
fn libsvm_pairs_keep_their_index() {
    let rows = rows(
        open(
            Format::Libsvm,
            "norm = 10\ndimension = 4",
            b"+1 1:0.5 4:2 # x\n0 2:-1\n3:1\n",
        )
        .unwrap(),
    )
    .unwrap();
    assert_eq!(
        rows,
        [
            (vec![0.5, 0.0, 0.0, 2.0, 1.0], Some(1.0)),
            (vec![0.0, -1.0, 0.0, 0.0, 1.0], Some(-1.0)),
            (vec![0.0, 0.0, 1.0, 0.0, 1.0], None),
        ]
    );
    let zero = common::rows(
        open(
            Format::Libsvm,
            "norm = 1\ndimension = 2\nindex_base = 0\nintercept = false",
            b"1 0:0 1:4\n",
        )
        .unwrap(),
    );
    assert_eq!(zero.unwrap()[0].0, [0.0, 1.0], "scaled down to the norm");
}

#[test]
fn a_stored_layout_reads_new_data_in_any_order_of_columns() {
    let reader = open(Format::Csv, FLIGHTS, b"hour,who,carrier,late\n6,ann,DL,1\n").unwrap();
    let stored = serde_json::to_string(reader.layout()).unwrap();
    let layout: Layout = serde_json::from_str(&stored).unwrap();
    assert_eq!(&layout, reader.layout());
    let read = |format, text: &'static str| {
        let input = Input::from_reader("new", text.as_bytes()).unwrap();
        rows(Reader::with_layout(input, format, &layout).unwrap()).unwrap()
    };
    let expected = [(vec![-0.5, 0.0, 1.0, 1.0], None)];
    assert_eq!(read(Format::Csv, "carrier,extra,hour\nDL,?,6\n"), expected);
    assert_eq!(
        read(
            Format::JsonLines,
            "{\"extra\":1,\"carrier\":\"DL\",\"hour\":6}"
        ),
        expected
    );
    let input = Input::from_reader("new", &b"carrier\nDL\n"[..]).unwrap();
    let absent = Reader::with_layout(input, Format::Csv, &layout)
        .err()
        .unwrap();
    assert_eq!(
        absent.to_string(),
        "new: no column is named `hour`, which the model's layout names"
    );
    let input = Input::from_reader("new", &b"1 | a\n"[..]).unwrap();
    assert!(Reader::with_layout(input, Format::Vw, &layout).is_err());
}

#[test]
fn a_tampered_layout_is_refused() {
    let reader = open(Format::Csv, "target = 'y'\nhash_bits = 4", b"a,y\nx,1\n").unwrap();
    let stored = serde_json::to_string(reader.layout()).unwrap();
    for (from, to) in [
        ("\"bits\":4", "\"bits\":200"),
        ("\"bits\":4", "\"bits\":0"),
        ("\"norm\":null", "\"norm\":-1.0"),
    ] {
        let tampered = stored.replace(from, to);
        assert_ne!(tampered, stored);
        assert!(serde_json::from_str::<Layout>(&tampered).is_err(), "{to}");
    }
}

#[test]
fn a_shuffle_is_the_same_on_every_platform() {
    let text: String = std::iter::once("x,y\n".to_owned())
        .chain((0..10).map(|n| format!("{n},1\n")))
        .collect();
    let stated = "task = 'regress'\ntarget = 'x'\ntarget_bounds = [-9, 9]\nbounds = { y = [0, 1] }";
    let order = |seed| -> Vec<u8> {
        let reader = open(Format::Csv, stated, text.as_bytes())
            .unwrap()
            .shuffled(seed)
            .unwrap();
        rows(reader)
            .unwrap()
            .into_iter()
            .map(|(_, target)| target.unwrap() as u8)
            .collect()
    };
    assert_eq!(order(0), SHUFFLED_BY_0);
    assert_eq!(order(u64::MAX), SHUFFLED_BY_MAX);
    let mut objects = open(
        Format::JsonLines,
        stated,
        b"{\"x\":1,\"y\":1}\n{\"x\":2,\"y\":1}",
    )
    .unwrap()
    .shuffled(3)
    .unwrap();
    let mut count = 0;
    while objects.next_record().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 2, "the first object is a row too");
}

/// From an independent implementation in Python.
const SHUFFLED_BY_0: [u8; 10] = [6, 3, 2, 9, 8, 1, 4, 7, 0, 5];
const SHUFFLED_BY_MAX: [u8; 10] = [3, 4, 2, 7, 5, 0, 8, 1, 9, 6];

#[test]
fn the_space_of_a_layout_is_told() {
    let layout = Layout::new(&schema("norm = 1"), Format::Vw, &[] as &[&str]).unwrap();
    assert_eq!(*layout.space(), Space::Hashed { bits: 18 });
    assert_eq!(
        (layout.dimension(), layout.norm()),
        ((1 << 18) + 1, 2.0_f64.sqrt())
    );
    assert_eq!(
        (layout.feature_name(3), layout.feature_name(1 << 18)),
        ("#3".into(), "(intercept)".into())
    );
    assert_eq!(dense(&Features::Sparse(vec![(1, 2.0)]), 2), [0.0, 2.0]);
}
