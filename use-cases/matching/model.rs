//! The matching of MPI: two lists, searched from their beginnings.

/// Bytes of a message before its data, or of a request: kind and number, source and tag, length, offset of the data at the sender.
pub const HEADER: usize = 16;
/// Most bytes of an eager message.
pub const EAGER: usize = 4096;
/// Of each receive: source, tag, length; zeros before it is complete.
pub const STATUS: usize = 12;

/// What a receive waits for; `None` is any.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Its place.
    pub slot: usize,
    /// Source.
    pub source: Option<usize>,
    /// Tag.
    pub tag: Option<u16>,
}

impl Wanted {
    fn fits(&self, source: usize, tag: u16) -> bool {
        self.source.is_none_or(|wanted| wanted == source) && self.tag.is_none_or(|wanted| wanted == tag)
    }
}

/// A message that no receive waited for.
type Early = (usize, u16, Vec<u8>);

/// The receiver.
pub struct Mpi {
    capacity: usize,
    /// Receives that wait, in the order in which they were posted.
    pub posted: Vec<Wanted>,
    /// Messages that wait, in the order in which they came.
    pub unexpected: Vec<Early>,
    /// Buffers of all receives, one after another.
    pub buffers: Vec<u8>,
    /// What is known of all receives.
    pub statuses: Vec<u8>,
}

impl Mpi {
    /// So many receives, none posted, with buffers of so many bytes.
    pub fn new(slots: usize, capacity: usize) -> Mpi {
        let (buffers, statuses) = (vec![0; slots * capacity], vec![0; slots * STATUS]);
        Mpi { capacity, posted: Vec::new(), unexpected: Vec::new(), buffers, statuses }
    }

    /// A receive is posted; whether it is complete at once.
    pub fn post(&mut self, wanted: Wanted) -> bool {
        self.statuses[wanted.slot * STATUS..][..STATUS].fill(0);
        let early = self.unexpected.iter().position(|(source, tag, _)| wanted.fits(*source, *tag));
        match early {
            Some(at) => {
                let message = self.unexpected.remove(at);
                self.complete(wanted.slot, message);
            }
            None => self.posted.push(wanted),
        }
        early.is_some()
    }

    /// A message arrives; the receive that it completes.
    pub fn arrive(&mut self, source: usize, tag: u16, data: Vec<u8>) -> Option<usize> {
        match self.posted.iter().position(|wanted| wanted.fits(source, tag)) {
            Some(at) => {
                let slot = self.posted.remove(at).slot;
                self.complete(slot, (source, tag, data));
                Some(slot)
            }
            None => {
                self.unexpected.push((source, tag, data));
                None
            }
        }
    }

    fn complete(&mut self, slot: usize, (source, tag, data): Early) {
        self.buffers[slot * self.capacity..][..data.len()].copy_from_slice(&data);
        let words = [source as u32, tag.into(), data.len() as u32];
        let status: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.statuses[slot * STATUS..][..STATUS].copy_from_slice(&status);
    }
}

/// Data of a message.
pub fn data(serial: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + serial * 41 + 5) as u8).collect()
}

/// The header of a message: eager, or a request for its data.
pub fn header(eager: bool, number: u16, source: usize, tag: u16, bytes: usize, offset: usize) -> Vec<u8> {
    let kind = u32::from(number) << 16 | u32::from(!eager);
    let key = 1 << 31 | (source as u32) << 16 | u32::from(tag);
    [kind, key, bytes as u32, offset as u32].iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Messages of node 1 without effect at a receiver that expects message `number`, and whose buffers have so many bytes. Tag 1 is right.
pub fn malformed(number: u16, capacity: usize) -> Vec<Vec<u8>> {
    let eager = |number: u16, source: usize, said: usize, bytes: usize| {
        [header(true, number, source, 1, said, 0), data(0, bytes)].concat()
    };
    let mut unknown = eager(number, 1, 8, 8);
    unknown[0] = 7;
    vec![
        eager(number, 1, 8, 8)[..HEADER - 8].to_vec(),
        unknown,
        eager(number, 1, 9, 8),
        eager(number, 1, 8, 9),
        eager(number, 2, 8, 8),
        eager(number.wrapping_sub(1), 1, 8, 8),
        eager(number.wrapping_add(1000), 1, 8, 8),
        eager(number, 1, EAGER + 1, EAGER + 1),
        header(false, number, 1, 1, capacity + 1, 0),
        [header(false, number, 1, 1, 8, 0), data(0, 8)].concat(),
        ask(0, 8, 0),
    ]
}

/// The message by which the receiver asks a sender's NIC for bytes.
pub fn ask(slot: u32, bytes: usize, offset: usize) -> Vec<u8> {
    [2, slot, bytes as u32, offset as u32].iter().flat_map(|word| word.to_le_bytes()).collect()
}
