//! The machine dies at any moment, while several models are asked and told: what was acknowledged
//! is there afterwards, no slot is given out twice, every model is charged once, and policies are
//! those of a server that was fed the same and never died, bit for bit.
//!
//! Each model has one client, which goes on with its next request only after an answer, and sends
//! a request again that the server died on. Batches close with their last slot, and nothing is told
//! about that one. So what a model learns from does not depend on when the machine dies.

use crate::server::{
    Client, Dice, Server, banner, first_token, free_address, new_token, people, wait_until,
};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const KILLS: u32 = if cfg!(feature = "long") { 200 } else { 12 };
const BATCH: u64 = 6;
const BATCHES: u64 = 4000;
/// Batches that every model sees at least.
const LEAST: u64 = 3;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// Answers its first action: nothing depends on coins.
    Shadow,
    /// Answers with coins, which differ from start to start: the other server is told what was
    /// decided.
    Online,
    /// Predicts.
    Records,
}

/// Two data sets: their models learn on threads of their own.
const MODELS: [(&str, &str, Kind); 6] = [
    ("shadow-a", "one", Kind::Shadow),
    ("shadow-b", "two", Kind::Shadow),
    ("online-a", "one", Kind::Online),
    ("online-b", "two", Kind::Online),
    ("records-a", "one", Kind::Records),
    ("records-b", "two", Kind::Records),
];

fn spec(dataset: &str, kind: Kind) -> Value {
    let mut spec = banner(dataset, BATCH, BATCHES);
    match kind {
        Kind::Shadow => spec["evaluation"] = json!({"policies": ["uniform", "current"]}),
        Kind::Online => spec["mode"] = json!("online"),
        Kind::Records => {
            for key in ["actions", "mode"] {
                spec.as_object_mut().unwrap().remove(key);
            }
            spec["task"] = json!("classify");
            spec["schema"]["target"] = json!("clicked");
        }
    }
    spec
}

/// One slot, as it was acknowledged.
struct Event {
    id: String,
    context: Value,
    /// The answer to the decision; none for a slot that stays empty, and for records.
    answer: Option<Value>,
    /// A reward or a target.
    told: Option<Value>,
}

/// Makes data sets and models, whatever happens meanwhile.
fn set_up(operator: &mut Client) {
    for dataset in ["one", "two"] {
        let path = format!("/v1/datasets/{dataset}");
        let (made, _) = operator.insist("PUT", &path, &people().to_string());
        assert!(matches!(made.status, 200 | 201), "{made:?}");
    }
    for (model, dataset, kind) in MODELS {
        let path = format!("/v1/models/{model}");
        let (made, _) = operator.insist("PUT", &path, &spec(dataset, kind).to_string());
        assert!(matches!(made.status, 200 | 201), "{made:?}");
    }
}

/// The client of one model.
struct Asker {
    client: Client,
    model: &'static str,
    kind: Kind,
    dice: Dice,
    /// All slots, in their order.
    events: Vec<Event>,
}

impl Asker {
    fn path(&self, rest: &str) -> String {
        format!("/v1/models/{}/{rest}", self.model)
    }

    fn body(&self, event: &Event) -> String {
        match self.kind {
            Kind::Records => {
                let line = json!({"event_id": event.id, "features": event.context});
                format!("{line}\n")
            }
            _ => json!({"event_id": event.id, "context": event.context}).to_string(),
        }
    }

    fn batch(&mut self) {
        for place in 0..BATCH {
            let is_last = place + 1 == BATCH;
            let id = format!("{}-{}", self.events.len(), self.dice.below(u64::MAX));
            let device = ["phone", "desk"][self.dice.below(2) as usize];
            let context = json!({"age": self.dice.below(100), "device": device});
            let mut event = Event {
                id,
                context,
                answer: None,
                told: None,
            };
            let mut died = self.ask(&mut event, is_last);
            self.events.push(event);
            if !is_last {
                died |= self.tell(place);
            }
            if died {
                self.look_back(if is_last { 0 } else { place + 1 });
            }
            std::thread::sleep(Duration::from_micros(self.dice.below(3000)));
        }
    }

    /// Asks; gives whether the server died meanwhile.
    fn ask(&mut self, event: &mut Event, is_last: bool) -> bool {
        let (path, body) = match self.kind {
            Kind::Online if is_last => ("slots", json!({"event_id": event.id}).to_string()),
            Kind::Records => ("records", self.body(event)),
            _ => ("decisions", self.body(event)),
        };
        let (answer, died) = self.client.insist("POST", &self.path(path), &body);
        // The batch was closed with it, and learned from before the answer could be sent again.
        if is_last && died && answer.status == 410 {
            return died;
        }
        match self.kind {
            Kind::Records => {
                let told = answer.is(200).json();
                let once = told["taken"].as_u64().unwrap() + told["repeated"].as_u64().unwrap();
                assert_eq!((once, &told["null_lines"]), (1, &json!([])), "{told}");
            }
            Kind::Online if is_last => assert_eq!(answer.status, 201, "{answer:?}"),
            _ => event.answer = Some(answer.is(200).json()),
        }
        died
    }

