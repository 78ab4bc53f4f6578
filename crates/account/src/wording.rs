//! The guarantee in words: one sentence a lawyer can read, one line a theorist can check.
//!
//! Numbers are rounded towards more loss: a printed ε, δ, μ, ρ or slack is never below the real
//! one, a printed σ never above.

use std::fmt;

use crate::Adjacency;
use crate::digits::{grouped, rounded_down, rounded_up, scientific_up};
use crate::guarantee::{Fields, Guarantee, Published, Unit};

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields();
        if fields.simulated {
            writeln!(
                f,
                "SIMULATED NOISE: this run gives NO privacy. \
                 What follows would hold if its noise were real."
            )?;
        }
        sentence(f, fields)?;
        writeln!(f)?;
        theory(f, fields)
    }
}

fn sentence(f: &mut fmt::Formatter<'_>, fields: &Fields) -> fmt::Result {
    let subject = match fields.unit {
        Unit::Record if fields.rounds == 1 => "the only record".to_owned(),
        Unit::Record if fields.open_ended => {
            format!("one of up to {} records", grouped(fields.rounds))
        }
        Unit::Record => format!("one of the {} records", grouped(fields.rounds)),
        Unit::Person => format!(
            "all records (at most {}) of one person",
            grouped(fields.participations)
        ),
    };
    let verb = match fields.unit {
        Unit::Record => "is",
        Unit::Person => "are",
    };
    match fields.adjacency {
        Adjacency::ReplaceOne => write!(f, "Whatever {subject} {verb} replaced by, ")?,
        Adjacency::ZeroOut => write!(
            f,
            "Whether {subject} {verb} present or replaced by the public null, "
        )?,
    }
    match fields.window {
        None if fields.joint => write!(
            f,
            "the probability of any set of published policies and of the decisions made for \
             everybody else "
        )?,
        None => {
            let published = match fields.published {
                Published::Models => "model sequences",
                Published::Tables => "sequences of tables",
                Published::Plays => "sequences of plays and models",
            };
            write!(f, "the probability of any set of published {published} ")?;
        }
        Some(window) => write!(
            f,
            "the probability of any set of sequences of the {} releases \
             from the first that includes that record on ",
            grouped(window)
        )?,
    }
    write!(
        f,
        "changes by at most a factor of e^{}",
        rounded_up(fields.epsilon)
    )?;
    if fields.delta > 0.0 {
        write!(f, " plus {}", scientific_up(fields.delta))?;
    }
    write!(f, ".")?;
    if fields.joint {
        let own = match fields.unit {
            Unit::Record => {
                "The decision made for that record itself is not covered: it depends \
                             on the record's own context, and is for the person who asked alone."
            }
            Unit::Person => {
                "The decisions made for that person are not covered: they depend on \
                             the person's own contexts, and are for that person alone."
            }
        };
        write!(f, " {own}")?;
    }
    if fields.window.is_some() {
        write!(
            f,
            " This does not protect the whole transcript: \
             models published later may reveal the record."
        )?;
    }
    Ok(())
}

