//! Tailroom: zeros after a packet, within its region.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, Task};
use crate::hpu_core::cluster::whole::handlers::{handler, issue, random_bytes, PACKET};
use rand::Rng;
use spindle_contract::memory_map::{self as map, command};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::*;

/// Each handler sends its whole region, waits, and fills the region with ones: the next packet of the slot finds none of them.
#[test]
fn a_region_is_the_packet_and_zeros() {
    run_with_wave_on_failure("cluster_tailroom", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        bench.program(
            0,
            &handler(&[
                sw(3, 9, map::CMD_SOURCE as i32),
                lw(7, TP, map::TASK_ROOM as i32),
                sw(7, 9, map::CMD_LENGTH as i32),
                addi(5, 0, command::SEND_PACKET.into()),
                sw(5, 9, map::CMD_ISSUE as i32),
                lw(5, 9, map::CMD_WAIT as i32),
                addi(5, 0, -1),
                add(6, 3, 7),
                op_imm(7, 28, 7, -4),
                add(28, 28, 3),
                sw(5, 3, 0),
                addi(3, 3, 4),
                branch(1, 3, 28, -8),
                sw(5, 6, -4),
                addi(A0, 0, 0),
                RET,
            ]),
        );
        let mut expected = vec![];
        for frame in 0..420u64 {
            // Every length modulo 64, with every small tailroom and some that end with the slot.
            let length = match frame % 3 {
                0 => 64 + frame as usize / 3 % 64,
                1 => [14, 60, 63, 64, 65, 127, 128, 1900, 1984, 1985, 2047, 2048, 3000][rng.random_range(0..13)],
                _ => rng.random_range(14..700),
            };
            let tailroom = [0, 1, 2, 3, rng.random_range(4..10), 31][rng.random_range(0..6)];
            let packet = random_bytes(&mut rng, length);
            let mut region = packet[..length.min(2048)].to_vec();
            region.resize((region.len() + 64 * tailroom as usize).min(2048), 0);
            expected.push(region);
            let context = Context { tailroom, ..Context::default() };
            bench.tasks.push_back(Task {
                fields: vec![("frame", frame), ("context", frame % 2)],
                context,
                packet: Some(packet),
            });
        }
        for (stall, until) in [(0, 200), (40, 320), (80, 420)] {
            bench.stall = stall;
            bench.run_until(until);
        }
        assert!(bench.done.iter().all(|done| done.cause == 0));
        assert_eq!(bench.egress.len(), expected.len());
        for (frame, sent) in &bench.egress {
            let wanted = &expected[usize::from(*frame)];
            let differs = (0..wanted.len()).find(|i| sent.get(*i) != wanted.get(*i));
            assert!(sent == wanted, "frame {frame}: {} bytes of {}, byte {differs:?}", sent.len(), wanted.len());
        }
    });
}

/// Loads, stores and commands reach the end of the region and no further.
#[test]
fn the_region_ends_with_the_tailroom() {
    run_with_wave_on_failure("cluster_tailroom_bounds", |wave| {
        let mut bench = Bench::new(wave);
        let reads = |at: u32| [li(5, PACKET + at).to_vec(), vec![load(LBU, 6, 5, 0)]].concat();
        let word = |at: u32| [li(5, PACKET + at).to_vec(), vec![lw(6, 5, 0)]].concat();
        let writes = |at: u32| [li(5, PACKET + at).to_vec(), vec![store(SB, 6, 5, 0)]].concat();
        let sends = |at: u32, length: u32| issue(PACKET + at, length, 0, command::SEND_PACKET);
        let stores = |at: u32, length: u32| issue(PACKET + at, length, 0, command::DMA_TO_HOST);
        // Bytes of the packet, beats of tailroom, end of the region.
        for (length, tailroom, end) in [
            (100, 0, 100),
            (100, 1, 164),
            (128, 1, 192),
            (129, 2, 257),
            (1000, 31, 2048),
            (2000, 1, 2048),
            (3000, 3, 2048),
        ] {
            let cases = [
                (reads(end - 1), 0),
                (reads(end), map::FAULT_LOAD),
                (word(end - 4), 0),
                (word(end - 3), map::FAULT_LOAD),
                (writes(end - 1), 0),
                (writes(end), map::FAULT_STORE),
                (sends(0, end), 0),
                (sends(0, end + 1), map::FAULT_COMMAND),
                (sends(end - 14, 14), 0),
                (sends(end - 13, 14), map::FAULT_COMMAND),
                (stores(end - 1, 1), 0),
                (stores(end, 1), map::FAULT_COMMAND),
            ];
            for (i, (body, cause)) in cases.into_iter().enumerate() {
                bench.program(0, &handler(&[body, vec![lw(5, 9, map::CMD_WAIT as i32), addi(A0, 0, 0), RET]].concat()));
                bench.tasks.push_back(Task {
                    fields: vec![("frame", 7)],
                    packet: Some(vec![0x55; length]),
                    context: Context { tailroom, ..Context::default() },
                });
                bench.run_until(bench.done.len() + 1);
                let found = bench.done.last().expect("it is done").cause;
                assert_eq!(found, cause, "case {i} of {length} bytes with {tailroom} beats of tailroom");
            }
        }
    });
}
