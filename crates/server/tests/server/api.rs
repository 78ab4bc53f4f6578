//! The main paths of the API.

use crate::support::{START, Server, ask, banner};
use serde_json::{Value, json};

const NOTHING: Value = Value::Null;
const DECISIONS: &str = "/v1/models/banner/decisions";

#[test]
fn decisions_are_answered_rewarded_and_learned_from() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let (client, reader) = (server.token("client"), server.token("reader"));
    let first = server.call(&client, "POST", DECISIONS, &ask("one", 30.0));
    assert_eq!(first.0, 200, "{first:?}");
    assert_eq!(first.json()["policy"], 0);
    assert_eq!(first.json()["ranking"].as_array().unwrap().len(), 2);
    assert_eq!(first.json()["closes_by"], "2027-01-15T08:01:05.000Z");
    // The same request has the same answer; another body is refused.
    assert_eq!(
        server.call(&client, "POST", DECISIONS, &ask("one", 30.0)),
        first
    );
    assert_eq!(
        server.call(&client, "POST", DECISIONS, &ask("one", 31.0)).0,
        409
    );
    // What the schema refuses takes its slot, which is null.
    let refused = server.call(&client, "POST", DECISIONS, &json!({"event_id": "bad"}));
    assert_eq!(refused.0, 422, "{refused:?}");
    let slots = |server: &Server| {
        let model = server.call(&reader, "GET", "/v1/models/banner", &NOTHING);
        model.json()["slots"].as_u64().unwrap()
    };
    assert_eq!(slots(&server), 2);
    // What is no JSON takes its slot: NaN is a content. An unsound id is public, and takes none.
    assert_eq!(server.raw(&client, "POST", DECISIONS, "{").0, 400);
    assert_eq!(slots(&server), 3);
    assert_eq!(
        server
            .raw(&client, "POST", DECISIONS, "{\"event_id\": 7}")
            .0,
        400
    );
    assert_eq!(slots(&server), 3);
    let reward = |id: &str, value: Value| {
        let path = format!("{DECISIONS}/{id}/reward");
        server
            .call(&client, "POST", &path, &json!({"value": value}))
            .0
    };
    assert_eq!(reward("one", json!(1.0)), 204);
    assert_eq!(reward("one", json!(0.0)), 204);
    assert_eq!(reward("none", json!(1.0)), 404);
    assert_eq!(reward("one", json!("much")), 422);
    for slot in 3..10 {
        let answer = server.call(&client, "POST", DECISIONS, &ask(&slot.to_string(), 50.0));
        assert_eq!(answer.0, 200, "{answer:?}");
    }
    server.clock.advance(4_999);
    assert_eq!(reward("9", json!(1.0)), 204);
    server.clock.advance(1);
    assert_eq!(reward("9", json!(1.0)), 410);
    server.wait_for(1);
    // Learned from: the slots are gone, the ids stay.
    assert_eq!(
        server.call(&client, "POST", DECISIONS, &ask("one", 30.0)).0,
        410
    );
    assert_eq!(reward("3", json!(1.0)), 410);
    let exact = server.call(
        &server.operator,
        "GET",
        "/v1/models/banner/operator",
        &NOTHING,
    );
    let exact = exact.json();
    assert_eq!(exact["operator_only"], true);
    assert_eq!(
        (&exact["rewards"], &exact["repeated"]),
        (&json!(2), &json!(1))
    );
    assert_eq!((&exact["late"], &exact["null"]), (&json!(2), &json!(2)));
    assert_eq!(
        (&exact["default"], &exact["mean_reward"]),
        (&json!(6), &json!(1.0))
    );
    // The released policy decides next.
    let next = server.call(&client, "POST", DECISIONS, &ask("next", 30.0));
    assert_eq!(next.json()["policy"], 1);
    let policy = server.call(&reader, "GET", "/v1/models/banner/policy", &NOTHING);
    assert_eq!(policy.json()["release"], 1);
    let releases = server.call(&reader, "GET", "/v1/models/banner/releases", &NOTHING);
    assert_eq!(releases.1.lines().count(), 2);
    let evaluation = server.call(&reader, "GET", "/v1/models/banner/evaluation", &NOTHING);
    assert_eq!(evaluation.json()["version"], 1);
    let dataset = server.call(&reader, "GET", "/v1/datasets/people", &NOTHING);
    assert_eq!(dataset.json()["runs"][0]["model"], "banner");
}

