//! The server as the authority of sums that workers make elsewhere: each batch is taken once, and
//! its releases are those of one process.

use crate::recovery::Process;
use crate::shared;
use crate::support::{Answer, START, Server, ask, banner, config};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hushstream::elsewhere::{SealingKey, Span, Worker, merge};
use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use std::time::Duration;

pub(crate) const MODEL: &str = "/v1/models/late";
const BATCHES: u64 = 3;
const KILLS: u64 = if cfg!(feature = "long") { 30 } else { 3 };

fn settings() -> Value {
    json!({
        "dataset": "people",
        "task": "classify",
        "schema": {"target": "y", "bounds": {"a": [-1, 1], "b": [-1, 1]}},
        "batch": 20,
        "batches": BATCHES,
        "elsewhere": true,
        "epsilon": 4.0,
        "delta": 1e-7,
        "simulated": 9,
    })
}

/// A column of record t.
fn value(column: &str, t: u64) -> f64 {
    let (a, b) = (
        (t * 7 % 20) as f64 / 10.0 - 1.0,
        (t * 3 % 20) as f64 / 10.0 - 1.0,
    );
    match column {
        "a" => a,
        "b" => b,
        _ => f64::from(a + b > 0.0),
    }
}

/// The records of a batch: twenty, and of the second one fewer.
pub(crate) fn positions(batch: u64) -> (u64, u64) {
    let start = |batch: u64| 20 * batch - 5 * u64::from(batch > 1);
    (start(batch), start(batch + 1))
}

/// The partial sums of a batch, split at these places, from workers on other machines.
pub(crate) fn parts(question: &[u8], (start, end): (u64, u64), cuts: &[u64]) -> Vec<Vec<u8>> {
    let ends: Vec<u64> = cuts.iter().map(|cut| start + cut).chain([end]).collect();
    let mut first = start;
    let mut all = Vec::new();
    for end in ends {
        let mut worker = Worker::new(question).unwrap();
        for t in first..end {
            let row = worker.columns().iter().map(|name| value(name, t));
            let row: Vec<f64> = row.collect();
            worker.add(&row).unwrap();
        }
        let span = Span {
            partition: "log".into(),
            start: first,
            end,
        };
        all.push(worker.finish([span]).unwrap());
        first = end;
    }
    all
}

pub(crate) fn body(source: &str, batch: u64, parts: &[Vec<u8>]) -> Value {
    let parts: Vec<String> = parts.iter().map(|part| STANDARD.encode(part)).collect();
    json!({"source": source, "batch": batch, "parts": parts})
}

/// A data set, and a model of it.
pub(crate) fn begin(server: &Server) -> String {
    begin_with(server, &settings())
}

fn begin_with(server: &Server, settings: &Value) -> String {
    let dataset = json!({"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one"});
    let made = server.call(&server.operator, "PUT", "/v1/datasets/people", &dataset);
    assert_eq!(made.0, 201, "{made:?}");
    let made = server.call(&server.operator, "PUT", MODEL, settings);
    assert_eq!(made.0, 201, "{made:?}");
    server.token("client")
}

pub(crate) fn asked(server: &Server, client: &str) -> Value {
    let path = format!("{MODEL}/question");
    let answer = server.call(client, "GET", &path, &Value::Null);
    assert_eq!(answer.0, 200, "{answer:?}");
    answer.json()
}

pub(crate) fn question(asked: &Value) -> Vec<u8> {
    STANDARD
        .decode(asked["question"].as_str().unwrap())
        .unwrap()
}

pub(crate) fn send(server: &Server, client: &str, body: &Value) -> Answer {
    server.call(client, "POST", &format!("{MODEL}/batches"), body)
}

