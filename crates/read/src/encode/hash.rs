//! Public hashes: of feature names, into an index; of persons, into a 64-bit name.

use sha2::{Digest, Sha256};

/// MurmurHash3, 32 bits (Appleby's public algorithm): blocks of four bytes, little-endian.
pub(crate) fn murmur3(bytes: &[u8], seed: u32) -> u32 {
    const C1: u32 = 0xcc9e_2d51;
    const C2: u32 = 0x1b87_3593;
    let scramble = |block: u32| block.wrapping_mul(C1).rotate_left(15).wrapping_mul(C2);
    let mut hash = seed;
    let (blocks, tail) = bytes.as_chunks::<4>();
    for block in blocks {
        hash ^= scramble(u32::from_le_bytes(*block));
        hash = hash
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    let mut rest = [0; 4];
    rest[..tail.len()].copy_from_slice(tail);
    hash ^= scramble(u32::from_le_bytes(rest));
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

/// A name as Vowpal Wabbit hashes it by default: digits are a number and are added to the seed,
/// anything else is hashed with it.
pub(crate) fn vw(name: &[u8], seed: u32) -> u32 {
    if name.iter().all(u8::is_ascii_digit) {
        let number = name.iter().fold(0_u32, |number, digit| {
            number
                .wrapping_mul(10)
                .wrapping_add(u32::from(digit - b'0'))
        });
        return number.wrapping_add(seed);
    }
    murmur3(name, seed)
}

/// A person: the first eight bytes of the SHA-256 of the field, little-endian. No key: it only
/// tells persons apart inside the boundary.
pub(crate) fn person(field: &[u8]) -> u64 {
    let digest = Sha256::digest(field);
    digest[..8]
        .iter()
        .rev()
        .fold(0, |name, &byte| name << 8 | u64::from(byte))
}

/// The person of an empty record: nobody's name, because no field holds a NUL byte.
pub(crate) fn nobody() -> u64 {
    person(b"\0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        // Published vectors of MurmurHash3 x86 32.
        for (text, seed, hash) in [
            ("", 0, 0),
            ("", 1, 0x514e_28b7),
            ("", 0xffff_ffff, 0x81f1_6f39),
            ("a", 0x9747_b28c, 0x7fa0_9ea6),
            ("aa", 0x9747_b28c, 0x5d21_1726),
            ("aaa", 0x9747_b28c, 0x283e_0130),
            ("aaaa", 0x9747_b28c, 0x5a97_808a),
            ("Hello, world!", 0x9747_b28c, 0x2488_4cba),
        ] {
            assert_eq!(murmur3(text.as_bytes(), seed), hash, "{text}");
        }
        // SHA-256("abc") = ba7816bf 8f01cfea …
        assert_eq!(person(b"abc"), 0xeacf_018f_bf16_78ba);
        assert_eq!(
            (vw(b"17", 3), vw(b"", 3), vw(b"1a", 0)),
            (20, 3, murmur3(b"1a", 0))
        );
    }
}
