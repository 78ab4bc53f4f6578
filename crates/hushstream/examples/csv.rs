//! A whole file: checked first, then charged, then learned. `cargo run --example csv`
use hushstream::prelude::*;
use std::fmt::Write;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut table = String::from("hour,carrier,late\n");
    for i in 0..2000 {
        let hour = i % 24;
        let carrier = ["AA", "DL", "UA"][i % 3];
        writeln!(table, "{hour},{carrier},{}", u8::from(hour > 15))?;
    }
    std::fs::write(path("flights.csv"), table)?;

    // Public statements: nothing is taken from the data.
    let schema: Schema = "target = 'late'
        bounds = { hour = [0, 24] }
        vocabulary = { carrier = ['AA', 'DL', 'UA'] }"
        .parse()?;
    let outcome = Learner::classify()
        .schema(schema)
        .budget(Budget::approx(2.0, 1e-5)?)
        .adjacency(ReplaceOne)
        .model(path("model.json"))
        .simulated(7) // for real data: .ledger("flights.ledger")
        .learn_file(path("flights.csv"))?;
    println!("{}", outcome.guarantee);

    let model = Model::load(path("model.json"))?;
    let flight = [("hour", Value::Number(20.0)), ("carrier", "UA".into())];
    println!("late after eight? {:?}", model.predict(&flight)?);
    Ok(())
}
