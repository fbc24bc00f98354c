//! Stash of the mailbox table: a new mailbox enters here and moves to a place of the table, for which other mailboxes
//! may have to move.
//!
//! | neighbour | ports |
//! |---|---|
//! | mailbox table, commands | in `insert`, `entry` (only while `room_now`); in `remove`, `removed` (pulse) |
//! | mailbox table, commands | out `next_number`, `full`, `busy`, `fresh` |
//! | mailbox table, look-ups | out `held`, `held_open`: compared by every look-up |
//! | mailbox table, ways | out `fetch_ways`: read the places of `held[0]`; in `sets` after 1 cycle, `way_entries` after 3 |
//! | mailbox table, ways | out `write`, `write_way`, `write_set`, `write_entry` |
//!
//! The oldest entry checks its place in each way. If a place is free, the entry goes there; else it evicts a mailbox
//! chosen at random, which enters the stash first. So no mailbox is ever missing: it is written to its new place before
//! it leaves the stash, and stays two cycles longer, for look-ups that have read the ways and will compare the stash. A
//! move takes nine cycles; in one of them the table takes no request.
//!
//! After 512 moves without an end the stash rests until the table changes: its entries have most likely no place.
//! Three resting entries leave no room for a new mailbox.
//!
//! The number of a mailbox is not its place. Numbers that were given back go out first; they are chained through the
//! RAM of the mailboxes' places. A mailbox that is removed is erased in the table or in the stash, which takes up to
//! fifteen cycles; then its number is free.

use crate::lookup::mailbox_table::WAYS;
use crate::prelude::*;

/// Moves after which the stash rests.
const MOVES: u64 = 512;
/// First word of the random numbers.
const SEED: u64 = 1;

/// A mailbox in a place of the table or in the stash.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Way {
    /// The place holds a mailbox.
    pub open: Bit,
    /// Process.
    pub pid: Bits<6>,
    /// Mailbox address.
    pub addr: Bits<64>,
    /// Mailbox number.
    pub number: Bits<12>,
}

/// States of the stash.
#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
pub enum StashState {
    /// Waits for a change.
    Rest,
    /// The places of the oldest entry are requested.
    FetchWays,
    /// The sets arrive.
    Read,
    /// The places are being read.
    Fetch,
    /// Chooses a place.
    Choose,
    /// The evicted mailbox enters the stash.
    Admit,
    /// The entry is written to its place.
    Write,
    /// Waits for look-ups that read the place before the write.
    Linger,
    /// The entry leaves the stash.
    Leave,
    /// Reads the place of the mailbox that is removed.
    Locate,
    /// Erases that mailbox.
    Erase,
    /// Reads the free number after the next one.
    Chain,
    /// The free number has been read.
    Link,
}

/// The stash. See the module text.
#[block]
pub struct Stash {
    /// A mailbox is opened.
    pub insert: Signal<In, Bit>,
    /// With `insert`: the mailbox.
    pub entry: Signal<In, Way>,
    /// `insert` is possible in this cycle.
    pub room_now: Signal<Out, Bit>,
    /// A mailbox is removed.
    pub remove: Signal<In, Bit>,
    /// With `remove`: its number.
    pub removed: Signal<In, Bits<12>>,
    /// Number of the next mailbox.
    pub next_number: Signal<Out, Bits<12>>,
    /// No number, or no room.
    pub full: Signal<Out, Bit>,
    /// Entries move: there may be room soon.
    pub busy: Signal<Out, Bit>,
    /// Numbers below this one have been given out.
    pub fresh: Signal<Out, Bits<13>>,
    /// Mailboxes in the stash, the oldest first.
    pub held: [Signal<Out, Way>; WAYS],
    /// `held[i]` is a mailbox.
    pub held_open: [Signal<Out, Bit>; WAYS],
    /// Read the places of `held[0]`.
    pub fetch_ways: Signal<Out, Bit>,
    /// Set of each place.
    pub sets: [Signal<In, Bits<10>>; WAYS],
    /// Content of each place.
    pub way_entries: [Signal<In, Way>; WAYS],
    /// Write a place.
    pub write: Signal<Out, Bit>,
    /// Way of that place.
    pub write_way: Signal<Out, Bits<2>>,
    /// Set of that place.
    pub write_set: Signal<Out, Bits<10>>,
    /// Content of that place.
    pub write_entry: Signal<Out, Way>,
    entries: [DFF<Way>; WAYS],
    opens: [Reg<Bit>; WAYS],
    state: Reg<StashState>,
    targets: [DFF<Bits<10>>; WAYS],
    way: DFF<Bits<2>>,
    swaps: DFF<Bit>,
    evicted: DFF<Way>,
    moves: Reg<Bits<10>>,
    random: Reg<Bits<7>>,
    /// Place of each mailbox; of a free number: the next number of the chain.
    locations: SdpMemory<Bits<12>, 12>,
    removing: Reg<Bit>,
    removed_number: DFF<Bits<12>>,
    /// Numbers given out for the first time.
    used: Reg<Bits<13>>,
    /// First and second number of the chain of free numbers.
    chain: DFF<Bits<12>>,
    chain_next: DFF<Bits<12>>,
    chained: Reg<Bits<13>>,
    /// `chain_next` has to be read.
    relinks: Reg<Bit>,
    matches: [Signal<Local, Bit>; WAYS],
    stays: [Signal<Local, Bit>; WAYS],
    sinks: [Signal<Local, Bit>; WAYS],
    admits: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    erases: Signal<Local, Bit>,
    _numbers: u64,
}

