//! Texts of designs, kept from process to process.
//!
//! Elaborating a NIC takes seconds, and a test is a process of its own. So the text that a program has emitted is kept, with the
//! build id of the file that holds the program's code: a hash by the linker of all that is in the file. A program that was linked
//! anew with other code emits anew, and its text replaces the kept one. Where there is no build id or no cache, nothing is kept.

use crate::cache::Cache;
use crate::source::Source;
use anyhow::{Context, Result};
use object::read::ReadCache;
use object::Object;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

impl Source {
    /// The design that `emit` makes: the one of an earlier process of the same program, if that is kept. `parameters` name it: what
    /// `emit` makes depends on them and on the program's code alone. The design has the default options.
    ///
    /// # Errors
    /// Those of `emit`.
    pub fn kept(parameters: &str, emit: impl FnOnce() -> Result<Source>) -> Result<Source> {
        let (Some(code), Ok(cache)) = (Code::own(), Cache::open()) else { return emit() };
        let name = name(&code, parameters);
        if let Some(source) = read(&cache, &name, &code) {
            return Ok(source);
        }
        let source = emit()?;
        // Without it the next process emits again.
        let _ = keep(&cache, &name, &code, &source);
        Ok(source)
    }
}

/// The file that this code was loaded from.
struct Code {
    path: PathBuf,
    build_id: Vec<u8>,
}

impl Code {
    /// `None` if the file has gone, was replaced, or has no build id.
    fn own() -> Option<Code> {
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let (path, inode) = mapped(&maps, Code::own as *const () as u64)?;
        let file = File::open(&path).ok()?;
        if file.metadata().ok()?.ino() != inode {
            return None;
        }
        let file = ReadCache::new(file);
        let build_id = object::File::parse(&file).ok()?.build_id().ok()??.to_vec();
        Some(Code { path, build_id })
    }
}

/// The file that is mapped at an address, and its inode: a line of `/proc/self/maps` is
/// `55d4c0a00000-55d4c0a2c000 r-xp 0000a000 fe:00 1234 /usr/bin/program`.
fn mapped(maps: &str, address: u64) -> Option<(PathBuf, u64)> {
    let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
    maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (begin, end) = range.split_once('-')?;
        let mut fields = rest.trim_start().splitn(4, ' ');
        let place = fields.nth(3)?;
        let (inode, path) = place.split_once(' ')?;
        let here = (hexadecimal(begin)?..hexadecimal(end)?).contains(&address);
        here.then(|| Some((PathBuf::from(path.trim_start()), inode.parse().ok()?)))?
    })
}

/// One file for each program and its parameters, which the next build of the program replaces.
fn name(code: &Code, parameters: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(code.path.as_os_str().as_encoded_bytes());
    hash.update([0]);
    hash.update(parameters);
    let digits: String = hash.finalize().iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("text-{digits}")
}

type Kept = (Vec<u8>, String, Vec<(String, String)>);

fn read(cache: &Cache, name: &str, code: &Code) -> Option<Source> {
    let mut text = Vec::new();
    let mut file = cache.checked(name, "text")?.file;
    // The check has read to the end.
    file.rewind().ok()?;
    file.read_to_end(&mut text).ok()?;
    let (build_id, top, files): Kept = serde_json::from_slice(&text).ok()?;
    (build_id == code.build_id).then(|| Source::new(top, files))
}

fn keep(cache: &Cache, name: &str, code: &Code, source: &Source) -> Result<()> {
    let work = cache.work()?;
    let path = work.path().join("design.text");
    let kept: (&[u8], &str, &[(String, String)]) = (&code.build_id, &source.top, &source.files);
    std::fs::write(&path, serde_json::to_vec(&kept)?).context("cannot write to the model cache")?;
    cache.keep(name, "text", &path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_an_address_is_found() {
        let maps = "55d4c0a00000-55d4c0a0a000 r--p 00000000 fe:00 1234                       /usr/bin/a program\n\
                    55d4c0a0a000-55d4c0a2c000 r-xp 0000a000 fe:00 1234                       /usr/bin/a program\n\
                    7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n";
        assert_eq!(mapped(maps, 0x55d4_c0a0_b000), Some(("/usr/bin/a program".into(), 1234)));
        assert_eq!(mapped(maps, 0x55d4_c0a2_c000), None);
        assert_eq!(mapped(maps, 0x7f00_0000_0000).map(|found| found.1), Some(0));
        let here = mapped(&std::fs::read_to_string("/proc/self/maps").unwrap(), Code::own as *const () as u64);
        assert_eq!(here.unwrap().0, std::env::current_exe().unwrap());
    }

    #[test]
    fn a_text_is_kept_for_the_program_that_emitted_it() {
        let (_outer, cache) = crate::cache::temporary();
        let code = |build_id: &[u8]| Code { path: "/bin/program".into(), build_id: build_id.into() };
        let source = Source::new("top", vec![("top.sv".into(), "module top; // \u{e9}\nendmodule".into())]);
        let named = name(&code(&[1]), "sim");
        keep(&cache, &named, &code(&[1]), &source).unwrap();
        assert_eq!(read(&cache, &named, &code(&[1])), Some(source.clone()));
        assert_eq!(read(&cache, &named, &code(&[2])), None, "another build");
        assert_eq!(read(&cache, &name(&code(&[1]), "alveo"), &code(&[1])), None, "other parameters");
        let path = cache.path(&format!("{named}.text"));
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("module top", "module t0p")).unwrap();
        assert_eq!(read(&cache, &named, &code(&[1])), None, "changed");
    }

    #[test]
    fn a_process_emits_once() {
        let parameters = format!("a test of {}", std::process::id());
        let emitted = std::cell::Cell::new(0);
        let emit = || {
            emitted.set(emitted.get() + 1);
            Ok(Source::from_text("top", "module top; endmodule"))
        };
        let first = Source::kept(&parameters, emit).unwrap();
        assert_eq!(Source::kept(&parameters, emit).unwrap(), first);
        assert_eq!(emitted.get(), 1, "the linker writes no build id, or the cache cannot be written");
        let (code, cache) = (Code::own().unwrap(), Cache::open().unwrap());
        for end in ["text", "sha256"] {
            std::fs::remove_file(cache.path(&format!("{}.{end}", name(&code, &parameters)))).unwrap();
        }
        assert!(Source::kept("none", || anyhow::bail!("no design")).is_err());
    }
}
