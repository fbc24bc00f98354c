//! The bridge: wiring of its blocks, and what the link's state does to them.

use super::align::Aligner;
use super::completer::Completer;
use super::msix::Msix;
use super::ports::{FunctionSink, RxAxisSink, TlpEvents, TxAxisSource};
use super::read_answer::ReadAnswer;
use super::read_issue::ReadIssue;
use super::read_return::ReadReturn;
use super::read_slots::{ReadSlots, PERIOD};
use super::route::{RequestBeat, Router};
use super::target::Target;
use super::transmit::Transmitter;
use super::words::{RegisterAccess, PATIENCE};
use super::write_collect::WriteCollector;
use super::write_send::WriteSender;
use spindle_blocks::{AxiLiteSource, AxiSink, CsrRequest, CsrResponse, Fifo};
use spindle_contract::pci::VECTORS;
use spindle_verilog::prelude::*;

/// Address bits of the FIFO of beats of requests.
const REQUEST_BITS: usize = 7;
/// Address bits of the FIFO of requests.
const VERDICT_BITS: usize = 5;

/// The bridge. See the text of [`tlp`](super).
#[block(no_default)]
pub struct TlpBridge {
    /// Packets from the link.
    pub m_axis_rx: RxAxisSink,
    /// Packets to the link.
    pub s_axis_tx: TxAxisSource,
    /// The function's configuration.
    pub cfg: FunctionSink,
    /// Free transmit buffers of the core.
    pub tx_buf_av: Signal<In, Bits<6>>,
    /// Credits for headers of reads.
    pub fc_nph: Signal<In, Bits<8>>,
    /// Which credits are shown: transmit credits that are available.
    pub fc_sel: Signal<Out, Bits<3>>,
    /// There is room for reads of the host.
    pub rx_np_ok: Signal<Out, Bit>,
    /// Always 1.
    pub rx_np_req: Signal<Out, Bit>,
    /// The link is up.
    pub user_lnk_up: Signal<In, Bit>,
    /// Registers.
    pub bar: AxiLiteSource,
    /// Access to the shell's page, held until its answer.
    pub csr: Signal<Out, CsrRequest>,
    /// Its answer.
    pub csr_answer: Signal<In, CsrResponse>,
    /// Host memory.
    pub host: AxiSink,
    /// Vectors that are requested.
    pub irq_request: Signal<In, Bits<VECTORS>>,
    /// Vectors whose message was sent: pulses.
    pub irq_acknowledge: Signal<Out, Bits<VECTORS>>,
    /// Things that a correct host does not do: pulses.
    pub events: Signal<Out, TlpEvents>,
    aligner: Aligner,
    router: Router,
    requests: Fifo<RequestBeat, REQUEST_BITS>,
    verdicts: Fifo<Bit, VERDICT_BITS>,
    target: Target,
    words: RegisterAccess,
    completer: Completer,
    msix: Msix,
    collector: WriteCollector,
    sender: WriteSender,
    issue: ReadIssue,
    slots: ReadSlots,
    returns: ReadReturn,
    answers: ReadAnswer,
    transmitter: Transmitter,
    up: Reg<Bit>,
    master: Reg<Bit>,
    id: DFF<Bits<16>>,
    short_payload: DFF<Bit>,
    long_payload: DFF<Bit>,
    short_read: DFF<Bit>,
    messages: Reg<Bit>,
    reads_fit: Reg<Bit>,
    seen: Reg<TlpEvents>,
}

impl Default for TlpBridge {
    fn default() -> Self {
        Self::with_times(PATIENCE, PERIOD)
    }
}

impl TlpBridge {
    /// A bridge that gives registers `patience` cycles, and reads of host memory 2 to 3 times 2^`period` cycles.
    pub fn with_times(patience: u64, period: usize) -> Self {
        Self {
            words: RegisterAccess::with_patience(patience),
            slots: ReadSlots::with_period(period),
            msix: Msix::new(),
            ..Self::blank()
        }
    }
}

#[hdl]
impl TlpBridge {
    fn update(&mut self) {
        self.configure();
        self.receive();
        self.write_host();
        self.read_host();

        self.transmitter.read_credits.next = self.fc_nph.val();
        self.transmitter.buffers.next = self.tx_buf_av.val();
        self.transmitter.tx.join(&mut self.s_axis_tx);
        self.fc_sel.next = bits::<3>(4);
        self.rx_np_req.next = true;
        self.seen.d.next = TlpEvents {
            malformed: self.router.malformed.val() | self.returns.malformed.val(),
            unsupported: self.router.unsupported.val(),
            poisoned: self.router.poisoned.val() | self.returns.poisoned.val(),
            unexpected: self.returns.unexpected.val(),
            timeout: self.slots.timeout.val(),
            bar_error: self.target.error.val(),
        };
        self.events.next = self.seen.q.val();
    }

    /// The configuration that the core shows. While the link is down everything that belongs to its packets is in
    /// reset.
    fn configure(&mut self) {
        self.up.d.next = self.user_lnk_up.val();
        self.master.d.next = self.cfg.command.val().get_bit(2);
        self.id.d.next =
            (self.cfg.bus_number.val(), self.cfg.device_number.val(), self.cfg.function_number.val()).cat::<16>();
        let payload = self.cfg.dcommand.val().get_bits::<3>(5);
        self.short_payload.d.next = !payload.any();
        self.long_payload.d.next = payload >= bits::<3>(2);
        self.short_read.d.next = !self.cfg.dcommand.val().get_bits::<3>(12).any();
        self.messages.d.next = self.cfg.interrupt_msixenable.val() & !self.cfg.interrupt_msixfm.val();

        let reset = self.reset.val() | !self.up.q.val();
        self.aligner.reset.next = reset;
        self.router.reset.next = reset;
        self.requests.reset.next = reset;
        self.verdicts.reset.next = reset;
        self.target.reset.next = reset;
        self.completer.reset.next = reset;
        self.msix.reset.next = reset;
        self.returns.reset.next = reset;
        self.transmitter.reset.next = reset;
    }

