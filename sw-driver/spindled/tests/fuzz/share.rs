//! A client's function: whatever it reads, writes, maps and resets, it reaches its own page and what every process may read,
//! its memory is mapped once and taken back, and its quotas hold.

use crate::card::Table;
use rustix::fs::{memfd_create, MemfdFlags};
use rustix::io::Errno;
use spindle::vfio_user::{Function, Host, MapRequest};
use spindle_contract::pci;
use spindle_contract::registers::{doorbell, doorbell_command as command, global, node, rvma, BAR_BITS, PAGE};
use spindle_fuzz::Source;
use spindled::card::{window, Card, ADMIN};
use spindled::share::{Client, Share};
use spindled::Quota;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;

/// An offset at which a client may want something.
fn offset(source: &mut Source, process: usize) -> u64 {
    let page = match source.below(8) {
        0..=3 => doorbell::BASE + process as u32 * PAGE,
        4 => doorbell::BASE + source.below(64) as u32 * PAGE,
        5 => *source.pick(&[global::BASE, rvma::BASE, node::BASE]),
        6 => source.word() & !(PAGE - 1),
        _ => return source.number(),
    };
    let registers = [
        doorbell::COMMAND,
        doorbell::RESULT,
        doorbell::MAILBOX,
        doorbell::COUNT,
        doorbell::IRQ,
        doorbell::SIZE,
        doorbell::BUFFER_LO,
        doorbell::RECORD_LO,
        global::RESET,
        global::IRQ_MAP,
        rvma::REGION_COMMIT,
        rvma::UNCHECKED,
    ];
    let register = if source.chance(4) { source.word() % PAGE } else { *source.pick(&registers) };
    u64::from(page + register)
}

/// Whether a process other than the administrator may read this register beside its own page.
fn readable(address: u32) -> bool {
    let counters = rvma::BASE + rvma::PLACED_PACKETS..rvma::BASE + PAGE;
    address < global::BASE + PAGE || counters.contains(&address) || address == node::BASE + node::LAST_REFUSAL
}

fn range(source: &mut Source, process: usize) -> Range<u64> {
    let start = match source.below(4) {
        0 => source.number(),
        1 => window(source.below(3)).start,
        2 => window(process).end - 0x1000 * source.below(4) as u64,
        _ => window(process).start + 0x1000 * source.below(8) as u64,
    };
    let length = if source.chance(8) { source.number() } else { 0x1000 * (1 + source.below(4) as u64) };
    start..start.saturating_add(length)
}

#[test]
fn fuzz_share() {
    let file = memfd_create("fuzz", MemfdFlags::CLOEXEC).expect("memory can be had");
    let file = Arc::new(File::from(file));
    spindle_fuzz::run("share", 1500, |source| {
        let table = Table::new();
        let mut card: Card = table.open();
        let quota =
            Quota { mailboxes: 3, receive_maps: 2, maps: 4, bytes: 0x8000, reclaim_burst: 2, ..Quota::default() };
        let process = if source.chance(4) { ADMIN } else { 1 + source.below(4) };
        let mut client = Client::new(process, Host::new(pci::VECTORS), (1, 1));
        let own = doorbell::BASE + process as u32 * PAGE;
        let own = own..own + PAGE;
        let mut good = 0;
        let mut maps: Vec<Range<u64>> = Vec::new();
        for _ in 0..24 {
            if source.is_empty() {
                break;
            }
            table.0.lock().unwrap().written.clear();
            let mut share = Share { card: &mut card, quota: &quota, client: &mut client };
            match source.below(10) {
                0..=2 => {
                    let (at, size) = (offset(source, process), *source.pick(&[4, 4, 4, 1, 2, 8, 0]));
                    let mut bytes = vec![0; size];
                    if share.read(at, &mut bytes).is_ok() {
                        let address = u32::try_from(at).expect("a register has a short address");
                        assert!(size == 4 && address % 4 == 0, "{at:#x}, {size} bytes");
                        assert!(process == ADMIN || own.contains(&address) || readable(address), "{at:#x} is read");
                        good += 1;
                    }
                }
                3..=6 => {
                    let (at, size) = (offset(source, process), *source.pick(&[4, 4, 4, 1, 8]));
                    let commands = [command::INIT_WINDOW, command::CLOSE, command::POST_BUFFER, command::POST_MAPPED];
                    let value = if source.chance(2) { *source.pick(&commands) } else { source.word() };
                    let bytes = [&value.to_le_bytes()[..], &[0; 4]].concat();
                    let done = share.write(at, &bytes[..size]);
                    let written = table.0.lock().unwrap().written.clone();
                    assert_eq!(done.is_err() && done != Err(Errno::TIMEDOUT), done.is_err() && written.is_empty());
                    if process != ADMIN {
                        assert!(written.iter().all(|address| own.contains(address)), "{at:#x}: {written:x?}");
                    }
                    // What keeps clients apart is the daemon's.
                    let guard = |register: u32| rvma::BASE + register;
                    let guarded = guard(rvma::REGION_FIRST)..guard(rvma::UNCHECKED + 8);
                    assert!(written.iter().all(|address| {
                        !guarded.contains(address)
                            && *address != global::BASE + global::RESET
                            && (*address < doorbell::BASE || own.contains(address))
                    }));
                    good += u32::from(done.is_ok());
                }
                7 => {
                    let range = range(source, process);
                    let request = MapRequest {
                        range: range.clone(),
                        readable: source.chance(2),
                        writable: source.chance(2),
                        file: (!source.chance(8)).then(|| (file.clone(), source.number() & !0xFFF)),
                    };
                    let known = request.file.is_some();
                    // The server in front keeps empty and overlapping ranges away.
                    let apart = maps.iter().all(|map| map.end <= range.start || range.end <= map.start);
                    if range.start < range.end && apart && share.map(&request).is_ok() && known {
                        assert!((range.start | range.end).trailing_zeros() >= 12, "{range:x?}");
                        maps.push(range);
                    }
                }
                8 => {
                    let gone = if source.chance(2) { 0..u64::MAX } else { range(source, process) };
                    share.unmap(&gone);
                    maps.retain(|map| !(gone.start <= map.start && map.end <= gone.end));
                }
                _ => share.reset(),
            }
            assert!(client.mailboxes() <= quota.mailboxes);
            let bytes: u64 = maps.iter().map(|map| map.end - map.start).sum();
            assert_eq!(client.maps(), (maps.len(), bytes));
            assert!(maps.len() <= quota.maps && bytes <= quota.bytes);
            let mut mapped = table.0.lock().unwrap().mapped.clone();
            mapped.sort_by_key(|map| map.start);
            let mut wanted = maps.clone();
            wanted.sort_by_key(|map| map.start);
            assert_eq!(mapped, wanted, "the card reaches what the client has mapped");
        }
        let mut share = Share { card: &mut card, quota: &quota, client: &mut client };
        share.leaving();
        share.unmap(&(0..u64::MAX));
        assert_eq!((client.mailboxes(), client.maps()), (0, (0, 0)));
        assert!(table.0.lock().unwrap().mapped.is_empty() && u64::from(own.end) <= 1 << BAR_BITS);
        good > 2
    });
}
