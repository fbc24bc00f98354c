//! What the logs of replicas must hold: each answered request once, in the order of the client, on every node that lives.

/// Bytes of a proposal, and of an entry with its header.
pub const VALUE: usize = 64;
pub const ENTRY: usize = 16 + VALUE;
/// Bytes of the header of a message.
const HEAD: usize = 32;
/// Answers of a client.
pub const ANSWERS: usize = 64;

/// The bytes that a request proposes.
pub fn value(number: u32) -> Vec<u8> {
    (0..VALUE as u32).map(|i| (i * 29 + number * 101 + number / 7 + 5) as u8).collect()
}

/// The message of the client.
pub fn proposal(number: u32) -> Vec<u8> {
    let mut bytes = head([0, 0, 0, 0, 0, number, 0, 0]);
    bytes.extend(value(number));
    bytes
}

fn head(words: [u32; 8]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Messages of the client that change no log: too short, too long, of no kind, those that only replicas send, and the last request again.
pub fn malformed(number: u32) -> Vec<Vec<u8>> {
    let whole = proposal(number);
    let of_kind = |kind: u32, bytes: usize| {
        // A term and a commit that would be believed of a leader.
        let mut message = head([kind, 9, 2, 1, 2, number, 9, 0]);
        message.resize(bytes, 0xEE);
        message
    };
    let mut longer = whole.clone();
    longer.resize(whole.len() + 4, 0);
    let (append, others) = (of_kind(1, HEAD + VALUE), [2, 3, 4, 5, 6, 7, u32::MAX].map(|kind| of_kind(kind, HEAD)));
    [whole[..8].to_vec(), whole[..HEAD].to_vec(), longer, append, proposal(number - 1)]
        .into_iter()
        .chain(others)
        .collect()
}

/// The log of the requests so far, and the answers.
#[derive(Clone)]
pub struct Log {
    entries: Vec<u8>,
    answers: Vec<u8>,
    term: u32,
    /// The last request.
    number: u32,
}

impl Log {
    /// An empty one.
    pub fn new() -> Log {
        Log { entries: Vec::new(), answers: vec![0; 8 * ANSWERS], term: 0, number: 0 }
    }

    /// A leader begins a term with an entry that is no request.
    pub fn lead(&mut self) {
        self.term += 1;
        self.push(1, &[0; VALUE]);
    }

    /// The next request is committed and answered.
    pub fn request(&mut self) -> u32 {
        self.number += 1;
        self.push(0, &value(self.number));
        let index = (self.entries.len() / ENTRY) as u32;
        let at = self.number as usize % ANSWERS * 8;
        self.answers[at..at + 8].copy_from_slice(&[index.to_le_bytes(), self.number.to_le_bytes()].concat());
        self.number
    }

    fn push(&mut self, flags: u32, value: &[u8]) {
        let index = (self.entries.len() / ENTRY + 1) as u32;
        self.entries.extend([self.term, flags, index, self.number].iter().flat_map(|word| word.to_le_bytes()));
        self.entries.extend(value);
    }

    /// The next request.
    pub fn next(&self) -> u32 {
        self.number + 1
    }

    /// Where the next entry begins.
    pub fn end(&self) -> usize {
        self.entries.len()
    }

    /// The leader stops while the next request is under way. Its entry may have reached the next leader, and is then committed with
    /// the term that it had; or it has not, and the client proposes it again. The next leader may have needed several elections: false
    /// unless its term is a later one.
    pub fn stop(&mut self, survived: bool, term: u32) -> bool {
        let later = term > self.term;
        let lead = |log: &mut Log| {
            log.term = term - 1;
            log.lead();
        };
        if later && survived {
            self.request();
            lead(self);
        } else if later {
            lead(self);
            self.request();
        }
        later
    }

    /// A host's memory of so many bytes.
    pub fn memory(&self, bytes: usize) -> Vec<u8> {
        let mut memory = self.entries.clone();
        memory.resize(bytes, 0);
        memory
    }

    /// The memory of answers.
    pub fn answers(&self) -> &[u8] {
        &self.answers
    }
}
