//! Clients: each has its process, and nothing of the others'.

use crate::setup::{soon, Driver, Setup};
use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
use spindle::vfio_user::Client;
use spindle::{irq, Bar, Error, HostMemory};
use spindle_contract::registers::{doorbell, doorbell_command, rvma, MAGIC, PAGE};
use spindle_contract::wire::status;
use spindled::Quota;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

fn address(process: usize, register: u32) -> u32 {
    doorbell::BASE + process as u32 * PAGE + register
}

#[test]
fn each_client_has_its_own_process_memory_and_interrupt() {
    let setup = Setup::new(Quota::default());
    let (mut one, p) = setup.share();
    let (mut two, q) = setup.share();
    assert!(p != q && p > 0 && q > 0);
    let vector = |process: usize| 1 + process % 15;
    let events = [&one, &two].map(|share| {
        let card = share.bar.clone();
        [p, q].map(|process| card.lock().interrupt(vector(process)).unwrap())
    });
    let windows = [(&mut one, p), (&mut two, q)].map(|(share, process)| {
        let window = share.init_window(process, 0x100 + process as u64, 7, 100).unwrap();
        (window, share.post_buffer(window, 100).unwrap())
    });
    assert!(setup.model.deliver(windows[1].0.mailbox, 0x42).unwrap());
    let done = two.wait(&windows[1].1, 100_000).unwrap();
    assert_eq!((done.status, done.length), (status::DONE, 100));
    let mut bytes = [0; 100];
    two.memory.read(windows[1].1.buffer, &mut bytes).unwrap();
    assert_eq!(bytes, [0x42; 100]);
    assert_eq!(irq::wait(&events[1][1], LIMIT).unwrap(), 1);
    assert!(events[0].iter().all(|event| irq::take(event) == 0), "the other client hears nothing");
    assert!(one.poll(&windows[0].1).unwrap().is_none());
    drop(one);
    soon("the process is free again", || setup.share().1 == p);
    two.post_buffer(windows[1].0, 64).unwrap();
    assert!(setup.model.deliver(windows[1].0.mailbox, 1).unwrap());
}

#[test]
fn pages_of_others_answer_nothing() {
    let setup = Setup::new(Quota::default());
    let (mut victim, v) = setup.share();
    let window = victim.init_window(v, 1, 2, 64).unwrap();
    victim.post_buffer(window, 64).unwrap();
    let before = setup.model.0.lock().unwrap().registers.clone();
    let (mut hostile, h) = setup.share();
    assert_eq!(hostile.bar.read32(0).unwrap(), MAGIC);
    for page in [0x1000, 0x2000, rvma::BASE, address(0, 0), address(v, 0), address(v, doorbell::RESULT), address(40, 0)]
    {
        let error = hostile.bar.read32(page).unwrap_err();
        assert!(matches!(error, Error::Bar { .. }), "{page:#x}: {error}");
    }
    let writes = [address(v, doorbell::MAILBOX), address(v, doorbell::COMMAND), address(v, doorbell::RING_TAIL)];
    let guarded = [rvma::UNCHECKED, rvma::REGION_COMMIT].map(|register| rvma::BASE + register);
    for register in writes.into_iter().chain(guarded).chain([0x30, 0x1000, address(v, doorbell::KICK)]) {
        hostile.bar.write32(register, 3).unwrap();
    }
    // Its own commands on what is another's, and memory that is not mapped, or another's.
    let foreign = spindle::rvma::Window { process: h, mailbox: window.mailbox };
    let own = hostile.init_window(h, 9, 9, 64).unwrap();
    let posted = hostile.post_buffer(own, 64).unwrap();
    assert!(hostile.post_buffer(foreign, 64).unwrap_err().to_string().contains("no such mailbox"));
    assert!(hostile.close_window(foreign).is_err());
    for buffer in [0, 4096, spindled::card::window(v).start, spindled::card::window(h).start + (3 << 30)] {
        let error = hostile.post(own, spindle::rvma::Posted { buffer, ..posted }).unwrap_err().to_string();
        assert!(error.contains("outside of its regions"), "{buffer:#x}: {error}");
    }
    let state = setup.model.0.lock().unwrap();
    let others = |address: &u32| *address < doorbell::BASE || (address - doorbell::BASE) / PAGE != h as u32;
    for (register, value) in before.iter().filter(|(address, _)| others(address)) {
        let regions = rvma::BASE + rvma::REGION_FIRST..rvma::BASE + rvma::UNCHECKED;
        assert!(regions.contains(register) || state.registers.get(register) == Some(value), "{register:#x} changed");
    }
    assert_eq!(state.mailboxes[&window.mailbox].buffers.len(), 1);
}

