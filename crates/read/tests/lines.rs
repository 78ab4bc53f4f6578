//! One line, one record: what a line holds moves no other record and stops nothing.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Open, dense, open, schema};
use hushstream_read::{Findings, Format, Input, ReadError, Reader, Row, Sealed};
use std::io::Cursor;

/// Format, schema, header, and lines to begin with.
const CASES: [(Format, &str, &str, &[&str]); 6] = [
    (
        Format::Csv,
        "target = 'y'\nperson = 'who'\nvocabulary = { kind = ['a', 'b,'] }\n\
         bounds = { 'x*' = [-2, 3] }",
        "x1,kind,who,x2,y\n",
        &["1,a,ann,-1.25,1", "2.5,\"b,\",bob,NA,0", ",,,,true"],
    ),
    (
        Format::Csv,
        "target = 'y'\nbounds = { 'x*' = [-9, 9] }",
        "x1,x2,x3,x4,x5,x6,x7,x8,y\n",
        &[
            "1.25,0.50,3.75,12,.5,7.,1.5,2.5,1",
            "2.25,1.50,0.75,34,.6,8.,2.5,3.5,0",
            "0.00,9.99,5.05,56,.7,9.,3.5,4.5,1",
        ],
    ),
    (
        Format::Tsv,
        "task = 'regress'\ntarget = 'y'\ntarget_bounds = [-5, 5]\nhash_bits = 3\n\
         bounds = { x = [0, 1] }",
        "x\ty\tt\n",
        &["0.5\t-7\tword", "1\t2.25\t\"a\tb\"", "\t5e-1\t"],
    ),
    (
        Format::JsonLines,
        "target = 'y'\nvocabulary = { kind = ['a', 'b'] }\nbounds = { x = [-1, 1] }",
        "",
        &[
            "{\"x\":0.5,\"kind\":\"a\",\"y\":1}",
            "{\"y\":false,\"x\":null}",
        ],
    ),
    (
        Format::Vw,
        "norm = 2\nhash_bits = 8\nperson = 'tag'",
        "",
        &[
            "1 1 'ann|a:2 x:0.5 y |b 3:-1",
            "-1 bob|a x x:1e-3 | 12 13:4",
        ],
    ),
    (
        Format::Libsvm,
        "norm = 3\ndimension = 9\nmissing_target = 'null'",
        "",
        &["1 1:1 3:-2.5 8:1e-2 # note", "-1", "0 1:1\t2:2"],
    ),
];

/// Bytes that mean something to one format or another, and none that is a line break.
const TOKENS: [&[u8]; 28] = [
    b"\"",
    b"\"\"",
    b",",
    b"\t",
    b"\r",
    b" ",
    b"|",
    b":",
    b"'",
    b"#",
    b"{",
    b"}",
    b"\\",
    b"0",
    b"1",
    b"-1.5",
    b"1e999",
    b"NaN",
    b"x",
    b"\0",
    b"\xff",
    b"\xc3\xa9",
    b"\xef\xbb\xbf",
    b"PAR1",
    b"\x1f\x8b\x08",
    b",,,,",
    b"\"x\"",
    b"1,a,ann,0,1",
];

struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    /// A line: a good one, a good one that is damaged, soup, or nothing.
    fn line(&mut self, good: &[&str]) -> Vec<u8> {
        let mut line = match self.below(4) {
            0 => Vec::new(),
            _ => good[self.below(good.len())].as_bytes().to_vec(),
        };
        let times = [0, 0, 1, 1, 2, 5][self.below(6)];
        for _ in 0..times {
            let at = self.below(line.len() + 1);
            let end = (at + self.below(3)).min(line.len());
            line.splice(at..end, TOKENS[self.below(TOKENS.len())].iter().copied());
        }
        line
    }
}

/// A row in the open, or what is wrong with it.
type Read = Result<Open, String>;

