//! MSI-X: the table and its pending bits, and the messages.
//!
//! | neighbour | ports |
//! |---|---|
//! | BAR target | in `access`; out `word` |
//! | NIC | in `request`; out `acknowledge` (pulses) |
//! | transmitter | out `packet` |
//! | `pcie_7x` | in `enabled`, `open`, `id` |
//!
//! The BAR has 4096 bytes: entry v of the table at 16 v (address, its high half, data, control), pending bits at 0x800.
//! Other words read 0, and writes of them have no effect. The control word has one bit, the mask, set by a reset. The
//! pending bit of a vector is its request. A request whose vector is not masked is sent as a memory write of one DW,
//! with the function's MSI-X enabled and not masked, and bus master on; once the packet has been taken it is
//! acknowledged. So a request that comes while its vector is masked or MSI-X is off is sent later, once.
//!
//! Vectors take turns. An access waits for the end of a message that is being sent, and goes before the next one: when
//! the write of a mask has been taken, no message of the vector comes any more.
//!
//! `access` taken → `word`: 1 cycle. `request` → `packet`: 2 cycles. Last beat taken → `acknowledge`: 1 cycle. The
//! address of a message is in LUT RAM: 3 × 16 × 32 bits, two read ports.

use super::header::memory_request;
use super::ports::PacketSource;
use spindle_blocks::{LutRam, RoundRobin};
use spindle_contract::pci::{MSIX_PBA_OFFSET, VECTORS};
use spindle_verilog::prelude::*;

/// Access to a word of the BAR.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct TableAccess {
    /// Write.
    pub write: Bit,
    /// Number of the word.
    pub word: Bits<10>,
    /// Word to write.
    pub data: Bits<32>,
    /// Bytes to write.
    pub strobes: Bits<4>,
}

/// What the sender does.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum MessageState {
    /// Chooses a vector.
    Choose,
    /// Reads its entry.
    Look,
    /// Sends the header.
    Send,
    /// Sends the data of a wide header.
    Data,
}

/// Table and sender. See the module text.
#[block]
pub struct Msix {
    /// Access.
    pub access: Sink<TableAccess>,
    /// The word that was read.
    pub word: Signal<Out, Bits<32>>,
    /// Vectors that are requested.
    pub request: Signal<In, Bits<VECTORS>>,
    /// Vectors that were sent.
    pub acknowledge: Signal<Out, Bits<VECTORS>>,
    /// MSI-X is enabled and not masked.
    pub enabled: Signal<In, Bit>,
    /// The link is up and the function is bus master.
    pub open: Signal<In, Bit>,
    /// The function.
    pub id: Signal<In, Bits<16>>,
    /// Messages.
    pub packet: PacketSource,
    /// Low half of the address, high half, data.
    entries: [LutRam<4, 32, 2>; 3],
    masks: Reg<Bits<VECTORS>>,
    read: DFF<Bits<32>>,
    turn: RoundRobin<VECTORS>,
    state: Reg<MessageState>,
    /// The vector that is being sent.
    vector: DFF<Bits<4>>,
    hot: DFF<Bits<VECTORS>>,
    header: DFF<Bits<128>>,
    wide: DFF<Bit>,
    data: DFF<Bits<32>>,
    sent: Reg<Bits<VECTORS>>,
}

impl Msix {
    /// The table, all masked.
    pub fn new() -> Self {
        Self { masks: Reg::new(bits::<VECTORS>((1u64 << VECTORS) - 1)), ..Self::blank() }
    }
}

#[hdl]
impl Msix {
    fn update(&mut self) {
        self.serve();
        self.send();
    }

