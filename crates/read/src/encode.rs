//! From fields to coordinates: a row in the making.

use crate::error::Fault;
use crate::hash;
use crate::layout::Layout;
use crate::schema::MissingTarget;
use crate::step::{Scale, Step};
use crate::target::{TargetEncoder, number};
use crate::value::Missing;
use hushstream_mechanism::losses::Features;

/// What is asked of targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Targets {
    /// A record needs one, or is null.
    Needed(MissingTarget),
    /// New data may have none.
    Welcome,
}

/// A row in the making, and what all rows have in common.
pub(crate) struct Builder {
    sparse: bool,
    dimension: usize,
    intercept: Option<usize>,
    /// The length to which features are scaled down, if they can be longer.
    norm: Option<f64>,
    target_encoder: TargetEncoder,
    missing: Missing,
    dense: Vec<f64>,
    entries: Vec<(u32, f64)>,
    /// The target, if there is one.
    pub(crate) target: Option<f64>,
    /// The person, if they are told apart.
    pub(crate) person: Option<u64>,
    /// Whether the target of the row lies outside its bounds.
    pub(crate) target_was_clipped: bool,
    /// Whether the last row was longer than the norm.
    pub(crate) was_longer: bool,
}

impl Builder {
    pub(crate) fn new(layout: &Layout) -> Self {
        let missing = Missing::new(layout.missing());
        Self {
            sparse: layout.is_sparse(),
            dimension: layout.dimension(),
            intercept: layout.intercept(),
            norm: layout.may_exceed_norm().then(|| layout.features_norm()),
            target_encoder: TargetEncoder::new(layout.target(), &missing),
            missing,
            dense: Vec::new(),
            entries: Vec::new(),
            target: None,
            person: None,
            target_was_clipped: false,
            was_longer: false,
        }
    }

    /// Begins a row.
    pub(crate) fn begin(&mut self) {
        if self.sparse {
            self.entries.clear();
        } else {
            self.dense.clear();
            self.dense.resize(self.dimension, 0.0);
        }
        self.target = self.target_encoder.is_none().then_some(0.0);
        self.target_was_clipped = false;
        self.person = None;
    }

    /// Sets a coordinate.
    #[inline(always)]
    pub(crate) fn put(&mut self, slot: u32, value: f64) {
        if !self.sparse {
            self.dense[slot as usize] = value;
        } else if value != 0.0 {
            self.entries.push((slot, value));
        }
    }

    /// The coordinates of `count` columns from `slot` on, where they lie side by side.
    #[inline(always)]
    pub(crate) fn side_by_side(&mut self, slot: u32, count: usize) -> Option<&mut [f64]> {
        let first = slot as usize;
        self.dense.get_mut(first..first + count)
    }

    #[inline(always)]
    pub(crate) fn put_number(&mut self, scale: &Scale, value: f64) {
        // Two instructions, which `clamp`, `min` and `max` are not, because of NaN: a value never is.
        // Minus zero becomes zero, as it does where many numbers are read at a time.
        let scaled = (value + 0.0 - scale.shift) * scale.factor;
        let above = if scaled > scale.low {
            scaled
        } else {
            scale.low
        };
        let kept = if above < scale.high {
            above
        } else {
            scale.high
        };
        self.put(scale.slot, kept);
    }

    /// A field that is there. White space around it is no part of it, in quotes or not.
    #[inline(never)] // not in the way of numbers
    pub(crate) fn field(
        &mut self,
        step: &Step,
        field: &[u8],
        targets: Targets,
    ) -> Result<(), Fault> {
        let field = field.trim_ascii();
        match step {
            Step::Skip => {}
            Step::Number(scale) | Step::Guarded(scale) => match number(field, &self.missing)? {
                Some(value) => self.put_number(scale, value),
                None => self.put(scale.slot, scale.missing),
            },
            Step::Category {
                first,
                values,
                tally,
            } => match values.find(field) {
                Some(value) => {
                    tally.see(value);
                    self.put(first + value, 1.0);
                }
                None if self.missing.is(field) => {}
                None => tally.miss(),
            },
            Step::Hashed { first, mask } => {
                if !field.is_empty() && !self.missing.is_stated(field) {
                    self.put(first + (hash::murmur3(field, 0) & mask), 1.0);
                }
            }
            Step::Label(_) | Step::Arm(_) | Step::Outcome(_) | Step::Propensity { .. } => {
                match (self.feedback(step, field), targets) {
                    // A coordinate that is no number says nothing: an unknown label leaves all arms
                    // open.
                    (Err((first, _)), Targets::Needed(MissingTarget::Null)) => {
                        let open = match step {
                            Step::Label(arms) => arms.count,
                            _ => 1,
                        };
                        (first..first + open).for_each(|slot| self.put(slot, f64::NAN));
                    }
                    (Err((_, fault)), _) => return Err(fault),
                    (Ok(()), _) => {}
                }
            }
            Step::Target => self.set_target(field, targets)?,
            Step::Person => self.person = Some(hash::person(field)),
        }
        Ok(())
    }

