//! `spindle run`: a handler, a capture, a report.

mod arguments;
mod files;
mod verdict;

pub use arguments::RunArguments;

use crate::build::warn_of_stack;
use crate::play::{play, Pacing};
use crate::sdk;
use crate::session::{self, Session};
use crate::summary::Summary;
use crate::trace::{Disassembly, Tracer};
use anyhow::{ensure, Context, Result};
use spindle::rule_table::Action;
use spindle::{ContextOptions, HostMemory, Rule};
use spindle_contract::memory_map::WATCHDOG_MOST;
use spindle_sim::capture;
use spindle_sim::Options;
use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of the host region that the handler gets.
const HOST_BYTES: u32 = 1 << 20;

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
    let verdict = verdict::check(&mut session, &handler, &rules, &frames, &played, host);
    match &verdict {
        Ok(Some(sentence)) => summary.checked.clone_from(sentence),
        Ok(None) => {}
        Err(error) => summary.checked = format!("WRONG: {error:#}"),
    }
    print!("{}", summary.text());
    files::write_files(arguments, &session, &played, &summary)?;
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
