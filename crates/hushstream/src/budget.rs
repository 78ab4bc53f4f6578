//! The ledger of a run: its file, its budget and its charges.

use crate::data::is_stream;
use crate::error::{Context, Error, Refusal, Result, refuse};
use crate::learner::{Learner, Listener, Privacy};
use hushstream_account::{Budget, Charge, Epsilon, Filter, FilterKind, Mu, Price, Refused, Spent};
use hushstream_mechanism::{FileStorage, Ledger, LedgerError, MemoryStorage, Scope};
use hushstream_pictures::numbers::delta;
use std::path::{Path, PathBuf};

/// The fraction of a stated total δ that is set aside for runs of other kinds.
pub const RESERVE: f64 = 0.1;

/// The ledger's file: the stated one, or beside the data.
pub fn path(learner: &Learner) -> Result<PathBuf> {
    match &learner.privacy.ledger {
        Some(path) => Ok(path.clone()),
        None if is_stream(&learner.data.file) => refuse!(
            "name the ledger of this stream with ‹ledger FILE›: it keeps the budget over all runs \
             on the same data"
        ),
        None => {
            // Resolve links, so that a second name of the file does not get a second budget.
            let file = Path::new(&learner.data.file);
            let mut name = file
                .canonicalize()
                .unwrap_or_else(|_| file.to_owned())
                .into_os_string();
            name.push(".ledger");
            Ok(name.into())
        }
    }
}

/// Opens the ledger. For a new run, creates a missing ledger, and raises the budget to a larger
/// stated total.
pub fn open(
    learner: &Learner,
    price: Price,
    scope: Scope,
    listener: &mut dyn Listener,
) -> Result<Ledger> {
    let privacy = &learner.privacy;
    let own = Budget::approx(privacy.epsilon, privacy.delta)?;
    let is_named = privacy.ledger.is_some() || learner.output.state.is_some();
    let (budget, kind) = (total(privacy, own)?, currency(price.charge, privacy.delta));
    // A stated total leaves room for runs of other kinds; otherwise the first run decides.
    let reserve = if budget == own {
        None
    } else {
        reserve_for(kind, budget, &[price], RESERVE, Least::Needed).unwrap_or(None)
    };
    let create = |storage: Box<dyn hushstream_mechanism::Storage>| match reserve {
        None => Ledger::create(storage, budget, kind, scope),
        Some(reserve) => Ledger::create_reserving(storage, budget, kind, scope, reserve),
    };
    if privacy.seed_insecure.is_some() && !is_named {
        return Ok(create(Box::<MemoryStorage>::default())?);
    }
    let path = path(learner)?;
    let said = || format!("cannot use the ledger {}", path.display());
    if learner.output.resume && !path.exists() {
        refuse!(
            "the ledger {} does not exist: a run resumes only with the ledger that paid for it",
            path.display()
        );
    }
    if !path.exists() && witness(&path).exists() {
        return Err(LedgerError::Gone).with_context(said);
    }
    if !path.exists() {
        // Refuse a budget that is too small before creating the file.
        let trial = create(Box::<MemoryStorage>::default())?;
        trial
            .allows(price, scope)
            .map_err(|error| refusal(&trial, price, error))?;
    }
    match Ledger::open(FileStorage::open(&path).with_context(said)?) {
        Ok(mut ledger) => {
            if ledger.was_unwitnessed() {
                listener.note(&format!(
                    "note: {} has no witness file: whether it is the newest copy is not known. A \
                     witness is made now",
                    path.display()
                ));
            }
            let wished = total(privacy, ledger.budget())?;
            if wished != ledger.budget() {
                raise(&mut ledger, wished, RESERVE, Some(price)).with_context(said)?;
            }
            Ok(ledger)
        }
        // Also after a crash during creation: the ledger has no budget, so nothing was spent.
        Err(LedgerError::Missing) if !learner.output.resume => {
            let storage = FileStorage::open(&path).with_context(said)?;
            create(Box::new(storage)).with_context(said)
        }
        Err(error) => Err(error).with_context(said),
    }
}

