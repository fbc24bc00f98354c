//! The register page `global`: identity, configuration, the cycle counter and the list of blocks.
//!
//! Answers every address that no engine owns: its own registers, and `error` for the holes of the map, so that a driver
//! that probes never waits for a time-out. An answer comes in the cycle after the request.
//!
//! | neighbour | ports |
//! |---|---|
//! | register slave | `csr`, `csr_answer` |
//! | trace ring | `cycle`: cycles since reset, low half |
//! | interrupts | out `route` (pulse), `route_vector`; out `masks`; in `waiting` |
//!
//! RESET is served by the reset control.

use spindle_blocks::desc::{CsrRequest, CsrResponse};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_contract::registers::{self, global, BLOCKS};
use spindle_verilog::prelude::*;

/// Words of the block list that the page has room for.
const LIST_WORDS: usize = 4 * BLOCKS.len();

const LIST_START: u64 = global::BLOCK_LIST as u64;
const LIST_END: u64 = LIST_START + 4 * LIST_WORDS as u64;

/// The global page. See the module text.
#[block]
pub struct GlobalPage {
    /// Request, held until the answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// Cycles since reset, low half.
    pub cycle: Signal<Out, Bits<32>>,
    /// Process that gets another interrupt vector.
    pub route: Pulse<Bits<6>>,
    /// That vector.
    pub route_vector: Signal<Out, Bits<4>>,
    /// Causes that count of the card's own interrupt.
    pub masks: Signal<Out, Bits<2>>,
    /// Interrupts that are requested.
    pub waiting: Signal<In, Bits<VECTORS>>,
    answer: Reg<CsrResponse>,
    mask: Reg<Bits<2>>,
    cycle_lo: Reg<Bits<32>>,
    cycle_carry: Reg<Bit>,
    cycle_hi: Reg<Bits<32>>,
    latched_hi: Reg<Bits<32>>,
    scratch: Reg<Bits<32>>,
    word: Signal<Local, Bits<32>>,
    known: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    _hpus: u32,
    _tables: u32,
    _memories: u32,
    _clock_mhz: u32,
    _messages: u32,
    _processes: u32,
    list_word: Signal<Local, Bits<32>>,
    _blocks: u32,
    _list: [u64; LIST_WORDS],
}

impl GlobalPage {
    /// The page of a NIC of this configuration.
    pub fn new(config: &Config) -> Self {
        let mut list = [0u64; LIST_WORDS];
        for (words, block) in list.chunks_exact_mut(4).zip(registers::block_list(config)) {
            words.copy_from_slice(&block.map(u64::from));
        }
        Self {
            _hpus: global::Hpus::of(config).0,
            _tables: global::Tables::of(config).0,
            _memories: global::Memories::of(config).0,
            _clock_mhz: config.clock_mhz,
            _messages: config.live_messages as u32,
            _processes: config.processes as u32,
            _blocks: BLOCKS.len() as u32,
            _list: list,
            mask: Reg::new(bits::<2>(global::IrqCard::RESET.0)),
            ..Self::blank()
        }
    }

    /// The same with a reset at which the count of cycles begins at `cycle`, so that a test sees its high half change.
    pub fn starting_at(config: &Config, cycle: u64) -> Self {
        Self {
            cycle_lo: Reg::new(bits::<32>(cycle & 0xFFFF_FFFF)),
            cycle_hi: Reg::new(bits::<32>(cycle >> 32)),
            ..Self::new(config)
        }
    }
}

#[hdl]
impl GlobalPage {
    fn update(&mut self) {
        self.cycle_lo.d.next = self.cycle_lo.q.val() + 1;
        self.cycle.next = self.cycle_lo.q.val();
        // The carry takes a cycle of its own, so that no add is wider than 32 bits.
        self.cycle_carry.d.next = self.cycle_lo.q.val() == 0xFFFF_FFFE;
        self.cycle_hi.load(self.cycle_carry.q.val(), self.cycle_hi.q.val() + 1);

        let request = self.csr.val();
        let offset = request.addr.get_bits::<12>(0);
        let own_page = request.addr.get_bits::<8>(12) == 0;
        self.take.next = request.valid & !self.answer.q.val().ack;
        self.list_word.next = bits::<32>(0);
        for i in 0..LIST_WORDS {
            if offset == bits::<12>(LIST_START + 4 * i as u64) {
                self.list_word.next = bits::<32>(self._list[i]);
            }
        }
        self.word.next = bits::<32>(0);
        self.known.next = own_page;
        match offset.to_u32() {
            global::MAGIC => self.word.next = bits::<32>(registers::MAGIC),
            global::VERSION => self.word.next = bits::<32>(spindle_contract::VERSION),
            global::HPUS => self.word.next = bits::<32>(self._hpus),
            global::TABLES => self.word.next = bits::<32>(self._tables),
            global::MEMORIES => self.word.next = bits::<32>(self._memories),
            global::CLOCK_MHZ => self.word.next = bits::<32>(self._clock_mhz),
            global::CYCLE_LO => self.word.next = self.cycle_lo.q.val(),
            global::CYCLE_HI => self.word.next = self.latched_hi.q.val(),
            global::SCRATCH => self.word.next = self.scratch.q.val(),
            // Without a word to read.
            global::IRQ_MAP => {}
            global::IRQ_CARD => self.word.next = bit_cast::<32, 2>(self.mask.q.val()),
            global::IRQ_WAITING => self.word.next = bit_cast::<32, VECTORS>(self.waiting.val()),
            global::LIVE_MESSAGES => self.word.next = bits::<32>(self._messages),
            global::PROCESSES => self.word.next = bits::<32>(self._processes),
            global::BLOCKS => self.word.next = bits::<32>(self._blocks),
            // No shell: a shell answers in place of the page.
            global::SHELL => {}
            _ => self.known.next = false,
        }
        if (offset >= bits::<12>(LIST_START)) & (offset < bits::<12>(LIST_END)) {
            self.word.next = self.list_word.val();
            self.known.next = own_page;
        }

        if self.take.val() & own_page & !request.write & (offset == bits::<12>(global::CYCLE_LO)) {
            self.latched_hi.d.next = self.cycle_hi.q.val();
        }
        if self.take.val() & own_page & request.write & (offset == bits::<12>(global::SCRATCH)) {
            self.scratch.d.next = request.wdata;
        }
        let writes = self.take.val() & own_page & request.write;
        self.mask.load(writes & (offset == bits::<12>(global::IRQ_CARD)), request.wdata.get_bits::<2>(0));
        self.masks.next = self.mask.q.val();
        self.route.offer(writes & (offset == bits::<12>(global::IRQ_MAP)), request.wdata.get_bits::<6>(8));
        self.route_vector.next = request.wdata.get_bits::<4>(0);
        self.answer.d.next =
            CsrResponse { ack: self.take.val(), error: self.take.val() & !self.known.val(), rdata: bits::<32>(0) };
        if self.take.val() & self.known.val() {
            self.answer.d.next.rdata = self.word.val();
        }
        self.csr_answer.next = self.answer.q.val();
    }
}
