//! Tenants and their tokens.

use super::call::is_name;
use super::{Call, JSON, Route};
use crate::auth::NewToken;
use crate::clock::{parse_rfc3339, rfc3339};
use crate::problem::Problem;
use crate::store::{Role, TokenRow, Touches};
use crate::told::{Admins, Managers, Public};
use axum::http::Method;
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
    let (tenant, who) = (call.param("tenant").to_owned(), call.who()?);
    let name = tenant.clone();
    let touches = Touches::settings();
    let is_new = call.write(touches, move |tx| {
        let is_new = tx.put_tenant(&name)?;
        if is_new {
            tx.audit(Some(&name), &who, "tenant made", &name)?;
        }
        Ok(Ok(is_new))
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
    let (id, who) = (token.id.clone(), call.who()?);
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
    let touches = Touches::settings();
    let row = call.write(touches, move |tx| {
        if !tx.has_tenant(&tenant)? {
            return Ok(Err(Problem::not_found("tenant")));
        }
        if let Some(replaced) = &wanted.replaces {
            match tx
                .token(replaced)?
                .filter(|found| found.tenant == row.tenant)
            {
                Some(found) => row.family = found.family,
                None => {
                    let problem = Problem::unprocessable("there is no such token");
                    return Ok(Err(problem.at("replaces")));
                }
            }
        }
        tx.put_token(&id, &row)?;
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
    if !call.app.db.has_tenant(&tenant)? {
        return Err(Problem::not_found("tenant"));
    }
    let mut all = Vec::new();
    for (id, row) in call.app.db.tokens()? {
        if !row.ended && row.tenant.as_deref() == Some(tenant.as_str()) {
            all.push(json!({
                "id": id,
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
    let (id, who) = (call.param("token").to_owned(), call.who()?);
    let name = id.clone();
    let touches = Touches::settings();
    let ended = call.write(touches, move |tx| {
        let row = tx.token(&name)?;
        let own = |row: &TokenRow| !row.ended && row.tenant.as_deref() == Some(tenant.as_str());
        let Some(mut row) = row.filter(own) else {
            return Ok(Err(Problem::not_found("token")));
        };
        row.ended = true;
        tx.put_token(&name, &row)?;
        tx.audit(Some(&tenant), &who, "token ended", &name)?;
        Ok(Ok(()))
    });
    ended.await?;
    call.app.tokens.remove(&id);
    Ok(Public::status(204))
}
