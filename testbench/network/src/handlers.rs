//! The handlers of motifs in the NIC of a host: one passes messages on, one adds them.

use crate::motif::{Need, Task, MOST_LEVELS, SUMS, VECTORS};
use crate::programs::KEY;
use crate::rtl::Host;
use anyhow::{ensure, Context, Result};
use spindle::rule_table::{Action, Delivery, Message};
use spindle::{ContextId, ContextOptions};
use spindle_contract::params::SEGMENT_BYTES;
use spindle_sdk::Sources;

/// Nodes to which a handler passes a message on, at most.
const MOST_CHILDREN: usize = 16;
/// The handler that does.
const PASS_ON: &str = include_str!("../handlers/pass_on.c");
/// The handler that adds.
const SUM: &str = include_str!("../handlers/sum.c");

/// Installs a handler of this name and text in a context whose variables have these values. Lengths of its arrays are macros.
fn install(
    host: &mut Host,
    (name, text): (&str, &str),
    options: &ContextOptions,
    variables: &[(&str, &[u32])],
) -> Result<ContextId> {
    let folder = tempfile::tempdir().context("cannot make a folder for a handler")?;
    let file = folder.path().join(name);
    std::fs::write(&file, text).context("cannot write a handler")?;
    let lengths = [("MOST_CHILDREN", MOST_CHILDREN), ("MOST_LEVELS", MOST_LEVELS), ("SEGMENT_BYTES", SEGMENT_BYTES)];
    let defines = lengths.map(|(name, value)| format!("{name}={value}")).into();
    let handler = spindle_sdk::load(&Sources { defines, ..Sources::one(&file) })
        .with_context(|| format!("{name} cannot be compiled"))?;
    let context = host.device.install(&handler.image, options)?;
    for (name, values) in variables {
        let variable = spindle_sdk::variables::variable(&handler.elf, &handler.image, name)?;
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        host.device.write_state(context, variable.offset, &bytes)?;
    }
    host.device.activate(context)?;
    Ok(context)
}

/// Installs the handler that passes messages on to the nodes of these tasks, in their order; what to do with Spindle packets.
pub fn pass_on(host: &mut Host, tasks: &[Task]) -> Result<Action> {
    let puts = tasks.iter().filter(|task| task.handler && !task.adds()).filter_map(|task| task.put);
    let mut nodes: Vec<u32> = Vec::new();
    for put in puts {
        ensure!(
            put.bytes as usize <= SEGMENT_BYTES,
            "a handler passes on messages of one packet, and not {} bytes",
            put.bytes
        );
        if !nodes.contains(&put.to) {
            nodes.push(put.to);
        }
    }
    ensure!(nodes.len() <= MOST_CHILDREN, "a handler passes a message on to {MOST_CHILDREN} nodes at most");
    let count = [nodes.len() as u32];
    let variables: [(&str, &[u32]); 3] = [("key", &[KEY]), ("count", &count), ("nodes", &nodes)];
    let context = install(host, ("pass_on.c", PASS_ON), &ContextOptions::default(), &variables)?;
    Ok(Action::Deliver(Delivery { context, message: Message::SpindleHeader, end: None, to_host: true }))
}

/// Installs the handler that adds the vectors of these tasks, and the rule that gives them to the handler. It runs in one cluster, whose
/// scratchpad has the sums.
pub fn install_sum(host: &mut Host, tasks: &[Task]) -> Result<()> {
    let (mut inputs, mut nodes, mut highs) = ([0; MOST_LEVELS], [0; MOST_LEVELS], [0; MOST_LEVELS]);
    for task in tasks.iter().filter(|task| task.adds()) {
        let (Some(put), Some(Need::Got { channel, .. })) = (task.put, task.needs.first()) else { continue };
        let level = usize::from(channel - VECTORS);
        inputs[level] = task.needs.len() as u32;
        nodes[level] = put.to;
        highs[level] = (put.address(host.number, 0) >> 32) as u32;
    }
    let hpus = host.device.info().hpus;
    let options = ContextOptions { core_mask: (1 << hpus) - 1, ..ContextOptions::default() };
    let variables: [(&str, &[u32]); 4] = [("key", &[KEY]), ("inputs", &inputs), ("nodes", &nodes), ("highs", &highs)];
    let context = install(host, ("sum.c", SUM), &options, &variables)?;
    let rule = format!("spindle && spindle.addr_hi == {SUMS}");
    host.device.add_rule(&rule.parse()?, Action::ContextPerMessage(context))?;
    Ok(())
}
