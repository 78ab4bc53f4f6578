//! The API: one table of routes, from which requests are answered, roles are checked and the
//! OpenAPI document is written.

mod audit;
mod call;
mod datasets;
mod decisions;
mod document;
mod elsewhere;
mod events;
mod models;
mod node;
mod personalizer;
mod records;
mod released;
mod schemas;
mod tenants;

pub use call::Call;
pub use document::document;

use crate::app::App;
use crate::problem::Problem;
use crate::store::Role;
use crate::told::{ToldTo, Who};
use crate::watch::RouteStatus;
use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::Method;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, on};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// One route.
pub struct Route {
    pub(crate) method: Method,
    /// As the document has it; what follows a `}:` is an action.
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) roles: &'static [Role],
    /// Whether no token is needed.
    pub(crate) is_open: bool,
    /// The schema of the body, and its type.
    pub(crate) body: Option<(&'static str, &'static str)>,
    /// Parameters of the query: name and schema.
    pub(crate) query: &'static [(&'static str, &'static str)],
    /// Statuses that are no errors: with their schema, and its type.
    pub(crate) answers: &'static [(u16, &'static str, &'static str)],
    /// Statuses that are problems, besides those that every route has.
    pub(crate) problems: &'static [u16],
    /// The most bytes of a body.
    pub(crate) limit: usize,
    /// What the log tells at info.
    pub(crate) logged: Logged,
    /// Whether its requests take room, and are turned away where there is none.
    takes_room: bool,
    handler: Arc<dyn Fn(Call) -> Answering + Send + Sync>,
}

/// What the log tells about a request at info; everything at debug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logged {
    /// Route, status and time.
    Whole,
    /// That there was a request.
    Route,
    /// Nothing.
    Nothing,
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const LINES: &str = "application/x-ndjson";
/// The most bytes of a JSON body.
const LIMIT: usize = 64 << 10;

