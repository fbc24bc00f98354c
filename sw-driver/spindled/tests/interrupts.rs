//! A client of `spindled` on a served NIC rings the card by an eventfd alone, and sleeps until the card's interrupt.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod cards;

use cards::{own_card, serve, share, soon, Driver};
use rustix::event::PollFlags;
use spindle::moderation::vector;
use spindle::put::{Kind, Target};
use spindle::{irq, EventKind, HostMemory, InterruptOptions};
use spindle_contract::registers::{doorbell, PAGE};
use spindle_contract::wire::status;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

const KEY: u32 = 7;
const ADDRESS: u64 = 0x1234;
const BYTES: u32 = 256;
const COOKIE: u16 = 77;
/// How long the card is left alone.
const QUIET: Duration = Duration::from_millis(300);
/// Longest time of each wait; the card is a simulated one.
const LIMIT: Duration = Duration::from_secs(60);

/// The eventfd that rings the card for a process.
fn bell(driver: &Driver, process: usize) -> OwnedFd {
    let kick = doorbell::BASE + process as u32 * PAGE + doorbell::KICK;
    driver.bar.lock().kick(kick, 1).unwrap().expect("a daemon over vfio-user passes eventfds on")
}

#[test]
fn an_eventfd_rings_the_card_and_an_interrupt_wakes_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let nics = [0, 1].map(|number| serve(folder.path(), number));
    let daemons = [0, 1].map(|number| own_card(folder.path(), number, nics[number].0.clone()));
    soon("the daemons listen", || daemons.iter().all(|(sockets, _)| sockets.join("control.sock").exists()));
    let (mut receiver, p) = share(&daemons[0].0);
    let (mut client, q) = share(&daemons[1].0);
    let window = receiver.init_window(p, ADDRESS, KEY, BYTES).unwrap();
    let posted = receiver.post_buffer(window, BYTES).unwrap();

    // All that needs a register is done before; from then on the client has its memory and two eventfds.
    let mut ring = client.open_ring(q, 64).unwrap();
    let mut commands = client.open_commands(q, 16).unwrap();
    let shadow = client.open_shadow(q).unwrap();
    client.set_interrupt(q, Some(InterruptOptions::default())).unwrap();
    let interrupt = client.bar.lock().interrupt(vector(q)).unwrap();
    let bell = bell(&client, q);

    let source = client.memory.alloc(BYTES as usize, 64).unwrap();
    client.memory.write(source, &[0x3C; BYTES as usize]).unwrap();
    let target = Target { node: 0, process: p as u16, address: ADDRESS, key: KEY, offset: 0, kind: Kind::Bound };
    assert!(client.add_put(&mut commands, source, BYTES, &target, COOKIE).unwrap());
    client.shadow_tail(&shadow, 1).unwrap();
    client.shadow_head(&shadow, &ring, true).unwrap();
    assert!(!irq::ready(interrupt.as_fd(), PollFlags::IN, QUIET).unwrap(), "the card knows of nothing yet");
    assert_eq!(receiver.poll(&posted).unwrap(), None);

    assert!(irq::signal(&bell));
    let begin = Instant::now();
    assert!(irq::wait(&interrupt, LIMIT).unwrap() > 0, "no interrupt of the card reaches the client");
    println!("woken {} ms after the eventfd was written", begin.elapsed().as_millis());
    let event = client.poll_event(&mut ring).unwrap().expect("an interrupt does not overtake its event");
    let acknowledged = |kind: &EventKind| matches!(kind, EventKind::Put { number: COOKIE, acknowledged: true, .. });
    assert!(acknowledged(&event.kind), "{event:?}");
    assert_eq!(receiver.poll(&posted).unwrap().map(|done| (done.status, done.length)), Some((status::DONE, BYTES)));
    let mut arrived = vec![0; BYTES as usize];
    receiver.memory.read(posted.buffer, &mut arrived).unwrap();
    assert_eq!(arrived, [0x3C; BYTES as usize]);
}
