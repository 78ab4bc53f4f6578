//! Who is signed in, and the form that signs in.

use axum::http::{HeaderMap, header};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const COOKIE: &str = "hushstream";
/// How long a cookie opens pages.
const LASTS: Duration = Duration::from_secs(12 * 3600);
/// Browsers that one token may be signed in with; the one that signed in first is signed out.
const MOST: usize = 16;
/// A cookie that ends itself.
pub(super) const GONE: &str = "hushstream=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict";

struct Session {
    token: Arc<str>,
    token_id: String,
    since: Instant,
}

/// Sessions by the hash of their name: what is in memory opens nothing. They end with the server.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<[u8; 32], Session>>);

impl Sessions {
    fn with<T>(&self, work: impl FnOnce(&mut HashMap<[u8; 32], Session>) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, session| session.since.elapsed() < LASTS);
        work(&mut all)
    }

    /// Signs a browser in; the cookie that it keeps, or nothing without random numbers.
    pub(super) fn begin(&self, is_secure: bool, token: &str, id: &str) -> Option<String> {
        let mut name = [0; 32];
        getrandom::fill(&mut name).ok()?;
        let name = name.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        self.with(|all| {
            let own = |all: &HashMap<_, Session>| {
                let own = all.iter().filter(|(_, session)| session.token_id == id);
                own.map(|(name, session)| (session.since, *name))
                    .collect::<Vec<_>>()
            };
            let mut open = own(all);
            open.sort_unstable();
            let over = (open.len() + 1).saturating_sub(MOST);
            for (_, first) in open.into_iter().take(over) {
                all.remove(&first);
            }
            let session = Session {
                token: token.into(),
                token_id: id.to_owned(),
                since: Instant::now(),
            };
            all.insert(Sha256::digest(&name).into(), session);
        });
        let secure = if is_secure { "; Secure" } else { "" };
        Some(format!(
            "{COOKIE}={name}; Path=/; HttpOnly; SameSite=Strict{secure}"
        ))
    }

    /// The token of the request with these headers.
    pub(super) fn token(&self, headers: &HeaderMap) -> Option<Arc<str>> {
        let name = cookie(headers)?;
        self.with(|all| Some(all.get(&hashed(name))?.token.clone()))
    }

    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(name) = cookie(headers) {
            self.with(|all| all.remove(&hashed(name)));
        }
    }
}

fn hashed(name: &str) -> [u8; 32] {
    Sha256::digest(name).into()
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let all = headers.get_all(header::COOKIE).into_iter();
    let mut pairs = all
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    pairs.find_map(|pair| pair.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

/// Whether a proxy says that it speaks TLS; a browser on this machine may speak plain HTTP.
pub(super) fn is_forwarded_tls(headers: &HeaderMap) -> bool {
    let proto = headers.get("x-forwarded-proto");
    proto.is_some_and(|proto| proto == "https")
}

/// Whether a form was sent by a page of this server, so that no other site can sign somebody in or
/// out.
pub(super) fn is_own_form(headers: &HeaderMap) -> bool {
    let text = |name: header::HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match headers.get("sec-fetch-site") {
        Some(site) => site == "same-origin",
        None => match (text(header::ORIGIN), text(header::HOST)) {
            (Some(origin), Some(host)) => {
                let from = origin.split_once("://").map(|(_, from)| from);
                from == Some(host)
            }
            // No browser sends neither.
            (None, _) => true,
            (Some(_), None) => false,
        },
    }
}

/// Whether a name of a data set or model can stand in a path.
pub(super) fn is_name(text: &str) -> bool {
    let plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    (1..=64).contains(&text.len()) && text.bytes().all(plain)
}

/// Whether a path is one of the pages.
pub(super) fn is_page(path: &str) -> bool {
    let Some(path) = path.strip_prefix('/') else {
        return false;
    };
    path.is_empty() || path.len() <= 200 && path.split('/').all(is_name)
}

/// What the form of the sign-in page holds.
pub(super) struct Form {
    pub(super) token: String,
    pub(super) next: Option<String>,
}

impl Form {
    pub(super) fn read(body: &[u8]) -> Self {
        let body = String::from_utf8_lossy(body);
        let value = |name: &str| {
            let mut pairs = body.split('&').filter_map(|pair| pair.split_once('='));
            let found = pairs.find(|(key, _)| *key == name);
            found.map(|(_, value)| decoded(value)).unwrap_or_default()
        };
        Self {
            token: value("token").trim().to_owned(),
            next: Some(value("next")).filter(|next| is_page(next)),
        }
    }
}

/// A value of a form: `+` is a space, `%41` is `A`.
fn decoded(value: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = value.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                match (digit(), digit()) {
                    (Some(high), Some(low)) => (16 * high + low) as u8,
                    _ => b'?',
                }
            }
            byte => byte,
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}
