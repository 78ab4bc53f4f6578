//! The server without its listeners: the store, the learners, and what they share.

use crate::auth::{NewToken, Rates, Room, Tokens};
use crate::clock::Clock;
use crate::config::Config;
use crate::keys::{Master, MasterSource, Secret};
use crate::learn::{Context, Workers};
use crate::policy::Policies;
use crate::problem::Problem;
use crate::store::{
    After, Committer, Core, DATASETS, DatasetRow, KEYS, MODELS, ModelRow, NAMES, Role, State,
    TOKENS, TokenRow, Witness, decode, encode, state_of, store_error,
};
use crate::watch::{Hub, Metrics};
use hushstream::noise::Key;
use redb::{Database, ReadableDatabase, ReadableTable};
use std::collections::BTreeSet;
use std::io::{Error as IoError, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

/// What cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A file or a thread.
    #[error("{0}: {1}")]
    Io(String, #[source] IoError),
    /// The store.
    #[error("the store cannot be opened: {0}")]
    Store(#[from] crate::store::StoreError),
    /// Anything else.
    #[error("{0}")]
    Refused(String),
}

/// The server.
pub struct App {
    /// Its settings.
    pub config: Config,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// The store, to be read.
    pub db: Arc<Database>,
    /// The store, to be written.
    pub committer: Arc<Committer>,
    /// Tokens.
    pub tokens: Tokens,
    /// Models that answer.
    pub policies: Arc<Policies>,
    /// Learners.
    pub workers: Arc<Workers>,
    /// Subscribers to public events.
    pub hub: Arc<Hub>,
    /// Metrics.
    pub metrics: Arc<Metrics>,
    /// Secrets.
    pub secret: Secret,
    /// How many decisions tokens may ask for.
    pub rates: Rates,
    /// Room for decisions in progress.
    pub room: Room,
    /// The random name of this start, of which coins are made.
    pub boot: [u8; 16],
}

impl App {
    /// Opens everything, and goes on where a crash stopped.
    ///
    /// # Errors
    /// A folder in use; a store that is damaged; a disk that fails.
    pub fn start(config: Config, clock: Arc<dyn Clock>) -> Result<Arc<Self>, StartError> {
        let io = |what: &str| {
            let what = format!("{what} {}", config.data.display());
            move |error| StartError::Io(what, error)
        };
        let datasets = config.data.join("datasets");
        std::fs::create_dir_all(&datasets).map_err(io("cannot make"))?;
        restrict(&config.data).map_err(io("cannot restrict"))?;
        let metrics = Arc::<Metrics>::default();
        let syncs = metrics.operator.syncs.clone();
        let db = crate::store::open(&config.data.join("store.redb"), syncs)?;
        let core = Core::open(Arc::new(db))?;
        let master = config.master.clone();
        let source = master.unwrap_or(MasterSource::File(config.data.join("master.key")));
        let master = Arc::new(Master::read(&source)?);
        let (store, published) = core.name()?;
        let witness = Witness::new(config.witness.clone(), store);
        match witness.check(published) {
            Ok(is_there) => {
                if !is_there && config.witness.is_some() && published > 0 {
                    let told = "no witness: whether this folder is the newest copy is not known";
                    tracing::warn!(told);
                }
                // A crash may have come before the last publication was noted: it is, before the
                // store answers with it.
                witness
                    .note(published)
                    .map_err(io("cannot note in the witness of"))?;
            }
            Err(told) if config.restored => tracing::warn!(told, "a restored copy"),
            Err(told) => return Err(StartError::Refused(told)),
        }
        let (db, boot) = (core.db(), core.boot());
        let behind: Vec<Arc<ModelRow>> = core
            .models()
            .filter(|(_, state)| state.fed < state.closed)
            .map(|(row, _)| Arc::clone(row))
            .collect();
        let closed_at_start = core.models().map(|(row, state)| (row.number, state.closed));
        let closed_at_start = closed_at_start.collect();
        let (policies, hub) = (
            Arc::new(Policies::new(Arc::clone(&db), config.answering)),
            Arc::<Hub>::default(),
        );
        let context = Arc::new(Context {
            folder: datasets,
            db: Arc::clone(&db),
            committer: OnceLock::new(),
            policies: Arc::clone(&policies),
            hub: Arc::clone(&hub),
            clock: Arc::clone(&clock),
            master: Arc::clone(&master),
            witness,
            closed_at_start: Mutex::new(closed_at_start),
            open: (config.open / config.workers.max(1)).max(1),
        });
        let workers = Workers::start(config.workers, &context).map_err(io("no threads for"))?;
        let workers = Arc::new(workers);
        let on_after = {
            let (workers, hub) = (Arc::clone(&workers), Arc::clone(&hub));
            let (db, metrics) = (Arc::clone(&db), Arc::clone(&metrics));
            move |after| {
                if let After::Closed { model, batch, at } = after {
                    metrics.public.batches.inc();
                    hub.closed(&model, batch, at);
                    feed(&workers, &db, &model);
                }
            }
        };
        let committer = Committer::start(
            core,
            Arc::clone(&clock),
            config.limits.clone(),
            Box::new(on_after),
        );
        let committer = Arc::new(committer.map_err(io("no threads for"))?);
        let _ = context.committer.set(Arc::clone(&committer));
        let made = secret(&committer, &db, &master, config.seed);
        let made = made.and_then(|secret| Ok((secret, boot_name(config.seed, boot)?)));
        let (secret, boot) = match made {
            Ok(made) => made,
            Err(error) => {
                workers.stop();
                committer.stop();
                return Err(error);
            }
        };
        let app = Arc::new(Self {
            room: Room::new(config.limits.waiting),
            config,
            clock,
            db,
            committer,
            tokens: Tokens::default(),
            policies,
            workers,
            hub,
            metrics,
            secret,
            rates: Rates::default(),
            boot,
        });
        // A second attempt must find the store closed.
        app.begin(&behind).inspect_err(|_| app.stop())?;
        Ok(app)
    }

    /// Reads tokens, makes the first ones, and goes on with what waits.
    fn begin(&self, behind: &[Arc<ModelRow>]) -> Result<(), StartError> {
        if self.config.restored {
            self.lock_all()?;
        }
        self.load_tokens()?;
        self.first_tokens()?;
        if !self.config.restored {
            for model in behind {
                feed(&self.workers, &self.db, model);
            }
            self.begin_again()?;
        }
        Ok(())
    }

    /// After a restore: no model learns, and no data set is charged.
    fn lock_all(&self) -> Result<(), StartError> {
        let locked = self.committer.write_blocking(|tx| {
            tx.lock_all()?;
            tx.audit(None, "node", "restored from a copy", "")?;
            Ok(Ok(()))
        });
        locked.map_err(|problem| StartError::Refused(problem.detail))
    }

    fn load_tokens(&self) -> Result<(), StartError> {
        let txn = self.db.begin_read().map_err(store_error)?;
        let tokens = txn.open_table(TOKENS).map_err(store_error)?;
        for entry in tokens.iter().map_err(store_error)? {
            let (id, row) = entry.map_err(store_error)?;
            let row: TokenRow = decode(row.value())?;
            if !row.ended {
                self.tokens.add(id.value().to_owned(), row);
            }
        }
        Ok(())
    }

    /// At the first start: a tenant, and tokens for its operator and for the node, in files that
    /// only their owner can read.
    fn first_tokens(&self) -> Result<(), StartError> {
        let txn = self.db.begin_read().map_err(store_error)?;
        let tokens = txn.open_table(TOKENS).map_err(store_error)?;
        if tokens.first().map_err(store_error)?.is_some() {
            return Ok(());
        }
        drop((tokens, txn));
        for (role, tenant, file) in [
            (Role::Admin, None, "admin.token"),
            (Role::Operator, Some("main"), "operator.token"),
        ] {
            let refused = |problem: Problem| StartError::Refused(problem.detail);
            let token = NewToken::random().map_err(refused)?;
            let path = self.config.data.join(file);
            let said = |error| StartError::Io(format!("cannot write {}", path.display()), error);
            write_secret(&path, &format!("{}\n", token.token)).map_err(said)?;
            let row = TokenRow {
                hash: token.hash,
                role,
                tenant: tenant.map(str::to_owned),
                models: None,
                expires: None,
                created: self.clock.now(),
                ended: false,
                family: token.id.clone(),
            };
            let (id, stored) = (token.id.clone(), row.clone());
            let written = self.committer.write_blocking(move |tx| {
                if let Some(tenant) = tenant {
                    let now = tx.now;
                    tx.tenants.insert(tenant, now).map_err(store_error)?;
                }
                let bytes = encode(&stored);
                tx.tokens
                    .insert(id.as_str(), bytes.as_slice())
                    .map_err(store_error)?;
                tx.audit(tenant, "node", "token made", &id)?;
                Ok(Ok(()))
            });
            written.map_err(refused)?;
            self.tokens.add(token.id, row);
        }
        Ok(())
    }

    /// Models whose beginning a crash stopped.
    fn begin_again(&self) -> Result<(), StartError> {
        let txn = self.db.begin_read().map_err(store_error)?;
        let models = txn.open_table(MODELS).map_err(store_error)?;
        for entry in models.iter().map_err(store_error)? {
            let (_, row) = entry.map_err(store_error)?;
            let row: ModelRow = decode(row.value())?;
            if row.status == crate::store::ModelStatus::Beginning
                && let Ok(Some(dataset)) = dataset_of(&self.db, &row.tenant, &row.dataset)
            {
                let row = Arc::new(row);
                self.workers.send(dataset.number, move |actor| {
                    if let Err(problem) = actor.begin(&row, &dataset) {
                        let (model, detail) = (&row.name, problem.detail);
                        tracing::error!(model, detail, "a model cannot be begun");
                    }
                });
            }
        }
        Ok(())
    }

    /// A model of a tenant.
    ///
    /// # Errors
    /// 404.
    pub fn model(&self, tenant: &str, name: &str) -> Result<Arc<ModelRow>, Problem> {
        let txn = self.db.begin_read().map_err(store_error)?;
        let names = txn.open_table(NAMES).map_err(store_error)?;
        let key = format!("{tenant}/{name}");
        let number = names.get(key.as_str()).map_err(store_error)?;
        let number = number.ok_or_else(|| Problem::not_found("model"))?.value();
        let models = txn.open_table(MODELS).map_err(store_error)?;
        let row = models.get(number).map_err(store_error)?;
        let row = row.ok_or_else(|| Problem::not_found("model"))?;
        Ok(Arc::new(decode(row.value())?))
    }

    /// All models of a tenant, by name.
    ///
    /// # Errors
    /// Those of the store.
    pub fn models(&self, tenant: &str) -> Result<Vec<ModelRow>, Problem> {
        let txn = self.db.begin_read().map_err(store_error)?;
        let names = txn.open_table(NAMES).map_err(store_error)?;
        let models = txn.open_table(MODELS).map_err(store_error)?;
        let (first, last) = (format!("{tenant}/"), format!("{tenant}0"));
        let mut all = Vec::new();
        let range = names.range(first.as_str()..last.as_str());
        for entry in range.map_err(store_error)? {
            let number = entry.map_err(store_error)?.1.value();
            if let Some(row) = models.get(number).map_err(store_error)? {
                all.push(decode(row.value())?);
            }
        }
        Ok(all)
    }

    /// A data set of a tenant.
    ///
    /// # Errors
    /// 404.
    pub fn dataset(&self, tenant: &str, name: &str) -> Result<DatasetRow, Problem> {
        let found = dataset_of(&self.db, tenant, name)?;
        found.ok_or_else(|| Problem::not_found("data set"))
    }

    /// All data sets of a tenant, by name.
    ///
    /// # Errors
    /// Those of the store.
    pub fn datasets(&self, tenant: &str) -> Result<Vec<(String, DatasetRow)>, Problem> {
        let txn = self.db.begin_read().map_err(store_error)?;
        let table = txn.open_table(DATASETS).map_err(store_error)?;
        let (first, last) = (format!("{tenant}/"), format!("{tenant}0"));
        let mut all = Vec::new();
        let range = table.range(first.as_str()..last.as_str());
        for entry in range.map_err(store_error)? {
            let (key, row) = entry.map_err(store_error)?;
            let name = key.value()[first.len()..].to_owned();
            all.push((name, decode(row.value())?));
        }
        Ok(all)
    }

    /// The families of all tokens that a tenant had.
    ///
    /// # Errors
    /// Those of the store.
    pub fn families(&self, tenant: &str) -> Result<BTreeSet<String>, Problem> {
        let txn = self.db.begin_read().map_err(store_error)?;
        let tokens = txn.open_table(TOKENS).map_err(store_error)?;
        let mut all = BTreeSet::new();
        for entry in tokens.iter().map_err(store_error)? {
            let row: TokenRow = decode(entry.map_err(store_error)?.1.value())?;
            if row.tenant.as_deref() == Some(tenant) {
                all.insert(row.family);
            }
        }
        Ok(all)
    }

    /// The rounds of a model.
    ///
    /// # Errors
    /// Those of the store.
    pub fn state(&self, model: u64) -> Result<State, Problem> {
        Ok(state_of(&self.db, model)?)
    }

    /// Commits what waits, lets the learners finish, and closes everything.
    pub fn stop(&self) {
        self.workers.stop();
        self.committer.stop();
    }
}

/// Has a model learn from its closed batches.
fn feed(workers: &Arc<Workers>, db: &Database, model: &Arc<ModelRow>) {
    match dataset_of(db, &model.tenant, &model.dataset) {
        Ok(Some(dataset)) => feed_next(workers, Arc::clone(model), dataset),
        Ok(None) => tracing::error!(model = model.name, "a model without its data set"),
        Err(error) => tracing::error!(%error, "the store cannot be read"),
    }
}

/// One batch, and then the next in its turn: no model waits for all batches of another.
fn feed_next(workers: &Arc<Workers>, model: Arc<ModelRow>, dataset: DatasetRow) {
    let again = Arc::clone(workers);
    workers.send(dataset.number, move |actor| {
        if actor.feed(&model, &dataset) {
            feed_next(&again, model, dataset);
        }
    });
}

fn dataset_of(
    db: &Database,
    tenant: &str,
    name: &str,
) -> Result<Option<DatasetRow>, crate::store::StoreError> {
    let txn = db.begin_read().map_err(store_error)?;
    let table = txn.open_table(DATASETS).map_err(store_error)?;
    let key = format!("{tenant}/{name}");
    let row = table.get(key.as_str()).map_err(store_error)?;
    row.map(|row| decode(row.value())).transpose()
}

/// The node's secrets: made at the first start.
fn secret(
    committer: &Committer,
    db: &Database,
    master: &Master,
    seed: Option<u64>,
) -> Result<Secret, StartError> {
    let refused = |told: &str| StartError::Refused(told.to_owned());
    let txn = db.begin_read().map_err(store_error)?;
    let keys = txn.open_table(KEYS).map_err(store_error)?;
    let known = |name: &str| -> Result<Option<Vec<u8>>, StartError> {
        let Some(row) = keys.get(name).map_err(store_error)? else {
            return Ok(None);
        };
        let opened = master.open(name.as_bytes(), row.value());
        let lost = || refused("the store's secrets are sealed under another master key");
        Ok(Some(opened.ok_or_else(lost)?.to_vec()))
    };
    if let (Some(names), Some(coins)) = (known("names")?, known("coins")?) {
        let names = names.try_into().map_err(|_| refused("a key is damaged"))?;
        let coins = Key::import(&coins).map_err(|_| refused("a key is damaged"))?;
        return Ok(Secret::new(names, coins));
    }
    drop((keys, txn));
    let (mut names, coins) = match seed {
        Some(seed) => ([0; 32], Key::insecure_from_seed(seed)),
        None => (
            [0; 32],
            Key::from_os().map_err(|_| refused("no random bytes"))?,
        ),
    };
    match seed {
        Some(seed) => names[..8].copy_from_slice(&seed.to_le_bytes()),
        None => getrandom::fill(&mut names).map_err(|_| refused("no random bytes"))?,
    }
    let sealed = |name: &str, secret: &[u8]| {
        let sealed = master.seal(name.as_bytes(), secret);
        sealed.ok_or_else(|| refused("a secret cannot be sealed"))
    };
    let stored = [
        ("names", sealed("names", &names)?),
        ("coins", sealed("coins", coins.export().as_slice())?),
    ];
    let written = committer.write_blocking(move |tx| {
        for (name, secret) in &stored {
            tx.keys
                .insert(*name, secret.as_slice())
                .map_err(store_error)?;
        }
        Ok(Ok(()))
    });
    written.map_err(|problem| StartError::Refused(problem.detail))?;
    Ok(Secret::new(names, coins))
}

/// The random name of this start.
fn boot_name(seed: Option<u64>, boot: u64) -> Result<[u8; 16], StartError> {
    let mut name = [0; 16];
    match seed {
        Some(seed) => {
            name[..8].copy_from_slice(&seed.to_le_bytes());
            name[8..].copy_from_slice(&boot.to_le_bytes());
        }
        None => getrandom::fill(&mut name)
            .map_err(|_| StartError::Refused("no random bytes".to_owned()))?,
    }
    Ok(name)
}

fn restrict(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let _ = folder;
    Ok(())
}

/// Writes a file that only its owner can read.
pub(crate) fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    // Not into a file that is there already: others might be able to read it.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = std::fs::OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
