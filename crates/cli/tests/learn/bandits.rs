//! Bandits: tables, labels and logs. What a run tells is computed once more by the test, from the data and what was released.

use crate::common::{Dice, Folder};
use serde_json::Value;
use std::fmt::Write;

const LITTLE_NOISE: &str = "--epsilon 1000 --seed-insecure 1";

/// Losses of three arms, the first the best.
fn losses(count: usize) -> Vec<[f64; 3]> {
    let mut dice = Dice(5);
    let round = |value: f64| (value * 1e3).round() / 1e3;
    let mut row = || {
        [
            round(0.4 * dice.share()),
            round(dice.share()),
            round(0.5 + 0.5 * dice.share()),
        ]
    };
    (0..count).map(|_| row()).collect()
}

fn table(rows: &[[f64; 3]]) -> String {
    let mut text = "good,bad,worse\n".to_owned();
    for [a, b, c] in rows {
        let _ = writeln!(text, "{a},{b},{c}");
    }
    text
}

fn released(folder: &Folder) -> Vec<Value> {
    let lines = folder.text("releases");
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn close(told: &Value, expected: f64, tolerance: f64) {
    let value = told.as_f64().unwrap_or_else(|| panic!("{told}"));
    assert!((value - expected).abs() <= tolerance, "{value} {expected}");
}

const ARMS: [&str; 3] = ["good", "bad", "worse"];

fn arm(line: &Value) -> usize {
    ARMS.iter().position(|arm| *arm == line["arm"]).unwrap()
}

#[test]
fn a_table_is_played_one_arm_at_a_time() {
    let (folder, rows) = (Folder::new(), losses(4000));
    folder.write("d.csv", table(&rows));
    let flags = "learn d.csv --task bandit --bounds *=0:1 --releases releases --model model --batch 4 --recipe exp2-batched";
    let told = folder.json(&format!("{flags} {LITTLE_NOISE} --without-privacy"));
    let plays = released(&folder);
    assert_eq!(plays.len(), 1000);
    // Only the played arm's losses are in an answer, and the figures are over the plays that were released.
    let (mut paid, mut sums) = (0.0, [[0.0; 2]; 3]);
    for (line, batch) in plays.iter().zip(rows.chunks(4)) {
        let (arm, loss) = (arm(line), |arm: usize| {
            batch.iter().map(|row| row[arm]).sum::<f64>()
        });
        close(&line["answer"], loss(arm) / 4.0, 0.01);
        paid += loss(arm);
        let propensity = line["propensity"].as_f64().unwrap();
        sums[arm][0] += line["answer"].as_f64().unwrap() / propensity;
        sums[arm][1] += 1.0 / propensity;
    }
    close(&told["loss"]["average"], paid / 4000.0, 1e-9);
    let mean = |arm: usize| rows.iter().map(|row| row[arm]).sum::<f64>() / 4000.0;
    close(&told["loss"]["hindsight"], mean(0), 1e-9);
    close(
        &told["loss"]["baseline"],
        (mean(0) + mean(1) + mean(2)) / 3.0,
        1e-9,
    );
    assert_eq!(told["regret"]["comparator"], "best arm in hindsight");
    let own = told["loss"]["average"].as_f64().unwrap();
    assert!(own < mean(0) + 0.15, "{own}");
    assert!(told["without_privacy"]["loss"].as_f64().unwrap() < mean(0) + 0.15);
    // What the releases tell about the arms is a function of the releases.
    for (index, name) in ARMS.iter().enumerate() {
        let arm = &told["arms"][index];
        assert_eq!(arm["arm"], *name);
        close(&arm["ips"], sums[index][0] / 1000.0, 1e-9);
        close(&arm["snips"], sums[index][0] / sums[index][1], 1e-9);
    }
    let first = told["arms"][0]["probability"].as_f64().unwrap();
    assert!(first > 0.7, "{first}");
    let model: Value = serde_json::from_str(&folder.text("model")).unwrap();
    let weights: Vec<f64> = serde_json::from_value(model["weights"].clone()).unwrap();
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9 && weights.len() == 3);
    assert_eq!(model["release"], 1000);
    let (shown, _) = folder.succeeds("inspect model");
    assert!(shown.contains("how often to play each arm"), "{shown}");
    assert!(shown.contains("good, played in"), "{shown}");
    assert!(folder.fails("predict model d.csv").contains("inspect"));
}

