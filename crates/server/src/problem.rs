//! Refusals as RFC 9457 problems: what is wrong, where, and what is allowed; never a value.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hushstream::mechanism::LogError;
use serde::Serialize;

/// A refusal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    kind: &'static str,
    title: &'static str,
    status: u16,
    /// What is wrong, and what is allowed.
    pub detail: String,
    /// Where in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

impl Problem {
    fn new(status: u16, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title,
            status,
            detail: detail.into(),
            place: None,
        }
    }

    /// 400: no such form.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(400, "Bad Request", detail)
    }

    /// 401: no token, or a wrong one.
    #[must_use]
    pub fn unauthorized() -> Self {
        Self::new(
            401,
            "Unauthorized",
            "send a valid token: Authorization: Bearer hs_…",
        )
    }

    /// 403: not with this token, whether the thing exists or not.
    #[must_use]
    pub fn forbidden() -> Self {
        Self::new(403, "Forbidden", "this token is not for that")
    }

    /// 404.
    pub fn not_found(what: &str) -> Self {
        Self::new(404, "Not Found", format!("there is no such {what}"))
    }

    /// 405.
    #[must_use]
    pub fn method_not_allowed() -> Self {
        Self::new(405, "Method Not Allowed", "this path has other methods")
    }

    /// 409.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(409, "Conflict", detail)
    }

    /// 410: too late.
    pub fn gone(detail: impl Into<String>) -> Self {
        Self::new(410, "Gone", detail)
    }

    /// 413.
    pub fn too_large(detail: impl Into<String>) -> Self {
        Self::new(413, "Content Too Large", detail)
    }

    /// 422: well formed, and not allowed.
    pub fn unprocessable(detail: impl Into<String>) -> Self {
        Self::new(422, "Unprocessable Content", detail)
    }

    /// 429: too many decisions of one token.
    pub fn too_many(detail: impl Into<String>) -> Self {
        Self::new(429, "Too Many Requests", detail)
    }

    /// 503: ask again.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(503, "Service Unavailable", detail)
    }

    /// 500: a fault of the server, which its log tells.
    #[must_use]
    pub fn internal() -> Self {
        let detail = "the server failed: its log says why";
        Self::new(500, "Internal Server Error", detail)
    }

    /// The same at a place of the request.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// The status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }
}

/// What the library refuses is about settings, which are public.
impl From<hushstream::Error> for Problem {
    fn from(error: hushstream::Error) -> Self {
        if hushstream_postgres::is_passing(&error) {
            tracing::warn!(%error, "the database does not answer, or another node has taken over");
            return Self::unavailable(
                "the database did not answer, or another node has the data set: ask again",
            );
        }
        if is_of_the_disk(&error) {
            tracing::error!(%error, "a ledger or a journal cannot be written");
            return Self::unavailable(
                "a ledger or a journal cannot be written: see the server's log",
            );
        }
        let told = error.worded(|setting| {
            let name = setting.split([' ', '=']).next().unwrap_or_default();
            format!("`{}`", name.replace('-', "_"))
        });
        match error {
            hushstream::Error::NoRoom(_) => Self::conflict(told.replace(
                "`total_epsilon`, `total_delta`, or `hushstream ledger raise`",
                "POST /v1/datasets/{dataset}/budget",
            )),
            _ => Self::unprocessable(told),
        }
    }
}

/// Whether the system failed, and nothing that was asked for.
fn is_of_the_disk(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut causes = std::iter::successors(Some(error), |cause| cause.source());
    causes.any(|cause| {
        let system = cause.downcast_ref::<std::io::Error>();
        system.is_some_and(|error| error.raw_os_error().is_some())
            || matches!(cause.downcast_ref(), Some(LogError::Poisoned))
    })
}

impl From<crate::store::StoreError> for Problem {
    fn from(error: crate::store::StoreError) -> Self {
        tracing::error!(%error, "the store cannot be read");
        Self::unavailable("the store cannot be read: see the server's log")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        let headers = response.headers_mut();
        match self.status {
            401 => {
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            429 | 503 => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            _ => {}
        }
        response
    }
}
