//! The driver's cases beside pings and puts, the same for the pins of every shell and for the ports of the NIC alone: gets, frames
//! from and to the host, the command ring, interrupts, the reset of the card.

use super::driver::{answering, answers, handler, pattern, pings, put, with_mailbox, KEY, LIMIT, MAILBOX, PROCESS};
use spindle::command_ring::FrameOptions;
use spindle::peer::Responses;
use spindle::reliable::Reliability;
use spindle::rule_table::Action;
use spindle::window::WindowOptions;
use spindle::{irq, Bar, EventKind, HostMemory, InterruptOptions, Kind, Reply, Target};
use spindle_contract::pci::VECTORS;
use spindle_contract::registers::global;
use spindle_contract::wire::status;
use spindle_model::frames::{udp, Ends};
use spindle_shell_bench::shell::driver::set_up;
use spindle_shell_bench::shell::{Driver, Frame, Shell, ShellCard};

/// The cases as tests, over what `$opened` gives: a card and its driver. With `$runs`, a function, they run where it is `true`.
macro_rules! cases {
    ($opened:expr) => {
        cases!($opened, cases::always);
    };
    ($opened:expr, $runs:expr) => {
        #[test]
        fn gets_arrive() {
            if !$runs() {
                return;
            }
            let (card, mut driver) = $opened;
            cases::gets(&card, &mut driver);
        }

        #[test]
        fn frames_go_to_the_host_and_come_from_it() {
            if !$runs() {
                return;
            }
            let (card, mut driver) = $opened;
            cases::frames(&card, &mut driver);
        }

        #[test]
        fn the_command_ring_posts_puts_and_sends() {
            if !$runs() {
                return;
            }
            let (card, mut driver) = $opened;
            cases::command_ring(&card, &mut driver);
        }

        #[test]
        fn each_vector_has_its_message() {
            if !$runs() {
                return;
            }
            let (card, mut driver) = $opened;
            cases::all_vectors(&card, &mut driver);
        }

        #[test]
        fn interrupts_are_moderated() {
            if !$runs() {
                return;
            }
            let (card, mut driver) = $opened;
            cases::moderated_interrupts(&card, &mut driver);
        }

        #[test]
        fn faults_interrupt() {
            if !$runs() {
                return;
            }
            let (card, mut driver) = $opened;
            cases::faults_interrupt(&card, &mut driver);
        }

        #[test]
        fn the_driver_resets_the_card_in_a_transfer() {
            if !$runs() {
                return;
            }
            let (card, mut driver) = $opened;
            cases::resets_by_the_driver(&card, &mut driver, 4);
        }
    };
}
pub(crate) use cases;

/// For cases that run in every test.
pub fn always() -> bool {
    true
}

/// Cycles after which a message that was not to come would have come.
const QUIET: u64 = 3000;
/// A register that has nothing to do with traffic.
const SCRATCH: u32 = global::BASE + global::SCRATCH;

fn target(offset: u32) -> Target {
    Target { node: 0, process: PROCESS as u16, address: MAILBOX, key: KEY, offset, kind: Kind::Bound }
}

/// Sequence numbers, acknowledgements and events of puts.
fn reliable<B: Shell>(driver: &mut Driver<B>) {
    driver.set_sequence_filter(true).unwrap();
    driver.set_responses(Some(Responses { ack_every: 1, ..Responses::default() })).unwrap();
    let reliability = Reliability { timeout: 200, hole_time: 50, retries: 15, incarnation: 0x5EED };
    driver.set_reliability(Some(reliability)).unwrap();
}

