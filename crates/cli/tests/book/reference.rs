//! The reference is what the code says: help of every command, keys of schemas, recipes, routes.

use crate::{is_up_to_date, text, told};
use serde_json::Value;
use std::fmt::Write;

const MADE: &str = "A test makes this page from the program, and fails if it differs.";

/// Names of the commands in a help text, and what they do.
fn commands(help: &str) -> Vec<(String, String)> {
    let list = help.split("\nCommands:\n").nth(1).unwrap_or_default();
    let list = list.split("\n\n").next().unwrap();
    let mut found: Vec<(String, String)> = Vec::new();
    for line in list.lines() {
        // What does not fit on a line goes on below, further to the right.
        match (line.strip_prefix("  "), found.last_mut()) {
            (Some(rest), Some((_, about))) if rest.starts_with(' ') => {
                *about = format!("{about} {}", rest.trim());
            }
            (Some(rest), _) => {
                let (name, about) = rest.split_once(' ').unwrap();
                found.push((name.to_owned(), about.trim().to_owned()));
            }
            (None, _) => {}
        }
    }
    found.retain(|(name, _)| name != "help");
    found
}

#[test]
fn commands_and_flags_are_those_of_the_program() {
    let all = commands(&told(&["--help"]));
    assert!(all.len() > 15, "{all:?}");
    let mut page =
        format!("# Commands and flags\n\n{MADE}\n\n| command | what it does |\n|---|---|\n");
    for (name, about) in &all {
        let _ = writeln!(
            page,
            "| [`hushstream {name}`](#hushstream-{name}) | {about} |"
        );
    }
    for (name, _) in &all {
        let help = told(&[name, "--help"]);
        let _ = write!(page, "\n## hushstream {name}\n\n{}", shown(&help));
        for (inner, _) in commands(&help) {
            let help = told(&[name, &inner, "--help"]);
            let _ = write!(page, "\n### hushstream {name} {inner}\n\n{}", shown(&help));
        }
    }
    is_up_to_date("reference/commands.md", &page);
}

/// A help text as a block, without white space at the ends of its lines.
fn shown(help: &str) -> String {
    let lines: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    format!("```text\n{}\n```\n", lines.join("\n"))
}

/// The fields of `SchemaSpec` are the keys; their comments say what they mean.
#[test]
fn keys_of_a_schema_are_the_fields_that_are_read() {
    let code = text("crates/read/src/schema/mod.rs");
    let fields = code.split("pub struct SchemaSpec {").nth(1).unwrap();
    let fields = fields.split("\n}").next().unwrap();
    let mut page = format!(
        "# Keys of a schema\n\n{MADE} [State what a file holds](../how-to/data.md) tells how to use \
         them, and `examples/` has whole schemas. A key that is not here is an error.\n\n\
         | key | value | meaning |\n|---|---|---|\n"
    );
    let mut about = Vec::new();
    let mut keys = 0;
    for line in fields.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("/// ") {
            about.push(comment);
        } else if let Some((name, kind)) =
            line.strip_prefix("pub ").and_then(|l| l.split_once(": "))
        {
            let told = about.join(" ").replace('|', "\\|");
            let _ = writeln!(
                page,
                "| `{name}` | {} | {told} |",
                value(kind.trim_end_matches(','))
            );
            about.clear();
            keys += 1;
            // It is a key indeed: a value of no kind is refused for its kind, not for its name.
            let told = format!("{name} = 1979-05-27").parse::<hushstream_read::SchemaSpec>();
            let told = told.unwrap_err().to_string();
            assert!(!told.contains("unknown field"), "{told}");
        }
    }
    assert!(keys > 25, "{keys}");
    is_up_to_date("reference/schema.md", &page);
}

/// A type of a field in words of TOML.
fn value(kind: &str) -> &'static str {
    match kind {
        "Option<Task>" => {
            "`\"classify\"`, `\"multiclass\"`, `\"regress\"`, `\"experts\"`, `\"bandit\"` or `\"decide\"`"
        }
        "Option<MissingTarget>" => "`\"error\"` or `\"null\"`",
        "Option<String>" => "a text",
        "Option<bool>" => "`true` or `false`",
        "Option<f64>" => "a number",
        "Option<(f64, f64)>" => "`[low, high]`",
        "Option<u8>" | "Option<u32>" => "a whole number",
        "Vec<String>" | "Option<Vec<String>>" => "a list of texts",
        "BTreeMap<String, (f64, f64)>" => "a table: column = `[low, high]`",
        "BTreeMap<String, Vec<String>>" => "a table: column = a list of texts",
        "BTreeMap<String, u8>" => "a table: column = a whole number",
        other => panic!("say what {other} is in a schema"),
    }
}

