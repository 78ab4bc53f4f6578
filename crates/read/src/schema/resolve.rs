//! Schema and header together make a layout.

use super::arms::{as_losses, check_feedback, of_arms};
use super::decide::of_decisions;
use super::encoding::{Encoding, FeatureColumn, Space, TargetKind};
use super::layout::{Layout, Stated};
use super::pattern::{Closeness, closest, fits, nearest};
use super::{SchemaSpec, Task};
use crate::encode::confusion;
use crate::error::Fault;
use crate::formats::{Format, refuse};

impl Layout {
    /// The layout of a file with these columns; formats without columns take none.
    ///
    /// # Errors
    /// What is stated wrongly or not at all, and how to state it.
    pub fn new<S: AsRef<str>>(
        schema: &SchemaSpec,
        format: Format,
        header: &[S],
    ) -> Result<Self, Fault> {
        let layout = if format.has_columns() {
            // An index without a name is no column.
            let names = header.iter().map(AsRef::as_ref);
            let header: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
            of_columns(schema, &header)
        } else {
            without_columns(schema, format)
        }?;
        check_values(&layout)?;
        Ok(layout)
    }
}

/// Values that fields cannot tell apart are refused here and not in [`Layout::try_from`]: models of
/// earlier versions may have them.
fn check_values(layout: &Layout) -> Result<(), Fault> {
    if let TargetKind::Class { classes } = layout.target()
        && let Some(why) = confusion(classes)
    {
        return Err(Fault::Classes(why));
    }
    for (column, _) in layout.columns() {
        let (Encoding::Category { values } | Encoding::Label { values } | Encoding::Arm { values }) =
            &column.encoding
        else {
            continue;
        };
        match (confusion(values), &column.encoding) {
            (None, _) => {}
            (Some(why), Encoding::Category { .. }) => {
                let column = column.name.clone();
                return Err(Fault::Vocabulary { column, why });
            }
            (Some(why), _) => return Err(Fault::Arms(why)),
        }
    }
    Ok(())
}

fn of_columns(schema: &SchemaSpec, header: &[&str]) -> Result<Layout, Fault> {
    let unnamed = "it is for formats whose columns have no names";
    refuse("--dim", schema.dimension.is_some(), unnamed)?;
    refuse("--index-base", schema.index_base.is_some(), unnamed)?;
    check_names(schema, header)?;
    if schema.task() == Task::Decide {
        return of_decisions(schema, header);
    }
    check_feedback(schema)?;
    if schema.task() == Task::Bandit && schema.target.is_some() {
        return of_arms(schema);
    }
    let experts = matches!(schema.task(), Task::Experts | Task::Bandit);
    // Before columns that nothing describes: the target may be one of them.
    let is_track = schema.task() == Task::Track;
    if !experts && !is_track && schema.target.is_none() {
        return Err(Fault::TargetNeeded);
    }
    let (mut columns, mut unstated) = (Vec::new(), Vec::new());
    for &name in header {
        if is_feature(schema, name)? {
            let Some(encoding) = encoding(schema, name)? else {
                unstated.push(name.to_owned());
                continue;
            };
            columns.push(FeatureColumn {
                name: name.to_owned(),
                encoding,
            });
        }
    }
    if !unstated.is_empty() {
        return Err(Fault::Unstated(unstated));
    }
    if experts {
        as_losses(&mut columns, schema.rewards == Some(true))?;
    }
    if columns.is_empty() && !is_track {
        return Err(Fault::NoFeatures);
    }
    Layout::try_from(Stated {
        space: Space::Columns(columns),
        intercept: schema.intercept.unwrap_or(true) && !experts && !is_track,
        norm: schema.norm.filter(|_| !is_track),
        target_column: schema.target.clone().filter(|_| !experts),
        target: target(schema)?,
        missing: schema.missing.clone(),
        coded: is_track,
        decides: None,
    })
}

