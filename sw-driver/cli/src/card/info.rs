//! `spindle info` of a card: identity, configuration, board and links, contexts and rules.

use super::live::Live;
use crate::table::table;
use anyhow::Result;
use serde_json::{json, Value};
use spindle::device::{block_list, ListedBlock};
use spindle::shell::Shell;
use std::io::Write;

/// Prints what the card is.
///
/// # Errors
/// The card does not answer, or the output cannot be written.
pub fn run(as_json: bool, live: &mut Live, out: &mut dyn Write) -> Result<()> {
    let blocks = block_list(&mut live.device.bar)?;
    let receives = live.device.receives()?;
    let cycle = live.device.cycle()?;
    let shell = live.device.shell()?;
    if as_json {
        let mut object = object(live, &blocks, receives, cycle);
        object["board"] = shell.as_ref().map_or(Value::Null, board_object);
        writeln!(out, "{}", serde_json::to_string_pretty(&object)?)?;
        return Ok(());
    }
    writeln!(out, "{}\n", properties(live, receives, cycle))?;
    if let Some(shell) = &shell {
        writeln!(out, "{}\n", table(["board", "value"], board_rows(shell), false))?;
    }
    let rows = blocks.iter().map(|block| {
        let name = block.known().map_or("unknown", |page| page.name);
        [name.into(), block.id.to_string(), block.version.to_string(), format!("{:#07x}", block.base)]
    });
    writeln!(out, "{}", table(["register block", "id", "version", "address"], rows, true))?;
    residents(live, out)
}

fn properties(live: &Live, receives: bool, cycle: u64) -> String {
    let info = live.device.info();
    let kib = |bytes: usize| format!("{} KiB", bytes >> 10);
    let pci = live.identity.pci.map_or("none".into(), |(vendor, device)| format!("{vendor:04x}:{device:04x}"));
    let rows = [
        ("address", live.identity.address.clone()),
        ("transport", live.identity.transport.into()),
        ("PCI function", pci),
        ("interrupt vectors", live.card.lock().vectors().to_string()),
        ("contract version", spindle_contract::VERSION.to_string()),
        ("HPUs", format!("{} clusters of {}", info.clusters, info.hpus)),
        ("nominal clock", format!("{} MHz", info.clock_mhz)),
        ("time since reset", format!("{cycle} cycles, {:.6} s", live.seconds(cycle))),
        ("instruction memory", format!("{} for each cluster", kib(info.imem_bytes))),
        ("context memory (L2)", kib(info.l2_bytes)),
        ("packet buffer", kib(info.packet_buffer_bytes)),
        ("contexts", info.contexts.to_string()),
        ("match rules", info.match_rules.to_string()),
        ("live messages", info.live_messages.to_string()),
        ("mailboxes", info.mailboxes.to_string()),
        ("posted buffers", info.posted_buffers.to_string()),
        ("processes", info.processes.to_string()),
        ("reception", if receives { "on" } else { "off" }.into()),
    ];
    table(["card", "value"], rows.map(|(name, value)| [name.into(), value]), false)
}

/// What the shell of a board knows.
fn board_rows(shell: &Shell) -> Vec<[String; 2]> {
    let yes = |flag: bool, yes: &str, no: &str| if flag { yes } else { no }.to_owned();
    let title = shell.board().map_or_else(|| format!("unknown, number {:#06x}", shell.number), |b| b.title.to_owned());
    let modified = if shell.build.modified() { ", with changes" } else { "" };
    let vectors = match (shell.pcie.vectors_set(), shell.pcie.vectors_failed()) {
        (_, true) => "vector map not accepted by the bridge",
        (true, _) => "vector map set",
        _ => "vector map not set yet",
    };
    let mut rows = vec![
        ("board".to_owned(), title),
        ("commit".into(), format!("{}{modified}", shell.commit)),
        ("configuration".into(), shell.configuration().unwrap_or("custom").into()),
        ("device DNA".into(), shell.dna.clone().unwrap_or_else(|| "not read yet".into())),
        ("PCIe link".into(), format!("{}, lost {} times", yes(shell.pcie.up(), "up", "down"), shell.link_losses)),
        ("MSI-X".into(), format!("{}, {vectors}", yes(shell.pcie.msix(), "on", "off"))),
        ("host memory".into(), format!("{} bursts refused, {} abandoned", shell.host_refused, shell.host_abandoned)),
        ("registers".into(), format!("{} accesses without an answer", shell.bar_silent)),
    ];
    for (i, mac) in shell.macs.iter().enumerate() {
        let state = mac.state;
        let mut link = vec![yes(state.up(), "up", "down")];
        link.extend(state.clock_stopped().then(|| "MAC clock stopped".to_owned()));
        // Nothing is known of a receiver whose clock stands.
        link.extend((!state.aligned() && !state.clock_stopped()).then(|| "not aligned".to_owned()));
        link.extend(state.local_fault().then(|| "local fault".to_owned()));
        link.extend(state.remote_fault().then(|| "fault at the other end".to_owned()));
        link.extend(state.high_errors().then(|| "many bit errors".to_owned()));
        rows.push((
            format!("MAC {i}"),
            format!("{} Gbit/s, {}, lost {} times", shell.gbps, link.join(", "), mac.losses),
        ));
        let dropped = format!("{} overflow, {} bad, {} not sent whole", mac.rx_overflow, mac.rx_bad, mac.tx_failed);
        rows.push((format!("MAC {i} frames"), dropped));
    }
    rows.into_iter().map(|(name, value)| [name, value]).collect()
}

