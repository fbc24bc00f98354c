//! Registers at the AXI4-Lite port: a memory of words with delays, errors and silence.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::tlp::TlpBridge;
use spindle_harness::Dut;
use std::collections::HashMap;

/// The registers.
pub struct Registers {
    rng: ChaCha8Rng,
    /// Most cycles until an answer.
    pub delay: u64,
    /// Addresses that answer with an error, and that do not answer until `awake`.
    pub errors: Vec<u32>,
    pub silent: Vec<u32>,
    pub awake: bool,
    pub words: HashMap<u32, u32>,
    /// Every access: address, and strobes of a write.
    pub log: Vec<(u32, Option<u8>)>,
    aw: Option<u32>,
    w: Option<(u32, u8)>,
    answer: Option<(bool, u32, u64, bool)>,
    valid: [bool; 2],
    ready: [bool; 3],
    held: [Option<u64>; 3],
    /// Cycles of the newest address and answer.
    pub asked: u64,
    pub answered: u64,
}

/// What a register holds at first.
pub fn initial(address: u32) -> u32 {
    (address >> 2).wrapping_mul(0x9E37_79B1) ^ 0x5A5A_1234
}

impl Registers {
    pub fn new(rng: ChaCha8Rng) -> Self {
        Self {
            rng,
            delay: 0,
            errors: vec![],
            silent: vec![],
            awake: false,
            words: HashMap::new(),
            log: vec![],
            aw: None,
            w: None,
            answer: None,
            valid: [false; 2],
            ready: [true; 3],
            held: [None; 3],
            asked: 0,
            answered: 0,
        }
    }

    pub fn word(&self, address: u32) -> u32 {
        self.words.get(&address).copied().unwrap_or_else(|| initial(address))
    }

    pub fn drive(&mut self, dut: &Dut<TlpBridge>) {
        let due = self
            .answer
            .filter(|(_, address, due, _)| *due <= dut.cycle() && (self.awake || !self.silent.contains(address)));
        if let Some((write, address, _, error)) = due {
            self.valid = [write, !write];
            dut.bar.bresp.set(if error { 3 } else { 0 });
            dut.bar.rresp.set(if error { 3 } else { 0 });
            let word = if error { 0x0BAD_F00D } else { self.word(address) };
            dut.bar.rdata.set(word);
        }
        dut.bar.bvalid.set(self.valid[0]);
        dut.bar.rvalid.set(self.valid[1]);
        let open = self.answer.is_none();
        let willing = |rng: &mut ChaCha8Rng, delay: u64| delay == 0 || rng.random_range(0..3) == 0;
        self.ready = std::array::from_fn(|_| open && willing(&mut self.rng, self.delay));
        self.ready[0] &= self.aw.is_none();
        self.ready[1] &= self.w.is_none();
        dut.bar.awready.set(self.ready[0]);
        dut.bar.wready.set(self.ready[1]);
        dut.bar.arready.set(self.ready[2]);
    }

    pub fn sample(&mut self, dut: &Dut<TlpBridge>) {
        let bar = &dut.bar;
        let valid = [bar.awvalid.is_high(), bar.wvalid.is_high(), bar.arvalid.is_high()];
        let payload = [bar.awaddr.number(), bar.wdata.number() << 4 | bar.wstrb.number(), bar.araddr.number()];
        for i in 0..3 {
            if let Some(held) = self.held[i] {
                assert!(valid[i] && payload[i] == held, "channel {i} of the register bus changed before it was taken");
            }
            self.held[i] = (valid[i] && !self.ready[i]).then_some(payload[i]);
        }
        let moves: [bool; 3] = std::array::from_fn(|i| valid[i] && self.ready[i]);
        if valid[0] || valid[2] {
            self.asked = if moves[0] || moves[2] { dut.cycle() } else { self.asked };
        }
        if self.valid[0] && bar.bready.is_high() || self.valid[1] && bar.rready.is_high() {
            (self.answer, self.valid) = (None, [false; 2]);
            self.answered = dut.cycle();
        }
        let due = dut.cycle() + 1 + if self.delay > 0 { self.rng.random_range(0..=self.delay) } else { 0 };
        if moves[0] {
            self.aw = Some(payload[0] as u32);
        }
        if moves[1] {
            self.w = Some(((payload[1] >> 4) as u32, payload[1] as u8 & 15));
        }
        if let (Some(address), Some((data, strobes))) = (self.aw, self.w) {
            (self.aw, self.w) = (None, None);
            let mask = (0..4).fold(0, |mask, i| mask | if strobes >> i & 1 == 1 { 0xFF << (8 * i) } else { 0 });
            let error = self.errors.contains(&address);
            if !error {
                self.words.insert(address, self.word(address) & !mask | data & mask);
            }
            self.log.push((address, Some(strobes)));
            self.answer = Some((true, address, due, error));
        }
        if moves[2] {
            let address = payload[2] as u32;
            assert!(self.answer.is_none(), "two accesses at once");
            self.log.push((address, None));
            self.answer = Some((false, address, due, self.errors.contains(&address)));
        }
    }
}
