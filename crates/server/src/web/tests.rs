//! Pages over an API that tells fixed bodies, with names that would break a page.

use super::router;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::{Value, json};
use tower::ServiceExt;

/// A text that must never reach a page as it is.
const HOSTILE: &str = "<img src=x onerror=alert(1)>\"'&";
/// A number that only an operator may be told.
const EXACT: u64 = 81_214_217;

fn role(headers: &HeaderMap) -> Option<&'static str> {
    let token = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    ["operator", "reader", "client", "admin"]
        .into_iter()
        .find(|role| token == format!("Bearer hs_1_{role}"))
}

fn told(headers: &HeaderMap, roles: &[&str], body: &Value) -> Response {
    match role(headers) {
        None => (StatusCode::UNAUTHORIZED, "{}").into_response(),
        Some(role) if !roles.contains(&role) => {
            (StatusCode::FORBIDDEN, r#"{"detail":"not yours"}"#).into_response()
        }
        Some(role) => body
            .to_string()
            .replace("\"ROLE\"", &format!("\"{role}\""))
            .into_response(),
    }
}

fn model() -> Value {
    json!({"model": "banner", "dataset": "people", "task": "decide", "status": "learning",
        "actions": ["red", HOSTILE],
        "columns": [HOSTILE], "batch": 100, "batches": 50, "slots": 1234,
        "open_batch": 12, "closed_batches": 11, "released": 2, "policy": 2, "opened_at": null,
        "closes_at": "2026-11-18T13:20:00.000Z", "created": "2026-11-18T13:00:00.000Z",
        "recipe": "igw", "simulated": false,
        "guarantee": {"sentence": format!("One. {HOSTILE}\n(small print)"), "epsilon": 1.0,
            "delta": 1e-6, "adjacency": "replace-one", "joint": true},
        "settings": {"reward_bounds": [0, 1], "task": HOSTILE}})
}

fn estimates(mean: f64) -> Value {
    json!([{"policy": "as played", "estimate": "mean", "reward": mean, "low": mean - 0.1,
            "high": mean + 0.1},
        {"policy": HOSTILE, "estimate": "snips", "reward": 0.25, "low": -3.0, "high": 3.0}])
}

/// The API: the same routes, and who may ask them.
fn api() -> Router {
    const ALL: [&str; 4] = ["operator", "reader", "client", "admin"];
    const SEEN: [&str; 3] = ["operator", "reader", "client"];
    let dataset = || {
        json!({"dataset": "people", "epsilon": 3.0, "delta": 1e-6, "adjacency": "replace-one",
            "persons": false, "used": 0.33, "left": 0.67, "raised": true, "simulated": true,
            "runs": [{"number": 1, "model": "banner", "epsilon": 1.0, "delta": 1e-6,
                "kind": HOSTILE, "begun": true, "simulated": false}]})
    };
    let fixed = |roles: &'static [&'static str], body: Value| {
        get(move |headers: HeaderMap| async move { told(&headers, roles, &body) })
    };
    let line = |version: u64, mean: f64| {
        json!({"version": version, "at": "2026-11-18T13:10:00.000Z", "evaluation": estimates(mean),
            "weights": [0.5]})
    };
    let lines = format!("{}\n{}\n", line(1, 0.5), line(2, 0.6));
    let row = |seq: u64, prev: &str, hash: &str| {
        json!({"seq": seq, "at": "2026-11-18T13:10:00.000Z", "who": "1", "what": "model created",
            "subject": HOSTILE, "prev": prev, "hash": hash})
    };
    let audit = format!("{}\n{}\n", row(1, "00", "aa"), row(2, "bb", "cc"));
    let text = |roles: &'static [&'static str], body: String| {
        get(move |headers: HeaderMap| async move {
            let refusal = told(&headers, roles, &Value::Null);
            if refusal.status().is_success() {
                body.into_response()
            } else {
                refusal
            }
        })
    };
    let who = json!({"tenant": HOSTILE, "role": "ROLE", "token": "1", "models": null});
    let exact =
        json!({"operator_only": true, "rewards": EXACT, "plays": {HOSTILE: 600, "red": 412}});
    Router::new()
        .route("/v1/whoami", fixed(&ALL, who))
        .route(
            "/v1/datasets",
            fixed(&["operator", "reader"], json!({"datasets": [dataset()]})),
        )
        .route(
            "/v1/datasets/people",
            fixed(&["operator", "reader"], dataset()),
        )
        .route("/v1/models", fixed(&SEEN, json!({"models": [model()]})))
        .route("/v1/models/banner", fixed(&SEEN, model()))
        .route("/v1/models/banner/releases", text(&SEEN, lines))
        .route(
            "/v1/models/banner/evaluation",
            fixed(&SEEN, json!({"version": 2, "evaluation": estimates(0.6)})),
        )
        .route(
            "/v1/models/{m}/policy",
            get(|Path(_): Path<String>| async { (StatusCode::NOT_FOUND, "{}") }),
        )
        .route("/v1/models/banner/operator", fixed(&["operator"], exact))
        .route(
            "/v1/models/banner/events",
            text(&SEEN, "event: state\ndata: {}\n\n".to_owned()),
        )
        .route("/v1/audit", text(&["operator", "admin"], audit))
}

