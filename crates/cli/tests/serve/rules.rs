//! Rules of slots: they are given out before content is looked at, never twice, and nothing that
//! is told later moves them. What was restored from an old copy is refused.

use crate::server::{
    Answer, Client, PATIENCE, Server, banner, first_token, new_token, people, wait_until,
};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const DECISIONS: &str = "/v1/models/banner/decisions";

struct Shop {
    folder: TempDir,
    server: Server,
    operator: Client,
    client: Client,
}

impl Shop {
    fn open(spec: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path());
        let mut operator = server.client(&first_token(folder.path(), "operator.token"));
        operator
            .call("PUT", "/v1/datasets/people", &people())
            .is(201);
        operator.call("PUT", "/v1/models/banner", spec).is(201);
        let token = new_token(&mut operator, "main", &json!({"role": "client"}));
        let client = server.client(&token);
        Self {
            folder,
            server,
            operator,
            client,
        }
    }

    /// After something was done to the folder of a server that was stopped.
    fn reopen(&mut self) {
        self.server = Server::start(self.folder.path());
        self.operator = self.server.client(self.operator.token());
        self.client = self.server.client(self.client.token());
    }

    fn model(&mut self) -> Value {
        self.operator.get("/v1/models/banner").is(200).json()
    }

    fn slots(&mut self) -> u64 {
        self.model()["slots"].as_u64().unwrap()
    }

    fn exact(&mut self) -> Value {
        self.operator
            .get("/v1/models/banner/operator")
            .is(200)
            .json()
    }

    fn decide(&mut self, id: &str) -> Answer {
        self.client.call("POST", DECISIONS, &asked(id))
    }

    fn reward(&mut self, id: &str, value: f64) -> Answer {
        let path = format!("{DECISIONS}/{id}/reward");
        self.client.call("POST", &path, &json!({"value": value}))
    }

    /// Decides for slots of these numbers.
    fn fill(&mut self, slots: std::ops::Range<u64>) {
        for slot in slots {
            self.decide(&format!("slot-{slot}")).is(200);
        }
    }

    fn wait_for(&mut self, policy: u64) {
        wait_until("a batch is learned from", || {
            self.model()["policy"] == json!(policy)
        });
    }

    fn file(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join("data").join(name)
    }
}

fn asked(id: &str) -> Value {
    json!({"event_id": id, "context": {"age": 31, "device": "phone"}})
}

/// A model whose batches close a while after they are full.
fn patient() -> Value {
    let mut spec = banner("people", 5, 10);
    spec["reward_wait"] = json!(3600);
    spec
}

#[test]
fn content_is_looked_at_after_the_slot_is_taken() {
    let mut shop = Shop::open(&patient());
    let bad: [Value; 6] = [
        json!({"age": "old", "device": "phone"}),
        json!({"age": 31}),
        json!({"age": 31, "device": "phone", "more": 1}),
        json!({"age": 31, "device": {"a": 1}}),
        json!([1, 2]),
        Value::Null,
    ];
    for (number, context) in (1..).zip(&bad) {
        let body = json!({"event_id": format!("bad-{number}"), "context": context});
        let refused = shop.client.call("POST", DECISIONS, &body).is(422);
        assert_eq!(shop.slots(), number, "{context}");
        // Again: the same refusal, and no second slot. With another body: a conflict.
        let again = shop.client.call("POST", DECISIONS, &body).is(422);
        assert_eq!(again.status, refused.status);
        shop.decide(&format!("bad-{number}")).is(409);
        assert_eq!(shop.slots(), number);
    }
    let more = [
        ("actions", json!(["blue"])),
        ("exclude", json!(["red", "green"])),
        ("defer", json!("no")),
        ("person", json!(7)),
        ("unknown", json!(1)),
    ];
    for (number, (key, value)) in (7..).zip(more) {
        let mut body = asked(&format!("more-{number}"));
        body[key] = value;
        shop.client.call("POST", DECISIONS, &body).is(422);
        assert_eq!(shop.slots(), number, "{key}");
    }
    // What is no JSON object is content too: NaN is not JSON.
    for (number, text) in (12..).zip(["{", "[]", "7", ""]) {
        shop.client.send("POST", DECISIONS, text).is(400);
        assert_eq!(shop.slots(), number, "{text}");
    }
    // An unsound id and the size are public: they take no slot.
    let slots = shop.slots();
    for text in ["{\"event_id\": 7}", "{\"event_id\": \"\"}"] {
        shop.client.send("POST", DECISIONS, text).is(400);
    }
    let long = json!({"event_id": "x".repeat(129)}).to_string();
    shop.client.send("POST", DECISIONS, &long).is(400);
    let large = format!("{{\"context\": \"{}\"}}", "x".repeat(1 << 17));
    shop.client.send("POST", DECISIONS, &large).is(413);
    assert_eq!(shop.slots(), slots);
    let exact = shop.exact();
    assert_eq!(exact["refused_contents"], json!(slots), "{exact}");
}

