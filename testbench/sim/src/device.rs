//! The simulated card: a Verilated NIC, its wire, its BAR and its host memory, moved on cycle by cycle.
//!
//! A cycle: frames, host memory and the BAR set the inputs, the model settles, all agents sample, the clock ticks.
//! Everything is deterministic: the same design, frames, register accesses and seed give the same cycles.

use crate::fates::{FateEvent, FatePorts, Step};
use crate::host_memory::HostMemory;
use crate::retirement::Retired;
use crate::retirement::RetirementPorts;
use crate::trace::{Event, Lane, TraceLog};
use crate::waves::WaveRequest;
use anyhow::{bail, ensure, Result};
use spindle_contract::params::{Config, BEAT_BYTES};
use spindle_contract::reasons;
use spindle_harness::stream::Pace;
use spindle_harness::{Model, Port, Progress, Source, StreamSink};
use std::collections::VecDeque;
use std::path::Path;

/// Gets every instruction that retires.
pub type RetiredSink = Box<dyn FnMut(&Retired) + Send>;

/// Gets the interrupt vectors, a bit each, that the card requests in a cycle.
pub type InterruptSink = Box<dyn FnMut(u16) + Send>;

/// Called in the cycle at which a card pauses; the cycle of its next pause.
pub type PauseSink = Box<dyn FnMut(&mut SimDevice) -> u64 + Send>;

/// Cycles of reset.
const RESET_CYCLES: u64 = 4;

/// Cycles after which a register access that no one answers is given up. The NIC itself gives up after 1024.
const BAR_PATIENCE: u64 = 4096;

/// Why a card does not answer.
const STUCK: &str = "the design is stuck: record a wave with --vcd";

/// What of a register write is handed over in a cycle.
struct WriteStep {
    address: bool,
    data: bool,
    response: Option<u64>,
}

/// A frame for the NIC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireFrame {
    /// Bytes without FCS.
    pub bytes: Vec<u8>,
    /// Idle cycles before its first beat.
    pub gap: u64,
    /// Marked bad by the MAC (`rx_user` with the last beat).
    pub bad: bool,
}

/// A frame that the NIC has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// Bytes without FCS.
    pub bytes: Vec<u8>,
    /// Cycle of the first beat.
    pub first: u64,
    /// Cycle of the last beat.
    pub last: u64,
}

/// A frame whose first beat has entered the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Cycle of the first beat.
    pub cycle: u64,
    /// Bytes without FCS.
    pub bytes: usize,
}

/// What a device is made from.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Build the variant that can record waves (about half as fast, several times slower while it records).
    pub trace: bool,
    /// Seed of the host memory's latencies and of the back-pressure on TX.
    pub seed: u64,
    /// Percentage of cycles in which TX is ready.
    pub tx_ready_percent: u32,
    /// Least and most cycles between a write's last beat and its response.
    pub host_latency: (u64, u64),
}

impl Default for Options {
    fn default() -> Self {
        Self { trace: false, seed: 1, tx_ready_percent: 100, host_latency: (40, 120) }
    }
}

/// Ports of the receive side.
struct Rx {
    data: Port,
    keep: Port,
    last: Port,
    user: Port,
    valid: Port,
}

/// The host's side of the interrupts: each is acknowledged in the cycle after its request.
struct IrqPort {
    request: Port,
    acknowledge: Port,
    /// Acknowledged in this cycle: these requests fall in the next one.
    acknowledged: u16,
    /// Requested since [`SimDevice::take_interrupts`].
    seen: u16,
}

impl IrqPort {
    fn new(model: &Model) -> Result<Self> {
        let (request, acknowledge) = (model.port("irq_request")?, model.port("irq_acknowledge")?);
        Ok(IrqPort { request, acknowledge, acknowledged: 0, seen: 0 })
    }

