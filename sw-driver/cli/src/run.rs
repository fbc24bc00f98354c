//! `spindle run`: a handler, a capture, a report.

use crate::build::warn_of_stack;
use crate::check::{compare_answers, compare_bytes, compare_drops, host_region, predict, Expected};
use crate::play::{play, Pacing, Played};
use crate::sdk::{self, Handler};
use crate::session::{self, Session};
use crate::summary::Summary;
use crate::toolchain::Sources;
use crate::trace::{Disassembly, Tracer};
use anyhow::{bail, ensure, Context, Result};
use spindle::rule_table::Action;
use spindle::{ContextOptions, HostMemory, Rule};
use spindle_contract::memory_map::WATCHDOG_MOST;
use spindle_model::handlers;
use spindle_sim::capture::{self, Captured};
use spindle_sim::Options;
use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Bytes of the host region that the handler gets.
const HOST_BYTES: u32 = 1 << 20;

/// Arguments of `spindle run`.
#[derive(clap::Args)]
pub struct RunArguments {
    #[command(flatten)]
    sources: Sources,
    /// Capture whose packets are played in.
    #[arg(long, value_name = "IN.pcap")]
    pcap: PathBuf,
    /// Packets for the handler, such as 'udp.dport == 9999 && ip.src in 10.0.0.0/8'; may be given several times. Without it, a
    /// shipped handler gets the packets it is meant for and any other handler gets all.
    #[arg(long = "match", value_name = "RULE")]
    rules: Vec<String>,
    /// The Spindle header names the message: handlers run per message instead of per packet.
    #[arg(long)]
    messages: bool,
    /// Capture to write the answers to.
    #[arg(long, value_name = "OUT.pcap")]
    out: Option<PathBuf>,
    /// Wave to record (large, and slow).
    #[arg(long, value_name = "WAVE.vcd")]
    vcd: Option<PathBuf>,
    /// Trace to write: a line for each instruction (needs a model of its own, built the first time).
    #[arg(long, value_name = "TRACE.txt")]
    trace: Option<PathBuf>,
    /// Report to write as JSON.
    #[arg(long, value_name = "REPORT.json")]
    json: Option<PathBuf>,
    /// Configuration of the NIC: sim, kintex7 or alveo.
    #[arg(long, default_value = "sim")]
    config: String,
    /// Compute IPv4, UDP and ICMP checksums anew before playing: captures of a sender with offloads have unfinished ones.
    #[arg(long)]
    fix_checksums: bool,
    /// Cycles after which packets that are still inside are given up.
    #[arg(long, default_value_t = 2_000_000)]
    cycles_limit: u64,
    /// Make the gaps random (0 to twice --gap), from this seed; also the seed of the host's latencies and of TX.
    #[arg(long)]
    seed: Option<u64>,
    /// Percentage of cycles in which the wire takes what the NIC sends.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100))]
    tx_ready: u32,
    /// Idle cycles before each packet.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(..=1_000_000_000))]
    gap: u64,
    /// Cycle budget of a handler.
    #[arg(long, default_value_t = 100_000)]
    watchdog: u32,
}

