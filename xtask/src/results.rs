//! Results that are kept in the repository as JSON: loaded, and counted.

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use std::io::ErrorKind;

/// The results of a file; none if there is no file yet.
pub fn load<T: DeserializeOwned + Default>(file: &str) -> Result<T> {
    match std::fs::read_to_string(file) {
        Ok(text) => serde_json::from_str(&text).with_context(|| format!("{file} is wrong")),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(T::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read {file}")),
    }
}

/// The caught share of mutants, with four decimals.
pub fn score(caught: usize, survived: usize) -> f64 {
    let score = caught as f64 / (caught + survived).max(1) as f64;
    (score * 1e4).round() / 1e4
}
