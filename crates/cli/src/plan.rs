//! `hushstream plan`: what a private sum will cost and how well it will do, before any data is touched.

use crate::chart::{Series, log_log};
use crate::names::{AdjacencyName, NoiseName};
use crate::numbers::{bytes, count, delta, finite, grouped, short};
use anyhow::{Context, Result, bail};
use clap::Args;
use comfy_table::Table;
use hushstream_account::{Budget, Charge, FilterKind, Guarantee};
use hushstream_mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumPlan, SumRequest};
use hushstream_mechanism::{
    Contribution, GuaranteeKind, Ledger, MemoryStorage, Participation, Raw, Transcript, Windowed,
};
use hushstream_noise::Key;
use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments of `plan`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Prefix sums that will be released.
    #[arg(long, value_parser = count, conflicts_with = "rounds", required_unless_present = "rounds")]
    releases: Option<u64>,
    /// Rounds of a learner: it releases one sum fewer.
    #[arg(long, value_parser = count)]
    rounds: Option<u64>,
    /// Coordinates of a contribution.
    #[arg(long, default_value_t = 1)]
    dim: u32,
    /// Privacy loss ε.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    epsilon: f64,
    /// Privacy loss δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 0.0)]
    delta: f64,
    /// What a neighbouring data set is.
    #[arg(long, value_enum, default_value_t = AdjacencyName::ReplaceOne)]
    adjacency: AdjacencyName,
    /// tree, tree-padded, honaker, smooth, blt, kary, window, octave; `best`, or `all` side by side.
    #[arg(long, default_value = "best")]
    sum: String,
    /// The noise; by default Gaussian for δ > 0 and L2-Laplace for δ = 0.
    #[arg(long, value_enum)]
    noise: Option<NoiseName>,
    /// Public bound on the length of one contribution (L1 for Laplace noise, else L2).
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 1.0)]
    bound: f64,
    /// Records summed into one item.
    #[arg(long, value_parser = count, default_value_t = 1)]
    batch: u64,
    /// Items for which `--sum window` protects a record.
    #[arg(long, value_parser = count)]
    window: Option<u64>,
    /// Buffers of `--sum blt`, 2 to 8.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(2..=8))]
    buffers: u8,
    /// Protect persons with at most this many contributions each.
    #[arg(long, value_parser = count)]
    max_per_person: Option<u64>,
    /// Least distance, in items, between two contributions of one person.
    #[arg(long, value_parser = count, default_value_t = 1, requires = "max_per_person")]
    min_separation: u64,
    /// Print one JSON object (with `--sum all` a list).
    #[arg(long)]
    json: bool,
    /// Write a picture of the error against the number of items.
    #[arg(long)]
    svg: Option<PathBuf>,
}

/// One planned sum, with the stable keys of `--json`.
#[derive(Serialize)]
struct Row {
    recipe: Option<String>,
    sum: String,
    noise: Noise,
    mu: Option<f64>,
    releases: u64,
    levels: Option<u32>,
    node_sigma: f64,
    prefix_sd_max: f64,
    state_vectors: u64,
    memory_bytes: u64,
    ns_per_round: f64,
    regret_bound: Option<f64>,
    parameters: Parameters,
    guarantee: Guarantee,
    #[serde(skip)]
    plan: SumPlan,
}

