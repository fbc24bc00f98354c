//! Handler images: ELF files linked by the handler SDK's script.
//!
//! An image has code and constants in the code region, initialised and zeroed variables in the context region, and at least one of
//! the symbols `header_handler`, `payload_handler`, `completion_handler`. Everything else is refused here, before the card sees it.

use object::elf::{FileHeader32, EM_RISCV, ET_EXEC, PF_W, PF_X, PT_LOAD, STT_FUNC, STT_NOTYPE};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, SymbolIndex};
use spindle_contract::memory_map::{self as map, base};
use spindle_contract::params::{Config, MAX_TAILROOM};
use std::collections::BTreeMap;

/// Why an image cannot run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageError {
    /// No ELF at all.
    #[error("the image is not an ELF file; give the .elf that the handler SDK links, or a .c file")]
    NotElf,
    /// 64-bit, or another machine, or big-endian, or not linked.
    #[error(
        "the image is {found}, an HPU runs 32-bit little-endian RISC-V executables; build it with \
         -march=rv32ima_zicsr_zba_zbb_zbs -mabi=ilp32 and link it with handler.ld"
    )]
    WrongMachine {
        /// What it is instead.
        found: String,
    },
    /// The file is cut or inconsistent.
    #[error("the image is damaged ({0}); build it again")]
    Damaged(String),
    /// None of the three symbols.
    #[error(
        "the image has no entry point; define header_handler, payload_handler, completion_handler or task_handler"
    )]
    NoEntry,
    /// Several handler sets, and none was chosen.
    #[error("the image has the handler sets {}; choose one by its name (`--handlers NAME`)", .0.join(", "))]
    Several(Vec<String>),
    /// No handler set of this name.
    #[error("the image has no handler set `{name}`; it has: {}", if .there.is_empty() { "none".into() } else { .there.join(", ") })]
    NoSet {
        /// What was asked for.
        name: String,
        /// What there is.
        there: Vec<String>,
    },
    /// Unresolved symbols.
    #[error("the image has undefined symbols: {}; there is no library on the card, define them in the image", .0.join(", "))]
    Undefined(Vec<String>),
    /// A segment or entry point where there is no memory of that kind.
    #[error("{what} at {address:#010x} lies outside the {region} region; link the image with handler.ld")]
    Outside {
        /// Segment or symbol.
        what: String,
        /// Its address.
        address: u32,
        /// Where it belongs.
        region: &'static str,
    },
    /// A user header that no context can wait for, or several.
    #[error(
        "the image {0}; declare one structure of 1 to {LONGEST_USER_HEADER} bytes by SPIN_USER_HEADER, in one file"
    )]
    UserHeader(String),
    /// A tailroom that no slot has room for, or several.
    #[error("the image {0}; declare 1 to {MAX_TAILROOM} bytes by SPIN_TAILROOM, in one file")]
    Tailroom(String),
    /// Larger than the memory.
    #[error("the image has {bytes} bytes of {what}, the card's memory for it has {limit}; make it smaller")]
    TooLarge {
        /// "code" or "state".
        what: &'static str,
        /// Bytes of the image.
        bytes: usize,
        /// Bytes of the memory.
        limit: usize,
    },
}

/// A handler image, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// Code and constants, from the first address of the code region.
    pub code: Vec<u8>,
    /// Initial contents of context memory, zeroed variables included.
    pub state: Vec<u8>,
    /// Entry points of the header, payload, completion and task handler.
    pub entries: Entries,
    /// Functions by address.
    pub symbols: Vec<(u32, String)>,
    /// The user header that its header handler waits for.
    pub user_header: Option<UserHeader>,
    /// Bytes of tailroom that it declares by `SPIN_TAILROOM`; 0 = none.
    pub tailroom: u16,
}

/// A structure at the start of a message, as the image declares it by `SPIN_USER_HEADER`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserHeader {
    /// Its type, as the source has it.
    pub name: String,
    /// Bytes, at most [`LONGEST_USER_HEADER`].
    pub bytes: u8,
}

/// Most bytes of a user header: what a context can wait for.
pub const LONGEST_USER_HEADER: u8 = (1 << 7) - 1;
/// Section of the declaration: a word with the size, the name, a zero.
const USER_HEADER_SECTION: &[u8] = b".spin_user_header";
/// Section of handler sets with names of their own: for each a name of [`SET_NAME`] bytes, filled up with zeros, and the addresses of the
/// header, payload and completion handler, 0 = absent.
const HANDLERS_SECTION: &[u8] = b".spin_handlers";
/// Bytes of the name of a handler set.
const SET_NAME: usize = 32;
/// Section of the declaration of a tailroom: a word.
const TAILROOM_SECTION: &[u8] = b".spin_tailroom";

