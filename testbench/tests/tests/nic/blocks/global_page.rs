//! The global page alone, against the words of the contract: any access in any cycle, the time and its halves, the vectors of
//! processes.

use crate::nic::blocks::Slave;
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle_blocks::desc::CsrRequest;
use spindle_contract::params::Config;
use spindle_contract::registers::{global, identity};
use spindle_harness::{near, run_with_wave_on_failure, share, Dut};
use spindle_nic::GlobalPage;
use spindle_verilog::prelude::bits;
use std::collections::BTreeMap;

/// Bits of an address in the BAR.
const ADDRESS: u32 = 20;
/// Registers whose words are not those of the configuration.
const OTHERS: [u32; 6] =
    [global::CYCLE_LO, global::CYCLE_HI, global::SCRATCH, global::IRQ_MAP, global::IRQ_CARD, global::IRQ_WAITING];
/// A time of which all bits change soon.
const LATE: u64 = 0x7FFF_FFFF_FFFF_FE00;

/// The registers that are not constant, and the time.
#[derive(Default)]
struct Model {
    cycle: u64,
    latched: u32,
    scratch: u32,
    masks: u32,
}

impl Model {
    fn new(cycle: u64) -> Self {
        Model { cycle, masks: global::IrqCard::RESET.0, ..Model::default() }
    }
}

/// Random accesses of the page of this configuration, whose time begins here.
fn plays(name: &str, config: &Config, page: fn(&Config) -> GlobalPage, top: &str, time: u64) {
    run_with_wave_on_failure(name, |wave| {
        let mut rng = wave.rng();
        let dut = Dut::new(wave, page(config), top);
        let words: BTreeMap<u32, u32> = identity(config).collect();
        let all: Vec<u32> = words.keys().copied().chain(OTHERS).collect();
        let mut model = Model::new(time);
        let mut slave = Slave::default();
        let (mut halves, mut errors, mut routes) = (0, 0, 0);
        for cycle in 0..share(30_000) as u64 {
            if cycle % 800 == 799 {
                slave.request(&mut rng, &dut.csr, None);
                if slave.request.is_none() {
                    dut.reset();
                    model = Model::new(time);
                }
            }
            let next = rng.random_bool(0.5).then(|| {
                let frequent = if rng.random() { &all[..] } else { &OTHERS[..] };
                let register = *frequent.choose(&mut rng).expect("registers");
                // The register slave aligns every address.
                let addr = bits(near(&mut rng, u64::from(register / 4), ADDRESS - 2, 5) << 2);
                CsrRequest { valid: true, write: rng.random(), addr, wdata: bits(rng.random::<u32>()) }
            });
            let waiting: u16 = rng.random();
            dut.waiting.set(waiting);
            slave.request(&mut rng, &dut.csr, next);
            dut.eval();

            assert_eq!(dut.cycle.number() as u32, model.cycle as u32, "cycle {cycle}");
            assert_eq!(dut.masks.number() as u32, model.masks, "cycle {cycle}");
            let mut route = None;
            if let Some(request) = slave.seen(dut.csr_answer.get()) {
                let (address, word) = (request.addr.to_u64() as u32, request.wdata.to_u64() as u32);
                let read = match address {
                    global::CYCLE_LO => Some(model.cycle as u32),
                    global::CYCLE_HI => Some(model.latched),
                    global::SCRATCH => Some(model.scratch),
                    global::IRQ_MAP => Some(0),
                    global::IRQ_CARD => Some(model.masks),
                    global::IRQ_WAITING => Some(waiting.into()),
                    _ => words.get(&address).copied(),
                };
                errors += usize::from(read.is_none());
                slave.due =
                    Some((read.is_none(), (read.is_none() || !request.write).then(|| read.unwrap_or(0).into())));
                match (address, request.write) {
                    (global::CYCLE_LO, false) => {
                        halves += usize::from(model.latched != (model.cycle >> 32) as u32);
                        model.latched = (model.cycle >> 32) as u32;
                    }
                    (global::SCRATCH, true) => model.scratch = word,
                    (global::IRQ_CARD, true) => model.masks = word & 3,
                    (global::IRQ_MAP, true) => route = Some(global::IrqMap(word)),
                    _ => {}
                }
            }
            let found = dut.route.offered().map(|process| (process.to_u64() as u32, dut.route_vector.number() as u32));
            assert_eq!(found, route.map(|route| (route.process(), route.vector())), "cycle {cycle}");
            routes += usize::from(route.is_some());
            model.cycle = model.cycle.wrapping_add(1);
            dut.tick();
        }
        assert!(errors > 200 && routes > 50, "{errors} errors, {routes} vectors");
        assert!(time == 0 || halves > 4, "{halves} times another half");
    });
}

#[test]
fn answers_are_the_words_of_the_contract() {
    for config in Config::ALL {
        plays(&format!("global_page_{}", config.name), &config, GlobalPage::new, "global_page", 0);
    }
}

/// The time crosses 2^63.
#[test]
fn the_halves_of_a_late_time_belong_together() {
    let page = |config: &Config| GlobalPage::starting_at(config, LATE);
    plays("global_page_late", &Config::SIM, page, "global_page_late", LATE);
}
