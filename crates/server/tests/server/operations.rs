//! Old copies, master keys, rates, and what is forgotten.

use crate::support::{START, Server, ask, banner, config};
use hushstream_server::keys::MasterSource;
use hushstream_server::store::ModelStatus;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

const NOTHING: Value = Value::Null;
const DECISIONS: &str = "/v1/models/banner/decisions";

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn fill(server: &Server, client: &str, batch: u32) {
    for slot in 0..10 {
        let id = format!("{batch}-{slot}");
        let answer = server.call(client, "POST", DECISIONS, &ask(&id, 40.0));
        assert_eq!(answer.0, 200, "{answer:?}");
    }
    server.clock.advance(5_000);
}

#[test]
fn a_folder_that_is_older_than_its_witness_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (data, old) = (folder.path().join("data"), folder.path().join("old"));
    let config = || {
        let mut config = config(&data);
        config.witness = Some(folder.path().join("witness"));
        config
    };
    let server = Server::with(config(), START).unwrap();
    server.banner();
    let client = server.token("client");
    fill(&server, &client, 0);
    server.wait_for(1);
    drop(server);
    copy(&data, &old);
    let witness = folder.path().join("witness");
    let before = fs::read(&witness).unwrap();
    let server = Server::with(config(), START + 10_000).unwrap();
    fill(&server, &client, 1);
    server.wait_for(2);
    drop(server);
    // A crash after the store had published, and before the witness had noted it: the next start
    // answers with the second policy, and notes it first.
    fs::write(&witness, before).unwrap();
    // The newest is fine, the copy is not.
    drop(Server::with(config(), START + 20_000).unwrap());
    fs::remove_dir_all(&data).unwrap();
    copy(&old, &data);
    let refused = Server::with(config(), START + 30_000)
        .err()
        .unwrap()
        .to_string();
    assert!(refused.contains("old copy"), "{refused}");
    // It may be read: nothing is learned from it, nothing is charged, and the witness stands.
    let newest = fs::read(&witness).unwrap();
    let mut restored = config();
    restored.restored = true;
    let server = Server::with(restored, START + 30_000).unwrap();
    let answer = server
        .call(&client, "POST", DECISIONS, &ask("later", 40.0))
        .json();
    assert_eq!(
        (&answer["learning"], &answer["policy"]),
        (&json!(false), &json!(1))
    );
    let path = "/v1/models/banner/policy?version=1";
    assert_eq!(server.call(&client, "GET", path, &NOTHING).0, 200);
    assert_eq!(fs::read(&witness).unwrap(), newest);
    let mut other = banner();
    other["epsilon"] = json!(0.5);
    let refused = server.call(&server.operator, "PUT", "/v1/models/other", &other);
    assert_eq!(refused.0, 409, "{refused:?}");
}

#[test]
fn a_store_that_is_older_than_a_journal_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let client = server.token("client");
    drop(server);
    let (store, old) = (
        folder.path().join("store.redb"),
        folder.path().join("old.redb"),
    );
    fs::copy(&store, &old).unwrap();
    let server = Server::start(folder.path(), START);
    fill(&server, &client, 0);
    server.wait_for(1);
    drop(server);
    fs::copy(&old, &store).unwrap();
    let server = Server::start(folder.path(), START + 10_000);
    fill(&server, &client, 0);
    server.wait(|server| {
        let row = server.app.model("main", "banner").unwrap();
        row.status == ModelStatus::Failed
    });
    // Decisions are still answered, from what the store knows.
    assert_eq!(
        server.call(&client, "POST", DECISIONS, &ask("x", 1.0)).0,
        200
    );
    let released = server
        .call(&client, "GET", "/v1/models/banner", &NOTHING)
        .json();
    assert_eq!(released["released"], 0);
}

#[test]
fn secrets_are_sealed_under_the_master_key() {
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("elsewhere.key");
    let with = |source: MasterSource| {
        let mut config = config(&folder.path().join("data"));
        config.master = Some(source);
        Server::with(config, START)
    };
    let server = with(MasterSource::File(key.clone())).unwrap();
    server.banner();
    let client = server.token("client");
    assert_eq!(
        server.call(&client, "POST", DECISIONS, &ask("one", 40.0)).0,
        200
    );
    drop(server);
    if !crate::shared::is_on() {
        let run = folder.path().join("data/datasets/1/models/2/key");
        assert_ne!(fs::read(&run).unwrap().len(), 33, "sealed");
    }
    let other = MasterSource::Command(format!("echo {}", "12".repeat(32)));
    let refused = with(other).err().unwrap().to_string();
    assert!(refused.contains("master key"), "{refused}");
    let same = MasterSource::Command(format!("cat {}", key.display()));
    let server = with(same).unwrap();
    fill(&server, &client, 1);
    server.clock.advance(60_000);
    // Two batches: the second by the clock.
    server.wait_for(2);
}

