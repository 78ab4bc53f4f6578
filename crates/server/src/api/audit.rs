//! The audit log.

use super::{Call, LINES, Route};
use crate::auth::hex;
use crate::clock::rfc3339;
use crate::problem::Problem;
use crate::store::Role;
use crate::told::{Managers, Public};
use axum::http::Method;
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
    let tenant = match caller.role {
        Role::Admin => None,
        _ => Some(caller.tenant()?),
    };
    let mut text = String::new();
    for (seq, row) in call.app.db.audit(first, tenant, MOST)? {
        let line = json!({
            "seq": seq,
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
    }
    Ok(Public::lines(text))
}