    /// Accesses.
    fn serve(&mut self) {
        let access = self.access.val();
        let in_table = !access.word.get_bits::<4>(6).any();
        let entry = access.word.get_bits::<4>(2);
        let column = access.word.get_bits::<2>(0);
        let takes = self.access.valid.val() & (self.state.q.val() == MessageState::Choose);
        let writes = takes & access.write & in_table;
        let mask = byte_mask::<32, 4>(access.strobes);
        for i in 0..3 {
            let old = self.entries[i].read_data[0].val();
            let merged = (old & !mask) | (access.data & mask);
            self.entries[i].write(writes & (column == bits::<2>(i as u64)), entry, merged);
            self.entries[i].read_address[0].next = entry;
            self.entries[i].read_address[1].next = self.vector.q.val();
        }
        let hot = bits::<VECTORS>(1) << entry;
        if writes & column.all() & access.strobes.get_bit(0) {
            self.masks.d.next =
                if access.data.get_bit(0) { self.masks.q.val() | hot } else { self.masks.q.val() & !hot };
        }
        let masked = (self.masks.q.val() & hot).any();
        let pending = access.word == bits::<10>((MSIX_PBA_OFFSET / 4) as u64);
        let low = self.entries[0].read_data[0].val();
        let high = self.entries[1].read_data[0].val();
        let data = self.entries[2].read_data[0].val();
        let in_row = select(column, [low, high, data, bit_cast::<32, 1>(masked.into())]);
        let bits_pending = bit_cast::<32, VECTORS>(self.request.val());
        self.read.d.next = (in_row & repeat::<32>(in_table)) | (bits_pending & repeat::<32>(pending));
        self.word.next = self.read.q.val();
    }

    /// Messages.
    fn send(&mut self) {
        let can = self.enabled.val() & self.open.val() & !self.access.valid.val();
        let wanted = self.request.val() & !self.masks.q.val() & !self.sent.q.val() & repeat::<VECTORS>(can);
        self.turn.request.next = wanted;
        let chooses = self.state.q.val() == MessageState::Choose;
        self.turn.accept.next = chooses;
        self.turn.lock.next = false;
        self.sent.d.next = bits::<VECTORS>(0);
        let low = self.entries[0].read_data[1].val();
        let address = (self.entries[1].read_data[1].val(), low.get_bits::<30>(2)).cat::<62>();
        match self.state.q.val() {
            MessageState::Choose => {
                self.vector.d.next = self.turn.index.val().get_bits::<4>(0);
                self.hot.d.next = self.turn.grant.val();
                self.state.load(self.turn.any.val(), MessageState::Look);
            }
            MessageState::Look => {
                self.header.d.next =
                    memory_request(true, self.id.val(), bits::<8>(0), address, bits::<10>(1), bits::<8>(0x0F));
                self.wide.d.next = self.entries[1].read_data[1].val().any();
                self.data.d.next = byte_swap(self.entries[2].read_data[1].val());
                self.state.d.next = MessageState::Send;
            }
            MessageState::Send => {
                if self.packet.ready.val() {
                    self.state.d.next = if self.wide.q.val() { MessageState::Data } else { MessageState::Choose };
                    self.sent.load(!self.wide.q.val(), self.hot.q.val());
                }
            }
            _ => {
                if self.packet.ready.val() {
                    self.state.d.next = MessageState::Choose;
                    self.sent.d.next = self.hot.q.val();
                }
            }
        }
        let wide = self.wide.q.val();
        let of_data = self.state.q.val() == MessageState::Data;
        let header = self.header.q.val();
        let narrow = (self.data.q.val(), header.get_bits::<96>(0)).cat::<128>();
        self.packet.data.next = if of_data {
            bit_cast::<128, 32>(self.data.q.val())
        } else if wide {
            header
        } else {
            narrow
        };
        self.packet.top.next = if of_data { bits::<2>(0) } else { bits::<2>(3) };
        self.packet.last.next = of_data | !wide;
        self.packet.valid.next = of_data | (self.state.q.val() == MessageState::Send);
        self.acknowledge.next = self.sent.q.val();
        self.access.ready.next = chooses;
    }
}
