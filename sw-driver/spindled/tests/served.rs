//! `spindled` over two served NICs that are joined by a cable: clients exchange memory, beside one that is hostile in every way it has,
//! and dies.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod cards;

use cards::{own_card, serve, share, soon, Driver};
use rustix::process::{kill_process, Pid, Signal};
use spindle::put::{Kind, Target};
use spindle::rvma::{Posted, Window};
use spindle::{Bar, HostMemory};
use spindle_contract::registers::{doorbell, doorbell_command, PAGE};
use spindle_contract::wire::status;
use spindled::card::window;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Cycles in which a put has arrived.
const ARRIVES: u64 = 1_000_000;
/// The socket of the daemon that the hostile program uses.
const HOSTILE: &str = "SPINDLED_TEST_HOSTILE";
const KEY: u32 = 0x5EC2E7;

/// A window with a buffer of so many bytes.
fn receiver(driver: &mut Driver, process: usize, address: u64, bytes: u32) -> (Window, Posted) {
    let window = driver.init_window(process, address, KEY, bytes).unwrap();
    (window, driver.post_buffer(window, bytes).unwrap())
}

/// Puts data from a client of one card to a window of a client of the other, and compares what arrives.
fn exchange(from: (&mut Driver, usize), to: (&mut Driver, usize), node: u8, address: u64, seed: u8) {
    let data: Vec<u8> = (0..3000u32).map(|i| (i.wrapping_mul(31) >> 3) as u8 ^ seed).collect();
    let (window, posted) = receiver(to.0, to.1, address, data.len() as u32);
    let source = from.0.memory.alloc(data.len(), 64).unwrap();
    from.0.memory.write(source, &data).unwrap();
    let target = Target { node, process: to.1 as u16, address, key: KEY, offset: 0, kind: Kind::Bound };
    from.0.put(from.1, source, data.len() as u32, &target).unwrap();
    match to.0.wait(&posted, ARRIVES) {
        Ok(done) => assert_eq!(done.status, status::DONE),
        Err(error) => panic!("{error}; sender: {}; receiver: {}", counters(from.0), counters(to.0)),
    }
    let mut arrived = vec![0; data.len()];
    to.0.memory.read(posted.buffer, &mut arrived).unwrap();
    assert!(arrived == data, "the bytes that arrived are others");
    to.0.close_window(window).unwrap();
}

/// What a card has done, for the message of a failure.
fn counters(driver: &mut Driver) -> String {
    use spindle_contract::registers::{node, rvma};
    let read = |(name, address): (&str, u32)| {
        let value = driver.bar.read32(address).map_or("?".into(), |value| value.to_string());
        format!("{name} {value}")
    };
    [
        ("puts", rvma::BASE + rvma::HOST_PUTS_DONE),
        ("failed", rvma::BASE + rvma::HOST_PUTS_FAILED),
        ("placed", rvma::BASE + rvma::PLACED_PACKETS),
        ("refused", rvma::BASE + rvma::REFUSED),
        ("DMA errors", rvma::BASE + rvma::DMA_ERRORS),
        ("read errors", rvma::BASE + rvma::READ_ERRORS),
        ("last refusal", node::BASE + node::LAST_REFUSAL),
        ("cycle", 0x18),
    ]
    .map(read)
    .join(", ")
}

