//! What is found wrong, refused or chosen.

use super::*;

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
            "--target clicks --arm item --arms good,bad,worse --target-bounds 0:2 --propensity \
             chance",
            "--least-propensity",
        ),
        (
            "--target clicks --arm item --arms good,bad,worse --target-bounds 0:2 --propensity \
             chance --least-propensity 0",
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
    let message = folder.fails(
        "learn d.csv --target item --positive good --bounds *=0:9 --ignore \
        when --epsilon 1 --recipe exp2",
    );
    assert!(message.contains("--task bandit"), "{message}");
}

#[test]
fn what_is_not_named_is_chosen_from_public_numbers() {
    let (folder, rows) = (Folder::new(), losses(600));
    folder.write("d.csv", table(&rows));
    let flags = "learn d.csv --task bandit --bounds *=0:1 --seed-insecure 1";
    let batch = |told: &Value| told["parameters"]["batch"].as_u64().unwrap();
    // A small budget holds arms for longer; one number a record is best hidden by Laplace noise,
    // also where δ is allowed.
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
