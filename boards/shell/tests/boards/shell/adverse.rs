//! What a host and a wire do to any shell in the midst of traffic: PERST, a clock that stops, a link of PCIe that is lost, a
//! cable that is pulled. The cases are the same for all shells; what only one kind has is in [`faults`](super::faults).

use super::driver::{answering, answers, driver_of, pattern, pings, put, with_mailbox, KEY, LIMIT, PROCESS};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::{HostMemory, Kind, Target};
use spindle_contract::reasons::RX_DISABLED;
use spindle_model::frames::{udp, Ends};
use spindle_shell_bench::shell::{Driver, Frame, Shell, ShellCard};

/// A host and a wire that misbehave.
pub trait Adverse: Shell {
    /// PERST for so many nanoseconds. The core's clock runs on for the first `grace` of them, and stands still for the rest.
    /// Then clock, reset and link come back, without interrupts.
    fn perst_after(&mut self, grace: u64, nanoseconds: u64);
    /// The link of PCIe goes down, or comes back, without a reset; the host sets the card up again as far as it has to.
    fn set_link(&mut self, up: bool);
    /// Nothing of the card is under way at the host.
    fn host_is_idle(&self) -> bool;
    /// The cable is put in, or pulled.
    fn set_cable(&mut self, there: bool);
    /// The MAC receives.
    fn wire_is_up(&self) -> bool;
    /// A frame is leaving.
    fn is_sending(&self) -> bool;
    /// No frame is under way in either direction.
    fn wire_is_idle(&self) -> bool;
    /// Whether the wire is in a hurry: where it can be slowed down, it takes one beat in five else.
    fn set_hurry(&mut self, _hurry: bool) {}
}

/// Rounds of PERST: at least the first number, and up to the second one until PERST has hit a frame that was leaving.
const ROUNDS: (usize, usize) = (6, 30);

/// PERST at random moments of traffic in both directions, with a clock that stops before the reset is seen, or after. A frame
/// that was open is ended as bad: the models of the wire see to that. Afterwards the card is as after power-up.
pub fn perst_in_traffic<B: Adverse>(card: &ShellCard<B>, mut driver: Driver<B>, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut ended = 0;
    for round in 0..ROUNDS.1 {
        if round >= ROUNDS.0 && ended > 0 {
            break;
        }
        answering(&mut driver);
        let (frames, _) = pings(32);
        let mut bench = card.bench();
        bench.set_hurry(round % 2 == 0);
        bench.incoming().extend(frames.into_iter().map(Frame::good));
        // The traffic of all rounds is the same, so the frame that is hit is, too, unless the number differs.
        let least = if round < ROUNDS.0 { 9 } else { random.random_range(1..24) };
        let moved = bench.run_while(LIMIT, |bench| bench.sent().len() >= least && bench.is_sending());
        assert!(moved, "no frame was sent");
        bench.run(random.random_range(0..10));
        bench.perst_after([8, 100][round / 2 % 2], 2000);
        bench.enable_messages();
        assert!(bench.run_while(LIMIT, |bench| bench.wire_is_idle()), "a frame stays open");
        ended += bench.sent().drain(..).filter(|frame| frame.bad).count();
        drop(bench);
        driver = driver_of(card);
        let stats = driver.stats().unwrap();
        // The rest of the frames, on a slow wire, comes to a card that does not receive.
        let refused = stats.drops[RX_DISABLED];
        assert_eq!((stats.frames_in, stats.frames_out, stats.tasks_done), (refused, 0, 0), "round {round}");
    }
    assert!(ended > 0, "PERST never hit a frame that was leaving");
    answering(&mut driver);
    answers(card, 16, "after PERST");
}

/// The link goes down without a reset, in the midst of transfers: what was under way ends with an error, and the card goes on.
/// `holds` checks the page after each round.
pub fn link_lost<B: Adverse>(
    card: &ShellCard<B>,
    driver: &mut Driver<B>,
    target: &Target,
    holds: impl Fn(&spindle::shell::Shell, u32),
) {
    card.bench().set_loop(true);
    with_mailbox(driver);
    let from = driver.memory.alloc(60_000, 64).unwrap();
    for round in 1..=3u32 {
        let put = driver.put(PROCESS, from, 60_000, target).unwrap();
        card.bench().run(150 * u64::from(round));
        assert!(!card.bench().host_is_idle(), "nothing was under way when the link was lost");
        card.bench().set_link(false);
        card.bench().run(3000);
        card.bench().set_link(true);
        driver.wait_put(&put, LIMIT).unwrap();
        let page = driver.shell().unwrap().unwrap();
        assert_eq!(page.link_losses, round);
        holds(&page, round);
        assert!(card.bench().run_while(LIMIT, |bench| bench.host_is_idle()), "bursts stay at the host");
    }
    let before = driver.failed_puts().unwrap();
    assert!(before > 0, "puts whose memory could not be read have failed");
    let put = driver.put(PROCESS, from, 5000, target).unwrap();
    driver.wait_put(&put, LIMIT).unwrap();
    assert_eq!(driver.failed_puts().unwrap(), before, "the card reads memory again");
}

/// A cable that is pulled in the midst of a put, three times, and put back: frames go nowhere, nothing waits for them, and the
/// next put arrives. `pulls` does more to the bench before each time, `down` looks at it meanwhile.
pub fn cable_pulled<B: Adverse>(
    card: &ShellCard<B>,
    driver: &mut Driver<B>,
    pulls: impl Fn(&mut B, u32),
    down: impl Fn(&B),
) {
    card.bench().set_loop(true);
    with_mailbox(driver);
    let data = |length, round: u32| pattern(length, round as u8);
    assert!(put(card, driver, &data(2000, 0), 4) == data(2000, 0));
    let mac = |driver: &mut Driver<B>| driver.shell().unwrap().unwrap().macs[0];
    for round in 1..=3u32 {
        let from = driver.memory.alloc(30_000, 64).unwrap();
        let target = Target { node: 0, process: PROCESS as u16, address: 1, key: KEY, offset: 0, kind: Kind::Bound };
        let cut = driver.put(PROCESS, from, 30_000, &target).unwrap();
        card.bench().run(200 * u64::from(round));
        let sending = card.bench().run_while(LIMIT, |bench| bench.is_sending());
        assert!(sending, "no frame was under way when the cable was pulled");
        pulls(&mut card.bench(), round);
        card.bench().set_cable(false);
        driver.wait_put(&cut, LIMIT).unwrap();
        card.bench().run(3000);
        let seen = mac(driver);
        assert!(!seen.state.up() && !seen.state.aligned() && seen.state.local_fault(), "{seen:?}");
        assert_eq!(seen.losses, round);
        down(&card.bench());
        card.bench().set_cable(true);
        assert!(card.bench().run_while(LIMIT, |bench| bench.wire_is_up()), "the link does not come back");
        card.bench().run(2000);
        assert!(mac(driver).state.up());
        // After a frame without an end the next one may be taken for its rest.
        card.bench().incoming().push_back(Frame::good(udp(&Ends::default(), 1, 1, &[0; 64])));
        assert!(put(card, driver, &data(2500, round), 4) == data(2500, round));
    }
}