/// Posts 64 bytes that the driver has not allocated.
fn post_at(share: &mut Driver, window: spindle::rvma::Window, buffer: u64, record: u64) {
    let page = address(window.process, 0);
    for (register, value) in [
        (doorbell::MAILBOX, window.mailbox),
        (doorbell::BUFFER_LO, buffer as u32),
        (doorbell::BUFFER_HI, (buffer >> 32) as u32),
        (doorbell::SIZE, 64),
        (doorbell::RECORD_LO, record as u32),
        (doorbell::RECORD_HI, (record >> 32) as u32),
        (doorbell::COMMAND, doorbell_command::POST_BUFFER),
    ] {
        share.bar.write32(page + register, value).unwrap();
    }
    assert_eq!(share.bar.read32(page + doorbell::RESULT).unwrap(), 0);
}

/// A sealed file of guard bytes.
fn guarded(pages: u64) -> File {
    let file = File::from(memfd_create("guard", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap());
    file.write_all_at(&vec![0xA5; (pages * 4096) as usize], 0).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    file
}

#[test]
fn a_client_that_dies_leaves_nothing_that_the_card_writes() {
    let setup = Setup::new(Quota::default());
    let file = guarded(2);
    let (mut dying, p) = setup.share();
    let range = spindled::card::window(p).start + (1 << 30)..spindled::card::window(p).start + (1 << 30) + 8192;
    dying.bar.lock().map_file(file.as_fd(), 0, &range).unwrap();
    let windows: Vec<_> = (0..5).map(|i| dying.init_window(p, i, 0, 64).unwrap()).collect();
    for (i, window) in windows.iter().enumerate() {
        let (buffer, record) = (range.start + 64 * i as u64, range.start + 4096 + 16 * i as u64);
        post_at(&mut dying, *window, buffer, record);
    }
    assert!(setup.model.0.lock().unwrap().mailboxes.values().all(|mailbox| mailbox.buffers.len() == 1));
    drop(dying);
    soon("all is closed", || {
        let state = setup.model.0.lock().unwrap();
        state.mailboxes.is_empty() && state.regions.is_empty() && state.host.memory.ranges().is_empty()
    });
    let mut bytes = vec![0; 8192];
    file.read_exact_at(&mut bytes, 0).unwrap();
    assert!(bytes[..4096].iter().all(|byte| *byte == 0xA5), "a buffer was written");
    let cancelled = (0..5).all(|i| bytes[4096 + 16 * i..][..16].contains(&(status::CANCELLED)));
    assert!(cancelled && bytes[4096 + 80..].iter().all(|byte| *byte == 0xA5), "more than the records was written");
    for window in windows {
        assert!(!setup.model.deliver(window.mailbox, 1).unwrap());
    }
    let mut after = vec![0; 8192];
    file.read_exact_at(&mut after, 0).unwrap();
    assert_eq!(after, bytes);
    // The next client has the same process and window, and none of that.
    let (mut next, q) = setup.share();
    assert_eq!(q, p);
    let window = next.init_window(q, 1, 0, 64).unwrap();
    let lost = spindle::rvma::Posted { buffer: range.start, size: 64, record: range.start + 4096 };
    assert!(next.post(window, lost).is_err());
    next.post_buffer(window, 64).unwrap();
}

#[test]
fn a_kick_rings_the_own_page() {
    let setup = Setup::new(Quota::default());
    let (share, p) = setup.share();
    let mut card = share.bar.lock();
    assert!(card.kick(address(p + 1, doorbell::KICK), 1).unwrap().is_none());
    let kick = card.kick(address(p, doorbell::KICK), 1).unwrap().expect("a share has its kick");
    assert!(irq::signal(&kick));
    let kicks = || setup.model.0.lock().unwrap().page(p, doorbell::KICK);
    soon("the card is kicked", || kicks() == 1);
    assert_eq!(setup.model.0.lock().unwrap().page(p + 1, doorbell::KICK), 0);
}

#[test]
fn memory_at_own_addresses_belongs_to_the_first() {
    let setup = Setup::new(Quota::default());
    let (one, p) = setup.share();
    let (two, q) = setup.share();
    let heap = vec![0u8; 16 << 10];
    let range = heap.as_ptr() as u64..heap.as_ptr() as u64 + heap.len() as u64;
    one.bar.lock().map(&range).unwrap();
    assert!(two.bar.lock().map(&range).is_err(), "both are this program, with the same addresses");
    let state = setup.model.0.lock().unwrap();
    let owners = |process: usize| state.regions.keys().filter(|(owner, _)| *owner == process).count();
    assert!(owners(p) > 0 && owners(q) == 0);
    drop(state);
    one.bar.lock().unmap(&range).unwrap();
    two.bar.lock().map(&range).unwrap();
    let foreign = spindled::card::window(p);
    let file = guarded(1);
    let error = two.bar.lock().map_file(file.as_fd(), 0, &(foreign.start..foreign.start + 4096)).unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error}");
    assert!(two.bar.lock().map_file(file.as_fd(), 0, &(foreign.end - 4096..foreign.end + 4096)).is_err());
}

