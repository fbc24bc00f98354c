//! Doorbell pages and the register page.

use crate::rvma_lut::rvma_engine::bench::Bench;
use crate::rvma_lut::rvma_engine::host_side::Twin;
use crate::rvma_lut::rvma_engine::traffic::message;
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
        for mode in [5, 7, 38, 70, 64, 128, 0x8000_0000] {
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
        for command in [0, 16, 31].into_iter().chain([0x101, 0x8000_0002]) {
            assert_eq!(bench.ring(0, command), (UNSUPPORTED, 0), "command {command}");
        }
        assert_eq!((bench.counter(rvma::MAILBOXES), bench.counter(rvma::BUFFERS)), (2, 1));
    });
}

/// The table takes mailboxes until nine tenths are open at least, refuses at some time after that, and forgets none; after
/// a reset it is empty.
#[test]
fn a_full_table_refuses_and_forgets_nothing() {
    run_with_wave_on_failure("rvma_table_full", |context| {
        let config = Config { mailboxes: 64, ..Config::SIM };
        let mut rng = context.rng();
        let mut bench = Bench::new(context, &config, (1, 1));
        let mut open: Vec<(u16, u64, u32)> = vec![];
        let (mut full, mut first) = (0, 64);
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
                    first = first.min(open.len());
                    full += 1;
                }
                Err(other) => panic!("error {other}"),
            }
        }
        assert!(first >= 58, "only {first} of 64 mailboxes could be opened before the first refusal");
        assert!(open.len() <= 64);
        for (pid, addr, number) in &open {
            assert_eq!(bench.init_window(*pid, *addr, 1, 1, 0), Err(doorbell_error::EXISTS));
            assert_eq!(bench.post_buffer(*pid, *number, 0x1000, 4, 0x20), Ok(()));
        }
        bench.dut.reset();
        bench.trust(u64::MAX);
        let (pid, addr, number) = open[0];
        assert_eq!(bench.post_buffer(pid, number, 0x1000, 4, 0x20), Err(doorbell_error::NO_MAILBOX));
        assert!(bench.init_window(pid, addr, 1, 1, 0).is_ok());
    });
}

/// Nine tenths of a table are opened while packets run, to mailboxes that are open and to some that are not: each finds what
/// is there. What is closed makes room again.
#[test]
fn a_table_fills_while_packets_run() {
    run_with_wave_on_failure("rvma_table_traffic", |context| {
        let config = Config { mailboxes: 64, ..Config::SIM };
        let mut twin = Twin::new(Bench::new(context, &config, (1, 20)));
        twin.bench.host.keep_log = true;
        let mut rng = context.rng();
        let mut keys: Vec<(u16, u64)> = vec![];
        let mut id = 0;
        let mut open = |twin: &mut Twin, keys: &mut Vec<(u16, u64)>| {
            let (pid, addr) = (rng.random_range(0..16), rng.random());
            keys.push((pid, addr));
            twin.open(pid, addr, 5, 1 << 20);
            let number = u64::from(id) << 21;
            twin.post(pid, addr, number, 1 << 20, (1 << 50) + number);
            // These are under way while the next mailbox is opened.
            for _ in 0..12 {
                id += 1;
                let (pid, addr) = keys[rng.random_range(0..keys.len())];
                let addr = addr ^ u64::from(rng.random_ratio(1, 8));
                for put in message(&mut rng, pid, addr, 5, id, 100, 200 * id, 60, id as u8) {
                    twin.put(&put, 90);
                }
            }
        };
        for _ in 0..58 {
            open(&mut twin, &mut keys);
        }
        twin.bench.drain();
        for (pid, addr) in keys.drain(20..30) {
            twin.close(pid, addr).unwrap();
        }
        for _ in 0..10 {
            open(&mut twin, &mut keys);
        }
        twin.bench.drain();
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
            page(0) + 0x74,
            page(0) + 0xFFC,
            page(5) + 0x80,
            page(239) + 4,
            rvma::BASE + 4,
            rvma::BASE + 0xFC,
            rvma::BASE + rvma::HOST_FRAMES_READ + 4,
            rvma::BASE + 0x17C,
            rvma::BASE + 0x180,
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
