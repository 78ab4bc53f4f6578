//! `hushstream compare` as a person or a script meets them.

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

#[test]
fn a_comparison_repeats_and_private_learning_beats_doing_nothing() {
    let arguments =
        "compare --recipes ftrl,ftpl --task experts --rounds 4096 --epsilon 1,4 --repeats 3 --json";
    let first = json(arguments);
    let second = json(arguments);
    let rows = first.as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for (row, again) in rows.iter().zip(second.as_array().unwrap()) {
        assert_eq!(row["regret"], again["regret"], "seeds are fixed");
        let regret = row["regret"]["mean"].as_f64().unwrap();
        assert!(regret < 0.5 * row["nothing"].as_f64().unwrap(), "{row}");
        for key in [
            "recipe", "sum", "epsilon", "delta", "rounds", "loss", "seconds",
        ] {
            assert!(!row[key].is_null(), "{key}");
        }
    }
    // More budget, less regret.
    let regret = |i: usize| rows[i]["regret"]["mean"].as_f64().unwrap();
    assert!(regret(1) < regret(0) && regret(3) < regret(2));
}

#[test]
fn curves_pictures_and_pages_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let arguments = format!(
        "compare --recipes pftal,pqftl --sum tree,blt --task ridge --dim 3 --rounds 2000 --repeats \
         2 --csv {} --svg {} --html {}",
        path("c.csv"),
        path("c.svg"),
        path("c.html")
    );
    let output = hushstream(&arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("nothing here protects anybody"));
    let csv = std::fs::read_to_string(path("c.csv")).unwrap();
    assert!(
        csv.starts_with("recipe,sum,game,epsilon,delta,round,regret\n")
            && csv.lines().count() > 100
    );
    let page = std::fs::read_to_string(path("c.html")).unwrap();
    assert_eq!(page.matches("<polyline").count(), 4);
    assert!(page.contains("<td>pqftl</td><td>blt</td>") && !page.contains("NaN"));
}

/// Decisions by a context: private and not, beside what is certified, for several numbers of arms.
#[test]
fn decisions_are_compared() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let arguments = "compare --task decide --recipes igw,linucb-jdp --arms 5,20 --dim 5 --rounds \
                     20000 --epsilon 4 --repeats 2";
    let rows = json(&format!("{arguments} --json"));
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 4);
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap();
        let regret = row["regret"]["mean"].as_f64().unwrap();
        assert!(number("without_privacy") < regret, "{row}");
        assert!(regret < 0.7 * number("nothing"), "{row}");
        match row["recipe"].as_str().unwrap() {
            "igw" => assert!(regret < number("certified"), "{row}"),
            _ => assert!(row["certified"].is_null(), "{row}"),
        }
    }
    let pictures = format!(
        "{arguments} --csv {} --html {}",
        path("c.csv"),
        path("c.html")
    );
    let output = hushstream(&pictures);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.contains("without privacy"),
        "{text}"
    );
    let page = std::fs::read_to_string(path("c.html")).unwrap();
    assert_eq!(page.matches("<polyline").count(), 8);
    assert!(
        std::fs::read_to_string(path("c.csv"))
            .unwrap()
            .contains("\nigw,exact,20 arms,inf,0,")
    );
    for (odd, flag) in [
        (
            "compare --task decide --recipes igw --game switching",
            "--game",
        ),
        ("compare --task decide --recipes igw --tuned", "--tuned"),
        ("compare --recipes ftrl --arms 5", "--arms"),
        ("compare --recipes ftrl --exploration 2", "--exploration"),
        ("compare --task decide --recipes ftrl", "does not decide"),
        ("compare --task decide --recipes igw --arms 1", "arms = 1"),
        ("compare --task decides --recipes igw", "ridge, decide"),
    ] {
        let output = hushstream(odd);
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && told.contains(flag), "{told}");
    }
}

#[test]
fn a_papers_figure_is_played_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let arguments = format!(
        "compare --figure jkt2a --rounds 1500 --repeats 1 --csv {} --svg {}",
        path("f.csv"),
        path("f.svg")
    );
    let output = hushstream(&arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.contains("as printed (UNSOUND)"),
        "{text}"
    );
    assert_eq!(
        std::fs::read_to_string(path("f.csv"))
            .unwrap()
            .lines()
            .count(),
        1 + 7 * 6
    );
    assert!(
        !std::fs::read_to_string(path("f.svg"))
            .unwrap()
            .contains("NaN")
    );
}

/// All recipes for experts side by side: regret below what is certified, where something is.
#[test]
fn every_family_plays() {
    let rows = json(
        "compare --recipes ftrl,ftpl,pftal-convex,pigd-convex,dartboard,dartboard-batched,\
         hedge-batched,limited-updates,cover,exp2,exp2-batched,scrible --task experts --game \
         stochastic --dim 2 --rounds 400 --epsilon 4 --repeats 8 --json",
    );
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 12);
    for row in rows {
        let regret = row["regret"]["mean"].as_f64().unwrap();
        assert!(regret <= row["certified"].as_f64().unwrap(), "{row}");
        assert!(row["trivial"].as_f64().unwrap() >= 400.0, "{row}");
    }
    for (recipe, task) in [
        ("pftal-bandit", "mean"),
        ("pftal-bandit", "experts"),
        ("sparse-ftrl", "classify"),
        ("limited-updates", "classify"),
        ("coco-p", "mean"),
        ("scrible", "linear"),
    ] {
        let rows = json(&format!(
            "compare --recipes {recipe} --task {task} --dim 2 --rounds 64 --repeats 1 --json"
        ));
        assert_eq!(rows[0]["recipe"], recipe);
    }
}

