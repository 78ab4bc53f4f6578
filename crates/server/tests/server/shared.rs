//! The store that several nodes share, on a real PostgreSQL in a temporary folder.

use crate::cluster::Cluster;
use crate::elsewhere::{MODEL, asked, begin, body, parts, positions, question, send};
use crate::recovery::{Process, Stream, settings};
use crate::support::{START, Server, ask, config};
use hushstream_server::Config;
use hushstream_server::config::StoreAddress;
use hushstream_server::keys::MasterSource;
use hushstream_server::store::{Touches, Tx};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SOCKET: &str = "HUSHSTREAM_TEST_SOCKET";
const PSQL: &str = "HUSHSTREAM_TEST_PSQL";
const STORE: &str = "HUSHSTREAM_TEST_STORE";
const KEY: &str = "HUSHSTREAM_TEST_KEY";
const NOTHING: Value = Value::Null;
const DECISIONS: &str = "/v1/models/banner/decisions";
const TURNS: u64 = if cfg!(feature = "long") { 50 } else { 3 };
const CRASHES: u64 = if cfg!(feature = "long") { 10 } else { 2 };

/// Whether the tests of this process are on PostgreSQL.
pub(crate) fn is_on() -> bool {
    std::env::var_os(SOCKET).is_some()
}

/// Makes a process a node of a store, if one is stated.
pub(crate) fn of_node(config: &mut Config) {
    if let (Ok(store), Ok(key)) = (std::env::var(STORE), std::env::var(KEY)) {
        *config = node(&config.data, &store, Path::new(&key));
    }
}

/// A node in this folder.
fn node(folder: &Path, store: &str, key: &Path) -> Config {
    let mut config = config(folder);
    config.store = Some(StoreAddress(store.to_owned()));
    config.lease = Duration::from_millis(400);
    config.witness = Some(folder.join("witness"));
    config.master = Some(MasterSource::File(key.to_owned()));
    config
}

