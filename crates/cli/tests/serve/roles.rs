//! Every operation of the document, with every kind of token: a token that may not call it is
//! refused alike, whether the thing is there or not.

use crate::server::{Answer, Client, Server, banner, first_token, new_token, people};
use serde_json::{Value, json};

/// Who may call what: stated here once more, so that a check that is dropped from the table of
/// routes, and with it from the document, is noticed.
const WHO: &[(&str, &str)] = &[
    ("live", ""),
    ("ready", ""),
    ("openapi", ""),
    ("whoami", "admin operator client reader"),
    ("put-tenant", "admin"),
    ("post-token", "admin operator"),
    ("get-tokens", "admin operator"),
    ("delete-token", "admin operator"),
    ("get-audit", "admin operator"),
    ("put-dataset", "operator"),
    ("get-datasets", "operator reader"),
    ("get-dataset", "operator reader"),
    ("post-budget", "operator"),
    ("forget", "operator"),
    ("plan-model", "operator"),
    ("put-model", "operator"),
    ("get-models", "operator client reader"),
    ("get-model", "operator client reader"),
    ("pause-model", "operator"),
    ("resume-model", "operator"),
    ("close-batch", "operator"),
    ("get-operator", "operator"),
    ("decide", "client"),
    ("reward", "client"),
    ("activate", "client"),
    ("take-slot", "client"),
    ("fill-slot", "client"),
    ("post-records", "client"),
    ("put-target", "client"),
    ("get-question", "operator client reader"),
    ("post-batch", "client"),
    ("accept-source", "operator"),
    ("predict", "client reader"),
    ("get-policy", "operator client reader"),
    ("get-releases", "operator client reader"),
    ("get-evaluation", "operator client reader"),
    ("get-events", "operator client reader"),
    ("personalizer-rank", "client"),
    ("personalizer-reward", "client"),
    ("personalizer-activate", "client"),
];

/// An operation of the document.
struct Operation {
    id: String,
    method: String,
    path: String,
    body: Option<String>,
}

fn operations(document: &Value) -> Vec<Operation> {
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, about) in methods.as_object().unwrap() {
            let content = about["requestBody"]["content"].as_object();
            let schema = content.and_then(|content| {
                let (_, first) = content.iter().next()?;
                let name = first["schema"]["$ref"].as_str()?;
                name.rsplit('/').next().map(str::to_owned)
            });
            all.push(Operation {
                id: about["operationId"].as_str().unwrap().to_owned(),
                method: method.to_uppercase(),
                path: path.clone(),
                body: schema,
            });
        }
    }
    all
}

/// A body that is allowed.
fn body(schema: &str) -> String {
    let context = json!({"age": 31, "device": "phone"});
    let body = match schema {
        "Empty" | "NewSlot" => json!({}),
        "NewToken" => json!({"role": "reader"}),
        "NewDataset" => people(),
        "NewBudget" => json!({"epsilon": 25.0, "delta": 2e-6, "reason": "a test"}),
        "NewModel" => banner("people", 50, 10),
        "NewDecision" => json!({"context": context}),
        "Reward" => json!({"value": 1}),
        "Outcome" => json!({"policy": 0, "context": context, "action": "red"}),
        "Records" => json!({"features": context, "target": 1}),
        "Target" => json!({"value": 1}),
        "Rows" => json!({"rows": [context]}),
        "Rank" => {
            json!({"contextFeatures": [context], "actions": [{"id": "red"}, {"id": "green"}]})
        }
        "Batch" => json!({"source": "clicks", "batch": 0, "parts": []}),
        "NewSource" => {
            json!({"source": "clicks", "batch": 0, "parts": [], "first": {}, "reason": "a test"})
        }
        "Forget" => json!({"model": "banner", "event_ids": ["one"]}),
        other => panic!("say what a body of {other} is"),
    };
    body.to_string()
}

/// The path with names of things that are there, but for one, which is not: by number.
fn filled(operation: &Operation, token: &str, missing: Option<usize>) -> String {
    let predicts = matches!(
        operation.id.as_str(),
        "post-records" | "put-target" | "predict"
    );
    let mut number = 0;
    let mut path = String::new();
    for part in operation.path.split_inclusive(['{', '}']) {
        let Some(name) = part.strip_suffix('}') else {
            path.push_str(part.trim_end_matches('{'));
            continue;
        };
        path.push_str(match name {
            _ if missing == Some(number) => "nothing-of-this-name",
            "tenant" => "main",
            "dataset" => "people",
            "model" if predicts => "scores",
            "model" => "banner",
            "token" => token,
            "event" if operation.id == "fill-slot" => "edge",
            "event" => "one",
            other => panic!("say what {other} is"),
        });
        number += 1;
    }
    path
}

fn count(operation: &Operation) -> usize {
    operation.path.matches('{').count()
}

/// What can be told apart from outside.
fn seen(answer: &Answer) -> (u16, Vec<String>, String) {
    let mut head = answer.head.clone();
    head.retain(|line| !line.starts_with("date:"));
    (answer.status, head, answer.body.clone())
}

