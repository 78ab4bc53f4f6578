//! Requests for a private sum, and their plans.
//!
//! [`SumRequest::plan`] chooses the strategy's parameters and the integer radius of the data
//! (`calibrate.rs`). The plan then knows its price, its error (`forecast.rs`) and its guarantee
//! (`promise.rs`).

use super::Strategy;
use super::SumKind;
use super::blt::{BltError, LayoutError};
use super::cover::Noise;
use super::kind::Unfit;
use crate::decisions::Evaluated;
use crate::lattice::LatticeError;
use crate::moments::{MOST_RECORDS, Moments, TargetWeight};
use crate::persons::Participation;
use crate::statistics::{Statistics, UNIT};
use crate::tables::{Response, TableMap};
use hushstream_account::{AccountError, Adjacency, Budget, GuaranteeError, ParameterError};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Parameters of a private sum.
///
/// ```
/// use hushstream_account::{Adjacency, Budget};
/// use hushstream_mechanism::Participation;
/// use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumRequest};
///
/// let request = SumRequest {
///     kind: SumKind::Tree, noise: Noise::Gaussian, releases: 1000, dimension: 2, bound: 1.0,
///     geometry: Geometry::Ball, least_sigma: 0.0, batch: 1, adjacency: Adjacency::ReplaceOne,
///     participation: Participation::OncePerRecord, budget: Budget::approx(1.0, 1e-6)?,
/// };
/// let tree = request.clone().plan()?;
/// let blt = SumRequest { kind: SumKind::BLT, ..request }.plan()?;
/// assert!(blt.prefix_sd_max() < tree.prefix_sd_max()); // the same budget, less noise
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SumRequest {
    /// The kind of sum.
    pub kind: SumKind,
    /// The distribution of the noise.
    pub noise: Noise,
    /// n, the number of prefix sums to release. For octaves and eras, the expected number.
    pub releases: u64,
    /// Number of coordinates.
    pub dimension: u32,
    /// Public bound L on the length of one contribution (L1 for Laplace noise, otherwise L2).
    pub bound: f64,
    /// The shape of contributions.
    pub geometry: Geometry,
    /// The least standard deviation of a node's noise, in the units of the data, even if the budget
    /// would allow less; 0 for none. Follow-the-perturbed-leader needs noise for its regret.
    pub least_sigma: f64,
    /// Records per item.
    pub batch: u64,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// How often a person contributes.
    pub participation: Participation,
    /// The budget of the whole run.
    pub budget: Budget,
}

/// The set of possible contributions, which determines the distance of two of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum Geometry {
    /// A ball around zero: two points are two radii apart.
    Ball,
    /// Second moments (vvᵀ, κ·(R/Y)·y·v) of a vector with ‖v‖ ≤ R and a number with |y| ≤ Y, formed
    /// by the mechanism: two of them are less than two radii apart ([`TargetWeight::distance`]).
    Moments(TargetWeight),
    /// Residuals times hats and cells, with the counts of these or without, formed by the mechanism
    /// ([`TableMap`](crate::TableMap)): as far apart as in a ball, counts included.
    Tables {
        /// The last coordinates, which count; 0 if nothing is counted.
        counts: u32,
        /// The weight of counts against residuals, in sixteenths: 1 to 16.
        sixteenths: u8,
    },
    /// Counts, sums and histograms by group, formed by the mechanism. The request has its
    /// dimension and the bound 1: a record counts for [`Statistics::scale`] in a release.
    Statistics(Statistics),
    /// Second moments in the block of a decision's arm, and coordinates that evaluate policies,
    /// formed by the mechanism ([`DecisionMap`](crate::decisions::DecisionMap)).
    Decisions {
        /// κ² of every block.
        weight: TargetWeight,
        /// What is evaluated.
        evaluated: Evaluated,
    },
}

/// A geometry as journals have it.
#[derive(Serialize, Deserialize)]
enum Written {
    Ball,
    /// Second moments that were rounded one by one: a run of an earlier version, which is refused.
    Earlier,
    Tables {
        counts: u32,
        sixteenths: u8,
    },
    Moments(TargetWeight),
    Statistics(Statistics),
    Decisions {
        weight: TargetWeight,
        evaluated: Evaluated,
    },
}

