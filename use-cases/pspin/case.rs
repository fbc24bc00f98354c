//! PsPIN's handlers by its API, packets of several sizes, on 16 and on 32 processors.

mod model;

use crate::bench::{Bench, Host, Setting};
use crate::case::{value, Broken, Case, Measured, Mode, Row};
use crate::source::{pour, Pace, Passed};
use anyhow::{ensure, Result};
use model::Model;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule::MessageRule;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, Rule};
use spindle_model::frames::{udp, Ends, UDP_HEADERS};
use spindle_sdk::variables::variable;
use spindle_sdk::Handler;
use spindle_sim::{address, End};

macro_rules! handlers { ($($name:literal $about:literal;)*) => {
    const HANDLERS: &[(&str, &str)] =
        &[$((concat!($name, ".c"), include_str!(concat!("handlers/", $name, ".c"))),)* ("load.h", include_str!("handlers/load.h"))];
    const MODES: &[Mode] = &[$(Mode { name: $name, about: $about }),*];
} }
handlers! {
    "empty" "does nothing";
    "ping_pong" "returns the packet to its sender";
    "copy_to_host" "writes the packet to host memory, and waits";
    "copy_from_host" "returns the packet with bytes of host memory";
    "filtering" "looks the sender up; packets of known ones go to host memory with another port";
    "aggregate_global" "adds the words of all packets to one counter";
    "aggregate_local" "adds them to a counter of the cluster";
    "aggregate_message" "adds the words of each message; the sum goes to host memory";
    "histogram_L1" "counts the words by value in the scratchpad of the cluster";
    "histogram_L2" "counts the words by value in one table";
    "reduce_L1" "adds packets up word by word in the scratchpad of the cluster";
    "quantize" "makes a byte of each word; the bytes go to host memory";
    "strided_ddt" "writes the data to host memory in blocks of 32 bytes, at every second place";
    "ping_pong_own" "as `ping_pong`, in Spindle's own API";
    "copy_to_host_own" "as `copy_to_host`, in Spindle's own API";
    "filtering_own" "as `filtering`, in Spindle's own API";
}
/// Ending of the modes whose handlers do not use PsPIN's API.
const OWN: &str = "_own";

/// Port of the packets.
const PORT: u16 = 9330;
/// Packets of a message, and messages whose packets alternate.
const MESSAGE: usize = 16;
const TOGETHER: usize = 16;
/// Bytes of host memory for each packet.
const PLACE: usize = 2048;
/// Messages for which there are places.
const MESSAGES: usize = 48;
/// Senders, of which every other is in the table of `filtering`, and the entries of the table.
const SENDERS: u16 = 32;
const ENTRIES: usize = 256;
/// Bytes of what handlers count, and scratchpads.
const COUNTERS: usize = 4096;
const CLUSTERS: usize = 4;
/// Flag of the last packet of a message.
const LAST: u16 = 0x8000;
/// Load at which latencies are measured.
const LOAD: f64 = 0.8;

/// The case.
pub const CASE: Case = Case {
    name: "pspin",
    figure: include_str!("figure.toml"),
    handlers: HANDLERS,
    source: include_str!("case.rs"),
    modes: MODES,
    run,
    summary,
    broken: BROKEN,
};

/// What is measured, on 16 processors and on 32.
const VALUES: [[&str; 7]; 2] = [
    ["bits_per_cycle", "gbps", "instructions", "cycles", "mean_cycles", "p50_ns", "p99_ns"],
    ["bits_per_cycle_32", "gbps_32", "instructions_32", "cycles_32", "mean_cycles_32", "p50_ns_32", "p99_ns_32"],
];

fn run(setting: &Setting, mode: &str, point: u64) -> Result<Measured> {
    let mut values = Vec::new();
    let bench = setting.bench(1)?;
    values.extend(VALUES[0].into_iter().zip(serve(&bench, mode, point as usize)?));
    if !setting.small() {
        let bench = setting.on("alveo32")?.bench(1)?;
        values.extend(VALUES[1].into_iter().zip(serve(&bench, mode, point as usize)?));
        bench.check_buses()?;
    }
    Measured::new(&bench, values)
}

