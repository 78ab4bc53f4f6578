//! Recipes, sums and promises by name: each runs, and says what it promises and no more.

use crate::common::{BUDGET, Folder, SCHEMA};
use serde_json::Value;

fn guarantee(folder: &Folder, flags: &str) -> (Value, String) {
    let flags = format!("learn d.csv {SCHEMA} --seed-insecure 1 {flags}");
    let told = folder.json(&flags)["guarantee"].clone();
    (told, folder.succeeds(&flags).0)
}

#[test]
fn every_sum_serves() {
    let folder = Folder::with_rows(400);
    for (sum, flags) in [
        ("tree", BUDGET),
        ("tree-padded", BUDGET),
        ("honaker", BUDGET),
        ("smooth", "--epsilon 1"),
        ("blt", BUDGET),
        ("kary", "--epsilon 1"),
        ("octave", BUDGET),
        ("eras", BUDGET),
    ] {
        for recipe in ["pftal-convex", "pqftl"] {
            let told = folder.json(&format!(
                "learn d.csv {SCHEMA} {flags} --recipe {recipe} --sum {sum} --batch 10 \
                 --seed-insecure 1"
            ));
            let named = told["parameters"]["sum"].as_str().unwrap();
            assert!(named.starts_with(sum), "{named}");
            assert_eq!(told["recipe"], recipe);
            let epsilon = told["guarantee"]["epsilon"].as_f64().unwrap();
            assert!(epsilon <= 1.0 && epsilon > 0.99, "{sum}: {epsilon}");
        }
    }
}

#[test]
fn windows_promise_windows() {
    let folder = Folder::with_rows(400);
    let flags = format!("{BUDGET} --recipe coco-l --window 16 --strong-convexity 0.1");
    let (told, words) = guarantee(&folder, &flags);
    assert_eq!(told["window"], 16);
    assert!(words.contains("window"), "{words}");
    let (told, words) = guarantee(&folder, BUDGET);
    assert!(
        told["window"].is_null() && !words.contains("window"),
        "{words}"
    );
}

#[test]
fn persons_are_protected_and_limited() {
    let folder = Folder::with_rows(400);
    let flags = format!("{BUDGET} --person who --max-per-person 2");
    let (told, words) = guarantee(&folder, &flags);
    assert_eq!(told["participations"], 2);
    assert!(words.contains("person"), "{words}");
    // With one record a person all further ones are empty: as many as there are repeated names.
    let told = folder.json(&format!(
        "learn d.csv {SCHEMA} {BUDGET} --person who --max-per-person 1 --batch 1 --seed-insecure 1"
    ));
    let data = folder.text("d.csv");
    let names: Vec<&str> = data
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(3).unwrap())
        .collect();
    // The last record is never asked, so it does not count either way.
    let mut met = std::collections::HashSet::new();
    let again = names[..399]
        .iter()
        .filter(|name| !met.insert(**name))
        .count();
    assert_eq!(told["nulls"], again);
}

#[test]
fn pure_noise_and_unknown_horizons() {
    let folder = Folder::with_rows(400);
    let (told, words) = guarantee(&folder, "--epsilon 1");
    // Only what finite precision costs.
    assert!(told["delta"].as_f64().unwrap() < 1e-25, "{told}");
    assert!(words.contains("Laplace"), "{words}");
    let flags = format!("{BUDGET} --horizon unknown");
    let (_, words) = guarantee(&folder, &flags);
    assert!(words.contains("octave"), "{words}");
    // More may come than did.
    assert!(words.contains("Whatever one of up to "), "{words}");
    let told = folder.json(&format!("learn d.csv {SCHEMA} {flags} --seed-insecure 1"));
    assert_eq!(told["rounds"], 400);
    assert_eq!(told["parameters"]["sum"], "octave");
}

