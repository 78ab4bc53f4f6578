//! A request whose token, size and form were checked.

use super::Route;
use crate::app::App;
use crate::auth::Caller;
use crate::learn::Actor;
use crate::problem::Problem;
use crate::store::{DatasetRow, Lane, ModelRow, StoreError, Touches, Tx};
use axum::body::{Bytes, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// A request.
pub struct Call {
    /// The server.
    pub app: Arc<App>,
    caller: Option<Caller>,
    params: Vec<(String, String)>,
    query: String,
    /// The body.
    pub body: Bytes,
    headers: HeaderMap,
}

/// A data set, with its tenant and its name.
pub(crate) struct Dataset {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) row: DatasetRow,
}

/// The longest name.
const NAME: usize = 64;

impl Call {
    /// Checks the token, then the role, then the size: nothing else is looked at before.
    pub(crate) async fn read(
        app: &Arc<App>,
        route: &Route,
        params: Vec<(String, String)>,
        request: Request,
    ) -> Result<Self, Problem> {
        let caller = find_caller(app, request.headers());
        if !route.is_open {
            let caller = caller.as_ref().ok_or_else(Problem::unauthorized)?;
            if !route.roles.contains(&caller.role) {
                return Err(Problem::forbidden());
            }
        }
        let (parts, body) = request.into_parts();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let headers = parts.headers;
        let body = to_bytes(body, route.limit).await;
        let too_large = |_| Problem::too_large(format!("at most {} bytes", route.limit));
        let body = body.map_err(too_large)?;
        if let (Some((_, kind)), false) = (route.body, body.is_empty())
            && let Some(given) = headers.get(header::CONTENT_TYPE)
        {
            let given = given.to_str().unwrap_or_default().to_ascii_lowercase();
            let is_json = given.starts_with("application/json") || given.starts_with(kind);
            if !is_json {
                let told = format!("send {kind}");
                return Err(Problem::bad_request(told).at("content-type"));
            }
        }
        for (name, value) in &params {
            if matches!(name.as_str(), "tenant" | "dataset" | "model" | "token") {
                check_name(value)?;
            }
        }
        Ok(Self {
            app: Arc::clone(app),
            caller,
            params,
            query,
            body,
            headers,
        })
    }

    /// Who calls.
    ///
    /// # Errors
    /// 401.
    pub fn caller(&self) -> Result<&Caller, Problem> {
        self.caller.as_ref().ok_or_else(Problem::unauthorized)
    }

    /// For the log.
    pub(crate) fn tenant_name(&self) -> Option<String> {
        self.caller.as_ref()?.tenant.clone()
    }

    /// The caller's tenant.
    ///
    /// # Errors
    /// 403.
    pub fn tenant(&self) -> Result<&str, Problem> {
        self.caller()?.tenant()
    }

    /// Counts decisions against what the token may ask for.
    ///
    /// # Errors
    /// 429, before any slot is taken.
    pub fn admit(&self, count: u64) -> Result<(), Problem> {
        let (app, token) = (&self.app, &self.caller()?.token);
        let now = app.clock.now();
        if app.rates.admit(token, count, app.config.rate, now) {
            return Ok(());
        }
        app.metrics.public.shed.inc();
        Err(Problem::too_many(
            "this token asks for more decisions than it may",
        ))
    }

    /// A part of the path.
    #[must_use]
    pub fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The model of the path, if the token is for it.
    ///
    /// # Errors
    /// 403 before anything is looked up; 404.
    pub fn model(&self) -> Result<Arc<ModelRow>, Problem> {
        let name = self.param("model");
        let caller = self.caller()?;
        let tenant = caller.tenant()?;
        caller.check_model(name)?;
        self.app.model(tenant, name)
    }

    /// The data set of the path.
    ///
    /// # Errors
    /// 403, 404.
    pub(crate) fn dataset(&self) -> Result<Dataset, Problem> {
        let tenant = self.tenant()?.to_owned();
        let name = self.param("dataset").to_owned();
        let row = self.app.dataset(&tenant, &name)?;
        Ok(Dataset { tenant, name, row })
    }

