//! The database: connections, what is asked of its settings, and releases.

use crate::{Error, Lease, migrations};
use deadpool_postgres::{Manager, ManagerConfig, Object, Pool, RecyclingMethod};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio_postgres::{Client, Config, NoTls, Transaction};

/// Settings of a node.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How long a lease lasts that is not renewed.
    pub lease: Duration,
    /// The longest time that anything takes.
    pub patience: Duration,
    /// Connections at the same time.
    pub connections: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            connections: 8,
        }
    }
}

/// A database that several nodes share.
pub struct Store {
    pool: Pool,
    runtime: Option<Runtime>,
    pub(crate) handle: Handle,
    pub(crate) config: Config,
    pub(crate) settings: Settings,
    /// The random name of this process: it holds leases by it.
    pub(crate) holder: String,
    pub(crate) name: String,
}

impl Store {
    /// Connects, brings the schema up to date, and checks that commits are durable.
    ///
    /// # Errors
    /// No such database; settings with which a commit is not durable; a later schema.
    pub fn connect(url: &str, settings: Settings) -> Result<Arc<Self>, Error> {
        // The text of an address may have a password: errors do not repeat it.
        let told = "allowed: an address such as postgres://user@host/name";
        let mut config = Config::from_str(url).map_err(|_| Error::Refused(told.to_owned()))?;
        config.connect_timeout(settings.patience.min(Duration::from_secs(10)));
        config.application_name("hushstream");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("postgres")
            .enable_all()
            .build()
            .map_err(|error| Error::Io("no threads".to_owned(), error))?;
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let milliseconds = |time: Duration| time.as_millis().clamp(1, i32::MAX as u128);
        let session = format!(
            "SET synchronous_commit = on;
             SET idle_in_transaction_session_timeout = {};
             SET statement_timeout = {1}; SET lock_timeout = {1};",
            milliseconds(settings.lease),
            milliseconds(settings.patience)
        );
        let hook = deadpool_postgres::Hook::async_fn(move |client, _| {
            let session = session.clone();
            Box::pin(async move {
                let set = client.batch_execute(&session).await;
                set.map_err(deadpool_postgres::HookError::Backend)
            })
        });
        let pool = Pool::builder(Manager::from_config(config.clone(), NoTls, recycling))
            .max_size(settings.connections.max(2))
            .post_create(hook)
            .build()
            .map_err(|error| Error::Connection(error.to_string()))?;
        let mut random = [0; 8];
        let no_bytes = |_| Error::Refused("no random bytes".to_owned());
        getrandom::fill(&mut random).map_err(no_bytes)?;
        let mut store = Self {
            pool,
            config,
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            settings,
            holder: format!("{:016x}", u64::from_le_bytes(random)),
            name: String::new(),
        };
        store.name = store.wait(async {
            let mut object = store.client().await?;
            let client: &mut Client = &mut object;
            check_durable(client).await?;
            migrations::run(client).await?;
            let name = "SELECT name::text FROM store";
            Ok::<String, Error>(client.query_one(name, &[]).await?.get(0))
        })?;
        Ok(Arc::new(store))
    }

    /// The random name of the database, which a copy has too.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The random name of this process: it holds leases by it.
    #[must_use]
    pub fn holder(&self) -> &str {
        &self.holder
    }

    /// How long a lease lasts that is not renewed.
    #[must_use]
    pub fn lease(&self) -> Duration {
        self.settings.lease
    }

    /// A connection, for transactions of a program's own.
    ///
    /// # Errors
    /// No connection in time.
    pub async fn client(&self) -> Result<Object, Error> {
        let object = tokio::time::timeout(self.settings.patience, self.pool.get()).await;
        let late = || Error::Connection("all connections are busy".to_owned());
        let object = object.map_err(|_| late())?;
        object.map_err(|error| Error::Connection(error.to_string()))
    }

    /// Waits on this thread: the mechanism's logs are written by threads that may.
    ///
    /// # Errors
    /// The work's own; no answer in time.
    pub fn wait<R>(&self, work: impl Future<Output = Result<R, Error>>) -> Result<R, Error> {
        let limit = self.settings.patience * 2;
        let work = async move {
            let late = |_| Error::Connection("no answer in time".to_owned());
            tokio::time::timeout(limit, work).await.map_err(late)?
        };
        let is_shared = |own: &Handle| own.runtime_flavor() == RuntimeFlavor::MultiThread;
        match Handle::try_current() {
            Ok(own) if is_shared(&own) => {
                tokio::task::block_in_place(|| self.handle.block_on(work))
            }
            _ => self.handle.block_on(work),
        }
    }