/// The database of a server whose folder this is, in a process whose tests are on PostgreSQL.
pub(crate) fn database_of(folder: &Path) -> Option<String> {
    let socket = std::env::var(SOCKET).ok()?;
    let name = folder.display().to_string();
    let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    // It is there after a restart.
    let made = Command::new(std::env::var_os(PSQL)?)
        .args(["-h", &socket, "-U", "postgres", "-c"])
        .arg(format!("CREATE DATABASE {name}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    made.unwrap();
    let socket = socket.replace('/', "%2F");
    Some(format!("postgres://postgres@{socket}/{name}"))
}

/// Tests of the server from outside, once more with PostgreSQL as the store. Left out are those
/// that copy or damage files of the embedded store.
#[test]
fn every_promise_is_kept_on_postgresql_too() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let run = Command::new(std::env::current_exe().unwrap())
        .args([
            "api::",
            "elsewhere::",
            "neighbours::",
            "many::",
            "operations::",
            "recovery::",
        ])
        .args(["--skip", "a_folder_that_is_older_than_its_witness"])
        .args(["--skip", "a_store_that_is_older_than_a_journal"])
        .env(SOCKET, cluster.folder())
        .env(PSQL, cluster.program("psql"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{said}");
    assert!(!said.contains(" 0 passed"), "{said}");
}

#[test]
fn a_decision_of_one_node_is_rewarded_at_another() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("master.key");
    let start = |name: &str| {
        let config = node(&folder.path().join(name), &cluster.url(), &key);
        Server::with(config, START).unwrap()
    };
    let (one, two) = (start("one"), start("two"));
    one.banner();
    let client = one.token("client");
    two.wait(|two| two.call(&client, "GET", "/v1/whoami", &NOTHING).0 == 200);
    two.wait(|two| two.call(&client, "GET", "/v1/models/banner", &NOTHING).0 == 200);
    // Slots are one sequence, and an id has one on all nodes.
    let mut answers = Vec::new();
    for slot in 0..10 {
        let (here, there) = if slot % 2 == 0 {
            (&one, &two)
        } else {
            (&two, &one)
        };
        let asked = ask(&slot.to_string(), f64::from(slot));
        let answer = here.call(&client, "POST", DECISIONS, &asked);
        assert_eq!(answer.0, 200, "{answer:?}");
        assert_eq!(there.call(&client, "POST", DECISIONS, &asked), answer);
        let other = there.call(&client, "POST", DECISIONS, &ask(&slot.to_string(), 99.0));
        assert_eq!(other.0, 409, "{other:?}");
        let path = format!("{DECISIONS}/{slot}/reward");
        assert_eq!(
            there.call(&client, "POST", &path, &json!({"value": 1.0})).0,
            204
        );
        answers.push(answer.json());
    }
    assert!(answers.iter().all(|answer| answer["learning"] == true));
    assert_eq!(
        cluster.ask("SELECT count(*), max(slot) FROM ids"),
        ["10|9"],
        "gapless"
    );
    // Either node closes it by its clock; one learns; both tell.
    one.clock.advance(5_000);
    two.clock.advance(5_000);
    for server in [&one, &two] {
        server.wait_for(1);
        let late = server.call(
            &client,
            "POST",
            &format!("{DECISIONS}/3/reward"),
            &json!({"value": 1}),
        );
        assert_eq!(late.0, 410, "{late:?}");
        let model = server
            .call(&client, "GET", "/v1/models/banner", &NOTHING)
            .json();
        assert_eq!(
            (&model["slots"], &model["released"]),
            (&json!(10), &json!(1))
        );
    }
    // Each has noted the ledger before it answered.
    let last = "SELECT seq || ' ' || crc FROM frames WHERE log LIKE 'ledger/%'
        ORDER BY seq DESC LIMIT 1";
    let (last, dataset) = (cluster.ask(last), cluster.ask("SELECT dataset FROM rounds"));
    for name in ["one", "two"] {
        let noted = folder.path().join(name).join("witness").join(&dataset[0]);
        let noted = std::fs::read_to_string(noted).unwrap();
        assert_eq!(noted.trim_end(), last[0], "{name}");
    }
    let exact = |server: &Server, operator: &str| {
        let path = "/v1/models/banner/operator";
        let exact = server.call(operator, "GET", path, &NOTHING).json();
        (
            exact["rewards"].clone(),
            exact["late"].clone(),
            exact["mean_reward"].clone(),
        )
    };
    assert_eq!(
        exact(&two, &one.operator),
        (json!(10), json!(2), json!(1.0))
    );
    let policy =
        |server: &Server| server.call(&client, "GET", "/v1/models/banner/policy", &NOTHING);
    assert_eq!(policy(&one), policy(&two));
    // An operator may ask any node: the holder lets go.
    let budget = json!({"epsilon": 30.0, "delta": 1e-6, "reason": "a test"});
    let raised = two.call(&one.operator, "POST", "/v1/datasets/people/budget", &budget);
    assert_eq!(raised.0, 200, "{raised:?}");
    let told = one.call(&one.operator, "GET", "/v1/datasets/people", &NOTHING);
    assert_eq!(told.json()["epsilon"], 30.0, "{told:?}");
    for slot in 10..20 {
        let asked = ask(&slot.to_string(), f64::from(slot));
        assert_eq!(one.call(&client, "POST", DECISIONS, &asked).0, 200);
    }
    one.clock.advance(5_000);
    two.clock.advance(5_000);
    one.wait_for(2);
    two.wait_for(2);
    let fences = cluster.ask("SELECT version, fence FROM releases ORDER BY version");
    assert_eq!(
        fences,
        ["0|1", "1|1", "2|2"],
        "learned by the second holder"
    );
    // A token that was ended at one node is refused at the other.
    let id = client.split('_').nth(1).unwrap();
    let path = format!("/v1/tenants/main/tokens/{id}");
    assert_eq!(two.call(&one.operator, "DELETE", &path, &NOTHING).0, 204);
    one.wait(|one| one.call(&client, "GET", "/v1/whoami", &NOTHING).0 == 401);
}

/// Two processes on one database, and a stream of decisions and rewards, one after the other.
struct Nodes {
    nodes: Vec<Process>,
    stream: Stream,
    slots: u64,
}

impl Nodes {
    fn start(cluster: &Cluster, folder: &Path, model: &Value) -> Self {
        let (url, key) = (cluster.url(), folder.join("master.key"));
        let key = key.display().to_string();
        let variables = [(STORE, url.as_str()), (KEY, key.as_str())];
        // While the database has no ledger, a node needs no witness.
        let names = ["one", "two"];
        let nodes: Vec<_> = names
            .map(|name| Process::with(&folder.join(name), &variables))
            .into();
        let stream = Stream::of(&folder.join("one"), &nodes[0], model);
        // The other node is told of token and model.
        let path = "/v1/models/banner";
        while nodes[1]
            .call(&stream.client, "GET", path, &NOTHING)
            .unwrap()
            .0
            != 200
        {
            std::thread::sleep(Duration::from_millis(10));
        }
        Self {
            nodes,
            stream,
            slots: 0,
        }
    }

    /// A batch through these nodes in turn.
    fn batch(&mut self, nodes: &[usize]) {
        for _ in 0..10 {
            let slot = self.slots;
            let node = |turn: u64| &self.nodes[nodes[(turn % nodes.len() as u64) as usize]];
            let answer = self.stream.decide(node(slot), slot).unwrap();
            assert_eq!(answer["learning"], true, "{answer}");
            if slot % 10 != 9 {
                assert_eq!(self.stream.reward(node(slot + 1), slot), Some(204));
            }
            self.slots += 1;
        }
    }

    fn signal(&self, node: usize, name: &str) {
        let id = self.nodes[node].child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.unwrap().success());
    }
}

/// Asks the database until it says this.
fn until(cluster: &Cluster, sql: &str, said: &str) {
    let start = Instant::now();
    loop {
        let rows = cluster.ask(sql);
        if rows == [said] {
            return;
        }
        let late = start.elapsed() > Duration::from_secs(60);
        assert!(!late, "{sql}: {rows:?}, and not {said}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_node_that_is_stopped_past_its_lease_publishes_nothing() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut model = settings();
    model["batches"] = json!(4 * TURNS);
    let mut nodes = Nodes::start(&cluster, folder.path(), &model);
    let newest = "SELECT max(version) FROM releases";
    let names = cluster.ask("SELECT node FROM nodes ORDER BY number");
    let mut batches = 0;
    for turn in 0..TURNS {
        nodes.batch(&[0, 1]);
        batches += 1;
        until(&cluster, newest, &batches.to_string());
        let lease = cluster.ask("SELECT holder, fence FROM leases");
        let (holder, fence) = lease[0].split_once('|').unwrap();
        let holder = names.iter().position(|name| name == holder).unwrap();
        let (other, fence): (usize, u64) = (1 - holder, fence.parse().unwrap());
        // A batch is closed, and the holder is stopped anywhere in its work.
        nodes.batch(&[0, 1]);
        std::thread::sleep(Duration::from_millis(190 + turn * 7 % 47));
        nodes.signal(holder, "-STOP");
        // Another one, after which the other node has something to learn.
        nodes.batch(&[other]);
        batches += 2;
        until(&cluster, newest, &batches.to_string());
        until(
            &cluster,
            "SELECT fence FROM leases",
            &(fence + 1).to_string(),
        );
        let own = format!("SELECT count(*), max(version) FROM releases WHERE fence = {fence}");
        let before = cluster.ask(&own);
        nodes.signal(holder, "-CONT");
        // It answers at once, from what is published, and publishes nothing.
        nodes.batch(&[0, 1]);
        batches += 1;
        nodes.stream.wait_for(&nodes.nodes[holder], batches);
        assert_eq!(cluster.ask(&own), before, "turn {turn}");
    }
    // Each version once, in order, by rising fences; and nobody took a slot twice.
    let rows = cluster.ask("SELECT version || ' ' || fence FROM releases ORDER BY at");
    let mut highest = 0;
    for (place, row) in rows.iter().enumerate() {
        let (version, fence) = row.split_once(' ').unwrap();
        assert_eq!(version.parse::<usize>().unwrap(), place);
        let fence: u64 = fence.parse().unwrap();
        assert!(fence >= highest);
        highest = fence;
    }
    assert!(highest > TURNS, "{highest}");
    let slots = cluster.ask("SELECT count(*), max(slot) FROM ids");
    assert_eq!(slots, [format!("{}|{}", nodes.slots, nodes.slots - 1)]);
    // One process that was never stopped releases the same.
    let calm = tempfile::tempdir().unwrap();
    let alone = Process::with(calm.path(), &[]);
    let stream = Stream::of(calm.path(), &alone, &model);
    for slot in 0..nodes.slots {
        stream.decide(&alone, slot).unwrap();
        if slot % 10 == 9 {
            stream.wait_for(&alone, slot / 10 + 1);
        } else {
            assert_eq!(stream.reward(&alone, slot), Some(204));
        }
    }
    for version in [1, batches / 2, batches] {
        let one = nodes.stream.weights(&nodes.nodes[0], version);
        assert_eq!(one, stream.weights(&alone, version), "policy {version}");
    }
}

#[test]
fn a_holder_that_does_not_know_that_it_was_taken_over_publishes_nothing() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("master.key");
    let mut config = node(&folder.path().join("one"), &cluster.url(), &key);
    // It looks at its leases every ten seconds.
    config.lease = Duration::from_secs(30);
    let server = Server::with(config, START).unwrap();
    server.banner();
    let client = server.token("client");
    let dataset = cluster.ask("SELECT dataset FROM leases WHERE fence = 1");
    let fence = (dataset[0].parse().unwrap(), 1);
    let holds = || {
        let touches = Touches::default();
        let asked = move |tx: &mut Tx<'_>| Ok(Ok(tx.holds(Some(fence))?));
        server.app.committer.write_blocking(touches, asked).unwrap()
    };
    assert!(holds());
    cluster.ask(
        "UPDATE leases SET holder = 'other', fence = fence + 1,
         until = clock_timestamp() + interval '1 hour'",
    );
    assert!(!holds(), "the node still believes it");
    let frames = "SELECT count(*), max(crc) FROM frames";
    let before = cluster.ask(frames);
    for slot in 0..10 {
        let asked = ask(&slot.to_string(), 1.0);
        assert_eq!(server.call(&client, "POST", DECISIONS, &asked).0, 200);
    }
    server.clock.advance(5_000);
    until(&cluster, "SELECT behind FROM rounds", "t");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(cluster.ask("SELECT max(version) FROM releases"), ["0"]);
    assert_eq!(cluster.ask(frames), before);
    // The model is not lost: the next holder of the lease learns from the batch.
    cluster.ask("UPDATE leases SET until = clock_timestamp()");
    server.wait_for(1);
    let rows = cluster.ask("SELECT version, fence FROM releases ORDER BY version");
    assert_eq!(rows, ["0|1", "1|3"]);
}

/// A ledger that has failed is opened again, here or on another node: no model is lost by it.
#[test]
fn a_database_that_failed_once_is_asked_again() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("master.key");
    let server = node(&folder.path().join("one"), &cluster.url(), &key);
    let server = Server::with(server, START).unwrap();
    let client = begin(&server);
    let banner = crate::support::banner();
    let made = server.call(&server.operator, "PUT", "/v1/models/banner", &banner);
    assert_eq!(made.0, 201, "{made:?}");
    let question = question(&asked(&server, &client));
    let batch = body("clicks", 0, &parts(&question, positions(0), &[]));
    cluster.ask(
        "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql
         AS 'BEGIN RAISE EXCEPTION ''the disk''; END';
         CREATE TRIGGER fails BEFORE INSERT ON frames FOR EACH ROW
         WHEN (NEW.log LIKE 'ledger/%') EXECUTE FUNCTION fails()",
    );
    for _ in 0..2 {
        let taken = send(&server, &client, &batch);
        assert_eq!(taken.0, 503, "{taken:?}");
    }
    cluster.ask("DROP TRIGGER fails ON frames");
    for slot in 0..10 {
        let asked = ask(&slot.to_string(), 1.0);
        assert_eq!(server.call(&client, "POST", DECISIONS, &asked).0, 200);
    }
    server.clock.advance(5_000);
    server.wait_for(1);
    let taken = send(&server, &client, &batch);
    assert_eq!((taken.0, &taken.json()["version"]), (200, &json!(1)));
}

/// Two nodes, and a model whose sums are made elsewhere: who asks takes nothing over and answers
/// with nothing that it has not witnessed, and who was taken over says no more than that.
#[test]
fn sums_are_taken_by_one_node_at_a_time() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("master.key");
    let start = |name: &str| {
        let mut config = node(&folder.path().join(name), &cluster.url(), &key);
        // Neither looks at its leases while this test runs.
        config.lease = Duration::from_secs(600);
        Server::with(config, START).unwrap()
    };
    let (one, two) = (start("one"), start("two"));
    let client = begin(&one);
    let model = |server: &Server, path: &str| {
        let path = format!("{MODEL}{path}");
        server.call(&client, "GET", &path, &NOTHING)
    };
    two.wait(|two| model(two, "").0 == 200);
    let sums = |asked: &Value, batch| {
        let parts = parts(&question(asked), positions(batch), &[]);
        body("clicks", batch, &parts)
    };
    let taken = send(&one, &client, &sums(&asked(&one, &client), 0));
    assert_eq!(taken.0, 200, "{taken:?}");
    // Who only asks does not take the data set from its holder, and does not wait for it.
    let before = cluster.ask("SELECT holder, fence FROM leases");
    let start = Instant::now();
    let told = model(&two, "/question");
    assert!(told.0 == 503 && told.1.contains("another node"), "{told:?}");
    assert!(start.elapsed() < Duration::from_secs(4));
    assert_eq!(cluster.ask("SELECT holder, fence FROM leases"), before);
    // The ledger has grown at one node, and its lease is over, which it does not know.
    let budget = json!({"epsilon": 30.0, "delta": 1e-6, "reason": "a test"});
    let raised = one.call(&one.operator, "POST", "/v1/datasets/people/budget", &budget);
    assert_eq!(raised.0, 200, "{raised:?}");
    cluster.ask("UPDATE leases SET until = clock_timestamp()");
    let question = asked(&two, &client);
    let last = "SELECT seq || ' ' || crc FROM frames WHERE log LIKE 'ledger/%'
        ORDER BY seq DESC LIMIT 1";
    let noted = std::fs::read_to_string(folder.path().join("two/witness/1")).unwrap();
    assert_eq!(noted.trim_end(), cluster.ask(last)[0]);
    let taken = send(&two, &client, &sums(&question, 1));
    assert_eq!(taken.json(), json!({"is_new": true, "version": 2}));
    let told = model(&one, "/question");
    assert!(told.0 == 503 && told.1.contains("another node"), "{told:?}");
    // A batch asks the holder to let go.
    let mut taken = send(&one, &client, &sums(&asked(&two, &client), 2));
    let start = Instant::now();
    while taken.0 == 503 && start.elapsed() < Duration::from_secs(60) {
        taken = send(&one, &client, &sums(&asked(&two, &client), 2));
    }
    assert_eq!(taken.json(), json!({"is_new": true, "version": 3}));
}

