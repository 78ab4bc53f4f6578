//! Recipes on continual sums.

use super::session::{Baseline, Running};
use super::{Method, Place, Restart};
use crate::error::Result;
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::{Grant, GuaranteeKind, Scope, Transcript, Windowed};
use hushstream_pictures::chart::{Series, log_log};
use hushstream_pictures::numbers::grouped;
use hushstream_recipes::{Choice, RecipeName, Shadow, SumRun};

impl Method for Choice {
    fn recipe(&self) -> RecipeName {
        self.recipe.request().recipe
    }

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = self.recipe.plan();
        Ok((plan.charge()?, plan.scope()))
    }

    fn records(&self) -> (u64, u64) {
        (self.recipe.request().rounds, self.recipe.rounds())
    }

    fn parameters(&self) -> Parameters {
        let request = self.recipe.plan().request();
        let positive = |value: f64| (value > 0.0).then_some(value);
        Parameters {
            sum: Some(request.kind.to_string()),
            noise: Some(request.noise.to_string()),
            batch: request.batch,
            releases: request.releases,
            radius: Some(self.recipe.request().set.outer_radius()),
            curvature: Some(self.recipe.curvature()),
            learning_rate: positive(self.recipe.learning_rate()),
            ridge: positive(self.recipe.ridge()),
            noise_sd: Some(self.recipe.plan().prefix_sd_max()),
            reasons: self.reasons.clone(),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        let request = self.recipe.plan().request();
        format!(
            "{} on {} sums with {} noise, batches of {}",
            self.recipe.request().recipe,
            request.kind,
            request.noise,
            grouped(request.batch)
        )
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        if self.recipe.plan().request().kind.is_windowed() {
            open_as::<Windowed>(self, place, grant)
        } else {
            open_as::<Transcript>(self, place, grant)
        }
    }

    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        Ok(Some(Box::new(Shadow::new(&self.recipe)?)))
    }

    fn picture(&self) -> Option<String> {
        Some(noise_picture(self))
    }
}

fn open_as<G: GuaranteeKind>(
    choice: &Choice,
    place: Place<'_>,
    grant: Option<Grant>,
) -> Result<Restart> {
    let (recipe, every) = (choice.recipe.clone(), place.every);
    place.open(recipe, grant, true, |mut run: SumRun<G>| {
        if !every {
            run.keep_only_the_last();
        }
        run.draw_ahead();
        Ok(Box::new(Running::of_models(run)))
    })
}

fn noise_picture(choice: &Choice) -> String {
    let plan = choice.recipe.plan();
    let request = plan.request();
    let last = request.releases as f64;
    let mut times: Vec<u64> = (0..=200)
        .map(|step| last.powf(f64::from(step) / 200.0).round() as u64)
        .collect();
    times.dedup();
    let line = |name: &str, value: &dyn Fn(u64) -> f64| Series {
        name: name.to_owned(),
        points: times
            .iter()
            .map(|&t| ((t * request.batch) as f64, value(t)))
            .collect(),
    };
    let root = f64::from(request.dimension).sqrt();
    let series = [
        line("noise, one coordinate", &|t| plan.prefix_sd(t)),
        line("noise, all coordinates", &|t| plan.prefix_sd(t) * root),
        line("records, at most", &|t| {
            (t * request.batch) as f64 * request.bound
        }),
    ];
    log_log("Noise against signal", "records", "length", &series)
}
