//! Partial sums that only the authority can open.
//!
//! A run has a pair of keys beside its noise. Workers seal to the public one (HPKE, RFC 9180:
//! X25519, HKDF-SHA256, ChaCha20-Poly1305, base mode), so queues, disks and drivers between them
//! and the authority hold bytes that say nothing about rows but their number and their positions.
//!
//! Format: the eight bytes `HUSHBOX` and version; in postcard the name of the question and the
//! positions, both public; 32 bytes of HPKE's encapsulated key; the partial sum's bytes, encrypted,
//! with a tag of 16. What is public is the *associated data*: a sealed sum that is given the name
//! of another question, or the positions of another batch, does not open. What is inside is then
//! checked as every partial sum is.
//!
//! **What it does not do.** Whoever knows the public key can seal, so it proves nothing about who
//! made a sum: workers stay trusted, as they are without it. Who gives workers another public key
//! reads their sums: hand it out as carefully as the program itself.
//!
//! **Why the secret key may come from the run's key.** It is HKDF-Expand of that key with an `info`
//! of its own (`Key::sealing_secret`), so neither it nor its public key says anything about noise
//! as long as HMAC-SHA-256 is a pseudo-random function. It is kept, sealed and lost with the run's
//! key, and needs no file of its own.

use super::delivery::Positions;
use super::partial::{PartialSum, PartialSumError};
use super::question::{Name, QuestionError};
use hpke::aead::ChaCha20Poly1305;
use hpke::kdf::HkdfSha256;
use hpke::kem::X25519HkdfSha256;
use hpke::{Deserializable, Kem, OpModeR, OpModeS, Serializable};
use hushstream_noise::Key;
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

const MAGIC: &[u8; 8] = b"HUSHBOX\x01";
const INFO: &[u8] = b"hushstream partial sum v1";
const KEY_BYTES: usize = 32;

type Pair = X25519HkdfSha256;

/// What anyone may read in a sealed sum.
type Public = (Name, Positions);

/// The public key to which workers seal partial sums: 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealingKey([u8; KEY_BYTES]);

/// The secret key of a run, which opens what workers sealed.
pub struct Opener {
    secret: <Pair as Kem>::PrivateKey,
    public: SealingKey,
}

impl fmt::Display for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl FromStr for SealingKey {
    type Err = PartialSumError;

    fn from_str(text: &str) -> Result<Self, PartialSumError> {
        let digits = text.trim().as_bytes();
        let (pairs, rest) = digits.as_chunks::<2>();
        let mut bytes = [0; KEY_BYTES];
        if pairs.len() != KEY_BYTES || !rest.is_empty() {
            return Err(PartialSumError::SealingKey);
        }
        for (byte, pair) in bytes.iter_mut().zip(pairs) {
            let [high, low] = pair.map(|digit| (digit as char).to_digit(16));
            let both = high.zip(low).ok_or(PartialSumError::SealingKey)?;
            *byte = (16 * both.0 + both.1) as u8;
        }
        Ok(Self(bytes))
    }
}

impl SealingKey {
    /// Seals the bytes of a partial sum.
    ///
    /// # Errors
    /// Bytes that are not a partial sum of this version; a key that is none.
    pub fn seal(&self, partial: &[u8]) -> Result<Vec<u8>, PartialSumError> {
        let (question, positions) = PartialSum::public_in(partial)?;
        let mut sealed = MAGIC.to_vec();
        sealed = postcard::to_extend(&(question, positions), sealed)
            .map_err(|_| PartialSumError::Bytes(QuestionError::NotAQuestion))?;
        let public = <Pair as Kem>::PublicKey::from_bytes(&self.0);
        let public = public.map_err(|_| PartialSumError::SealingKey)?;
        let (mode, aad) = (OpModeS::Base, &sealed);
        let made = hpke::single_shot_seal::<ChaCha20Poly1305, HkdfSha256, Pair>(
            &mode, &public, INFO, partial, aad,
        );
        let (encapped, bytes) = made.map_err(|_| PartialSumError::SealingKey)?;
        sealed.extend_from_slice(&encapped.to_bytes());
        sealed.extend(bytes);
        Ok(sealed)
    }
}

impl Opener {
    /// The pair of keys of a run with this key.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        let (secret, public) = Pair::derive_keypair(&*key.sealing_secret());
        Self {
            secret,
            public: SealingKey(public.to_bytes().into()),
        }
    }

    /// The public key.
    #[must_use]
    pub fn public(&self) -> SealingKey {
        self.public
    }

    /// The bytes of a partial sum, opened if they are sealed. What this key does not open stays as
    /// it is, and is refused where it is read.
    #[must_use]
    pub fn open<'a>(&self, part: &'a [u8]) -> Cow<'a, [u8]> {
        let opened = split(part).and_then(|(header, _, rest)| {
            let (encapped, sealed) = rest.split_at_checked(KEY_BYTES)?;
            let encapped = <Pair as Kem>::EncappedKey::from_bytes(encapped).ok()?;
            let (mode, secret) = (OpModeR::Base, &self.secret);
            hpke::single_shot_open::<ChaCha20Poly1305, HkdfSha256, Pair>(
                &mode, secret, &encapped, INFO, sealed, header,
            )
            .ok()
        });
        opened.map_or(Cow::Borrowed(part), Cow::Owned)
    }
}

/// Whether bytes are a sealed partial sum.
pub(super) fn is_sealed(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// What is public in a sealed partial sum: the name of its question, and its positions.
pub(super) fn public_in(bytes: &[u8]) -> Option<Public> {
    split(bytes).map(|(_, public, _)| public)
}

/// The header, what it says, and the rest.
fn split(bytes: &[u8]) -> Option<(&[u8], Public, &[u8])> {
    let fields = bytes.strip_prefix(MAGIC)?;
    let (public, rest) = postcard::take_from_bytes(fields).ok()?;
    let header = &bytes[..bytes.len() - rest.len()];
    Some((header, public, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_64_digits() {
        let key = Opener::new(&Key::insecure_from_seed(1)).public();
        let text = key.to_string();
        assert_eq!(text.len(), 64);
        assert_eq!(format!("{text}\n").parse(), Ok(key));
        for other in [&text[1..], &format!("{text}0"), &text.replace('a', "g"), ""] {
            assert_eq!(
                other.parse::<SealingKey>(),
                Err(PartialSumError::SealingKey)
            );
        }
        assert_ne!(Opener::new(&Key::insecure_from_seed(2)).public(), key);
    }
}
