//! A process of the program, and a client that speaks just enough HTTP.

use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Result, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that anything is waited for: a machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// An address that was free a moment ago.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: Vec<String>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.body);
        self
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let line = self.head.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value)
        });
        line.map(str::trim)
    }
}

/// One connection, which is kept open.
pub(crate) struct Client {
    address: SocketAddr,
    token: String,
    open: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, token: &str) -> Self {
        let token = token.to_owned();
        Self {
            address,
            token,
            open: None,
        }
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Sends a request on the open connection, or on a new one.
    pub(crate) fn try_call(&mut self, method: &str, path: &str, body: &str) -> Result<Answer> {
        let answer = self.exchange(method, path, body);
        // A stream of events is not read here.
        let closes = |answer: &Answer| {
            let is_stream = answer.header("transfer-encoding").is_some();
            is_stream || answer.header("connection") == Some("close")
        };
        if answer.as_ref().map_or(true, closes) {
            self.open = None;
        }
        answer
    }

    fn exchange(&mut self, method: &str, path: &str, body: &str) -> Result<Answer> {
        if self.open.is_none() {
            let stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_nodelay(true)?;
            self.open = Some(BufReader::new(stream));
        }
        let Some(reader) = &mut self.open else {
            return Err(Error::from(ErrorKind::NotConnected));
        };
        let mut head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n");
        if !self.token.is_empty() {
            head.push_str(&format!("authorization: Bearer {}\r\n", self.token));
        }
        let kind = if path.ends_with("/records") {
            "application/x-ndjson"
        } else {
            "application/json"
        };
        let length = body.len();
        head.push_str(&format!(
            "content-type: {kind}\r\ncontent-length: {length}\r\n\r\n"
        ));
        head.push_str(body);
        reader.get_mut().write_all(head.as_bytes())?;
        read_answer(reader, method == "HEAD")
    }

    /// The same, for a server that is there.
    pub(crate) fn send(&mut self, method: &str, path: &str, body: &str) -> Answer {
        let answer = self.try_call(method, path, body);
        // A server may close a connection that was idle.
        let answer = answer.or_else(|_| self.try_call(method, path, body));
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    pub(crate) fn call(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        let text = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.send(method, path, &text)
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, "")
    }

    /// Sends until there is an answer, whatever happens to the server meanwhile. Says whether it
    /// had to be sent again.
    pub(crate) fn insist(&mut self, method: &str, path: &str, body: &str) -> (Answer, bool) {
        let start = Instant::now();
        let mut is_again = false;
        loop {
            match self.try_call(method, path, body) {
                Ok(answer) => return (answer, is_again),
                Err(error) => assert!(start.elapsed() < PATIENCE, "{method} {path}: {error}"),
            }
            is_again = true;
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn read_line(reader: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 || !line.ends_with('\n') {
        return Err(Error::from(ErrorKind::UnexpectedEof));
    }
    Ok(line.trim_end().to_owned())
}

fn read_head(reader: &mut impl BufRead) -> Result<(u16, Vec<String>)> {
    let first = read_line(reader)?;
    let status = first.split(' ').nth(1).and_then(|text| text.parse().ok());
    let status = status.ok_or_else(|| Error::from(ErrorKind::InvalidData))?;
    let mut head = Vec::new();
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            return Ok((status, head));
        }
        head.push(line);
    }
}

fn read_answer(reader: &mut impl BufRead, is_head: bool) -> Result<Answer> {
    let (status, head) = read_head(reader)?;
    let mut answer = Answer {
        status,
        head,
        body: String::new(),
    };
    if is_head || matches!(status, 204 | 304) {
        return Ok(answer);
    }
    let length = answer
        .header("content-length")
        .and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    answer.body = String::from_utf8(body).map_err(|_| Error::from(ErrorKind::InvalidData))?;
    Ok(answer)
}

/// Public events of a model, read on a thread of their own until a version is released.
pub(crate) struct Events(std::thread::JoinHandle<Vec<(String, Value)>>);

impl Events {
    pub(crate) fn watch(address: SocketAddr, token: &str, model: &str, last: u64) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        let mut reader = BufReader::new(stream);
        let head = format!(
            "GET /v1/models/{model}/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer \
             {token}\r\n\r\n"
        );
        reader.get_mut().write_all(head.as_bytes()).unwrap();
        let (status, head) = read_head(&mut reader).unwrap();
        assert_eq!(status, 200, "{head:?}");
        Self(std::thread::spawn(move || {
            let (mut all, mut kind) = (Vec::new(), String::new());
            while let Ok(line) = read_line(&mut reader) {
                if let Some(name) = line.strip_prefix("event: ") {
                    name.clone_into(&mut kind);
                } else if let Some(data) = line.strip_prefix("data: ") {
                    let data: Value = serde_json::from_str(data).unwrap();
                    let is_last = kind == "released" && data["version"] == json!(last);
                    all.push((kind.clone(), data));
                    if is_last {
                        break;
                    }
                }
            }
            all
        }))
    }

    /// Everything until then.
    pub(crate) fn end(self) -> Vec<(String, Value)> {
        self.0.join().unwrap()
    }
}

