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
        enough >= expected && enough < expected + 2e-2,
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
    // A pure budget admits nothing with a δ, and says what to do.
    let pure = |flags: &str| learn(flags).replace("--ledger ledger", "--ledger pure");
    let exact = |flags: &str| pure(flags).replace("--delta 1e-6", "--delta 0");
    folder.succeeds(&exact("--epsilon 0.5 --total-epsilon 2"));
    let message = folder.fails(&pure("--epsilon 0.5"));
    assert!(message.contains("give the budget a delta"), "{message}");
    assert!(message.contains("--total-delta"), "{message}");
    folder.succeeds(&pure("--epsilon 0.5 --total-delta 1e-6"));
    folder.succeeds(&exact("--epsilon 0.5"));
    assert_eq!(folder.charges("pure"), 3);
}

const EXPERTS: &str = "learn e.csv --task experts --bounds *=0:1 --ledger ledger";

/// The total that a refusal names is enough by either way of raising the budget, in one step.
#[test]
fn what_a_refusal_advises_works() {
    let advised = |message: &str| {
        let told = message.split("the total would be (").nth(1).unwrap();
        let (epsilon, rest) = told.split_once(", ").unwrap();
        let delta = rest.split(')').next().unwrap();
        let raise = message.split("`hushstream ledger raise").nth(1).unwrap();
        let reserve = raise.split('`').next().unwrap().to_owned();
        format!("ledger raise ledger --total-epsilon {epsilon} --total-delta {delta}{reserve}")
    };
    let folder = with_experts(60);
    folder.succeeds(&learn("--epsilon 1"));
    let message = folder.fails(&learn("--epsilon 1"));
    assert!(!message.contains("--reserve"), "{message}");
    folder.succeeds(&advised(&message));
    folder.succeeds(&learn("--epsilon 1"));
    // A run with a δ of its own needs more set aside than usual.
    let experts = format!("{EXPERTS} --epsilon 0.1 --delta 1e-6");
    let message = folder.fails(&experts);
    assert!(message.contains("--reserve 0."), "{message}");
    folder.succeeds(&advised(&message));
    folder.succeeds(&experts);
}

fn with_experts(count: u64) -> Folder {
    let folder = Folder::with_rows(300);
    let mut dice = crate::common::Dice(5);
    let mut text = "p,q,r\n".to_owned();
    for _ in 0..count {
        let row = [(); 3].map(|()| format!("{:.3}", dice.share()));
        text.push_str(&format!("{}\n", row.join(",")));
    }
    folder.write("e.csv", text);
    folder
}

#[test]
fn one_ledger_takes_every_kind_of_run() {
    let folder = with_experts(60);
    folder.succeeds(&learn("--epsilon 1 --total-epsilon 6"));
    // What is set aside is taken from the δ of Gaussian noise.
    let mu = |epsilon, delta| Mu::within(Budget::approx(epsilon, delta).unwrap()).unwrap();
    let expected = (mu(1.0, 1e-6).get() / mu(6.0, 9e-7).get()).powi(2);
    let used = &folder.json("ledger show ledger")["used"];
    let used = used.as_f64().unwrap();
    assert!((used / expected - 1.0).abs() < 1e-3, "{used} {expected}");
    // A δ above what is set aside is refused, with what fits and what to do.
    let message = folder.fails(&format!("{EXPERTS} --epsilon 1 --delta 1e-6"));
    assert!(message.contains("at δ = 9.9e-8 would fit"), "{message}");
    assert!(message.contains("the total would be (6"), "{message}");
    assert!(
        !message.contains("mu^2") && !message.contains("μ"),
        "{message}"
    );
    folder.succeeds(&format!("{EXPERTS} --epsilon 0.5 --delta 5e-8"));
    folder.succeeds(&learn("--epsilon 0.5").replace("--delta 1e-6", "--delta 0"));
    let (out, _) = folder.succeeds(&learn("--epsilon 0.5"));
    assert!(out.contains("Together with 3 other runs"), "{out}");
    assert!(out.contains("Used so far: "), "{out}");
    let (out, _) = folder.succeeds("ledger show ledger");
    for told in [
        "Promise: (ε, δ) = (6, 1e-6), replace-one, for records, however the runs were chosen",
        "\nUsed so far: ",
        "δ = 1.00e-7, of which 5.00e-8 is used",
        "4 runs:\n  1: (ε, δ) = (1, 1e-6), Gaussian noise\n",
        "  2: (ε, δ) = (0.5, 5e-8), selection",
        "  3: (ε, δ) = (0.5, 0), pure",
    ] {
        assert!(out.contains(told), "{told}\n{out}");
    }
    assert!(!out.contains('μ') && !out.contains("Budget {"), "{out}");
    let (inspected, _) = folder.succeeds("inspect ledger");
    assert_eq!(inspected, out);
    let json = folder.json("ledger show ledger");
    assert_eq!(
        (&json["epsilon"], &json["delta"]),
        (&6.0.into(), &1e-6.into())
    );
    assert_eq!(json["currency"], "gaussian");
    assert_eq!(json["runs"][1]["epsilon"], 0.5);
    assert_eq!(json["runs"][0]["begun"], true);
    assert!(json["used"].as_f64().unwrap() < 1.0);
    // The other way round: a ledger that adds up ε and δ takes a Gaussian run.
    let folder = with_experts(60);
    folder.succeeds(&format!(
        "{EXPERTS} --epsilon 0.5 --delta 1e-7 --total-epsilon 2 --total-delta 2e-6"
    ));
    folder.succeeds(&learn("--epsilon 1"));
    let (out, _) = folder.succeeds("ledger show ledger");
    assert!(out.contains("Used so far: 75 % of ε, 55 % of δ"), "{out}");
    let message = folder.fails(&learn("--epsilon 1"));
    assert!(
        message.contains("ε = 0.5 at δ = 8.9e-7 would fit"),
        "{message}"
    );
}

