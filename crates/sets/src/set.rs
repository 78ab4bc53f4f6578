//! The trait of all convex sets: their sizes and their capabilities.
//!
//! **Conventions.** All geometry is Euclidean. Numbers that bound the set are safe for calibration:
//! `diameter`, `outer_radius` and `largest_norm` are never below the truth, `inner_radius` never
//! above it, and they are exact unless the set says otherwise. Every answer is a deterministic
//! function of its arguments; ties go to the lowest index.

use std::fmt::{self, Debug, Display};

use crate::{Barrier, LocalOracle, SetError, Unable, net, vector};

/// An operation that not every set supports.
///
/// ```
/// use hushstream_sets::{Ball, Capability, ConvexSet, SetError};
///
/// let ball = Ball::new(3, 1.0)?;
/// assert!(ball.can(Capability::Project) && !ball.can(Capability::Vertices));
/// assert!(Capability::Barrier.recipes().contains(&"scrible"));
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Euclidean projection.
    Project,
    /// Minimising a linear function.
    Minimise,
    /// The local linear optimisation oracle of Garber and Hazan.
    LocalOracle,
    /// A self-concordant barrier.
    Barrier,
    /// A finite net in low dimension.
    Net,
    /// Listing all vertices.
    Vertices,
}

impl Capability {
    /// All capabilities, in the order of the table in the crate documentation.
    pub const ALL: [Self; 6] = [
        Self::Project,
        Self::Minimise,
        Self::LocalOracle,
        Self::Barrier,
        Self::Net,
        Self::Vertices,
    ];

    /// The recipes for which this capability of the set is enough.
    #[must_use]
    pub fn recipes(self) -> &'static [&'static str] {
        match self {
            Self::Project => &[
                "pftal",
                "pftal-convex",
                "ftrl",
                "coco-p",
                "pigd",
                "pigd-convex",
                "pgiga",
                "pol",
                "limited-updates",
            ],
            Self::Minimise => &["ftpl", "coco-l"],
            Self::LocalOracle => &["coco-l"],
            Self::Barrier => &["scrible"],
            Self::Net => &["cover"],
            Self::Vertices => &["exp2", "dartboard", "dartboard-batched"],
        }
    }
}

impl Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Project => "project",
            Self::Minimise => "minimise a linear function",
            Self::LocalOracle => "give a local linear oracle",
            Self::Barrier => "give a barrier",
            Self::Net => "give a net",
            Self::Vertices => "list its vertices",
        })
    }
}

/// Name, centre and sizes of a set: see the methods of [`ConvexSet`] that tell them.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// The name in errors and tables.
    pub name: &'static str,
    /// A point of the (relative) interior.
    pub centre: Vec<f64>,
    /// The largest distance between two points.
    pub diameter: f64,
    /// The largest distance from the centre.
    pub outer_radius: f64,
    /// The radius of the largest full-dimensional ball around the centre, or 0.
    pub inner_radius: f64,
    /// The largest norm of a point.
    pub largest_norm: f64,
}

/// The affine hull of a set that has no interior: directions of it, and a ball in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Flat {
    /// Orthonormal directions that span it.
    pub basis: Vec<Vec<f64>>,
    /// The radius of the largest ball of the hull around the centre that lies in the set.
    pub inner_radius: f64,
}

/// A non-empty, bounded, closed convex set in ℝᵈ.
///
/// A missing capability returns [`SetError::Unable`], which names the recipes that the set serves.
///
/// Implement the trait for a set of your own; only the shape and the list of capabilities are
/// required:
///
/// ```
/// use hushstream_sets::{Capability, ConvexSet, SetError, Shape};
///
/// /// The numbers from −1 to 1.
/// #[derive(Debug)]
/// struct Interval(Shape);
///
/// impl ConvexSet for Interval {
///     fn shape(&self) -> &Shape { &self.0 }
///     fn can(&self, capability: Capability) -> bool { capability == Capability::Project }
///     fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
///         point[0] = point[0].clamp(-1.0, 1.0);
///         Ok(0.0)
///     }
/// }
///
/// let interval = Interval(Shape {
///     name: "interval",
///     centre: vec![0.0],
///     diameter: 2.0,
///     outer_radius: 1.0,
///     inner_radius: 1.0,
///     largest_norm: 1.0,
/// });
/// assert!(interval.contains(&[0.5], 0.0) && !interval.contains(&[1.5], 0.1));
/// assert!(matches!(interval.barrier(), Err(SetError::Unable(_))));
/// ```
pub trait ConvexSet: Send + Sync + Debug {
    /// Name, centre and sizes.
    fn shape(&self) -> &Shape;

