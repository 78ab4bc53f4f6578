//! Files to begin with, and what becomes of them.

use crate::input;
use crate::mutate::{Generator, MARKER, damage};
use hushstream_read::Format;
use std::fmt;

/// A schema and a file.
pub(crate) struct Case {
    pub(crate) format: Format,
    pub(crate) schema: String,
    pub(crate) bytes: Vec<u8>,
    /// Whether column names are as they were, so that a marker in a message can only come from a
    /// field.
    pub(crate) names_kept: bool,
    /// For choices while checking.
    pub(crate) seed: u64,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} by schema\n{}\n{}",
            self.format,
            self.schema,
            self.bytes.escape_ascii()
        )
    }
}

/// Format, schema, what names the columns, the rest.
pub(crate) const SEEDS: [(Format, &str, &str, &str); 10] = [
    (
        Format::Csv,
        "target = 'y'\nperson = 'who'\nvocabulary = { kind = ['a', 'b', 'c d'] }\nbounds = { 'x*' \
         = [-2, 3] }\nhashed = { text = 6 }",
        "x1,kind,who,text,x2,y\n",
        "1,a,zq7secret,\"zq7secret, said \"\"it\"\"\",-1.25,1\n2.5,\"b\",bob,,NA,0\r\n-3e-2,c \
         d,zq7secret,x\u{e4},1e2,true\n,zq7secret,,\"two\nlines\",0,-1\n",
    ),
    (
        Format::Csv,
        "target = 'y'\npositive = '2'\none_hot = ['a*', 'b1|b2']\nbounds = { x = [0, 10] \
         }\nmissing_target = 'null'",
        "a1,a2,a3,a4,a5,a6,b1,b2,x,y\n",
        "0,0,0,0,1,0,1,0,5,2\n0,0,0,0,0,0,0,1,10,1\n1,0,0,0,0,0,0,0,0,zq7secret\n0,1,1,0,0,0,0,0,0.125,\n",
    ),
    (
        Format::Tsv,
        "task = 'regress'\ntarget = 'y'\ntarget_bounds = [-5, 5]\nnorm = 0.5\nhash_bits = \
         3\nbounds = { x = [0, 1] }",
        "x\ty\tt\n",
        "0.5\t-7\tzq7secret\n1\t2.25\t\"a\tb\"\n\t5e-1\t\n",
    ),
    (
        Format::Csv,
        "task = 'experts'\nignore = ['day']\nbounds = { '*' = [0, 1] }",
        "day,e1,e2,e3,e4,e5\n",
        "zq7secret,0,0,0,0,1\nb,0.5,0.25,,1,2\n",
    ),
    (
        Format::Csv,
        "target = 'y'\nbounds = { 'x*' = [-9, 9] }",
        "x1,x2,x3,x4,x5,x6,y\n",
        "1.25,0.50,3.75,12,.5,7.,1\n2.25,1.50,0.75,34,.6,8.,0\n0.00,9.99,5.05,56,.7,9.,1\n1.00,0.01,2.00,78,.8,0.,0\n",
    ),
    (
        Format::JsonLines,
        "target = 'y'\nperson = 'who'\nvocabulary = { kind = ['a', 'b'] }\nbounds = { x = [-1, 1], \
         z = [0, 9] }",
        "{\"x\":0.5,\"kind\":\"a\",\"y\":1,\"who\":\"ann\"}\n",
        "{\"y\":false,\"kind\":\"zq7secret\",\"x\":-1e-3, \"z\" : 4 \
         }\n{\"x\":null,\"kind\":\"\\u0062\",\"y\":\"1\",\"other\":\"zq7secret\\n\\ud83d\\ude00\"}\n{\"y\":0}\n",
    ),
    (
        Format::JsonLines,
        "task = 'multiclass'\ntarget = 'y'\nclasses = ['1', 'two', '3']\nhash_bits = 4",
        "{\"text\":\"a\",\"y\":1}\n",
        "{\"text\":\"zq7secret\",\"y\":\"two\"}\n{\"text\":\"zq7secret\",\"y\":3.0}\n",
    ),
    (
        Format::Vw,
        "norm = 2\nhash_bits = 8\nperson = 'tag'",
        "",
        "1 1 'zq7secret|a:2 x:0.5 zq7secret |b 3:-1 y\n-1 zq7secret|a x x:1e-3 | 12 13:4\n0 | \
         zq7secret:1\n1 'bob |n\n",
    ),
    (
        Format::Vw,
        "norm = 1\ntask = 'regress'\ntarget_bounds = [0, 10]\nmissing_target = 'null'\nintercept = \
         false",
        "",
        "3.5 |f a:1 b:2\n| zq7secret\nzq7secret |f a\n11\t| c:-2.5\n",
    ),
    (
        Format::Libsvm,
        "norm = 3\ndimension = 9\nindex_base = 0",
        "",
        "1 0:1 3:-2.5 8:1e-2 # zq7secret\n-1\n0 1:1\t2:2\n+1 4:0\n",
    ),
];

/// The case of this number.
pub(crate) fn draw(seed: u64, number: u64) -> Case {
    let mut generator = Generator(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95));
    let (format, schema, names, rest) = *generator.pick(&SEEDS);
    let mut schema = schema.as_bytes().to_vec();
    let (mut names, mut rest) = (names.as_bytes().to_vec(), rest.as_bytes().to_vec());
    let mut names_kept = true;
    match generator.below(10) {
        0 => damage(&mut schema, &mut generator),
        1 => {
            damage(&mut names, &mut generator);
            names_kept = false;
        }
        _ => damage(&mut rest, &mut generator),
    }
    if generator.below(8) == 0 {
        damage(&mut rest, &mut generator);
    }
    if generator.below(50) == 0 {
        rest = rest.repeat(1 + generator.below(3000));
    }
    let schema = String::from_utf8_lossy(&schema).into_owned();
    names_kept &= !schema.contains(MARKER);
    Case {
        format,
        schema,
        bytes: [names, rest].concat(),
        names_kept,
        seed: generator.word(),
    }
}

const FORMATS: [Format; 5] = [
    Format::Csv,
    Format::Tsv,
    Format::JsonLines,
    Format::Vw,
    Format::Libsvm,
];

/// The case that an input is.
pub(crate) fn of(bytes: &[u8]) -> Case {
    let (flags, [schema, file]) = input::parts(bytes);
    let format = FORMATS[usize::from(flags) % FORMATS.len()];
    let schema = String::from_utf8_lossy(schema).into_owned();
    // Whatever names columns is in the first line.
    let first = file.split(|&byte| byte == b'\n').next().unwrap_or(b"");
    let names = String::from_utf8_lossy(if format.has_columns() { first } else { b"" });
    Case {
        format,
        names_kept: !schema.contains(MARKER) && !names.contains(MARKER),
        schema,
        bytes: file.to_vec(),
        seed: input::seed(bytes),
    }
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let input = |(format, schema, names, rest): (Format, &str, &str, &str)| {
        let flags = FORMATS.iter().position(|known| *known == format);
        let file = [names, rest].concat();
        let parts = [schema.as_bytes(), file.as_bytes()];
        input::joined(flags.unwrap_or(0) as u8, &parts)
    };
    SEEDS.into_iter().map(input).collect()
}