/// Takes all batches in one way, and gives what is released.
fn learned(server: &Server, client: &str, cuts: &[u64], is_sealed: bool) -> String {
    for batch in 0..BATCHES {
        let asked = asked(server, client);
        let question = question(&asked);
        let mut parts = parts(&question, positions(batch), cuts);
        if is_sealed {
            let key: SealingKey = asked["sealing_key"].as_str().unwrap().parse().unwrap();
            parts = parts.iter().map(|part| key.seal(part).unwrap()).collect();
        } else if batch == 1 {
            parts = vec![merge(&question, &parts).unwrap()];
        }
        let taken = send(server, client, &body("clicks", batch, &parts));
        assert_eq!(taken.0, 200, "{taken:?}");
        assert_eq!(taken.json(), json!({"is_new": true, "version": batch + 1}));
        // A retry, without anything.
        let again = send(server, client, &body("clicks", batch, &[]));
        assert_eq!(again.json(), json!({"is_new": false, "version": batch + 1}));
    }
    assert_eq!(asked(server, client)["question"], Value::Null);
    let model = server.call(client, "GET", MODEL, &Value::Null).json();
    assert_eq!(
        (
            &model["status"],
            &model["released"],
            &model["closed_batches"]
        ),
        (&json!("finished"), &json!(BATCHES), &json!(BATCHES))
    );
    releases(|path| server.call(client, "GET", path, &Value::Null).1)
}

/// The weights of all releases.
fn releases(get: impl Fn(&str) -> String) -> String {
    let text = get(&format!("{MODEL}/releases"));
    let weights = text.lines().map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        format!("{} {}\n", line["version"], line["weights"])
    });
    weights.collect()
}

#[test]
fn any_split_is_one_process() {
    let mut all = Vec::new();
    for (cuts, is_sealed) in [(&[][..], false), (&[3, 4, 11], false), (&[9], true)] {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), START);
        let client = begin(&server);
        all.push(learned(&server, &client, cuts, is_sealed));
    }
    assert_eq!(all[0].lines().count() as u64, BATCHES + 1);
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn what_counts_people_twice_or_leaves_them_out_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start(folder.path(), START);
    let client = begin(&server);
    let stale = question(&asked(&server, &client));
    let first = parts(&stale, positions(0), &[7]);
    let refused = |server: &Server, body: &Value, told: &str| {
        let answer = send(server, &client, body);
        assert_eq!(answer.0, 409, "{answer:?}");
        assert!(answer.1.contains(told), "{answer:?}");
    };
    let twice = [first.clone(), vec![first[0].clone()]].concat();
    let told = send(&server, &client, &body("clicks", 0, &twice));
    assert!(
        told.0 == 422 && told.1.contains("counted twice"),
        "{told:?}"
    );
    let mut whole = body("clicks", 0, &first[..1]);
    whole["positions"] = json!([{"partition": "log", "start": 0, "end": 20}]);
    refused(&server, &whole, "left out");
    assert_eq!(send(&server, &client, &body("clicks", 0, &first)).0, 200);
    for started in [false, true] {
        if started {
            drop(server);
            server = Server::start(folder.path(), START);
        }
        let asked = asked(&server, &client);
        assert_eq!(asked["delivered"], json!({"source": "clicks", "batch": 0}));
        let now = question(&asked);
        let second = parts(&now, positions(1), &[]);
        refused(&server, &body("clicks", 2, &second), "left out");
        refused(
            &server,
            &body("other", 0, &second),
            "may read everybody again",
        );
        let overlap = parts(&now, (19, 30), &[]);
        refused(&server, &body("clicks", 1, &overlap), "counted twice");
        let old = parts(&stale, positions(1), &[]);
        refused(&server, &body("clicks", 1, &old), "old question");
        let released = server.call(&client, "GET", MODEL, &Value::Null).json();
        assert_eq!(released["released"], 1);
    }
    // A statement about people is the operator's, with a reason that is kept.
    let path = format!("{MODEL}:accept-source");
    let now = question(&asked(&server, &client));
    let mut new = body("other", 0, &parts(&now, positions(1), &[]));
    new["first"] = json!({"log": 20});
    assert_eq!(server.call(&client, "POST", &path, &new).0, 403);
    assert_eq!(send(&server, &client, &new).0, 422);
    assert_eq!(server.call(&server.operator, "POST", &path, &new).0, 422);
    new["reason"] = json!("the log was copied to another broker");
    let taken = server.call(&server.operator, "POST", &path, &new);
    assert_eq!(
        taken.json(),
        json!({"is_new": true, "version": 2}),
        "{taken:?}"
    );
    let log = server.call(&server.operator, "GET", "/v1/audit", &Value::Null);
    assert!(
        log.1.contains("source accepted: other: the log was copied"),
        "{log:?}"
    );
    // Nothing of a part is repeated, and records are no sums.
    let wrong = send(
        &server,
        &client,
        &json!({"source": "other", "batch": 1, "parts": ["!4711"]}),
    );
    assert!(wrong.0 == 422 && !wrong.1.contains("4711"), "{wrong:?}");
    let line = r#"{"features": {"a": 0, "b": 0}, "target": 1}"#;
    assert_eq!(
        server
            .raw(&client, "POST", &format!("{MODEL}/records"), line)
            .0,
        409
    );
}