impl From<Geometry> for Written {
    fn from(geometry: Geometry) -> Self {
        match geometry {
            Geometry::Ball => Self::Ball,
            Geometry::Moments(weight) => Self::Moments(weight),
            Geometry::Tables { counts, sixteenths } => Self::Tables { counts, sixteenths },
            Geometry::Statistics(statistics) => Self::Statistics(statistics),
            Geometry::Decisions { weight, evaluated } => Self::Decisions { weight, evaluated },
        }
    }
}

impl TryFrom<Written> for Geometry {
    type Error = PlanError;

    fn try_from(written: Written) -> Result<Self, PlanError> {
        match written {
            Written::Ball => Ok(Self::Ball),
            Written::Earlier => Err(PlanError::Stored),
            Written::Tables { counts, sixteenths } => Ok(Self::Tables { counts, sixteenths }),
            Written::Moments(weight) => Ok(Self::Moments(weight)),
            Written::Statistics(statistics) => Ok(Self::Statistics(statistics)),
            Written::Decisions { weight, evaluated } => Ok(Self::Decisions { weight, evaluated }),
        }
    }
}

/// Why a request cannot be planned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The sum does not support the noise.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// A parameter of the lattice.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// The budget.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A count that must be positive, or is too large.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The exact sums might exceed 62 bits.
    #[error(
        "{releases} releases of batches of {batch} could overflow the exact sums at radius \
         {radius}; allowed: releases*batch*radius below 2^61 (plan fewer releases, or several runs)"
    )]
    Overflow {
        /// n.
        releases: u64,
        /// B.
        batch: u64,
        /// R.
        radius: i64,
    },
    /// Second moments are close in L2, not in L1.
    #[error(
        "second moments are bounded in L2: they cannot carry Laplace noise; use Gaussian or \
         L2-Laplace"
    )]
    MomentsInL1,
    /// Statistics have their own dimension, and count records.
    #[error("statistics are planned with their own dimension, and with the bound 1")]
    StatisticsBound,
    /// The least noise is out of range.
    #[error("least sigma = {0} is not allowed; allowed: 0, or a positive finite number")]
    LeastSigma(f64),
    /// So large an ε that the samplers' slack uses up δ.
    #[error(
        "epsilon = {epsilon} is not allowed at delta = {delta}: the samplers' \
         precision slack, {slack:.1e}, would use delta up; allowed: a smaller epsilon"
    )]
    Slack {
        /// ε.
        epsilon: f64,
        /// δ.
        delta: f64,
        /// (1 + e^ε)·τ.
        slack: f64,
    },
    /// So little budget that the radius is below one lattice unit.
    #[error(
        "the budget is too small for {releases} releases: a contribution would round to nothing"
    )]
    BudgetTooSmall {
        /// n.
        releases: u64,
    },
    /// A guarantee that would promise nothing.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// A stored plan that no request produces.
    #[error("the stored plan is not one that this program makes")]
    Stored,
    /// A filter's parameters.
    #[error(transparent)]
    Blt(#[from] BltError),
    /// A filter's integers.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A window guarantee applies to records, not to persons.
    #[error("a window protects single records: it cannot be planned for persons with several")]
    WindowForPersons,
    /// Several contributions to filters that begin anew have no proved price.
    #[error(
        "sum eras protects single records: it has no price for persons, or for records that are \
         read again; sum octave has one, and needs no horizon either"
    )]
    ErasForPersons,
}

/// A sum plan: everything that is fixed before any data.
#[derive(Debug, Clone)]
pub struct SumPlan {
    pub(crate) fields: PlanFields,
    /// Variances of all releases, where items have several parts; computed when needed.
    pub(super) variances: OnceLock<Vec<f64>>,
}

impl PartialEq for SumPlan {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}

impl From<PlanFields> for SumPlan {
    fn from(fields: PlanFields) -> Self {
        Self {
            fields,
            variances: OnceLock::new(),
        }
    }
}

/// The stored form. Not public: a plan that does not come from [`SumRequest::plan`] could state any
/// price.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlanFields {
    pub(crate) request: SumRequest,
    pub(crate) strategy: Strategy,
    /// R, one per octave, era or part; never empty.
    pub(crate) radii: Vec<i64>,
}

