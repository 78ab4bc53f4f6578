//! Broken questions and partial sums: bytes from other machines, which nobody trusts.

use crate::mutate::{Generator, damage};
use crate::{Broken, input};
use hushstream::elsewhere;
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Loss, Record};
use hushstream_mechanism::sums::{
    Ask, Geometry, Noise, Opener, PartialSum, PrivateSum, Question, Span, SumKind, SumRequest,
    Worker,
};
use hushstream_mechanism::{
    Axis, Block, Contribution, GroupColumn, Ledger, MemoryStorage, Moments, Participation, Raw,
    Response, Statistic, Statistics, StatisticsShape, TableMap, TableShape, Transcript,
};
use hushstream_noise::Key;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::LazyLock;

/// The most coordinates for which a worker is begun: a question may ask for gigabytes.
const MOST: usize = 1 << 16;

/// Bytes of a question or of a partial sum, broken or not.
pub(crate) struct Bytes {
    /// The question that the partial sum answers; none if the bytes are a question.
    question: Option<usize>,
    bytes: Vec<u8>,
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.question {
            Some(question) => format!("partial sum of question {question}"),
            None => "question".to_owned(),
        };
        write!(f, "{what}\n{}", self.bytes.escape_ascii())
    }
}

/// Honest questions of every kind, with a partial sum each.
static HONEST: LazyLock<Vec<(Question, Vec<u8>)>> = LazyLock::new(|| honest().unwrap_or_default());

type Failure = Box<dyn std::error::Error>;

fn honest() -> Result<Vec<(Question, Vec<u8>)>, Failure> {
    let bounds = Bounds::new(2.0, (-1.0, 1.0), 3.0)?;
    let loss = LinearModel::new(3, Link::Logistic, bounds)?;
    let moments = Moments::new(3, bounds);
    let map = TableMap::new(TableShape {
        axes: vec![
            Axis::Number {
                knots: 3,
                log: None,
            },
            Axis::Category { values: 2 },
        ],
        tables: vec![vec![0, 1]],
        bins: 2,
        share: 0.5,
        l1: false,
    })?;
    let block = |statistic, weight| Block {
        statistic,
        by_group: true,
        weight,
    };
    let statistics = Statistics::new(StatisticsShape {
        groups: vec![GroupColumn {
            column: 1,
            values: 2,
        }],
        blocks: vec![
            block(Statistic::Count, 2000),
            block(Statistic::Sum { column: 0 }, 4096),
            block(Statistic::Histogram { column: 2, bins: 3 }, 1000),
        ],
    })?;
    let counts = map.dimension() as u32;
    let tables = Geometry::Tables {
        counts,
        sixteenths: 12,
    };
    let weights = vec![0.25; map.dimension()];
    let once = Participation::OncePerRecord;
    let persons = Participation::PerPerson {
        most: 4,
        separation: 2,
    };
    let asked = [
        (Ask::Vector, 3, 1.0, Geometry::Ball, once),
        (
            Ask::Gradient(&loss, &[0.5, -0.5, 0.0]),
            3,
            loss.lipschitz(),
            Geometry::Ball,
            persons,
        ),
        (
            Ask::Moments(&moments),
            moments.dimension() as u32,
            moments.bound(),
            Geometry::Moments(moments.weight()),
            once,
        ),
        (
            Ask::Tables(&map, Response::Sign, &weights),
            2 * counts,
            0.5,
            tables,
            once,
        ),
        (
            Ask::Statistics,
            statistics.dimension(),
            1.0,
            Geometry::Statistics(statistics.clone()),
            persons,
        ),
    ];
    let budget = Budget::approx(1.0, 1e-6)?;
    let mut all = Vec::new();
    for (ask, dimension, bound, geometry, participation) in asked {
        let plan = SumRequest {
            kind: SumKind::Tree,
            noise: Noise::Gaussian,
            releases: 8,
            dimension,
            bound,
            geometry,
            least_sigma: 0.0,
            batch: 9,
            adjacency: Adjacency::ReplaceOne,
            participation,
            budget,
        }
        .plan()?;
        let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, plan.scope())?;
        let grant = ledger.debit(plan.charge()?, plan.scope())?;
        let (key, storage) = (Key::insecure_from_seed(1), MemoryStorage::default());
        let sum = PrivateSum::<Transcript>::open(plan, grant, &key, &mut ledger, storage)?;
        let question = sum.question(ask, b"{}".to_vec())?;
        let partial = answered(&question, question.worker()?, 0)?;
        all.push((question, partial.seal_to_bytes()?));
    }
    Ok(all)
}

