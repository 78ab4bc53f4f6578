//! Schema and header together make a layout.

mod arms;
mod targets;

use crate::encoding::{Encoding, FeatureColumn, Space, TargetKind};
use crate::error::Fault;
use crate::format::Format;
use crate::layout::{Layout, Stated};
use crate::pattern::{Closeness, closest, fits, nearest};
use crate::schema::{SchemaSpec, Task};
use crate::value::confusion;
use arms::{as_losses, check_feedback, of_arms};
use targets::target;

/// Bits of the one space of VW text, as in Vowpal Wabbit.
const VW_BITS: u8 = 18;

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
    let only_sparse = "it is for formats whose columns have no names";
    for (what, stated) in [
        ("--dim", schema.dimension.is_some()),
        ("--index-base", schema.index_base.is_some()),
    ] {
        if stated {
            return Err(Fault::DoesNotFit {
                what,
                why: only_sparse,
            });
        }
    }
    check_names(schema, header)?;
    check_feedback(schema)?;
    if schema.task() == Task::Bandit && schema.target.is_some() {
        return of_arms(schema);
    }
    let experts = matches!(schema.task(), Task::Experts | Task::Bandit);
    // Before columns that nothing describes: the target may be one of them.
    if !experts && schema.target.is_none() {
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
    if columns.is_empty() {
        return Err(Fault::NoFeatures);
    }
    Layout::try_from(Stated {
        space: Space::Columns(columns),
        intercept: schema.intercept.unwrap_or(true) && !experts,
        norm: schema.norm,
        target_column: schema.target.clone().filter(|_| !experts),
        target: target(schema)?,
        missing: schema.missing.clone(),
    })
}

fn without_columns(schema: &SchemaSpec, format: Format) -> Result<Layout, Fault> {
    let named = "columns have no names in this format";
    let libsvm = format == Format::Libsvm;
    for (what, stated, why) in [
        ("--features", !schema.features.is_empty(), named),
        ("--ignore", !schema.ignore.is_empty(), named),
        ("--bounds", !schema.bounds.is_empty(), named),
        ("--one-hot", !schema.one_hot.is_empty(), named),
        ("--vocabulary", !schema.vocabulary.is_empty(), named),
        ("--hashed", !schema.hashed.is_empty(), named),
        (
            "--target",
            schema.target.is_some(),
            "the label comes first on every line",
        ),
        (
            "--task experts",
            schema.task() == Task::Experts,
            "experts are columns with names",
        ),
        (
            "--task bandit",
            schema.task() == Task::Bandit,
            "arms are columns with names, or values of one",
        ),
        (
            "--person",
            schema.person.as_ref().is_some_and(|p| libsvm || p != "tag"),
            "only VW text names persons, as --person tag",
        ),
        (
            "--hash-bits",
            libsvm && schema.hash_bits.is_some(),
            "libsvm indices are not hashed",
        ),
        (
            "--dim",
            !libsvm && schema.dimension.is_some(),
            "VW text is hashed: --hash-bits",
        ),
        (
            "--index-base",
            !libsvm && schema.index_base.is_some(),
            "it is for libsvm",
        ),
    ] {
        if stated {
            return Err(Fault::DoesNotFit { what, why });
        }
    }
    let space = if libsvm {
        Space::Indexed {
            dimension: schema.dimension.ok_or(Fault::DimensionNeeded)?,
            base: schema.index_base.unwrap_or(1),
        }
    } else {
        Space::Hashed {
            bits: schema.hash_bits.unwrap_or(VW_BITS),
        }
    };
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
    })
}

/// Everything that names a column must fit one.
fn check_names(schema: &SchemaSpec, header: &[&str]) -> Result<(), Fault> {
    let lists = [
        ("--features", &schema.features),
        ("--ignore", &schema.ignore),
        ("--one-hot", &schema.one_hot),
    ];
    let lists = lists
        .iter()
        .flat_map(|(what, list)| list.iter().map(move |name| (*what, name)));
    let named = (schema.target.iter().map(|name| ("--target", name)))
        .chain(schema.person.iter().map(|name| ("--person", name)))
        .chain(schema.arm.iter().map(|name| ("--arm", name)))
        .chain(schema.propensity.iter().map(|name| ("--propensity", name)))
        .chain(lists)
        .chain(schema.bounds.keys().map(|name| ("--bounds", name)))
        .chain(schema.vocabulary.keys().map(|name| ("--vocabulary", name)))
        .chain(schema.hashed.keys().map(|name| ("--hashed", name)));
    for (what, name) in named {
        let exact = matches!(what, "--target" | "--person" | "--arm" | "--propensity");
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

fn is_feature(schema: &SchemaSpec, name: &str) -> Result<bool, Fault> {
    for (column, role) in [(&schema.target, "target"), (&schema.person, "person")] {
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
fn encoding(schema: &SchemaSpec, name: &str) -> Result<Option<Encoding>, Fault> {
    let groups = (0..).zip(&schema.one_hot);
    let groups = groups.flat_map(|(group, patterns)| patterns.split('|').map(move |p| (p, group)));
    let candidates: [(&'static str, Option<(Closeness, Encoding)>); 4] = [
        (
            "--bounds",
            closest(schema.bounds.iter().map(|(p, b)| (&**p, *b)), name)
                .map(|(near, (low, high))| (near, Encoding::Number { low, high })),
        ),
        (
            "--vocabulary",
            closest(schema.vocabulary.iter().map(|(p, v)| (&**p, v)), name).map(
                |(near, values)| {
                    (
                        near,
                        Encoding::Category {
                            values: values.clone(),
                        },
                    )
                },
            ),
        ),
        (
            "--hashed",
            closest(schema.hashed.iter().map(|(p, b)| (&**p, *b)), name)
                .map(|(near, bits)| (near, Encoding::Hashed { bits })),
        ),
        (
            "--one-hot",
            closest(groups, name).map(|(near, group)| (near, Encoding::Indicator { group })),
        ),
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
    let hashed = schema.hash_bits.map(|bits| Encoding::Hashed { bits });
    Ok(best.map(|(_, _, encoding)| encoding).or(hashed))
}
