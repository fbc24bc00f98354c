//! Types as MPI describes them, compiled to what the handler interprets.

/// A type, in bytes.
#[derive(Clone, Debug)]
pub enum Type {
    /// So many contiguous bytes.
    Bytes(usize),
    /// Elements one after another.
    Contiguous(usize, Box<Type>),
    /// `count` blocks of `length` elements; blocks begin `stride` elements apart.
    Vector { count: usize, length: usize, stride: usize, of: Box<Type> },
    /// The same, `stride` in bytes.
    Hvector { count: usize, length: usize, stride: usize, of: Box<Type> },
    /// Blocks of so many elements at these displacements, in elements.
    Indexed(Vec<(usize, usize)>, Box<Type>),
    /// Members at displacements in bytes.
    Struct(Vec<(usize, Type)>),
}

/// A block: where it begins in memory, and its bytes.
pub type Block = (usize, usize);

impl Type {
    /// Bytes from the first to the end of the last.
    pub fn extent(&self) -> usize {
        let spread =
            |count: usize, length: usize, stride: usize, of: &Type| (count - 1) * stride + length * of.extent();
        match self {
            Type::Bytes(bytes) => *bytes,
            Type::Contiguous(count, of) => count * of.extent(),
            Type::Vector { count, length, stride, of } => spread(*count, *length, stride * of.extent(), of),
            Type::Hvector { count, length, stride, of } => spread(*count, *length, *stride, of),
            Type::Indexed(blocks, of) => {
                blocks.iter().map(|(length, at)| (at + length) * of.extent()).max().unwrap_or(0)
            }
            Type::Struct(members) => members.iter().map(|(at, of)| at + of.extent()).max().unwrap_or(0),
        }
    }

    /// Its blocks from `base` on, in the order of the message; blocks that touch are one.
    fn flatten(&self, base: usize, blocks: &mut Vec<Block>) {
        let run = |count: usize, base: usize, of: &Type, blocks: &mut Vec<Block>| {
            (0..count).for_each(|i| of.flatten(base + i * of.extent(), blocks));
        };
        match self {
            Type::Bytes(bytes) => match blocks.last_mut() {
                Some((at, length)) if *at + *length == base => *length += bytes,
                _ => blocks.push((base, *bytes)),
            },
            Type::Contiguous(count, of) => run(*count, base, of, blocks),
            Type::Vector { count, length, stride, of } => {
                (0..*count).for_each(|i| run(*length, base + i * stride * of.extent(), of, blocks));
            }
            Type::Hvector { count, length, stride, of } => {
                (0..*count).for_each(|i| run(*length, base + i * stride, of, blocks));
            }
            Type::Indexed(parts, of) => {
                parts.iter().for_each(|(length, at)| run(*length, base + at * of.extent(), of, blocks));
            }
            Type::Struct(members) => members.iter().for_each(|(at, of)| of.flatten(base + at, blocks)),
        }
    }

    /// The program of the handler: an outermost vector of single elements is its loop, the rest a list of blocks.
    pub fn compile(&self) -> Program {
        let (count, extent, of) = match self {
            Type::Hvector { count, length: 1, stride, of } => (*count, *stride, &**of),
            Type::Vector { count, length: 1, stride, of } => (*count, stride * of.extent(), &**of),
            other => (1, other.extent(), other),
        };
        let mut blocks = Vec::new();
        of.flatten(0, &mut blocks);
        Program { count, extent, blocks }
    }
}

/// What the handler interprets.
#[derive(Clone, Debug)]
pub struct Program {
    /// Elements of a message.
    pub count: usize,
    /// Bytes from one to the next in memory.
    pub extent: usize,
    /// Blocks of an element.
    pub blocks: Vec<Block>,
}

impl Program {
    /// Bytes of an element in the message.
    pub fn size(&self) -> usize {
        self.blocks.iter().map(|(_, length)| length).sum()
    }

    /// Where each block begins in the message, and the end of the last.
    pub fn starts(&self) -> Vec<u32> {
        let ends = self.blocks.iter().scan(0, |end, (_, length)| {
            *end += *length as u32;
            Some(*end)
        });
        std::iter::once(0).chain(ends).collect()
    }
}
