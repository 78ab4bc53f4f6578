//! Who may be told what, by types: an answer is public, or for the asker, or for the operator, and
//! a route states whose tokens it takes. A route whose tokens may not be told its answer does not
//! compile.
//!
//! ```compile_fail
//! use hushstream_server::told::{ForOperator, Readers, ToldTo};
//! fn told_to_readers<A: ToldTo<Readers>>() {}
//! told_to_readers::<ForOperator>();
//! ```

use crate::store::{Published, Role};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hushstream::{AskerOnly, OperatorOnly};
use serde::Serialize;

/// An answer that anybody may see: it follows from settings, from requests that are public as such,
/// from the clock, or from releases.
pub struct Public(Response);

/// An answer for the asker alone.
pub struct ForAsker(Response);

/// An answer from exact numbers, for the operator.
pub struct ForOperator(Response);

fn json(status: u16, value: &impl Serialize) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::OK);
    let body = serde_json::to_vec(value).unwrap_or_default();
    let kind = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, kind)], body).into_response()
}

impl Public {
    /// What follows from settings, the clock and public requests.
    pub fn stated(status: u16, value: &impl Serialize) -> Self {
        Self(json(status, value))
    }

    /// Nothing but a status, which does not depend on anything private.
    #[must_use]
    pub fn status(status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::NO_CONTENT);
        Self(status.into_response())
    }

    /// A stored release.
    #[must_use]
    pub fn published(published: &Published) -> Self {
        let kind = HeaderValue::from_static("application/json");
        let mut response = Response::new(Body::from(published.file.to_vec()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, kind);
        Self::tagged(published, response)
    }

    /// That the asker has this release already.
    #[must_use]
    pub fn unchanged(published: &Published) -> Self {
        Self::tagged(published, StatusCode::NOT_MODIFIED.into_response())
    }

    fn tagged(published: &Published, mut response: Response) -> Self {
        if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", published.version)) {
            response.headers_mut().insert(header::ETAG, tag);
        }
        let cache = HeaderValue::from_static("private, max-age=1");
        response.headers_mut().insert(header::CACHE_CONTROL, cache);
        Self(response)
    }

    /// Lines of JSON, each public.
    #[must_use]
    pub fn lines(text: String) -> Self {
        let kind = HeaderValue::from_static("application/x-ndjson");
        Self(([(header::CONTENT_TYPE, kind)], text).into_response())
    }

    /// A stream of public events.
    pub fn events(events: impl IntoResponse) -> Self {
        Self(events.into_response())
    }

    /// A text of the program itself.
    #[must_use]
    pub fn text(kind: &'static str, text: &'static str) -> Self {
        let kind = HeaderValue::from_static(kind);
        Self(([(header::CONTENT_TYPE, kind)], text).into_response())
    }
}

impl ForAsker {
    /// What depends on what the asker sent.
    pub fn json<T: Serialize>(status: u16, value: &AskerOnly<T>) -> Self {
        Self(json(status, value.for_the_asker()))
    }
}

impl ForOperator {
    /// What depends on private data.
    pub fn json<T: Serialize>(status: u16, value: &OperatorOnly<T>) -> Self {
        Self(json(status, value.for_the_operator()))
    }
}

/// Whose tokens a route takes.
///
/// ```
/// use hushstream_server::told::{Everybody, Operators, Who};
///
/// assert!(Everybody::ROLES.is_empty()); // no token is needed
/// assert_eq!(Operators::ROLES.len(), 1);
/// ```
pub trait Who {
    /// The roles.
    const ROLES: &'static [Role];
}

macro_rules! who {
    ($($(#[$doc:meta])* $name:ident: $($role:ident),*;)*) => {
        $($(#[$doc])* pub struct $name;
        impl Who for $name {
            const ROLES: &'static [Role] = &[$(Role::$role),*];
        })*
    };
}

who! {
    /// Nobody needs a token.
    Everybody: ;
    /// Any token.
    Anyone: Admin, Operator, Client, Reader;
    /// The node's admin.
    Admins: Admin;
    /// The admin, and operators of a tenant.
    Managers: Admin, Operator;
    /// Operators.
    Operators: Operator;
    /// Clients.
    Clients: Client;
    /// Operators and readers.
    Overseers: Operator, Reader;
    /// Clients and readers.
    Users: Client, Reader;
    /// Everybody of a tenant.
    Readers: Operator, Client, Reader;
}

/// An answer that these tokens may be told.
///
/// ```
/// use hushstream_server::told::{ForOperator, Operators, Public, Readers, ToldTo, Who};
///
/// fn route<W: Who, A: ToldTo<W>>() {}
/// route::<Readers, Public>();
/// route::<Operators, ForOperator>();
/// ```
pub trait ToldTo<W: Who>: Send {
    /// The answer as it leaves.
    fn tell(self) -> Response;
}

impl<W: Who> ToldTo<W> for Public {
    fn tell(self) -> Response {
        self.0
    }
}

impl ToldTo<Clients> for ForAsker {
    fn tell(self) -> Response {
        self.0
    }
}

/// Predictions are for the sender of the rows.
impl ToldTo<Users> for ForAsker {
    fn tell(self) -> Response {
        self.0
    }
}

impl ToldTo<Operators> for ForOperator {
    fn tell(self) -> Response {
        self.0
    }
}
