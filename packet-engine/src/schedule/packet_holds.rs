//! Packet holds: packets whose handlers put them reliably keep their cells until the puts are over.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `store`, `store_pkt`, `store_share` | ingress join: a packet goes on to the scheduler; its context and its cells |
//! | in `claim` | HPU array: a put of this packet begins; taken before the end of its handler is offered |
//! | in `ended` | initiator: a put of this packet is over, and no frame reads it any more; always taken |
//! | in `freed` | scheduler: nothing else needs this packet |
//! | out `free` | packet buffer: cells to return |
//! | out `full` | HPU array: contexts whose packets keep as many cells as they may |
//!
//! A packet's cells return once: when the scheduler frees it, or, if puts of it are under way then, with the end of the last one. The
//! count of puts is 16 at most, since a packet has a header handler and a payload handler and each has the eight handles of its HPU; with
//! ends that wait while their handles are used again, 5 bits are enough.
//!
//! | cycle | event |
//! |---|---|
//! | 0 | one of the three is chosen: ends before claims, claims before packets that are freed; the packet's state is read |
//! | 1 | the state is written; `free` |
//!
//! One event per cycle, and one cycle later for two of one packet. So a packet that no one puts is freed a cycle later than without this
//! block, and packets are freed at one per cycle. An event that frees a packet waits for `free`, and the others with it. After reset the
//! states are cleared, a cycle for each cell; no claim is taken meanwhile, and packets that are freed pass.
//!
//! **Shares.** The cells of packets with puts under way are counted, by context and all together. A context is *full* while its own cells
//! and those of all contexts are together three quarters of the buffer or more. So one context alone keeps 3/8 of the cells, two keep
//! a quarter each, n keep 3/4 of the buffer divided by n + 1 each: there is always room for another one. Each context is looked at
//! every 16 cycles, and the clusters see the result a few cycles later, so the limits are exceeded by the puts of up to 32 cycles.

use spindle_blocks::ram::LutRam;
use spindle_blocks::{LutFifo, RamStyle, SdpMemory};
use spindle_contract::memory_map::HANDLE_BITS;
use spindle_verilog::prelude::*;

/// Bits of the number of puts of a packet: those of the handles of two HPUs, and of ends on their way here.
const PUT_BITS: usize = HANDLE_BITS + 2;

/// What a packet keeps.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct PacketShare {
    /// Its context.
    pub context: Bits<4>,
    /// Its cells.
    pub cells: Bits<5>,
}

/// State of a packet.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Hold {
    /// Puts that are not over.
    pub puts: Bits<PUT_BITS>,
    /// Nothing else needs the packet.
    pub freed: Bit,
}

/// What happens to a packet.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct HoldEvent {
    /// The packet.
    pub pkt: Bits<10>,
    /// A put of it begins.
    pub claims: Bit,
    /// A put of it is over; else, without `claims`, nothing but puts needs it any more.
    pub ends: Bit,
}

/// See the head of this file.
#[block]
pub struct PacketHolds {
    /// A packet goes on to the scheduler.
    pub store: Signal<In, Bit>,
    /// That packet.
    pub store_pkt: Signal<In, Bits<10>>,
    /// What it keeps.
    pub store_share: Signal<In, PacketShare>,
    /// Packet of a put that begins.
    pub claim: Sink<Bits<10>>,
    /// Packet of a put that is over.
    pub ended: PulseSink<Bits<10>>,
    /// Packet that nothing else needs.
    pub freed: Sink<Bits<10>>,
    /// Packet whose cells return.
    pub free: Source<Bits<10>>,
    /// Contexts that may not claim.
    pub full: Signal<Out, Bits<16>>,
    shares: SdpMemory<PacketShare, 10>,
    holds: SdpMemory<Hold, 10>,
    /// Ends that wait; as many puts as there are handles can be under way.
    ends: LutFifo<Bits<10>, 8>,
    /// States that have been cleared.
    cleared: Reg<Bits<11>>,
    current: DFF<HoldEvent>,
    acts_now: Reg<Bit>,
    /// It was chosen before all states were cleared.
    early: Reg<Bit>,
    /// Cells of each context; the first copy is read for an event, the second for `full`.
    kept: LutRam<4, 11, 2>,
    all_kept: Reg<Bits<12>>,
    scan: Reg<Bits<4>>,
    full_now: Reg<Bits<16>>,
    _cells: u64,
    _most: u64,
}

impl PacketHolds {
    /// For packets of a buffer with `cells` cells.
    pub fn new(cells: usize) -> Self {
        Self {
            shares: SdpMemory::with_depth(RamStyle::sparing(cells), 1, cells),
            holds: SdpMemory::with_depth(RamStyle::sparing(cells), 1, cells),
            _cells: cells as u64,
            _most: cells as u64 / 4 * 3,
            ..Self::blank()
        }
    }
}

