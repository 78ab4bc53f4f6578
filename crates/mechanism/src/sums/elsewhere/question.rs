//! A question to records, as bytes that another machine can answer.
//!
//! Public. Format: the eight bytes `HUSHASK` and version; the fields in postcard; the first sixteen
//! bytes of the SHA-256 of all before. These sixteen bytes are the question's *name*, which every
//! partial sum repeats: an old item, another octave or other weights make another name.

use super::partial::PartialSumError;
use super::worker::Worker;
use crate::lattice::{Lattice, LatticeError, Norm};
use crate::losses::{Loss, NamedLoss};
use crate::moments::{MOST_RECORDS, Moments};
use crate::statistics::{Statistics, UNIT};
use crate::sums::plan::Geometry;
use crate::tables::{Axis, LogScale, Response, TableMap, TableShape};
use hushstream_account::ParameterError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const MAGIC: &[u8; 7] = b"HUSHASK";
const VERSION: u8 = 1;
/// The most coordinates of a question: two gigabytes of sums.
const MOST_COORDINATES: usize = 1 << 28;

/// What records are asked for.
#[derive(Clone, Copy)]
pub enum Ask<'a> {
    /// Their contribution as it is: a vector in a ball.
    Vector,
    /// The gradient of a loss at these weights.
    Gradient(&'a dyn Loss, &'a [f64]),
    /// Second moments.
    Moments(&'a Moments),
    /// Residuals at these weights, times hats and cells, and their counts.
    Tables(&'a TableMap, Response, &'a [f64]),
    /// The plan's counts, sums and histograms.
    Statistics,
}

/// A question: everything that a worker must know to turn sealed records into the integers of an
/// item. Public, and made by [`PrivateSum::question`](crate::sums::PrivateSum::question).
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub(super) fields: Fields,
    pub(super) lattice: Lattice,
    pub(super) name: Name,
}

/// Sixteen bytes of a digest.
pub(super) type Name = [u8; 16];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Fields {
    /// The run: ledger, charge and plan, whatever its life or instance.
    pub(super) run: Name,
    /// The number of the item, over all instances.
    pub(super) item: u64,
    /// The octave or part of the item, which has its own lattice; 0 for other sums.
    pub(super) octave: u32,
    dimension: u32,
    l1: bool,
    bound: f64,
    radius: i64,
    /// The most records of the item.
    pub(super) most: u64,
    /// m, if persons contribute in slots: to items that are h(person) modulo m.
    pub(super) slots: Option<u64>,
    pub(super) ask: Written,
    /// A public note of the caller's, for example how rows are read.
    note: Vec<u8>,
}

/// What is asked for, in full.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Written {
    Vector,
    Gradient {
        loss: NamedLoss,
        weights: Vec<f64>,
    },
    Moments(Moments),
    Tables {
        map: Shape,
        response: Responded,
        /// The weight of counts; none are counted at 0.
        sixteenths: u8,
        weights: Vec<f64>,
    },
    Statistics(Statistics),
}

/// A [`TableShape`]: its own form leaves out fields, for files that name them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Shape {
    axes: Vec<Column>,
    tables: Vec<Vec<u32>>,
    bins: u32,
    share: f64,
    l1: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Column {
    Number(u32),
    WithLog(u32, u32, f64),
    Category(u32),
}

/// A [`Response`], the same way.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) enum Responded {
    Sign,
    Classes(u32),
    Number(f64),
}