/// One command shows what an adversary gains by seeing the plays.
#[test]
fn adaptive_and_replayed_games_stand_side_by_side() {
    let rows = json(
        "compare --recipes hedge-batched --game afkt4,afkt4-replayed,afkt5,afkt5-replayed --rounds \
         500 --epsilon 0.1 --delta 0 --repeats 1 --json",
    );
    let regret = |i: usize| rows[i]["regret"]["mean"].as_f64().unwrap();
    assert!(regret(0) > 450.0 && regret(2) > 450.0, "{rows}");
    assert!(regret(1) < 250.0 && regret(3) < 250.0, "{rows}");
    // No theorem covers a game that sees the plays.
    assert!(rows[2]["certified"].is_null() && !rows[3]["certified"].is_null());
    let pairs = json("compare --recipes dartboard --game afkt6 --rounds 20 --repeats 1 --json");
    assert!(pairs[0]["regret"]["mean"].as_f64().unwrap() > 10.0);
    let directory = tempfile::tempdir().unwrap();
    let svg = directory.path().join("s.svg").display().to_string();
    let output = hushstream(&format!(
        "compare --figure separation --rounds 512 --repeats 1 --svg {svg}"
    ));
    assert!(output.status.success());
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert_eq!(drawn.matches("<polyline").count(), 3);
}

/// Three printed exponents and three certified bounds at each of thirteen budgets.
#[test]
fn the_experts_figure_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (csv, svg) = (path("f.csv"), path("f.svg"));
    let arguments = format!("compare --figure afkt1 --rounds 4096 --csv {csv} --svg {svg}");
    let output = hushstream(&arguments);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && text.contains("T = d = 4096"),
        "{text}"
    );
    let rows = std::fs::read_to_string(csv).unwrap();
    assert_eq!(rows.lines().count(), 1 + 13 * 6);
    assert!(!rows.contains("NaN") && !std::fs::read_to_string(svg).unwrap().contains("NaN"));
}

/// Each override changes the regret it should, and the calibrated value changes nothing.
#[test]
fn calibration_and_set_can_be_overridden() {
    let base = "compare --rounds 1024 --repeats 1 --json --recipes";
    let regret = |arguments: &str| {
        let rows = json(&format!("{base} {arguments}"));
        rows[0]["regret"]["mean"].as_f64().unwrap()
    };
    // η = √(ln 4/(1024/4)) for four experts with losses in [0, 1].
    let rate = (4.0_f64.ln() / 256.0).sqrt();
    let calibrated = regret("ftrl");
    assert!((regret(&format!("ftrl --learning-rate {rate}")) - calibrated).abs() < 1e-6);
    assert!((regret("ftrl --learning-rate 1e-9") - calibrated).abs() > 1.0);
    let linear = regret("pftal-convex --task linear");
    assert!((regret("pftal-convex --task linear --set ball") - linear).abs() < 1e-9);
    for other in ["--curvature 50", "--set box --radius 0.2", "--set l1-ball"] {
        let changed = regret(&format!("pftal-convex --task linear {other}"));
        assert!((changed - linear).abs() > 1e-3, "{other}");
    }
    let alias = regret("pftal-convex --task linear --strong-convexity 50");
    assert!((alias - regret("pftal-convex --task linear --curvature 50")).abs() < 1e-12);
    let matrices = "coco-l --task mean --dim 3 --set spectrahedron --window 64 --epsilon 8";
    assert!(regret(matrices).is_finite());
}

#[test]
fn impossible_comparisons_end_with_code_two_and_the_reason() {
    for (arguments, words) in [
        ("compare --recipes svm", "no recipe is called svm"),
        (
            "compare --recipes ftrl --task chess",
            "no task is called chess",
        ),
        (
            "compare --recipes ftrl --game poker",
            "no game is called poker",
        ),
        (
            "compare --recipes ftrl --task mean",
            "does not serve the task mean",
        ),
        (
            "compare --recipes pftal --task classify",
            "needs strongly convex losses",
        ),
        ("compare --recipes ftpl --sum tree", "noise of one law"),
        (
            "compare --recipes pol --task mean",
            "one model at the end and plays no rounds",
        ),
        (
            "compare --recipes dartboard --task mean",
            "linear losses on the simplex",
        ),
        (
            "compare --recipes dartboard --game afkt5 --dim 3 --rounds 90",
            "leave out --dim",
        ),
        (
            "compare --recipes dartboard --game afkt6 --rounds 1000",
            "99 of afkt6",
        ),
        (
            "compare --recipes ftrl --game afkt5 --task linear --rounds 90",
            "a game of 200 experts",
        ),
        (
            "compare --recipes pftal --task mean --losses ball",
            "no linear losses",
        ),
        (
            "compare --recipes ftrl --rounds 1",
            "rounds = 1 is not allowed",
        ),
        ("compare --recipes ftrl --repeats 0", "--repeats = 0"),
        ("compare --recipes ftrl --epsilon 0", "epsilon = 0"),
        ("compare --recipes ftpl --delta 0", "Gaussian"),
        (
            "compare --recipes ftrl --learning-rate 0",
            "learning rate = 0",
        ),
        (
            "compare --recipes pftal --task mean --curvature -1",
            "curvature = -1",
        ),
        (
            "compare --recipes pftal --task ridge --set box --radius 1",
            "a length of at most 1",
        ),
        (
            "compare --recipes ftpl --task linear --set nowhere.set",
            "cannot read nowhere.set",
        ),
        ("compare --recipes ftpl --set disc", "no set is called disc"),
        (
            "compare --recipes pqftl --task ridge --set box --radius 0.1",
            "a ball of its own",
        ),
        ("compare --recipes ftrl --radius 2", "--set"),
    ] {
        let output = hushstream(arguments);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {message}");
        assert!(message.contains(words), "{arguments}: {message}");
    }
}