    /// The vectors that are requested in this cycle, each once per request.
    fn sample(&mut self, model: &Model) -> u16 {
        let requested = model.get(self.request) as u16 & !self.acknowledged;
        self.seen |= requested;
        requested
    }

    /// Acknowledges in the next cycle, whose inputs are set now.
    fn acknowledge(&mut self, model: &mut Model, vectors: u16) {
        if vectors != self.acknowledged {
            model.set(self.acknowledge, vectors.into());
            self.acknowledged = vectors;
        }
    }
}

/// Ports of the BAR.
struct BarPorts {
    awaddr: Port,
    awvalid: Port,
    awready: Port,
    wdata: Port,
    wstrb: Port,
    wvalid: Port,
    wready: Port,
    bresp: Port,
    bvalid: Port,
    bready: Port,
    araddr: Port,
    arvalid: Port,
    arready: Port,
    rdata: Port,
    rresp: Port,
    rvalid: Port,
    rready: Port,
}

/// The simulated card.
pub struct SimDevice {
    model: Model,
    config: Config,
    rx: Rx,
    bar: BarPorts,
    irq: IrqPort,
    interrupts: Option<InterruptSink>,
    tx: StreamSink,
    tx_pace: Pace,
    trace_valid: Port,
    trace_tags: Port,
    lanes: Vec<Lane>,
    fates: FatePorts,
    memory: HostMemory,
    incoming: VecDeque<WireFrame>,
    position: usize,
    gap: u64,
    idle: bool,
    sent: Vec<SentFrame>,
    tx_first: Option<u64>,
    /// Cycles in which a frame was under way on TX, TX was ready, and no beat came.
    tx_bubbles: u64,
    trace: TraceLog,
    tracing: bool,
    /// Handlers that have begun and not ended.
    handlers: i32,
    retirement: Option<RetirementPorts>,
    retired: Option<RetiredSink>,
    cycle: u64,
    last_rx_beat: u64,
    arrivals: Vec<Arrival>,
    posted: PostedWrites,
    /// Frames that come in later cycles, the first one first.
    due: VecDeque<(u64, WireFrame)>,
    pause: Option<PauseSink>,
    /// Cycle of the next pause.
    pause_at: u64,
    /// The earliest cycle in which a frame is due or the card pauses.
    attend_at: u64,
}

/// Register writes that no caller waits for: they reach the card one after another, each after a delay of its own.
#[derive(Default)]
struct PostedWrites {
    /// Cycle from which a write may begin, address, value.
    waiting: VecDeque<(u64, u32, u32)>,
    /// Address and data of the first one that have not been taken yet, if it has begun.
    under_way: Option<(bool, bool)>,
    /// The first write that the card has refused since the last access that a caller waited for.
    refused: Option<u32>,
}