#[test]
fn rewards_are_losses_turned_round() {
    let (folder, rows) = (Folder::new(), losses(600));
    let flags = "learn d.csv --task bandit --seed-insecure 3 --releases releases --epsilon 5";
    folder.write("d.csv", table(&rows));
    let lost = folder.json(&format!("{flags} --bounds *=0:1"));
    let of_losses = released(&folder);
    let turned: Vec<[f64; 3]> = rows.iter().map(|row| row.map(|loss| 1.0 - loss)).collect();
    folder.write("d.csv", table(&turned));
    let earned = folder.json(&format!("{flags} --bounds *=0:1 --rewards"));
    for (loss, reward) in of_losses.iter().zip(released(&folder)) {
        assert_eq!(loss["arm"], reward["arm"]);
        close(
            &reward["answer"],
            1.0 - loss["answer"].as_f64().unwrap(),
            1e-6,
        );
    }
    let reward = earned["rewards"]["average"].as_f64().unwrap();
    close(&lost["loss"]["average"], 1.0 - reward, 1e-9);
    assert!(lost["rewards"].is_null());
    // In experts as well.
    let told = folder.json("learn d.csv --task experts --bounds *=0:1 --rewards --seed-insecure 1 --epsilon 8 --delta 1e-6 --without-privacy");
    let all = |arm: usize| turned.iter().map(|row| row[arm]).sum::<f64>() / 600.0;
    close(&told["rewards"]["best"], all(0), 1e-9);
    let without = told["rewards"]["without_privacy"].as_f64().unwrap();
    assert!(without > all(0) - 0.1 && without <= all(0), "{without}");
}

#[test]
fn a_label_is_the_arm_that_earns() {
    let folder = Folder::new();
    let mut dice = Dice(9);
    let labels: Vec<usize> = (0..2000)
        .map(|_| {
            if dice.share() < 0.7 {
                1
            } else {
                dice.below(3) as usize
            }
        })
        .collect();
    let mut text = "x,kind\n".to_owned();
    for label in &labels {
        let _ = writeln!(text, "7,{}", ARMS[*label]);
    }
    folder.write("d.csv", text);
    let told = folder.json(&format!(
        "learn d.csv --task bandit --target kind --arms good,bad,worse --releases releases --batch 2 --recipe exp2-batched {LITTLE_NOISE}"
    ));
    let mut earned = 0;
    for (line, batch) in released(&folder).iter().zip(labels.chunks(2)) {
        let right = batch.iter().filter(|label| **label == arm(line)).count();
        close(&line["answer"], right as f64 / 2.0, 0.02);
        earned += right;
    }
    close(&told["rewards"]["average"], earned as f64 / 2000.0, 1e-9);
    close(&told["rewards"]["uniform"], 1.0 / 3.0, 1e-9);
    assert!(earned > 1200, "{earned}");
    assert!(
        told["operator_only"]
            .as_array()
            .unwrap()
            .contains(&"rewards".into())
    );
    assert!(
        !told["operator_only"]
            .as_array()
            .unwrap()
            .contains(&"arms".into())
    );
}

/// A log by a policy that plays the arms with probabilities ½, ¼ and ¼: rewards of 0 to 2, and their propensities.
fn log(count: usize) -> (String, Vec<(usize, f64, f64)>) {
    let mut dice = Dice(17);
    let mut text = "when,item,clicks,chance\n".to_owned();
    let mut rows = Vec::new();
    for when in 0..count {
        let arm = [0, 0, 1, 2][dice.below(4) as usize];
        let reward = ((1.6 - 0.6 * arm as f64) * dice.share() * 100.0).round() / 100.0;
        let chance = if arm == 0 { 0.5 } else { 0.25 };
        let _ = writeln!(text, "{when},{},{reward},{chance}", ARMS[arm]);
        rows.push((arm, reward, chance));
    }
    (text, rows)
}