/// All rows; a malformed one is passed over by asking for the next.
fn read_all(mut reader: Reader) -> Vec<Read> {
    let dimension = reader.layout().dimension();
    let (mut all, mut row) = (Vec::new(), Row::default());
    loop {
        match reader.next_row(&mut row) {
            Ok(true) => all.push(Ok((dense(&row.features, dimension), row.target))),
            Ok(false) => return all,
            Err(error) => all.push(Err(error.to_string())),
        }
        assert!(all.len() < 100, "a reader that stands still: {all:?}");
    }
}

/// Sealed records: how many, whose, and how many are malformed.
fn seal_all(mut reader: Reader) -> Result<(Vec<Option<u64>>, u64), ReadError> {
    let (mut persons, mut malformed) = (Vec::new(), 0);
    while let Some(Sealed {
        person,
        is_malformed,
        ..
    }) = reader.next_record()?
    {
        persons.push(person);
        malformed += u64::from(*is_malformed.for_the_operator());
    }
    assert_eq!(malformed, *reader.malformed().for_the_operator());
    Ok((persons, malformed))
}

fn text(header: &str, lines: &[Vec<u8>]) -> Vec<u8> {
    let mut text = header.as_bytes().to_vec();
    for line in lines {
        text.extend(line);
        text.push(b'\n');
    }
    text
}

/// The number of rounds is the number of lines, for rows, records and the check alike, and to
/// change one line to anything changes no other record, nor whose it is.
#[test]
fn what_a_line_holds_moves_no_other_record() {
    let mut dice = Dice(7);
    let mut malformed_rows = 0;
    for round in 0..3000 {
        let (format, stated, header, good) = CASES[round % CASES.len()];
        let mut lines: Vec<Vec<u8>> = (0..1 + dice.below(12)).map(|_| dice.line(good)).collect();
        let before = text(header, &lines);
        let reader = || open(format, stated, &before).unwrap();
        let rows = read_all(reader());
        let (persons, malformed) = seal_all(reader()).unwrap();
        let mut faults = Vec::new();
        let checked = reader()
            .check(|fault| faults.push(fault.place.line))
            .unwrap();
        let case = || format!("{format} {}", before.escape_ascii());
        assert_eq!(rows.len(), lines.len(), "{}", case());
        assert_eq!(persons.len(), lines.len(), "{}", case());
        assert_eq!(checked.rows, lines.len() as u64, "{}", case());
        assert_eq!(malformed, faults.len() as u64, "{}", case());
        malformed_rows += malformed;

        let at = dice.below(lines.len());
        lines[at] = dice.line(good);
        let after = text(header, &lines);
        let other = read_all(open(format, stated, &after).unwrap());
        let (other_persons, _) = seal_all(open(format, stated, &after).unwrap()).unwrap();
        for number in (0..lines.len()).filter(|number| *number != at) {
            let case = || format!("{}\n{}", case(), after.escape_ascii());
            assert_eq!(rows[number], other[number], "{}", case());
            assert_eq!(persons[number], other_persons[number], "{}", case());
        }
        // In another order the same, and no more of them.
        let shuffled = |text: &[u8]| {
            let reader = open(format, stated, text).unwrap().shuffled(3).unwrap();
            read_all(reader)
        };
        let (one, two) = (shuffled(&before), shuffled(&after));
        assert_eq!((one.len(), two.len()), (lines.len(), lines.len()));
        let moved = one.iter().zip(&two).filter(|(one, two)| one != two).count();
        assert!(moved <= 1, "{}", case());
    }
    assert!(malformed_rows > 3000, "{malformed_rows}");
}

/// An empty record uses up no one's contributions.
#[test]
fn a_malformed_row_is_nobodys() {
    let (format, stated, header, _) = CASES[0];
    let text = format!("{header}1,a,ann,0,1\n1,a,ann,zero,1\n\n1,a,,0,1\n");
    let (persons, malformed) = seal_all(open(format, stated, text.as_bytes()).unwrap()).unwrap();
    assert_eq!(malformed, 2);
    assert_eq!(persons[1], persons[2]);
    assert!(persons[1].is_some() && persons[1] != persons[0] && persons[1] != persons[3]);
}

