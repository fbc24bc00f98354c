//! `spindle load` and `spindle unload`: contexts of a running card.

use super::live::{Live, Patience, Stop};
use super::values::{bytes, seconds};
use crate::message_field::MessageFieldArguments;
use crate::prints::Lines;
use anyhow::{bail, ensure, Context, Result};
use spindle::resident::{Effect, ResidentRule};
use spindle::{ContextId, ContextOptions, Overload, Rule};
use spindle_sdk::{warn_of_stack, Handler, Sources};
use std::io::Write;

/// Arguments of `spindle load`.
#[derive(clap::Args, Clone, Debug)]
pub struct LoadArguments {
    #[command(flatten)]
    sources: Sources,
    /// Packets for the handler, such as 'udp.dport == 9999 && ip.src in 10.0.0.0/8'; may be given several times. Without it, a
    /// shipped handler gets the packets of its default rule and any other handler gets all packets.
    #[arg(long = "match", value_name = "RULE")]
    rules: Vec<String>,
    /// The Spindle header names the message: handlers run per message instead of per packet.
    #[arg(long)]
    messages: bool,
    #[command(flatten)]
    message_field: MessageFieldArguments,
    /// Name by which the context is listed [default: the file's].
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    options: OptionArguments,
    /// Keep the card, print what handlers print and their faults, and unload the context at Ctrl-C. A card of VFIO
    /// needs this option: the kernel resets the card when its last user leaves.
    #[arg(long)]
    stay: bool,
}

/// Options of the context.
#[derive(clap::Args, Clone, Debug)]
struct OptionArguments {
    /// Process whose event ring gets the events of the context.
    #[arg(long, default_value_t = 0)]
    process: u8,
    /// Cycles after which a handler is ended.
    #[arg(long, value_name = "CYCLES", default_value_t = ContextOptions::default().watchdog)]
    watchdog: u32,
    /// Bytes of context memory, if the handler uses more than its variables.
    #[arg(long, value_name = "BYTES", value_parser = bytes)]
    state_bytes: Option<u32>,
    /// Bytes of scratchpad in each cluster [default: half of what is free].
    #[arg(long, value_name = "BYTES", value_parser = super::values::word)]
    scratch_bytes: Option<u32>,
    /// Share of HPU cycles under load, against the weights of other contexts.
    #[arg(long, default_value_t = 1)]
    weight: u8,
    /// Most live messages; 0 = no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    message_quota: u16,
    /// Most packets inside the card; 0 = no limit.
    #[arg(long, value_name = "N", default_value_t = 0)]
    packet_quota: u16,
    /// Treatment of packets beyond a limit: dropped, placed without a handler, or left to wait.
    #[arg(long, value_enum, default_value_t = OverloadArgument::Drop)]
    overload: OverloadArgument,
    /// HPUs that may run the handlers: bit cluster * hpus + hpu.
    #[arg(long, value_name = "MASK", default_value = "0xffffffff", value_parser = super::values::word)]
    core_mask: u32,
    /// Bytes of user header for which the header handler waits [default: what the image declares].
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    user_header: u8,
    /// Bytes of zeros after a packet in its slot, for replies that are longer than their requests [default: what the image declares].
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    tailroom: u16,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug)]
enum OverloadArgument {
    Drop,
    Place,
    Pause,
}

impl OptionArguments {
    fn options(&self) -> ContextOptions {
        ContextOptions {
            process: self.process,
            watchdog: self.watchdog,
            state_bytes: self.state_bytes.unwrap_or(0) as usize,
            scratch_bytes: self.scratch_bytes.map(|bytes| bytes as usize),
            weight: self.weight,
            message_quota: self.message_quota,
            packet_quota: self.packet_quota,
            overload: match self.overload {
                OverloadArgument::Drop => Overload::Drop,
                OverloadArgument::Place => Overload::Place,
                OverloadArgument::Pause => Overload::Pause,
            },
            core_mask: self.core_mask,
            user_header: self.user_header,
            tailroom: self.tailroom,
            host_region: None,
        }
    }
}

