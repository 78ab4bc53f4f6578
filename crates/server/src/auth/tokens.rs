//! Tokens: `hs_<id>_<secret>`. Only a hash of the secret is stored; 256 random bits need no slow
//! hash. A role and a tenant are bound to it.

use crate::clock::Millis;
use crate::problem::Problem;
use crate::store::{Role, TokenRow};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use subtle::ConstantTimeEq;

/// Who calls.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The id of the token.
    pub token: String,
    /// The first of the tokens that replaced each other.
    pub family: String,
    /// What it may do.
    pub role: Role,
    /// Whose it is.
    pub tenant: Option<String>,
    /// The only models that it is for.
    pub models: Option<Vec<String>>,
}

impl Caller {
    /// The tenant; the node's admin has none, and no things of a tenant.
    ///
    /// # Errors
    /// 403.
    pub fn tenant(&self) -> Result<&str, Problem> {
        self.tenant.as_deref().ok_or_else(Problem::forbidden)
    }

    /// Whether it is for this model: decided before the model is looked up.
    ///
    /// # Errors
    /// 403.
    pub fn check_model(&self, name: &str) -> Result<(), Problem> {
        match &self.models {
            Some(models) if !models.iter().any(|model| model == name) => Err(Problem::forbidden()),
            _ => Ok(()),
        }
    }
}

/// A token that was just made: shown once.
pub struct NewToken {
    /// Its id.
    pub id: String,
    /// The whole of it.
    pub token: String,
    /// The hash of its secret.
    pub hash: [u8; 32],
}

impl NewToken {
    /// A random one.
    ///
    /// # Errors
    /// No random bytes.
    pub fn random() -> Result<Self, Problem> {
        let mut bytes = [0; 38];
        getrandom::fill(&mut bytes).map_err(|_| Problem::internal())?;
        let (id, secret) = (hex(&bytes[..6]), hex(&bytes[6..]));
        Ok(Self {
            token: format!("hs_{id}_{secret}"),
            hash: Sha256::digest(secret.as_bytes()).into(),
            id,
        })
    }
}

/// Bytes as lower-case hexadecimal digits.
#[must_use]
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All tokens, in memory.
#[derive(Default)]
pub struct Tokens(RwLock<HashMap<String, TokenRow>>);

impl Tokens {
    /// Adds a token that is stored.
    pub fn add(&self, id: String, row: TokenRow) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.insert(id, row);
    }

    /// Removes a token.
    pub fn remove(&self, id: &str) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.remove(id);
    }

    /// Whose token this is.
    #[must_use]
    pub fn find(&self, token: &str, now: Millis) -> Option<Caller> {
        let (id, secret) = token.strip_prefix("hs_")?.split_once('_')?;
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let row = all.get(id)?;
        let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let is_right = bool::from(hash.ct_eq(&row.hash));
        let is_over = row.expires.is_some_and(|expires| expires <= now);
        (is_right && !is_over).then(|| Caller {
            token: id.to_owned(),
            family: row.family.clone(),
            role: row.role,
            tenant: row.tenant.clone(),
            models: row.models.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_its_secret_until_it_ends() {
        let tokens = Tokens::default();
        let new = NewToken::random().unwrap();
        let row = TokenRow {
            hash: new.hash,
            role: Role::Reader,
            tenant: Some("main".to_owned()),
            models: Some(vec!["one".to_owned()]),
            expires: Some(100),
            created: 0,
            ended: false,
            family: new.id.clone(),
        };
        tokens.add(new.id.clone(), row);
        let caller = tokens.find(&new.token, 99).unwrap();
        assert!(caller.check_model("one").is_ok() && caller.check_model("two").is_err());
        assert!(tokens.find(&new.token, 100).is_none());
        let mut other = new.token.clone();
        let last = if other.ends_with('0') { '1' } else { '0' };
        other.pop();
        other.push(last);
        assert!(tokens.find(&other, 0).is_none());
        assert!(tokens.find("hs_", 0).is_none() && tokens.find("", 0).is_none());
        tokens.remove(&new.id);
        assert!(tokens.find(&new.token, 0).is_none());
    }
}
