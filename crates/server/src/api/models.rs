//! Models: planned, begun, shown, paused.

use super::{Call, JSON, Route};
use crate::clock::rfc3339;
use crate::problem::Problem;
use crate::spec::ModelSpec;
use crate::store::{ModelRow, ModelStatus, State, Touches};
use crate::told::{ForOperator, Operators, Public, Readers};
use axum::http::Method;
use hushstream::{OperatorOnly, Plan};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Operators,
            Method::POST,
            "/v1/models:plan",
            "plan-model",
            "What a model would cost: spends nothing",
            plan,
        )
        .takes("NewModel", JSON)
        .gives(&[(200, "Plan", JSON)])
        .fails(&[404, 422, 503]),
        Route::new(
            Operators,
            Method::PUT,
            "/v1/models/{model}",
            "put-model",
            "Charge the data set and begin a model",
            put,
        )
        .takes("NewModel", JSON)
        .gives(&[(200, "Model", JSON), (201, "Model", JSON)])
        .fails(&[404, 409, 422, 503]),
        Route::new(
            Readers,
            Method::GET,
            "/v1/models/{model}",
            "get-model",
            "Where a model is, and what it promises",
            get,
        )
        .gives(&[(200, "Model", JSON)])
        .fails(&[404]),
        Route::new(
            Readers,
            Method::GET,
            "/v1/models",
            "get-models",
            "All models",
            list,
        )
        .gives(&[(200, "Models", JSON)]),
        Route::new(
            Operators,
            Method::POST,
            "/v1/models/{model}:pause",
            "pause-model",
            "No slots from the next batch on",
            pause,
        )
        .fails(&[404, 409]),
        Route::new(
            Operators,
            Method::POST,
            "/v1/models/{model}:resume",
            "resume-model",
            "Slots again",
            resume,
        )
        .fails(&[404, 409]),
        Route::new(
            Operators,
            Method::POST,
            "/v1/models/{model}:close-batch",
            "close-batch",
            "The open batch is full at the next whole hour",
            close,
        )
        .fails(&[404, 409]),
        Route::new(
            Operators,
            Method::GET,
            "/v1/models/{model}/operator",
            "get-operator",
            "Exact numbers, computed from private data: for the operator only",
            operator,
        )
        .gives(&[(200, "Exact", JSON)])
        .fails(&[404]),
    ]
}

struct Planned {
    spec: ModelSpec,
    text: String,
    plan: Plan,
    refusal: Option<String>,
    columns: Vec<String>,
    target: Option<String>,
    dataset: crate::store::DatasetRow,
}

async fn planned(call: &Call) -> Result<Planned, Problem> {
    let value = call.json()?;
    let text = value.to_string();
    let spec: ModelSpec = call.settings()?;
    if spec.simulated.is_some() && !call.app.config.simulated {
        let told = "simulated noise protects nobody: start the server with --insecure-simulated";
        return Err(Problem::unprocessable(told).at("simulated"));
    }
    let dataset = call.app.dataset(call.tenant()?, &spec.dataset)?;
    let learner = spec.learner(&dataset)?;
    let (columns, target) = spec.columns(&learner)?;
    let people = dataset.clone();
    let asked = call.ask(dataset.number, move |actor| actor.plan(learner, &people));
    let (plan, refusal) = asked.await?;
    let rounds = spec.rounds(plan.parameters.batch.max(1))?;
    super::elsewhere::check(&spec, &plan, rounds.batches)?;
    Ok(Planned {
        spec,
        text,
        plan,
        refusal,
        columns,
        target,
        dataset,
    })
}

async fn plan(call: Call) -> Result<Public, Problem> {
    let Planned {
        spec,
        plan,
        refusal,
        ..
    } = planned(&call).await?;
    let rounds = spec.rounds(plan.parameters.batch.max(1))?;
    let told = json!({
        "recipe": plan.recipe.to_string(),
        "headline": plan.headline,
        "why": plan.parameters.reasons,
        "batch": rounds.batch,
        "batches": rounds.batches,
        "price": {"epsilon": plan.budget.0, "delta": plan.budget.1},
        "fits": refusal.is_none(),
        "refusal": refusal,
        "forecast": {
            "noise_sd": plan.parameters.noise_sd,
            "regret_bound": plan.parameters.regret_bound,
        },
        "warnings": plan.warnings,
    });
    Ok(Public::stated(200, &told))
}

