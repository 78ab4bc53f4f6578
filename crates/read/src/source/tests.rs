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

fn source(text: &str, ends: Ends, step: usize) -> Source {
    let bytes = Trickle(text.as_bytes().to_vec(), step);
    Source::new(Input::from_reader("t", bytes).unwrap(), ends).unwrap()
}

fn all(source: &mut Source) -> Result<Vec<(u64, String)>, ReadError> {
    let mut rows = Vec::new();
    while let Some(span) = source.next()? {
        let text = String::from_utf8(source.bytes(&span).to_vec()).unwrap();
        let line = source.error(&span, 0, None, Fault::Nul).place.line;
        rows.push((line.unwrap(), text));
    }
    Ok(rows)
}

const QUOTED: Ends = Ends::Quoted { delimiter: b',' };

#[test]
fn records_do_not_depend_on_how_bytes_arrive() {
    let text = "\u{feff}a,b\r\n\n1,\"x\ny\"\"\"\r\n\"\",2\n3,4";
    for step in 1..=text.len() {
        let rows = all(&mut source(text, QUOTED, step)).unwrap();
        let expected = [(1, "a,b"), (3, "1,\"x\ny\"\"\""), (5, "\"\",2"), (6, "3,4")];
        assert_eq!(rows, expected.map(|(n, t)| (n, t.to_owned())), "{step}");
    }
}

#[test]
fn faults_name_line_and_byte() {
    for (text, line, byte, fault) in [
        ("a\n\"b\nc", 2, 1, Fault::OpenQuote),
        ("a\n\"b\nc\"d\n", 3, 3, Fault::StrayQuote),
        ("a\nb,c\"d\"", 2, 4, Fault::StrayQuote),
        ("a\nb\0", 2, 2, Fault::Nul),
    ] {
        for step in 1..=text.len() {
            let error = all(&mut source(text, QUOTED, step)).unwrap_err();
            assert_eq!(error.fault, fault);
            assert_eq!(error.place.line, Some(line), "{text}");
            assert_eq!(error.place.column, Some(Column::Byte(byte)), "{text}");
        }
    }
    // What is plain is looked at in large pieces, what is not record by record: neither hides a fault behind the other.
    let text = [
        &b"a\n\xc3\xa9\n"[..],
        &[b'b'; 300],
        b"\n\xc3\xa9c\n",
        b"dd\xff\n",
    ]
    .concat();
    for step in (1..=text.len()).filter(|step| step % 7 == 1 || *step < 20) {
        let bytes = Trickle(text.clone(), step);
        let mut source = Source::new(Input::from_reader("t", bytes).unwrap(), Ends::Line).unwrap();
        let error = all(&mut source).unwrap_err();
        assert_eq!(error.fault, Fault::NotUtf8);
        assert_eq!(
            (error.place.line, error.place.column),
            (Some(5), Some(Column::Byte(3)))
        );
    }
    let bytes = Trickle(b"ok\n\xff".to_vec(), 2);
    let mut source = Source::new(Input::from_reader("t", bytes).unwrap(), Ends::Line).unwrap();
    assert_eq!(
        all(&mut source).unwrap_err().to_string(),
        "t, line 2, column 1: not UTF-8; convert the file to UTF-8"
    );
}

#[test]
fn a_line_beyond_the_limit_is_refused_and_one_at_the_limit_is_not() {
    let longest = "x".repeat(LONGEST);
    for ends in [Ends::Line, QUOTED] {
        assert_eq!(
            all(&mut source(&format!("{longest}\ny"), ends, 1 << 22))
                .unwrap()
                .len(),
            2
        );
        let error = all(&mut source(&format!("y\n{longest}x\ny"), ends, 1 << 22)).unwrap_err();
        assert_eq!(
            (error.fault, error.place.line),
            (Fault::LineTooLong, Some(2))
        );
    }
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
    let mut shuffled = source(&format!("header\n{text}"), QUOTED, 13);
    let header = shuffled.next().unwrap().unwrap();
    assert_eq!(shuffled.bytes(&header), b"header");
    shuffled.shuffle(5).unwrap();
    let mut rows = all(&mut shuffled).unwrap();
    assert!(
        rows.iter()
            .all(|(line, row)| row.parse::<u64>().unwrap() + 1 == *line)
    );
    assert!(!rows.is_sorted());
    rows.sort_unstable();
    assert_eq!(rows.len(), 43);
    rows.dedup();
    assert_eq!(rows.len(), 43);
}