/// What a window completed last arrives in other windows, over a wire with acknowledgements.
pub fn gets<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>) {
    card.bench().set_loop(true);
    reliable(driver);
    with_mailbox(driver);
    let data = pattern(9000, 1);
    let window = driver.init_window(PROCESS, MAILBOX, KEY, data.len() as u32).unwrap();
    let filled = driver.post_buffer(window, data.len() as u32).unwrap();
    let from = driver.memory.alloc(data.len(), 64).unwrap();
    driver.memory.write(from, &data).unwrap();
    driver.put(PROCESS, from, data.len() as u32, &target(0)).unwrap();
    assert_eq!(driver.wait(&filled, LIMIT).unwrap().status, status::DONE);
    for (number, (offset, length)) in [(0, 9000), (8999, 1), (1407, 1409), (64, 64)].into_iter().enumerate() {
        let reply = Reply { address: 0x9000 + number as u64, key: 9, offset: number as u32 };
        let window = driver.init_window(0, reply.address, reply.key, length as u32).unwrap();
        let posted = driver.post_buffer(window, length as u32 + 40).unwrap();
        driver.get(0, length as u32, &target(offset as u32), &reply).unwrap();
        let completed = driver.wait(&posted, LIMIT).unwrap();
        assert_eq!((completed.status, completed.length as usize), (status::DONE, length));
        let mut got = vec![0; length];
        driver.memory.read(posted.buffer + number as u64, &mut got).unwrap();
        assert!(got == data[offset..offset + length], "get {number}");
    }
    assert_eq!((driver.segments_resent().unwrap(), driver.failed_puts().unwrap()), (0, 0));
}

/// Frames that no handler wants go to the host as they are, and frames of the host to the wire.
pub fn frames<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>) {
    driver.add_rule(&"udp.dport == 700".parse().unwrap(), Action::Host).unwrap();
    driver.set_receive(true).unwrap();
    let mut frames = driver.open_frames(PROCESS, 4, 64 << 10).unwrap();
    driver.frames_to_host(Some(frames.window()), true).unwrap();
    let received: Vec<Vec<u8>> = [18usize, 22, 23, 500, 1472]
        .into_iter()
        .map(|length| udp(&Ends::default(), 1, 700, &pattern(length, 3)))
        .chain([vec![0x55; 60]])
        .collect();
    card.bench().incoming().extend(received.iter().cloned().map(Frame::good));
    for bytes in &received {
        let mut frame = None;
        for _ in 0..LIMIT / QUIET {
            frame = driver.receive_frame(&mut frames).unwrap();
            if frame.is_some() {
                break;
            }
            card.bench().run(QUIET);
        }
        assert!(frame.expect("it arrives").bytes == *bytes, "{} bytes", bytes.len());
    }
    let sent: Vec<Vec<u8>> = [14usize, 59, 60, 64, 65, 1514, 8192].map(|length| pattern(length, 4)).into();
    let batch: Vec<_> = sent.iter().map(|bytes| (&bytes[..], None)).collect();
    assert_eq!(driver.send_frames(&mut frames, &batch).unwrap(), sent.len());
    let padded = |mut bytes: Vec<u8>| {
        bytes.resize(bytes.len().max(60), 0);
        (bytes, false)
    };
    let wanted: Vec<_> = sent.into_iter().map(padded).collect();
    let all = card.bench().run_while(LIMIT, |bench| bench.sent().len() == wanted.len());
    assert!(all, "{} of {} frames were sent", card.bench().sent().len(), wanted.len());
    let got: Vec<_> = card.bench().sent().drain(..).map(|frame| (frame.bytes, frame.bad)).collect();
    assert!(got == wanted, "frames of the host are changed");
    driver.close_frames(frames).unwrap();
}