    /// Tells something about some slot of the open batch; gives whether the server died meanwhile.
    fn tell(&mut self, place: u64) -> bool {
        if self.dice.below(4) == 0 {
            return false;
        }
        let back = 1 + self.dice.below(place + 1) as usize;
        let about = self.events.len() - back;
        let (method, path, value) = match self.kind {
            Kind::Records => {
                let path = format!("records/{}/target", self.events[about].id);
                ("PUT", path, json!(self.dice.below(2)))
            }
            _ => {
                let path = format!("decisions/{}/reward", self.events[about].id);
                ("POST", path, json!(self.dice.below(1000) as f64 / 999.0))
            }
        };
        let body = json!({"value": value}).to_string();
        let (answer, died) = self.client.insist(method, &self.path(&path), &body);
        assert_eq!(answer.status, 204, "{answer:?}");
        let told = &mut self.events[about].told;
        if self.kind == Kind::Records {
            // A target is put: the last counts. Of rewards the first does.
            *told = Some(value);
        } else {
            told.get_or_insert(value);
        }
        died
    }

    /// After a crash: the open batch is there, each slot with its own answer.
    fn look_back(&mut self, count: u64) {
        let first = self.events.len() - count as usize;
        for about in first..self.events.len() {
            let event = &self.events[about];
            let body = self.body(event);
            if self.kind == Kind::Records {
                let (answer, _) = self.client.insist("POST", &self.path("records"), &body);
                assert_eq!(answer.is(200).json()["repeated"], json!(1));
                continue;
            }
            // First with another body: a slot that was lost would be taken now.
            let other = json!({"event_id": event.id, "context": {"age": -1, "device": "desk"}});
            let path = self.path("decisions");
            let (answer, _) = self.client.insist("POST", &path, &other.to_string());
            assert_eq!(answer.status, 409, "it is not there: {answer:?}");
            let (answer, _) = self.client.insist("POST", &self.path("decisions"), &body);
            assert_eq!(Some(answer.is(200).json()), event.answer, "another answer");
        }
    }
}

/// The same slots for a server that nobody kills.
fn replay(client: &mut Client, asker: &Asker) {
    let path = |rest: &str| asker.path(rest);
    for event in &asker.events {
        let about = |kind: &str| path(&format!("{kind}/{}", event.id));
        match (asker.kind, &event.answer) {
            (Kind::Records, _) => {
                client
                    .send("POST", &path("records"), &asker.body(event))
                    .is(200);
                if let Some(value) = &event.told {
                    let to = about("records") + "/target";
                    client.call("PUT", &to, &json!({"value": value})).is(204);
                }
            }
            (Kind::Shadow, _) => {
                client
                    .send("POST", &path("decisions"), &asker.body(event))
                    .is(200);
                if let Some(value) = &event.told {
                    let to = about("decisions") + "/reward";
                    client.call("POST", &to, &json!({"value": value})).is(204);
                }
            }
            (Kind::Online, None) => {
                let id = json!({"event_id": event.id});
                client.call("POST", &path("slots"), &id).is(201);
            }
            (Kind::Online, Some(answer)) => {
                let id = json!({"event_id": event.id});
                client.call("POST", &path("slots"), &id).is(201);
                wait_until("the policy that decided is there", || {
                    let model = client.get(&format!("/v1/models/{}", asker.model));
                    model.json()["policy"].as_u64() >= answer["policy"].as_u64()
                });
                let mut outcome = json!({
                    "policy": answer["policy"],
                    "context": event.context,
                    "action": answer["action"],
                });
                if let Some(value) = &event.told {
                    outcome["value"] = value.clone();
                }
                client.call("PUT", &about("slots"), &outcome).is(204);
            }
        }
    }
}

/// Every release of a model, without times: once all its closed batches were learned from.
fn releases(operator: &mut Client, asker: &Asker) -> Vec<String> {
    let path = format!("/v1/models/{}", asker.model);
    let batches = asker.events.len() as u64 / BATCH;
    let mut model = Value::Null;
    wait_until("all batches are learned from", || {
        model = operator.get(&path).is(200).json();
        model["policy"] == json!(batches)
    });
    assert_eq!(model["status"], json!("learning"));
    assert_eq!(model["closed_batches"], json!(batches));
    assert_eq!(
        model["slots"],
        json!(asker.events.len()),
        "a slot twice, or lost"
    );
    let versions = 0..=batches;
    versions
        .map(|version| {
            operator
                .get(&format!("{path}/policy?version={version}"))
                .is(200)
                .body
        })
        .collect()
}

