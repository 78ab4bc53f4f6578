//! Decisions, their rewards, and slots for decisions at the edge.

use super::models::check_task;
use super::{Call, JSON, Route};
use crate::app::App;
use crate::clock::rfc3339;
use crate::problem::Problem;
use crate::rounds::{Added, Aggregation, Cell, Filled, MOST_REWARDS, Slot};
use crate::spec::{Cells, cells};
use crate::store::{Lane, ModelRow, Reached, Taken, Touches, Tx};
use crate::told::{Clients, ForAsker, Public};
use axum::http::Method;
use hushstream::read::Column;
use hushstream::{AskerOnly, Decision, Error};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::{Arc, PoisonError};

/// The longest id of an event.
pub(super) const ID_BYTES: usize = 128;
/// The longest name of a person.
const PERSON_BYTES: usize = 256;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Clients,
            Method::POST,
            "/v1/models/{model}/decisions",
            "decide",
            "A decision, for the person who asked and nobody else",
            decide,
        )
        .takes("NewDecision", JSON)
        .gives(&[(200, "Decision", JSON)])
        .fails(&[404, 409, 410, 422, 429, 503])
        .in_room()
        .of_content(),
        Route::new(
            Clients,
            Method::POST,
            "/v1/models/{model}/decisions/{event}/reward",
            "reward",
            "What came of a decision, before its batch is closed",
            reward,
        )
        .takes("Reward", JSON)
        .fails(&[404, 409, 410, 422, 503])
        .private(),
        Route::new(
            Clients,
            Method::POST,
            "/v1/models/{model}/decisions/{event}/activate",
            "activate",
            "A deferred decision was shown: it counts",
            activate,
        )
        .fails(&[404, 409, 410, 422, 503])
        .private(),
        Route::new(
            Clients,
            Method::POST,
            "/v1/models/{model}/slots",
            "take-slot",
            "A slot for a decision at the edge, when it is made",
            take,
        )
        .takes("NewSlot", JSON)
        .gives(&[(201, "Slot", JSON)])
        .fails(&[404, 409, 422, 429, 503])
        .in_room(),
        Route::new(
            Clients,
            Method::PUT,
            "/v1/models/{model}/slots/{event}",
            "fill-slot",
            "What was decided at the edge, and what came of it",
            fill,
        )
        .takes("Outcome", JSON)
        .fails(&[404, 409, 410, 422, 503])
        .private(),
    ]
}

/// A context that cannot be read. Its column is named, and no value.
fn unread(error: &Error) -> Problem {
    let told = "a value of the context cannot be read: see the model's schema";
    Problem::unprocessable(told).at(place_of(error, "context"))
}

/// The place below `place` of the column that cannot be read, as the model's schema names it.
pub(super) fn place_of(error: &Error, place: &str) -> String {
    let column = match error {
        Error::Read(error) => error.place.column.as_ref(),
        _ => None,
    };
    match column {
        Some(Column::Field {
            name: Some(name), ..
        }) => format!("{place}.{name}"),
        _ => place.to_owned(),
    }
}

/// The body as an object that has these keys and no others.
pub(super) fn object(call: &Call, keys: &[&str]) -> Result<Map<String, Value>, Problem> {
    let object = any_object(call)?;
    check_keys(&object, keys)?;
    Ok(object)
}

pub(super) fn any_object(call: &Call) -> Result<Map<String, Value>, Problem> {
    match call.json()? {
        Value::Object(object) => Ok(object),
        _ => Err(Problem::bad_request("the body is not an object")),
    }
}

pub(super) fn check_keys(object: &Map<String, Value>, keys: &[&str]) -> Result<(), Problem> {
    if object.keys().all(|key| keys.contains(&key.as_str())) {
        return Ok(());
    }
    let told = format!("a key is not known; keys are: {}", keys.join(", "));
    Err(Problem::unprocessable(told))
}

