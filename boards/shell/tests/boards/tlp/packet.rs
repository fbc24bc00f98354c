//! Packets as lists of DWs, and what the bench reads from them.

/// A packet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Packet {
    pub dws: Vec<u32>,
    /// BARs that the core shows with it.
    pub bars: u8,
    /// The packet breaks off: it never shows an end.
    pub cut: bool,
}

/// DWs of a payload: the byte of the lowest address is the highest of its DW.
pub fn payload(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks(4).map(|word| u32::from_be_bytes(word.try_into().expect("whole DWs"))).collect()
}

/// A request of the host.
#[derive(Clone, Debug)]
pub struct Request {
    pub write: bool,
    pub wide: bool,
    pub address: u64,
    pub first: u8,
    pub last: u8,
    /// DWs, of a read.
    pub words: usize,
    /// Bytes, of a write.
    pub data: Vec<u8>,
    pub requester: u16,
    pub tag: u8,
    /// Class in bits 22:20, attributes in 18, 13 and 12.
    pub marks: u32,
    pub poisoned: bool,
    pub digest: bool,
    pub bars: u8,
}

impl Request {
    pub fn packet(&self) -> Packet {
        let words = if self.write { self.data.len() / 4 } else { self.words };
        let mut dws = vec![
            (self.write as u32) << 30
                | (self.wide as u32) << 29
                | (self.digest as u32) << 15
                | (self.poisoned as u32) << 14
                | self.marks
                | (words as u32 & 0x3FF),
            (self.requester as u32) << 16 | (self.tag as u32) << 8 | (self.last as u32) << 4 | self.first as u32,
        ];
        if self.wide {
            dws.push((self.address >> 32) as u32);
        }
        dws.push(self.address as u32 & !3);
        if self.write {
            dws.extend(payload(&self.data));
        }
        if self.digest {
            dws.push(0xD1_6E_57_00);
        }
        Packet { dws, bars: self.bars, cut: false }
    }
}

/// A completion, either way.
#[derive(Clone, Debug, PartialEq)]
pub struct Completion {
    pub id: u16,
    pub status: u8,
    pub byte_count: u16,
    pub requester: u16,
    pub tag: u8,
    pub lower: u8,
    pub poisoned: bool,
    pub marks: u32,
    /// `None`: a completion without data.
    pub data: Option<Vec<u8>>,
}

impl Completion {
    pub fn packet(&self) -> Packet {
        let words = self.data.as_ref().map_or(0, |data| data.len() / 4);
        let mut dws = vec![
            if self.data.is_some() { 0x4A00_0000 } else { 0x0A00_0000 }
                | (self.poisoned as u32) << 14
                | self.marks
                | (words as u32 & 0x3FF),
            (self.id as u32) << 16 | (self.status as u32) << 13 | (self.byte_count as u32 & 0xFFF),
            (self.requester as u32) << 16 | (self.tag as u32) << 8 | self.lower as u32,
        ];
        dws.extend(self.data.iter().flat_map(|data| payload(data)));
        Packet { dws, bars: 0, cut: false }
    }

    /// Reads a completion without class and attributes other than `marks`.
    pub fn parse(dws: &[u32]) -> Self {
        let data: Vec<u8> = dws[3..].iter().flat_map(|dw| dw.to_be_bytes()).collect();
        let with_data = dws[0] >> 24 & 0xFE == 0x4A;
        assert_eq!(with_data, !data.is_empty(), "{dws:x?}");
        assert_eq!(dws[0] & 0x3FF, dws.len() as u32 - 3, "length in {dws:x?}");
        assert_eq!(dws[0] & !0x4F74_33FF, 0, "reserved bits in {dws:x?}");
        Self {
            id: (dws[1] >> 16) as u16,
            status: (dws[1] >> 13) as u8 & 7,
            byte_count: dws[1] as u16 & 0xFFF,
            requester: (dws[2] >> 16) as u16,
            tag: (dws[2] >> 8) as u8,
            lower: dws[2] as u8 & 0x7F,
            poisoned: false,
            marks: dws[0] & 0x0074_3000,
            data: with_data.then_some(data),
        }
    }
}

/// A memory request that the bridge sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub write: bool,
    pub address: u64,
    pub words: usize,
    pub first: u8,
    pub last: u8,
    pub tag: u8,
    pub data: Vec<u8>,
}

impl Sent {
    /// Reads a memory request, and requires what PCI Express requires of one.
    pub fn parse(dws: &[u32], id: u16) -> Self {
        let (write, wide) = (dws[0] >> 30 & 1 == 1, dws[0] >> 29 & 1 == 1);
        assert_eq!(dws[0] & !0x6000_03FF, 0, "type, class, attributes or reserved bits of {dws:x?}");
        assert_eq!(dws[1] >> 16, id as u32, "requester of {dws:x?}");
        let words = dws[0] as usize & 0x3FF;
        let header = if wide { 4 } else { 3 };
        assert_eq!(dws.len(), header + if write { words } else { 0 }, "length of {dws:x?}");
        let high = if wide { dws[2] as u64 } else { 0 };
        assert_eq!(wide, high != 0, "a wide header is for addresses from 4 GiB on: {dws:x?}");
        let address = high << 32 | dws[header - 1] as u64;
        let (first, last) = (dws[1] as u8 & 15, dws[1] as u8 >> 4 & 15);
        assert_eq!(address & 3, 0);
        assert!(words > 0 && address / 4096 == (address + (4 * words as u64 - 1)) / 4096, "{dws:x?} crosses 4 KiB");
        if words == 1 {
            assert_eq!(last, 0, "{dws:x?}");
            assert!(first != 0, "{dws:x?}");
        } else {
            assert!([15, 14, 12, 8].contains(&first) && [15, 7, 3, 1].contains(&last), "enables of {dws:x?}");
        }
        let data = dws[header..].iter().flat_map(|dw| dw.to_be_bytes()).collect();
        Self { write, address, words, first, last, tag: (dws[1] >> 8) as u8, data }
    }

    /// Address and value of each byte of a write.
    pub fn bytes(&self) -> impl Iterator<Item = (u64, u8)> + '_ {
        let enables = |word: usize| match word {
            0 => self.first,
            word if word + 1 == self.words => self.last,
            _ => 15,
        };
        let enabled = move |at: &usize| enables(at / 4) >> (at % 4) & 1 == 1;
        (0..self.data.len()).filter(enabled).map(|at| (self.address + at as u64, self.data[at]))
    }
}