async fn send(pages: &Router, request: Request<Body>) -> (StatusCode, HeaderMap, String) {
    let response = pages.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    (parts.status, parts.headers, text)
}

async fn page(pages: &Router, path: &str, cookie: &str) -> (StatusCode, HeaderMap, String) {
    let request = Request::get(path).header(header::COOKIE, format!("other=1; {cookie}"));
    send(pages, request.body(Body::empty()).unwrap()).await
}

/// Signs in; the cookie with what follows it.
async fn sign_in(pages: &Router, role: &str) -> String {
    let form = Request::post("/sign-in").header("sec-fetch-site", "same-origin");
    let body = Body::from(format!("token=hs_1_{role}&next=%2Fmodels"));
    let (status, headers, _) = send(pages, form.body(body).unwrap()).await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert_eq!(headers[header::LOCATION], "/models");
    headers[header::SET_COOKIE].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn nothing_is_shown_without_a_token_and_the_cookie_is_not_the_token() {
    let pages = router(api(), false);
    for path in [
        "/datasets",
        "/models/banner",
        "/models/banner/live",
        "/audit",
    ] {
        let (status, headers, text) = page(&pages, path, "").await;
        assert_eq!(status, StatusCode::SEE_OTHER, "{path}");
        let to = headers[header::LOCATION].to_str().unwrap();
        assert!(to.starts_with("/sign-in") && text.is_empty(), "{path}");
    }
    let cookie = sign_in(&pages, "reader").await;
    assert!(
        cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    assert!(!cookie.contains("hs_"));
    let own = cookie.split(';').next().unwrap();
    assert_eq!(page(&pages, "/models", own).await.0, StatusCode::OK);
    let (name, value) = own.split_once('=').unwrap();
    let wrong = format!("{name}={}", "0".repeat(value.len()));
    assert_eq!(
        page(&pages, "/models", &wrong).await.0,
        StatusCode::SEE_OTHER
    );
    // Signing out ends the session on the server too.
    let out = Request::post("/sign-out")
        .header("sec-fetch-site", "same-origin")
        .header(header::COOKIE, own);
    assert_eq!(
        send(&pages, out.body(Body::empty()).unwrap()).await.0,
        StatusCode::SEE_OTHER
    );
    assert_eq!(page(&pages, "/models", own).await.0, StatusCode::SEE_OTHER);
}

#[tokio::test]
async fn another_site_cannot_sign_in_or_out_and_a_wrong_token_is_refused() {
    let pages = router(api(), false);
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("origin", "https://elsewhere.example"),
        ("origin", "null"),
    ] {
        let form = Request::post("/sign-in")
            .header(name, value)
            .header(header::HOST, "127.0.0.1:7070");
        let body = Body::from("token=hs_1_reader");
        let (status, headers, _) = send(&pages, form.body(body).unwrap()).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{name} {value}");
        assert!(!headers.contains_key(header::SET_COOKIE));
    }
    let form = Request::post("/sign-in").body(Body::from("token=hs_1_%22%3E%3Cb%3E"));
    let (status, _, text) = send(&pages, form.unwrap()).await;
    assert_eq!(status, StatusCode::UNAUTHORIZED);
    assert!(text.contains("not known here") && !text.contains("hs_1_"));
    // Only pages of this server are gone to.
    for next in [
        "//elsewhere",
        "/models%0d%0aX:%201",
        "https://e",
        "/models/../v1",
    ] {
        let body = Body::from(format!("token=hs_1_reader&next={next}"));
        let (_, headers, _) = send(&pages, Request::post("/sign-in").body(body).unwrap()).await;
        assert_eq!(headers[header::LOCATION], "/", "{next}");
    }
}

#[tokio::test]
async fn every_page_escapes_what_users_wrote_and_allows_nothing_from_outside() {
    let pages = router(api(), false);
    let cookie = sign_in(&pages, "operator").await;
    for path in [
        "/datasets",
        "/datasets/people",
        "/models",
        "/models/banner",
        "/models/banner/operator",
        "/audit",
        "/models/none",
    ] {
        let (status, headers, text) = page(&pages, path, &cookie).await;
        let expected = if path.ends_with("none") {
            StatusCode::NOT_FOUND
        } else {
            StatusCode::OK
        };
        assert_eq!(status, expected, "{path}");
        assert!(!text.contains("<img"), "{path}");
        assert!(
            text.contains("&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;"),
            "{path}"
        );
        assert!(!text.contains("style=") && !text.contains("NaN"), "{path}");
        assert!(
            !text.contains("http:") && !text.contains("https:"),
            "{path}"
        );
        for (open, close) in [
            ("<section", "</section>"),
            ("<div", "</div>"),
            ("<svg", "</svg>"),
        ] {
            let counts = [open, close].map(|tag| text.matches(tag).count());
            assert_eq!(counts[0], counts[1], "{path} {open}");
        }
        let policy = headers[header::CONTENT_SECURITY_POLICY].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
        assert_eq!(headers[header::CACHE_CONTROL], "no-store");
    }
}

#[tokio::test]
async fn a_reader_sees_nothing_exact_and_no_way_to_it() {
    let pages = router(api(), false);
    let exact = ["81214217", "81,214,217"];
    let operator = sign_in(&pages, "operator").await;
    let (_, _, text) = page(&pages, "/models/banner/operator", &operator).await;
    assert!(text.contains(exact[1]) && text.contains("Operator only"));
    assert!(text.contains("operator only</span>") && text.contains("released</span>"));
    for role in ["reader", "client"] {
        let cookie = sign_in(&pages, role).await;
        let (status, _, text) = page(&pages, "/models/banner/operator", &cookie).await;
        assert_eq!(status, StatusCode::FORBIDDEN);
        assert!(!exact.iter().any(|number| text.contains(number)));
        for path in ["/datasets", "/datasets/people", "/models", "/models/banner"] {
            let (_, _, text) = page(&pages, path, &cookie).await;
            assert!(!exact.iter().any(|number| text.contains(number)), "{path}");
            assert!(
                !text.contains("/operator") && !text.contains("/audit"),
                "{path}"
            );
        }
    }
}

#[tokio::test]
async fn charts_have_the_points_of_all_releases() {
    let pages = router(api(), false);
    let cookie = sign_in(&pages, "reader").await;
    let (_, _, text) = page(&pages, "/models/banner", &cookie).await;
    // Two releases, two policies.
    assert_eq!(text.matches("<circle class=\"dot").count(), 4);
    assert!(text.contains("release 2: 0.6000 (0.5000 to 0.7000)"));
    // The interval that is wider than the bounds of rewards is drawn within them.
    assert!(text.contains("0.2500 (0 to 1.000)"));
    assert!(text.contains("-3.000 to 3.000"));
    let (_, _, text) = page(&pages, "/datasets/people", &cookie).await;
    assert!(text.contains("width=\"33.00%\"") && text.contains("67 %"));
    let (status, headers, text) = page(&pages, "/models/banner/live", &cookie).await;
    assert_eq!(
        (status, &*text),
        (StatusCode::OK, "event: state\ndata: {}\n\n")
    );
    assert_eq!(headers[header::CACHE_CONTROL], "no-store");
}

#[tokio::test]
async fn a_log_that_does_not_hang_together_is_told() {
    let pages = router(api(), false);
    let cookie = sign_in(&pages, "admin").await;
    let (_, _, text) = page(&pages, "/audit", &cookie).await;
    assert!(text.contains("Row 2 does not hold the hash"));
}

#[tokio::test]
async fn one_token_has_so_many_browsers() {
    let pages = router(api(), false);
    let first = sign_in(&pages, "reader").await;
    for _ in 0..15 {
        sign_in(&pages, "reader").await;
    }
    assert_eq!(page(&pages, "/models", &first).await.0, StatusCode::OK);
    sign_in(&pages, "reader").await;
    assert_eq!(
        page(&pages, "/models", &first).await.0,
        StatusCode::SEE_OTHER
    );
}
