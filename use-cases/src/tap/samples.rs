//! Numbers in the output of clients.

use anyhow::{Context, Result};
use std::collections::BTreeMap;

/// What a client measured, by name. Times are nanoseconds of the simulation (`..._ns`), rates events per simulated second (`per_second`).
pub type Values = BTreeMap<String, f64>;

/// The values of a list of times.
///
/// # Errors
/// There is none.
pub fn quantities(mut times: Vec<f64>) -> Result<Values> {
    times.sort_unstable_by(f64::total_cmp);
    let (first, last) = (times.first().context("the client measured nothing")?, times.last().unwrap_or(&0.0));
    let at = |share: f64| times[((times.len() - 1) as f64 * share).round() as usize];
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let all = [("min_ns", *first), ("p50_ns", at(0.5)), ("p99_ns", at(0.99)), ("max_ns", *last), ("mean_ns", mean)];
    Ok(named(&all).into_iter().chain([("answers".into(), times.len() as f64)]).collect())
}

/// Values with these names.
pub fn named(values: &[(&str, f64)]) -> Values {
    values.iter().map(|(name, value)| (name.to_string(), *value)).collect()
}

/// The number after these words in the first line that has them.
pub fn number_after(text: &str, words: &str) -> Result<f64> {
    let found = text.lines().find_map(|line| first_number(line.split_once(words)?.1));
    found.with_context(|| format!("the client's output has no number after `{words}`"))
}

/// The numbers after these words, of each line that has them.
pub fn numbers_after(text: &str, words: &str) -> Vec<f64> {
    text.lines().filter_map(|line| first_number(line.split_once(words)?.1)).collect()
}

/// The number that a text begins with, after spaces and signs such as `=` and `:`.
fn first_number(text: &str) -> Option<f64> {
    let text = text.trim_start_matches([' ', '\t', '=', ':', '(']);
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_their_words() {
        let text = "a: 1.5 ms\ntime=0.25 us, b\nloss (7%)\ntime= 3";
        assert_eq!(number_after(text, "a").unwrap(), 1.5);
        assert_eq!(number_after(text, "loss").unwrap(), 7.0);
        assert_eq!(numbers_after(text, "time"), [0.25, 3.0]);
        assert_eq!(number_after(text, "c:").unwrap_err().to_string(), "the client's output has no number after `c:`");
    }

    #[test]
    fn quantities_of_a_list() {
        let values = quantities((0..=100).rev().map(f64::from).collect()).unwrap();
        assert_eq!(values["min_ns"], 0.0);
        assert_eq!((values["p50_ns"], values["p99_ns"], values["max_ns"]), (50.0, 99.0, 100.0));
        assert_eq!((values["mean_ns"], values["answers"]), (50.0, 101.0));
        assert!(quantities(Vec::new()).is_err());
    }
}