#[test]
fn nothing_that_was_answered_is_lost_in_a_crash_of_the_database() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut model = settings();
    (model["batch"], model["batches"]) = (json!(100_000), json!(2));
    let nodes = Nodes::start(&cluster, folder.path(), &model);
    let (stop, next) = (AtomicBool::new(false), AtomicU64::new(0));
    let answered = Mutex::new(HashMap::new());
    let rewarded = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (nodes, stop, next, rewarded, answered) =
                (&nodes, &stop, &next, &rewarded, &answered);
            scope.spawn(move || {
                let (node, other) = (&nodes.nodes[thread % 2], &nodes.nodes[1 - thread % 2]);
                let client = &nodes.stream.client;
                while !stop.load(Ordering::Relaxed) {
                    let slot = next.fetch_add(1, Ordering::Relaxed);
                    let body = ask(&format!("e{slot}"), (slot % 100) as f64);
                    let answer = node.call(client, "POST", DECISIONS, &body);
                    let Some((200, answer)) = answer else {
                        // Nothing was promised.
                        std::thread::sleep(Duration::from_millis(5));
                        continue;
                    };
                    answered.lock().unwrap().insert(slot, answer);
                    let path = format!("{DECISIONS}/e{slot}/reward");
                    let told = other.call(client, "POST", &path, &json!({"value": 1}));
                    if told.is_some_and(|(status, _)| status == 204) {
                        rewarded.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        for crash in 0..CRASHES {
            let before = answered.lock().unwrap().len();
            let start = Instant::now();
            while answered.lock().unwrap().len() < before + 50 {
                assert!(start.elapsed() < Duration::from_secs(60), "no answers");
                std::thread::sleep(Duration::from_millis(5));
            }
            std::thread::sleep(Duration::from_millis(crash * 7 % 23));
            cluster.crash();
            cluster.up();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let answered = answered.into_inner().unwrap();
    let node = &nodes.nodes[0];
    for (slot, answer) in &answered {
        let body = ask(&format!("e{slot}"), (slot % 100) as f64);
        let again = node.call(&nodes.stream.client, "POST", DECISIONS, &body);
        assert_eq!(again, Some((200, answer.clone())), "{slot}");
    }
    // Gapless; and every reward that was acknowledged is there, none twice.
    let slots =
        cluster.ask("SELECT count(*) - max(slot), count(*) = count(DISTINCT slot) FROM ids");
    assert_eq!(slots, ["1|t"]);
    let path = "/v1/models/banner/operator";
    let exact = node.call(&nodes.stream.operator, "GET", path, &NOTHING);
    let exact = exact.unwrap().1;
    let known = exact["rewards"].as_u64().unwrap();
    assert!(
        known >= rewarded.into_inner() && known <= next.into_inner(),
        "{exact}"
    );
    assert_eq!(exact["repeated"], 0);
    let count = cluster.ask("SELECT count(*) FROM slots");
    assert!(count[0].parse::<usize>().unwrap() >= answered.len());
}

#[test]
fn an_old_database_and_a_node_without_a_witness_are_refused() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let key = folder.path().join("master.key");
    let of = |name: &str| node(&folder.path().join(name), &cluster.url(), &key);
    let refused = |config: Config| Server::with(config, START).err().unwrap().to_string();
    let one = Server::with(of("one"), START).unwrap();
    one.banner();
    // A node that never saw this database may be before an old copy of it.
    let told = refused(of("two"));
    assert!(told.contains("no witness"), "{told}");
    let mut joining = of("two");
    joining.join = Some("the second node of a test".to_owned());
    let two = Server::with(joining, START).unwrap();
    let admin = std::fs::read_to_string(folder.path().join("one/admin.token")).unwrap();
    let log = one.call(admin.trim(), "GET", "/v1/audit", &NOTHING);
    let said = "node joined without a witness: the second node of a test";
    assert!(log.1.contains(said), "{log:?}");
    drop(two);
    // It knows it now.
    drop(Server::with(of("two"), START).unwrap());
    let (operator, client) = (one.operator.clone(), one.token("client"));
    drop(one);
    cluster.down();
    cluster.back_up();
    cluster.up();
    // Charged after the copy was made.
    let one = Server::with(of("one"), START).unwrap();
    let mut other = crate::support::banner();
    other["epsilon"] = json!(0.5);
    let made = one.call(&operator, "PUT", "/v1/models/other", &other);
    assert_eq!(made.0, 201, "{made:?}");
    // While it runs: it notices when its connection comes back, and takes nothing more.
    cluster.down();
    cluster.restore();
    cluster.up();
    one.wait(|one| one.app.committer.has_failed());
    assert_eq!(
        one.call(&client, "POST", DECISIONS, &ask("late", 1.0)).0,
        503
    );
    drop(one);
    let told = refused(of("one"));
    assert!(told.contains("an old copy"), "{told}");
    // The other node had not seen the charge: it cannot know.
    drop(Server::with(of("two"), START).unwrap());
    let mut restored = of("one");
    restored.restored = true;
    let told = refused(restored);
    assert!(told.contains("empty database"), "{told}");
}

/// Decisions per second over connections that stay open, through these nodes.
fn decisions(nodes: &[Process], client: &str, threads: usize, first: u64) -> f64 {
    let (next, stop) = (AtomicU64::new(first), AtomicBool::new(false));
    let mut rate = 0.0;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            let (next, stop, node) = (&next, &stop, &nodes[thread % nodes.len()]);
            scope.spawn(move || {
                let mut stream = std::net::TcpStream::connect(node.address()).unwrap();
                stream.set_nodelay(true).unwrap();
                let mut buffer = vec![0; 1 << 16];
                while !stop.load(Ordering::Relaxed) {
                    let slot = next.fetch_add(1, Ordering::Relaxed);
                    let body = ask(&format!("m{slot}"), 30.0).to_string();
                    let request = format!(
                        "POST {DECISIONS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {client}\
                         \r\ncontent-length: {}\r\n\r\n{body}",
                        body.len()
                    );
                    stream.write_all(request.as_bytes()).unwrap();
                    // An answer ends with its object.
                    let mut answer = String::new();
                    while !answer.ends_with('}') {
                        let count = stream.read(&mut buffer).unwrap();
                        answer.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
                    }
                    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
                }
            });
        }
        std::thread::sleep(Duration::from_secs(2));
        let (from, since) = (next.load(Ordering::Relaxed), Instant::now());
        std::thread::sleep(Duration::from_secs(8));
        let done = next.load(Ordering::Relaxed) - from;
        rate = done as f64 / since.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
    });
    rate
}