impl SimDevice {
    /// Takes or builds the model of `source` and resets it.
    ///
    /// # Errors
    /// Verilator or the C++ compiler is missing or refuses the text; the top has not the ports of a NIC.
    pub fn new(source: &Source, config: &Config, options: Options) -> Result<Self> {
        let source = source.clone().with_trace(options.trace);
        let mut model = crate::model(&source, &Progress::silent())?.instance_zeroed();
        let port = |name: &str| model.port(name);
        let rx = Rx {
            data: port("rx_data")?,
            keep: port("rx_keep")?,
            last: port("rx_last")?,
            user: port("rx_user")?,
            valid: port("rx_valid")?,
        };
        let bar = BarPorts {
            awaddr: port("bar_awaddr")?,
            awvalid: port("bar_awvalid")?,
            awready: port("bar_awready")?,
            wdata: port("bar_wdata")?,
            wstrb: port("bar_wstrb")?,
            wvalid: port("bar_wvalid")?,
            wready: port("bar_wready")?,
            bresp: port("bar_bresp")?,
            bvalid: port("bar_bvalid")?,
            bready: port("bar_bready")?,
            araddr: port("bar_araddr")?,
            arvalid: port("bar_arvalid")?,
            arready: port("bar_arready")?,
            rdata: port("bar_rdata")?,
            rresp: port("bar_rresp")?,
            rvalid: port("bar_rvalid")?,
            rready: port("bar_rready")?,
        };
        let trace_valid = port("trace_valid")?;
        let trace_tags = port("trace_tags")?;
        let lanes: Vec<Lane> = reasons::trace_lanes().map(|(point, unit)| Lane { point, unit }).collect();
        ensure!(
            trace_valid.width() as usize == lanes.len() && trace_tags.width() as usize == 16 * lanes.len(),
            "the design has {} trace lanes where configuration `{}` has {}; emit it from the same configuration",
            trace_valid.width(),
            config.name,
            lanes.len()
        );
        let fates = FatePorts::new(&model, config.hpus)?;
        let pace = if options.tx_ready_percent >= 100 {
            Pace::always()
        } else {
            Pace::percent(options.seed, options.tx_ready_percent)
        };
        let tx = StreamSink::new(&model, "tx")?.with_pace(pace.clone());
        let irq = IrqPort::new(&model)?;
        let memory = HostMemory::new(&model, "host", options.seed, options.host_latency)?;
        let retirement = if config.rvfi { Some(RetirementPorts::new(&model, config.total_hpus())?) } else { None };
        model.reset(RESET_CYCLES);
        Ok(Self {
            model,
            config: *config,
            rx,
            bar,
            irq,
            interrupts: None,
            tx,
            tx_pace: pace,
            trace_valid,
            trace_tags,
            lanes,
            fates,
            memory,
            incoming: VecDeque::new(),
            position: 0,
            gap: 0,
            idle: true,
            sent: Vec::new(),
            tx_first: None,
            tx_bubbles: 0,
            trace: TraceLog::default(),
            tracing: true,
            handlers: 0,
            retirement,
            retired: None,
            cycle: 0,
            last_rx_beat: 0,
            arrivals: Vec::new(),
            posted: PostedWrites::default(),
            due: VecDeque::new(),
            pause: None,
            pause_at: u64::MAX,
            attend_at: u64::MAX,
        })
    }

    /// Resets the card, as PCI does: frames and transactions under way are lost, in the card and on its ports, and frames that come
    /// during the reset; memories of the card keep what they hold. Host memory and the settings of this value stay.
    ///
    /// # Errors
    /// The model has not the ports of a NIC, which [`SimDevice::new`] has found.
    pub fn reset(&mut self) -> Result<()> {
        let bar = &self.bar;
        for valid in [bar.arvalid, bar.awvalid, bar.wvalid, bar.rready, bar.bready, self.rx.valid] {
            self.model.set(valid, 0);
        }
        self.memory.forget(&mut self.model);
        self.tx = StreamSink::new(&self.model, "tx")?.with_pace(self.tx_pace.clone());
        self.irq.acknowledge(&mut self.model, 0);
        self.incoming.clear();
        self.handlers = 0;
        self.posted = PostedWrites::default();
        (self.position, self.gap, self.idle, self.tx_first) = (0, 0, true, None);
        self.model.reset(RESET_CYCLES);
        self.cycle += RESET_CYCLES;
        // Frames of later cycles are on the wire still; who comes during the reset finds no one.
        let now = self.cycle;
        self.due.retain(|(due, _)| *due >= now);
        Ok(())
    }

    /// Calls `sink` with the interrupts that the card requests from now on, in their cycle; `None` ends it.
    pub fn set_interrupts(&mut self, sink: Option<InterruptSink>) {
        self.interrupts = sink;
    }

    /// Nothing is under way: no frame enters or leaves, host memory owes no answer, and no handler runs.
    pub fn quiet(&self) -> bool {
        self.incoming.is_empty()
            && self.due.is_empty()
            && self.tx_first.is_none()
            && self.memory.idle()
            && self.handlers == 0
    }