/// A witness that cannot be written stops what would be answered with, however often it is asked
/// for, and nothing is lost by it.
#[test]
fn what_is_not_witnessed_is_not_answered_with() {
    let folder = tempfile::tempdir().unwrap();
    let witness = folder.path().join("witness");
    let mut config = config(folder.path());
    config.witness = Some(witness.clone());
    let server = Server::with(config, START).unwrap();
    let client = begin(&server);
    let question = question(&asked(&server, &client));
    let batch = body("clicks", 0, &parts(&question, positions(0), &[]));
    let get = |path: &str| {
        let answer = server.call(&client, "GET", &format!("{MODEL}{path}"), &Value::Null);
        answer.0
    };
    // No file can be made where a folder is.
    let blocked = if shared::is_on() {
        witness.join("1.new")
    } else {
        folder.path().join("witness.new")
    };
    fs::create_dir(&blocked).unwrap();
    for _ in 0..2 {
        let taken = send(&server, &client, &batch);
        assert_eq!(taken.0, 503, "{taken:?}");
        assert_eq!(get("/question"), 503);
        // Nor by its number, or among all.
        assert_eq!((get("/policy?version=1"), get("/releases")), (503, 503));
    }
    let newest = |server: &Server| {
        let model = server.call(&client, "GET", MODEL, &Value::Null).json();
        model["released"].clone()
    };
    assert_eq!(newest(&server), 0);
    fs::remove_dir(&blocked).unwrap();
    let taken = send(&server, &client, &batch);
    assert_eq!(taken.json(), json!({"is_new": false, "version": 1}));
    assert_eq!((newest(&server), get("/policy?version=1")), (json!(1), 200));
    if !shared::is_on() {
        let noted = fs::read_to_string(&witness).unwrap();
        assert!(noted.trim_end().ends_with(" 2"), "{noted}");
    }
    let asked = asked(&server, &client);
    assert_eq!(asked["delivered"], json!({"source": "clicks", "batch": 0}));
}

/// A ledger whose write failed is opened again: its other models go on, and the batch is taken.
#[test]
fn a_ledger_that_failed_once_is_opened_again() {
    if shared::is_on() {
        return; // its files are no files: `shared::a_database_that_failed_once_is_asked_again`
    }
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    let mut model = settings();
    model["batches"] = json!(100);
    let client = begin_with(&server, &model);
    let made = server.call(&server.operator, "PUT", "/v1/models/banner", &banner());
    assert_eq!(made.0, 201, "{made:?}");
    // The ledger's own witness, which every 64th mark makes anew, cannot be made where a folder is.
    let blocked = folder.path().join("datasets/1/ledger.witness.new");
    fs::create_dir(&blocked).unwrap();
    let failed = (0..100).find_map(|number| {
        let question = question(&asked(&server, &client));
        let parts = parts(&question, (20 * number, 20 * (number + 1)), &[]);
        let batch = body("clicks", number, &parts);
        let taken = send(&server, &client, &batch);
        (taken.0 != 200).then_some((number, batch, taken))
    });
    let (number, batch, taken) = failed.unwrap();
    assert_eq!(taken.0, 503, "{number}: {taken:?}");
    fs::remove_dir(&blocked).unwrap();
    for slot in 0..10 {
        let path = "/v1/models/banner/decisions";
        let asked = ask(&slot.to_string(), 40.0);
        assert_eq!(server.call(&client, "POST", path, &asked).0, 200);
    }
    server.clock.advance(5_000);
    server.wait_for(1);
    let taken = send(&server, &client, &batch);
    assert_eq!(
        (taken.0, &taken.json()["version"]),
        (200, &json!(number + 1))
    );
}