#[test]
fn too_many_decisions_of_a_token_are_refused_and_rewards_never_are() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    config.rate = Some(5);
    let server = Server::with(config, START).unwrap();
    server.banner();
    let client = server.token("client");
    let ask = |slot: u32| {
        server
            .call(&client, "POST", DECISIONS, &ask(&slot.to_string(), 1.0))
            .0
    };
    let statuses: Vec<u16> = (0..9).map(ask).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 200, 429, 429, 429]);
    for _ in 0..50 {
        let path = format!("{DECISIONS}/1/reward");
        assert_eq!(
            server.call(&client, "POST", &path, &json!({"value": 1})).0,
            204
        );
    }
    // A flood of rewards has taken no slot.
    let model = server
        .call(&client, "GET", "/v1/models/banner", &NOTHING)
        .json();
    assert_eq!(model["slots"], 6);
    server.clock.advance(1_000);
    assert_eq!(ask(20), 200);
}

#[test]
fn what_is_not_closed_can_be_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let client = server.token("client");
    fill(&server, &client, 0);
    server.wait_for(1);
    assert_eq!(
        server.call(&client, "POST", DECISIONS, &ask("new", 1.0)).0,
        200
    );
    let forget = json!({"model": "banner", "event_ids": ["new", "0-3", "never"]});
    let path = "/v1/datasets/people/forget";
    let forgotten = server.call(&server.operator, "POST", path, &forget);
    assert_eq!(forgotten.0, 200, "{forgotten:?}");
    let forgotten = forgotten.json();
    assert_eq!(
        (&forgotten["nulled"], &forgotten["beyond_reach"]),
        (&json!(1), &json!(1))
    );
    server.clock.advance(65_000);
    server.wait_for(2);
    let exact = server.call(
        &server.operator,
        "GET",
        "/v1/models/banner/operator",
        &NOTHING,
    );
    assert_eq!(exact.json()["null"], 10);
}

#[test]
fn personalizers_clients_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let body = json!({"role": "client", "models": ["banner"]});
    let made = server
        .call(&server.operator, "POST", "/v1/tenants/main/tokens", &body)
        .json();
    let client = made["token"].as_str().unwrap();
    let base = "/personalizer/v1.1-preview.3";
    let rank = json!({
        "contextFeatures": [{"user": {"age": 33, "mood": "good"}}, {"device": "phone"}],
        "actions": [{"id": "red", "features": [{"x": 1}]}, {"id": "green", "features": []}],
        "excludedActions": ["red"],
        "eventId": "event",
        "deferActivation": true,
    });
    let ranked = server.call(client, "POST", &format!("{base}/rank"), &rank);
    assert_eq!(ranked.0, 201, "{ranked:?}");
    let ranked = ranked.json();
    assert_eq!(
        (&ranked["rewardActionId"], &ranked["eventId"]),
        (&json!("green"), &json!("event"))
    );
    assert_eq!(
        ranked["ranking"][1],
        json!({"id": "red", "probability": 0.0})
    );
    let told = |path: &str, body: &Value| {
        server
            .call(client, "POST", &format!("{base}/events/{path}"), body)
            .0
    };
    assert_eq!(told("event/activate", &NOTHING), 204);
    assert_eq!(told("event/reward", &json!({"value": 1})), 204);
    assert_eq!(told("none/reward", &json!({"value": 1})), 404);
    let wide = server.token("client");
    assert_eq!(
        server.call(&wide, "POST", &format!("{base}/rank"), &rank).0,
        409
    );
    server.clock.advance(65_000);
    server.wait_for(1);
    let exact = server.call(
        &server.operator,
        "GET",
        "/v1/models/banner/operator",
        &NOTHING,
    );
    assert_eq!(exact.json()["plays"]["green"], 1);
}

#[test]
fn decisions_that_find_no_room_take_no_slot_and_rewards_need_none() {
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(folder.path());
    config.limits.waiting = 2;
    let server = Server::with(config, START).unwrap();
    server.banner();
    let client = server.token("client");
    let ask = |id: &str| server.call(&client, "POST", DECISIONS, &ask(id, 1.0));
    assert_eq!(ask("first").0, 200);
    // Two decisions in progress, which hold their places.
    let places = (server.app.room.enter(), server.app.room.enter());
    let refused = ask("second");
    assert_eq!(refused.0, 503, "{refused:?}");
    let slots = server.call(&client, "POST", "/v1/models/banner/slots", &json!({}));
    assert_eq!(slots.0, 503, "{slots:?}");
    // Also before a token is looked at: it costs little.
    assert_eq!(server.call("", "POST", DECISIONS, &NOTHING).0, 503);
    let told = server.call(
        &client,
        "POST",
        &format!("{DECISIONS}/first/reward"),
        &json!({"value": 1}),
    );
    assert_eq!(told.0, 204, "{told:?}");
    let model = || {
        server
            .call(&client, "GET", "/v1/models/banner", &NOTHING)
            .json()
    };
    assert_eq!(model()["slots"], 1);
    let metrics = server.app.metrics.public.text();
    assert!(metrics.contains("hushstream_shed_total 3\n"), "{metrics}");
    // The load is over, and nothing of it is left.
    drop(places);
    assert_eq!(ask("second").0, 200);
    assert_eq!(model()["slots"], 2);
    assert!(!server.app.room.is_full());
}