fn without_columns(schema: &SchemaSpec, format: Format) -> Result<Layout, Fault> {
    let named = "columns have no names in this format";
    refuse("--features", !schema.features.is_empty(), named)?;
    refuse("--ignore", !schema.ignore.is_empty(), named)?;
    refuse("--bounds", !schema.bounds.is_empty(), named)?;
    refuse("--one-hot", !schema.one_hot.is_empty(), named)?;
    refuse("--vocabulary", !schema.vocabulary.is_empty(), named)?;
    refuse("--hashed", !schema.hashed.is_empty(), named)?;
    refuse("--dates", !schema.dates.is_empty(), named)?;
    let label = "the label comes first on every line";
    refuse("--target", schema.target.is_some(), label)?;
    let experts = "experts are columns with names";
    refuse("--task experts", schema.task() == Task::Experts, experts)?;
    let arms = "arms are columns with names, or values of one";
    refuse("--task bandit", schema.task() == Task::Bandit, arms)?;
    let contexts = "contexts are columns with names";
    refuse("--task decide", schema.task() == Task::Decide, contexts)?;
    let tracked = "statistics are of columns with names";
    refuse("--task track", schema.task() == Task::Track, tracked)?;
    refuse("--time", schema.time.is_some(), named)?;
    let space = format.entry().space(schema)?;
    if schema.norm.is_none() {
        return Err(Fault::NormNeeded(format));
    }
    Layout::try_from(Stated {
        space,
        intercept: schema.intercept.unwrap_or(true),
        norm: schema.norm,
        target_column: None,
        target: target(schema)?,
        missing: schema.missing.clone(),
        coded: false,
        decides: None,
    })
}

/// Everything that names a column must fit one.
fn check_names(schema: &SchemaSpec, header: &[&str]) -> Result<(), Fault> {
    let lists = [
        ("--features", &schema.features),
        ("--ignore", &schema.ignore),
        ("--one-hot", &schema.one_hot),
        ("--dates", &schema.dates),
    ];
    let lists = lists
        .iter()
        .flat_map(|(what, list)| list.iter().map(move |name| (*what, name)));
    let named = (schema.target.iter().map(|name| ("--target", name)))
        .chain(schema.person.iter().map(|name| ("--person", name)))
        .chain(schema.time.iter().map(|name| ("--time", name)))
        .chain(schema.arm.iter().map(|name| ("--arm", name)))
        .chain(schema.propensity.iter().map(|name| ("--propensity", name)))
        .chain(lists)
        .chain(schema.bounds.keys().map(|name| ("--bounds", name)))
        .chain(schema.vocabulary.keys().map(|name| ("--vocabulary", name)))
        .chain(schema.hashed.keys().map(|name| ("--hashed", name)));
    for (what, name) in named {
        let exact = matches!(
            what,
            "--target" | "--person" | "--time" | "--arm" | "--propensity"
        );
        let alternatives: Vec<&str> = if what == "--one-hot" {
            name.split('|').collect()
        } else {
            vec![name]
        };
        for pattern in alternatives {
            let fit = |column: &&str| {
                if exact {
                    pattern == *column
                } else {
                    fits(pattern, column)
                }
            };
            if !header.iter().any(fit) {
                return Err(Fault::NoSuchColumn {
                    what,
                    name: pattern.to_owned(),
                    near: nearest(pattern, header.iter().copied()),
                });
            }
        }
    }
    Ok(())
}

pub(super) fn is_feature(schema: &SchemaSpec, name: &str) -> Result<bool, Fault> {
    for (column, role) in [
        (&schema.target, "target"),
        (&schema.person, "person"),
        (&schema.time, "time"),
    ] {
        if column.as_deref() == Some(name) {
            if schema.features.iter().any(|feature| feature == name) {
                return Err(Fault::Role {
                    column: name.to_owned(),
                    role,
                });
            }
            return Ok(false);
        }
    }
    let named = |list: &[String]| list.iter().any(|pattern| fits(pattern, name));
    Ok((schema.features.is_empty() || named(&schema.features)) && !named(&schema.ignore))
}