fn check_counts(operator: &mut Client, asker: &Asker) {
    let path = format!("/v1/models/{}/operator", asker.model);
    let exact = operator.get(&path).is(200).json();
    let told = asker.events.iter().filter(|event| event.told.is_some());
    assert_eq!(
        exact["rewards"],
        json!(told.count()),
        "{}: {exact}",
        asker.model
    );
    assert_eq!(exact["late"], json!(0), "{exact}");
}

fn check_charges(operator: &mut Client) {
    for dataset in ["one", "two"] {
        let told = operator
            .get(&format!("/v1/datasets/{dataset}"))
            .is(200)
            .json();
        let mut charged: Vec<&str> = Vec::new();
        for run in told["runs"].as_array().unwrap() {
            assert_eq!(run["begun"], json!(true), "{told}");
            charged.push(run["model"].as_str().unwrap());
        }
        let own = MODELS.iter().filter(|model| model.1 == dataset);
        let own: Vec<&str> = own.map(|model| model.0).collect();
        assert_eq!(charged, own);
    }
}

/// Kills the server while models are made, and so often afterwards, every second time while it
/// starts; the last one lives.
fn kill(folder: &Path, address: SocketAddr, mut server: Server, is_made: &AtomicBool) -> Server {
    let mut dice = Dice(77);
    let mut starting = Duration::from_millis(100);
    let (mut number, mut killed) = (0, 0);
    while killed < KILLS || number % 2 == 1 {
        let longest = if number % 2 == 0 {
            Duration::from_millis(500)
        } else {
            starting * 3 / 2
        };
        let micros = 1 + longest.as_micros() as u64;
        std::thread::sleep(Duration::from_micros(dice.below(micros)));
        server.kill();
        let start = Instant::now();
        server = if number % 2 == 0 {
            Server::spawn(folder, address, "warn")
        } else {
            Server::start_at(folder, address, "warn")
        };
        if number % 2 == 1 {
            starting = start.elapsed();
        }
        number += 1;
        killed += u32::from(is_made.load(Ordering::SeqCst));
    }
    server
}

#[test]
fn what_was_acknowledged_survives_and_nothing_counts_twice() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, address) = (folder.path(), free_address());
    let server = Server::start_at(folder, address, "warn");
    let mut operator = server.client(&first_token(folder, "operator.token"));
    let token = new_token(&mut operator, "main", &json!({"role": "client"}));
    let (is_made, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
    let (mut server, askers) = std::thread::scope(|scope| {
        let (is_made, is_over) = (&is_made, &is_over);
        let killer = scope.spawn(move || {
            // Whatever fails, the clients are told to end.
            let killing = std::panic::AssertUnwindSafe(|| kill(folder, address, server, is_made));
            let server = std::panic::catch_unwind(killing);
            is_over.store(true, Ordering::SeqCst);
            server.unwrap()
        });
        let making = std::panic::AssertUnwindSafe(|| set_up(&mut operator));
        let made = std::panic::catch_unwind(making);
        is_made.store(true, Ordering::SeqCst);
        made.unwrap();
        let askers: Vec<_> = (1_u64..)
            .zip(MODELS)
            .map(|(seed, (model, _, kind))| {
                let mut asker = Asker {
                    client: Client::new(address, &token),
                    model,
                    kind,
                    dice: Dice(seed),
                    events: Vec::new(),
                };
                scope.spawn(move || {
                    let mut batches = 0;
                    while batches < BATCHES && (batches < LEAST || !is_over.load(Ordering::SeqCst))
                    {
                        asker.batch();
                        batches += 1;
                    }
                    asker
                })
            })
            .collect();
        let askers: Vec<Asker> = askers
            .into_iter()
            .map(|asker| asker.join().unwrap())
            .collect();
        (killer.join().unwrap(), askers)
    });
    let mut operator = server.client(operator.token());
    let killed: Vec<Vec<String>> = askers
        .iter()
        .map(|asker| releases(&mut operator, asker))
        .collect();
    askers
        .iter()
        .for_each(|asker| check_counts(&mut operator, asker));
    check_charges(&mut operator);
    server.stop();

    let other = tempfile::tempdir().unwrap();
    let server = Server::start(other.path());
    let mut operator = server.client(&first_token(other.path(), "operator.token"));
    let token = new_token(&mut operator, "main", &json!({"role": "client"}));
    set_up(&mut operator);
    std::thread::scope(|scope| {
        for asker in &askers {
            let mut client = server.client(&token);
            scope.spawn(move || replay(&mut client, asker));
        }
    });
    for (asker, killed) in askers.iter().zip(killed) {
        let undisturbed = releases(&mut operator, asker);
        for (version, (own, other)) in killed.iter().zip(&undisturbed).enumerate() {
            assert_eq!(own, other, "{} differs at version {version}", asker.model);
        }
    }
    let slots: usize = askers.iter().map(|asker| asker.events.len()).sum();
    println!("{KILLS} kills among {slots} slots");
}