/// Points and values by which the case is judged.
const FIGURES: [(u64, &str); 6] = [
    (512, "bits_per_cycle"),
    (512, "bits_per_cycle_32"),
    (1024, "bits_per_cycle"),
    (1024, "bits_per_cycle_32"),
    (1024, "mean_cycles"),
    (1024, "instructions"),
];

fn summary(rows: &[Row]) -> Vec<(String, f64)> {
    let mut figures = Vec::new();
    for mode in MODES {
        for (point, name) in FIGURES {
            let figure = value(rows, mode.name, "pcie", point, name);
            figures.extend(figure.map(|figure| (format!("{}_{name}_{point}", mode.name), figure)));
        }
    }
    figures
}

const BROKEN: &[Broken] = &[
    Broken::new(
        "empty",
        "every packet is answered",
        "empty.c",
        "(void)args;",
        "spin_send_packet(args->task->pkt_mem, 40, NULL);",
    ),
    Broken::new("ping_pong", "ports stay", "ping_pong.c", "src_port = packet->udp_hdr.dst_port", "src_port = port"),
    Broken::new("copy_to_host", "the last byte is missing", "copy_to_host.c", "ip->length,", "ip->length - 1u,"),
    Broken::new(
        "copy_from_host",
        "bytes of the next place",
        "copy_from_host.c",
        "from_host(host,",
        "from_host(host + 1,",
    ),
    Broken::new("filtering", "the old checksum stays", "filtering.c", "packet->udp_hdr.checksum = 0;", ""),
    Broken::new("aggregate_global", "the last word is missing", "aggregate_global.c", "i < count", "i + 1 < count"),
    Broken::new("aggregate_local", "sums are not added", "aggregate_local.c", "amo_add(", "amo_store("),
    Broken::new("aggregate_message", "the last word is missing", "aggregate_message.c", "i < count", "i + 1 < count"),
    Broken::new("histogram_L1", "the highest values are those of others", "histogram_L1.c", "= 1024", "= 1023"),
    Broken::new("histogram_L2", "words count twice", "histogram_L2.c", "CLASSES], 1)", "CLASSES], 2)"),
    Broken::new("reduce_L1", "words are swapped", "reduce_L1.c", "own[i], words[i]", "own[i ^ 1], words[i]"),
    Broken::new("quantize", "large values wrap around", "quantize.c", "MAX(MIN(value, 127), -128)", "value"),
    Broken::new("strided_ddt", "blocks touch each other", "strided_ddt.c", "STRIDE = 64", "STRIDE = 32"),
    Broken::new(
        "ping_pong_own",
        "the answer is a byte short",
        "ping_pong_own.c",
        "p->packet_len,",
        "p->packet_len - 1,",
    ),
    Broken::new(
        "copy_to_host_own",
        "every packet of a message has the place of its first one",
        "copy_to_host_own.c",
        "MESSAGE + number",
        "MESSAGE",
    ),
    Broken::new(
        "filtering_own",
        "the old checksum stays",
        "filtering_own.c",
        "udp->checksum, 0",
        "udp->checksum, spin_get16(udp->checksum)",
    ),
    Broken::new(
        "copy_to_host",
        "a packet without a place is written",
        "load.h",
        "return message < task->host_mem_size / (MESSAGE * PLACE)",
        "return true",
    ),
];

/// A NIC that runs a handler.
struct Server<'a> {
    bench: &'a Bench,
    host: Host,
    handler: Handler,
    context: ContextId,
    region: u64,
    model: Model,
    /// Messages so far.
    messages: usize,
    random: ChaCha8Rng,
}

