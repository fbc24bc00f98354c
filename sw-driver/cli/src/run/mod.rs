//! `spindle run`: a handler, a capture, a report.

mod arguments;
mod cycle_budget;
mod faults;
mod files;
mod host;
mod instructions;
mod load;
mod order;
pub mod outputs;
mod pacing;
mod progress;
mod rate;
mod record;
mod signals;
mod variables;
mod verdict;

pub use arguments::RunArguments;
pub use cycle_budget::CycleBudget;
pub use faults::FaultCount;
pub use files::Found;
pub use load::Loads;
pub use order::OutOfOrder;
pub use pacing::PacingArguments;
pub use rate::Rate;
pub use record::Record;
pub use signals::Interrupted;
pub use variables::{Shown, VariableArguments};

use crate::fates;
use crate::fpspin_host::{self, FpspinHost};
use crate::message_field;
use crate::play::{play_watched, Played, Watch};
use crate::session::Session;
use crate::summary::{Details, Summary};
use crate::unseen;
use anyhow::{bail, ensure, Context, Result};
use files::Files;
use instructions::InstructionTraces;
use outputs::Outputs;
use progress::Progress;
use record::CaptureRecord;
use signals::Interrupts;
use spindle::rule::MessageRule;
use spindle::rule_table::Action;
use spindle::{ContextId, ContextOptions, HostMemory, Rule};
use spindle_contract::events::MAX_RECORDS;
use spindle_contract::memory_map::WATCHDOG_MOST;
use spindle_contract::params::Config;
use spindle_sdk::warn_of_stack;
use spindle_sdk::{self as sdk, Handler};
use spindle_sim::capture::{self, Capture};
use spindle_sim::{Options, WaveRequest};
use std::io::Write;

/// Process of the context.
const PROCESS: usize = 0;
/// Records of the event ring.
const RING_RECORDS: usize = MAX_RECORDS;

/// Bytes of the host region that the handler gets.
const HOST_BYTES: u32 = 1 << 20;

/// The user's input, read and checked.
struct Input {
    config: Config,
    handler: Handler,
    rules: Vec<Rule>,
    /// Rules as text.
    texts: Vec<String>,
    messages: bool,
    /// The rule of messages that a field names.
    by_field: Option<MessageRule>,
    wave: Option<WaveRequest>,
    frames: Vec<Vec<u8>>,
    schedule: pacing::Schedule,
    /// Start of the host region.
    host: Vec<u8>,
    record: Record,
}

/// A NIC with the handler installed.
struct Installed {
    session: Session,
    context: ContextId,
    /// Address of the host region.
    host: u64,
    /// The host program of FPsPIN handlers.
    program: Option<FpspinHost>,
}

/// Runs a handler. All input is checked, and every output is opened, before the NIC is built.
pub fn run(arguments: &RunArguments) -> Result<()> {
    let mut outputs = Outputs::default();
    let input = read(arguments)?;
    let files = Files::open(arguments, &mut outputs)?;
    let traces = InstructionTraces::open(arguments, &input.handler.elf, input.config.hpus, &mut outputs)?;
    let interrupts = Interrupts::catch(outputs.leftovers())?;
    let mut nic = install(arguments, &input)?;
    let ring = match arguments.event_ring {
        true => Some(nic.session.device.open_ring(PROCESS, RING_RECORDS)?),
        false => None,
    };
    traces.start(&nic.session);
    arguments.waves.open(&nic.session, input.wave.as_ref())?;
    let first = nic.session.card.sim().cycle();

    let progress = Progress::new(input.schedule.cycles, input.frames.len());
    interrupts.run_starts();
    let program = nic.program.as_ref();
    let mut attend = |session: &mut Session| program.map_or(Ok(()), |program| program.attend(session));
    let played = play_watched(
        &mut nic.session,
        &input.frames,
        input.schedule.gaps.iter().copied(),
        arguments.cycles_limit,
        Watch {
            drain_faults: true,
            ring,
            stop: Some(&|| interrupts.pending()),
            attendant: Some(&mut attend),
            progress: Some(&mut |cycles, pending| progress.at(cycles, pending)),
        },
    );
    progress.finish();
    if let Err(error) = arguments.waves.close(&nic.session, input.wave.as_ref(), first) {
        outputs.failed("--vcd", &error);
    }
    let note = match &played {
        Ok(played) => played.interrupted.then(|| "the run was interrupted".to_owned()),
        Err(error) => Some(format!("the run failed: {error:#}")),
    };
    traces.finish(&nic.session, &mut outputs, note.as_deref())?;
    conclude(arguments, &input, &mut nic, &played?, outputs, &files, &interrupts)
}

