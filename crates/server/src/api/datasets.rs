//! Data sets: the people, and the budget of what is told about them.

use super::call::Dataset;
use super::{Call, JSON, Route};
use crate::problem::Problem;
use crate::rounds::Filled;
use crate::store::{DatasetRow, Reached, Touches};
use crate::told::{ForOperator, Operators, Overseers, Public};
use axum::http::Method;
use hushstream::ledgers::Statement;
use hushstream::{Adjacency, Budget, OperatorOnly, SharedLedger};
use serde::Deserialize;
use serde_json::{Value, json};

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Operators,
            Method::PUT,
            "/v1/datasets/{dataset}",
            "put-dataset",
            "Make a data set with its budget",
            put,
        )
        .takes("NewDataset", JSON)
        .gives(&[(200, "Dataset", JSON), (201, "Dataset", JSON)])
        .fails(&[404, 409, 422, 503]),
        Route::new(
            Overseers,
            Method::GET,
            "/v1/datasets/{dataset}",
            "get-dataset",
            "The budget, and who spent it",
            get,
        )
        .gives(&[(200, "Dataset", JSON)])
        .fails(&[404, 503]),
        Route::new(
            Overseers,
            Method::GET,
            "/v1/datasets",
            "get-datasets",
            "All data sets",
            list,
        )
        .gives(&[(200, "Datasets", JSON)])
        .fails(&[503]),
        Route::new(
            Operators,
            Method::POST,
            "/v1/datasets/{dataset}/budget",
            "post-budget",
            "Raise the budget: a decision about the people in the data",
            raise,
        )
        .takes("NewBudget", JSON)
        .gives(&[(200, "Dataset", JSON)])
        .fails(&[404, 409, 422, 503]),
        Route::new(
            Operators,
            Method::POST,
            "/v1/datasets/{dataset}/forget",
            "forget",
            "Make slots null that were not learned from yet",
            forget,
        )
        .takes("Forget", JSON)
        .gives(&[(200, "Forgotten", JSON)])
        .fails(&[404, 422, 503]),
    ]
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    epsilon: f64,
    delta: f64,
    adjacency: String,
    #[serde(default)]
    persons: bool,
}

async fn put(call: Call) -> Result<Public, Problem> {
    let wanted: Wanted = call.settings()?;
    let zero_out = match wanted.adjacency.as_str() {
        "replace-one" => false,
        "zero-out" => true,
        _ => {
            let told = "allowed: replace-one, zero-out";
            return Err(Problem::unprocessable(told).at("adjacency"));
        }
    };
    let is_sound = wanted.epsilon > 0.0 && wanted.epsilon <= 1e6 && wanted.delta > 0.0;
    if !(is_sound && wanted.delta < 1.0) {
        let told = "allowed: epsilon above 0 and at most 10⁶, delta between 0 and 1";
        return Err(Problem::unprocessable(told).at("epsilon"));
    }
    // A budget that no ledger can keep is refused before anything is stored.
    let adjacency = if zero_out {
        Adjacency::ZeroOut
    } else {
        Adjacency::ReplaceOne
    };
    let budget = Budget::approx(wanted.epsilon, wanted.delta);
    let checked = budget.map_err(|error| Problem::unprocessable(error.to_string()));
    let checked = checked.and_then(|budget| {
        SharedLedger::check(budget, adjacency, wanted.persons).map_err(Problem::from)
    });
    checked.map_err(|problem| problem.at("epsilon"))?;
    let tenant = call.tenant()?.to_owned();
    let (name, who) = (call.param("dataset").to_owned(), call.who()?);
    let key = format!("{tenant}/{name}");
    let (subject, owner) = (name.clone(), tenant.clone());
    let touches = Touches::settings();
    let stored = call.write(touches, move |tx| {
        if let Some(row) = tx.dataset(&key)? {
            let is_same = row.epsilon.to_bits() == wanted.epsilon.to_bits()
                && row.delta.to_bits() == wanted.delta.to_bits()
                && row.zero_out == zero_out
                && row.persons == wanted.persons;
            let told = "there is a data set of this name with another budget or relation";
            return Ok(if is_same {
                Ok((row, false))
            } else {
                Err(Problem::conflict(told))
            });
        }
        let row = DatasetRow {
            number: tx.next_number()?,
            epsilon: wanted.epsilon,
            delta: wanted.delta,
            zero_out,
            persons: wanted.persons,
            created: tx.now,
            locked: false,
        };
        tx.put_dataset(&key, &row)?;
        tx.audit(Some(&owner), &who, "data set made", &subject)?;
        Ok(Ok((row, true)))
    });
    let (row, is_new) = stored.await?;
    let made = row.clone();
    let statement = call.ask(row.number, move |actor| actor.create(&made));
    let statement = statement.await?;
    let told = shown(&call, &Dataset { tenant, name, row }, &statement, true)?;
    Ok(Public::stated(if is_new { 201 } else { 200 }, &told))
}

