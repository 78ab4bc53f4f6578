//! The secret key behind all noise, and the instance that names one life of a run.
//!
//! Anyone with the key can subtract the noise, so it is as secret as the data. It is wiped from
//! memory when dropped, `Debug` does not show it, and it has no `Clone`. It is stored only through
//! [`Key::export`], whose first byte records whether it came from the operating system or from a
//! seed, so that a simulated key is never imported as a real one. (The cipher wipes its derived
//! keys too, but may leave copies on the stack while it encrypts; an attacker who reads the memory
//! of the process can read the data there as well.)
//!
//! Derived keys are HKDF-Expand (SHA-256) of the key with an `info` of fixed length:
//! `hushstream noise v1 `, the 16 bytes of the instance and the 8 of the mechanism, little-endian.
//! (Secrets for hashing rows and for opening sealed sums have an `info` of their own.) A seeded key
//! is HKDF-Expand of 32 zero bytes with `hushstream insecure seed v1 ` and the 8 bytes of the seed.

use crate::{NoiseError, Recorder};
use hkdf::Hkdf;
use sha2::Sha256;
use std::fmt;
use zeroize::Zeroizing;

const FROM_OS: u8 = 0xA5;
const SIMULATED: u8 = 0x5A;

/// A 256-bit secret from which all noise of a data set's mechanisms is derived.
///
/// ```
/// use hushstream_noise::{Key, NoiseError};
///
/// let key = Key::from_os()?;
/// let stored = key.export(); // as secret as the data
/// let back = Key::import(&*stored)?;
/// assert_eq!(back.fingerprint(), key.fingerprint());
/// assert!(!back.is_simulated());
/// # Ok::<(), NoiseError>(())
/// ```
pub struct Key {
    bytes: Zeroizing<[u8; 32]>,
    simulated: bool,
    /// For audits; seeded keys only.
    recorder: Option<Recorder>,
}

impl Key {
    /// A fresh key from the operating system's entropy.
    ///
    /// # Errors
    /// [`NoiseError::NoEntropy`] if the operating system's entropy source fails.
    pub fn from_os() -> Result<Self, NoiseError> {
        let mut bytes = Zeroizing::new([0; 32]);
        fill_from_os(bytes.as_mut_slice())?;
        Ok(Self {
            bytes,
            simulated: false,
            recorder: None,
        })
    }

    /// A reproducible key for simulations and tests. **Not secret**: a seed can be guessed, and
    /// noise with it. Everything drawn from it must be marked simulated; [`Key::is_simulated`]
    /// stays true, also after an export and import.
    #[must_use]
    pub fn insecure_from_seed(seed: u64) -> Self {
        let mut info = *b"hushstream insecure seed v1 ........";
        info[28..].copy_from_slice(&seed.to_le_bytes());
        Self {
            bytes: derive(&[0; 32], &info),
            simulated: true,
            recorder: None,
        }
    }

    /// The same key, and a recorder of every address that its generators read.
    #[must_use]
    pub fn insecure_recorded(seed: u64) -> (Self, Recorder) {
        let recorder = Recorder::default();
        let mut key = Self::insecure_from_seed(seed);
        key.recorder = Some(recorder.clone());
        (key, recorder)
    }

    /// The recorder of addresses, if there is one.
    pub(crate) fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Whether the key came from a seed.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// The key as bytes. Store them as carefully as the data itself, in a file that only its owner
    /// can read.
    #[must_use]
    pub fn export(&self) -> Zeroizing<[u8; 33]> {
        let mut stored = Zeroizing::new([0; 33]);
        stored[0] = if self.simulated { SIMULATED } else { FROM_OS };
        stored[1..].copy_from_slice(self.bytes.as_slice());
        stored
    }

    /// Reads a key that [`Key::export`] wrote.
    ///
    /// # Errors
    /// [`NoiseError::StoredKey`] for any other bytes.
    pub fn import(stored: &[u8]) -> Result<Self, NoiseError> {
        let (&tag, secret) = stored.split_first().ok_or(NoiseError::StoredKey)?;
        let simulated = match tag {
            FROM_OS => false,
            SIMULATED => true,
            _ => return Err(NoiseError::StoredKey),
        };
        let mut bytes = Zeroizing::new([0; 32]);
        if secret.len() != bytes.len() {
            return Err(NoiseError::StoredKey);
        }
        bytes.copy_from_slice(secret);
        Ok(Self {
            bytes,
            simulated,
            recorder: None,
        })
    }

    /// A public name of the key that reveals nothing else about it. Used to detect a run that is
    /// resumed with another key.
    #[must_use]
    pub fn fingerprint(&self) -> [u8; 16] {
        let derived = derive::<32>(&self.bytes, b"hushstream key fingerprint v1");
        let mut name = [0; 16];
        name.copy_from_slice(&derived[..16]);
        name
    }

    /// Secrets for hashing the rows that a run has learned: one for rows, one for their chain.
    /// Nothing that is published depends on them.
    #[must_use]
    pub fn row_secrets(&self) -> [Zeroizing<[u8; 192]>; 2] {
        [&b"hushstream row digest v1"[..], b"hushstream row chain v1"]
            .map(|info| derive(&self.bytes, info))
    }

    /// The secret behind the pair of keys to which partial sums are sealed. Nothing that is
    /// published depends on it but the public key of that pair.
    #[must_use]
    pub fn sealing_secret(&self) -> Zeroizing<[u8; 32]> {
        derive(&self.bytes, b"hushstream sealing v1")
    }