#[test]
fn a_restart_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let client = server.token("client");
    let first = server.call(&client, "POST", DECISIONS, &ask("one", 30.0));
    drop(server);
    let server = Server::start(folder.path(), START + 1000);
    assert_eq!(
        server.call(&client, "POST", DECISIONS, &ask("one", 30.0)),
        first
    );
    let reward = format!("{DECISIONS}/one/reward");
    assert_eq!(
        server
            .call(&client, "POST", &reward, &json!({"value": 1}))
            .0,
        204
    );
    drop(server);
    // The batch closes while nobody is there.
    let server = Server::start(folder.path(), START + 1_000_000);
    server.wait_for(1);
    let model = server.call(&server.operator, "GET", "/v1/models/banner", &NOTHING);
    assert_eq!(model.json()["slots"], 10);
    // Made again with the same settings: nothing is charged twice.
    let again = server.call(&server.operator, "PUT", "/v1/models/banner", &banner());
    assert_eq!(again.0, 200, "{again:?}");
    let dataset = server.call(&server.operator, "GET", "/v1/datasets/people", &NOTHING);
    assert_eq!(dataset.json()["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn records_are_learned_from_and_predicted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    let (client, operator) = (server.token("client"), &server.operator);
    let dataset = json!({"epsilon": 20.0, "delta": 1e-6, "adjacency": "replace-one"});
    server.call(operator, "PUT", "/v1/datasets/people", &dataset);
    let model = json!({
        "dataset": "people",
        "task": "classify",
        "schema": {"target": "late", "bounds": {"hour": [0, 24]}},
        "batch": 4,
        "batches": 5,
        "reward_wait": 5,
        "epsilon": 2.0,
        "delta": 1e-7,
        "simulated": 9,
    });
    let plan = server.call(operator, "POST", "/v1/models:plan", &model);
    assert_eq!(
        (plan.0, &plan.json()["fits"]),
        (200, &json!(true)),
        "{plan:?}"
    );
    let made = server.call(operator, "PUT", "/v1/models/banner", &model);
    assert_eq!(made.0, 201, "{made:?}");
    let lines = "{\"event_id\": \"a\", \"features\": {\"hour\": 3}, \"target\": 0}\n\
                 {\"event_id\": \"b\", \"features\": {\"hour\": 20}}\n\
                 {\"event_id\": \"c\", \"features\": {\"hours\": 20}}\n";
    let path = "/v1/models/banner/records";
    let taken = server.raw(&client, "POST", path, lines).json();
    assert_eq!(
        (&taken["taken"], &taken["repeated"]),
        (&json!(3), &json!(0))
    );
    assert_eq!(taken["null_lines"][0]["line"], 3);
    let taken = server.raw(&client, "POST", path, lines).json();
    assert_eq!(
        (&taken["taken"], &taken["repeated"]),
        (&json!(0), &json!(3))
    );
    // A line that is no JSON is somebody's content: it takes its slot, and stops no other line.
    let broken = "{\"event_id\": \"e\", \"features\": {\"hour\": NaN}}";
    let taken = server.raw(&client, "POST", path, &format!("{lines}\n{broken}"));
    let taken = (taken.0, taken.json());
    assert_eq!((taken.0, &taken.1["taken"]), (200, &json!(1)), "{taken:?}");
    assert_eq!(taken.1["repeated"], 3);
    assert_eq!(taken.1["null_lines"][0]["line"], 5);
    // Ids are public: an unsound one is refused before any line takes a slot.
    let unsound = server.raw(
        &client,
        "POST",
        path,
        &format!("{lines}{{\"event_id\": 7}}"),
    );
    assert_eq!(
        (unsound.0, &unsound.json()["place"]),
        (422, &json!("line 4"))
    );
    let target = json!({"value": 1});
    let put = |id: &str| {
        server
            .call(&client, "PUT", &format!("{path}/{id}/target"), &target)
            .0
    };
    assert_eq!((put("b"), put("none")), (204, 404));
    let fourth = "{\"event_id\": \"d\", \"features\": {\"hour\": null}, \"target\": 1}";
    assert_eq!(server.raw(&client, "POST", path, fourth).json()["taken"], 1);
    server.clock.advance(5_000);
    server.wait_for(1);
    assert_eq!(put("b"), 410);
    let rows = json!({"rows": [{"hour": 3}, {"hour": null}]});
    let predicted = server.call(&client, "POST", "/v1/models/banner/predict", &rows);
    assert_eq!(predicted.0, 200, "{predicted:?}");
    assert_eq!(predicted.json()["predictions"].as_array().unwrap().len(), 2);
}

#[test]
fn tokens_are_bound_to_roles_tenants_and_models() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let (client, reader) = (server.token("client"), server.token("reader"));
    for model in ["banner", "nothing"] {
        let path = format!("/v1/models/{model}/decisions");
        assert_eq!(server.call(&reader, "POST", &path, &ask("x", 1.0)).0, 403);
        let path = format!("/v1/models/{model}/operator");
        assert_eq!(server.call(&client, "GET", &path, &NOTHING).0, 403);
        assert_eq!(server.call("hs_no_no", "GET", &path, &NOTHING).0, 401);
    }
    let admin = std::fs::read_to_string(folder.path().join("admin.token")).unwrap();
    let admin = admin.trim();
    assert_eq!(
        server.call(admin, "PUT", "/v1/tenants/other", &json!({})).0,
        201
    );
    let body = json!({"role": "operator"});
    let made = server
        .call(admin, "POST", "/v1/tenants/other/tokens", &body)
        .json();
    let other = made["token"].as_str().unwrap();
    for model in ["banner", "nothing"] {
        let path = format!("/v1/models/{model}");
        assert_eq!(server.call(other, "GET", &path, &NOTHING).0, 404);
    }
    let foreign = "/v1/tenants/main/tokens";
    assert_eq!(server.call(other, "GET", foreign, &NOTHING).0, 403);
    assert_eq!(
        server
            .call(other, "GET", "/v1/tenants/no/tokens", &NOTHING)
            .0,
        403
    );
    let body = json!({"role": "client", "models": ["elsewhere"]});
    let made = server.call(&server.operator, "POST", foreign, &body).json();
    let narrow = made["token"].as_str().unwrap();
    for model in ["banner", "nothing"] {
        let path = format!("/v1/models/{model}");
        assert_eq!(server.call(narrow, "GET", &path, &NOTHING).0, 403);
    }
    // Events belong to the token that asked.
    assert_eq!(
        server.call(&client, "POST", DECISIONS, &ask("mine", 1.0)).0,
        200
    );
    let second = server.token("client");
    let reward = format!("{DECISIONS}/mine/reward");
    assert_eq!(
        server
            .call(&second, "POST", &reward, &json!({"value": 1}))
            .0,
        404
    );
    let id = made["id"].as_str().unwrap();
    assert_eq!(
        server
            .call(
                &server.operator,
                "DELETE",
                &format!("{foreign}/{id}"),
                &NOTHING
            )
            .0,
        204
    );
    assert_eq!(server.call(narrow, "GET", "/v1/whoami", &NOTHING).0, 401);
    let audit = server.call(&server.operator, "GET", "/v1/audit", &NOTHING);
    assert!(audit.1.contains("token ended") && !audit.1.contains("tenant made"));
}

