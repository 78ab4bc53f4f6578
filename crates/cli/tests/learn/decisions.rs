//! Decisions by a context: labels, tables and logs, a policy that decides elsewhere, and what is
//! promised.

use crate::common::{Dice, Folder};
use std::fmt::Write;

const BUDGET: &str = "--epsilon 4 --delta 1e-6 --seed-insecure 1";
const LABELS: &str =
    "learn d.csv --task decide --target right --arms left,up,down --bounds x=-1:1,z=0:2";

/// The right arm depends on x alone.
fn labels(count: u64) -> String {
    let mut dice = Dice(3);
    let mut text = "x,z,right\n".to_owned();
    for _ in 0..count {
        let (x, z) = (2.0 * dice.share() - 1.0, 2.0 * dice.share());
        let right = if x < -0.3 {
            "left"
        } else if x < 0.3 {
            "up"
        } else {
            "down"
        };
        let _ = writeln!(text, "{x:.3},{z:.3},{right}");
    }
    text
}

#[test]
fn labels_are_arms_and_a_policy_decides_elsewhere() {
    let folder = Folder::new();
    folder.write("d.csv", labels(20_000));
    let flags = format!("{LABELS} {BUDGET} --model m.json --releases r.jsonl");
    let (out, error) = folder.succeeds(&flags);
    assert!(out.contains("any set of published policies and of the decisions made for everybody"));
    assert!(out.contains("The decision made for that record itself is not covered"));
    assert!(
        out.contains("average reward") && error.contains("exploration 4"),
        "{out}\n{error}"
    );
    let told = folder.json(&format!("{LABELS} {BUDGET} --without-privacy"));
    let reward = told["rewards"]["average"].as_f64().unwrap();
    assert!(reward > 0.7, "{reward}");
    assert!(told["rewards"]["best"].as_f64().unwrap() < 0.37);
    let private = &told["evaluation"][0];
    let ends = [&private["low"], &private["high"]].map(|end| end.as_f64().unwrap());
    // A 95 % interval, at a fixed seed.
    assert!(ends[0] <= reward && reward <= ends[1], "{private} {reward}");
    assert_eq!(told["guarantee"]["joint"], true);
    // The file of releases has policies and no play.
    let releases = folder.text("r.jsonl");
    assert!(releases.contains("inverse-gap") && !releases.contains("\"arm\""));
    // The file decides for contexts, which have no label.
    folder.write("new.csv", "z,x\n1.0,-0.9\n1.0,0.0\n1.0,0.9\n");
    let (out, _) = folder.succeeds("predict m.json new.csv");
    let arms: Vec<&str> = out
        .lines()
        .map(|line| line.split(',').next().unwrap())
        .collect();
    assert_eq!(arms, ["arm", "left", "up", "down"], "{out}");
    let (out, _) = folder.succeeds("inspect m.json");
    assert!(
        out.contains("which arm to play for a context") && out.contains("[left]"),
        "{out}"
    );
}

#[test]
fn tables_and_logs_are_learned_from() {
    let folder = Folder::new();
    let mut dice = Dice(9);
    let (mut table, mut log) = ("x,a,b\n".to_owned(), "x,arm,gain,chance\n".to_owned());
    for _ in 0..20_000 {
        let x = 2.0 * dice.share() - 1.0;
        let gains = [5.0 + 4.0 * x, 5.0 - 4.0 * x];
        let _ = writeln!(table, "{x:.3},{:.3},{:.3}", gains[0], gains[1]);
        let arm = usize::from(dice.share() < 0.25);
        let chance = [0.75, 0.25][arm];
        // A tenth of the rewards is missing.
        let gain = if dice.share() < 0.1 {
            String::new()
        } else {
            format!("{:.3}", gains[arm])
        };
        let _ = writeln!(log, "{x:.3},{},{gain},{chance}", ["a", "b"][arm]);
    }
    folder.write("table.csv", table);
    folder.write("log.csv", log);
    let flags = "--arms a,b --bounds x=-1:1,a=0:10,b=0:10";
    let told = folder.json(&format!("learn table.csv --task decide {flags} {BUDGET}"));
    let reward = told["rewards"]["average"].as_f64().unwrap();
    // 5 + 4·E|x| = 7 at best, and 5 for any fixed arm.
    assert!(reward > 6.5 && reward < 7.05, "{reward}");
    let flags = "--task decide --arm arm --arms a,b --target gain --target-bounds 0:10 \
                 --propensity chance --least-propensity 0.25 --bounds x=-1:1";
    let judged = "--evaluate uniform,arm:a,current";
    let told = folder.json(&format!(
        "learn log.csv {flags} {judged} {BUDGET} --model m.json"
    ));
    let all = told["evaluation"].as_array().unwrap();
    assert_eq!(all.len(), 7);
    for one in all {
        let truth = match one["policy"].as_str().unwrap() {
            "current policy" | "as played" => continue,
            // Missing rewards count as 5, and so are these on average.
            _ => 5.0,
        };
        let ends = [&one["low"], &one["high"]].map(|end| end.as_f64().unwrap());
        assert!(ends[0] <= truth && truth <= ends[1], "{one}");
    }
    folder.write("new.csv", "x\n-0.9\n0.9\n");
    let (out, _) = folder.succeeds("predict m.json new.csv");
    let arms: Vec<&str> = out
        .lines()
        .map(|line| line.split(',').next().unwrap())
        .collect();
    assert_eq!(arms, ["arm", "b", "a"], "{out}");
}

/// Stopped and resumed, a run is the one that was never stopped.
#[test]
fn a_resumed_run_is_the_same() {
    let folder = Folder::new();
    let all = labels(2_000);
    folder.write("d.csv", &all);
    let plan = "--batch 100 --rounds 2000 --epsilon 4 --delta 1e-6 --seed-insecure 1";
    folder.succeeds(&format!("{LABELS} {plan} --model whole.json --ledger one"));
    let half: Vec<&str> = all.lines().take(1_051).collect();
    folder.write("d.csv", half.join("\n") + "\n");
    let state = format!("{LABELS} {plan} --state s --ledger two");
    folder.succeeds(&state);
    folder.write("d.csv", &all);
    folder.succeeds(&format!("{state} --resume --model resumed.json"));
    assert_eq!(folder.text("whole.json"), folder.text("resumed.json"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let folder = Folder::new();
    folder.write("d.csv", labels(100));
    let fails = |flags: &str| folder.fails(&format!("{flags} {BUDGET}"));
    let no_arms = "learn d.csv --task decide --target right --bounds x=-1:1,z=0:2";
    assert!(fails(no_arms).contains("--arms"));
    assert!(fails(&format!("{LABELS} --recipe pqftl")).contains("igw"));
    assert!(fails(&format!("{LABELS} --evaluate arm:north")).contains("north"));
    assert!(fails(&format!("{LABELS} --exploration 0")).contains("exploration"));
    let classify = "learn d.csv --target right --positive up --bounds x=-1:1,z=0:2 --recipe igw";
    assert!(fails(classify).contains("--task decide"));
    let asks = "learn d.csv --task decide --arms a,b --bounds x=-1:1,z=0:2 --ignore right";
    assert!(fails(asks).contains("--target"), "{}", fails(asks));
}