/// The id of an event, given or new. A sound form is public; nothing else is looked at before the
/// slot is taken.
pub(super) fn event_id(object: &Map<String, Value>) -> Result<String, Problem> {
    match object.get("event_id") {
        None | Some(Value::Null) => random_id(),
        Some(Value::String(id)) if (1..=ID_BYTES).contains(&id.len()) => Ok(id.clone()),
        Some(_) => {
            let told = "allowed: a text of 1 to 128 bytes";
            Err(Problem::bad_request(told).at("event_id"))
        }
    }
}

/// A random id, as a UUID of version 4.
pub(super) fn random_id() -> Result<String, Problem> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|_| Problem::internal())?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = crate::auth::hex(&bytes);
    Ok(format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    ))
}

/// What is asked, as far as the schema allows it.
struct Asked {
    context: Vec<Cell>,
    among: Option<Vec<bool>>,
    person: Option<[u8; 16]>,
    deferred: bool,
}

/// The arms that are allowed, if not all.
fn among(object: &Map<String, Value>, row: &ModelRow) -> Result<Option<Vec<bool>>, Problem> {
    let named = |key: &str| -> Result<Option<Vec<usize>>, Problem> {
        let told = "allowed: a list of actions of the model";
        let wrong = || Problem::unprocessable(told).at(key.to_owned());
        let names = match object.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(Value::Array(names)) => names,
            Some(_) => return Err(wrong()),
        };
        let place = |name: &Value| {
            let name = name.as_str()?;
            row.actions.iter().position(|action| action == name)
        };
        let places: Option<Vec<usize>> = names.iter().map(place).collect();
        places.map(Some).ok_or_else(wrong)
    };
    let (only, not) = (named("actions")?, named("exclude")?);
    if only.is_none() && not.is_none() {
        return Ok(None);
    }
    let mut allowed = vec![only.is_none(); row.actions.len()];
    only.into_iter()
        .flatten()
        .for_each(|arm| allowed[arm] = true);
    not.into_iter()
        .flatten()
        .for_each(|arm| allowed[arm] = false);
    if !allowed.contains(&true) {
        let told = "no action is left: allow at least one";
        return Err(Problem::unprocessable(told).at("exclude"));
    }
    Ok(Some(allowed))
}

pub(super) fn person(
    app: &App,
    object: &Map<String, Value>,
    dataset: u64,
) -> Result<Option<[u8; 16]>, Problem> {
    match object.get("person") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) if (1..=PERSON_BYTES).contains(&name.len()) => {
            Ok(Some(app.secret.person(dataset, name)))
        }
        Some(_) => {
            let told = "allowed: a text of 1 to 256 bytes";
            Err(Problem::unprocessable(told).at("person"))
        }
    }
}

fn asked(app: &App, object: &Value, row: &ModelRow, dataset: u64) -> Result<Asked, Problem> {
    let object = object.as_object().ok_or_else(Problem::internal)?;
    let keys = [
        "event_id", "context", "actions", "exclude", "person", "defer",
    ];
    check_keys(object, &keys)?;
    let nothing = Value::Object(Map::new());
    let context = object.get("context").unwrap_or(&nothing);
    Ok(Asked {
        context: cells(context, &row.columns, "context")?,
        among: among(object, row)?,
        person: person(app, object, dataset)?,
        deferred: match object.get("defer") {
            None | Some(Value::Null) => false,
            Some(Value::Bool(defer)) => *defer,
            Some(_) => return Err(Problem::unprocessable("allowed: true or false").at("defer")),
        },
    })
}

/// A decision as it is told.
#[derive(Serialize)]
pub(super) struct Answer {
    pub(super) action: String,
    closes_by: Option<String>,
    pub(super) event_id: String,
    learning: bool,
    policy: u64,
    probability: f64,
    pub(super) ranking: Vec<Ranked>,
}

