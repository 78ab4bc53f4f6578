//! Leases: which node learns a data set.

use crate::store::number;
use crate::{Error, Store};
use tokio_postgres::GenericClient;

/// The right to write the logs of a data set, while nobody takes it over.
#[derive(Debug, Clone)]
pub struct Lease {
    pub(crate) dataset: i64,
    pub(crate) fence: i64,
}

impl Lease {
    /// How many holders there were, with this one.
    #[must_use]
    pub fn fence(&self) -> i64 {
        self.fence
    }

    /// Whether nobody has taken it over; then nobody does before the end of this transaction.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn is_held(&self, transaction: &impl GenericClient) -> Result<bool, Error> {
        let sql = "SELECT 1 FROM leases WHERE dataset = $1 AND fence = $2 FOR SHARE";
        let row = transaction
            .query_opt(sql, &[&self.dataset, &self.fence])
            .await?;
        Ok(row.is_some())
    }
}

impl Store {
    /// Takes the lease of a data set: from nobody, from this node, or from a holder whose time is
    /// over. None if another holds it.
    ///
    /// # Errors
    /// Those of the database.
    pub fn take_lease(&self, dataset: u64) -> Result<Option<Lease>, Error> {
        let dataset = number(dataset)?;
        let sql = "INSERT INTO leases AS l (dataset, holder, fence, until)
            VALUES ($1, $2, 1, clock_timestamp() + make_interval(secs => $3))
            ON CONFLICT (dataset) DO UPDATE
            SET holder = excluded.holder, fence = l.fence + 1, until = excluded.until
            WHERE l.holder = excluded.holder OR l.until < clock_timestamp()
            RETURNING fence";
        let seconds = self.settings.lease.as_secs_f64();
        let row = self.wait(async {
            let client = self.client().await?;
            let row = client
                .query_opt(sql, &[&dataset, &self.holder, &seconds])
                .await?;
            Ok(row)
        })?;
        let lease = |fence| Lease { dataset, fence };
        Ok(row.map(|row| lease(row.get(0))))
    }

    /// Lengthens a lease; false if another node has taken it over.
    ///
    /// # Errors
    /// Those of the database.
    pub fn renew_lease(&self, lease: &Lease) -> Result<bool, Error> {
        self.until(lease, self.settings.lease.as_secs_f64())
    }

    /// Ends a lease, so that others need not wait. Drop what writes under it first.
    ///
    /// # Errors
    /// Those of the database.
    pub fn end_lease(&self, lease: &Lease) -> Result<bool, Error> {
        self.until(lease, -1.0)
    }

    fn until(&self, lease: &Lease, seconds: f64) -> Result<bool, Error> {
        let sql = "UPDATE leases SET until = clock_timestamp() + make_interval(secs => $3)
            WHERE dataset = $1 AND fence = $2";
        let count = self.wait(async {
            let client = self.client().await?;
            let count = client
                .execute(sql, &[&lease.dataset, &lease.fence, &seconds])
                .await?;
            Ok(count)
        })?;
        Ok(count == 1)
    }
}