/// The witness file beside a ledger, which detects old copies.
pub fn witness(ledger: &Path) -> PathBuf {
    // Resolve links, as the storage does.
    let path = ledger.canonicalize().unwrap_or_else(|_| ledger.to_owned());
    let mut name = path.into_os_string();
    name.push(".witness");
    name.into()
}

/// The currency of a ledger that this charge opens.
fn currency(charge: Charge, delta: f64) -> FilterKind {
    match charge {
        Charge::Gaussian(_) => FilterKind::Gaussian,
        // Pure charges too: as zCDP they would cost many times as much.
        _ if delta > 0.0 => FilterKind::Approximate,
        _ => FilterKind::Pure,
    }
}

/// Raises the budget, durably. If possible, leaves room for `next` and sets aside this fraction of
/// δ.
pub fn raise(ledger: &mut Ledger, budget: Budget, share: f64, next: Option<Price>) -> Result<()> {
    let kind = widened_kind(ledger.filter().kind(), budget);
    let prices = prices(ledger);
    let with_next: Vec<Price> = prices.iter().copied().chain(next).collect();
    let reserve = reserve_for(kind, budget, &with_next, share, Least::Needed)
        .or_else(|_| reserve_for(kind, budget, &prices, share, Least::Needed));
    let reserve = reserve.unwrap_or(ledger.filter().stated_reserve());
    Ok(ledger.widen_reserving(budget, reserve)?)
}

fn widened_kind(kind: FilterKind, budget: Budget) -> FilterKind {
    match kind {
        FilterKind::Pure if !budget.is_pure() => FilterKind::Approximate,
        kind => kind,
    }
}

fn prices(ledger: &Ledger) -> Vec<Price> {
    ledger.charges().map(|(_, price)| price).collect()
}

/// The δ to set aside if the default fraction leaves no room for the charges.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Least {
    /// As much as the charges need.
    Needed,
    /// The default fraction: the charges do not fit.
    Share,
}

/// The fraction of δ to set aside so that a budget covers these charges.
fn reserve_for(
    kind: FilterKind,
    budget: Budget,
    prices: &[Price],
    share: f64,
    least: Least,
) -> Result<Option<f64>, Refused> {
    let filled = |reserve: Option<f64>| {
        let mut filter = match reserve {
            None => Filter::open(budget, kind)?,
            Some(reserve) => Filter::reserving(budget, kind, reserve)?,
        };
        prices.iter().try_for_each(|price| filter.try_spend(price))
    };
    if matches!(kind, FilterKind::Pure | FilterKind::Approximate) {
        return filled(None).map(|()| None);
    }
    let need = Filter::needed_reserve(budget, kind, prices)? * (1.0 + 1e-12);
    let wished = Some(need.max(share * budget.delta()));
    match filled(wished) {
        Err(_) if least == Least::Needed => filled(Some(need)).map(|()| Some(need)),
        filled => filled.map(|()| wished),
    }
}

/// The stated total; parameters that are not stated stay unchanged.
fn total(privacy: &Privacy, present: Budget) -> Result<Budget> {
    let epsilon = privacy.total_epsilon.unwrap_or(present.epsilon());
    let delta = privacy.total_delta.unwrap_or(present.delta());
    Ok(Budget::approx(epsilon, delta)?)
}