/// An action with its probability.
#[derive(Serialize)]
pub(super) struct Ranked {
    pub(super) action: String,
    pub(super) probability: f64,
}

fn told(
    decision: AskerOnly<Decision>,
    event_id: String,
    policy: u64,
    learning: bool,
    closes_by: Option<u64>,
) -> AskerOnly<Answer> {
    decision.map(move |decision| {
        let ranked = |(action, probability): (String, f64)| {
            (probability > 0.0).then_some(Ranked {
                action,
                probability,
            })
        };
        Answer {
            action: decision.action,
            closes_by: closes_by.map(rfc3339),
            event_id,
            learning,
            policy,
            probability: decision.probability,
            ranking: decision.ranking.into_iter().filter_map(ranked).collect(),
        }
    })
}

/// Decides for a context with a version of the policy, and the coin of a slot.
fn draw(
    app: &App,
    row: &ModelRow,
    serving: &crate::policy::Serving,
    (context, among): (&[Cell], Option<&[bool]>),
    (boot, slot): (&[u8; 16], u64),
) -> Result<AskerOnly<Decision>, Problem> {
    let Some(decider) = &serving.decider else {
        return Err(Problem::conflict("this model does not decide"));
    };
    let coins = app.secret.coins(row.number, boot);
    let mut decider = decider.lock().unwrap_or_else(PoisonError::into_inner);
    let given = Cells {
        columns: &row.columns,
        cells: context,
        more: &[],
    };
    let drawn = match among {
        Some(allowed) => decider.decide_among(&given, allowed, &coins, slot),
        None => decider.decide(&given, &coins, slot),
    };
    drawn.map_err(|error| unread(&error))
}

async fn decide(call: Call) -> Result<ForAsker, Problem> {
    let row = call.model()?;
    check_task(&row, true)?;
    let (event, object) = match any_object(&call) {
        Ok(mut object) => {
            let event = event_id(&object)?;
            object.remove("event_id");
            (event, Ok(object))
        }
        Err(problem) => (random_id()?, Err(problem)),
    };
    call.admit(1)?;
    let answer = decision(&call, row, event, object).await?;
    Ok(ForAsker::json(200, &answer))
}

/// Takes a slot for what is asked, decides, and gives the answer once it is durable. A body that is
/// no JSON takes its slot too: a number that JSON does not have (NaN, 1e999) is somebody's content.
pub(super) async fn decision(
    call: &Call,
    row: Arc<ModelRow>,
    event: String,
    object: Result<Map<String, Value>, Problem>,
) -> Result<AskerOnly<Answer>, Problem> {
    let app = &call.app;
    let id = call.event(&row, &event)?;
    let object = object.map(Value::Object);
    let text = object
        .as_ref()
        .map_or_else(|_| String::new(), Value::to_string);
    let body = app.secret.body(row.number, text.as_bytes());
    let dataset = app.dataset(&row.tenant, &row.dataset)?.number;
    app.policies.newest(&row)?;
    // What the schema says about the content is known before the slot is taken, and told after.
    let asked = object.and_then(|object| asked(app, &object, &row, dataset));
    let (own, model, name) = (Arc::clone(app), row, event);
    let touches = Touches::event(model.number, id);
    let answer = app.committer.write(Lane::Decisions, touches, move |tx| {
        let (app, row) = (&own, &model);
        let serving = match app.policies.newest(row) {
            Ok(serving) => serving,
            Err(problem) => return Ok(Err(problem)),
        };
        let policy = serving.published.version;
        let slot = match tx.take(row.number, id)? {
            Taken::New(slot) => slot,
            Taken::Again(slot, stored) => {
                let closes = closes_by(tx, row, slot);
                return Ok(again(app, row, (slot, &stored), body, (name, closes)));
            }
            Taken::Learned => return Ok(Err(learned_from())),
            // An answer, and nothing is learned.
            Taken::Over => {
                let mut boot = [0; 16];
                if getrandom::fill(&mut boot).is_err() {
                    return Ok(Err(Problem::internal()));
                }
                let drawn = asked.and_then(|asked| {
                    let given = (asked.context.as_slice(), asked.among.as_deref());
                    draw(app, row, &serving, given, (&boot, 0))
                });
                return Ok(drawn.map(|drawn| told(drawn, name, policy, false, None)));
            }
        };
        app.metrics.public.slots.inc();
        let drawn = asked.and_then(|asked| {
            let given = (asked.context.as_slice(), asked.among.as_deref());
            let drawn = draw(app, row, &serving, given, (&app.boot, slot))?;
            Ok((asked, drawn))
        });
        let mut stored = Slot::null(id, body);
        let (asked, drawn) = match drawn {
            Ok(drawn) => drawn,
            // What the schema refuses leaves its slot null.
            Err(problem) => {
                tx.put_slot(row.number, slot, &stored)?;
                tx.change(row.number, |_, exact| exact.refused += 1);
                return Ok(Err(problem));
            }
        };
        let decision = drawn.for_the_asker();
        let arm = row.actions.iter().position(|arm| *arm == decision.action);
        (stored.person, stored.deferred) = (asked.person, asked.deferred);
        stored.filled = Filled::Decided {
            context: asked.context,
            arm: arm.unwrap_or(0) as u32,
            probability: decision.probability,
            policy,
            among: asked.among,
            boot: app.boot,
        };
        tx.put_slot(row.number, slot, &stored)?;
        let closes = closes_by(tx, row, slot);
        Ok(Ok(told(drawn, name, policy, true, closes)))
    });
    answer.await
}