    /// The AES-256 key of one (instance, mechanism): HKDF-Expand with SHA-256, whose outputs for
    /// different names are independent as long as HMAC-SHA-256 is a pseudo-random function.
    pub(crate) fn subkey(&self, instance: Instance, mechanism: u64) -> Zeroizing<[u8; 32]> {
        let mut info = *b"hushstream noise v1 ................________";
        info[20..36].copy_from_slice(&instance.0);
        info[36..].copy_from_slice(&mechanism.to_le_bytes());
        derive(&self.bytes, &info)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key")
            .field("simulated", &self.simulated)
            .finish_non_exhaustive()
    }
}

fn derive<const BYTES: usize>(secret: &[u8; 32], info: &[u8]) -> Zeroizing<[u8; BYTES]> {
    let mut derived = Zeroizing::new([0; BYTES]);
    Hkdf::<Sha256>::from_prk(secret)
        .and_then(|kdf| {
            kdf.expand(info, derived.as_mut_slice())
                .map_err(|_| hkdf::InvalidPrkLength)
        })
        .expect(
            "32 bytes are a valid key, and at most 8160 a valid output length, for HKDF-SHA-256",
        );
    derived
}

fn fill_from_os(bytes: &mut [u8]) -> Result<(), NoiseError> {
    getrandom::fill(bytes).map_err(|error| NoiseError::NoEntropy(error.to_string()))
}

/// The public name of one life of a run. A run that cannot prove it continues the last released
/// step (lost log, restored backup, second replica) must open a new instance, so that no address is
/// ever used for two contents.
///
/// ```
/// use hushstream_noise::{Instance, Key, NoiseError};
///
/// assert_ne!(Instance::from_os()?, Instance::from_os()?);
/// // Instances of a simulated key are reproducible.
/// let key = Key::insecure_from_seed(1);
/// assert_eq!(Instance::fresh(&key, 1, 0)?, Instance::fresh(&key, 1, 0)?);
/// # Ok::<(), NoiseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Instance([u8; 16]);

impl Instance {
    /// A fresh random instance.
    ///
    /// # Errors
    /// [`NoiseError::NoEntropy`] if the operating system's entropy source fails.
    pub fn from_os() -> Result<Self, NoiseError> {
        let mut bytes = [0; 16];
        fill_from_os(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// A fresh instance for a mechanism that begins after `before` items. It is random, unless the
    /// key is simulated: then it is a function of its arguments, so that experiments can be
    /// repeated.
    ///
    /// # Errors
    /// [`NoiseError::NoEntropy`] if the operating system's entropy source fails.
    pub fn fresh(key: &Key, mechanism: u64, before: u64) -> Result<Self, NoiseError> {
        if !key.is_simulated() {
            return Self::from_os();
        }
        let mut info = *b"hushstream insecure instance v1 ................";
        info[32..40].copy_from_slice(&mechanism.to_le_bytes());
        info[40..].copy_from_slice(&before.to_le_bytes());
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&derive::<32>(&key.bytes, &info)[..16]);
        Ok(Self(bytes))
    }

    /// The instance with these bytes, e.g. from a state file.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes to store.
    #[must_use]
    pub fn to_bytes(self) -> [u8; 16] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_key_comes_back_with_its_mark() {
        for key in [Key::insecure_from_seed(1), Key::from_os().unwrap()] {
            let back = Key::import(key.export().as_slice()).unwrap();
            assert_eq!(*back.bytes, *key.bytes);
            assert_eq!(back.is_simulated(), key.is_simulated());
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        let stored = Key::insecure_from_seed(1).export();
        for bad in [&stored[..32], &stored[1..], &[], &[7; 33]] {
            assert_eq!(Key::import(bad).unwrap_err(), NoiseError::StoredKey);
        }
    }

    #[test]
    fn debug_does_not_show_the_secret() {
        let key = Key::insecure_from_seed(1);
        let shown = format!("{key:?}");
        assert_eq!(shown, "Key { simulated: true, .. }");
    }

    #[test]
    fn names_separate_subkeys() {
        let key = Key::insecure_from_seed(1);
        let (a, b) = (Instance::from_bytes([0; 16]), Instance::from_bytes([1; 16]));
        assert_ne!(*key.subkey(a, 0), *key.subkey(b, 0));
        assert_ne!(*key.subkey(a, 0), *key.subkey(a, 1));
        assert_ne!(*key.subkey(a, 0), *Key::insecure_from_seed(2).subkey(a, 0));
    }

    #[test]
    fn instances_are_random_unless_simulated() {
        let real = Key::from_os().unwrap();
        assert_ne!(Instance::fresh(&real, 1, 0), Instance::fresh(&real, 1, 0));
        let seeded = Key::insecure_from_seed(1);
        assert_eq!(
            Instance::fresh(&seeded, 1, 0),
            Instance::fresh(&seeded, 1, 0)
        );
        assert_ne!(
            Instance::fresh(&seeded, 1, 0),
            Instance::fresh(&seeded, 1, 5)
        );
        assert_ne!(
            Instance::fresh(&seeded, 1, 0),
            Instance::fresh(&seeded, 2, 0)
        );
    }

    #[test]
    fn a_fingerprint_tells_keys_apart() {
        let print = |seed| Key::insecure_from_seed(seed).fingerprint();
        assert_eq!(print(1), print(1));
        assert_ne!(print(1), print(2));
        assert_ne!(print(1), Key::insecure_from_seed(1).bytes[..16]);
    }

    #[test]
    fn keys_and_instances_from_the_operating_system_differ() {
        assert_ne!(
            *Key::from_os().unwrap().bytes,
            *Key::from_os().unwrap().bytes
        );
        assert_ne!(Instance::from_os().unwrap(), Instance::from_os().unwrap());
    }
}
