//! L1 of a cluster: 64 KiB of packet slots, stacks, scratchpads and task pages; 64 bytes wide for packets, a word at a
//! time for HPUs.
//!
//! | neighbour | ports |
//! |---|---|
//! | HPUs | `word[2h + p]`: half port p of HPU h; p = 1: words with bit 2 of the address set |
//! | | `stores`: an access of this half port may be a write |
//! | read DMA | in `wide`: the next cycle's read is announced by `next` and `next_odd` |
//! | | out `wide_data[g]`: the beat of group g, from two cycles after its read until two cycles after the next one's |
//! | | `combined`: beats that a COMBINE writes; taken in the second cycle at the latest |
//! | loader | in `packet_write`, `packet_beat`, `packet_data` / out `packet_room[g]`: a beat of this group is taken |
//! | | in `page`, `page_low`, `page_high`; in `scrub` |
//! | host writer | `host`: bytes of host memory, and of L2 for the stage |
//! | atomic unit | in `guest`: an access to the one super-bank that it locks, always granted |
//! | | without `guest_valid` all but its row is zero |
//! | | in `lock`; out `shared_write`; the word read is `word_data` of HPU 0 |
//!
//! 32 banks of 512 words. Address bits 4:2 name one of eight [super-banks](SuperBank), each with one word port; bits
//! 6:5 one of its four banks, bits 15:7 the row. Bit 6 is also the group on the wide side: a beat (address bits 15:6)
//! is a row of all 16 banks of a group.
//!
//! **Word side.** Every super-bank serves one HPU per cycle, round robin; an access that crosses a word takes both half
//! ports at once, which lie in different super-banks. Worst case: the other HPUs first, one cycle each (see
//! [`SuperBank`]); while an atomic uses the super-bank no HPU is granted.
//!
//! **Stores.** Stored words reach the super-banks on two lanes, one for even and one for odd words, so that no
//! super-bank has a multiplexer for the words of all HPUs, and bytes are moved to their lanes after that choice. Each
//! lane has one HPU as owner, and only its stores are granted. Ownership goes round among the HPUs that announce a
//! store by `stores`, which comes early; an owner whose store the super-bank refused keeps the lane until the store is
//! granted. Worst case: the other HPUs first, each for as long as a super-bank delays it.
//!
//! The atomic unit has no port of its own at the banks: it is a guest at the half ports of HPU 0, which gets no grant
//! in the two cycles in which an atomic reads and writes, and keeps its turn; no HPU stores in these cycles.
//!
//! **Wide side.** Writes go through one register, one beat per cycle, and are carried out in the next cycle: COMBINE,
//! then packets and the host, then pages, then scrubs. Of packets and host, each has every cycle while the other has
//! none; else the host writes four beats, then a packet one: packets wait in a queue that holds all beats of one, while the
//! host's beats come faster than a packet's and end commands. The host loses a cycle before its first beat, a packet one after
//! the host's last. A
//! COMBINE writes in every other cycle at most. The read DMA reads with priority, and announces its group a cycle before:
//! L1 stalls a write if the read DMA reads the same group in the next cycle, but only once: the next write is taken, and
//! a second read of that group in a row is refused. Read DMA and loader alternate between the groups, so both continue at
//! one beat per cycle, and no frame gets a gap. The beats stay in the output registers of the banks, since the read DMA
//! alone reads on this side. The strobes of a group are a register of its own, zero in all other cycles, that goes to the
//! banks directly.

use crate::array::rr_arbiter4::RrArbiter4;
use crate::bundles::{BeatWriteSink, PageWriteSink, ScrubSink, WideReadSink};
use crate::cluster::super_bank::SuperBank;
use crate::processor::bundles::WordPortSink;
use crate::processor::byte_lanes::StoreLanes;
use crate::processor::types::WordRequest;
use spindle_blocks::replicate;
use spindle_verilog::prelude::*;

const REQUEST_BITS: usize = WordRequest::BITS;
/// Beats of the host in its turn, while a packet waits.
const HOST_BEATS: u64 = 4;

