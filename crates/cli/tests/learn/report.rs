//! The report holds the run's JSON object, and every figure on it is one of that object.

use crate::common::{BUDGET, Folder, SCHEMA};
use serde_json::Value;

/// What depends on the clock and the machine.
const TIMED: [&str; 3] = ["seconds", "rows_per_second", "peak_memory_bytes"];

fn embedded(page: &str) -> Value {
    let start = page
        .split("<script type=\"application/json\" id=\"run\">")
        .nth(1)
        .unwrap();
    serde_json::from_str(start.split("</script>").next().unwrap()).unwrap()
}

/// Paths and texts of all elements that carry a key.
fn keyed(page: &str) -> Vec<(String, String)> {
    page.split("data-key=\"")
        .skip(1)
        .map(|rest| {
            let (key, rest) = rest.split_once('"').unwrap();
            let text = rest.split_once('>').unwrap().1.split('<').next().unwrap();
            (
                key.to_owned(),
                text.replace("&lt;", "<")
                    .replace("&gt;", ">")
                    .replace("&amp;", "&"),
            )
        })
        .collect()
}

fn at<'a>(json: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(json, |value, key| &value[key])
}

fn page_of(folder: &Folder, flags: &str) -> (String, Value) {
    let told = folder.json(&format!(
        "learn d.csv {flags} {BUDGET} --seed-insecure 4 --report report.html"
    ));
    (folder.text("report.html"), told)
}

fn check(page: &str, told: &Value, pictures: usize) {
    assert_eq!(page.matches("<svg").count(), pictures);
    let mut inside = embedded(page);
    let figures = keyed(page);
    assert!(figures.len() > 20, "{}", figures.len());
    for (path, text) in &figures {
        let value = at(&inside, path);
        assert!(
            !value.is_null(),
            "{path} is on the page, and not in the object"
        );
        let shown = text.replace(',', "").parse::<f64>();
        match (value, shown) {
            (Value::Number(exact), Ok(shown)) => {
                let exact = exact.as_f64().unwrap();
                assert!(
                    (shown - exact).abs() <= 6e-4 * exact.abs(),
                    "{path} {text} {exact}"
                );
            }
            (Value::Bool(truth), _) => assert_eq!(text == "yes", *truth, "{path}"),
            _ => assert_eq!(Some(text.as_str()), value.as_str(), "{path}"),
        }
    }
    let mut told = told.clone();
    for key in TIMED {
        (inside[key], told[key]) = (Value::Null, Value::Null);
    }
    assert_eq!(inside, told);
    assert!(!page.contains("NaN"));
    for outside in ["http://", "https://", "src=", "@import"] {
        let links = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!links.contains(outside), "{outside}");
    }
}

#[test]
fn every_figure_is_one_of_the_run() {
    let folder = Folder::with_rows(2000);
    let (page, told) = page_of(&folder, SCHEMA);
    // The headline, ROC, calibration, and three columns.
    check(&page, &told, 6);
    assert!(page.contains("For the operator only"));
    for key in [
        "metrics.accuracy",
        "without_privacy.metrics.log_loss",
        "guarantee.epsilon",
        "parameters.noise_sd",
    ] {
        assert!(page.contains(&format!("data-key=\"{key}\"")), "{key}");
    }
    let number = "--target b --target-bounds 0:10 --features a,y --bounds a=0:1,y=0:1";
    let (page, told) = page_of(&folder, number);
    check(&page, &told, 3);
    let (page, told) = page_of(
        &folder,
        "--target c --classes x,y,z --ignore who --bounds a=0:1,b=0:10,y=0:1",
    );
    check(&page, &told, 4);
    let (page, told) = page_of(
        &folder,
        "--task experts --features a,y --bounds a=0:1,y=0:1",
    );
    check(&page, &told, 2);
}

#[test]
fn names_cannot_break_the_page() {
    let folder = Folder::new();
    let data = crate::common::rows(200, 1).replace("c,who", "</script><b>,who");
    folder.write("d.csv", data);
    let schema = SCHEMA.replace("c=x", "</script><b>=x");
    let (page, told) = page_of(&folder, &schema);
    check(&page, &told, 6);
    assert_eq!(page.matches("</script>").count(), 1);
}

/// A browser reads the page as we wrote it, where one is installed.
#[test]
fn a_browser_finds_the_figures() {
    let folder = Folder::with_rows(500);
    let (page, _) = page_of(&folder, SCHEMA);
    let output = std::process::Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"])
        .arg(folder.path("report.html"))
        .output();
    let Ok(output) = output else { return };
    let dom = String::from_utf8(output.stdout).unwrap();
    if !output.status.success() || dom.is_empty() {
        return; // a browser that cannot run here says nothing about the page
    }
    assert_eq!(keyed(&dom), keyed(&page));
    assert_eq!(embedded(&dom), embedded(&page));
    assert_eq!(
        dom.matches("<polyline").count(),
        page.matches("<polyline").count()
    );
}
