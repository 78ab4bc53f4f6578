//! The audit log.

use super::{Call, LINES, Route};
use crate::auth::hex;
use crate::clock::rfc3339;
use crate::problem::Problem;
use crate::store::{AUDIT, AuditRow, Role, decode, store_error};
use crate::told::{Managers, Public};
use axum::http::Method;
use redb::ReadableDatabase;
use serde_json::json;

/// Lines of one answer.
const MOST: usize = 1000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Managers,
            Method::GET,
            "/v1/audit",
            "get-audit",
            "Who did what: hash-chained lines, no values",
            get,
        )
        .asks(&[("after", "Count")])
        .gives(&[(200, "Audit", LINES)]),
    ]
}

async fn get(call: Call) -> Result<Public, Problem> {
    let caller = call.caller()?;
    let first = call.number("after")?.unwrap_or(0).saturating_add(1);
    let txn = call.app.db.begin_read().map_err(store_error)?;
    let table = txn.open_table(AUDIT).map_err(store_error)?;
    let mut text = String::new();
    let mut count = 0;
    for entry in table.range(first..).map_err(store_error)? {
        let (seq, row) = entry.map_err(store_error)?;
        let row: AuditRow = decode(row.value())?;
        if caller.role != Role::Admin && row.tenant != caller.tenant {
            continue;
        }
        let line = json!({
            "seq": seq.value(),
            "at": rfc3339(row.at),
            "tenant": row.tenant,
            "who": row.who,
            "what": row.what,
            "subject": row.subject,
            "prev": hex(&row.prev),
            "hash": hex(&row.hash),
        });
        text.push_str(&line.to_string());
        text.push('\n');
        count += 1;
        if count == MOST {
            break;
        }
    }
    Ok(Public::lines(text))
}