    /// From now on TX is ready in so many percent of the cycles.
    pub fn set_tx_ready(&mut self, seed: u64, percent: u32) {
        self.tx_pace = if percent >= 100 { Pace::always() } else { Pace::percent(seed, percent) };
        self.tx.set_pace(self.tx_pace.clone());
    }

    /// Queues a frame.
    pub fn inject(&mut self, frame: WireFrame) {
        assert!(!frame.bytes.is_empty(), "an empty frame cannot travel on the wire; give it at least one byte");
        self.incoming.push_back(frame);
    }

    /// Queues a frame when the card comes to a cycle, after what was queued for the same cycle before.
    ///
    /// # Errors
    /// The card has gone beyond the cycle.
    pub fn inject_at(&mut self, cycle: u64, frame: WireFrame) -> Result<()> {
        let now = self.cycle;
        ensure!(cycle >= now, "a frame for cycle {cycle} comes when the card is in cycle {now}; hand it over earlier");
        let place = self.due.partition_point(|(due, _)| *due <= cycle);
        self.due.insert(place, (cycle, frame));
        self.attend_at = self.attend_at.min(cycle);
        Ok(())
    }

    /// Calls `sink` before the cycle `at` is simulated, and again at the cycle that it returns, also in the midst of a register access:
    /// the one who keeps the time of several cards stops this one there.
    pub fn set_pause(&mut self, at: u64, sink: PauseSink) {
        (self.pause, self.pause_at) = (Some(sink), at);
        self.attend_at = self.attend_at.min(at);
    }

    /// What is to be done before this cycle is simulated.
    #[cold]
    fn attend(&mut self) {
        // A reset takes several cycles at once, and may have passed more than one pause.
        while self.cycle >= self.pause_at {
            let Some(mut sink) = self.pause.take() else { break };
            self.pause_at = sink(self);
            self.pause = Some(sink);
        }
        while self.due.front().is_some_and(|(due, _)| *due <= self.cycle) {
            let (_, frame) = self.due.pop_front().expect("there is one");
            self.inject(frame);
        }
        let due = self.due.front().map_or(u64::MAX, |(due, _)| *due);
        self.attend_at = due.min(self.pause_at);
    }

    /// Removes the frames whose first beat has not entered; returns their number.
    pub fn cancel_pending(&mut self) -> usize {
        let kept = usize::from(self.position > 0);
        let removed = self.incoming.len().saturating_sub(kept);
        self.incoming.truncate(kept);
        removed
    }

    /// Frames that have not entered completely.
    pub fn pending(&self) -> usize {
        self.incoming.len()
    }

    /// Cycles since the first reset.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }

    /// Cycle in which the last beat so far entered.
    pub fn last_rx_beat(&self) -> u64 {
        self.last_rx_beat
    }

    /// Cycle of the first beat of each frame that entered so far; the list is handed over.
    pub fn take_arrivals(&mut self) -> Vec<u64> {
        self.take_entered().iter().map(|arrival| arrival.cycle).collect()
    }

    /// As [`SimDevice::take_arrivals`], with the length of each frame.
    pub fn take_entered(&mut self) -> Vec<Arrival> {
        std::mem::take(&mut self.arrivals)
    }

    /// Interrupts that the NIC requested since the last call, a bit per vector. Each was acknowledged in the cycle after its request, so
    /// several requests of a vector are one bit.
    pub fn take_interrupts(&mut self) -> u16 {
        std::mem::take(&mut self.irq.seen)
    }

    /// Frames sent so far; the list is handed over.
    pub fn take_sent(&mut self) -> Vec<SentFrame> {
        std::mem::take(&mut self.sent)
    }

    /// Number of frames sent and not yet taken.
    pub fn sent_count(&self) -> usize {
        self.sent.len()
    }

    /// Cycles inside frames in which TX was ready and no beat came.
    pub fn tx_bubbles(&self) -> u64 {
        self.tx_bubbles
    }