/// Three records, one of them far outside of every bound, and one empty.
fn answered(question: &Question, mut worker: Worker, start: u64) -> Result<PartialSum, Failure> {
    for (number, value) in (0..).zip([0.5, 1e300, f64::NAN]) {
        let person = question.has_persons().then_some(start + number);
        let record = Raw::seal(Record {
            features: Features::Dense(vec![value, 1.0, -value]),
            target: 1.0,
        });
        if worker.add(person, record).is_err() {
            let vector = Raw::seal(Contribution::Dense(vec![value; 3]));
            worker.add_vector(person, vector)?;
        }
    }
    let span = Span {
        partition: "p".to_owned(),
        start,
        end: start + 3,
    };
    Ok(worker.finish([span])?)
}

/// The case of this number: most are damaged, and of those half have their digest made right.
pub(crate) fn draw(seed: u64, number: u64) -> Bytes {
    let mut generator = Generator(seed ^ number.wrapping_mul(0x9e6c_63d0_76a1_35f1));
    let place = generator.below(HONEST.len());
    let is_question = generator.below(2) == 0;
    let mut bytes = match HONEST.get(place) {
        Some((question, _)) if is_question => question.to_bytes().unwrap_or_default(),
        Some((_, partial)) => partial.clone(),
        None => Vec::new(),
    };
    if generator.below(16) > 0 {
        let whole = generator.below(2) == 0;
        if !whole {
            bytes.truncate(bytes.len().saturating_sub(16));
        }
        damage(&mut bytes, &mut generator);
        if !whole {
            let digest = Sha256::digest(&bytes);
            bytes.extend_from_slice(&digest[..16]);
        }
    }
    Bytes {
        question: (!is_question).then_some(place),
        bytes,
    }
}

impl Broken for Bytes {
    /// Whether the bytes are taken. What is taken can be written, read and answered, and what a
    /// worker answers is taken.
    fn check(&self) -> Result<bool, String> {
        if HONEST.is_empty() {
            return Err("no question could be made".to_owned());
        }
        match self.question {
            Some(place) => self.check_partial(&HONEST[place].0),
            None => self.check_question(),
        }
    }
}

impl Bytes {
    fn check_question(&self) -> Result<bool, String> {
        let Ok(question) = Question::from_bytes(&self.bytes) else {
            return Ok(false);
        };
        let again = question.to_bytes().map_err(|error| error.to_string())?;
        if Question::from_bytes(&again).as_ref() != Ok(&question) {
            return Err("a question changes when it is written and read".to_owned());
        }
        // Its sums have eight bytes for each coordinate.
        let is_small = question.coordinates() <= MOST && question.most() >= 3;
        if is_small && let Ok(worker) = question.worker() {
            let Ok(partial) = answered(&question, worker, 5) else {
                return Ok(true); // other columns, or records that are vectors
            };
            let bytes = partial.seal_to_bytes().map_err(|error| error.to_string())?;
            if let Err(error) = PartialSum::from_bytes(&question, &bytes) {
                return Err(format!("a worker's answer is refused: {error}"));
            }
        }
        Ok(true)
    }

