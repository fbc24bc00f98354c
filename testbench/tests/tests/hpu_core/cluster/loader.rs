//! The loader alone: what is in place when an HPU may first look, whatever L1 and the packet buffer do.

use crate::hpu_core::fields::{bits, pack_random, slice};
use hpu_core::cluster::loader::Loader;
use rand::Rng;
use spindle_contract::memory_map as map;
use spindle_contract::params::{Config, CODE_ALIGN, L1_STACK_BASE, L1_TASK_BASE};
use spindle_harness::{run_with_wave_on_failure, Dut};
use spindle_hart::Start;
use std::collections::{HashMap, VecDeque};

const HPUS: u64 = 4;
/// From the launch to the first look of the HPU at its regions, and at L1.
const FIRST_LOOK: u64 = 4;
/// Cycles that a beat may need from L1's `ready` to the banks.
const SETTLES: u64 = 2;
/// `hpu_core::processor::types::Target`.
const L1: u64 = 1;
const L2: u64 = 2;
const COMMAND: u64 = 3;
const CODE: u64 = 4;

/// A task and what came of it.
struct Task {
    accepted: u64,
    context: usize,
    entry: [u64; 14],
    desc: Vec<u8>,
    kind: u64,
    frame: u64,
    size: u64,
    slot: u64,
    place: (usize, u64),
    scrubs: Vec<u64>,
    launched: Option<u64>,
}

impl Task {
    /// Bytes of its packet region.
    fn bound(&self) -> u64 {
        if self.size == 0 {
            0
        } else {
            (self.size + 64 * self.entry[13]).min(2048)
        }
    }
}

const ENTRY_WIDTHS: [usize; 14] = [32, 32, 32, 16, 17, 20, 21, 32, 32, 32, map::WATCHDOG_BITS, 16, 16, 5];

