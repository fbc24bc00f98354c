//! The host of FPsPIN handlers: answers their requests, and reads their counters.
//!
//! A handler writes a flag to its HPU's page of the host region (a number, a length, the HPU) and waits until a flag with the same number
//! is in the image's variable `__host_data`. The counters follow the flags there.

use crate::session::Session;
use anyhow::{ensure, Context, Result};
use object::{Object, ObjectSymbol};
use spindle::{ContextId, HostMemory};
use spindle_contract::memory_map::{self as map, base};
use spindle_sdk::Handler;
use spindle_sdk::Sources;
use std::cell::RefCell;

/// Bytes of a page of an HPU.
pub const PAGE: u64 = 4096;
/// Offset of a request's data in the page.
pub const DATA: u64 = 64;
const COUNTERS: usize = 16;
const COUNTER_BYTES: usize = 8;
const FLAG_BYTES: usize = 8;

/// A request of a handler.
pub struct Request {
    /// Host address of its data.
    pub data: u64,
    /// Bytes that it reports.
    pub length: u32,
}

/// The answer of a host program to a request; its result is the length of the answer.
pub type Answer = dyn FnMut(&mut Session, &Request) -> Result<u32>;

/// A host program for the handlers of a context.
pub struct FpspinHost {
    context: ContextId,
    /// Offset of `__host_data` in context memory.
    variable: usize,
    hpus: usize,
    host: u64,
    /// Number of the last request of each HPU.
    seen: RefCell<Vec<u8>>,
    answer: RefCell<Box<Answer>>,
}

/// The host program of `spindle run`: it answers each request with the length that was reported, and leaves the data as they are.
pub fn of(sources: &Sources, handler: &Handler, context: ContextId, host: u64) -> Result<Option<FpspinHost>> {
    if !sources.fpspin {
        return Ok(None);
    }
    FpspinHost::new(handler, context, host, Box::new(|_, request| Ok(request.length)))
}

/// A line for each counter that handlers have used.
pub fn counter_lines(session: &mut Session, program: Option<&FpspinHost>) -> Result<Vec<String>> {
    let counters = program.map_or_else(|| Ok(Vec::new()), |program| program.counters(session))?;
    let used = counters.into_iter().enumerate().filter(|(_, (_, count))| *count > 0);
    let line = |(number, (sum, count)): (usize, (u32, u32))| {
        format!("counter {number}: {count} durations, {:.1} cycles on average", f64::from(sum) / f64::from(count))
    };
    Ok(used.map(line).collect())
}

impl FpspinHost {
    /// For an image, if its handlers have anything to do with the host.
    pub fn new(handler: &Handler, context: ContextId, host: u64, answer: Box<Answer>) -> Result<Option<FpspinHost>> {
        let file = object::File::parse(&*handler.elf).context("the image cannot be read")?;
        let Some(symbol) = file.symbols().find(|symbol| symbol.name() == Ok("__host_data")) else { return Ok(None) };
        let flags = (symbol.size() as usize).checked_sub(COUNTERS * COUNTER_BYTES);
        let offset = (symbol.address() as u32).checked_sub(base(map::CONTEXT));
        let (Some(flags), Some(offset)) = (flags, offset) else {
            anyhow::bail!("the variable __host_data of the image is not the one of the SDK; do not define it");
        };
        let hpus = flags / FLAG_BYTES;
        let seen = RefCell::new(vec![0; hpus]);
        Ok(Some(FpspinHost { context, variable: offset as usize, hpus, host, seen, answer: RefCell::new(answer) }))
    }

    /// Answers the requests since the last call.
    pub fn attend(&self, session: &mut Session) -> Result<()> {
        for hpu in 0..self.hpus {
            let page = self.host + hpu as u64 * PAGE;
            let mut flag = [0; FLAG_BYTES];
            session.device.memory.read(page, &mut flag)?;
            let number = flag[0];
            if std::mem::replace(&mut self.seen.borrow_mut()[hpu], number) == number {
                continue;
            }
            let length = u32::from_le_bytes(flag[1..5].try_into().expect("four bytes"));
            let from = u16::from_le_bytes([flag[5], flag[6]]);
            ensure!(usize::from(from) == hpu, "HPU {from} wrote its request to the page of HPU {hpu}");
            let answer = (self.answer.borrow_mut())(session, &Request { data: page + DATA, length })?;
            flag[1..5].copy_from_slice(&answer.to_le_bytes());
            // The number comes last: the handler waits for it.
            let at = self.variable + FLAG_BYTES * hpu;
            session.device.write_state(self.context, at + 4, &flag[4..])?;
            session.device.write_state(self.context, at, &flag[..4])?;
        }
        Ok(())
    }

    /// Sum and number of each counter.
    pub fn counters(&self, session: &mut Session) -> Result<Vec<(u32, u32)>> {
        let mut bytes = [0; COUNTERS * COUNTER_BYTES];
        session.device.read_state(self.context, self.variable + self.hpus * FLAG_BYTES, &mut bytes)?;
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
        Ok(bytes.chunks_exact(COUNTER_BYTES).map(|counter| (word(&counter[..4]), word(&counter[4..]))).collect())
    }
}
