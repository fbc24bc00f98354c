//! Variables of an image, by the symbols of its file.

use anyhow::{bail, Context, Result};
use object::{Object, ObjectSymbol};
use spindle::Image;
use spindle_contract::memory_map::{base, CONTEXT};

/// A variable of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name in C.
    pub name: String,
    /// Byte offset in context memory.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
}

/// The variables of an image in context memory, by name.
///
/// # Errors
/// The file is no object file.
pub fn variables(elf: &[u8], image: &Image) -> Result<Vec<Variable>> {
    let file = object::File::parse(elf).context("the image cannot be read")?;
    let context = u64::from(base(CONTEXT));
    let mut all: Vec<Variable> = file
        .symbols()
        .filter(|symbol| symbol.size() > 0)
        .filter_map(|symbol| {
            let offset = usize::try_from(symbol.address().checked_sub(context)?).ok()?;
            let bytes = usize::try_from(symbol.size()).ok()?;
            let inside = offset.checked_add(bytes)? <= image.state.len();
            inside.then(|| Some(Variable { name: symbol.name().ok()?.to_owned(), offset, bytes }))?
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name).then(a.offset.cmp(&b.offset)));
    all.dedup();
    Ok(all)
}

/// The only variable of this name.
///
/// # Errors
/// There is none, or several.
pub fn variable(elf: &[u8], image: &Image, name: &str) -> Result<Variable> {
    let mut found: Vec<Variable> = variables(elf, image)?.into_iter().filter(|one| one.name == name).collect();
    match (found.pop(), found.is_empty()) {
        (Some(variable), true) => Ok(variable),
        (None, _) => bail!("the handler has no variable `{name}`; one that no handler uses is left out"),
        (Some(_), false) => bail!("the handler has several variables `{name}`; give them different names"),
    }
}