/// Runs it. Everything the user gave is looked at before the NIC is built.
pub fn run(arguments: &RunArguments) -> Result<()> {
    let mut config = session::config(&arguments.config)?;
    config.rvfi = arguments.trace.is_some();
    let rules = arguments
        .rules
        .iter()
        .map(|text| text.parse::<Rule>().context("a rule is not understood"))
        .collect::<Result<Vec<_>>>()?;
    let mut frames: Vec<Vec<u8>> = capture::read(&arguments.pcap)?.into_iter().map(|packet| packet.bytes).collect();
    ensure!(!frames.is_empty(), "{} holds no packets; give a capture that does", arguments.pcap.display());
    ensure!(
        (1..=WATCHDOG_MOST).contains(&arguments.watchdog),
        "a watchdog budget of {} cycles cannot be kept; give 1 to {WATCHDOG_MOST}",
        arguments.watchdog
    );
    if arguments.fix_checksums {
        let fixed =
            frames.iter_mut().map(|frame| spindle_model::checksums::fix(frame)).filter(|changed| *changed).count();
        eprintln!("spindle: checksums of {fixed} packets fixed");
    }
    let handler = sdk::load(&arguments.sources)?;
    warn_of_stack(&handler.stack, config.stack_bytes());
    // A shipped handler gets what it is meant for unless told otherwise.
    let messages = arguments.messages || rules.is_empty() && handler.shipped.is_some_and(|shipped| shipped.messages);
    let rules = match (rules.is_empty(), handler.shipped) {
        (false, _) => rules,
        (true, Some(shipped)) => vec![shipped.rule.parse()?],
        (true, None) => vec![Rule::any()],
    };

    let tracer = match &arguments.trace {
        Some(path) => Some(Tracer::create(path, Disassembly::of(&handler.elf)?, config.hpus)?),
        None => None,
    };

    let defaults = Options::default();
    let trace = arguments.vcd.is_some();
    let seed = arguments.seed.unwrap_or(defaults.seed);
    let mut session = Session::open(config, Options { trace, seed, tx_ready_percent: arguments.tx_ready, ..defaults })?;
    let host = session.device.memory.alloc(HOST_BYTES as usize, 4096)?;
    let options = ContextOptions {
        watchdog: arguments.watchdog,
        host_region: Some((host, HOST_BYTES)),
        ..ContextOptions::default()
    };
    let context = session.device.install(&handler.image, &options)?;
    for rule in &rules {
        session
            .device
            .add_rule(rule, if messages { Action::ContextPerMessage(context) } else { Action::Context(context) })?;
    }
    session.device.activate(context)?;
    session.device.set_receive(true)?;
    if let Some(path) = &arguments.vcd {
        session.card.sim().wave_open(path).with_context(|| format!("cannot write the wave {}", path.display()))?;
    }
    let tracer = tracer.map(|tracer| trace_into(&mut session, tracer));
    let played =
        play(&mut session, &frames, Pacing { gap: arguments.gap, seed: arguments.seed }, arguments.cycles_limit)?;
    session.card.sim().wave_close();
    session.card.sim().set_retired(None);
    if let (Some(tracer), Some(path)) = (tracer.and_then(Rc::into_inner), &arguments.trace) {
        eprintln!("spindle: {} instructions in {}", tracer.into_inner().finish()?, path.display());
    }

    let mut summary = Summary::collect(&mut session, &handler, &played)?;
    let verdict = check(&mut session, &handler, &rules, &frames, &played, host);
    match &verdict {
        Ok(Some(sentence)) => summary.checked.clone_from(sentence),
        Ok(None) => {}
        Err(error) => summary.checked = format!("WRONG: {error:#}"),
    }
    print!("{}", summary.text());
    write_files(arguments, &session, &played, &summary)?;
    verdict?;
    ensure!(
        played.drained,
        "{} packets were still inside the NIC {} cycles after the last; raise --cycles-limit, or look at the wave",
        played.stats.inside(),
        arguments.cycles_limit
    );
    let violations = session.card.sim().memory().violations.clone();
    ensure!(violations.is_empty(), "the NIC broke the AXI4 protocol: {}", violations.join("; "));
    Ok(())
}

/// Lets the card hand every instruction to the tracer.
fn trace_into(session: &mut Session, tracer: Tracer) -> Rc<RefCell<Tracer>> {
    let tracer = Rc::new(RefCell::new(tracer));
    let writer = tracer.clone();
    session.card.sim().set_retired(Some(Box::new(move |retired| writer.borrow_mut().retired(retired))));
    tracer
}

/// Compares with the model of a shipped handler; `None` for any other handler.
fn check(
    session: &mut Session,
    handler: &Handler,
    rules: &[Rule],
    frames: &[Vec<u8>],
    played: &Played,
    host: u64,
) -> Result<Option<String>> {
    let Some((shipped, model)) = handler.shipped.and_then(|shipped| Some((shipped, handlers::by_name(shipped.name)?)))
    else {
        return Ok(None);
    };
    let expected = Expected { rules, model, host_bytes: HOST_BYTES as usize };
    let expectation = predict(&[expected], frames, &played.numbers);
    let answers = compare_answers(&expectation, played)?;
    if expectation.proceeded == 0 {
        compare_drops(&expectation, &played.stats.drops)?;
    } else if played.stats.inside() == 0 {
        let ended = played.stats.frames_placed + played.stats.drops.iter().sum::<u32>();
        let predicted = expectation.proceeded + expectation.drops.iter().sum::<u32>();
        ensure!(ended == predicted, "{ended} packets were placed or dropped, the model says {predicted}");
    }
    let mut region = vec![0; HOST_BYTES as usize];
    session.device.memory.read(host, &mut region)?;
    compare_bytes("the host region", &host_region(&expectation, region.len()), &region)?;
    if shipped.name == "place" {
        return Ok(Some(format!("checked: {} packets passed on, none answered", expectation.proceeded)));
    }
    Ok(Some(match (answers, expectation.host.len()) {
        (0, 0) => "checked: no packet was to be answered, none was".into(),
        (0, stored) => format!("checked: {stored} payloads in host memory byte-identical with the model"),
        (answers, _) => format!("checked: {answers} replies byte-identical with the model"),
    }))
}

/// Writes what the user asked for.
fn write_files(arguments: &RunArguments, session: &Session, played: &Played, summary: &Summary) -> Result<()> {
    if let Some(path) = &arguments.out {
        let packets: Vec<_> = played
            .replies
            .iter()
            .map(|reply| Captured {
                time: Duration::from_nanos(session.nanoseconds(reply.frame.first as f64) as u64),
                bytes: reply.frame.bytes.clone(),
            })
            .collect();
        capture::write(path, &packets)?;
        eprintln!("spindle: {} answers in {}", packets.len(), path.display());
    }
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(summary)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &arguments.vcd {
        if !path.exists() {
            bail!("the wave {} was not written; check that its folder exists", path.display());
        }
        eprintln!("spindle: wave in {}", path.display());
    }
    Ok(())
}
