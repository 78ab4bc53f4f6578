//! `hushstream plan` as a person or a script meets it.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

use std::process::{Command, Output};

fn hushstream(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hushstream"))
        .args(arguments.split_whitespace())
        .output()
        .unwrap()
}

fn json(arguments: &str) -> serde_json::Value {
    let output = hushstream(arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

fn close(value: &serde_json::Value, expected: f64, tolerance: f64) {
    let value = value.as_f64().unwrap();
    assert!(
        (value - expected).abs() < tolerance,
        "{value} instead of {expected}"
    );
}

/// bike.toml states bounds of the target and no task.
#[test]
fn a_schema_tells_its_task_by_what_it_says_about_the_target() {
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bike.toml");
    let plan = json(&format!(
        "plan --schema {schema} --rounds 13932 --epsilon 1 --delta 1e-6 --json"
    ));
    assert!(plan["noise_in_score"].as_f64() > Some(10.0), "{plan}");
}

#[test]
fn a_recipe_without_its_dimension_names_the_flag() {
    let output = hushstream("plan --recipe ftrl --rounds 4096 --epsilon 1 --delta 1e-6");
    let told = String::from_utf8(output.stderr).unwrap();
    let wanted = "hushstream: --dim 1 is not allowed here; allowed: 2 or more, the number of \
                  coordinates, experts or arms\n";
    assert_eq!(told, wanted);
}

#[test]
fn keys_are_stable() {
    let plan = json("plan --rounds 1e6 --dim 54 --epsilon 1 --delta 1e-6 --sum tree --json");
    let keys: Vec<&str> = plan
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected = vec![
        "recipe",
        "sum",
        "noise",
        "mu",
        "releases",
        "levels",
        "node_sigma",
        "prefix_sd_max",
        "state_vectors",
        "memory_bytes",
        "ns_per_round",
        "regret_bound",
        "trivial_regret",
        "parameters",
        "guarantee",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(plan["releases"], 999_999);
    assert_eq!(plan["levels"], 20);
    assert!(plan["recipe"].is_null() && plan["regret_bound"].is_null());
    close(&plan["mu"], 0.236_704, 1e-6);
    // σ = 2·√20/μ, and a worst sum of 19 noises.
    close(&plan["node_sigma"], 37.786, 2e-3);
    close(&plan["prefix_sd_max"], 37.786 * 19_f64.sqrt(), 1e-2);
    close(&plan["guarantee"]["epsilon"], 1.0, 1e-12);
    assert!(plan["guarantee"]["delta"].as_f64().unwrap() <= 1e-6);
    assert_eq!(plan["guarantee"]["adjacency"], "replace-one");
    assert_eq!(plan["guarantee"]["simulated"], false);
}

#[test]
fn all_sums_stand_side_by_side_and_the_best_is_chosen() {
    let request = "plan --releases 1048576 --dim 2 --epsilon 1 --delta 1e-6 --json --sum";
    let all = json(&format!("{request} all"));
    let sums: Vec<&str> = all
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["sum"].as_str().unwrap())
        .collect();
    assert_eq!(
        sums,
        [
            "tree",
            "tree-padded",
            "honaker",
            "smooth",
            "blt",
            "octave",
            "fresh",
            "blt-normalised",
            "eras"
        ]
    );
    // The worst error in units of Δ/μ, Δ = 2.
    let units = |sum: &str| {
        let row = all
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["sum"] == sum)
            .unwrap();
        row["prefix_sd_max"].as_f64().unwrap() * row["mu"].as_f64().unwrap() / 2.0
    };
    for (sum, expected) in [
        ("tree", 20.49),
        ("honaker", 15.06),
        ("smooth", 11.40),
        ("blt", 5.565),
        ("blt-normalised", 5.300),
        ("eras", 6.187),
    ] {
        assert!(
            (units(sum) - expected).abs() < 0.006,
            "{sum}: {}",
            units(sum)
        );
    }
    assert_eq!(json(&format!("{request} best"))["sum"], "blt-normalised");
    // Persons with several records have the plain filter's noise.
    let persons = json(&format!("{request} all --max-per-person 3"));
    let worst = |sum: &str| {
        let mut rows = persons.as_array().unwrap().iter();
        let row = rows.find(|row| row["sum"] == sum).unwrap();
        row["prefix_sd_max"].as_f64().unwrap()
    };
    assert!((worst("blt-normalised") / worst("blt") - 1.0).abs() < 0.02);
}

/// Up to 1,024 releases the dense sum is the best, and for every workload no other sum is better.
#[test]
fn few_releases_have_the_least_error_there_is() {
    let request = "plan --releases 255 --epsilon 1 --delta 1e-6 --adjacency zero-out --json";
    let best = json(request);
    assert_eq!(best["sum"], "dense");
    let mu = best["mu"].as_f64().unwrap();
    let worst = best["prefix_sd_max"].as_f64().unwrap() * mu;
    assert!((2.531..2.54).contains(&worst), "{worst}");
    for workload in ["mean", "running-mean", "decay(0.98)", "last"] {
        let best = json(&format!("{request} --workload {workload}"));
        assert_eq!(best["sum"], format!("dense:{workload}"));
        let all = json(&format!("{request} --workload {workload} --sum all"));
        let error = |row: &serde_json::Value| row["workload_sd"].as_f64().unwrap();
        for row in all.as_array().unwrap() {
            assert!(
                error(row) >= error(&best) * (1.0 - 1e-9),
                "{workload}: {row}"
            );
        }
        if workload == "running-mean" {
            let error = error(&best) * mu;
            assert!((1.349..1.37).contains(&error), "{error}");
        }
    }
    let text = hushstream("plan --releases 255 --epsilon 1 --delta 1e-6 --workload last");
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(
        text.contains("Smallest error under workload last: dense:last"),
        "{text}"
    );
    for (wrong, told) in [
        ("--workload worst", "running-mean"),
        ("--workload decay(2)", "0.001 to 1"),
        ("--sum dense:no", "running-mean"),
        ("--sum dense --noise laplace", "Gaussian noise"),
        ("--sum dense --releases 2000", "1 to 1024"),
    ] {
        let request = format!("plan --epsilon 1 --delta 1e-6 {wrong}");
        let request = match wrong.contains("--releases") {
            true => request,
            false => format!("{request} --releases 255"),
        };
        let output = hushstream(&request);
        assert!(!output.status.success(), "{request}");
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn pure_privacy_needs_no_delta() {
    let plan = json(
        "plan --releases 1048576 --epsilon 1 --sum kary --noise laplace --adjacency zero-out \
         --json",
    );
    assert!(plan["mu"].is_null());
    assert_eq!(plan["guarantee"]["delta"], 0.0);
    let worst = plan["prefix_sd_max"].as_f64().unwrap();
    assert!((46.8..=47.4).contains(&worst), "{worst}");
}

#[test]
fn the_table_ends_with_the_guarantee() {
    let output = hushstream("plan --releases 1000 --dim 3 --epsilon 1 --delta 1e-6");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("μ = 0.236704"), "{text}");
    assert!(
        text.contains("changes by at most a factor of e^1.00 plus 1e-6."),
        "{text}"
    );
}

#[test]
fn a_window_says_what_it_does_not_promise() {
    let output =
        hushstream("plan --releases 1000 --epsilon 1 --delta 1e-6 --sum window --window 50");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("does not protect the whole transcript"),
        "{text}"
    );
}

#[test]
fn a_picture_is_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("error.svg");
    let arguments = format!(
        "plan --releases 1e4 --epsilon 1 --delta 1e-6 --sum all --svg {}",
        path.display()
    );
    assert!(hushstream(&arguments).status.success());
    let svg = std::fs::read_to_string(path).unwrap();
    assert_eq!(svg.matches("<polyline").count(), 9);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn bad_requests_end_with_code_two_and_what_is_allowed() {
    for (arguments, words) in [
        ("plan --epsilon 1 --delta 1e-6", "--releases"),
        (
            "plan --releases 10 --epsilon 0 --delta 1e-6",
            "epsilon = 0 is not allowed",
        ),
        (
            "plan --releases 10 --epsilon nan --delta 1e-6",
            "finite number",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1",
            "delta = 1 is not allowed",
        ),
        ("plan --releases 10 --epsilon 1 --delta -0.1", "delta"),
        (
            "plan --releases 1.5 --epsilon 1 --delta 1e-6",
            "whole number",
        ),
        (
            "plan --releases 0 --epsilon 1 --delta 1e-6 --sum tree",
            "releases = 0 is not allowed",
        ),
        ("plan --rounds 1 --epsilon 1 --delta 1e-6", "at least 2"),
        (
            "plan --releases 10 --epsilon 1 --sum blt",
            "cannot carry L2-Laplace noise",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --sum kary",
            "cannot carry Gaussian noise",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --sum forest",
            "no sum is called forest",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --sum window",
            "needs --window",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --bound 0 --sum tree",
            "a positive finite number",
        ),
        (
            "plan --releases 10 --epsilon 1 --delta 1e-6 --svg /nowhere/x.svg",
            "cannot write",
        ),
    ] {
        let output = hushstream(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(message.contains(words), "{arguments}: {message}");
    }
}

const RECIPE: &str = "plan --rounds 1e5 --dim 10 --epsilon 1 --delta 1e-6";

#[test]
fn a_recipe_is_planned_with_its_calibration_and_bound() {
    let plan = json(&format!(
        "{RECIPE} --recipe pftal-convex --lipschitz 1 --radius 2 --json"
    ));
    assert_eq!(plan["recipe"], "pftal-convex");
    assert_eq!(plan["sum"], "tree");
    let parameters = &plan["parameters"];
    assert_eq!(parameters["learner"], "dual-averaging");
    // N = σ√(dh') with 16 of 17 levels in the worst release, H = (2/‖C‖)√(L(L + N)(1 + ln T)/T),
    // ‖C‖ = 4.
    let n = plan["prefix_sd_max"].as_f64().unwrap() * 10_f64.sqrt();
    close(&parameters["noise_length"], n, 1e-9);
    let log = 1.0 + 1e5_f64.ln();
    let h = 0.5 * ((1.0 + n) * log / 1e5).sqrt();
    close(&parameters["curvature"], h, 1e-12);
    let bound = log * ((1.0 + 2.0 * h).powi(2) / 2.0 + n) / h + h * 1e5 * 2.0;
    // The lattice adds a little to N.
    let stated = plan["regret_bound"].as_f64().unwrap();
    assert!(stated > bound && stated < bound * 1.001, "{stated} {bound}");
    assert_eq!(parameters["regret_holds"], "in expectation");
    assert!(
        parameters["regret_theorem"]
            .as_str()
            .unwrap()
            .contains("ST13")
    );
    assert!(parameters["regret_missing"].is_null());
    let guarantee = &plan["guarantee"];
    assert_eq!(guarantee["mechanism"], "pftal-convex");
    assert!(
        guarantee["errata"]
            .as_array()
            .unwrap()
            .contains(&"S3".into())
    );
}

#[test]
fn every_recipe_can_be_planned() {
    for (recipe, numbers) in [
        ("pftal", "--lipschitz 2 --strong-convexity 1"),
        ("pftal-convex", "--lipschitz 1 --set box --radius 0.5"),
        ("pqftl", "--strong-convexity 0.5 --norm 2"),
        ("ftrl", ""),
        ("ftrl", "--set ball --lipschitz 1"),
        ("ftpl", "--set l1-ball --lipschitz 1"),
        ("coco-p", "--lipschitz 2 --strong-convexity 1 --window 100"),
        ("coco-l", "--lipschitz 2 --strong-convexity 1 --window 100"),
        (
            "coco-l",
            "--lipschitz 2 --strong-convexity 1 --window 100 --set spectrahedron",
        ),
    ] {
        let plan = json(&format!("{RECIPE} --recipe {recipe} {numbers} --json"));
        assert_eq!(plan["recipe"], recipe);
        let bound = plan["regret_bound"].as_f64().unwrap();
        assert!(bound > 0.0, "{recipe} {numbers}");
        assert!(plan["ns_per_round"].as_f64().unwrap() > 0.0);
        // Twice the rounds, more regret; half the rounds' share of it, if it is worth anything.
        let longer = json(&format!(
            "plan --rounds 2e5 --dim 10 --epsilon 1 --delta 1e-6 --recipe {recipe} {numbers} --json"
        ));
        let longer = longer["regret_bound"].as_f64().unwrap();
        assert!(
            longer > bound && longer < 2.0 * bound,
            "{recipe}: {bound} {longer}"
        );
    }
}

/// The same words plan every recipe: no flag is asked for. A certified regret, or the reason why
/// there is none; and a bound that says nothing says so.
#[test]
fn one_set_of_words_plans_every_recipe() {
    let listed = json("recipes --json");
    let mut missing = Vec::new();
    for entry in listed.as_array().unwrap() {
        let recipe = entry["recipe"].as_str().unwrap();
        if ["tables", "igw", "linucb-jdp"].contains(&recipe) {
            continue; // they learn from columns: `plan --schema`
        }
        let words =
            format!("plan --recipe {recipe} --rounds 5000 --dim 3 --epsilon 1 --delta 1e-6");
        let plan = json(&format!("{words} --json"));
        assert_eq!(plan["recipe"], recipe);
        assert!(plan["guarantee"]["epsilon"].as_f64().unwrap() <= 1.0);
        let told = |key: &str| {
            [&plan[key], &plan["parameters"][key]]
                .into_iter()
                .find(|v| !v.is_null())
        };
        match plan["regret_bound"].as_f64() {
            Some(bound) => {
                assert!(bound > 0.0 && told("regret_theorem").is_some(), "{recipe}");
                let text = hushstream(&words);
                let text = String::from_utf8(text.stdout).unwrap();
                let empty = bound >= plan["trivial_regret"].as_f64().unwrap();
                assert_eq!(
                    text.contains("says nothing here"),
                    empty,
                    "{recipe}: {text}"
                );
            }
            None => {
                assert!(told("regret_missing").is_some(), "{recipe}");
                missing.push(recipe.to_owned());
            }
        }
    }
    assert_eq!(missing, ["pol"]);
    // One model has an excess risk instead; iterates have a bound for all but a few runs.
    let risk = |rounds: &str| {
        let plan = json(&format!(
            "plan --recipe pol --rounds {rounds} --dim 3 --epsilon 1 --delta 1e-6 --json"
        ));
        plan["excess_risk"].as_f64().unwrap()
    };
    assert!(risk("1e6") < risk("1e4"));
    let regret = |more: &str| {
        let plan = json(&format!(
            "plan --recipe pigd --rounds 5000 --dim 3 --epsilon 1 --delta 1e-6 {more} --json"
        ));
        plan["regret_bound"].as_f64().unwrap()
    };
    assert!(regret("--failing 0.01") > regret("--failing 0.1"));
    assert!(regret("--failing 0.1") > regret(""));
    // AS17's loss sets: a quarter of the noise for the L1 ball in four coordinates.
    let deviation = |losses: &str| {
        let plan = json(&format!(
            "plan --recipe ftrl --set box --losses {losses} --dim 4 --rounds 1024 --epsilon 1 --json"
        ));
        plan["prefix_sd_max"].as_f64().unwrap()
    };
    assert!((deviation("box") / deviation("l1-ball") - 4.0).abs() < 1e-3);
    assert!((deviation("box") / deviation("ball") - 2.0).abs() < 1e-3);
}

#[test]
fn recipes_stand_on_every_sum_that_fits() {
    let all = json(&format!(
        "{RECIPE} --recipe pftal-convex --lipschitz 1 --sum all --json"
    ));
    let bound = |sum: &str| {
        let rows = all.as_array().unwrap();
        let row = rows.iter().find(|row| row["sum"] == sum).unwrap();
        row["regret_bound"].as_f64().unwrap()
    };
    assert!(bound("blt") < bound("honaker") && bound("honaker") < bound("tree"));
    let best = json(&format!(
        "{RECIPE} --recipe pftal-convex --lipschitz 1 --sum best --json"
    ));
    assert_eq!(best["sum"], "blt-normalised");
    // No theorem for other laws: null, and why.
    let all = json(&format!("{RECIPE} --recipe ftrl --sum blt --json"));
    assert!(all["regret_bound"].is_null());
    let reason = all["parameters"]["regret_missing"].as_str().unwrap();
    assert!(reason.contains("one law"), "{reason}");
    let text = hushstream(&format!("{RECIPE} --recipe ftrl --sum smooth"));
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("regret of 100,000 rounds at most"), "{text}");
    assert!(text.contains("AS17 Theorem 3.4") && text.contains("fixed in advance"));
}

#[test]
fn bad_recipes_end_with_code_two_and_what_is_allowed() {
    for (arguments, words) in [
        ("--recipe svm", "no recipe is called svm"),
        (
            "--recipe pigd-convex --strong-convexity 1",
            "strongly convex by itself: use pigd",
        ),
        ("--recipe coco-p --window 0", "window = 0"),
        (
            "--recipe dartboard --max-per-person 5000",
            "contributions of a person = 5000",
        ),
        ("--recipe exp2 --sum tree", "does not stand on sums"),
        ("--recipe tables", "plan --schema"),
        (
            "--recipe ftrl --set simplex --radius 2",
            "--radius is not for this set",
        ),
        (
            "--recipe coco-l --lipschitz 1 --strong-convexity 1 --window 9 --set spectrahedron \
             --dim 11",
            "n(n+1)/2",
        ),
        (
            "--recipe pftal-convex --lipschitz 0",
            "a positive finite number",
        ),
        ("--recipe pftal-convex --lipschitz 1 --bound 2", "--bound"),
        ("--lipschitz 1", "--recipe"),
        ("--recipe ftpl --sum tree", "one law"),
    ] {
        // The last --dim counts once only, so it comes with the case if it differs.
        let base = if arguments.contains("--dim") {
            "plan --rounds 1e5 --epsilon 1 --delta 1e-6"
        } else {
            RECIPE
        };
        let output = hushstream(&format!("{base} {arguments}"));
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(message.contains(words), "{arguments}: {message}");
    }
}

/// With a stated gap the bound of limited updates stops growing; where a gap says nothing, it is
/// refused.
#[test]
fn a_gap_ends_the_growth_of_limited_updates() {
    let bound = |flags: &str| {
        let plan = json(&format!(
            "plan --recipe limited-updates --dim 8 --epsilon 1 --json {flags}"
        ));
        plan["regret_bound"].as_f64().unwrap()
    };
    let (short, long) = (
        bound("--rounds 1e4 --gap 0.2"),
        bound("--rounds 1e8 --gap 0.2"),
    );
    assert!(long < short + 20.0 && short > 50.0, "{short} {long}");
    assert!(bound("--rounds 1e8") > 20.0 * long);
    assert!(bound("--rounds 1e8 --gap 0.1") > long);
    for (refused, told) in [
        ("--recipe limited-updates --gap 0", "above 0"),
        ("--recipe limited-updates --gap 1.5", "at most 1"),
        ("--recipe dartboard --gap 0.5", "--gap is for"),
        ("--recipe ftrl --gap 0.5", "--gap is for"),
        (
            "--recipe limited-updates --set ball --gap 0.5",
            "--gap is for",
        ),
    ] {
        let output = hushstream(&format!("plan --rounds 1e4 --dim 8 --epsilon 1 {refused}"));
        assert_eq!(output.status.code(), Some(2), "{refused}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains(told), "{refused}: {message}");
    }
}

/// JKT12 Theorem 6: fewer records for a larger error, more for more privacy; and only `pol` is
/// asked.
#[test]
fn how_many_records_one_model_needs() {
    let records = |flags: &str| {
        let plan = json(&format!(
            "plan --recipe pol --lipschitz 1 --dim 20 --delta 1e-6 --json {flags}"
        ));
        plan["records"].as_u64().unwrap()
    };
    let usual = records("--excess-risk 0.1 --epsilon 1");
    assert!(usual > 100 && usual < 1 << 40, "{usual}");
    assert!(records("--excess-risk 0.2 --epsilon 1") < usual);
    assert!(records("--excess-risk 0.1 --epsilon 0.1") > usual);
    for refused in [
        "plan --recipe pftal --excess-risk 0.1 --epsilon 1 --delta 1e-6 --lipschitz 1",
        "plan --recipe pol --excess-risk -1 --epsilon 1 --delta 1e-6 --lipschitz 1",
        "plan --recipe pftal --releases 100 --epsilon 1 --delta 1e-6 --lipschitz 1",
    ] {
        let output = hushstream(refused);
        assert_eq!(output.status.code(), Some(2), "{refused}");
        assert!(!output.stderr.is_empty());
    }
}

/// A reader that has enough, as `head` does, is no error.
#[test]
fn a_closed_pipe_ends_the_program_quietly() {
    for arguments in [
        "plan --releases 1e3 --dim 2 --epsilon 1 --delta 1e-6",
        "recipes --bounds",
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hushstream"))
            .args(arguments.split_whitespace())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(
            output.status.success() && told.is_empty(),
            "{arguments}: {told}"
        );
    }
}
