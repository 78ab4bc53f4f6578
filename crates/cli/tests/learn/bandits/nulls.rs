//! Missing outcomes: they favour no arm, and each is counted once.

use super::*;

/// Half of the rows are of the worse arm, and most of its losses are missing: as zeros they would
/// make it the better one.
#[test]
fn an_arm_does_not_win_by_hiding_its_losses() {
    let folder = Folder::new();
    let mut dice = Dice(31);
    let (mut text, mut missing) = ("item,loss\n".to_owned(), 0);
    for _ in 0..4000 {
        if dice.below(2) == 0 {
            let _ = writeln!(text, "good,{}", 0.2 + 0.2 * dice.share());
        } else if dice.below(5) > 0 {
            text.push_str("bad,\n");
            missing += 1;
        } else {
            let _ = writeln!(text, "bad,{}", 0.5 + 0.2 * dice.share());
        }
    }
    folder.write("d.csv", text);
    let told = folder.json(
        "learn d.csv --task bandit --arm item --target loss --target-bounds 0:1 --arms good,bad \
         --missing-target null --epsilon 50 --seed-insecure 1 --without-privacy",
    );
    assert_eq!(told["nulls"], missing);
    assert_eq!(told["scored"], 4000 - missing);
    let policy = told["arms"][0]["probability"].as_f64().unwrap();
    assert!(policy > 0.8, "{policy}");
    // What the releases tell: 0.3 for the one, 0.8·½ + 0.2·0.6 for the other.
    close(&told["arms"][0]["snips"], 0.3, 0.1);
    close(&told["arms"][1]["snips"], 0.52, 0.15);
    // In the operator's estimates they are no zeros either.
    close(&told["loss"]["hindsight"], 0.3, 0.02);
    let own = told["loss"]["average"].as_f64().unwrap();
    assert!((0.29..0.44).contains(&own), "{own}");
    let without = told["without_privacy"]["loss"].as_f64().unwrap();
    assert!((0.29..0.44).contains(&without), "{without}");
}

#[test]
fn a_missing_label_is_counted_once_and_says_nothing() {
    let folder = Folder::new();
    let mut text = "kind\n".to_owned();
    for row in 0..900 {
        text.push_str(["worse\n", "NA\n", "unheard-of\n"][row % 3]);
    }
    folder.write("d.csv", text);
    let told = folder.json(&format!(
        "learn d.csv --task bandit --target kind --arms good,bad,worse --missing-target null \
         --batch 3 --recipe exp2-batched --releases releases {LITTLE_NOISE}"
    ));
    assert_eq!(
        (&told["nulls"], &told["scored"]),
        (&600.into(), &300.into())
    );
    for line in released(&folder) {
        // One label, and two rewards of ½.
        let earned = if line["arm"] == "worse" { 2.0 } else { 1.0 };
        close(&line["answer"], earned / 3.0, 0.01);
    }
}