fn serve(bench: &Bench, mode: &str, bytes: usize) -> Result<[f64; 7]> {
    let setting = bench.setting();
    let mut server = Server::new(bench, mode)?;
    let hpus = setting.config.total_hpus();
    // So many that every thread has a packet and another one waits, and all fit into the packet buffer.
    let inside = Pace::Inside((4 * hpus).min(setting.config.cells() * 3 / 4 / bytes.div_ceil(64)));
    // Handlers that touch each word take long, and are far from the wire's rate.
    let slow = ["aggregate", "histogram", "reduce", "quantize", "strided"].iter().any(|name| mode.starts_with(name));
    let count = if slow && bytes > 128 { TOGETHER / 2 } else { TOGETHER };
    let (warm, count) = if setting.small() { (1, 1) } else { (hpus / 4, count) };
    server.pour(&vec![bytes; warm], inside)?;
    let before = server.host.nic(|nic| nic.context_counters(server.context))?;
    let full = server.pour(&vec![bytes; count], inside)?;
    let used = server.host.nic(|nic| nic.context_counters(server.context))?.since(&before);
    let packets = full.frames.len();
    let rate = rate(&full);
    let loaded = server.pour(&vec![bytes; count], Pace::Every(1.0 / rate / LOAD))?;
    server.check()?;
    let mut cycles: Vec<u64> = loaded.frames.iter().map(|frame| frame.ended - frame.buffered).collect();
    cycles.sort_unstable();
    let mean = cycles.iter().sum::<u64>() as f64 / packets as f64;
    let [p50, p99] = [50, 99].map(|percent| cycles[cycles.len() * percent / 100] as f64);
    let bits = 8.0 * bytes as f64 * rate;
    let gbps = bits * f64::from(setting.config.clock_mhz) / 1000.0;
    let per_packet = |sum: u64| sum as f64 / packets as f64;
    Ok([bits, gbps, per_packet(used.instructions), per_packet(used.cycles), mean, setting.ns(p50), setting.ns(p99)])
}

/// Packets per cycle, over the half of them in the middle; of answers, if there is one to each.
fn rate(passed: &Passed) -> f64 {
    let mut cycles: Vec<u64> = passed.frames.iter().map(|frame| frame.ended).collect();
    if passed.sent.len() == cycles.len() {
        cycles = passed.sent.iter().map(|frame| frame.last).collect();
    }
    cycles.sort_unstable();
    let (from, to) = (cycles.len() / 4, cycles.len() * 3 / 4);
    (to - from) as f64 / (cycles[to] - cycles[from]) as f64
}

/// Bytes of a scratchpad that the handler uses: context memory is written word by word.
fn scratchpad(mode: &str) -> usize {
    match mode {
        "histogram_L1" | "reduce_L1" => 4096,
        "aggregate_message" => 1024,
        "aggregate_local" => 64,
        _ => 0,
    }
}

/// Address and port of a sender. Those of two senders are the same but for the port.
fn sender(number: u16) -> ([u8; 4], u16) {
    ([10, 77, 1, (number / 2) as u8], 4000 + 256 * (number % 2))
}

