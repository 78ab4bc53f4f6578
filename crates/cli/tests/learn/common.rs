//! The program on a folder of its own, and data that repeats.

use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// What a table of [`rows`] is learned by, without file and budget.
pub(crate) const SCHEMA: &str =
    "--target y --ignore who --bounds a=0:1,b=0:10 --vocabulary c=x|y|z";
pub(crate) const BUDGET: &str = "--epsilon 1 --delta 1e-6";

/// A folder that is the program's current one.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// In memory where the system has such a place: runs sync the disk, and thousands of them would
    /// wait for it.
    pub(crate) fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        Self(folder.unwrap())
    }

    /// With `d.csv` of so many [`rows`].
    pub(crate) fn with_rows(count: u64) -> Self {
        let folder = Self::new();
        folder.write("d.csv", rows(count, 1));
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    /// Names of everything in the folder, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The program with these arguments, separated by spaces.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hushstream"));
        command
            .args(arguments.split_whitespace())
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The program with these bytes on its standard input.
    pub(crate) fn piped(&self, arguments: &str, input: &[u8]) -> Output {
        let mut command = self.command(arguments);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A program that has enough closes the pipe.
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut pipe, &input));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join().unwrap();
        output
    }

    /// Standard output and standard error of a run that must succeed.
    pub(crate) fn succeeds(&self, arguments: &str) -> (String, String) {
        let output = self.run(arguments);
        let told = |bytes| String::from_utf8(bytes).unwrap();
        let (out, error) = (told(output.stdout), told(output.stderr));
        assert!(output.status.success(), "{arguments}\n{error}");
        (out, error)
    }

    pub(crate) fn json(&self, arguments: &str) -> Value {
        let (out, error) = self.succeeds(&format!("{arguments} --json"));
        serde_json::from_str(&out).unwrap_or_else(|_| panic!("{arguments}\n{out}\n{error}"))
    }

    /// The message of a run that must fail: exit code 2, one line for the error, nothing on
    /// standard output.
    pub(crate) fn fails(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}\n{error}");
        assert!(output.stdout.is_empty(), "{arguments}");
        assert!(!error.contains("panicked"), "{error}");
        let last = error.lines().last().unwrap_or_default().to_owned();
        if !error.starts_with("error: ") {
            assert!(last.starts_with("hushstream: "), "{arguments}\n{error}");
            assert_eq!(error.matches("hushstream: ").count(), 1, "{error}");
            return last;
        }
        error
    }

    /// Charges in a ledger, as `inspect` tells.
    pub(crate) fn charges(&self, ledger: &str) -> usize {
        let (out, _) = self.succeeds(&format!("inspect {ledger}"));
        let is_charge = |line: &&str| line.starts_with("  ");
        out.lines().filter(is_charge).count()
    }
}

/// Numbers that repeat: SplitMix64.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// One record of the tables here: a sum of its features above a threshold, with a little noise.
pub(crate) struct Example {
    pub(crate) a: f64,
    pub(crate) b: f64,
    pub(crate) c: char,
    pub(crate) who: u64,
    pub(crate) y: bool,
}

impl Example {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        let round = |value: f64| (value * 1e4).round() / 1e4;
        let (a, b) = (round(dice.share()), round(10.0 * dice.share()));
        let c = ['x', 'y', 'z'][dice.below(3) as usize];
        let score = 2.0 * a + b / 10.0 + if c == 'x' { 0.5 } else { 0.0 };
        Self {
            a,
            b,
            c,
            who: dice.below(1000),
            y: score + 0.2 * (dice.share() - 0.5) > 1.5,
        }
    }

    pub(crate) fn line(&self) -> String {
        let Self { a, b, c, who, y } = self;
        format!("{a},{b},{c},{who},{}\n", u8::from(*y))
    }
}

pub(crate) const HEADER: &str = "a,b,c,who,y\n";

/// A table with a header.
pub(crate) fn rows(count: u64, seed: u64) -> String {
    let mut dice = Dice(seed);
    let mut text = HEADER.to_owned();
    for _ in 0..count {
        let _ = text.write_str(&Example::draw(&mut dice).line());
    }
    text
}
