//! Reads the file of known answers.

use hushstream_noise::{Instance, Key, Source};
use serde::{Deserialize, Deserializer, de::Error};
use std::str::FromStr;

#[derive(Deserialize)]
pub(crate) struct Vectors {
    pub(crate) sources: Vec<SourceName>,
    pub(crate) cursor_words: Vec<CursorWords>,
    pub(crate) rounded_gaussian: Vec<Gaussian>,
    pub(crate) fine_gaussian: Vec<Gaussian>,
    pub(crate) rare_gaussian: Vec<RareGaussian>,
    pub(crate) last_address: LastAddress,
    pub(crate) discrete_laplace: Vec<Laplace>,
    pub(crate) l2_laplace: Vec<Laplace>,
    pub(crate) coin: Vec<CoinTosses>,
    pub(crate) exponential_choice: Vec<Choices>,
}

#[derive(Deserialize)]
pub(crate) struct SourceName {
    #[serde(deserialize_with = "number")]
    pub(crate) seed: u64,
    pub(crate) instance: String,
    #[serde(deserialize_with = "number")]
    pub(crate) mechanism: u64,
}

#[derive(Deserialize)]
pub(crate) struct Place {
    pub(crate) source: usize,
    #[serde(deserialize_with = "number")]
    pub(crate) node: u64,
}

#[derive(Deserialize)]
pub(crate) struct CursorWords {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) lane: u32,
    #[serde(deserialize_with = "numbers")]
    pub(crate) words: Vec<u64>,
}

#[derive(Deserialize)]
pub(crate) struct Gaussian {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) first: u32,
    pub(crate) count: usize,
    pub(crate) bits: Option<u32>,
    pub(crate) guard_bits: Option<u32>,
    #[serde(deserialize_with = "numbers")]
    pub(crate) head: Vec<i128>,
    pub(crate) sha256: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct RareGaussian {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) coordinate: u32,
    pub(crate) law: String,
    pub(crate) rejections: u32,
    #[serde(deserialize_with = "number")]
    pub(crate) value: i128,
}

#[derive(Deserialize)]
pub(crate) struct LastAddress {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) coordinate: u32,
    #[serde(deserialize_with = "number")]
    pub(crate) rounded_30: i64,
    #[serde(deserialize_with = "number")]
    pub(crate) fine_64: i128,
}

#[derive(Deserialize)]
pub(crate) struct Laplace {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) first: u32,
    pub(crate) dimension: Option<u32>,
    #[serde(deserialize_with = "number")]
    pub(crate) scale: u64,
    #[serde(deserialize_with = "numbers")]
    pub(crate) values: Vec<i64>,
}

#[derive(Deserialize)]
pub(crate) struct CoinTosses {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) lane: u32,
    pub(crate) law: String,
    #[serde(deserialize_with = "number")]
    pub(crate) numerator: u64,
    #[serde(deserialize_with = "number")]
    pub(crate) denominator: u64,
    pub(crate) tosses: String,
    #[serde(deserialize_with = "number")]
    pub(crate) next_word: u64,
}

#[derive(Deserialize)]
pub(crate) struct Choices {
    #[serde(flatten)]
    pub(crate) place: Place,
    pub(crate) lane: u32,
    pub(crate) rate_f64: Option<String>,
    pub(crate) mantissa: Option<String>,
    pub(crate) shift: Option<u32>,
    #[serde(deserialize_with = "numbers")]
    pub(crate) penalties: Vec<u64>,
    pub(crate) drawn: Vec<usize>,
    #[serde(deserialize_with = "number")]
    pub(crate) next_word: u64,
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

pub(crate) fn vectors() -> Vectors {
    serde_json::from_str(include_str!("../vectors/noise.json")).unwrap()
}

impl Vectors {
    pub(crate) fn open(&self, place: &Place) -> Source {
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
