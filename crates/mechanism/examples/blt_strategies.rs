//! Prints the filters that `oracle/blt.py write -` compares with other people's implementations: to
//! be run after a change of the optimiser.

use hushstream_mechanism::sums::blt::{DyadicBlt, optimise};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let sets = [
        (2, 1),
        (5, 2),
        (1 << 8, 3),
        (1 << 10, 4),
        (1 << 16, 4),
        (1 << 20, 3),
        (1 << 20, 4),
        (1 << 20, 5),
        (1 << 20, 8),
        (1 << 24, 6),
        (1 << 32, 7),
        (1 << 40, 8),
    ];
    for (releases, buffers) in sets {
        let blt = DyadicBlt::new(&optimise(releases, buffers)?)?;
        println!("@{releases} {}", serde_json::to_string(&blt)?);
    }
    Ok(())
}