/// Posts, puts and frames by the command ring, which the card reads from host memory, and the interrupt after their events.
pub fn command_ring<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>) {
    const BUFFERS: usize = 20;
    const SIZE: u32 = 700;
    card.bench().set_loop(true);
    reliable(driver);
    with_mailbox(driver);
    let mut events = driver.open_ring(PROCESS, 64).unwrap();
    let mut ring = driver.open_commands(PROCESS, 16).unwrap();
    driver.set_sender(PROCESS, true).unwrap();
    let window = driver.init_window(PROCESS, MAILBOX, KEY, SIZE).unwrap();
    let at = driver.memory.alloc(BUFFERS * 1024, 4096).unwrap();
    let place = |i: usize| at + 1024 * i as u64;
    let posts: Vec<_> =
        (0..BUFFERS).map(|i| spindle::rvma::Posted { buffer: place(i), size: SIZE, record: place(i) + 960 }).collect();
    // More than the ring has places for.
    let mut left = &posts[..];
    while !left.is_empty() {
        left = &left[driver.post_many(&mut ring, window, left).unwrap()..];
    }
    driver.wait_posts(&mut ring, LIMIT).unwrap();
    let data = pattern(BUFFERS * SIZE as usize, 5);
    let from = driver.memory.alloc(data.len(), 64).unwrap();
    driver.memory.write(from, &data).unwrap();
    for i in 0..BUFFERS {
        while !driver.add_put(&mut ring, from + u64::from(SIZE) * i as u64, SIZE, &target(0), i as u16).unwrap() {
            driver.write_commands(&mut ring).unwrap();
        }
    }
    driver.write_commands(&mut ring).unwrap();
    for (i, posted) in posts.iter().enumerate() {
        assert_eq!(driver.wait(posted, LIMIT).unwrap().status, status::DONE, "buffer {i}");
        let mut got = vec![0; SIZE as usize];
        driver.memory.read(posted.buffer, &mut got).unwrap();
        assert!(got == data[i * SIZE as usize..][..SIZE as usize], "buffer {i}");
    }
    let mut ended: Vec<_> = (0..BUFFERS)
        .map(|_| match driver.wait_event(&mut events, LIMIT).unwrap().kind {
            EventKind::Put { number, acknowledged: true, .. } => number,
            other => panic!("{other:?}"),
        })
        .collect();
    ended.sort();
    assert!(ended.into_iter().eq(0..BUFFERS as u16), "each put has its event");
    card.bench().set_loop(false);
    card.bench().sent().clear();
    assert!(driver.add_frame(&mut ring, from, 300, FrameOptions::default()).unwrap().is_some());
    driver.write_commands(&mut ring).unwrap();
    assert!(card.bench().run_while(LIMIT, |bench| !bench.sent().is_empty()), "the frame is not sent");
    assert!(card.bench().sent()[0].bytes == data[..300]);
}

/// Each vector has its own message, and no other comes.
pub fn all_vectors<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>) {
    card.bench().set_loop(true);
    with_mailbox(driver);
    for vector in 0..VECTORS {
        let data = pattern(64 + vector, vector as u8);
        assert!(put(card, driver, &data, vector) == data, "vector {vector}");
    }
    assert_eq!(card.bench().messages(), [1; VECTORS]);
}

