//! The read share against two users and a port that answers in order.

use packet_engine::ingress::read_share::ReadShare;
use rand::Rng;
use spindle_blocks::desc::ReadRequest;
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_verilog::prelude::bits;
use std::collections::VecDeque;

/// Cycles from a request to its first beat.
const LATENCY: u64 = 3;

#[test]
fn both_users_get_their_beats() {
    run_with_wave_on_failure("read_share", |wave| {
        let dut = Dut::new(wave, ReadShare::default(), "read_share");
        let mut rng = wave.rng();
        // Requests on offer; beats to come at each user: packet, number, last; beats of the port, with their time.
        let mut offers: [Option<(u64, u64, u64)>; 2] = [None; 2];
        let mut wanted: [VecDeque<(u64, u64, bool)>; 2] = Default::default();
        let mut port: VecDeque<(u64, u64, u64, bool)> = VecDeque::new();
        let (mut taken, mut waited) = ([0; 2], [0; 2]);
        let mut at_once = 0;
        for cycle in 0..60_000u64 {
            let readily = cycle % 5000 < 2500;
            for (i, offer) in offers.iter_mut().enumerate() {
                if offer.is_none() && (readily || rng.random_range(0..8) == 0) {
                    *offer = Some((rng.random_range(0..1024), rng.random_range(1..=24), rng.random_range(0..256)));
                }
                dut.request[i].offer(offer.map(|(pkt, beats, skip)| ReadRequest {
                    pkt: bits(pkt),
                    length: bits(64 * beats),
                    skip: bits(skip),
                }));
                dut.data[i].ready.set(readily || rng.random_range(0..3) > 0);
            }
            let port_ready = readily || rng.random_range(0..3) > 0;
            dut.port_request.ready.set(port_ready);
            let beat = port.front().filter(|beat| beat.0 <= cycle).copied();
            dut.port_data.valid.set(beat.is_some());
            if let Some((_, pkt, number, last)) = beat {
                dut.port_data.set_bytes(&[&pkt.to_le_bytes()[..], &number.to_le_bytes(), &[0; 48]].concat());
                dut.port_data.last.set(last);
            }
            dut.eval();
            let moves = [dut.request[0].moves(), dut.request[1].moves()];
            assert!(!(moves[0] && moves[1]), "one request at a time");
            assert_eq!(moves[0] || moves[1], dut.port_request.moves());
            for i in 0..2 {
                if moves[i] {
                    let (pkt, beats, skip) = offers[i].take().expect("on offer");
                    let request = dut.port_request.get();
                    let found = (request.pkt.to_u64(), request.length.to_u64(), request.skip.to_u64());
                    assert_eq!(found, (pkt, 64 * beats, skip));
                    for number in 0..beats {
                        wanted[i].push_back((pkt, number, number + 1 == beats));
                        port.push_back((cycle + LATENCY, pkt, number, number + 1 == beats));
                    }
                    waited[i] = 0;
                    taken[i] += 1;
                } else if moves[1 - i] && offers[i].is_some() {
                    waited[i] += 1;
                    assert!(waited[i] < 2, "users take turns");
                }
                if dut.data[i].valid.is_high() {
                    let (pkt, number, last) = *wanted[i].front().expect("a beat that was asked for");
                    let bytes = dut.data[i].bytes();
                    assert_eq!(bytes[..16], [pkt.to_le_bytes(), number.to_le_bytes()].concat());
                    assert_eq!(dut.data[i].last.is_high(), last);
                    if dut.data[i].ready.is_high() {
                        wanted[i].pop_front();
                        at_once += usize::from(readily);
                    }
                }
            }
            let passes = (0..2).any(|i| dut.data[i].valid.is_high() && dut.data[i].ready.is_high());
            assert_eq!(passes, dut.port_data.valid.is_high() && dut.port_data.ready.is_high());
            if passes {
                port.pop_front();
            }
            dut.tick();
        }
        assert!(taken.iter().all(|count| *count > 1000), "{taken:?}");
        assert!(at_once > 29_000, "a beat per cycle while both ask: {at_once} in 30,000 cycles");
    });
}
