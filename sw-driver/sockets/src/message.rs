//! What the streams carry: a head, then bytes of the program.

/// Most bytes of a message, its head included: several packets.
pub const MOST: usize = 8192;
/// Bytes of the head.
pub const HEAD: usize = 16;
/// Most bytes of the program in a message.
pub const DATA: usize = MOST - HEAD;

/// Kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Of a listener's window: a request for a connection.
    Open = 1,
    /// First message of the other direction: the connection is there.
    Accept = 2,
    /// Bytes.
    Data = 3,
    /// The sender writes no more.
    End = 4,
    /// Only the credit counts.
    Credit = 5,
}

/// The head of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its kind.
    pub kind: Kind,
    /// Node of the sender.
    pub node: u8,
    /// Port of the sender (`Open`).
    pub port: u16,
    /// Messages that the sender has consumed of the other direction, modulo 2^32: its credit is that count and the depth.
    pub consumed: u32,
    /// Window of the sender's end (`Open`, `Accept`).
    pub window: u64,
}

impl Head {
    /// The head of a message, which is at least as long.
    pub fn parse(bytes: &[u8]) -> Option<Head> {
        let kind = match bytes.first()? {
            1 => Kind::Open,
            2 => Kind::Accept,
            3 => Kind::Data,
            4 => Kind::End,
            5 => Kind::Credit,
            _ => return None,
        };
        Some(Head {
            kind,
            node: *bytes.get(1)?,
            port: u16::from_le_bytes(bytes.get(2..4)?.try_into().ok()?),
            consumed: u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?),
            window: u64::from_le_bytes(bytes.get(8..16)?.try_into().ok()?),
        })
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; HEAD] {
        let mut bytes = [0; HEAD];
        bytes[0] = self.kind as u8;
        bytes[1] = self.node;
        bytes[2..4].copy_from_slice(&self.port.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.consumed.to_le_bytes());
        bytes[8..].copy_from_slice(&self.window.to_le_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_come_back() {
        let head = Head { kind: Kind::End, node: 7, port: 0x1234, consumed: u32::MAX, window: 1 << 63 };
        assert_eq!(Head::parse(&head.bytes()), Some(head));
        assert_eq!(Head::parse(&head.bytes()[..HEAD - 1]), None);
        assert_eq!(Head::parse(&[9; HEAD]), None);
    }
}
