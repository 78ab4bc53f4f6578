//! The demonstration runs without data, and its pages hold its figures.

use crate::common::Folder;

#[test]
fn the_demonstration_learns_from_people_and_shows_what() {
    let folder = Folder::new();
    let (out, error) = folder.succeeds("demo --folder d --short");
    assert!(
        out.contains("hushstream learn d/people.csv --schema d/people.toml"),
        "{out}"
    );
    assert!(
        error.contains("over 6,513 records that the model has not learned from"),
        "{error}"
    );
    let line = out.lines().find(|line| line.starts_with("AUC ")).unwrap();
    let auc: f64 = line[4..9].parse().unwrap();
    assert!((0.89..0.92).contains(&auc), "{line}");
    assert!(
        line.contains("guessing 0.500; without privacy 0.91"),
        "{line}"
    );
    let picture = folder.text("d/people.svg");
    assert!(picture.contains(&line[4..9]) && !picture.contains("NaN"));
    assert!(folder.text("d/people-report.html").contains(&line[4..9]));
    // The page of the model holds no figure about the people in the data.
    let page = folder.text("d/people.html");
    assert!(page.contains("whether income is &gt;50K") && !page.contains("AUC"));
    assert!(!page.contains("SIMULATED"));
    // It can be shown again.
    folder.succeeds("demo --folder d --short");
}

#[test]
fn the_data_can_be_had_alone() {
    let folder = Folder::new();
    let (out, _) = folder.succeeds("demo --folder d --data-only");
    assert_eq!(out, "d/people.csv\nd/new-people.csv\nd/flights.csv.gz\n");
    let rows = |name: &str| folder.text(name).lines().count();
    assert_eq!(
        (rows("d/people.csv"), rows("d/new-people.csv")),
        (26_048, 6_513)
    );
}