/// A handler and its rules, checked before the card is opened.
pub struct Checked {
    handler: Handler,
    name: String,
    rules: Vec<String>,
    messages: bool,
}

impl LoadArguments {
    /// Reads or compiles the handler, and checks its rules.
    ///
    /// # Errors
    /// A file, a rule or an option is wrong.
    pub fn check(&self) -> Result<Checked> {
        let handler = spindle_sdk::load(&self.sources)?;
        let shipped = handler.shipped.filter(|_| self.rules.is_empty());
        let rules = match shipped {
            Some(shipped) => vec![shipped.rule.to_owned()],
            None if self.rules.is_empty() => vec![String::new()],
            None => self.rules.clone(),
        };
        let parse = |text: &String| if text.is_empty() { Ok(Rule::any()) } else { text.parse() };
        let parsed = rules.iter().map(parse).collect::<Result<Vec<Rule>, _>>().context("--match is not understood")?;
        self.message_field.rule(&parsed)?;
        let name = self.name.clone().unwrap_or_else(|| handler.name.clone());
        let messages = self.messages || shipped.is_some_and(|shipped| shipped.messages);
        Ok(Checked { handler, name, rules, messages })
    }

    /// The rules of the context.
    fn rules(&self, checked: &Checked, context: ContextId) -> Vec<ResidentRule> {
        let effect = || match self.message_field.texts() {
            Some((field, end)) => Effect::Field { context, field: field.into(), end: end.into() },
            None if checked.messages => Effect::Messages(context),
            None => Effect::Packets(context),
        };
        checked.rules.iter().map(|rule| ResidentRule { rule: rule.clone(), effect: effect() }).collect()
    }
}

/// Loads the handler, activates it and switches reception on.
///
/// # Errors
/// The card has no room, or would forget the context at once.
pub fn load(
    arguments: &LoadArguments,
    checked: &Checked,
    live: &mut Live,
    out: &mut dyn Write,
    stop: &Stop,
) -> Result<()> {
    ensure!(
        arguments.stay || live.keeps_state(),
        "the card {} is reset when this program leaves it, and the context would be gone; give --stay to keep the \
         card until Ctrl-C, or load through spindled or a served card",
        live.identity.address
    );
    let rules = |context| arguments.rules(checked, context);
    let options = arguments.options.options();
    let context = live.device.load_resident(&checked.name, &checked.handler.image, &options, rules)?;
    if !live.device.receives()? {
        live.device.set_receive(true)?;
    }
    warn_of_stack(&checked.handler.stack, stack_limit(live));
    let count = checked.rules.len();
    let plural = if count == 1 { "" } else { "s" };
    writeln!(out, "context {}: {}, {count} rule{plural}, process {}", context.0, checked.name, options.process)?;
    out.flush()?;
    if !arguments.stay && live.identity.transport == "vfio-user" {
        eprintln!(
            "spindle: the context stays if the server of the card keeps its state (`spindle serve --keep`, spindled)"
        );
    }
    if arguments.stay {
        stay(live, out, stop)?;
        unload_one(live, context, &Patience::new(&Stop::default(), Some(UNLOAD_SECONDS)), out)?;
    }
    Ok(())
}

/// Bytes of stack of a handler on this card.
fn stack_limit(live: &Live) -> usize {
    let hpus = live.device.info().hpus;
    let config = spindle_contract::params::Config { hpus, ..spindle_contract::params::Config::default() };
    config.stack_bytes()
}

