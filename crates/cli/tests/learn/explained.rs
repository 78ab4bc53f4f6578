//! `explain` and `inspect` of a model with curves: text and page say what the model file says.

use crate::common::{BUDGET, Folder, SCHEMA};
use serde_json::Value;

fn learned(folder: &Folder, flags: &str) {
    folder.succeeds(&format!(
        "learn d.csv {flags} {BUDGET} --seed-insecure 4 --quiet --model model.json"
    ));
}

fn embedded(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"model\">";
    let text = page.split(start).nth(1).unwrap();
    serde_json::from_str(text.split("</script>").next().unwrap()).unwrap()
}

/// The words of a seeded run, as they are.
#[test]
fn inspect_tells_columns_by_importance() {
    let folder = Folder::with_rows(3000);
    learned(&folder, SCHEMA);
    let (out, _) = folder.succeeds("inspect model.json --weights 2");
    let told: Vec<&str> = out.lines().collect();
    assert_eq!(
        told[0],
        "A model with simulated noise, which protects nobody, release 20 of tables."
    );
    assert_eq!(told[1], "It predicts whether y holds.");
    let start = told
        .iter()
        .position(|line| line.starts_with("Columns"))
        .unwrap();
    let golden = include_str!("../golden/inspect-tables.txt");
    assert_eq!(told[start..].join("\n") + "\n", golden);
    let (all, _) = folder.succeeds("explain model.json");
    assert!(!all.contains("more") && all.contains(golden.lines().nth(1).unwrap()));
}

/// Every effect on the page is one of the object, which is that of the model's weights.
#[test]
fn the_page_holds_the_numbers_of_the_model() {
    let folder = Folder::with_rows(3000);
    learned(&folder, SCHEMA);
    let (out, _) = folder.succeeds("explain model.json --html page.html");
    assert_eq!(out, "page.html\n");
    let page = folder.text("page.html");
    let told = embedded(&page);
    let model: Value = serde_json::from_str(&folder.text("model.json")).unwrap();
    let (weights, sds) = (&model["weights"], &model["noise_sd"]);
    assert_eq!(
        weights.as_array().unwrap().len(),
        sds.as_array().unwrap().len()
    );
    // Differences of categories are those of weights, times one factor.
    let columns = told["columns"].as_array().unwrap();
    let c = columns.iter().find(|column| column["name"] == "c").unwrap();
    let effect = |name: &str| {
        let values = c["shape"]["categories"]["values"].as_array().unwrap();
        let found = values.iter().find(|value| value[0] == name).unwrap();
        found[1][0]["value"].as_f64().unwrap()
    };
    let number = |i: usize| weights[i].as_f64().unwrap();
    // Axis 0 and 1 are numbers with two curves, 12 or 6 and 6 knots, and one for missing values.
    let knots = model["tables"]["axes"][0]["number"]["knots"]
        .as_u64()
        .unwrap() as usize;
    let first = 2 * (knots + 1 + 6);
    let factor = (effect("x") - effect("y")) / (number(first) - number(first + 1));
    let other = (effect("y") - effect("z")) / (number(first + 1) - number(first + 2));
    assert!(
        (factor - other).abs() < 1e-9 && (0.2..1.0).contains(&factor),
        "{factor} {other}"
    );
    // The effects are on the page, rounded; so is what is promised, and that it is not.
    let shown = format!("{:.2}", effect("x").abs());
    assert!(page.contains(&shown), "{shown}");
    for text in [
        "SIMULATED",
        "Whatever one of",
        "hushstream explain model.json --html page.html",
        "prefers-color-scheme:dark",
        "Hushstream 0.",
        "two standard deviations",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("NaN"));
    let links = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!links.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("class=\"panel\"").count(), columns.len());
    // The page must not replace the model.
    assert!(
        folder
            .fails("explain model.json --html model.json")
            .contains("the page")
    );
}

#[test]
fn names_cannot_break_the_page() {
    let folder = Folder::new();
    let data = crate::common::rows(500, 1).replace("c,who", "</script><b>,who");
    folder.write("d.csv", data);
    learned(&folder, &SCHEMA.replace("c=x", "</script><b>=x"));
    folder.succeeds("explain model.json --html page.html");
    let page = folder.text("page.html");
    assert_eq!(page.matches("</script>").count(), 1);
    assert!(!page.contains("<b></b>") && page.contains("&lt;/script&gt;&lt;b&gt;"));
    let names: Vec<Value> = embedded(&page)["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["name"].clone())
        .collect();
    assert!(names.contains(&Value::from("</script><b>")));
}

#[test]
fn classes_numbers_and_tables_are_told_too() {
    let folder = Folder::with_rows(3000);
    learned(
        &folder,
        "--target c --classes x,y,z --ignore who --bounds a=0:1,b=0:10,y=0:1",
    );
    let (out, _) = folder.succeeds("explain model.json");
    assert!(out.contains("[x]") && out.contains("[z]"), "{out}");
    folder.succeeds("explain model.json --html page.html");
    assert_eq!(embedded(&folder.text("page.html"))["outputs"][1], "y");
    learned(
        &folder,
        "--target b --target-bounds 0:10 --features a,y --bounds a=0:1,y=0:1 --tables 2",
    );
    let (out, _) = folder.succeeds("explain model.json");
    assert!(out.contains("Together, a and y add up to ±"), "{out}");
    folder.succeeds("explain model.json --html page.html");
    let told = embedded(&folder.text("page.html"));
    assert_eq!(told["pairs"][0]["cells"].as_array().unwrap().len(), 144);
    learned(&folder, &format!("{SCHEMA} --recipe pftal-convex"));
    assert!(
        folder
            .fails("explain model.json")
            .contains("hushstream inspect")
    );
}

/// Figures of several passes say what they are on; those of a test file are on that.
#[test]
fn figures_say_which_records_they_are_on() {
    let folder = Folder::with_rows(2000);
    folder.write("new.csv", crate::common::rows(300, 7));
    let learn = format!("learn d.csv {SCHEMA} {BUDGET} --seed-insecure 4");
    let told = folder.json(&format!("{learn} --passes 1"));
    assert_eq!(told["scored_on"], "new");
    let (_, words) = folder.succeeds(&learn);
    assert!(
        words.contains("records that the model has learned from"),
        "{words}"
    );
    assert_eq!(folder.json(&learn)["scored_on"], "learned");
    let told = folder.json(&format!(
        "{learn} --test new.csv --without-privacy --model m.json"
    ));
    assert_eq!(
        (&told["scored_on"], &told["scored"]),
        (&"test".into(), &300.into())
    );
    // They are what `predict` tells of the same rows.
    let predicted = folder.json("predict m.json new.csv");
    assert_eq!(
        predicted["metrics"]["accuracy"],
        told["metrics"]["accuracy"]
    );
    assert_eq!(predicted["metrics"]["auc"], told["metrics"]["auc"]);
    assert!(told["without_privacy"]["metrics"]["auc"].is_f64());
    // Nothing is charged for a test that cannot be made.
    folder.write("other.csv", "a,b\n1,2\n");
    let real = format!("learn d.csv {SCHEMA} {BUDGET} --test other.csv");
    folder.fails(&real);
    assert!(!folder.path("d.csv.ledger").exists());
}