/// The mean of the later half of what was released, by the test's own sum.
#[test]
fn the_model_of_perturbed_iterates_is_a_mean_of_releases() {
    let folder = Folder::with_rows(400);
    for recipe in ["pigd", "pgiga", "pigd-convex"] {
        let told = folder.json(&format!(
            "learn d.csv {SCHEMA} {BUDGET} --recipe {recipe} --seed-insecure 1 --releases releases \
             --model model"
        ));
        let model = told["parameters"]["model"].as_str().unwrap();
        assert!(
            model.starts_with("the mean of releases 200 to 399,"),
            "{model}"
        );
        let releases: Vec<Vec<f64>> = folder
            .text("releases")
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .map(|line| serde_json::from_value(line["weights"].clone()).unwrap())
            .collect();
        assert_eq!(releases.len(), 399);
        let model: serde_json::Value = serde_json::from_str(&folder.text("model")).unwrap();
        let weights: Vec<f64> = serde_json::from_value(model["weights"].clone()).unwrap();
        for (index, weight) in weights.iter().enumerate() {
            let mean = releases[199..].iter().map(|w| w[index]).sum::<f64>() / 200.0;
            assert!((weight - mean).abs() < 1e-12, "{weight} {mean}");
        }
    }
}

#[test]
fn convex_losses_are_learned_on_few_points() {
    let folder = Folder::with_rows(3000);
    let flags = "learn d.csv --target y --features a --bounds a=0:1 --seed-insecure 1 --epsilon 8 \
        --delta 1e-6 --model model --releases releases";
    for (recipe, releases, last) in [("limited-updates", 11, 2047), ("cover", 2999, 2999)] {
        let told = folder.json(&format!("{flags} --recipe {recipe}"));
        let text = folder.text("releases");
        assert_eq!(text.lines().count(), releases, "{recipe}");
        let line: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        let model: serde_json::Value = serde_json::from_str(&folder.text("model")).unwrap();
        assert_eq!(
            (&line["release"], &model["release"]),
            (&last.into(), &last.into())
        );
        assert_eq!(line["weights"], model["weights"], "{recipe}");
        let (own, constant) = (&told["metrics"]["accuracy"], &told["metrics"]["majority"]);
        let (own, constant) = (own.as_f64().unwrap(), constant.as_f64().unwrap());
        assert!(own > constant + 0.05, "{recipe}: {own} {constant}");
    }
    // Experts and arms that begin anew say what is certified for all seasons together.
    for task in ["experts --recipe dartboard", "bandit --recipe exp2"] {
        let flags = format!("learn d.csv --task {task} --features a,y --bounds a=0:1,y=0:1");
        let bound = |more: &str| {
            let told = folder.json(&format!("{flags} {BUDGET} --seed-insecure 1 {more}"));
            told["parameters"]["regret_bound"].as_f64().unwrap()
        };
        let (whole, seasons) = (bound(""), bound("--restart-every 1000"));
        assert!(seasons > 1.2 * whole, "{task}: {seasons} {whole}");
    }
    // Without a δ the noise is pure.
    let (said, _) = folder.succeeds(
        "learn d.csv --target y --features a --bounds a=0:1 --seed-insecure 1 --epsilon 8 --recipe \
         limited-updates --loss hinge",
    );
    assert!(
        said.contains("L2-Laplace") && said.contains("e^8.00"),
        "{said}"
    );
    // Corners are stepped over implicitly.
    let (said, _) = folder.succeeds(&format!("{flags} --recipe limited-updates --loss hinge"));
    assert!(said.contains("losses are convex with slope"), "{said}");
    let (_, said) = folder.succeeds(&format!(
        "{flags} --recipe limited-updates --without-privacy"
    ));
    assert!(said.contains("no twin without privacy"), "{said}");
    for (flags, told) in [
        (format!("{SCHEMA} --recipe cover"), "at most 3 dimensions"),
        (
            format!("{SCHEMA} --recipe dartboard"),
            "does not learn from a table",
        ),
        (
            format!("{SCHEMA} --recipe pigd --restart-every 100"),
            "no use for restarts",
        ),
        (
            format!("{SCHEMA} --recipe tables --restart-every 100"),
            "no use for restarts",
        ),
        (
            format!("{SCHEMA} --restart-every 100"),
            "for experts, bandits",
        ),
        (
            "--task experts --features a,y --bounds a=0:1,y=0:1 --recipe limited-updates \
             --restart-every 100"
                .to_owned(),
            "no use for restarts",
        ),
        (
            "--task experts --features a,y --bounds a=0:1,y=0:1 --recipe dartboard \
             --restart-every 0"
                .to_owned(),
            "rounds of a season",
        ),
        (
            "--task experts --features a,y --bounds a=0:1,y=0:1 --recipe limited-updates --radius \
            1"
            .to_owned(),
            "--radius",
        ),
    ] {
        let message = folder.fails(&format!("learn d.csv {flags} {BUDGET}"));
        assert!(message.contains(told), "{message}");
    }
}