impl Stash {
    /// The stash of a table of `mailboxes` places.
    pub fn new(mailboxes: usize) -> Self {
        Self {
            locations: SdpMemory::with_depth(RamStyle::by_size(mailboxes, 12), 1, mailboxes),
            random: Reg::new(bits::<7>(SEED)),
            _numbers: mailboxes as u64,
            ..Self::blank()
        }
    }
}

#[hdl]
impl Stash {
    fn update(&mut self) {
        let state = self.state.q.val();
        let insert = self.insert.val();
        self.admits.next = (state == StashState::Admit) & !self.opens[3].q.val() & !insert;
        self.writes.next = state == StashState::Write;
        self.erases.next = state == StashState::Erase;

        self.sink();
        self.write_place();
        self.step();
    }

    /// The entries sink to the lowest free position; new ones enter at the top.
    fn sink(&mut self) {
        let insert = self.insert.val();
        for i in 0..WAYS {
            self.matches[i].next =
                self.opens[i].q.val() & (self.entries[i].q.val().number == self.removed_number.q.val());
            self.stays[i].next = self.opens[i].q.val() & !(self.erases.val() & self.matches[i].val());
            self.held[i].next = self.entries[i].q.val();
            self.held_open[i].next = self.opens[i].q.val();
        }
        self.sinks[0].next = self.state.q.val() == StashState::Leave;
        for i in 1..WAYS {
            self.sinks[i].next = self.opens[i].q.val() & !self.opens[i - 1].q.val();
        }
        for i in 0..3 {
            if self.sinks[i + 1].val() {
                self.opens[i].d.next = self.stays[i + 1].val();
                self.entries[i].d.next = self.entries[i + 1].q.val();
            } else {
                self.opens[i].d.next = self.stays[i].val() & !self.sinks[i].val();
            }
        }
        let enters = insert | self.admits.val();
        self.opens[3].d.next = enters | (self.stays[3].val() & !self.sinks[3].val());
        self.entries[3].load(enters, if insert { self.entry.val() } else { self.evicted.q.val() });
        self.room_now.next = !self.opens[3].q.val();
    }

