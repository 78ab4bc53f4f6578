//! A checkpoint's note about its run.

use serde::{Deserialize, Serialize};

/// The recipe in one line, and the player's public state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    pub(crate) recipe: String,
    pub(crate) rounds: u64,
    pub(crate) state: Vec<f64>,
    /// The name of a player's own coins, where they are not the mechanism's.
    pub(crate) coins: [u8; 16],
}

/// A note that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The journal belongs to another recipe.
    #[error("the journal belongs to another run: its recipe, privacy or settings differ")]
    OtherRecipe(String),
    /// The note does not decode.
    #[error("the journal holds no run of this version")]
    Unreadable,
}

impl Note {
    pub(crate) fn write(&self) -> Result<Vec<u8>, NoteError> {
        postcard::to_allocvec(self).map_err(|_| NoteError::Unreadable)
    }

    /// The note of a journal: none after a crash while the run was being opened, or one of this
    /// recipe.
    pub(crate) fn of(bytes: Option<&[u8]>, description: &str) -> Result<Option<Self>, NoteError> {
        let Some(bytes) = bytes.filter(|bytes| !bytes.is_empty()) else {
            return Ok(None);
        };
        let note: Self = postcard::from_bytes(bytes).map_err(|_| NoteError::Unreadable)?;
        if note.recipe == description {
            Ok(Some(note))
        } else {
            Err(NoteError::OtherRecipe(note.recipe))
        }
    }
}

/// The words of a run without what runs did not have before: journals from then say the same.
pub(crate) fn as_before(words: &str) -> String {
    words
        .replace(", participation: OncePerRecord", "")
        .replace(", restart: None", "")
}
