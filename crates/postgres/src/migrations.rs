//! Numbered changes of the schema, each run once, in one transaction.

use crate::Error;
use tokio_postgres::Client;

const ALL: &[&str] = &[
    include_str!("../migrations/0001_frames.sql"),
    include_str!("../migrations/0002_server.sql"),
];

/// Any number, the same for all nodes: they do not migrate at the same time.
const LOCK: i64 = 0x6875_7368;

/// Brings the schema up to date.
pub(crate) async fn run(client: &mut Client) -> Result<(), Error> {
    let transaction = client.transaction().await?;
    let lock = "SELECT pg_advisory_xact_lock($1)";
    transaction.execute(lock, &[&LOCK]).await?;
    let table = "CREATE TABLE IF NOT EXISTS migrations (
        number bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp())";
    transaction.batch_execute(table).await?;
    let last = "SELECT coalesce(max(number), 0) FROM migrations";
    let last: i64 = transaction.query_one(last, &[]).await?.get(0);
    if last > ALL.len() as i64 {
        let told = "a later version of the program made this database: use that version";
        return Err(Error::Refused(told.to_owned()));
    }
    for (number, sql) in (1_i64..).zip(ALL).filter(|(number, _)| *number > last) {
        transaction.batch_execute(sql).await?;
        let note = "INSERT INTO migrations (number) VALUES ($1)";
        transaction.execute(note, &[&number]).await?;
    }
    Ok(transaction.commit().await?)
}