    /// The host memory.
    pub fn memory(&mut self) -> &mut HostMemory {
        &mut self.memory
    }

    /// What passed which stage when.
    pub fn trace(&mut self) -> &mut TraceLog {
        &mut self.trace
    }

    /// Switches the recording of trace points on or off (on at first). Long runs are a little faster without.
    pub fn set_tracing(&mut self, on: bool) {
        self.tracing = on;
    }

    /// Calls `sink` with every instruction that retires from now on; `None` ends it. Only a configuration with `rvfi` reports
    /// of any.
    pub fn set_retired(&mut self, sink: Option<RetiredSink>) {
        self.retired = sink;
    }

    /// Records a wave from now on: FST if the name of the file ends in `.fst`, else VCD; needs [`Options::trace`]. Cycle 0
    /// is at time 0.
    ///
    /// # Errors
    /// The device was built without tracing, the file cannot be written, or the design has not what is requested.
    pub fn wave_open(&mut self, path: &Path, request: &WaveRequest) -> Result<()> {
        let origin = self.model.cycle() - self.cycle;
        self.model.trace_open_with(path, &request.options(&self.config, origin))
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The file could not be written to its end.
    pub fn wave_close(&mut self) -> Result<()> {
        self.model.trace_close()
    }

    /// Moves on by `cycles`.
    pub fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.step();
        }
    }

    /// Moves on until `done` or for `limit` cycles; says whether it was done.
    pub fn run_until(&mut self, limit: u64, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        for _ in 0..limit {
            if done(self) {
                return true;
            }
            self.step();
        }
        done(self)
    }

    /// One cycle.
    pub fn step(&mut self) {
        if self.cycle >= self.attend_at {
            self.attend();
        }
        self.drive_rx();
        self.tx.drive(&mut self.model);
        self.memory.drive(&mut self.model);
        self.drive_posted();
        self.model.eval();
        let posted = self.sample_posted();
        self.sample_tx();
        self.memory.sample(&self.model);
        if self.model.is_set(self.trace_valid) {
            self.sample_trace();
        }
        if self.tracing {
            let (trace, cycle) = (&mut self.trace, self.cycle);
            self.fates.sample(&self.model, |frame, step| trace.push_fate(FateEvent { cycle, frame, step }));
        }
        if let (Some(ports), Some(sink)) = (&self.retirement, &mut self.retired) {
            ports.sample(&self.model, self.cycle, sink);
        }
        let requested = self.irq.sample(&self.model);
        if let (true, Some(sink)) = (requested != 0, &mut self.interrupts) {
            sink(requested);
        }
        self.model.tick();
        self.irq.acknowledge(&mut self.model, requested);
        self.cycle += 1;
        if let Some(taken) = posted {
            self.move_posted(taken);
        }
    }

    /// Begins the first posted write that is due.
    fn drive_posted(&mut self) {
        let Some((due, address, value)) = self.posted.waiting.front().copied() else { return };
        if self.posted.under_way.is_some() || due > self.cycle {
            return;
        }
        self.posted.under_way = Some((true, true));
        self.begin_write(address, value);
    }

    fn begin_write(&mut self, address: u32, value: u32) {
        for (port, value) in [
            (self.bar.awaddr, address.into()),
            (self.bar.awvalid, 1),
            (self.bar.wdata, value.into()),
            (self.bar.wstrb, 0xF),
            (self.bar.wvalid, 1),
            (self.bar.bready, 1),
        ] {
            self.model.set(port, value);
        }
    }

    /// What of the posted write under way is handed over in this cycle.
    fn sample_posted(&self) -> Option<WriteStep> {
        self.posted.under_way.map(|parts| self.write_step(parts))
    }

    fn move_posted(&mut self, taken: WriteStep) {
        self.posted.under_way = self.posted.under_way.map(|parts| self.end_parts(parts, &taken));
        let Some(response) = taken.response else { return };
        self.model.set(self.bar.bready, 0);
        self.posted.under_way = None;
        let write = self.posted.waiting.pop_front();
        if response != 0 {
            self.posted.refused = self.posted.refused.or(write.map(|(_, address, _)| address));
        }
    }

    /// What is handed over in this cycle of a write of which address and data are wanted still or not.
    fn write_step(&self, (addressing, writing): (bool, bool)) -> WriteStep {
        WriteStep {
            address: addressing && self.model.is_set(self.bar.awready),
            data: writing && self.model.is_set(self.bar.wready),
            response: self.model.is_set(self.bar.bvalid).then(|| self.model.get(self.bar.bresp)),
        }
    }

    /// Lowers the valids of what was taken; what is wanted still.
    fn end_parts(&mut self, (addressing, writing): (bool, bool), taken: &WriteStep) -> (bool, bool) {
        if taken.address {
            self.model.set(self.bar.awvalid, 0);
        }
        if taken.data {
            self.model.set(self.bar.wvalid, 0);
        }
        (addressing && !taken.address, writing && !taken.data)
    }

    /// Writes a register as a host posts writes on PCIe: the call returns at once, and the write reaches the card after `delay` cycles,
    /// and after all that were posted before. Reads and [`SimDevice::write32`] wait for all of them.
    ///
    /// # Errors
    /// The address is misaligned or beyond the BAR. That the card refuses the write is the result of the next access that waits.
    pub fn post_write32(&mut self, address: u32, value: u32, delay: u64) -> Result<()> {
        check_address(address)?;
        self.posted.waiting.push_back((self.cycle + delay, address, value));
        Ok(())
    }

    /// Waits for the writes that were posted.
    fn end_posted(&mut self) -> Result<()> {
        let mut patience = BAR_PATIENCE * (1 + self.posted.waiting.len() as u64);
        while !self.posted.waiting.is_empty() {
            ensure!(patience > 0, "{STUCK}; a posted write got no answer");
            patience -= 1;
            self.step();
        }
        self.posted.refused.take().map_or(Ok(()), |address| Err(refused("writing", address)))
    }

    fn drive_rx(&mut self) {
        let Some(frame) = self.incoming.front() else {
            if !self.idle {
                self.model.set(self.rx.valid, 0);
                self.idle = true;
            }
            return;
        };
        if self.position == 0 && self.gap < frame.gap {
            self.gap += 1;
            self.model.set(self.rx.valid, 0);
            self.idle = true;
            return;
        }
        if self.position == 0 {
            self.arrivals.push(Arrival { cycle: self.cycle, bytes: frame.bytes.len() });
        }
        let rest = &frame.bytes[self.position..];
        let count = rest.len().min(BEAT_BYTES);
        let last = rest.len() <= BEAT_BYTES;
        self.model.set_bytes(self.rx.data, &rest[..count]);
        self.model.set(self.rx.keep, if count == BEAT_BYTES { u64::MAX } else { (1 << count) - 1 });
        self.model.set(self.rx.last, last.into());
        self.model.set(self.rx.user, (last && frame.bad).into());
        self.model.set(self.rx.valid, 1);
        self.idle = false;
        self.last_rx_beat = self.cycle;
        if last {
            self.incoming.pop_front();
            self.position = 0;
            self.gap = 0;
        } else {
            self.position += count;
        }
    }

    fn sample_tx(&mut self) {
        let stalls = self.tx.monitor().stalls();
        if self.tx.sample(&self.model) {
            let first = *self.tx_first.get_or_insert(self.cycle);
            if let Some(frame) = self.tx.receive() {
                self.sent.push(SentFrame { bytes: frame.bytes, first, last: self.cycle });
                self.tx_first = None;
            }
        } else if self.tx_first.is_some() && self.tx.monitor().stalls() == stalls {
            self.tx_bubbles += 1;
        }
    }

    fn sample_trace(&mut self) {
        let valid = self.model.get_bytes(self.trace_valid);
        let tags = self.model.get_bytes(self.trace_tags);
        for (i, lane) in self.lanes.iter().enumerate() {
            if valid[i / 8] >> (i % 8) & 1 == 1 {
                match lane.point {
                    reasons::T_HANDLER_START => self.handlers += 1,
                    reasons::T_HANDLER_END => self.handlers -= 1,
                    _ => {}
                }
                if !self.tracing {
                    continue;
                }
                let frame = u16::from_le_bytes([tags[2 * i], tags[2 * i + 1]]);
                self.trace.push(Event { cycle: self.cycle, point: lane.point, unit: lane.unit, frame });
                if lane.point == reasons::T_HANDLER_START {
                    let thread = self.fates.thread(&self.model, lane.unit);
                    let step = Step::Started { unit: lane.unit, thread };
                    self.trace.push_fate(FateEvent { cycle: self.cycle, frame, step });
                }
                if lane.point == reasons::T_LOOKED_UP {
                    let step = Step::Bound { mailbox: self.fates.mailbox(&self.model) };
                    self.trace.push_fate(FateEvent { cycle: self.cycle, frame, step });
                }
            }
        }
    }

    /// Reads a register; the NIC goes on meanwhile.
    ///
    /// # Errors
    /// The address is misaligned or beyond the BAR, the NIC answers with an error, or not at all.
    pub fn read32(&mut self, address: u32) -> Result<u32> {
        check_address(address)?;
        self.end_posted()?;
        self.model.set(self.bar.araddr, address.into());
        self.model.set(self.bar.arvalid, 1);
        self.model.set(self.bar.rready, 1);
        let mut asking = true;
        for _ in 0..BAR_PATIENCE {
            self.settle();
            let accepted = asking && self.model.is_set(self.bar.arready);
            let answer = self
                .model
                .is_set(self.bar.rvalid)
                .then(|| (self.model.get(self.bar.rdata) as u32, self.model.get(self.bar.rresp)));
            self.step();
            if accepted {
                asking = false;
                self.model.set(self.bar.arvalid, 0);
            }
            if let Some((data, response)) = answer {
                self.model.set(self.bar.rready, 0);
                return if response == 0 { Ok(data) } else { Err(refused("reading", address)) };
            }
        }
        bail!("reading register {address:#07x} got no answer in {BAR_PATIENCE} cycles; {STUCK}")
    }

    /// Writes a register; the NIC goes on meanwhile.
    ///
    /// # Errors
    /// As for [`SimDevice::read32`].
    pub fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        check_address(address)?;
        self.end_posted()?;
        self.begin_write(address, value);
        let mut parts = (true, true);
        for _ in 0..BAR_PATIENCE {
            self.settle();
            let taken = self.write_step(parts);
            self.step();
            parts = self.end_parts(parts, &taken);
            if let Some(response) = taken.response {
                self.model.set(self.bar.bready, 0);
                return if response == 0 { Ok(()) } else { Err(refused("writing", address)) };
            }
        }
        bail!("writing register {address:#07x} got no answer in {BAR_PATIENCE} cycles; {STUCK}")
    }

    /// The BAR's outputs depend on registers of the NIC alone, so they may be read before the cycle's other inputs are set.
    fn settle(&mut self) {
        self.model.eval();
    }
}

fn check_address(address: u32) -> Result<()> {
    ensure!(
        address.is_multiple_of(4) && address >> spindle_contract::registers::BAR_BITS == 0,
        "register address {address:#x} is misaligned or beyond the BAR; take it from spindle_contract::registers"
    );
    Ok(())
}

fn refused(doing: &str, address: u32) -> anyhow::Error {
    anyhow::anyhow!("{doing} register {address:#07x} was refused by the NIC; it has no such register (see docs/generated/registers.md)")
}
