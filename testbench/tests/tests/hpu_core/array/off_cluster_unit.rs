//! The far unit against what its clusters asked for.

use crate::hpu_core::fields::{bits, field, pack};
use crate::hpu_core::off_cluster_words::{command_of, HANDLE_SHIFT, HPU_SHIFT, OF_PACKET, OPCODES, OPCODE_SHIFT};
use hpu_core::array::off_cluster_queue::OffClusterCommand;
use hpu_core::array::off_cluster_unit::OffClusterUnit;
use rand::Rng;
use spindle_contract::memory_map::{command, COMMAND_HANDLES};
use spindle_harness::{run_with_wave_on_failure, Dut};
use std::collections::VecDeque;

const CLUSTERS: usize = 3;
/// A command as it goes in.
struct Asked {
    opcode: u8,
    /// The PUT is a reliable one of the packet.
    of_packet: bool,
    hpu: u64,
    handle: u64,
    context: u64,
    frame: u64,
    words: Vec<u64>,
}

impl Asked {
    /// Fields of the descriptor that comes out, and the port that it comes out of.
    fn wanted(&self, cluster: u64, pids: &[u64; 16]) -> (&'static str, &'static str, Vec<(&'static str, u64)>) {
        let w = |i: usize| self.words.get(i).copied().unwrap_or(0);
        let pair = |i: usize| w(i + 1) << 32 | w(i);
        let mut fields = vec![("cluster", cluster), ("hpu", self.hpu), ("handle", self.handle)];
        let put = |fields: &mut Vec<_>| {
            fields.extend([("context", self.context), ("frame", self.frame), ("length", w(1)), ("addr", pair(2))]);
            fields.extend([("node", w(4) & 0xFF), ("dst_pid", w(4) >> 16), ("src_pid", pids[self.context as usize])]);
            fields.extend([("key", w(5)), ("buf_off", w(6))]);
        };
        match self.opcode {
            command::DMA_FROM_HOST => {
                fields.extend([("context", self.context), ("frame", self.frame), ("client", 0)]);
                fields.extend([("address", pair(2)), ("length", w(1)), ("offset", w(0) & 63)]);
                ("host_read", "host_read", fields)
            }
            command::PUT if self.of_packet => {
                put(&mut fields);
                fields.extend([("op", 0), ("from_host", 0)]);
                ("host_put", "put_desc", fields)
            }
            command::PUT => {
                put(&mut fields);
                fields.extend([("op", 0), ("from_host", 0)]);
                ("put", "put_desc", fields)
            }
            command::PUT_HOST | command::PUT_CONTEXT => {
                put(&mut fields);
                let from_host = u64::from(self.opcode == command::PUT_HOST);
                // Bytes of context memory are not a packet's.
                let low = if from_host == 1 { w(0) } else { w(0) & !(1 << 30) };
                fields.extend([("op", 0), ("from_host", from_host), ("host_address", w(7) << 32 | low)]);
                ("host_put", "put_desc", fields)
            }
            command::GET => {
                put(&mut fields);
                fields.extend([("op", 1), ("from_host", 0), ("reply_addr", pair(7)), ("reply_off", w(0))]);
                fields.push(("reply_key", w(9)));
                ("host_put", "put_desc", fields)
            }
            _ => {
                let swap = self.opcode == command::HOST_CAS;
                fields.extend([("op", u64::from(!swap)), ("wide", w(1) >> 3 & 1), ("address", pair(2))]);
                fields.push(("operand", pair(5)));
                if swap {
                    fields.push(("compare", pair(7)));
                }
                ("host_atomic", "host_atomic", fields)
            }
        }
    }
}

#[test]
fn every_command_comes_out_where_it_is_done() {
    run_with_wave_on_failure("off_cluster_unit", |wave| {
        let dut = Dut::new(wave, OffClusterUnit::new(CLUSTERS), "off_cluster_unit");
        let mut rng = wave.rng();
        let mut pids = [0; 16];
        for (context, pid) in pids.iter_mut().enumerate() {
            *pid = rng.random_range(0..64);
            dut.policy.set_bytes(&pack("context_policy", &[("pid", *pid)]));
            dut.policy.index.set(context);
            dut.policy.valid.set(true);
            dut.tick();
        }
        dut.policy.valid.set(false);
        // What each cluster still has to say, and what has to come out of it in this order per port.
        let mut waiting: [VecDeque<OffClusterCommand>; CLUSTERS] = Default::default();
        let mut wanted: [VecDeque<Asked>; CLUSTERS] = Default::default();
        let mut parked = [[false; 2]; CLUSTERS];
        let (mut atomics, mut done, mut busiest) = (0u64, 0, 0);
        // Puts of context memory that have come out, and how many of them are not over; commands that have gone in.
        let (mut context_puts, mut packet_puts, mut pinned) = (0, 0, 0u64);
        let mut patience = 0;
        while done < 3000 {
            for cluster in 0..CLUSTERS {
                let (opcode, count) = OPCODES[rng.random_range(0..OPCODES.len())];
                // As the clusters do: one put and one put of host memory or get of each at a time.
                let of_packet = opcode == command::PUT && rng.random();
                let kind = match opcode {
                    command::PUT if !of_packet => Some(0),
                    command::PUT => Some(1),
                    command::PUT_HOST | command::PUT_CONTEXT | command::GET => Some(1),
                    _ => None,
                };
                let free = kind.is_none_or(|kind| !parked[cluster][kind]);
                if free && waiting[cluster].len() < 4 && rng.random_range(0..4) == 0 {
                    if let Some(kind) = kind {
                        parked[cluster][kind] = true;
                    }
                    let mut asked = Asked {
                        opcode,
                        of_packet,
                        hpu: rng.random_range(0..8),
                        handle: rng.random_range(0..COMMAND_HANDLES as u64),
                        context: rng.random_range(0..16),
                        frame: rng.random_range(0..0x10000),
                        words: (0..count).map(|_| rng.random::<u32>().into()).collect(),
                    };
                    asked.words[1] = match opcode {
                        command::HOST_CAS | command::HOST_ADD => 4 << rng.random_range(0..2),
                        command::DMA_FROM_HOST | command::PUT => rng.random_range(1..=2048),
                        _ => rng.random::<u32>().into(),
                    };
                    let header = (u64::from(of_packet) * u64::from(OF_PACKET))
                        | u64::from(opcode) << OPCODE_SHIFT
                        | asked.hpu << HPU_SHIFT
                        | asked.handle << HANDLE_SHIFT
                        | asked.context << 16
                        | asked.frame;
                    let all: Vec<u32> =
                        std::iter::once(header).chain(asked.words.iter().copied()).map(|word| word as u32).collect();
                    waiting[cluster].push_back(command_of(&all));
                    wanted[cluster].push_back(asked);
                }
                dut.command[cluster].offer(waiting[cluster].front().copied());
            }
            for ready in [&dut.host_read.ready, &dut.host_atomic.ready, &dut.put.ready, &dut.host_put.ready] {
                ready.set(rng.random_range(0..3) == 0);
            }
            let ends = atomics > 0 && rng.random_range(0..24) == 0;
            dut.atomic_ended.set(ends);
            let frees = pinned > 0 && rng.random_range(0..30) == 0;
            dut.context_put_ended.set(frees);
            dut.eval();
            // Those in its queues count as well, one of each cluster at most.
            let counted = dut.context_puts.number() & 0xFF;
            assert!((pinned..=pinned + CLUSTERS as u64).contains(&counted), "{counted} for {pinned}");
            pinned -= u64::from(frees);
            atomics -= u64::from(ends);
            patience += 1;
            for (port, desc, moves, bytes) in [
                ("host_read", "host_read", dut.host_read.moves(), dut.host_read.bytes()),
                ("host_atomic", "host_atomic", dut.host_atomic.moves(), dut.host_atomic.bytes()),
                ("put", "put_desc", dut.put.moves(), dut.put.bytes()),
                ("host_put", "put_desc", dut.host_put.moves(), dut.host_put.bytes()),
            ] {
                if !moves {
                    continue;
                }
                let cluster = field(desc, &bytes, "cluster") as usize;
                let first = wanted[cluster].iter().position(|asked| asked.wanted(0, &pids).0 == port);
                let asked = wanted[cluster].remove(first.expect("it was asked for")).expect("it is there");
                for (name, value) in asked.wanted(cluster as u64, &pids).2 {
                    assert_eq!(field(desc, &bytes, name), value, "{name} of {port}");
                }
                if port == "host_read" {
                    assert_eq!(dut.target.number(), asked.words[0] >> 6 & 0x7FFF);
                }
                if port == "host_atomic" {
                    atomics += 1;
                    busiest = busiest.max(atomics);
                    assert!(atomics <= 16);
                }
                for (kind, (put, left)) in
                    [("put", &dut.put_left), ("host_put", &dut.host_put_left)].into_iter().enumerate()
                {
                    if put == port {
                        assert_eq!(left.number(), 1 << cluster);
                        parked[cluster][kind] = false;
                    }
                }
                if asked.of_packet {
                    // The high half of the address does not count.
                    assert_eq!(field("put_desc", &bytes, "host_address") & 0xFFFF_FFFF, asked.words[0]);
                    packet_puts += 1;
                }
                if asked.opcode == command::PUT_CONTEXT || asked.of_packet {
                    (context_puts, pinned) = (context_puts + 1, pinned + 1);
                }
                done += 1;
                patience = 0;
            }
            assert!(patience < 500, "nothing comes out");
            for (cluster, waiting) in waiting.iter_mut().enumerate() {
                if dut.command[cluster].moves() {
                    waiting.pop_front();
                }
            }
            dut.tick();
        }
        assert_eq!(busiest, 16, "as many atomics as may be");
        assert!(context_puts > 60 && packet_puts > 60, "{context_puts} puts, {packet_puts} of packets");
        // All that is under way ends: nothing is pinned, nothing waits.
        for _ in 0..2000 {
            for (cluster, waiting) in waiting.iter().enumerate() {
                dut.command[cluster].offer(waiting.front().copied());
            }
            for ready in [&dut.host_read.ready, &dut.host_atomic.ready, &dut.put.ready, &dut.host_put.ready] {
                ready.set(true);
            }
            dut.atomic_ended.set(atomics > 0);
            dut.context_put_ended.set(pinned > 0);
            dut.eval();
            atomics -= u64::from(atomics > 0);
            pinned -= u64::from(pinned > 0);
            atomics += dut.host_atomic.valid.number();
            let of_host = field("put_desc", &dut.host_put.bytes(), "from_host") == 1;
            let get = field("put_desc", &dut.host_put.bytes(), "op") == 1;
            pinned += u64::from(dut.host_put.valid.is_high() && !of_host && !get);
            for (cluster, waiting) in waiting.iter_mut().enumerate() {
                if dut.command[cluster].moves() {
                    waiting.pop_front();
                }
            }
            dut.tick();
        }
        assert_eq!((pinned, dut.context_puts.number()), (0, 0));
    });
}

#[test]
fn a_put_that_nobody_takes_holds_up_nobody() {
    run_with_wave_on_failure("off_cluster_unit_parked", |wave| {
        let dut = Dut::new(wave, OffClusterUnit::new(CLUSTERS), "off_cluster_unit");
        dut.host_read.ready.set(true);
        dut.host_atomic.ready.set(true);
        // Each cluster: a put, a put of host memory, then a read.
        let mut waiting: Vec<VecDeque<OffClusterCommand>> = (0..CLUSTERS)
            .map(|_| {
                [command::PUT, command::PUT_HOST, command::DMA_FROM_HOST]
                    .into_iter()
                    .map(|opcode| command_of(&[vec![u32::from(opcode) << OPCODE_SHIFT], vec![1; 10]].concat()))
                    .collect()
            })
            .collect();
        let mut reads = 0;
        for _ in 0..200 {
            for (cluster, waiting) in waiting.iter().enumerate() {
                dut.command[cluster].offer(waiting.front().copied());
            }
            dut.eval();
            reads += dut.host_read.valid.number();
            for (cluster, waiting) in waiting.iter_mut().enumerate() {
                if dut.command[cluster].moves() {
                    waiting.pop_front();
                }
            }
            dut.tick();
        }
        assert_eq!(reads, CLUSTERS as u64);
        assert!(dut.put.valid.is_high() && dut.host_put.valid.is_high());
        assert_eq!(bits(&[(0, 8)]), dut.put_left.bytes());
    });
}

#[test]
fn a_command_leaves_every_cycle() {
    run_with_wave_on_failure("off_cluster_unit_rate", |wave| {
        let dut = Dut::new(wave, OffClusterUnit::new(CLUSTERS), "off_cluster_unit");
        dut.put.ready.set(true);
        let put = command_of(&[u32::from(command::PUT) << OPCODE_SHIFT, 0, 8]);
        (0..CLUSTERS).for_each(|cluster| dut.command[cluster].offer(Some(put)));
        let mut out = vec![];
        for cycle in 0..40 {
            dut.eval();
            if dut.put.moves() {
                out.push(cycle);
            }
            dut.tick();
        }
        assert_eq!(
            out,
            (2..40).collect::<Vec<_>>(),
            "a put two cycles after the first one was offered, then one per cycle"
        );
    });
}
