//! The models of cards: loaded from the cache, or linked into the program by the feature `linked`.

use anyhow::Result;
use spindle_harness::{Library, Model, Progress, Source};
use std::sync::Arc;

#[cfg(feature = "linked")]
mod linked {
    use spindle_harness::linked::Linked;
    use spindle_harness::Face;

    include!(concat!(env!("OUT_DIR"), "/linked.rs"));

    /// Makes the models of this program known.
    pub fn link() {
        spindle_harness::linked::link(MODELS);
    }
}

/// The model of `source`: the linked one, or that of the cache, or a new one, whose build `progress` shows.
///
/// # Errors
/// The model is neither linked nor in the cache, and Verilator or the C++ compiler is missing or refuses the text.
pub fn model(source: &Source, progress: &Progress) -> Result<Arc<Library>> {
    #[cfg(feature = "linked")]
    linked::link();
    Model::build_with(source, progress)
}
