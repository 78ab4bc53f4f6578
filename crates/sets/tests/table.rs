//! The table of capabilities in the crate documentation agrees with the code.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use hushstream_sets::{Capability, ConvexSet, SetError};
use std::collections::HashSet;

fn refusal(set: &dyn ConvexSet, capability: Capability) -> Option<SetError> {
    let mut point = vec![0.1; set.dimension()];
    let direction = vec![1.0; set.dimension()];
    match capability {
        Capability::Project => set.project(&mut point).err(),
        Capability::Minimise => set.minimise(&direction, &mut point).err(),
        Capability::LocalOracle => set.local_oracle().err(),
        Capability::Barrier => set.barrier().err(),
        Capability::Net => set.net(set.diameter()).err(),
        Capability::Vertices => set.vertices().err(),
    }
}

#[test]
fn the_table_is_true() {
    let documentation = include_str!("../src/lib.rs");
    let mut checked = 0;
    for (name, set) in common::examples() {
        let start = format!("//! | [`{name}`] |");
        let row = documentation.lines().find(|line| line.starts_with(&start));
        let Some(row) = row else {
            assert!(["Scaled", "Shifted"].contains(&name), "{name} has no row");
            continue;
        };
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for (cell, capability) in cells[2..].iter().zip(Capability::ALL) {
            let expected = match *cell {
                "✓" => true,
                "–" => false,
                other => panic!("{name}: {other}"),
            };
            assert_eq!(set.can(capability), expected, "{name}: {capability}");
            match refusal(set.as_ref(), capability) {
                None => assert!(expected, "{name}: {capability}"),
                Some(SetError::Unable(error)) => {
                    assert!(!expected, "{name}: {error}");
                    assert_eq!((error.set, error.capability), (set.name(), capability));
                    assert!(error.serves.contains(&"pftal"));
                    // Exactly the recipes for which a capability of the set is enough.
                    let enough = |recipe: &str| {
                        let able = Capability::ALL.into_iter().filter(|&able| set.can(able));
                        able.flat_map(Capability::recipes)
                            .any(|name| *name == recipe)
                    };
                    let all = Capability::ALL.into_iter().flat_map(Capability::recipes);
                    let expected: HashSet<&str> =
                        all.copied().filter(|name| enough(name)).collect();
                    assert_eq!(error.serves.len(), expected.len(), "{name}: {error}");
                    assert!(error.serves.iter().all(|recipe| expected.contains(recipe)));
                }
                Some(error) => panic!("{name}: {error}"),
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 60);
}

/// Wrong lengths and numbers that are not finite are errors, never panics, in every set.
#[test]
fn bad_arguments_are_refused_everywhere() {
    for (name, set) in common::examples() {
        let size = set.dimension();
        let mut short = vec![0.0; size - 1];
        let mut out = vec![0.0; size];
        let bad = vec![f64::NAN; size];
        assert!(set.centre(&mut short).is_err(), "{name}");
        assert!(set.project(&mut short).is_err(), "{name}");
        assert!(set.project(&mut bad.clone()).is_err(), "{name}");
        assert!(set.minimise(&short, &mut out).is_err(), "{name}");
        assert!(set.minimise(&out.clone(), &mut short).is_err(), "{name}");
        assert!(set.minimise(&bad, &mut out).is_err(), "{name}");
        assert!(!set.contains(&short, 1e9) && !set.contains(&bad, 1e9));
        assert!(set.net(-1.0).is_err() && set.net(f64::NAN).is_err());
        if let Ok(mut oracle) = set.local_oracle() {
            set.centre(&mut out).unwrap();
            let centre = out.clone();
            assert!(oracle.step(&short, 0.1, &centre).is_err());
            assert!(oracle.step(&bad, 0.1, &centre).is_err());
            assert!(oracle.step(&centre, 0.1, &short).is_err());
            assert!(oracle.step(&centre, f64::NAN, &centre).is_err());
            assert!(oracle.start(&vec![1e6; size]).is_err());
        }
        if let Ok(barrier) = set.barrier() {
            let long = vec![0.0; barrier.free_dimension() + 1];
            assert!(barrier.value(&long) == f64::INFINITY);
            assert!(barrier.gradient(&long).is_err());
            assert!(barrier.hessian(&long).is_err());
            assert!(barrier.lift(&long).is_err());
            assert!(barrier.pull_back(&bad).is_err());
            assert!(barrier.pull_back(&short).is_err());
        }
    }
}
