//! What invocations must leave: each request with a valid lease in the next buffer of the idle worker with the lowest number, and nothing
//! anywhere else.

/// Bytes of a request before its payload: lease, function, number, and a word that is not used.
pub const HEADER: usize = 16;

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// The lease's time is over.
    Expired,
    /// No client was given a lease of this place.
    Unknown,
    /// Another lease has this place.
    Other,
    /// A word of zeros.
    Zero,
}

/// Faults in the order in which they are tried.
pub const FAULTS: [Fault; 4] = [Fault::Expired, Fault::Unknown, Fault::Other, Fault::Zero];

/// The places of leases in the table.
pub const PLACES: u32 = 64;
/// The leases, and whether the deadline is still ahead. The last one is no lease, however long it would be valid.
pub const LEASES: [(u32, bool); 3] = [(0x7357_C0C5, true), (0x0DDB_A106, false), (0, true)];

/// A request with payload of so many bytes.
pub fn request(fault: Fault, number: usize, payload: usize) -> Vec<u8> {
    let [(good, _), (old, _), (zero, _)] = LEASES;
    let lease = match fault {
        Fault::None => good,
        Fault::Expired => old,
        Fault::Unknown => good ^ 8,
        Fault::Other => good ^ 0x8000_0000,
        Fault::Zero => zero,
    };
    let mut bytes: Vec<u8> = [lease, 0xF00, number as u32, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend((0..payload).map(|i| (i * 5 + i / 199 + number * 37 + 3) as u8));
    bytes
}

/// The workers, their buffers, and who is idle.
pub struct Server {
    idle: Vec<bool>,
    /// Buffers of each worker, and how many are filled.
    buffers: Vec<(Vec<Vec<u8>>, usize)>,
}

impl Server {
    /// So many workers, all idle, with so many buffers of so many bytes each.
    pub fn new(workers: usize, buffers: usize, bytes: usize) -> Server {
        Server { idle: vec![true; workers], buffers: vec![(vec![vec![0; bytes]; buffers], 0); workers] }
    }

    /// A request; the worker and the number of its buffer, unless the request is dropped.
    pub fn invoke(&mut self, fault: Fault, request: &[u8]) -> Option<(usize, usize)> {
        if fault != Fault::None {
            return None;
        }
        let worker = self.idle.iter().position(|idle| *idle)?;
        self.idle[worker] = false;
        let (buffers, filled) = &mut self.buffers[worker];
        buffers[*filled][..request.len()].copy_from_slice(request);
        *filled += 1;
        Some((worker, *filled - 1))
    }

    /// A worker waits again.
    pub fn done(&mut self, worker: usize) {
        self.idle[worker] = true;
    }

    /// All buffers of a worker, one after another.
    pub fn memory(&self, worker: usize) -> Vec<u8> {
        self.buffers[worker].0.concat()
    }
}
