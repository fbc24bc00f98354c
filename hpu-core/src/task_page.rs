//! Task pages: what a handler can read of its packet and message. Two pages per HPU, so that the next task is written while one runs.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `write`, `write_index`, `entry`: a whole page in one cycle |
//! | access router | in `read_index`, `read_word`; out `read_data`, two cycles later |
//! | array | in `number`, the cluster |
//! | command ports | out `cycle`, the counter that TASK_CYCLE shows |
//!
//! An index is {HPU, page}. A page is kept as the descriptor it came from; its words are chosen when they are read. Words that do not exist read 0.

use crate::types::HostRegion;
use spindle_blocks::desc::TaskDesc;
use spindle_blocks::ram::LutMemory;
use spindle_contract::memory_map::{self as map, base};
use spindle_contract::params::SLOT_BYTES;
use spindle_verilog::prelude::*;

const PACKET_BASE: u64 = base(map::PACKET) as u64;

const KIND: usize = map::TASK_KIND as usize / 4;
const PACKET: usize = map::TASK_PACKET as usize / 4;
const PACKET_LEN: usize = map::TASK_PACKET_LEN as usize / 4;
const FRAME_LEN: usize = map::TASK_FRAME_LEN as usize / 4;
const PAYLOAD: usize = map::TASK_PAYLOAD as usize / 4;
const PAYLOAD_LEN: usize = map::TASK_PAYLOAD_LEN as usize / 4;
const L3: usize = map::TASK_L3 as usize / 4;
const OPCODE: usize = map::TASK_OPCODE as usize / 4;
const SRC_NID: usize = map::TASK_SRC_NID as usize / 4;
const SRC_PID: usize = map::TASK_SRC_PID as usize / 4;
const DST_PID: usize = map::TASK_DST_PID as usize / 4;
const ADDR_LO: usize = map::TASK_ADDR_LO as usize / 4;
const ADDR_HI: usize = map::TASK_ADDR_HI as usize / 4;
const MSG_ID: usize = map::TASK_MSG_ID as usize / 4;
const MSG_LEN: usize = map::TASK_MSG_LEN as usize / 4;
const MSG_OFF: usize = map::TASK_MSG_OFF as usize / 4;
const BUF_OFF: usize = map::TASK_BUF_OFF as usize / 4;
const CONTEXT: usize = map::TASK_CONTEXT as usize / 4;
const CLUSTER: usize = map::TASK_CLUSTER as usize / 4;
const HPU: usize = map::TASK_HPU as usize / 4;
const MSG_SLOT: usize = map::TASK_MSG_SLOT as usize / 4;
const FRAME: usize = map::TASK_FRAME as usize / 4;
const STAMP: usize = map::TASK_STAMP as usize / 4;
const DROPPED: usize = map::TASK_DROPPED as usize / 4;
const FLOW: usize = map::TASK_FLOW as usize / 4;
const STATE_SIZE: usize = map::TASK_STATE_SIZE as usize / 4;
const HOST_LO: usize = map::TASK_HOST_LO as usize / 4;
const HOST_HI: usize = map::TASK_HOST_HI as usize / 4;
const HOST_SIZE: usize = map::TASK_HOST_SIZE as usize / 4;
const CYCLE: usize = map::TASK_CYCLE as usize / 4;

/// What a page is made of.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TaskEntry {
    /// The desc.
    pub desc: TaskDesc,
    /// Bytes of context memory.
    pub state_size: Bits<21>,
    /// Host region of the context.
    pub host: HostRegion,
}

/// The task pages of a cluster. See the module text.
#[derive(LogicBlock, Default)]
pub struct TaskPages {
    /// Core clock.
    pub clock: Signal<In, Clock>,
    /// Synchronous reset, active high.
    pub reset: Signal<In, Bit>,
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Write a page.
    pub write: Signal<In, Bit>,
    /// Which one.
    pub write_index: Signal<In, Bits<4>>,
    /// Its content.
    pub entry: Signal<In, TaskEntry>,
    /// Page to read.
    pub read_index: Signal<In, Bits<4>>,
    /// Word of it.
    pub read_word: Signal<In, Bits<5>>,
    /// The word, two cycles later.
    pub read_data: Signal<Out, Bits<32>>,
    /// Cycles since reset.
    pub cycle: Signal<Out, Bits<32>>,
    pages: LutMemory<TaskEntry, 4>,
    counter: Reg<Bits<32>>,
    index: DFF<Bits<4>>,
    word: DFF<Bits<5>>,
    data: DFF<Bits<32>>,
    words: [Signal<Local, Bits<32>>; 32],
    pairs: [Signal<Local, Bits<32>>; 16],
    quads: [Signal<Local, Bits<32>>; 8],
    octets: [Signal<Local, Bits<32>>; 4],
}

