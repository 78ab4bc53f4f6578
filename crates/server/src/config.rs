//! Settings of the server.

use crate::keys::MasterSource;
use crate::store::Limits;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Settings of the server.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder of everything that is kept.
    pub data: PathBuf,
    /// Where requests come.
    pub listen: SocketAddr,
    /// Where metrics and health are asked for.
    pub ops: Option<SocketAddr>,
    /// Whether models with simulated noise are allowed: for experiments.
    pub simulated: bool,
    /// Whether a seeded stream decides, so that there is something to see.
    pub demo: bool,
    /// Origins whose pages may call, for deciding at the edge.
    pub cors: Vec<String>,
    /// Threads that learn.
    pub workers: usize,
    /// Runs and ledgers that are open at the same time, over all threads.
    pub open: usize,
    /// Models whose newest release is kept in memory; of others it is read for each answer.
    pub answering: usize,
    /// Limits of the queues.
    pub limits: Limits,
    /// Decisions per second that one token may ask for.
    pub rate: Option<u32>,
    /// The files of a certificate chain and its key, for TLS.
    #[cfg(feature = "tls")]
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Where the master key comes from; a file in the folder if not stated.
    pub master: Option<MasterSource>,
    /// A file outside of the folder that notices an old copy of it.
    pub witness: Option<PathBuf>,
    /// Whether the folder is a restored copy: what was published is answered, nothing is learned.
    pub restored: bool,
    /// The seed of all secrets, for tests that compare bytes: protects nobody.
    pub seed: Option<u64>,
}

impl Config {
    /// Whether the server itself speaks TLS.
    #[must_use]
    pub fn has_tls(&self) -> bool {
        #[cfg(feature = "tls")]
        let has = self.tls.is_some();
        #[cfg(not(feature = "tls"))]
        let has = false;
        has
    }

    /// The defaults for a folder: loopback, real noise.
    #[must_use]
    pub fn new(data: PathBuf) -> Self {
        Self {
            data,
            listen: SocketAddr::from(([127, 0, 0, 1], 7070)),
            ops: Some(SocketAddr::from(([127, 0, 0, 1], 7071))),
            simulated: false,
            demo: false,
            cors: Vec::new(),
            workers: std::thread::available_parallelism().map_or(2, usize::from),
            open: 256,
            answering: 4096,
            limits: Limits::default(),
            rate: None,
            #[cfg(feature = "tls")]
            tls: None,
            master: None,
            witness: None,
            restored: false,
            seed: None,
        }
    }
}