fn count<T>(mut attempt: impl FnMut() -> spindle::Result<T>, most: usize) -> (usize, String) {
    for done in 0..most {
        if let Err(error) = attempt() {
            return (done, error.to_string());
        }
    }
    (most, String::new())
}

#[test]
fn what_all_share_cannot_be_exhausted() {
    let quota = Quota { mailboxes: 5, buffers: 8, maps: 6, bytes: 16 << 20, ..Quota::default() };
    let setup = Setup::new(quota);
    let (mut greedy, p) = setup.share();
    let mut key = 0;
    let (windows, error) = count(
        || {
            key += 1;
            greedy.init_window(p, key, 0, 64)
        },
        100,
    );
    assert_eq!(windows, 5);
    assert!(error.contains("close a mailbox"), "{error}");
    let window = spindle::rvma::Window { process: p, mailbox: 1 };
    let posted = greedy.post_buffer(window, 64).unwrap();
    let (posts, error) = count(|| greedy.post(window, posted), 100);
    assert_eq!(posts, 7);
    assert!(error.contains("no buffer slot is free"), "{error}");
    // Room comes back with completions.
    for _ in 0..3 {
        assert!(setup.model.deliver(1, 1).unwrap());
    }
    assert_eq!(count(|| greedy.post(window, posted), 100).0, 3);
    greedy.close_window(window).unwrap();
    greedy.init_window(p, 1000, 0, 64).unwrap();

    let file = guarded(1);
    let start = spindled::card::window(p).start + (2 << 30);
    let mut page = 0;
    let (maps, error) = count(
        || {
            page += 2;
            greedy.bar.lock().map_file(file.as_fd(), 0, &(start + page * 4096..start + page * 4096 + 4096))
        },
        100,
    );
    assert!((4..=6).contains(&maps) && error.contains("No space"), "{maps}: {error}");
    let (mut other, q) = setup.share();
    assert!(other.memory.alloc(32 << 20, 64).unwrap_err().to_string().contains("No space"));
    let window = other.init_window(q, 1, 0, 64).unwrap();
    other.post_buffer(window, 64).unwrap();
}

