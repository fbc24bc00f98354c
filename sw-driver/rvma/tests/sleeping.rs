//! Waits on a served card sleep until the card's interrupt: they take next to no time of the processor, and end at once.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod served_card;

use served_card::{serve, Process};
use spindle::put::{Kind, Target};
use spindle::rvma::Posted;
use spindle::window::WindowOptions;
use spindle_contract::wire::{RECORD_BYTES, RECORD_STATUS};
use spindle_rvma::{Nic, OpenWindow, Options};
use std::path::Path;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

const PROCESS: usize = 2;
const KEY: u32 = 9;
const BYTES: u32 = 100;
const WINDOWS: u64 = 5;
const LAST: u64 = WINDOWS - 1;
const FOREVER: u64 = u64::MAX;
/// How long nothing comes.
const QUIET: Duration = Duration::from_secs(2);
/// Most time of the processor for the begin and the end of a wait, to which a twentieth of the time waited is added. A wait that
/// does not sleep takes all of it; a machine with other work makes the same instructions take several times as long.
const MOST: Duration = Duration::from_millis(20);
/// Most time from a record to the end of the wait for it; without an interrupt it is up to half a second.
const PROMPT: Duration = Duration::from_millis(200);

/// Memory of a window: a buffer and its record.
#[repr(C, align(4096))]
struct Memory {
    bytes: [u8; 4096 - RECORD_BYTES],
    record: [u8; RECORD_BYTES],
}

impl Memory {
    fn new() -> Box<Memory> {
        Box::new(Memory { bytes: [0; 4096 - RECORD_BYTES], record: [0; RECORD_BYTES] })
    }

    fn register(&self, nic: &Nic) {
        let start = &raw const *self as u64;
        nic.register(start..start + size_of::<Memory>() as u64).unwrap();
    }

    fn status(&self) -> *const u8 {
        &self.record[RECORD_STATUS]
    }

    fn post(&self, window: &OpenWindow, size: u32) {
        let (buffer, record) = (self.bytes.as_ptr() as u64, self.record.as_ptr() as u64);
        window.post(Posted { buffer, size, record }).unwrap();
    }
}

/// Time of the processor that this thread has taken.
fn taken() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock writes into `time`.
    assert_eq!(unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) }, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A wait, and the time of the processor that it took; most of the time it must have slept.
fn sleeping<T>(name: &str, call: impl FnOnce() -> T) -> (T, Duration) {
    let (begin, start) = (taken(), Instant::now());
    let end = call();
    let (cost, lasted) = (taken() - begin, start.elapsed());
    assert!(cost < MOST + lasted / 20, "{cost:?} of the processor for {name}, which lasted {lasted:?}");
    (end, cost)
}

/// Two nodes on served cards.
fn nodes(folder: &Path) -> ([Process; 2], [Nic; 2]) {
    let cable = folder.join("cable");
    let sockets = ["a", "b"].map(|name| folder.join(name));
    let servers = sockets.each_ref().map(|socket| serve(socket, &cable));
    let nics = [0, 1].map(|number: usize| {
        let options = Options { number: number as u32, ..Options::default() };
        let node = spindle_rvma::open(&format!("unix:{}", sockets[number].display()), &options).unwrap();
        Nic::open(&node, PROCESS).unwrap()
    });
    (servers, nics)
}

fn target(address: u64) -> Target {
    Target { node: 1, process: PROCESS as u16, address, key: KEY, offset: 0, kind: Kind::Bound }
}

/// Opens a window of the receiver, and posts this memory to it.
fn open(nic: &Nic, memory: &Memory, address: u64, event: bool) -> OpenWindow {
    memory.register(nic);
    let options = WindowOptions { address, key: KEY, threshold: BYTES, event, ..WindowOptions::default() };
    let window = nic.open_window(&options).unwrap();
    memory.post(&window, BYTES);
    window
}

/// Waits for the byte at this address: when it was there, and the time of the processor.
fn wait(nic: &Nic, byte: usize) -> (Instant, Duration) {
    // SAFETY: the records stay until all threads have ended.
    let (end, cost) =
        sleeping("the wait for a record", || unsafe { nic.wait_byte("a record", byte as *const u8, FOREVER) });
    end.unwrap();
    (Instant::now(), cost)
}

#[test]
fn waits_sleep_and_end_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (servers, [sender, receiver]) = nodes(folder.path());
    let sent = Memory::new();
    sent.register(&sender);
    let memories: Vec<_> = (0..WINDOWS).map(|_| Memory::new()).collect();
    // Of the last window the program wants events.
    let window = |(address, memory)| open(&receiver, memory, address, address == LAST);
    let windows: Vec<_> = (0..).zip(memories.iter().map(Box::as_ref)).map(window).collect();
    let put = |address| sender.put(sent.bytes.as_ptr() as u64, BYTES, &target(address)).unwrap();
    scope(|scope| {
        let receiver = &receiver;
        let statuses: Vec<_> = memories.iter().map(|memory| memory.status() as usize).collect();
        let waits: Vec<_> = statuses.into_iter().map(|byte| scope.spawn(move || wait(receiver, byte))).collect();
        let event = scope.spawn(|| sleeping("the wait for an event", || receiver.next_event(FOREVER)));
        sleep(QUIET);
        for (address, (wait, memory)) in (0..).zip(waits.into_iter().zip(&memories)) {
            assert!(!wait.is_finished() && !event.is_finished(), "something of window {address} came before its put");
            let op = put(address);
            // SAFETY: the card writes the byte meanwhile.
            while unsafe { memory.status().read_volatile() } == 0 {
                sleep(Duration::from_micros(50));
            }
            let written = Instant::now();
            let (woken, cost) = wait.join().unwrap();
            let late = woken.saturating_duration_since(written);
            println!("window {address}: {} us of the processor, {} us late", cost.as_micros(), late.as_micros());
            assert!(late < PROMPT, "woken {late:?} after the record");
            sleeping("the wait for a put", || sender.wait_put(op, FOREVER)).0.unwrap();
        }
        let (end, cost) = event.join().unwrap();
        end.unwrap();
        println!("event: {} us of the processor", cost.as_micros());
    });
    // Complete buffers of the other windows are no events of the program: a limit of the card's time passes without one.
    let (end, _) = sleeping("a limit", || receiver.next_event(40_000));
    assert!(end.unwrap_err().to_string().contains("an event of process 2"));
    drop(windows);
    drop((sender, receiver));
    drop(servers);
}
