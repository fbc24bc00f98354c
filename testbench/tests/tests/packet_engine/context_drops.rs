//! The drops of the contexts against an array of counts: both sources in one cycle, every reason of a source.

use packet_engine::context_drops::{end_reason, join_reason, ContextDrops};
use rand::Rng;
use spindle_contract::descriptors::action;
use spindle_contract::params::Config;
use spindle_contract::reasons::*;
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_verilog::prelude::bits;

/// Cycles in which the counts are cleared; after which a drop is counted; from a request to its count.
const CLEARING: usize = 256;
const SETTLED: usize = 6;
const READ: usize = 2;
/// Reasons of the ingress join for frames that a rule gives to a context.
const OF_JOIN: [usize; 5] = [NO_BUFFER, DUPLICATE, PSN_WINDOW, NO_PEER, CONTROL];
/// Reasons of the scheduler and of the RVMA engine.
const OF_END: [usize; 16] = [
    BAD_TRANSPORT,
    NO_CONTEXT,
    NO_MESSAGE_SLOT,
    HANDLER_DROP,
    HANDLER_FAIL,
    NO_MAILBOX,
    BAD_KEY,
    NO_POSTED_BUFFER,
    OUT_OF_BOUNDS,
    UNSUPPORTED,
    HOST_ERROR,
    QUOTA,
    PAUSED,
    MESSAGE_AGED,
    CLOSED,
    STALE_EPOCH,
];
/// Reasons for which no frame of a context is dropped: they are found before the rule, or are that of a rule.
const OF_OTHERS: [usize; 11] = [
    BAD_FRAME,
    RUNT,
    TOO_LONG,
    BAD_IP_LENGTH,
    BAD_IP_CHECKSUM,
    BAD_UDP_LENGTH,
    BAD_UDP_CHECKSUM,
    BAD_ICMP_CHECKSUM,
    NO_RULE,
    RULE_DROP,
    RX_DISABLED,
];

#[test]
fn every_reason_has_a_source() {
    let mut reasons = [&OF_JOIN[..], &OF_END, &OF_OTHERS].concat();
    reasons.sort_unstable();
    assert_eq!(reasons, Vec::from_iter(0..CONTEXT_DROP_COUNT), "a reason is missing, or has two sources");
    let known = |reason: usize| (join_reason(bits(reason as u64)).known, end_reason(bits(reason as u64)).known);
    for (reason, (name, _)) in DROP_REASONS[..CONTEXT_DROP_COUNT].iter().enumerate() {
        assert_eq!(known(reason), (OF_JOIN.contains(&reason), OF_END.contains(&reason)), "{name}");
    }
}

#[test]
fn every_drop_of_a_context_is_counted() {
    // The memories are block RAM in one configuration and LUT RAM in the other.
    for config in [Config::ALVEO, Config::SIM] {
        run_with_wave_on_failure(&format!("context_drops_{}", config.name), |wave| {
            let dut = Dut::new(wave, ContextDrops::new(&config), "context_drops");
            let mut rng = wave.rng();
            let mut counts = [[0u32; CONTEXT_DROP_COUNT]; 16];
            for cycle in 0..=CLEARING {
                dut.eval();
                assert_eq!(dut.clearing.is_high(), cycle < CLEARING, "cycle {cycle}");
                dut.tick();
            }
            for cycle in 0..20_000 {
                let always = cycle / 200 % 2 == 0;
                // The frames of a join that do not count: no record, passed on, no rule, another action.
                let chance = |rng: &mut rand_chacha::ChaCha8Rng| always || rng.random_range(0..4) > 0;
                let (valid, dropped, ruled) = (chance(&mut rng), chance(&mut rng), chance(&mut rng));
                let to_context = chance(&mut rng);
                let context = rng.random_range(0..16usize) & rng.random_range(0..16usize);
                let reason = OF_JOIN[rng.random_range(0..OF_JOIN.len())];
                let action = if to_context { action::CONTEXT } else { action::MAILBOX };
                let fields = [
                    ("valid", valid.into()),
                    ("ruled", ruled.into()),
                    ("action", u64::from(action)),
                    ("context", context as u64),
                    ("dropped", dropped.into()),
                    ("reason", reason as u64),
                ];
                dut.joined.set_bytes(&crate::hpu_core::fields::pack("join_trace", &fields));
                counts[context][reason] += u32::from(valid && dropped && ruled && to_context);

                let ends = chance(&mut rng);
                let context = rng.random_range(0..16usize) & rng.random_range(0..16usize);
                let reason = OF_END[rng.random_range(0..OF_END.len())];
                dut.dropped.valid.set(ends);
                dut.dropped.set_bytes(&((reason as u16) << 4 | context as u16).to_le_bytes());
                counts[context][reason] += u32::from(ends);
                dut.tick();
            }
            dut.joined.set_bytes(&[0; 4]);
            dut.dropped.valid.set(false);
            (0..SETTLED).for_each(|_| dut.tick());
            for (context, counts) in counts.iter().enumerate() {
                for (reason, expected) in counts.iter().enumerate() {
                    dut.read_context.set(context);
                    dut.read_reason.set(reason);
                    (0..READ).for_each(|_| dut.tick());
                    dut.eval();
                    assert_eq!(dut.count.number(), u64::from(*expected), "context {context}, reason {reason}");
                }
            }
            assert!(counts.iter().flatten().sum::<u32>() > 20_000);
        });
    }
}