const LOG: &str =
    "--task bandit --arm item --target clicks --target-bounds 0:2 --rewards --arms good,bad,worse";

#[test]
fn a_log_answers_every_round_and_is_weighed() {
    let folder = Folder::new();
    let (text, rows) = log(1200);
    folder.write("d.csv", text);
    // One batch of all rows: the policy is uniform, and one answer leaves.
    let told = folder.json(&format!(
        "learn d.csv {LOG} --propensity chance --least-propensity 0.2 --batch 1200 --recipe exp2-batched --releases releases {LITTLE_NOISE}"
    ));
    let plays = released(&folder);
    let [line] = &plays[..] else {
        panic!("{} releases", plays.len());
    };
    // Losses from 0 to 1; rows of other arms count, as nothing.
    let weighed = |played: usize| {
        let of = rows.iter().filter(|(arm, ..)| *arm == played);
        of.map(|(_, reward, chance)| (1.0 - reward / 2.0) / chance)
            .sum::<f64>()
            / 1200.0
    };
    close(&line["answer"], 2.0 - 2.0 * weighed(arm(line)), 1e-3);
    let (mut sums, mut model) = ([0.0; 3], [(0.0, 0.0); 3]);
    for (arm, reward, chance) in &rows {
        let (loss, likely) = (1.0 - reward / 2.0, 1.0 / (3.0 * chance));
        let m = model.map(|(sum, count)| if count > 0.0 { sum / count } else { 0.5 });
        sums[0] += likely * loss;
        sums[1] += likely;
        sums[2] += m.iter().sum::<f64>() / 3.0 + likely * (loss - m[*arm]);
        model[*arm] = (model[*arm].0 + loss, model[*arm].1 + 1.0);
    }
    close(&told["off_policy"]["ips"], 2.0 * sums[0] / 1200.0, 1e-9);
    close(&told["off_policy"]["snips"], 2.0 * sums[0] / sums[1], 1e-9);
    close(
        &told["off_policy"]["doubly_robust"],
        2.0 * sums[2] / 1200.0,
        1e-9,
    );
    // Arms by themselves are told by their own weights: the first arm's mean, since it is always as likely.
    let first = rows.iter().filter(|(arm, ..)| *arm == 0);
    let mean = first.clone().map(|row| 2.0 - row.1).sum::<f64>() / first.count() as f64;
    close(&told["loss"]["hindsight"], mean, 1e-9);
    close(&told["loss"]["average"], 2.0 * sums[0] / sums[1], 1e-9);
    assert!(
        told["operator_only"]
            .as_array()
            .unwrap()
            .contains(&"off_policy".into())
    );
    let assumed = told["guarantee"]["assumptions"].to_string();
    assert!(
        assumed.contains("every row of the log answers one round")
            && assumed.contains("clipped to [0, 2] and weights to 5"),
        "{assumed}"
    );
    // The least propensity is a bound: weights are clipped to it, and noise grows with it.
    let clipped = folder.json(&format!(
        "learn d.csv {LOG} --propensity chance --least-propensity 0.5 --batch 1200 --recipe exp2-batched {LITTLE_NOISE}"
    ));
    let noise = |told: &Value| told["parameters"]["noise_sd"].as_f64().unwrap();
    assert!((noise(&told) / noise(&clipped) - 2.5).abs() < 1e-6);
}

#[test]
fn a_log_of_a_uniform_policy_needs_no_propensities_and_finds_the_best_arm() {
    let folder = Folder::new();
    let mut dice = Dice(23);
    let mut text = "item,clicks\n".to_owned();
    for _ in 0..6000 {
        let arm = dice.below(3) as usize;
        let _ = writeln!(
            text,
            "{},{}",
            ARMS[arm],
            u8::from(dice.share() < [0.8, 0.4, 0.1][arm])
        );
    }
    folder.write("d.csv", text);
    let told = folder.json(&format!(
        "learn d.csv {} --seed-insecure 1 --epsilon 20 --without-privacy --report report.html",
        LOG.replace("0:2", "0:1")
    ));
    let best = told["rewards"]["best"].as_f64().unwrap();
    assert!((best - 0.8).abs() < 0.05, "{best}");
    let own = 1.0 - told["off_policy"]["snips"].as_f64().unwrap();
    assert!(own > 0.6, "{own}");
    assert!(told["arms"][0]["probability"].as_f64().unwrap() > 0.5);
    assert!(folder.text("report.html").contains("<h2>The arms</h2>"));
}