#[test]
fn all_is_in_place_when_the_handler_looks() {
    run_with_wave_on_failure("loader", |wave| {
        let mut rng = wave.rng();
        let config = Config { hpus: HPUS as usize, ..Config::SIM };
        let stack = config.stack_bytes() as u64;
        let dut = Dut::new(wave, Loader::new(&config), "loader");
        let mut regions: HashMap<(usize, u64), [u64; 5]> = HashMap::new();
        let mut owners = [[None::<usize>; 4]; HPUS as usize];
        let mut dirty = [false; 16];
        let mut banks = [0u64; HPUS as usize];
        let mut waiting = [0u64; HPUS as usize];
        let mut task: Option<Task> = None;
        let mut looks: VecDeque<Task> = VecDeque::new();
        let (mut pages, mut beats, mut scrubs) = (HashMap::new(), vec![], vec![]);
        let (mut left, mut next_frame, mut offered) = (0u64, 0u64, None);
        let (mut seen, mut early, mut tails, mut target) = (0, 0, 0, 0);
        let mut free_slot = None;
        for now in 0..30_000u64 {
            // What is offered is for an HPU that has room for it.
            let vacant: Vec<usize> = (0..HPUS as usize).filter(|hpu| waiting[*hpu] == 0).collect();
            if offered.is_none() && rng.random_range(0..3) > 0 && !vacant.is_empty() {
                target = vacant[rng.random_range(0..vacant.len())];
                let context = rng.random_range(0..3usize);
                let entry: [u64; 14] = std::array::from_fn(|i| rng.random::<u64>() >> (64 - ENTRY_WIDTHS[i]));
                let mut entry = entry;
                // Sometimes all of the scratch memory that a handler can have.
                let lines = if rng.random_ratio(1, 20) { rng.random_range(128..320) } else { rng.random_range(0..6) };
                (entry[11], entry[12]) = (0xA000 + 0x400 * context as u64, 64 * lines);
                // Half of the tasks have a tailroom, some as long as a slot; some packets fill a slot, or more.
                let most = [1, 1, 1, 2, 5, 32][rng.random_range(0..6)];
                entry[13] = rng.random_range(0..most);
                let length = match rng.random_range(0..12) {
                    0..4 => None,
                    4 => Some(rng.random_range(1900..2200)),
                    _ => Some(rng.random_range(14..400)),
                };
                let kind = rng.random_range(0..3);
                let fields = [
                    ("context", context as u64),
                    ("kind", kind),
                    ("frame", next_frame % 65536),
                    ("hpu", target as u64),
                    ("has_packet", length.is_some().into()),
                    ("length", length.unwrap_or(77)),
                ];
                offered = Some((context, entry, kind, length, pack_random("task_desc", &fields, &mut rng)));
            }
            let quick = now / 3000 % 2 == 0;
            let often = |rng: &mut rand_chacha::ChaCha8Rng| quick || rng.random_range(0..3) == 0;
            dut.task.valid.set(offered.is_some());
            if let Some((_, entry, kind, _, desc)) = &offered {
                dut.task.desc.set_bytes(desc);
                // Of the entry points only that of the handler.
                let members = std::iter::once(*kind as usize).chain(3..14).map(|i| (entry[i], ENTRY_WIDTHS[i]));
                dut.task.context.set_bytes(&bits(&members.collect::<Vec<_>>()));
            }
            let install = rng.random_range(0..60) == 0;
            let installed = rng.random_range(0..3usize);
            dut.installed.valid.set(install);
            dut.installed.set(installed);
            // A slot that is offered stays until it is taken.
            if free_slot.is_none() && often(&mut rng) {
                free_slot = Some(rng.random_range(0..12u64));
            }
            dut.slot.offer(free_slot);
            let slot = free_slot.unwrap_or(0);
            dut.launch_bank.set((0..HPUS as usize).fold(0, |bits, hpu| bits | banks[hpu] << (2 * hpu)));
            for ready in [&dut.packet_ready, &dut.page.ready, &dut.scrub.ready] {
                ready.set(often(&mut rng));
            }
            // Its packet may be there as soon as the task is.
            let arrives = left > 0 && often(&mut rng);
            dut.load_valid.set(arrives);
            dut.load_last.set(left == 1);
            dut.eval();
            // A page gives way to a packet.
            if dut.packet_write.is_high() {
                dut.page.ready.set(false);
            }
            if dut.packet_write.is_high() || dut.page.write.is_high() {
                dut.scrub.ready.set(false);
            }
            dut.eval();

            // What is written.
            let writes = dut.region_write.number();
            if writes != 0 {
                let (hpu, region) = (writes.trailing_zeros() as usize, dut.region.bytes());
                let [target, base, bound, readable, writable] =
                    [(0, 3), (3, 20), (23, 21), (44, 1), (45, 1)].map(|(at, width)| slice(&region, at, width));
                regions.insert((hpu, dut.region_index.number()), [target, base, bound, readable, writable]);
            }
            if dut.page.write.is_high() && dut.page.ready.is_high() {
                pages.insert(dut.page.beat.number(), (now, dut.page.half.number()));
            }
            if dut.packet_write.is_high() && dut.packet_ready.is_high() {
                assert!(arrives);
                beats.push((now, dut.packet_beat.number()));
                left -= 1;
            }
            if dut.scrub.write.is_high() && dut.scrub.ready.is_high() {
                scrubs.push(dut.scrub.beat.number());
            }
            // The launch.
            let launches = dut.launch_valid.number();
            if launches != 0 {
                let mut launched = task.take().expect("a task is loaded");
                assert_eq!(launches, 1 << launched.place.0);
                let launch = dut.launch.bytes();
                let [code_base, code_size, watchdog] = [3, 4, 10].map(|i| launched.entry[i] as u32);
                let expected = Start {
                    entry: launched.entry[launched.kind as usize] as u32,
                    a0: slice(&launch, 26, 32) as u32,
                    completes: launched.kind == 2,
                    flow_control: slice(&launch, 59, 1) == 1,
                    code_base: code_base & !(CODE_ALIGN as u32 - 1),
                    code_size,
                    watchdog,
                    frame: launched.frame as u16,
                    ..Default::default()
                };
                assert_eq!(launch, expected.launch());
                assert_eq!(dut.desc.bytes(), launched.desc, "the task that page and records get");
                assert_eq!(dut.packet_size.number(), launched.size);
                assert_eq!(dut.packet_bound.number(), launched.bound());
                assert_eq!(scrubs, launched.scrubs, "what is zeroed for frame {}", launched.frame);
                scrubs.clear();
                early += usize::from(now == launched.accepted + 2);
                launched.launched = Some(now);
                waiting[launched.place.0] = rng.random_range(1..30);
                banks[launched.place.0] = (banks[launched.place.0] + 1) % 4;
                looks.push_back(launched);
            }
            // The first look of the handler.
            while looks.front().is_some_and(|task| task.launched == Some(now - FIRST_LOOK + 1)) {
                let done = looks.pop_front().expect("one looks");
                let (hpu, bank) = done.place;
                let place = 4 * hpu as u64 + bank;
                let [code_base, code_size, state_base, state_size] = [3, 4, 5, 6].map(|i| done.entry[i]);
                let wanted = [
                    (map::CODE, [CODE, code_base, code_size, 1, 0]),
                    (map::PACKET, [L1, 2048 * done.slot, done.bound(), 1, 1]),
                    (map::SCRATCH, [L1, done.entry[11], done.entry[12], 1, 1]),
                    (map::CONTEXT, [L2, state_base, state_size, 1, 1]),
                    (map::STACK, [L1, L1_STACK_BASE as u64 + stack * place, stack, 1, 1]),
                    (map::TASK, [L1, L1_TASK_BASE as u64 + 128 * place, 128, 1, 0]),
                    (map::COMMAND, [COMMAND, 0, u64::from(map::COMMAND_PORT_BYTES), 1, 1]),
                ];
                for (region, wanted) in wanted {
                    let mut is = regions[&(hpu, 8 * bank + u64::from(region))];
                    if region == map::PACKET && done.size == 0 {
                        // No packet: the bound says it, wherever it would lie.
                        is[1] = wanted[1];
                    }
                    assert_eq!(is, wanted, "region {region} of frame {} in cycle {now}", done.frame);
                }
                let in_time = now - SETTLES;
                for half in 0..2 {
                    let (at, of) = pages[&(L1_TASK_BASE as u64 / 64 + 2 * place + half)];
                    assert!(of == half && at > done.accepted && at <= in_time, "page of frame {}", done.frame);
                }
                let mine: Vec<_> = beats.drain(..done.size.div_ceil(64) as usize).collect();
                assert!(mine
                    .iter()
                    .enumerate()
                    .all(|(i, beat)| beat.1 == 32 * done.slot + i as u64 && beat.0 <= in_time));
                seen += 1;
            }
            // The next task.
            if let Some((context, entry, kind, length, desc)) = offered.take_if(|_| dut.task.ready.is_high()) {
                assert!(task.is_none() && left == 0);
                left = length.unwrap_or(0).min(2048).div_ceil(64);
                task = Some(Task {
                    accepted: now,
                    context,
                    entry,
                    desc,
                    kind,
                    frame: next_frame % 65536,
                    size: length.unwrap_or(0).min(2048),
                    slot,
                    place: (usize::MAX, 0),
                    scrubs: vec![],
                    launched: None,
                });
                assert_eq!(dut.slot.ready.is_high(), length.is_some());
                assert!(free_slot.is_some(), "a task is taken while no slot is free");
                next_frame += 1;
            }
            if install {
                dirty[installed] = true;
            }
            if dut.slot.moves() {
                free_slot = None;
            }
            dut.tick();
            waiting.iter_mut().for_each(|waiting| *waiting = waiting.saturating_sub(1));
            // Where it goes is known in the cycle after; what is to be zeroed follows from that.
            if let Some(task) = task.as_mut().filter(|task| task.accepted == now) {
                let (hpu, bank) = (dut.hpu.number() as usize, dut.bank.number());
                assert!(hpu == target && banks[hpu] == bank, "HPU {hpu} takes a task in its bank {bank}");
                task.place = (hpu, bank);
                // The tailroom is zeroed first, from the first beat after the packet to the end of the region.
                let slot = 32 * task.slot;
                task.scrubs.extend(slot + task.size.div_ceil(64)..slot + task.bound().div_ceil(64));
                tails += usize::from(!task.scrubs.is_empty());
                if owners[hpu][bank as usize].replace(task.context) != Some(task.context) {
                    let first = (L1_STACK_BASE as u64 + stack * (4 * hpu as u64 + bank)) / 64;
                    task.scrubs.extend(first..first + stack / 64);
                }
                if std::mem::take(&mut dirty[task.context]) {
                    task.scrubs.extend((0..task.entry[12] / 64).map(|beat| task.entry[11] / 64 + beat));
                }
                waiting[hpu] = waiting[hpu].max(1);
            }
        }
        assert!(
            seen > 300 && early > 10 && tails > 100,
            "{seen} tasks, {early} launched as early as can be, {tails} with a tailroom"
        );
    });
}
