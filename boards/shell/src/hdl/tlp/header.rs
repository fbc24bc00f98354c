//! Headers of packets.
//!
//! | DW | memory request | completion |
//! |---|---|---|
//! | 0 | 31:29 format, 28:24 type, 22:20 class, 15 digest, 14 poisoned, 13:12 attributes, 9:0 length | same |
//! | 1 | 31:16 requester, 15:8 tag, 7:4 last, 3:0 first enables | 31:16 completer, 15:13 status, 11:0 byte count |
//! | 2 | address, or its high half | 31:16 requester, 15:8 tag, 6:0 lower address |
//! | 3 | data, or the low half of the address | data |

use spindle_verilog::prelude::*;

/// Type: memory.
const MEMORY: u64 = 0b00000;
/// Type: completion.
const COMPLETION: u64 = 0b01010;
/// Status of a completion: unsupported request.
pub const UNSUPPORTED: u64 = 0b001;

/// What a packet is to the bridge.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Kind {
    /// A completion of a read.
    pub completion: Bit,
    /// Memory read.
    pub read: Bit,
    /// Memory write.
    pub write: Bit,
    /// Any other request that wants an answer.
    pub refused: Bit,
}

/// DW of a beat.
#[hdl_fn]
pub fn dw(data: Bits<128>, number: Bits<2>) -> Bits<32> {
    select(number, [data.get_bits::<32>(0), data.get_bits::<32>(32), data.get_bits::<32>(64), data.get_bits::<32>(96)])
}

/// The packet has a payload.
#[hdl_fn]
pub fn has_data(dw0: Bits<32>) -> Bit {
    dw0.get_bit(30)
}

/// The header has four DWs.
#[hdl_fn]
pub fn is_wide(dw0: Bits<32>) -> Bit {
    dw0.get_bit(29)
}

/// DWs of payload; 0 in the header stands for 1024.
#[hdl_fn]
pub fn payload_length(dw0: Bits<32>) -> Bits<11> {
    let length = dw0.get_bits::<10>(0);
    (!length.any(), length).cat::<11>()
}

/// DWs of the whole packet.
#[hdl_fn]
pub fn packet_length(dw0: Bits<32>) -> Bits<11> {
    let payload = if has_data(dw0) { payload_length(dw0) } else { bits::<11>(0) };
    let header = if is_wide(dw0) { bits::<11>(4) } else { bits::<11>(3) };
    payload + header + bit_cast::<11, 1>(dw0.get_bits::<1>(15))
}

/// What the packet is. Messages, prefixes and packets of unknown types are nothing.
#[hdl_fn]
pub fn kind_of(dw0: Bits<32>) -> Kind {
    let what = dw0.get_bits::<5>(24);
    let known = !dw0.get_bit(31);
    let memory = known & (what == bits::<5>(MEMORY));
    let completion = known & (what == bits::<5>(COMPLETION));
    // Locked reads, I/O, configuration, atomics.
    let locked = !has_data(dw0) & (what == bits::<5>(0b00001));
    let io = what == bits::<5>(0b00010);
    let configuration = (what == bits::<5>(0b00100)) | (what == bits::<5>(0b00101));
    let atomic =
        has_data(dw0) & ((what == bits::<5>(0b01100)) | (what == bits::<5>(0b01101)) | (what == bits::<5>(0b01110)));
    Kind {
        completion: completion & !is_wide(dw0),
        read: memory & !has_data(dw0),
        write: memory & has_data(dw0),
        refused: known & (locked | io | configuration | atomic),
    }
}

/// Number of the first byte that is enabled; 0 if none is.
#[hdl_fn]
pub fn first_byte(enables: Bits<4>) -> Bits<2> {
    let low = enables.get_bit(0) | enables.get_bit(1);
    let second = !enables.get_bit(0) & enables.get_bit(1);
    let fourth = !enables.get_bit(2) & enables.get_bit(3);
    let high = !low & (enables.get_bit(2) | enables.get_bit(3));
    (high, if low { second } else { fourth }).cat::<2>()
}

/// Number of the last byte that is enabled; 0 if none is.
#[hdl_fn]
pub fn last_byte(enables: Bits<4>) -> Bits<2> {
    let high = enables.get_bit(2) | enables.get_bit(3);
    (high, if high { enables.get_bit(3) } else { enables.get_bit(1) }).cat::<2>()
}

/// Bytes of a read: from the first one that is enabled to the last one, at least 1.
#[hdl_fn]
pub fn byte_count(length: Bits<11>, first: Bits<4>, last: Bits<4>) -> Bits<13> {
    let single = length == bits::<11>(1);
    let stop = if single { last_byte(first) } else { last_byte(last) };
    let whole = (length - 1, stop).cat::<13>();
    whole - bit_cast::<13, 2>(first_byte(first)) + 1
}

/// DWs 0 to 2 (with DW 3 of a 64-bit address) of a memory request; `words` is 1 to 256.
#[hdl_fn]
pub fn memory_request(
    write: Bit,
    id: Bits<16>,
    tag: Bits<8>,
    address: Bits<62>,
    words: Bits<10>,
    enables: Bits<8>,
) -> Bits<128> {
    let high = address.get_bits::<32>(30);
    let low = (address.get_bits::<30>(0), bits::<2>(0)).cat::<32>();
    let dw0 = (bits::<1>(0), write, high.any(), bits::<19>(0), words).cat::<32>();
    let dw1 = (id, tag, enables).cat::<32>();
    let dw2 = if high.any() { high } else { low };
    (low, dw2, dw1, dw0).cat::<128>()
}
