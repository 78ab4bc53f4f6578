//! Texts and numbers that nobody else has, planted wherever a request can hold something private:
//! none appears in logs, metrics, the audit log or errors.

use crate::server::{
    Answer, Client, Server, banner, first_token, free_address, new_token, people, wait_until,
};
use serde_json::{Value, json};

/// As a text, and as a number whose digits are found in any form of it.
const TEXT: &str = "zqmarkertext";
const NUMBER: f64 = 73_918_462.5;
const DIGITS: [&str; 3] = ["73918462", "7.39184625", "7391846"];

fn check(what: &str, text: &str) {
    let lower = text.to_lowercase();
    assert!(!lower.contains(TEXT), "{what} has a marked text: {text}");
    for digits in DIGITS {
        assert!(
            !lower.contains(digits),
            "{what} has a marked number: {text}"
        );
    }
}

/// Everything private that a request can hold, well formed and not.
fn bodies() -> Vec<Value> {
    let id = |number: u32| format!("{TEXT}-{number}");
    let context = |age: Value, device: Value| json!({"age": age, "device": device});
    let good = context(json!(NUMBER), json!("phone"));
    vec![
        json!({"event_id": id(0), "context": good}),
        json!({"event_id": id(1), "context": context(json!(TEXT), json!("phone"))}),
        json!({"event_id": id(2), "context": context(json!(1), json!(TEXT))}),
        json!({"event_id": id(3), "context": {TEXT: NUMBER}}),
        json!({"event_id": id(4), "context": [NUMBER, TEXT]}),
        json!({"event_id": id(5), "context": good, "person": TEXT}),
        json!({"event_id": id(6), "context": good, "person": NUMBER}),
        json!({"event_id": id(7), "context": good, "actions": [TEXT]}),
        json!({"event_id": id(8), "context": good, "exclude": [NUMBER]}),
        json!({"event_id": id(9), "context": good, "defer": TEXT}),
        json!({"event_id": id(10), "context": good, TEXT: NUMBER}),
        json!({"event_id": NUMBER, "context": good}),
        json!({"event_id": TEXT.repeat(20), "context": good}),
        json!({"event_id": id(0), "context": context(json!(TEXT), json!(TEXT))}),
    ]
}

/// Bodies that are no JSON.
fn broken() -> Vec<String> {
    vec![
        format!("{{\"context\": {{\"{TEXT}\": {NUMBER}"),
        format!("{TEXT} {NUMBER}"),
        format!("\"{TEXT}\""),
        format!("[{NUMBER}]"),
        format!("{{\"a\": \"\\u{TEXT}\"}}"),
        format!("{{\"event_id\": \"{TEXT}\", \"event_id\": {NUMBER}}}"),
    ]
}

fn seen(answer: Answer, all: &mut Vec<Answer>) {
    if answer.status >= 400 {
        check("an error", &answer.body);
        all.push(answer);
    }
}

fn plant(client: &mut Client, errors: &mut Vec<Answer>) {
    let decisions = "/v1/models/banner/decisions";
    let rank = "/personalizer/v1.1-preview.3/rank";
    let records = "/v1/models/scores/records";
    for body in bodies() {
        seen(client.call("POST", decisions, &body), errors);
        seen(
            client.call("POST", "/v1/models/banner/slots", &body),
            errors,
        );
        let line = json!({"event_id": body["event_id"], "features": body["context"],
                          "target": body["event_id"], "person": body["person"]});
        seen(client.send("POST", records, &line.to_string()), errors);
        let rows = json!({"rows": [body["context"]]});
        seen(
            client.call("POST", "/v1/models/scores/predict", &rows),
            errors,
        );
        let features = json!({"eventId": body["event_id"], "contextFeatures": [body["context"]],
                              "actions": [{"id": "red"}, {"id": TEXT}]});
        seen(client.call("POST", rank, &features), errors);
    }
    let told = [
        json!(NUMBER),
        json!(TEXT),
        json!([NUMBER]),
        json!({TEXT: NUMBER}),
    ];
    for number in 0..12 {
        let event = format!("{TEXT}-{number}");
        for value in &told {
            let value = json!({"value": value});
            let path = format!("{decisions}/{event}/reward");
            seen(client.call("POST", &path, &value), errors);
            let path = format!("/v1/models/scores/records/{event}/target");
            seen(client.call("PUT", &path, &value), errors);
            let path = format!("/personalizer/v1.1-preview.3/events/{event}/reward");
            seen(client.call("POST", &path, &value), errors);
        }
        seen(
            client.send("POST", &format!("{decisions}/{event}/activate"), ""),
            errors,
        );
        let outcome = json!({"policy": 0, "context": {"age": NUMBER, "device": TEXT},
                             "action": TEXT, "value": NUMBER});
        seen(
            client.call("PUT", &format!("/v1/models/banner/slots/{event}"), &outcome),
            errors,
        );
    }
    for text in broken() {
        for (method, path) in [
            ("POST", decisions.to_owned()),
            ("POST", records.to_owned()),
            ("POST", rank.to_owned()),
            ("POST", format!("{decisions}/{TEXT}-0/reward")),
            ("PUT", format!("/v1/models/scores/records/{TEXT}-0/target")),
            ("PUT", format!("/v1/models/banner/slots/{TEXT}-0")),
            ("POST", "/v1/models/scores/predict".to_owned()),
        ] {
            seen(client.send(method, &path, &text), errors);
        }
    }
    // In the wrong places.
    for path in [
        format!("/v1/models/{TEXT}"),
        format!("/v1/models/banner:{TEXT}"),
        format!("/v1/{TEXT}?{TEXT}={NUMBER}"),
        format!("/v1/models/banner/policy?version={TEXT}"),
        format!("/v1/models/banner/releases?after={NUMBER}"),
        format!("{decisions}/{TEXT}-0/{TEXT}"),
    ] {
        seen(client.get(&path), errors);
        seen(client.send(TEXT, &path, TEXT), errors);
    }
}