/// Why bytes are not a question, or a worker cannot answer it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum QuestionError {
    /// Bytes that this program did not write, or that were cut off.
    #[error("the bytes are not a question, or not all of one: ask the run for its question again")]
    NotAQuestion,
    /// Another version.
    #[error(
        "the question has format {found}, and this program reads format {VERSION}: use the same \
         version of Hushstream everywhere"
    )]
    Version {
        /// Its version.
        found: u8,
    },
    /// A loss of the caller's own.
    #[error(
        "{0} is a loss of this program's own: other machines cannot know it, so its records are \
         learned here, one by one"
    )]
    OwnLoss(String),
    /// Parts that do not fit together.
    #[error("the question does not fit together: {0}")]
    Unfit(&'static str),
    /// The lattice.
    #[error(transparent)]
    Lattice(#[from] LatticeError),
    /// A parameter.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Where an item stands in its run.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) run: Name,
    pub(super) item: u64,
    pub(super) octave: u32,
    pub(super) most: u64,
    pub(super) slots: Option<u64>,
}

impl Question {
    /// The question at this place, in a plan of this geometry.
    pub(super) fn new(
        place: Place,
        lattice: &Lattice,
        ask: Ask<'_>,
        geometry: &Geometry,
        note: Vec<u8>,
    ) -> Result<Self, QuestionError> {
        let ask = match ask {
            Ask::Statistics => match geometry {
                Geometry::Statistics(statistics) => Written::Statistics(statistics.clone()),
                _ => return Err(QuestionError::Unfit("its plan has no statistics")),
            },
            Ask::Vector => Written::Vector,
            Ask::Gradient(loss, weights) => Written::Gradient {
                loss: loss
                    .named()
                    .ok_or_else(|| QuestionError::OwnLoss(loss.name().to_owned()))?,
                weights: weights.to_vec(),
            },
            Ask::Moments(moments) => Written::Moments(moments.clone()),
            Ask::Tables(map, response, weights) => Written::Tables {
                map: map.shape().into(),
                response: response.into(),
                sixteenths: match geometry {
                    Geometry::Tables {
                        counts: 1..,
                        sixteenths,
                    } => *sixteenths,
                    _ => 0,
                },
                weights: weights.to_vec(),
            },
        };
        let Place {
            run,
            item,
            octave,
            most,
            slots,
        } = place;
        Self::checked(Fields {
            run,
            item,
            octave,
            dimension: lattice.dimension() as u32,
            l1: lattice.norm() == Norm::L1,
            bound: lattice.bound(),
            radius: lattice.radius(),
            most,
            slots,
            ask,
            note,
        })
    }

    /// A question whose parts fit together; nothing that a worker does with it can fail or
    /// overflow.
    pub(super) fn checked(fields: Fields) -> Result<Self, QuestionError> {
        let norm = if fields.l1 { Norm::L1 } else { Norm::L2 };
        let lattice = Lattice::new(fields.dimension, norm, fields.bound, fields.radius)?;
        let unfit = |why| Err(QuestionError::Unfit(why));
        // As plans have it: sums of an item stay below 2⁶¹.
        let largest = u128::from(fields.most) * u128::from(fields.radius.unsigned_abs());
        if fields.item == 0 || fields.most == 0 || largest >= 1 << 61 {
            return unfit("its item has no number, no records, or too many");
        }
        if fields.slots == Some(0) {
            return unfit("there is no slot to contribute to");
        }
        if lattice.dimension() > MOST_COORDINATES {
            return unfit("it has more than 2^28 coordinates");
        }
        let dimension = lattice.dimension();
        let fits = match &fields.ask {
            Written::Vector => true,
            Written::Gradient { loss, weights } => {
                loss.build()?.dimension() == dimension && is_weights(weights, dimension)
            }
            Written::Moments(moments) => {
                moments.dimension() == dimension
                    && fields.most <= MOST_RECORDS
                    && !fields.l1
                    && moments.bound().to_bits() == fields.bound.to_bits()
            }
            Written::Tables {
                map,
                response,
                sixteenths,
                weights,
            } => {
                let map = TableMap::new(map.into())?;
                let response = response.checked()?;
                let blocks = response.scores() + usize::from(*sixteenths > 0);
                blocks.checked_mul(map.dimension()) == Some(dimension)
                    && map.fits(weights.len(), response.scores())
                    && is_weights(weights, weights.len())
                    && map.shape().l1 == fields.l1
                    && *sixteenths <= 16
            }
            Written::Statistics(statistics) => {
                statistics.dimension() as usize == dimension
                    && fields.radius % i64::from(UNIT) == 0
                    && fields.bound.to_bits() == 1_f64.to_bits()
            }
        };
        if !fits {
            return unfit("what it asks for has another shape than its sums");
        }
        let name = name_of(&[&written(&fields)?]);
        Ok(Self {
            fields,
            lattice,
            name,
        })
    }

    /// The question as bytes.
    ///
    /// # Errors
    /// None: what can be asked can be written.
    pub fn to_bytes(&self) -> Result<Vec<u8>, QuestionError> {
        let mut bytes = written(&self.fields)?;
        bytes.extend_from_slice(&self.name);
        Ok(bytes)
    }

    /// A question from bytes, which are not trusted.
    ///
    /// # Errors
    /// Bytes that are not a question of this version; parts that do not fit together.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, QuestionError> {
        let fields: Fields = read(bytes, MAGIC)?;
        Self::checked(fields)
    }

    /// A worker without records.
    ///
    /// # Errors
    /// A loss that this version does not know.
    pub fn worker(&self) -> Result<Worker, QuestionError> {
        Worker::new(self)
    }

    /// The number of the item that is asked for.
    #[must_use]
    pub fn item(&self) -> u64 {
        self.fields.item
    }

    /// The most records of the item.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.fields.most
    }

    /// Number of coordinates of a sum, each of eight bytes.
    #[must_use]
    pub fn coordinates(&self) -> usize {
        self.lattice.dimension()
    }

    /// Whether records belong to persons, who contribute in slots.
    #[must_use]
    pub fn has_persons(&self) -> bool {
        self.fields.slots.is_some()
    }

    /// The caller's note.
    #[must_use]
    pub fn note(&self) -> &[u8] {
        &self.fields.note
    }

    /// Whether a partial sum that names this question was made for it; otherwise why not.
    pub(super) fn admits(&self, run: &Name, item: u64, name: &Name) -> Result<(), PartialSumError> {
        if *run != self.fields.run {
            Err(PartialSumError::OtherRun)
        } else if item != self.fields.item {
            Err(PartialSumError::OtherItem {
                made: item,
                asked: self.fields.item,
            })
        } else if *name != self.name {
            Err(PartialSumError::OtherQuestion)
        } else {
            Ok(())
        }
    }
}

