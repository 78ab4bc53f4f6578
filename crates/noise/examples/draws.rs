//! Prints draws of every sampler, a line for each, for `oracle/samplers.py` to test with other
//! people's statistics.

use hushstream_noise::{
    Coin, DiscreteLaplace, Dyadic, ExponentialChoice, FineGaussian, Instance, Key, L2Laplace,
    RoundedGaussian, Source,
};
use std::fmt::Display;
use std::io::{BufWriter, Write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const DRAWS: usize = 200_000;
    let key = Key::insecure_from_seed(2029);
    let source = |mechanism| Source::open(&key, Instance::from_bytes([5; 16]), mechanism);
    let mut out = BufWriter::new(std::io::stdout().lock());

    let mut draws = vec![0; DRAWS];
    RoundedGaussian::STANDARD.fill(&source(1), 0, 0, &mut draws);
    line(&mut out, "rounded", &draws)?;
    RoundedGaussian::with_bits(3)?.fill(&source(2), 7, 1, &mut draws);
    line(&mut out, "rounded_small", &draws)?;
    // Many nodes of a few coordinates each, as a sum reads them.
    let nodes: Vec<u64> = (0..DRAWS as u64 / 5).collect();
    RoundedGaussian::STANDARD.fill_nodes(&source(3), &nodes, &mut draws);
    line(&mut out, "rounded_nodes", &draws)?;

    let mut fine = vec![0; DRAWS];
    FineGaussian::new(20)?.fill(&source(4), 0, 0, &mut fine);
    line(&mut out, "fine", &fine)?;

    DiscreteLaplace::new(3)?.fill(&source(5), 0, 0, &mut draws);
    line(&mut out, "laplace_small", &draws)?;
    DiscreteLaplace::new(1 << 30)?.fill(&source(6), 0, 0, &mut draws);
    line(&mut out, "laplace", &draws)?;

    // One vector of three coordinates a node.
    let (law, vectors) = (L2Laplace::new(3, 1 << 20)?, source(7));
    for (node, vector) in (0..).zip(draws[..3 * (DRAWS / 10)].chunks_mut(3)) {
        law.fill(&vectors, node, 0, vector);
    }
    line(&mut out, "l2_laplace", &draws[..3 * (DRAWS / 10)])?;

    for (name, coin) in [
        ("third", Coin::ratio(1, 3)?),
        ("exp_minus_seven_halves", Coin::exp_minus(7, 2)?),
    ] {
        let coins = source(8);
        let mut bits = coins.cursor(0, u32::from(name == "third"));
        let tosses: Vec<u8> = (0..DRAWS).map(|_| u8::from(coin.toss(&mut bits))).collect();
        line(&mut out, name, &tosses)?;
    }

    let choice = ExponentialChoice::new(Dyadic::from_f64(0.25)?);
    let choices = source(9);
    let mut bits = choices.cursor(0, 0);
    let chosen = (0..DRAWS).map(|_| choice.draw(&[10, 13, 10, 11, 50], &mut bits));
    line(&mut out, "choice", &chosen.collect::<Result<Vec<_>, _>>()?)?;
    Ok(())
}

fn line(out: &mut impl Write, name: &str, values: &[impl Display]) -> std::io::Result<()> {
    write!(out, "{name}")?;
    for value in values {
        write!(out, " {value}")?;
    }
    writeln!(out)
}
