//! The register page `shell` (contract, `registers::shell`): what was built, the state of the links, what the shell counts.
//!
//! | neighbour | ports |
//! |---|---|
//! | BAR bridge | `csr`, `csr_answer`: an answer comes in the cycle after the request; in `silent` |
//! | DNA reader | in `dna`, `dna_valid` |
//! | XDMA | in `link_up`, `ltssm`, `msix_enable` |
//! | host bridge | in `refused`, `abandoned` |
//! | interrupts | in `vectors_set`, `vectors_failed`, `irq_pending` |
//! | MACs | in `mac`: [`MacState`] of each |
//! | LEDs | out `identify` |
//!
//! All inputs are of the clock of the core; levels of the XDMA and of interrupts may also be of a clock with common edges. The
//! page answers two addresses: its own page, and the word `global.SHELL`, which reads its address. The values are those of
//! the cycle before the answer; counts wrap at 2^32. Unknown registers, and writes of registers that are read only, are
//! answered with an error.

use super::link::MacState;
use spindle_blocks::{CsrRequest, CsrResponse, ShellPage, ShellStatus};
use spindle_contract::pci::{Board, VECTORS};
use spindle_contract::registers::shell::{Build, MacRate};
use spindle_contract::registers::{shell, PAGE, SHELL_MACS, SHELL_REVISION};
use spindle_verilog::prelude::*;

/// Number of the page.
const PAGE_NUMBER: u64 = (shell::BASE / PAGE) as u64;

/// What a shell says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Built {
    /// Number of the board, [`Board::number`].
    pub board: u16,
    /// Words of the commit's hash, the first digits in the first word.
    pub git: [u32; 5],
    /// Options.
    pub build: Build,
    /// Rate of a MAC in Gbit/s.
    pub gbps: u16,
}

impl Built {
    /// A shell of a board, of the commit with this hash of 40 hexadecimal digits.
    ///
    /// # Errors
    /// The hash has another form.
    pub fn new(board: &Board, commit: &str, build: Build, gbps: u16) -> Result<Self, String> {
        let digits = commit.len() == 40 && commit.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !digits {
            return Err(format!("`{commit}` is no commit; give its hash of 40 hexadecimal digits"));
        }
        let mut git = [0; 5];
        for (word, digits) in git.iter_mut().zip(commit.as_bytes().chunks(8)) {
            let digits = std::str::from_utf8(digits).map_err(|error| error.to_string())?;
            *word = u32::from_str_radix(digits, 16).map_err(|error| error.to_string())?;
        }
        Ok(Self { board: board.number, git, build, gbps })
    }
}

/// The page. See the module text.
#[block(no_default)]
pub struct Identity {
    /// Access, held until its answer.
    pub csr: Signal<In, CsrRequest>,
    /// Answer, one cycle.
    pub csr_answer: Signal<Out, CsrResponse>,
    /// The BAR bridge ended an access.
    pub silent: Signal<In, Bit>,
    /// DNA of the device.
    pub dna: Signal<In, Bits<96>>,
    /// It was read.
    pub dna_valid: Signal<In, Bit>,
    /// The PCIe link is up.
    pub link_up: Signal<In, Bit>,
    /// Its state.
    pub ltssm: Signal<In, Bits<6>>,
    /// The host has enabled MSI-X.
    pub msix_enable: Signal<In, Bit>,
    /// Bursts that the host bridge refused: write, read.
    pub refused: Signal<In, Bits<2>>,
    /// Bursts that it gave up.
    pub abandoned: Signal<In, Bits<2>>,
    /// The vector map stands.
    pub vectors_set: Signal<In, Bit>,
    /// It does not.
    pub vectors_failed: Signal<In, Bit>,
    /// Requests on their way.
    pub irq_pending: Signal<In, Bits<VECTORS>>,
    /// The MACs.
    pub mac: [Signal<In, MacState>; SHELL_MACS],
    /// The LEDs are to blink.
    pub identify: Signal<Out, Bit>,
    page: ShellPage,
    answer: Reg<CsrResponse>,
    was_up: Reg<Bit>,
    refusals: Reg<Bits<32>>,
    abandonments: Reg<Bits<32>>,
    silences: Reg<Bits<32>>,
    losses: Reg<Bits<32>>,
    _board: u64,
    _git: [u64; 5],
    _build: u64,
    _gbps: u64,
}

