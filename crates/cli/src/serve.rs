//! `hushstream serve`: private learning and decisions as a service.

use anyhow::{Context, Result};
use clap::Args;
use hushstream_server::config::StoreAddress;
use hushstream_server::keys::MasterSource;
use hushstream_server::{Config, serve};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Flags of the command.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder for everything that the server stores. It is private, as secret as the data.
    #[arg(long, default_value = "hushstream-data")]
    data: PathBuf,
    /// A PostgreSQL database that several nodes share, instead of the store in the folder: an
    /// address such as postgres://user@host/name. If it has a password, use HUSHSTREAM_STORE
    /// instead.
    #[arg(long, value_name = "ADDRESS")]
    store: Option<String>,
    /// Let a node without a witness join a shared store that has ledgers. State how you know that
    /// the database is the newest; the audit log keeps the reason.
    #[arg(long, value_name = "REASON")]
    join: Option<String>,
    /// The address to listen on. Unless it is loopback, put a proxy with TLS in front of it.
    #[arg(long, default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    /// The address of metrics and health checks, which need no token.
    #[arg(long, default_value = "127.0.0.1:7071")]
    ops: SocketAddr,
    /// Serve no metrics and no health checks.
    #[arg(long)]
    no_ops: bool,
    /// The file of the master key; by default `master.key` in the folder, created at the first
    /// start.
    #[arg(long, value_name = "FILE", conflicts_with = "key_command")]
    key_file: Option<PathBuf>,
    /// A command that prints the master key, for example from a key service.
    #[arg(long, value_name = "COMMAND")]
    key_command: Option<String>,
    /// A file outside of the data folder that reveals an old copy of it; for nodes that share a
    /// store, a folder. By default next to the data folder.
    #[arg(long, value_name = "FILE")]
    witness: Option<PathBuf>,
    /// The folder is a restored copy: answer from what was published, and learn nothing.
    #[arg(long)]
    restored: bool,
    /// The certificate chain for TLS, a PEM file.
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// Its key, a PEM file.
    #[cfg(feature = "tls")]
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Origins whose web pages may call the API, to decide in the browser.
    #[arg(long, value_name = "ORIGIN")]
    cors: Vec<String>,
    /// Decisions per second for each token; further requests get 429. By default no limit.
    #[arg(long, value_name = "NUMBER")]
    rate: Option<u32>,
    /// Threads that learn; by default one per core.
    #[arg(long)]
    workers: Option<usize>,
    /// Number of runs and ledgers kept open; others are opened when a batch closes.
    #[arg(long, value_name = "NUMBER", default_value = "256")]
    open: usize,
    /// Number of models whose newest release is kept in memory.
    #[arg(long, value_name = "NUMBER", default_value = "4096")]
    answering: usize,
    /// Allow models whose noise comes from a seed: for experiments, it protects nobody.
    #[arg(long)]
    insecure_simulated: bool,
    /// Start a stream of made-up visitors, with simulated noise, to see the server at work.
    #[arg(long)]
    demo: bool,
}

impl Arguments {
    fn config(&self) -> Config {
        let mut config = Config::new(self.data.clone());
        let of_environment = || std::env::var("HUSHSTREAM_STORE").ok();
        config.store = self.store.clone().or_else(of_environment).map(StoreAddress);
        config.join.clone_from(&self.join);
        config.listen = self.listen;
        config.ops = (!self.no_ops).then_some(self.ops);
        config.cors.clone_from(&self.cors);
        config.workers = self.workers.unwrap_or(config.workers);
        (config.open, config.answering) = (self.open, self.answering);
        config.simulated = self.insecure_simulated || self.demo;
        config.demo = self.demo;
        config.restored = self.restored;
        config.rate = self.rate;
        #[cfg(feature = "tls")]
        {
            config.tls = self.tls_certificate.clone().zip(self.tls_key.clone());
        }
        config.master = match (&self.key_file, &self.key_command) {
            (Some(path), _) => Some(MasterSource::File(path.clone())),
            (None, Some(command)) => Some(MasterSource::Command(command.clone())),
            (None, None) => None,
        };
        let beside = || {
            // Without a slash at the end, which would put it into the folder.
            let mut name = self.data.components().collect::<PathBuf>().into_os_string();
            name.push(".witness");
            name.into()
        };
        config.witness = Some(self.witness.clone().unwrap_or_else(beside));
        config
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    hushstream_server::logs();
    serve(arguments.config(), |app, address| {
        let data = app.config.data.display();
        println!("serving at http://{address}");
        if app.config.data.join("operator.token").exists() {
            println!(
                "the operator's token is in {data}/operator.token, the node's in \
                 {data}/admin.token"
            );
        }
        if !address.ip().is_loopback() {
            println!(
                "warning: tokens cross this network in the clear: put a proxy with TLS before it"
            );
        }
    })
    .context("cannot serve")
}
