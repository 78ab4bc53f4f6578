//! The node itself: health, the document, and whose token this is.

use super::{Call, JSON, Route};
use crate::problem::Problem;
use crate::told::{Anyone, Everybody, Public};
use axum::http::Method;
use serde_json::json;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Everybody,
            Method::GET,
            "/v1/livez",
            "live",
            "Whether the server runs",
            live,
        )
        .gives(&[(200, "Health", JSON)]),
        Route::new(
            Everybody,
            Method::GET,
            "/v1/readyz",
            "ready",
            "Whether the store takes anything",
            ready,
        )
        .gives(&[(200, "Health", JSON)])
        .fails(&[503]),
        Route::new(
            Everybody,
            Method::GET,
            "/v1/openapi.json",
            "openapi",
            "This document",
            openapi,
        )
        .gives(&[(200, "Any", JSON)]),
        Route::new(
            Anyone,
            Method::GET,
            "/v1/whoami",
            "whoami",
            "Whose token this is",
            whoami,
        )
        .gives(&[(200, "Whoami", JSON)]),
    ]
}

async fn live(_: Call) -> Result<Public, Problem> {
    Ok(Public::stated(200, &json!({"status": "ok"})))
}

async fn ready(call: Call) -> Result<Public, Problem> {
    if !call.app.committer.is_ready() {
        return Err(Problem::unavailable(
            "the store has failed, or it does not answer",
        ));
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