    /// What a bandit learns from; a fault comes with the coordinate that it leaves open.
    fn feedback(&mut self, step: &Step, field: &[u8]) -> Result<(), (u32, Fault)> {
        match step {
            Step::Label(arms) => {
                let right = arms.find(field).map_err(|fault| (arms.first, fault))?;
                for arm in (0..arms.count).filter(|&arm| arm != right) {
                    self.put(arms.first + arm, 1.0);
                }
            }
            Step::Arm(arms) => {
                let played = arms.find(field).map_err(|fault| (arms.first, fault))?;
                self.put(arms.first + played, 1.0);
            }
            Step::Outcome(scale) => {
                let open = |fault| (scale.slot, fault);
                let value = number(field, &self.missing).map_err(open)?;
                self.put_number(scale, value.ok_or(open(Fault::MissingTarget))?);
            }
            Step::Propensity { slot } => match number(field, &self.missing) {
                Ok(Some(value)) if value > 0.0 && value <= 1.0 => self.put(*slot, value),
                _ => return Err((*slot, Fault::NotAPropensity)),
            },
            _ => {}
        }
        Ok(())
    }

    /// A field that is not there.
    pub(crate) fn missing(&mut self, step: &Step, targets: Targets) -> Result<(), Fault> {
        match step {
            Step::Number(scale) | Step::Guarded(scale) => {
                self.put(scale.slot, scale.missing);
                Ok(())
            }
            Step::Target
            | Step::Person
            | Step::Label(_)
            | Step::Arm(_)
            | Step::Outcome(_)
            | Step::Propensity { .. } => self.field(step, b"", targets),
            Step::Skip | Step::Category { .. } | Step::Hashed { .. } => Ok(()),
        }
    }

    pub(crate) fn set_target(&mut self, field: &[u8], targets: Targets) -> Result<(), Fault> {
        match (self.target_encoder.encode(field), targets) {
            (Ok((target, clipped)), _) => {
                self.target = Some(target);
                self.target_was_clipped = clipped;
            }
            (Err(_), Targets::Needed(MissingTarget::Null))
            | (Err(Fault::MissingTarget), Targets::Welcome) => {}
            (Err(fault), _) => return Err(fault),
        }
        Ok(())
    }

    /// Ends a row: its features, clipped, with the intercept. Whatever `features` held before is used again.
    pub(crate) fn finish(&mut self, features: &mut Features) {
        if self.sparse {
            sort_and_add(&mut self.entries);
            let squares = || self.entries.iter().map(|(_, v)| v * v).sum();
            let factor = shrink(self.norm, squares);
            self.was_longer = factor.is_some();
            if let Some(factor) = factor {
                self.entries.iter_mut().for_each(|(_, v)| *v *= factor);
            }
            self.entries
                .extend(self.intercept.map(|last| (last as u32, 1.0)));
            match features {
                Features::Sparse(entries) => std::mem::swap(entries, &mut self.entries),
                Features::Dense(_) => *features = Features::Sparse(self.entries.clone()),
            }
            return;
        }
        let factor = shrink(self.norm, || squared_length(&self.dense));
        self.was_longer = factor.is_some();
        if let Some(factor) = factor {
            self.dense.iter_mut().for_each(|v| *v *= factor);
        }
        if let Some(last) = self.intercept {
            self.dense[last] = 1.0;
        }
        match features {
            Features::Dense(values) => std::mem::swap(values, &mut self.dense),
            Features::Sparse(_) => *features = Features::Dense(std::mem::take(&mut self.dense)),
        }
    }
}

/// The factor that brings features down to their norm, if they are longer.
fn shrink(norm: Option<f64>, squares: impl FnOnce() -> f64) -> Option<f64> {
    let norm = norm?;
    let squares = squares();
    (squares > norm * norm).then(|| norm / squares.sqrt())
}

/// In four lanes, because one addition has to wait for the other.
fn squared_length(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<4>();
    let mut lanes = [0.0; 4];
    for chunk in chunks {
        for (lane, value) in lanes.iter_mut().zip(chunk) {
            *lane += value * value;
        }
    }
    let rest: f64 = rest.iter().map(|value| value * value).sum();
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

/// Entries in the order of their coordinates; what falls on one coordinate is added.
fn sort_and_add(entries: &mut Vec<(u32, f64)>) {
    let increasing = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
    if increasing {
        return;
    }
    // A stable sort: sums must not depend on how the sort breaks ties.
    entries.sort_by_key(|&(slot, _)| slot);
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
}
