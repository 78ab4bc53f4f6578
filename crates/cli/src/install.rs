//! `hushstream completions` and `hushstream man`: what a package installs beside the program.

use crate::Program;
use crate::output::tell;
use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use std::path::PathBuf;

/// Arguments of `completions`.
#[derive(Args)]
pub(crate) struct Completions {
    /// bash, zsh, fish, elvish or powershell.
    shell: clap_complete::Shell,
}

/// Arguments of `man`.
#[derive(Args)]
pub(crate) struct Man {
    /// The folder; created if it does not exist.
    folder: PathBuf,
}

/// Prints a completion script.
pub(crate) fn completions(arguments: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Program::command(),
        "hushstream",
        &mut script,
    );
    tell!("{}", String::from_utf8_lossy(&script).trim_end());
    Ok(())
}

/// Writes the manual pages.
pub(crate) fn man(arguments: &Man) -> Result<()> {
    let folder = &arguments.folder;
    let told = || format!("cannot write the manual pages to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(told)?;
    clap_mangen::generate_to(Program::command(), folder).with_context(told)?;
    tell!("{}", folder.join("hushstream.1").display());
    Ok(())
}