/// The memory. See the module text.
#[block]
pub struct L1 {
    /// Word accesses: half port p of HPU h is 2h + p.
    pub word: Vec<WordPortSink>,
    /// Beats that the read DMA reads.
    pub wide: WideReadSink,
    /// The beat of each group that it read last.
    pub wide_data: [Signal<Out, Bits<512>>; 2],
    /// Beats that a COMBINE writes.
    pub combined: BeatWriteSink,
    /// Write a beat of a packet.
    pub packet_write: Signal<In, Bit>,
    /// Beat of L1.
    pub packet_beat: Signal<In, Bits<10>>,
    /// The beat.
    pub packet_data: Signal<In, Bits<512>>,
    /// A packet beat of this group is taken; does not depend on what is offered.
    pub packet_room: [Signal<Out, Bit>; 2],
    /// Bytes of the host.
    pub host: BeatWriteSink,
    /// Halves of task pages.
    pub page: PageWriteSink,
    /// First half of the task page.
    pub page_low: Signal<In, Bits<512>>,
    /// Second half.
    pub page_high: Signal<In, Bits<512>>,
    /// Beats that are zeroed.
    pub scrub: ScrubSink,
    /// Access of the atomic unit; all but the row is zero without `guest_valid`.
    pub guest: PulseSink<WordRequest>,
    /// Super-banks that grant the atomic unit alone.
    pub lock: Signal<In, Bits<8>>,
    /// Super-banks that granted a write to a scratchpad in the cycle before.
    pub shared_write: Signal<Out, Bits<8>>,
    super_banks: Vec<SuperBank>,
    /// The write that is carried out.
    pending: Reg<Bit>,
    beat: DFF<Bits<10>>,
    data: DFF<Bits<512>>,
    /// Bytes that are written in each group.
    keep: [Reg<Bits<64>>; 2],
    /// Bytes of the host may be written, not a packet: a register, so that no path leads from the offer of one to the
    /// ready of the other.
    host_turn: Reg<Bit>,
    /// Beats that the host has written in its turn, modulo [`HOST_BEATS`].
    host_beats: Reg<Bits<2>>,
    /// A write was held up by the read DMA in the cycle before,
    late: Reg<Bit>,
    /// and was taken nevertheless.
    forced: Reg<Bit>,
    /// Groups that the read DMA reads.
    fetched: [Reg<Bit>; 2],
    /// Rows of the half ports, those of HPU 0 maybe of the atomic unit.
    rows: Vec<Signal<Local, Bits<13>>>,
    /// Owners of the store lanes of even and odd words.
    lanes: [RrArbiter4; 2],
    /// Moves the owner's bytes to their lanes.
    store_lanes: [StoreLanes; 2],
    /// The owner's store was refused in the cycle before.
    refused: [Reg<Bit>; 2],
    /// That owner.
    owner: [DFF<Bits<3>>; 2],
    columns: [DFF<Bits<2>>; 16],
    columns_read: [DFF<Bits<2>>; 16],
    _hpus: usize,
    /// The highest number that an HPU may have, so that no bits of owners are kept that are always zero.
    _highest: u64,
}

