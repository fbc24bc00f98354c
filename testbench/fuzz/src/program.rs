//! Writes a linked program for RISC-V, as an example for readers of such files.

const HEADER: usize = 52;
const SEGMENT: usize = 32;
const SECTION: usize = 40;
const SYMBOL: usize = 16;
/// `PT_LOAD`, and rights of segments: executable or writable, and readable.
const LOAD: u32 = 1;
const CODE_RIGHTS: u32 = 5;
const STATE_RIGHTS: u32 = 6;
/// Kinds of symbols.
const OBJECT: u8 = 1;
const FUNCTION: u8 = 2;
const GLOBAL: u8 = 1 << 4;
/// The section of absolute symbols.
const ABSOLUTE: u16 = 0xFFF1;

/// A linked program of 32 bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Address and bytes of its code, the section `.text`.
    pub code: (u32, Vec<u8>),
    /// Address and bytes of its variables, the section `.data`.
    pub data: (u32, Vec<u8>),
    /// Functions: address, bytes, name.
    pub functions: Vec<(u32, u32, String)>,
    /// Variables: address, bytes, name.
    pub variables: Vec<(u32, u32, String)>,
    /// Absolute symbols that other files see: address and name.
    pub globals: Vec<(u32, String)>,
    /// Further sections without an address: name and bytes.
    pub sections: Vec<(&'static str, Vec<u8>)>,
}

/// Names, each with a zero, the empty one first.
struct Names(Vec<u8>);

impl Names {
    fn add(&mut self, name: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend(name.bytes());
        self.0.push(0);
        at
    }
}

fn words(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

impl Program {
    /// The ELF file.
    pub fn file(&self) -> Vec<u8> {
        let mut names = Names(vec![0]);
        let (symbols, locals) = self.symbols(&mut names);
        let mut file = vec![0; HEADER + 2 * SEGMENT];
        let mut sections = vec![0; SECTION];
        let mut section_names = Names(vec![0]);
        let loaded = [(".text", &self.code, CODE_RIGHTS, 6), (".data", &self.data, STATE_RIGHTS, 3)];
        for (at, (name, (address, bytes), rights, flags)) in loaded.into_iter().enumerate() {
            let (offset, size) = (file.len() as u32, bytes.len() as u32);
            let head = words([LOAD, offset, *address, *address, size, size, rights, 4]);
            file[HEADER + SEGMENT * at..][..SEGMENT].copy_from_slice(&head);
            // Name, type, flags, address, offset, size, link, info, alignment, entry size.
            sections.extend(words([section_names.add(name), 1, flags, *address, offset, size, 0, 0, 4, 0]));
            file.extend(bytes);
        }
        let mut add = |file: &mut Vec<u8>, name: u32, kind: u32, data: &[u8], links: [u32; 3]| {
            file.resize(file.len().next_multiple_of(4), 0);
            let [link, info, entry] = links;
            sections.extend(words([name, kind, 0, 0, file.len() as u32, data.len() as u32, link, info, 4, entry]));
            file.extend(data);
        };
        add(&mut file, section_names.add(".symtab"), 2, &symbols, [4, locals, SYMBOL as u32]);
        add(&mut file, section_names.add(".strtab"), 3, &names.0, [0; 3]);
        for (name, data) in &self.sections {
            add(&mut file, section_names.add(name), 1, data, [0; 3]);
        }
        let last = section_names.add(".shstrtab");
        add(&mut file, last, 3, &section_names.0, [0; 3]);
        file.resize(file.len().next_multiple_of(4), 0);
        let (offset, count) = (file.len() as u32, (sections.len() / SECTION) as u16);
        file.extend(sections);
        file[..HEADER].copy_from_slice(&self.header(offset, count));
        file
    }

    fn header(&self, sections: u32, count: u16) -> Vec<u8> {
        let half = |value: u16| value.to_le_bytes().to_vec();
        [
            // 32 bits, little-endian, version 1.
            vec![0x7F, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            // An executable for RISC-V.
            half(2),
            half(243),
            words([1, self.code.0, HEADER as u32, sections, 0]),
            half(HEADER as u16),
            half(SEGMENT as u16),
            half(2),
            half(SECTION as u16),
            half(count),
            half(count - 1),
        ]
        .concat()
    }

    /// The symbol table, and how many of its symbols are local.
    fn symbols(&self, names: &mut Names) -> (Vec<u8>, u32) {
        let mut symbols = vec![0; SYMBOL];
        let mut add = |name: &str, value: u32, size: u32, info: u8, section: u16| {
            symbols.extend(words([names.add(name), value, size]));
            symbols.extend([info, 0]);
            symbols.extend(section.to_le_bytes());
        };
        for (address, size, name) in &self.functions {
            add(name, *address, *size, FUNCTION, 1);
        }
        for (address, size, name) in &self.variables {
            add(name, *address, *size, OBJECT, 2);
        }
        for (address, name) in &self.globals {
            add(name, *address, 0, GLOBAL, ABSOLUTE);
        }
        (symbols, 1 + (self.functions.len() + self.variables.len()) as u32)
    }
}
