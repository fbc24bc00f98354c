//! `spindle demo`: real kernel traffic answered by two handlers, a shuffled put into a mailbox, everything compared.

use crate::judge;
use crate::served;
use anyhow::{bail, ensure, Context, Result};
use rand::seq::SliceRandom;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{ContextOptions, Rule};
use spindle_cli::check::{compare_answers, compare_bytes, compare_drops, predict, Expectation, Expected};
use spindle_cli::play::{play, Pacing, Played};
use spindle_cli::session::Session;
use spindle_cli::summary::{stage_table, stages};
use spindle_contract::params::{SEGMENT_BYTES, SPINDLE_PORT};
use spindle_contract::wire::{status, RECORD_BUFFER, RECORD_BYTES, RECORD_EPOCH, RECORD_LENGTH, RECORD_STATUS};
use spindle_model::frames::{put_message, Ends, SpindleHeader};
use spindle_model::handlers::by_name;
use spindle_sdk::Shipped;
use spindle_sim::capture::{self, Captured};
use spindle_sim::host_memory::SparseMemory;
use spindle_sim::{Options, WaveRequest};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Pace of the traffic, and of the put.
const PACE: Pacing = Pacing { gap: 100, seed: None };
const AT_ONCE: Pacing = Pacing { gap: 0, seed: None };
/// Bound of each wait.
const LIMIT: u64 = 1_000_000;
/// Frames of the capture that are played again for the wave.
const WAVE_FRAMES: usize = 12;
/// Bytes of the put, a segment number that does not come out even.
const PUT_BYTES: usize = 20_011;
const MAILBOX: u64 = 0x1122_3344_5566_7788;
const KEY: u32 = 0x00C0_FFEE;

