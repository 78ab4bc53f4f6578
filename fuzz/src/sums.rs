//! Questions and partial sums as untrusted bytes: they are refused, or work.
//!
//! Damaged bytes are signed again, so that the damage reaches what is behind the digest. What is
//! accepted must hold: a question comes back the same, its worker's answers are accepted and
//! committed, and what a run accepts as a partial sum it can take in.

use crate::mutate::{Generator, damage};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Loss, Record, Softmax};
use hushstream_mechanism::sums::{
    Ask, Committed, Delivery, Geometry, Noise, PartialSum, Positions, PrivateSum, Question, Span,
    SumKind, SumRequest,
};
use hushstream_mechanism::{
    Axis, Block, Contribution, GroupColumn, Ledger, MemoryStorage, Moments, Participation, Raw,
    Response, Statistic, Statistics, StatisticsShape, TableMap, TableShape, Transcript,
};
use hushstream_noise::Key;
use sha2::{Digest, Sha256};
use std::error::Error;

type Checked<T> = Result<T, Box<dyn Error>>;

/// Coordinates up to which a question is worked on: larger ones take too long.
const FEW: u64 = 1 << 12;
const RECORDS: u64 = 4;
/// Magic and version.
const HEAD: usize = 8;
/// The digest at the end.
const NAME: usize = 16;

/// Checks a case; says whether the damaged bytes were accepted.
pub(crate) fn check(seed: u64, number: u64) -> Result<bool, String> {
    let mut generator = Generator(seed ^ number.rotate_left(32));
    attempt(&mut generator).map_err(|error| error.to_string())
}

fn attempt(generator: &mut Generator) -> Checked<bool> {
    let mut run = Run::open(generator)?;
    let question = run.question()?;
    let bytes = question.to_bytes()?;
    if Question::from_bytes(&bytes)? != question {
        return Err("a question that comes back as another".into());
    }
    let part = answer(&question, generator)?.ok_or("a worker refuses its own question")?;
    if generator.below(2) == 0 {
        return asked(&damaged(&bytes, generator), generator);
    }
    let bytes = damaged(&part, generator);
    let Ok(partial) = PartialSum::from_bytes(&question, &bytes) else {
        return Ok(false);
    };
    if partial.seal_to_bytes()? != bytes {
        return Err("a partial sum that comes back as another".into());
    }
    let spans = partial.positions().spans().to_vec();
    let Ok(delivery) = Delivery::new("s", 0, Positions::new(spans)?) else {
        return Ok(true);
    };
    match run.sum.commit(&question, &delivery, partial)? {
        Committed::Taken(_) => Ok(true),
        _ => Err("a new batch that is not taken".into()),
    }
}

/// Damaged bytes, signed again.
fn damaged(bytes: &[u8], generator: &mut Generator) -> Vec<u8> {
    let mut body = bytes[HEAD..bytes.len() - NAME].to_vec();
    damage(&mut body, generator);
    let mut bytes = [&bytes[..HEAD], &body].concat();
    let name = Sha256::digest(&bytes);
    bytes.extend_from_slice(&name[..NAME]);
    bytes
}

/// A question from anywhere.
fn asked(bytes: &[u8], generator: &mut Generator) -> Checked<bool> {
    let Ok(question) = Question::from_bytes(bytes) else {
        return Ok(false);
    };
    if Question::from_bytes(&question.to_bytes()?)? != question {
        return Err("a damaged question that comes back as another".into());
    }
    if question.coordinates() as u64 > FEW {
        return Ok(true);
    }
    let Some(part) = answer(&question, generator)? else {
        return Ok(true);
    };
    PartialSum::from_bytes(&question, &part)?;
    Ok(true)
}

/// What some records answer; nothing if the item is full before.
fn answer(question: &Question, generator: &mut Generator) -> Checked<Option<Vec<u8>>> {
    let mut worker = question.worker()?;
    let mut number = || match generator.below(9) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => 1e300,
        3 => -5.0,
        _ => generator.below(1000) as f64 / 500.0 - 1.0,
    };
    let mut count = 0;
    for t in 0..RECORDS.min(question.most()) {
        let values: Vec<f64> = (0..3).map(|_| number()).collect();
        let person = question.has_persons().then_some(t);
        let record = Raw::seal(Record {
            features: Features::Dense(values.clone()),
            target: number().trunc(),
        });
        let vector = Raw::seal(Contribution::Dense(values));
        // One of the two is what is asked for.
        let added = worker.add(person, record);
        added.or_else(|_| worker.add_vector(person, vector))?;
        count += 1;
    }
    let span = Span {
        partition: "p".to_owned(),
        start: 3,
        end: 3 + count,
    };
    Ok(Some(worker.finish([span])?.seal_to_bytes()?))
}