struct Tenant {
    server: Server,
    folder: tempfile::TempDir,
    operator: Client,
    document: Value,
}

/// A server with one of everything.
fn tenant() -> Tenant {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut operator = server.client(&first_token(folder.path(), "operator.token"));
    operator
        .call("PUT", "/v1/datasets/people", &people())
        .is(201);
    operator
        .call("PUT", "/v1/models/banner", &banner("people", 50, 10))
        .is(201);
    let mut scores = banner("people", 50, 10);
    scores["task"] = json!("classify");
    scores["schema"]["target"] = json!("clicked");
    scores
        .as_object_mut()
        .unwrap()
        .retain(|key, _| key != "actions" && key != "mode");
    operator.call("PUT", "/v1/models/scores", &scores).is(201);
    let document = operator.get("/v1/openapi.json").is(200).json();
    Tenant {
        server,
        folder,
        operator,
        document,
    }
}

impl Tenant {
    /// A client with an event of each kind.
    fn client(&mut self) -> Client {
        let token = new_token(&mut self.operator, "main", &json!({"role": "client"}));
        let mut client = self.server.client(&token);
        let context = json!({"age": 31, "device": "phone"});
        let asked = json!({"event_id": "one", "context": context});
        client
            .call("POST", "/v1/models/banner/decisions", &asked)
            .is(200);
        let edge = json!({"event_id": "edge"});
        client
            .call("POST", "/v1/models/banner/slots", &edge)
            .is(201);
        let line = json!({"event_id": "one", "features": context}).to_string();
        client
            .send("POST", "/v1/models/scores/records", &line)
            .is(200);
        client
    }

    /// The id of a token that nobody uses.
    fn spare(&mut self) -> String {
        let token = new_token(&mut self.operator, "main", &json!({"role": "reader"}));
        token.split('_').nth(1).unwrap().to_owned()
    }
}

/// All ways to name things, with sound and with broken bodies.
fn asked(client: &mut Client, operation: &Operation, token: &str) -> Vec<Answer> {
    let mut all = Vec::new();
    let sound = operation.body.as_deref().map(body).unwrap_or_default();
    let places = (0..count(operation)).map(Some);
    for missing in std::iter::once(None).chain(places) {
        let path = filled(operation, token, missing);
        all.push(client.send(&operation.method, &path, &sound));
        all.push(client.send(&operation.method, &path, "{"));
    }
    all
}

fn all_alike(answers: &[Answer], told: &str, status: u16) {
    for answer in answers {
        assert_eq!(answer.status, status, "{told}: {answer:?}");
        assert_eq!(seen(answer), seen(&answers[0]), "{told}");
    }
}

#[test]
fn no_token_and_a_token_of_another_role_are_refused_alike() {
    let mut tenant = tenant();
    tenant.client();
    let admin = first_token(tenant.folder.path(), "admin.token");
    let spare = tenant.spare();
    let mut callers = vec![("admin", tenant.server.client(&admin))];
    for role in ["operator", "client", "reader"] {
        let token = new_token(&mut tenant.operator, "main", &json!({"role": role}));
        callers.push((role, tenant.server.client(&token)));
    }
    let strangers = ["", "hs_", "hs_0123456789ab_00", &format!("hs_{spare}_00")];
    let mut strangers = strangers.map(|token| tenant.server.client(token));
    let mut known = Vec::new();
    for operation in operations(&tenant.document) {
        let id = operation.id.as_str();
        let who = WHO.iter().find(|(known, _)| *known == id);
        let (_, who) = who.unwrap_or_else(|| panic!("say who may call {id}"));
        known.push(operation.id.clone());
        if who.is_empty() {
            continue;
        }
        for stranger in &mut strangers {
            all_alike(&asked(stranger, &operation, &spare), id, 401);
        }
        for (role, caller) in &mut callers {
            if !who.split(' ').any(|known| known == *role) {
                let told = format!("{id} by {role}");
                all_alike(&asked(caller, &operation, &spare), &told, 403);
            }
        }
    }
    for (id, _) in WHO {
        assert!(known.iter().any(|known| known == id), "{id} is gone");
    }
}

#[test]
fn whoever_may_call_is_not_refused() {
    let mut tenant = tenant();
    let client = tenant.client();
    let admin = first_token(tenant.folder.path(), "admin.token");
    let reader = new_token(&mut tenant.operator, "main", &json!({"role": "reader"}));
    let operator = tenant.operator.token().to_owned();
    let only = json!({"role": "client", "models": ["banner"]});
    let personalizer = new_token(&mut tenant.operator, "main", &only);
    let ranked = json!({"eventId": "one", "contextFeatures": [], "actions": [{"id": "red"}]});
    let path = "/personalizer/v1.1-preview.3/rank";
    tenant
        .server
        .client(&personalizer)
        .call("POST", path, &ranked)
        .is(201);
    for operation in operations(&tenant.document) {
        let id = operation.id.as_str();
        let (_, who) = WHO.iter().find(|(known, _)| *known == id).unwrap();
        let callers = [
            ("admin", admin.as_str()),
            ("operator", &operator),
            ("client", client.token()),
            ("reader", &reader),
        ];
        for (role, token) in callers {
            if !who.is_empty() && !who.split(' ').any(|known| known == role) {
                continue;
            }
            let is_personalizer = id.starts_with("personalizer");
            let token = if is_personalizer {
                &personalizer
            } else {
                token
            };
            let spare = tenant.spare();
            let path = filled(&operation, &spare, None);
            let body = operation.body.as_deref().map(body).unwrap_or_default();
            let answer = tenant
                .server
                .client(token)
                .send(&operation.method, &path, &body);
            // There is no evaluation in this model, and no batch to close once it was closed.
            let is_sound = match id {
                "get-evaluation" => answer.status == 404,
                "put-model" => answer.status == 200,
                // Nor does it take sums that were made elsewhere.
                "get-question" | "post-batch" | "accept-source" => answer.status == 409,
                _ => (200..300).contains(&answer.status),
            };
            assert!(is_sound, "{id} by {role}: {answer:?}");
        }
    }
}