/// Arguments of `spindle demo`.
#[derive(clap::Args)]
pub struct DemoArguments {
    /// Capture of real traffic to play.
    #[arg(long, value_name = "IN.pcap", default_value = "testbench/captures/kernel.pcap")]
    pcap: PathBuf,
    /// Folder for out.pcap, exchange.pcap and wave.vcd.
    #[arg(long, value_name = "DIR", default_value = "target/demo")]
    out: PathBuf,
    /// Configuration of the NIC.
    #[arg(long, default_value = "sim")]
    config: String,
    /// Record no wave; the model without waves is built faster.
    #[arg(long)]
    no_wave: bool,
    /// Seed of the put's bytes and of its order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Says which step begins.
fn step(number: usize, text: &str) {
    println!("[{number}/7] {text}");
}

/// Runs it.
pub fn demo(arguments: &DemoArguments) -> Result<()> {
    let config = spindle_cli::config::config(&arguments.config)?;
    std::fs::create_dir_all(&arguments.out)
        .with_context(|| format!("cannot make the folder {}", arguments.out.display()))?;
    let frames: Vec<Vec<u8>> = capture::read(&arguments.pcap)?.into_iter().map(|packet| packet.bytes).collect();

    step(1, "compiling the handlers ping_pong and icmp_echo");
    let names = ["ping_pong", "icmp_echo"];
    let shipped = names.map(|name| Shipped::by_name(name).expect("both come with this program"));
    let handlers = shipped.map(Shipped::load);

    step(2, "elaborating the NIC, emitting Verilog, building the model");
    let mut session =
        Session::open(config, Options { trace: !arguments.no_wave, seed: arguments.seed, ..Options::default() })?;
    // Spindle frames are UDP too: the rule of the mailboxes comes first.
    session.device.add_rule(&"spindle".parse::<Rule>()?, Action::Mailbox)?;
    let mut rules = Vec::new();
    for (handler, shipped) in handlers.into_iter().zip(shipped) {
        let context = session.device.install(&handler?.image, &ContextOptions::default())?;
        let rule: Rule = shipped.rule.parse()?;
        session.device.add_rule(&rule, Action::Context(context))?;
        session.device.activate(context)?;
        rules.push([rule]);
    }
    session.device.set_receive(true)?;

    step(3, &format!("playing {} frames of real traffic from {}", frames.len(), arguments.pcap.display()));
    let played = play(&mut session, &frames, PACE, LIMIT)?;
    ensure!(played.drained, "{} frames are still inside after {LIMIT} cycles", played.stats.inside());
    let models: Vec<_> = names
        .iter()
        .zip(&rules)
        .map(|(name, rules)| Expected { rules, model: by_name(name).expect("both have models"), host_bytes: 0 })
        .collect();
    let expectation = predict(&models, &frames, &played.numbers);
    let traffic_stages = stages(&session);
    write_answers(&session, &arguments.out, &frames, &played)?;

    step(4, "comparing every answer with the model and with what tshark reads");
    compare_traffic(&arguments.out, &frames, &played, &expectation)?;

    step(5, &format!("putting {PUT_BYTES} bytes, packets shuffled, into an RVMA mailbox"));
    let wave = arguments.out.join("wave.vcd");
    if !arguments.no_wave {
        session.card.sim().wave_open(&wave, &WaveRequest::default())?;
    }
    let again = &frames[..frames.len().min(WAVE_FRAMES)];
    let played_again = play(&mut session, again, PACE, LIMIT)?;
    compare_answers(&predict(&models, again, &played_again.numbers), &played_again).context("played a second time")?;
    put(&mut session, arguments.seed)?;
    session.card.sim().wave_close()?;

    step(6, "latency of each stage");
    println!("Answered packets, first beat in to last beat out:\n{}\n", stage_table(&traffic_stages));
    println!("The put, first beat in to completion record:\n{}\n", stage_table(&stages(&session)));
    let [out, exchange] = ["out.pcap", "exchange.pcap"].map(|name| arguments.out.join(name));
    println!("answers: {}, with their requests: {}", out.display(), exchange.display());
    if !arguments.no_wave {
        println!("wave of the put and {WAVE_FRAMES} frames: {}", wave.display());
    }
    drop(session);

    step(7, "serving a NIC to other programs");
    served::serve(&arguments.out, config)
}

/// Writes `out.pcap` (answers) and `exchange.pcap` (requests and answers in order of time).
fn write_answers(session: &Session, folder: &Path, frames: &[Vec<u8>], played: &Played) -> Result<()> {
    let time = |cycle: u64| Duration::from_nanos(session.nanoseconds(cycle as f64) as u64);
    let answers: Vec<_> = played
        .replies
        .iter()
        .map(|reply| Captured { time: time(reply.frame.first), bytes: reply.frame.bytes.clone() })
        .collect();
    let requests =
        frames.iter().zip(&played.arrivals).map(|(frame, cycle)| Captured { time: time(*cycle), bytes: frame.clone() });
    let mut exchange: Vec<_> = requests.chain(answers.iter().cloned()).collect();
    exchange.sort_by_key(|packet| packet.time);
    capture::write(&folder.join("out.pcap"), &answers)?;
    capture::write(&folder.join("exchange.pcap"), &exchange)
}

/// Compares with the models and has tshark judge; each comparison must also notice one wrong byte.
fn compare_traffic(folder: &Path, frames: &[Vec<u8>], played: &Played, expectation: &Expectation) -> Result<()> {
    let answers = compare_answers(expectation, played)?;
    compare_drops(expectation, &played.stats.drops)?;
    ensure!(answers > 0, "the capture holds no UDP packet and no ping; take another");
    let mut corrupt = expectation.clone();
    let first = corrupt.answers.iter_mut().flatten().next().expect("there are answers");
    *first.last_mut().expect("frames are not empty") ^= 1;
    must_fail("the comparison with the model", compare_answers(&corrupt, played))?;
    println!(
        "      {answers} answers byte-identical with the model; {} frames in, {} dropped for: {}",
        frames.len(),
        played.stats.dropped(),
        reasons(played)
    );

    let out = folder.join("out.pcap");
    let verdict = judge::answers(&folder.join("exchange.pcap"), &out)?;
    ensure!(
        verdict.udp + verdict.pings == answers,
        "tshark counts {} UDP answers and {} ping answers, {answers} came out",
        verdict.udp,
        verdict.pings
    );
    let folder = tempfile::tempdir()?;
    let wrong = folder.path().join("wrong.pcap");
    let mut packets = capture::read(&out)?;
    let mut exchange = capture::read(&out.with_file_name("exchange.pcap"))?;
    let target = packets[0].bytes.clone();
    let at = target.len() - 1;
    packets[0].bytes[at] ^= 1;
    exchange.iter_mut().filter(|packet| packet.bytes == target).for_each(|packet| packet.bytes[at] ^= 1);
    let wrong_exchange = folder.path().join("wrong_exchange.pcap");
    capture::write(&wrong, &packets)?;
    capture::write(&wrong_exchange, &exchange)?;
    must_fail("tshark", judge::answers(&wrong_exchange, &wrong))?;
    println!(
        "      tshark: {} UDP answers and {} ping answers match their requests, all checksums good",
        verdict.udp, verdict.pings
    );
    Ok(())
}

fn reasons(played: &Played) -> String {
    played.stats.drop_reasons().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}

/// The comparison must fail for a wrong answer.
fn must_fail<T>(what: &str, result: Result<T>) -> Result<()> {
    match result {
        Err(_) => Ok(()),
        Ok(_) => bail!("{what} did not notice one corrupted byte; its verdicts are worth nothing"),
    }
}

/// The put: opens a mailbox, posts a buffer, plays the packets in random order, waits for the record, compares all of host memory.
fn put(session: &mut Session, seed: u64) -> Result<()> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut data = vec![0; PUT_BYTES];
    random.fill_bytes(&mut data);
    let header = SpindleHeader { addr: MAILBOX, key: KEY, msg_id: 77, ..SpindleHeader::default() };
    let mut packets = put_message(&Ends::default(), SPINDLE_PORT, &header, &data, SEGMENT_BYTES);
    packets.shuffle(&mut random);

