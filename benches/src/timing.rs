//! One contestant, measured once: the comparison itself (taking turns, medians, ratios) is made by
//! `compare/`, for us and for other programs alike.

use std::fmt;
use std::time::Instant;

/// Long enough that the clock and the start do not matter, short enough to take many turns.
const SECONDS: f64 = 0.4;

/// What a contestant tells about itself, as one JSON object.
pub(crate) struct Measured {
    seconds: f64,
    units: u64,
    epsilon: Option<f64>,
}

impl Measured {
    /// What was done one time.
    pub(crate) fn once(seconds: f64, units: u64) -> Self {
        Self {
            seconds,
            units,
            epsilon: None,
        }
    }

    /// The same, and the privacy loss that was computed.
    pub(crate) fn with_epsilon(mut self, epsilon: f64) -> Self {
        self.epsilon = Some(epsilon);
        self
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, units, .. } = self;
        write!(f, "{{\"seconds\": {seconds:e}, \"units\": {units}")?;
        if let Some(epsilon) = self.epsilon {
            write!(f, ", \"epsilon\": {epsilon:e}")?;
        }
        write!(f, "}}")
    }
}

/// Does `work`, which answers how many units that was, again and again; the first time warms caches
/// and tables and does not count.
pub(crate) fn measure(mut work: impl FnMut() -> u64) -> Measured {
    work();
    let start = Instant::now();
    let mut units = 0;
    loop {
        units += work();
        let seconds = start.elapsed().as_secs_f64();
        if seconds >= SECONDS {
            return Measured::once(seconds, units);
        }
    }
}
