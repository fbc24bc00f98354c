//! The frame sends alone, against queues: any frame, in and out in every cycle, a reader and event rings that wait.

use rand::Rng;
use rvma_lut::host_access::frame_sends::{FrameSend, FrameSends, SENDING};
use rvma_lut::host_access::frame_sums::FrameChecksum;
use spindle_blocks::desc::{CommandIssuer, EventDesc, HostRead};
use spindle_contract::descriptors::{client, put_op};
use spindle_contract::events::SENT;
use spindle_harness::{random_bits, random_value, run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

/// The read of a frame; without a checksum, where the checksum would be has no meaning.
fn read_of(send: &FrameSend) -> HostRead {
    let FrameChecksum { wanted, start, field } = send.checksum;
    HostRead {
        client: bits(client::INITIATOR as u64),
        issuer: CommandIssuer { cluster: bits(7u64), hpu: bits(7u64), handle: bits(u64::from(put_op::FRAME_HANDLE)) },
        context: bits(u64::from(wanted)),
        frame: bits(if wanted { start.to_u64() | field.to_u64() << 8 } else { 0 }),
        address: send.address,
        length: bits(send.length.to_u64()),
        offset: bits(0u64),
    }
}

fn event_of(send: &FrameSend, error: bool) -> EventDesc {
    EventDesc {
        pid: send.pid,
        kind: bits(u64::from(SENT)),
        code: bits(u64::from(error)),
        id: bits(send.number.to_u64()),
        source: bits(send.cookie.to_u64()),
        ..EventDesc::default()
    }
}

#[test]
fn random_frames_are_the_models() {
    run_with_wave_on_failure("frame_sends_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, FrameSends::default(), "frame_sends");
        let (mut reported, mut silent, mut errors, mut held, mut unreported) = (0, 0, 0, 0, 0);
        for _ in 0..4 {
            dut.send.valid.set(false);
            dut.taken.set(false);
            dut.reset();
            // The read that is offered; frames without an end; ends without an event; the event that is offered.
            let mut read: Option<HostRead> = None;
            let mut sending: VecDeque<FrameSend> = VecDeque::new();
            let mut ends: VecDeque<bool> = VecDeque::new();
            let mut event: Option<EventDesc> = None;
            // Frames that the initiator has, and has not read.
            let mut requested = 0;
            let mut send: Option<FrameSend> = None;
            for cycle in 0..share(20_000) as u64 {
                // Phases of full speed, with a slow reader, with slow event rings, with few frames, and of any speed.
                let (sends, takes, reads, rings) = match cycle / 300 % 5 {
                    0 => (1.0, 1.0, 1.0, 1.0),
                    1 => (0.9, 0.9, 0.02, 0.9),
                    2 => (0.9, 0.9, 0.9, 0.02),
                    3 => (0.1, 0.9, 0.9, 0.9),
                    _ => (0.7, 0.5, 0.4, 0.5),
                };
                if send.is_none() && rng.random_bool(sends) {
                    let any = if rng.random() { random_bits(&mut rng) } else { random_value(&mut rng) };
                    send = Some(FrameSend { wants_event: rng.random_range(0..4) != 0, ..any });
                }
                dut.send.offer(send);
                let takes = rng.random_bool(takes);
                dut.frame.ready.set(takes);
                let taken = requested > 0 && rng.random_bool(reads);
                let error = rng.random_range(0..4) == 0;
                dut.taken.set(taken);
                dut.taken_error.set(error);
                let rings = rng.random_bool(rings);
                dut.report.ready.set(rings);
                dut.eval();

                let room = (read.is_none() || takes) && sending.len() < SENDING;
                assert_eq!(dut.send.ready.is_high(), room, "cycle {cycle}: {} frames without an end", sending.len());
                let mut found = dut.frame.offered();
                if let Some(found) = found.as_mut().filter(|read| !read.context.any()) {
                    found.frame = bits(0u64);
                }
                assert_eq!(found, read, "cycle {cycle}");
                assert_eq!(dut.report.offered(), event, "cycle {cycle}");

                held += usize::from(send.is_some() && sending.len() == SENDING);
                unreported = unreported.max(ends.len());
                if read.is_some() && takes {
                    read = None;
                    requested += 1;
                }
                if event.is_some() && rings {
                    event = None;
                    reported += 1;
                }
                // The oldest frame leaves when its end is known, and its event has a place.
                let leaves = match (sending.front(), ends.front()) {
                    (Some(frame), Some(error)) if !frame.wants_event || event.is_none() => Some((*frame, *error)),
                    _ => None,
                };
                if let Some((frame, error)) = leaves {
                    sending.pop_front();
                    ends.pop_front();
                    if frame.wants_event {
                        event = Some(event_of(&frame, error));
                    } else {
                        silent += 1;
                    }
                }
                if taken {
                    ends.push_back(error);
                    requested -= 1;
                    errors += usize::from(error);
                }
                if room {
                    if let Some(send) = send.take() {
                        read = Some(read_of(&send));
                        sending.push_back(send);
                    }
                }
                dut.tick();
            }
        }
        let seen = [reported, silent, errors, held];
        assert!(seen.iter().all(|count| *count > 200), "{seen:?} events, frames without, errors, cycles without room");
        assert!(unreported >= SENDING - 1, "{unreported} ends without an event");
    });
}

/// A frame is handed on after a cycle, and its event comes two cycles after its last beat; frames leave one per cycle.
#[test]
fn cycles_of_a_frame() {
    run_with_wave_on_failure("frame_sends_cycles", |wave| {
        let dut = Dut::new(wave, FrameSends::default(), "frame_sends");
        dut.taken.set(false);
        dut.taken_error.set(false);
        dut.frame.ready.set(true);
        dut.report.ready.set(true);
        let (mut sent, mut handed_on, mut taken, mut reported) = (vec![], vec![], vec![], vec![]);
        for round in 0..60 {
            let cycle = dut.cycle();
            let send = FrameSend { wants_event: true, number: bits(round), ..FrameSend::default() };
            dut.send.offer((round < 20).then_some(send));
            dut.taken.set((10..30).contains(&round));
            dut.eval();
            if dut.send.moves() {
                sent.push(cycle);
            }
            if dut.frame.moves() {
                handed_on.push(cycle);
            }
            if dut.taken.is_high() {
                taken.push(cycle);
            }
            if dut.report.moves() {
                reported.push(cycle);
            }
            dut.tick();
        }
        assert_eq!(sent.len(), 20);
        assert!(sent.windows(2).all(|pair| pair[1] == pair[0] + 1), "{sent:?}");
        assert_eq!(handed_on, sent.iter().map(|cycle| cycle + 1).collect::<Vec<_>>());
        assert_eq!(reported, taken.iter().map(|cycle| cycle + 2).collect::<Vec<_>>());
    });
}
