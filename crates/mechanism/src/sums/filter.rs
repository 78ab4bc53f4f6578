//! A BLT sum in progress: integer rows and integer noise, decoded in floats afterwards.
//!
//! **Claim.** Gaussian differential privacy with μ = (κ·sens·R + inflation)/2³⁰.
//!
//! **Proof for this code path.** Row t is an integer vector in units of 2⁻ᵍ lattice units
//! (`blt/fixed.rs`); two neighbouring runs differ, over all rows together, by at most (κ·sens·R +
//! inflation)·2ᵍ in length, whatever the stream answers (`blt/dyadic.rs`). To it is added
//! ⌊2³⁰⁺ᵍ·N(0,1)⌋, or ⌊2³⁰·N(0,1) + ½⌋ to rows from doubles, for which g = 0. Since the row is an
//! integer, row + ⌊z⌋ = ⌊row + z⌋: post-processing of Gaussian noise with standard deviation 2³⁰⁺ᵍ.
//! A row depends only on items up to its own, and the bound holds along every path that a stream
//! which reacts to releases can take, so it holds for such streams too (Denisov et al. 2022;
//! because rows are rounded, by the fully adaptive composition of Gaussian mechanisms, Smith and
//! Thakurta 2022). What follows, inverse filter and prefix sum, sees the noisy integers only. ∎

use super::ahead::NoiseAhead;
use super::blt::{BltDecoder, DyadicBlt, FixedBlt, Layout, RoundNoise, Width};
use super::running::{Running, State, StateError};
use hushstream_noise::{FineGaussian, NoiseError, RoundedGaussian, Source};
use std::sync::Arc;

/// The noise of rows.
enum RowNoise {
    /// In units of the lattice.
    Rounded,
    /// With all guard bits; the row is held beside it.
    Fine(FineGaussian, [Vec<i128>; 2]),
}

/// The running mechanism.
pub(crate) struct Filter {
    encoder: FixedBlt,
    decoder: BltDecoder,
    noise: RowNoise,
    source: Arc<Source>,
    ahead: Option<NoiseAhead>,
}

impl Filter {
    pub(crate) fn new(
        blt: &DyadicBlt,
        layout: Layout,
        encoder: FixedBlt,
        dimension: usize,
        unit: f64,
        source: Source,
    ) -> Result<Self, NoiseError> {
        Ok(Self {
            encoder,
            decoder: BltDecoder::new(blt.parameters(), dimension, layout.unit() * unit),
            noise: match layout.width() {
                Width::Double => RowNoise::Rounded,
                Width::Wide => {
                    let room = [vec![0; dimension], vec![0; dimension]];
                    RowNoise::Fine(FineGaussian::new(layout.row_bits())?, room)
                }
            },
            source: Arc::new(source),
            ahead: None,
        })
    }
}

impl Running for Filter {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        // The plan bounds every item, length and number of steps; encoder and decoder check them
        // again. `Layout::check` has left room for the noise.
        const FITS: &str = "the plan's lattice bounds what the encoder takes";
        match &mut self.noise {
            RowNoise::Rounded => {
                let draw = |first: u32, noise: &mut [i64]| {
                    RoundedGaussian::STANDARD.fill(&self.source, t, first, noise);
                };
                let noise = match self.ahead.as_mut().and_then(|ahead| ahead.at(t)) {
                    Some(drawn) => RoundNoise::Drawn(drawn),
                    None => RoundNoise::ToDraw(&draw),
                };
                let done = self.encoder.release(item, noise, &mut self.decoder, out);
                assert!(
                    done.expect(FITS),
                    "rows in units of the lattice are doubles"
                );
            }
            RowNoise::Fine(law, [row, noise]) => {
                self.encoder.encode(item, row).expect(FITS);
                law.fill(&self.source, t, 0, noise);
                let noisy = row
                    .iter()
                    .zip(noise)
                    .map(|(row, noise)| (*row + *noise) as f64);
                let noisy: Vec<f64> = noisy.collect();
                self.decoder.step(&noisy, out).expect(FITS);
            }
        }
    }

    fn last(&mut self, _t: u64, out: &mut [f64]) {
        self.decoder.last(out);
    }

    fn draw_ahead(&mut self, from: u64, last: u64) {
        if let RowNoise::Rounded = &self.noise {
            let (source, mut rows) = (Arc::clone(&self.source), Vec::new());
            // Coordinates come in pairs: one extra may be drawn.
            let dimension = self.decoder.dimension();
            let stride = dimension.next_multiple_of(2);
            let draw = move |first, out: &mut [i64]| {
                rows.clear();
                rows.extend((first..).take(out.len() / stride.max(1)));
                RoundedGaussian::STANDARD.fill_nodes(&source, &rows, out);
            };
            self.ahead = NoiseAhead::start((dimension, stride), from, last, true, draw);
        }
    }

    fn state(&self) -> State {
        State {
            integers: self.encoder.state(),
            floats: self.decoder.state(),
        }
    }

    fn restore(&mut self, t: u64, state: &State) -> Result<(), StateError> {
        let restored = self.encoder.restore(t, &state.integers);
        restored.map_err(|_| StateError)?;
        self.decoder.restore(&state.floats).map_err(|_| StateError)
    }
}