#[test]
fn commands_that_stop_others_have_a_rate() {
    let quota = Quota { reclaim_cycles: 2000, reclaim_burst: 4, ..Quota::default() };
    let setup = Setup::new(quota);
    let (mut eager, p) = setup.share();
    for key in 0..12 {
        let window = eager.init_window(p, key, 0, 64).unwrap();
        eager.close_window(window).unwrap();
    }
    let reclaims = setup.model.0.lock().unwrap().reclaims.clone();
    assert_eq!(reclaims.len(), 12);
    let slow: Vec<u64> = reclaims[3..].windows(2).map(|pair| pair[1] - pair[0]).collect();
    let span = reclaims[11] - reclaims[3];
    assert!(span >= 7 * 2000, "{slow:?}");
    assert!(reclaims[2] - reclaims[0] < 2000, "a burst is not slowed: {reclaims:?}");
}

#[test]
fn a_reset_closes_and_keeps_memory() {
    let setup = Setup::new(Quota::default());
    let (mut share, p) = setup.share();
    let (mut other, q) = setup.share();
    let window = share.init_window(p, 1, 0, 64).unwrap();
    let posted = share.post_buffer(window, 64).unwrap();
    let kept = other.init_window(q, 2, 0, 64).unwrap();
    share.bar.lock().reset().unwrap();
    let state = setup.model.0.lock().unwrap();
    assert_eq!(state.mailboxes.keys().collect::<Vec<_>>(), [&kept.mailbox]);
    drop(state);
    let window = share.init_window(p, 1, 0, 64).unwrap();
    share.post(window, posted).unwrap();
    assert!(setup.model.deliver(window.mailbox, 3).unwrap());
    assert_eq!(share.wait(&posted, 10_000).unwrap().status, status::DONE);
}

fn gone(share: &mut Driver) -> bool {
    matches!(share.cycle(), Err(Error::Gone { .. }))
}

#[test]
fn a_card_that_leaves_and_a_daemon_that_ends_are_gone() {
    let mut setup = Setup::new(Quota::default());
    let (mut share, _) = setup.share();
    setup.end(0);
    soon("the client learns that the card is gone", || share.cycle().is_err());
    soon("and that the daemon ended", || gone(&mut share));
    let mut setup = Setup::new(Quota::default());
    let (mut share, _) = setup.share();
    setup.end(1);
    assert!(gone(&mut share));
    assert!(!setup.path("card.sock").exists());
    let error = Client::connect(&setup.path("card.sock")).unwrap_err().to_string();
    assert!(error.contains("spindled"), "{error}");
}

#[test]
fn a_process_that_is_known_by_its_number_has_a_socket() {
    let setup = Setup::new(Quota::default());
    let two = setup.share_at("process2.sock").unwrap();
    assert_eq!(two.1, 2);
    let busy = setup.share_at("process2.sock").err().expect("process 2 has a client");
    assert!(matches!(busy, Error::Busy { .. }), "{busy}");
    assert_eq!([setup.share().1, setup.share_at("process3.sock").unwrap().1], [1, 3]);
    let all: Vec<_> = (0..100).map_while(|_| setup.share_at("card.sock").ok()).collect();
    let numbers: Vec<usize> = all.iter().map(|share| share.1).collect();
    assert!(numbers.len() > 2 && !numbers.contains(&2) && !numbers.contains(&0), "{numbers:?}");
    let busy = setup.share_at("card.sock").err().expect("all processes have clients");
    assert!(matches!(busy, Error::Busy { .. }), "{busy}");
}

#[test]
fn who_connects_after_the_end_of_a_client_finds_its_process_free() {
    let setup = Setup::new(Quota::default());
    for round in 0..50 {
        let client =
            Client::connect(&setup.path("process2.sock")).unwrap_or_else(|error| panic!("round {round}: {error}"));
        drop(client);
    }
}