/// What is public about a data set: the ledger holds no data.
fn shown(
    call: &Call,
    Dataset { tenant, name, row }: &Dataset,
    statement: &Statement,
    runs: bool,
) -> Result<Value, Problem> {
    let mut told = json!({
        "dataset": name,
        "epsilon": statement.epsilon,
        "delta": statement.delta,
        "adjacency": statement.adjacency,
        "persons": row.persons,
        "used": statement.used,
        "left": (1.0 - statement.used).max(0.0),
        "raised": statement.raised,
        "simulated": statement.runs.iter().any(|run| run.simulated),
        "models": statement.runs.len(),
    });
    if runs {
        let (models, caller) = (call.app.models(tenant)?, call.caller()?);
        let owner = |number: u64| {
            let own = |model: &&crate::store::ModelRow| {
                model.dataset == *name && model.charge == Some(number)
            };
            let found = models.iter().find(own).map(|model| &model.name);
            // A token for some models is not told the names of others.
            found.filter(|name| caller.check_model(name).is_ok())
        };
        let runs: Vec<Value> = statement
            .runs
            .iter()
            .map(|run| {
                json!({
                    "number": run.number,
                    "model": owner(run.number),
                    "epsilon": run.epsilon,
                    "delta": run.delta,
                    "kind": run.kind,
                    "begun": run.begun,
                    "simulated": run.simulated,
                })
            })
            .collect();
        told["runs"] = Value::Array(runs);
    }
    Ok(told)
}

async fn get(call: Call) -> Result<Public, Problem> {
    let dataset = call.dataset()?;
    let asked = call.ask(dataset.row.number, |actor| actor.statement());
    let told = shown(&call, &dataset, &asked.await?, true)?;
    Ok(Public::stated(200, &told))
}

async fn list(call: Call) -> Result<Public, Problem> {
    let tenant = call.tenant()?.to_owned();
    let mut all = Vec::new();
    for (name, row) in call.app.datasets(&tenant)? {
        let statement = call.ask(row.number, |actor| actor.statement()).await?;
        let tenant = tenant.clone();
        let dataset = Dataset { tenant, name, row };
        all.push(shown(&call, &dataset, &statement, false)?);
    }
    Ok(Public::stated(200, &json!({"datasets": all})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raised {
    epsilon: f64,
    delta: f64,
    reason: String,
    #[serde(default)]
    reserve: Option<f64>,
}

async fn raise(call: Call) -> Result<Public, Problem> {
    let dataset = call.dataset()?;
    let raised: Raised = call.settings()?;
    if raised.reason.trim().is_empty() || raised.reason.len() > 500 {
        let told = "say why, in at most 500 bytes: it goes into the audit log";
        return Err(Problem::unprocessable(told).at("reason"));
    }
    // The reason is in the log before the budget is raised.
    let what = format!("budget raised: {}", raised.reason.trim());
    call.note(&dataset.tenant, what, &dataset.name).await?;
    let (budget, reserve) = ((raised.epsilon, raised.delta), raised.reserve);
    let asked = call.ask(dataset.row.number, move |actor| {
        actor.raise(budget, reserve)
    });
    let told = shown(&call, &dataset, &asked.await?, true)?;
    Ok(Public::stated(200, &told))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Forgotten {
    #[serde(default)]
    model: Option<String>,
    #[serde(default)]
    event_ids: Vec<String>,
    #[serde(default)]
    person: Option<String>,
}

/// Slots whose batch is not closed become null. What was learned from is a part of a sum, which
/// nothing can be taken out of without a second participation.
async fn forget(call: Call) -> Result<ForOperator, Problem> {
    let Dataset { tenant, name, row } = call.dataset()?;
    // Persons and ids are private: what is wrong with them is not repeated.
    let told = "allowed: `model` and `event_ids`, or `person`, as texts";
    let wanted: Forgotten = call.settings().map_err(|_| Problem::unprocessable(told))?;
    let who = call.who()?;
    let models: Vec<u64> = match (&wanted.model, &wanted.person) {
        (Some(model), None) if !wanted.event_ids.is_empty() && wanted.event_ids.len() <= 1000 => {
            let model = call.app.model(&tenant, model)?;
            if model.dataset != name {
                return Err(Problem::not_found("model"));
            }
            vec![model.number]
        }
        (None, Some(_)) if wanted.event_ids.is_empty() => {
            let all = call.app.models(&tenant)?;
            let own = all.iter().filter(|model| model.dataset == name);
            own.map(|model| model.number).collect()
        }
        _ => {
            let told = "state `model` and 1 to 1000 `event_ids`, or `person`";
            return Err(Problem::unprocessable(told));
        }
    };
    let families = call.app.families(&tenant)?;
    let mut events = Vec::new();
    for id in &wanted.event_ids {
        let secret = &call.app.secret;
        let model = models[0];
        let names = families
            .iter()
            .map(|family| secret.event(&tenant, family, model, id));
        events.push(names.collect::<Vec<_>>());
    }
    let person = wanted.person.as_deref();
    let person = person.map(|person| call.app.secret.person(row.number, person));
    let mut touches = Touches::settings();
    for names in &events {
        touches = touches.with(names, models[0]);
    }
    touches.models.extend(&models);
    let done = call.write(touches, move |tx| {
        let (mut nulled, mut beyond) = (0_u64, 0_u64);
        for names in events {
            for id in names {
                match tx.reach(models[0], id)? {
                    Reached::Open(place, mut slot) => {
                        slot.deleted = true;
                        slot.filled = Filled::Null;
                        tx.put_slot(models[0], place, &slot)?;
                        nulled += 1;
                    }
                    Reached::Closed => beyond += 1,
                    Reached::Unknown => {}
                }
            }
        }
        if let Some(person) = person {
            for model in models {
                let (own, late) = tx.forget_person(model, person)?;
                (nulled, beyond) = (nulled + own, beyond + late);
            }
        }
        tx.audit(Some(&tenant), &who, "forgotten", &name)?;
        Ok(Ok((nulled, beyond)))
    });
    let (nulled, beyond) = done.await?;
    let told = json!({"operator_only": true, "nulled": nulled, "beyond_reach": beyond});
    Ok(ForOperator::json(200, &OperatorOnly::new(told)))
}
