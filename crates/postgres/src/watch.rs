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
}

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

async fn listen(config: &Config, sender: &Sender<Told>) -> Result<(), Gone> {
    let Ok((client, mut connection)) = config.connect(NoTls).await else {
        return Ok(());
    };
    let own = sender.clone();
    let messages = async move {
        while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
            if let AsyncMessage::Notification(message) = message
                && let Some((run, version)) = message.payload().rsplit_once(' ')
                && let Ok(version) = version.parse()
            {
                let run = run.to_owned();
                own.send(Told::Released { run, version })
                    .map_err(|_| Gone)?;
            }
        }
        Ok(())
    };
    let begin = async {
        if client
            .batch_execute("LISTEN hushstream_released")
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