async fn put(call: Call) -> Result<Public, Problem> {
    let name = call.param("model").to_owned();
    let tenant = call.tenant()?.to_owned();
    let given = call.json()?.to_string();
    match call.app.model(&tenant, &name) {
        Ok(row) if row.spec == given => {
            begin(&call, &row).await?;
            let row = call.app.model(&tenant, &name)?;
            return Ok(Public::stated(200, &shown(&call, &row, true)?));
        }
        Ok(_) => {
            let told = "there is a model of this name with other settings";
            return Err(Problem::conflict(told));
        }
        Err(problem) if problem.status() == 404 => {}
        Err(problem) => return Err(problem),
    }
    let planned = planned(&call).await?;
    if let Some(refusal) = planned.refusal {
        let what = "model refused: over budget".to_owned();
        call.note(&tenant, what, &name).await?;
        return Err(Problem::conflict(refusal));
    }
    let spec = planned.spec;
    let rounds = spec.rounds(planned.plan.parameters.batch.max(1))?;
    let row = ModelRow {
        number: 0,
        tenant: tenant.clone(),
        name: name.clone(),
        dataset: spec.dataset.clone(),
        spec: planned.text,
        rounds,
        aggregation: spec.aggregation.unwrap_or_default(),
        columns: planned.columns,
        target: planned.target,
        actions: spec.actions.clone().unwrap_or_default(),
        reward_bounds: spec.reward_bounds.unwrap_or((0.0, 1.0)),
        persons: planned.dataset.persons,
        created: call.app.clock.now(),
        status: ModelStatus::Beginning,
        charge: None,
        recipe: planned.plan.recipe.to_string(),
        simulated: spec.simulated.is_some(),
    };
    let who = call.who()?;
    let key = format!("{tenant}/{name}");
    let touches = Touches::settings();
    let row = call.write(touches, move |tx| {
        if tx.has_model(&key)? {
            return Ok(Err(Problem::conflict("a model of this name is being made")));
        }
        let number = tx.next_number()?;
        let mut row = row;
        row.number = number;
        tx.audit(Some(&row.tenant), &who, "model made", &row.name)?;
        Ok(Ok(tx.put_model(row)?))
    });
    let row = row.await?;
    begin(&call, &row).await?;
    let row = call.app.model(&tenant, &name)?;
    Ok(Public::stated(201, &shown(&call, &row, true)?))
}

/// Charges and begins, unless that is done.
async fn begin(call: &Call, row: &Arc<ModelRow>) -> Result<(), Problem> {
    if row.status != ModelStatus::Beginning {
        return Ok(());
    }
    let dataset = call.app.dataset(&row.tenant, &row.dataset)?;
    let row = Arc::clone(row);
    let begun = call.ask(dataset.number, move |actor| actor.begin(&row, &dataset));
    begun.await
}

/// What is public about a model.
pub(super) fn shown(call: &Call, row: &ModelRow, whole: bool) -> Result<Value, Problem> {
    let state = call.app.state(row.number)?;
    let newest = call.app.policies.newest(row);
    let serving = match newest {
        Ok(serving) => Some(serving),
        Err(problem) if problem.status() == 503 => None,
        Err(problem) => return Err(problem),
    };
    let version = serving
        .as_ref()
        .map_or(0, |serving| serving.published.version);
    let open = state.next_slot / row.rounds.batch;
    let last = state.next_slot.saturating_sub(1);
    let mut told = json!({
        "model": row.name,
        "dataset": row.dataset,
        "task": task_of(row),
        "status": status(row, &state),
        "actions": row.actions,
        "columns": row.columns,
        "target": row.target,
        "batch": row.rounds.batch,
        "batches": row.rounds.batches,
        "slots": state.next_slot,
        "open_batch": open.min(row.rounds.batches.saturating_sub(1)),
        "closed_batches": state.closed,
        "released": version,
        "policy": version,
        "opened_at": state.opened_at.map(rfc3339),
        "closes_at": state.closes_at(last, &row.rounds).map(rfc3339),
        "created": rfc3339(row.created),
        "recipe": row.recipe,
        "simulated": row.simulated,
    });
    if whole {
        let guarantee = serving.as_ref().map(|serving| &serving.model.guarantee);
        told["guarantee"] = guarantee.map_or(Value::Null, |guarantee| {
            json!({
                "sentence": guarantee.to_string(),
                "epsilon": guarantee.epsilon(),
                "delta": guarantee.delta(),
                "adjacency": guarantee.adjacency().to_string(),
                "joint": guarantee.is_joint(),
                "simulated": guarantee.is_simulated(),
            })
        });
        let settings = serde_json::from_str(&row.spec);
        told["settings"] = settings.map_err(|_| Problem::internal())?;
    }
    Ok(told)
}

