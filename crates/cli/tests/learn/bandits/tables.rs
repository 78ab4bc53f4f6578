//! Tables of losses or rewards, and labels as arms.

use super::*;

#[test]
fn a_table_is_played_one_arm_at_a_time() {
    let (folder, rows) = (Folder::new(), losses(4000));
    folder.write("d.csv", table(&rows));
    let flags = "learn d.csv --task bandit --bounds *=0:1 --releases releases --model model \
        --batch 4 --recipe exp2-batched";
    let told = folder.json(&format!("{flags} {LITTLE_NOISE} --without-privacy"));
    let plays = released(&folder);
    assert_eq!(plays.len(), 1000);
    // Only the played arm's losses are in an answer, and the figures are over the plays that were
    // released.
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
    assert!(
        shown.contains("loss of each arm, where less is better"),
        "{shown}"
    );
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
    let earned = folder.json(&format!("{flags} --bounds *=0:1 --rewards --model model"));
    let (shown, _) = folder.succeeds("inspect model");
    assert!(
        shown.contains("reward of each arm, where more is better"),
        "{shown}"
    );
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
    let told = folder.json(
        "learn d.csv --task experts --bounds *=0:1 --rewards --seed-insecure 1 \
        --epsilon 8 --delta 1e-6 --without-privacy",
    );
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
        "learn d.csv --task bandit --target kind --arms good,bad,worse --releases releases --batch \
         2 --recipe exp2-batched {LITTLE_NOISE}"
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