/// The error for a refused charge: the reason, the largest run that fits, and the total needed.
pub fn refusal(ledger: &Ledger, price: Price, error: LedgerError) -> Error {
    let LedgerError::Refused(refused) = error else {
        return error.into();
    };
    let (epsilon, bound) = ledger.filter().promise();
    let runs = ledger.charges().count();
    let smaller = fitting(ledger, price)
        .map(|told| format!("; {told} would fit"))
        .unwrap_or_default();
    let all: Vec<Price> = prices(ledger).into_iter().chain([price]).collect();
    // With the share set aside, as `hushstream ledger raise` does: the advice must hold there too.
    let total = total_for(ledger, &all, Least::Share);
    let needed = total
        .map(|total| format!("; with it the total would be {}", pair(total)))
        .unwrap_or_default();
    let apart = total
        .and_then(|total| reserve_share(ledger, total, &all))
        .map(|share| format!(" --reserve {share}"))
        .unwrap_or_default();
    Error::NoRoom(Refusal::new(format!(
        "this run does not fit the budget of its data, (ε, δ) = ({epsilon}, {}), after {runs} \
         other run{}: {refused}{smaller}{needed}. To raise the budget is a decision about the \
         people in the data: ‹total-epsilon›, ‹total-delta›, or `hushstream ledger raise{apart}`",
        delta(bound),
        if runs == 1 { "" } else { "s" },
    )))
}

/// A budget in the form (ε, δ).
pub fn pair(budget: Budget) -> String {
    format!("({}, {})", budget.epsilon(), delta(budget.delta()))
}

/// The fraction of δ to set aside for these charges, if it exceeds the default.
fn reserve_share(ledger: &Ledger, total: Budget, prices: &[Price]) -> Option<f64> {
    let kind = ledger.filter().kind();
    if !matches!(kind, FilterKind::Gaussian | FilterKind::Zcdp) {
        return None;
    }
    let need = Filter::needed_reserve(total, kind, prices).ok()?;
    let share = (need / total.delta() * 1e3).ceil() / 1e3;
    (share > RESERVE && share < 1.0).then_some(share)
}

/// The largest run of this kind that fits, in words.
fn fitting(ledger: &Ledger, price: Price) -> Option<String> {
    let fixed = price.fixed?;
    let fits = |budget: Budget| {
        let charge = match price.charge {
            Charge::Gaussian(_) => {
                Charge::Gaussian(Mu::within_with_slack(budget, price.tau()).ok()?)
            }
            Charge::Pure(_) => Charge::Pure(Epsilon::new(budget.epsilon()).ok()?),
            Charge::Approximate(_) => Charge::Approximate(budget),
            _ => return None,
        };
        let price = Price::new(charge, budget, price.tau()).ok()?;
        ledger.filter().clone().try_spend(price).ok()
    };
    // The run's own δ may be too large: then use the δ that is left.
    let filter = ledger.filter();
    let left = (filter.room() - filter.used_delta()).max(0.0);
    let own = match price.charge {
        Charge::Approximate(_) => true,
        Charge::Gaussian(_) => filter.kind() == FilterKind::Approximate,
        _ => false,
    };
    // Slightly less than is left, because the sum is rounded up.
    let bound = if own && fixed.delta() > 0.999_999 * left {
        rounded_down(0.999_999 * left)
    } else {
        fixed.delta()
    };
    let of = |epsilon: f64| Budget::approx(epsilon, bound).ok().and_then(&fits);
    let mut largest = None;
    let (mut low, mut high) = (0.0, fixed.epsilon());
    for _ in 0..24 {
        let middle = 0.5 * (low + high);
        if of(middle).is_some() {
            (low, largest) = (middle, Some(middle));
        } else {
            high = middle;
        }
    }
    let epsilon = rounded_down(largest?);
    // A run with a hundredth of the ε, or with a δ lost in rounding, is not useful advice.
    let is_useful = epsilon >= 1e-2 * fixed.epsilon() && bound >= 1e-3 * fixed.delta();
    is_useful.then(|| format!("ε = {epsilon} at δ = {}", delta(bound)))
}

/// Rounds down to two digits.
fn rounded_down(value: f64) -> f64 {
    if value <= 0.0 {
        return 0.0;
    }
    let nearest: f64 = format!("{value:.1e}").parse().unwrap_or(0.0);
    if nearest <= value {
        return nearest;
    }
    let unit = 10_f64.powf(value.log10().floor() - 1.0);
    format!("{:.1e}", nearest - unit).parse().unwrap_or(0.0)
}

