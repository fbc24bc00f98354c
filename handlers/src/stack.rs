//! Worst-case stack depth of the handlers of an image, from its machine code: the same for every compiler, for libraries and for
//! assembly.
//!
//! Each function is walked along its branches with the depth of the stack pointer; a call adds what the callee needs. What cannot be
//! bounded is named instead of guessed: recursion, frames whose size is computed. A call through a pointer is a call of any function whose
//! address the image holds; if there is none, or the call could recurse, it has no bound. An HPU has no compressed instructions, so every
//! instruction is one word.

mod pointers;
mod walk;

use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{elf, Endianness};
use serde::Serialize;
use spindle::image::ENTRY_SYMBOLS;
use spindle::Image;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Stack of a handler.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct HandlerStack {
    /// Its symbol.
    pub handler: &'static str,
    /// Bytes at most; `None` if `unbounded` says why there is no bound.
    pub bytes: Option<u32>,
    /// Bytes of what could be followed.
    pub at_least: u32,
    /// The deepest chain of calls, from the handler on.
    pub path: Vec<String>,
    /// Functions without a bound, or that could not be followed: a sentence for each.
    pub unbounded: Vec<String>,
}

/// A line on standard error for each handler that may run over its stack.
pub fn warn_of_stack(handlers: &[HandlerStack], limit: usize) {
    for handler in handlers.iter().filter(|handler| handler.at_least as usize > limit) {
        eprintln!(
            "spindle: warning: {} needs {} bytes of stack ({}), it has {limit} and faults beyond; use smaller local arrays, or static ones",
            handler.handler,
            handler.at_least,
            handler.path.join(" > ")
        );
    }
}

/// Code of an image by function.
pub struct Code {
    words: HashMap<u32, u32>,
    /// Start: name and end.
    functions: BTreeMap<u32, (String, u32)>,
    /// Starts of functions that pointers can point at.
    taken: BTreeSet<u32>,
}

/// The function of lib/pspin.c that calls PsPIN handlers: an image that holds no function's address has none, and never gets there.
const PSPIN_CALL: &str = "spindle_pspin_call";

/// What a function and all that it calls do.
#[derive(Clone, Default)]
struct Total {
    depth: u32,
    path: Vec<String>,
    unbounded: Vec<String>,
}

