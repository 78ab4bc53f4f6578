//! A seeded stream that decides, so that there is something to see at once. Its noise is simulated
//! and protects nobody: the people in it do not exist.

use crate::app::{App, StartError};
use crate::auth::NewToken;
use crate::serve::router;
use crate::store::{Role, TokenRow};
use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tower::ServiceExt;

const DATASET: &str = "visitors";
const MODEL: &str = "front-page";
/// Time between two visitors.
const PAUSE: Duration = Duration::from_millis(25);

/// Calls the server from within.
struct Caller {
    router: axum::Router,
    token: String,
}

impl Caller {
    /// A token that only this process knows.
    fn new(app: &Arc<App>, role: Role) -> Result<Self, StartError> {
        let token = NewToken::random().map_err(|problem| StartError::Refused(problem.detail))?;
        let row = TokenRow {
            hash: token.hash,
            role,
            tenant: Some("main".to_owned()),
            models: None,
            expires: None,
            created: app.clock.now(),
            ended: false,
            family: "demo".to_owned(),
        };
        app.tokens.add(token.id, row);
        Ok(Self {
            router: router(app),
            token: token.token,
        })
    }

    async fn call(&self, method: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .ok()?;
        let response = self.router.clone().oneshot(request).await.ok()?;
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.ok()?;
        Some((
            status,
            serde_json::from_slice(&bytes).unwrap_or(Value::Null),
        ))
    }
}

/// SplitMix64: a stream that a seed repeats.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// Makes the data set and the model, if they are not there, and lets visitors come.
pub(crate) async fn start(
    app: &Arc<App>,
    mut stopped: watch::Receiver<bool>,
) -> Result<(), StartError> {
    let operator = Caller::new(app, Role::Operator)?;
    let client = Caller::new(app, Role::Client)?;
    let made = |made: Option<(u16, Value)>| match made {
        Some((200 | 201 | 409, _)) => Ok(()),
        other => Err(StartError::Refused(format!(
            "the demo cannot begin: {other:?}"
        ))),
    };
    let budget = json!({"epsilon": 12.0, "delta": 1e-6, "adjacency": "replace-one"});
    made(
        operator
            .call("PUT", &format!("/v1/datasets/{DATASET}"), &budget)
            .await,
    )?;
    let model = json!({
        "dataset": DATASET,
        "task": "decide",
        "schema": {
            "bounds": {"age": [18, 80], "hour": [0, 24]},
            "vocabulary": {"device": ["phone", "tablet", "desk"]},
        },
        "actions": ["news", "sport", "music"],
        "batch": 100,
        "batches": 2000,
        "close_after": 10,
        "reward_wait": 1,
        "evaluation": {"policies": ["uniform", "arm:news"]},
        "epsilon": 4.0,
        "delta": 1e-7,
        "simulated": 26,
    });
    made(
        operator
            .call("PUT", &format!("/v1/models/{MODEL}"), &model)
            .await,
    )?;
    tokio::spawn(async move {
        let client = Arc::new(client);
        let mut random = Seeded(26);
        loop {
            tokio::select! {
                _ = stopped.changed() => return,
                () = tokio::time::sleep(PAUSE) => {}
            }
            visit(&client, &mut random).await;
        }
    });
    Ok(())
}

/// One visitor: a decision, and later perhaps a click.
async fn visit(client: &Arc<Caller>, random: &mut Seeded) {
    let age = 18.0 + (62.0 * random.unit()).floor();
    let hour = (24.0 * random.unit()).floor();
    let device = ["phone", "tablet", "desk"][(random.next() % 3) as usize];
    let body = json!({"context": {"age": age, "hour": hour, "device": device}});
    let path = format!("/v1/models/{MODEL}/decisions");
    let Some((200, answer)) = client.call("POST", &path, &body).await else {
        return;
    };
    let chance = match answer["action"].as_str() {
        Some("news") => 0.15 + 0.5 * (age - 18.0) / 62.0,
        Some("sport") if device == "phone" => 0.55,
        Some("music") if hour >= 18.0 => 0.65,
        _ => 0.2,
    };
    let value = f64::from(u8::from(random.unit() < chance));
    let is_told = random.unit() < 0.9;
    let wait = Duration::from_millis(50 + random.next() % 300);
    if let (Some(event), true) = (answer["event_id"].as_str(), is_told) {
        let path = format!("{path}/{event}/reward");
        let client = Arc::clone(client);
        tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            client.call("POST", &path, &json!({"value": value})).await;
        });
    }
}
