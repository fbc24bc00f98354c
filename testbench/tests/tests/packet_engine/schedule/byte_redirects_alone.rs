//! Redirects of bytes alone, against a queue: every command is placed or fails, in order, and is answered once.

use crate::packet_engine::schedule::{all_commands, issuer_of, number_of};
use packet_engine::schedule::byte_redirects::ByteRedirects;
use rand::Rng;
use spindle_blocks::desc::{Command, ContextPolicy, PlacementDesc, PlacementDone, PutDone};
use spindle_contract::params::Config;
use spindle_contract::wire::flag;
use spindle_harness::{random_bits, run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;
use std::collections::{HashMap, HashSet, VecDeque};

/// Cycles from a command to its verdict.
const JUDGED: u64 = 3;

/// What the RVMA engine has to get for a command, to mailboxes of this process.
fn placement(name: u64, command: &Command, pid: u64) -> PlacementDesc {
    PlacementDesc {
        version: bits(1),
        frame: command.frame,
        pkt: command.pkt,
        payload_offset: command.first,
        payload_len: bits(command.length.to_u64()),
        flags: bits(if command.flags.to_u64() & 4 != 0 { flag::EPOCH_VALID } else { 0 }),
        dst_pid: bits(pid),
        addr: command.address,
        msg_len: bits(command.length.to_u64()),
        buf_off: command.offset,
        epoch: command.epoch,
        msg_slot: bits(name),
        from_handler: true,
        redirected: true,
        of_bytes: true,
        ..PlacementDesc::default()
    }
}

fn play(name: &str, config: Config) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, ByteRedirects::new(&config), "byte_redirects");
        let mut pids = [0u64; 16];
        let mut free = all_commands(&config);
        let all = free.len();
        // Commands that have no verdict, and those that have, with what is placed of them.
        let mut judging: VecDeque<(u64, u64, PlacementDesc)> = VecDeque::new();
        let mut waiting: VecDeque<(u64, Option<PlacementDesc>)> = VecDeque::new();
        let mut placing: Vec<u64> = vec![];
        let mut slots: HashMap<u64, Bits<8>> = HashMap::new();
        let mut owed: HashMap<u64, bool> = HashMap::new();
        let mut done: Option<PlacementDone> = None;
        let mut idle = true;
        let (mut full, mut counts, mut passed, mut first) = (0, [0usize; 3], 0, None);
        let mut seen: HashSet<u64> = HashSet::new();
        for cycle in 0..share(60_000) as u64 {
            // Phases in which all handles are used, and phases in which few are.
            let (sends, places, ends, answers) =
                [(0.9, 0.1, 0.5, 0.5), (0.6, 1.0, 1.0, 1.0), (0.3, 0.5, 0.1, 0.1)][cycle as usize / 400 % 3];
            let context = rng.random_range(0..16usize);
            let installs = rng.random_ratio(1, 50).then(|| rng.random_range(0..64));
            dut.policy.valid.set(installs.is_some());
            dut.policy.index.set(context);
            dut.policy.set(ContextPolicy { pid: bits(installs.unwrap_or(9)), ..random_bits(&mut rng) });
            if free.len() == all && waiting.is_empty() {
                first = None;
            }
            let at = rng.random_range(0..free.len().max(1));
            let name = (!free.is_empty() && rng.random_bool(sends)).then(|| free.swap_remove(at));
            let command = Command { issuer: issuer_of(&config, name.unwrap_or(0)), ..random_bits(&mut rng) };
            dut.command.offer(name.map(|_| command));
            let judged = judging.front().is_some_and(|(at, ..)| *at <= cycle) && (rng.random() || cycle % 7 == 0);
            let holds = rng.random_bool(0.8);
            dut.judged.set(judged);
            dut.holds.set(holds);
            if done.is_none() && rng.random_bool(ends) {
                // Of bytes, or of a packet.
                let of_bytes = !placing.is_empty() && rng.random();
                let at = rng.random_range(0..placing.len().max(1));
                let word: PlacementDone = random_bits(&mut rng);
                let slot = if of_bytes { bits(placing.swap_remove(at)) } else { word.msg_slot };
                done = Some(PlacementDone { of_bytes, msg_slot: slot, ..word });
            }
            dut.placement_done.offer(done);
            dut.placement.ready.set(rng.random_bool(places));
            dut.ended.ready.set(rng.random_bool(ends));
            dut.answer.ready.set(rng.random_bool(answers));
            dut.eval();

            if let Some(desc) = dut.placement.taken() {
                let (name, wanted) = waiting.pop_front().expect("a command waits");
                assert_eq!(Some(desc), wanted, "cycle {cycle}");
                assert!(first.is_none_or(|at: u64| cycle > at + JUDGED), "cycle {cycle}: before its verdict");
                placing.push(name);
            }
            let moves = dut.placement_done.moves();
            assert_eq!(moves, done.is_some() && dut.ended.ready.number() == 1, "cycle {cycle}");
            let passes = done.map(|word| {
                let slot = if word.of_bytes { slots[&word.msg_slot.to_u64()] } else { word.msg_slot };
                PlacementDone { msg_slot: slot, ..word }
            });
            assert_eq!(dut.ended.offered(), passes, "cycle {cycle}");
            // Those that came too late end when their turn comes, so they may be answered from now on.
            while waiting.front().is_some_and(|(_, desc)| desc.is_none()) {
                let (name, _) = waiting.pop_front().expect("one");
                owed.insert(name, true);
                counts[2] += 1;
            }
            if let Some(end) = dut.answer.taken() {
                let name = number_of(&config, end.issuer);
                let error = owed.remove(&name).unwrap_or_else(|| panic!("cycle {cycle}: {end:?} of no one"));
                assert_eq!(
                    end,
                    PutDone { issuer: issuer_of(&config, name), error, ..PutDone::default() },
                    "cycle {cycle}"
                );
                seen.insert(name);
                free.push(name);
            }
            if let Some(word) = done.filter(|_| moves) {
                done = None;
                passed += usize::from(!word.of_bytes);
                if word.of_bytes {
                    owed.insert(word.msg_slot.to_u64(), !word.placed);
                    counts[usize::from(!word.placed)] += 1;
                }
            }
            if judged {
                let (_, name, desc) = judging.pop_front().expect("one waits for its verdict");
                waiting.push_back((name, holds.then_some(desc)));
            }
            if let Some(name) = name {
                let pid = pids[command.context.index()];
                judging.push_back((cycle + JUDGED, name, placement(name, &command, pid)));
                slots.insert(name, command.msg_slot);
                first = first.or(Some(cycle));
                idle = false;
            }
            if let Some(pid) = installs {
                pids[context] = pid;
            }
            full += usize::from(free.is_empty());
            dut.tick();
        }
        assert!(!idle && seen.len() == all, "{} of {all} handles were used", seen.len());
        assert!(full > 100, "all handles were in use in {full} cycles");
        assert!(counts.iter().all(|count| *count > 100) && passed > 100, "{counts:?}, {passed} others");
    });
}

#[test]
fn every_command_is_answered_once() {
    play("byte_redirects_alone", Config::SIM);
}

#[test]
fn of_the_largest_array() {
    play("byte_redirects_largest", Config::ALVEO32);
}