/// The samplers' precision costs (1 + e^ε)·τ of δ: at ε = 87, more than there is.
#[test]
fn the_precision_of_draws_counts_in_the_total_of_several_runs() {
    let folder = Folder::with_rows(300);
    folder.succeeds(&learn("--epsilon 50"));
    let message = folder.fails(&learn("--epsilon 50 --total-epsilon 90"));
    assert!(message.contains("the precision of its draws"), "{message}");
    assert_eq!(folder.charges("ledger"), 1);
}

#[test]
fn a_budget_can_be_raised_merged_closed_and_moved() {
    let folder = Folder::with_rows(300);
    let other = |flags: &str| learn(flags).replace("--ledger ledger", "--ledger other");
    folder.succeeds(&learn("--epsilon 1"));
    folder.succeeds(&other("--epsilon 1 --state state"));
    let message = folder.fails("ledger merge ledger other");
    assert!(
        message.contains("do not fit") && message.contains("Nothing has changed"),
        "{message}"
    );
    let enough = message.split("a total of (").nth(1).unwrap();
    let enough: f64 = enough.split(',').next().unwrap().parse().unwrap();
    let (out, _) = folder.succeeds(&format!("ledger raise ledger --total-epsilon {enough}"));
    assert!(out.contains("is now (ε, δ) = (1.4"), "{out}");
    let (out, _) = folder.succeeds("ledger merge ledger other");
    assert!(
        out.contains("other is closed") && out.contains("Used so far: 100 %"),
        "{out}"
    );
    assert_eq!(folder.charges("ledger"), 2);
    let (out, _) = folder.succeeds("ledger show ledger");
    assert!(out.contains("merged from another ledger"), "{out}");
    // Merging again adds nothing, the closed one refuses runs, and its own run can be resumed.
    folder.succeeds("ledger merge ledger other");
    assert_eq!(folder.charges("ledger"), 2);
    let message = folder.fails(&other("--epsilon 0.1"));
    assert!(message.contains("merged into the ledger"), "{message}");
    folder.succeeds(&other("--epsilon 1 --state state --resume"));
    let message = folder.fails("ledger raise ledger --total-epsilon 0.5");
    assert!(message.contains("raised, not lowered"), "{message}");

    folder.succeeds("ledger move ledger moved");
    let names = folder.names();
    assert!(
        !names.iter().any(|name| name.starts_with("ledger")),
        "{names:?}"
    );
    assert_eq!(folder.charges("moved"), 2);
    assert_eq!(folder.json("ledger show moved")["witnessed"], true);
    let message = folder.fails("ledger move moved other");
    assert!(
        message.contains("there is a file other already"),
        "{message}"
    );
    // Stopped after the new witness, and after the ledger: moving again ends it, and no new ledger
    // takes the place meanwhile.
    folder.write("again.witness", folder.read("moved.witness"));
    let message = folder.fails(&learn("--epsilon 1").replace("--ledger ledger", "--ledger again"));
    assert!(message.contains("lost or moved"), "{message}");
    assert!(!folder.names().contains(&"again".to_owned()));
    folder.succeeds("ledger move moved again");
    folder.write("moved.witness", folder.read("again.witness"));
    folder.succeeds("ledger move moved again");
    assert!(!folder.names().contains(&"moved.witness".to_owned()));
    assert_eq!(folder.charges("again"), 2);

    folder.succeeds("ledger close again");
    let message =
        folder.fails(&learn("--epsilon 0.1").replace("--ledger ledger", "--ledger again"));
    assert!(message.contains("the ledger is closed"), "{message}");
    let message = folder.fails("ledger close nothing");
    assert!(message.contains("there is no ledger nothing"), "{message}");
    assert!(!folder.names().contains(&"nothing".to_owned()));
}

