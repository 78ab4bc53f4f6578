//! Standard output of the commands that only tell: whoever reads no further, as `head` does, has enough, and that is no error.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write, stdout};
use std::process;

/// Prints a line, as `println!` does but for a pipe that is closed: the program then ends. Not for commands that keep something on disk.
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
