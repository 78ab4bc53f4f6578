//! The OpenAPI document, written from the table of routes.

use super::schemas::schemas;
use super::{JSON, Route, routes};
use serde_json::{Map, Value, json};

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut all = Vec::new();
    for part in route.path.split('/') {
        let Some(name) = part
            .strip_prefix('{')
            .and_then(|part| part.split('}').next())
        else {
            continue;
        };
        let schema = if name == "event" {
            json!({"type": "string", "minLength": 1, "maxLength": 128})
        } else {
            json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"})
        };
        all.push(json!({"name": name, "in": "path", "required": true, "schema": schema}));
    }
    for (name, schema) in route.query {
        all.push(json!({"name": name, "in": "query", "schema": reference(schema)}));
    }
    all
}

fn responses(route: &Route) -> Map<String, Value> {
    let mut all = Map::new();
    for (status, schema, kind) in route.answers {
        let mut answer = json!({"description": "done"});
        if !kind.is_empty() {
            answer["content"] = json!({*kind: {"schema": reference(schema)}});
        }
        all.insert(status.to_string(), answer);
    }
    let mut problems = vec![400];
    if !route.is_open {
        problems.extend([401, 403]);
    }
    if route.path.contains('{') {
        problems.push(404);
    }
    if route.body.is_some() {
        problems.extend([413, 422]);
    }
    problems.extend(route.problems);
    for status in problems {
        let told = json!({
            "description": "a problem",
            "content": {"application/problem+json": {"schema": reference("Problem")}},
        });
        all.insert(status.to_string(), told);
    }
    all
}

/// The document.
#[must_use]
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in routes() {
        let mut operation = json!({
            "operationId": route.id,
            "summary": route.summary,
            "parameters": parameters(&route),
            "responses": responses(&route),
            "x-roles": route.roles,
        });
        operation["security"] = if route.is_open {
            json!([])
        } else {
            json!([{"token": []}])
        };
        if let Some((schema, kind)) = route.body {
            let mut content = json!({kind: {"schema": reference(schema)}});
            if kind != JSON {
                content[kind]["example"] = json!("{\"features\": {\"age\": 31}, \"target\": 1}\n");
            }
            let is_needed = !matches!(schema, "Empty" | "NewSlot");
            operation["requestBody"] = json!({"required": is_needed, "content": content});
        }
        let method = route.method.as_str().to_ascii_lowercase();
        let path = paths
            .entry(route.path.to_owned())
            .or_insert_with(|| json!({}));
        path[method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "hushstream serve",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Private learning and private decisions. Ids of events are random, and \
                            never computed from what an event holds.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}