impl Default for Identity {
    /// The page of no board.
    fn default() -> Self {
        Self::blank()
    }
}

impl Identity {
    /// The page of a shell.
    pub fn new(built: &Built) -> Self {
        Self {
            _board: built.board.into(),
            _git: built.git.map(u64::from),
            _build: built.build.0.into(),
            _gbps: MacRate::ZERO.with_gbps(built.gbps.into()).0.into(),
            ..Self::blank()
        }
    }
}

#[hdl]
impl Identity {
    fn update(&mut self) {
        self.count();
        self.show();

        let request = self.csr.val();
        let takes = request.valid & !self.answer.q.val().ack;
        let own = request.addr.get_bits::<8>(12) == bits::<8>(PAGE_NUMBER);
        self.page.address.next = request.addr.get_bits::<12>(0);
        self.page.wdata.next = request.wdata;
        self.page.write.next = takes & own & request.write;
        let served = if request.write { self.page.writable.val() } else { self.page.readable.val() };
        // What is routed here beside the page is `global.SHELL`.
        let word = if own { self.page.word.val() } else { bits::<32>(shell::BASE as u64) };
        let right = if own { served } else { !request.write };
        self.answer.d.next = CsrResponse {
            ack: takes,
            error: takes & !right,
            rdata: if takes & right & !request.write { word } else { bits::<32>(0) },
        };
        self.csr_answer.next = self.answer.q.val();
        self.identify.next = self.page.stored.val().identify;
    }

    fn count(&mut self) {
        self.refusals.d.next = self.refusals.q.val() + count_ones::<32, 2>(self.refused.val());
        self.abandonments.d.next = self.abandonments.q.val() + count_ones::<32, 2>(self.abandoned.val());
        self.silences.load(self.silent.val(), self.silences.q.val() + 1);
        self.was_up.d.next = self.link_up.val();
        self.losses.load(self.was_up.q.val() & !self.link_up.val(), self.losses.q.val() + 1);
    }

    fn show(&mut self) {
        self.page.status.next = ShellStatus {
            revision: bits::<32>(SHELL_REVISION as u64),
            board: bits::<16>(self._board),
            build_configuration: bits::<32>(self._build).get_bits::<4>(0),
            build_macs: bits::<32>(self._build).get_bits::<4>(4),
            build_divider: bits::<32>(self._build).get_bits::<4>(8),
            build_rsfec: bits::<32>(self._build).get_bit(12),
            build_pause: bits::<32>(self._build).get_bit(13),
            build_modified: bits::<32>(self._build).get_bit(14),
            build_dna_bits: bits::<32>(self._build).get_bits::<8>(16),
            mac_rate_gbps: bits::<16>(self._gbps),
            git_0: bits::<32>(self._git[0]),
            git_1: bits::<32>(self._git[1]),
            git_2: bits::<32>(self._git[2]),
            git_3: bits::<32>(self._git[3]),
            git_4: bits::<32>(self._git[4]),
            dna_0: self.dna.val().get_bits::<32>(0),
            dna_1: self.dna.val().get_bits::<32>(32),
            dna_2: self.dna.val().get_bits::<32>(64),
            pcie_up: self.link_up.val(),
            pcie_msix: self.msix_enable.val(),
            pcie_vectors_set: self.vectors_set.val(),
            pcie_vectors_failed: self.vectors_failed.val(),
            pcie_dna_valid: self.dna_valid.val(),
            pcie_ltssm: self.ltssm.val(),
            irq_pending: self.irq_pending.val(),
            host_refused: self.refusals.q.val(),
            host_abandoned: self.abandonments.q.val(),
            bar_silent: self.silences.q.val(),
            link_losses: self.losses.q.val(),
            mac_up_0: self.mac[0].val().up,
            mac_aligned_0: self.mac[0].val().aligned,
            mac_local_fault_0: self.mac[0].val().local_fault,
            mac_remote_fault_0: self.mac[0].val().remote_fault,
            mac_high_errors_0: self.mac[0].val().high_errors,
            mac_clock_stopped_0: self.mac[0].val().clock_stopped,
            mac_up_1: self.mac[1].val().up,
            mac_aligned_1: self.mac[1].val().aligned,
            mac_local_fault_1: self.mac[1].val().local_fault,
            mac_remote_fault_1: self.mac[1].val().remote_fault,
            mac_high_errors_1: self.mac[1].val().high_errors,
            mac_clock_stopped_1: self.mac[1].val().clock_stopped,
            mac_losses_0: self.mac[0].val().losses,
            mac_losses_1: self.mac[1].val().losses,
            rx_overflow_0: self.mac[0].val().rx_overflow,
            rx_overflow_1: self.mac[1].val().rx_overflow,
            rx_bad_0: self.mac[0].val().rx_bad,
            rx_bad_1: self.mac[1].val().rx_bad,
            tx_failed_0: self.mac[0].val().tx_failed,
            tx_failed_1: self.mac[1].val().tx_failed,
        };
    }
}