/// The closest statement about a column, of whatever kind; nothing if there is none.
pub(super) fn encoding(schema: &SchemaSpec, name: &str) -> Result<Option<Encoding>, Fault> {
    let groups = (0..).zip(&schema.one_hot);
    let groups = groups.flat_map(|(group, patterns)| patterns.split('|').map(move |p| (p, group)));
    let bounds = closest(schema.bounds.iter().map(|(p, b)| (&**p, *b)), name);
    let values = closest(schema.vocabulary.iter().map(|(p, v)| (&**p, v)), name);
    let bits = closest(schema.hashed.iter().map(|(p, b)| (&**p, *b)), name);
    let group = closest(groups, name);
    let date = closest(schema.dates.iter().map(|pattern| (&**pattern, ())), name);
    let number = |(low, high)| Encoding::Number { low, high };
    let category = |values: &Vec<String>| Encoding::Category {
        values: values.clone(),
    };
    let hashed = |bits| Encoding::Hashed { bits };
    let indicator = |group| Encoding::Indicator { group };
    let candidates = [
        (
            "--bounds",
            bounds.map(|(near, stated)| (near, number(stated))),
        ),
        (
            "--vocabulary",
            values.map(|(near, stated)| (near, category(stated))),
        ),
        (
            "--hashed",
            bits.map(|(near, stated)| (near, hashed(stated))),
        ),
        (
            "--one-hot",
            group.map(|(near, stated)| (near, indicator(stated))),
        ),
        ("--dates", date.map(|(near, ())| (near, Encoding::Date))),
    ];
    let mut best: Option<(&'static str, Closeness, Encoding)> = None;
    for (what, candidate) in candidates {
        let Some((near, encoding)) = candidate else {
            continue;
        };
        match &best {
            Some((first, other, _)) if *other == near => {
                return Err(Fault::StatedTwice {
                    column: name.to_owned(),
                    first,
                    second: what,
                });
            }
            Some((_, other, _)) if *other > near => {}
            _ => best = Some((what, near, encoding)),
        }
    }
    let others = schema.hash_bits.map(hashed);
    Ok(best.map(|(_, _, encoding)| encoding).or(others))
}

/// The target: what it is, by the task and what is stated about it.
fn target(schema: &SchemaSpec) -> Result<TargetKind, Fault> {
    let task = schema.task();
    let is_positive = schema.positive.is_some() && task != Task::Classify;
    refuse("--positive", is_positive, "it is for classification")?;
    let has_classes = schema.classes.is_some() && task != Task::Multiclass;
    refuse("--classes", has_classes, "it is for --task multiclass")?;
    let has_bounds = schema.target_bounds.is_some() && task != Task::Regress;
    refuse("--target-bounds", has_bounds, "it is for --task regress")?;
    Ok(match task {
        Task::Classify => TargetKind::Sign {
            positive: schema.positive.clone(),
        },
        Task::Multiclass => TargetKind::Class {
            classes: schema.classes.clone().ok_or(Fault::ClassesNeeded)?,
        },
        Task::Regress => {
            let (low, high) = schema.bounds_of_target()?;
            TargetKind::Number { low, high }
        }
        Task::Experts | Task::Bandit | Task::Decide | Task::Track => {
            let has_target =
                !matches!(task, Task::Bandit | Task::Decide) && schema.target.is_some();
            let none = "experts have losses and no target, and statistics have none";
            refuse("--target", has_target, none)?;
            TargetKind::None
        }
    })
}

impl SchemaSpec {
    /// The bounds of the target, stated for it or for its column.
    pub(super) fn bounds_of_target(&self) -> Result<(f64, f64), Fault> {
        let own = self.target.as_ref().and_then(|name| self.bounds.get(name));
        let bounds = self.target_bounds.or(own.copied());
        bounds.ok_or(Fault::TargetBoundsNeeded)
    }
}
