//! Requests to the server, of every role.
//!
//! An input is up to six requests to a server that has two models. The first line of a request is
//! who asks, the method, the path and perhaps a type of content, with blanks between them; the rest
//! is its body. `tick 5000` lets time go on. A server answers several inputs before a new one takes
//! its place, since a start costs a hundred times what a request does.

use crate::mutate::MARKER;
use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use axum::response::Response;
use hushstream_server::clock::{Clock, ManualClock};
use hushstream_server::{App, Config, router};
use serde_json::Value;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tempfile::TempDir;
use tower::ServiceExt;

/// The most requests of an input, and inputs of a server.
const MOST: usize = 6;
const INPUTS: usize = 256;
const START: u64 = 1_800_000_000_000;
const BETWEEN: &str = "\n%%\n";

type Failure = Box<dyn std::error::Error>;

struct Server {
    app: Arc<App>,
    clock: Arc<ManualClock>,
    router: axum::Router,
    runtime: tokio::runtime::Runtime,
    tokens: [String; 6],
    inputs: Vec<Vec<u8>>,
    /// Dropped last: everything else is in it.
    _folder: TempDir,
}

/// Who asks, by a letter: nobody, the node's admin, an operator, a reader, a client, and a client
/// of one model.
const WHO: &str = "naorcp";

struct Answer {
    status: u16,
    text: String,
}

static SERVER: Mutex<Option<Server>> = Mutex::new(None);

pub(crate) fn check(bytes: &[u8]) -> Result<bool, String> {
    let mut held = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    if held
        .as_ref()
        .is_some_and(|server| server.inputs.len() >= INPUTS)
    {
        *held = None;
    }
    let mut server = match held.take() {
        Some(server) => server,
        None => Server::start().map_err(|error| format!("no server: {error}"))?,
    };
    server.inputs.push(bytes.to_vec());
    let told = server.play(&String::from_utf8_lossy(bytes));
    let told = told.map_err(|told| {
        let before = server
            .inputs
            .iter()
            .map(|input| input.escape_ascii().to_string());
        format!(
            "{told}\nafter these inputs:\n{}",
            before.collect::<Vec<_>>().join("\n")
        )
    })?;
    *held = Some(server);
    Ok(told)
}

impl Server {
    fn start() -> Result<Self, Failure> {
        let shm = Path::new("/dev/shm");
        let folder = if shm.is_dir() {
            TempDir::new_in(shm)?
        } else {
            TempDir::new()?
        };
        let mut config = Config::new(folder.path().to_owned());
        (config.simulated, config.seed, config.workers) = (true, Some(5), 1);
        let clock = Arc::new(ManualClock::at(START));
        let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let app = App::start(config, shared)?;
        let token = |name: &str| std::fs::read_to_string(folder.path().join(name));
        let (admin, operator) = (token("admin.token")?, token("operator.token")?);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let mut server = Self {
            router: router(&app),
            app,
            clock,
            runtime: runtime.enable_all().build()?,
            tokens: Default::default(),
            inputs: Vec::new(),
            _folder: folder,
        };
        (server.tokens[1], server.tokens[2]) = (admin.trim().into(), operator.trim().into());
        for (place, body) in [
            (3, "{\"role\":\"reader\"}"),
            (4, "{\"role\":\"client\"}"),
            (5, "{\"role\":\"client\",\"models\":[\"banner\"]}"),
        ] {
            let made = server.ask(2, "POST", "/v1/tenants/main/tokens", "", body)?;
            let made: Value = serde_json::from_str(&made.text)?;
            server.tokens[place] = made["token"].as_str().unwrap_or_default().to_owned();
        }
        for (path, body) in [
            ("/v1/datasets/people", DATASET),
            ("/v1/models/banner", BANNER),
            ("/v1/models/late", LATE),
        ] {
            let made = server.ask(2, "PUT", path, "", body)?;
            if made.status != 201 {
                return Err(made.text.into());
            }
        }
        Ok(server)
    }