/// Reads the DNA of the device through `DNA_PORTE2` (96 bits) or `DNA_PORT` (57 bits).
///
/// | neighbour | ports |
/// |---|---|
/// | primitive | out `dna_clk`, `dna_read`, `dna_shift`, `dna_din`; in `dna_dout` |
/// | [`Identity`] | out `dna`, `valid` |
///
/// The primitive is slower than the core, so it gets a clock of its own, a register that toggles: a period has 16 cycles. `READ`
/// and `SHIFT` change in the cycle before `dna_clk` falls, and `dna_dout` is taken there, 7 cycles after the edge that moves it.
/// After reset: one period of `READ`, which gives the highest bit, then one of `SHIFT` for each other bit. `dna_clk` stands
/// afterwards. `valid` is high from cycle 16 * `bits` after reset on.
#[block(no_default)]
pub struct DnaReader {
    /// Clock of the primitive.
    pub dna_clk: Signal<Out, Bit>,
    /// Load.
    pub dna_read: Signal<Out, Bit>,
    /// Shift.
    pub dna_shift: Signal<Out, Bit>,
    /// What is shifted in: 0.
    pub dna_din: Signal<Out, Bit>,
    /// The bit.
    pub dna_dout: Signal<In, Bit>,
    /// The DNA, from bit 0.
    pub dna: Signal<Out, Bits<96>>,
    /// All bits are there.
    pub valid: Signal<Out, Bit>,
    count: Reg<Bits<4>>,
    read: Reg<Bit>,
    left: Reg<Bits<7>>,
    over: Reg<Bit>,
    clk: Reg<Bit>,
    bits: Reg<Bits<96>>,
    _bits: u64,
}

impl Default for DnaReader {
    /// A reader of 96 bits.
    fn default() -> Self {
        Self::new(96)
    }
}

impl DnaReader {
    /// A reader of so many bits: 57 or 96.
    pub fn new(bits: u64) -> Self {
        assert!(bits == 57 || bits == 96, "DnaReader: there is no DNA of {bits} bits; choose 57 or 96");
        Self { read: Reg::new(true), left: Reg::new(bits_of(bits)), _bits: bits, ..Self::blank() }
    }
}

/// A number as the count of bits.
fn bits_of(number: u64) -> Bits<7> {
    bits::<7>(number)
}

#[hdl]
impl DnaReader {
    fn update(&mut self) {
        let over = self.over.q.val();
        self.count.load(!over, self.count.q.val() + 1);
        self.clk.load(!over, self.count.q.val().get_bit(3));
        // Before the falling edge.
        if self.count.q.val().all() & !over {
            self.read.d.next = false;
            self.left.d.next = self.left.q.val() - 1;
            self.bits.d.next = (self.bits.q.val() << 1) | bit_cast::<96, 1>(self.dna_dout.val().into());
            self.over.d.next = self.left.q.val() == bits::<7>(1);
        }
        self.dna_clk.next = self.clk.q.val();
        self.dna_read.next = self.read.q.val();
        self.dna_shift.next = !self.read.q.val() & !over;
        self.dna_din.next = false;
        self.dna.next = self.bits.q.val();
        self.valid.next = over;
    }
}
