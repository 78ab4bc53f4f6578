//! Secrets of the node, and what is derived from them: ids, persons and coins.

mod master;

pub use master::{Master, MasterSource};

use hmac::{Hmac, KeyInit, Mac};
use hushstream::noise::{Instance, Key, Source};
use sha2::Sha256;
use zeroize::Zeroizing;

/// The node's secret, made once and never rotated: ids and persons must keep their names.
pub struct Secret {
    names: Zeroizing<[u8; 32]>,
    coins: Key,
}

impl Secret {
    /// The stored one: a key of names, and a key of coins.
    #[must_use]
    pub fn new(names: [u8; 32], coins: Key) -> Self {
        let names = Zeroizing::new(names);
        Self { names, coins }
    }

    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(self.names.as_slice()) else {
            unreachable!("HMAC takes keys of any length")
        };
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    fn short(&self, parts: &[&[u8]]) -> [u8; 16] {
        let mut short = [0; 16];
        short.copy_from_slice(&self.mac(parts)[..16]);
        short
    }

    /// The name of an event: of one tenant, one family of tokens, one model.
    #[must_use]
    pub fn event(&self, tenant: &str, family: &str, model: u64, id: &str) -> [u8; 16] {
        let model = model.to_le_bytes();
        let parts = [b"event", tenant.as_bytes(), family.as_bytes(), &model];
        self.short(&[parts[0], parts[1], parts[2], parts[3], id.as_bytes()])
    }

    /// The name of a request's body.
    #[must_use]
    pub fn body(&self, model: u64, body: &[u8]) -> [u8; 16] {
        self.short(&[b"body", &model.to_le_bytes(), body])
    }

    /// The name of a reward of an event.
    #[must_use]
    pub fn reward(&self, event: [u8; 16], id: &str) -> [u8; 16] {
        self.short(&[b"reward", &event, id.as_bytes()])
    }

    /// The name of a person in a data set.
    #[must_use]
    pub fn person(&self, dataset: u64, person: &str) -> [u8; 16] {
        self.short(&[b"person", &dataset.to_le_bytes(), person.as_bytes()])
    }

    /// The coins of a model in one start of the server: a slot that comes again after a crash meets
    /// another coin.
    #[must_use]
    pub fn coins(&self, model: u64, boot: &[u8; 16]) -> Source {
        let instance = self.short(&[b"slots", &model.to_le_bytes(), boot]);
        Source::open(&self.coins, Instance::from_bytes(instance), 0)
    }
}
