//! The places of frames alone, against counts of each process: all rings, any pointers, any order.

use rand::Rng;
use rvma_lut::completion::frame_places::{FramePlaces, RingState};
use spindle_harness::{run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;

const PROCESSES: u64 = 64;
/// Records of a ring that are not reserved.
const MARGIN: u32 = 8;

/// What is known of a process: its ring, what the host has read, and reserved places modulo 256.
#[derive(Clone, Copy, Default)]
struct Process {
    ring: RingState,
    head: u16,
    taken: u8,
    given: u8,
}

impl Process {
    fn room(&self) -> bool {
        let unread = (self.ring.tail.to_u64() as u16).wrapping_sub(self.head);
        // Pointers that the host makes up may wrap: no sum is larger than 16 bits.
        let used = unread.wrapping_add(self.taken.wrapping_sub(self.given).into()).wrapping_add(MARGIN as u16);
        self.ring.open && used <= self.ring.last.to_u64() as u16
    }
}

#[test]
fn room_is_that_of_the_ring() {
    run_with_wave_on_failure("frame_places_room", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, FramePlaces::new(), "frame_places");
        let mut counts = [0; 2];
        for _ in 0..3 {
            let mut processes = [Process::default(); PROCESSES as usize];
            dut.take.set(false);
            dut.given.set(false);
            dut.ring.valid.set(false);
            dut.head.valid.set(false);
            dut.reset();
            // A reset empties the counts and closes the rings.
            for _ in 0..PROCESSES {
                dut.pid.set(bits(rng.random_range(0..PROCESSES)));
                dut.reader.set(bits(rng.random_range(0..PROCESSES)));
                dut.eval();
                dut.tick();
            }
            for pid in 0..PROCESSES {
                // The pointers are written when a ring is opened.
                dut.head.valid.set(true);
                dut.head.pid.set(bits(pid));
                processes[pid as usize].head = rng.random();
                dut.head.payload.set(bits(u64::from(processes[pid as usize].head)));
                dut.tick();
            }
            // Processes of the last two cycles, and the verdict on the older one.
            let (mut pids, mut verdicts) = ([PROCESSES; 2], [false; 2]);
            let mut pid = 0;
            for cycle in 0..share(20_000) {
                if rng.random_range(0..4) == 0 {
                    pid = rng.random_range(0..PROCESSES);
                }
                let reader = if rng.random() { pid } else { rng.random_range(0..PROCESSES) };
                let take = rng.random_bool(0.4);
                let given = rng.random_bool(0.4);
                let process = processes[reader as usize];
                let ring = rng.random_bool(0.3).then(|| {
                    // Most rings are nearly full, or have as many records as are unread and reserved, and the margin.
                    let unread = (process.ring.tail.to_u64() as u16).wrapping_sub(process.head);
                    let owed = u16::from(process.taken.wrapping_sub(process.given));
                    let last = match rng.random_range(0..3) {
                        0 => rng.random(),
                        1 => unread.wrapping_add(owed).wrapping_add(rng.random_range(5..12)),
                        _ => (1u16 << rng.random_range(0..=15)) - 1,
                    };
                    let tail = match rng.random_range(0..3) {
                        0 => rng.random(),
                        1 => process.ring.tail.to_u64() as u16,
                        _ => process.head.wrapping_add(last).wrapping_sub(owed + rng.random_range(5..12)),
                    };
                    let open = rng.random_range(0..8) != 0;
                    RingState { open, last: bits(u64::from(last & 0x7FFF)), tail: bits(u64::from(tail)) }
                });
                let head = rng.random_bool(0.2).then(|| {
                    let of = if rng.random() { pid } else { rng.random_range(0..PROCESSES) };
                    let tail = processes[of as usize].ring.tail.to_u64() as u16;
                    (of, if rng.random() { rng.random() } else { tail.wrapping_sub(rng.random_range(0..300)) })
                });
                dut.pid.set(bits(pid));
                dut.reader.set(bits(reader));
                dut.take.set(take);
                dut.given.set(given);
                dut.ring.valid.set(ring.is_some());
                dut.ring.payload.set(ring.unwrap_or(RingState { open: true, last: bits(0x7FFFu64), tail: bits(5u64) }));
                dut.head.valid.set(head.is_some());
                let (head_pid, value) = head.unwrap_or((reader, 77));
                dut.head.pid.set(bits(head_pid));
                dut.head.payload.set(bits(u64::from(value)));
                dut.eval();

                let owed = process.taken.wrapping_sub(process.given);
                assert_eq!(dut.owed.get().to_u64(), u64::from(owed), "cycle {cycle}: process {reader}");
                // What the process had two cycles before, if it was the first one since.
                let expected = verdicts[0] && pids[0] == pids[1];
                assert_eq!(dut.room.is_high(), expected, "cycle {cycle}: process {}", pids[0]);
                if pids == [pid; 2] {
                    counts[usize::from(expected)] += 1;
                }
                pids = [pids[1], pid];
                verdicts = [verdicts[1], processes[pid as usize].room()];
                processes[pid as usize].taken = processes[pid as usize].taken.wrapping_add(take.into());
                processes[reader as usize].given = processes[reader as usize].given.wrapping_add(given.into());
                if let Some(ring) = ring {
                    processes[reader as usize].ring = ring;
                }
                if let Some((of, value)) = head {
                    processes[of as usize].head = value;
                }
                dut.tick();
            }
        }
        assert!(counts.iter().all(|count| *count > 500), "{counts:?} cycles without room, with room");
    });
}
