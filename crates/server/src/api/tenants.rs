//! Tenants and their tokens.

use super::call::is_name;
use super::{Call, JSON, Route};
use crate::auth::NewToken;
use crate::clock::{parse_rfc3339, rfc3339};
use crate::problem::Problem;
use crate::store::Lane;
use crate::store::{Role, TENANTS, TOKENS, TokenRow, decode, encode, store_error};
use crate::told::{Admins, Managers, Public};
use axum::http::Method;
use redb::{ReadableDatabase, ReadableTable};
use serde::Deserialize;
use serde_json::json;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::new(
            Admins,
            Method::PUT,
            "/v1/tenants/{tenant}",
            "put-tenant",
            "Make a tenant",
            put,
        )
        .takes("Empty", JSON)
        .gives(&[(200, "Tenant", JSON), (201, "Tenant", JSON)])
        .fails(&[404]),
        Route::new(
            Managers,
            Method::POST,
            "/v1/tenants/{tenant}/tokens",
            "post-token",
            "Make a token, which is shown once",
            make,
        )
        .takes("NewToken", JSON)
        .gives(&[(201, "Token", JSON)])
        .fails(&[404, 422]),
        Route::new(
            Managers,
            Method::GET,
            "/v1/tenants/{tenant}/tokens",
            "get-tokens",
            "List tokens, without their secrets",
            list,
        )
        .gives(&[(200, "Tokens", JSON)])
        .fails(&[404]),
        Route::new(
            Managers,
            Method::DELETE,
            "/v1/tenants/{tenant}/tokens/{token}",
            "delete-token",
            "End a token",
            end,
        )
        .fails(&[404]),
    ]
}

/// The tenant of the path, if the caller may manage it.
fn managed(call: &Call) -> Result<String, Problem> {
    let (caller, tenant) = (call.caller()?, call.param("tenant"));
    if caller.role != Role::Admin && caller.tenant.as_deref() != Some(tenant) {
        return Err(Problem::forbidden());
    }
    Ok(tenant.to_owned())
}

async fn put(call: Call) -> Result<Public, Problem> {
    if !call.body.is_empty() && call.json()?.as_object().is_none_or(|body| !body.is_empty()) {
        return Err(Problem::unprocessable("allowed: an empty object"));
    }
    let (tenant, who) = (
        call.param("tenant").to_owned(),
        call.caller()?.token.clone(),
    );
    let name = tenant.clone();
    let is_new = call.app.committer.write(Lane::Others, move |tx| {
        let there = tx
            .tenants
            .get(name.as_str())
            .map_err(store_error)?
            .is_some();
        if !there {
            let now = tx.now;
            tx.tenants.insert(name.as_str(), now).map_err(store_error)?;
            tx.audit(Some(&name), &who, "tenant made", &name)?;
        }
        Ok(Ok(!there))
    });
    let status = if is_new.await? { 201 } else { 200 };
    Ok(Public::stated(status, &json!({"tenant": tenant})))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    role: Role,
    #[serde(default)]
    models: Option<Vec<String>>,
    #[serde(default)]
    expires: Option<String>,
    #[serde(default)]
    replaces: Option<String>,
}

