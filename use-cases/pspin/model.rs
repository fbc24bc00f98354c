//! What each handler makes of the packets: answers, host memory, words of context memory.

/// Bytes of Ethernet, IPv4 and UDP headers, and of the load's own.
const HEADERS: usize = 14 + 20 + 8;
const LOAD: usize = 8;
/// Bytes of host memory for each packet, and packets of a message.
const PLACE: usize = 2048;
const MESSAGE: usize = 16;
/// Messages that have sums of their own.
const MESSAGES: usize = 256;
/// Values that a histogram counts apart.
const CLASSES: usize = 1024;

/// What has come of all packets so far.
pub struct Model {
    handler: String,
    /// Host memory.
    pub host: Vec<u8>,
    /// Words that the handler counts in, of one cluster or as the sum over all.
    pub words: Vec<u32>,
    /// Known senders: address, port, new destination port.
    known: Vec<[u32; 3]>,
    /// Words of each message so far.
    sums: Vec<u32>,
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |number, byte| number << 8 | usize::from(*byte))
}

impl Model {
    /// Of a handler, on host memory that has these bytes, with this table of senders.
    pub fn new(handler: &str, host: Vec<u8>, known: Vec<[u32; 3]>) -> Model {
        Model {
            handler: handler.trim_end_matches("_own").into(),
            host,
            words: vec![0; CLASSES],
            known,
            sums: vec![0; MESSAGES],
        }
    }

    /// A packet is handled: the answer to it.
    pub fn take(&mut self, frame: &[u8]) -> Option<Vec<u8>> {
        let (load, data) = frame[HEADERS..].split_at(LOAD);
        let (message, packet) = (number(&load[2..6]), number(&load[6..8]));
        let place = (message * MESSAGE + packet) * PLACE;
        let has_place = place + PLACE <= self.host.len();
        let words: Vec<u32> =
            data.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect();
        let sum = words.iter().fold(0, |sum: u32, word| sum.wrapping_add(*word));
        let mut count = |at: usize, by: u32| self.words[at] = self.words[at].wrapping_add(by);
        match self.handler.as_str() {
            "ping_pong" => return Some(turned(frame)),
            "copy_from_host" if has_place => {
                let mut answer = turned(frame);
                answer[40..42].fill(0);
                answer[HEADERS + LOAD..].copy_from_slice(&self.host[place..place + data.len()]);
                return Some(answer);
            }
            "filtering" if has_place => {
                let (address, port) = (number(&frame[26..30]) as u32, number(&frame[34..36]) as u32);
                if let Some(known) = self.known.iter().find(|known| known[..2] == [address, port]) {
                    let packet = &mut self.host[place..place + frame.len() - 14];
                    packet.copy_from_slice(&frame[14..]);
                    packet[22..24].copy_from_slice(&(known[2] as u16).to_be_bytes());
                    packet[26..28].fill(0);
                }
            }
            "copy_to_host" if has_place => self.host[place..place + frame.len() - 14].copy_from_slice(&frame[14..]),
            "aggregate_global" | "aggregate_local" => count(0, sum),
            "aggregate_message" => {
                let message = message % MESSAGES;
                self.sums[message] = self.sums[message].wrapping_add(sum);
                let record = u64::from(self.sums[message]).to_le_bytes();
                // Of a message that is over; all are in the end.
                self.host[8 * message..8 * message + 8].copy_from_slice(&record);
            }
            "histogram_L1" | "histogram_L2" => words.iter().for_each(|word| count(*word as usize % CLASSES, 1)),
            "reduce_L1" => words.iter().enumerate().for_each(|(at, word)| count(at, *word)),
            "quantize" if has_place => {
                for (at, word) in words.iter().enumerate() {
                    let value = f64::from(*word as i32) / 65536.0;
                    self.host[place + at] = value.floor().clamp(-128.0, 127.0) as i8 as u8;
                }
            }
            "strided_ddt" if has_place => {
                for (block, bytes) in data.chunks(32).enumerate() {
                    let at = place + 64 * block;
                    self.host[at..at + bytes.len()].copy_from_slice(bytes);
                }
            }
            _ => {}
        }
        None
    }
}

/// The frame on its way back: MAC addresses, IP addresses and ports have changed places.
fn turned(frame: &[u8]) -> Vec<u8> {
    let mut back = frame.to_vec();
    for (one, other, bytes) in [(0, 6, 6), (26, 30, 4), (34, 36, 2)] {
        back[one..one + bytes].copy_from_slice(&frame[other..other + bytes]);
        back[other..other + bytes].copy_from_slice(&frame[one..one + bytes]);
    }
    back
}