#[hdl]
impl PacketHolds {
    fn update(&mut self) {
        let clears = self.cleared.q.val() != bits::<11>(self._cells);
        self.cleared.load(clears, self.cleared.q.val() + 1);
        let moves = self.act(clears);
        self.choose(clears, moves);
        self.shares.write(self.store.val(), self.store_pkt.val(), self.store_share.val());
    }

    /// Chooses an event, and reads the state of its packet. One whose packet is at hand waits a cycle.
    fn choose(&mut self, clears: Bit, moves: Bit) {
        let at_hand = self.current.q.val().pkt;
        let acts = self.acts_now.q.val();
        self.ends.write.offer(self.ended.valid.val(), self.ended.val());
        let over = self.ends.read.val();
        let claim = self.claim.val();
        let freed = self.freed.val();
        let takes_end = moves & self.ends.read.valid.val() & !(acts & (over == at_hand));
        let takes_claim = moves & !clears & !takes_end & !(acts & (claim == at_hand));
        let claims = takes_claim & self.claim.valid.val();
        let takes_freed = moves & !takes_end & !claims & !(acts & (freed == at_hand));
        self.ends.read.ready.next = takes_end;
        self.claim.ready.next = takes_claim;
        self.freed.ready.next = takes_freed;
        let chosen = if takes_end {
            over
        } else if claims {
            claim
        } else {
            freed
        };
        self.holds.read(moves, chosen);
        self.shares.read(moves, chosen);
        if moves {
            self.current.d.next = HoldEvent { pkt: chosen, claims, ends: takes_end };
            self.acts_now.d.next = takes_end | claims | (takes_freed & self.freed.valid.val());
            self.early.d.next = clears;
        }
    }

    /// Carries the event out: state of the packet, cells that return or are kept. Returns whether the next event may come.
    fn act(&mut self, clears: Bit) -> Bit {
        let current = self.current.q.val();
        let acts = self.acts_now.q.val();
        let mut hold: Hold = self.holds.read_data.val();
        if self.early.q.val() {
            hold = Hold::default();
        }
        let is_last = current.ends & (hold.puts == 1);
        let frees = if current.ends { is_last & hold.freed } else { !current.claims & !hold.puts.any() };
        self.free.offer(acts & frees, current.pkt);
        let moves = !(acts & frees) | self.free.ready.val();
        let writes = acts & moves & (current.claims | current.ends | hold.puts.any());
        let after = Hold {
            puts: if current.claims {
                hold.puts + 1
            } else if current.ends {
                hold.puts - 1
            } else {
                hold.puts
            },
            freed: (hold.freed | (!current.claims & !current.ends)) & !frees,
        };
        self.holds.write_enable.next = writes | clears;
        self.holds.write_address.next = if clears { self.cleared.q.val().get_bits::<10>(0) } else { current.pkt };
        self.holds.write_data.next = if clears { Hold::default() } else { after };
        let begins = current.claims & !hold.puts.any();
        self.count(clears, acts & moves & begins, acts & moves & is_last);
        moves
    }

    /// Counts the cells that packets keep, and compares.
    fn count(&mut self, clears: Bit, begins: Bit, ends: Bit) {
        let share = self.shares.read_data.val();
        let cells = bit_cast::<12, 5>(share.cells);
        self.kept.read_address[0].next = share.context;
        let kept = self.kept.read_data[0].val();
        let more = kept + cells.get_bits::<11>(0);
        let less = kept - cells.get_bits::<11>(0);
        self.kept.write_enable.next = begins | ends | clears;
        self.kept.write_address.next = if clears { self.cleared.q.val().get_bits::<4>(0) } else { share.context };
        self.kept.write_data.next = if clears {
            bits::<11>(0)
        } else if begins {
            more
        } else {
            less
        };
        if begins {
            self.all_kept.d.next = self.all_kept.q.val() + cells;
        } else if ends {
            self.all_kept.d.next = self.all_kept.q.val() - cells;
        }

        let scan = self.scan.q.val();
        self.scan.d.next = scan + 1;
        self.kept.read_address[1].next = scan;
        let together = bit_cast::<12, 11>(self.kept.read_data[1].val()) + self.all_kept.q.val();
        let is_full = !clears & (together >= bits::<12>(self._most));
        let looked_at = bits::<16>(1) << scan;
        self.full_now.d.next = (self.full_now.q.val() & !looked_at) | (looked_at & repeat::<16>(is_full));
        self.full.next = self.full_now.q.val();
    }
}
