//! Every page is in the table of contents, and every link of the documents leads somewhere.

use crate::{pages, root, text};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

#[test]
fn the_table_of_contents_has_every_page_once() {
    let summary = text("docs/SUMMARY.md");
    let listed: Vec<String> = targets(&summary);
    let mut sorted = listed.clone();
    sorted.sort();
    assert_eq!(sorted, pages());
}

#[test]
fn every_link_leads_somewhere() {
    let mut sources: Vec<String> = pages().iter().map(|page| format!("docs/{page}")).collect();
    let others = [
        "README.md",
        "DESIGN.md",
        "CHANGELOG.md",
        "COMPARE.md",
        "CONTRIBUTING.md",
        "ERRATA.md",
        "SECURITY.md",
        "BENCHMARKS.md",
        "crates/server/API.md",
        "python/README.md",
    ];
    sources.extend(others.map(str::to_owned));
    let mut headings: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    let mut links = 0;
    for source in sources {
        for target in targets(&text(&source)) {
            let (file, place) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() {
                PathBuf::from(&source)
            } else {
                plain(&Path::new(&source).parent().unwrap().join(file))
            };
            assert!(root().join(&path).exists(), "{source}: {target}");
            if !place.is_empty() {
                let found = headings
                    .entry(path.clone())
                    .or_insert_with(|| anchors(&text(path.to_str().unwrap())));
                assert!(found.contains(place), "{source}: {target} among {found:?}");
            }
            links += 1;
        }
    }
    assert!(links > 120, "{links}");
}

/// What the links and pictures of a page lead to, but for other sites. Code is passed over.
fn targets(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    let mut plain = String::new();
    for line in page.lines() {
        if line.starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            // Every second part stands between backticks; a link's own words may too.
            plain.extend(line.split('`').step_by(2));
            plain.push(' ');
        }
    }
    for part in plain.split("](").skip(1) {
        let target = part.split(')').next().unwrap();
        let is_path = !target.contains(':') && !target.contains(' ') && !target.is_empty();
        if is_path {
            found.push(target.to_owned());
        }
    }
    found
}

/// The anchors of a page's headings, as mdBook and GitHub make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut found = BTreeSet::new();
    for line in page.lines() {
        is_code ^= line.starts_with("```");
        if !is_code && line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = |sign: &char| sign.is_alphanumeric() || " -_".contains(*sign);
            let kept: String = heading.chars().filter(kept).collect();
            found.insert(kept.replace(' ', "-"));
        }
    }
    found
}

/// The path without steps up.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}
