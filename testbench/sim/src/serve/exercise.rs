//! A driver's program, for the comparison of cards: in process and served, the same cycles and the same bytes.

use crate::address;
use spindle::rule_table::Action;
use spindle::{Device, HostMemory, Kind, Result, SharedCard, Target};
use spindle_contract::wire::RECORD_BYTES;

const PROCESS: usize = 2;
/// Bytes of a page of the program's memory.
const PAGE: usize = 4096;
/// Bound of each wait, in cycles.
const LIMIT: u64 = 1_000_000;

/// What a driver saw.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Cycle after each step.
    pub cycles: Vec<u64>,
    /// What the card has written to memory, and its counters.
    pub bytes: Vec<u8>,
}

/// Opens a card after reset, and has it read memory of both kinds, write a record, and let time pass.
///
/// # Errors
/// The card does not answer, or is none.
pub fn exercise(card: &SharedCard) -> Result<Seen> {
    let mut seen = Seen::default();
    let mut device = Device::open(card.clone(), card.clone())?;
    let own = address(0);
    device.set_identity(0, own.mac, own.ip)?;
    (0..2).try_for_each(|node| device.set_node(node, Some(address(node))))?;
    device.add_rule(&"spindle".parse()?, Action::Mailbox)?;
    device.set_receive(true)?;
    seen.cycles.push(device.cycle()?);
    let window = device.init_window(PROCESS, 0x77, 0xBEEF, 4096)?;
    let posted = device.post_buffer(window, 4096)?;
    seen.cycles.push(device.cycle()?);
    let memory = device.memory.alloc(5000, 64)?;
    device.memory.write(memory, &[0x5A; 5000])?;
    let target = Target { node: 1, process: 0, address: 1, key: 2, offset: 0, kind: Kind::Bound };
    for length in [5000, 1, 64] {
        let put = device.put(PROCESS, memory, length, &target)?;
        device.wait_put(&put, LIMIT)?;
        seen.cycles.push(device.cycle()?);
    }
    card.lock().pause(1234)?;
    seen.cycles.push(device.cycle()?);
    // The buffer comes back with a record.
    device.inc_epoch(window)?;
    seen.bytes.push(device.wait(&posted, LIMIT)?.status);
    let mut record = [0; RECORD_BYTES];
    device.memory.read(posted.record, &mut record)?;
    seen.bytes.extend(record);
    // Memory of the program, at its own address. The address is no part of what is compared, but its place in a page is:
    // the read engine cuts its requests at pages.
    let data = vec![7u8; 2 * PAGE];
    let start = (data.as_ptr() as u64).next_multiple_of(PAGE as u64) + 100;
    let range = start..start + 3000;
    card.lock().map(&range)?;
    let put = device.put(PROCESS, range.start, 3000, &target)?;
    device.wait_put(&put, LIMIT)?;
    card.lock().unmap(&range)?;
    seen.bytes.extend(device.stats()?.frames_out.to_le_bytes());
    seen.bytes.extend(device.failed_puts()?.to_le_bytes());
    device.close_window(window)?;
    seen.cycles.push(device.cycle()?);
    Ok(seen)
}
