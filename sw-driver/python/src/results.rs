//! Results for Python: named tuples of `spindle.records`, and dictionaries.

use crate::arguments::Addresses;
use crate::failure::Result;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spindle::counters::Counters;
use spindle::device::Info;
use spindle::{Identity, Node};
use spindle_rvma::{kind, Event};

/// A named tuple of `spindle.records`.
pub fn named<'py>(py: Python<'py>, class: &str, fields: impl PyCallArgs<'py>) -> PyResult<Bound<'py, PyAny>> {
    py.import("spindle.records")?.getattr(class)?.call1(fields)
}

/// What a card is.
pub fn info<'py>(py: Python<'py>, identity: &Identity, info: &Info) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("address", &identity.address)?;
    fields.set_item("transport", identity.transport)?;
    fields.set_item("pci", identity.pci.map(|(vendor, device)| format!("{vendor:04x}:{device:04x}")))?;
    fields.set_item("contract_version", spindle_contract::VERSION)?;
    for (name, value) in [
        ("clock_mhz", info.clock_mhz as usize),
        ("clusters", info.clusters),
        ("hpus_per_cluster", info.hpus),
        ("contexts_max", info.contexts),
        ("match_rules_max", info.match_rules),
        ("live_messages_max", info.live_messages),
        ("mailboxes_max", info.mailboxes),
        ("posted_buffers_max", info.posted_buffers),
        ("processes", info.processes),
        ("imem_bytes", info.imem_bytes),
        ("l2_bytes", info.l2_bytes),
        ("packet_buffer_bytes", info.packet_buffer_bytes),
    ] {
        fields.set_item(name, value)?;
    }
    py.import("spindle.records")?.getattr("Info")?.call((), Some(&fields))
}

/// Names of kinds of events.
const KINDS: [(u8, &str); 9] = [
    (kind::MESSAGE, "message"),
    (kind::FAULT, "fault"),
    (kind::PRINT, "print"),
    (kind::USER, "user"),
    (kind::COMPLETE, "complete"),
    (kind::BUFFER, "buffer"),
    (kind::LOST, "lost"),
    (kind::OTHER, "other"),
    (kind::TASK_FAILED, "task_failed"),
];

/// An event.
pub fn event<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyAny>> {
    let kind = KINDS.iter().find(|(number, _)| *number == event.kind).map_or("other", |(_, name)| *name);
    let text = if kind == "print" { &event.text[..(event.length as usize).min(event.text.len())] } else { &[] };
    named(py, "Event", (kind, event.context, event.code, event.id, event.length, event.user, PyBytes::new(py, text)))
}

/// Addresses of a node by its number; ``Node.numbered`` has them as a ``Node``.
#[pyfunction]
pub fn numbered_node(number: crate::arguments::Number) -> Result<(String, String, u16)> {
    Ok(Addresses::of(&Node::numbered(number.fit("the number of the node")?)))
}

/// The counters of a card, as `spindle stats --json` names them.
pub fn stats<'py>(py: Python<'py>, address: &str, clock_mhz: u32, counters: &Counters) -> PyResult<Bound<'py, PyDict>> {
    let pages = PyDict::new(py);
    for counter in &counters.counters {
        let page = match pages.get_item(counter.page)? {
            Some(page) => page,
            None => {
                pages.set_item(counter.page, PyDict::new(py))?;
                pages.get_item(counter.page)?.expect("it was entered")
            }
        };
        page.set_item(&counter.name, counter.value)?;
    }
    let drops = PyDict::new(py);
    for (reason, count) in counters.drop_reasons() {
        drops.set_item(reason, count)?;
    }
    let hpus = counters.hpus.iter().map(|hpu| {
        let of = PyDict::new(py);
        of.set_item("tasks", hpu.tasks)?;
        of.set_item("busy_cycles", hpu.busy)?;
        Ok(of)
    });
    let stats = PyDict::new(py);
    stats.set_item("card", address)?;
    stats.set_item("cycle", counters.cycle)?;
    stats.set_item("clock_mhz", clock_mhz)?;
    stats.set_item("counters", pages)?;
    stats.set_item("drops", drops)?;
    stats.set_item("live_messages", &counters.live)?;
    stats.set_item("hpus", hpus.collect::<PyResult<Vec<_>>>()?)?;
    Ok(stats)
}
