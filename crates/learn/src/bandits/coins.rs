//! A learner's own randomness, supplied from outside so that a replay repeats it.

/// Fair bits at one address, as numbers. Plays are post-processing whatever the coins are; floats do for them.
pub struct Coins<'a> {
    next: &'a mut dyn FnMut() -> u64,
}

impl<'a> Coins<'a> {
    /// Coins that read 64 fair bits at a time.
    pub fn new(next: &'a mut dyn FnMut() -> u64) -> Self {
        Self { next }
    }

    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next)() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform on 0 … bound − 1, up to one part in 2⁵³.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.uniform() * bound as f64) as usize).min(bound.saturating_sub(1))
    }

    /// ±1.
    pub fn sign(&mut self) -> f64 {
        if (self.next)() & 1 == 1 { 1.0 } else { -1.0 }
    }

    /// Standard normal (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// An index with these probabilities.
    pub fn choose(&mut self, probabilities: &[f64]) -> usize {
        let mut place = self.uniform() * probabilities.iter().sum::<f64>();
        for (index, probability) in probabilities.iter().enumerate() {
            if place < *probability {
                return index;
            }
            place -= probability;
        }
        // Rounding at the very end: the last one that is possible.
        let possible = probabilities.iter().rposition(|p| *p > 0.0);
        possible.unwrap_or(0)
    }
}
