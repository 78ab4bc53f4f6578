//! What is released: policies and models, all of them, and what was evaluated.

use super::{Call, JSON, LINES, Route};
use crate::clock::rfc3339;
use crate::problem::Problem;
use crate::told::{Public, Readers};
use axum::http::{Method, header};
use serde_json::{Value, json};

/// Lines of one answer.
const MOST: usize = 1000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Readers,
            Method::GET,
            "/v1/models/{model}/policy",
            "get-policy",
            "The published model, as a file",
            policy,
        )
        .asks(&[("version", "Count")])
        .gives(&[(200, "Any", JSON), (304, "", "")])
        .fails(&[404, 503]),
        Route::new(
            Readers,
            Method::GET,
            "/v1/models/{model}/releases",
            "get-releases",
            "Every release",
            releases,
        )
        .asks(&[("after", "Count")])
        .gives(&[(200, "Release", LINES)])
        .fails(&[404, 503]),
        Route::new(
            Readers,
            Method::GET,
            "/v1/models/{model}/evaluation",
            "get-evaluation",
            "What policies earn, with intervals, from releases alone",
            evaluation,
        )
        .gives(&[(200, "Evaluation", JSON)])
        .fails(&[404, 503]),
    ]
}

async fn policy(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    let version = call.number("version")?;
    let published = match version {
        Some(version) => {
            let published = call.app.policies.version(row.number, Some(version))?;
            call.app.policies.attest(&row)?;
            published
        }
        None => Some(call.app.policies.newest(&row)?.published.clone()),
    };
    let published = published.ok_or_else(|| Problem::not_found("version of the policy"))?;
    let tag = format!("\"{}\"", published.version);
    if call.header(header::IF_NONE_MATCH) == Some(tag.as_str()) {
        return Ok(Public::unchanged(&published));
    }
    Ok(Public::published(&published))
}

async fn releases(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    let first = call
        .number("after")?
        .map_or(0, |after| after.saturating_add(1));
    let mut text = String::new();
    let stored = call.app.db.releases(row.number, first, MOST)?;
    call.app.policies.attest(&row)?;
    for stored in stored {
        let file: Value = serde_json::from_slice(&stored.file).map_err(|_| Problem::internal())?;
        let line = json!({
            "version": stored.version,
            "at": rfc3339(stored.at),
            "evaluation": file.get("policy").and_then(|policy| policy.get("evaluation")),
            "weights": file.get("weights"),
        });
        text.push_str(&line.to_string());
        text.push('\n');
    }
    Ok(Public::lines(text))
}

async fn evaluation(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    let serving = call.app.policies.newest(&row)?;
    let own = serving.model.policy.as_ref();
    let evaluation = own.and_then(|own| own.evaluation.as_ref());
    let evaluation =
        evaluation.ok_or_else(|| Problem::not_found("evaluation, or none is released yet"))?;
    let version = serving.published.version;
    let told = json!({"version": version, "evaluation": evaluation});
    Ok(Public::stated(200, &told))
}
