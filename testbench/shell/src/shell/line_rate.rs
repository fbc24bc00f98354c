//! Frames per second through the whole card: at the pins of the CMAC, through the shell, to the NIC's verdict, as the card's
//! own counters have them.

use super::driver::{self, install, Driver};
use super::{Bench, Frame, Shell, ShellCard};
use crate::clocks::SECOND;
use crate::line_rate::{CHECK_SEQUENCE, LONGEST, OVERHEAD, SHORTEST};
use anyhow::{ensure, Result};
use spindle::rule_table::Action;
use spindle_contract::params::Config;
use spindle_contract::reasons::{BAD_FRAME, NO_BUFFER, NO_MESSAGE_SLOT, RULE_DROP};
use spindle_contract::registers::{packet, shell};
use spindle_model::frames::{udp, Ends};

/// Time after which the FIFO of the shell and the packet buffer of the NIC are full if they ever will be.
const SETTLE: u64 = 30;
/// Time of the measurement after that, and of the reads of the counters before and after, µs.
const WINDOW: u64 = 40;
const READS: u64 = 10;
/// Cycles of the core after which nothing is under way any more.
const DRAIN: u64 = 200_000;
/// Bytes of an Ethernet, IPv4 and UDP header.
const HEADERS: usize = 42;

/// What becomes of the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// A rule matches each and drops it: what the way to the verdict takes, without a handler.
    Judged,
    /// The handler `ping_pong` answers each.
    Answered,
}

/// Frames per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CardRates {
    /// Of the line.
    pub offered: f64,
    /// That the card treated as its rule says.
    pub accepted: f64,
    /// That found no room: in the FIFO of the shell, in the packet buffer or in the message table of the NIC.
    pub dropped: f64,
    /// That are in one of the card's counters.
    pub counted: f64,
}

/// Counts of the card, and when each was read.
type Counts = [(u64, u32); COUNTERS.len()];

/// The registers that are read before and after the window.
const COUNTERS: [u32; 7] = [
    packet::BASE + packet::FRAMES_IN,
    packet::BASE + packet::FRAMES_HANDLED,
    packet::BASE + packet::DROPS + 4 * RULE_DROP as u32,
    packet::BASE + packet::DROPS + 4 * NO_BUFFER as u32,
    packet::BASE + packet::DROPS + 4 * NO_MESSAGE_SLOT as u32,
    packet::BASE + packet::DROPS + 4 * BAD_FRAME as u32,
    shell::BASE + shell::RX_OVERFLOW,
];

