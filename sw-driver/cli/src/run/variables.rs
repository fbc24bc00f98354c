//! Variables of the handler: set before the run, shown after it. Address and size come from the symbols of the image.

use crate::card::values::digits_of;
use crate::session::Session;
use anyhow::{anyhow, bail, ensure, Context, Result};
use object::{Object, ObjectSymbol};
use serde::Serialize;
use spindle::ContextId;
use spindle_contract::memory_map::{base, CODE, CONTEXT};
use spindle_sdk::variables::{variables, Variable};
use spindle_sdk::Handler;
use std::path::{Path, PathBuf};

/// Arguments of variables.
#[derive(clap::Args)]
pub struct VariableArguments {
    /// Set a variable of the handler before the run: NAME=5, NAME[3]=5 (a word of an array), NAME=1,2,3 (its first words), NAME:u8[3]=5
    /// (elements of 8, 16, 32 or 64 bits). May be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Fill a variable with the bytes of a file before the run.
    #[arg(long, value_name = "NAME=FILE")]
    pub set_file: Vec<String>,
    /// Show a variable after the run, in the report and in its JSON: NAME, NAME[3] or NAME:u8.
    #[arg(long, value_name = "NAME")]
    pub show: Vec<String>,
}

/// Elements of a variable: the width in bytes, and which one if not all.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    variable: Variable,
    width: usize,
    index: Option<usize>,
}

/// A variable after the run.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Shown {
    /// As the option named it.
    pub name: String,
    /// Address that handlers see.
    pub address: String,
    /// Bits of an element.
    pub bits: usize,
    /// Its elements as unsigned numbers.
    pub values: Vec<u64>,
}

/// Elements that the text of the report shows; the JSON has all.
const TEXT_ELEMENTS: usize = 16;
/// Names that a sentence lists.
const LISTED: usize = 12;

impl std::fmt::Display for Shown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let [value] = self.values[..] {
            return write!(f, "{} = {value} ({value:#x})", self.name);
        }
        let shown = self.values.iter().take(TEXT_ELEMENTS).map(u64::to_string).collect::<Vec<_>>().join(" ");
        write!(f, "{} = {shown}", self.name)?;
        match self.values.len().saturating_sub(TEXT_ELEMENTS) {
            0 => Ok(()),
            more => write!(f, " ... ({more} more, {} in all)", self.values.len()),
        }
    }
}

/// The name of a constant, which lies in code.
fn is_constant(elf: &[u8], name: &str) -> bool {
    let code = u64::from(base(CODE))..u64::from(base(CODE)) + (1 << 28);
    object::File::parse(elf)
        .is_ok_and(|file| file.symbols().any(|symbol| symbol.name() == Ok(name) && code.contains(&symbol.address())))
}

/// Finds the variable of a text such as `NAME:u8[3]`.
fn place(handler: &Handler, text: &str) -> Result<Place> {
    let (rest, index) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((rest, index)) => {
            let index = number(index).with_context(|| format!("`{index}` is no index; give one such as {rest}[3]"))?;
            (rest, Some(usize::try_from(index)?))
        }
        None => (text, None),
    };
    let (name, width) = match rest.split_once(':') {
        None => (rest, None),
        Some((name, kind)) => match kind {
            "u8" => (name, Some(1)),
            "u16" => (name, Some(2)),
            "u32" => (name, Some(4)),
            "u64" => (name, Some(8)),
            _ => bail!("`{kind}` is no element of a variable; give u8, u16, u32 or u64"),
        },
    };
    let all = variables(&handler.elf, &handler.image)?;
    let found: Vec<&Variable> = all.iter().filter(|variable| variable.name == name).collect();
    let variable = match found[..] {
        [variable] => variable.clone(),
        [] if is_constant(&handler.elf, name) => {
            bail!("`{name}` is a constant or a function; declare a variable without `const`")
        }
        [] => {
            let names: Vec<&str> = all.iter().take(LISTED).map(|variable| variable.name.as_str()).collect();
            let list = match names.len() {
                0 => "it has none".to_owned(),
                LISTED => format!("it has {} and {} more", names.join(", "), all.len() - LISTED),
                _ => format!("it has {}", names.join(", ")),
            };
            bail!("the handler has no variable `{name}`; {list} (a variable that no handler uses is left out)")
        }
        _ => bail!("the handler has {} variables `{name}` in several files; give them different names", found.len()),
    };
    // Without a stated width, a variable of the size of a number is one, and any other is an array of words.
    let width = width.unwrap_or(match (variable.bytes, index) {
        (1 | 2 | 4 | 8, None) => variable.bytes,
        _ => 4,
    });
    ensure!(
        variable.bytes % width == 0,
        "`{name}` has {} bytes, which is no number of elements of {width}; give their width, such as {name}:u8",
        variable.bytes
    );
    if let Some(index) = index {
        let count = variable.bytes / width;
        ensure!(index < count, "`{name}` has {count} elements of {width} bytes; the last is {name}[{}]", count - 1);
    }
    Ok(Place { variable, width, index })
}

/// A number in decimal, hexadecimal (0x) or binary (0b), or a negative decimal one.
fn number(text: &str) -> Result<i128> {
    let text = text.trim();
    let (digits, radix, sign) = match (text.get(..2), text.strip_prefix('-')) {
        (Some("0x" | "0X"), _) => (&text[2..], 16, 1),
        (Some("0b" | "0B"), _) => (&text[2..], 2, 1),
        (_, Some(digits)) => (digits, 10, -1),
        _ => (text, 10, 1),
    };
    let value = digits_of(digits, radix).map(|value| sign * i128::from(value));
    value.ok_or_else(|| anyhow!("`{text}` is no number of 64 bits; give one such as 7, -1 or 0x1f"))
}