pub(super) fn closes_by(tx: &Tx<'_>, row: &ModelRow, slot: u64) -> Option<u64> {
    let live = tx.live(row.number)?;
    live.state.closes_at(slot, &row.rounds)
}

/// The stored answer to a repeated request: made again from what is stored, bit for bit.
fn again(
    app: &App,
    row: &ModelRow,
    (slot, stored): (u64, &Slot),
    body: [u8; 16],
    (event, closes): (String, Option<u64>),
) -> Result<AskerOnly<Answer>, Problem> {
    if stored.body != body {
        let told = "this event_id was used with another body: ids are random and used once";
        return Err(Problem::conflict(told).at("event_id"));
    }
    let Filled::Decided {
        context,
        policy,
        among,
        boot,
        ..
    } = &stored.filled
    else {
        let told = "the schema refused this request: its slot is null";
        return Err(Problem::unprocessable(told).at("context"));
    };
    let serving = app.policies.serving(row, *policy)?;
    let given = (context.as_slice(), among.as_deref());
    let drawn = draw(app, row, &serving, given, (boot, slot))?;
    Ok(told(drawn, event, *policy, true, closes))
}

pub(super) fn learned_from() -> Problem {
    Problem::gone("its batch is closed")
}

/// Changes the slot of an event, unless its batch is closed: decided in the transaction, by the
/// durable mark.
pub(super) async fn told_about(
    call: &Call,
    row: Arc<ModelRow>,
    change: impl FnOnce(&mut Tx<'_>, &ModelRow, &mut Slot) -> Result<(), Problem> + Send + 'static,
    late: impl FnOnce(&mut crate::store::Exact) + Send + 'static,
) -> Result<Public, Problem> {
    let event = call.param("event");
    if event.len() > ID_BYTES {
        return Err(Problem::not_found("event"));
    }
    let id = call.event(&row, event)?;
    let touches = Touches::event(row.number, id);
    let done = call.write(touches, move |tx| {
        let (slot, mut stored) = match tx.reach(row.number, id)? {
            Reached::Open(slot, stored) => (slot, stored),
            Reached::Unknown => return Ok(Err(Problem::not_found("event"))),
            Reached::Closed => {
                tx.change(row.number, |_, exact| late(exact));
                return Ok(Err(learned_from()));
            }
        };
        if let Err(problem) = change(tx, &row, &mut stored) {
            return Ok(Err(problem));
        }
        tx.put_slot(row.number, slot, &stored)?;
        Ok(Ok(()))
    });
    done.await?;
    Ok(Public::status(204))
}

/// A reward, which must be a number.
fn reward_of(value: Option<&Value>, place: &str) -> Result<f64, Problem> {
    let number = value
        .and_then(Value::as_f64)
        .filter(|value| value.is_finite());
    let told = "allowed: a number, which is clipped to the model's bounds";
    number.ok_or_else(|| Problem::unprocessable(told).at(place.to_owned()))
}

/// The id of a reward, where there is one. A reward that is added up needs one: it may be sent
/// again, and nothing else tells it from another of the same value.
fn reward_id(value: Option<&Value>, row: &ModelRow) -> Result<Option<String>, Problem> {
    let wrong = |told| Err(Problem::unprocessable(told).at("reward_id"));
    match value {
        None | Some(Value::Null) if row.aggregation == Aggregation::Sum => wrong(
            "this model adds rewards up: each needs a reward_id of its own, and the same one when \
             it is sent again",
        ),
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) if (1..=ID_BYTES).contains(&id.len()) => Ok(Some(id.clone())),
        Some(_) => wrong("allowed: a text of 1 to 128 bytes"),
    }
}

