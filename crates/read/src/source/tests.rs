//! Records do not depend on how bytes arrive, and faults name their place.

use super::*;

/// Gives a few bytes at a time, as a slow pipe does.
struct Trickle(Vec<u8>, usize);

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.1.min(self.0.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0.drain(..count);
        Ok(count)
    }
}

fn unpacked(bytes: Trickle) -> Unpacked {
    let input = crate::Input::from_reader("t", bytes).unwrap();
    input.unpack(true).unwrap()
}

fn source(text: &str, ends: Ends, step: usize) -> Source {
    let bytes = Trickle(text.as_bytes().to_vec(), step);
    Source::new(unpacked(bytes), ends).unwrap()
}

/// Every record: its line, its text, and where and why it is broken.
type Record = (u64, String, Option<(usize, Fault)>);

fn all(source: &mut Source) -> Result<Vec<Record>, ReadError> {
    let mut rows = Vec::new();
    while let Some(span) = source.next()? {
        let text = String::from_utf8_lossy(source.bytes(&span)).into_owned();
        let line = source.error(&span, Failure::new(0, Fault::Nul)).place.line;
        rows.push((line.unwrap(), text, span.broken));
    }
    Ok(rows)
}

const TABLE: Ends = Ends::Table { separator: b',' };
const MULTILINE: Ends = Ends::Multiline { separator: b',' };

#[test]
fn records_do_not_depend_on_how_bytes_arrive() {
    let text = "\u{feff}a,b\r\n\n1,\"x\ny\"\"\"\r\n\"\",2\n3,4";
    for step in 1..=text.len() {
        let rows = all(&mut source(text, TABLE, step)).unwrap();
        let expected = [
            (1, "a,b", None),
            (2, "", Some((0, Fault::Blank))),
            (3, "1,\"x", Some((2, Fault::OpenQuote))),
            (4, "y\"\"\"", Some((1, Fault::StrayQuote))),
            (5, "\"\",2", None),
            (6, "3,4", None),
        ];
        assert_eq!(
            rows,
            expected.map(|(n, t, b)| (n, t.to_owned(), b)),
            "{step}"
        );
        let rows = all(&mut source(text, MULTILINE, step)).unwrap();
        let expected = [
            (1, "a,b", None),
            (2, "", Some((0, Fault::Blank))),
            (3, "1,\"x\ny\"\"\"", None),
            (5, "\"\",2", None),
            (6, "3,4", None),
        ];
        assert_eq!(
            rows,
            expected.map(|(n, t, b)| (n, t.to_owned(), b)),
            "{step}"
        );
    }
}

/// The broken records of a table.
fn broken(text: &[u8], ends: Ends, step: usize) -> Vec<(u64, usize, Fault)> {
    let bytes = Trickle(text.to_vec(), step);
    let mut source = Source::new(unpacked(bytes), ends).unwrap();
    let rows = all(&mut source).unwrap().into_iter();
    rows.filter_map(|(line, _, broken)| broken.map(|(at, why)| (line, at, why)))
        .collect()
}

#[test]
fn faults_name_line_and_byte() {
    let text = b"a\n\"b\nc\nb,c\"d\"\nb\0\n\"x\"\r\r\n";
    for step in 1..=text.len() {
        let expected = [
            (2, 0, Fault::OpenQuote),
            (4, 3, Fault::StrayQuote),
            (5, 1, Fault::Nul),
            (6, 3, Fault::StrayQuote),
        ];
        assert_eq!(broken(text, TABLE, step), expected, "{step}");
    }
    // Where quotes hide line breaks, the end of such a record cannot be told.
    for (text, line, byte, fault) in [
        ("a\n\"b\nc", 2, 1, Fault::OpenQuote),
        ("a\n\"b\nc\"d\n", 3, 3, Fault::StrayQuote),
        ("a\nb,c\"d\"", 2, 4, Fault::StrayQuote),
    ] {
        for step in 1..=text.len() {
            let error = all(&mut source(text, MULTILINE, step)).unwrap_err();
            assert_eq!(error.fault, fault);
            assert_eq!(error.place.line, Some(line), "{text}");
            assert_eq!(error.place.column, Some(Column::Byte(byte)), "{text}");
        }
    }
    // No record hides a fault of another.
    let text = [
        &b"a\n\xc3\xa9\n"[..],
        &[b'b'; 300],
        b"\n\xc3\xa9c\n",
        b"dd\xff\nplain\n\xff",
    ]
    .concat();
    for step in (1..=text.len()).filter(|step| step % 7 == 1 || *step < 20) {
        let expected = [(5, 2, Fault::NotUtf8), (7, 0, Fault::NotUtf8)];
        assert_eq!(broken(&text, Ends::Line, step), expected, "{step}");
    }
}

#[test]
fn a_line_beyond_the_limit_is_one_record_that_is_not_held() {
    let longest = "x".repeat(LONGEST);
    for ends in [Ends::Line, TABLE] {
        let text = format!("{longest}\ny");
        let rows = all(&mut source(&text, ends, 1 << 22)).unwrap();
        assert_eq!(rows.iter().filter(|row| row.2.is_none()).count(), 2);
        for end in ["\r\ny\n", "\"\ny"] {
            // A quote behind the limit hides nothing, and twice the limit is passed over.
            let text = format!("\"\"\n{longest}{longest}{end}");
            let mut long = source(&text, ends, 1 << 22);
            let rows = all(&mut long).unwrap();
            let short: Vec<_> = rows
                .iter()
                .map(|(n, t, b)| (*n, t.len(), b.clone()))
                .collect();
            assert_eq!(
                short,
                [
                    (1, 2, None),
                    (2, 0, Some((0, Fault::LineTooLong))),
                    (3, 1, None)
                ]
            );
            assert!(long.window.len() <= 3 * LONGEST, "{}", long.window.len());
            let mut shuffled = source(&text, ends, 1 << 22);
            shuffled.shuffle(1).unwrap();
            let mut rows = all(&mut shuffled).unwrap();
            rows.sort_unstable_by_key(|row| row.0);
            let again: Vec<_> = rows
                .iter()
                .map(|(n, t, b)| (*n, t.len(), b.clone()))
                .collect();
            assert_eq!(again, short);
        }
    }
    let error = all(&mut source(
        &format!("y\n{longest}x\ny"),
        MULTILINE,
        1 << 22,
    ))
    .unwrap_err();
    assert_eq!(
        (error.fault, error.place.line),
        (Fault::LineTooLong, Some(2))
    );
}

#[test]
fn a_shuffle_keeps_every_record_and_its_line() {
    let text: String = (1..=50)
        .map(|n| {
            if n % 7 == 0 {
                "\n".to_owned()
            } else {
                format!("{n}\n")
            }
        })
        .collect();
    let mut shuffled = source(&format!("header\n{text}"), TABLE, 13);
    let header = shuffled.next().unwrap().unwrap();
    assert_eq!(shuffled.bytes(&header), b"header");
    shuffled.shuffle(5).unwrap();
    let mut rows = all(&mut shuffled).unwrap();
    assert!(!rows.is_sorted_by_key(|row| row.0));
    rows.sort_unstable_by_key(|row| row.0);
    assert_eq!(rows.len(), 50);
    for (n, (line, row, broken)) in (1..).zip(rows) {
        let expected = if n % 7 == 0 {
            String::new()
        } else {
            n.to_string()
        };
        assert_eq!((line, row), (n + 1, expected));
        assert_eq!(broken.is_some(), n % 7 == 0);
    }
}
