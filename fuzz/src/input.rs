//! How the bytes of one input are read: as several parts, and with checksums made right where
//! their first byte asks for it, since no mutation would find them.

use sha2::{Digest, Sha256};

/// What divides parts.
const BETWEEN: &[u8] = b"\n%%\n";

/// The first byte, and so many parts; those that are missing are empty.
pub(crate) fn parts<const N: usize>(bytes: &[u8]) -> (u8, [&[u8]; N]) {
    let (&flags, mut rest) = bytes.split_first().unwrap_or((&0, b""));
    let mut parts = [&b""[..]; N];
    for (place, part) in parts.iter_mut().enumerate() {
        let at = rest.windows(BETWEEN.len()).position(|at| at == BETWEEN);
        let at = at.filter(|_| place + 1 < N);
        (*part, rest) = match at {
            Some(at) => (&rest[..at], &rest[at + BETWEEN.len()..]),
            None => (rest, &b""[..]),
        };
    }
    (flags, parts)
}

/// An input of these parts.
pub(crate) fn joined(flags: u8, parts: &[&[u8]]) -> Vec<u8> {
    [&[flags], &parts.join(BETWEEN)[..]].concat()
}

/// A log whose frames have the numbers and checksums that they should have: length, checksum,
/// number, payload.
pub(crate) fn log(bytes: &[u8]) -> Vec<u8> {
    const HEAD: usize = 16;
    let header = if bytes.starts_with(b"HUSHLOG1") {
        8
    } else {
        10
    };
    let mut log = bytes.to_vec();
    let (mut at, mut number) = (header, 0_u64);
    while let Some(frame) = log.get_mut(at..).filter(|rest| rest.len() >= HEAD) {
        let most = frame.len() - HEAD;
        let length = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]) as usize;
        let length = length.min(most);
        frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
        frame[8..HEAD].copy_from_slice(&number.to_le_bytes());
        let checksum = crc32fast::hash(&frame[8..HEAD + length]);
        frame[4..8].copy_from_slice(&checksum.to_le_bytes());
        at += HEAD + length;
        number += 1;
    }
    log
}

/// Bytes that end with the first half of the digest of all before, in the place of their last
/// sixteen.
pub(crate) fn digested(bytes: &[u8]) -> Vec<u8> {
    let body = &bytes[..bytes.len().saturating_sub(16)];
    [body, &Sha256::digest(body)[..16]].concat()
}

/// A number that depends on every byte, for choices while checking.
pub(crate) fn seed(bytes: &[u8]) -> u64 {
    u64::from(crc32fast::hash(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// The frames of a log, each whole.
pub(crate) fn frames(log: &[u8]) -> Vec<&[u8]> {
    let mut rest = log.get(10..).unwrap_or(b"");
    let mut frames = Vec::new();
    while let Some(head) = rest.get(..16) {
        let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
        let Some((frame, after)) = rest.split_at_checked(16 + length) else {
            break;
        };
        frames.push(frame);
        rest = after;
    }
    frames
}

/// A message is one line.
pub(crate) fn speaks(message: &str) -> Result<(), String> {
    if message.contains(['\n', '\r']) {
        return Err(format!("a message of several lines: {message:?}"));
    }
    Ok(())
}