#[test]
fn rows_that_cannot_be_are_found() {
    let folder = Folder::new();
    let log = "item,clicks,chance\ngood,1,0.5\nbad,0,0.5\n";
    let flags =
        format!("learn d.csv {LOG} --propensity chance --least-propensity 0.1 {LITTLE_NOISE}");
    for (row, place, told) in [
        ("best,1,0.5", "line 4, column 1 (`item`)", "--arms"),
        ("good,,0.5", "line 4, column 2 (`clicks`)", "missing"),
        (
            "good,x,0.5",
            "line 4, column 2 (`clicks`)",
            "a number is needed",
        ),
        (
            "good,1,0",
            "line 4, column 3 (`chance`)",
            "not a propensity",
        ),
        (
            "good,1,1.5",
            "line 4, column 3 (`chance`)",
            "not a propensity",
        ),
        ("good,1,", "line 4, column 3 (`chance`)", "not a propensity"),
    ] {
        folder.write("d.csv", format!("{log}{row}\n"));
        let message = folder.fails(&flags);
        assert!(
            message.contains(place) && message.contains(told),
            "{message}"
        );
        // As a round without a record it is read, and answers nothing.
        let told = folder.json(&format!("{flags} --missing-target null"));
        assert_eq!(
            (&told["rounds"], &told["scored"], &told["nulls"]),
            (&3.into(), &2.into(), &1.into())
        );
    }
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let folder = Folder::new();
    folder.write("d.csv", log(40).0);
    for (flags, told) in [
        ("--target clicks --arm item --target-bounds 0:2", "--arms"),
        (
            "--target clicks --arm item --arms good,bad,worse",
            "--target-bounds",
        ),
        (
            "--target clicks --arm items --arms a,b --target-bounds 0:1",
            "is it `item`?",
        ),
        ("--target item --arms good", "at least two"),
        ("--target item --arms good,bad,bad", "listed twice"),
        ("--target item --arms good,bad,worse --rewards", "--rewards"),
        (
            "--target item --arms good,bad,worse --features when",
            "--features",
        ),
        (
            "--target item --arms good,bad,worse --target-bounds 0:1",
            "--arm",
        ),
        ("--target item --arms good,bad,worse --norm 1", "--norm"),
        (
            "--target item --arms good,bad,worse --person when --max-per-person 1",
            "not persons",
        ),
        (
            "--target item --arms good,bad,worse --recipe dartboard",
            "--task experts",
        ),
        (
            "--target item --arms good,bad,worse --recipe pftal-bandit",
            "exp2",
        ),
        (
            "--target item --arms good,bad,worse --sum blt",
            "no use for a sum",
        ),
        (
            "--target item --arms good,bad,worse --noise l2-laplace",
            "laplace",
        ),
        (
            "--target clicks --arm item --arms good,bad,worse --target-bounds 0:2 --recipe scrible",
            "a log tells of arms",
        ),
        (
            "--target clicks --arm item --arms good,bad,worse --target-bounds 0:2 --propensity chance",
            "--least-propensity",
        ),
        (
            "--target clicks --arm item --arms good,bad,worse --target-bounds 0:2 --propensity chance --least-propensity 0",
            "above 0",
        ),
        (
            "--features clicks,chance --bounds *=0:2 --arms a,b",
            "--arms",
        ),
        (
            "--features clicks,chance --bounds *=0:2 --propensity chance --least-propensity 1",
            "--propensity",
        ),
    ] {
        let message = folder.fails(&format!("learn d.csv --task bandit {flags} --epsilon 1"));
        assert!(message.contains(told), "{flags}\n{message}");
    }
    let message = folder.fails("learn d.csv --target item --positive good --bounds *=0:9 --ignore when --epsilon 1 --recipe exp2");
    assert!(message.contains("--task bandit"), "{message}");
}

