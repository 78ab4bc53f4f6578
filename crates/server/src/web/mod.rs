//! The dashboard: pages that show what the API tells, for people.
//!
//! Pages are a client of the API inside the server: every figure on them comes from a request to
//! the API's own routes with the token of the signed-in user. So a page cannot show more than
//! the token may be told, and there is one place that decides about that. Nothing can be changed
//! from the dashboard; its only forms sign in and out.
//!
//! **Signing in.** The token is exchanged for a random name in a cookie that scripts cannot read
//! (`HttpOnly`) and that is never sent from another site (`SameSite=Strict`). The token itself
//! stays in the memory of the server: what lies in the browser opens pages for some hours and
//! cannot ask the API for anything. A token in `sessionStorage` could be read by every script that
//! ever runs on the page.
//!
//! **No request leaves the server.** Style, script and pictures are its own, and the
//! `Content-Security-Policy` allows nothing else, nor any script or style inside of a page.

mod charts;
mod html;
mod pages;
mod session;
#[cfg(test)]
mod tests;
mod told;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use html::{Page, Viewer};
use serde::de::DeserializeOwned;
use session::Sessions;
use std::sync::Arc;
use told::{Audit, Dataset, Datasets, Model, Models, Operator, Problem, Release, Whoami};
use tower::ServiceExt;

/// The most bytes of an answer of the API that a page reads.
const MOST_BYTES: usize = 64 << 20;
/// Releases that a model's page shows.
const RELEASES: u64 = 256;
/// A token and a page to go to.
const SIGN_IN_BYTES: usize = 4096;

/// No other origin, nothing inside of a page, no frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

struct Web {
    api: Router,
    /// Whether the server itself speaks TLS.
    has_tls: bool,
    sessions: Sessions,
}

type Shared = State<Arc<Web>>;

/// The pages, over the routes of the API, which this router asks and does not contain.
pub(crate) fn router(api: Router, has_tls: bool) -> Router {
    let web = Arc::new(Web {
        api,
        has_tls,
        sessions: Sessions::default(),
    });
    Router::new()
        .route("/", get(home))
        .route("/sign-in", get(sign_in_page).post(sign_in))
        .route("/sign-out", post(sign_out))
        .route("/datasets", get(datasets))
        .route("/datasets/{dataset}", get(dataset))
        .route("/models", get(models))
        .route("/models/{model}", get(model))
        .route("/models/{model}/live", get(live))
        .route("/models/{model}/operator", get(operator))
        .route("/audit", get(audit))
        .route("/assets/hush.css", get(style))
        .route("/assets/hush.js", get(script))
        .route("/assets/hush.svg", get(icon))
        .layer(DefaultBodyLimit::max(SIGN_IN_BYTES))
        .layer(map_response(guarded))
        .with_state(web)
}

/// The headers of every page.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(
        "cross-origin-opener-policy",
        HeaderValue::from_static("same-origin"),
    );
    headers.insert(
        "cross-origin-resource-policy",
        HeaderValue::from_static("same-origin"),
    );
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Why a page is not shown.
enum Stop {
    /// Nobody is signed in; where to go on afterwards.
    SignIn(String),
    /// The API refused.
    Refused(StatusCode, String, Option<Box<Viewer>>),
}

impl IntoResponse for Stop {
    fn into_response(self) -> Response {
        match self {
            Self::SignIn(next) => {
                let to = if session::is_page(&next) && next != "/" {
                    format!("/sign-in?next={next}")
                } else {
                    "/sign-in".to_owned()
                };
                Redirect::to(&to).into_response()
            }
            Self::Refused(status, detail, viewer) => {
                (status, pages::refused(status, &detail, viewer.as_deref())).into_response()
            }
        }
    }
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let html = "text/html; charset=utf-8";
        ([(header::CONTENT_TYPE, html)], self.into_text()).into_response()
    }
}

/// Somebody who is signed in, and the API as they may ask it.
struct Asker<'a> {
    web: &'a Web,
    token: Arc<str>,
    viewer: Viewer,
    path: String,
}

impl Web {
    /// Sends a request for a token to the API.
    async fn send(&self, token: &str, path: &str) -> Response {
        let request = Request::get(path)
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .body(Body::empty());
        match request {
            Ok(request) => match self.api.clone().oneshot(request).await {
                Ok(response) => response,
                Err(never) => match never {},
            },
            Err(_) => StatusCode::BAD_REQUEST.into_response(),
        }
    }

    /// Who a token is, or the API's refusal.
    async fn whoami(&self, token: &str) -> Result<Whoami, (StatusCode, String)> {
        read(self.send(token, "/v1/whoami").await).await
    }