#[test]
fn lines_take_a_slot_each_or_none_at_all() {
    let mut spec = patient();
    spec["task"] = json!("classify");
    spec["schema"]["target"] = json!("clicked");
    spec.as_object_mut()
        .unwrap()
        .retain(|key, _| key != "actions" && key != "mode");
    let mut shop = Shop::open(&spec);
    let path = "/v1/models/banner/records";
    let line = |id: &str, age: Value| {
        let features = json!({"age": age, "device": "phone"});
        json!({"event_id": id, "features": features, "target": 1}).to_string()
    };
    let text = [
        line("a", json!(1)),
        line("b", json!([])),
        line("c", json!(3)),
    ]
    .join("\n");
    let taken = shop.client.send("POST", path, &text).is(200).json();
    assert_eq!(taken["taken"], json!(3));
    let nulls = taken["null_lines"].as_array().unwrap();
    assert_eq!((nulls.len(), &nulls[0]["line"]), (1, &json!(2)), "{taken}");
    assert_eq!(shop.slots(), 3);
    let again = shop.client.send("POST", path, &text).is(200).json();
    assert_eq!(
        (&again["taken"], &again["repeated"]),
        (&json!(0), &json!(3))
    );
    // A line that is no JSON object takes its slot. An unsound id is public: nothing of the request
    // is taken, and its place is told.
    for (id, broken) in [("d", "{"), ("e", "7")] {
        let text = format!("{}\n\n{broken}\n", line(id, json!(1)));
        let taken = shop.client.send("POST", path, &text).is(200).json();
        assert_eq!(taken["taken"], json!(2));
        assert_eq!(taken["null_lines"][0]["line"], json!(3));
    }
    let text = format!("{}\n{{\"event_id\": 1}}\n", line("f", json!(1)));
    let refused = shop.client.send("POST", path, &text).is(422).json();
    assert_eq!(refused["place"], json!("line 2"));
    let many = "{}\n".repeat(10_001);
    shop.client.send("POST", path, &many).is(413);
    assert_eq!(shop.slots(), 7);
    // A late target, and one for nothing.
    shop.client
        .call("PUT", &format!("{path}/a/target"), &json!({"value": 0}))
        .is(204);
    shop.client
        .call("PUT", &format!("{path}/z/target"), &json!({"value": 0}))
        .is(404);
}