impl Logic for TaskPages {
    #[hdl]
    fn update(&mut self) {
        regs!(self, clock, reset, counter);
        dffs!(self, clock, index, word, data);
        self.counter.d.next = self.counter.q.val() + 1;
        self.cycle.next = self.counter.q.val();
        self.index.d.next = self.read_index.val();
        self.word.d.next = self.read_word.val();

        self.pages.clock.next = self.clock.val();
        self.pages.write_enable.next = self.write.val();
        self.pages.write_address.next = self.write_index.val();
        self.pages.write_data.next = self.entry.val();
        self.pages.read_address.next = self.index.q.val();
        let entry = self.pages.read_data.val();
        let desc = entry.desc;

        for i in 0..32 {
            self.words[i].next = bits::<32>(0);
        }
        self.words[KIND].next = bit_cast::<32, 2>(desc.kind);
        if desc.has_packet {
            self.words[PACKET].next = bits::<32>(PACKET_BASE);
            self.words[PACKET_LEN].next = if desc.length > bits::<14>(SLOT_BYTES as u64) {
                bits::<32>(SLOT_BYTES as u64)
            } else {
                bit_cast::<32, 14>(desc.length)
            };
            self.words[PAYLOAD].next = bits::<32>(PACKET_BASE) | bit_cast::<32, 7>(desc.payload_offset);
            self.words[L3].next = bits::<32>(PACKET_BASE) | bit_cast::<32, 6>(desc.l3_offset);
        }
        self.words[FRAME_LEN].next = bit_cast::<32, 14>(desc.length);
        self.words[PAYLOAD_LEN].next = bit_cast::<32, 16>(desc.payload_len);
        self.words[OPCODE].next = bit_cast::<32, 8>(desc.opcode);
        self.words[SRC_NID].next = desc.src_nid;
        self.words[SRC_PID].next = bit_cast::<32, 16>(desc.src_pid);
        self.words[DST_PID].next = bit_cast::<32, 16>(desc.dst_pid);
        self.words[ADDR_LO].next = desc.addr.get_bits::<32>(0);
        self.words[ADDR_HI].next = desc.addr.get_bits::<32>(32);
        self.words[MSG_ID].next = desc.msg_id;
        self.words[MSG_LEN].next = desc.msg_len;
        self.words[MSG_OFF].next = desc.msg_off;
        self.words[BUF_OFF].next = desc.buf_off;
        self.words[CONTEXT].next = bit_cast::<32, 4>(desc.context);
        self.words[CLUSTER].next = bit_cast::<32, 3>(self.number.val());
        self.words[HPU].next = bit_cast::<32, 3>(self.index.q.val().get_bits::<3>(1));
        self.words[MSG_SLOT].next = bit_cast::<32, 8>(desc.msg_slot);
        self.words[FRAME].next = bit_cast::<32, 16>(desc.frame);
        self.words[STAMP].next = desc.stamp;
        self.words[DROPPED].next = desc.dropped_bytes;
        self.words[FLOW].next = bit_cast::<32, 1>(desc.flow_control.into());
        self.words[STATE_SIZE].next = bit_cast::<32, 21>(entry.state_size);
        self.words[HOST_LO].next = entry.host.low;
        self.words[HOST_HI].next = entry.host.high;
        self.words[HOST_SIZE].next = entry.host.size;
        self.words[CYCLE].next = self.counter.q.val();

        // One word of 32, as a tree over the bits of its number.
        let word = self.word.q.val();
        for i in 0..16 {
            self.pairs[i].next = if word.get_bit(0) { self.words[2 * i + 1].val() } else { self.words[2 * i].val() };
        }
        for i in 0..8 {
            self.quads[i].next = if word.get_bit(1) { self.pairs[2 * i + 1].val() } else { self.pairs[2 * i].val() };
        }
        for i in 0..4 {
            self.octets[i].next = if word.get_bit(2) { self.quads[2 * i + 1].val() } else { self.quads[2 * i].val() };
        }
        self.data.d.next = match word.get_bits::<2>(3).index() {
            0 => self.octets[0].val(),
            1 => self.octets[1].val(),
            2 => self.octets[2].val(),
            _ => self.octets[3].val(),
        };
        self.read_data.next = self.data.q.val();
    }
}
