//! Parts of a page for notebooks, with a style that touches nothing around them.

use crate::chart::escape;
use crate::shapes::{Shapes, signed};
use crate::{explain, page};
use std::fmt::Write;

/// A guarantee: its sentences and facts beside them; a banner if the noise came from a seed.
#[must_use]
pub fn card(words: &str, is_simulated: bool, facts: &[(String, String)]) -> String {
    let mut part = page::part();
    tell_promise(&mut part, words, is_simulated);
    rows(&mut part, facts);
    part + "</div>"
}

/// A table with a headline.
#[must_use]
pub fn table(
    title: &str,
    head: &[String],
    body: &[Vec<String>],
    facts: &[(String, String)],
) -> String {
    let mut part = page::part();
    let _ = write!(part, "<p><b>{}</b></p>", escape(title));
    rows(&mut part, facts);
    if !body.is_empty() {
        part.push_str("<div class=\"scroll\"><table><tr>");
        head.iter().for_each(|name| cell(&mut part, "th", name));
        for row in body {
            part.push_str("</tr><tr>");
            row.iter().for_each(|value| cell(&mut part, "td", value));
        }
        part.push_str("</tr></table></div>");
    }
    part + "</div>"
}

/// A model: what is promised, and what it says: curves, or its largest weights.
#[must_use]
pub fn model(
    words: &str,
    is_simulated: bool,
    headline: &str,
    shapes: Option<&Shapes>,
    largest: &[(String, f64)],
) -> String {
    let mut part = page::part();
    let _ = write!(part, "<p><b>{}</b></p>", escape(headline));
    tell_promise(&mut part, words, is_simulated);
    match shapes {
        Some(shapes) => part.push_str(&explain::body(shapes)),
        None => {
            let weights = largest
                .iter()
                .map(|(name, weight)| (name.clone(), signed(*weight)));
            rows(&mut part, &weights.collect::<Vec<_>>());
        }
    }
    part + "</div>"
}

fn tell_promise(part: &mut String, words: &str, is_simulated: bool) {
    if is_simulated {
        page::simulated(part);
    }
    page::guarantee(part, words);
}

fn rows(part: &mut String, facts: &[(String, String)]) {
    if facts.is_empty() {
        return;
    }
    part.push_str("<table class=\"rows\">");
    for (name, value) in facts {
        part.push_str("<tr>");
        cell(part, "td", name);
        cell(part, "td", value);
        part.push_str("</tr>");
    }
    part.push_str("</table>");
}

fn cell(part: &mut String, tag: &str, text: &str) {
    let _ = write!(part, "<{tag}>{}</{tag}>", escape(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_escaped_closed_and_keep_their_style_to_themselves() {
        let facts = [("left".to_owned(), "<b>".to_owned())];
        let part = card("One & all.\n(small print)", true, &facts);
        assert!(part.contains("SIMULATED") && part.contains("One &amp; all."));
        assert!(part.contains("&lt;b&gt;") && !card("x", false, &[]).contains("SIMULATED"));
        for part in [part, table("t", &["a".into()], &[vec!["1".into()]], &[])] {
            assert!(part.starts_with("<div class=\"hushstream\"><style>.hushstream{"));
            assert_eq!(part.matches("<div").count(), part.matches("</div>").count());
            assert!(!part.contains(":root") && !part.contains("}body{"));
        }
    }
}
