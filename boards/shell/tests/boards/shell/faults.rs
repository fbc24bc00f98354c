//! What a host and a wire do to a shell when they misbehave: PERST and a stopped clock in traffic, a lost link, addresses beyond
//! the bridge, an underrun, registers that do not exist.

use super::bench::Bench;
use super::card::Shell;
use super::cmac::Frame;
use super::driver::{driver_of, handler, opened, pings, play, Driver, LIMIT};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{Bar, HostMemory, Kind, Target};
use spindle_contract::params::Config;
use spindle_contract::registers::{global, shell, BAR_BITS, MAGIC};
use spindle_contract::wire::status;

/// Handlers that answer, and reception.
fn answering(driver: &mut Driver<Bench>) {
    handler(driver, "icmp_echo", "icmp.type == 8");
    handler(driver, "ping_pong", "udp");
    driver.set_receive(true).unwrap();
}

/// PERST at random moments of traffic in both directions. The MAC's model checks that the transmitter never starves: a frame
/// that was open is ended as bad. Afterwards the card is as after power-up.
#[test]
fn perst_and_a_stopped_clock_in_traffic() {
    let (card, mut driver) = opened(&Config::SIM, 21);
    let mut random = ChaCha8Rng::seed_from_u64(21);
    let mut ended = 0;
    for round in 0..6 {
        answering(&mut driver);
        let (frames, _) = pings(32);
        let mut bench = card.bench();
        bench.cmac.pace = [100, 20][round % 2];
        bench.cmac.incoming.extend(frames.into_iter().map(Frame::good));
        let moved = bench.run_until(LIMIT, |bench| bench.cmac.sent.len() >= 9 && bench.cmac.is_sending());
        assert!(moved, "no frame was sent");
        bench.run(random.random_range(0..10));
        // The clock stops before the reset is seen, or after.
        bench.perst_after([8, 100][round / 2 % 2], 2000);
        bench.xdma.msix = true;
        assert!(bench.run_until(LIMIT, |bench| bench.cmac.is_idle()), "a frame stays open");
        ended += bench.cmac.sent.iter().filter(|frame| frame.bad).count();
        bench.cmac.sent.clear();
        drop(bench);
        driver = driver_of(&card);
        let stats = driver.stats().unwrap();
        assert_eq!((stats.frames_in, stats.frames_out, stats.tasks_done), (0, 0, 0), "round {round}");
    }
    assert!(ended > 0, "PERST never hit a frame that was leaving");
    answering(&mut driver);
    let (frames, mut wanted) = pings(16);
    let mut got = play(&card, &frames, 16);
    got.sort();
    wanted.sort();
    assert!(got == wanted);
}

/// The link goes down without a reset, in the midst of transfers: bursts of before end with an error, and the card goes on.
#[test]
fn the_link_of_pcie_is_lost_and_comes_back() {
    let (card, mut driver) = opened(&Config::SIM, 22);
    card.bench().set_loop(true);
    driver.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
    driver.set_receive(true).unwrap();
    let from = driver.memory.alloc(60_000, 64).unwrap();
    let target = Target { node: 0, process: 3, address: 5, key: 6, offset: 0, kind: Kind::Bound };
    for round in 1..=3u32 {
        let put = driver.put(3, from, 60_000, &target).unwrap();
        card.bench().run(150 * u64::from(round));
        card.bench().xdma.link = false;
        card.bench().run(3000);
        card.bench().xdma.link = true;
        driver.wait_put(&put, LIMIT).unwrap();
        let page = driver.shell().unwrap().unwrap();
        assert_eq!(page.link_losses, round);
        assert!(page.host_abandoned >= round, "{} bursts ended", page.host_abandoned);
        assert!(card.bench().run_until(LIMIT, |bench| bench.xdma.is_idle()), "bursts stay in the bridge");
    }
    assert!(driver.failed_puts().unwrap() > 0);
    let before = driver.failed_puts().unwrap();
    let put = driver.put(3, from, 5000, &target).unwrap();
    driver.wait_put(&put, LIMIT).unwrap();
    assert_eq!(driver.failed_puts().unwrap(), before, "the card reads memory again");
}

