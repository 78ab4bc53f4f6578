//! More models than may be open: the same releases, few open files, and nobody waits for all of
//! another's batches.

use crate::support::{START, Server, ask, banner, config};
use hushstream_server::clock::{Clock, Millis};
use hushstream_server::{App, Config};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const MODELS: [(&str, &str); 6] = [
    ("people", "a"),
    ("visits", "b"),
    ("people", "c"),
    ("visits", "d"),
    ("people", "e"),
    ("visits", "f"),
];
const BATCHES: u64 = 3;

/// Makes the models, on two data sets.
fn make(server: &Server) -> String {
    let dataset = json!({"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one"});
    for name in ["people", "visits"] {
        let path = format!("/v1/datasets/{name}");
        let made = server.call(&server.operator, "PUT", &path, &dataset);
        assert_eq!(made.0, 201, "{made:?}");
    }
    for (dataset, name) in MODELS {
        let mut model = banner();
        model["dataset"] = json!(dataset);
        let made = server.call(
            &server.operator,
            "PUT",
            &format!("/v1/models/{name}"),
            &model,
        );
        assert_eq!(made.0, 201, "{made:?}");
    }
    server.token("client")
}

/// One batch of each model, and its close.
fn play(server: &Server, client: &str, batch: u64) {
    for slot in 0..10 {
        for (_, name) in MODELS {
            let path = format!("/v1/models/{name}/decisions");
            let id = format!("{batch}-{slot}");
            let told = server.call(client, "POST", &path, &ask(&id, 7.0 * f64::from(slot)));
            assert_eq!(told.0, 200, "{told:?}");
            let path = format!("{path}/{id}/reward");
            let told = server.call(client, "POST", &path, &json!({"value": slot % 2}));
            assert_eq!(told.0, 204, "{told:?}");
        }
    }
    server.clock.advance(5_000);
}

fn version(server: &Server, name: &str) -> u64 {
    let row = server.app.model("main", name).unwrap();
    server.app.policies.newest(&row).unwrap().published.version
}

/// The journals and ledgers under a folder that this process has open.
fn open_files(folder: &Path) -> usize {
    let folder = folder.canonicalize().unwrap();
    let links = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let files = links.filter_map(|link| std::fs::read_link(link.path()).ok());
    let own = files.filter(|file| file.starts_with(&folder));
    own.filter(|file| file.ends_with("journal") || file.ends_with("ledger"))
        .count()
}

/// All policies after three batches, and the most files that were open between batches.
fn policies(config: Config) -> (Vec<String>, usize) {
    let folder = config.data.clone();
    let server = Server::with(config, START).unwrap();
    let client = make(&server);
    let mut most = 0;
    for batch in 0..BATCHES {
        play(&server, &client, batch);
        server.wait(|server| {
            MODELS
                .iter()
                .all(|(_, name)| version(server, name) == batch + 1)
        });
        // After the next job of every data set: it closes what is too much.
        for dataset in ["people", "visits"] {
            let path = format!("/v1/datasets/{dataset}");
            let told = server.call(&server.operator, "GET", &path, &json!(null));
            assert_eq!(told.0, 200, "{told:?}");
        }
        most = most.max(open_files(&folder));
        assert!(server.app.policies.kept() <= server.app.config.answering);
    }
    let policy = |(_, name): &(&str, &str)| {
        let path = format!("/v1/models/{name}/policy");
        server.call(&client, "GET", &path, &json!(null)).1
    };
    (MODELS.iter().map(policy).collect(), most)
}

#[test]
fn few_open_runs_release_the_same() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (all, open) = policies(config(one.path()));
    let files = if crate::shared::is_on() { 0 } else { 8 };
    assert_eq!(open, files, "six journals and two ledgers");
    let mut few = config(two.path());
    (few.open, few.answering) = (3, 2);
    let (same, open) = policies(few);
    // A job opens what it needs before the worker closes what was used longest ago.
    assert!(open <= 5, "{open}");
    assert_eq!(all, same);
}

/// Every look at it is a millisecond later: times show an order.
struct Counting(AtomicU64);

impl Clock for Counting {
    fn now(&self) -> Millis {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

#[test]
fn models_that_are_behind_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    let client = make(&server);
    // Closed, and not learned from: nobody learns any more.
    server.app.workers.stop();
    for batch in 0..BATCHES {
        play(&server, &client, batch);
        server.wait(|server| {
            MODELS.iter().all(|(_, name)| {
                let row = server.app.model("main", name).unwrap();
                server.app.state(row.number).unwrap().closed == batch + 1
            })
        });
    }
    drop(server);
    let clock = Arc::new(Counting(AtomicU64::new(START + 1_000_000)));
    let app = App::start(config(folder.path()), clock).unwrap();
    let mut all: Vec<(Millis, u64)> = Vec::new();
    for (_, name) in MODELS {
        let row = app.model("main", name).unwrap();
        for version in 1..=BATCHES {
            let stored = loop {
                if let Some(stored) = app.policies.version(row.number, Some(version)).unwrap() {
                    break stored;
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            };
            all.push((stored.at, version));
        }
    }
    app.stop();
    all.sort_unstable();
    let versions: Vec<u64> = all.iter().map(|(_, version)| *version).collect();
    assert!(versions.is_sorted(), "{versions:?}");
}