#[test]
fn what_is_not_named_is_chosen_from_public_numbers() {
    let (folder, rows) = (Folder::new(), losses(600));
    folder.write("d.csv", table(&rows));
    let flags = "learn d.csv --task bandit --bounds *=0:1 --seed-insecure 1";
    let batch = |told: &Value| told["parameters"]["batch"].as_u64().unwrap();
    // A small budget holds arms for longer; one number a record is best hidden by Laplace noise, also where δ is allowed.
    let small = folder.json(&format!("{flags} --epsilon 0.1 --delta 1e-6"));
    assert_eq!(
        (&small["recipe"], &small["parameters"]["noise"]),
        (&"exp2-batched".into(), &"laplace".into())
    );
    let large = folder.json(&format!("{flags} --epsilon 10 --delta 1e-6"));
    assert!(batch(&small) > batch(&large));
    assert_eq!(
        (&large["recipe"], &large["guarantee"]["delta"]),
        (&"exp2".into(), &0.0.into())
    );
    let gaussian = folder.json(&format!(
        "{flags} --epsilon 1 --delta 1e-6 --noise gaussian"
    ));
    assert_eq!(gaussian["parameters"]["noise"], "gaussian");
    let endless = folder.json(&format!("{flags} --epsilon 1 --horizon unknown"));
    assert_eq!(
        (&endless["recipe"], &endless["rounds"]),
        (&"exp2".into(), &600.into())
    );
    let mixed = folder.json(&format!(
        "{flags} --epsilon 5 --recipe scrible --releases releases"
    ));
    assert_eq!(mixed["recipe"], "scrible");
    let line = &released(&folder)[0];
    let weights: Vec<f64> = serde_json::from_value(line["weights"].clone()).unwrap();
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9 && line["propensity"].is_number());
    // The bounds that were stated are the bounds that are promised.
    let (out, _) = folder
        .succeeds("learn d.csv --task bandit --bounds *=-0.1:0.1 --seed-insecure 1 --epsilon 1");
    assert!(out.contains("clipped to [-0.1, 0.1]"), "{out}");
    let (out, _) = folder.succeeds(
        "learn d.csv --task experts --bounds *=-0.1:0.1 --seed-insecure 1 --epsilon 1 --delta 1e-6",
    );
    assert!(out.contains("clipped to [-0.1, 0.1]"), "{out}");
    // The same from public numbers, before any data.
    let planned =
        folder.json("plan --recipe exp2-batched --rounds 600 --dim 3 --epsilon 0.1 --delta 1e-6");
    assert_eq!(planned["batch"].as_u64(), Some(batch(&small)));
    close(
        &planned["regret_bound"],
        small["parameters"]["regret_bound"].as_f64().unwrap(),
        1e-9,
    );
    let (out, _) =
        folder.succeeds("plan --recipe dartboard --rounds 600 --dim 3 --epsilon 1 --delta 1e-6");
    assert!(out.contains("certified regret"), "{out}");
}

/// So many arms that other records with so many columns would be read as sparse ones.
#[test]
fn many_arms_are_read_as_few_are() {
    let folder = Folder::new();
    let names: Vec<String> = (0..90).map(|arm| format!("a{arm}")).collect();
    let mut text = "item,clicks\n".to_owned();
    for row in 0..180 {
        let _ = writeln!(text, "{},{}", names[row % 90], row % 2);
    }
    folder.write("d.csv", text);
    let arms = names.join(",");
    for flags in [
        format!("--target item --arms {arms}"),
        format!("--arm item --target clicks --target-bounds 0:1 --arms {arms}"),
    ] {
        let told = folder.json(&format!("learn d.csv --task bandit {flags} {LITTLE_NOISE}"));
        assert_eq!((&told["scored"], &told["nulls"]), (&180.into(), &0.into()));
        assert_eq!(told["arms"].as_array().unwrap().len(), 90);
    }
}