impl<'a> Server<'a> {
    fn new(bench: &'a Bench, mode: &str) -> Result<Server<'a>> {
        let host = bench.host(0);
        // Completion handlers here do not look at a packet: it need not be kept for them.
        let handler = bench.compile_as(HANDLERS, &format!("{mode}.c"), |sources| spindle_sdk::Sources {
            pspin: !mode.ends_with(OWN),
            defines: vec!["SPINDLE_PSPIN_LAST=0".into(), format!("SPINDLE_PSPIN_SCRATCHPAD={}", scratchpad(mode))],
            ..sources
        })?;
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut memory = vec![0; MESSAGES * MESSAGE * PLACE];
        random.fill(&mut memory[..]);
        let region = host.alloc(memory.len())?;
        host.write(region, &memory)?;
        let options = ContextOptions { host_region: Some((region, memory.len() as u32)), ..ContextOptions::default() };
        let context = host.nic(|nic| -> Result<_> {
            let context = nic.install(&handler.image, &options)?;
            let messages = MessageRule::parse("udp[10:4]", "udp[8:2] >= 0x8000")?;
            let (rule, delivery) = messages.of(&format!("udp.dport == {PORT}").parse::<Rule>()?, context);
            nic.add_rule(&rule, Action::Deliver(delivery))?;
            nic.activate(context)?;
            nic.set_receive(true)?;
            Ok(context)
        })?;
        let known = (0..SENDERS).step_by(2).map(|number| {
            let (ip, port) = sender(number);
            [u32::from_be_bytes(ip), port.into(), 7000 + u32::from(number)]
        });
        let known: Vec<[u32; 3]> = known.collect();
        if mode.starts_with("filtering") {
            let mut table = vec![[0; 3]; ENTRIES];
            for entry in &known {
                let mut at = (entry[0] ^ entry[1] << 16).wrapping_mul(0x9e37_79b1) as usize >> 24;
                while table[at][0] != 0 {
                    at = (at + 1) % ENTRIES;
                }
                table[at] = *entry;
            }
            host.set_words(context, &handler, "table", &table.concat())?;
        }
        let model = Model::new(mode, memory, known);
        Ok(Server { bench, host, handler, context, region, model, messages: 0, random })
    }

    /// A packet of a message.
    fn packet(&mut self, message: usize, number: usize, flags: u16, bytes: usize) -> Vec<u8> {
        let mut payload = flags.to_be_bytes().to_vec();
        payload.extend((message as u32).to_be_bytes());
        payload.extend((number as u16).to_be_bytes());
        payload.resize(bytes - UDP_HEADERS, 0);
        self.random.fill(&mut payload[8..]);
        // Small numbers beside large ones.
        for word in payload[8..].chunks_exact_mut(4).step_by(2) {
            word[3] = 0;
            word[2] &= 0x7f;
        }
        // A message has one sender.
        let (src_ip, port) = sender(message as u16 % SENDERS);
        let ends = Ends { src_ip, dst_mac: address(0).mac, dst_ip: address(0).ip, ..Ends::default() };
        udp(&ends, port, PORT, &payload)
    }

    /// Pours messages, whose packets have so many bytes; [`TOGETHER`] of them alternate. Compares the answers.
    fn pour(&mut self, messages: &[usize], pace: Pace) -> Result<Passed> {
        let mut frames = Vec::new();
        for together in messages.chunks(TOGETHER) {
            for number in 0..MESSAGE {
                for (message, bytes) in together.iter().enumerate() {
                    let flags = if number == MESSAGE - 1 { LAST } else { 0 };
                    frames.push(self.packet(self.messages + message, number, flags, *bytes));
                }
            }
            self.messages += together.len();
        }
        ensure!(self.messages <= MESSAGES, "{} messages have no places", self.messages);
        self.pour_frames(&frames, pace)
    }

    fn pour_frames(&mut self, frames: &[Vec<u8>], pace: Pace) -> Result<Passed> {
        let patience = self.bench.setting().patience;
        let passed = self.host.nic(|nic| pour(&mut nic.memory.card().sim(), frames, pace, patience))?;
        if let Some(fault) = self.host.nic(|nic| nic.pop_fault())? {
            anyhow::bail!("{} at {:#x}", fault.cause_text().0, fault.pc);
        }
        let unhandled = passed.frames.iter().find(|frame| frame.end != End::Handled);
        ensure!(unhandled.is_none(), "a packet ended as {unhandled:?}");
        let mut wanted: Vec<Vec<u8>> = frames.iter().filter_map(|frame| self.model.take(frame)).collect();
        // Handlers of different packets overtake each other.
        let mut got: Vec<Vec<u8>> = passed.sent.iter().map(|frame| frame.bytes.clone()).collect();
        wanted.sort_unstable();
        got.sort_unstable();
        self.bench.expect("the answers", &got.concat(), &wanted.concat())?;
        Ok(passed)
    }

    /// Compares host memory and what the handler counts.
    fn check(&mut self) -> Result<()> {
        // A message that has no places.
        let frame = self.packet(MESSAGES, 0, LAST, 64);
        self.pour_frames(&[frame], Pace::Inside(1))?;
        let host = self.host.read(self.region, self.model.host.len())?;
        self.bench.expect("host memory", &host, &self.model.host)?;
        let mut words = vec![0_u32; COUNTERS / 4];
        for (name, rows) in [("total", 1), ("counts", 1), ("scratchpads", CLUSTERS)] {
            let Ok(variable) = variable(&self.handler.elf, &self.handler.image, name) else { continue };
            let mut bytes = vec![0; variable.bytes];
            self.host.nic(|nic| nic.read_state(self.context, variable.offset, &mut bytes))?;
            for row in bytes.chunks(bytes.len() / rows) {
                for (sum, word) in words.iter_mut().zip(row.chunks_exact(4)) {
                    *sum = sum.wrapping_add(u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
                }
            }
        }
        let bytes_of = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
        self.bench.expect("the counters", &bytes_of(&words), &bytes_of(&self.model.words))
    }
}