    fn ask(
        &self,
        who: usize,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> Result<Answer, Failure> {
        let mut request = Request::builder().method(method).uri(path);
        if who > 0 {
            request = request.header(
                header::AUTHORIZATION,
                format!("Bearer {}", self.tokens[who]),
            );
        }
        if !kind.is_empty() {
            request = request.header(header::CONTENT_TYPE, kind);
        }
        let request = request.body(Body::from(body.to_owned()))?;
        self.runtime.block_on(async {
            let response: Response = self.router.clone().oneshot(request).await?;
            let status = response.status().as_u16();
            let kind = response.headers().get(header::CONTENT_TYPE);
            // A stream of events has no end.
            if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
                return Ok(Answer {
                    status,
                    text: String::new(),
                });
            }
            let bytes = to_bytes(response.into_body(), 1 << 24).await?;
            let text = String::from_utf8(bytes.to_vec())?;
            Ok(Answer { status, text })
        })
    }

    /// Whether all requests were answered, and none refused.
    fn play(&self, script: &str) -> Result<bool, String> {
        let mut all = true;
        for asked in script.split(BETWEEN).take(MOST) {
            let (line, body) = asked.split_once('\n').unwrap_or((asked, ""));
            let mut words = line.split(' ');
            let mut word = || words.next().unwrap_or_default();
            let (who, method, path, kind) = (word(), word(), word(), word());
            if who == "tick" {
                let by: u64 = method.parse().unwrap_or(0);
                self.clock.advance(by.min(1 << 40));
                self.app.committer.wake();
                continue;
            }
            let who = WHO.find(who).filter(|_| who.len() == 1).unwrap_or(0);
            let before = self.charged()?;
            // What is no request is refused before the server sees it.
            let Ok(answer) = self.ask(who, method, path, kind, body) else {
                all = false;
                continue;
            };
            self.judge(path, body, &answer)?;
            if answer.status >= 400 {
                all = false;
                let after = self.charged()?;
                if before != after {
                    let told = answer.text;
                    return Err(format!(
                        "{line} is refused: {told}\nfrom {before}\nto {after}"
                    ));
                }
            }
        }
        Ok(all)
    }

    /// What is stated about data sets: their budgets, and what was charged to them.
    fn charged(&self) -> Result<String, String> {
        let told = self.ask(2, "GET", "/v1/datasets", "", "");
        told.map(|told| told.text)
            .map_err(|error| error.to_string())
    }

    fn judge(&self, path: &str, body: &str, answer: &Answer) -> Result<(), String> {
        let Answer { status, text } = answer;
        if *status == 500 || self.app.committer.has_failed() {
            return Err(format!("{path} fails: {status} {text}"));
        }
        // Names of columns and of things are public, values are not.
        let named = path.contains(MARKER) || is_key(body);
        if *status >= 400 && !named && !is_setting(path) && text.contains(MARKER) {
            return Err(format!("{path}: a refusal with content: {text}"));
        }
        Ok(())
    }
}

/// Whether the marker is in a key of the body, or of one of its lines.
fn is_key(body: &str) -> bool {
    fn among(value: &Value) -> bool {
        match value {
            Value::Object(object) => object
                .iter()
                .any(|(key, value)| key.contains(MARKER) || among(value)),
            Value::Array(values) => values.iter().any(among),
            _ => false,
        }
    }
    [body]
        .into_iter()
        .chain(body.lines())
        .filter_map(|text| serde_json::from_str(text).ok())
        .any(|value: Value| among(&value))
}

/// Settings are public.
fn is_setting(path: &str) -> bool {
    let parts = path.split(['?', ':']).next().unwrap_or_default();
    parts.split('/').count() <= 4 && path.starts_with("/v1/")
        || path.ends_with("/budget")
        || path.ends_with("/tokens")
}

impl Drop for Server {
    fn drop(&mut self) {
        self.app.stop();
    }
}

const DATASET: &str = r#"{"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one"}"#;

const BANNER: &str = r#"{"dataset": "people", "task": "decide", "schema": {
"bounds": {"age": [0, 100]}, "vocabulary": {"device": ["phone", "desk"]}},
"actions": ["red", "green"], "batch": 4, "batches": 6000, "close_after": 60, "reward_wait": 5,
"evaluation": {"policies": ["uniform"]}, "epsilon": 4.0, "delta": 1e-7, "simulated": 9}"#;

const LATE: &str = r#"{"dataset": "people", "task": "classify", "schema": {"target": "late",
"bounds": {"hour": [0, 24]}}, "batch": 4, "batches": 6000, "close_after": 60, "reward_wait": 5,
"epsilon": 4.0, "delta": 1e-7, "simulated": 9}"#;

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    include_str!("http-seeds.txt")
        .split("\n====\n")
        .map(|script| script.as_bytes().to_vec())
        .collect()
}