/// Symbols of the entry points, in the order of the kinds.
pub const ENTRY_SYMBOLS: [&str; 4] = ["header_handler", "payload_handler", "completion_handler", "task_handler"];

impl Image {
    /// Reads an image and checks everything that does not depend on the card.
    ///
    /// # Errors
    /// The file is no image that a card can run, or has several handler sets.
    pub fn parse(file: &[u8]) -> Result<Image, ImageError> {
        Image::parse_handlers(file, None)
    }

    /// The same with a handler set: of the name of a `connect` of spin_portals.h, or the common start, before an underscore, of functions
    /// whose names end as those of [`ENTRY_SYMBOLS`]. Without a name the functions that are called `header_handler` and so on, or else
    /// the only set.
    ///
    /// # Errors
    /// As of [`Image::parse`]; there is no set of that name.
    pub fn parse_handlers(file: &[u8], set: Option<&str>) -> Result<Image, ImageError> {
        let damaged = |error: object::Error| ImageError::Damaged(error.to_string());
        let (header, endian) = executable(file)?;
        let mut code = Vec::new();
        let mut state = Vec::new();
        for segment in header.program_headers(endian, file).map_err(damaged)? {
            let (address, in_file, in_memory) =
                (segment.p_vaddr(endian), segment.p_filesz(endian), segment.p_memsz(endian));
            if segment.p_type(endian) != PT_LOAD || in_memory == 0 {
                continue;
            }
            let writable = segment.p_flags(endian) & PF_W != 0 && segment.p_flags(endian) & PF_X == 0;
            let (target, region, name) =
                if writable { (&mut state, map::CONTEXT, "context") } else { (&mut code, map::CODE, "code") };
            let outside = || ImageError::Outside { what: "a segment".into(), address, region: name };
            let offset = address.checked_sub(base(region)).ok_or_else(outside)? as usize;
            let end = offset
                .checked_add(in_memory as usize)
                .filter(|end| *end <= 1 << map::REGION_SHIFT)
                .ok_or_else(outside)?;
            let limit = largest(region);
            if end > limit {
                return Err(ImageError::TooLarge { what: if writable { "state" } else { "code" }, bytes: end, limit });
            }
            let data = segment
                .data(endian, file)
                .map_err(|()| ImageError::Damaged("a segment lies after the end of the file".into()))?;
            if in_file > in_memory {
                return Err(ImageError::Damaged("a segment is larger in the file than in memory".into()));
            }
            target.resize(target.len().max(end), 0);
            target[offset..offset + data.len()].copy_from_slice(data);
        }
        let (sets, symbols) = sets_and_symbols(header, endian, file)?;
        let entries = chosen(&sets, set)?;
        let user_header = user_header(header, endian, file)?;
        let tailroom = tailroom(header, endian, file)?;
        for (entry, name) in entries.iter().zip(ENTRY_SYMBOLS) {
            if let Some(address) = *entry {
                let offset = address.wrapping_sub(base(map::CODE)) as usize;
                if address % 4 != 0 || offset >= code.len() {
                    return Err(ImageError::Outside {
                        what: format!("the entry point {name}"),
                        address,
                        region: "code",
                    });
                }
            }
        }
        Ok(Image { code, state, entries, symbols, user_header, tailroom })
    }

    /// Handler sets of an image by name: header, payload, completion and task handler of each. The name of the functions that are called
    /// `header_handler` and so on is empty.
    ///
    /// # Errors
    /// The file is no ELF image, or has undefined symbols.
    pub fn handler_sets(file: &[u8]) -> Result<BTreeMap<String, Entries>, ImageError> {
        let (header, endian) = executable(file)?;
        Ok(sets_and_symbols(header, endian, file)?.0)
    }

    /// The function that holds this address, with the offset in it.
    pub fn symbol(&self, address: u32) -> Option<(&str, u32)> {
        let after = self.symbols.partition_point(|(start, _)| *start <= address);
        let (start, name) = self.symbols.get(after.checked_sub(1)?)?;
        ((address.wrapping_sub(base(map::CODE)) as usize) < self.code.len()).then(|| (name.as_str(), address - start))
    }
}