#[test]
fn nothing_private_is_written_down_or_told_in_errors() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::start_at(folder.path(), free_address(), "debug");
    let mut operator = server.client(&first_token(folder.path(), "operator.token"));
    operator
        .call("PUT", "/v1/datasets/people", &people())
        .is(201);
    operator
        .call("PUT", "/v1/models/banner", &banner("people", 5, 100))
        .is(201);
    let mut scores = banner("people", 5, 100);
    scores["task"] = json!("classify");
    scores["schema"]["target"] = json!("clicked");
    scores
        .as_object_mut()
        .unwrap()
        .retain(|key, _| key != "actions" && key != "mode");
    operator.call("PUT", "/v1/models/scores", &scores).is(201);
    let mut errors = Vec::new();
    for body in [
        json!({"role": "client"}),
        json!({"role": "client", "models": ["banner"]}),
    ] {
        let token = new_token(&mut operator, "main", &body);
        plant(&mut server.client(&token), &mut errors);
    }
    // A secret token is a marker too.
    let forget = json!({"model": "banner", "event_ids": [format!("{TEXT}-0"), TEXT]});
    operator
        .call("POST", "/v1/datasets/people/forget", &forget)
        .is(200);
    operator
        .call(
            "POST",
            "/v1/datasets/people/forget",
            &json!({"person": TEXT}),
        )
        .is(200);
    for told in [
        json!({"person": NUMBER}),
        json!({TEXT: NUMBER}),
        json!({"event_ids": TEXT}),
    ] {
        seen(
            operator.call("POST", "/v1/datasets/people/forget", &told),
            &mut errors,
        );
    }
    wait_until("batches are learned from", || {
        let policy = |json: Value| json["policy"].as_u64().unwrap();
        let mut of = |model: &str| policy(operator.get(&format!("/v1/models/{model}")).json());
        of("banner") > 1 && of("scores") > 1
    });
    check("the audit log", &operator.get("/v1/audit").is(200).body);
    check("metrics", &server.told("/metrics"));
    check("public metrics", &server.told("/metrics/public"));
    let paths = [
        "/v1/models",
        "/v1/datasets",
        "/v1/datasets/people",
        "/v1/models/banner",
    ];
    for path in paths {
        check(path, &operator.get(path).is(200).body);
    }
    server.stop();
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(
        log.contains("\"reward\""),
        "debug shows the route of rewards"
    );
    check("the log", &log);
    for secret in [operator.token(), &first_token(folder.path(), "admin.token")] {
        assert!(!log.contains(secret), "a token is in the log");
    }
    // The planted requests were refused in many ways, and not only in one.
    let mut statuses: Vec<u16> = errors.iter().map(|error| error.status).collect();
    statuses.sort_unstable();
    statuses.dedup();
    for status in [400, 404, 405, 409, 422] {
        assert!(statuses.contains(&status), "no {status}: {statuses:?}");
    }
}
