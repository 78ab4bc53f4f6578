//! The default rate η of a rule, from public numbers.
//!
//! A larger rate learns faster and shows more noise. After T records, weights of length D have cost
//! about D²/(2ηT) + ηL²/2 a record to learn (see `rule.rs`), for gradients of length L. Noise moves
//! a score by about η·σ·R, R the length of features and σ the noise of a coordinate. **A loss with
//! corners** feels that at first order: at most ηLσ, as in the bound. **A smooth loss** does not:
//! errors of both signs cancel up to its curvature c, and ½·c·(ησR)² is left, which is far less
//! while scores move by less than one. So the rate is the one with the least
//!
//! D²/(2ηT) + ηL²/2 + ηLσ,   or   D²/(2ηT) + ηL²/2 + ¼·c·(ησR)²
//!
//! (a round has half of the worst round's nodes, on average). The second is a forecast and not a
//! bound: it takes noise to be independent of the weights it moves, which those of earlier rounds
//! are not quite. On hashed flights and on a power law of 37 in 2²⁰ features, ε from 0.5 to 8, it
//! ranked better than the first in every case (0.60 against 0.57 and 0.71 against 0.65 of pairs at
//! ε = 1), and no rate twice or half as large by more than 0.02.

/// The quantities that the rate balances.
#[derive(Debug, Clone, Copy)]
pub struct Balance {
    /// D: the expected length of the weights.
    pub length: f64,
    /// L.
    pub lipschitz: f64,
    /// T.
    pub rounds: u64,
    /// σ of the worst round.
    pub noise: f64,
    /// c·R², where the loss is smooth.
    pub smoothness: Option<f64>,
}

impl Balance {
    /// η.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let slow = self.length * self.length / (2.0 * self.rounds as f64);
        let steps = self.lipschitz * self.lipschitz / 2.0;
        let Some(smoothness) = self.smoothness else {
            return (slow / (steps + self.lipschitz * self.noise)).sqrt();
        };
        // The least of slow/η + steps·η + bend·η² is where 2·bend·η³ + steps·η² = slow. From above,
        // Newton's steps fall towards it.
        let bend = smoothness * self.noise * self.noise / 4.0;
        let mut rate = (slow / steps).sqrt();
        for _ in 0..200 {
            let excess = (2.0 * bend * rate + steps) * rate * rate - slow;
            let next = rate - excess / ((6.0 * bend * rate + 2.0 * steps) * rate);
            if next >= rate {
                break;
            }
            rate = next;
        }
        rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENE: Balance = Balance {
        length: 2.0,
        lipschitz: 1.0,
        rounds: 100,
        noise: 0.0,
        smoothness: None,
    };

    #[test]
    fn without_noise_both_are_the_textbooks_rate() {
        assert!((SCENE.rate() - 0.2).abs() < 1e-15);
        let smooth = Balance {
            smoothness: Some(0.25),
            ..SCENE
        };
        assert!((smooth.rate() - 0.2).abs() < 1e-15);
    }

    #[test]
    fn no_other_rate_costs_less() {
        for noise in [1e-3, 1.0, 30.0, 1e4, 1e8] {
            for (length, rounds) in [(0.5, 2), (3.0, 300_000)] {
                for smoothness in [None, Some(0.25), Some(50.0)] {
                    let scene = Balance {
                        length,
                        rounds,
                        noise,
                        smoothness,
                        ..SCENE
                    };
                    let cost = |rate: f64| {
                        let moved = match smoothness {
                            None => rate * noise,
                            Some(smoothness) => 0.25 * smoothness * (rate * noise).powi(2),
                        };
                        length * length / (2.0 * rate * rounds as f64) + rate / 2.0 + moved
                    };
                    let rate = scene.rate();
                    for other in [0.5, 0.9, 0.999, 1.001, 1.1, 2.0] {
                        assert!(cost(rate) < cost(other * rate), "{scene:?} {other}");
                    }
                }
            }
        }
    }
}
