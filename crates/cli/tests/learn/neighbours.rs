//! Two streams that differ in one row: everything about a run that can be seen without opening its
//! private files is equal, down to the length of every frame.

use crate::common::{BUDGET, Folder, SCHEMA, rows};
use crate::crash_points::cuts;

/// Lengths of a journal's and a ledger's frames, all that a quiet run says, and how it ends.
#[derive(PartialEq, Eq, Debug)]
struct Outside {
    journal: Vec<usize>,
    ledger: Vec<usize>,
    told: String,
    code: Option<i32>,
}

fn outside(learn: &str, data: &str) -> Outside {
    let folder = Folder::in_memory();
    folder.write("d.csv", data);
    let learn = format!(
        "learn d.csv {learn} {BUDGET} --seed-insecure 3 --sync-milliseconds 0 --state state \
         --ledger ledger --quiet"
    );
    let output = folder.run(&learn);
    let told = [output.stdout, output.stderr].map(|told| String::from_utf8(told).unwrap());
    Outside {
        journal: cuts(&folder.read("state/journal")),
        ledger: cuts(&folder.read("ledger")),
        told: told.concat(),
        code: output.status.code(),
    }
}

/// The table with row 41 replaced.
fn neighbour(count: u64, row: &str) -> String {
    let table = rows(count, 1);
    let line = table.lines().nth(41).unwrap();
    table.replacen(line, row, 1)
}

#[test]
fn neighbouring_streams_have_journals_and_ledgers_of_equal_length() {
    let linear = [
        "--recipe pftal-convex --batch 4",
        "--recipe pftal-convex --batch 1 --sum tree",
        "--recipe pqftl",
        "--recipe pigd",
        "--recipe limited-updates",
        "--recipe pftal-convex --batch 4 --person who --max-per-person 1",
        "--recipe pigd --person who --max-per-person 1",
    ]
    .map(|recipe| {
        let schema = match recipe.contains("--person") {
            true => SCHEMA.replace("--ignore who", ""),
            false => SCHEMA.to_owned(),
        };
        format!("{schema} --missing-target null {recipe}")
    });
    let plays = [
        "--task experts --features a,b --bounds a=0:10,b=0:10 --batch 2",
        "--task experts --features a,b --bounds a=0:10,b=0:10 --recipe dartboard",
        "--target y --features a --bounds a=0:1 --recipe cover --radius 1",
    ]
    .map(str::to_owned);
    // Clipped, of another person, of the other class, longer, and without a target.
    let others = [
        "7,-70,z,3,1",
        "0,0,y,1,0",
        "0.123456789,1e1,z,2,1",
        "1,10,x,31,",
    ];
    // Once more the person of the first row, who has contributed often enough.
    let table = rows(100, 1);
    let first = table.lines().nth(1).and_then(|line| line.split(',').nth(3));
    let again = format!("0.5,5,x,{},1", first.unwrap());
    for learn in linear.iter().chain(&plays) {
        let one = outside(learn, &table);
        assert_eq!(one.code, Some(0), "{learn}: {}", one.told);
        for other in others.into_iter().chain([&*again]) {
            if other.ends_with(',') && !learn.contains("--missing-target") {
                continue;
            }
            let two = outside(learn, &neighbour(100, other));
            assert_eq!(one, two, "{learn}, {other}");
        }
    }
    // A bandit publishes its arms with what they were played for: noisy numbers, and plays.
    let bandit = "--task bandit --features a,b --bounds a=0:10,b=0:10 --batch 2";
    let told = String::new;
    let of = |data: &str| Outside {
        told: told(),
        ..outside(bandit, data)
    };
    for other in &others[..3] {
        assert_eq!(of(&rows(100, 1)), of(&neighbour(100, other)), "{other}");
    }
}

/// A journal that is written anew on the way.
#[test]
fn so_have_those_with_checkpoints() {
    let learn = "--target y --ignore who --hash-bits 13 --batch 2 --recipe pftal-convex";
    let one = outside(learn, &rows(170, 1));
    assert!(one.journal.len() < 60, "{:?}", one.journal);
    assert_eq!(one, outside(learn, &neighbour(170, "7,-70,z,3,1")));
}
