//! Figures of two NICs on a wire: what long puts deliver when frames are lost.

use super::measure::Figure;
use super::rvma_vs_rdma;
use super::{put_context, put_packet};
use anyhow::{ensure, Result};
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::{Device, HostMemory, Icrc, Kind, Rule, Target};
use spindle_contract::params::{Config, SEGMENT_BYTES};
use spindle_contract::wire::status;
use spindle_harness::Source;
use spindle_sim::{address, Network, NetworkNode, Options, SimDevice, WireOptions};

/// The driver of a NIC on a wire.
pub type Node = Device<NetworkNode, NetworkNode>;

/// Measures on NICs that it builds itself.
pub type NetworkMeasure = fn(&Source, &Config) -> Result<Vec<Figure>>;

/// The measurements: name, keys, function.
pub const MEASUREMENTS: [(&str, &[&str], NetworkMeasure); 4] = [
    ("long puts over a wire that loses frames", &LOSS_KEYS, goodput_at_loss),
    ("puts of context memory", put_context::KEYS, put_context::measure),
    ("reliable puts of packets", put_packet::KEYS, put_packet::measure),
    ("RVMA against RDMA", rvma_vs_rdma::KEYS, rvma_vs_rdma::compare),
];

const LOSS_KEYS: [&str; 4] =
    ["rvma.goodput_at_loss.0", "rvma.goodput_at_loss.0_1", "rvma.goodput_at_loss.1", "rvma.goodput_at_loss.1_icrc"];
/// Shares of the frames that are lost, and whether all frames have the ICRC, in the order of the keys.
const LOSSES: [(f64, bool); 4] = [(0.0, false), (0.001, false), (0.01, false), (0.01, true)];
/// Bits of payload per cycle when full-size segments follow each other on the wire without a gap.
pub const WIRE_LIMIT: f64 = SEGMENT_BYTES as f64 * 8.0 / 24.0;
pub const KEY: u32 = 0x5EED;
/// Cycles after reset within which the tables of peers are cleared.
const CLEARING: u64 = 10_000;

/// Two NICs that know each other, number their packets, and acknowledge every `n` received packets.
pub fn pair(
    source: &Source,
    config: &Config,
    wire: WireOptions,
    ack_every: u8,
    sending: Reliability,
) -> Result<[Node; 2]> {
    let card = |seed| -> Result<SimDevice> {
        let mut card = SimDevice::new(source, config, Options { seed, ..Options::default() })?;
        card.set_tracing(false);
        Ok(card)
    };
    let network = Network::new(vec![card(1)?, card(2)?], wire);
    let open = |number: usize| -> Result<Node> {
        let node = network.node(number);
        let mut device = Device::open(node.clone(), node)?;
        device.set_identity(number as u32, address(number).mac, address(number).ip)?;
        for other in 0..2 {
            device.set_node(other, Some(address(other)))?;
        }
        device.add_rule(&"spindle".parse::<Rule>()?, Action::Mailbox)?;
        device.set_sequence_filter(true)?;
        device.set_responses(Some(Responses { ack_every, ..Responses::default() }))?;
        device.set_reliability(Some(sending))?;
        device.set_receive(true)?;
        Ok(device)
    };
    let pair = [open(0)?, open(1)?];
    network.run(CLEARING);
    Ok(pair)
}

fn goodput_at_loss(source: &Source, config: &Config) -> Result<Vec<Figure>> {
    LOSS_KEYS.iter().zip(LOSSES).map(|(key, (loss, icrc))| goodput(source, config, key, loss, icrc)).collect()
}

/// Puts to several mailboxes at once, from the first register access to the last record.
fn goodput(source: &Source, config: &Config, key: &'static str, loss: f64, icrc: bool) -> Result<Figure> {
    const PUT: usize = 1 << 20;
    const PUTS: usize = 8;
    const PATIENCE: u64 = 2_000_000;
    // A walk over the bitmap of an acknowledgement takes the sender up to 70 cycles: not more often than every 192.
    const ACK_EVERY: u8 = 8;
    let wire = WireOptions { loss, ..WireOptions::default() };
    let sending = Reliability { timeout: 64, hole_time: 16, retries: 15, incarnation: 0 };
    let [mut sender, mut receiver] = pair(source, config, wire, ACK_EVERY, sending)?;
    if icrc {
        sender.set_checked_node(1, address(1), Icrc::BOTH)?;
        receiver.set_checked_node(0, address(0), Icrc::BOTH)?;
    }
    let mut posted = Vec::new();
    let mut data = Vec::new();
    for number in 0..PUTS as u64 {
        let window = receiver.init_window(0, number, KEY, PUT as u32)?;
        posted.push(receiver.post_buffer(window, PUT as u32)?);
        let bytes: Vec<u8> = (0..PUT).map(|i| (i * 7 + i / 251 + number as usize * 31) as u8).collect();
        let from = sender.memory.alloc(PUT, 64)?;
        sender.memory.write(from, &bytes)?;
        data.push((from, bytes));
    }
    let start = sender.memory.card().sim().cycle();
    for (number, (from, _)) in data.iter().enumerate() {
        let target = Target { node: 1, process: 0, address: number as u64, key: KEY, offset: 0, kind: Kind::Bound };
        sender.put(0, *from, PUT as u32, &target)?;
    }
    for (posted, (_, bytes)) in posted.iter().zip(&data) {
        let completed = receiver.wait(posted, PATIENCE)?;
        ensure!(completed.status == status::DONE && completed.length as usize == PUT, "a put ended as {completed:?}");
        ensure!(
            receiver.memory.card().sim().memory().memory.bytes(posted.buffer, PUT) == *bytes,
            "a put did not arrive whole"
        );
    }
    let end = receiver.memory.card().sim().cycle();
    let resent = sender.segments_resent()?;
    let counts = sender.memory.network().counts();
    let rate = (8 * PUT * PUTS) as f64 / (end - start) as f64;
    let how = format!(
        "{PUTS} puts of {PUT} bytes to as many mailboxes, register access of the first to record of the last: {rate:.1} bits per cycle of \
         {WIRE_LIMIT:.1}; {} of {} frames lost, {} ICRC, {resent} segments sent again; wire of {} cycles, timeout {}, hole time {} cycles",
        counts.lost,
        counts.sent,
        if icrc { "with" } else { "without" },
        wire.latency,
        64 * u32::from(sending.timeout),
        64 * u32::from(sending.hole_time),
    );
    Ok(Figure::new(key, rate / WIRE_LIMIT, how))
}
