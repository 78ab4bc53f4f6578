//! What bytes that nobody trusts may do, and what must hold of them, whatever they are.
//!
//! Every format has one function that takes bytes and says whether they were accepted, or what is
//! wrong. Two fuzzers call it: one of this workspace, which mutates from a seed (`make fuzz`), and
//! libFuzzer, which is led by coverage (`make fuzz-coverage`). What libFuzzer found worth keeping
//! is in `corpus/` and is tried by the tests.

mod cases;
mod disk;
mod http;
mod input;
mod ledger;
mod model;
pub mod mutate;
pub mod pack;
mod readers;
mod schema;
mod state;
mod sums;

use mutate::{Generator, damage};
use std::panic::RefUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fmt, fs, io};

/// Something broken, for the code that reads it.
///
/// ```
/// for number in 0..3 {
///     let broken = hushstream_fuzz::draw(1, number);
///     assert!(broken.check().is_ok(), "{broken}");
/// }
/// ```
pub trait Broken: fmt::Display + RefUnwindSafe {
    /// Whether it is taken as it is; what must hold and does not is told.
    ///
    /// # Errors
    /// What does not hold.
    fn check(&self) -> Result<bool, String>;
}

/// A kind of bytes.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    check: fn(&[u8]) -> Result<bool, String>,
    seeds: fn() -> Vec<Vec<u8>>,
}

/// All kinds, by how much of what is not trusted they read.
pub const TARGETS: [Target; 8] = [
    Target {
        name: "readers",
        check: readers::check_bytes,
        seeds: cases::seeds,
    },
    Target {
        name: "parquet",
        check: readers::check_parquet,
        seeds: Vec::new,
    },
    Target {
        name: "schema",
        check: schema::check,
        seeds: schema::seeds,
    },
    Target {
        name: "model",
        check: model::check,
        seeds: model::seeds,
    },
    Target {
        name: "ledger",
        check: ledger::check,
        seeds: ledger::seeds,
    },
    Target {
        name: "state",
        check: state::check,
        seeds: state::seeds,
    },
    Target {
        name: "sums",
        check: sums::check_bytes,
        seeds: sums::seeds,
    },
    Target {
        name: "http",
        check: http::check,
        seeds: http::seeds,
    },
];

/// An input of a target, damaged.
struct Damaged {
    target: Target,
    bytes: Vec<u8>,
}

impl fmt::Display for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.target.name, self.bytes.escape_ascii())
    }
}

impl Broken for Damaged {
    fn check(&self) -> Result<bool, String> {
        self.target.check(&self.bytes)
    }
}

/// The inputs of every target to damage.
static INPUTS: LazyLock<Vec<(Target, Vec<Vec<u8>>)>> = LazyLock::new(|| {
    let inputs = |target: Target| {
        let mut all = target.kept().unwrap_or_default();
        all.extend(target.seeds());
        (target, all)
    };
    TARGETS.into_iter().map(inputs).collect()
});

/// The case of this number: one of eight is a question or a partial sum, and one an input of any
/// target; the others are files for the readers.
#[must_use]
pub fn draw(seed: u64, number: u64) -> Box<dyn Broken> {
    match number % 8 {
        7 => Box::new(sums::draw(seed, number)),
        6 => {
            let mut generator = Generator(seed ^ number.wrapping_mul(0x8cb9_2ba7_2f3d_8dd7));
            let (target, inputs) = generator.pick(&INPUTS);
            let empty = Vec::new();
            let input = (!inputs.is_empty()).then(|| generator.pick(inputs));
            let mut bytes = input.unwrap_or(&empty).clone();
            damage(&mut bytes, &mut generator);
            Box::new(Damaged {
                target: *target,
                bytes,
            })
        }
        _ => Box::new(cases::draw(seed, number)),
    }
}

/// The target of this name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

impl Target {
    /// Whether the bytes are taken; what must hold and does not is told.
    ///
    /// # Errors
    /// What does not hold.
    pub fn check(&self, bytes: &[u8]) -> Result<bool, String> {
        (self.check)(bytes)
    }

    /// The file of the inputs that are kept.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
        folder.join(format!("{}.pack", self.name))
    }

    /// The inputs that are kept: together they reach all code that any input was seen to reach.
    ///
    /// # Errors
    /// A file that is damaged.
    pub fn kept(&self) -> io::Result<Vec<Vec<u8>>> {
        match fs::read(self.path()) {
            Ok(packed) => pack::unpack(&packed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// Inputs to begin with.
    #[must_use]
    pub fn seeds(&self) -> Vec<Vec<u8>> {
        (self.seeds)()
    }
}