/// A run of some shape.
struct Run {
    sum: PrivateSum<Transcript>,
    shape: Shape,
}

enum Shape {
    Vector,
    Gradient(Box<dyn Loss>),
    Moments(Moments),
    Tables(Box<TableMap>),
    Statistics,
}

impl Run {
    fn open(generator: &mut Generator) -> Checked<Self> {
        let bounds = Bounds::new(1.5, (-1.0, 1.0), 2.0)?;
        let (shape, dimension, bound, geometry) = match generator.below(6) {
            0 => (Shape::Vector, 3, 2.0, Geometry::Ball),
            1 => {
                let loss: Box<dyn Loss> = Box::new(Softmax::new(3, 1.5, 2)?);
                let bound = loss.lipschitz();
                (Shape::Gradient(loss), 6, bound, Geometry::Ball)
            }
            2 => {
                let loss: Box<dyn Loss> = Box::new(LinearModel::new(3, Link::Huber(0.5), bounds)?);
                let bound = loss.lipschitz();
                (Shape::Gradient(loss), 3, bound, Geometry::Ball)
            }
            3 => {
                let moments = Moments::new(3, bounds);
                let (dimension, bound) = (moments.dimension() as u32, moments.bound());
                let geometry = Geometry::Moments(moments.weight());
                (Shape::Moments(moments), dimension, bound, geometry)
            }
            4 => {
                let map = TableMap::new(TableShape {
                    axes: vec![
                        Axis::Number {
                            knots: 3,
                            log: None,
                        },
                        Axis::Category { values: 2 },
                        Axis::Number {
                            knots: 2,
                            log: None,
                        },
                    ],
                    tables: vec![vec![0, 1]],
                    bins: 2,
                    share: 0.5,
                    l1: false,
                })?;
                let counts = map.dimension() as u32;
                let geometry = Geometry::Tables {
                    counts,
                    sixteenths: 9,
                };
                (Shape::Tables(Box::new(map)), 2 * counts, 0.5, geometry)
            }
            _ => {
                let statistics = Statistics::new(StatisticsShape {
                    groups: vec![GroupColumn {
                        column: 1,
                        values: 2,
                    }],
                    blocks: vec![
                        Block {
                            statistic: Statistic::Sum { column: 0 },
                            by_group: true,
                            weight: 4096,
                        },
                        Block {
                            statistic: Statistic::Histogram { column: 2, bins: 2 },
                            by_group: false,
                            weight: 1000,
                        },
                    ],
                })?;
                let dimension = statistics.dimension();
                let geometry = Geometry::Statistics(statistics);
                (Shape::Statistics, dimension, 1.0, geometry)
            }
        };
        let participation = match generator.below(3) {
            0 => Participation::PerPerson {
                most: 4,
                separation: 2,
            },
            _ => Participation::OncePerRecord,
        };
        let budget = Budget::approx(1.0, 1e-6)?;
        let plan = SumRequest {
            kind: SumKind::Tree,
            noise: Noise::Gaussian,
            releases: 8,
            dimension,
            bound,
            geometry,
            least_sigma: 0.0,
            batch: 2 * RECORDS,
            adjacency: Adjacency::ReplaceOne,
            participation,
            budget,
        }
        .plan()?;
        let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, plan.scope())?;
        let grant = ledger.debit(plan.charge()?, plan.scope())?;
        let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
        let sum = PrivateSum::open(plan, grant, &key, &mut ledger, storage)?;
        Ok(Self { sum, shape })
    }

    fn question(&self) -> Checked<Question> {
        let weights = vec![0.25; 32];
        let ask = match &self.shape {
            Shape::Vector => Ask::Vector,
            Shape::Gradient(loss) => Ask::Gradient(loss.as_ref(), &weights[..loss.dimension()]),
            Shape::Moments(moments) => Ask::Moments(moments),
            Shape::Tables(map) => Ask::Tables(map, Response::Sign, &weights[..map.dimension()]),
            Shape::Statistics => Ask::Statistics,
        };
        Ok(self.sum.question(ask, b"a note".to_vec())?)
    }
}