    async fn asker(&self, headers: &HeaderMap, path: &str) -> Result<Asker<'_>, Stop> {
        let sign_in = || Stop::SignIn(path.to_owned());
        let token = self.sessions.token(headers).ok_or_else(sign_in)?;
        match self.whoami(&token).await {
            Ok(who) => Ok(Asker {
                web: self,
                token,
                viewer: Viewer::new(who, path),
                path: path.to_owned(),
            }),
            Err((StatusCode::UNAUTHORIZED, _)) => {
                self.sessions.end(headers);
                Err(sign_in())
            }
            Err((status, detail)) => Err(Stop::Refused(status, detail, None)),
        }
    }
}

impl Asker<'_> {
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Stop> {
        let response = self.web.send(&self.token, path).await;
        read(response).await.map_err(|refusal| self.stop(refusal))
    }

    /// The same, or nothing if there is none.
    async fn find<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, Stop> {
        let response = self.web.send(&self.token, path).await;
        match read(response).await {
            Ok(found) => Ok(Some(found)),
            Err((StatusCode::NOT_FOUND | StatusCode::FORBIDDEN, _)) => Ok(None),
            Err(refusal) => Err(self.stop(refusal)),
        }
    }

    /// Lines of JSON.
    async fn lines<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Stop> {
        let response = self.web.send(&self.token, path).await;
        let bytes = bytes(response)
            .await
            .map_err(|refusal| self.stop(refusal))?;
        let lines = bytes.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| !line.trim_ascii().is_empty());
        lines
            .map(|line| serde_json::from_slice(line).map_err(|_| self.stop(unreadable())))
            .collect()
    }

    /// The published model that decides now.
    async fn policy(&self, name: &str) -> Result<Option<hushstream::Model>, Stop> {
        let path = format!("/v1/models/{name}/policy");
        match bytes(self.web.send(&self.token, &path).await).await {
            Ok(file) => hushstream::Model::from_bytes(&file, name)
                .map(|(model, _)| Some(model))
                .map_err(|_| self.stop(unreadable())),
            Err((StatusCode::NOT_FOUND | StatusCode::CONFLICT, _)) => Ok(None),
            Err(refusal) => Err(self.stop(refusal)),
        }
    }

    fn stop(&self, (status, detail): (StatusCode, String)) -> Stop {
        if status == StatusCode::UNAUTHORIZED {
            Stop::SignIn(self.path.clone())
        } else {
            Stop::Refused(status, detail, Some(Box::new(self.viewer.clone())))
        }
    }

    /// A name that can stand in a path.
    fn checked<'n>(&self, name: &'n str) -> Result<&'n str, Stop> {
        let none = || (StatusCode::NOT_FOUND, "there is no such page".to_owned());
        session::is_name(name)
            .then_some(name)
            .ok_or_else(|| self.stop(none()))
    }
}

fn unreadable() -> (StatusCode, String) {
    let detail = "the answer of the API could not be read: page and API are of different versions";
    (StatusCode::INTERNAL_SERVER_ERROR, detail.to_owned())
}

/// The bytes of an answer, or status and detail of a refusal.
async fn bytes(response: Response) -> Result<Bytes, (StatusCode, String)> {
    let status = response.status();
    let bytes = to_bytes(response.into_body(), MOST_BYTES)
        .await
        .map_err(|_| unreadable())?;
    if status.is_success() {
        return Ok(bytes);
    }
    let problem: Problem = serde_json::from_slice(&bytes).unwrap_or_default();
    Err((status, problem.detail))
}

async fn read<T: DeserializeOwned>(response: Response) -> Result<T, (StatusCode, String)> {
    serde_json::from_slice(&bytes(response).await?).map_err(|_| unreadable())
}

async fn home(State(web): Shared, headers: HeaderMap) -> Result<Redirect, Stop> {
    let asker = web.asker(&headers, "/").await?;
    Ok(Redirect::to(asker.viewer.home()))
}

async fn sign_in_page(State(web): Shared, headers: HeaderMap, uri: axum::http::Uri) -> Response {
    if web.asker(&headers, "/").await.is_ok() {
        return Redirect::to("/").into_response();
    }
    let next = uri.query().and_then(|query| query.strip_prefix("next="));
    pages::sign_in(next.filter(|next| session::is_page(next)), None).into_response()
}

