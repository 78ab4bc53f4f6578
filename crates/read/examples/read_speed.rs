//! How fast a file is read: `cargo run --release -p hushstream-read --example read_speed -- FILE SCHEMA.toml [SHUFFLE_SEED]`.

use hushstream_read::{Input, Reader, SchemaSpec};
use std::error::Error;
use std::time::Instant;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, schema, seed @ ..] = &arguments[..] else {
        return Err("give a file and a schema".into());
    };
    let begin = Instant::now();
    let input = Input::open(file)?;
    let format = input.guess_format()?;
    let mut reader = Reader::open(input, format, &SchemaSpec::from_file(schema)?)?;
    if let Some(seed) = seed.first() {
        reader = reader.shuffled(seed.parse()?)?;
    }
    while reader.next_record()?.is_some() {}
    let seconds = begin.elapsed().as_secs_f64();
    let megabytes = std::fs::metadata(file)?.len() as f64 / 1e6;
    let layout = reader.layout();
    println!(
        "{} rows in {} dimensions, length at most {:.3}: {seconds:.3} s, {:.0} rows/s, {:.0} MB/s",
        reader.rows(),
        layout.dimension(),
        layout.norm(),
        reader.rows() as f64 / seconds,
        megabytes / seconds
    );
    Ok(())
}