#[test]
fn recipes_are_those_of_the_catalogue() {
    let all: Value = serde_json::from_str(&told(&["recipes", "--bounds", "--json"])).unwrap();
    let mut page = format!(
        "# Recipes\n\n{MADE} `hushstream recipes --bounds` prints the same. [Choose a recipe \
         yourself](../how-to/recipes.md) says when to name one; [Errata](../project/errata.md) has \
         the corrections by their names.\n"
    );
    let word = |value: &Value| value.as_str().unwrap().replace('|', "\\|");
    let errata = |value: &Value| {
        let names: Vec<String> = value.as_array().unwrap().iter().map(word).collect();
        if names.is_empty() {
            "nothing".to_owned()
        } else {
            names.join(", ")
        }
    };
    for recipe in all["recipes"].as_array().unwrap() {
        let _ = write!(
            page,
            "\n## {}\n\n| | |\n|---|---|\n| from | {} |\n| corrected | {} |\n| guarantee | {} |\n\
             | when | {} |\n| mechanism | {} |\n| regret as printed | {} |\n| regret as corrected | {} |\n",
            word(&recipe["recipe"]),
            word(&recipe["source"]),
            errata(&recipe["errata"]),
            word(&recipe["guarantee"]),
            word(&recipe["when"]),
            word(&recipe["mechanism"]),
            word(&recipe["bound"]["printed"]),
            word(&recipe["bound"]["holds"]),
        );
    }
    for table in all["tables"].as_array().unwrap() {
        let _ = write!(
            page,
            "\n## {} Table {}: {}\n\n| setting | whose | as printed | as corrected | errata |\n\
             |---|---|---|---|---|\n",
            word(&table["paper"]),
            table["table"],
            word(&table["about"]),
        );
        for cell in table["cells"].as_array().unwrap() {
            let [setting, whose, printed, holds] =
                ["setting", "whose", "printed", "holds"].map(|key| word(&cell[key]));
            let names = errata(&cell["errata"]);
            let _ = writeln!(
                page,
                "| {setting} | {whose} | {printed} | {holds} | {names} |"
            );
        }
    }
    is_up_to_date("reference/recipes.md", &page);
}

/// `openapi.json` is compared with the table of routes by a test of the server.
#[test]
fn routes_are_those_of_the_document() {
    let document: Value = serde_json::from_str(&text("crates/server/openapi.json")).unwrap();
    let mut page = format!(
        "# Routes of the server\n\n{MADE} It is the OpenAPI document, which a server has at \
         `/v1/openapi.json`, in short. [What their bodies mean](http-bodies.md) has examples.\n\n\
         | route | what it does | who may | body | answers |\n|---|---|---|---|---|\n"
    );
    let schema = |content: &Value| {
        let kinds = content.as_object().into_iter().flatten();
        let names = kinds.map(|(kind, told)| {
            let name = told["schema"]["$ref"].as_str().unwrap_or_default();
            let name = name.rsplit('/').next().unwrap().to_owned();
            if name.is_empty() || kind.contains("html") {
                kind.clone()
            } else {
                name
            }
        });
        names.collect::<Vec<_>>().join(", ")
    };
    let mut routes = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, route) in methods.as_object().unwrap() {
            let roles: Vec<&str> = route["x-roles"]
                .as_array()
                .unwrap()
                .iter()
                .map(|role| role.as_str().unwrap())
                .collect();
            let who = if route["security"] == Value::Array(Vec::new()) {
                "all".to_owned()
            } else {
                roles.join(", ")
            };
            let answers: Vec<String> = route["responses"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(status, answer)| match schema(&answer["content"]) {
                    name if name.is_empty() || name == "Problem" => status.clone(),
                    name => format!("{status} {name}"),
                })
                .collect();
            let _ = writeln!(
                page,
                "| `{} {path}` | {} | {who} | {} | {} |",
                method.to_uppercase(),
                route["summary"].as_str().unwrap().replace('|', "\\|"),
                schema(&route["requestBody"]["content"]),
                answers.join(", "),
            );
            routes += 1;
        }
    }
    assert!(routes > 30, "{routes}");
    page.push_str(
        "\nA status without a name is a problem (RFC 9457), or has no body.\n\n## Bodies\n",
    );
    for (name, about) in document["components"]["schemas"].as_object().unwrap() {
        let _ = write!(page, "\n### {name}\n\n");
        let needed: Vec<&Value> = about["required"].as_array().into_iter().flatten().collect();
        let Some(properties) = about["properties"].as_object() else {
            let _ = writeln!(page, "{}", kind(about));
            continue;
        };
        page.push_str("| key | value | needed |\n|---|---|---|\n");
        for (key, told) in properties {
            let is_needed = needed.iter().any(|name| *name == key);
            let needed = if is_needed { "yes" } else { "" };
            let _ = writeln!(page, "| `{key}` | {} | {needed} |", kind(told));
        }
    }
    is_up_to_date("reference/http.md", &page);
}

/// A JSON schema in a few words.
fn kind(about: &Value) -> String {
    let list = |values: &Value| {
        let values = values.as_array().into_iter().flatten();
        values.map(|value| format!("`{value}`")).collect::<Vec<_>>()
    };
    if let Some(name) = about["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if about["enum"].is_array() {
        return list(&about["enum"]).join(" or ");
    }
    if !about["const"].is_null() {
        return format!("`{}`", about["const"]);
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(cases) = about[key].as_array() {
            return cases.iter().map(kind).collect::<Vec<_>>().join(" or ");
        }
    }
    let name = match &about["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            let names = names.iter().filter_map(Value::as_str);
            names.collect::<Vec<_>>().join(" or ")
        }
        _ => "any".to_owned(),
    };
    let mut told = name;
    if !about["items"].is_null() {
        let _ = write!(told, " of {}", kind(&about["items"]));
    }
    if let Some(inner) = about["properties"].as_object() {
        let keys: Vec<String> = inner.keys().map(|key| format!("`{key}`")).collect();
        let _ = write!(told, " with {}", keys.join(", "));
    }
    told
}
