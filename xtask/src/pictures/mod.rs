//! `pictures`: draws the pictures of README and docs as SVG, from sources in `docs/pictures`.
//!
//! | picture | source |
//! |---|---|
//! | `overview.svg` | `overview.toml`; its boxes are folders, and every stage folder of an engine has one |
//! | `wave.svg` | `wave.toml`, and `wave.vcd`, which `--record` takes from a run of the simulated NIC |

mod overview;
mod svg;
mod wave;

use anyhow::{Context, Result};
use clap::Args;
use std::path::Path;

const FOLDER: &str = "docs/pictures";

/// What is drawn.
#[derive(Args)]
pub struct Options {
    /// Change nothing; fail if a picture differs from what its source gives.
    #[arg(long)]
    check: bool,
    /// Run the simulated NIC first and take `wave.vcd` from it.
    #[arg(long, conflicts_with = "check")]
    record: bool,
}

impl Options {
    /// What `cargo xtask test` asks for.
    pub fn check() -> Self {
        Self { check: true, record: false }
    }
}

/// Draws every picture. `false` if one is out of date (`--check`).
pub fn run(options: &Options) -> Result<bool> {
    let folder = Path::new(FOLDER);
    if options.record {
        wave::record(folder)?;
    }
    let pictures = [("overview.svg", overview::draw(folder)?), ("wave.svg", wave::draw(folder)?)];
    let mut current = true;
    for (name, picture) in pictures {
        let path = folder.join(name);
        if std::fs::read_to_string(&path).is_ok_and(|text| text == picture) {
            continue;
        }
        if options.check {
            println!("pictures: {} is out of date; run `cargo xtask pictures`", path.display());
            current = false;
        } else {
            std::fs::write(&path, picture).with_context(|| format!("cannot write {}", path.display()))?;
            println!("pictures: {} drawn", path.display());
        }
    }
    Ok(current)
}
