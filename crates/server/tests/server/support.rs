//! A server in this process, with a clock that the test moves and secrets from a seed.

use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use hushstream_server::clock::{Clock, ManualClock};
use hushstream_server::config::StoreAddress;
use hushstream_server::{App, Config, StartError, router};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tower::ServiceExt;

pub(crate) const START: u64 = 1_800_000_000_000;

pub(crate) struct Server {
    pub(crate) app: Arc<App>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) operator: String,
    router: axum::Router,
    runtime: tokio::runtime::Runtime,
}

/// An answer: its status, and its body as text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer(pub(crate) u16, pub(crate) String);

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.1).unwrap_or_else(|_| panic!("no JSON: {}", self.1))
    }
}

pub(crate) fn config(folder: &Path) -> Config {
    let mut config = Config::new(folder.to_owned());
    config.simulated = true;
    config.seed = Some(5);
    config.workers = 1;
    if let Some(address) = crate::shared::database_of(folder) {
        config.store = Some(StoreAddress(address));
        config.lease = Duration::from_millis(400);
        config.witness = Some(folder.join("witness"));
    }
    config
}

impl Server {
    pub(crate) fn start(folder: &Path, now: u64) -> Self {
        Self::with(config(folder), now).unwrap()
    }

    pub(crate) fn with(config: Config, now: u64) -> Result<Self, StartError> {
        let folder = config.data.clone();
        let clock = Arc::new(ManualClock::at(now));
        let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let app = App::start(config, shared)?;
        // A second node of a store makes no token.
        let token = std::fs::read_to_string(folder.join("operator.token")).unwrap_or_default();
        // Threads that wait for a database must not be the only one.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        Ok(Self {
            router: router(&app),
            operator: token.trim().to_owned(),
            app,
            clock,
            runtime,
        })
    }

    pub(crate) fn raw(&self, token: &str, method: &str, path: &str, body: &str) -> Answer {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .body(Body::from(body.to_owned()))
            .unwrap();
        self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let status = response.status().as_u16();
            let bytes = to_bytes(response.into_body(), 1 << 24).await.unwrap();
            Answer(status, String::from_utf8(bytes.to_vec()).unwrap())
        })
    }

    pub(crate) fn call(&self, token: &str, method: &str, path: &str, body: &Value) -> Answer {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.raw(token, method, path, &text)
    }

    pub(crate) fn token(&self, role: &str) -> String {
        let path = "/v1/tenants/main/tokens";
        let made = self.call(&self.operator, "POST", path, &json!({"role": role}));
        assert_eq!(made.0, 201, "{made:?}");
        made.json()["token"].as_str().unwrap().to_owned()
    }

    /// A data set, and a model of two arms with batches of ten.
    pub(crate) fn banner(&self) {
        let dataset = json!({"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one"});
        let made = self.call(&self.operator, "PUT", "/v1/datasets/people", &dataset);
        assert_eq!(made.0, 201, "{made:?}");
        let made = self.call(&self.operator, "PUT", "/v1/models/banner", &banner());
        assert_eq!(made.0, 201, "{made:?}");
    }

    /// Waits until so many batches were learned from: learning is on threads of its own.
    pub(crate) fn wait_for(&self, released: u64) {
        self.wait(|server| {
            let row = server.app.model("main", "banner").unwrap();
            server.app.policies.newest(&row).unwrap().published.version == released
        });
    }

    /// Waits until something holds. It asks without requests, which would be in the log.
    pub(crate) fn wait(&self, holds: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            self.app.committer.wake();
            assert!(
                start.elapsed() < Duration::from_secs(240),
                "it does not come"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.app.stop();
    }
}

pub(crate) fn banner() -> Value {
    json!({
        "dataset": "people",
        "task": "decide",
        "schema": {"bounds": {"age": [0, 100]}, "vocabulary": {"device": ["phone", "desk"]}},
        "actions": ["red", "green"],
        "batch": 10,
        "batches": 6,
        "close_after": 60,
        "reward_wait": 5,
        "evaluation": {"policies": ["uniform"]},
        "epsilon": 4.0,
        "delta": 1e-7,
        "simulated": 9,
    })
}

pub(crate) fn ask(id: &str, age: f64) -> Value {
    json!({"event_id": id, "context": {"age": age, "device": "phone"}})
}
