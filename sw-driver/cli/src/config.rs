//! Configurations by name.

use anyhow::{anyhow, Result};
use spindle_contract::params::Config;

/// The configuration of that name.
pub fn config(name: &str) -> Result<Config> {
    Config::by_name(name).ok_or_else(|| {
        let names: Vec<_> = Config::ALL.iter().map(|config| config.name).collect();
        anyhow!("there is no configuration `{name}`; there are {}", names.join(", "))
    })
}