/// The smallest total with the ledger's δ, or with as much δ as is needed, that holds these
/// charges.
pub fn total_for(ledger: &Ledger, prices: &[Price], least: Least) -> Option<Budget> {
    let present = ledger.budget();
    let holds = |epsilon: f64, delta: f64| {
        let budget = Budget::approx(epsilon, delta).ok()?;
        let kind = widened_kind(ledger.filter().kind(), budget);
        reserve_for(kind, budget, prices, RESERVE, least).ok()
    };
    let kind = widened_kind(ledger.filter().kind(), present);
    let own = Filter::needed_reserve(present, kind, prices).unwrap_or(0.0);
    let more = (0..40).map(|step| present.delta().max(own) * 2_f64.powi(step));
    let enough = [present.delta()].into_iter().chain(more).take(8);
    for bound in enough.filter(|bound| (0.0..1.0).contains(bound)) {
        let first = present.epsilon();
        if holds(first, bound).is_some() {
            return Budget::approx(first, bound).ok();
        }
        let first = rounded_up(first);
        let Some(mut high) = (0..20)
            .map(|step| first * 2_f64.powi(step))
            .find(|&epsilon| holds(epsilon, bound).is_some())
        else {
            continue;
        };
        let mut low = if high > first {
            0.5 * high
        } else {
            present.epsilon()
        };
        for _ in 0..30 {
            let middle = rounded_up(0.5 * (low + high));
            if middle < high && holds(middle, bound).is_some() {
                high = middle;
            } else {
                low = middle.min(high);
            }
        }
        return Budget::approx(high, bound).ok();
    }
    None
}

/// Rounds up to four decimals.
pub fn rounded_up(epsilon: f64) -> f64 {
    (epsilon * 1e4 + 1e-3).ceil() / 1e4
}

/// ε of everything in the ledger at the promise's δ, precision of draws included; `None` where only
/// the promise itself is known.
pub fn together(ledger: &Ledger) -> Option<(f64, f64)> {
    let (_, delta) = ledger.filter().promise();
    let mut spent = Spent::new();
    for price in prices(ledger) {
        spent.add_price(&price).ok()?;
    }
    Some((spent.epsilon_at(delta).ok()?, delta))
}

/// What the promise of a ledger supposes, if its budget was changed: the filter's theorem is about
/// a budget that was fixed beforehand, and so is what is set aside of its δ.
pub fn supposes(ledger: &Ledger) -> &'static str {
    if ledger.is_raised() {
        "if the budget was not raised because of what had been published"
    } else if ledger.is_widened() {
        "if the part of δ that is set aside was not changed because of what had been published"
    } else {
        ""
    }
}

/// Runs on the ledger whose noise was simulated.
pub fn simulated(ledger: &Ledger) -> usize {
    let is_simulated = |number| ledger.is_simulated() || ledger.is_unprotected(number);
    let charges = ledger.charges();
    charges.filter(|&(number, _)| is_simulated(number)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_account::Adjacency;

    /// Two charges that are (1, 1e-6) with the precision of their draws, and ε = 0.98 without it.
    #[test]
    fn the_joint_claim_counts_the_precision_of_draws() {
        let (budget, tau) = (Budget::approx(1.0, 1e-6).unwrap(), 5e-8);
        let both = Mu::within_with_slack(budget, 2.0 * tau).unwrap();
        let half = Charge::Gaussian(Mu::new(both.get() / 2_f64.sqrt()).unwrap());
        let price = Price::new(half, budget, tau).unwrap();
        let scope = Scope::records(Adjacency::ReplaceOne);
        let kind = FilterKind::Gaussian;
        let storage = MemoryStorage::default();
        let total = Budget::approx(2.0, 1e-6).unwrap();
        let mut ledger = Ledger::create_reserving(storage, total, kind, scope, 9e-7).unwrap();
        for _ in 0..2 {
            ledger.debit(price, scope).unwrap();
        }
        let (epsilon, delta) = together(&ledger).unwrap();
        assert_eq!(delta.to_bits(), 1e-6_f64.to_bits());
        assert!((epsilon - 1.0).abs() < 1e-4, "{epsilon}");
    }
}