    /// Stores a release under the fence and tells all nodes; gives what is stored, which is another
    /// node's if that was first. Only this may be answered with.
    ///
    /// # Errors
    /// [`Error::Fenced`]; those of the database.
    pub fn publish(
        &self,
        lease: &Lease,
        run: &str,
        version: u64,
        bytes: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let version = number(version)?;
        self.wait(async {
            let mut client = self.client().await?;
            let transaction = client.transaction().await?;
            check_fence(&transaction, lease).await?;
            let sql = "INSERT INTO releases (run, version, fence, bytes) VALUES ($1, $2, $3, $4)
                ON CONFLICT DO NOTHING";
            let row: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
                [&run, &version, &lease.fence, &bytes];
            if transaction.execute(sql, &row).await? == 1 {
                let sql = "SELECT pg_notify('hushstream_released', $1)";
                let told = format!("{run} {version}");
                transaction.execute(sql, &[&told]).await?;
            }
            let sql = "SELECT bytes FROM releases WHERE run = $1 AND version = $2";
            let stored = transaction.query_one(sql, &[&run, &version]).await?.get(0);
            transaction.commit().await?;
            Ok(stored)
        })
    }

    /// The newest release of a run, and its version.
    ///
    /// # Errors
    /// Those of the database.
    pub fn newest(&self, run: &str) -> Result<Option<(u64, Vec<u8>)>, Error> {
        self.stored(run, None)
    }

    /// This release of a run.
    ///
    /// # Errors
    /// Those of the database.
    pub fn release(&self, run: &str, version: u64) -> Result<Option<Vec<u8>>, Error> {
        Ok(self
            .stored(run, Some(number(version)?))?
            .map(|(_, bytes)| bytes))
    }

    fn stored(&self, run: &str, version: Option<i64>) -> Result<Option<(u64, Vec<u8>)>, Error> {
        let sql = "SELECT version, bytes FROM releases
            WHERE run = $1 AND version = coalesce($2, version) ORDER BY version DESC LIMIT 1";
        let row = self.wait(async {
            let client = self.client().await?;
            Ok(client.query_opt(sql, &[&run, &version]).await?)
        })?;
        Ok(row.map(|row| (row.get::<_, i64>(0).cast_unsigned(), row.get(1))))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which an asynchronous caller must not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A number as the database has it.
///
/// # Errors
/// A number above 2⁶³.
pub fn number(number: u64) -> Result<i64, Error> {
    let told = || Error::Refused("a number is too large for the database".to_owned());
    i64::try_from(number).map_err(|_| told())
}

/// Refuses a database that forgets what it has acknowledged.
async fn check_durable(client: &Client) -> Result<(), Error> {
    for (setting, why) in [
        (
            "fsync",
            "a crash of its machine loses what was acknowledged",
        ),
        ("full_page_writes", "a crash of its machine damages it"),
        ("synchronous_commit", "a crash loses what was acknowledged"),
    ] {
        let sql = "SELECT current_setting($1)";
        let value: String = client.query_one(sql, &[&setting]).await?.get(0);
        if value != "on" {
            let told = format!("the database has {setting} = {value}: {why}. Set it to on");
            return Err(Error::Refused(told));
        }
    }
    let sql = "SELECT pg_is_in_recovery()";
    if client.query_one(sql, &[]).await?.get(0) {
        let told = "the database is a replica that cannot be written: connect to the primary";
        return Err(Error::Refused(told.to_owned()));
    }
    Ok(())
}

/// Locks the lease until the end of the transaction, if its fence is still this one.
pub(crate) async fn check_fence(
    transaction: &deadpool_postgres::Transaction<'_>,
    lease: &Lease,
) -> Result<(), Error> {
    let transaction: &Transaction<'_> = transaction;
    let is_held = lease.is_held(transaction).await?;
    if is_held { Ok(()) } else { Err(Error::Fenced) }
}
