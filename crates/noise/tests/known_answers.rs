//! The samplers against known answers of a second implementation, `oracle/noise.py`, which shares no code and no
//! shortcut with them: it reads all bits of every draw and decides on real numbers of 640 bits.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use hushstream_noise::{
    Coin, Cursor, DiscreteLaplace, Dyadic, ExponentialChoice, FineGaussian, Instance, Key,
    L2Laplace, RoundedGaussian, Source,
};
use serde::{Deserialize, Deserializer, de::Error};
use sha2::{Digest, Sha256};
use std::str::FromStr;

#[derive(Deserialize)]
struct Vectors {
    sources: Vec<SourceName>,
    cursor_words: Vec<CursorWords>,
    rounded_gaussian: Vec<Gaussian>,
    fine_gaussian: Vec<Gaussian>,
    rare_gaussian: Vec<RareGaussian>,
    last_address: LastAddress,
    discrete_laplace: Vec<Laplace>,
    l2_laplace: Vec<Laplace>,
    coin: Vec<CoinTosses>,
    exponential_choice: Vec<Choices>,
}

#[derive(Deserialize)]
struct SourceName {
    #[serde(deserialize_with = "number")]
    seed: u64,
    instance: String,
    #[serde(deserialize_with = "number")]
    mechanism: u64,
}

#[derive(Deserialize)]
struct Place {
    source: usize,
    #[serde(deserialize_with = "number")]
    node: u64,
}

#[derive(Deserialize)]
struct CursorWords {
    #[serde(flatten)]
    place: Place,
    lane: u32,
    #[serde(deserialize_with = "numbers")]
    words: Vec<u64>,
}

#[derive(Deserialize)]
struct Gaussian {
    #[serde(flatten)]
    place: Place,
    first: u32,
    count: usize,
    bits: Option<u32>,
    guard_bits: Option<u32>,
    #[serde(deserialize_with = "numbers")]
    head: Vec<i128>,
    sha256: Option<String>,
}

#[derive(Deserialize)]
struct RareGaussian {
    #[serde(flatten)]
    place: Place,
    coordinate: u32,
    law: String,
    rejections: u32,
    #[serde(deserialize_with = "number")]
    value: i128,
}

#[derive(Deserialize)]
struct LastAddress {
    #[serde(flatten)]
    place: Place,
    coordinate: u32,
    #[serde(deserialize_with = "number")]
    rounded_30: i64,
    #[serde(deserialize_with = "number")]
    fine_64: i128,
}

#[derive(Deserialize)]
struct Laplace {
    #[serde(flatten)]
    place: Place,
    first: u32,
    dimension: Option<u32>,
    #[serde(deserialize_with = "number")]
    scale: u64,
    #[serde(deserialize_with = "numbers")]
    values: Vec<i64>,
}

#[derive(Deserialize)]
struct CoinTosses {
    #[serde(flatten)]
    place: Place,
    lane: u32,
    law: String,
    #[serde(deserialize_with = "number")]
    numerator: u64,
    #[serde(deserialize_with = "number")]
    denominator: u64,
    tosses: String,
    #[serde(deserialize_with = "number")]
    next_word: u64,
}

#[derive(Deserialize)]
struct Choices {
    #[serde(flatten)]
    place: Place,
    lane: u32,
    rate_f64: Option<String>,
    mantissa: Option<String>,
    shift: Option<u32>,
    #[serde(deserialize_with = "numbers")]
    penalties: Vec<u64>,
    drawn: Vec<usize>,
    #[serde(deserialize_with = "number")]
    next_word: u64,
}

fn number<'de, T: FromStr, D: Deserializer<'de>>(input: D) -> Result<T, D::Error> {
    let text = String::deserialize(input)?;
    text.parse()
        .map_err(|_| D::Error::custom(format!("no number in range: {text}")))
}

fn numbers<'de, T: FromStr, D: Deserializer<'de>>(input: D) -> Result<Vec<T>, D::Error> {
    let texts = Vec::<String>::deserialize(input)?;
    let parse = |text: String| {
        text.parse()
            .map_err(|_| D::Error::custom(format!("no number in range: {text}")))
    };
    texts.into_iter().map(parse).collect()
}

fn vectors() -> Vectors {
    serde_json::from_str(include_str!("vectors/noise.json")).unwrap()
}

impl Vectors {
    fn open(&self, place: &Place) -> Source {
        let name = &self.sources[place.source];
        let instance: Vec<u8> = (0..name.instance.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&name.instance[at..at + 2], 16).unwrap())
            .collect();
        let instance = Instance::from_bytes(instance.try_into().unwrap());
        Source::open(
            &Key::insecure_from_seed(name.seed),
            instance,
            name.mechanism,
        )
    }
}

