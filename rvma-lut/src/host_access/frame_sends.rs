//! Frame sends: frames of command rings on their way to the initiator, and the events SENT.
//!
//! | neighbour | ports |
//! |---|---|
//! | ring posts | in `send` |
//! | packet engine (initiator) | out `frame`: host memory that is to be read and sent as it is |
//! | read buffer of the initiator | in `taken` (pulse), `taken_error`: the initiator takes the last beat of the oldest frame |
//! | event rings | out `report` |
//!
//! The initiator reads frames in the order in which they are handed to it, so a queue of [`SENDING`] frames carries what the events
//! report. A full queue holds up `send`. `send` → `frame`: 1 cycle, one frame per cycle; `taken` → `report`: 2 cycles. No frame waits
//! for an event: the queue of ends is as long as that of the frames.

use crate::host_access::frame_sums::{checksum_read, FrameChecksum};
use crate::prelude::*;
use spindle_contract::descriptors::client;
use spindle_contract::events::SENT;

/// Address bits of the queues.
const SENDING_BITS: usize = 5;
/// Frames that the initiator has not read.
pub const SENDING: usize = 1 << SENDING_BITS;

/// A frame that a process sends.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct FrameSend {
    /// Process.
    pub pid: Bits<6>,
    /// Commands of the ring up to this one.
    pub number: Bits<16>,
    /// Cookie of the command.
    pub cookie: Bits<16>,
    /// The event SENT is wanted.
    pub wants_event: Bit,
    /// Host address.
    pub address: Bits<64>,
    /// Bytes.
    pub length: Bits<14>,
    /// Checksum to insert.
    pub checksum: FrameChecksum,
}

/// What the event reports.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
struct Sending {
    pid: Bits<6>,
    number: Bits<16>,
    cookie: Bits<16>,
    wants_event: Bit,
}

/// See the module text.
#[block]
pub struct FrameSends {
    /// Frame of a command ring.
    pub send: Sink<FrameSend>,
    /// Frame for the initiator.
    pub frame: Source<HostRead>,
    /// The last beat of the oldest frame is taken.
    pub taken: Signal<In, Bit>,
    /// With `taken`: the frame could not be read.
    pub taken_error: Signal<In, Bit>,
    /// Event of a frame that was read.
    pub report: Source<EventDesc>,
    reads: Slice<HostRead>,
    sending: Fifo<Sending, SENDING_BITS>,
    ends: Fifo<Bit, SENDING_BITS>,
    out: Slice<EventDesc>,
}

#[hdl]
impl FrameSends {
    fn update(&mut self) {
        let send = self.send.val();
        let room = self.reads.write.ready.val() & self.sending.write.ready.val();
        let goes = self.send.valid.val() & room;
        self.send.ready.next = room;
        self.reads.write.offer(
            goes,
            checksum_read(
                HostRead {
                    client: bits::<2>(client::INITIATOR),
                    address: send.address,
                    length: zext::<16, 14>(send.length),
                    ..HostRead::default()
                },
                send.checksum,
            ),
        );
        self.reads.read.join(&mut self.frame);
        self.sending.write.offer(
            goes,
            Sending { pid: send.pid, number: send.number, cookie: send.cookie, wants_event: send.wants_event },
        );

        self.ends.write.offer(self.taken.val(), self.taken_error.val());
        let oldest = self.sending.read.val();
        let ended = self.sending.read.valid.val() & self.ends.read.valid.val();
        let leaves = ended & (self.out.write.ready.val() | !oldest.wants_event);
        self.sending.read.ready.next = leaves;
        self.ends.read.ready.next = leaves;
        self.out.write.offer(
            ended & oldest.wants_event,
            EventDesc {
                pid: oldest.pid,
                kind: bits::<4>(SENT),
                code: zext::<8, 1>(self.ends.read.val().into()),
                id: zext::<32, 16>(oldest.number),
                source: zext::<32, 16>(oldest.cookie),
                ..EventDesc::default()
            },
        );
        self.out.read.join(&mut self.report);
    }
}
