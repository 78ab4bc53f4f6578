//! Standard output of the commands that write no files. A closed pipe (`head`) is not an error.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write, stdout};
use std::process;

/// Prints a line as `println!` does, but ends the program when the pipe is closed. Not for commands
/// that write files.
macro_rules! tell {
    ($($text:tt)*) => {
        $crate::output::line(format_args!($($text)*))
    };
}

pub(crate) use tell;

pub(crate) fn line(text: Arguments<'_>) {
    if let Err(error) = writeln!(stdout(), "{text}") {
        if error.kind() == ErrorKind::BrokenPipe {
            process::exit(0);
        }
        eprintln!("hushstream: cannot write the output: {error}");
        process::exit(2);
    }
}
