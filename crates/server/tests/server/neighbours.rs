//! Two streams that differ in one slot, with the same seed: every public byte is equal but for the
//! numbers that were released, and for what was computed from these.

use crate::support::{START, Server, ask};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::io::Write;

const NOTHING: Value = Value::Null;
const DECISIONS: &str = "/v1/models/banner/decisions";

/// What one person does otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Person {
    Usual,
    OtherContext,
    RefusedContext,
    UnknownKey,
    NotANumber,
    NoReward,
    OtherReward,
    BadReward,
    LateReward,
    ManyRewards,
    Deferred,
    OtherActions,
}

/// Replaces released numbers, and what depends on them, by their names.
fn masked(value: &mut Value) {
    match value {
        Value::Object(object) => {
            let is_file = object.contains_key("checksum");
            for (key, value) in object.iter_mut() {
                let is_released = matches!(
                    key.as_str(),
                    "weights" | "reward" | "low" | "high" | "action" | "probability" | "ranking"
                );
                if is_released || is_file && key == "checksum" {
                    *value = json!(format!("released: {key}"));
                } else {
                    masked(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(masked),
        _ => {}
    }
}

fn mask(text: &str) -> String {
    let line = |line: &str| match serde_json::from_str::<Value>(line) {
        Ok(mut value) => {
            masked(&mut value);
            value.to_string()
        }
        Err(_) => line.to_owned(),
    };
    match serde_json::from_str::<Value>(text) {
        Ok(_) => line(text),
        Err(_) => text.lines().map(line).collect::<Vec<_>>().join("\n"),
    }
}

thread_local! {
    /// What this thread has logged, if it is of interest.
    static LOG: RefCell<Option<Vec<u8>>> = const { RefCell::new(None) };
}

/// Requests are answered on the thread of the test: other tests log elsewhere.
struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        LOG.with_borrow_mut(|log| {
            if let Some(log) = log {
                log.extend_from_slice(bytes);
            }
        });
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything that others can see of a stream in which one person is as stated.
fn public_bytes(person: Person) -> Vec<String> {
    // One for the process: the first may have been set by an earlier call.
    let _ = tracing_subscriber::fmt()
        .json()
        .without_time()
        .with_max_level(tracing::Level::INFO)
        .with_writer(|| Log)
        .try_init();
    LOG.set(Some(Vec::new()));
    let mut seen = stream(person);
    let log = String::from_utf8(LOG.take().unwrap()).unwrap();
    for line in log.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        if let Some(fields) = line["fields"].as_object_mut() {
            fields.remove("micros"); // time is outside of the guarantee
        }
        seen.push(format!("log: {line}"));
    }
    seen
}

fn stream(person: Person) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let (client, reader) = (server.token("client"), server.token("reader"));
    let mut seen = Vec::new();
    let number = {
        let row = server.app.model("main", "banner").unwrap();
        row.number
    };
    let mut events = server.app.hub.watch(number);
    for slot in 0..35_u32 {
        let is_that_person = slot == 13;
        let mut body = ask(&slot.to_string(), f64::from(slot % 7) * 10.0);
        if is_that_person {
            match person {
                Person::OtherContext => body["context"]["age"] = json!(99.0),
                Person::RefusedContext => body["context"]["age"] = json!("secret-marker"),
                Person::UnknownKey => body["secret-marker"] = json!(1),
                Person::Deferred => body["defer"] = json!(true),
                Person::OtherActions => body["actions"] = json!(["green"]),
                _ => {}
            }
        }
        let mut text = body.to_string();
        if is_that_person && person == Person::NotANumber {
            // As many JSON writers write a number that is none.
            text = text.replace("60.0", "NaN");
            assert!(text.contains("NaN"), "{text}");
        }
        let answer = server.raw(&client, "POST", DECISIONS, &text);
        if !is_that_person {
            seen.push(format!("{} {}", answer.0, mask(&answer.1)));
        }
        server.clock.advance(10);
        let mut reward = |value: Value| {
            let path = format!("{DECISIONS}/{slot}/reward");
            let told = server.call(&client, "POST", &path, &json!({"value": value}));
            if !is_that_person {
                seen.push(format!("{} {}", told.0, told.1));
            }
        };
        match person {
            Person::NoReward | Person::LateReward if is_that_person => {}
            Person::OtherReward if is_that_person => reward(json!(0.25)),
            Person::BadReward if is_that_person => reward(json!("secret-marker")),
            Person::ManyRewards if is_that_person => (0..9).for_each(|_| reward(json!(1.0))),
            _ => reward(json!(f64::from(slot % 2))),
        }
        if slot % 10 == 9 {
            server.clock.advance(5_000);
            server.wait_for(u64::from(slot / 10) + 1);
            if person == Person::LateReward && slot == 19 {
                let path = format!("{DECISIONS}/13/reward");
                server.call(&client, "POST", &path, &json!({"value": 1.0}));
            }
        }
        for path in ["", "/policy", "/releases", "/evaluation"] {
            let path = format!("/v1/models/banner{path}");
            let answer = server.call(&reader, "GET", &path, &NOTHING);
            seen.push(format!("{path} {} {}", answer.0, mask(&answer.1)));
        }
    }
    for path in ["/v1/models", "/v1/datasets", "/v1/datasets/people"] {
        let answer = server.call(&reader, "GET", path, &NOTHING);
        seen.push(format!("{path} {} {}", answer.0, answer.1));
    }
    while let Ok(event) = events.try_recv() {
        seen.push(format!("{} {}", event.kind, mask(&event.data.to_string())));
    }
    seen.push(server.app.metrics.public.text());
    // Tokens are random, and no part of the stream.
    seen
}

#[test]
fn one_slot_moves_released_numbers_and_nothing_else() {
    let usual = public_bytes(Person::Usual);
    assert!(usual.iter().any(|line| line.contains("released: weights")));
    assert!(usual.iter().any(|line| line.starts_with("log: ")));
    assert!(usual.iter().any(|line| line.starts_with("closed ")));
    assert_eq!(
        usual,
        public_bytes(Person::Usual),
        "not even the same stream"
    );
    for person in [
        Person::OtherContext,
        Person::RefusedContext,
        Person::UnknownKey,
        Person::NotANumber,
        Person::NoReward,
        Person::OtherReward,
        Person::BadReward,
        Person::LateReward,
        Person::ManyRewards,
        Person::Deferred,
        Person::OtherActions,
    ] {
        let other = public_bytes(person);
        for (usual, other) in usual.iter().zip(&other) {
            assert_eq!(usual, other, "{person:?}");
        }
        assert_eq!(usual.len(), other.len(), "{person:?}");
        let marked = other.iter().find(|line| line.contains("secret-marker"));
        assert_eq!(marked, None);
    }
}
