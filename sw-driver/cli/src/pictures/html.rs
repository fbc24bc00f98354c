//! `--html`: one page with style, script and data inside; the browser loads nothing else.

use super::data::PageData;
use super::Recording;
use anyhow::Result;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Write;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// Writes the page of a run.
///
/// # Errors
/// The output cannot be written.
pub fn write(recording: &Recording, mut output: impl Write) -> Result<()> {
    let data = script_safe(&serde_json::to_string(&PageData::of(recording))?);
    // The content policy admits the page's own style and script by this number; nothing that the data contains can know the number.
    let mut hasher = DefaultHasher::new();
    (&data, SCRIPT, STYLE).hash(&mut hasher);
    let nonce = format!("{:016x}", hasher.finish());
    // Parts are written in the order of the page, never substituted into one another: data may contain the marks.
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("{{") {
        let (mark, after) = after.split_once("}}").expect("the page closes its marks");
        output.write_all(before.as_bytes())?;
        let part = match mark {
            "title" => markup_safe(recording.handler),
            "nonce" => nonce.clone(),
            "style" => STYLE.to_owned(),
            "script" => SCRIPT.to_owned(),
            "data" => data.clone(),
            other => unreachable!("the page has no mark {other}"),
        };
        output.write_all(part.as_bytes())?;
        rest = after;
    }
    output.write_all(rest.as_bytes())?;
    Ok(())
}

/// JSON without characters that end a script element or start markup; they are escaped as JSON allows.
fn script_safe(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => safe += "\\u003c",
            '>' => safe += "\\u003e",
            '&' => safe += "\\u0026",
            '\u{2028}' => safe += "\\u2028",
            '\u{2029}' => safe += "\\u2029",
            c => safe.push(c),
        }
    }
    safe
}

/// Text for the content of an element.
fn markup_safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
