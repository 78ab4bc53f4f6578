//! Rows of your own type: name the columns once. `cargo run --example own_structs`
use hushstream::prelude::*;

struct Visit {
    age: f64,
    ward: &'static str,
    came_back: bool,
}

impl Row for Visit {
    fn each(&self, give: &mut dyn FnMut(&str, Value<'_>)) {
        give("age", self.age.into());
        give("ward", self.ward.into());
        give("came_back", self.came_back.into());
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema: Schema = "names = ['age', 'ward', 'came_back']
        target = 'came_back'
        bounds = { age = [0, 110] }
        vocabulary = { ward = ['north', 'south'] }"
        .parse()?;
    let mut run = Learner::classify()
        .schema(schema)
        .records(1000)
        .budget(Budget::approx(1.0, 1e-6)?)
        .adjacency(ReplaceOne)
        .simulated(7)
        .start()?;
    for i in 0..1000_u32 {
        let age = f64::from(i % 90);
        run.learn(&Visit {
            age,
            ward: if i % 2 == 0 { "north" } else { "south" },
            came_back: age > 60.0,
        })?;
    }
    let model = run.model()?.into_value();
    let visit = Visit {
        age: 80.0,
        ward: "north",
        came_back: false,
    };
    println!("comes back? {:?}", model.predict(&visit)?);
    Ok(())
}
