//! The cases of the pins at the ports of the NIC alone, whose wire pads frames as a MAC does: what fails here is no fault of a shell.

use super::cases::{self, cases};
use super::driver::{answers_pings, driver_of, puts_interrupt};
use spindle_contract::params::Config;
use spindle_contract::pci::VECTORS;
use spindle_shell_bench::shell::{Driver, Frame, MessageSink, Shell, ShellCard};
use spindle_sim::{Options, SimDevice, WireFrame};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Messages so far, and who gets them.
type Messages = ([u64; VECTORS], Option<MessageSink>);

struct NicBench {
    sim: SimDevice,
    incoming: VecDeque<Frame>,
    arrived: Vec<Frame>,
    sent: Vec<Frame>,
    looped: bool,
    messages: Arc<Mutex<Messages>>,
}

impl NicBench {
    fn new() -> Self {
        let source = spindle_sim::source(&Config::SIM).unwrap();
        let mut sim = SimDevice::new(&source, &Config::SIM, Options::default()).unwrap();
        let messages = Arc::new(Mutex::new(([0; VECTORS], None::<MessageSink>)));
        let counted = messages.clone();
        sim.set_interrupts(Some(Box::new(move |vectors| {
            let mut messages = counted.lock().unwrap_or_else(PoisonError::into_inner);
            for vector in (0..VECTORS).filter(|vector| vectors >> vector & 1 == 1) {
                messages.0[vector] += 1;
                if let Some(sink) = &mut messages.1 {
                    sink(vector);
                }
            }
        })));
        let (incoming, arrived, sent) = (VecDeque::new(), vec![], vec![]);
        Self { sim, incoming, arrived, sent, looped: false, messages }
    }

    fn messages(&self) -> MutexGuard<'_, Messages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Frames of the wire, and frames for it.
    fn exchange(&mut self) {
        for frame in self.incoming.drain(..) {
            self.sim.inject(WireFrame { bytes: frame.bytes, gap: 0, bad: frame.bad });
        }
        if self.sim.sent_count() == 0 {
            return;
        }
        for mut frame in self.sim.take_sent() {
            frame.bytes.resize(frame.bytes.len().max(60), 0);
            let frame = Frame { bytes: frame.bytes, bad: false, at: frame.first };
            if self.looped {
                self.incoming.push_back(frame.clone());
            }
            self.sent.push(frame);
        }
    }
}

impl Shell for NicBench {
    fn read_register(&mut self, address: u64) -> Option<u32> {
        self.exchange();
        Some(self.sim.read32(address as u32).unwrap_or(u32::MAX))
    }

    fn write_register(&mut self, address: u64, value: u32) -> Option<()> {
        self.exchange();
        self.sim.write32(address as u32, value).ok()
    }

    fn run(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.exchange();
            self.sim.step();
        }
    }

    fn reset(&mut self) {
        self.sim.reset().unwrap();
    }

    fn enable_messages(&mut self) {}

    fn set_messages(&mut self, sink: MessageSink) {
        self.messages().1 = Some(sink);
    }

    fn messages(&self) -> [u64; VECTORS] {
        NicBench::messages(self).0
    }

    fn read_memory(&mut self, address: u64, bytes: &mut [u8]) {
        self.sim.memory().read(address, bytes);
    }

    fn write_memory(&mut self, address: u64, bytes: &[u8]) {
        self.sim.memory().write(address, bytes);
    }

    fn incoming(&mut self) -> &mut VecDeque<Frame> {
        &mut self.incoming
    }

    fn arrived(&mut self) -> &mut Vec<Frame> {
        &mut self.arrived
    }

    fn sent(&mut self) -> &mut Vec<Frame> {
        self.exchange();
        &mut self.sent
    }

    fn set_loop(&mut self, looped: bool) {
        self.looped = looped;
    }
}

fn opened() -> (ShellCard<NicBench>, Driver<NicBench>) {
    let card = ShellCard::new(NicBench::new());
    let driver = driver_of(&card);
    (card, driver)
}

#[test]
fn a_handler_is_loaded_and_answers_pings() {
    let (card, mut driver) = opened();
    answers_pings(&card, &mut driver, 32);
}

#[test]
fn a_put_reaches_a_mailbox_and_interrupts() {
    let (card, mut driver) = opened();
    puts_interrupt(&card, &mut driver, 20_000);
}

cases!(opened());