impl Code {
    /// The code of an image, which [`Image::parse`] has accepted.
    pub fn of(file: &[u8]) -> object::Result<Code> {
        let header = elf::FileHeader32::<Endianness>::parse(file)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, file)?;
        let mut words = HashMap::new();
        let mut ends = Vec::new();
        for section in sections.iter().filter(|s| s.sh_flags(endian) & elf::SHF_EXECINSTR != 0) {
            let start = section.sh_addr(endian);
            let bytes = section.data(endian, file)?;
            ends.push((start, start.wrapping_add(bytes.len() as u32)));
            let word = |chunk: &[u8]| u32::from_le_bytes(chunk.try_into().expect("chunks of four"));
            words.extend((0..).map(|i: u32| start.wrapping_add(4 * i)).zip(bytes.chunks_exact(4).map(word)));
        }
        let table = sections.symbols(endian, file, elf::SHT_SYMTAB)?;
        let mut found: BTreeMap<u32, (String, u32)> = BTreeMap::new();
        for symbol in table.iter() {
            let name = String::from_utf8_lossy(table.symbol_name(endian, symbol)?).into_owned();
            // Labels that the compiler made are no functions; labels of assembly may be.
            let label = symbol.st_type() == elf::STT_NOTYPE && !symbol.is_local() && !name.starts_with(['.', '$']);
            let address = symbol.st_value(endian);
            if (symbol.st_type() == elf::STT_FUNC || label) && words.contains_key(&address) {
                let known = found.entry(address).or_default();
                if known.0.is_empty() {
                    known.0 = name;
                }
                known.1 = known.1.max(address.saturating_add(symbol.st_size(endian)));
            }
        }
        // A symbol without a size ends where the next function starts; none ends after its section.
        let starts: Vec<u32> = found.keys().copied().collect();
        for (start, (_, end)) in &mut found {
            let section = ends.iter().find(|(from, to)| (from..to).contains(&start)).map_or(*start, |(_, to)| *to);
            let next = starts.iter().copied().find(|next| next > start).unwrap_or(section);
            *end = section.min(if end == start { next } else { *end });
        }
        let mut data = Vec::new();
        let holds_data = |flags: u32| flags & (elf::SHF_ALLOC | elf::SHF_EXECINSTR) == elf::SHF_ALLOC;
        for section in sections.iter().filter(|section| holds_data(section.sh_flags(endian))) {
            data.extend_from_slice(section.data(endian, file)?);
        }
        let data = data.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("chunks of four")));
        let taken = pointers::taken(&words, &found, data);
        Ok(Code { words, functions: found, taken })
    }

    /// The handlers that the image has.
    pub fn handlers(&self, image: &Image) -> Vec<HandlerStack> {
        let mut known = HashMap::new();
        let entries = ENTRY_SYMBOLS.into_iter().zip(image.entries);
        let stack = |(handler, entry): (&'static str, Option<u32>)| {
            let mut total = self.total(entry?, &mut known, &mut Vec::new());
            // Two handlers may be one function.
            total.path.splice(..1.min(total.path.len()), [handler.to_owned()]);
            Some(HandlerStack {
                handler,
                bytes: total.unbounded.is_empty().then_some(total.depth),
                at_least: total.depth,
                path: total.path,
                unbounded: total.unbounded,
            })
        };
        entries.filter_map(stack).collect()
    }

    /// A function and everything below it.
    fn total(&self, start: u32, known: &mut HashMap<u32, Total>, above: &mut Vec<u32>) -> Total {
        if let Some(total) = known.get(&start) {
            return total.clone();
        }
        let Some((name, _)) = self.functions.get(&start) else {
            let unbounded = vec![format!("{start:#010x} is called and has no symbol")];
            return Total { unbounded, ..Total::default() };
        };
        if above.contains(&start) {
            return Total { unbounded: vec![format!("{name} is recursive")], ..Total::default() };
        }
        above.push(start);
        let body = walk::body(&self.words, start, self.functions[&start].1);
        let mut total = Total {
            depth: body.depth,
            path: Vec::new(),
            unbounded: body.unbounded.iter().map(|what| format!("{name} {what}")).collect(),
        };
        let mut calls = body.calls;
        if let Some(depth) = body.pointers.into_iter().max() {
            let none = self.taken.is_empty() && name != PSPIN_CALL;
            if none || self.taken.iter().any(|target| above.contains(target)) {
                total.unbounded.push(format!("{name} calls through a pointer"));
            } else {
                calls.extend(self.taken.iter().map(|target| (*target, depth)));
            }
        }
        for (target, depth) in calls {
            let below = self.total(target, known, above);
            let sum = depth.saturating_add(below.depth);
            if sum > total.depth || (total.path.is_empty() && sum == total.depth) {
                total.depth = sum;
                total.path = below.path;
            }
            for sentence in below.unbounded {
                if !total.unbounded.contains(&sentence) {
                    total.unbounded.push(sentence);
                }
            }
        }
        total.path.insert(0, name.clone());
        above.pop();
        known.insert(start, total.clone());
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::{Sources, Toolchain};
    use crate::Sections;
    use crate::{compile, Shipped};
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Whatever a file says that the driver's own look at it lets pass.
    #[test]
    fn damaged_images_do_no_harm() {
        let folder = tempfile::tempdir().unwrap();
        let (source, output) = (folder.path().join("handler.c"), folder.path().join("handler.elf"));
        let call = "#include \"spin_printf.h\"\nint payload_handler(const spin_payload_t *p, void *s) { (void)p; \
            (void)s; return printf(\"x\"); }\n";
        std::fs::write(&source, Shipped::by_name("ping_pong").unwrap().source.to_owned() + call).unwrap();
        compile(&Toolchain::find(None).unwrap(), &Sources::one(&source), &output).unwrap();
        let good = std::fs::read(output).unwrap();
        assert_eq!(Code::of(&good).unwrap().handlers(&Image::parse(&good).unwrap()).len(), 2);
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut passed = 0;
        for _ in 0..3000 {
            let mut bad = good.clone();
            for _ in 0..random.random_range(1..8) {
                let at = random.random_range(0..bad.len());
                bad[at] = [0, 0x7f, 0xff, random.random()][random.random_range(0..4)];
            }
            if let Ok(image) = Image::parse(&bad) {
                passed += 1;
                let _ = Sections::of(&bad);
                let _ = Code::of(&bad).map(|code| code.handlers(&image));
            }
        }
        assert!(passed > 300, "{passed}");
    }
}
