//! Small damages to bytes, drawn from a seeded generator.

/// A marker that stands for what somebody wrote into a field; no message may hold it.
pub const MARKER: &str = "zq7secret";

/// What is likely to be misunderstood.
const TOKENS: [&str; 44] = [
    MARKER,
    "\"",
    "\"\"",
    ",",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "|",
    ":",
    " ",
    "'",
    "#",
    "*",
    "=",
    "{",
    "}",
    "[",
    "]",
    "\\",
    "\\u",
    "\\ud83d\\ude00",
    "\\udc00",
    "null",
    "NaN",
    "NA",
    "inf",
    "1e999",
    "-0",
    "1e-400",
    "0.1",
    "9007199254740993",
    "99999999999999999999",
    "true",
    "\u{feff}",
    "\0",
    "ä",
    "0,0,0,0,",
    "-1",
    "1",
    "2",
    "e",
    "+",
    ".",
];

/// SplitMix64.
pub struct Generator(
    /// Its state.
    pub u64,
);

impl Generator {
    /// The next number.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`; the bias does not matter here.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.word() % bound.max(1) as u64) as usize
    }

    /// One of these.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Does some damage, most often a little.
pub fn damage(bytes: &mut Vec<u8>, generator: &mut Generator) {
    let most = 1 << generator.below(4);
    let times = 1 + generator.below(most);
    for _ in 0..times {
        once(bytes, generator);
    }
}

fn once(bytes: &mut Vec<u8>, generator: &mut Generator) {
    let at = generator.below(bytes.len() + 1);
    let end = (at + 1 + generator.below(12)).min(bytes.len());
    match generator.below(8) {
        0 | 1 => splice(bytes, at..at, generator.pick(&TOKENS).as_bytes()),
        2 => splice(bytes, at..end.max(at), generator.pick(&TOKENS).as_bytes()),
        3 => splice(bytes, at..end.max(at), b""),
        4 if at < bytes.len() => bytes[at] = generator.word() as u8,
        5 => {
            let copied = bytes[at..end.max(at)].to_vec();
            let to = generator.below(bytes.len() + 1);
            splice(bytes, to..to, &copied);
        }
        6 if generator.below(4) == 0 => bytes.truncate(at),
        _ => {
            let mut lines: Vec<Vec<u8>> = bytes
                .split_inclusive(|&byte| byte == b'\n')
                .map(<[u8]>::to_vec)
                .collect();
            if lines.is_empty() {
                return;
            }
            let line = generator.pick(&lines).clone();
            lines.insert(generator.below(lines.len()), line);
            *bytes = lines.concat();
        }
    }
}

fn splice(bytes: &mut Vec<u8>, range: std::ops::Range<usize>, with: &[u8]) {
    bytes.splice(range, with.iter().copied());
}

/// Words of schemas, cards, models and requests, which no coverage leads to.
const WORDS: [&str; 36] = [
    "target = 'y'",
    "task = 'regress'",
    "task = 'multiclass'",
    "task = 'experts'",
    "task = 'bandit'",
    "task = 'decide'",
    "task = 'track'",
    "target_bounds = [0, 1]",
    "missing_target = 'null'",
    "classes = ['a', 'b']",
    "arms = ['a', 'b']",
    "separator = ';'",
    "no_header = true",
    "names = ['a', 'b']",
    "missing = ['-']",
    "positive = '1'",
    "features = ['x*']",
    "ignore = ['x*']",
    "bounds = { x = [0, 1] }",
    "one_hot = ['a*', 'b|c']",
    "vocabulary = { k = ['a', 'b'] }",
    "dates = ['d']",
    "hashed = { t = 3 }",
    "hash_bits = 3",
    "dimension = 9",
    "index_base = 0",
    "norm = 1",
    "intercept = false",
    "person = 'p'",
    "2013-01-31T14:05",
    "\"version\": 1",
    "\"coded\": true",
    "/v1/models/banner",
    "/v1/datasets/people",
    "\"event_id\":\"a\"",
    "\n%%\n",
];

/// Both lists as libFuzzer reads them.
#[must_use]
pub fn dictionary() -> String {
    let quoted = |word: &&str| {
        let bytes = word.bytes().map(|byte| format!("\\x{byte:02x}"));
        format!("\"{}\"\n", bytes.collect::<String>())
    };
    TOKENS.iter().chain(&WORDS).map(quoted).collect()
}
