//! The placement stage alone, against sums of 64 bits: any buffer, any offset, any length; each write and each request in its
//! cycle.

use rand::Rng;
use rvma_lut::placement::Placement;
use rvma_lut::types::{BoundPacket, HostWrite, WriteOrigin, PACKET};
use spindle_blocks::desc::ReadRequest;
use spindle_harness::{random_bits, random_value, run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;
use std::collections::VecDeque;

const LINE: u64 = 64;
/// Level from which binding has to stop, and cycles in which it may still send.
const STOP: usize = 12;
const LATE: usize = 3;
const LONGEST: u64 = 14_000;

/// Packet, and the cycle from which on the stage may have it.
type Staged = Option<BoundPacket>;

/// The write and the request of a packet.
fn orders(packet: &BoundPacket, posted: bool) -> (HostWrite, ReadRequest) {
    let address = packet.base.to_u64().wrapping_add(packet.start.to_u64());
    let (length, offset) = (packet.payload_len.to_u64(), packet.payload_offset.to_u64());
    let origin = WriteOrigin {
        kind: bits(PACKET),
        posted,
        slot: packet.slot,
        frame: packet.frame,
        tag: packet.pkt,
        has_slot: packet.has_slot,
        msg_slot: packet.msg_slot,
        fence_phase: packet.fence_phase,
        host: packet.host,
        of_bytes: packet.of_bytes,
        length: packet.payload_len,
    };
    let write = HostWrite {
        address: bits(address),
        last_line: bits((address % LINE + length - 1) / LINE),
        offset: bits(offset % LINE),
        origin,
    };
    // The request goes up to the end of the payload, and leaves out the beats before the one in which it begins.
    (write, ReadRequest { pkt: packet.pkt, length: bits(length + offset), skip: bits(offset / LINE) })
}

#[test]
fn random_packets_are_the_models() {
    run_with_wave_on_failure("placement_alone_random", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Placement::default(), "placement");
        let (mut carries, mut wraps, mut skips, mut stops, mut apart) = (0, 0, 0, 0, 0);
        for _ in 0..3 {
            dut.bound.valid.set(false);
            dut.packet_write.ready.set(false);
            dut.place_request.ready.set(false);
            dut.reset();
            let mut queue: VecDeque<BoundPacket> = VecDeque::new();
            // The stages between, and what is offered.
            let (mut oldest, mut half): (Staged, Staged) = (None, None);
            let (mut write, mut request): (Option<HostWrite>, Option<ReadRequest>) = (None, None);
            let mut rooms = [false; LATE + 1];
            let mut before = false;
            for cycle in 0..share(20_000) {
                // Phases of full speed, of stalls of both, and of few packets.
                let (sends, takes) = [(1.0, 1.0), (0.9, 0.3), (0.7, 0.6), (0.1, 0.9)][cycle / 200 % 4];
                // One packet in two cycles.
                let packet = (rooms[LATE] && !before && rng.random_bool(sends)).then(|| BoundPacket {
                    base: random_value(&mut rng),
                    start: random_value(&mut rng),
                    payload_len: bits(match rng.random_range(0..4) {
                        0 => rng.random_range(1..=LONGEST),
                        1 => LINE * rng.random_range(1..20),
                        _ => rng.random_range(1..200),
                    }),
                    ..random_bits(&mut rng)
                });
                before = packet.is_some();
                dut.bound.valid.set(packet.is_some());
                dut.bound.payload.set(packet.unwrap_or_else(|| random_bits(&mut rng)));
                let posted: bool = rng.random();
                dut.posted.set(posted);
                let (writes, requests) = (rng.random_bool(takes), rng.random_bool(takes));
                dut.packet_write.ready.set(writes);
                dut.place_request.ready.set(requests);
                dut.eval();

                assert_eq!(dut.packet_write.offered(), write, "cycle {cycle}");
                assert_eq!(dut.place_request.offered(), request, "cycle {cycle}");
                let headroom = queue.len() < STOP;
                assert_eq!(dut.bound.headroom.is_high(), headroom, "cycle {cycle}: {} packets", queue.len());
                stops += usize::from(!headroom);
                rooms.rotate_right(1);
                rooms[0] = headroom;

                apart += usize::from(write.is_some() != request.is_some());
                write = write.filter(|_| !writes);
                request = request.filter(|_| !requests);
                let fetches = oldest.is_none();
                if write.is_none() && request.is_none() {
                    if let Some(packet) = half.take() {
                        let (next_write, next_request) = orders(&packet, posted);
                        (write, request) = (Some(next_write), Some(next_request));
                        let low = packet.base.to_u64() % (1 << 32) + packet.start.to_u64();
                        carries += usize::from(low >= 1 << 32);
                        wraps += usize::from(packet.base.to_u64().checked_add(packet.start.to_u64()).is_none());
                        skips += usize::from(packet.payload_offset.to_u64() >= LINE);
                    }
                }
                if half.is_none() {
                    half = oldest.take();
                }
                if fetches {
                    oldest = queue.pop_front();
                }
                queue.extend(packet);
                dut.tick();
            }
        }
        let seen = [carries, wraps, skips, stops, apart];
        assert!(
            seen.iter().all(|count| *count > 100),
            "{seen:?} carries, ends of the address space, beats left out, stops, orders that left apart"
        );
    });
}

/// Four cycles from a packet to its write and its request, in every second cycle.
#[test]
fn cycles_of_a_packet() {
    run_with_wave_on_failure("placement_alone_cycles", |wave| {
        let dut = Dut::new(wave, Placement::default(), "placement");
        dut.bound.valid.set(false);
        dut.packet_write.ready.set(true);
        dut.place_request.ready.set(true);
        dut.reset();
        dut.tick();
        let begin = dut.cycle();
        for i in 0..40 {
            dut.bound.valid.set(i % 2 == 0);
            dut.bound.payload.set(BoundPacket { payload_len: bits(1), ..BoundPacket::default() });
            dut.eval();
            let due = i >= 4 && i % 2 == 0;
            let found = (dut.packet_write.valid.is_high(), dut.place_request.valid.is_high());
            assert_eq!(found, (due, due), "cycle {}", dut.cycle() - begin);
            dut.tick();
        }
    });
}
