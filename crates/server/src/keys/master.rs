//! The master key: every stored secret is sealed under it, with AES-256-GCM-SIV.
//!
//! A sealed secret is the name of its master key (8 bytes of SHA-256), a random nonce of 12 bytes,
//! and the ciphertext with its tag. What the secret is for is authenticated with it, so that one
//! cannot be put in the place of another. The first master key seals, all of them open: to replace
//! a key, put the new one first, and remove the old one once nothing is sealed under it.

use crate::app::StartError;
use aes_gcm_siv::aead::{Aead, KeyInit, Payload};
use aes_gcm_siv::{Aes256GcmSiv, Nonce};
use hushstream::KeySeal;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use zeroize::Zeroizing;

const NAME: usize = 8;
const NONCE: usize = 12;

/// Where the master keys come from.
#[derive(Debug, Clone)]
pub enum MasterSource {
    /// A file of lines of 64 hexadecimal digits, which only its owner can read; made if it is not
    /// there.
    File(PathBuf),
    /// A command that prints such lines: it may ask any key service.
    Command(String),
}

/// The master keys, the first of which seals.
pub struct Master(Vec<Zeroizing<[u8; 32]>>);

fn refused(told: impl Into<String>) -> StartError {
    StartError::Refused(told.into())
}

fn from_hex(line: &str) -> Option<Zeroizing<[u8; 32]>> {
    let line = line.trim();
    let mut key = Zeroizing::new([0; 32]);
    if line.len() != 64 || !line.is_ascii() {
        return None;
    }
    for (byte, place) in key.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&line[place..place + 2], 16).ok()?;
    }
    Some(key)
}

impl Master {
    /// Reads the keys.
    ///
    /// # Errors
    /// No keys; a file that others can read.
    pub fn read(source: &MasterSource) -> Result<Self, StartError> {
        let text = match source {
            MasterSource::File(path) => {
                if !path.exists() {
                    let mut key = Zeroizing::new([0; 32]);
                    getrandom::fill(key.as_mut_slice()).map_err(|_| refused("no random bytes"))?;
                    let line = format!("{}\n", crate::auth::hex(key.as_slice()));
                    crate::app::write_secret(path, &line).map_err(|error| cannot(path, error))?;
                }
                check_owner(path)?;
                std::fs::read_to_string(path).map_err(|error| cannot(path, error))?
            }
            MasterSource::Command(command) => {
                let output = Command::new("sh").args(["-c", command]).output();
                let output = output.map_err(|_| refused("the key command cannot be run"))?;
                if !output.status.success() {
                    return Err(refused("the key command failed"));
                }
                String::from_utf8(output.stdout).map_err(|_| refused("the key command's output"))?
            }
        };
        let text = Zeroizing::new(text);
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let keys: Option<Vec<_>> = lines.map(from_hex).collect();
        match keys {
            Some(keys) if !keys.is_empty() => Ok(Self(keys)),
            _ => Err(refused("a master key is a line of 64 hexadecimal digits")),
        }
    }

    /// Seals a secret that is for something.
    #[must_use]
    pub fn seal(&self, what: &[u8], secret: &[u8]) -> Option<Vec<u8>> {
        let key = self.0.first()?;
        let mut nonce = [0; NONCE];
        getrandom::fill(&mut nonce).ok()?;
        let payload = Payload {
            msg: secret,
            aad: what,
        };
        let sealed = cipher(key)?.encrypt(&Nonce::from(nonce), payload).ok()?;
        Some([&name(key)[..], &nonce, &sealed].concat())
    }

    /// Opens what was sealed for the same thing.
    #[must_use]
    pub fn open(&self, what: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (known, rest) = sealed.split_at_checked(NAME)?;
        let (nonce, msg) = rest.split_first_chunk::<NONCE>()?;
        let key = self.0.iter().find(|key| name(key) == known)?;
        let payload = Payload { msg, aad: what };
        let opened = cipher(key)?.decrypt(&Nonce::from(*nonce), payload).ok()?;
        Some(Zeroizing::new(opened))
    }

    /// A seal for the key of one run.
    #[must_use]
    pub fn of_run(self: &Arc<Self>, dataset: u64, model: u64) -> Arc<dyn KeySeal> {
        Arc::new(RunSeal {
            master: Arc::clone(self),
            what: format!("noise of data set {dataset}, model {model}").into_bytes(),
        })
    }
}

fn cipher(key: &Zeroizing<[u8; 32]>) -> Option<Aes256GcmSiv> {
    Aes256GcmSiv::new_from_slice(key.as_slice()).ok()
}

fn name(key: &Zeroizing<[u8; 32]>) -> [u8; NAME] {
    let mut hash = Sha256::new();
    hash.update(b"hushstream master key");
    hash.update(key.as_slice());
    let mut name = [0; NAME];
    name.copy_from_slice(&hash.finalize()[..NAME]);
    name
}

fn cannot(path: &Path, error: std::io::Error) -> StartError {
    StartError::Io(format!("cannot use {}", path.display()), error)
}

fn check_owner(path: &Path) -> Result<(), StartError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(path).map_err(|error| cannot(path, error))?;
        if mode.permissions().mode() & 0o077 != 0 {
            let told = format!("{} can be read by others: chmod 600", path.display());
            return Err(refused(told));
        }
    }
    let _ = path;
    Ok(())
}

struct RunSeal {
    master: Arc<Master>,
    what: Vec<u8>,
}

fn sealed_otherwise() -> hushstream::Error {
    let told = "the key of a run is sealed under a master key that is not there";
    hushstream::Error::Other(told.into())
}

impl KeySeal for RunSeal {
    fn seal(&self, key: &[u8]) -> Result<Vec<u8>, hushstream::Error> {
        let sealed = self.master.seal(&self.what, key);
        sealed.ok_or_else(sealed_otherwise)
    }

    fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, hushstream::Error> {
        let opened = self.master.open(&self.what, sealed);
        opened.map(|key| key.to_vec()).ok_or_else(sealed_otherwise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_opened_for_what_they_are_and_by_any_key_that_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        let source = MasterSource::File(path.clone());
        let first = Master::read(&source).unwrap();
        let sealed = first.seal(b"ids", b"secret").unwrap();
        assert_ne!(first.seal(b"ids", b"secret").unwrap(), sealed);
        assert_eq!(first.open(b"ids", &sealed).unwrap().as_slice(), b"secret");
        assert!(first.open(b"coins", &sealed).is_none());
        let mut changed = sealed.clone();
        *changed.last_mut().unwrap() ^= 1;
        assert!(first.open(b"ids", &changed).is_none());
        // A new key before the old one.
        let old = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{}\n{old}", "ab".repeat(32))).unwrap();
        let both = Master::read(&source).unwrap();
        assert_eq!(both.open(b"ids", &sealed).unwrap().as_slice(), b"secret");
        let again = both.seal(b"ids", b"secret").unwrap();
        assert!(first.open(b"ids", &again).is_none());
        let command = MasterSource::Command(format!("echo {}", "ab".repeat(32)));
        let new = Master::read(&command).unwrap();
        assert_eq!(new.open(b"ids", &again).unwrap().as_slice(), b"secret");
        assert!(new.open(b"ids", &sealed).is_none());
        for bad in ["echo", "exit 1", "echo 12"] {
            assert!(Master::read(&MasterSource::Command(bad.to_owned())).is_err());
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
            assert!(Master::read(&source).is_err());
        }
    }
}