fn add_reward(
    tx: &mut Tx<'_>,
    row: &ModelRow,
    stored: &mut Slot,
    (value, id): (f64, Option<[u8; 16]>),
) -> Result<(), Problem> {
    let is_first = stored.told.count() == 0;
    let added = stored.told.add(value, id, row.aggregation);
    if added == Added::Full {
        let told = format!("a decision takes at most {MOST_REWARDS} rewards with an id");
        return Err(Problem::conflict(told).at("reward_id"));
    }
    let (low, high) = row.reward_bounds;
    let is_clipped = added == Added::New && !(low..=high).contains(&value);
    tx.change(row.number, |_, exact| {
        exact.rewards += u64::from(is_first);
        exact.repeated += u64::from(!is_first);
        exact.clipped += u64::from(is_clipped);
    });
    Ok(())
}

async fn reward(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    rewarded(&call, row).await
}

/// Takes the reward of the path's event.
pub(super) async fn rewarded(call: &Call, row: Arc<ModelRow>) -> Result<Public, Problem> {
    let object = object(call, &["value", "reward_id"])?;
    let value = reward_of(object.get("value"), "value")?;
    let (app, id) = (
        Arc::clone(&call.app),
        reward_id(object.get("reward_id"), &row)?,
    );
    let change = move |tx: &mut Tx<'_>, row: &ModelRow, stored: &mut Slot| {
        check_task(row, true)?;
        let id = id.map(|id| app.secret.reward(stored.id, &id));
        add_reward(tx, row, stored, (value, id))
    };
    told_about(call, row, change, |exact| exact.late += 1).await
}

async fn activate(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    activated(&call, row).await
}

/// Activates the path's event.
pub(super) async fn activated(call: &Call, row: Arc<ModelRow>) -> Result<Public, Problem> {
    let change = |_: &mut Tx<'_>, _: &ModelRow, stored: &mut Slot| {
        stored.activated = true;
        Ok(())
    };
    told_about(call, row, change, |_| ()).await
}