/// Reads and checks the user's input.
fn read(arguments: &RunArguments) -> Result<Input> {
    let mut config = crate::config::config(&arguments.config)?;
    config.rvfi = arguments.trace.is_some() || arguments.konata.konata.is_some();
    let rules = arguments
        .rules
        .iter()
        .map(|text| text.parse::<Rule>().context("a rule is not understood"))
        .collect::<Result<Vec<_>>>()?;
    let (capture, sha256) = read_capture(arguments)?;
    let record = CaptureRecord::of(&arguments.pcap, sha256, &capture);
    ensure!(
        (1..=WATCHDOG_MOST).contains(&arguments.watchdog),
        "a watchdog budget of {} cycles cannot be kept; give 1 to {WATCHDOG_MOST}",
        arguments.watchdog
    );
    let schedule = arguments.pacing.schedule(&capture.packets, config.clock_mhz, arguments.seed)?;
    let mut frames: Vec<Vec<u8>> = capture.packets.into_iter().map(|packet| packet.bytes).collect();
    if arguments.fix_checksums {
        let fixed =
            frames.iter_mut().map(|frame| spindle_model::checksums::fix(frame)).filter(|changed| *changed).count();
        eprintln!("spindle: checksums of {fixed} packets fixed");
    }
    let by_field = arguments.message_field.rule(&rules)?;
    let wave = arguments.waves.request()?;
    let host = arguments.host.content()?;
    let mut handler = sdk::load(&arguments.sources)?;
    warn_of_stack(&handler.stack, config.stack_bytes());
    arguments.variables.apply(&mut handler)?;
    // A shipped handler gets its own rule unless the user gives one.
    let messages = arguments.messages || rules.is_empty() && handler.shipped.is_some_and(|shipped| shipped.messages);
    let (rules, texts) = match (rules.is_empty(), handler.shipped) {
        (false, _) => (rules, arguments.rules.clone()),
        (true, Some(shipped)) => (vec![shipped.rule.parse()?], vec![shipped.rule.to_owned()]),
        (true, None) => (vec![Rule::any()], vec!["any packet".to_owned()]),
    };
    for note in arguments.pacing.notes(&schedule) {
        eprintln!("spindle: {note}");
    }
    let record = Record::of(arguments, &handler, record, texts.clone(), messages);
    Ok(Input { config, handler, rules, texts, messages, by_field, wave, frames, schedule, host, record })
}

/// The capture and the hash of its file.
fn read_capture(arguments: &RunArguments) -> Result<(Capture, String)> {
    let path = &arguments.pcap;
    // Read once, since the path may be that of a pipe.
    let file = capture::load(path)?;
    let capture = capture::parse(&file, arguments.truncated.into())
        .with_context(|| format!("{} cannot be used", path.display()))?;
    let left_out = capture.truncated;
    if left_out > 0 {
        eprintln!("spindle: {left_out} packets are left out, since the capture holds only their first bytes");
    }
    if capture.packets.is_empty() {
        let reason = if left_out > 0 { "only packets that were captured in part" } else { "no packets" };
        bail!("{} holds {reason}; give a capture with whole packets", path.display());
    }
    Ok((capture, record::sha256(&file)))
}