/// Does all that a client can do to others. A line on standard output reports that all is done.
fn be_hostile(sockets: &Path) -> ! {
    let (mut driver, process) = share(sockets);
    // Pages of others: commands, tails, kicks.
    for other in (0..16).filter(|other| *other != process as u32) {
        let page = doorbell::BASE + other * PAGE;
        for (register, value) in [
            (doorbell::MAILBOX, 0),
            (doorbell::COMMAND, doorbell_command::CLOSE),
            (doorbell::RING_TAIL, 77),
            (doorbell::EVENT_HEAD, 77),
            (doorbell::KICK, 1),
        ] {
            driver.bar.write32(page + register, value).unwrap();
        }
        assert!(driver.bar.read32(page).is_err());
    }
    // Mailboxes of others.
    for mailbox in 0..64 {
        assert!(driver.close_window(Window { process, mailbox }).is_err());
    }
    // Memory that is not mapped, and memory of others.
    let (own, posted) = receiver(&mut driver, process, 0x666, 64);
    for other in (0..8).filter(|other| *other != process) {
        let refused = driver.post(own, Posted { buffer: window(other).start, ..posted });
        assert!(refused.unwrap_err().to_string().contains("outside of its regions"));
    }
    // Tables.
    let windows = (0..100).take_while(|i| driver.init_window(process, 0x7000 + i, 1, 64).is_ok()).count();
    assert_eq!(windows, 7, "the quota is 8 mailboxes");
    // Buffers in memory that outlives this program, for the messages that come after its death.
    let memory = driver.memory.alloc(4096, 4096).unwrap();
    driver.memory.write(memory, &[0xA5; 4096]).unwrap();
    let record = driver.memory.alloc(16, 16).unwrap();
    for i in 0..16 {
        driver.post(own, Posted { buffer: memory + 64 * i, size: 64, record }).unwrap();
    }
    println!("\nready {process} {memory}");
    std::io::stdout().flush().unwrap();
    loop {
        // Rings on while it is killed.
        let _ = driver.bar.write32(doorbell::BASE + process as u32 * PAGE + doorbell::RING_TAIL, 1);
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The files of a program whose memory has a name, opened by this one.
fn memory_files(pid: u32) -> Vec<File> {
    let fds = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let shared =
        |path: &PathBuf| std::fs::read_link(path).is_ok_and(|to| to.to_string_lossy().contains("memfd:spindle"));
    fds.map(|fd| fd.path()).filter(shared).map(|path| File::open(path).unwrap()).collect()
}

/// Where a file has so many guard bytes one after another; `None`: nowhere.
fn guard(file: &File) -> Option<u64> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes.chunks(4096).position(|page| page.iter().all(|byte| *byte == 0xA5)).map(|page| 4096 * page as u64)
}

#[test]
fn clients_of_two_cards_and_a_hostile_one() {
    if let Some(sockets) = std::env::var_os(HOSTILE) {
        be_hostile(Path::new(&sockets));
    }
    let folder = tempfile::tempdir().unwrap();
    let nics = [0, 1].map(|number| serve(folder.path(), number));
    let daemons = [0, 1].map(|number| own_card(folder.path(), number, nics[number].0.clone()));
    soon("the daemons listen", || daemons.iter().all(|(sockets, _)| sockets.join("control.sock").exists()));
    let (mut one, p) = share(&daemons[0].0);
    let (mut two, q) = share(&daemons[1].0);
    exchange((&mut one, p), (&mut two, q), 1, 0x100, 1);
    exchange((&mut two, q), (&mut one, p), 0, 0x101, 2);

    // The hostile client is a program of its own, beside client two.
    let mut hostile = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "clients_of_two_cards_and_a_hostile_one", "--nocapture"])
        .env(HOSTILE, &daemons[1].0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(hostile.stdout.take().unwrap()).lines().map_while(Result::ok);
    let ready =
        lines.into_iter().find(|line| line.starts_with("ready")).expect("the hostile client has done its worst");
    let victim: u16 = ready.split(' ').nth(1).unwrap().parse().unwrap();
    exchange((&mut one, p), (&mut two, q), 1, 0x102, 3);
    let files = memory_files(hostile.id());
    let (file, at) = files.iter().find_map(|file| Some((file, guard(file)?))).expect("the guarded buffers");
    // Messages for the hostile client while it dies, and after.
    let source = one.memory.alloc(64, 64).unwrap();
    one.memory.write(source, &[0x11; 64]).unwrap();
    let target = Target { node: 1, process: victim, address: 0x666, key: KEY, offset: 0, kind: Kind::Bound };
    let put = |one: &mut Driver| {
        one.put(p, source, 64, &target).unwrap();
    };
    put(&mut one);
    kill_process(Pid::from_raw(hostile.id() as i32).unwrap(), Signal::KILL).unwrap();
    hostile.wait().unwrap();
    put(&mut one);
    let processes = || control(&daemons[1].0, "{\"request\":\"processes\"}");
    soon("the daemon has closed the dead client's windows", || processes()["ok"].as_array().unwrap().len() == 1);
    let mut before = vec![0; 4096];
    file.read_exact_at(&mut before, at).unwrap();
    for _ in 0..4 {
        put(&mut one);
    }
    exchange((&mut one, p), (&mut two, q), 1, 0x103, 4);
    let mut after = vec![0; 4096];
    file.read_exact_at(&mut after, at).unwrap();
    assert!(before == after, "memory of a dead client was written");
    let (mut next, r) = share(&daemons[1].0);
    assert_eq!(r, usize::from(victim), "its process is free again");
    exchange((&mut one, p), (&mut next, r), 1, 0x666, 5);
    let stats = control(&daemons[1].0, "{\"request\":\"stats\"}");
    assert_eq!((&stats["ok"]["mailboxes"], &stats["ok"]["buffers"]), (&0.into(), &0.into()), "{stats}");
}

fn control(sockets: &Path, request: &str) -> serde_json::Value {
    let stream = std::os::unix::net::UnixStream::connect(sockets.join("control.sock")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    (&stream).write_all(format!("{request}\n").as_bytes()).unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}
