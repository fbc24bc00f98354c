//! The models of cards: loaded from the cache, or linked into the program by the feature `linked`.

use anyhow::{Context, Result};
use spindle_contract::params::Config;
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

/// The text of the NIC of a configuration, elaborated once by each build of a program.
///
/// # Errors
/// The configuration has a parameter that the NIC refuses.
pub fn source(config: &Config) -> Result<Source> {
    Source::kept(&format!("NIC {config:?}"), || {
        let design = spindle_nic::emit(config);
        let design = design.with_context(|| format!("cannot emit the NIC of configuration `{}`", config.name))?;
        Ok(design.into())
    })
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