    /// The name of the set in errors and tables.
    fn name(&self) -> &'static str {
        self.shape().name
    }

    /// d, the number of coordinates of a point; the set itself may have fewer dimensions.
    fn dimension(&self) -> usize {
        self.shape().centre.len()
    }

    /// The largest distance between two points of the set.
    fn diameter(&self) -> f64 {
        self.shape().diameter
    }

    /// The largest distance of a point of the set from its [`centre`](Self::centre).
    fn outer_radius(&self) -> f64 {
        self.shape().outer_radius
    }

    /// The radius of the largest full-dimensional ball around the centre that lies in the set: 0 if
    /// there is none.
    fn inner_radius(&self) -> f64 {
        self.shape().inner_radius
    }

    /// The affine hull, for a set without interior that knows it.
    fn flat(&self) -> Option<Flat> {
        None
    }

    /// The largest norm of a point of the set.
    fn largest_norm(&self) -> f64 {
        self.shape().largest_norm
    }

    /// Writes the declared centre: a point of the (relative) interior.
    ///
    /// # Errors
    /// A slice of the wrong length.
    fn centre(&self, out: &mut [f64]) -> Result<(), SetError> {
        vector::write("centre", out, &self.shape().centre)
    }

    /// Whether the set has a capability. It may still be refused for a large set, with
    /// [`SetError::TooMany`].
    fn can(&self, capability: Capability) -> bool;

    /// Whether the point is at a distance of at most `tolerance` from the set. False for a point
    /// that is not finite.
    fn contains(&self, point: &[f64], tolerance: f64) -> bool {
        let mut nearest = point.to_vec();
        self.project(&mut nearest)
            .is_ok_and(|_| vector::distance(point, &nearest) <= tolerance)
    }

    /// Replaces the point by the nearest point of the set and returns a bound on the distance
    /// between the written point and the exact projection, rounding included.
    ///
    /// # Errors
    /// A set that cannot project; a slice of the wrong length or with a coordinate that is not
    /// finite.
    fn project(&self, point: &mut [f64]) -> Result<f64, SetError> {
        let _ = point;
        Err(Unable::new(self, Capability::Project).into())
    }

    /// A bound on the error of [`project`](Self::project) for every point of length at most
    /// `reach`. A privacy proof needs it before any point is known. `None` if the error depends on
    /// the point.
    fn projection_error(&self, reach: f64) -> Option<f64> {
        let _ = reach;
        None
    }

    /// Writes an extreme point of the set at which ⟨direction, ·⟩ is smallest.
    ///
    /// # Errors
    /// A set that cannot minimise; a slice of the wrong length or with a coordinate that is not
    /// finite.
    fn minimise(&self, direction: &[f64], out: &mut [f64]) -> Result<(), SetError> {
        let _ = (direction, out);
        Err(Unable::new(self, Capability::Minimise).into())
    }

    /// A local linear oracle without a current point: see [`LocalOracle`].
    ///
    /// # Errors
    /// A set that has none.
    fn local_oracle(&self) -> Result<Box<dyn LocalOracle>, SetError> {
        Err(Unable::new(self, Capability::LocalOracle).into())
    }

    /// A self-concordant barrier of the set's relative interior: see [`Barrier`].
    ///
    /// # Errors
    /// A set that has none.
    fn barrier(&self) -> Result<Box<dyn Barrier>, SetError> {
        Err(Unable::new(self, Capability::Barrier).into())
    }

    /// Finitely many points of the set such that every point of the set is within `radius` of one
    /// of them (up to the error of the projection). The number grows like (diameter/radius)ᵏ in the
    /// set's own dimension k.
    ///
    /// # Errors
    /// A set that has none; a radius that is not positive; more than [`crate::NET_CAP`] cells.
    fn net(&self, radius: f64) -> Result<Vec<Vec<f64>>, SetError> {
        if self.can(Capability::Net) {
            net::by_grid(self, radius)
        } else {
            Err(Unable::new(self, Capability::Net).into())
        }
    }

    /// All vertices, each once.
    ///
    /// # Errors
    /// A set that is not a polytope; more than [`crate::VERTEX_CAP`] vertices.
    fn vertices(&self) -> Result<Vec<Vec<f64>>, SetError> {
        Err(Unable::new(self, Capability::Vertices).into())
    }
}

/// The largest number of vertices that [`ConvexSet::vertices`] lists.
pub const VERTEX_CAP: usize = 1 << 16;

/// Refuses to list more than [`VERTEX_CAP`] vertices.
pub(crate) fn check_vertex_count(count: f64) -> Result<(), SetError> {
    if count > VERTEX_CAP as f64 {
        return Err(SetError::TooMany {
            what: "too many vertices to list",
            count,
            cap: VERTEX_CAP,
        });
    }
    Ok(())
}