#[test]
fn a_model_over_budget_is_refused_and_says_what_would_fit() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let mut large = banner();
    large["epsilon"] = json!(30.0);
    let refused = server.call(&server.operator, "PUT", "/v1/models/large", &large);
    assert_eq!(refused.0, 409, "{refused:?}");
    let detail = refused.json()["detail"].as_str().unwrap().to_owned();
    assert!(
        detail.contains("would fit") || detail.contains("total"),
        "{detail}"
    );
    // What raises a budget here is a request, and no flag of the program.
    assert!(
        detail.ends_with("POST /v1/datasets/{dataset}/budget"),
        "{detail}"
    );
    let missing = server.call(&server.operator, "GET", "/v1/models/large", &NOTHING);
    assert_eq!(missing.0, 404);
    let raise = json!({"epsilon": 60.0, "delta": 1e-4, "reserve": 0.5, "reason": "a second model"});
    let raised = server.call(
        &server.operator,
        "POST",
        "/v1/datasets/people/budget",
        &raise,
    );
    assert_eq!(raised.0, 200, "{raised:?}");
    let made = server.call(&server.operator, "PUT", "/v1/models/large", &large);
    assert_eq!(made.0, 201, "{made:?}");
    let lower = json!({"epsilon": 1.0, "delta": 1e-7, "reason": "less"});
    let path = "/v1/datasets/people/budget";
    assert_eq!(server.call(&server.operator, "POST", path, &lower).0, 409);
}

#[test]
fn edge_decisions_take_a_slot_first_and_are_filled_later() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let client = server.token("client");
    let slots = "/v1/models/banner/slots";
    let taken = server.call(&client, "POST", slots, &json!({"event_id": "edge"}));
    assert_eq!(
        (taken.0, &taken.json()["policy"]),
        (201, &json!(0)),
        "{taken:?}"
    );
    let outcome = |policy: u64, action: &str| {
        json!({"policy": policy, "context": {"age": 3, "device": null}, "action": action,
               "value": 1.0})
    };
    let put = |id: &str, body: &Value| {
        server
            .call(&client, "PUT", &format!("{slots}/{id}"), body)
            .0
    };
    assert_eq!(put("edge", &outcome(0, "blue")), 422);
    assert_eq!(put("edge", &outcome(7, "red")), 404);
    assert_eq!(put("edge", &outcome(0, "red")), 204);
    assert_eq!(put("edge", &outcome(0, "red")), 204);
    assert_eq!(put("edge", &outcome(0, "green")), 409);
    assert_eq!(put("none", &outcome(0, "red")), 404);
    server.clock.advance(65_000);
    assert_eq!(put("edge", &outcome(0, "red")), 410);
    server.wait_for(1);
    let exact = server.call(
        &server.operator,
        "GET",
        "/v1/models/banner/operator",
        &NOTHING,
    );
    let exact = exact.json();
    assert_eq!(
        (&exact["plays"]["red"], &exact["null"]),
        (&json!(1), &json!(9))
    );
}

