//! What a host and a wire do to the shell of an Alveo card when they misbehave: the cases of all shells, and addresses beyond the
//! bridge, an underrun, bad frames, registers that do not exist.

use super::adverse::{cable_pulled, link_lost, perst_in_traffic, Adverse};
use super::driver::{answering, answers, opened, pings, play, put, LIMIT};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle::rule_table::Action;
use spindle::rvma::Posted;
use spindle::{Bar, HostMemory, Kind, Target};
use spindle_contract::params::Config;
use spindle_contract::registers::{global, shell, BAR_BITS, MAGIC};
use spindle_contract::wire::status;
use spindle_shell_bench::shell::{Bench, Driver, Frame, Shell};

impl Adverse for Bench {
    fn perst_after(&mut self, grace: u64, nanoseconds: u64) {
        Bench::perst_after(self, grace, nanoseconds);
    }

    fn set_link(&mut self, up: bool) {
        self.xdma.link = up;
    }

    fn host_is_idle(&self) -> bool {
        self.xdma.is_idle()
    }

    fn set_cable(&mut self, there: bool) {
        self.cmac.cable = there;
    }

    fn wire_is_up(&self) -> bool {
        self.cmac.is_aligned()
    }

    fn is_sending(&self) -> bool {
        self.cmac.is_sending()
    }

    fn wire_is_idle(&self) -> bool {
        self.cmac.is_idle()
    }

    fn set_hurry(&mut self, hurry: bool) {
        self.cmac.pace = if hurry { 100 } else { 20 };
    }
}

#[test]
fn perst_and_a_stopped_clock_in_traffic() {
    let (card, driver) = opened(&Config::SIM, 21);
    perst_in_traffic(&card, driver, 21);
    assert_eq!(card.bench().cmac.restarts, 1, "the one of power-up: the transmitter never starves");
}

#[test]
fn the_link_of_pcie_is_lost_and_comes_back() {
    let (card, mut driver) = opened(&Config::SIM, 22);
    let target = Target { node: 0, process: 3, address: 5, key: 6, offset: 0, kind: Kind::Bound };
    link_lost(&card, &mut driver, &target, |page, round| {
        assert!(page.host_abandoned >= round, "{} bursts ended", page.host_abandoned);
    });
}

#[test]
fn a_cable_is_pulled_and_put_back() {
    let (card, mut driver) = opened(&Config::SIM, 7);
    // A frame that is cut gets an end, or none.
    let pulls = |bench: &mut Bench, round| bench.cmac.ends_frames = round != 2;
    cable_pulled(&card, &mut driver, pulls, |bench| assert_eq!(bench.led() & 3, 1, "the LED of the wire is out"));
    // The other end has a fault: we receive, and do not send.
    let mac = |driver: &mut Driver<Bench>| driver.shell().unwrap().unwrap().macs[0];
    card.bench().cmac.remote_fault = true;
    card.bench().run(200);
    let state = mac(&mut driver);
    assert!(!state.state.up() && state.state.aligned() && state.state.remote_fault());
    card.bench().cmac.remote_fault = false;
    card.bench().run(200);
    let data = [9; 100];
    assert!(put(&card, &mut driver, &data, 4) == data);
    assert_eq!(mac(&mut driver).losses, 4);
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
        answers(&card, 8, "after an underrun");
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
