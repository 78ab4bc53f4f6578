//! What a checkpoint says of the run that made it.

use serde::{Deserialize, Serialize};

/// The recipe in one line, and the learner's public state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) recipe: String,
    pub(crate) rounds: u64,
    pub(crate) state: Vec<f64>,
    /// The life that a learner's coins belong to, where they are not the mechanism's.
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

    /// A note of this recipe.
    pub(crate) fn read(bytes: &[u8], description: &str) -> Result<Self, NoteError> {
        let note: Self = postcard::from_bytes(bytes).map_err(|_| NoteError::Unreadable)?;
        if note.recipe == description {
            Ok(note)
        } else {
            Err(NoteError::OtherRecipe(note.recipe))
        }
    }

    /// For a `resume`: accepts no note (a crash while the run was opened) or one of this recipe, and keeps it or says why not.
    pub(crate) fn accept(
        kept: &mut Result<Option<Self>, NoteError>,
        bytes: Option<&[u8]>,
        description: &str,
    ) -> bool {
        *kept = bytes
            .filter(|bytes| !bytes.is_empty())
            .map(|bytes| Self::read(bytes, description))
            .transpose();
        kept.is_ok()
    }
}
