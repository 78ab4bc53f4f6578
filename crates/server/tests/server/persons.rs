//! Data sets that protect persons: all slots of a person, up to the stated number, over all batches
//! and starts. Noise is of one seed, so a slot that does not count leaves every policy as it is,
//! bit for bit.

use crate::support::{START, Server, banner};
use serde_json::{Value, json};

const NOTHING: Value = Value::Null;
const DECISIONS: &str = "/v1/models/banner/decisions";

/// One decision: whose, in which context, and what came of it.
type Step = (Option<&'static str>, f64, f64);

struct Shop {
    server: Server,
    client: String,
    sent: u32,
    folder: tempfile::TempDir,
}

fn dataset() -> Value {
    json!({"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one", "persons": true})
}

/// Batches of ten, of which a person may fill one slot of each of two.
fn model() -> Value {
    let mut model = banner();
    model["per_person"] = json!({"most": 2});
    model
}

impl Shop {
    fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), START);
        for (path, body) in [
            ("/v1/datasets/people", dataset()),
            ("/v1/models/banner", model()),
        ] {
            let made = server.call(&server.operator, "PUT", path, &body);
            assert_eq!(made.0, 201, "{made:?}");
        }
        let client = server.token("client");
        Self {
            server,
            client,
            sent: 0,
            folder,
        }
    }

    fn decide(&mut self, (person, age, reward): Step) -> String {
        let id = format!("slot-{}", self.sent);
        self.sent += 1;
        let mut body = json!({"event_id": id, "actions": ["red"],
                              "context": {"age": age, "device": "phone"}});
        if let Some(person) = person {
            body["person"] = json!(person);
        }
        let told = self.server.call(&self.client, "POST", DECISIONS, &body);
        assert_eq!(told.0, 200, "{told:?}");
        let path = format!("{DECISIONS}/{id}/reward");
        let told = self
            .server
            .call(&self.client, "POST", &path, &json!({"value": reward}));
        assert_eq!(told.0, 204, "{told:?}");
        id
    }

    /// These slots, and the rest of their batch of people who come once.
    fn batch(&mut self, steps: &[Step]) {
        for step in steps {
            self.decide(*step);
        }
        while !self.sent.is_multiple_of(10) {
            let name: &'static str = format!("once-{}", self.sent).leak();
            self.decide((Some(name), f64::from(self.sent % 7) * 10.0, 0.5));
        }
        self.server.clock.advance(60_000);
        self.server.wait_for(u64::from(self.sent / 10));
    }

    fn reopen(mut self) -> Self {
        drop(self.server);
        self.server = Server::start(self.folder.path(), START + 3_600_000);
        self
    }

    fn get(&self, path: &str) -> Value {
        let told = self
            .server
            .call(&self.server.operator, "GET", path, &NOTHING);
        assert_eq!(told.0, 200, "{told:?}");
        told.json()
    }

    fn weights(&self) -> Value {
        self.get("/v1/models/banner/policy")["weights"].clone()
    }
}

/// The policy after these batches, with a restart before the last.
fn policy(batches: &[&[Step]]) -> Value {
    let mut shop = Shop::open();
    for (number, steps) in batches.iter().enumerate() {
        if number == 2 {
            shop = shop.reopen();
        }
        shop.batch(steps);
    }
    shop.weights()
}

const ANN: Option<&str> = Some("ann");

#[test]
fn a_person_counts_once_per_batch_and_so_often_in_all() {
    // Ann fills a slot of each batch, and more than one of the first.
    let usual: [&[Step]; 3] = [
        &[(ANN, 30.0, 1.0), (ANN, 40.0, 1.0), (None, 50.0, 1.0)],
        &[(ANN, 30.0, 0.0)],
        &[(ANN, 60.0, 1.0)],
    ];
    let policy_of = |change: &dyn Fn(&mut Vec<Vec<Step>>)| {
        let mut batches: Vec<Vec<Step>> = usual.iter().map(|steps| steps.to_vec()).collect();
        change(&mut batches);
        let batches: Vec<&[Step]> = batches.iter().map(Vec::as_slice).collect();
        policy(&batches)
    };
    let known = policy_of(&|_| ());
    // What does not count: her second slot of a batch, a slot of nobody, and her third batch, also
    // after a restart.
    for (batch, place) in [(0, 1), (0, 2), (2, 0)] {
        let other = policy_of(&|batches: &mut Vec<Vec<Step>>| {
            let (_, age, reward) = &mut batches[batch][place];
            (*age, *reward) = (99.0, 1.0 - *reward);
        });
        assert_eq!(known, other, "batch {batch}, place {place}");
    }
    // What counts.
    for (batch, place) in [(0, 0), (1, 0)] {
        let other = policy_of(&|batches: &mut Vec<Vec<Step>>| {
            let (_, age, reward) = &mut batches[batch][place];
            (*age, *reward) = (99.0, 1.0 - *reward);
        });
        assert_ne!(known, other, "batch {batch}, place {place}");
    }
    // The third batch of somebody else counts.
    let other = policy_of(&|batches: &mut Vec<Vec<Step>>| batches[2][0].0 = Some("bob"));
    assert_ne!(known, other);
}