#[test]
fn a_ledger_that_lost_its_last_record_or_is_an_old_copy_is_refused() {
    let folder = Folder::with_rows(300);
    folder.succeeds(&learn("--epsilon 1 --total-epsilon 9"));
    let old = folder.read("ledger");
    folder.succeeds(&learn("--epsilon 1"));
    let new = folder.read("ledger");
    let mut rotten = new.clone();
    *rotten.last_mut().unwrap() ^= 1;
    for bytes in [&old, &rotten] {
        folder.write("ledger", bytes);
        let message = folder.fails(&learn("--epsilon 1"));
        assert!(message.contains("the ledger has lost records"), "{message}");
        assert_eq!(folder.read("ledger"), *bytes);
    }
    folder.write("ledger", &new);
    let (_, told) = folder.succeeds(&learn("--epsilon 1"));
    assert!(!told.contains("witness"), "{told}");
    // A ledger of an earlier version has no witness: a note, and one is made.
    std::fs::remove_file(folder.path("ledger.witness")).unwrap();
    let (_, told) = folder.succeeds(&learn("--epsilon 1"));
    assert!(told.contains("note: ledger has no witness file"), "{told}");
    let (_, told) = folder.succeeds(&learn("--epsilon 1"));
    assert!(!told.contains("witness"), "{told}");
}

#[test]
fn a_ledger_of_the_first_version_goes_on() {
    let folder = with_experts(60);
    let golden = format!("{}/../mechanism/tests/golden/", env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read(format!("{golden}{name}")).unwrap();
    folder.write("ledger", read("ledger-v1-gaussian"));
    let (out, _) = folder.succeeds("ledger show ledger");
    assert!(
        out.contains("(ε, δ) = (4, 1e-6)") && out.contains("3 runs:"),
        "{out}"
    );
    assert!(
        folder.read("ledger").starts_with(b"HUSHLOG1"),
        "looking changes nothing"
    );
    folder.succeeds(&learn("--epsilon 1"));
    let message = folder.fails(&format!("{EXPERTS} --epsilon 0.1 --delta 1e-7"));
    assert!(message.contains("is set aside for this"), "{message}");
    folder.succeeds(&format!(
        "{EXPERTS} --epsilon 0.1 --delta 1e-7 --total-delta 2e-6"
    ));
    assert_eq!(folder.charges("ledger"), 5);
    folder.write(
        "later",
        [b"HUSHLOG2L\x63", &read("ledger-v1-gaussian")[8..]].concat(),
    );
    let message = folder.fails("ledger show later");
    assert!(
        message.contains("a later version of Hushstream"),
        "{message}"
    );
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
        out.contains("Of the 2 runs on this ledger, 1 drew simulated noise"),
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
        out.contains("  1: (ε, δ) = (1, 1e-6), Gaussian noise, with simulated"),
        "{out}"
    );
}

/// Another part of δ that is set aside raises no budget. It too must not follow from what was
/// published, because the filter's theorem is about parts that were fixed beforehand.
#[test]
fn a_part_that_is_set_aside_is_not_a_raise() {
    let folder = Folder::with_rows(300);
    folder.succeeds(&learn("--epsilon 1 --total-epsilon 3"));
    let before = folder.read("ledger");
    folder.succeeds("ledger raise ledger");
    assert_eq!(folder.read("ledger"), before, "nothing changes");
    folder.succeeds("ledger raise ledger --reserve 0.3");
    let told = folder.json("ledger show ledger");
    assert_eq!(
        (&told["raised"], &told["resplit"]),
        (&false.into(), &true.into())
    );
    let (out, _) = folder.succeeds("ledger show ledger");
    assert!(
        !out.contains("raised") && out.contains("set aside was not changed"),
        "{out}"
    );
    let message = folder.fails("ledger raise ledger --total-delta 1e-9");
    assert!(
        message.contains("the budget is (3, 1e-6) already"),
        "{message}"
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
        out.contains("the total, if the budget was not raised because of"),
        "{out}"
    );
    assert_eq!(folder.json("ledger show ledger")["raised"], true);
    let (out, _) = folder.succeeds(&learn("--epsilon 0.1"));
    assert!(!out.contains("in any case"), "{out}");
}
