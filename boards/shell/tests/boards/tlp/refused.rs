//! Requests that are refused or dropped.

use super::bars::{random, read, REGISTERS};
use super::bench::Bench;
use super::link::LinkPace;
use super::packet::Packet;
use super::registers::initial;
use rand::Rng;
use spindle_harness::run_with_wave_on_failure;

#[test]
fn requests_that_are_not_supported_are_refused_and_the_rest_is_dropped() {
    run_with_wave_on_failure("tlp_refused", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.steps(5);
        // DW 0, DWs in all, and whether an answer is due.
        let packets = [
            (0x0100_0001u32, 3, true), // locked read
            (0x2100_0001, 4, true),    // the same, 64-bit
            (0x0200_0001, 3, true),    // I/O read
            (0x4200_0001, 4, true),    // I/O write
            (0x0400_0001, 3, true),    // configuration reads and writes
            (0x4500_0001, 4, true),
            (0x4C00_0001, 4, true), // atomics
            (0x6D00_0002, 6, true),
            (0x4E00_0002, 5, true),
            (0x3000_0000, 4, false), // messages
            (0x7400_0001, 5, false),
            (0x1B00_0000, 3, false),   // deprecated
            (0x8000_0000, 4, false),   // a prefix
            (0x4000_0081, 132, false), // a write of more than 512 bytes
        ];
        for round in 0..40 {
            let (dw0, length, answered) = packets[round % packets.len()];
            let mut dws = vec![dw0, 0x0018_0A0F, 0xF000_0010];
            dws.resize_with(length, || rng.random());
            if length > 3 && dw0 >> 29 & 1 == 1 {
                dws[3] = 0xF000_0010;
            }
            bench.link.send(Packet { dws, bars: REGISTERS, cut: false });
            bench.link.send(read(0x20).packet());
            if answered {
                let completion = bench.completion(500);
                let expected = (1, 0x0018, 0x0A, None, 4);
                let got =
                    (completion.status, completion.requester, completion.tag, completion.data, completion.byte_count);
                assert_eq!(got, expected, "answer to {dw0:x}");
            }
            assert_eq!(bench.completion(500).data, Some(initial(0x20).to_le_bytes().to_vec()), "after {dw0:x}");
        }
        bench.steps(100);
        assert!(bench.completions.is_empty());
        assert!(bench.registers.log.iter().all(|access| *access == (0x20, None)));
    });
}

#[test]
fn malformed_requests_have_no_effect() {
    for batch in 0..3usize {
        run_with_wave_on_failure(&format!("tlp_malformed_{batch}"), |wave| {
            let mut rng = wave.rng();
            let mut bench = Bench::new(wave, LinkPace { rx: 80, tx: 90, straddle: [100, 60, 0][batch] });
            bench.steps(5);
            let mut malformed = 0;
            for _ in 0..600 {
                let is_write = rng.random();
                let mut packet = random(&mut rng, is_write).packet();
                packet.bars = REGISTERS;
                packet.dws[0] &= !0x4000;
                match rng.random_range(0..3) {
                    0 => packet.dws.push(rng.random()),
                    1 if packet.dws.len() > 3 => drop(packet.dws.pop()),
                    _ => {
                        // The packet breaks off; the next one starts at byte 0, or in the middle of a beat.
                        packet.cut = true;
                        packet.dws.truncate(packet.dws.len().min(4 * rng.random_range(1..4usize)));
                    }
                }
                malformed += 1;
                bench.link.send(packet);
                if rng.random() {
                    bench.link.send(read(0x20).packet());
                    assert_eq!(bench.completion(4000).data, Some(initial(0x20).to_le_bytes().to_vec()));
                }
            }
            bench.link.send(read(0x24).packet());
            assert_eq!(bench.completion(4000).data, Some(initial(0x24).to_le_bytes().to_vec()));
            bench.steps(100);
            assert!(bench.completions.is_empty());
            assert!(bench.registers.log.iter().all(|(at, write)| (*at == 0x20 || *at == 0x24) && write.is_none()));
            assert!(bench.events[0] <= malformed && bench.events[0] > malformed / 2, "{}", bench.events[0]);
        });
    }
}