    /// Packets of the link, and the BARs.
    fn receive(&mut self) {
        let id = self.id.q.val();
        self.m_axis_rx.join(&mut self.aligner.rx);
        self.aligner.beat.join(&mut self.router.beat);
        self.router.request.join(&mut self.requests.write);
        self.router.verdict.join(&mut self.verdicts.write);
        self.requests.read.join(&mut self.target.request);
        self.verdicts.read.join(&mut self.target.verdict);
        self.reads_fit.d.next = self.requests.level.val() < bits::<16>(64);
        self.rx_np_ok.next = self.reads_fit.q.val();

        self.target.id.next = id;
        self.target.access.join(&mut self.words.access);
        self.words.answer.join(&mut self.target.answer);
        self.target.answer_error.next = self.words.answer_error.val();
        self.words.abandon.next = !self.up.q.val();
        self.words.bar.join(&mut self.bar);
        self.csr.next = self.words.csr.val();
        self.words.csr_answer.next = self.csr_answer.val();
        self.target.vectors.join(&mut self.msix.access);
        self.target.vectors_word.next = self.msix.word.val();
        self.target.word.join(&mut self.completer.word);
        self.completer.word_at.next = self.target.word_at.val();
        self.target.header.join(&mut self.completer.header);
        self.completer.packet.join(&mut self.transmitter.completion);

        self.msix.request.next = self.irq_request.val();
        self.irq_acknowledge.next = self.msix.acknowledge.val();
        self.msix.enabled.next = self.messages.q.val();
        self.msix.open.next = self.up.q.val() & self.master.q.val();
        self.msix.id.next = id;
        self.msix.packet.join(&mut self.transmitter.message);
    }

    /// Writes of host memory.
    fn write_host(&mut self) {
        self.collector.awid.next = self.host.awid.val();
        self.collector.awaddr.next = self.host.awaddr.val();
        self.collector.awvalid.next = self.host.awvalid.val();
        self.host.awready.next = self.collector.awready.val();
        self.collector.wdata.next = self.host.wdata.val();
        self.collector.wstrb.next = self.host.wstrb.val();
        self.collector.wlast.next = self.host.wlast.val();
        self.collector.wvalid.next = self.host.wvalid.val();
        self.host.wready.next = self.collector.wready.val();
        self.collector.short_payload.next = self.short_payload.q.val();
        self.collector.long_payload.next = self.long_payload.q.val();

        self.collector.chunk.join(&mut self.sender.chunk);
        self.collector.store.join(&mut self.sender.store);
        self.sender.store_at.next = self.collector.store_at.val();
        self.sender.freed.join(&mut self.collector.freed);
        self.sender.open.next = self.up.q.val() & self.master.q.val();
        self.sender.up.next = self.up.q.val();
        self.sender.id.next = self.id.q.val();
        self.sender.packet.join(&mut self.transmitter.write);
        self.host.bid.next = self.sender.bid.val();
        self.host.bresp.next = self.sender.bresp.val();
        self.host.bvalid.next = self.sender.bvalid.val();
        self.sender.bready.next = self.host.bready.val();
    }

    /// Reads of host memory.
    fn read_host(&mut self) {
        self.issue.arid.next = self.host.arid.val();
        self.issue.araddr.next = self.host.araddr.val();
        self.issue.arlen.next = self.host.arlen.val();
        self.issue.arvalid.next = self.host.arvalid.val();
        self.host.arready.next = self.issue.arready.val();
        self.issue.open.next = self.up.q.val() & self.master.q.val();
        self.issue.up.next = self.up.q.val();
        self.issue.short_read.next = self.short_read.q.val();
        self.issue.id.next = self.id.q.val();
        self.issue.packet.join(&mut self.transmitter.read);
        self.issue.slot.next = self.slots.slot.val();
        self.issue.slot_free.next = self.slots.slot_free.val();
        self.issue.slot_dead.next = self.slots.slot_dead.val();
        self.issue.all_dead.next = self.slots.all_dead.val();
        self.issue.start.join(&mut self.slots.start);
        self.issue.start.join(&mut self.returns.start);

        self.slots.up.next = self.up.q.val();
        self.returns.slot.next = self.slots.slot.val();
        self.returns.waiting.next = self.slots.waiting.val();
        self.returns.dead.next = self.slots.dead.val();
        self.returns.settle.join(&mut self.slots.settle);
        self.returns.id.next = self.id.q.val();
        self.router.completion.join(&mut self.returns.completion);

        self.answers.head.next = self.slots.head.val();
        self.answers.head_piece.next = self.slots.head_piece.val();
        self.answers.head_valid.next = self.slots.head_valid.val();
        self.answers.head_failed.next = self.slots.head_failed.val();
        self.slots.head_done.next = self.answers.head_done.val();
        self.returns.store.join(&mut self.answers.store);
        self.answers.store_at.next = self.returns.store_at.val();
        self.host.rid.next = self.answers.rid.val();
        self.host.rdata.next = self.answers.rdata.val();
        self.host.rresp.next = self.answers.rresp.val();
        self.host.rlast.next = self.answers.rlast.val();
        self.host.rvalid.next = self.answers.rvalid.val();
        self.answers.rready.next = self.host.rready.val();
    }
}