#[test]
fn a_batch_of_nobody_must_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    let client = begin(&server);
    let mut empty = body("clicks", 0, &[]);
    let told = send(&server, &client, &empty);
    assert_eq!(
        (told.0, &told.json()["place"]),
        (422, &json!("positions")),
        "{told:?}"
    );
    assert_eq!(asked(&server, &client)["delivered"], Value::Null);
    empty["positions"] = json!([]);
    let taken = send(&server, &client, &empty);
    assert_eq!(taken.json(), json!({"is_new": true, "version": 1}));
}

#[test]
fn what_cannot_be_summed_elsewhere_is_refused_before_it_is_charged() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let put = |change: &dyn Fn(&mut Value)| {
        let mut settings = settings();
        change(&mut settings);
        server.call(&server.operator, "PUT", MODEL, &settings)
    };
    let mut banner = crate::support::banner();
    banner["elsewhere"] = json!(true);
    (banner["close_after"], banner["reward_wait"]) = (Value::Null, Value::Null);
    banner.as_object_mut().unwrap().remove("reward_wait");
    let told = server.call(&server.operator, "PUT", "/v1/models/other", &banner);
    assert_eq!(
        (told.0, &told.json()["place"]),
        (422, &json!("elsewhere")),
        "{told:?}"
    );
    let told = put(&|settings| settings["reward_wait"] = json!(5));
    assert_eq!(
        (told.0, &told.json()["place"]),
        (422, &json!("close_after")),
        "{told:?}"
    );
    let told = server.call(&server.operator, "GET", "/v1/datasets/people", &Value::Null);
    assert_eq!(told.json()["runs"].as_array().unwrap().len(), 1, "{told:?}");
    let client = server.token("client");
    let told = server.call(&client, "GET", "/v1/models/banner/question", &Value::Null);
    assert_eq!(told.0, 409, "{told:?}");
}

#[test]
fn a_server_that_is_killed_takes_every_batch_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = 27_u64;
    let mut kill = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(27);
        Duration::from_micros((random >> 33) % 15_000)
    };
    let mut all = Vec::new();
    for kills in [0, KILLS] {
        let folder = folder.path().join(kills.to_string());
        let mut process = Process::with(&folder, &[]);
        let operator = std::fs::read_to_string(folder.join("operator.token")).unwrap();
        let operator = operator.trim().to_owned();
        let made = |process: &Process, method: &str, path: &str, body: &Value| {
            let answer = process.call(&operator, method, path, body).unwrap();
            assert!(matches!(answer.0, 200 | 201), "{answer:?}");
            answer.1
        };
        let dataset = json!({"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one"});
        made(&process, "PUT", "/v1/datasets/people", &dataset);
        let mut model = settings();
        model["batches"] = json!(KILLS);
        made(&process, "PUT", MODEL, &model);
        let role = json!({"role": "client"});
        let token = made(&process, "POST", "/v1/tenants/main/tokens", &role);
        let client = token["token"].as_str().unwrap().to_owned();
        for batch in 0..KILLS {
            let path = format!("{MODEL}/question");
            let asked = made(&process, "GET", &path, &Value::Null);
            let parts = parts(&question(&asked), positions(batch), &[5]);
            let (path, body) = (format!("{MODEL}/batches"), body("clicks", batch, &parts));
            if kills > 0 {
                // The process dies while it takes the batch.
                std::thread::scope(|scope| {
                    scope.spawn(|| process.call(&client, "POST", &path, &body));
                    std::thread::sleep(kill());
                    let id = process.child.id().to_string();
                    let killed = Command::new("kill").args(["-9", &id]).status();
                    assert!(killed.unwrap().success());
                });
                drop(process);
                process = Process::with(&folder, &[]);
            }
            let (status, taken) = process.call(&client, "POST", &path, &body).unwrap();
            assert_eq!(
                (status, &taken["version"]),
                (200, &json!(batch + 1)),
                "{taken}"
            );
        }
        let spent = made(&process, "GET", "/v1/datasets/people", &Value::Null);
        assert_eq!(spent["runs"].as_array().unwrap().len(), 1, "charged once");
        let policies = (0..=KILLS).map(|version| {
            let path = format!("{MODEL}/policy?version={version}");
            made(&process, "GET", &path, &Value::Null)["weights"].to_string()
        });
        all.push(policies.collect::<Vec<_>>());
    }
    assert_eq!(all[0], all[1]);
}