/// Prints lines of handlers and their faults until the user stops.
fn stay(live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    eprintln!("spindle: the card is kept until Ctrl-C");
    let mut lines = Lines::default();
    while !stop.is_set() {
        lines.take(live.device.prints()?);
        for line in lines.drain() {
            writeln!(out, "{line}")?;
        }
        while let Some(fault) = live.device.pop_fault()? {
            let (name, meaning) = fault.cause_text();
            writeln!(
                out,
                "fault: context {}, {} handler, frame {}, pc {:#010x}, address {:#010x}: {name}: {meaning}",
                fault.context.0,
                fault.kind_text(),
                fault.frame,
                fault.pc,
                fault.address
            )?;
        }
        out.flush()?;
        live.breathe()?;
    }
    Ok(())
}

/// How long an unloaded context may take to drain when --stay ends.
const UNLOAD_SECONDS: f64 = 5.0;

/// Arguments of `spindle unload`.
#[derive(clap::Args, Clone, Debug)]
pub struct UnloadArguments {
    /// Contexts, by number; `spindle info` lists them.
    #[arg(value_name = "CONTEXT", required_unless_present_any = ["all", "rules"])]
    contexts: Vec<usize>,
    /// A rule that belongs to no context, by its number in `spindle info`; may be given several times.
    #[arg(long = "rule", value_name = "NUMBER")]
    rules: Vec<usize>,
    /// Every context that was loaded, and every rule.
    #[arg(long, conflicts_with_all = ["contexts", "rules"])]
    all: bool,
    /// Seconds for which messages that are alive may go on.
    #[arg(long, value_name = "SECONDS", default_value_t = UNLOAD_SECONDS, value_parser = seconds)]
    timeout: f64,
}

/// Takes the rules of contexts out, lets their messages end, and gives their memory back; takes out rules of no context.
///
/// # Errors
/// There is no such context or rule, or the messages of a context do not end.
pub fn unload(arguments: &UnloadArguments, live: &mut Live, out: &mut dyn Write, stop: &Stop) -> Result<()> {
    let contexts: Vec<ContextId> = match arguments.all {
        true => live.device.residents().iter().map(|resident| resident.context).collect(),
        false => arguments.contexts.iter().copied().map(ContextId).collect(),
    };
    // The numbers are those before anything is unloaded.
    let rules = rules_of_none(arguments, live)?;
    for context in contexts {
        unload_one(live, context, &Patience::new(stop, Some(arguments.timeout)), out)?;
    }
    if !rules.is_empty() {
        live.device.remove_resident_rules(&rules)?;
    }
    for ResidentRule { rule, effect } in rules {
        writeln!(out, "rule `{rule}` to {effect} is gone")?;
    }
    Ok(())
}

/// The rules without a context that the user means.
fn rules_of_none(arguments: &UnloadArguments, live: &Live) -> Result<Vec<ResidentRule>> {
    let listed = live.device.resident_rules();
    if arguments.all {
        return Ok(listed.iter().filter(|rule| rule.effect.context().is_none()).cloned().collect());
    }
    let named = arguments.rules.iter().map(|number| {
        let rule = listed.get(*number);
        let rule = rule.with_context(|| format!("the card has no rule {number}; `spindle info` lists its rules"))?;
        if let Some(context) = rule.effect.context() {
            bail!("rule {number} belongs to context {0}; unload the context: `spindle unload {0}`", context.0);
        }
        Ok(rule.clone())
    });
    named.collect()
}

fn unload_one(live: &mut Live, context: ContextId, patience: &Patience, out: &mut dyn Write) -> Result<()> {
    let named = live.device.residents().iter().find(|resident| resident.context == context);
    let name = named.map_or(String::new(), |resident| resident.name.clone());
    live.device.stop_resident(context)?;
    let drained = live.wait(patience, |live| Ok((live.device.live_messages(context)? == 0).then_some(())))?;
    if drained.is_none() {
        let count = live.device.live_messages(context)?;
        bail!(
            "context {} gets no packets any more, but {count} of its messages are still alive; unload it again later, \
             with a longer --timeout, or reset the card",
            context.0
        );
    }
    live.device.remove_resident(context)?;
    writeln!(out, "context {}: {name} is unloaded", context.0)?;
    Ok(())
}