fn theory(f: &mut fmt::Formatter<'_>, fields: &Fields) -> fmt::Result {
    let mut facts = Vec::new();
    facts.extend(fields.sum.clone().or_else(|| fields.mechanism.clone()));
    facts.extend(fields.levels.map(|levels| match levels {
        1 => "1 level".to_owned(),
        levels => format!("{levels} levels"),
    }));
    let sigma = fields
        .sigma
        .map(|sigma| format!("σ = {}·L", rounded_down(sigma)));
    match (&fields.noise, sigma) {
        (Some(noise), Some(sigma)) => facts.push(format!("{noise} {sigma}")),
        (Some(noise), None) => facts.push(noise.clone()),
        (None, Some(sigma)) => facts.push(sigma),
        (None, None) => {}
    }
    facts.extend(fields.mu.map(|mu| format!("μ = {}", rounded_up(mu))));
    facts.extend(fields.rho.map(|rho| format!("ρ = {}", rounded_up(rho))));
    facts.push(fields.adjacency.to_string());
    facts.extend(
        fields
            .releases
            .map(|releases| format!("n = {} releases", grouped(releases))),
    );
    facts.extend(
        fields
            .window
            .map(|window| format!("window of {} rounds only", grouped(window))),
    );
    write!(f, "({}", facts.join(", "))?;
    let errata = match fields.errata.as_slice() {
        [] => String::new(),
        [one] => format!("erratum {one}"),
        many => format!("errata {}", many.join(", ")),
    };
    match (&fields.citation, errata.is_empty()) {
        (Some(citation), true) => write!(f, "; {citation}")?,
        (Some(citation), false) => write!(f, "; {citation} with {errata}")?,
        (None, true) => {}
        (None, false) => write!(f, "; {errata}")?,
    }
    if !fields.assumptions.is_empty() {
        write!(f, "; assuming {}", fields.assumptions.join(", "))?;
    }
    write!(
        f,
        "; precision slack {})",
        scientific_up(fields.precision_slack)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GuaranteeBuilder;

    fn tree(epsilon: f64, delta: f64, adjacency: Adjacency) -> GuaranteeBuilder {
        Guarantee::builder(epsilon, delta, adjacency, 327_346)
            .sum("binary tree")
            .levels(19)
            .noise("Gaussian")
            .sigma(36.831)
            .releases(327_345)
            .citation("JKT12 Theorem 11")
            .erratum("J1")
    }

    #[test]
    fn the_lawyer_and_the_theorist() {
        let guarantee = tree(1.0, 1e-6, Adjacency::ReplaceOne).build().unwrap();
        assert_eq!(
            guarantee.to_string(),
            "Whatever one of the 327,346 records is replaced by, \
             the probability of any set of published model sequences \
             changes by at most a factor of e^1.00 plus 1e-6.\n\
             (binary tree, 19 levels, Gaussian σ = 36.8·L, replace-one, n = 327,345 releases; \
             JKT12 Theorem 11 with erratum J1; precision slack 0)"
        );
    }

    #[test]
    fn the_words_fit_what_is_published() {
        let models = tree(1.0, 1e-6, Adjacency::ReplaceOne).build().unwrap();
        for (published, words) in [
            (Published::Tables, "sequences of tables"),
            (Published::Plays, "sequences of plays and models"),
        ] {
            let guarantee = models.clone().publishing(published);
            let text = guarantee.to_string();
            assert!(text.contains(&format!("any set of published {words} changes")));
            assert_eq!(text.replace(words, "model sequences"), models.to_string());
            let json = serde_json::to_string(&guarantee).unwrap();
            assert_eq!(serde_json::from_str::<Guarantee>(&json).unwrap(), guarantee);
        }
    }

    #[test]
    fn zero_out_and_pure() {
        let text = Guarantee::builder(0.5, 0.0, Adjacency::ZeroOut, 1000)
            .mechanism("private selection")
            .assume("losses in [0, 1]")
            .build()
            .unwrap()
            .to_string();
        assert_eq!(
            text,
            "Whether one of the 1,000 records is present or replaced by the public null, \
             the probability of any set of published model sequences \
             changes by at most a factor of e^0.500.\n\
             (private selection, zero-out; assuming losses in [0, 1]; precision slack 0)"
        );
    }

    #[test]
    fn one_person() {
        let text = |adjacency| {
            let builder = tree(2.0, 1e-6, adjacency).person(12);
            builder.build().unwrap().to_string()
        };
        assert!(text(Adjacency::ReplaceOne).starts_with(
            "Whatever all records (at most 12) of one person are replaced by, the probability"
        ));
        assert!(text(Adjacency::ZeroOut).starts_with(
            "Whether all records (at most 12) of one person are present \
             or replaced by the public null, "
        ));
    }

    #[test]
    fn a_window_says_what_it_does_not_cover() {
        let windowed = tree(1.0, 1e-6, Adjacency::ReplaceOne).window(4096);
        let text = windowed.build().unwrap().to_string();
        assert!(
            text.contains("the 4,096 releases from the first that includes that record on changes")
        );
        assert!(text.contains("does not protect the whole transcript"));
        assert!(text.contains("window of 4,096 rounds only"));
        assert!(!text.contains("published model sequences"));
    }

    #[test]
    fn joint_privacy_says_whose_decisions_it_covers() {
        let joint = |person: bool| {
            let builder = tree(1.0, 1e-6, Adjacency::ReplaceOne).joint();
            let builder = if person { builder.person(3) } else { builder };
            builder.build().unwrap()
        };
        let text = joint(false).to_string();
        let expected = "Whatever one of the 327,346 records is replaced by, the probability of any \
                        set of published policies and of the decisions made for everybody else \
                        changes by at most a factor of e^1.00 plus 1e-6. The decision made for \
                        that record itself is not covered: it depends on the record's own context, \
                        and is for the person who asked alone.\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(
            joint(true)
                .to_string()
                .contains("decisions made for that person are not covered")
        );
        let json = serde_json::to_string(&joint(false)).unwrap();
        assert!(
            json.ends_with(r#""simulated":false,"joint":true}"#),
            "{json}"
        );
        let back: Guarantee = serde_json::from_str(&json).unwrap();
        assert!(back.is_joint() && back == joint(false));
    }

    #[test]
    fn simulated_noise_is_said_first() {
        let simulated = tree(1.0, 1e-6, Adjacency::ReplaceOne).simulated(true);
        let text = simulated.build().unwrap().to_string();
        assert!(text.starts_with("SIMULATED NOISE: this run gives NO privacy."));
    }
}
