//! Accesses of any register at any time: the NIC answers each one, counts the frames that arrive meanwhile, and after its
//! reset works as after power-on.

use crate::bench::{at_once, example, Nic};
use spindle::rule_table::Action;
use spindle::{ContextOptions, Image};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::registers::{doorbell, global, hpu, node, packet, rvma, trace, BAR_BITS, PAGE};
use spindle_fuzz::Source;
use spindle_model::frames::{spindle, udp, Ends, SpindleHeader};
use spindle_sim::{Options, WireFrame};

/// Cases after which the NIC is reset and tried.
const BATCH: usize = 256;
/// Cycles within which frames under way come to their end.
const PATIENCE: u64 = 50_000;
/// Cycles of an access; of a unit that does not answer the NIC gives up after 1024.
const PROMPT: u64 = 1000;
/// The reset is a write of its own: not in every batch, so that the counters of frames can be compared.
const RESET: u32 = global::BASE + global::RESET;

/// Any register, most often one of a page that exists.
fn address(source: &mut Source) -> u32 {
    let pages = [global::BASE, packet::BASE, hpu::BASE, rvma::BASE, node::BASE, trace::BASE, doorbell::BASE];
    let most = if source.chance(4) { 1024 } else { 80 };
    let address = match source.below(8) {
        0 => source.word() & ((1 << BAR_BITS) - 1),
        1 => doorbell::BASE + source.below(64) as u32 * PAGE + source.below(64) as u32 * 4,
        _ => source.pick(&pages) + source.below(most) as u32 * 4,
    };
    address & !3 & ((1 << BAR_BITS) - 1)
}

struct Bench {
    nic: Nic,
    image: Image,
    injected: u32,
    was_reset: bool,
    cases: usize,
}

impl Bench {
    fn new() -> Bench {
        let (nic, image) = (Nic::new(Options::default()), example("ping_pong"));
        let mut bench = Bench { nic, image, injected: 0, was_reset: false, cases: 0 };
        bench.set_up();
        bench
    }

    /// A handler, a mailbox with a buffer, and reception.
    fn set_up(&mut self) {
        let device = &mut self.nic.device;
        let context = device.install(&self.image, &ContextOptions::default()).expect("there is room");
        device.add_rule(&"udp.dport == 9".parse().expect("a rule"), Action::Context(context)).expect("there is room");
        device.add_rule(&"spindle".parse().expect("a rule"), Action::Mailbox).expect("there is room");
        device.activate(context).expect("the NIC answers");
        let window = device.init_window(0, 7, 7, 64).expect("there is room");
        device.post_buffer(window, 4096).expect("there is room");
        device.set_receive(true).expect("the NIC answers");
        self.injected = 0;
        self.was_reset = false;
        self.cases = 0;
    }

    /// One access; true: it was carried out, and not refused.
    fn access(&mut self, source: &mut Source) -> bool {
        let (address, value, write) = (address(source), source.word(), source.chance(2));
        let mut sim = self.nic.card.sim();
        if write && address == RESET {
            if !source.chance(4) {
                return false;
            }
            self.was_reset = true;
        }
        let begin = sim.cycle();
        let done = if write { sim.write32(address, value) } else { sim.read32(address).map(drop) };
        let cycles = sim.cycle() - begin;
        assert!(
            cycles < PROMPT,
            "register {address:#x}: an answer after {cycles} cycles, when the NIC gave its unit up"
        );
        if let Err(error) = &done {
            // An answer that says no is an answer.
            assert!(error.to_string().contains("was refused"), "{error:#}");
        }
        done.is_ok()
    }

    fn frame(&mut self, source: &mut Source) {
        let payload = source.bytes(100);
        let bytes = match source.below(3) {
            0 => udp(&Ends::default(), 1, 9, &payload),
            1 => udp(&Ends::default(), 1, 10, &payload),
            _ => {
                let length = payload.len() as u32;
                let header = SpindleHeader {
                    addr: 7,
                    key: 7,
                    msg_id: source.word(),
                    msg_len: length,
                    payload_len: length as u16,
                    ..SpindleHeader::default()
                };
                spindle(&Ends::default(), 50_000, SPINDLE_PORT, &header, &payload)
            }
        };
        self.nic.card.sim().inject(WireFrame { bytes, gap: source.below(8) as u64, bad: false });
        self.injected += 1;
    }

    /// Frames were counted; after a reset the NIC works.
    fn check(&mut self) {
        {
            let mut sim = self.nic.card.sim();
            let entered = sim.run_until(PATIENCE, |sim| sim.pending() == 0);
            assert!(entered, "the NIC takes each frame of the wire");
            sim.run(PATIENCE / 8);
        }
        let stats = self.nic.device.stats().expect("the NIC answers");
        if !self.was_reset {
            assert_eq!(stats.frames_in, self.injected, "frames that entered");
            let ended = u64::from(stats.frames_handled) + u64::from(stats.frames_placed) + stats.dropped();
            assert!(ended <= u64::from(stats.frames_in), "no frame ends twice: {stats:?}");
        }
        // Whether the host had to answer something until then does not matter.
        self.nic.device.reset().expect("the reset ends");
        {
            let mut sim = self.nic.card.sim();
            sim.run(300);
            let violations = sim.memory().violations.clone();
            assert_eq!(violations, Vec::<String>::new());
            sim.memory().memory = Default::default();
            sim.take_sent();
            sim.take_interrupts();
        }
        self.set_up();
        let frames: Vec<Vec<u8>> = (1..9u8).map(|byte| udp(&Ends::default(), 1, 9, &vec![byte; byte.into()])).collect();
        let played = self.nic.play(at_once(&frames));
        assert_eq!((played.sent.len(), played.drop_names()), (frames.len(), vec![]));
        self.nic.assert_empty();
        self.injected = played.stats.frames_in;
    }
}

#[test]
fn fuzz_register() {
    let mut bench = Bench::new();
    spindle_fuzz::run("register", 512, |source| {
        let mut taken = false;
        for _ in 0..1 + source.below(4) {
            if source.chance(3) {
                bench.frame(source);
            }
            taken |= bench.access(source);
            let gap = source.below(40) as u64;
            bench.nic.card.sim().run(gap);
        }
        bench.cases += 1;
        if bench.cases == BATCH {
            bench.check();
        }
        taken
    });
    bench.check();
}
