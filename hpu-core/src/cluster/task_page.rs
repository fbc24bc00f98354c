//! Task page: the facts about its packet and message that a handler can read, as the two beats that the loader writes
//! to L1. Combinational.
//!
//! | neighbour | ports |
//! |---|---|
//! | loader | in `desc`, `size`, `bound`, `entry`, `hpu` |
//! | array | in `number`, the cluster; in `cycle` |
//! | L1 | out `low`, `high`: words 0 to 15 and 16 to 31 |
//!
//! Words that do not exist are 0. TASK_CYCLE is the cycle in which the second half is handed over.
//!
//! The order of the words (`memory_map`) pairs words w and w + 16 of like width. Both halves leave through one register, and a bit that
//! neither of them uses costs nothing in it.

use crate::types::TaskContext;
use spindle_blocks::desc::TaskDesc;
use spindle_contract::memory_map::{self as map, base};
use spindle_verilog::prelude::*;

const PACKET_BASE: u64 = base(map::PACKET) as u64;

/// The task page. See the module text.
#[block(combinational)]
pub struct TaskPage {
    /// The task.
    pub desc: Signal<In, TaskDesc>,
    /// Its context.
    pub entry: Signal<In, TaskContext>,
    /// Bytes of its packet that are loaded.
    pub size: Signal<In, Bits<12>>,
    /// Bytes of its packet region.
    pub bound: Signal<In, Bits<12>>,
    /// HPU that will run it.
    pub hpu: Signal<In, Bits<3>>,
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Cycles since reset, low half.
    pub cycle: Signal<In, Bits<32>>,
    /// Words 0 to 15.
    pub low: Signal<Out, Bits<512>>,
    /// Words 16 to 31.
    pub high: Signal<Out, Bits<512>>,
    words: [Signal<Local, Bits<32>>; 32],
}

#[hdl]
impl TaskPage {
    fn update(&mut self) {
        let desc = self.desc.val();
        let entry = self.entry.val();
        for i in 0..32 {
            self.words[i].next = bits::<32>(0);
        }
        self.words[map::TASK_KIND as usize / 4].next = bit_cast::<32, 2>(desc.kind);
        self.words[map::TASK_PACKET_LEN as usize / 4].next = bit_cast::<32, 12>(self.size.val());
        self.words[map::TASK_ROOM as usize / 4].next = bit_cast::<32, 12>(self.bound.val());
        if desc.has_packet {
            self.words[map::TASK_PACKET as usize / 4].next = bits::<32>(PACKET_BASE);
            self.words[map::TASK_PAYLOAD as usize / 4].next =
                bits::<32>(PACKET_BASE) | bit_cast::<32, 7>(desc.payload_offset);
            self.words[map::TASK_L3 as usize / 4].next = bits::<32>(PACKET_BASE) | bit_cast::<32, 6>(desc.l3_offset);
        }
        self.words[map::TASK_FRAME_LEN as usize / 4].next = bit_cast::<32, 14>(desc.length);
        self.words[map::TASK_PAYLOAD_LEN as usize / 4].next = bit_cast::<32, 16>(desc.payload_len);
        self.words[map::TASK_OPCODE as usize / 4].next = bit_cast::<32, 8>(desc.opcode);
        self.words[map::TASK_SRC_NID as usize / 4].next = desc.src_nid;
        self.words[map::TASK_SRC_PID as usize / 4].next = bit_cast::<32, 16>(desc.src_pid);
        self.words[map::TASK_DST_PID as usize / 4].next = bit_cast::<32, 16>(desc.dst_pid);
        self.words[map::TASK_ADDR_LO as usize / 4].next = desc.addr.get_bits::<32>(0);
        self.words[map::TASK_ADDR_HI as usize / 4].next = desc.addr.get_bits::<32>(32);
        self.words[map::TASK_MSG_ID as usize / 4].next = desc.msg_id;
        self.words[map::TASK_MSG_LEN as usize / 4].next = desc.msg_len;
        self.words[map::TASK_MSG_OFF as usize / 4].next = desc.msg_off;
        self.words[map::TASK_BUF_OFF as usize / 4].next = desc.buf_off;
        self.words[map::TASK_CONTEXT as usize / 4].next = bit_cast::<32, 4>(desc.context);
        self.words[map::TASK_CLUSTER as usize / 4].next = bit_cast::<32, 3>(self.number.val());
        self.words[map::TASK_HPU as usize / 4].next = bit_cast::<32, 3>(self.hpu.val());
        self.words[map::TASK_MSG_SLOT as usize / 4].next = bit_cast::<32, 8>(desc.msg_slot);
        self.words[map::TASK_FRAME as usize / 4].next = bit_cast::<32, 16>(desc.frame);
        self.words[map::TASK_STAMP as usize / 4].next = desc.stamp;
        self.words[map::TASK_DROPPED as usize / 4].next = desc.dropped_bytes;
        self.words[map::TASK_FLOW as usize / 4].next = bit_cast::<32, 1>(desc.flow_control.into());
        self.words[map::TASK_STATE_SIZE as usize / 4].next = bit_cast::<32, 21>(entry.limits.state_size);
        self.words[map::TASK_HOST_LO as usize / 4].next = entry.limits.host_lo;
        self.words[map::TASK_HOST_HI as usize / 4].next = entry.limits.host_hi;
        self.words[map::TASK_HOST_SIZE as usize / 4].next = entry.limits.host_size;
        self.words[map::TASK_CYCLE as usize / 4].next = self.cycle.val();
        self.words[map::TASK_SCRATCH_SIZE as usize / 4].next = bit_cast::<32, 16>(entry.limits.scratch_size);
        let mut low: Bits<512> = bits::<512>(0);
        let mut high: Bits<512> = bits::<512>(0);
        for i in 0..16 {
            low = low | (bit_cast::<512, 32>(self.words[i].val()) << bits::<10>(32 * i as u64));
            high = high | (bit_cast::<512, 32>(self.words[16 + i].val()) << bits::<10>(32 * i as u64));
        }
        self.low.next = low;
        self.high.next = high;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spindle_verilog::__private::BitReader;

    fn ones<T: Packed>() -> T {
        T::read_bits(&mut BitReader::new(&vec![true; T::BITS]))
    }

    #[test]
    fn opposite_words_have_about_equal_widths() {
        let mut page = TaskPage::default();
        page.connect_all();
        page.desc.next = ones();
        page.entry.next = ones();
        page.size.next = ones();
        page.bound.next = ones();
        page.hpu.next = ones();
        page.number.next = ones();
        page.cycle.next = ones();
        assert!(simulate(&mut page, 10));
        let used = |half: Bits<512>, word: usize| half.get_bits::<32>(32 * word).to_u32();
        let (low, high) = (page.low.val(), page.high.val());
        for word in 0..16 {
            let (low, high) = (used(low, word), used(high, word));
            let alone = (low ^ high).count_ones();
            assert!(alone <= 12, "words {word} and {}: {low:#x} and {high:#x}", word + 16);
        }
        let either: u32 = (0..16).map(|word| (used(low, word) | used(high, word)).count_ones()).sum();
        assert!(
            either <= 319,
            "{either} of 512 bits are in use, 319 before; see docs/decisions/0007-task-page-order.md"
        );
    }
}