fn board_object(shell: &Shell) -> Value {
    let macs: Vec<Value> = shell
        .macs
        .iter()
        .map(|mac| {
            json!({
                "up": mac.state.up(), "aligned": mac.state.aligned(), "local_fault": mac.state.local_fault(),
                "remote_fault": mac.state.remote_fault(), "high_errors": mac.state.high_errors(),
                "clock_stopped": mac.state.clock_stopped(),
                "losses": mac.losses, "rx_overflow": mac.rx_overflow, "rx_bad": mac.rx_bad, "tx_failed": mac.tx_failed,
            })
        })
        .collect();
    json!({
        "name": shell.board().map(|board| board.name), "number": shell.number, "commit": shell.commit,
        "modified": shell.build.modified(), "configuration": shell.configuration(), "gbps": shell.gbps,
        "rsfec": shell.build.rsfec(), "pause": shell.build.pause(), "dna": shell.dna,
        "link_up": shell.pcie.up(), "ltssm": shell.pcie.ltssm(), "link_losses": shell.link_losses,
        "msix": shell.pcie.msix(), "vectors_set": shell.pcie.vectors_set(), "vectors_failed": shell.pcie.vectors_failed(),
        "irq_pending": shell.irq_pending, "host_refused": shell.host_refused, "host_abandoned": shell.host_abandoned,
        "bar_silent": shell.bar_silent, "macs": macs,
    })
}

/// Contexts and rules that are loaded.
fn residents(live: &Live, out: &mut dyn Write) -> Result<()> {
    let device = &live.device;
    if !device.residents().is_empty() {
        let rows = device.residents().iter().map(|resident| {
            let [code, state, scratch] = resident.bytes().map(|bytes| bytes.to_string());
            let (number, process) = (resident.context.0.to_string(), resident.process.to_string());
            [number, resident.name.clone(), process, code, state, scratch]
        });
        let header = ["context", "name", "process", "code bytes", "state bytes", "scratch bytes"];
        writeln!(out, "\n{}", table(header, rows, false))?;
    }
    if !device.resident_rules().is_empty() {
        let rows = device.resident_rules().iter().enumerate().map(|(i, rule)| {
            let text = if rule.rule.is_empty() { "(any frame)" } else { &rule.rule };
            [i.to_string(), text.to_owned(), rule.effect.to_string()]
        });
        writeln!(out, "\n{}", table(["rule", "frames", "go to"], rows, false))?;
    }
    for stranger in device.strangers() {
        writeln!(out, "\nContext {} is active; the program that loaded it keeps its name and its rules.", stranger.0)?;
    }
    Ok(())
}

fn object(live: &Live, blocks: &[ListedBlock], receives: bool, cycle: u64) -> Value {
    let info = live.device.info();
    let blocks: Vec<Value> = blocks
        .iter()
        .map(|block| {
            let name = block.known().map(|page| page.name);
            json!({"name": name, "id": block.id, "version": block.version, "address": block.base})
        })
        .collect();
    let contexts: Vec<Value> = live
        .device
        .residents()
        .iter()
        .map(|resident| {
            json!({"context": resident.context.0, "name": resident.name, "process": resident.process, "active": true})
        })
        .chain(live.device.strangers().iter().map(|context| json!({"context": context.0, "active": true})))
        .collect();
    let rules: Vec<Value> = live
        .device
        .resident_rules()
        .iter()
        .map(|rule| {
            let context = rule.effect.context().map(|context| context.0);
            json!({"rule": rule.rule, "context": context, "effect": rule.effect.to_string()})
        })
        .collect();
    json!({
        "card": live.identity.address,
        "transport": live.identity.transport,
        "pci": live.identity.pci.map(|(vendor, device)| format!("{vendor:04x}:{device:04x}")),
        "vectors": live.card.lock().vectors(),
        "contract_version": spindle_contract::VERSION,
        "cycle": cycle,
        "receives": receives,
        "clock_mhz": info.clock_mhz,
        "clusters": info.clusters,
        "hpus_per_cluster": info.hpus,
        "imem_bytes": info.imem_bytes,
        "l2_bytes": info.l2_bytes,
        "packet_buffer_bytes": info.packet_buffer_bytes,
        "contexts_max": info.contexts,
        "match_rules_max": info.match_rules,
        "live_messages_max": info.live_messages,
        "mailboxes_max": info.mailboxes,
        "posted_buffers_max": info.posted_buffers,
        "processes": info.processes,
        "blocks": blocks,
        "contexts": contexts,
        "rules": rules,
    })
}
