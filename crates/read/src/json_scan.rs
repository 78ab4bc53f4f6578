//! The grammar of a flat JSON object (RFC 8259), without building anything.

use crate::error::Fault;
use crate::rows::Failure;

/// A value of a member.
pub(crate) enum Value<'a> {
    /// A string without quotes and escapes, a number or a truth value as it is written.
    Text(&'a [u8]),
    Null,
    /// An object or a list; what follows it is not read.
    Nested,
}

/// A place in a line.
pub(crate) struct Scan<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    pub(crate) fn new(line: &'a [u8]) -> Self {
        Self { line, at: 0 }
    }

    /// Calls back for every member with where its value begins.
    pub(crate) fn members(
        mut self,
        mut member: impl FnMut(usize, &[u8], Value<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (mut key_text, mut value_text) = (Vec::new(), Vec::new());
        self.space();
        if self.peek() != Some(b'{') {
            return Err(self.fail(Fault::NotAnObject));
        }
        self.at += 1;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
        } else {
            loop {
                self.space();
                let key = self.string("a key in quotes", &mut key_text)?;
                self.space();
                self.expect(b':', "a colon after the key")?;
                self.space();
                let at = self.at;
                let value = self.value(&mut value_text)?;
                let nested = matches!(value, Value::Nested);
                member(at, key, value)?;
                if nested {
                    return Ok(());
                }
                self.space();
                if self.peek() != Some(b',') {
                    break;
                }
                self.at += 1;
            }
            self.expect(b'}', "a comma or a closing brace")?;
        }
        self.space();
        if self.at < self.line.len() {
            return Err(self.fail(Fault::Json("the end of the line after the object")));
        }
        Ok(())
    }

    fn value<'s>(&mut self, scratch: &'s mut Vec<u8>) -> Result<Value<'s>, Failure>
    where
        'a: 's,
    {
        const EXPECTED: &str = "a string, a number, true, false or null";
        let rest = &self.line[self.at..];
        for word in [&b"true"[..], b"false", b"null"] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(if word == b"null" {
                    Value::Null
                } else {
                    Value::Text(word)
                });
            }
        }
        match self.peek() {
            Some(b'"') => self.string(EXPECTED, scratch).map(Value::Text),
            Some(b'{' | b'[') => Ok(Value::Nested),
            Some(b'-' | b'0'..=b'9') => self.number().map(Value::Text),
            _ => Err(self.fail(Fault::Json(EXPECTED))),
        }
    }

    fn number(&mut self) -> Result<&'a [u8], Failure> {
        let begin = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        let leading_zero = self.peek() == Some(b'0');
        let digits = self.digits()?;
        if leading_zero && digits > 1 {
            return Err(self.fail(Fault::Json("a number without leading zeros")));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(&self.line[begin..self.at])
    }

    fn digits(&mut self) -> Result<usize, Failure> {
        let count = self.line[self.at..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        if count == 0 {
            return Err(self.fail(Fault::Json("a digit")));
        }
        self.at += count;
        Ok(count)
    }

    /// A string: a part of the line, or unescaped into the scratch.
    fn string<'s>(
        &mut self,
        expected: &'static str,
        scratch: &'s mut Vec<u8>,
    ) -> Result<&'s [u8], Failure>
    where
        'a: 's,
    {
        self.expect(b'"', expected)?;
        let begin = self.at;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(&self.line[begin..self.at - 1]);
        }
        scratch.clear();
        scratch.extend_from_slice(&self.line[begin..self.at]);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(scratch);
                }
                Some(b'\\') => {
                    let character = self.escape()?;
                    scratch.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(_) => {
                    return Err(
                        self.fail(Fault::Json("an escape in place of the control character"))
                    );
                }
                None => return Err(self.fail(Fault::Json("a closing quote"))),
            }
            let begin = self.at;
            self.skip_plain();
            scratch.extend_from_slice(&self.line[begin..self.at]);
        }
    }

    fn skip_plain(&mut self) {
        let plain = |byte: &u8| !matches!(byte, b'"' | b'\\' | 0..0x20);
        self.at += self.line[self.at..]
            .iter()
            .take_while(|byte| plain(byte))
            .count();
    }

    fn escape(&mut self) -> Result<char, Failure> {
        let begin = self.at;
        let fail = Failure {
            at: begin,
            field: None,
            fault: Fault::Escape,
        };
        self.at += 2;
        Ok(match self.line.get(begin + 1) {
            Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.hexadecimal();
                let code = match first {
                    Some(high @ 0xd800..0xdc00) if self.line[self.at..].starts_with(b"\\u") => {
                        self.at += 2;
                        self.hexadecimal()
                            .filter(|low| (0xdc00..0xe000).contains(low))
                            .map(|low| 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00))
                    }
                    other => other,
                };
                code.and_then(char::from_u32).ok_or(fail)?
            }
            _ => return Err(fail),
        })
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let digits = self.line.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |code, &digit| {
            Some(code * 16 + char::from(digit).to_digit(16)?)
        })
    }

    fn peek(&self) -> Option<u8> {
        self.line.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Failure> {
        if self.peek() != Some(byte) {
            return Err(self.fail(Fault::Json(expected)));
        }
        self.at += 1;
        Ok(())
    }

    fn fail(&self, fault: Fault) -> Failure {
        Failure {
            at: self.at,
            field: None,
            fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(line: &str) -> Result<Vec<(String, String)>, (usize, Fault)> {
        let mut found = Vec::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let result = Scan::new(line.as_bytes()).members(|_, key, value| {
            let value = match value {
                Value::Text(bytes) => text(bytes),
                Value::Null => "<null>".into(),
                Value::Nested => "<nested>".into(),
            };
            found.push((text(key), value));
            Ok(())
        });
        result
            .map(|()| found)
            .map_err(|failure| (failure.at, failure.fault))
    }

    #[test]
    fn agrees_with_another_parser_on_what_is_a_flat_object() {
        for line in [
            "{}",
            " { } ",
            "{\"a\":1}",
            "{\"a\" : -0.5e+3 ,\"b\":\"x\"}",
            "{\"a\":\"\\u00e4\\ud83d\\ude00\\n\\\"\"}",
            "{\"\\u0061\":null,\"b\":true}",
            "{\"a\":01}",
            "{\"a\":1.}",
            "{\"a\":.5}",
            "{\"a\":+1}",
            "{\"a\":1e}",
            "{\"a\":-}",
            "{\"a\":tru}",
            "{\"a\":NaN}",
            "{\"a\":\"\t\"}",
            "{\"a\":\"\\x\"}",
            "{\"a\":\"\\u12\"}",
            "{\"a\":\"\\ud800\"}",
            "{\"a\":\"\\ud800\\u0041\"}",
            "{\"a\":\"\\udc00\"}",
            "{\"a\":1,}",
            "{,}",
            "{a:1}",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1",
            "{\"a\":1}}",
            "{\"a\":1} x",
            "[1]",
            "1",
            "",
            "{\"a\":\"x}",
            "{\"a\":1 \"b\":2}",
            "{\"a\":0}",
            "{\"a\":-0}",
            "{\"a\":1E5}",
        ] {
            let reference =
                serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(line);
            let own = members(line);
            assert_eq!(own.is_ok(), reference.is_ok(), "{line}");
            for ((key, value), (name, expected)) in own
                .unwrap_or_default()
                .iter()
                .zip(reference.unwrap_or_default())
            {
                assert_eq!(*key, name);
                match expected {
                    serde_json::Value::String(text) => assert_eq!(*value, text),
                    serde_json::Value::Number(number) => {
                        assert_eq!(value.parse::<f64>().ok(), number.as_f64());
                    }
                    serde_json::Value::Bool(truth) => assert_eq!(*value, truth.to_string()),
                    _ => assert_eq!(value, "<null>"),
                }
            }
        }
    }

    #[test]
    fn faults_tell_their_place() {
        assert_eq!(members("[]"), Err((0, Fault::NotAnObject)));
        assert_eq!(members("{\"a\":\"b\\q\"}"), Err((7, Fault::Escape)));
        assert_eq!(
            members("{\"a\" 1}"),
            Err((5, Fault::Json("a colon after the key")))
        );
        assert_eq!(
            members("{\"a\":{\"b\":1}}"),
            Ok(vec![("a".into(), "<nested>".into())])
        );
    }
}