#[derive(Serialize)]
struct Parameters {
    name: String,
    dim: u32,
    bound: f64,
    batch: u64,
    radius: i64,
    sensitivity: f64,
    noise_scale: u64,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let rows = rows(arguments)?;
    if let Some(path) = &arguments.svg {
        std::fs::write(path, picture(arguments, &rows))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if arguments.json {
        let json = match (&rows[..], arguments.sum.as_str()) {
            ([row], sum) if sum != "all" => serde_json::to_string_pretty(row)?,
            _ => serde_json::to_string_pretty(&rows)?,
        };
        println!("{json}");
    } else {
        print(arguments, &rows);
    }
    Ok(())
}

fn rows(arguments: &Arguments) -> Result<Vec<Row>> {
    let kinds = kinds(arguments)?;
    let noise = noise(arguments);
    let mut plans = Vec::new();
    for kind in &kinds {
        match request(arguments, *kind, noise)?.plan() {
            Ok(plan) => plans.push(plan),
            // Side by side, what does not fit is left out; alone, it is an error.
            Err(error) if kinds.len() == 1 => return Err(error.into()),
            Err(error) => eprintln!("{kind}: {error}"),
        }
    }
    if arguments.sum == "best" {
        plans.sort_by(|a, b| a.prefix_sd_max().total_cmp(&b.prefix_sd_max()));
        plans.truncate(1);
    }
    if plans.is_empty() {
        bail!("no sum fits this request");
    }
    plans.into_iter().map(row).collect()
}

fn kinds(arguments: &Arguments) -> Result<Vec<SumKind>> {
    let noise = noise(arguments);
    let chosen = match arguments.sum.as_str() {
        "all" | "best" => SumKind::ALL
            .into_iter()
            .filter(|kind| kind.accepts(noise).is_ok())
            // The best is wanted for a known horizon, and padding never makes a sum better.
            .filter(|kind| {
                arguments.sum == "all" || !matches!(kind, SumKind::Octave | SumKind::PaddedTree)
            })
            .collect(),
        "window" => match arguments.window {
            Some(width) => vec![SumKind::Window(width)],
            None => bail!(
                "--sum window needs --window, the number of items for which a record is protected"
            ),
        },
        name => vec![name.parse().map_err(anyhow::Error::msg)?],
    };
    let buffers = |kind| {
        if kind == SumKind::BLT {
            SumKind::Blt(arguments.buffers)
        } else {
            kind
        }
    };
    Ok(chosen.into_iter().map(buffers).collect())
}

fn noise(arguments: &Arguments) -> Noise {
    match arguments.noise {
        Some(name) => name.into(),
        None if arguments.delta > 0.0 => Noise::Gaussian,
        None => Noise::L2Laplace,
    }
}

fn request(arguments: &Arguments, kind: SumKind, noise: Noise) -> Result<SumRequest> {
    let releases = match (arguments.releases, arguments.rounds) {
        (Some(releases), _) => releases,
        (None, Some(rounds)) if rounds >= 2 => rounds - 1,
        _ => bail!(
            "--rounds must be at least 2: a learner releases one sum fewer than it has rounds"
        ),
    };
    Ok(SumRequest {
        kind,
        noise,
        releases,
        dimension: arguments.dim,
        bound: arguments.bound,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: arguments.batch,
        adjacency: arguments.adjacency.into(),
        participation: match arguments.max_per_person {
            None => Participation::OncePerRecord,
            Some(most) => Participation::PerPerson {
                most,
                separation: arguments.min_separation,
            },
        },
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
    })
}

fn row(plan: SumPlan) -> Result<Row> {
    let request = plan.request();
    let ns_per_round = if request.kind.is_windowed() {
        nanoseconds_a_round::<Windowed>(&plan)?
    } else {
        nanoseconds_a_round::<Transcript>(&plan)?
    };
    Ok(Row {
        recipe: None,
        sum: request.kind.to_string(),
        noise: request.noise,
        mu: match plan.charge()? {
            Charge::Gaussian(mu) => Some(mu.get()),
            _ => None,
        },
        releases: request.releases,
        levels: plan.levels(),
        node_sigma: plan.node_sigma(),
        prefix_sd_max: plan.prefix_sd_max(),
        state_vectors: plan.state_vectors(),
        memory_bytes: plan.memory_bytes(),
        ns_per_round,
        regret_bound: None,
        parameters: Parameters {
            name: plan.name(),
            dim: request.dimension,
            bound: request.bound,
            batch: request.batch,
            radius: plan.radius(),
            sensitivity: plan.sensitivity(),
            noise_scale: 1 << 30,
        },
        guarantee: plan.guarantee(false)?,
        plan,
    })
}

/// Runs the planned sum on nothing for a moment: simulated noise, a ledger and a journal in memory.
fn nanoseconds_a_round<G: GuaranteeKind>(plan: &SumPlan) -> Result<f64> {
    let request = plan.request();
    let kind = if request.noise.is_pure() {
        FilterKind::Pure
    } else {
        FilterKind::Gaussian
    };
    let mut ledger = Ledger::simulated(request.budget, kind, plan.scope())?;
    let grant = ledger.debit(plan.charge()?, plan.scope())?;
    let key = Key::insecure_from_seed(0);
    let mut sum = PrivateSum::<G>::open(
        plan.clone(),
        grant,
        &key,
        &mut ledger,
        MemoryStorage::default(),
    )?;
    let start = Instant::now();
    let mut rounds = 0_u64;
    let most = plan.most_releases().saturating_mul(request.batch);
    while rounds < most && (rounds < 4 || start.elapsed() < Duration::from_millis(60)) {
        let record = Raw::seal(Contribution::Dense(vec![0.0; request.dimension as usize]));
        if request.participation == Participation::OncePerRecord {
            sum.add(record)?;
        } else {
            sum.add_for(rounds, record)?;
        }
        rounds += 1;
        if rounds.is_multiple_of(64) {
            sum.sync(&mut ledger)?;
        }
    }
    Ok(start.elapsed().as_nanos() as f64 / rounds as f64)
}

fn print(arguments: &Arguments, rows: &[Row]) {
    let request = rows[0].plan.request();
    println!(
        "{} releases of a sum in {} dimension{}, contributions of length at most L = {}, (ε, δ) = ({}, {}), {}{}",
        grouped(request.releases),
        grouped(u64::from(request.dimension)),
        if request.dimension == 1 { "" } else { "s" },
        arguments.bound,
        arguments.epsilon,
        delta(arguments.delta),
        request.adjacency,
        if request.batch == 1 {
            String::new()
        } else {
            format!(", {} records an item", request.batch)
        },
    );
    if let Some(mu) = rows[0].mu {
        println!("Gaussian privacy parameter μ = {mu:.6}");
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
            "time a round",
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
    println!("{table}");
    if let Some(best) = rows
        .iter()
        .min_by(|a, b| a.prefix_sd_max.total_cmp(&b.prefix_sd_max))
    {
        println!(
            "Least worst error: {} ({}). A run of it would promise:\n",
            best.sum, best.parameters.name
        );
        println!("{}", best.guarantee);
    }
}

/// The worst error of every sum so far, at geometrically spaced t.
fn picture(arguments: &Arguments, rows: &[Row]) -> String {
    const STEPS: u32 = 2000;
    let series: Vec<Series> = rows
        .iter()
        .map(|row| {
            let last = row.releases;
            let mut times: Vec<u64> = (0..=STEPS)
                .map(|step| {
                    (last as f64)
                        .powf(f64::from(step) / f64::from(STEPS))
                        .round() as u64
                })
                // All ones in binary is where trees are worst (in octaves one before): teeth that a grid would miss.
                .flat_map(|t| {
                    [
                        t,
                        t.next_power_of_two() - 1,
                        t.next_power_of_two().max(2) - 2,
                    ]
                })
                .map(|t| t.clamp(1, last))
                .collect();
            times.sort_unstable();
            times.dedup();
            let mut worst = 0.0_f64;
            let points = times.into_iter().map(|t| {
                worst = worst.max(row.plan.prefix_sd(t));
                (t as f64, worst)
            });
            Series {
                name: row.sum.clone(),
                points: points.collect(),
            }
        })
        .collect();
    let title = format!(
        "Error of private prefix sums at ε = {}, δ = {}, {}",
        arguments.epsilon,
        delta(arguments.delta),
        rows[0].plan.request().adjacency
    );
    log_log(
        &title,
        "items summed, t",
        "worst standard deviation so far, one coordinate",
        &series,
    )
}
