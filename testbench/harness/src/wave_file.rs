//! A wave's file: VCD, or FST by its name.

use crate::wave_header::{Header, Item, Variable};
use anyhow::{anyhow, Context, Result};
use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection,
    FstVarType,
};
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Bytes of changes that are kept in memory before a block of an FST file is written.
const BLOCK_BYTES: usize = 32 << 20;

/// A picosecond, as a power of ten of seconds.
const PICOSECOND: i8 = -12;

/// A wave that is being written.
pub(crate) struct WaveFile {
    /// Kept signals by their codes.
    kept: HashMap<u64, Option<FstSignalId>>,
    /// A time after which no change has been written yet.
    pending: Option<u64>,
    out: Out,
}

enum Out {
    Vcd(BufWriter<File>),
    Fst(Box<FstBodyWriter<BufWriter<File>>>),
}

/// A code as a number.
fn number(code: &[u8]) -> u64 {
    code.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

impl WaveFile {
    /// Writes the header, with the chosen variables of `header`.
    pub fn create(path: &Path, file: File, header: &Header, chosen: &[bool]) -> Result<WaveFile> {
        let file = BufWriter::new(file);
        let (out, kept) = if path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("fst")) {
            fst(file, header, chosen)?
        } else {
            vcd(file, header, chosen)?
        };
        Ok(WaveFile { kept, pending: None, out })
    }

    /// Takes a line of the model's text: a time or a change.
    pub fn line(&mut self, line: &[u8]) -> Result<()> {
        match line {
            [] | [b'$', ..] => Ok(()),
            [b'#', digits @ ..] => {
                let time = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
                self.pending = Some(time.context("the model's wave has a time that is no number")?);
                Ok(())
            }
            [b'b', rest @ ..] => {
                let at = rest
                    .iter()
                    .position(|byte| *byte == b' ')
                    .context("the model's wave has a change without a code")?;
                self.change(&rest[at + 1..], &rest[..at])
            }
            [value, code @ ..] => self.change(code, &[*value]),
        }
    }

    fn change(&mut self, code: &[u8], value: &[u8]) -> Result<()> {
        let Some(signal) = self.kept.get(&number(code)) else { return Ok(()) };
        // Times in which nothing that is kept changes are left out.
        let time = self.pending.take();
        match (&mut self.out, signal) {
            (Out::Fst(out), Some(signal)) => {
                if let Some(time) = time {
                    if out.size() > BLOCK_BYTES {
                        out.flush().map_err(failed)?;
                    }
                    out.time_change(time).map_err(failed)?;
                }
                out.signal_change(*signal, value).map_err(failed)?;
            }
            (Out::Vcd(out), _) => {
                if let Some(time) = time {
                    writeln!(out, "#{time}")?;
                }
                match value {
                    [value] => out.write_all(&[*value])?,
                    // Readers fill up with zeros.
                    bits => {
                        let zeros = bits.iter().take(bits.len() - 1).take_while(|bit| **bit == b'0').count();
                        out.write_all(b"b")?;
                        out.write_all(&bits[zeros..])?;
                        out.write_all(b" ")?;
                    }
                }
                out.write_all(code)?;
                out.write_all(b"\n")?;
            }
            (Out::Fst(_), None) => unreachable!("each kept signal of an FST file has a number"),
        }
        Ok(())
    }

    /// Ends the file.
    pub fn finish(mut self) -> Result<()> {
        match self.out {
            Out::Vcd(mut out) => {
                // The last time shows how long nothing has changed.
                if let Some(time) = self.pending.take() {
                    writeln!(out, "#{time}")?;
                }
                out.flush()?;
            }
            Out::Fst(mut out) => {
                if let Some(time) = self.pending.take() {
                    out.time_change(time).map_err(failed)?;
                }
                out.finish().map_err(failed)?.flush()?;
            }
        }
        Ok(())
    }
}

fn failed(error: fst_writer::FstWriteError) -> anyhow::Error {
    anyhow!("cannot write FST: {error}")
}

type Opened = (Out, HashMap<u64, Option<FstSignalId>>);

/// Calls `write` with the items of the header that lead to a chosen variable.
fn each_item(header: &Header, chosen: &[bool], mut write: impl FnMut(&Item) -> Result<()>) -> Result<()> {
    // Scopes that have begun and not been written, since nothing in them has been chosen so far.
    let mut waiting: Vec<&Item> = Vec::new();
    let mut written = 0;
    for item in &header.items {
        match item {
            Item::Scope { .. } => waiting.push(item),
            Item::Variable(index) if chosen[*index] => {
                written += waiting.len();
                waiting.drain(..).try_for_each(&mut write)?;
                write(item)?;
            }
            Item::Variable(_) => {}
            Item::Up if waiting.pop().is_none() => {
                written -= 1;
                write(item)?;
            }
            Item::Up => {}
        }
    }
    debug_assert!(written == 0, "scopes end where they began");
    Ok(())
}

fn vcd(mut out: BufWriter<File>, header: &Header, chosen: &[bool]) -> Result<Opened> {
    let mut kept = HashMap::new();
    writeln!(out, "$version Spindle $end\n$timescale 1 ps $end")?;
    each_item(header, chosen, |item| {
        match item {
            Item::Scope { kind, name } => writeln!(out, "$scope {kind} {name} $end")?,
            Item::Up => writeln!(out, "$upscope $end")?,
            Item::Variable(index) => {
                let Variable { path, range, width, kind, code } = &header.variables[*index];
                let name = path.last().expect("a variable has a name");
                writeln!(out, "$var {kind} {width} {code} {name} {range} $end")?;
                kept.insert(number(code.as_bytes()), None);
            }
        }
        Ok(())
    })?;
    writeln!(out, "$enddefinitions $end")?;
    Ok((Out::Vcd(out), kept))
}

fn fst(file: BufWriter<File>, header: &Header, chosen: &[bool]) -> Result<Opened> {
    let info = FstInfo {
        start_time: 0,
        timescale_exponent: PICOSECOND,
        version: "Spindle".into(),
        date: String::new(),
        file_type: FstFileType::Verilog,
    };
    let mut out = FstHeaderWriter::new(file, &info).map_err(failed)?;
    let mut kept: HashMap<u64, Option<FstSignalId>> = HashMap::new();
    each_item(header, chosen, |item| {
        match item {
            Item::Scope { kind, name } => {
                let kind = if kind == "struct" { FstScopeType::Struct } else { FstScopeType::Module };
                out.scope(name, "", kind).map_err(failed)?;
            }
            Item::Up => out.up_scope().map_err(failed)?,
            Item::Variable(index) => {
                let Variable { path, range, width, code, .. } = &header.variables[*index];
                let name = path.last().expect("a variable has a name");
                let name = if range.is_empty() { name.clone() } else { format!("{name} {range}") };
                let alias = kept.get(&number(code.as_bytes())).copied().flatten();
                let (kind, wire, any) = (FstSignalType::bit_vec(*width), FstVarType::Wire, FstVarDirection::Implicit);
                let signal = out.var(name, kind, wire, any, alias).map_err(failed)?;
                kept.insert(number(code.as_bytes()), Some(signal));
            }
        }
        Ok(())
    })?;
    Ok((Out::Fst(Box::new(out.finish().map_err(failed)?)), kept))
}
