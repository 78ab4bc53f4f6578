//! The server without its listeners: the store, the learners, and what they share.

use crate::auth::{NewToken, Rates, Room, Tokens};
use crate::clock::Clock;
use crate::config::{Config, StoreAddress};
use crate::follow::Follower;
use crate::keys::{Master, MasterSource, Secret};
use crate::learn::{Context, Workers};
use crate::policy::Policies;
use crate::problem::Problem;
use crate::store::shared::Shared;
use crate::store::{
    After, Committer, Core, DatasetRow, ModelRow, Reads, Role, State, TokenRow, Touches, Witness,
};
use crate::watch::{Hub, Metrics};
use hushstream::noise::Key;
use hushstream_postgres as postgres;
use std::collections::BTreeSet;
use std::io::{Error as IoError, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

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
    pub(crate) db: Arc<dyn Reads>,
    /// The same, where several nodes share it.
    pub(crate) shared: Option<Arc<Shared>>,
    /// The store, to be written.
    pub committer: Arc<Committer>,
    /// Tokens.
    pub tokens: Arc<Tokens>,
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
    follower: Mutex<Option<Follower>>,
}

/// The store, opened and checked against its witness.
struct Opened {
    core: Core,
    db: Arc<dyn Reads>,
    shared: Option<Arc<Shared>>,
    witness: Witness,
}

impl Opened {
    fn open(
        config: &Config,
        clock: &Arc<dyn Clock>,
        tokens: &Arc<Tokens>,
        metrics: &Metrics,
    ) -> Result<Self, StartError> {
        match &config.store {
            Some(StoreAddress(address)) => Self::shared(config, address, clock, tokens),
            None => Self::embedded(config, metrics),
        }
    }

    fn embedded(config: &Config, metrics: &Metrics) -> Result<Self, StartError> {
        let syncs = metrics.operator.syncs.clone();
        let db = Arc::new(crate::store::open(&config.data.join("store.redb"), syncs)?);
        let core = Core::open(Arc::clone(&db))?;
        let (store, published) = core.name()?;
        let mut witness = Witness::new(config.witness.clone(), store);
        match witness.check(published) {
            Ok(is_there) => {
                if !is_there && config.witness.is_some() && published > 0 {
                    let told = "no witness: whether this folder is the newest copy is not known";
                    tracing::warn!(told);
                }
                // A crash may have come before the last publication was noted: it is, before the
                // store answers with it.
                let what = format!("cannot note in the witness of {}", config.data.display());
                let noted = witness.note(published);
                noted.map_err(|error| StartError::Io(what, error))?;
            }
            Err(told) if config.restored => {
                tracing::warn!(told, "a restored copy");
                // It answers with what is old, and the witness still says so.
                witness = Witness::new(None, store);
            }
            Err(told) => return Err(StartError::Refused(told)),
        }
        Ok(Self {
            core,
            db,
            shared: None,
            witness,
        })
    }

    /// A database is met as a copy until this node's witness says otherwise, or an operator.
    fn shared(
        config: &Config,
        address: &str,
        clock: &Arc<dyn Clock>,
        tokens: &Arc<Tokens>,
    ) -> Result<Self, StartError> {
        let refused = |error: postgres::Error| StartError::Refused(error.to_string());
        if config.restored {
            return Err(StartError::Refused(RESTORED.to_owned()));
        }
        let settings = postgres::Settings {
            lease: config.lease,
            ..postgres::Settings::default()
        };
        let store = postgres::Store::connect(address, settings).map_err(refused)?;
        let folder = config.witness.clone();
        let folder = folder.unwrap_or_else(|| config.data.join("witness"));
        let is_new = !folder.join("store").exists();
        let join = match &config.join {
            Some(reason) => postgres::Join::Because(reason),
            None => postgres::Join::Refused,
        };
        let witness = postgres::Witness::open(&folder, &store, join).map_err(refused)?;
        let shared = Shared::new(store, witness, Arc::clone(tokens))?;
        let shared = Arc::new(shared);
        clock.set(shared.time()?);
        let mut core = Core::open_shared(Arc::clone(&shared))?;
        if let (true, Some(reason)) = (is_new, &config.join) {
            let (node, what) = (
                shared.store.holder().to_owned(),
                format!("node joined without a witness: {}", reason.trim()),
            );
            core.audit(clock.now(), what, node)?;
        }
        let db: Arc<dyn Reads> = Arc::<Shared>::clone(&shared);
        Ok(Self {
            core,
            db,
            shared: Some(shared),
            witness: Witness::new(None, 0),
        })
    }
}