#[test]
fn repeats_get_the_stored_answer_until_the_slot_is_learned_from() {
    let mut shop = Shop::open(&banner("people", 5, 10));
    let first = shop.decide("slot-0").is(200);
    assert_eq!(shop.decide("slot-0"), first);
    let mut other = asked("slot-0");
    other["context"]["age"] = json!(32);
    shop.client.call("POST", DECISIONS, &other).is(409);
    shop.reward("slot-0", 1.0).is(204);
    shop.reward("slot-0", 0.25).is(204);
    shop.reward("unknown", 1.0).is(404);
    for bad in [
        "{}",
        "{\"value\": \"1\"}",
        "{\"value\": null}",
        "{\"value\": 1, \"x\": 1}",
    ] {
        let path = format!("{DECISIONS}/slot-0/reward");
        shop.client.send("POST", &path, bad).is(422);
    }
    // An id is its token's own.
    let token = new_token(&mut shop.operator, "main", &json!({"role": "client"}));
    let mut stranger = shop.server.client(&token);
    let path = format!("{DECISIONS}/slot-0/reward");
    stranger.call("POST", &path, &json!({"value": 0})).is(404);
    assert_eq!(shop.slots(), 1);
    shop.fill(1..5);
    shop.wait_for(1);
    // Learned from: the id is known for ever, its content is gone.
    shop.decide("slot-0").is(410);
    shop.client.call("POST", DECISIONS, &other).is(410);
    shop.reward("slot-0", 0.0).is(410);
    shop.reward("unknown", 0.0).is(404);
    assert_eq!(shop.slots(), 5);
    let exact = shop.exact();
    let told = ["rewards", "repeated", "late", "default"].map(|key| exact[key].as_u64());
    assert_eq!(told, [Some(1), Some(1), Some(1), Some(4)], "{exact}");
    assert_eq!(
        exact["mean_reward"],
        json!(1.0),
        "the first reward counts, once"
    );
    // Also after the server was started anew.
    shop.server.stop();
    shop.reopen();
    shop.decide("slot-0").is(410);
    shop.reward("slot-0", 0.0).is(410);
    assert_eq!(shop.slots(), 5);
}

#[test]
fn after_the_last_batch_decisions_are_answered_and_take_no_slot() {
    let mut shop = Shop::open(&banner("people", 5, 2));
    shop.fill(0..10);
    shop.wait_for(2);
    assert_eq!(shop.model()["status"], json!("finished"));
    let answer = shop.decide("after").is(200).json();
    assert_eq!(answer["learning"], json!(false));
    shop.reward("after", 1.0).is(404);
    assert_eq!(shop.slots(), 10);
}

/// A flood of rewards, good, late and of nothing, while decisions are asked for one after the
/// other: none is turned away, and the slots are those of a quiet day.
#[test]
fn a_flood_of_rewards_leaves_the_slots_as_they_are() {
    let mut shop = Shop::open(&banner("people", 20, 10));
    let (address, token) = (shop.server.address, shop.client.token().to_owned());
    let (is_over, sent) = (AtomicBool::new(false), AtomicU64::new(0));
    let is_over = &is_over;
    std::thread::scope(|scope| {
        for flood in 0..32 {
            let mut client = Client::new(address, &token);
            let sent = &sent;
            scope.spawn(move || {
                for number in flood.. {
                    let path = format!("{DECISIONS}/slot-{}/reward", number % 70);
                    let answer = client.call("POST", &path, &json!({"value": 1}));
                    let is_sound = matches!(answer.status, 204 | 404 | 410);
                    assert!(is_sound, "a reward was turned away: {answer:?}");
                    sent.fetch_add(1, Ordering::Relaxed);
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                }
            });
        }
        let deciding = std::panic::AssertUnwindSafe(|| shop.fill(0..60));
        let decided = std::panic::catch_unwind(deciding);
        is_over.store(true, Ordering::SeqCst);
        decided.unwrap();
    });
    assert_eq!(shop.slots(), 60);
    assert!(sent.load(Ordering::Relaxed) > 60);
    shop.wait_for(3);
    let told = shop.server.told("/metrics/public");
    assert!(told.contains("hushstream_shed_total 0\n"), "{told}");
    assert!(told.contains("hushstream_slots_total 60\n"), "{told}");
}

