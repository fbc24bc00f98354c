//! Faults of handlers: all are counted by function and cause, the first of each are listed.

use crate::session::Session;
use crate::source_lines::places;
use crate::summary::FaultReport;
use serde::Serialize;
use spindle::stats::Fault;
use spindle_sdk::Handler;

/// Faults of a function by one cause.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct FaultCount {
    /// Function of the program counter; `None` outside all functions.
    pub function: Option<String>,
    /// Name of the cause.
    pub cause: &'static str,
    /// How many.
    pub count: usize,
}

/// Lists the first `lines` faults of each function and cause, and counts all of them; most frequent first.
pub fn collect(
    session: &Session,
    handler: &Handler,
    faults: &[Fault],
    lines: usize,
) -> (Vec<FaultReport>, Vec<FaultCount>) {
    let (mut listed, mut counts) = (Vec::new(), Vec::<FaultCount>::new());
    for fault in faults {
        let (cause, meaning) = fault.cause_text();
        let symbol = handler.image.symbol(fault.pc);
        let function = symbol.map(|(name, _)| name.to_owned());
        let known = counts.iter().position(|count| count.function == function && count.cause == cause);
        let at = known.unwrap_or_else(|| {
            counts.push(FaultCount { function, cause, count: 0 });
            counts.len() - 1
        });
        counts[at].count += 1;
        if counts[at].count > lines {
            continue;
        }
        listed.push(FaultReport {
            context: fault.context.0,
            handler: fault.kind_text(),
            hpu: fault.cluster * session.config.hpus + fault.hpu,
            cause,
            meaning,
            pc: format!("{:#010x}", fault.pc),
            symbol: symbol.map(|(name, offset)| format!("{name}+{offset:#x}")),
            source: places(&handler.elf, fault.pc),
            address: format!("{:#010x}", fault.address),
            frame: fault.frame,
        });
    }
    counts.sort_by_key(|count| std::cmp::Reverse(count.count));
    (listed, counts)
}