#[test]
fn a_person_is_forgotten_in_all_slots_that_are_not_closed() {
    let mut shop = Shop::open();
    shop.batch(&[(ANN, 30.0, 1.0)]);
    let late = shop.decide((ANN, 40.0, 1.0));
    shop.decide((Some("bob"), 40.0, 1.0));
    let operator = shop.server.operator.clone();
    let forget = |shop: &Shop, body: &Value| {
        shop.server
            .call(&operator, "POST", "/v1/datasets/people/forget", body)
    };
    let told = forget(&shop, &json!({"person": "ann"}));
    assert_eq!(told.0, 200, "{told:?}");
    let told = told.json();
    assert_eq!(told["nulled"], 1, "{told}");
    // Her reward is refused or changes nothing; bob's slot is as it was.
    let path = format!("{DECISIONS}/{late}/reward");
    let _ = shop
        .server
        .call(&shop.client, "POST", &path, &json!({"value": 0}));
    shop.batch(&[]);
    let exact = shop.get("/v1/models/banner/operator");
    assert_eq!(exact["null"], 1, "{exact}");
    let log = shop.server.call(&operator, "GET", "/v1/audit", &NOTHING).1;
    assert!(log.contains("forgot") || log.contains("forget"), "{log}");
    assert!(!log.contains("ann\""), "{log}");
}

/// A record that names nobody is null where persons are limited: its batch is learned all the same.
#[test]
fn records_of_nobody_are_null() {
    let shop = Shop::open();
    let model = json!({
        "dataset": "people",
        "task": "classify",
        "schema": {"target": "y", "bounds": {"a": [-1, 1]}},
        "per_person": {"most": 2},
        "batch": 5,
        "batches": 2,
        "reward_wait": 1,
        "epsilon": 2.0,
        "delta": 1e-7,
        "simulated": 3,
    });
    let path = "/v1/models/people";
    let made = shop.server.call(&shop.server.operator, "PUT", path, &model);
    assert_eq!(made.0, 201, "{made:?}");
    let lines: String = (0..5)
        .map(|number| {
            let person = if number == 3 {
                r#", "person": "ann""#
            } else {
                ""
            };
            format!("{{\"features\": {{\"a\": 0.5}}, \"target\": 1{person}}}\n")
        })
        .collect();
    let taken = shop
        .server
        .raw(&shop.client, "POST", &format!("{path}/records"), &lines);
    assert_eq!(
        (taken.0, &taken.json()["taken"]),
        (200, &json!(5)),
        "{taken:?}"
    );
    shop.server.clock.advance(5_000);
    shop.server.wait(|server| {
        let row = server.app.model("main", "people").unwrap();
        server.app.policies.newest(&row).unwrap().published.version == 1
    });
    assert_eq!(shop.get(path)["status"], "learning");
}

#[test]
fn persons_are_promised_and_must_be_limited() {
    let shop = Shop::open();
    let told = shop.get("/v1/models/banner").to_string();
    assert!(told.contains("one person"), "{told}");
    assert_eq!(shop.get("/v1/datasets/people")["persons"], true);
    let call =
        |path: &str, body: &Value| shop.server.call(&shop.server.operator, "PUT", path, body);
    // A data set of persons, and a model that does not limit them; and the other way round.
    let mut unlimited = banner();
    unlimited["dataset"] = json!("people");
    let refused = call("/v1/models/other", &unlimited);
    assert_eq!(refused.0, 422, "{refused:?}");
    assert_eq!(refused.json()["place"], "per_person");
    let mut records = dataset();
    records["persons"] = json!(false);
    assert_eq!(call("/v1/datasets/records", &records).0, 201);
    let mut limited = model();
    limited["dataset"] = json!("records");
    assert_eq!(call("/v1/models/other", &limited).0, 422);
    // The same data set cannot be of records later.
    assert_eq!(call("/v1/datasets/people", &records).0, 409);
}