impl Gaussian {
    /// The first values, and the digest of all if the file has one, for whatever draws are given.
    fn holds(&self, draws: &[i128], bytes: usize) -> bool {
        let heads_agree = draws.len() == self.count && draws[..self.head.len()] == self.head;
        let digests_agree = self.sha256.as_ref().is_none_or(|expected| {
            let mut hasher = Sha256::new();
            for draw in draws {
                hasher.update(&draw.to_le_bytes()[..bytes]);
            }
            let digest: String = hasher
                .finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            digest == *expected
        });
        assert!(self.sha256.is_some() || self.head.len() == self.count);
        heads_agree && digests_agree
    }

    fn draw_rounded(&self, source: &Source, node: u64) -> Vec<i128> {
        let law = RoundedGaussian::with_bits(self.bits.unwrap()).unwrap();
        let mut draws = vec![0; self.count];
        law.fill(source, node, self.first, &mut draws);
        draws.into_iter().map(i128::from).collect()
    }

    fn draw_fine(&self, source: &Source, node: u64) -> Vec<i128> {
        let law = FineGaussian::new(self.guard_bits.unwrap()).unwrap();
        let mut draws = vec![0; self.count];
        law.fill(source, node, self.first, &mut draws);
        let mut narrow = vec![0; self.count];
        if law.fill_i64(source, node, self.first, &mut narrow).is_ok() {
            assert!(draws.iter().zip(&narrow).all(|(d, n)| *d == i128::from(*n)));
        }
        draws
    }
}

const BYTES_ROUNDED: usize = 8;
const BYTES_FINE: usize = 16;

#[test]
fn cursors_give_the_known_words() {
    let vectors = vectors();
    for known in &vectors.cursor_words {
        let source = vectors.open(&known.place);
        let mut cursor = source.cursor(known.place.node, known.lane);
        for &word in &known.words {
            assert_eq!(cursor.next_word(), word);
        }
    }
}

#[test]
fn rounded_gaussian() {
    let vectors = vectors();
    for known in &vectors.rounded_gaussian {
        let source = vectors.open(&known.place);
        let draws = known.draw_rounded(&source, known.place.node);
        assert!(
            known.holds(&draws, BYTES_ROUNDED),
            "bits {:?} node {} first {}",
            known.bits,
            known.place.node,
            known.first
        );
    }
}

#[test]
fn fine_gaussian() {
    let vectors = vectors();
    for known in &vectors.fine_gaussian {
        let source = vectors.open(&known.place);
        let draws = known.draw_fine(&source, known.place.node);
        assert!(
            known.holds(&draws, BYTES_FINE),
            "guard bits {:?} node {} first {}",
            known.guard_bits,
            known.place.node,
            known.first
        );
    }
}

/// Draws with up to three rejections, and cells that the first word leaves open.
#[test]
fn rarely_reached_gaussian_draws() {
    let vectors = vectors();
    for known in &vectors.rare_gaussian {
        let source = vectors.open(&known.place);
        let (node, coordinate) = (known.place.node, known.coordinate);
        let value = match known.law.as_str() {
            "rounded" => {
                let mut one = [0];
                RoundedGaussian::STANDARD.fill(&source, node, coordinate, &mut one);
                i128::from(one[0])
            }
            "fine" => {
                let mut one = [0];
                FineGaussian::new(64)
                    .unwrap()
                    .fill(&source, node, coordinate, &mut one);
                one[0]
            }
            other => panic!("unknown law {other}"),
        };
        assert_eq!(
            value, known.value,
            "{} {} {coordinate}: {} rejections",
            known.law, node, known.rejections
        );
    }
    let deepest = vectors.rare_gaussian.iter().map(|r| r.rejections).max();
    assert!(deepest >= Some(3));
}

/// The last coordinate of the last node, after which no address follows.
#[test]
fn the_last_address_of_all() {
    let vectors = vectors();
    let known = &vectors.last_address;
    assert_eq!((known.place.node, known.coordinate), (u64::MAX, u32::MAX));
    let source = vectors.open(&known.place);
    let (mut rounded, mut fine) = ([0], [0]);
    RoundedGaussian::STANDARD.fill(&source, u64::MAX, u32::MAX, &mut rounded);
    assert_eq!(rounded[0], known.rounded_30);
    FineGaussian::new(64)
        .unwrap()
        .fill(&source, u64::MAX, u32::MAX, &mut fine);
    assert_eq!(fine[0], known.fine_64);
}

#[test]
fn discrete_laplace() {
    let vectors = vectors();
    for known in &vectors.discrete_laplace {
        let source = vectors.open(&known.place);
        let mut draws = vec![0; known.values.len()];
        DiscreteLaplace::new(known.scale).unwrap().fill(
            &source,
            known.place.node,
            known.first,
            &mut draws,
        );
        assert_eq!(
            draws, known.values,
            "scale {} first {}",
            known.scale, known.first
        );
    }
}

