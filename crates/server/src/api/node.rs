//! The node itself: health, the document, and whose token this is.

use super::{About, Call, JSON, Route};
use crate::problem::Problem;
use crate::told::{Anyone, Everybody, Public};
use axum::http::Method;
use serde_json::json;

pub(super) fn routes() -> Vec<Route> {
    let get = |path, id, summary, answers| About {
        method: Method::GET,
        path,
        id,
        summary,
        body: None,
        query: &[],
        answers,
        problems: &[],
    };
    vec![
        Route::new(
            Everybody,
            get(
                "/v1/livez",
                "live",
                "Whether the server runs",
                &[(200, "Health", JSON)],
            ),
            live,
        ),
        Route::new(
            Everybody,
            About {
                problems: &[503],
                ..get(
                    "/v1/readyz",
                    "ready",
                    "Whether the store takes anything",
                    &[(200, "Health", JSON)],
                )
            },
            ready,
        ),
        Route::new(
            Everybody,
            get(
                "/v1/openapi.json",
                "openapi",
                "This document",
                &[(200, "Any", JSON)],
            ),
            openapi,
        ),
        Route::new(
            Anyone,
            get(
                "/v1/whoami",
                "whoami",
                "Whose token this is",
                &[(200, "Whoami", JSON)],
            ),
            whoami,
        ),
    ]
}

async fn live(_: Call) -> Result<Public, Problem> {
    Ok(Public::stated(200, &json!({"status": "ok"})))
}

async fn ready(call: Call) -> Result<Public, Problem> {
    if call.app.committer.has_failed() {
        return Err(Problem::unavailable("the store has failed"));
    }
    Ok(Public::stated(200, &json!({"status": "ok"})))
}

async fn openapi(_: Call) -> Result<Public, Problem> {
    Ok(Public::stated(200, &super::document()))
}

async fn whoami(call: Call) -> Result<Public, Problem> {
    let caller = call.caller()?;
    Ok(Public::stated(
        200,
        &json!({
            "tenant": caller.tenant,
            "role": caller.role,
            "token": caller.token,
            "models": caller.models,
        }),
    ))
}