/// Waits until something is so.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A running process.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) ops: SocketAddr,
}

impl Server {
    /// Starts the program, without waiting until it is ready; what it writes to its log is added
    /// to the file `log` beside the data.
    pub(crate) fn spawn(folder: &Path, address: SocketAddr, level: &str) -> Self {
        let ops = free_address();
        let log = File::options()
            .create(true)
            .append(true)
            .open(folder.join("log"));
        let child = Command::new(env!("CARGO_BIN_EXE_hushstream"))
            .args(["serve", "--insecure-simulated", "--workers", "2", "--data"])
            .arg(folder.join("data"))
            .args(["--listen", &address.to_string(), "--ops", &ops.to_string()])
            .env("HUSHSTREAM_LOG", level)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log.unwrap())
            .spawn()
            .unwrap();
        Self {
            child,
            address,
            ops,
        }
    }

    /// Starts it, and waits until it answers.
    pub(crate) fn start(folder: &Path) -> Self {
        Self::start_at(folder, free_address(), "warn")
    }

    pub(crate) fn start_at(folder: &Path, address: SocketAddr, level: &str) -> Self {
        let mut server = Self::spawn(folder, address, level);
        wait_until("the server answers", || {
            if let Some(status) = server.child.try_wait().unwrap() {
                let log = std::fs::read_to_string(folder.join("log"));
                panic!("it ended by itself, {status}: {}", log.unwrap());
            }
            let live = Client::new(address, "").try_call("GET", "/v1/livez", "");
            live.is_ok_and(|answer| answer.status == 200)
        });
        server
    }

    /// Starts it, and gives whether it refused to.
    pub(crate) fn refuses(folder: &Path) -> bool {
        let mut server = Self::spawn(folder, free_address(), "warn");
        let address = server.address;
        let mut refused = None;
        wait_until("it answers or ends", || {
            if let Some(status) = server.child.try_wait().unwrap() {
                refused = Some(!status.success());
            } else if Client::new(address, "")
                .try_call("GET", "/v1/livez", "")
                .is_ok()
            {
                refused = Some(false);
            }
            refused.is_some()
        });
        server.kill();
        refused == Some(true)
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(self.address, token)
    }

    /// What the operations listener tells.
    pub(crate) fn told(&self, path: &str) -> String {
        Client::new(self.ops, "").get(path).is(200).body
    }

    /// As kill -9 does.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// As an operator does.
    pub(crate) fn stop(&mut self) {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(told.unwrap().success());
        let mut status = None;
        wait_until("the server stops", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert!(status.is_some_and(|status| status.success()));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A token that the server wrote at its first start.
pub(crate) fn first_token(folder: &Path, name: &str) -> String {
    let path = folder.join("data").join(name);
    std::fs::read_to_string(path).unwrap().trim().to_owned()
}

/// A new token of a tenant.
pub(crate) fn new_token(manager: &mut Client, tenant: &str, body: &Value) -> String {
    let path = format!("/v1/tenants/{tenant}/tokens");
    let made = manager.call("POST", &path, body).is(201).json();
    made["token"].as_str().unwrap().to_owned()
}

/// A data set with room for everything.
pub(crate) fn people() -> Value {
    json!({"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one"})
}

/// A model that decides, closes its batches by count, and answers its first action, so that what
/// it learns does not depend on coins.
pub(crate) fn banner(dataset: &str, batch: u64, batches: u64) -> Value {
    json!({
        "dataset": dataset,
        "task": "decide",
        "schema": {"bounds": {"age": [0, 100]}, "vocabulary": {"device": ["phone", "desk"]}},
        "actions": ["red", "green"],
        "batch": batch,
        "batches": batches,
        "reward_wait": 0,
        "mode": "shadow",
        "epsilon": 1.0,
        "delta": 1e-8,
        "simulated": 9,
    })
}

/// A small generator: the same numbers from the same seed.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}
