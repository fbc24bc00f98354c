//! Source lines of addresses, from the debug information of an image.

use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, SectionId};
use addr2line::Context;
use object::{Object, ObjectSection};
use serde::Serialize;
use std::path::Path;

/// Longest source line that is shown.
const LONGEST: usize = 200;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SourceLine {
    /// File as the compiler saw it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Function, which may have been inlined into the next entry's.
    pub function: Option<String>,
    /// The line itself, if the file can be read.
    pub text: Option<String>,
}

/// Source lines of an address: the innermost inlined function first; empty if the image has no debug information of it.
pub fn source_lines(elf: &[u8], address: u32) -> Vec<SourceLine> {
    resolve(elf, address).unwrap_or_default()
}

/// Places of an address as one text: `spindle.h:42, inlined at handler.c:7`; `None` without debug information.
pub fn places(elf: &[u8], address: u32) -> Option<String> {
    let places: Vec<String> = source_lines(elf, address)
        .iter()
        .map(|place| {
            let name = Path::new(&place.file).file_name().unwrap_or(place.file.as_ref());
            format!("{}:{}", name.to_string_lossy(), place.line)
        })
        .collect();
    (!places.is_empty()).then(|| places.join(", inlined at "))
}

fn resolve(elf: &[u8], address: u32) -> Option<Vec<SourceLine>> {
    let file = object::File::parse(elf).ok()?;
    let section = |id: SectionId| -> Result<_, addr2line::gimli::Error> {
        let data = file.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or_default();
        Ok(EndianSlice::new(data, LittleEndian))
    };
    let context = Context::from_dwarf(Dwarf::load(section).ok()?).ok()?;
    let mut frames = context.find_frames(address.into()).skip_all_loads().ok()?;
    let mut lines = Vec::new();
    while let Ok(Some(frame)) = frames.next() {
        let Some((file, line)) = frame.location.and_then(|location| Some((location.file?, location.line?))) else {
            continue;
        };
        let function = frame.function.and_then(|name| Some(name.raw_name().ok()?.into_owned()));
        lines.push(SourceLine { file: file.to_owned(), line, function, text: text_of(Path::new(file), line) });
    }
    Some(lines)
}

/// The line of a source file without its indentation.
fn text_of(file: &Path, line: u32) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?)?.trim();
    Some(line.chars().take(LONGEST).collect())
}
