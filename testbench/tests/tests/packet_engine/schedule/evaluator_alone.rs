//! The evaluator alone: the bytes of a message, with any numbers of bytes, from each of the three places of its state.

use packet_engine::schedule::evaluator::{Ends, Evaluator, Event, HandlerReturn, EVENT_DONE, EVENT_NEW, EVENT_PLACED};
use packet_engine::schedule::message::{MessageState, PacketState, PHASE_ACTIVE};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::{descriptors::kind, reasons};
use spindle_harness::{random_bits, random_value, run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;

/// A message whose payload handlers run, with any numbers of bytes.
fn message(rng: &mut ChaCha8Rng) -> MessageState {
    MessageState {
        alive: true,
        phase: bits(PHASE_ACTIVE),
        complete: false,
        // Sums in which bytes carry from one half to the other, and sums in which they do not.
        missing: random_value(rng),
        dropped: random_value(rng),
        ..random_bits(rng)
    }
}

/// What an event does to the bytes that are missing, and to those that were dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    /// A packet arrives.
    Arrives,
    /// The overload rule drops it.
    Lost,
    /// A handler drops it.
    Dropped,
    /// Its mailbox has no buffer, and its number counts.
    Returns,
    /// Something else.
    Nothing,
}

fn event(rng: &mut ChaCha8Rng, change: Change, packet: &PacketState) -> Event {
    let base =
        Event { payload_len: packet.payload_len, frame: random_bits(rng), pkt: random_bits(rng), ..Event::default() };
    match change {
        Change::Arrives | Change::Lost => {
            Event { kind: bits(EVENT_NEW), hit: true, lost: change == Change::Lost, ..base }
        }
        Change::Dropped => Event {
            kind: bits(EVENT_DONE),
            handler: bits(kind::PAYLOAD),
            returned: HandlerReturn { dropped: true, ..HandlerReturn::default() },
            ends: Ends { payload: true, ..Ends::default() },
            ..base
        },
        Change::Returns => Event {
            kind: bits(EVENT_PLACED),
            reason: bits(reasons::NO_POSTED_BUFFER),
            ends: Ends { unposted: true, ..Ends::default() },
            ..base
        },
        Change::Nothing => Event { kind: bits(EVENT_PLACED), placed: rng.random(), ..base },
    }
}

#[test]
fn bytes_are_counted() {
    run_with_wave_on_failure("evaluator_bytes", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Evaluator::default(), "evaluator");
        let mut wanted: Option<(Change, u64, u64)> = None;
        let (mut carries, mut borrows, mut again) = (0, 0, 0);
        for cycle in 0..share(60_000) {
            let [stored, recent] = [message(&mut rng), message(&mut rng)];
            let [recent_holds, same]: [bool; 2] = rng.random();
            let last = dut.verdict.get();
            let after_last =
                wanted.is_some() && same && last.write_message && last.message.alive && !last.message.complete;
            let was = match (after_last, recent_holds) {
                (true, _) => last.message,
                (false, true) => recent,
                (false, false) => stored,
            };
            let packet = PacketState { payload_len: random_value(&mut rng), ..random_bits(&mut rng) };
            let change = match rng.random_range(0..5) {
                0 => Change::Arrives,
                1 => Change::Lost,
                2 => Change::Dropped,
                3 if was.mailbox && packet.sequenced => Change::Returns,
                _ => Change::Nothing,
            };
            dut.event_in.set(event(&mut rng, change, &packet));
            dut.stored.set(stored);
            dut.recent.set(recent);
            dut.recent_holds.set(recent_holds);
            dut.same.set(after_last);
            dut.packet.set(packet);
            dut.eval();
            if let Some((change, missing, dropped)) = wanted {
                let message = last.message;
                let found = (message.missing.to_u64(), message.dropped.to_u64());
                assert_eq!(found, (missing, dropped), "cycle {cycle}: {change:?}");
            }
            let length = packet.payload_len.to_u64() as u32;
            let (missing, dropped) = (was.missing.to_u64() as u32, was.dropped.to_u64() as u32);
            let mut after = (missing, dropped);
            if matches!(change, Change::Arrives | Change::Lost) {
                after.0 = missing.wrapping_sub(length);
                borrows += usize::from(missing & 0xFFFF < length);
            }
            if matches!(change, Change::Lost | Change::Dropped) {
                after.1 = dropped.wrapping_add(length);
                carries += usize::from((dropped & 0xFFFF) + length > 0xFFFF);
            }
            if change == Change::Returns {
                after.0 = missing.wrapping_add(length);
                carries += usize::from((missing & 0xFFFF) + length > 0xFFFF);
            }
            wanted = Some((change, u64::from(after.0), u64::from(after.1)));
            again += usize::from(after_last);
            dut.tick();
            dut.eval();
        }
        assert!(carries > 500 && borrows > 500 && again > 500, "{carries} carries, {borrows} borrows, {again} at once");
    });
}