impl SumRequest {
    /// Chooses the strategy's parameters and the integer radius.
    ///
    /// # Errors
    /// A parameter out of range; the message states the allowed values.
    pub fn plan(self) -> Result<SumPlan, PlanError> {
        self.kind.accepts(self.noise)?;
        self.check_counts()?;
        let strategy = self.kind.strategy(&self)?;
        let radii = vec![1; strategy.parts() as usize];
        let mut plan = SumPlan::from(PlanFields {
            request: self,
            strategy,
            radii,
        });
        // Check bounds and dimensions first, then compute the radii that the budget allows.
        plan.lattice(0)?;
        plan.fields.radii = plan.radii_within_budget()?;
        plan.choose_layout()?;
        plan.check_overflow()?;
        plan.add_octaves()?;
        // Refuse here whatever can be refused: a plan has a price and a guarantee.
        plan.charge()?;
        plan.guarantee(true)?;
        Ok(plan)
    }

    /// Whether these moments are those that the plan is for: the distance that is priced, and the
    /// units of releases, are theirs.
    pub(super) fn fits_moments(&self, moments: &Moments) -> bool {
        self.dimension as usize == moments.dimension()
            && self.bound.to_bits() == moments.bound().to_bits()
            && self.geometry == Geometry::Moments(moments.weight())
    }

    /// Whether the plan's price is for this map's lengths, and for residuals of this bound.
    pub(super) fn fits_tables(&self, map: &TableMap, response: Response) -> bool {
        let Geometry::Tables { counts, .. } = self.geometry else {
            return false;
        };
        let (dimension, counts) = (map.dimension(), counts as usize);
        (counts == 0 || counts == dimension)
            && self.dimension as usize == response.scores() * dimension + counts
            && self.bound >= response.residual_bound()
            && map.shape().l1 == (self.noise == Noise::Laplace)
    }

    /// Whether a radius is one of whole steps, where there are steps.
    pub(super) fn has_steps(&self, radius: i64) -> bool {
        !matches!(self.geometry, Geometry::Statistics(_)) || radius % i64::from(UNIT) == 0
    }

    pub(super) fn check_counts(&self) -> Result<(), PlanError> {
        const MOST: u64 = 1 << 44;
        let (most, separation) = self.participation.limits();
        let width = if let SumKind::Window(width) = self.kind {
            width
        } else {
            1
        };
        if matches!(self.kind, SumKind::Dense(_)) && self.releases > self.kind.most_releases() {
            let allowed = "1 to 1024 for sum dense; blt takes more";
            return Err(ParameterError::new("releases", self.releases, allowed).into());
        }
        for (parameter, given) in [
            ("releases", self.releases),
            ("batch", self.batch),
            ("contributions per person", most),
            ("separation", separation),
            ("window", width),
        ] {
            if !(1..=MOST).contains(&given) {
                return Err(ParameterError::new(parameter, given, "1 to 2^44").into());
            }
        }
        if !(self.least_sigma >= 0.0 && self.least_sigma.is_finite()) {
            return Err(PlanError::LeastSigma(self.least_sigma));
        }
        if let Geometry::Moments(_) | Geometry::Decisions { .. } = self.geometry {
            if self.noise == Noise::Laplace {
                return Err(PlanError::MomentsInL1);
            }
            if self.batch > MOST_RECORDS {
                let allowed = "1 to 2^34 for second moments";
                return Err(ParameterError::new("batch", self.batch, allowed).into());
            }
        }
        if let Geometry::Decisions { evaluated, .. } = self.geometry
            && !(evaluated.is_sound() && evaluated.coordinates() < self.dimension as usize)
        {
            return Err(PlanError::Stored);
        }
        if let Geometry::Tables { sixteenths, .. } = self.geometry
            && !(1..=16).contains(&sixteenths)
        {
            return Err(ParameterError::new("weight of counts", sixteenths, "1 to 16").into());
        }
        if let Geometry::Statistics(statistics) = &self.geometry
            && (statistics.dimension() != self.dimension || self.bound.to_bits() != 1_f64.to_bits())
        {
            return Err(PlanError::StatisticsBound);
        }
        if self.kind.is_windowed() && self.participation != Participation::OncePerRecord {
            return Err(PlanError::WindowForPersons);
        }
        if self.kind == SumKind::Eras && self.participation != Participation::OncePerRecord {
            return Err(PlanError::ErasForPersons);
        }
        Ok(())
    }
}
