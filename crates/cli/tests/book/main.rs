//! The book: its pages link to what exists, its commands run and print what it shows, and its
//! reference and pictures are those that the code makes.
//!
//! `HUSHSTREAM_WRITE=1 cargo test -p hushstream-cli --test book` writes reference and pictures
//! anew.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod commands;
mod keys;
mod links;
mod pictures;
mod product;
mod reference;

use std::path::{Path, PathBuf};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the repository.
fn text(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// All pages, as paths below `docs`, sorted.
fn pages() -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join("docs").join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}{}", entry.file_name().into_string().unwrap());
            if entry.file_type().unwrap().is_dir() {
                folders.push(format!("{name}/"));
            } else if name.ends_with(".md") && name != "SUMMARY.md" {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

/// The blocks of a page in a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    let parts = page.split(&begin[..]).skip(1);
    parts
        .map(|part| part.split("\n```").next().unwrap())
        .collect()
}

/// Compares a file of the book with what the code makes of it today, or writes it.
fn is_up_to_date(name: &str, now: &str) {
    let path = root().join("docs").join(name);
    if std::env::var_os("HUSHSTREAM_WRITE").is_some() {
        std::fs::write(&path, now).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == now,
        "docs/{name} differs from the code: run this test with HUSHSTREAM_WRITE=1 and commit it"
    );
}

/// Standard output of the program, as wide as where there is no terminal.
fn told(arguments: &[&str]) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_hushstream"))
        .args(arguments)
        .env_remove("COLUMNS")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