/// The largest memory that any configuration has for a region: a first bound, so that no absurd size is ever allocated.
fn largest(region: u32) -> usize {
    let bytes = |c: &Config| if region == map::CODE { c.imem_bytes } else { c.l2_bytes };
    Config::ALL.iter().map(bytes).max().unwrap_or(0)
}

/// A program for an HPU that is linked to its addresses.
fn executable(file: &[u8]) -> Result<(&FileHeader32<Endianness>, Endianness), ImageError> {
    check_identification(file)?;
    let damaged = |error: object::Error| ImageError::Damaged(error.to_string());
    let header = FileHeader32::<Endianness>::parse(file).map_err(damaged)?;
    let endian = header.endian().map_err(damaged)?;
    if header.e_machine(endian) != EM_RISCV {
        return Err(ImageError::WrongMachine { found: format!("for ELF machine {}", header.e_machine(endian)) });
    }
    if header.e_type(endian) != ET_EXEC {
        return Err(ImageError::WrongMachine { found: "not linked to fixed addresses".into() });
    }
    Ok((header, endian))
}

/// Class and byte order stand in the first bytes and decide how the rest is read.
fn check_identification(file: &[u8]) -> Result<(), ImageError> {
    if file.len() < 6 || file[..4] != *b"\x7fELF" {
        return Err(ImageError::NotElf);
    }
    match (file[4], file[5]) {
        (1, 1) => Ok(()),
        (2, _) => Err(ImageError::WrongMachine { found: "64-bit".into() }),
        (_, 2) => Err(ImageError::WrongMachine { found: "big-endian".into() }),
        _ => Err(ImageError::Damaged("its class or byte order is unknown".into())),
    }
}

/// The bytes of a section; none if the image does not have it.
fn section<'a>(
    header: &FileHeader32<Endianness>,
    endian: Endianness,
    file: &'a [u8],
    name: &[u8],
) -> Result<&'a [u8], ImageError> {
    let damaged = |error: object::Error| ImageError::Damaged(error.to_string());
    let sections = header.sections(endian, file).map_err(damaged)?;
    let Some((_, section)) = sections.section_by_name(endian, name) else { return Ok(&[]) };
    section.data(endian, file).map_err(damaged)
}

/// The tailroom that the image declares.
fn tailroom(header: &FileHeader32<Endianness>, endian: Endianness, file: &[u8]) -> Result<u16, ImageError> {
    let data = section(header, endian, file, TAILROOM_SECTION)?;
    if data.is_empty() {
        return Ok(0);
    }
    let (bytes, rest) = data
        .split_first_chunk::<4>()
        .ok_or_else(|| ImageError::Damaged("the declaration of its tailroom is cut".into()))?;
    if !rest.is_empty() {
        return Err(ImageError::Tailroom("declares more than one tailroom".into()));
    }
    match u32::from_le_bytes(*bytes) {
        bytes if (1..=MAX_TAILROOM as u32).contains(&bytes) => Ok(bytes as u16),
        bytes => Err(ImageError::Tailroom(format!("declares a tailroom of {bytes} bytes"))),
    }
}

/// The user header that the image declares.
fn user_header(
    header: &FileHeader32<Endianness>,
    endian: Endianness,
    file: &[u8],
) -> Result<Option<UserHeader>, ImageError> {
    let data = section(header, endian, file, USER_HEADER_SECTION)?;
    if data.is_empty() {
        return Ok(None);
    }
    let cut = || ImageError::Damaged("the declaration of its user header is cut".into());
    let (size, name) = data.split_first_chunk::<4>().ok_or_else(cut)?;
    let length = name.iter().position(|byte| *byte == 0).ok_or_else(cut)?;
    let size = u32::from_le_bytes(*size);
    // A second record begins at the next word.
    if (size_of_val(&size) + length + 1).next_multiple_of(4) < data.len() {
        return Err(ImageError::UserHeader("declares more than one user header".into()));
    }
    let name = String::from_utf8_lossy(&name[..length]).into_owned();
    match u8::try_from(size) {
        Ok(bytes @ 1..=LONGEST_USER_HEADER) => Ok(Some(UserHeader { name, bytes })),
        _ => Err(ImageError::UserHeader(format!("declares the user header `{name}` of {size} bytes"))),
    }
}

/// Entry points of a handler set, in the order of [`ENTRY_SYMBOLS`].
pub type Entries = [Option<u32>; ENTRY_SYMBOLS.len()];