/// A decision whose batch closes by the clock: its reward is taken until then, and not after.
#[test]
fn a_batch_closes_by_the_clock_too() {
    let mut spec = banner("people", 5, 10);
    spec["close_after"] = json!(1);
    spec["reward_wait"] = json!(1);
    let mut shop = Shop::open(&spec);
    let answer = shop.decide("alone").is(200).json();
    assert!(answer["closes_by"].is_string(), "{answer}");
    shop.wait_for(1);
    assert_eq!(shop.slots(), 5, "the rest of the batch is null");
    shop.reward("alone", 1.0).is(410);
    let exact = shop.exact();
    assert_eq!(
        (&exact["null"], &exact["default"]),
        (&json!(4), &json!(1)),
        "{exact}"
    );
}

fn copy(from: &Path, to: &Path) {
    std::fs::copy(from, to).unwrap();
}

/// The operator sees that a model does not learn, and readers see no release.
fn has_failed(shop: &mut Shop, policy: u64) {
    let start = Instant::now();
    wait_until("the model has failed", || {
        let model = shop.model();
        assert_eq!(
            model["policy"],
            json!(policy),
            "it was released again: {model}"
        );
        assert!(start.elapsed() < PATIENCE, "{model}");
        model["status"] == json!("failed")
    });
    // Decisions are answered from what was published.
    let answer = shop.decide("anyway").is(200).json();
    assert_eq!(answer["policy"], json!(policy));
}

/// A store from a backup: slots that were learned from would be given out again.
#[test]
fn a_restored_store_that_is_behind_the_journal_is_refused() {
    let mut shop = Shop::open(&banner("people", 5, 20));
    shop.fill(0..12);
    shop.wait_for(2);
    shop.server.stop();
    let (store, kept) = (shop.file("store.redb"), shop.folder.path().join("kept"));
    copy(&store, &kept);
    shop.reopen();
    shop.fill(12..26);
    shop.wait_for(5);
    shop.server.stop();
    copy(&kept, &store);
    if Server::refuses(shop.folder.path()) {
        return;
    }
    shop.reopen();
    for slot in 0..20 {
        shop.decide(&format!("new-{slot}"));
        std::thread::sleep(Duration::from_millis(5));
    }
    has_failed(&mut shop, 2);
}

/// The same by one batch only: as far behind as a crash can leave it, but for the slots.
#[test]
fn a_restored_store_that_is_one_batch_behind_is_refused_too() {
    let mut shop = Shop::open(&banner("people", 5, 20));
    shop.fill(0..12);
    shop.wait_for(2);
    shop.server.stop();
    let (store, kept) = (shop.file("store.redb"), shop.folder.path().join("kept"));
    copy(&store, &kept);
    shop.reopen();
    shop.fill(12..15);
    shop.wait_for(3);
    shop.server.stop();
    copy(&kept, &store);
    if Server::refuses(shop.folder.path()) {
        return;
    }
    shop.reopen();
    for slot in 0..8 {
        shop.decide(&format!("new-{slot}"));
    }
    has_failed(&mut shop, 2);
}

fn ledgers(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(ledgers(&path));
        } else if path.file_name().is_some_and(|name| name == "ledger") {
            all.push(path);
        }
    }
    all
}

/// A ledger from a backup has forgotten what was spent.
#[test]
fn a_ledger_that_was_rolled_back_is_refused() {
    let mut shop = Shop::open(&banner("people", 5, 20));
    shop.server.stop();
    let ledger = ledgers(shop.folder.path()).pop().unwrap();
    let kept = shop.folder.path().join("kept");
    copy(&ledger, &kept);
    shop.reopen();
    shop.operator
        .call("PUT", "/v1/models/second", &banner("people", 5, 20))
        .is(201);
    shop.fill(0..6);
    shop.wait_for(1);
    shop.server.stop();
    copy(&kept, &ledger);
    if Server::refuses(shop.folder.path()) {
        return;
    }
    shop.reopen();
    let told = shop.operator.get("/v1/datasets/people");
    assert!(told.status >= 400, "what was spent is forgotten: {told:?}");
    let third = shop
        .operator
        .call("PUT", "/v1/models/third", &banner("people", 5, 20));
    assert!(third.status >= 400, "{third:?}");
}
