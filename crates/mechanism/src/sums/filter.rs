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
use super::blt::{BltDecoder, DyadicBlt, FixedBlt, Layout, Width};
use super::running::{Running, State, StateError};
use super::vectors;
use hushstream_noise::{FineGaussian, NoiseError, RoundedGaussian, Source};
use std::sync::Arc;

/// The noise of rows.
#[derive(Clone, Copy)]
enum RowNoise {
    /// In units of the lattice.
    Rounded,
    /// With all guard bits.
    Fine(FineGaussian),
}

impl RowNoise {
    fn of(layout: Layout) -> Result<Self, NoiseError> {
        Ok(match layout.width() {
            Width::Double => Self::Rounded,
            Width::Narrow | Width::Wide => Self::Fine(FineGaussian::new(layout.row_bits())?),
        })
    }

    /// The noise of row t; only if it fits 64 bits, as in narrow rows.
    fn fill(self, source: &Source, t: u64, out: &mut [i64]) {
        match self {
            Self::Rounded => RoundedGaussian::STANDARD.fill(source, t, 0, out),
            Self::Fine(noise) => noise
                .fill_i64(source, t, 0, out)
                .expect("narrow layouts have few guard bits"),
        }
    }

    /// The noises of several rows, one after the other.
    fn fill_rows(self, source: &Source, rows: &[u64], out: &mut [i64]) {
        if let Self::Rounded = self {
            return RoundedGaussian::STANDARD.fill_nodes(source, rows, out);
        }
        let dimension = out.len() / rows.len().max(1);
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(dimension.max(1))) {
            self.fill(source, *row, out);
        }
    }
}

/// The running mechanism.
pub(crate) struct Filter {
    encoder: FixedBlt,
    decoder: BltDecoder,
    noise: RowNoise,
    source: Arc<Source>,
    ahead: Option<NoiseAhead>,
    narrow: [Vec<i64>; 2],
    wide: [Vec<i128>; 2],
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
        let (narrow, wide) = match encoder {
            FixedBlt::Narrow(_) => (dimension, 0),
            FixedBlt::Wide(_) => (0, dimension),
        };
        Ok(Self {
            encoder,
            decoder: BltDecoder::new(blt.parameters(), dimension, layout.unit() * unit),
            noise: RowNoise::of(layout)?,
            source: Arc::new(source),
            ahead: None,
            narrow: [vec![0; narrow], vec![0; narrow]],
            wide: [vec![0; wide], vec![0; wide]],
        })
    }
}

impl Running for Filter {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        // The plan bounds every item, length and number of steps; encoder and decoder check them
        // again.
        const FITS: &str = "the plan's lattice bounds what the encoder takes";
        match &mut self.encoder {
            FixedBlt::Narrow(encoder) => {
                let [row, noise] = &mut self.narrow;
                let noise = match self.ahead.as_mut().and_then(|ahead| ahead.at(t)) {
                    Some(drawn) => drawn,
                    None => {
                        self.noise.fill(&self.source, t, noise);
                        noise
                    }
                };
                let in_one_pass = encoder.release(item, noise, &mut self.decoder, out);
                if in_one_pass.expect(FITS) {
                    return;
                }
                encoder.encode(item, row).expect(FITS);
                // `Layout::check` has left room for the noise.
                vectors::add(row, noise);
                self.decoder.step(row, out).expect(FITS);
            }
            FixedBlt::Wide(encoder) => {
                let [row, noise] = &mut self.wide;
                encoder.encode(item, row).expect(FITS);
                let RowNoise::Fine(fine) = self.noise else {
                    unreachable!("wide rows keep their guard bits");
                };
                fine.fill(&self.source, t, 0, noise);
                row.iter_mut()
                    .zip(noise)
                    .for_each(|(row, noise)| *row += *noise);
                self.decoder.step(row, out).expect(FITS);
            }
        }
    }

    fn last(&mut self, _t: u64, out: &mut [f64]) {
        self.decoder.last(out);
    }

    fn draw_ahead(&mut self, from: u64, last: u64) {
        let (noise, source) = (self.noise, Arc::clone(&self.source));
        if let FixedBlt::Narrow(_) = self.encoder {
            let (dimension, mut rows) = (self.narrow[0].len(), Vec::new());
            // Coordinates come in pairs: one extra may be drawn.
            let stride = dimension.next_multiple_of(2);
            let draw = move |first, out: &mut [i64]| {
                rows.clear();
                rows.extend((first..).take(out.len() / stride.max(1)));
                noise.fill_rows(&source, &rows, out);
            };
            let worth_it = matches!(noise, RowNoise::Rounded);
            self.ahead = NoiseAhead::start((dimension, stride), from, last, worth_it, draw);
        }
    }

    fn state(&self) -> State {
        State {
            integers: match &self.encoder {
                FixedBlt::Narrow(encoder) => encoder.state().into_iter().map(i128::from).collect(),
                FixedBlt::Wide(encoder) => encoder.state(),
            },
            floats: self.decoder.state(),
        }
    }

    fn restore(&mut self, t: u64, state: &State) -> Result<(), StateError> {
        match &mut self.encoder {
            FixedBlt::Narrow(encoder) => {
                let integers = state.integers.iter().map(|&v| i64::try_from(v));
                let integers = integers
                    .collect::<Result<Vec<_>, _>>()
                    .map_err(|_| StateError)?;
                encoder.restore(t, &integers).map_err(|_| StateError)?;
            }
            FixedBlt::Wide(encoder) => {
                encoder
                    .restore(t, &state.integers)
                    .map_err(|_| StateError)?;
            }
        }
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
            Width::Narrow | Width::Wide => {
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
            (Width::Narrow, 16, 4),
            (Width::Wide, 30, 3),
        ] {
            let blt = DyadicBlt::new(&optimise(n, buffers).unwrap()).unwrap();
            let layout = Layout::new(width, guard_bits);
            // The last is long enough for several blocks of noise drawn ahead.
            for (dimension, is_ahead) in [(1, false), (4, true), (7, true), (54, true), (301, true)]
            {
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
                    match &mut encoder {
                        FixedBlt::Narrow(encoder) => {
                            let mut narrow = vec![0; dimension];
                            encoder.encode(&item, &mut narrow).unwrap();
                            row.iter_mut().zip(narrow).for_each(|(y, x)| *y = x.into());
                        }
                        FixedBlt::Wide(encoder) => encoder.encode(&item, &mut row).unwrap(),
                    }
                    let noise = noise(layout, t, dimension);
                    row.iter_mut().zip(noise).for_each(|(y, z)| *y += z);
                    decoder.step(&row, &mut wanted).unwrap();
                    assert_eq!(released, wanted, "{layout:?} {dimension} {t}");
                }
            }
        }
    }
}