/// Rates of UDP frames with `length` bytes, check sequence included, one after another on a line of 100 Gb/s, through the
/// shell of a `board` with its NIC: MAC at 322.265625 MHz, core at 250 MHz. Over 40 µs, after 30 µs. The bench drains the
/// card afterwards, and every frame has to be in exactly one counter.
///
/// # Errors
/// A length that no MAC gives or that has no room for a datagram (64 to 9,220 bytes do), a model that cannot be built, a
/// compiler that is missing, or frames that are not counted, or counted twice.
pub fn card_rates(board: &str, config: &Config, length: usize, treatment: Treatment) -> Result<CardRates> {
    ensure!((SHORTEST..=LONGEST).contains(&length), "a frame of {length} bytes; choose 64 to 9,220");
    let mut bench = Bench::open(board, config, 31)?;
    (bench.cmac.pace, bench.xdma.pace) = (100, 100);
    let card = ShellCard::new(bench);
    let mut driver = driver::open(&card)?;
    match treatment {
        Treatment::Judged => driver.add_rule(&"udp".parse()?, Action::Drop).map(|_| ())?,
        Treatment::Answered => install(&mut driver, "ping_pong", "udp")?,
    }
    driver.set_receive(true)?;

    let bytes = length - CHECK_SEQUENCE;
    let frame = Frame::good(udp(&Ends::default(), 7, 8, &vec![0x5A; bytes - HEADERS]));
    let per_second = 12.5e9 / (bytes as u64 + OVERHEAD) as f64;
    let offered = (per_second * (SETTLE + WINDOW + READS) as f64 / 1e6) as u64;
    let mut bench = card.bench();
    bench.cmac.incoming.extend((0..offered).map(|_| frame.clone()));
    bench.wait(1000 * SETTLE);
    let (begun, before) = (bench.now(), counts(&mut bench)?);
    let shown = bench.cmac.arrived.len();
    let read = (bench.now() - begun) / (SECOND / 1_000_000_000);
    bench.wait(1000 * WINDOW - read);
    let (arrived, time) = (bench.cmac.arrived.len() - shown, WINDOW as f64 * 1e-6 - read as f64 * 1e-9);
    let after = counts(&mut bench)?;
    ensure!(!bench.cmac.incoming.is_empty(), "the line fell silent before the counters were read");
    drop(bench);

    accounted(&card, &mut driver, &frame, treatment)?;
    let rates: [f64; COUNTERS.len()] = std::array::from_fn(|i| {
        let count = after[i].1.wrapping_sub(before[i].1);
        f64::from(count) * SECOND as f64 / (after[i].0 - before[i].0) as f64
    });
    let [received, handled, by_rule, no_buffer, no_slot, cut, overflow] = rates;
    let accepted = if treatment == Treatment::Judged { by_rule } else { handled };
    Ok(CardRates {
        offered: arrived as f64 / time,
        accepted,
        dropped: no_buffer + no_slot + overflow,
        // A frame that the shell cut reaches the NIC as bad.
        counted: received - cut + overflow,
    })
}

/// Reads the counters.
fn counts(bench: &mut Bench) -> Result<Counts> {
    let mut counts = [(0, 0); COUNTERS.len()];
    for (count, register) in counts.iter_mut().zip(COUNTERS) {
        let word = bench.read_register(register.into());
        *count = (bench.now(), word.ok_or_else(|| anyhow::anyhow!("register {register:#x} has no answer"))?);
    }
    Ok(counts)
}

/// Drains the card: each frame of the line is in one counter, and each answer was sent whole.
fn accounted(card: &ShellCard<Bench>, driver: &mut Driver<Bench>, frame: &Frame, treatment: Treatment) -> Result<()> {
    let idle = |bench: &mut Bench| bench.cmac.is_idle();
    ensure!(card.bench().run_while(DRAIN, idle), "the line does not end");
    card.bench().run(DRAIN / 10);
    let (stats, mac) = (driver.stats()?, driver.shell()?.map(|shell| shell.macs[0]));
    let overflow = mac.map_or(0, |mac| mac.rx_overflow);
    let offered = card.bench().cmac.arrived.len() as u32;
    let reasons: Vec<_> = stats.drop_reasons().collect();
    let [by_rule, no_buffer, no_slot, cut] =
        [RULE_DROP, NO_BUFFER, NO_MESSAGE_SLOT, BAD_FRAME].map(|reason| stats.drops[reason]);
    ensure!(
        stats.frames_in - cut + overflow == offered && stats.inside() == 0,
        "of {offered} frames {} are counted by the NIC, {cut} of them cut, {overflow} by the shell; {} are inside",
        stats.frames_in,
        stats.inside()
    );
    ensure!(
        stats.dropped() == u64::from(by_rule + no_buffer + no_slot + cut) && cut <= overflow,
        "frames were dropped for other reasons: {reasons:?}"
    );
    let sent = std::mem::take(&mut card.bench().cmac.sent);
    let wanted = if treatment == Treatment::Judged { 0 } else { stats.frames_handled };
    ensure!(
        sent.len() as u32 == wanted && stats.frames_out == wanted,
        "{wanted} frames were handled, {} counted as sent, and {} are on the wire",
        stats.frames_out,
        sent.len()
    );
    ensure!(
        sent.iter().all(|answer| !answer.bad && answer.bytes.len() == frame.bytes.len()),
        "an answer is bad or has another length"
    );
    Ok(())
}
