//! `hushstream serve`: private learning and decisions as a service.

use anyhow::{Context, Result};
use clap::Args;
use hushstream_server::{Config, serve};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Flags of the command.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The folder of everything that is kept: private, and as secret as the data.
    #[arg(long, default_value = "hushstream-data")]
    data: PathBuf,
    /// Where requests come; behind a proxy that speaks TLS, unless it is loopback.
    #[arg(long, default_value = "127.0.0.1:7070")]
    listen: SocketAddr,
    /// Where metrics and health are asked for, without a token.
    #[arg(long, default_value = "127.0.0.1:7071")]
    ops: SocketAddr,
    /// No address for metrics and health.
    #[arg(long)]
    no_ops: bool,
    /// Origins whose pages may call, for deciding at the edge.
    #[arg(long, value_name = "ORIGIN")]
    cors: Vec<String>,
    /// Threads that learn; by default one per core.
    #[arg(long)]
    workers: Option<usize>,
    /// Allow models whose noise comes from a seed: for experiments, it protects nobody.
    #[arg(long)]
    insecure_simulated: bool,
    /// Start a seeded stream that decides, with simulated noise, so that there is something to see.
    #[arg(long)]
    demo: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut config = Config::new(arguments.data.clone());
    config.listen = arguments.listen;
    config.ops = (!arguments.no_ops).then_some(arguments.ops);
    config.cors.clone_from(&arguments.cors);
    config.workers = arguments.workers.unwrap_or(config.workers);
    config.simulated = arguments.insecure_simulated || arguments.demo;
    config.demo = arguments.demo;
    hushstream_server::logs();
    serve(config, |app, address| {
        let data = app.config.data.display();
        println!("serving at http://{address}");
        println!("the operator's token is in {data}/operator.token, the node's in {data}/admin.token");
        if !address.ip().is_loopback() {
            println!("warning: tokens cross this network in the clear: put a proxy with TLS before it");
        }
    })
    .context("cannot serve")
}
