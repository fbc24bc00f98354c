//! Doorbell pages and the register page.

use crate::rvma::bench::Bench;
use crate::rvma::host_side::Twin;
use crate::rvma::traffic::message;
use rand::Rng;
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, rvma, PAGE};
use spindle_harness::run_with_wave_on_failure;

#[test]
fn every_error_is_said() {
    run_with_wave_on_failure("rvma_doorbell_errors", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 1));
        use doorbell_error::{BAD_ARGUMENT, EXISTS, NO_MAILBOX, UNSUPPORTED};
        assert_eq!(bench.init_window(0, 5, 1, 0, 0), Err(BAD_ARGUMENT));
        for mode in [5, 6, 64, 128, 0x8000_0000] {
            assert_eq!(bench.init_window(0, 5, 1, 10, mode), Err(UNSUPPORTED), "mode {mode}");
        }
        let mine = bench.init_window(0, 5, 1, 10, 8).unwrap();
        assert_eq!(bench.init_window(0, 5, 2, 20, 0), Err(EXISTS));
        let other = bench.init_window(1, 5, 1, 10, 0).unwrap();
        assert_ne!(mine, other);

        assert_eq!(bench.post_buffer(0, mine, 0x1000, 0, 0x20), Err(BAD_ARGUMENT));
        assert_eq!(bench.post_buffer(0, mine, 0x1000, 10, 0x28), Err(BAD_ARGUMENT));
        assert_eq!(bench.post_buffer(0, mine, 0x1000, 9, 0x20), Err(BAD_ARGUMENT), "smaller than the threshold");
        assert_eq!(bench.post_buffer(0, other, 0x1000, 10, 0x20), Err(NO_MAILBOX), "another process's");
        assert_eq!(bench.post_buffer(0, mine ^ 1, 0x1000, 10, 0x20), Err(NO_MAILBOX), "not open");
        assert_eq!(bench.post_buffer(0, mine + 0x1_0000, 0x1000, 10, 0x20), Err(NO_MAILBOX), "above the table");
        assert_eq!(bench.post_buffer(0, 1024, 0x1000, 10, 0x20), Err(NO_MAILBOX), "one above the table");
        assert_eq!(bench.post_buffer(0, mine, 0x1000, 10, 0x20), Ok(()));
        for command in [0, 8, 13, 14, 15].into_iter().chain([0x101, 0x8000_0002]) {
            assert_eq!(bench.ring(0, command), (UNSUPPORTED, 0), "command {command}");
        }
        assert_eq!((bench.counter(rvma::MAILBOXES), bench.counter(rvma::BUFFERS)), (2, 1));
    });
}

/// The table takes mailboxes until a set is full, refuses then, and forgets none; after a reset it is empty.
#[test]
fn a_full_table_refuses_and_forgets_nothing() {
    run_with_wave_on_failure("rvma_table_full", |context| {
        let config = Config { mailboxes: 64, ..Config::SIM };
        let mut rng = context.rng();
        let mut bench = Bench::new(context, &config, (1, 1));
        let mut open: Vec<(u16, u64, u32)> = vec![];
        let mut full = 0;
        while full < 40 {
            let (pid, addr) =
                (rng.random_range(0..16), if rng.random() { rng.random() } else { rng.random_range(0..8u64) * 4096 });
            let known = open.iter().any(|o| (o.0, o.1) == (pid, addr));
            match bench.init_window(pid, addr, 1, 1, 0) {
                Ok(number) => {
                    assert!(
                        !known && number < 64 && open.iter().all(|o| o.2 != number),
                        "mailbox {number} was given out twice"
                    );
                    open.push((pid, addr, number));
                }
                Err(doorbell_error::EXISTS) => assert!(known),
                Err(doorbell_error::TABLE_FULL) => {
                    assert!(!known);
                    full += 1;
                }
                Err(other) => panic!("error {other}"),
            }
        }
        assert!(open.len() >= 40, "only {} of 64 mailboxes could be opened before the 40th refusal", open.len());
        for (pid, addr, number) in &open {
            assert_eq!(bench.init_window(*pid, *addr, 1, 1, 0), Err(doorbell_error::EXISTS));
            assert_eq!(bench.post_buffer(*pid, *number, 0x1000, 4, 0x20), Ok(()));
        }
        bench.model.reset(2);
        bench.trust(u64::MAX);
        let (pid, addr, number) = open[0];
        assert_eq!(bench.post_buffer(pid, number, 0x1000, 4, 0x20), Err(doorbell_error::NO_MAILBOX));
        assert!(bench.init_window(pid, addr, 1, 1, 0).is_ok());
    });
}