/// The bytes of a number of so many bytes, lowest first.
fn bytes(value: i128, width: usize) -> Result<Vec<u8>> {
    let limit = 1i128 << (8 * width);
    ensure!((-limit / 2..limit).contains(&value), "{value} does not fit {} bits", 8 * width);
    Ok(value.to_le_bytes()[..width].to_vec())
}

/// Offset in context memory and new bytes.
type Setting = (usize, Vec<u8>);

/// The setting of `NAME=VALUE`.
fn setting(handler: &Handler, text: &str) -> Result<Setting> {
    let (name, values) = text.split_once('=').context("it has no `=`; give NAME=VALUE")?;
    let Place { variable, width, index } = place(handler, name.trim())?;
    let values = values.split(',').map(|value| bytes(number(value)?, width)).collect::<Result<Vec<_>>>()?;
    let (first, count) = (index.unwrap_or(0), variable.bytes / width);
    ensure!(
        index.is_some() || values.len() > 1 || count == 1,
        "`{}` has {count} elements of {width} bytes; set one with {}[INDEX]=VALUE, or the first ones with {}=VALUE,VALUE",
        variable.name,
        variable.name,
        variable.name
    );
    ensure!(
        first + values.len() <= count,
        "{} values from element {first} on are too many: `{}` has {count} elements of {width} bytes",
        values.len(),
        variable.name
    );
    Ok((variable.offset + first * width, values.concat()))
}

/// The setting of `NAME=FILE`.
fn file_setting(handler: &Handler, text: &str) -> Result<Setting> {
    let (name, path) = split_file(text)?;
    let Place { variable, width, index } = place(handler, name)?;
    let content = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let first = index.unwrap_or(0) * width;
    ensure!(
        first + content.len() <= variable.bytes,
        "{} has {} bytes, `{name}` has room for {}",
        path.display(),
        content.len(),
        variable.bytes - first
    );
    Ok((variable.offset + first, content))
}

fn split_file(text: &str) -> Result<(&str, PathBuf)> {
    let (name, path) = text.split_once('=').context("it has no `=`; give NAME=FILE")?;
    Ok((name.trim(), Path::new(path).into()))
}

impl VariableArguments {
    /// Files that are read.
    pub fn files(&self) -> Vec<PathBuf> {
        self.set_file.iter().filter_map(|text| split_file(text).ok()).map(|(_, path)| path).collect()
    }

    /// Variables are changed before the run.
    pub fn sets(&self) -> bool {
        !self.set.is_empty() || !self.set_file.is_empty()
    }

    /// Writes the initial values into the image, later options over earlier ones of the same kind; --set goes over --set-file.
    ///
    /// # Errors
    /// A variable that the image does not have, values that do not fit, a file that cannot be read, also of `--show`.
    pub fn apply(&self, handler: &mut Handler) -> Result<()> {
        let settings = |texts: &[String], option: &str, of: fn(&Handler, &str) -> Result<Setting>| {
            let settings = texts.iter().map(|text| of(handler, text).with_context(|| format!("{option} {text}")));
            settings.collect::<Result<Vec<_>>>()
        };
        let files = settings(&self.set_file, "--set-file", file_setting)?;
        let values = settings(&self.set, "--set", setting)?;
        for text in &self.show {
            place(handler, text).with_context(|| format!("--show {text}"))?;
        }
        for (offset, bytes) in files.into_iter().chain(values) {
            handler.image.state[offset..offset + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(())
    }

    /// Reads the variables to show from the card.
    ///
    /// # Errors
    /// The card refuses.
    pub fn shown(&self, session: &mut Session, context: ContextId, handler: &Handler) -> Result<Vec<Shown>> {
        let shown = self.show.iter().map(|text| {
            let Place { variable, width, index } = place(handler, text)?;
            let (first, length) = index.map_or((0, variable.bytes), |index| (index * width, width));
            let start = variable.offset + first;
            // The card is read in words.
            let aligned = start - start % 4;
            let mut bytes = vec![0; (start + length).next_multiple_of(4) - aligned];
            session.device.read_state(context, aligned, &mut bytes)?;
            let values = bytes[start - aligned..][..length].chunks(width).map(|element| {
                let mut word = [0; 8];
                word[..width].copy_from_slice(element);
                u64::from_le_bytes(word)
            });
            Ok(Shown {
                name: text.clone(),
                address: format!("{:#010x}", base(CONTEXT) as usize + start),
                bits: 8 * width,
                values: values.collect(),
            })
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_width() {
        assert_eq!(bytes(number("0x1_00").unwrap(), 2).unwrap(), [0, 1]);
        assert_eq!(bytes(number("-1").unwrap(), 4).unwrap(), [255; 4]);
        assert_eq!(bytes(number("0b101").unwrap(), 1).unwrap(), [5]);
        assert_eq!(bytes(i128::from(u64::MAX), 8).unwrap(), [255; 8]);
        for (value, width) in [(256, 1), (-129, 1), (1 << 32, 4), (1 << 64, 8)] {
            assert!(bytes(value, width).is_err(), "{value}");
        }
        assert!(number("seven").is_err() && number("").is_err() && number("0x").is_err() && number("é").is_err());
    }
}
