//! Transactions one after another: what each must have read, and what they leave.

/// Records, bytes of a value, and bytes from a record to the next in memory.
pub const RECORDS: usize = 64;
pub const VALUE: usize = 48;
pub const PLACE: usize = 64;

/// The records.
pub struct Store {
    versions: Vec<u32>,
    values: Vec<Vec<u8>>,
}

/// Value of a record at first.
pub fn initial(record: usize) -> Vec<u8> {
    (0..VALUE).map(|i| (record * 11 + i * 3 + 1) as u8).collect()
}

/// What a transaction writes to a record: it depends on all that it has read.
pub fn written(serial: u32, nth: usize, read: &[Vec<u8>]) -> Vec<u8> {
    (0..VALUE)
        .map(|i| {
            let sum = read.iter().fold(0u8, |sum, value| sum.wrapping_mul(5).wrapping_add(value[(i + nth) % VALUE]));
            sum.wrapping_add((serial as usize * 13 + nth) as u8)
        })
        .collect()
}

impl Store {
    /// All records, as they are at first.
    pub fn new() -> Store {
        Store { versions: vec![1; RECORDS], values: (0..RECORDS).map(initial).collect() }
    }

    /// What a transaction that comes now reads: version and value of each record.
    pub fn read(&self, records: &[usize]) -> Vec<u8> {
        let read = |record: &usize| [&self.versions[*record].to_le_bytes()[..], &self.values[*record]].concat();
        records.iter().flat_map(read).collect()
    }

    /// A transaction commits that reads these records and writes the first ones.
    pub fn commit(&mut self, serial: u32, records: &[usize], writes: usize) {
        let read: Vec<Vec<u8>> = records.iter().map(|record| self.values[*record].clone()).collect();
        for (nth, record) in records[..writes].iter().enumerate() {
            self.values[*record] = written(serial, nth, &read);
            self.versions[*record] += 1;
        }
    }

    /// Memory of the node of records of this parity: its own values, then those of the other node's records.
    pub fn memory(&self, parity: usize) -> Vec<u8> {
        let mut bytes = vec![0; 2 * RECORDS * PLACE];
        for (record, value) in self.values.iter().enumerate() {
            let place = if record % 2 == parity { record } else { RECORDS + record };
            bytes[place * PLACE..][..VALUE].copy_from_slice(value);
        }
        bytes
    }

    /// Versions of a node's own records, or of its backups; others are 0.
    pub fn versions(&self, parity: usize, backups: bool) -> Vec<u8> {
        let of = |(record, version): (usize, &u32)| if (record % 2 == parity) != backups { *version } else { 0 };
        self.versions.iter().enumerate().map(of).flat_map(u32::to_le_bytes).collect()
    }
}

/// A request: operation, place of its answer, record, version, number; a value of zeros or none.
pub fn request(kind: u8, slot: u8, record: u16, version: u32, number: u32, value: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, slot];
    bytes.extend(record.to_le_bytes());
    bytes.extend([version, number, 0].iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(value);
    bytes
}

/// Requests without effect at a node of records of parity 0 that have version 1, of which none is locked.
pub fn malformed() -> Vec<Vec<u8>> {
    let value = [0x5A; VALUE];
    vec![
        request(0, 0, 2, 1, 7, &[])[..8].to_vec(),
        request(6, 0, 2, 1, 7, &value),
        // A commit and an unlock without a lock; a version that is not the present one.
        request(5, 0, 2, 1, 7, &value),
        request(3, 0, 2, 1, 7, &[]),
        request(1, 0, 2, 2, 7, &[]),
        request(4, 0, 3, 2, 7, &value),
        // Another node's records, and none.
        request(1, 0, 3, 1, 7, &[]),
        request(4, 0, 2, 1, 7, &value),
        request(1, 0, RECORDS as u16, 0, 7, &[]),
        request(1, 64, 2, 1, 7, &[]),
        request(1, 0, 2, 1 << 31 | 1, 7, &[]),
        // Lengths.
        request(1, 0, 2, 1, 7, &value),
        request(4, 0, 3, 1, 7, &value[1..]),
        request(4, 0, 3, 1, 7, &[0x5A; VALUE + 1]),
    ]
}
