//! Sets of weights in files: graphs, matroids and polytopes, a few lines each.
//!
//! | first line | then, one a line |
//! |---|---|
//! | `paths NODES FROM TO` | edges `a b`, nodes from 0: flows of one unit, a coordinate per edge |
//! | `spanning-trees NODES` | edges `a b`: spanning trees, a coordinate per edge |
//! | `choose D K` | nothing: K of D |
//! | `vertices` | the coordinates of a point |
//! | `halfspaces` | coefficients and bound of an inequality, `⟨a, x⟩ ≤ b` |
//!
//! Blank lines and lines that begin with `#` count for nothing. A set is public.

use anyhow::{Context, Result, anyhow, bail};
use hushstream_sets::{
    ConvexSet, FlowPolytope, GraphicMatroid, HalfspacePolytope, UniformMatroid, VertexPolytope,
};
use std::sync::Arc;

/// The set that a file describes.
pub(crate) fn read(path: &str) -> Result<Arc<dyn ConvexSet>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    parse(&text).with_context(|| path.to_owned())
}

fn parse(text: &str) -> Result<Arc<dyn ConvexSet>> {
    let numbered = text.lines().enumerate();
    let mut lines = numbered
        .map(|(index, line)| (index + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (number, head) = lines.next().ok_or_else(|| anyhow!("the file is empty"))?;
    let mut words = head.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let sizes: Vec<usize> = whole(number, words)?;
    Ok(match (kind, &sizes[..]) {
        ("paths", &[nodes, from, to]) => {
            Arc::new(FlowPolytope::new(nodes, &edges(lines)?, from, to)?)
        }
        ("spanning-trees", &[nodes]) => Arc::new(GraphicMatroid::new(nodes, &edges(lines)?)?),
        ("choose", &[of, chosen]) => Arc::new(UniformMatroid::new(of, chosen)?),
        ("vertices", []) => Arc::new(VertexPolytope::new(&points(lines)?)?),
        ("halfspaces", []) => {
            let (mut rows, mut offsets) = (points(lines)?, Vec::new());
            for row in &mut rows {
                offsets.push(row.pop().unwrap_or(0.0));
            }
            Arc::new(HalfspacePolytope::new(&rows, &offsets)?)
        }
        _ => bail!(
            "line {number} begins no set; allowed: `paths NODES FROM TO`, `spanning-trees NODES`, \
             `choose D K`, `vertices`, `halfspaces`"
        ),
    })
}

fn whole<'a>(number: usize, words: impl Iterator<Item = &'a str>) -> Result<Vec<usize>> {
    let parsed = words.map(|word| word.parse().ok()).collect::<Option<_>>();
    parsed.ok_or_else(|| anyhow!("line {number} must have whole numbers"))
}

fn edges<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<Vec<(usize, usize)>> {
    lines
        .map(
            |(number, line)| match whole(number, line.split_whitespace())?[..] {
                [from, to] => Ok((from, to)),
                _ => bail!("line {number} must have two numbers, the ends of an edge"),
            },
        )
        .collect()
}

fn points<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<Vec<Vec<f64>>> {
    lines
        .map(|(number, line)| {
            let words = line.split_whitespace().map(|word| word.parse::<f64>().ok());
            let finite = words.map(|value| value.filter(|value| value.is_finite()));
            let parsed = finite.collect::<Option<Vec<f64>>>();
            parsed.ok_or_else(|| anyhow!("line {number} must have finite numbers"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_and_bad_lines_are_named() {
        for (text, name, dimension) in [
            ("paths 3 0 2\n0 1\n1 2\n0 2\n", "flow polytope", 3),
            (
                "# trees\n\nspanning-trees 3\n0 1\n1 2\n0 2",
                "graphic matroid",
                3,
            ),
            ("choose 5 2", "uniform matroid", 5),
            ("vertices\n0 0\n1 0\n0 1", "polytope", 2),
            ("halfspaces\n-1 0 0\n0 -1 0\n1 1 1", "polytope", 2),
        ] {
            let set = parse(text).unwrap();
            assert_eq!(set.dimension(), dimension, "{text}");
            assert!(set.name().contains(name), "{text}: {}", set.name());
        }
        for (text, words) in [
            ("", "empty"),
            ("circle 3", "line 1 begins no set"),
            ("paths 3 0\n", "line 1"),
            ("paths 3 0 x\n", "whole numbers"),
            ("#\npaths 3 0 2\n0 1 2\n", "line 3"),
            ("paths 3 0 2\n0 1\n1 9", ""),
            ("vertices\n0 nan", "line 2 must have finite numbers"),
            ("halfspaces\n1 0 1", ""),
        ] {
            let error = format!("{:#}", parse(text).unwrap_err());
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