fn is_weights(weights: &[f64], count: usize) -> bool {
    weights.len() == count && hushstream_sets::all_finite(weights)
}

fn written(fields: &Fields) -> Result<Vec<u8>, QuestionError> {
    write(fields, MAGIC).map_err(|_| QuestionError::NotAQuestion)
}

/// Magic, version and a value; its name belongs after it.
pub(super) fn write(value: &impl Serialize, magic: &[u8; 7]) -> Result<Vec<u8>, postcard::Error> {
    let mut head = magic.to_vec();
    head.push(VERSION);
    postcard::to_extend(value, head)
}

/// Reads what [`write`] wrote, with its name after it.
pub(super) fn read<T: for<'a> Deserialize<'a>>(
    bytes: &[u8],
    magic: &[u8; 7],
) -> Result<T, QuestionError> {
    let Some((&version, body)) = bytes.strip_prefix(&magic[..]).and_then(<[u8]>::split_first)
    else {
        return Err(QuestionError::NotAQuestion);
    };
    if version != VERSION {
        return Err(QuestionError::Version { found: version });
    }
    let whole = bytes.split_last_chunk().filter(|(before, name)| {
        let name: &Name = name;
        before.len() > magic.len() && name_of(&[before]) == *name
    });
    let Some((_, name)) = whole else {
        return Err(QuestionError::NotAQuestion);
    };
    let body = &body[..body.len() - name.len()];
    match postcard::take_from_bytes(body) {
        Ok((value, [])) => Ok(value),
        _ => Err(QuestionError::NotAQuestion),
    }
}

/// The first sixteen bytes of a SHA-256.
pub(super) fn name_of(parts: &[&[u8]]) -> Name {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    let mut name = Name::default();
    name.copy_from_slice(&hasher.finalize()[..16]);
    name
}

impl From<&TableShape> for Shape {
    fn from(shape: &TableShape) -> Self {
        let column = |axis: &Axis| match *axis {
            Axis::Number { knots, log: None } => Column::Number(knots),
            Axis::Number {
                knots,
                log: Some(log),
            } => Column::WithLog(knots, log.knots, log.origin),
            Axis::Category { values } => Column::Category(values),
        };
        Self {
            axes: shape.axes.iter().map(column).collect(),
            tables: shape.tables.clone(),
            bins: shape.bins,
            share: shape.share,
            l1: shape.l1,
        }
    }
}

impl From<&Shape> for TableShape {
    fn from(shape: &Shape) -> Self {
        let axis = |column: &Column| match *column {
            Column::Number(knots) => Axis::Number { knots, log: None },
            Column::WithLog(knots, own, origin) => Axis::Number {
                knots,
                log: Some(LogScale { knots: own, origin }),
            },
            Column::Category(values) => Axis::Category { values },
        };
        Self {
            axes: shape.axes.iter().map(axis).collect(),
            tables: shape.tables.clone(),
            bins: shape.bins,
            share: shape.share,
            l1: shape.l1,
        }
    }
}

impl From<Response> for Responded {
    fn from(response: Response) -> Self {
        match response {
            Response::Sign => Self::Sign,
            // No table has so many classes that they do not fit.
            Response::Classes(classes) => Self::Classes(classes as u32),
            Response::Number(half) => Self::Number(half),
        }
    }
}

impl Responded {
    pub(super) fn checked(self) -> Result<Response, QuestionError> {
        match self {
            Self::Sign => Ok(Response::Sign),
            Self::Classes(classes @ 2..=0x1_0000) => Ok(Response::Classes(classes as usize)),
            Self::Number(half) if half > 0.0 && half.is_finite() => Ok(Response::Number(half)),
            _ => Err(QuestionError::Unfit("its target has no range")),
        }
    }
}