/// What the shared store costs beside the embedded one.
#[test]
#[ignore = "a measurement: cargo test -p hushstream-server --test server -- --ignored --nocapture"]
fn decisions_per_second() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let mut model = settings();
    (model["batch"], model["batches"]) = (json!(1_000_000), json!(2));
    let (alone, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = Process::with(alone.path(), &[]);
    let stream = Stream::of(alone.path(), &one, &model);
    let embedded = std::slice::from_ref(&one);
    let Nodes {
        nodes, stream: own, ..
    } = Nodes::start(&cluster, folder.path(), &model);
    let commits = || -> u64 {
        let sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'";
        std::thread::sleep(Duration::from_secs(1));
        cluster.ask(sql)[0].parse().unwrap()
    };
    let mut first = 0;
    for threads in [16, 64] {
        let rate = decisions(embedded, &stream.client, threads, first);
        println!("{threads} clients, the embedded store: {rate:.0}/s");
        for count in [1, 2] {
            first += 1_000_000;
            let (before, start) = (commits(), Instant::now());
            let rate = decisions(&nodes[..count], &own.client, threads, first);
            let each = (commits() - before) as f64 / start.elapsed().as_secs_f64();
            println!("{threads} clients, {count} nodes: {rate:.0}/s, {each:.0} transactions/s");
        }
    }
}
