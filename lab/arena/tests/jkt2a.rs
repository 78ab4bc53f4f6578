//! JKT12 Figure 2a at its full length.

#![allow(clippy::unwrap_used)] // a test may stop where it fails
#![cfg(feature = "long")]

use hushstream_arena::figures::jkt2a::{EPSILONS, Method, ROUNDS, figure, printed_delta};

#[test]
fn figure_2a() {
    let figure = figure(ROUNDS, 5, &EPSILONS).unwrap();
    println!("ridge in hindsight: average loss {:.5}", figure.ridge);
    for row in &figure.rows {
        println!(
            "{:5} {:24} {:12.5} [{:.5}, {:.5}]",
            row.epsilon,
            row.method.to_string(),
            row.mean,
            row.low,
            row.high
        );
    }
    for epsilon in EPSILONS {
        let delta = printed_delta(epsilon, ROUNDS).unwrap();
        println!("{epsilon:5} as printed: delta {delta:.2e}");
    }
    let line = |method: Method| -> Vec<f64> {
        let rows = figure.rows.iter().filter(|row| row.method == method);
        rows.map(|row| row.mean).collect()
    };
    let (leader, tree, blt) = (
        line(Method::NonPrivate),
        line(Method::Tree),
        line(Method::Blt),
    );
    for index in 0..EPSILONS.len() {
        assert!(leader[index] < blt[index] && blt[index] < tree[index]);
    }
    for method in [Method::Tree, Method::Blt, Method::PrintedNoise] {
        let means = line(method);
        assert!(means.is_sorted_by(|a, b| a > b), "{method}: {means:?}");
    }
}