    /// The caller's token, as the audit log names it.
    ///
    /// # Errors
    /// 401.
    pub(crate) fn who(&self) -> Result<String, Problem> {
        Ok(self.caller()?.token.clone())
    }

    /// Runs an operation in the next commit, and gives what it returns once that is durable.
    ///
    /// # Errors
    /// The operation's own; 503.
    pub(crate) async fn write<R: Send + 'static>(
        &self,
        touches: Touches,
        f: impl FnOnce(&mut Tx<'_>) -> Result<Result<R, Problem>, StoreError> + Send + 'static,
    ) -> Result<R, Problem> {
        self.app.committer.write(Lane::Others, touches, f).await
    }

    /// Adds a line to a tenant's audit log, durably.
    ///
    /// # Errors
    /// 401, 503.
    pub(crate) async fn note(
        &self,
        tenant: &str,
        what: String,
        subject: &str,
    ) -> Result<(), Problem> {
        let (tenant, subject, who) = (tenant.to_owned(), subject.to_owned(), self.who()?);
        let line = move |tx: &mut Tx<'_>| Ok(Ok(tx.audit(Some(&tenant), &who, &what, &subject)?));
        self.write(Touches::settings(), line).await
    }

    /// Gives a job to the one thread that holds a data set's ledger and runs.
    ///
    /// # Errors
    /// The job's own; 503.
    pub(crate) async fn ask<R: Send + 'static>(
        &self,
        dataset: u64,
        job: impl FnOnce(&mut Actor) -> Result<R, Problem> + Send + 'static,
    ) -> Result<R, Problem> {
        self.app.workers.ask(dataset, job).await
    }

    /// The name of an event of this token in the store.
    ///
    /// # Errors
    /// 401.
    pub fn event(&self, row: &ModelRow, id: &str) -> Result<[u8; 16], Problem> {
        let family = &self.caller()?.family;
        let secret = &self.app.secret;
        Ok(secret.event(&row.tenant, family, row.number, id))
    }

    /// A parameter of the query.
    ///
    /// # Errors
    /// Not a number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        for part in self.query.split('&') {
            if let Some((key, value)) = part.split_once('=')
                && key == name
            {
                let told = "allowed: a whole number from 0 to 2⁵³ − 1";
                let wrong = || Problem::bad_request(told).at(name.to_owned());
                let number = value.parse().ok().filter(|number| *number < 1 << 53);
                return number.map(Some).ok_or_else(wrong);
            }
        }
        Ok(None)
    }

    /// A header.
    #[must_use]
    pub fn header(&self, name: header::HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// 400; no value of the body is repeated.
    pub fn json(&self) -> Result<Value, Problem> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            Problem::bad_request("the body is not JSON").at(format!("{line}:{column}"))
        })
    }

    /// The body as settings, which are public.
    ///
    /// # Errors
    /// 400, 422.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        self.json()?;
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let told = error.to_string();
            let place = format!(" at line {line} column {column}");
            let told = told.strip_suffix(&place).unwrap_or(&told);
            Problem::unprocessable(told).at(format!("{line}:{column}"))
        })
    }
}

/// The token of the headers.
fn find_caller(app: &App, headers: &HeaderMap) -> Option<Caller> {
    let own = headers.get(header::AUTHORIZATION).and_then(|value| {
        let value = value.to_str().ok()?;
        let (scheme, token) = value.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then(|| token.trim().to_owned())
    });
    // As Personalizer's clients send it.
    let other = || {
        let value = headers.get("ocp-apim-subscription-key")?;
        Some(value.to_str().ok()?.to_owned())
    };
    app.tokens.find(&own.or_else(other)?, app.clock.now())
}

/// Checks the name of a thing.
///
/// # Errors
/// 404: nothing has such a name.
fn check_name(name: &str) -> Result<(), Problem> {
    if is_name(name) {
        return Ok(());
    }
    Err(Problem::not_found(
        "name: 1 to 64 of a-z 0-9 _ -, the first a letter or a digit",
    ))
}

/// Whether this can be a name.
pub(crate) fn is_name(name: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.first().is_some_and(|first| is_sign(*first))
        && bytes.len() <= NAME
        && bytes
            .iter()
            .all(|byte| is_sign(*byte) || matches!(byte, b'_' | b'-'))
}
