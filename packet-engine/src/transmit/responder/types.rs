//! What the responder keeps of sources and refusals, and the answers that it makes.

use spindle_blocks::{FrameJob, PacketReport};
use spindle_contract::reasons::DROP_COUNT;
use spindle_contract::wire::{flag, nack_of, opcode};
use spindle_verilog::prelude::*;

const CODE_0: u64 = code_bit(0);
const CODE_1: u64 = code_bit(1);
const CODE_2: u64 = code_bit(2);
const CODE_3: u64 = code_bit(3);
const CODE_4: u64 = code_bit(4);

/// Bit r: the given bit of the refusal's code for reason r; 0 if the source gets no refusal.
const fn code_bit(bit: usize) -> u64 {
    let (mut bits, mut reason) = (0, 0);
    while reason < DROP_COUNT {
        if let Some(code) = nack_of(reason) {
            assert!(code < 32, "codes have five bits");
            bits |= (code as u64 >> bit & 1) << reason;
        }
        reason += 1;
    }
    bits
}

/// The code of the refusal for a reason; 0 if the source gets no refusal.
#[hdl_fn]
pub fn nack_code(reason: Bits<5>) -> Bits<8> {
    (
        bits::<3>(0),
        bits::<32>(CODE_4).get_bit(reason.index()),
        bits::<32>(CODE_3).get_bit(reason.index()),
        bits::<32>(CODE_2).get_bit(reason.index()),
        bits::<32>(CODE_1).get_bit(reason.index()),
        bits::<32>(CODE_0).get_bit(reason.index()),
    )
        .cat::<8>()
}

/// A refusal that waits.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Refusal {
    /// Where its report is kept.
    pub index: Bits<4>,
    /// Its number counts.
    pub sequenced: Bit,
}

/// What is due to a source.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct AckState {
    /// The source waits in the queue.
    pub queued: Bit,
    /// Packets accepted since it left the queue.
    pub count: Bits<6>,
    /// Its last acknowledgement showed a hole.
    pub hole: Bit,
    /// The first number that was missing in it.
    pub missing: Bits<11>,
    /// A marked packet was accepted since then.
    pub echo: Bit,
    /// Marked packets that were accepted, modulo 256.
    pub marks: Bits<8>,
}

/// What an acknowledgement says of marks.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Echo {
    /// Packets were marked since the last one.
    pub fresh: Bit,
    /// All of them, modulo 256.
    pub count: Bits<8>,
}

/// What the responder does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum Responding {
    /// Chooses whom to answer.
    Choose,
    /// Takes the last report of a source out of memory.
    Fetch,
    /// Asks what the source has had accepted.
    Request,
    /// Waits for it.
    Wait,
    /// Keeps in mind which hole an acknowledgement shows.
    Note,
    /// Offers the answer.
    Offer,
}

/// The answer to the source of a report: an acknowledgement, or a refusal. The cumulative fields say nothing if its number does not count.
#[hdl_fn]
pub fn reply_of(
    report_out: PacketReport,
    refusal: Bit,
    expected: Bits<32>,
    accepted: Bits<64>,
    echo: Echo,
) -> FrameJob {
    let selective = accepted & repeat::<64>(report_out.sequenced);
    let echoes = report_out.sequenced & !refusal;
    FrameJob {
        opcode: if refusal { bits::<8>(opcode::NACK) } else { bits::<8>(opcode::ACK) },
        flags: (bits::<16>(flag::UNSEQ) & repeat::<16>(!report_out.sequenced))
            | (bits::<16>(flag::ECN_ECHO) & repeat::<16>(echoes & echo.fresh)),
        node: report_out.node,
        src_pid: report_out.dst_pid,
        dst_pid: report_out.src_pid,
        addr: report_out.addr,
        key: (report_out.code, echo.count & repeat::<8>(echoes), report_out.credit).cat::<32>(),
        buf_off: report_out.psn,
        msg_len: selective.get_bits::<32>(32),
        msg_off: selective.get_bits::<32>(0),
        single: true,
        msg_id: report_out.msg_id,
        numbered: true,
        psn: (expected - 1) & repeat::<32>(report_out.sequenced),
        epoch: report_out.epoch,
        frame: report_out.frame,
        ..Default::default()
    }
}
