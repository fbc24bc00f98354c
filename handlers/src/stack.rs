//! Worst-case stack depth of the handlers of an image, from its machine code: the same for every compiler, for libraries and for
//! assembly.
//!
//! Each function is walked along its branches with the depth of the stack pointer; a call adds what the callee needs. What cannot be
//! bounded is named instead of guessed: recursion, frames whose size is computed. A call through a pointer is a call of any function whose
//! address the image holds; if there is none, or the call could recurse, it has no bound. An HPU has no compressed instructions, so every
//! instruction is one word.
//!
//! An image may come from anyone, so the walk is bounded: calls are followed so many functions deep, and code in which functions overlap
//! only some times over.

mod pointers;
mod walk;

use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{elf, Endianness};
use serde::Serialize;
use spindle::image::ENTRY_SYMBOLS;
use spindle::Image;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

/// Stack of a handler.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct HandlerStack {
    /// Its handler set, if the image has several.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub set: String,
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

/// Functions that a chain of calls has at most.
const DEEPEST: usize = 64;
/// Sentences that are kept.
const MOST_SENTENCES: usize = 32;
/// Times that each instruction is walked at most, on average: labels of assembly are functions that overlap.
const OVERLAPS: usize = 16;

/// What a function and all that it calls do.
#[derive(Clone, Default)]
struct Total {
    depth: u32,
    path: Vec<String>,
    unbounded: Vec<String>,
}

impl Total {
    /// One with a sentence.
    fn without_bound(sentence: String) -> Rc<Total> {
        Rc::new(Total { unbounded: vec![sentence], ..Total::default() })
    }

    /// Adds a call at this depth.
    fn calls(&mut self, depth: u32, below: &Total) {
        let sum = depth.saturating_add(below.depth);
        if sum > self.depth || (self.path.is_empty() && sum == self.depth) {
            self.depth = sum;
            self.path.clone_from(&below.path);
        }
        for sentence in &below.unbounded {
            if self.unbounded.len() < MOST_SENTENCES && !self.unbounded.contains(sentence) {
                self.unbounded.push(sentence.clone());
            }
        }
    }
}

/// What is known while the handlers of an image are followed.
struct Search {
    known: HashMap<u32, Rc<Total>>,
    above: Vec<u32>,
    /// A call through a pointer.
    pointer: Option<Rc<Total>>,
    /// Instructions that may still be walked.
    steps: usize,
}

impl Code {
    /// The code of an image, which [`Image::parse`] has accepted.
    pub fn of(file: &[u8]) -> object::Result<Code> {
        let header = elf::FileHeader32::<Endianness>::parse(file)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, file)?;
        let mut words = HashMap::new();
        let mut ends = Vec::new();
        // Sections that a linker makes do not overlap in the file.
        let mut left = file.len();
        for section in sections.iter().filter(|s| s.sh_flags(endian) & elf::SHF_EXECINSTR != 0) {
            let start = section.sh_addr(endian);
            let bytes = section.data(endian, file)?;
            let Some(rest) = left.checked_sub(bytes.len()) else { continue };
            left = rest;
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
            let next = starts.get(starts.partition_point(|next| next <= start)).copied().unwrap_or(section);
            *end = section.min(if end == start { next } else { *end });
        }
        let mut data = Vec::new();
        let holds_data = |flags: u32| flags & (elf::SHF_ALLOC | elf::SHF_EXECINSTR) == elf::SHF_ALLOC;
        for section in sections.iter().filter(|section| holds_data(section.sh_flags(endian))) {
            let bytes = section.data(endian, file)?;
            let Some(rest) = left.checked_sub(bytes.len()) else { continue };
            left = rest;
            data.extend_from_slice(bytes);
        }
        let data = data.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("chunks of four")));
        let taken = pointers::taken(&words, &found, data);
        Ok(Code { words, functions: found, taken })
    }

    /// The handlers that the image has.
    pub fn handlers(&self, image: &Image) -> Vec<HandlerStack> {
        let steps = OVERLAPS * self.words.len();
        let mut search = Search { known: HashMap::new(), above: Vec::new(), pointer: None, steps };
        let entries = ENTRY_SYMBOLS.into_iter().zip(image.entries);
        let stack = |(handler, entry): (&'static str, Option<u32>)| {
            let mut total = Total::clone(&self.total(entry?, &mut search));
            // Two handlers may be one function.
            total.path.splice(..1.min(total.path.len()), [handler.to_owned()]);
            Some(HandlerStack {
                set: String::new(),
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
    fn total(&self, start: u32, search: &mut Search) -> Rc<Total> {
        if let Some(total) = search.known.get(&start) {
            return total.clone();
        }
        let Some((name, end)) = self.functions.get(&start) else {
            return Total::without_bound(format!("{start:#010x} is called and has no symbol"));
        };
        if search.above.contains(&start) {
            return Total::without_bound(format!("{name} is recursive"));
        }
        if search.above.len() >= DEEPEST {
            return Total::without_bound(format!("{name} is called more than {DEEPEST} functions deep"));
        }
        search.above.push(start);
        let body = walk::body(&self.words, start, *end, &mut search.steps);
        let mut total = Total {
            depth: body.depth,
            path: Vec::new(),
            unbounded: body.unbounded.iter().map(|what| format!("{name} {what}")).collect(),
        };
        for (target, depth) in body.calls {
            total.calls(depth, &self.total(target, search));
        }
        if let Some(depth) = body.pointers.into_iter().max() {
            let none = self.taken.is_empty() && name != PSPIN_CALL;
            if none || search.above.iter().any(|start| self.taken.contains(start)) {
                total.unbounded.push(format!("{name} calls through a pointer"));
            } else {
                total.calls(depth, &self.through_pointer(search));
            }
        }
        total.path.insert(0, name.clone());
        search.above.pop();
        let total = Rc::new(total);
        search.known.insert(start, total.clone());
        total
    }

    /// A call of any function that a pointer can point at.
    fn through_pointer(&self, search: &mut Search) -> Rc<Total> {
        if let Some(pointer) = &search.pointer {
            return pointer.clone();
        }
        let mut all = Total::default();
        for target in &self.taken {
            all.calls(0, &self.total(*target, search));
        }
        let all = Rc::new(all);
        search.pointer = Some(all.clone());
        all
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