/// The handler sets that the image declares by `connect`.
fn declared_sets(
    header: &FileHeader32<Endianness>,
    endian: Endianness,
    file: &[u8],
) -> Result<Vec<(String, Entries)>, ImageError> {
    const WORDS: usize = 3;
    let data = section(header, endian, file, HANDLERS_SECTION)?;
    if data.len() % (SET_NAME + 4 * WORDS) != 0 {
        return Err(ImageError::Damaged("the declaration of its handler sets is cut".into()));
    }
    let set = |record: &[u8]| {
        let (name, words) = record.split_at(SET_NAME);
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let mut entries = Entries::default();
        for (entry, word) in entries.iter_mut().zip(words.chunks_exact(4)) {
            *entry = word.try_into().ok().map(u32::from_le_bytes).filter(|address| *address != 0);
        }
        (String::from_utf8_lossy(name).into_owned(), entries)
    };
    Ok(data.chunks_exact(SET_NAME + 4 * WORDS).map(set).collect())
}

/// The entry points of the set that was asked for.
fn chosen(sets: &BTreeMap<String, Entries>, set: Option<&str>) -> Result<Entries, ImageError> {
    let names = || sets.keys().filter(|name| !name.is_empty()).cloned().collect::<Vec<_>>();
    if let Some(name) = set {
        let entries = sets.get(name).filter(|_| !name.is_empty());
        return entries.copied().ok_or_else(|| ImageError::NoSet { name: name.into(), there: names() });
    }
    match (sets.get(""), sets.values().next()) {
        (Some(entries), _) => Ok(*entries),
        (None, Some(entries)) if sets.len() == 1 => Ok(*entries),
        (None, Some(_)) => Err(ImageError::Several(names())),
        (None, None) => Err(ImageError::NoEntry),
    }
}

/// Handler sets by name, "" of the functions that have no more name than their kind, and functions.
type Symbols = (BTreeMap<String, Entries>, Vec<(u32, String)>);

/// Handler sets by name, those of `connect` before those by the names of functions, and functions.
fn sets_and_symbols(header: &FileHeader32<Endianness>, endian: Endianness, file: &[u8]) -> Result<Symbols, ImageError> {
    let (mut sets, symbols) = symbols(header, endian, file)?;
    sets.extend(declared_sets(header, endian, file)?);
    Ok((sets, symbols))
}

/// Handler sets by the names of functions, and functions; undefined symbols are refused.
fn symbols(header: &FileHeader32<Endianness>, endian: Endianness, file: &[u8]) -> Result<Symbols, ImageError> {
    let damaged = |error: object::Error| ImageError::Damaged(error.to_string());
    let sections = header.sections(endian, file).map_err(damaged)?;
    let table = sections.symbols(endian, file, object::elf::SHT_SYMTAB).map_err(damaged)?;
    let mut sets: BTreeMap<String, Entries> = BTreeMap::new();
    let mut functions = Vec::new();
    let mut undefined = Vec::new();
    for index in 1..table.len() {
        let symbol = table.symbol(SymbolIndex(index)).map_err(damaged)?;
        let name = String::from_utf8_lossy(table.symbol_name(endian, symbol).map_err(damaged)?).into_owned();
        if name.is_empty() {
            continue;
        }
        if symbol.is_undefined(endian) {
            undefined.push(name);
            continue;
        }
        let address = symbol.st_value(endian);
        if let (Some((set, kind)), false) = (set_of(&name), symbol.is_local()) {
            sets.entry(set.into()).or_default()[kind] = Some(address);
        }
        let in_code =
            address >> map::REGION_SHIFT == map::CODE && !symbol.is_absolute(endian) && !name.starts_with(['$', '.']);
        if symbol.st_type() == STT_FUNC || (symbol.st_type() == STT_NOTYPE && in_code) {
            functions.push((address, name));
        }
    }
    if !undefined.is_empty() {
        return Err(ImageError::Undefined(undefined));
    }
    functions.sort();
    Ok((sets, functions))
}