#[cfg(test)]
mod tests {
    use super::super::blt::optimise;
    use super::*;
    use hushstream_noise::{Instance, Key};

    fn source() -> Source {
        Source::open(
            &Key::insecure_from_seed(5),
            Instance::from_bytes([3; 16]),
            7,
        )
    }

    /// The noise of a row, drawn here once more.
    fn noise(layout: Layout, t: u64, dimension: usize) -> Vec<i128> {
        let (mut narrow, mut wide) = (vec![0; dimension], vec![0; dimension]);
        match layout.width() {
            Width::Double => {
                RoundedGaussian::STANDARD.fill(&source(), t, 0, &mut narrow);
                return narrow.into_iter().map(i128::from).collect();
            }
            Width::Wide => {
                let fine = FineGaussian::new(layout.guard_bits()).unwrap();
                fine.fill(&source(), t, 0, &mut wide);
            }
        }
        wide
    }

    /// In every width: what is released is the decoded sum of the row and the whole of its own
    /// noise, to the last bit; drawn ahead or not.
    #[test]
    fn releases_are_decoded_rows_plus_their_noise() {
        let (n, radius) = (600, 1_i64 << 20);
        for (width, guard_bits, buffers) in [
            (Width::Double, 0, 4),
            (Width::Double, 9, 1),
            (Width::Double, 16, 8),
            (Width::Wide, 16, 4),
            (Width::Wide, 30, 3),
        ] {
            let blt = DyadicBlt::new(&optimise(n, buffers).unwrap()).unwrap();
            let layout = Layout::new(width, guard_bits);
            // The last two are long enough for several blocks of noise drawn ahead, and for noise
            // that is drawn in parts.
            for (dimension, is_ahead) in [
                (1, false),
                (4, true),
                (7, true),
                (54, true),
                (301, true),
                (2100, false),
            ] {
                let open = || FixedBlt::open(&blt, layout, n, dimension, radius).unwrap();
                let mut filter =
                    Filter::new(&blt, layout, open(), dimension, 0.3, source()).unwrap();
                if is_ahead {
                    filter.draw_ahead(1, n);
                }
                let mut encoder = open();
                let mut decoder = BltDecoder::new(blt.parameters(), dimension, layout.unit() * 0.3);
                let (mut released, mut wanted) = (vec![0.0; dimension], vec![0.0; dimension]);
                for t in 1..=n {
                    let item: Vec<i64> = (0..dimension as i64)
                        .map(|i| (t as i64 * 7919 + i * 104_729) % (2 * radius + 1) - radius)
                        .collect();
                    filter.step(t, &item, &mut released);
                    let mut row = vec![0_i128; dimension];
                    encoder.encode(&item, &mut row).unwrap();
                    let noise = noise(layout, t, dimension);
                    let noisy = row.iter().zip(noise).map(|(y, z)| (y + z) as f64);
                    let noisy: Vec<f64> = noisy.collect();
                    decoder.step(&noisy, &mut wanted).unwrap();
                    assert_eq!(released, wanted, "{layout:?} {dimension} {t}");
                }
            }
        }
    }
}
