//! Public events of a model, as server-sent events.

use super::{Call, Route};
use crate::problem::Problem;
use crate::told::{Public, Readers};
use axum::body::Body;
use axum::http::{Method, header};
use futures_core::Stream;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Readers,
            Method::GET,
            "/v1/models/{model}/events",
            "get-events",
            "Batches that close and releases, as they happen",
            events,
        )
        .gives(&[(200, "Any", "text/event-stream")])
        .fails(&[404]),
    ]
}

struct Texts(mpsc::Receiver<String>);

impl Stream for Texts {
    type Item = Result<String, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|text| text.map(Ok))
    }
}

fn text(number: u64, kind: &str, data: &Value) -> String {
    format!("id: {number}\nevent: {kind}\ndata: {data}\n\n")
}

/// Time between two looks at the number of slots.
const LOOK: Duration = Duration::from_secs(1);
/// Looks without anything new until a comment keeps the connection open.
const PATIENCE: u64 = 15;

async fn events(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    let mut events = call.app.hub.watch(row.number);
    let (sender, texts) = mpsc::channel(16);
    let first = super::models::shown(&call, &row, true)?;
    tokio::spawn(async move {
        let mut slots = first.get("slots").cloned();
        let mut first = first;
        if let Some(object) = first.as_object_mut() {
            object.remove("settings");
        }
        // A clock of its own: events do not put off the next look.
        let mut looks = tokio::time::interval_at(Instant::now() + LOOK, LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut number = 0;
        let mut quiet = 0;
        let mut waiting = Some(text(number, "state", &first));
        loop {
            if let Some(text) = waiting.take() {
                if sender.send(text).await.is_err() {
                    return;
                }
                quiet = 0;
            }
            tokio::select! {
                event = events.recv() => match event {
                    Ok(event) => {
                        number += 1;
                        waiting = Some(text(number, event.kind, &event.data));
                    }
                    // Too slow: the oldest are missed, and the newest state tells all.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => events = call.app.hub.watch(row.number),
                },
                _ = looks.tick() => {
                    let Ok(state) = call.app.state(row.number) else { return };
                    let now = Some(json!(state.next_slot));
                    quiet += 1;
                    if now != slots {
                        slots = now;
                        number += 1;
                        waiting = Some(text(number, "slots", &json!({"slots": state.next_slot})));
                    } else if quiet >= PATIENCE {
                        waiting = Some(": still here\n\n".to_owned());
                    }
                }
            }
        }
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    Ok(Public::events((headers, Body::from_stream(Texts(texts)))))
}