async fn make(call: Call) -> Result<Public, Problem> {
    let tenant = managed(&call)?;
    let wanted: Wanted = call.settings()?;
    if wanted.role == Role::Admin {
        let told = "allowed: operator, client, reader";
        return Err(Problem::unprocessable(told).at("role"));
    }
    if wanted.models.is_some() && wanted.role == Role::Operator {
        let told = "an operator is the tenant's: only clients and readers can be a model's";
        return Err(Problem::unprocessable(told).at("models"));
    }
    if let Some(models) = &wanted.models
        && (models.is_empty() || models.len() > 100 || !models.iter().all(|name| is_name(name)))
    {
        let told = "allowed: 1 to 100 names of models";
        return Err(Problem::unprocessable(told).at("models"));
    }
    let expires = match &wanted.expires {
        Some(text) => {
            let told = "allowed: a time such as 2027-01-31T12:00:00Z";
            let wrong = || Problem::unprocessable(told).at("expires");
            Some(parse_rfc3339(text).ok_or_else(wrong)?)
        }
        None => None,
    };
    let token = NewToken::random()?;
    let (id, who) = (token.id.clone(), call.caller()?.token.clone());
    let mut row = TokenRow {
        hash: token.hash,
        role: wanted.role,
        tenant: Some(tenant.clone()),
        models: wanted.models,
        expires,
        created: call.app.clock.now(),
        ended: false,
        family: token.id.clone(),
    };
    let row = call.app.committer.write(Lane::Others, move |tx| {
        if tx
            .tenants
            .get(tenant.as_str())
            .map_err(store_error)?
            .is_none()
        {
            return Ok(Err(Problem::not_found("tenant")));
        }
        if let Some(replaced) = &wanted.replaces {
            let found = tx.tokens.get(replaced.as_str()).map_err(store_error)?;
            let found = found
                .map(|found| decode::<TokenRow>(found.value()))
                .transpose()?;
            match found.filter(|found| found.tenant == row.tenant) {
                Some(found) => row.family = found.family,
                None => {
                    let problem = Problem::unprocessable("there is no such token");
                    return Ok(Err(problem.at("replaces")));
                }
            }
        }
        let bytes = encode(&row);
        tx.tokens
            .insert(id.as_str(), bytes.as_slice())
            .map_err(store_error)?;
        tx.audit(Some(&tenant), &who, "token made", &id)?;
        Ok(Ok(row))
    });
    let row = row.await?;
    let role = row.role;
    call.app.tokens.add(token.id.clone(), row);
    let told = json!({"id": token.id, "token": token.token, "role": role});
    Ok(Public::stated(201, &told))
}

async fn list(call: Call) -> Result<Public, Problem> {
    let tenant = managed(&call)?;
    let txn = call.app.db.begin_read().map_err(store_error)?;
    let tenants = txn.open_table(TENANTS).map_err(store_error)?;
    if tenants.get(tenant.as_str()).map_err(store_error)?.is_none() {
        return Err(Problem::not_found("tenant"));
    }
    let tokens = txn.open_table(TOKENS).map_err(store_error)?;
    let mut all = Vec::new();
    for entry in tokens.iter().map_err(store_error)? {
        let (id, row) = entry.map_err(store_error)?;
        let row: TokenRow = decode(row.value())?;
        if !row.ended && row.tenant.as_deref() == Some(tenant.as_str()) {
            all.push(json!({
                "id": id.value(),
                "role": row.role,
                "models": row.models,
                "expires": row.expires.map(rfc3339),
                "created": rfc3339(row.created),
            }));
        }
    }
    Ok(Public::stated(200, &json!({"tokens": all})))
}

async fn end(call: Call) -> Result<Public, Problem> {
    let tenant = managed(&call)?;
    let (id, who) = (call.param("token").to_owned(), call.caller()?.token.clone());
    let name = id.clone();
    let ended = call.app.committer.write(Lane::Others, move |tx| {
        let row = tx.tokens.get(name.as_str()).map_err(store_error)?;
        let row = row.map(|row| decode::<TokenRow>(row.value())).transpose()?;
        let own = |row: &TokenRow| !row.ended && row.tenant.as_deref() == Some(tenant.as_str());
        let Some(mut row) = row.filter(own) else {
            return Ok(Err(Problem::not_found("token")));
        };
        row.ended = true;
        let bytes = encode(&row);
        tx.tokens
            .insert(name.as_str(), bytes.as_slice())
            .map_err(store_error)?;
        tx.audit(Some(&tenant), &who, "token ended", &name)?;
        Ok(Ok(()))
    });
    ended.await?;
    call.app.tokens.remove(&id);
    Ok(Public::status(204))
}
