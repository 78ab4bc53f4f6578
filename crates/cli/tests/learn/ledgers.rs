//! The budget of a data set over several runs.

use crate::common::{Folder, SCHEMA};
use hushstream_account::{Budget, Charge, Mu, Spent};

fn learn(flags: &str) -> String {
    format!("learn d.csv {SCHEMA} --delta 1e-6 --ledger ledger {flags}")
}

/// ε at δ of Gaussian charges together, from the account alone.
fn together(epsilons: &[f64], delta: f64) -> f64 {
    let mut spent = Spent::new();
    for &epsilon in epsilons {
        let mu = Mu::within(Budget::approx(epsilon, delta).unwrap()).unwrap();
        spent.add(&Charge::Gaussian(mu)).unwrap();
    }
    spent.epsilon_at(delta).unwrap()
}

#[test]
fn a_second_run_is_refused_until_the_budget_is_raised_and_then_they_add_up() {
    let folder = Folder::with_rows(300);
    folder.succeeds(&learn("--epsilon 1"));
    let message = folder.fails(&learn("--epsilon 1"));
    for told in ["(1, 1e-6)", "after 1 other run", "--total-epsilon"] {
        assert!(message.contains(told), "{message}");
    }
    assert_eq!(folder.charges("ledger"), 1);
    // The message says what would be enough, and it is.
    let told = message.split("the total would be (").nth(1).unwrap();
    let enough: f64 = told.split(',').next().unwrap().parse().unwrap();
    let expected = together(&[1.0, 1.0], 1e-6);
    assert!(
        enough >= expected && enough < expected + 2e-3,
        "{enough} {expected}"
    );
    let (out, _) = folder.succeeds(&learn(&format!("--epsilon 1 --total-epsilon {enough}")));
    assert!(out.contains("Together with 1 other run"), "{out}");

    let json = folder.json(&learn("--epsilon 0.5 --total-epsilon 3"));
    let ledger = &json["ledger"];
    assert_eq!(ledger["runs"], 3);
    assert_eq!(ledger["total_epsilon"], 3.0);
    let expected = together(&[1.0, 1.0, 0.5], 1e-6);
    let told = ledger["epsilon"].as_f64().unwrap();
    assert!((told / expected - 1.0).abs() < 1e-3, "{told} {expected}");
    // A total below the present one is no total.
    let message = folder.fails(&learn("--epsilon 0.1 --total-epsilon 2"));
    assert!(message.contains("raised, not lowered"), "{message}");
    let message = folder.fails(&learn("--epsilon 0.1 --total-delta 1e-7"));
    assert!(message.contains("raised, not lowered"), "{message}");
    // One part can be raised alone, whatever this run spends of the other.
    folder.succeeds(
        &learn("--epsilon 0.1 --total-delta 1e-5").replace("--delta 1e-6", "--delta 1e-7"),
    );
    assert_eq!(folder.charges("ledger"), 4);
}

#[test]
fn what_cannot_be_added_up_is_refused() {
    let folder = Folder::with_rows(300);
    folder.succeeds(&learn("--epsilon 1 --total-epsilon 9"));
    for flags in [
        "--epsilon 1 --adjacency zero-out",
        "--epsilon 1 --person who --max-per-person 2",
        "--epsilon 1 --recipe coco-l --window 8 --strong-convexity 1",
    ] {
        let message = folder.fails(&learn(flags));
        assert!(message.contains("cannot be added up"), "{flags}: {message}");
    }
    assert_eq!(folder.charges("ledger"), 1);
    // The proof that Gaussian charges add up knows no others.
    let message = folder.fails(&learn("--epsilon 0.5").replace("--delta 1e-6", "--delta 0"));
    assert!(
        message.contains("admits Gaussian charges only"),
        "{message}"
    );
    assert!(!message.contains("--total-epsilon"), "{message}");
    assert_eq!(folder.charges("ledger"), 1);
}

#[test]
fn simulated_runs_say_so_everywhere() {
    let folder = Folder::with_rows(100);
    let flags = "--epsilon 1 --seed-insecure 1 --model model --report report";
    let (out, _) = folder.succeeds(&learn(flags));
    assert!(out.starts_with("SIMULATED NOISE"), "{out}");
    assert!(folder.text("model").contains("\"simulated\": true"));
    assert!(folder.text("report").contains("SIMULATED NOISE"));
    let (out, _) = folder.succeeds("inspect model");
    assert!(out.contains("SIMULATED NOISE"));
    // Without a file for its ledger it leaves none, and the budget of the data is untouched.
    let folder = Folder::with_rows(100);
    let json = folder.json(&format!(
        "learn d.csv {SCHEMA} --epsilon 1 --delta 1e-6 --seed-insecure 1"
    ));
    assert_eq!(json["guarantee"]["simulated"], true);
    assert_eq!(json["ledger"]["simulated"], 1);
    assert_eq!(folder.names(), ["d.csv"]);
    // A run that is not simulated cannot become one or stop being one by being resumed.
    let json = folder.json(&format!("learn d.csv {SCHEMA} --epsilon 1 --delta 1e-6"));
    assert_eq!(json["guarantee"]["simulated"], false);
}

#[test]
fn a_run_does_not_vouch_for_simulated_ones_on_its_ledger() {
    let folder = Folder::with_rows(300);
    folder.succeeds(&learn("--epsilon 1 --total-epsilon 9 --seed-insecure 1"));
    let (out, _) = folder.succeeds(&learn("--epsilon 1"));
    assert!(
        out.contains("Of the 2 runs on this ledger 1 drew simulated noise"),
        "{out}"
    );
    assert!(!out.contains("Together"), "{out}");
    let ledger = &folder.json(&learn("--epsilon 1"))["ledger"];
    assert_eq!(
        (&ledger["runs"], &ledger["simulated"]),
        (&3.into(), &1.into())
    );
    let (out, _) = folder.succeeds("inspect ledger");
    assert_eq!(out.matches("simulated noise").count(), 1, "{out}");
    assert!(
        out.contains("1: Gaussian") && out.contains("simulated"),
        "{out}"
    );
}

#[test]
fn a_total_that_was_raised_is_not_promised_in_any_case() {
    let folder = Folder::with_rows(300);
    folder.succeeds(&learn("--epsilon 1 --total-epsilon 3"));
    let (out, _) = folder.succeeds(&learn("--epsilon 1"));
    assert!(out.contains("the total, in any case"), "{out}");
    let (out, _) = folder.succeeds(&learn("--epsilon 1 --total-epsilon 4"));
    assert!(
        out.contains("the total, if it was not raised because of"),
        "{out}"
    );
    let (out, _) = folder.succeeds(&learn("--epsilon 0.1"));
    assert!(!out.contains("in any case"), "{out}");
}