impl Route {
    /// A route for these tokens, whose answers they may be told.
    pub(crate) fn new<W, A, F>(
        _: W,
        method: Method,
        path: &'static str,
        id: &'static str,
        summary: &'static str,
        handler: fn(Call) -> F,
    ) -> Self
    where
        W: Who,
        A: ToldTo<W>,
        F: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        let answer = move |call: Call| -> Answering {
            let answering = handler(call);
            Box::pin(async move {
                match answering.await {
                    Ok(answer) => answer.tell(),
                    Err(problem) => problem.into_response(),
                }
            })
        };
        Self {
            method,
            path,
            id,
            summary,
            roles: W::ROLES,
            is_open: W::ROLES.is_empty(),
            body: None,
            query: &[],
            answers: &[(204, "", "")],
            problems: &[],
            limit: LIMIT,
            logged: Logged::Whole,
            takes_room: false,
            handler: Arc::new(answer),
        }
    }

    /// It takes a body of this schema and type.
    pub(crate) fn takes(mut self, schema: &'static str, kind: &'static str) -> Self {
        self.body = Some((schema, kind));
        self
    }

    /// Its query has these parameters.
    pub(crate) fn asks(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    /// Its answers, if not 204 alone: status, schema, type.
    pub(crate) fn gives(mut self, answers: &'static [(u16, &'static str, &'static str)]) -> Self {
        self.answers = answers;
        self
    }

    /// Problems that it has besides those of every route.
    pub(crate) fn fails(mut self, problems: &'static [u16]) -> Self {
        self.problems = problems;
        self
    }

    /// Its requests take slots: under load they are turned away before anything of them is read.
    pub(crate) fn in_room(mut self) -> Self {
        self.takes_room = true;
        self
    }

    pub(crate) fn up_to(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Its requests are private: the number of rewards is.
    pub(crate) fn private(mut self) -> Self {
        self.logged = Logged::Nothing;
        self
    }

    /// Its requests are public, and their status tells about their content.
    pub(crate) fn of_content(mut self) -> Self {
        self.logged = Logged::Route;
        self
    }

    /// The path for the router, and the action after a colon.
    fn mounted(&self) -> (&'static str, Option<&'static str>) {
        match self.path.split_once("}:") {
            Some((before, action)) => {
                let length = before.len() + 1;
                (&self.path[..length], Some(action))
            }
            None => (self.path, None),
        }
    }
}

/// All routes.
#[must_use]
pub fn routes() -> Vec<Route> {
    let mut all = node::routes();
    all.extend(tenants::routes());
    all.extend(audit::routes());
    all.extend(datasets::routes());
    all.extend(models::routes());
    all.extend(decisions::routes());
    all.extend(records::routes());
    all.extend(elsewhere::routes());
    all.extend(released::routes());
    all.extend(events::routes());
    all.extend(personalizer::routes());
    all
}

/// The router of all routes.
pub fn router(app: &Arc<App>) -> Router {
    let mut paths: Vec<(&'static str, Vec<Arc<Route>>)> = Vec::new();
    for route in routes() {
        let (path, _) = route.mounted();
        let route = Arc::new(route);
        match paths.iter_mut().find(|(known, _)| *known == path) {
            Some((_, routes)) => routes.push(route),
            None => paths.push((path, vec![route])),
        }
    }
    let mut router = Router::new();
    for (path, routes) in paths {
        let routes: Arc<[Arc<Route>]> = routes.into();
        let answer = move |State(app): State<Arc<App>>, params: RawPathParams, request: Request| {
            let routes = Arc::clone(&routes);
            async move { dispatch(app, &routes, &params, request).await }
        };
        let any = MethodFilter::GET
            .or(MethodFilter::POST)
            .or(MethodFilter::PUT)
            .or(MethodFilter::DELETE)
            .or(MethodFilter::PATCH)
            .or(MethodFilter::HEAD)
            .or(MethodFilter::OPTIONS)
            .or(MethodFilter::TRACE);
        router = router.route(path, on(any, answer));
    }
    let missing = || async { Problem::not_found("path").into_response() };
    router.fallback(missing).with_state(Arc::clone(app))
}

async fn dispatch(
    app: Arc<App>,
    routes: &[Arc<Route>],
    params: &RawPathParams,
    request: Request,
) -> Response {
    let mut params: Vec<(String, String)> = params
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    // An action stands behind the last name: `/v1/models/banner:pause`.
    let has_actions = routes.iter().any(|route| route.mounted().1.is_some());
    let mut action = None;
    if let (true, Some((_, last))) = (has_actions, params.last_mut())
        && let Some((name, asked)) = last.clone().split_once(':')
    {
        name.clone_into(last);
        action = Some(asked.to_owned());
    }
    let fits = |route: &&Arc<Route>| route.mounted().1 == action.as_deref();
    let mut here = routes.iter().filter(fits).peekable();
    if here.peek().is_none() {
        return Problem::not_found("path").into_response();
    }
    let method = match *request.method() {
        Method::HEAD => Method::GET,
        ref other => other.clone(),
    };
    let Some(route) = here.clone().find(|route| route.method == method) else {
        let allowed: Vec<&str> = here.map(|route| route.method.as_str()).collect();
        let mut response = Problem::method_not_allowed().into_response();
        if let Ok(allowed) = allowed.join(", ").parse() {
            response.headers_mut().insert("allow", allowed);
        }
        return response;
    };
    let start = std::time::Instant::now();
    let answered = answer(&app, route, params, request).await;
    let (response, tenant) = answered.unwrap_or_else(|problem| (problem.into_response(), None));
    let status = response.status().as_u16();
    let seconds = start.elapsed().as_secs_f64();
    let labels = RouteStatus(route.id, status);
    app.metrics.operator.requests.get_or_create(&labels).inc();
    app.metrics.operator.seconds.observe(seconds);
    let micros = (seconds * 1e6) as u64;
    let tenant = tenant.as_deref().unwrap_or("-");
    match route.logged {
        Logged::Whole => tracing::info!(route = route.id, status, micros, tenant),
        Logged::Route => {
            tracing::info!(route = route.id, tenant);
            tracing::debug!(route = route.id, status, micros, tenant);
        }
        Logged::Nothing => tracing::debug!(route = route.id, status, micros, tenant),
    }
    response
}

/// Answers a request; with whose it is.
async fn answer(
    app: &Arc<App>,
    route: &Route,
    params: Vec<(String, String)>,
    request: Request,
) -> Result<(Response, Option<String>), Problem> {
    // Cheap: neither the token nor the body is looked at.
    if route.takes_room && app.room.is_full() {
        return Err(turned_away(app));
    }
    let call = Call::read(app, route, params, request).await?;
    // Only now: a body that comes slowly holds no place.
    let place = if route.takes_room {
        Some(app.room.enter().ok_or_else(|| turned_away(app))?)
    } else {
        None
    };
    let tenant = call.tenant_name();
    let response = (route.handler)(call).await;
    drop(place);
    Ok((response, tenant))
}

fn turned_away(app: &App) -> Problem {
    app.metrics.public.shed.inc();
    Problem::unavailable("too many decisions at once: ask again")
}