async fn take(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    check_task(&row, true)?;
    let object = if call.body.is_empty() {
        Map::new()
    } else {
        object(&call, &["event_id"])?
    };
    let event = event_id(&object)?;
    call.admit(1)?;
    let app = Arc::clone(&call.app);
    let id = call.event(&row, &event)?;
    let body = app.secret.body(row.number, b"slot");
    let policy = app.policies.newest(&row)?.published.version;
    let own = Arc::clone(&app);
    let touches = Touches::event(row.number, id);
    let taken = app.committer.write(Lane::Decisions, touches, move |tx| {
        let slot = match tx.take(row.number, id)? {
            Taken::New(slot) => slot,
            Taken::Over => return Ok(Ok((false, None))),
            Taken::Learned => return Ok(Err(learned_from())),
            Taken::Again(slot, stored) if stored.body == body => {
                return Ok(Ok((true, closes_by(tx, &row, slot))));
            }
            Taken::Again(..) => {
                let told = "this event_id was used for a decision";
                return Ok(Err(Problem::conflict(told).at("event_id")));
            }
        };
        own.metrics.public.slots.inc();
        let stored = Slot::null(id, body);
        tx.put_slot(row.number, slot, &stored)?;
        Ok(Ok((true, closes_by(tx, &row, slot))))
    });
    let (learning, closes) = taken.await?;
    Ok(Public::stated(
        201,
        &json!({
            "event_id": event,
            "policy": policy,
            "learning": learning,
            "closes_by": closes.map(rfc3339),
        }),
    ))
}

async fn fill(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    check_task(&row, true)?;
    let object = object(&call, &["policy", "context", "action", "value", "person"])?;
    let wrong = |told: &str, place: &str| Problem::unprocessable(told).at(place.to_owned());
    let policy = object.get("policy").and_then(Value::as_u64);
    let policy = policy.ok_or_else(|| wrong("allowed: a version of the policy", "policy"))?;
    let action = object.get("action").and_then(Value::as_str);
    let arm = action.and_then(|name| row.actions.iter().position(|arm| arm == name));
    let arm = arm.ok_or_else(|| wrong("allowed: an action of the model", "action"))?;
    let value = match object.get("value") {
        None | Some(Value::Null) => None,
        value => Some(reward_of(value, "value")?),
    };
    let nothing = Value::Object(Map::new());
    let context = object.get("context").unwrap_or(&nothing);
    let context = cells(context, &row.columns, "context")?;
    let dataset = call.app.dataset(&row.tenant, &row.dataset)?.number;
    let person = person(&call.app, &object, dataset)?;
    // The probability is computed here, and never taken from a client.
    let serving = call.app.policies.serving(&row, policy)?;
    let probability = {
        let Some(decider) = &serving.decider else {
            return Err(Problem::conflict("this model does not decide"));
        };
        let mut decider = decider.lock().unwrap_or_else(PoisonError::into_inner);
        let given = Cells {
            columns: &row.columns,
            cells: &context,
            more: &[],
        };
        let all = decider.probabilities(&given);
        let all = all.map_err(|error| unread(&error))?;
        all.for_the_asker()
            .get(arm)
            .map_or(0.0, |(_, probability)| *probability)
    };
    if probability <= 0.0 {
        return Err(wrong("this policy does not answer that action", "action"));
    }
    let (boot, model) = (call.app.boot, Arc::clone(&row));
    let change = move |tx: &mut Tx<'_>, row: &ModelRow, stored: &mut Slot| {
        let told = "this slot is of a decision that was made here: tell its reward";
        let is_edge = match &stored.filled {
            Filled::Null => true,
            Filled::Decided {
                context: known,
                arm: played,
                policy: version,
                ..
            } => *known == context && *played == arm as u32 && *version == policy,
            Filled::Record { .. } => false,
        };
        if !is_edge {
            return Err(Problem::conflict(told));
        }
        stored.filled = Filled::Decided {
            context,
            arm: arm as u32,
            probability,
            policy,
            among: None,
            boot,
        };
        stored.person = person;
        let Some(value) = value else {
            return Ok(());
        };
        // An outcome that is sent again is the same outcome: it is not added up.
        let id = (row.aggregation == Aggregation::Sum).then_some(stored.id);
        add_reward(tx, row, stored, (value, id))
    };
    told_about(&call, model, change, |exact| exact.late += 1).await
}