fn task_of(row: &ModelRow) -> Value {
    let spec = serde_json::from_str::<ModelSpec>(&row.spec);
    spec.map_or(Value::Null, |spec| json!(spec.task))
}

fn status(row: &ModelRow, state: &State) -> &'static str {
    match row.status {
        ModelStatus::Beginning => "beginning",
        ModelStatus::Failed => "failed",
        ModelStatus::Open if state.fed >= row.rounds.batches => "finished",
        ModelStatus::Open if state.paused => "paused",
        ModelStatus::Open => "learning",
    }
}

async fn get(call: Call) -> Result<Public, Problem> {
    let row = call.model()?;
    Ok(Public::stated(200, &shown(&call, &row, true)?))
}

async fn list(call: Call) -> Result<Public, Problem> {
    let caller = call.caller()?;
    let rows = call.app.models(caller.tenant()?)?;
    let own = rows
        .iter()
        .filter(|row| caller.check_model(&row.name).is_ok());
    let all: Result<Vec<Value>, Problem> = own.map(|row| shown(&call, row, false)).collect();
    Ok(Public::stated(200, &json!({"models": all?})))
}

/// Changes the rounds of a model, and writes it down.
async fn changed(
    call: &Call,
    what: &'static str,
    change: impl FnOnce(&mut State, u64, &ModelRow) -> bool + Send + 'static,
) -> Result<Public, Problem> {
    let row = call.model()?;
    let who = call.who()?;
    let touches = Touches::settings().and(row.number);
    let done = call.write(touches, move |tx| {
        let now = tx.now;
        let is_done = tx.change(row.number, |state, _| change(state, now, &row));
        if is_done != Some(true) {
            let told = "no batch is open: there is nothing to close";
            return Ok(Err(Problem::conflict(told)));
        }
        tx.audit(Some(&row.tenant), &who, what, &row.name)?;
        Ok(Ok(()))
    });
    done.await?;
    Ok(Public::status(204))
}

async fn pause(call: Call) -> Result<Public, Problem> {
    let set = |state: &mut State, _, _: &ModelRow| {
        state.paused = true;
        true
    };
    changed(&call, "model paused", set).await
}

async fn resume(call: Call) -> Result<Public, Problem> {
    let set = |state: &mut State, _, _: &ModelRow| {
        state.paused = false;
        true
    };
    changed(&call, "model resumed", set).await
}

async fn close(call: Call) -> Result<Public, Problem> {
    let cut = |state: &mut State, now, row: &ModelRow| state.cut(now, &row.rounds);
    changed(&call, "batch closed", cut).await
}

async fn operator(call: Call) -> Result<ForOperator, Problem> {
    let row = call.model()?;
    let (state, exact) = call.app.db.counts(row.number)?;
    let plays: serde_json::Map<String, Value> = row
        .actions
        .iter()
        .enumerate()
        .map(|(arm, name)| (name.clone(), json!(exact.plays.get(arm).unwrap_or(&0))))
        .collect();
    let mean =
        (exact.counted > 0 && row.target.is_none()).then(|| exact.sum / exact.counted as f64);
    let told = OperatorOnly::new(json!({
        "operator_only": true,
        "rewards": exact.rewards,
        "late": exact.late,
        "repeated": exact.repeated,
        "default": exact.default,
        "null": exact.null,
        "clipped": exact.clipped,
        "refused_contents": exact.refused,
        "learned_slots": state.fed * row.rounds.batch,
        "waiting_slots": state.next_slot - state.fed * row.rounds.batch,
        "mean_reward": mean,
        "plays": plays,
    }));
    Ok(ForOperator::json(200, &told))
}

/// Refuses a model of another task.
pub(super) fn check_task(row: &ModelRow, decides: bool) -> Result<(), Problem> {
    if row.target.is_none() == decides {
        return Ok(());
    }
    Err(Problem::conflict(if decides {
        "this model predicts, and does not decide"
    } else {
        "this model decides, and does not predict"
    }))
}
