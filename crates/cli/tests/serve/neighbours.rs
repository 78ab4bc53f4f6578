//! Two servers that were the same until one person did something else in one slot: whatever anybody
//! else can see is the same, but for the numbers that were released.
//!
//! Both servers go on from copies of one folder, so that tokens, keys and settings are the same.
//! The model answers its first action, so that answers do not depend on coins, which differ from
//! start to start. Times are not compared here: these are two processes, at two times. The tests of
//! the server crate compare them too, with a clock of their own, and answers that are drawn.

use crate::server::{
    Answer, Client, Events, Server, banner, first_token, free_address, new_token, people,
    wait_until,
};
use serde_json::{Value, json};
use std::path::Path;

const BATCH: u64 = 5;
const SLOTS: u64 = 3 * BATCH;
/// The slot of the person, in the second batch.
const THEIRS: u64 = 6;

/// What the person does.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Person {
    Usual,
    OtherContext,
    MalformedContext,
    NoReward,
    LaterReward,
    BadReward,
    TooLateReward,
    ManyRewards,
    Deferred,
}

const OTHERS: [Person; 8] = [
    Person::OtherContext,
    Person::MalformedContext,
    Person::NoReward,
    Person::LaterReward,
    Person::BadReward,
    Person::TooLateReward,
    Person::ManyRewards,
    Person::Deferred,
];

fn is_time(text: &str) -> bool {
    text.len() >= 20 && text.starts_with("20") && text.ends_with('Z') && text.contains('T')
}

/// Names times and released numbers, instead of stating them.
fn mask(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for (key, value) in object.iter_mut() {
                let key = key.as_str();
                if matches!(
                    key,
                    "weights" | "reward" | "low" | "high" | "checksum" | "micros"
                ) {
                    *value = json!(key);
                } else {
                    mask(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(mask),
        Value::String(text) if is_time(text) => *value = json!("time"),
        _ => {}
    }
}

fn masked(text: &str) -> String {
    let one = |text: &str| match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            mask(&mut value);
            value.to_string()
        }
        Err(_) => text.to_owned(),
    };
    if serde_json::from_str::<Value>(text).is_ok() {
        return one(text);
    }
    text.lines().map(one).collect::<Vec<_>>().join("\n")
}

fn seen(what: &str, answer: &Answer) -> String {
    let mut head = answer.head.clone();
    // The length follows from released numbers.
    head.retain(|line| !line.starts_with("date:") && !line.starts_with("content-length:"));
    format!(
        "{what}: {} {head:?} {}",
        answer.status,
        masked(&answer.body)
    )
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).unwrap();
        }
    }
}

struct Tokens {
    operator: String,
    theirs: String,
    others: String,
    reader: String,
}

