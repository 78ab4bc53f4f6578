//! Policies with contexts and the probabilities that the engine gives them, in
//! clients/typescript/policies.json: what decides elsewhere is tested with this file.
//!
//! `HUSHSTREAM_WRITE=1 cargo test -p hushstream-server --test edge` writes it anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use hushstream::prelude::*;
use serde_json::{Value as Json, json};
use std::path::PathBuf;

/// A column of every kind, and a text that is a missing value.
const SCHEMA: &str = "one_hot = ['soil_*']\ndates = ['when']\nmissing = ['-9']
    names = ['age', 'wage', 'job', 'code', 'soil_a', 'soil_b', 'when', 'tail']
    bounds = { age = [18, 90], wage = [-100, 10_000] }
    vocabulary = { job = ['clerk', ' cook ', 'naïve'], code = ['1', '2.50', '007', 'true'] }
    hashed = { tail = 4 }";

fn contexts() -> Vec<Json> {
    let row = |age: Json, wage: Json, job: Json, code: Json, soil: [Json; 2], rest: [Json; 2]| {
        let [soil_a, soil_b] = soil;
        let [when, tail] = rest;
        json!({"age": age, "wage": wage, "job": job, "code": code, "soil_a": soil_a,
               "soil_b": soil_b, "when": when, "tail": tail})
    };
    vec![
        row(
            json!(31),
            json!(1200.5),
            json!("cook"),
            json!(1),
            [json!(1), json!(0)],
            [json!("2013-01-31"), json!("N14228")],
        ),
        row(
            json!(17.5),
            json!(1e9),
            json!("  clerk\t"),
            json!(2.5),
            [json!(0), json!(1)],
            [json!("2024/02/29 23:59"), json!(1e-7)],
        ),
        row(
            json!("54"),
            json!("-9"),
            json!("nobody"),
            json!("007"),
            [json!(true), json!(false)],
            [json!("1999-12-31T07:05:00Z"), json!(1e21)],
        ),
        row(
            json!(null),
            json!(null),
            json!(null),
            json!(null),
            [json!(null), json!(null)],
            [json!(null), json!(null)],
        ),
        row(
            json!("NA"),
            json!("n/a"),
            json!("naïve"),
            json!(7),
            [json!("0.6"), json!("")],
            [json!(""), json!("zwölf Ω")],
        ),
        row(
            json!(90),
            json!(0),
            json!("-9"),
            json!(true),
            [json!(0), json!(0)],
            [json!("NaN"), json!("")],
        ),
        row(
            json!(true),
            json!("1e2"),
            json!("clerk"),
            json!("2.5e0"),
            [json!(1), json!(1)],
            [json!("0099-03-01"), json!(-0.5)],
        ),
        row(
            json!(-9),
            json!(49.999),
            json!("cook"),
            json!("1.0"),
            [json!(0.5), json!("FALSE")],
            [json!("2100-02-28T00:00"), json!("-9")],
        ),
    ]
}

fn fields(context: &Json) -> Vec<(String, Value<'_>)> {
    let pairs = context.as_object().into_iter().flatten();
    pairs
        .map(|(name, value)| {
            let value = match value {
                Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
                Json::String(text) => Value::Text(text),
                Json::Bool(truth) => (*truth).into(),
                _ => Value::Missing,
            };
            (name.clone(), value)
        })
        .collect()
}

/// A policy that has learned from simulated noise, so that its weights are anything.
fn policy(recipe: RecipeName, knots: u32) -> Model {
    let mut schema: Schema = SCHEMA.parse().unwrap();
    schema.knots = Some(knots);
    let mut run = Learner::decide(["red", "green", "blue"])
        .schema(schema)
        .recipe(recipe)
        .records(160)
        .batch(40)
        .budget(Budget::approx(8.0, 1e-6).unwrap())
        .adjacency(ReplaceOne)
        .simulated(7)
        .start()
        .unwrap();
    let contexts = contexts();
    for slot in 0..160 {
        let context = fields(&contexts[slot % contexts.len()]);
        let decision = run.decide(context.as_slice()).unwrap();
        let decision = decision.for_the_asker().clone();
        let reward = if decision.action == "red" { 0.9 } else { 0.2 };
        run.reward(decision.id, reward).unwrap();
    }
    run.close_all().unwrap();
    run.model().unwrap().into_value()
}

#[test]
fn policies_for_clients_say_what_the_engine_says() {
    let path =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../clients/typescript/policies.json");
    let mut all = Vec::new();
    for (recipe, knots) in [
        (RecipeName::Igw, 0),
        (RecipeName::Igw, 5),
        (RecipeName::LinucbJdp, 0),
    ] {
        let model = policy(recipe, knots);
        let mut decider = model.decider().unwrap();
        let mut probabilities = Vec::new();
        for context in contexts() {
            let told = decider.probabilities(fields(&context).as_slice()).unwrap();
            let told = told.for_the_asker().iter().map(|(_, chance)| *chance);
            probabilities.push(told.collect::<Vec<f64>>());
        }
        let file: Json = serde_json::from_slice(&model.to_bytes().unwrap()).unwrap();
        all.push(json!({"file": file, "contexts": contexts(), "probabilities": probabilities}));
    }
    let text = serde_json::to_string(&all).unwrap() + "\n";
    if std::env::var_os("HUSHSTREAM_WRITE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let written: Vec<Json> = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(written.len(), all.len());
    for (own, known) in all.iter().zip(&written) {
        assert_eq!(own["contexts"], known["contexts"]);
        assert_eq!(
            own["file"]["weights"], known["file"]["weights"],
            "the engine has changed"
        );
        assert_eq!(
            own["probabilities"], known["probabilities"],
            "the engine has changed"
        );
    }
}
