//! Settings of the server.

use crate::keys::MasterSource;
use crate::store::Limits;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The address of a PostgreSQL that several nodes share: it may hold a password, and is not shown.
#[derive(Clone)]
pub struct StoreAddress(pub String);

impl std::fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StoreAddress")
    }
}

/// Settings of the server.
#[derive(Debug, Clone)]
pub struct Config {
    /// The folder of everything that is kept.
    pub data: PathBuf,
    /// The store that several nodes share, in the place of one in the folder.
    pub store: Option<StoreAddress>,
    /// How long another node waits before it takes over what this one learns.
    pub lease: Duration,
    /// Why a node without a witness may join a store that has ledgers: an operator's word, which is
    /// stored.
    pub join: Option<String>,
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
            store: None,
            lease: Duration::from_secs(10),
            join: None,
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
