//! An I²C bus with a PCA9548 (0x74) and, on its channel 7, a Si5324 (0x68): devices that look at the lines alone.

use std::collections::BTreeMap;

/// What a device does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Faults {
    /// So many bytes for the Si5324 are not acknowledged.
    pub refuse: u32,
    /// The clock line is held for so many steps after each byte.
    pub stretch: u32,
    /// The data line is held until so many clocks have come.
    pub hold_data: u32,
    /// The data line is held, whatever comes.
    pub stuck_data: bool,
    /// The clock line is held, whatever comes.
    pub stuck_clock: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Idle,
    Address,
    Write,
    /// Addressed for a read; the acknowledgement is under way.
    Asked,
    Read,
    /// Not addressed, or refused: until the next start or stop.
    Deaf,
}

pub struct Bus {
    pub faults: Faults,
    /// Open channels of the multiplexer.
    pub channels: u8,
    pub registers: BTreeMap<u8, u8>,
    /// Every byte that was written to a register, in order.
    pub written: Vec<(u8, u8)>,
    pub starts: usize,
    pub stops: usize,
    phase: Phase,
    device: u8,
    bits: u32,
    shift: u8,
    pointer: Option<u8>,
    scl: bool,
    sda: bool,
    /// The devices pull the data line.
    pulls: bool,
    stretching: u32,
    /// Steps with the clock line high or low, for the bus's timing.
    since: u64,
    pub shortest: u64,
}

impl Bus {
    pub fn new() -> Self {
        Self {
            faults: Faults::default(),
            channels: 0,
            registers: BTreeMap::new(),
            written: vec![],
            starts: 0,
            stops: 0,
            phase: Phase::Idle,
            device: 0,
            bits: 0,
            shift: 0,
            pointer: None,
            scl: true,
            sda: true,
            pulls: false,
            stretching: 0,
            since: 1000,
            shortest: u64::MAX,
        }
    }

    /// Power-up state of both chips.
    pub fn reset(&mut self) {
        self.channels = 0;
        self.registers.clear();
        self.phase = Phase::Idle;
        self.pulls = false;
        self.pointer = None;
    }

    /// The lines, given which of them the master pulls low.
    pub fn lines(&self, scl_low: bool, sda_low: bool) -> (bool, bool) {
        let faults = &self.faults;
        let scl = !(scl_low || self.stretching > 0 || faults.stuck_clock);
        let sda = !(sda_low || self.pulls || faults.hold_data > 0 || faults.stuck_data);
        (scl, sda)
    }

    /// One step of time.
    pub fn step(&mut self, scl_low: bool, sda_low: bool) {
        self.stretching = self.stretching.saturating_sub(u32::from(!scl_low));
        let (scl, sda) = self.lines(scl_low, sda_low);
        self.since += 1;
        if scl != self.scl {
            self.shortest = self.shortest.min(self.since);
            self.since = 0;
        }
        match (self.scl, scl) {
            (true, true) if self.sda && !sda => {
                self.starts += 1;
                (self.phase, self.bits, self.shift, self.pulls) = (Phase::Address, 0, 0, false);
            }
            (true, true) if !self.sda && sda => {
                self.stops += 1;
                (self.phase, self.pulls) = (Phase::Idle, false);
            }
            (false, true) => self.rises(sda),
            (true, false) => self.falls(),
            _ => {}
        }
        (self.scl, self.sda) = (scl, self.lines(scl_low, sda_low).1);
    }

    fn rises(&mut self, sda: bool) {
        self.faults.hold_data = self.faults.hold_data.saturating_sub(1);
        self.bits += 1;
        if self.bits <= 8 {
            self.shift = self.shift << 1 | u8::from(sda);
        } else if self.phase == Phase::Read {
            // Not acknowledged by the master: the read is over.
            assert!(sda, "the master acknowledges the only byte that it wants");
            self.phase = Phase::Deaf;
        }
    }

    /// The clock falls: devices may move the data line.
    fn falls(&mut self) {
        if self.bits == 9 {
            (self.bits, self.shift) = (0, 0);
            if self.phase == Phase::Asked {
                self.phase = Phase::Read;
            }
        }
        if self.phase == Phase::Read && self.bits < 8 {
            let value = self.pointer.and_then(|p| self.registers.get(&p)).copied().unwrap_or(0xFF);
            self.pulls = value >> (7 - self.bits) & 1 == 0;
            return;
        }
        self.pulls = false;
        if self.bits == 8 {
            self.stretching = self.faults.stretch;
            self.pulls = self.byte();
        }
    }

    /// A byte is complete; whether it is acknowledged.
    fn byte(&mut self) -> bool {
        match self.phase {
            Phase::Address => {
                self.device = self.shift >> 1;
                let reads = self.shift & 1 == 1;
                let known = self.device == 0x74 && !reads || self.device == 0x68 && self.channels & 0x80 != 0;
                if !known || self.refuses() {
                    self.phase = Phase::Deaf;
                    return false;
                }
                if reads {
                    self.phase = Phase::Asked;
                } else {
                    self.phase = Phase::Write;
                    self.pointer = None;
                }
                true
            }
            Phase::Write => {
                if self.refuses() {
                    self.phase = Phase::Deaf;
                    return false;
                }
                match (self.device, self.pointer) {
                    (0x74, _) => self.channels = self.shift,
                    (_, None) => self.pointer = Some(self.shift),
                    (_, Some(pointer)) => {
                        self.registers.insert(pointer, self.shift);
                        self.written.push((pointer, self.shift));
                        self.pointer = Some(pointer + 1);
                    }
                }
                true
            }
            _ => false,
        }
    }

    fn refuses(&mut self) -> bool {
        let refuses = self.faults.refuse > 0;
        self.faults.refuse = self.faults.refuse.saturating_sub(1);
        refuses
    }
}
