//! Memory after a run: signatures of the RISC-V architecture tests, and dumps.

use super::memory::Bench;
use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How bytes are written.
enum Format {
    /// So many bytes per line, the last one first: a little-endian number in hexadecimal.
    Lines(usize),
    /// As they are.
    Bytes,
    /// With addresses, to be read.
    Text,
}

/// A range of memory to be written after the run.
pub struct Output {
    range: Range<u32>,
    format: Format,
    /// None = standard output.
    file: Option<(PathBuf, File)>,
}

impl Output {
    /// A signature with `granularity` bytes per line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn signature(range: Range<u32>, path: &Path, granularity: usize) -> Result<Output> {
        Ok(Output { range, format: Format::Lines(granularity), file: Some(create(path)?) })
    }

    /// The bytes as they are, or as text if the file is `-`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn dump(range: Range<u32>, path: &Path) -> Result<Output> {
        Ok(if path == Path::new("-") {
            Output { range, format: Format::Text, file: None }
        } else {
            Output { range, format: Format::Bytes, file: Some(create(path)?) }
        })
    }

    /// Writes what stands in memory.
    ///
    /// # Errors
    /// The disk is full or the file is gone.
    pub fn write(self, bench: &Bench) -> Result<()> {
        let bytes = bench.bytes(&self.range);
        let text = match self.format {
            Format::Lines(granularity) => lines(bytes, granularity).into_bytes(),
            Format::Bytes => bytes.to_vec(),
            Format::Text => table(self.range.start, bytes).into_bytes(),
        };
        match self.file {
            Some((path, mut file)) => file.write_all(&text).with_context(|| format!("cannot write {}", path.display())),
            None => std::io::stdout().write_all(&text).context("cannot write to standard output"),
        }
    }
}

fn create(path: &Path) -> Result<(PathBuf, File)> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    Ok((path.to_owned(), file))
}

/// Numbers of `granularity` bytes; a last one that is not whole gets zeros, as spike does.
fn lines(bytes: &[u8], granularity: usize) -> String {
    let mut text = String::new();
    for line in bytes.chunks(granularity) {
        text.extend(std::iter::repeat_n("00", granularity - line.len()));
        line.iter().rev().for_each(|byte| {
            let _ = write!(text, "{byte:02x}");
        });
        text.push('\n');
    }
    text
}

/// Sixteen bytes per line, after their address.
fn table(start: u32, bytes: &[u8]) -> String {
    let mut text = String::new();
    for (at, line) in (start..).step_by(16).zip(bytes.chunks(16)) {
        let _ = write!(text, "{at:08x}:");
        line.iter().for_each(|byte| {
            let _ = write!(text, " {byte:02x}");
        });
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{lines, table};

    #[test]
    fn lines_are_little_endian_numbers() {
        let bytes = [1, 2, 3, 4, 5, 6];
        assert_eq!(lines(&bytes, 4), "04030201\n00000605\n");
        assert_eq!(lines(&bytes, 2), "0201\n0403\n0605\n");
        assert_eq!(lines(&bytes, 16), "00000000000000000000060504030201\n");
    }

    #[test]
    fn tables_have_addresses() {
        let bytes: Vec<u8> = (0..17).collect();
        let expected = "40000000: 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f\n40000010: 10\n";
        assert_eq!(table(0x4000_0000, &bytes), expected);
    }
}
