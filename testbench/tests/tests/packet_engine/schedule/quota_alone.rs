//! The quotas of contexts alone, against counts: every output in every cycle.

use packet_engine::schedule::quota::Quota;
use rand::Rng;
use spindle_blocks::desc::ContextPolicy;
use spindle_harness::{random_bits, run_with_wave_on_failure, share, Dut};
use spindle_verilog::prelude::*;

const CONTEXTS: usize = 16;
/// Messages that can be alive, and packets that can be inside.
const MESSAGES: u64 = 256;
const PACKETS: u64 = 1024;

/// A context: its policy, and what it has.
#[derive(Clone, Debug, Default)]
struct Context {
    policy: ContextPolicy,
    messages: u64,
    packets: u64,
}

/// The arrival that is judged: its policy, and what its context had without it.
#[derive(Clone, Debug)]
struct Arrival {
    context: usize,
    enters: bool,
    policy: ContextPolicy,
    messages: u64,
    packets: u64,
}

/// So many are no fewer than a quota, where 0 is none.
fn full(count: u64, quota: u64) -> bool {
    quota != 0 && count >= quota
}

#[test]
fn every_output_in_every_cycle() {
    run_with_wave_on_failure("quota_alone", |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, Quota::default(), "quota");
        let mut contexts = vec![Context::default(); CONTEXTS];
        let mut arrival: Option<Arrival> = None;
        // A message or a packet of a context ends: its count falls a cycle later.
        let mut leaves: Option<(usize, bool, bool)> = None;
        let mut live: Option<u64> = None;
        // All contexts are cleared and installed first.
        let mut setup = CONTEXTS;
        let (mut fulls, mut in_a_row, mut most) = ([0; 2], 0, [0; 2]);
        for cycle in 0..share(120_000) {
            if cycle > 0 && rng.random_ratio(1, 8000) {
                dut.reset();
                setup = CONTEXTS;
                (arrival, leaves, live) = (None, None, None);
            }
            // Counts rise, fall or stay.
            let (rises, falls) = [(0.95, 0.3), (0.2, 0.9), (0.6, 0.6)][cycle / 3000 % 3];
            // All contexts, or one and sometimes another.
            let busy = cycle / 18_000 % CONTEXTS;
            let mut context =
                || if cycle / 9000 % 2 == 0 || rng.random_ratio(1, 8) { rng.random_range(0..CONTEXTS) } else { busy };
            let (lookup, owner, live_index, pid_index, redirect) =
                (context(), context(), context(), context(), context());
            let installs = setup > 0 || rng.random_ratio(1, 50);
            let index = if setup > 0 { setup - 1 } else { rng.random_range(0..CONTEXTS) };
            let mut policy: ContextPolicy = random_bits(&mut rng);
            if rng.random_bool(0.6) {
                policy.messages = bits([0, 1, 2, rng.random_range(0..20), MESSAGES][rng.random_range(0..5)]);
                policy.packets = bits([0, 1, 2, rng.random_range(0..20), PACKETS][rng.random_range(0..5)]);
            }
            dut.policy.valid.set(installs);
            dut.policy.index.set(bits(index as u64));
            dut.policy.payload.set(policy);
            dut.clear.set(setup > 0);
            dut.clear_index.set(bits(if setup > 0 { index as u64 } else { rng.random_range(0..16) }));

            let starts = arrival.as_ref().is_some_and(|arrival| {
                arrival.enters && contexts[arrival.context].messages < MESSAGES && rng.random_bool(0.8)
            });
            let enters = setup == 0 && contexts[lookup].packets < PACKETS && rng.random_bool(rises);
            let has = |count: u64, left: fn(&(usize, bool, bool)) -> bool| {
                count > leaves.as_ref().is_some_and(|leaves| leaves.0 == owner && left(leaves)) as u64
            };
            let message_ends =
                setup == 0 && has(contexts[owner].messages, |leaves| leaves.1) && rng.random_bool(falls * 0.8);
            let packet_leaves = setup == 0 && has(contexts[owner].packets, |leaves| leaves.2) && rng.random_bool(falls);
            dut.enters.set(enters);
            dut.lookup_context.set(bits(lookup as u64));
            dut.starts.set(starts);
            dut.message_ends.set(message_ends);
            dut.packet_leaves.set(packet_leaves);
            dut.owner.set(bits(owner as u64));
            dut.live_index.set(bits(live_index as u64));
            dut.pid_index.set(bits(pid_index as u64));
            dut.redirect_context.set(bits(redirect as u64));
            dut.eval();

            if let Some(Arrival { policy, messages, packets, .. }) = &arrival {
                let full = [full(*messages, policy.messages.to_u64()), full(*packets, policy.packets.to_u64())];
                let found = [dut.messages_full.is_high(), dut.packets_full.is_high()];
                assert_eq!(found, full, "cycle {cycle}: {arrival:?}");
                assert_eq!(
                    (dut.overload.get(), dut.user_header.get()),
                    (policy.overload, policy.user_header),
                    "cycle {cycle}"
                );
                (0..2).for_each(|which| fulls[which] += usize::from(full[which]));
            }
            if let Some(live) = live {
                assert_eq!(dut.live.number(), live, "cycle {cycle}");
            }
            if setup == 0 {
                let pids = (contexts[pid_index].policy.pid, contexts[redirect].policy.pid);
                assert_eq!((dut.pid.get(), dut.redirect_pid.get()), pids, "cycle {cycle}");
            }

            // What ended in the last cycle is gone for the arrival that is looked up in this one.
            if let Some((context, message, packet)) = leaves {
                contexts[context].messages -= u64::from(message);
                contexts[context].packets -= u64::from(packet);
            }
            live = (setup == 0).then(|| contexts[live_index].messages);
            let before = arrival.take();
            if let Some(before) = before.filter(|_| starts) {
                contexts[before.context].messages += 1;
                in_a_row += usize::from(enters && before.context == lookup);
            }
            let Context { policy: limits, messages, packets } = contexts[lookup].clone();
            arrival = (setup == 0).then_some(Arrival { context: lookup, enters, policy: limits, messages, packets });
            contexts[lookup].packets += u64::from(enters);
            leaves = Some((owner, message_ends, packet_leaves));
            if installs {
                contexts[index].policy = policy;
            }
            if setup > 0 {
                setup -= 1;
                contexts[index] = Context { policy, ..Context::default() };
            }
            most = [most[0].max(contexts[lookup].messages), most[1].max(contexts[lookup].packets)];
            dut.tick();
        }
        println!("{fulls:?} full, {in_a_row} begin a message one after the other, at most {most:?}");
        assert!(
            fulls.iter().all(|count| *count > 500) && in_a_row > 500,
            "{fulls:?} full, {in_a_row} one after the other"
        );
        assert!(most == [MESSAGES, PACKETS], "{most:?} messages and packets at most");
    });
}
