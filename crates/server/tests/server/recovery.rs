//! A process that is killed at any moment: what was acknowledged is there, and the policies are
//! those of a run that was never killed.

use crate::support::{banner, config};
use hushstream_server::serve;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FOLDER: &str = "HUSHSTREAM_RECOVERY_FOLDER";
const KILLS: u32 = if cfg!(feature = "long") { 40 } else { 3 };

/// The process that is killed: only if the folder is stated.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let mut config = config(Path::new(&folder));
    crate::shared::of_node(&mut config);
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config.ops = None;
    serve(config, |_, address| {
        println!("serving at {address}");
        let _ = std::io::stdout().flush();
    })
    .unwrap();
}

pub(crate) struct Process {
    pub(crate) child: Child,
    address: String,
}

impl Process {
    fn start(folder: &Path) -> Self {
        Self::with(folder, &[])
    }

    /// The same with these variables.
    pub(crate) fn with(folder: &Path, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "recovery::child", "--nocapture"])
            .env(FOLDER, folder)
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().unwrap().unwrap();
            if let Some((_, address)) = line.split_once("serving at ") {
                break address.to_owned();
            }
        };
        // Nobody reads the rest, and a full pipe would stop the process.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// One request; nothing if the process is gone.
    pub(crate) fn call(
        &self,
        token: &str,
        method: &str,
        path: &str,
        body: &Value,
    ) -> Option<(u16, Value)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer \
             {token}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some((status, serde_json::from_str(body).unwrap_or(Value::Null)))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill(); // SIGKILL
        let _ = self.child.wait();
    }
}

pub(crate) fn settings() -> Value {
    let mut model = banner();
    model["batches"] = json!(20);
    model["close_after"] = Value::Null;
    model["reward_wait"] = json!(0.2);
    model
}

pub(crate) struct Stream {
    pub(crate) client: String,
    pub(crate) operator: String,
}

impl Stream {
    fn begin(folder: &Path, process: &Process) -> Self {
        Self::of(folder, process, &settings())
    }

    /// The same with these settings of the model.
    pub(crate) fn of(folder: &Path, process: &Process, model: &Value) -> Self {
        let operator = std::fs::read_to_string(folder.join("operator.token")).unwrap();
        let operator = operator.trim().to_owned();
        let call = |method: &str, path: &str, body: &Value| {
            let answer = process.call(&operator, method, path, body).unwrap();
            assert!(matches!(answer.0, 200 | 201), "{answer:?}");
            answer.1
        };
        let dataset = json!({"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one"});
        call("PUT", "/v1/datasets/people", &dataset);
        call("PUT", "/v1/models/banner", model);
        let made = call(
            "POST",
            "/v1/tenants/main/tokens",
            &json!({"role": "client"}),
        );
        let client = made["token"].as_str().unwrap().to_owned();
        Self { client, operator }
    }

    /// Asks until it is answered, over crashes: an id never gets a second slot.
    pub(crate) fn decide(&self, process: &Process, slot: u64) -> Option<Value> {
        let age = (slot * 7 % 100) as f64;
        let body = json!({"event_id": format!("e{slot}"), "actions": ["red"],
                          "context": {"age": age, "device": "desk"}});
        let path = "/v1/models/banner/decisions";
        let (status, answer) = process.call(&self.client, "POST", path, &body)?;
        assert!(matches!(status, 200 | 410), "{status} {answer}");
        Some(answer)
    }

    pub(crate) fn reward(&self, process: &Process, slot: u64) -> Option<u16> {
        let path = format!("/v1/models/banner/decisions/e{slot}/reward");
        let body = json!({"value": (slot % 2) as f64});
        Some(process.call(&self.client, "POST", &path, &body)?.0)
    }

    pub(crate) fn model(&self, process: &Process) -> Value {
        let path = "/v1/models/banner";
        process
            .call(&self.operator, "GET", path, &Value::Null)
            .unwrap()
            .1
    }

    pub(crate) fn weights(&self, process: &Process, version: u64) -> Value {
        let path = format!("/v1/models/banner/policy?version={version}");
        let (status, file) = process
            .call(&self.operator, "GET", &path, &Value::Null)
            .unwrap();
        assert_eq!(status, 200);
        file["weights"].clone()
    }

    pub(crate) fn wait_for(&self, process: &Process, released: u64) {
        let start = std::time::Instant::now();
        while self.model(process)["released"] != json!(released) {
            assert!(start.elapsed().as_secs() < 120, "{}", self.model(process));
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

#[test]
fn a_killed_server_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::start(folder.path());
    let stream = Stream::begin(folder.path(), &process);
    let mut random = 26_u64;
    let mut kills = 0;
    let batches = u64::from(KILLS).div_ceil(2).clamp(2, 20);
    for batch in 0..batches {
        for slot in 10 * batch..10 * (batch + 1) {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(26);
            let pause = std::time::Duration::from_micros((random >> 33) % 20_000);
            let mut answer = None;
            if kills < KILLS && random.is_multiple_of(5) {
                // The process dies while it answers.
                kills += 1;
                std::thread::scope(|scope| {
                    let asking = scope.spawn(|| stream.decide(&process, slot));
                    std::thread::sleep(pause);
                    let killed = Command::new("kill")
                        .args(["-9", &process.child.id().to_string()])
                        .status();
                    assert!(killed.unwrap().success());
                    answer = asking.join().unwrap();
                });
                drop(process);
                process = Process::start(folder.path());
            }
            let again = stream.decide(&process, slot).unwrap();
            // What was acknowledged is there, and the same.
            if let Some(answer) = answer {
                assert_eq!(answer, again);
            }
            assert_eq!(again["learning"], true, "{again}");
            // The last slot fills the batch, and gets the default reward: nothing is late.
            if slot % 10 != 9 {
                assert_eq!(stream.reward(&process, slot), Some(204));
            }
        }
        stream.wait_for(&process, batch + 1);
        assert_eq!(stream.model(&process)["slots"], json!(10 * (batch + 1)));
    }
    let path = "/v1/datasets/people";
    let dataset = process
        .call(&stream.operator, "GET", path, &Value::Null)
        .unwrap()
        .1;
    assert_eq!(dataset["runs"].as_array().unwrap().len(), 1, "charged once");
    // The same stream without a kill: bit for bit.
    let whole = tempfile::tempdir().unwrap();
    let calm = Process::start(whole.path());
    let other = Stream::begin(whole.path(), &calm);
    for batch in 0..batches {
        for slot in 10 * batch..10 * (batch + 1) {
            other.decide(&calm, slot).unwrap();
            if slot % 10 != 9 {
                assert_eq!(other.reward(&calm, slot), Some(204));
            }
        }
        other.wait_for(&calm, batch + 1);
    }
    for version in 0..=batches {
        let (one, two) = (
            stream.weights(&process, version),
            other.weights(&calm, version),
        );
        assert_eq!(one, two, "policy {version}");
    }
    assert!(kills > 0);
}