const RESTORED: &str = "a database that was restored cannot be answered from: put the newest one \
    back. If it is lost, its data sets must not be charged again: begin with an empty database";

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
        let tokens = Arc::<Tokens>::default();
        let opened = Opened::open(&config, &clock, &tokens, &metrics)?;
        let master = config.master.clone();
        let source = master.unwrap_or(MasterSource::File(config.data.join("master.key")));
        let master = Arc::new(Master::read(&source)?);
        let Opened {
            core,
            db,
            shared,
            witness,
        } = opened;
        let boot = core.boot();
        let behind: Vec<Arc<ModelRow>> = core
            .models()
            .filter(|(_, state)| state.fed < state.closed)
            .map(|(row, _)| Arc::clone(row))
            .collect();
        let closed_at_start = core.models().map(|(row, state)| (row.number, state.closed));
        let closed_at_start = closed_at_start.collect();
        let (policies, hub) = (
            Arc::new(Policies::new(Arc::clone(&db), witness, config.answering)),
            Arc::<Hub>::default(),
        );
        let context = Arc::new(Context {
            folder: datasets,
            db: Arc::clone(&db),
            shared: shared.clone(),
            committer: OnceLock::new(),
            policies: Arc::clone(&policies),
            hub: Arc::clone(&hub),
            clock: Arc::clone(&clock),
            master: Arc::clone(&master),
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
                    feed(&workers, db.as_ref(), &model);
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
        let made = secret(&committer, db.as_ref(), &master, config.seed);
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
            shared,
            committer,
            tokens,
            policies,
            workers,
            hub,
            metrics,
            secret,
            rates: Rates::default(),
            boot,
            follower: Mutex::default(),
        });
        // A second attempt must find the store closed.
        app.begin(&behind).inspect_err(|_| app.stop())?;
        if app.shared.is_some() {
            let follower = Follower::start(&app).inspect_err(|_| app.stop());
            let follower =
                follower.map_err(|error| StartError::Io("no threads".to_owned(), error))?;
            *app.follower.lock().unwrap_or_else(PoisonError::into_inner) = Some(follower);
        }
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
                feed(&self.workers, self.db.as_ref(), model);
            }
            self.begin_again()?;
        }
        Ok(())
    }

    /// After a restore: no model learns, and no data set is charged.
    fn lock_all(&self) -> Result<(), StartError> {
        let mut touches = Touches::settings();
        touches
            .models
            .extend(self.db.models(None)?.iter().map(|row| row.number));
        let locked = self.committer.write_blocking(touches, |tx| {
            tx.lock_all()?;
            tx.audit(None, "node", "restored from a copy", "")?;
            Ok(Ok(()))
        });
        locked.map_err(|problem| StartError::Refused(problem.detail))
    }

    fn load_tokens(&self) -> Result<(), StartError> {
        for (id, row) in self.db.tokens()? {
            if !row.ended {
                self.tokens.add(id, row);
            }
        }
        Ok(())
    }

    /// At the first start: a tenant, and tokens for its operator and for the node, in files that
    /// only their owner can read.
    fn first_tokens(&self) -> Result<(), StartError> {
        if !self.db.tokens()?.is_empty() {
            return Ok(());
        }
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
            let touches = Touches::settings();
            let written = self.committer.write_blocking(touches, move |tx| {
                if let Some(tenant) = tenant {
                    tx.put_tenant(tenant)?;
                }
                tx.put_token(&id, &stored)?;
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
        for row in self.db.models(None)? {
            if row.status == crate::store::ModelStatus::Beginning
                && let Ok(Some(dataset)) = self.db.dataset(&row.tenant, &row.dataset)
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
        let row = self.db.model(tenant, name)?;
        row.ok_or_else(|| Problem::not_found("model"))
    }

    /// All models of a tenant, by name.
    ///
    /// # Errors
    /// Those of the store.
    pub fn models(&self, tenant: &str) -> Result<Vec<ModelRow>, Problem> {
        Ok(self.db.models(Some(tenant))?)
    }

    /// A data set of a tenant.
    ///
    /// # Errors
    /// 404.
    pub fn dataset(&self, tenant: &str, name: &str) -> Result<DatasetRow, Problem> {
        let found = self.db.dataset(tenant, name)?;
        found.ok_or_else(|| Problem::not_found("data set"))
    }

    /// All data sets of a tenant, by name.
    ///
    /// # Errors
    /// Those of the store.
    pub fn datasets(&self, tenant: &str) -> Result<Vec<(String, DatasetRow)>, Problem> {
        Ok(self.db.datasets(tenant)?)
    }

    /// The families of all tokens that a tenant had.
    ///
    /// # Errors
    /// Those of the store.
    pub fn families(&self, tenant: &str) -> Result<BTreeSet<String>, Problem> {
        let mut all = BTreeSet::new();
        for (_, row) in self.db.tokens()? {
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
        Ok(self.db.state(model)?)
    }

    /// Commits what waits, lets the learners finish, and closes everything.
    pub fn stop(&self) {
        let follower = self.follower.lock();
        let follower = follower.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(follower) = follower {
            follower.stop();
        }
        self.workers.stop();
        self.committer.stop();
    }
}

/// Has a model learn from its closed batches.
pub(crate) fn feed(workers: &Arc<Workers>, db: &dyn Reads, model: &Arc<ModelRow>) {
    match db.dataset(&model.tenant, &model.dataset) {
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

/// The node's secrets: made at the first start.
fn secret(
    committer: &Committer,
    db: &dyn Reads,
    master: &Master,
    seed: Option<u64>,
) -> Result<Secret, StartError> {
    let refused = |told: &str| StartError::Refused(told.to_owned());
    let known = |name: &str| -> Result<Option<Vec<u8>>, StartError> {
        let Some(row) = db.key(name)? else {
            return Ok(None);
        };
        let opened = master.open(name.as_bytes(), &row);
        let lost = || refused("the store's secrets are sealed under another master key");
        Ok(Some(opened.ok_or_else(lost)?.to_vec()))
    };
    let stored = || -> Result<Option<Secret>, StartError> {
        let (Some(names), Some(coins)) = (known("names")?, known("coins")?) else {
            return Ok(None);
        };
        let names = names.try_into().map_err(|_| refused("a key is damaged"))?;
        let coins = Key::import(&coins).map_err(|_| refused("a key is damaged"))?;
        Ok(Some(Secret::new(names, coins)))
    };
    if let Some(secret) = stored()? {
        return Ok(secret);
    }
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
    let made = [
        ("names", sealed("names", &names)?),
        ("coins", sealed("coins", coins.export().as_slice())?),
    ];
    let written = committer.write_blocking(Touches::settings(), move |tx| {
        for (name, secret) in &made {
            tx.put_key(name, secret)?;
        }
        Ok(Ok(()))
    });
    written.map_err(|problem| StartError::Refused(problem.detail))?;
    // Another node may have been first.
    stored()?.ok_or_else(|| refused("the store's secrets cannot be read"))
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
