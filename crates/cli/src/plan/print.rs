//! The table of `plan`.

use super::arguments::Arguments;
use super::rows::Row;
use crate::output::tell;
use comfy_table::Table;
use hushstream::warnings::{large_delta, trivial_bound};
use hushstream_mechanism::sums::SumKind;
use hushstream_pictures::numbers::{bytes, delta, grouped, short};

/// Approximate bytes of a weight of a sparse model, in memory and as text.
const MODEL_BYTES: u64 = 26;

pub(crate) fn print(arguments: &Arguments, rows: &[Row]) {
    let request = rows[0].plan.request();
    tell!(
        "{} releases of a sum in {} dimension{}, contributions of length at most L = {}, \
         (ε, δ) = ({}, {}), {}{}",
        grouped(request.releases),
        grouped(u64::from(request.dimension)),
        if request.dimension == 1 { "" } else { "s" },
        request.bound,
        arguments.epsilon,
        delta(arguments.delta),
        request.adjacency,
        if request.batch == 1 {
            String::new()
        } else {
            format!(", {} records per item", request.batch)
        },
    );
    if let Some(told) = records(arguments).and_then(|n| large_delta(arguments.delta, n)) {
        tell!("{told}");
    }
    if let Some(mu) = rows[0].mu {
        tell!("Gaussian privacy parameter μ = {mu:.6}");
    }
    let mut table = Table::new();
    table
        .load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY)
        .set_header([
            "sum",
            "levels",
            "noise sd of a node",
            "worst sd of a sum",
            "against the tree",
            "memory",
            "time per round",
        ]);
    let tree = rows
        .iter()
        .find(|row| row.plan.request().kind == SumKind::Tree);
    for row in rows {
        table.add_row([
            row.sum.clone(),
            row.levels
                .map_or("–".to_owned(), |levels| levels.to_string()),
            short(row.node_sigma),
            short(row.prefix_sd_max),
            tree.map_or("–".to_owned(), |tree| {
                format!("{:.2}", row.prefix_sd_max / tree.prefix_sd_max)
            }),
            bytes(row.memory_bytes),
            format!("{} µs", short(row.ns_per_round / 1000.0)),
        ]);
    }
    tell!("{table}");
    for row in rows {
        if let Some(error) = row.workload_sd {
            tell!(
                "{}: {} under workload {}",
                row.sum,
                short(error),
                arguments.workload
            );
        }
    }
    for row in rows.iter().filter(|row| row.recipe.is_some()) {
        print_recipe(row);
    }
    let error = |row: &Row| row.workload_sd.unwrap_or(row.prefix_sd_max);
    if let Some(best) = rows.iter().min_by(|a, b| error(a).total_cmp(&error(b))) {
        let which = match best.workload_sd {
            None => "worst-case error".to_owned(),
            Some(_) => format!("error under workload {}", arguments.workload),
        };
        tell!(
            "Smallest {which}: {} ({}). Its guarantee would be:\n",
            best.sum,
            best.parameters.name
        );
        tell!("{}", best.guarantee);
    }
}

/// The stated number of records.
fn records(arguments: &Arguments) -> Option<u64> {
    let releases = arguments
        .releases
        .map(|releases| releases.saturating_mul(arguments.batch));
    arguments.rounds.or(releases)
}

/// The recipe's calibration on this sum, and its regret bound.
fn print_recipe(row: &Row) {
    let chosen = &row.parameters.calibration;
    let numbers = [
        ("curvature", chosen.curvature),
        ("learning rate", chosen.learning_rate),
        ("noise length", chosen.noise_length),
    ];
    let numbers: Vec<String> = numbers
        .iter()
        .filter_map(|(name, value)| value.map(|value| format!(", {name} {}", short(value))))
        .collect();
    tell!(
        "{} on {}: {} over the {} of diameter {}{}",
        row.recipe.as_deref().unwrap_or_default(),
        row.sum,
        chosen.learner.unwrap_or_default(),
        chosen.set.unwrap_or_default(),
        short(chosen.diameter.unwrap_or_default()),
        numbers.concat()
    );
    if let Some(records) = chosen.rows_until_signal {
        tell!(
            "    a feature stands out from the noise after about {} records of full length that \
             have only this feature and agree\n    time per round is for records of 32 features; \
             writing a model takes about {} more memory",
            grouped(records.ceil() as u64),
            bytes(MODEL_BYTES * u64::from(row.parameters.dim))
        );
    }
    match (row.regret_bound, &chosen.regret_missing) {
        (Some(bound), _) => {
            let rounds = chosen.rounds.unwrap_or(1).max(1);
            tell!(
                "    regret of {} rounds at most {} ({} per round) {}\n    {}",
                grouped(rounds),
                short(bound),
                short(bound / rounds as f64),
                chosen.regret_holds.as_deref().unwrap_or_default(),
                chosen.regret_theorem.unwrap_or_default()
            );
            if let Some(told) = row
                .trivial_regret
                .and_then(|most| trivial_bound(bound, most))
            {
                tell!("    {told}");
            }
        }
        (None, Some(reason)) => tell!("    no regret bound: {reason}"),
        (None, None) => {}
    }
}
