//! Ethernet MAC for 10 and 25 Gb/s, 64 bits wide, between streams of frames and an XGMII.
//!
//! | block | part |
//! |---|---|
//! | [`Mac64`] | both directions, each with its clock, and link fault signalling between them |
//! | [`MacTx`] | preamble, padding, FCS, gap; IEEE 802.3 clauses 4 and 46 |
//! | [`MacRx`] | start, FCS, lengths, error codes |
//! | [`LinkFault`] | the state diagram of link fault signalling, 46.3.4 |
//! | [`crc`] | the FCS, eight bytes a cycle |
//!
//! A frame on the streams begins with the destination address and has neither padding nor FCS to begin with; padding of
//! a received frame stays. The XGMII has eight lanes, lane 0 in `data[7:0]` and `control[0]`; frames start in lane 0 or 4.

pub mod crc;
mod fault;
mod rx;
mod rx_word;
mod top;
mod tx;
mod tx_word;

pub use fault::LinkFault;
pub use rx::{MacRx, RxEvents};
pub use top::Mac64;
pub use tx::{MacTx, TxEvents};

use spindle_verilog::prelude::*;

/// One direction of an XGMII, eight lanes.
#[bundle(mirror = XgmiiSink)]
pub struct XgmiiSource {
    /// Characters, lane 0 in bits 7:0.
    pub data: Signal<Out, Bits<64>>,
    /// Which characters are control characters, lane 0 in bit 0.
    pub control: Signal<Out, Bits<8>>,
}

/// Control characters of the XGMII, table 46-3.
pub mod character {
    /// Nothing to send.
    pub const IDLE: u64 = 0x07;
    /// First lane of a column with the state of the link.
    pub const SEQUENCE: u64 = 0x9C;
    /// Takes the place of the first preamble byte.
    pub const START: u64 = 0xFB;
    /// After the FCS.
    pub const TERMINATE: u64 = 0xFD;
    /// The frame is bad.
    pub const ERROR: u64 = 0xFE;
    /// Start delimiter, the last byte before the frame; not a control character.
    pub const DELIMITER: u64 = 0xD5;
    /// Preamble of a frame, with the start character and the start delimiter.
    pub const PREAMBLE: u64 = 0xD555_5555_5555_55FB;
    /// Eight idle characters.
    pub const IDLES: u64 = 0x0707_0707_0707_0707;
    /// Eight error characters.
    pub const ERRORS: u64 = 0xFEFE_FEFE_FEFE_FEFE;
    /// Two columns of local fault.
    pub const LOCAL_FAULTS: u64 = 0x0100_009C_0100_009C;
    /// Two columns of remote fault.
    pub const REMOTE_FAULTS: u64 = 0x0200_009C_0200_009C;
    /// The control bits of either.
    pub const FAULT_CONTROL: u64 = 0x11;
}

/// Bytes of a beat modulo 8, by its mask, which is contiguous from bit 0.
#[hdl_fn]
fn byte_count(keep: Bits<8>) -> Bits<3> {
    let odd = (keep.get_bit(0) & !keep.get_bit(1))
        | (keep.get_bit(2) & !keep.get_bit(3))
        | (keep.get_bit(4) & !keep.get_bit(5))
        | (keep.get_bit(6) & !keep.get_bit(7));
    let two = (keep.get_bit(1) & !keep.get_bit(3)) | (keep.get_bit(5) & !keep.get_bit(7));
    let four = keep.get_bit(3) & !keep.get_bit(7);
    (four, two, odd).cat::<3>()
}