/// Everything that others see while the person does this.
fn public(person: Person, from: &Path, tokens: &Tokens) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    copy(from, folder.path());
    std::fs::remove_file(folder.path().join("log")).unwrap();
    let mut server = Server::start_at(folder.path(), free_address(), "info");
    let events = Events::watch(server.address, &tokens.reader, "banner", SLOTS / BATCH);
    let mut client = server.client(&tokens.theirs);
    let mut others = [server.client(&tokens.theirs), server.client(&tokens.others)];
    let mut reader = server.client(&tokens.reader);
    let mut all = Vec::new();
    let path = "/v1/models/banner/decisions";
    let reward = |client: &mut Client, slot: u64, value: &Value| {
        let path = format!("{path}/slot-{slot}/reward");
        client.call("POST", &path, &json!({"value": value}))
    };
    for slot in 0..SLOTS {
        let context = json!({"age": 7 * slot % 100, "device": "desk"});
        let mut body = json!({"event_id": format!("slot-{slot}"), "context": context});
        if slot == THEIRS {
            match person {
                Person::OtherContext => body["context"]["age"] = json!(99),
                Person::MalformedContext => body["context"] = json!({"secret": "secret"}),
                Person::Deferred => body["defer"] = json!(true),
                _ => {}
            }
            client.call("POST", path, &body);
            match person {
                Person::NoReward | Person::LaterReward | Person::TooLateReward => {}
                Person::BadReward => drop(reward(&mut client, slot, &json!("secret"))),
                Person::ManyRewards => {
                    (0..20).for_each(|_| drop(reward(&mut client, slot, &json!(1))));
                }
                _ => drop(reward(&mut client, slot, &json!(1))),
            }
        } else {
            let client = &mut others[(slot % 2) as usize];
            all.push(seen("decision", &client.call("POST", path, &body)));
            if slot % BATCH + 1 < BATCH {
                let told = reward(client, slot, &json!(slot % 3));
                all.push(seen("reward", &told));
            }
        }
        if slot == THEIRS + 1 && person == Person::LaterReward {
            reward(&mut client, THEIRS, &json!(1)).is(204);
        }
        if slot % BATCH + 1 == BATCH {
            let policy = json!((slot + 1) / BATCH);
            wait_until("the batch is learned from", || {
                reader.get("/v1/models/banner").json()["policy"] == policy
            });
        }
        if slot == 2 * BATCH && person == Person::TooLateReward {
            reward(&mut client, THEIRS, &json!(1)).is(410);
        }
        // Repeats of others are as they were.
        if slot == THEIRS + 2 {
            let again = others[(slot % 2) as usize].call("POST", path, &body);
            all.push(seen("again", &again));
        }
        let read = [
            "",
            "/policy",
            "/releases",
            "/evaluation",
            "/policy?version=1",
        ];
        for path in read.map(|rest| format!("/v1/models/banner{rest}")) {
            all.push(seen(&path, &reader.get(&path)));
        }
    }
    for path in [
        "/v1/models",
        "/v1/datasets",
        "/v1/datasets/people",
        "/v1/whoami",
    ] {
        all.push(seen(path, &reader.get(path)));
    }
    let audit = server.client(&tokens.operator).get("/v1/audit");
    all.push(seen("audit", &audit));
    all.push(server.told("/metrics/public"));
    let events = events.end();
    server.stop();
    for (kind, mut data) in events {
        // How many of these come within a second is a matter of time.
        if kind != "slots" {
            mask(&mut data);
            all.push(format!("event {kind}: {data}"));
        }
    }
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    // Waiting for the learner is a matter of time: its questions are not compared.
    let is_waiting = |line: &&str| !line.contains("\"get-model\"");
    all.extend(
        log.lines()
            .filter(is_waiting)
            .map(|line| format!("log: {}", masked(line))),
    );
    all
}

#[test]
fn what_one_person_does_moves_released_numbers_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path());
    let mut operator = server.client(&first_token(folder.path(), "operator.token"));
    let mut spec = banner("people", BATCH, 10);
    spec["evaluation"] = json!({"policies": ["uniform"]});
    operator
        .call("PUT", "/v1/datasets/people", &people())
        .is(201);
    operator.call("PUT", "/v1/models/banner", &spec).is(201);
    let mut token = |role: &str| new_token(&mut operator, "main", &json!({"role": role}));
    let (theirs, others, reader) = (token("client"), token("client"), token("reader"));
    let tokens = Tokens {
        operator: operator.token().to_owned(),
        theirs,
        others,
        reader,
    };
    server.stop();
    let usual = public(Person::Usual, folder.path(), &tokens);
    for kind in [
        "log: ",
        "event closed",
        "event released",
        "decision: 200",
        "reward: 204",
    ] {
        assert!(
            usual.iter().any(|line| line.starts_with(kind)),
            "{kind}: {usual:#?}"
        );
    }
    for person in OTHERS {
        let other = public(person, folder.path(), &tokens);
        for (usual, other) in usual.iter().zip(&other) {
            assert_eq!(usual, other, "{person:?}");
        }
        assert_eq!(usual.len(), other.len(), "{person:?}");
    }
}
