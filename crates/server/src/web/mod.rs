//! Pages.

use crate::app::App;
use axum::Router;
use axum::response::Html;
use axum::routing::get;
use std::sync::Arc;

const INDEX: &str = "<!doctype html><html lang=en><meta charset=utf-8>\
    <title>hushstream</title><h1>hushstream</h1>\
    <p>The API is at <a href=/v1/openapi.json>/v1/openapi.json</a>.</p></html>";

/// The router of all pages.
pub(crate) fn router() -> Router<Arc<App>> {
    Router::new().route("/", get(|| async { Html(INDEX) }))
}