/// Addresses of one set: its four places, then the four of the stash, whose mailboxes are found like all others; then TABLE_FULL. What is closed
/// makes room again.
#[test]
fn colliding_addresses_go_to_the_stash() {
    run_with_wave_on_failure("rvma_stash", |context| {
        let config = Config { mailboxes: 64, ..Config::SIM };
        let mut twin = Twin::new(Bench::new(context, &config, (1, 20)));
        twin.bench.host.keep_log = true;
        // Both halves of 20 bits fold onto each other.
        let address = |x: u64| x << 10 | x;
        for x in 0..8 {
            twin.open(1, address(x), 5, 1 << 20);
            twin.post(1, address(x), x << 20, 1 << 20, (1 << 32) + 16 * x);
        }
        assert!((0..8).all(|x| (twin.numbers[&(1, address(x))] >= 60) == (x >= 4)), "{:?}", twin.numbers);
        assert_eq!(twin.bench.init_window(1, address(8), 5, 1, 0), Err(doorbell_error::TABLE_FULL));
        for x in 0..8 {
            assert_eq!(twin.bench.init_window(1, address(x), 5, 1, 0), Err(doorbell_error::EXISTS));
        }
        // Another set, and the same addresses of another process, know nothing of it.
        twin.open(1, 1, 5, 10);
        twin.open(2, address(5), 5, 10);
        let mut id = 0;
        let mut traffic = |twin: &mut Twin| {
            for x in (0..9).rev().chain(0..9) {
                id += 1;
                let mut rng = context.rng();
                for put in message(&mut rng, 1, address(x), 5, id, 100, 200 * id, 60, id as u8) {
                    twin.put(&put, 90);
                }
            }
            twin.bench.drain();
        };
        traffic(&mut twin);
        for x in [5, 2] {
            twin.close(1, address(x)).unwrap();
        }
        traffic(&mut twin);
        // The set's place first.
        twin.open(1, address(8), 5, 1 << 20);
        twin.open(1, address(9), 5, 1 << 20);
        assert_eq!((twin.numbers[&(1, address(8))] & 63 < 60, twin.numbers[&(1, address(9))] & 63), (true, 61));
        assert_eq!(twin.bench.init_window(1, address(5), 5, 1, 0), Err(doorbell_error::TABLE_FULL));
        traffic(&mut twin);
        twin.finish();
    });
}

#[test]
fn registers_answer() {
    run_with_wave_on_failure("rvma_registers", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 1));
        let page = |pid: u32| doorbell::BASE + pid * PAGE;
        // Staged registers of all processes are apart from each other.
        let staged: Vec<u32> = (0..doorbell::VALUE_LENGTH)
            .step_by(4)
            .filter(|o| ![doorbell::COMMAND, doorbell::RESULT, doorbell::VALUE_LO, doorbell::VALUE_HI].contains(o))
            .collect();
        for pid in 0..16 {
            for offset in &staged {
                assert_eq!(bench.csr(true, page(pid) + offset, pid << 16 | offset), (0, false));
            }
        }
        for pid in 0..16 {
            for offset in &staged {
                assert_eq!(bench.csr(false, page(pid) + offset, 0), (pid << 16 | offset, false));
            }
        }
        for offset in
            [doorbell::RESULT, doorbell::VALUE_LO, doorbell::VALUE_HI, doorbell::VALUE_LENGTH, doorbell::RING_DONE]
        {
            assert_eq!(bench.csr(true, page(3) + offset, 0xFFFF_FFFF), (0, false));
            assert_eq!(bench.csr(false, page(3) + offset, 0), (0, false), "offset {offset:#x} cannot be written");
        }
        assert_eq!(bench.csr(false, page(3) + doorbell::COMMAND, 0), (0, false));
        // What does not exist is an error, not a hang.
        for address in [
            page(16),
            page(0) + 0x6C,
            page(0) + 0xFFC,
            page(5) + 0x80,
            page(239) + 4,
            rvma::BASE + 4,
            rvma::BASE + 0x13C,
            rvma::BASE + 0xFFC,
        ] {
            assert_eq!(bench.csr(false, address, 0), (0, true), "address {address:#x}");
            assert_eq!(bench.csr(true, address, 1), (0, true), "address {address:#x}");
        }
        // A result is busy from the command's answer on, for its own process only.
        bench.csr(true, page(2) + doorbell::COMMAND, doorbell_command::CLOSE);
        assert_eq!(bench.csr(false, page(2) + doorbell::RESULT, 0).0 >> 31, 1);
        assert_eq!(bench.csr(false, page(1) + doorbell::RESULT, 0).0, 0);
    });
}
