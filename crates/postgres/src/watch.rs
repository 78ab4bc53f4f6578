//! What other nodes publish, told as it happens.

use crate::store::Store;
use std::future::poll_fn;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tokio_postgres::{AsyncMessage, Config, NoTls};

/// What a node that watches is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It watches now, for the first time or again: what was published before may be unknown. Check
    /// the witness, then read the newest releases.
    Watching,
    /// A release was stored: read it.
    Released {
        /// The run.
        run: String,
        /// Its version.
        version: u64,
    },
    /// A node said something, with [`SAY`].
    Said {
        /// The node that holds leases by this name.
        from: String,
        /// What it said.
        what: String,
    },
}

/// Says something to all nodes when the transaction commits: the holder's name, then a text.
pub const SAY: &str = "SELECT pg_notify('hushstream_said', $1 || ' ' || $2)";

impl Store {
    /// Tells of every release from now on, for as long as the store is there. A connection that is
    /// lost is made again.
    #[must_use]
    pub fn watch(&self) -> Receiver<Told> {
        let (sender, told) = channel();
        let config = self.config.clone();
        self.handle.spawn(async move {
            while listen(&config, &sender).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        });
        told
    }
}

/// Nobody is told any more.
struct Gone;

fn told(channel: &str, text: &str) -> Option<Told> {
    if channel == "hushstream_said" {
        let (from, what) = text.split_once(' ')?;
        let (from, what) = (from.to_owned(), what.to_owned());
        return Some(Told::Said { from, what });
    }
    let (run, version) = text.rsplit_once(' ')?;
    let (run, version) = (run.to_owned(), version.parse().ok()?);
    Some(Told::Released { run, version })
}

async fn listen(config: &Config, sender: &Sender<Told>) -> Result<(), Gone> {
    let Ok((client, mut connection)) = config.connect(NoTls).await else {
        return Ok(());
    };
    let own = sender.clone();
    let messages = async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(message) = message
                && let Some(told) = told(message.channel(), message.payload())
            {
                own.send(told).map_err(|_| Gone)?;
            }
        }
        Ok(())
    };
    let begin = async {
        if client
            .batch_execute("LISTEN hushstream_released; LISTEN hushstream_said")
            .await
            .is_ok()
        {
            sender.send(Told::Watching).map_err(|_| Gone)?;
            // The client must stay, or its connection ends.
            std::future::pending::<()>().await;
        }
        Ok(())
    };
    tokio::select! {
        ended = messages => ended,
        ended = begin => ended,
    }
}
