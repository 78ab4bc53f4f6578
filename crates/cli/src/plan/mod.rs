//! `hushstream plan`: the noise, error and regret bound of a private sum or a recipe, before any
//! data is touched.

mod any;
mod arguments;
mod kinds;
mod picture;
mod print;
mod rows;
mod sample_size;
mod schema;
mod sparse;
mod task;
mod time;

pub(crate) use arguments::Arguments;

use crate::output::tell;
use anyhow::{Context, Result, bail};

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    if let Some(path) = &arguments.schema {
        return schema::run(arguments, path);
    }
    if let Some(error) = arguments.excess_risk {
        return sample_size::run(arguments, error);
    }
    if let Some(recipe) = arguments.recipe.filter(|recipe| recipe.decides()) {
        bail!(
            "{recipe} decides by the columns of a context: `plan --schema FILE` with task = \"decide\""
        );
    }
    if let Some(recipe) = arguments.recipe
        && any::is_one(recipe)
    {
        return any::run(arguments, recipe);
    }
    if arguments.gap.is_some() {
        bail!("{}", any::GAP);
    }
    if arguments.restart_every.is_some() {
        bail!(
            "--restart-every is for experts and bandits: --recipe dartboard, dartboard-batched, \
             hedge-batched, cover, exp2, exp2-batched or scrible"
        );
    }
    let rows = rows::rows(arguments)?;
    if let Some(path) = &arguments.svg {
        std::fs::write(path, picture::picture(arguments, &rows))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    if arguments.json {
        let json = match &rows[..] {
            [row] if !arguments.wants("all") => serde_json::to_string_pretty(row)?,
            _ => serde_json::to_string_pretty(&rows)?,
        };
        tell!("{json}");
    } else {
        print::print(arguments, &rows);
    }
    Ok(())
}