/// Builds the NIC, fills its memories and sets its rules.
fn install(arguments: &RunArguments, input: &Input) -> Result<Installed> {
    let defaults = Options::default();
    let trace = input.wave.is_some();
    let seed = arguments.seed.unwrap_or(defaults.seed);
    let options = Options { trace, seed, tx_ready_percent: arguments.tx_ready, ..defaults };
    let mut session = Session::open(input.config, options)?;
    let host = session.device.memory.alloc(HOST_BYTES as usize, 4096)?;
    session.device.memory.write(host, &input.host)?;
    let options = ContextOptions {
        watchdog: arguments.watchdog,
        host_region: Some((host, HOST_BYTES)),
        process: PROCESS as u8,
        ..ContextOptions::default()
    };
    let context = session.device.install(&input.handler.image, &options)?;
    for rule in &input.rules {
        let packets = if input.messages { Action::ContextPerMessage(context) } else { Action::Context(context) };
        let (rule, action) = message_field::delivery(input.by_field.as_ref(), rule, context, packets);
        session.device.add_rule(&rule, action)?;
    }
    session.device.activate(context)?;
    session.device.set_receive(true)?;
    let program = fpspin_host::of(&arguments.sources, &input.handler, context, host)?;
    Ok(Installed { session, context, host, program })
}

/// Reports, writes the outputs, and judges: the error lists every failure.
fn conclude(
    arguments: &RunArguments,
    input: &Input,
    nic: &mut Installed,
    played: &Played,
    mut outputs: Outputs,
    files: &Files,
    interrupts: &Interrupts,
) -> Result<()> {
    let lengths: Vec<usize> = input.frames.iter().map(Vec::len).collect();
    let fates = fates::collect(&nic.session, played, &lengths);
    let (faults, fault_counts) = faults::collect(&nic.session, &input.handler, &played.faults, arguments.fault_lines);
    let details = Details {
        load: Loads::of(played, &fates, nic.session.config.clock_mhz),
        out_of_order: OutOfOrder::of(played, &input.frames, input.messages),
        answered_in_part: unseen::answered(&input.frames, played),
        counters: fpspin_host::counter_lines(&mut nic.session, nic.program.as_ref())?,
        faults,
        fault_counts,
        variables: arguments.variables.shown(&mut nic.session, nic.context, &input.handler)?,
        run: input.record.clone(),
    };
    let mut summary = Summary::collect(&mut nic.session, &input.handler, played, details)?;
    let region = host::region(&nic.session, nic.host)?;
    let preset = arguments.variables.sets() || arguments.host.host_file.is_some();
    // The models know no messages of several packets.
    let verdict = match &input.by_field {
        Some(_) => Ok(None),
        None => verdict::check(&input.handler, &input.rules, &input.frames, played, &region, preset),
    };
    match &verdict {
        Ok(Some(sentence)) => summary.checked.clone_from(sentence),
        Ok(None) => {}
        Err(error) => summary.checked = format!("WRONG: {error:#}"),
    }
    print_report(&summary.text(), outputs.on_standard_output());
    let found = Found {
        session: &nic.session,
        handler: &input.handler,
        played,
        fates: &fates,
        rules: &input.texts,
        summary: &summary,
        region: &region,
    };
    files.write(&mut outputs, arguments, &found);

    let mut problems = Vec::new();
    problems.extend(verdict.err().map(|error| format!("{error:#}")));
    if !played.drained && !played.interrupted {
        problems.push(format!(
            "{} packets were still inside the NIC {} cycles after the last; raise --cycles-limit, or look at the wave",
            played.stats.inside(),
            arguments.cycles_limit
        ));
    }
    if played.stats.tasks_faulted > 0 && !arguments.allow_faults {
        problems.push(format!(
            "{} handlers faulted; the report lists them (--allow-faults takes faults for success)",
            played.stats.tasks_faulted
        ));
    }
    if played.drained && !played.interrupted {
        problems.extend(fates::check(&fates, &played.stats).err().map(|error| format!("{error:#}")));
    }
    let violations = nic.session.card.sim().memory().violations.clone();
    if !violations.is_empty() {
        problems.push(format!("the NIC broke the AXI4 protocol: {}", violations.join("; ")));
    }
    problems.extend(outputs.finish().err().map(|error| format!("{error:#}")));
    if played.interrupted {
        problems.iter().for_each(|problem| eprintln!("spindle: {problem}"));
        return Err(interrupts.error().into());
    }
    ensure!(problems.is_empty(), "{}", problems.join("\nspindle: "));
    Ok(())
}

/// The report for readers: on standard output unless an output is there. A reader that has gone away is no error.
fn print_report(text: &str, to_standard_error: bool) {
    let written = if to_standard_error {
        std::io::stderr().write_all(text.as_bytes())
    } else {
        std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush())
    };
    drop(written);
}
