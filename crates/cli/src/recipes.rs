//! `hushstream recipes`: every algorithm, where it comes from, what it promises and when to use it.

use anyhow::Result;
use clap::Args;
use hushstream_engine::CATALOGUE;

/// Arguments of `recipes`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Show the regret bounds, as printed in the papers and as they hold.
    #[arg(long)]
    bounds: bool,
    /// Print a JSON list.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if arguments.json {
        let list: Vec<_> = CATALOGUE
            .iter()
            .map(|entry| {
                serde_json::json!({
                    "recipe": entry.name,
                    "source": entry.source,
                    "errata": entry.errata,
                    "guarantee": entry.guarantee,
                    "when": entry.when,
                    "mechanism": entry.mechanism.to_string(),
                    "bound": { "printed": entry.printed, "holds": entry.holds },
                })
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&list)?);
        return Ok(());
    }
    for entry in CATALOGUE {
        println!(
            "{}  ({}; corrected: {})",
            entry.name,
            entry.source,
            entry.errata.join(", ")
        );
        println!("    guarantee  {}", entry.guarantee);
        println!("    use it     {}", entry.when);
        println!("    mechanism  {}", entry.mechanism);
        if arguments.bounds {
            println!("    regret     as printed: {}", entry.printed);
            println!("               as it holds: {}", entry.holds);
        }
        println!();
    }
    Ok(())
}
