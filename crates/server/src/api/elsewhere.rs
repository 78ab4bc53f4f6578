//! Sums that workers make elsewhere: the server is the authority, which alone holds key, ledger and
//! journal, and takes every batch exactly once. `docs/partial-sums.md` is the protocol.

use super::{Call, JSON, Route};
use crate::learn::{Asked, Sums};
use crate::problem::Problem;
use crate::spec::ModelSpec;
use crate::store::ModelRow;
use crate::told::{Clients, Operators, Public, Readers};
use axum::http::Method;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hushstream::Plan;
use hushstream::elsewhere::{Delivery, DeliveryError, Positions, Span, covered};
use hushstream::engine::{RecipeName, RunError};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most bytes of a batch: second moments of 2,000 features, from one worker.
const BYTES: usize = 32 << 20;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Readers,
            Method::GET,
            "/v1/models/{model}/question",
            "get-question",
            "What workers elsewhere are asked next: public",
            question,
        )
        .gives(&[(200, "Question", JSON)])
        .fails(&[404, 409, 422, 503]),
        Route::new(
            Clients,
            Method::POST,
            "/v1/models/{model}/batches",
            "post-batch",
            "A batch of sums that workers made, taken exactly once",
            take,
        )
        .takes("Batch", JSON)
        .gives(&[(200, "Committed", JSON)])
        .fails(&[404, 409, 422, 503])
        .up_to(BYTES)
        .of_content(),
        Route::new(
            Operators,
            Method::POST,
            "/v1/models/{model}:accept-source",
            "accept-source",
            "A batch of a new source, with the statement that nobody in it was learned from",
            accept,
        )
        .takes("NewSource", JSON)
        .gives(&[(200, "Committed", JSON)])
        .fails(&[404, 409, 422, 503])
        .up_to(BYTES)
        .of_content(),
    ]
}

/// Refuses, before anything is charged, a model whose sums cannot be made elsewhere.
pub(super) fn check(spec: &ModelSpec, plan: &Plan, batches: u64) -> Result<(), Problem> {
    if !spec.elsewhere {
        return Ok(());
    }
    if plan.recipe.learns_from().is_none() && plan.recipe != RecipeName::Tables {
        let told = RunError::OneProcess(plan.recipe).to_string();
        return Err(Problem::unprocessable(told).at("elsewhere"));
    }
    let Some(limits) = &spec.per_person else {
        return Ok(());
    };
    let needed = batches.div_ceil(limits.separation.unwrap_or(1).max(1));
    if limits.most < needed {
        let told = format!(
            "persons contribute by slots, to every `separation`-th batch: allowed: {needed} or more"
        );
        return Err(Problem::unprocessable(told).at("per_person.most"));
    }
    Ok(())
}

/// The model, if its sums are made elsewhere.
fn model(call: &Call) -> Result<Arc<ModelRow>, Problem> {
    let row = call.model()?;
    if row.elsewhere() {
        return Ok(row);
    }
    let told = "this model learns from what it is sent: only one with `elsewhere` takes sums";
    Err(Problem::conflict(told))
}

async fn question(call: Call) -> Result<Public, Problem> {
    let row = model(&call)?;
    let dataset = call.app.dataset(&row.tenant, &row.dataset)?;
    let asked = call.ask(dataset.number, move |actor| actor.question(&row, &dataset));
    let Asked {
        question,
        sealing_key,
        delivered,
    } = asked.await?;
    let delivered = delivered.map(|(source, batch)| json!({"source": source, "batch": batch}));
    Ok(Public::stated(
        200,
        &json!({
            "question": question.map(|bytes| STANDARD.encode(bytes)),
            "sealing_key": sealing_key,
            "delivered": delivered,
        }),
    ))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Batch {
    source: String,
    batch: u64,
    /// Partial sums, sealed or not.
    parts: Vec<String>,
    /// What the batch covers, if its parts may be incomplete; stated if there are none.
    #[serde(default)]
    positions: Option<Vec<Span>>,
    /// Of a new source: the first new record of every partition, and why it is believed.
    #[serde(default)]
    first: Option<BTreeMap<String, u64>>,
    #[serde(default)]
    reason: Option<String>,
}

impl Batch {
    /// What was sent. No error repeats a byte of a part.
    fn read(call: &Call) -> Result<Self, Problem> {
        let told = "allowed: `source`, `batch`, `parts` in base64 and perhaps `positions`";
        serde_json::from_value(call.json()?).map_err(|_| Problem::unprocessable(told))
    }

    fn sums(&self) -> Result<Sums, Problem> {
        let read = |(number, part): (usize, &String)| {
            let wrong = |_| Problem::unprocessable("not base64").at(format!("parts.{number}"));
            STANDARD.decode(part).map_err(wrong)
        };
        let parts: Result<_, Problem> = self.parts.iter().enumerate().map(read).collect();
        Ok(Sums {
            parts: parts?,
            is_stated: self.positions.is_some(),
        })
    }

    fn delivery(&self, sums: &Sums) -> Result<Delivery, Problem> {
        let wrong = |error: DeliveryError| Problem::conflict(error.to_string());
        let positions = match &self.positions {
            Some(spans) => Positions::new(spans.iter().cloned()).map_err(wrong)?,
            None => covered(&sums.parts)?,
        };
        Delivery::new(&self.source, self.batch, positions).map_err(wrong)
    }
}

async fn take(call: Call) -> Result<Public, Problem> {
    let row = model(&call)?;
    let batch = Batch::read(&call)?;
    if batch.first.is_some() || batch.reason.is_some() {
        let told = "a statement about people is the operator's: `:accept-source`";
        return Err(Problem::unprocessable(told).at("first"));
    }
    let sums = batch.sums()?;
    let delivery = batch.delivery(&sums)?;
    commit(&call, row, delivery, sums).await
}

async fn accept(call: Call) -> Result<Public, Problem> {
    let row = model(&call)?;
    let batch = Batch::read(&call)?;
    let (Some(first), Some(reason)) = (&batch.first, &batch.reason) else {
        let told = "state `first`, the first new record of every partition, and the `reason`";
        return Err(Problem::unprocessable(told).at("first"));
    };
    if reason.trim().is_empty() || reason.len() > 500 {
        return Err(Problem::unprocessable("allowed: 1 to 500 bytes").at("reason"));
    }
    let sums = batch.sums()?;
    let delivery = batch.delivery(&sums)?;
    let delivery = delivery.accept_new_source(first);
    let delivery = delivery.map_err(|error| Problem::conflict(error.to_string()))?;
    // The statement is in the log before anything is learned.
    let what = format!("source accepted: {}: {}", batch.source, reason.trim());
    call.note(&row.tenant, what, &row.name).await?;
    commit(&call, row, delivery, sums).await
}

async fn commit(
    call: &Call,
    row: Arc<ModelRow>,
    delivery: Delivery,
    sums: Sums,
) -> Result<Public, Problem> {
    if call.app.state(row.number)?.paused {
        return Err(Problem::conflict("this model is paused"));
    }
    let dataset = call.app.dataset(&row.tenant, &row.dataset)?;
    let taken = call.ask(dataset.number, move |actor| {
        actor.commit(&row, &dataset, (&delivery, &sums))
    });
    let (is_new, version) = taken.await?;
    let told = json!({"is_new": is_new, "version": version});
    Ok(Public::stated(200, &told))
}
