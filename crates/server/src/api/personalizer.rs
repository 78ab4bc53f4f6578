//! The paths of Azure Personalizer, for its clients: the model is the one that the token names.
//!
//! Personalizer takes any JSON as features; a private learner needs columns that are stated
//! beforehand. Features are found by their path (`user.age`) or else by their last key (`age`);
//! what no column names is not read, and a column that is not there is missing. Features of actions
//! are not read: every action has weights of its own, by its id.

use super::decisions::{activated, any_object, decision, random_id, rewarded};
use super::models::check_task;
use super::{Call, JSON, Route};
use crate::problem::Problem;
use crate::store::ModelRow;
use crate::told::{Clients, ForAsker, Public};
use axum::http::Method;
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Clients,
            Method::POST,
            "/personalizer/v1.1-preview.3/rank",
            "personalizer-rank",
            "A decision, as Personalizer's clients ask for it",
            rank,
        )
        .takes("Rank", JSON)
        .gives(&[(201, "Ranked", JSON)])
        .fails(&[404, 409, 410, 422, 429, 503])
        .in_room()
        .of_content(),
        Route::new(
            Clients,
            Method::POST,
            "/personalizer/v1.1-preview.3/events/{event}/reward",
            "personalizer-reward",
            "A reward, as Personalizer's clients tell it",
            reward,
        )
        .takes("Reward", JSON)
        .fails(&[404, 409, 410, 422, 503])
        .private(),
        Route::new(
            Clients,
            Method::POST,
            "/personalizer/v1.1-preview.3/events/{event}/activate",
            "personalizer-activate",
            "An activation, as Personalizer's clients tell it",
            activate,
        )
        .fails(&[404, 409, 410, 422, 503])
        .private(),
    ]
}

/// The one model that the token names.
fn model(call: &Call) -> Result<Arc<ModelRow>, Problem> {
    let caller = call.caller()?;
    let Some([name]) = caller.models.as_deref() else {
        let told = "a token for Personalizer's paths names one model";
        return Err(Problem::conflict(told));
    };
    let row = call.app.model(caller.tenant()?, name)?;
    check_task(&row, true)?;
    Ok(row)
}

/// Adds the leaves of an object, by their path.
fn flatten(value: &Value, path: &str, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                flatten(value, &path, leaves);
            }
        }
        Value::Array(values) => values.iter().for_each(|value| flatten(value, path, leaves)),
        leaf => leaves.push((path.to_owned(), leaf.clone())),
    }
}

/// The columns of the model among free features.
fn context(features: &Value, columns: &[String]) -> Value {
    let mut leaves = Vec::new();
    flatten(features, "", &mut leaves);
    let found = |column: &String| {
        let by_path = leaves.iter().find(|(path, _)| path == column);
        let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
        let by_key = || leaves.iter().find(|(path, _)| last(path) == *column);
        by_path
            .or_else(by_key)
            .map_or(Value::Null, |(_, value)| value.clone())
    };
    let pairs = columns.iter().map(|column| (column.clone(), found(column)));
    Value::Object(pairs.collect())
}

/// The id of an event, given or new.
fn event_of(body: &Map<String, Value>) -> Result<String, Problem> {
    match body.get("eventId") {
        None | Some(Value::Null) => random_id(),
        Some(Value::String(id)) if (1..=128).contains(&id.len()) => Ok(id.clone()),
        Some(_) => {
            let told = "allowed: a text of 1 to 128 bytes";
            Err(Problem::bad_request(told).at("eventId"))
        }
    }
}

/// What is asked, in our own words, and the ids of the actions.
fn translated(body: &Map<String, Value>, columns: &[String]) -> (Map<String, Value>, Vec<Value>) {
    let ids = |actions: &Value| -> Value {
        let id = |action: &Value| action.get("id").cloned().unwrap_or(Value::Null);
        actions
            .as_array()
            .map_or(json!(0), |all| all.iter().map(id).collect())
    };
    let mut object = Map::new();
    let features = body.get("contextFeatures").unwrap_or(&Value::Null);
    object.insert("context".to_owned(), context(features, columns));
    let asked = body.get("actions").map_or(json!(0), ids);
    object.insert("actions".to_owned(), asked.clone());
    if let Some(excluded) = body.get("excludedActions") {
        object.insert("exclude".to_owned(), excluded.clone());
    }
    if let Some(defer) = body.get("deferActivation") {
        object.insert("defer".to_owned(), defer.clone());
    }
    (object, asked.as_array().cloned().unwrap_or_default())
}

async fn rank(call: Call) -> Result<ForAsker, Problem> {
    let row = model(&call)?;
    // What cannot be understood is refused after the slot is taken, as everywhere.
    let (event, object, asked) = match any_object(&call) {
        Ok(body) => {
            let event = event_of(&body)?;
            let (object, asked) = translated(&body, &row.columns);
            (event, Ok(object), asked)
        }
        Err(problem) => (random_id()?, Err(problem), Vec::new()),
    };
    call.admit(1)?;
    let answer = decision(&call, row, event, object).await?;
    let told = answer.map(|answer| {
        let ranked = &answer.ranking;
        let mut ranking: Vec<Value> = ranked
            .iter()
            .map(|arm| json!({"id": arm.action, "probability": arm.probability}))
            .collect();
        let rest: Vec<Value> = asked
            .iter()
            .filter(|id| ranked.iter().all(|arm| **id != *arm.action))
            .map(|id| json!({"id": id, "probability": 0.0}))
            .collect();
        ranking.extend(rest);
        json!({
            "ranking": ranking,
            "eventId": answer.event_id,
            "rewardActionId": answer.action,
        })
    });
    Ok(ForAsker::json(201, &told))
}

async fn reward(call: Call) -> Result<Public, Problem> {
    let row = model(&call)?;
    rewarded(&call, row).await
}

async fn activate(call: Call) -> Result<Public, Problem> {
    let row = model(&call)?;
    activated(&call, row).await
}
