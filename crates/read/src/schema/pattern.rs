//! Column names with `*`, and the name that was probably meant.

/// Whether `name` fits `pattern`, in which every `*` stands for any text; the caller splits
/// alternatives at `|`.
pub(crate) fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(head) else {
        return false;
    };
    // Taking the first occurrence of each inner part leaves the most for those that follow.
    let mut parts: Vec<&str> = rest.split('*').collect();
    let tail = parts.pop().unwrap_or("");
    for part in parts {
        match name.find(part) {
            Some(at) => name = &name[at + part.len()..],
            None => return false,
        }
    }
    name.ends_with(tail)
}

/// How closely a statement names a column: its own name before patterns, a longer pattern before a
/// shorter one.
pub(crate) type Closeness = (bool, usize);

/// What the statements say most closely about a column; between equals the first counts.
pub(crate) fn closest<'a, T>(
    statements: impl IntoIterator<Item = (&'a str, T)>,
    name: &str,
) -> Option<(Closeness, T)> {
    let mut best: Option<(Closeness, T)> = None;
    for (pattern, value) in statements {
        if fits(pattern, name) {
            let closeness = (pattern == name, pattern.len());
            if best.as_ref().is_none_or(|(other, _)| closeness > *other) {
                best = Some((closeness, value));
            }
        }
    }
    best
}

/// The name nearest to `wanted`, if it is at most two edits and less than half of it away.
pub(crate) fn nearest<'a>(
    wanted: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    names
        .into_iter()
        .map(|name| (edits(wanted, name), name))
        .filter(|&(edits, _)| edits <= 2 && 2 * edits < wanted.chars().count())
        .min_by_key(|&(edits, _)| edits)
        .map(|(_, name)| name.to_owned())
}

/// Levenshtein distance, letters in either case alike.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_text() {
        for (pattern, name, fit) in [
            ("age", "age", true),
            ("age", "ages", false),
            ("*", "", true),
            ("Soil_Type*", "Soil_Type12", true),
            ("Soil_Type*", "soil_Type12", false),
            ("*_delay", "arr_delay", true),
            ("a*b*c", "a1b2b3c", true),
            ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("**x", "x", true),
        ] {
            assert_eq!(fits(pattern, name), fit, "{pattern} {name}");
        }
    }

    #[test]
    fn the_most_specific_statement_counts() {
        let statements = [("*", 1), ("age*", 2), ("age", 3), ("*e", 4)];
        let best = |name| closest(statements, name).map(|(_, value)| value);
        assert_eq!(
            (best("age"), best("ages"), best("e"), best("x")),
            (Some(3), Some(2), Some(4), Some(1))
        );
    }

    #[test]
    fn slips_of_the_keyboard_are_recognised() {
        let names = ["target", "age", "arr_delay"];
        assert_eq!(nearest("Targett", names), Some("target".into()));
        assert_eq!(nearest("arrdelay", names), Some("arr_delay".into()));
        assert_eq!(nearest("wage", names), Some("age".into()));
        assert_eq!(nearest("xy", names), None);
    }
}