/// A buffer beyond 2^48: the bridge never sees the address, the buffer ends with an error, the page counts.
#[test]
fn an_address_beyond_the_bridge_is_refused() {
    let (card, mut driver) = opened(&Config::SIM, 23);
    card.bench().set_loop(true);
    driver.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
    driver.set_receive(true).unwrap();
    let window = driver.init_window(3, 5, 6, 256).unwrap();
    let record = driver.memory.alloc(64, 64).unwrap();
    let posted = driver.post(window, Posted { buffer: 1 << 50, size: 256, record }).unwrap();
    let from = driver.memory.alloc(256, 64).unwrap();
    let target = Target { node: 0, process: 3, address: 5, key: 6, offset: 0, kind: Kind::Bound };
    let put = driver.put(3, from, 256, &target).unwrap();
    driver.wait_put(&put, LIMIT).unwrap();
    let refused = |driver: &mut Driver<Bench>| driver.shell().unwrap().unwrap().host_refused;
    card.bench().run(4000);
    let writes = refused(&mut driver);
    assert!(writes > 0);
    assert!(driver.poll(&posted).unwrap().is_none_or(|completed| completed.status != status::DONE));
    // A read beyond it: the put fails.
    let put = driver.put(3, (1 << 48) - 64, 256, &target).unwrap();
    driver.wait_put(&put, LIMIT).unwrap();
    assert_eq!(driver.failed_puts().unwrap(), 1);
    assert!(refused(&mut driver) > writes);
    assert!(card.bench().xdma.reached.1 >> 48 == 0);
}

/// An underrun that the MAC reports ends with one reset of the transmitter, is counted, and frames leave again.
#[test]
fn an_underrun_resets_the_transmitter() {
    let (card, mut driver) = opened(&Config::SIM, 24);
    answering(&mut driver);
    let restarts = card.bench().cmac.restarts;
    for round in 1..=3u32 {
        card.bench().cmac.fails = true;
        card.bench().run(500);
        assert_eq!(card.bench().cmac.restarts, restarts + u64::from(round));
        assert_eq!(driver.shell().unwrap().unwrap().macs[0].tx_failed, round);
        let (frames, mut wanted) = pings(8);
        let mut got = play(&card, &frames, 8);
        got.sort();
        wanted.sort();
        assert!(got == wanted, "round {round}");
    }
}

/// Frames that the MAC marks are counted, and no handler sees them.
#[test]
fn bad_frames_are_counted() {
    let (card, mut driver) = opened(&Config::SIM, 25);
    answering(&mut driver);
    let (frames, _) = pings(12);
    let bad = frames.iter().cloned().map(|bytes| Frame { bad: true, ..Frame::good(bytes) });
    card.bench().cmac.incoming.extend(bad);
    let (frames, _) = pings(4);
    play(&card, &frames, 4);
    let stats = driver.stats().unwrap();
    assert_eq!((stats.frames_out, stats.tasks_faulted), (4, 0));
    assert_eq!(driver.shell().unwrap().unwrap().macs[0].rx_bad, 12);
}

/// Every access of the host is answered: pages of the NIC, the shell's page, what does not exist, and what is beyond the BAR.
#[test]
fn every_access_is_answered() {
    let (mut card, _driver) = opened(&Config::SIM, 26);
    let mut random = ChaCha8Rng::seed_from_u64(26);
    for _ in 0..400 {
        let address = random.random_range(0..1u64 << (BAR_BITS + 2)) & !3;
        let read = card.bench().read(address);
        let (response, word) = read.unwrap_or_else(|| panic!("a read of {address:#x} has no answer"));
        assert!(response == 0 || word == u32::MAX, "an error reads all ones");
        assert!(address >> BAR_BITS == 0 || response != 0, "{address:#x} is beyond the BAR");
    }
    // Writes where they do no harm: registers that are read only, and nothing at all.
    for address in [0, shell::BASE, shell::BASE + 0xFF0, global::BASE + global::SHELL, 1 << BAR_BITS, 0xFFF00] {
        assert!(card.bench().write(address.into(), 0x5A5A_5A5A).is_some(), "a write of {address:#x} has no answer");
    }
    assert_eq!(card.read32(global::BASE + global::MAGIC).unwrap(), MAGIC);
    assert_eq!(card.read32(global::BASE + global::SHELL).unwrap(), shell::BASE);
    assert_eq!(card.read32(shell::BASE + shell::BAR_SILENT).unwrap(), 0);
}
