//! Cards whose time another one keeps: pauses, frames of later cycles, resets, and served cards that move by accesses.

use spindle::{Bar, SharedCard};
use spindle_contract::params::Config;
use spindle_contract::registers::BAR_BITS;
use spindle_sim::serve::wire::Nowhere;
use spindle_sim::serve::{Background, Clients, ServeOptions, Sockets, TimeMode};
use spindle_sim::{Arrival, Options, SimDevice, WireFrame};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn card() -> SimDevice {
    SimDevice::new(&spindle_sim::source(&Config::SIM).unwrap(), &Config::SIM, Options::default()).unwrap()
}

#[test]
fn a_reset_passes_no_pause_and_loses_the_frames_of_its_cycles_alone() {
    let mut card = card();
    let pauses: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
    let (noted, mut at) = (pauses.clone(), 2);
    card.set_pause(
        2,
        Box::new(move |card| {
            noted.lock().unwrap().push((at, card.cycle()));
            at += 2;
            at
        }),
    );
    card.run(11);
    let frame = |bytes| WireFrame { bytes: vec![7; bytes], gap: 0, bad: false };
    for (cycle, bytes) in [(12, 100), (14, 200), (15, 300), (200, 64)] {
        card.inject_at(cycle, frame(bytes)).unwrap();
    }
    card.reset().unwrap();
    assert_eq!(card.cycle(), 15);
    card.run(300);
    let arrivals = [Arrival { cycle: 15, bytes: 300 }, Arrival { cycle: 200, bytes: 64 }];
    assert_eq!(card.take_entered(), arrivals);
    let pauses = pauses.lock().unwrap();
    assert!(pauses.iter().map(|(at, _)| *at).eq((2..316).step_by(2)), "{pauses:?}");
    // Those within the reset come right after it.
    assert!(pauses.iter().all(|(at, cycle)| *cycle == if (12..15).contains(at) { 15 } else { *at }), "{pauses:?}");
}

#[test]
fn a_connection_that_agrees_on_nothing_is_no_client() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nic.sock");
    let mut server = Sockets::bind(&socket).unwrap().serve(card(), Box::new(Nowhere), TimeMode::Step, false);
    let clients = server.function().clients();
    let (_stop, stopped) = UnixStream::pair().unwrap();
    drop(UnixStream::connect(&socket).unwrap());
    let mut look = |times| {
        for _ in 0..times {
            assert!(!server.look(stopped.as_fd(), Duration::from_millis(1)).unwrap());
        }
        server.function().sim().cycle()
    };
    assert_eq!(look(5), 0, "the card was not reset");
    assert_eq!(*clients.lock().unwrap(), Clients::default());
    let address = format!("unix:{}", socket.display());
    let client = std::thread::spawn(move || spindle::open(&address).map(drop).unwrap());
    while !client.is_finished() {
        look(1);
    }
    client.join().unwrap();
    let cycle = look(5);
    assert!(cycle > 0, "the end of a client resets its card");
    assert_eq!(*clients.lock().unwrap(), Clients { came: 1, here: false, left: cycle });
}

#[test]
fn a_write_has_ended_on_a_card_whose_time_moves_by_calls() {
    let folder = tempfile::tempdir().unwrap();
    // No register is there: a write that is posted does not know.
    let refused = |time, name: &str| {
        let options = ServeOptions { time, ..ServeOptions::at(&folder.path().join(name)) };
        let served = Background::start(options).unwrap();
        let mut card: SharedCard = served.card().unwrap();
        card.write32((1 << BAR_BITS) - 4, 1).is_err()
    };
    assert!(refused(TimeMode::Step, "step.sock") && !refused(TimeMode::Free, "free.sock"));
}
