//! Supervised learning: records, late targets, predictions.

use super::decisions::{check_keys, event_id, object, person, place_of, random_id, told_about};
use super::models::check_task;
use super::{Call, JSON, LINES, Route};
use crate::problem::Problem;
use crate::rounds::{Cell, Filled, Slot};
use crate::spec::{Cells, cell, cells};
use crate::store::{Lane, ModelRow, Taken, Touches, Tx};
use crate::told::{Clients, ForAsker, Public, Users};
use axum::http::Method;
use hushstream::{AskerOnly, Prediction};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The most bytes, lines and rows of one request.
const BYTES: usize = 8 << 20;
const MOST_LINES: usize = 10_000;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Clients,
            Method::POST,
            "/v1/models/{model}/records",
            "post-records",
            "Records to learn from, one JSON object per line",
            take,
        )
        .takes("Records", LINES)
        .gives(&[(200, "Taken", JSON)])
        .fails(&[404, 409, 422, 429, 503])
        .in_room()
        .up_to(BYTES)
        .of_content(),
        Route::new(
            Clients,
            Method::PUT,
            "/v1/models/{model}/records/{event}/target",
            "put-target",
            "The target of a record, before its batch is closed",
            target,
        )
        .takes("Target", JSON)
        .fails(&[404, 409, 410, 422, 503])
        .private(),
        Route::new(
            Users,
            Method::POST,
            "/v1/models/{model}/predict",
            "predict",
            "Predictions of the newest published model",
            predict,
        )
        .takes("Rows", JSON)
        .gives(&[(200, "Predictions", JSON)])
        .fails(&[404, 409, 422, 503])
        .up_to(BYTES),
    ]
}

/// A line: what the schema says about it comes later.
struct Line {
    number: u64,
    event: [u8; 16],
    body: [u8; 16],
    /// Null if the line is no JSON object.
    object: Value,
}

/// The lines of a body. Their number and their ids are public, and checked before any takes a slot;
/// a line that is no JSON object takes one too, as somebody's content that cannot be read.
fn lines(call: &Call, row: &ModelRow) -> Result<Vec<Line>, Problem> {
    let mut all = Vec::new();
    for (number, line) in (1_u64..).zip(call.body.split(|byte| *byte == b'\n')) {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        if all.len() == MOST_LINES {
            return Err(Problem::too_large("at most 10,000 lines"));
        }
        let at =
            |problem: Problem| Problem::unprocessable(problem.detail).at(format!("line {number}"));
        let (event, object) = match serde_json::from_slice(line) {
            Ok(Value::Object(mut object)) => {
                let event = event_id(&object).map_err(at)?;
                object.remove("event_id");
                (event, Value::Object(object))
            }
            _ => (random_id()?, Value::Null),
        };
        let secret = &call.app.secret;
        all.push(Line {
            number,
            event: call.event(row, &event)?,
            body: secret.body(row.number, object.to_string().as_bytes()),
            object,
        });
    }
    if all.is_empty() {
        return Err(Problem::unprocessable("send at least one line"));
    }
    Ok(all)
}

type Record = (Vec<Cell>, Option<Cell>, Option<[u8; 16]>);

fn record(call: &Call, object: &Value, row: &ModelRow, dataset: u64) -> Result<Record, Problem> {
    let told = || Problem::unprocessable("not a JSON object");
    let object = object.as_object().ok_or_else(told)?;
    check_keys(object, &["event_id", "features", "target", "person"])?;
    let nothing = Value::Object(Map::new());
    let features = object.get("features").unwrap_or(&nothing);
    let features = cells(features, &row.columns, "features")?;
    let target = match object.get("target") {
        None | Some(Value::Null) => None,
        Some(value) => Some(target_of(value)?),
    };
    Ok((features, target, person(&call.app, object, dataset)?))
}

fn target_of(value: &Value) -> Result<Cell, Problem> {
    let told = "allowed: a number, a text or a truth value";
    let found = cell(value).filter(|cell| !matches!(cell, Cell::Missing));
    found.ok_or_else(|| Problem::unprocessable(told).at("target"))
}