/// An interrupt that waits for three events, or for time.
pub fn moderated_interrupts<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>) {
    const VECTOR: usize = 6;
    const EVENTS: usize = 3;
    const TIME: u64 = 20_000;
    card.bench().set_loop(true);
    with_mailbox(driver);
    let mut ring = driver.open_ring(PROCESS, 16).unwrap();
    let options = WindowOptions { address: MAILBOX, key: KEY, threshold: 64, event: true, ..WindowOptions::default() };
    let window = driver.open_window(PROCESS, &options).unwrap();
    driver.set_vector(PROCESS, VECTOR).unwrap();
    driver.set_interrupt(PROCESS, Some(InterruptOptions { events: EVENTS as u8, cycles: TIME })).unwrap();
    let eventfd = card.eventfd(VECTOR).unwrap();
    let from = driver.memory.alloc(64, 64).unwrap();
    let send = |driver: &mut Driver<B>| {
        let posted = driver.post_buffer(window, 64).unwrap();
        let put = driver.put(PROCESS, from, 64, &target(0)).unwrap();
        driver.wait_put(&put, LIMIT).unwrap();
        driver.wait(&posted, LIMIT).unwrap();
        // A message that is due is there when the next put begins.
        card.bench().run(QUIET / 10);
    };
    let drain = |driver: &mut Driver<B>, ring: &mut spindle::events::EventRing| {
        std::iter::from_fn(|| driver.poll_event(ring).unwrap()).count()
    };
    driver.arm(&mut ring).unwrap();
    send(driver);
    assert_eq!(card.bench().messages()[VECTOR], 0, "one event is no reason yet");
    let came = card.bench().run_while(TIME + QUIET, |bench| bench.messages()[VECTOR] == 1);
    assert!(came, "the time of a single event passes, and there is no message");
    assert_eq!((drain(driver, &mut ring), irq::take(&eventfd)), (1, 1));

    driver.arm(&mut ring).unwrap();
    let before = driver.cycle().unwrap();
    while card.bench().messages()[VECTOR] == 1 {
        send(driver);
        assert!(driver.cycle().unwrap() - before < LIMIT, "no message");
    }
    let waited = driver.cycle().unwrap() - before;
    assert!(waited < TIME, "the message of {EVENTS} events came after {waited} cycles, which is the limit of time");
    let events = drain(driver, &mut ring);
    assert_eq!((events, irq::take(&eventfd), card.bench().messages()[VECTOR]), (EVENTS, 1, 2));
    // Not armed: none.
    (0..EVENTS).for_each(|_| send(driver));
    card.bench().run(TIME + QUIET);
    assert_eq!(card.bench().messages()[VECTOR], 2);
}

/// A fault of a handler is the card's own interrupt, vector 0.
pub fn faults_interrupt<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>) {
    handler(driver, "faulty/foreign_access", "udp");
    driver.set_receive(true).unwrap();
    driver.set_card_interrupt(true, false).unwrap();
    let eventfd = card.eventfd(0).unwrap();
    for round in 1..=2 {
        card.bench().incoming().push_back(Frame::good(udp(&Ends::default(), 1, 2, &[1; 90])));
        let came = card.bench().run_while(LIMIT, |bench| bench.messages()[0] == round);
        assert!(came, "no message of fault {round}");
        assert!(driver.pop_fault().unwrap().is_some(), "the message comes after its report");
        assert!(driver.pop_fault().unwrap().is_none());
    }
    assert_eq!(irq::take(&eventfd), 2);
}

/// The driver resets the card by its register, at other moments of puts and pings: the card reports that all was quiet, and is
/// as after power-up. Shell, link and wire go on.
pub fn resets_by_the_driver<B: Shell>(card: &ShellCard<B>, driver: &mut Driver<B>, rounds: u64) {
    for round in 0..rounds {
        card.bench().set_loop(true);
        with_mailbox(driver);
        let data = pattern(2000, round as u8);
        assert!(put(card, driver, &data, 9) == data);
        handler(driver, "ping_pong", "udp.dport == 8");
        let from = driver.memory.alloc(20_000, 64).unwrap();
        driver.put(PROCESS, from, 20_000, &target(0)).unwrap();
        card.bench().incoming().extend(pings(8).0.into_iter().map(Frame::good));
        card.clone().write32(SCRATCH, 0x1234_5678).unwrap();
        card.bench().run(200 + 170 * round);
        assert!(driver.reset().unwrap(), "host and wire answer, so the card becomes quiet");
        card.bench().set_loop(false);
        card.bench().run(2 * QUIET);
        card.bench().incoming().clear();
        card.bench().sent().clear();
        let stats = driver.stats().unwrap();
        assert_eq!((stats.frames_out, stats.tasks_done, stats.messages_open), (0, 0, 0), "round {round}");
        assert!(!driver.receives().unwrap(), "reception is off after a reset");
        assert_eq!(card.clone().read32(SCRATCH).unwrap(), 0, "a register of the NIC has its first value");
        set_up(driver).unwrap();
        if let Some(page) = driver.shell().unwrap() {
            assert!(page.macs[0].state.up() && page.link_losses == 0, "the shell goes on: {page:?}");
        }
    }
    answering(driver);
    answers(card, 8, "after the last reset");
}