    let window = session.device.init_window(0, MAILBOX, KEY, PUT_BYTES as u32)?;
    // One segment more than needed: nothing may be written after the message.
    let posted = session.device.post_buffer(window, (PUT_BYTES + SEGMENT_BYTES) as u32)?;
    ensure!(session.device.poll(&posted)?.is_none(), "the record is complete before the first packet");
    let before = session.device.stats()?;
    let played = play(session, &packets, AT_ONCE, LIMIT)?;
    let completed = session.device.wait(&posted, LIMIT)?;
    ensure!(played.drained && played.replies.is_empty(), "the put was not taken in whole: {}", reasons(&played));
    ensure!(
        (completed.length as usize, completed.status, completed.buffer) == (PUT_BYTES, status::DONE, posted.buffer),
        "the completion record is wrong: {completed:?}"
    );
    let completions = session.device.stats()?.completions.wrapping_sub(before.completions);
    ensure!(completions == 1, "the put completed {completions} times");

    let mut expected = SparseMemory::default();
    expected.write(posted.buffer, &data);
    expected.write(posted.record, &record(&posted, PUT_BYTES as u32));
    compare_memory(&expected, &session.card.sim().memory().memory)?;
    expected.write(posted.buffer + PUT_BYTES as u64 / 2, &[!data[PUT_BYTES / 2]]);
    must_fail("the comparison of host memory", compare_memory(&expected, &session.card.sim().memory().memory))?;
    let violations = session.card.sim().memory().violations.clone();
    ensure!(violations.is_empty(), "the NIC broke the AXI4 protocol: {}", violations.join("; "));
    println!("      {} packets placed, completed once; every byte of host memory as the model says", packets.len());
    Ok(())
}

/// The record of the first buffer of a mailbox.
fn record(posted: &Posted, length: u32) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[RECORD_LENGTH..RECORD_LENGTH + 4].copy_from_slice(&length.to_le_bytes());
    record[RECORD_STATUS] = status::DONE;
    record[RECORD_EPOCH..RECORD_EPOCH + 2].copy_from_slice(&0u16.to_le_bytes());
    record[RECORD_BUFFER..].copy_from_slice(&posted.buffer.to_le_bytes());
    record
}

/// Compares all of host memory, not only where something should be.
fn compare_memory(expected: &SparseMemory, memory: &SparseMemory) -> Result<()> {
    let (wanted, got) = (expected.nonzero(), memory.nonzero());
    if let Some((want, have)) = wanted.iter().zip(&got).find(|(want, have)| want != have) {
        let at = want.0.min(have.0);
        return compare_bytes(&format!("host memory from {at:#x}"), &expected.bytes(at, 1), &memory.bytes(at, 1));
    }
    ensure!(
        wanted.len() == got.len(),
        "host memory holds {} bytes that are not zero instead of {}",
        got.len(),
        wanted.len()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_memory_counts() {
        let mut a = SparseMemory::default();
        a.write(0x1000, &[1, 2, 0, 4]);
        let mut b = a.clone();
        compare_memory(&a, &b).unwrap();
        b.write(0x1002, &[9]);
        assert!(compare_memory(&a, &b).unwrap_err().to_string().contains("0x1002"));
        let mut c = a.clone();
        c.write(0x9_0000_0000, &[1]);
        assert!(compare_memory(&a, &c).is_err());
        let mut d = a.clone();
        d.write(0x1003, &[0]);
        assert!(compare_memory(&a, &d).is_err());
    }
}