    fn check_partial(&self, question: &Question) -> Result<bool, String> {
        let _ = PartialSum::public_in(&self.bytes);
        let Ok(mut partial) = PartialSum::from_bytes(question, &self.bytes) else {
            return Ok(false);
        };
        if partial.records() > question.most().min(partial.positions().count()) {
            return Err("more records than a batch or its positions have".to_owned());
        }
        let Ok(worker) = question.worker() else {
            return Ok(true); // another loss
        };
        let Ok(other) = answered(question, worker, 100) else {
            return Ok(true); // other columns, or fewer records than three
        };
        let before = partial.records();
        let records = match partial.merge(other) {
            Ok(()) => before + 3,
            Err(_) => before,
        };
        if partial.records() != records {
            return Err("a merge lost records".to_owned());
        }
        let bytes = partial.seal_to_bytes().map_err(|error| error.to_string())?;
        PartialSum::from_bytes(question, &bytes)
            .map(|_| true)
            .map_err(|error| format!("what was taken is refused: {error}"))
    }
}

/// The bits of an input's first byte.
const QUESTION_DIGEST: u8 = 1;
const PARTIAL_DIGEST: u8 = 2;
/// The partial sum names the run and the question that come with it.
const NAMED: u8 = 4;
/// The bytes are sealed as they are, and not what was sealed.
const SEALED: u8 = 8;

/// An input is a question and a partial sum of it.
pub(crate) fn check_bytes(bytes: &[u8]) -> Result<bool, String> {
    let (flags, [question, partial]) = input::parts(bytes);
    let mut question = question.to_vec();
    if flags & QUESTION_DIGEST != 0 {
        question = input::digested(&question);
    }
    let asked = Bytes {
        question: None,
        bytes: question.clone(),
    };
    let is_question = asked.check_question()?;
    if let Ok(mut worker) = elsewhere_worker(&question) {
        let columns = worker.columns().len();
        let row = vec![0.5; columns.min(MOST)];
        if let Err(error) = worker.add(&row[..]) {
            input::speaks(&error.to_string())?;
        }
    }
    let mut partial = partial.to_vec();
    if flags & NAMED != 0
        && let (Some(run), Some(name)) = (question.get(8..24), question.last_chunk::<16>())
        && partial.len() >= 40
    {
        partial[8..24].copy_from_slice(run);
        partial[24..40].copy_from_slice(name);
    }
    if flags & PARTIAL_DIGEST != 0 {
        partial = input::digested(&partial);
    }
    let opener = Opener::new(&Key::insecure_from_seed(1));
    if flags & SEALED == 0 {
        if let Ok(sealed) = opener.public().seal(&partial)
            && opener.open(&sealed) != partial
        {
            return Err("what was sealed opens as something else".to_owned());
        }
    } else {
        partial = opener.open(&partial).into_owned();
    }
    let _ = elsewhere::covered(&[&partial]).map(drop);
    let _ = elsewhere::merge(&question, &[&partial]).map(drop);
    if !is_question {
        return Ok(false);
    }
    let Ok(asked) = Question::from_bytes(&question) else {
        return Ok(false);
    };
    if asked.coordinates() > MOST {
        return Ok(true);
    }
    let partial = Bytes {
        question: None,
        bytes: partial,
    };
    partial.check_partial(&asked)
}

/// A worker, unless the question asks for gigabytes.
fn elsewhere_worker(question: &[u8]) -> Result<elsewhere::Worker, Failure> {
    if Question::from_bytes(question)?.coordinates() > MOST {
        return Err("too many coordinates".into());
    }
    Ok(elsewhere::Worker::new(question)?)
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let opener = Opener::new(&Key::insecure_from_seed(1));
    let mut all = Vec::new();
    for (question, partial) in HONEST.iter() {
        let question = question.to_bytes().unwrap_or_default();
        let sealed = opener.public().seal(partial).unwrap_or_default();
        let right = QUESTION_DIGEST | PARTIAL_DIGEST | NAMED;
        all.push(input::joined(right, &[&question, partial]));
        all.push(input::joined(0, &[&question, partial]));
        all.push(input::joined(SEALED, &[&question, &sealed]));
    }
    all
}