/// Handler set and kind of a function of this name.
fn set_of(name: &str) -> Option<(&str, usize)> {
    ENTRY_SYMBOLS.iter().enumerate().find_map(|(kind, entry)| {
        let set = name.strip_suffix(entry)?;
        let prefix = set.strip_suffix('_').filter(|prefix| !prefix.is_empty());
        if set.is_empty() {
            Some(("", kind))
        } else {
            prefix.map(|prefix| (prefix, kind))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::elf::ProgramHeader32;
    use spindle_fuzz::Program;

    /// A program of so many bytes of code and variables, and one entry point.
    fn program(code: usize, state: usize, kind: usize, entry: u32) -> Vec<u8> {
        let program = Program {
            code: (base(map::CODE), vec![0x13; code]),
            data: (base(map::CONTEXT), vec![1; state]),
            globals: vec![(entry, ENTRY_SYMBOLS[kind].into())],
            ..Program::default()
        };
        program.file()
    }

    /// Places of words in a program header.
    const ADDRESS: usize = 8;
    const SIZE_IN_MEMORY: usize = 20;

    /// The program with another word in its second program header, which is that of the state.
    fn with_segment(mut file: Vec<u8>, place: usize, value: u32) -> Vec<u8> {
        let at = size_of::<FileHeader32<Endianness>>() + size_of::<ProgramHeader32<Endianness>>() + place;
        file[at..at + 4].copy_from_slice(&value.to_le_bytes());
        file
    }

    #[test]
    fn functions_with_a_common_start_are_a_set() {
        let start = base(map::CODE);
        let file = |names: &[&str]| {
            let globals = names.iter().zip(0..).map(|(name, at)| (start + 4 * at, (*name).to_string())).collect();
            let program = Program { code: (start, vec![0x13; 64]), globals, ..Program::default() };
            program.file()
        };
        let two = file(&["a_header_handler", "b_c_payload_handler", "a_task_handler", "a_handler", "_header_handler"]);
        let names: Vec<String> = Image::handler_sets(&two).expect("an image").into_keys().collect();
        assert_eq!(names, ["a", "b_c"]);
        assert_eq!(Image::parse(&two), Err(ImageError::Several(names.clone())));
        let entries = |set| Image::parse_handlers(&two, set).map(|image| image.entries);
        assert_eq!(entries(Some("a")), Ok([Some(start), None, None, Some(start + 8)]));
        assert_eq!(entries(Some("b_c")), Ok([None, Some(start + 4), None, None]));
        for absent in ["", "c"] {
            assert_eq!(entries(Some(absent)), Err(ImageError::NoSet { name: absent.into(), there: names.clone() }));
        }
        // A set alone needs no name, and gives way to functions without one.
        assert_eq!(Image::parse(&file(&["a_header_handler"])).map(|image| image.entries[0]), Ok(Some(start)));
        let both = file(&["a_header_handler", "header_handler"]);
        assert_eq!(Image::parse(&both).map(|image| image.entries[0]), Ok(Some(start + 4)));
        assert_eq!(Image::parse_handlers(&both, Some("a")).map(|image| image.entries[0]), Ok(Some(start)));
    }

    /// The most that a configuration has of a memory.
    fn most(bytes: fn(&Config) -> usize) -> usize {
        Config::ALL.iter().fold(0, |most, config| most.max(bytes(config)))
    }

    #[test]
    fn an_entry_point_lies_in_the_code() {
        for (code, kind) in [4, 8, 64, 4096, most(|config| config.imem_bytes)].into_iter().zip([0, 1, 2, 3, 1]) {
            let read = |address: u32| Image::parse(&program(code, 4, kind, address));
            let end = base(map::CODE) + code as u32;
            for inside in [base(map::CODE), end - 4] {
                assert_eq!(read(inside).map(|image| image.entries[kind]), Ok(Some(inside)), "{code} bytes of code");
            }
            for outside in [end, end + 4, end - 1, end - 2, end - 3, base(map::CODE) - 4, base(map::CONTEXT), 0] {
                let what = format!("the entry point {}", ENTRY_SYMBOLS[kind]);
                let refused = ImageError::Outside { what, address: outside, region: "code" };
                assert_eq!(read(outside), Err(refused), "{code} bytes of code");
            }
        }
    }

    #[test]
    fn an_image_fills_the_largest_memory_and_no_more() {
        let (code, state) = (most(|config| config.imem_bytes), most(|config| config.l2_bytes));
        let read = |code: usize, state: usize| {
            let image = Image::parse(&program(code, state, 0, base(map::CODE)))?;
            Ok((image.code.len(), image.state.len()))
        };
        for (bytes, other) in [(code - 1, state - 1), (code, state)] {
            assert_eq!(read(bytes, 4), Ok((bytes, 4)));
            assert_eq!(read(4, other), Ok((4, other)));
        }
        let refused = |what, bytes, limit| Err(ImageError::TooLarge { what, bytes, limit });
        assert_eq!(read(code + 1, 4), refused("code", code + 1, code));
        assert_eq!(read(4, state + 1), refused("state", state + 1, state));
        assert_eq!(read(code + 1, state), refused("code", code + 1, code));
        // A segment that begins later also ends there.
        let from = |offset: usize, state: usize| {
            let file = with_segment(program(4, state, 0, base(map::CODE)), ADDRESS, base(map::CONTEXT) + offset as u32);
            Image::parse(&file).map(|image| image.state)
        };
        assert!(from(12, state - 12) == Ok([vec![0; 12], vec![1; state - 12]].concat()));
        for (offset, bytes) in [(1, state), (12, state - 11), (state, 1)] {
            let refused = ImageError::TooLarge { what: "state", bytes: state + 1, limit: state };
            assert_eq!(from(offset, bytes).map(|state| state.len()), Err(refused));
        }
    }

    /// Zeroed variables lie in memory and not in the file.
    #[test]
    fn zeroed_variables_count() {
        let state = most(|config| config.l2_bytes);
        let read = |in_file: usize, bytes: usize| {
            let file = with_segment(program(4, 8, 0, base(map::CODE)), SIZE_IN_FILE, in_file as u32);
            Image::parse(&with_segment(file, SIZE_IN_MEMORY, bytes as u32)).map(|image| image.state)
        };
        let filled = |in_file: usize, bytes: usize| [vec![1; in_file], vec![0; bytes - in_file]].concat();
        for (in_file, bytes) in [(8, 8), (8, 9), (8, state), (0, 1), (0, 8), (0, state)] {
            assert!(
                read(in_file, bytes) == Ok(filled(in_file, bytes)),
                "{bytes} bytes of variables, {in_file} of the file"
            );
        }
        for in_file in [0, 8] {
            let refused = ImageError::TooLarge { what: "state", bytes: state + 1, limit: state };
            assert_eq!(read(in_file, state + 1).map(|state| state.len()), Err(refused));
        }
    }

    /// Places of words in the header of a file, and of the rights of a segment.
    const CLASS: usize = 4;
    const ORDER: usize = 5;
    const TYPE: usize = 16;
    const MACHINE: usize = 18;
    const SIZE_IN_FILE: usize = 16;
    const RIGHTS: usize = 24;
    const KIND: usize = 0;

    fn changed(mut file: Vec<u8>, place: usize, bytes: &[u8]) -> Vec<u8> {
        file[place..place + bytes.len()].copy_from_slice(bytes);
        file
    }

    fn refused(file: &[u8]) -> ImageError {
        Image::parse(file).map(|image| image.code.len()).expect_err("it is refused")
    }

    #[test]
    fn files_for_other_machines_are_refused() {
        let file = program(8, 4, 0, base(map::CODE));
        assert!(Image::parse(&file).is_ok());
        for short in [0, 4, 5] {
            assert_eq!(refused(&file[..short]), ImageError::NotElf);
        }
        assert!(matches!(refused(&file[..6]), ImageError::Damaged(_)));
        assert_eq!(refused(&changed(file.clone(), 0, b"\x7fELG")), ImageError::NotElf);
        let wrong = |found: &str| ImageError::WrongMachine { found: found.into() };
        let unknown = || ImageError::Damaged("its class or byte order is unknown".into());
        for (place, value, error) in [
            (CLASS, 2, wrong("64-bit")),
            (ORDER, 2, wrong("big-endian")),
            (CLASS, 3, unknown()),
            (ORDER, 0, unknown()),
            (ORDER, 3, unknown()),
            (MACHINE, 62, wrong("for ELF machine 62")),
            (TYPE, 1, wrong("not linked to fixed addresses")),
            (TYPE, 3, wrong("not linked to fixed addresses")),
        ] {
            assert_eq!(refused(&changed(file.clone(), place, &[value])), error, "{value} at {place}");
        }
        let both = changed(changed(file, CLASS, &[2]), ORDER, &[2]);
        assert_eq!(refused(&both), wrong("64-bit"));
    }

    #[test]
    fn segments_lie_in_the_region_of_their_kind() {
        let file = || program(8, 4, 0, base(map::CODE));
        let outside = |address: u32, region| ImageError::Outside { what: "a segment".into(), address, region };
        for address in [0, base(map::CONTEXT) - 4, base(map::CODE)] {
            assert_eq!(refused(&with_segment(file(), ADDRESS, address)), outside(address, "context"));
        }
        // An end beyond the region, and one beyond all addresses.
        let last = base(map::CONTEXT + 1) - 4;
        assert!(matches!(refused(&with_segment(file(), ADDRESS, last)), ImageError::TooLarge { what: "state", .. }));
        let after = base(map::CONTEXT + 1) - 3;
        assert_eq!(refused(&with_segment(file(), ADDRESS, after)), outside(after, "context"));
        // What is executable is code, whether it can be written or not; what can be neither is code too.
        for rights in [7, 5, 4, 1] {
            let address = base(map::CONTEXT);
            assert_eq!(refused(&with_segment(file(), RIGHTS, rights)), outside(address, "code"), "{rights}");
        }
        for rights in [6, 2] {
            assert!(Image::parse(&with_segment(file(), RIGHTS, rights)).is_ok(), "{rights}");
        }
        // Segments that are not loaded, or have no bytes, may lie anywhere.
        let elsewhere = with_segment(file(), ADDRESS, 0x1234);
        for (place, value) in [(KIND, 4), (SIZE_IN_MEMORY, 0)] {
            let image = Image::parse(&with_segment(elsewhere.clone(), place, value)).expect("it is passed over");
            assert!(image.state.is_empty());
        }
        let damaged = |error: &str| ImageError::Damaged(error.into());
        assert_eq!(
            refused(&with_segment(file(), SIZE_IN_FILE, 5)),
            damaged("a segment is larger in the file than in memory")
        );
        assert_eq!(
            refused(&with_segment(with_segment(file(), SIZE_IN_FILE, 1 << 20), SIZE_IN_MEMORY, 1 << 10)),
            damaged("a segment lies after the end of the file")
        );
    }

    #[test]
    fn an_image_has_an_entry_point_that_others_see() {
        let entry = |name: &str| Program {
            code: (base(map::CODE), vec![0x13; 8]),
            data: (base(map::CONTEXT), vec![1; 4]),
            globals: vec![(base(map::CODE) + 4, name.into())],
            ..Program::default()
        };
        for (kind, name) in ENTRY_SYMBOLS.iter().enumerate() {
            let image = Image::parse(&entry(name).file()).expect("an image");
            let mut entries = [None; ENTRY_SYMBOLS.len()];
            entries[kind] = Some(base(map::CODE) + 4);
            assert_eq!(image.entries, entries);
        }
        assert_eq!(refused(&entry("header_handlers").file()), ImageError::NoEntry);
        // A function of one file alone is no entry point.
        let local =
            Program { functions: vec![(base(map::CODE), 8, "header_handler".into())], globals: vec![], ..entry("x") };
        assert_eq!(refused(&local.file()), ImageError::NoEntry);
    }

    #[test]
    fn an_address_in_the_code_has_its_function() {
        let program = Program {
            code: (base(map::CODE), vec![0x13; 64]),
            data: (base(map::CONTEXT), vec![1; 4]),
            functions: vec![(base(map::CODE) + 32, 8, "second".into()), (base(map::CODE) + 8, 8, "first".into())],
            variables: vec![(base(map::CONTEXT), 4, "counter".into())],
            globals: vec![(base(map::CODE) + 8, "payload_handler".into())],
            ..Program::default()
        };
        let image = Image::parse(&program.file()).expect("an image");
        let names: Vec<(u32, &str)> =
            image.symbols.iter().map(|(address, name)| (address - base(map::CODE), name.as_str())).collect();
        assert_eq!(names, [(8, "first"), (32, "second")]);
        for (offset, expected) in [
            (0, None),
            (7, None),
            (8, Some(("first", 0))),
            (31, Some(("first", 23))),
            (32, Some(("second", 0))),
            (63, Some(("second", 31))),
            (64, None),
        ] {
            assert_eq!(image.symbol(base(map::CODE) + offset), expected, "{offset}");
        }
        assert_eq!((image.symbol(0), image.symbol(base(map::CONTEXT))), (None, None));
    }

    #[test]
    fn a_user_header_is_declared_once_with_a_size_that_a_context_can_wait_for() {
        let read = |data: &[u8]| {
            let program = Program {
                code: (base(map::CODE), vec![0x13; 8]),
                data: (base(map::CONTEXT), vec![1; 4]),
                globals: vec![(base(map::CODE), ENTRY_SYMBOLS[0].into())],
                sections: vec![(".spin_user_header", data.to_vec())],
                ..Program::default()
            };
            Image::parse(&program.file()).map(|image| image.user_header)
        };
        let record = |size: u32, name: &str| [&size.to_le_bytes()[..], name.as_bytes(), &[0]].concat();
        for size in [1, 12, 127] {
            let header = UserHeader { name: "struct request".into(), bytes: size as u8 };
            assert_eq!(read(&record(size, "struct request")), Ok(Some(header)));
        }
        assert_eq!(read(&[]), Ok(None), "the linker keeps an empty section");
        for size in [0, 128, 256, 257, u32::MAX] {
            let error = ImageError::UserHeader(format!("declares the user header `x` of {size} bytes"));
            assert_eq!(read(&record(size, "x")), Err(error));
        }
        let cut = || Err(ImageError::Damaged("the declaration of its user header is cut".into()));
        assert_eq!(read(&[1, 0, 0]), cut());
        assert_eq!(read(&[1, 0, 0, 0]), cut());
        assert_eq!(read(b"\x01\0\0\0name"), cut());
        // Filled up to a word, and a second record.
        let one = record(3, "ab");
        assert_eq!(one.len(), 7);
        assert!(read(&[&one[..], &[0]].concat()).is_ok());
        let twice = ImageError::UserHeader("declares more than one user header".into());
        assert_eq!(read(&[&one[..], &[0, 0]].concat()), Err(twice));
    }

    #[test]
    fn a_tailroom_is_declared_once_with_a_size_that_a_slot_has() {
        let read = |data: &[u8]| {
            let program = Program {
                code: (base(map::CODE), vec![0x13; 8]),
                globals: vec![(base(map::CODE), ENTRY_SYMBOLS[0].into())],
                sections: vec![(".spin_tailroom", data.to_vec())],
                ..Program::default()
            };
            Image::parse(&program.file()).map(|image| image.tailroom)
        };
        assert_eq!(read(&[]), Ok(0), "the linker keeps an empty section");
        for bytes in [1u32, 64, 100, 1984] {
            assert_eq!(read(&bytes.to_le_bytes()), Ok(bytes as u16));
        }
        for bytes in [0, 1985, 0x1_0040, u32::MAX] {
            let error = ImageError::Tailroom(format!("declares a tailroom of {bytes} bytes"));
            assert_eq!(read(&bytes.to_le_bytes()), Err(error));
        }
        let error = ImageError::Damaged("the declaration of its tailroom is cut".into());
        assert_eq!(read(&[64, 0]), Err(error));
        let twice = ImageError::Tailroom("declares more than one tailroom".into());
        assert_eq!(read(&[64, 0, 0, 0, 64, 0, 0, 0]), Err(twice));
    }

    /// The file with another kind and section of the function at this address.
    fn with_symbol(mut file: Vec<u8>, address: u32, kind: u8, section: Option<u16>) -> Vec<u8> {
        let entry = [&address.to_le_bytes()[..], &8u32.to_le_bytes(), &[STT_FUNC, 0]].concat();
        let at = file.windows(entry.len()).position(|bytes| bytes == entry).expect("the function has a symbol") + 8;
        file[at] = kind;
        if let Some(section) = section {
            file[at + 2..at + 4].copy_from_slice(&section.to_le_bytes());
        }
        file
    }

    #[test]
    fn labels_of_assembly_are_functions_and_others_are_none() {
        const ABSOLUTE: u16 = 0xFFF1;
        let code = base(map::CODE);
        let functions = [
            (code, "function"),
            (code + 4, "label"),
            (code + 8, "$x"),
            (code + 12, ".L1"),
            (base(map::CONTEXT), "variable"),
            (code + 16, "absolute"),
            (code + 20, "object"),
            (base(map::CONTEXT) + 4, "function elsewhere"),
            (code + 24, "$function"),
        ];
        let program = Program {
            code: (code, vec![0x13; 64]),
            data: (base(map::CONTEXT), vec![1; 16]),
            functions: functions.iter().map(|(address, name)| (*address, 8, (*name).into())).collect(),
            globals: vec![(code, ENTRY_SYMBOLS[0].into())],
            ..Program::default()
        };
        let mut file = program.file();
        for address in [code + 4, code + 8, code + 12, base(map::CONTEXT)] {
            file = with_symbol(file, address, STT_NOTYPE, None);
        }
        file = with_symbol(file, code + 16, STT_NOTYPE, Some(ABSOLUTE));
        file = with_symbol(file, code + 20, 1, None);
        let names: Vec<String> =
            Image::parse(&file).expect("an image").symbols.into_iter().map(|symbol| symbol.1).collect();
        assert_eq!(names, ["function", "label", "$function", "function elsewhere"]);
        // What no section has is undefined.
        file = with_symbol(file, code, STT_NOTYPE, Some(0));
        file = with_symbol(file, code + 24, STT_FUNC, Some(0));
        assert_eq!(refused(&file), ImageError::Undefined(vec!["function".into(), "$function".into()]));
    }
}