async fn sign_in(State(web): Shared, headers: HeaderMap, body: Bytes) -> Response {
    let form = session::Form::read(&body);
    let refused = |status: StatusCode, why: &str| {
        (status, pages::sign_in(form.next.as_deref(), Some(why))).into_response()
    };
    if !session::is_own_form(&headers) {
        return refused(
            StatusCode::FORBIDDEN,
            "This form came from another site. Sign in here.",
        );
    }
    let who = match web.whoami(&form.token).await {
        Ok(who) => who,
        Err((StatusCode::UNAUTHORIZED | StatusCode::BAD_REQUEST, _)) => {
            return refused(
                StatusCode::UNAUTHORIZED,
                "This token is not known here, or it has expired.",
            );
        }
        Err((status, detail)) => return refused(status, &detail),
    };
    let is_secure = web.has_tls || session::is_forwarded_tls(&headers);
    let Some(cookie) = web.sessions.begin(is_secure, &form.token, &who.token) else {
        return refused(
            StatusCode::INTERNAL_SERVER_ERROR,
            "The operating system gave no random numbers. Try again.",
        );
    };
    let to = Redirect::to(form.next.as_deref().unwrap_or("/"));
    ([(header::SET_COOKIE, cookie)], to).into_response()
}

async fn sign_out(State(web): Shared, headers: HeaderMap) -> Response {
    if session::is_own_form(&headers) {
        web.sessions.end(&headers);
    }
    let gone = [(header::SET_COOKIE, session::GONE)];
    (gone, Redirect::to("/sign-in")).into_response()
}

async fn datasets(State(web): Shared, headers: HeaderMap) -> Result<Page, Stop> {
    let asker = web.asker(&headers, "/datasets").await?;
    let told: Datasets = asker.get("/v1/datasets").await?;
    Ok(pages::datasets(&asker.viewer, &told.datasets))
}

async fn dataset(
    State(web): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Page, Stop> {
    let asker = web.asker(&headers, &format!("/datasets/{name}")).await?;
    let name = asker.checked(&name)?;
    let told: Dataset = asker.get(&format!("/v1/datasets/{name}")).await?;
    Ok(pages::dataset(&asker.viewer, &told))
}

async fn models(State(web): Shared, headers: HeaderMap) -> Result<Page, Stop> {
    let asker = web.asker(&headers, "/models").await?;
    let told: Models = asker.get("/v1/models").await?;
    Ok(pages::models(&asker.viewer, &told.models))
}

async fn model(
    State(web): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Page, Stop> {
    let asker = web.asker(&headers, &format!("/models/{name}")).await?;
    let name = asker.checked(&name)?;
    let told: Model = asker.get(&format!("/v1/models/{name}")).await?;
    let releases = releases(&asker, &told).await?;
    let policy = asker.policy(name).await?;
    Ok(pages::model(
        &asker.viewer,
        &told,
        &releases,
        policy.as_ref(),
    ))
}

/// The latest releases.
async fn releases(asker: &Asker<'_>, told: &Model) -> Result<Vec<Release>, Stop> {
    let after = told.released.saturating_sub(RELEASES);
    let path = format!("/v1/models/{}/releases?after={after}", told.model);
    asker.lines(&path).await
}

async fn operator(
    State(web): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Page, Stop> {
    let path = format!("/models/{name}/operator");
    let asker = web.asker(&headers, &path).await?;
    let name = asker.checked(&name)?;
    let exact: Operator = asker.get(&format!("/v1/models/{name}/operator")).await?;
    let told: Model = asker.get(&format!("/v1/models/{name}")).await?;
    let released = asker.find(&format!("/v1/models/{name}/evaluation")).await?;
    Ok(pages::operator(
        &asker.viewer,
        &told,
        &exact,
        released.as_ref(),
    ))
}

async fn audit(State(web): Shared, headers: HeaderMap) -> Result<Page, Stop> {
    let asker = web.asker(&headers, "/audit").await?;
    let rows: Vec<Audit> = asker.lines("/v1/audit?after=0").await?;
    Ok(pages::audit(&asker.viewer, &rows))
}

/// The events of a model, for a script that has no token.
async fn live(
    State(web): Shared,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Stop> {
    let asker = web.asker(&headers, &format!("/models/{name}")).await?;
    let name = asker.checked(&name)?;
    let path = format!("/v1/models/{name}/events");
    Ok(web.send(&asker.token, &path).await)
}

async fn style() -> Response {
    asset("text/css; charset=utf-8", include_str!("assets/hush.css"))
}

async fn script() -> Response {
    let kind = "text/javascript; charset=utf-8";
    asset(kind, include_str!("assets/hush.js"))
}

async fn icon() -> Response {
    asset("image/svg+xml", include_str!("assets/hush.svg"))
}

fn asset(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, text).into_response()
}
