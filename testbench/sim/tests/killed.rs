//! Drivers of a served card that are killed at any moment of their work: the next one opens the card, and it works.
//!
//! The driver is this program again, in the role of [`victim`], so that it is a process of its own.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use rand::Rng;
use spindle::{transport, Device, Error, HostMemory, SharedCard, Target};
use spindle_contract::wire::status;
use spindle_sim::address;
use spindle_sim::serve::{NicServer, ServeOptions};
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Owners that are killed.
const KILLS: usize = 100;
/// Bytes of a put, of a buffer, and of the guard beside them.
const BYTES: usize = 4096;
/// Bound of each wait, in cycles.
const LIMIT: u64 = 1_000_000;
/// Time in which a server notices the end of its client.
const FREE_WITHIN: Duration = Duration::from_secs(10);
/// Bound of the whole test.
const ENDS_WITHIN: Duration = Duration::from_secs(300);
/// Socket of the card, for the process in the role of the driver.
const SOCKET: &str = "SPINDLE_TEST_SOCKET";
/// The test, which that process runs too.
const NAME: &str = "a_card_works_after_its_owners_were_killed";

type Nic = Device<SharedCard, SharedCard>;

/// Opens the card. Its server may not have noticed the end of the last owner: that is `Busy`, for a moment.
fn open(socket: &Path) -> spindle::Result<Nic> {
    let (start, address_of_card) = (Instant::now(), format!("unix:{}", socket.display()));
    let card = loop {
        match transport::open(&address_of_card) {
            Err(Error::Busy { .. }) if start.elapsed() < FREE_WITHIN => std::thread::sleep(Duration::from_millis(1)),
            opened => break opened?,
        }
    };
    let mut nic = Device::open(card.clone(), card)?;
    let own = address(0);
    nic.set_identity(0, own.mac, own.ip)?;
    nic.set_node(1, Some(address(1)))?;
    Ok(nic)
}

/// A buffer goes through the card: posted, taken back, and its record is right.
fn works(nic: &mut Nic) -> spindle::Result<()> {
    let window = nic.init_window(0, 0x1000, 1, BYTES as u32)?;
    let posted = nic.post_buffer(window, BYTES as u32)?;
    nic.close_window(window)?;
    let record = nic.wait(&posted, LIMIT)?;
    assert_eq!((record.status, record.buffer), (status::CANCELLED, posted.buffer));
    Ok(())
}

/// The role of the driver: it opens the card, checks that it works, and puts until it is killed.
fn victim(socket: &Path) {
    let mut nic = open(socket).unwrap();
    works(&mut nic).unwrap();
    let data = nic.memory.alloc(BYTES, 64).unwrap();
    nic.memory.write(data, &[0x5A; BYTES]).unwrap();
    println!("\nworking");
    for round in 0.. {
        let window = nic.init_window(0, round, 0, BYTES as u32).unwrap();
        nic.post_buffer(window, BYTES as u32).unwrap();
        let target = Target { node: 1, process: 0, address: round, key: 0, offset: 0, kind: Default::default() };
        nic.put(0, data, BYTES as u32, &target).unwrap();
        nic.close_window(window).unwrap();
    }
}

/// Starts a victim and waits until it works.
fn working(socket: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(SOCKET, socket)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "working"), "the card does not work for a new owner");
    child
}

#[test]
fn a_card_works_after_its_owners_were_killed() {
    if let Some(socket) = std::env::var_os(SOCKET) {
        return victim(Path::new(&socket));
    }
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("nic0.sock");
    let stop = spindle::irq::create().unwrap();
    let stopped = stop.try_clone().unwrap();
    let options = ServeOptions::at(&socket);
    let mut server = NicServer::open(&options).unwrap();
    let start = Instant::now();
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || server.run(stopped.as_fd()).map_err(|error| error.to_string()));
        let killing = scope.spawn(|| {
            let mut random = spindle_harness::seeded_rng("killed owners");
            for _ in 0..KILLS {
                let mut child = working(&socket);
                std::thread::sleep(Duration::from_micros(random.random_range(0..40_000)));
                child.kill().unwrap();
                child.wait().unwrap();
                assert!(start.elapsed() < ENDS_WITHIN, "{KILLS} owners take too long");
            }
            works(&mut open(&socket).unwrap()).unwrap();
        });
        let killed = killing.join();
        assert!(spindle::irq::signal(&stop));
        serving.join().unwrap().unwrap();
        killed.unwrap();
    });
    println!("{KILLS} owners were killed in {:.1} s", start.elapsed().as_secs_f64());
}