    /// Number of the next mailbox, room for it, and the sequencer.
    fn step(&mut self) {
        let state = self.state.q.val();
        let top_open = self.opens[3].q.val();
        let any = self.chained.q.val().any();
        let fresh = self.used.q.val();
        self.next_number.next = if any { self.chain.q.val() } else { fresh.get_bits::<12>(0) };
        self.fresh.next = fresh;
        let low = self.opens[0].q.val() & self.opens[1].q.val();
        let high = self.opens[2].q.val() & top_open;
        let crowded =
            (low & (self.opens[2].q.val() | top_open)) | (high & (self.opens[0].q.val() | self.opens[1].q.val()));
        self.full.next = crowded | (!any & (fresh == bits::<13>(self._numbers)));
        let tries = self.opens[0].q.val() & !self.moves.q.val().get_bit(9);
        self.busy.next = (state != StashState::Rest) | self.removing.q.val() | self.opens[0].q.val() & tries;

        self.fetch_ways.next = self.state.q.val() == StashState::FetchWays;
        match self.state.q.val() {
            StashState::Rest => {
                if self.removing.q.val() {
                    self.state.d.next = StashState::Locate;
                } else if self.relinks.q.val() {
                    self.state.d.next = StashState::Chain;
                } else if tries {
                    self.state.d.next = StashState::FetchWays;
                }
            }
            StashState::FetchWays => self.state.d.next = StashState::Read,
            StashState::Read => {
                for i in 0..WAYS {
                    self.targets[i].d.next = self.sets[i].val();
                }
                self.state.d.next = StashState::Fetch;
            }
            StashState::Fetch => {
                let random = self.random.q.val();
                self.random.d.next = (random.get_bits::<6>(0), random.get_bit(6) ^ random.get_bit(5)).cat::<7>();
                self.state.d.next = StashState::Choose;
            }
            StashState::Choose => self.choose(),
            StashState::Admit => {
                if self.admits.val() {
                    self.moves.d.next = self.moves.q.val() + 1;
                    self.state.d.next = StashState::Write;
                } else if low & high {
                    self.state.d.next = StashState::Rest;
                    self.moves.d.next = bits::<10>(MOVES);
                }
            }
            StashState::Write => self.state.d.next = StashState::Linger,
            StashState::Linger => self.state.d.next = StashState::Leave,
            StashState::Locate => self.state.d.next = StashState::Erase,
            StashState::Erase => {
                self.removing.d.next = false;
                self.moves.d.next = bits::<10>(0);
                self.chain_next.d.next = self.chain.q.val();
                self.chain.d.next = self.removed_number.q.val();
                self.chained.d.next = self.chained.q.val() + 1;
                self.state.d.next = StashState::Rest;
            }
            StashState::Chain => self.state.d.next = StashState::Link,
            StashState::Link => {
                self.chain_next.d.next = self.locations.read_data.val();
                self.relinks.d.next = false;
                self.state.d.next = StashState::Rest;
            }
            _ => self.state.d.next = StashState::Rest,
        }
        if self.remove.val() {
            self.removing.d.next = true;
            self.removed_number.d.next = self.removed.val();
        }
        if self.insert.val() {
            self.moves.d.next = bits::<10>(0);
            if any {
                self.chain.d.next = self.chain_next.q.val();
                self.chained.d.next = self.chained.q.val() - 1;
                self.relinks.d.next = true;
            } else {
                self.used.d.next = fresh + 1;
            }
        }
    }

    /// Writes a place. A look-up that reads the place in the cycle of the write finds the entry in the stash.
    fn write_place(&mut self) {
        let state = self.state.q.val();
        self.locations.read_enable.next = (state == StashState::Locate) | (state == StashState::Chain);
        self.locations.read_address.next =
            if state == StashState::Locate { self.removed_number.q.val() } else { self.chain.q.val() };
        let location = self.locations.read_data.val();
        let oldest = self.entries[0].q.val();
        let in_stash = self.matches[0].val() | self.matches[1].val() | self.matches[2].val() | self.matches[3].val();
        self.locations.write(self.writes.val() | self.erases.val(), self.removed_number.q.val(), self.chain.q.val());
        self.write.next = self.writes.val() | (self.erases.val() & !in_stash);
        self.write_way.next = location.get_bits::<2>(0);
        self.write_set.next = location.get_bits::<10>(2);
        self.write_entry.next = oldest;
        self.write_entry.next.open = self.writes.val();
        if self.writes.val() {
            let way = self.way.q.val();
            let set = select(
                way,
                [self.targets[0].q.val(), self.targets[1].q.val(), self.targets[2].q.val(), self.targets[3].q.val()],
            );
            self.write_way.next = way;
            self.write_set.next = set;
            self.locations.write_address.next = oldest.number;
            self.locations.write_data.next = (set, way).cat::<12>();
        }
    }

    /// Chooses a free way, or a way at random whose mailbox is evicted.
    fn choose(&mut self) {
        let taken = (
            self.way_entries[3].val().open,
            self.way_entries[2].val().open,
            self.way_entries[1].val().open,
            self.way_entries[0].val().open,
        )
            .cat::<4>();
        let any_way = (self.random.q.val().get_bit(3), self.random.q.val().get_bit(0)).cat::<2>();
        self.evicted.d.next = select(
            any_way,
            [
                self.way_entries[0].val(),
                self.way_entries[1].val(),
                self.way_entries[2].val(),
                self.way_entries[3].val(),
            ],
        );
        self.way.d.next = if !taken.all() { first_set(!taken) } else { any_way };
        self.state.d.next = if !taken.all() { StashState::Write } else { StashState::Admit };
    }
}
