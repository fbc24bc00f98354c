//! What a query over a table must give. The rows of a result have no order, as in a database.

/// Words of a row's head: number, measure (0 to 99), value, group; 48 bytes of text follow.
pub const TEXT: usize = 16;
/// Bytes of a head.
pub const HEAD: usize = 64;
/// Bytes of a row that a projection gives.
pub const PART: usize = 16;
/// Groups.
pub const GROUPS: usize = 8;
/// Bytes of an answer: eight words, and two for each group.
pub const ANSWER: usize = 4 * (8 + 2 * GROUPS);

/// What a query does with the rows that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Gives them.
    Select,
    /// Gives their first bytes.
    Project,
    /// Gives their number, and sum, least and greatest value.
    Sum,
    /// Gives number and sum of each group.
    Group,
    /// Gives those whose text has a pattern.
    Match,
}

/// A query.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// What is done.
    pub operation: Operation,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Rows of the table.
    pub rows: usize,
    /// Least measure of a row that is wanted.
    pub least: u32,
}

/// The pattern: four bytes of which the third may be any.
pub const PATTERN: u32 = u32::from_le_bytes(*b"fo\0d");
/// Ones in the bytes that count.
pub const MASK: u32 = 0xFF00_FFFF;

/// Word `i` of bytes.
pub fn word(bytes: &[u8], i: usize) -> u32 {
    u32::from_le_bytes([bytes[4 * i], bytes[4 * i + 1], bytes[4 * i + 2], bytes[4 * i + 3]])
}

/// A table. A row has the pattern if its measure is not less than `least`, at a place that differs from row to row.
pub fn table(row_bytes: usize, rows: usize, least: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rows * row_bytes);
    for i in 0..rows {
        let mixed = (i as u32).wrapping_mul(0x9E37_79B9) ^ (i as u32 >> 3);
        let measure = (mixed >> 7) % 100;
        let words = [i as u32 + 1, measure, mixed.rotate_left(9), mixed >> 21];
        let mut row: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        row.extend((0..row_bytes - TEXT).map(|at| b'a' + (mixed as usize / 7 + at * 5) as u8 % 26));
        let at = TEXT + mixed as usize / 3 % 45;
        row[at..at + 4].copy_from_slice(if measure >= least { b"food" } else { b"foo." });
        bytes.extend(row);
    }
    bytes
}

impl Query {
    /// Whether a row is wanted.
    fn wants(&self, row: &[u8]) -> bool {
        match self.operation {
            Operation::Match => {
                row[TEXT..HEAD].windows(4).any(|four| four[0] == b'f' && four[1] == b'o' && four[3] == b'd')
            }
            _ => word(row, 1) >= self.least,
        }
    }

    /// The rows of the result, or parts of them, in the order of their bytes.
    pub fn rows(&self, table: &[u8]) -> Vec<Vec<u8>> {
        let wanted = table.chunks(self.row_bytes).filter(|row| self.wants(row));
        let mut rows: Vec<Vec<u8>> = match self.operation {
            Operation::Select | Operation::Match => wanted.map(<[u8]>::to_vec).collect(),
            Operation::Project => wanted.map(|row| row[..PART].to_vec()).collect(),
            Operation::Sum | Operation::Group => Vec::new(),
        };
        rows.sort_unstable();
        rows
    }

    /// Number, sum, least and greatest value, and number and sum of each group.
    pub fn answer(&self, table: &[u8]) -> Vec<u8> {
        let (mut words, mut groups) = (vec![0u32; 8], [[0u32; 2]; GROUPS]);
        words[3] = u32::MAX;
        for row in table.chunks(self.row_bytes).filter(|row| self.wants(row)) {
            words[1] += 1;
            let value = word(row, 2);
            match self.operation {
                Operation::Select | Operation::Match => words[0] += self.row_bytes as u32,
                Operation::Project => words[0] += PART as u32,
                Operation::Sum => {
                    words[2] = words[2].wrapping_add(value);
                    words[3] = words[3].min(value);
                    words[4] = words[4].max(value);
                }
                Operation::Group => {
                    let group = &mut groups[word(row, 3) as usize % GROUPS];
                    group[0] += 1;
                    group[1] = group[1].wrapping_add(value);
                }
            }
        }
        words.extend(groups.concat());
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}
