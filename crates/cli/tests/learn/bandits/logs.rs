//! Logs with and without propensities.

use super::*;

#[test]
fn a_log_answers_every_round_and_is_weighed() {
    let folder = Folder::new();
    let (text, rows) = log(1200);
    folder.write("d.csv", text);
    // One batch of all rows: the policy is uniform, and one answer leaves.
    let told = folder.json(&format!(
        "learn d.csv {LOG} --propensity chance --least-propensity 0.2 --batch 1200 --recipe \
         exp2-batched --releases releases {LITTLE_NOISE}"
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
    // Arms by themselves are told by their own weights: the first arm's mean, since it is always as
    // likely.
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
        "learn d.csv {LOG} --propensity chance --least-propensity 0.5 --batch 1200 --recipe \
         exp2-batched {LITTLE_NOISE}"
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
