//! The skeleton of a schema: every column by name, with `???` where a person fills in what is known
//! about it.

use super::SchemaSpec;
use super::pattern::{fits, nearest};
use crate::error::{Fault, ReadError, one_line};
use crate::formats::{Format, first_names};
use crate::source::Input;
use std::fmt::Write;

/// Mark of what is to be filled in.
pub(crate) const BLANK: &str = "???";

impl SchemaSpec {
    /// The skeleton of a schema for this file, by its header alone: TOML to be filled in. What this
    /// schema states already about the table, the target, the person and ignored columns is
    /// written down; other columns are listed under `[bounds]`, each to be moved if it is no
    /// number. For JSON lines the columns are the keys of the first object: a draft.
    ///
    /// ```
    /// use hushstream_read::{Format, Input, SchemaSpec};
    ///
    /// let file = Input::from_reader("flights", "late,hour,air time\n1,6,90\n".as_bytes())?;
    /// let stated = SchemaSpec { target: Some("late".into()), ..SchemaSpec::default() };
    /// let text = stated.skeleton(file, Format::Csv)?;
    /// assert!(text.contains("target = \"late\"") && text.contains("\"air time\" = [???, ???]"));
    /// let filled: SchemaSpec = text.replace("???, ???", "0, 100").parse()?;
    /// assert_eq!(filled.bounds.len(), 2);
    /// # Ok::<(), hushstream_read::ReadError>(())
    /// ```
    ///
    /// # Errors
    /// A file that is empty or has a broken header; a format whose columns have no names; a target
    /// that is no column.
    pub fn skeleton(&self, input: Input, format: Format) -> Result<String, ReadError> {
        if !format.has_columns() {
            return Err(Fault::NothingToDescribe(format).in_file(&input.name().into()));
        }
        let form = self.form(format)?;
        let mut source = form.open(input)?;
        let names = match format.is_table() {
            true => form.names(&mut source, Vec::new)?,
            false => first_names(&mut source, &form)?,
        };
        let own = self.target.iter().chain(&self.person).map(String::as_str);
        let absent = own.clone().find(|name| !names.iter().any(|n| n == name));
        let fault = match absent {
            Some(name) => Fault::NoSuchColumn {
                what: "--target or --person",
                name: name.to_owned(),
                near: nearest(name, names.iter().map(String::as_str)),
            },
            None => Fault::Unstated(Vec::new()),
        };
        let doubted = form.doubted(fault.clone(), &names, own.clone());
        if absent.is_some() || doubted != fault {
            return Err(doubted.in_file(source.name()));
        }
        let is_left = |name: &&String| {
            let is_own = own.clone().any(|own| own == name.as_str());
            !name.is_empty() && !is_own && !self.ignore.iter().any(|pattern| fits(pattern, name))
        };
        let left: Vec<&String> = names.iter().filter(is_left).collect();
        Ok(self.write_skeleton(format, &left))
    }

    fn write_skeleton(&self, format: Format, columns: &[&String]) -> String {
        let mut text = String::from(
            "# What is known about every column without looking at the rows: it becomes public \
             with the model.\n# Fill in every ???.\n",
        );
        if !format.is_table() {
            text.push_str(
                "# The columns are the keys of the first object: add those that only other objects \
                 have.\n",
            );
        }
        if let Some(separator) = &self.separator {
            let _ = writeln!(text, "separator = {}", quoted(separator));
        }
        if !self.names.is_empty() {
            let _ = writeln!(text, "names = {}", list(&self.names));
        } else if self.no_header == Some(true) {
            text.push_str("no_header = true\n");
        }
        if !self.missing.is_empty() {
            let _ = writeln!(text, "missing = {}", list(&self.missing));
        }
        let target = self.target.as_deref().unwrap_or(BLANK);
        let _ = writeln!(
            text,
            "\n# The column to predict; remove its line below.\n\
             target = {}\n\
             # If its values are not 0 and 1, one of these:\n\
             # positive = \"???\"            # the one of two values that counts as positive\n\
             # classes = [\"???\", \"???\"]    # all of several values\n\
             # target_bounds = [???, ???]  # a number: the least and the greatest",
            quoted(target)
        );
        if self.target.is_some() {
            text = text.replace("; remove its line below", "");
        }
        if let Some(person) = &self.person {
            let _ = writeln!(text, "person = {}", quoted(person));
        }
        let _ = writeln!(
            text,
            "\n# Columns that are not used; * stands for any letters.\nignore = {}\n",
            list(&self.ignore)
        );
        text.push_str(&skeleton_of(columns));
        text
    }
}

/// The lines of a schema that describe these columns, to be filled in.
///
/// ```
/// let text = hushstream_read::skeleton_of(&["hour", "air time"]);
/// assert!(text.contains("hour = [???, ???]\n\"air time\" = [???, ???]\n"));
/// ```
#[must_use]
pub fn skeleton_of<S: AsRef<str>>(columns: &[S]) -> String {
    let mut text = String::from(
        "# Numbers: the least and the greatest value that is possible, from what is public, never \
         from the data.\n[bounds]\n",
    );
    for column in columns {
        let _ = writeln!(text, "{} = [???, ???]", key(column.as_ref()));
    }
    text.push_str(
        "\n# Dates, with or without the time of day: remove the line above, and name the column in \
         a line\n# above [bounds]: dates = [\"name\"]\n\
         \n# Texts: move the line of a column here, with all its categories.\n\
         [vocabulary]\n\
         # name = [\"A\", \"B\"]\n\
         \n# Texts of very many values: move the line here, with bits of a hash.\n\
         [hashed]\n\
         # name = 10\n",
    );
    text
}

fn list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

/// A key of TOML: bare if it can be.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_bare) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            _ if letter.is_control() => {
                let _ = write!(out, "\\u{:04X}", u32::from(letter));
            }
            _ => out.push(letter),
        }
    }
    out.push('"');
    out
}

/// Names of columns in a message: all of them, or the first and how many more.
pub(crate) fn listed(names: &[String]) -> String {
    const MOST: usize = 100;
    let shown: Vec<String> = names
        .iter()
        .take(MOST)
        .map(|name| format!("`{}`", one_line(name)))
        .collect();
    match names.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
