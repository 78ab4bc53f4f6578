//! A corpus as one file: gzip of inputs, each after its length.

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, Read, Write};

/// Packs inputs, the shortest first.
///
/// # Errors
/// None in memory.
pub fn pack(mut inputs: Vec<Vec<u8>>) -> io::Result<Vec<u8>> {
    inputs.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    for input in inputs {
        packed.write_all(&(input.len() as u32).to_le_bytes())?;
        packed.write_all(&input)?;
    }
    packed.finish()
}

/// The inputs of a packed corpus.
///
/// # Errors
/// Bytes that are none.
pub fn unpack(packed: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).read_to_end(&mut bytes)?;
    let (mut rest, mut inputs) = (&bytes[..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let (input, after) = after.split_at_checked(length).ok_or_else(cut)?;
        inputs.push(input.to_vec());
        rest = after;
    }
    Ok(inputs)
}