/// What a name was replaced with does not count.
fn without_names(answer: &Answer) -> (u16, String) {
    let body = answer.body.replace("nothing-of-this-name", "…");
    let body = body
        .replace("people", "…")
        .replace("banner", "…")
        .replace("scores", "…");
    (answer.status, body)
}

#[test]
fn another_tenant_cannot_tell_what_is_there() {
    let mut tenant = tenant();
    tenant.client();
    let admin = first_token(tenant.folder.path(), "admin.token");
    let mut admin = tenant.server.client(&admin);
    admin.call("PUT", "/v1/tenants/other", &Value::Null).is(201);
    let spare = tenant.spare();
    for operation in operations(&tenant.document) {
        let id = operation.id.as_str();
        let (_, who) = WHO.iter().find(|(known, _)| *known == id).unwrap();
        let makes = matches!(id, "put-dataset" | "plan-model" | "put-model");
        if count(&operation) == 0 || makes {
            continue;
        }
        for role in who.split(' ').filter(|role| !matches!(*role, "" | "admin")) {
            let mut wanted = json!({"role": role});
            if id.starts_with("personalizer") {
                wanted["models"] = json!(["banner"]);
            }
            let token = new_token(&mut admin, "other", &wanted);
            let mut caller = tenant.server.client(&token);
            let sound = operation.body.as_deref().map(body).unwrap_or_default();
            let path = filled(&operation, &spare, None);
            let there = caller.send(&operation.method, &path, &sound);
            let status = if operation.path.contains("{tenant}") {
                403
            } else {
                404
            };
            assert_eq!(
                there.status, status,
                "{id} by another tenant's {role}: {there:?}"
            );
            for missing in 0..count(&operation) {
                let path = filled(&operation, &spare, Some(missing));
                let answer = caller.send(&operation.method, &path, &sound);
                assert_eq!(
                    without_names(&answer),
                    without_names(&there),
                    "{id} by {role}"
                );
            }
        }
    }
    // Lists hold nothing of others, and a name that others have is free.
    let token = new_token(&mut admin, "other", &json!({"role": "operator"}));
    let mut other = tenant.server.client(&token);
    assert_eq!(other.get("/v1/models").json(), json!({"models": []}));
    assert_eq!(other.get("/v1/datasets").json(), json!({"datasets": []}));
    assert!(!other.get("/v1/audit").body.contains("people"));
    let spec = banner("people", 50, 10);
    other.call("PUT", "/v1/models/banner", &spec).is(404);
    other.call("PUT", "/v1/datasets/people", &people()).is(201);
    other.call("PUT", "/v1/models/banner", &spec).is(201);
}

#[test]
fn a_token_for_one_model_cannot_tell_what_others_there_are() {
    let mut tenant = tenant();
    tenant.client();
    let spare = tenant.spare();
    let only = |role: &str| json!({"role": role, "models": ["elsewhere"]});
    for operation in operations(&tenant.document) {
        let id = operation.id.as_str();
        let (_, who) = WHO.iter().find(|(known, _)| *known == id).unwrap();
        if !operation.path.contains("{model}") {
            continue;
        }
        for role in who
            .split(' ')
            .filter(|role| matches!(*role, "client" | "reader"))
        {
            let token = new_token(&mut tenant.operator, "main", &only(role));
            let mut caller = tenant.server.client(&token);
            let sound = operation.body.as_deref().map(body).unwrap_or_default();
            let mut all = Vec::new();
            for missing in std::iter::once(None).chain((0..count(&operation)).map(Some)) {
                let path = filled(&operation, &spare, missing);
                all.push(caller.send(&operation.method, &path, &sound));
            }
            all_alike(&all, &format!("{id} by a {role} of another model"), 403);
        }
    }
    // Nor are they listed; and operators are the tenant's, not a model's.
    for role in ["client", "reader"] {
        let token = new_token(&mut tenant.operator, "main", &only(role));
        let listed = tenant
            .server
            .client(&token)
            .get("/v1/models")
            .is(200)
            .json();
        assert_eq!(listed, json!({"models": []}));
    }
    tenant
        .operator
        .call("POST", "/v1/tenants/main/tokens", &only("operator"))
        .is(422);
}
