//! The schemas of bodies, for the document.

use serde_json::{Value, json};

/// All schemas.
#[expect(clippy::too_many_lines, reason = "one table")]
pub(super) fn schemas() -> Value {
    let text = json!({"type": "string"});
    let number = json!({"type": "number"});
    let count = json!({"type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64});
    let truth = json!({"type": "boolean"});
    let time = json!({"type": "string", "format": "date-time"});
    let maybe_time = json!({"type": ["string", "null"]});
    let maybe_number = json!({"type": ["number", "null"]});
    let texts = json!({"type": "array", "items": text});
    let name = json!({"type": "string", "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"});
    let id = json!({"type": "string", "minLength": 1, "maxLength": 128});
    // What is optional may also be null.
    let maybe_id = json!({"type": ["string", "null"], "minLength": 1, "maxLength": 128});
    let maybe_person = json!({"type": ["string", "null"], "minLength": 1, "maxLength": 256});
    let maybe_names =
        json!({"type": ["array", "null"], "items": name, "minItems": 1, "maxItems": 100});
    let maybe_texts = json!({"type": ["array", "null"], "items": text});
    let maybe_truth = json!({"type": ["boolean", "null"]});
    let role = json!({"enum": ["admin", "operator", "client", "reader"]});
    let new_role = json!({"enum": ["operator", "client", "reader"]});
    let cell = json!({"type": ["number", "string", "boolean", "null"]});
    let row = json!({"type": "object", "additionalProperties": cell});
    let reward = json!({"type": "number"});
    let closed = |properties: Value, required: &[&str]| {
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    };
    let open = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    let one = json!({"type": ["object", "null"]});
    let bytes = json!({"type": "string", "contentEncoding": "base64"});
    let bytes_or_none = json!({"type": ["string", "null"], "contentEncoding": "base64"});
    let span = closed(
        json!({"partition": text, "start": count, "end": count}),
        &["partition", "start", "end"],
    );
    let batch = json!({
        "source": {"type": "string", "minLength": 1, "maxLength": 256}, "batch": count,
        "parts": {"type": "array", "items": bytes},
        "positions": {"type": ["array", "null"], "items": span},
    });
    let mut new_source = batch.clone();
    new_source["first"] = json!({"type": "object", "additionalProperties": count});
    new_source["reason"] = json!({"type": "string", "minLength": 1, "maxLength": 500});
    json!({
        "Any": {},
        "Empty": closed(json!({}), &[]),
        "Count": count,
        "Problem": open(
            json!({"type": text, "title": text, "status": count, "detail": text, "place": text}),
            &["type", "title", "status", "detail"],
        ),
        "Health": open(json!({"status": text}), &["status"]),
        "Whoami": open(
            json!({"tenant": {"type": ["string", "null"]}, "role": role, "token": text,
                   "models": {"type": ["array", "null"]}}),
            &["tenant", "role", "token", "models"],
        ),
        "Tenant": open(json!({"tenant": name}), &["tenant"]),
        "NewToken": closed(
            json!({"role": new_role, "models": maybe_names, "expires": maybe_time,
                   "replaces": {"type": ["string", "null"]}}),
            &["role"],
        ),
        "Token": open(json!({"id": text, "token": text, "role": role}), &["id", "token", "role"]),
        "Tokens": open(json!({"tokens": {"type": "array", "items": open(
            json!({"id": text, "role": role, "models": {"type": ["array", "null"]},
                   "expires": maybe_time, "created": time}),
            &["id", "role", "models", "expires", "created"],
        )}}), &["tokens"]),
        "Audit": open(
            json!({"seq": count, "at": time, "tenant": {"type": ["string", "null"]}, "who": text,
                   "what": text, "subject": text, "prev": text, "hash": text}),
            &["seq", "at", "tenant", "who", "what", "subject", "prev", "hash"],
        ),
        "NewDataset": closed(
            json!({"epsilon": {"type": "number", "exclusiveMinimum": 0, "maximum": 1e6},
                   "delta": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
                   "adjacency": {"enum": ["replace-one", "zero-out"]}, "persons": truth}),
            &["epsilon", "delta", "adjacency"],
        ),
        "NewBudget": closed(
            json!({"epsilon": {"type": "number", "exclusiveMinimum": 0},
                   "delta": {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
                   "reserve": {"type": ["number", "null"], "minimum": 0,
                               "exclusiveMaximum": 1},
                   "reason": {"type": "string", "minLength": 1, "maxLength": 500}}),
            &["epsilon", "delta", "reason"],
        ),
        "Dataset": open(
            json!({"dataset": name, "epsilon": number, "delta": number, "adjacency": text,
                   "persons": truth, "used": number, "left": number, "raised": truth,
                   "simulated": truth, "models": count,
                   "runs": {"type": "array", "items": open(
                       json!({"number": count, "model": {"type": ["string", "null"]},
                              "epsilon": number, "delta": number, "kind": text, "begun": truth,
                              "simulated": truth}),
                       &["number", "model", "epsilon", "delta", "kind", "begun", "simulated"],
                   )}}),
            &["dataset", "epsilon", "delta", "adjacency", "persons", "used", "left"],
        ),
        "Datasets": open(
            json!({"datasets": {"type": "array",
                   "items": {"$ref": "#/components/schemas/Dataset"}}}),
            &["datasets"],
        ),
        "NewModel": closed(
            json!({
                "dataset": name,
                "task": {"enum": ["decide", "classify", "classes", "regress"]},
                "schema": {"type": "object"},
                "actions": {"type": "array", "items": {"type": "string", "minLength": 1}},
                "batch": count, "batches": count, "records": count,
                "close_after": maybe_number, "reward_wait": number,
                "reward_bounds": {"type": "array", "items": number, "minItems": 2, "maxItems": 2},
                "default_reward": maybe_number,
                "aggregation": {"enum": ["earliest", "last", "sum"]},
                "exploration": maybe_number, "mode": {"enum": ["online", "shadow"]},
                "evaluation": closed(json!({"share": maybe_number, "policies": texts}), &[]),
                "epsilon": number, "delta": number,
                "per_person": closed(json!({"most": count, "separation": count}), &["most"]),
                "simulated": count, "elsewhere": truth,
            }),
            &["dataset", "task", "schema", "epsilon", "delta"],
        ),
        "Plan": open(
            json!({"recipe": text, "headline": text, "why": texts, "batch": count,
                   "batches": count, "price": {"type": "object"}, "fits": truth,
                   "refusal": {"type": ["string", "null"]}, "forecast": {"type": "object"},
                   "warnings": texts}),
            &["recipe", "headline", "why", "batch", "batches", "price", "fits", "forecast"],
        ),
        "Model": open(
            json!({"model": name, "dataset": name, "task": text,
                   "status": {"enum": ["beginning", "learning", "paused", "finished", "failed"]},
                   "actions": texts, "columns": texts, "target": {"type": ["string", "null"]},
                   "batch": count, "batches": count, "slots": count, "open_batch": count,
                   "closed_batches": count, "released": count, "policy": count,
                   "opened_at": maybe_time, "closes_at": maybe_time, "created": time,
                   "recipe": text, "simulated": truth, "guarantee": one,
                   "settings": {"type": "object"}}),
            &["model", "dataset", "task", "status", "batch", "batches", "slots", "policy"],
        ),
        "Models": open(
            json!({"models": {"type": "array", "items": {"$ref": "#/components/schemas/Model"}}}),
            &["models"],
        ),
        "Exact": open(
            json!({"operator_only": {"const": true}, "rewards": count, "late": count,
                   "repeated": count, "default": count, "null": count, "clipped": count,
                   "refused_contents": count, "learned_slots": count, "waiting_slots": count,
                   "mean_reward": maybe_number, "plays": {"type": "object"}}),
            &["operator_only"],
        ),
        "NewDecision": closed(
            json!({"event_id": maybe_id, "context": row, "actions": maybe_texts,
                   "exclude": maybe_texts, "person": maybe_person, "defer": maybe_truth}),
            &["context"],
        ),
        "Decision": open(
            json!({"event_id": id, "action": text, "probability": number,
                   "ranking": {"type": "array", "items": open(
                       json!({"action": text, "probability": number}),
                       &["action", "probability"])},
                   "policy": count, "learning": truth, "closes_by": maybe_time}),
            &["event_id", "action", "probability", "ranking", "policy", "learning", "closes_by"],
        ),
        "Rank": open(
            json!({"contextFeatures": {"type": "array", "items": {"type": "object"}},
                   "actions": {"type": "array", "items": open(
                       json!({"id": text, "features": {"type": "array"}}), &["id"])},
                   "excludedActions": maybe_texts, "eventId": maybe_id,
                   "deferActivation": maybe_truth}),
            &["actions"],
        ),
        "Ranked": open(
            json!({"ranking": {"type": "array", "items": open(
                       json!({"id": text, "probability": number}), &["id", "probability"])},
                   "eventId": id, "rewardActionId": text}),
            &["ranking", "eventId", "rewardActionId"],
        ),
        "Forget": closed(
            json!({"model": {"type": ["string", "null"], "pattern": "^[a-z0-9][a-z0-9_-]{0,63}$"},
                   "event_ids": {"type": "array", "items": id, "maxItems": 1000},
                   "person": maybe_person}),
            &[],
        ),
        "Forgotten": open(
            json!({"operator_only": {"const": true}, "nulled": count, "beyond_reach": count}),
            &["operator_only", "nulled", "beyond_reach"],
        ),
        "Reward": closed(json!({"value": reward, "reward_id": maybe_id}), &["value"]),
        "NewSlot": closed(json!({"event_id": maybe_id}), &[]),
        "Slot": open(
            json!({"event_id": id, "policy": count, "learning": truth, "closes_by": maybe_time}),
            &["event_id", "policy", "learning", "closes_by"],
        ),
        "Outcome": closed(
            json!({"policy": count, "context": row, "action": text, "value": maybe_number,
                   "person": maybe_person}),
            &["policy", "context", "action"],
        ),
        "Records": {"type": "string", "description":
            "One object per line: {\"event_id\"?, \"features\": {…}, \"target\"?, \"person\"?}"},
        "Taken": open(
            json!({"taken": count, "repeated": count, "not_learned": count,
                   "null_lines": {"type": "array", "items": {"type": "object"}}}),
            &["taken", "repeated", "not_learned", "null_lines"],
        ),
        "Question": open(
            json!({"question": bytes_or_none, "sealing_key": text,
                   "delivered": {"type": ["object", "null"]}}),
            &["question", "sealing_key", "delivered"],
        ),
        "Batch": closed(json!(batch), &["source", "batch", "parts"]),
        "NewSource": closed(
            json!(new_source),
            &["source", "batch", "parts", "first", "reason"],
        ),
        "Committed": open(
            json!({"is_new": truth, "version": {"type": ["integer", "null"]}}),
            &["is_new", "version"],
        ),
        "Target": closed(json!({"value": {"type": ["number", "string", "boolean"]}}), &["value"]),
        "Rows": closed(
            json!({"rows": {"type": "array", "items": row, "minItems": 1, "maxItems": 10_000}}),
            &["rows"],
        ),
        "Predictions": open(
            json!({"predictions": {"type": "array", "items": {"type": "object"}},
                   "policy": count}),
            &["predictions", "policy"],
        ),
        "Release": open(
            json!({"version": count, "at": time, "evaluation": {"type": ["array", "null"]},
                   "weights": {"type": "array", "items": number}}),
            &["version", "at", "evaluation", "weights"],
        ),
        "Evaluation": open(
            json!({"version": count, "evaluation": {"type": "array", "items": open(
                json!({"policy": text, "estimate": {"enum": ["mean", "ips", "snips"]},
                       "reward": number, "low": number, "high": number}),
                &["policy", "estimate", "reward", "low", "high"])}}),
            &["version", "evaluation"],
        ),
    })
}