async fn take(call: Call) -> Result<ForAsker, Problem> {
    let row = call.model()?;
    check_task(&row, false)?;
    if row.elsewhere() {
        let told = "this model takes batches of sums that workers made, and no records";
        return Err(Problem::conflict(told));
    }
    let dataset = call.app.dataset(&row.tenant, &row.dataset)?.number;
    let lines = lines(&call, &row)?;
    call.admit(lines.len() as u64)?;
    // Which lines the schema refuses is told to their sender; their slots are null.
    let read: Vec<(Line, Result<Record, Problem>)> = lines
        .into_iter()
        .map(|line| {
            let read = record(&call, &line.object, &row, dataset);
            (line, read)
        })
        .collect();
    let app = Arc::clone(&call.app);
    let own = Arc::clone(&app);
    let ids: Vec<[u8; 16]> = read.iter().map(|(line, _)| line.event).collect();
    let touches = Touches::default().with(&ids, row.number);
    let taken = app.committer.write(Lane::Decisions, touches, move |tx| {
        let (mut taken, mut repeated, mut over) = (0_u64, 0_u64, 0_u64);
        let mut nulls = Vec::new();
        for (line, read) in read {
            let slot = match tx.take(row.number, line.event)? {
                Taken::New(slot) => slot,
                Taken::Again(..) | Taken::Learned => {
                    repeated += 1;
                    continue;
                }
                Taken::Over => {
                    over += 1;
                    continue;
                }
            };
            own.metrics.public.slots.inc();
            taken += 1;
            let mut stored = Slot::null(line.event, line.body);
            match read {
                Ok((features, target, person)) => {
                    stored.filled = Filled::Record { features, target };
                    stored.person = person;
                }
                Err(problem) => {
                    tx.change(row.number, |_, exact| exact.refused += 1);
                    let (detail, place) = (problem.detail, problem.place);
                    nulls.push(json!({"line": line.number, "detail": detail, "place": place}));
                }
            }
            tx.put_slot(row.number, slot, &stored)?;
        }
        Ok(Ok(json!({
            "taken": taken,
            "repeated": repeated,
            "not_learned": over,
            "null_lines": nulls,
        })))
    });
    // Which lines are null depends on their contents.
    Ok(ForAsker::json(200, &AskerOnly::new(taken.await?)))
}

async fn target(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    check_task(&row, false)?;
    let object = object(&call, &["value"])?;
    let told = "allowed: a number, a text or a truth value";
    let missing = || Problem::unprocessable(told).at("value");
    let value = target_of(object.get("value").ok_or_else(missing)?)?;
    let change = move |tx: &mut Tx<'_>, row: &ModelRow, stored: &mut Slot| {
        if let Filled::Record { target, .. } = &mut stored.filled {
            let is_first = target.is_none();
            *target = Some(value);
            tx.change(row.number, |_, exact| {
                exact.rewards += u64::from(is_first);
                exact.repeated += u64::from(!is_first);
            });
        }
        Ok(())
    };
    told_about(&call, row, change, |exact| exact.late += 1).await
}

async fn predict(call: Call) -> Result<ForAsker, Problem> {
    let row = call.model()?;
    check_task(&row, false)?;
    let object = object(&call, &["rows"])?;
    let rows = object.get("rows").and_then(Value::as_array);
    let told = "allowed: a list of 1 to 10,000 rows";
    let wrong = || Problem::unprocessable(told).at("rows");
    let rows = rows.ok_or_else(wrong)?;
    if rows.is_empty() || rows.len() > MOST_LINES {
        return Err(wrong());
    }
    let serving = call.app.policies.newest(&row)?;
    let mut predictions = Vec::with_capacity(rows.len());
    for (number, given) in rows.iter().enumerate() {
        let place = format!("rows.{number}");
        let cells = cells(given, &row.columns, &place)?;
        let given = Cells {
            columns: &row.columns,
            cells: &cells,
            more: &[],
        };
        let unread = |error| {
            let told = "a value cannot be read: see the model's schema";
            Problem::unprocessable(told).at(place_of(&error, &place))
        };
        let prediction = serving.model.predict(&given).map_err(unread)?;
        predictions.push(match prediction {
            Prediction::Number(number) => json!({"number": number}),
            Prediction::Class {
                name,
                probability,
                score,
            } => json!({"class": name, "probability": probability, "score": score}),
        });
    }
    let version = serving.published.version;
    let told = AskerOnly::new(json!({"predictions": predictions, "policy": version}));
    Ok(ForAsker::json(200, &told))
}
