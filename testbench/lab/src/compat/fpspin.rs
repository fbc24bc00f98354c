//! The examples of an FPsPIN checkout: built, run beside a program of the host, judged.

use super::fpspin_cases::{Case, CASES};
use super::ran::Ran;
use super::{check_names, sources, CompatArguments, Row, BUDGET};
use anyhow::{ensure, Context, Result};
use spindle::rule::MessageRule;
use spindle::rule_table::Action;
use spindle::{ContextOptions, HostMemory, Rule};
use spindle_cli::fpspin_host::FpspinHost;
use spindle_cli::message_field::delivery;
use spindle_cli::play::{play_watched, Watch};
use spindle_cli::session::Session;
use spindle_sdk::Sources;
use spindle_sdk::{self as sdk, Handler};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

/// Bytes of the host region: a page for each HPU, and what messages put after them.
const HOST_BYTES: usize = 1 << 18;
/// Folder of the examples in a checkout.
const EXAMPLES: &str = "fpga/app/pspin/deps/pspin/examples";

/// The host's view of a run.
#[derive(Default)]
pub struct HostSide {
    /// Messages that its program received.
    pub received: Vec<Vec<u8>>,
    /// Sum and number of each counter of the handlers.
    pub counters: Vec<(u32, u32)>,
    /// Its program, of requests of these lengths, in order.
    pub requests: Vec<u32>,
}

/// Runs the chosen examples.
pub(super) fn rows(checkout: &Path, arguments: &CompatArguments) -> Result<Vec<Row>> {
    let folders = [checkout.join(EXAMPLES), checkout.join("examples")];
    let examples = folders.iter().find(|folder| folder.is_dir()).with_context(|| {
        format!("{} is no checkout of FPsPIN: it has neither `{EXAMPLES}` nor `examples`", checkout.display())
    })?;
    let mut names: Vec<_> = CASES.iter().map(|case| case.example).collect();
    names.dedup();
    check_names(&arguments.only, &names)?;
    let chosen = |case: &&Case| arguments.only.is_empty() || arguments.only.iter().any(|name| name == case.example);
    CASES.iter().filter(chosen).map(|case| row(case, examples, &arguments.config)).collect()
}

fn row(case: &Case, examples: &Path, config: &str) -> Result<Row> {
    let row = Row::new(case.name);
    let handler = match build(case, examples) {
        Ok(handler) => handler,
        Err(error) => return Ok(row.failed(&error)),
    };
    let (mut ran, host) = run(case, handler, config)?;
    let judged = ran.sound().and_then(|()| (case.judge)(&ran, &host));
    Ok(row.judged(&ran, judged))
}

fn build(case: &Case, examples: &Path) -> Result<Handler> {
    let defines = case.defines.iter().map(|&define| define.to_owned()).collect();
    sdk::load(&Sources { fpspin: true, defines, ..sources(&examples.join(case.example).join("handlers"))? })
}

fn run(case: &Case, handler: Handler, config: &str) -> Result<(Ran, HostSide)> {
    let mut session = Session::open(spindle_cli::config::config(config)?, Default::default())?;
    let host = session.device.memory.alloc(HOST_BYTES, 4096)?;
    let host_region = Some((host, HOST_BYTES as u32));
    let options = ContextOptions { watchdog: BUDGET, host_region, ..ContextOptions::default() };
    let context = session.device.install(&handler.image, &options)?;
    let by_field = case.message.map(|(field, end)| MessageRule::parse(field, end)).transpose()?;
    let rule: Rule = case.rule.parse()?;
    let (rule, action) = delivery(by_field.as_ref(), &rule, context, Action::Context(context));
    session.device.add_rule(&rule, action)?;
    session.device.activate(context)?;
    session.device.set_receive(true)?;

    let side = Rc::new(RefCell::new(HostSide::default()));
    let (answer, seen) = (case.answer, side.clone());
    let program = FpspinHost::new(
        &handler,
        context,
        host,
        Box::new(move |session, request| {
            let mut seen = seen.borrow_mut();
            seen.requests.push(request.length);
            ensure!((request.length as usize) < HOST_BYTES, "a handler reports {} bytes", request.length);
            answer(session, host, request, &mut seen)
        }),
    )?;
    let frames = (case.frames)();
    let gaps: Vec<u64> = frames.iter().map(|frame| (case.gap)(frame)).collect();
    let mut attend = |session: &mut Session| program.as_ref().map_or(Ok(()), |program| program.attend(session));
    let watch = Watch { attendant: Some(&mut attend), ..Watch::default() };
    let played = play_watched(&mut session, &frames, gaps.into_iter(), 1_000_000, watch)?;
    let counters = program.as_ref().map(|program| program.counters(&mut session)).transpose()?;
    drop(program);
    let mut side = Rc::into_inner(side).context("the program of the host is still there")?.into_inner();
    side.counters = counters.unwrap_or_default();
    Ok((Ran { session, contexts: vec![(context, handler)], frames, played, host }, side))
}