impl L1 {
    /// For `hpus` HPUs, 1 to 8.
    pub fn new(hpus: usize) -> Self {
        Self {
            word: replicate(2 * hpus),
            rows: replicate(2 * hpus),
            super_banks: (0..8).map(|_| SuperBank::new(hpus)).collect(),
            _hpus: hpus,
            _highest: hpus.next_power_of_two() as u64 - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl L1 {
    fn update(&mut self) {
        let guest = self.guest.valid.val();
        let written = self.beat.q.val().get_bit(0);
        self.grant_wide_read(written);
        self.take_write();
        self.join_wide_side(guest, written);
        // The half ports. Column c of half port p is super-bank 2c + p.
        for h in 0..self._hpus {
            for p in 0..2 {
                self.rows[2 * h + p].next = self.word[2 * h + p].val().row;
                if h == 0 {
                    if guest {
                        self.rows[p].next = self.guest.val().row;
                    }
                }
            }
        }
        for p in 0..2 {
            // The store lane.
            let mut announced: Bits<8> = bits::<8>(0);
            for h in 0..self._hpus {
                announced = announced.replace_bit(h, self.word[2 * h + p].stores.val());
            }
            self.lanes[p].request.next = announced;
            self.lanes[p].accept.next = !self.refused[p].q.val() & !guest;
            let owner = if guest {
                bits::<3>(0)
            } else if self.refused[p].q.val() {
                self.owner[p].q.val()
            } else {
                self.lanes[p].index.val()
            };
            let owner = owner & bits::<3>(self._highest);
            // What the guest writes is zero without a guest.
            let mut owned: Bits<REQUEST_BITS> = pack(self.guest.val());
            let mut requests: Bit = false;
            for h in 0..self._hpus {
                let is_owner = owner == bits::<3>(h);
                owned = owned | (pack(self.word[2 * h + p].val()) & repeat::<REQUEST_BITS>(is_owner & !guest));
                requests = requests | (self.word[2 * h + p].valid.val() & is_owner);
            }
            let lane = unpack::<WordRequest, REQUEST_BITS>(owned);
            self.store_lanes[p].data.next = lane.data;
            self.store_lanes[p].offset.next = lane.offset;
            self.store_lanes[p].size_less_one.next = lane.size_less_one;
            let strobe = if !lane.write {
                bits::<4>(0)
            } else if p == 0 {
                self.store_lanes[p].even_strobe.val()
            } else {
                self.store_lanes[p].odd_strobe.val()
            };
            let mut stored: Bit = false;
            for h in 0..self._hpus {
                let row = self.rows[2 * h + p].val();
                let column = row.get_bits::<2>(0);
                let writes = self.word[2 * h + p].val().write;
                let is_owner = owner == bits::<3>(h);
                let wants = self.word[2 * h + p].valid.val() & (is_owner | !writes);
                let mut granted: Bit = false;
                for c in 0..4 {
                    self.super_banks[2 * c + p].row[h].next = row;
                    self.super_banks[2 * c + p].wants[h].next = wants & (column == bits::<2>(c));
                    granted = granted | self.super_banks[2 * c + p].grant[h].val();
                }
                self.word[2 * h + p].grant.next = granted;
                if h == 0 {
                    self.word[p].grant.next = granted & !guest;
                }
                self.columns[2 * h + p].d.next = column;
                self.columns_read[2 * h + p].d.next = self.columns[2 * h + p].q.val();
                self.word[2 * h + p].data.next = match self.columns_read[2 * h + p].q.val().index() {
                    0 => self.super_banks[p].data.val(),
                    1 => self.super_banks[2 + p].data.val(),
                    2 => self.super_banks[4 + p].data.val(),
                    _ => self.super_banks[6 + p].data.val(),
                };
            }
            for c in 0..4 {
                stored = stored | self.super_banks[2 * c + p].stored.val();
                self.super_banks[2 * c + p].owner.next = owner;
                self.super_banks[2 * c + p].strobe.next = strobe;
                self.super_banks[2 * c + p].write.next = self.store_lanes[p].rotated.val();
                self.super_banks[2 * c + p].shared.next = lane.shared & lane.write;
            }
            // A guest leaves the lane as it is.
            if !guest {
                self.refused[p].d.next = requests & lane.write & !stored;
                self.owner[p].d.next = owner;
            }
        }
    }

    /// Grants the read DMA, unless a write of its group was held up for it twice.
    fn grant_wide_read(&mut self, written: Bit) {
        let read_group = self.wide.beat.val().get_bit(0);
        let held_up = self.forced.q.val() & (read_group == written);
        let moves = self.wide.read.val() & !held_up;
        self.wide.ready.next = !held_up;
        self.fetched[0].d.next = moves & !read_group;
        self.fetched[1].d.next = moves & read_group;
    }

    /// Takes a write of the wide side: COMBINE before packet and host before page before scrub.
    fn take_write(&mut self) {
        // The register of the writes: two LUTs per bit choose one of five sources; a scrub is zero.
        let blocks = self.wide.next.val() & !self.late.q.val();
        let combined = self.combined.write.val();
        let packet_waits = combined | self.host_turn.q.val();
        let host_waits = combined | !self.host_turn.q.val();
        let packet = self.packet_write.val() & !packet_waits;
        let host = self.host.write.val() & !host_waits;
        let others = !combined & !packet & !host;
        let page = self.page.write.val() & others;
        let scrub = self.scrub.write.val() & others & !page;
        let even_room = !(blocks & !self.wide.next_odd.val());
        let odd_room = !(blocks & self.wide.next_odd.val());
        let combined_room = if self.combined.beat.val().get_bit(0) { odd_room } else { even_room };
        let host_room = if self.host.beat.val().get_bit(0) { odd_room } else { even_room };
        let packet_room = if self.packet_beat.val().get_bit(0) { odd_room } else { even_room };
        let page_room = if self.page.beat.val().get_bit(0) { odd_room } else { even_room };
        let scrub_room = if self.scrub.beat.val().get_bit(0) { odd_room } else { even_room };
        self.combined.ready.next = combined_room;
        self.host.ready.next = host_room & !host_waits;
        self.packet_room[0].next = even_room & !packet_waits;
        self.packet_room[1].next = odd_room & !packet_waits;
        // A turn ends without an offer; that of a packet with a write, that of the host with its last beat if there is a packet.
        if self.host_turn.q.val() {
            let stays = !host | !host_room | (self.host_beats.q.val() != HOST_BEATS - 1) | !self.packet_write.val();
            self.host_turn.d.next = self.host.write.val() & stays;
            self.host_beats.load(host & host_room, self.host_beats.q.val() + 1);
        } else {
            self.host_beats.d.next = bits::<2>(0);
            let kept = self.packet_write.val() & (packet_waits | !packet_room);
            self.host_turn.d.next = !kept & self.host.write.val();
        }
        self.page.ready.next = page_room & others;
        self.scrub.ready.next = scrub_room & others & !page;
        let takes = (combined & combined_room)
            | (packet & packet_room)
            | (host & host_room)
            | (page & page_room)
            | (scrub & scrub_room);
        self.pending.d.next = takes;
        self.late.d.next = (combined | packet | host | page | scrub) & !takes;
        self.forced.d.next = takes & self.late.q.val();
        let next_beat = if combined {
            self.combined.beat.val()
        } else if packet {
            self.packet_beat.val()
        } else if host {
            self.host.beat.val()
        } else if page {
            self.page.beat.val()
        } else {
            self.scrub.beat.val()
        };
        self.beat.d.next = next_beat;
        for g in 0..2 {
            self.keep[g].reset.next = self.reset.val() | !takes | (next_beat.get_bit(0) != (g == 1));
            self.keep[g].d.next = if combined {
                self.combined.keep.val()
            } else if host {
                self.host.keep.val()
            } else {
                repeat::<64>(true)
            };
        }
        self.data.d.next = if combined {
            self.combined.data.val()
        } else if packet {
            self.packet_data.val()
        } else if host {
            self.host.data.val()
        } else if !page {
            bits::<512>(0)
        } else if self.page.half.val() {
            self.page_high.val()
        } else {
            self.page_low.val()
        };
    }

    /// Joins the super-banks with the wide side: word w of a beat lies in super-bank w[2:0], half w[3].
    fn join_wide_side(&mut self, guest: Bit, written: Bit) {
        // The super-banks. Word w of a beat lies in super-bank w[2:0], half w[3].
        let mut even: Bits<512> = bits::<512>(0);
        let mut odd: Bits<512> = bits::<512>(0);
        let mut shared: Bits<8> = bits::<8>(0);
        for s in 0..8 {
            self.super_banks[s].lock.next = self.lock.val().get_bit(s);
            self.super_banks[s].guest.next = guest;
            shared = shared.replace_bit(s, self.super_banks[s].shared_write.val());
            self.super_banks[s].wide_write.next =
                (self.data.q.val().get_bits::<32>(32 * (s + 8)), self.data.q.val().get_bits::<32>(32 * s)).cat::<64>();
            for g in 0..2 {
                let keep = self.keep[g].q.val();
                let write = self.pending.q.val() & (written == (g == 1));
                self.super_banks[s].wide_advance[g].next = self.fetched[g].q.val();
                self.super_banks[s].wide_strobe[g].next =
                    (keep.get_bits::<4>(4 * (s + 8)), keep.get_bits::<4>(4 * s)).cat::<8>();
                self.super_banks[s].wide_row[g].next =
                    if write { self.beat.q.val().get_bits::<9>(1) } else { self.wide.beat.val().get_bits::<9>(1) };
            }
            let words = self.super_banks[s].wide_read[0].val();
            even = even
                | (bit_cast::<512, 32>(words.get_bits::<32>(0)) << bits::<10>(32 * s as u64))
                | (bit_cast::<512, 32>(words.get_bits::<32>(32)) << bits::<10>(32 * (s + 8) as u64));
            let odd_words = self.super_banks[s].wide_read[1].val();
            odd = odd
                | (bit_cast::<512, 32>(odd_words.get_bits::<32>(0)) << bits::<10>(32 * s as u64))
                | (bit_cast::<512, 32>(odd_words.get_bits::<32>(32)) << bits::<10>(32 * (s + 8) as u64));
        }
        self.shared_write.next = shared;
        self.wide_data[0].next = even;
        self.wide_data[1].next = odd;
    }
}