#[test]
fn deferred_decisions_count_once_they_are_activated_and_a_pause_takes_no_slots() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    let client = server.token("client");
    for id in ["shown", "hidden"] {
        let mut body = ask(id, 20.0);
        body["defer"] = json!(true);
        body["exclude"] = json!(["green"]);
        let answer = server.call(&client, "POST", DECISIONS, &body).json();
        assert_eq!(
            (&answer["action"], &answer["probability"]),
            (&json!("red"), &json!(1.0))
        );
    }
    let activate = format!("{DECISIONS}/shown/activate");
    assert_eq!(server.call(&client, "POST", &activate, &NOTHING).0, 204);
    let pause = "/v1/models/banner:pause";
    assert_eq!(
        server.call(&server.operator, "POST", pause, &NOTHING).0,
        204
    );
    server.clock.advance(65_000);
    server.wait_for(1);
    let exact = server.call(
        &server.operator,
        "GET",
        "/v1/models/banner/operator",
        &NOTHING,
    );
    let exact = exact.json();
    assert_eq!(
        (&exact["plays"]["red"], &exact["null"]),
        (&json!(1), &json!(9))
    );
    let answer = server
        .call(&client, "POST", DECISIONS, &ask("later", 20.0))
        .json();
    assert_eq!(answer["learning"], false);
    let resume = "/v1/models/banner:resume";
    assert_eq!(
        server.call(&server.operator, "POST", resume, &NOTHING).0,
        204
    );
    let answer = server
        .call(&client, "POST", DECISIONS, &ask("again", 20.0))
        .json();
    assert_eq!(answer["learning"], true);
    let close = "/v1/models/banner:close-batch";
    assert_eq!(
        server.call(&server.operator, "POST", close, &NOTHING).0,
        204
    );
    let nothing = "/v1/models/banner:burn";
    assert_eq!(
        server.call(&server.operator, "POST", nothing, &NOTHING).0,
        404
    );
}

#[test]
fn mistakes_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    server.banner();
    // Settings: the line and the byte, because they may be long.
    let told = server.raw(
        &server.operator,
        "PUT",
        "/v1/models/other",
        "{\"batch\": \"100\"}",
    );
    let problem = told.json();
    assert_eq!((told.0, &problem["place"]), (422, &json!("1:15")));
    assert_eq!(
        problem["detail"],
        "invalid type: string \"100\", expected u64"
    );
    // A name that nothing can have.
    let body = json!({"epsilon": 1.0, "delta": 1e-6, "adjacency": "zero-out"});
    let told = server.call(&server.operator, "PUT", "/v1/datasets/People", &body);
    let detail = told.json()["detail"].to_string();
    assert!(told.0 == 404 && detail.contains("a-z 0-9"), "{detail}");
    // A context: its column, and not its value.
    let context = json!({"context": {"age": "secret", "device": "phone"}});
    let told = server.call(&server.token("client"), "POST", DECISIONS, &context);
    let detail = told.json()["detail"].to_string();
    assert_eq!(told.json()["place"], "context.age");
    assert!(
        told.0 == 422 && detail.contains("of the context") && !detail.contains("secret"),
        "{detail}"
    );
    let told = server.call(
        &server.token("client"),
        "POST",
        DECISIONS,
        &json!({"features": {}}),
    );
    let detail = told.json()["detail"].to_string();
    assert!(told.0 == 422 && detail.contains("event_id"), "{detail}");
}

#[test]
fn a_budget_that_no_ledger_can_keep_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), START);
    let put = |epsilon: f64, delta: f64| {
        let body = json!({"epsilon": epsilon, "delta": delta, "adjacency": "zero-out"});
        server.call(&server.operator, "PUT", "/v1/datasets/people", &body)
    };
    let refused = put(5e-324, 5e-324);
    assert_eq!(refused.0, 422, "{refused:?}");
    assert!(
        !refused.1.contains("/"),
        "no path of the server: {refused:?}"
    );
    let path = "/v1/datasets/people";
    assert_eq!(server.call(&server.operator, "GET", path, &NOTHING).0, 404);
    let all = server.call(&server.operator, "GET", "/v1/datasets", &NOTHING);
    assert_eq!(
        (all.0, all.json()["datasets"].as_array().unwrap().len()),
        (200, 0)
    );
    assert_eq!(put(1.0, 1e-6).0, 201);
}