#[test]
fn quoted_line_breaks_are_read_only_where_they_are_asked_for() {
    let stated = "target = 'y'\nvocabulary = { x = [\"a\\nb\", 'c'] }";
    let text = "x,y\n\"a\nb\",1\nc,0\n";
    let input = || Input::from_reader("t", Cursor::new(text)).unwrap();
    let reader = Reader::open(input().multiline(), Format::Csv, &schema(stated)).unwrap();
    let rows = read_all(reader);
    assert_eq!(rows[0], Ok((vec![1.0, 0.0, 1.0], Some(1.0))));
    assert_eq!(rows.len(), 2);
    let reader = Reader::open(input(), Format::Csv, &schema(stated)).unwrap();
    let rows = read_all(reader);
    assert_eq!(rows.len(), 3);
    assert!(rows[0].is_err() && rows[1].is_err() && rows[2].is_ok());
}

/// Names and stated values are told, and counts; never a value of the data.
#[test]
fn a_check_tells_which_columns_their_schema_does_not_fit() {
    let told = |format, stated: &str, text: &str| {
        let checked = open(format, stated, text.as_bytes())
            .unwrap()
            .check(|_| {})
            .unwrap();
        let findings = checked.findings.for_the_operator();
        let words = |findings: &Findings| -> Vec<String> {
            findings.columns.iter().map(ToString::to_string).collect()
        };
        // Records that are read show the same, row by row.
        let mut reader = open(format, stated, text.as_bytes()).unwrap();
        reader.watched();
        while reader.next_record().unwrap().is_some() {}
        let watched = reader.findings().unwrap();
        assert_eq!(words(watched.for_the_operator()), words(findings));
        words(findings)
    };
    let stated = "target = 'y'\npositive = 'yes'\n\
        bounds = { a = [0, 1], b = [0, 1], c = [0, 1], d = [0, 1] }\n\
        vocabulary = { k = ['u', 'v', 'w'] }";
    let table = "a,b,c,d,k,y\n0,7,,NA,u,no\n1,-7,,-3,zq7secret,no\n9,8,,,,no\n";
    let expected = [
        "no row has the target value `yes`",
        "column `b`: no value lies within its bounds, 3 are clipped to them",
        "column `c` is missing in every row",
        "column `d`: no value lies within its bounds, 1 are clipped to them",
        "column `k`: no row has the stated value `v` or one other",
        "column `k`: 1 row has a value that is not stated",
    ];
    assert_eq!(told(Format::Csv, stated, table), expected);
    let quoted = table.replace("0,7,,NA,u,no", "\"0\",\"7\",\"\",\"NA\",\"u\",\"no\"");
    assert_eq!(told(Format::Csv, stated, &quoted), expected);
    let objects = "{\"a\":0,\"b\":7,\"k\":\"u\",\"y\":\"no\"}\n\
        {\"a\":1,\"b\":-7,\"d\":-3,\"k\":\"zq7secret\",\"y\":\"no\"}\n\
        {\"a\":9,\"b\":8,\"c\":null,\"y\":\"no\"}\n";
    let mut found = told(Format::JsonLines, stated, objects);
    found.sort();
    let mut sorted = expected;
    sorted.sort_unstable();
    assert_eq!(found, sorted);
    let fits = "a,b,c,d,k,y\n0,1,1,0,u,no\n1,0,0,1,v,yes\n0,0,0,0,w,yes\n";
    assert_eq!(told(Format::Csv, stated, fits), [""; 0]);
    let number = "target = 'y'\ntask = 'regress'\ntarget_bounds = [0, 1]\nbounds = { x = [0, 1] }";
    let outside = told(Format::Csv, number, "x,y\n0,5\n1,-5\n");
    assert_eq!(
        outside,
        ["every target lies outside its bounds, clipped to them"]
    );
    let some = told(Format::Csv, number, "x,y\n0,5\n1,0.5\n1,-1\n");
    let expected = "targets outside their bounds: 2, clipped to them";
    assert!(some[0].starts_with(expected) && some.len() == 1, "{some:?}");
    assert_eq!(
        told(Format::Vw, "norm = 1", "1 | a\n1 | b\n"),
        ["all targets are alike"]
    );
}