#[test]
fn l2_laplace() {
    let vectors = vectors();
    for known in &vectors.l2_laplace {
        let source = vectors.open(&known.place);
        let dimension = known.dimension.unwrap();
        let mut draws = vec![0; known.values.len()];
        L2Laplace::new(dimension, known.scale).unwrap().fill(
            &source,
            known.place.node,
            known.first,
            &mut draws,
        );
        assert_eq!(
            draws, known.values,
            "dimension {dimension} scale {}",
            known.scale
        );
    }
}

impl CoinTosses {
    fn toss(&self, cursor: &mut Cursor<'_>) -> String {
        let make = match self.law.as_str() {
            "ratio" => Coin::ratio,
            "exp_minus" => Coin::exp_minus,
            other => panic!("unknown law {other}"),
        };
        let coin = make(self.numerator, self.denominator).unwrap();
        (0..self.tosses.len())
            .map(|_| if coin.toss(cursor) { '1' } else { '0' })
            .collect()
    }
}

#[test]
fn coins() {
    let vectors = vectors();
    for known in &vectors.coin {
        let source = vectors.open(&known.place);
        let mut cursor = source.cursor(known.place.node, known.lane);
        let coin = (&known.law, known.numerator, known.denominator);
        assert_eq!(known.toss(&mut cursor), known.tosses, "{coin:?}");
        assert_eq!(cursor.next_word(), known.next_word, "{coin:?}");
    }
}

impl Choices {
    fn rate(&self) -> Dyadic {
        match (&self.rate_f64, &self.mantissa, self.shift) {
            (Some(rate), None, None) => Dyadic::from_f64(rate.parse().unwrap()),
            (None, Some(mantissa), Some(shift)) => Dyadic::new(mantissa.parse().unwrap(), shift),
            _ => panic!("a rate is either a float or mantissa and shift"),
        }
        .unwrap()
    }

    fn draw(&self, rate: Dyadic, cursor: &mut Cursor<'_>) -> Vec<usize> {
        let choice = ExponentialChoice::new(rate);
        (0..self.drawn.len())
            .map(|_| choice.draw(&self.penalties, cursor).unwrap())
            .collect()
    }
}

#[test]
fn exponential_choice() {
    let vectors = vectors();
    for known in &vectors.exponential_choice {
        let source = vectors.open(&known.place);
        let mut cursor = source.cursor(known.place.node, known.lane);
        let rate = known.rate();
        assert_eq!(known.draw(rate, &mut cursor), known.drawn, "{rate:?}");
        assert_eq!(cursor.next_word(), known.next_word, "{rate:?}");
    }
}

/// The comparisons above can fail: a changed value, a neighbouring address, another source or another parameter is
/// noticed in every family.
#[test]
fn a_wrong_answer_is_noticed() {
    let mut vectors = vectors();

    let known = vectors.rounded_gaussian.pop().unwrap();
    let source = vectors.open(&known.place);
    let draws = known.draw_rounded(&source, known.place.node);
    assert!(known.holds(&draws, BYTES_ROUNDED));
    assert!(known.sha256.is_some(), "the last run is a long one");
    for at in [0, known.count - 1] {
        let mut planted = draws.clone();
        planted[at] += 1;
        assert!(!known.holds(&planted, BYTES_ROUNDED));
    }
    assert!(!known.holds(
        &known.draw_rounded(&source, known.place.node ^ 1),
        BYTES_ROUNDED
    ));
    let neighbour = Gaussian {
        first: known.first - 1,
        ..known
    };
    let draws = neighbour.draw_rounded(&source, neighbour.place.node);
    assert!(!neighbour.holds(&draws, BYTES_ROUNDED));

    let known = vectors.fine_gaussian.pop().unwrap();
    let source = vectors.open(&Place {
        source: (known.place.source + 1) % vectors.sources.len(),
        ..known.place
    });
    assert!(!known.holds(&known.draw_fine(&source, known.place.node), BYTES_FINE));

    let known = &vectors.discrete_laplace[0];
    let source = vectors.open(&known.place);
    let mut draws = vec![0; known.values.len()];
    let law = DiscreteLaplace::new(known.scale + 1).unwrap();
    law.fill(&source, known.place.node, known.first, &mut draws);
    assert_ne!(draws, known.values);

    let known = vectors.l2_laplace.last().unwrap();
    let source = vectors.open(&known.place);
    let mut draws = vec![0; known.values.len()];
    // One dimension more: the same directions, another length.
    let law = L2Laplace::new(known.dimension.unwrap() + 1, known.scale).unwrap();
    law.fill(&source, known.place.node, known.first, &mut draws);
    assert_ne!(draws, known.values);

    let known = &vectors.coin[0];
    let source = vectors.open(&known.place);
    let mut neighbour = source.cursor(known.place.node, known.lane + 1);
    assert_ne!(known.toss(&mut neighbour), known.tosses);

    let known = &vectors.exponential_choice[0];
    let source = vectors.open(&known.place);
    let mut cursor = source.cursor(known.place.node, known.lane);
    let steeper = Dyadic::from_f64(0.5).unwrap();
    assert_ne!(known.draw(steeper, &mut cursor), known.drawn);
}
