//! Bus-functional model of `pcie_7x` with a host: the naive root complex of the bridge's own tests, at the pins of a shell.

use crate::tlp::bars::{read, write, MSIX};
use crate::tlp::link::{Core, Link, LinkPace};
use crate::tlp::packet::{Completion, Packet, Request};
use crate::tlp::root::Root;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use spindle_contract::pci::VECTORS;
use spindle_harness::Model;
use spindle_shell_bench::pins;
use spindle_shell_bench::shell::MessageSink;

pins! { Pins "pcie7_"
    user_reset_out user_lnk_up tx_buf_av fc_nph pl_ltssm_state
    s_axis_tx_tdata s_axis_tx_tkeep s_axis_tx_tlast s_axis_tx_tuser s_axis_tx_tvalid s_axis_tx_tready
    m_axis_rx_tdata m_axis_rx_tuser m_axis_rx_tvalid m_axis_rx_tready
    cfg_command cfg_dcommand cfg_bus_number cfg_device_number cfg_function_number
    cfg_interrupt_msixenable cfg_interrupt_msixfm
}

/// Where messages of MSI-X go.
const MESSAGES: u64 = 0xFEE0_0000;

/// The pins of packets.
struct Beats<'a> {
    pins: Pins,
    model: &'a mut Model,
    cycle: u64,
}

impl Core for Beats<'_> {
    fn offer(&mut self, beat: Option<&([u32; 4], u32)>, fresh: bool) {
        if let (Some((lanes, user)), true) = (beat, fresh) {
            self.model.set_bytes(self.pins.m_axis_rx_tdata, &lanes.map(u32::to_le_bytes).concat());
            self.model.set(self.pins.m_axis_rx_tuser, (*user).into());
        }
        self.model.set(self.pins.m_axis_rx_tvalid, beat.is_some().into());
    }

    fn set_ready(&mut self, ready: bool) {
        self.model.set(self.pins.s_axis_tx_tready, ready.into());
    }

    fn takes(&self) -> bool {
        self.model.is_set(self.pins.m_axis_rx_tready)
    }

    fn offered(&self) -> Option<(Vec<u8>, u64, bool)> {
        assert_eq!(self.model.get(self.pins.s_axis_tx_tuser), 0);
        let data = || self.model.get_bytes(self.pins.s_axis_tx_tdata).to_vec();
        self.model
            .is_set(self.pins.s_axis_tx_tvalid)
            .then(|| (data(), self.model.get(self.pins.s_axis_tx_tkeep), self.model.is_set(self.pins.s_axis_tx_tlast)))
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }
}

/// The model. One call of [`drive`](Self::drive) and one of [`sample`](Self::sample) for each edge of `user_clk_out`.
pub struct Pcie7 {
    pins: Pins,
    packets: Link,
    pub root: Root,
    /// The core is out of reset.
    pub running: bool,
    /// The link is up.
    link: bool,
    /// The host has enabled MSI-X.
    pub msix: bool,
    /// Messages so far, by vector.
    pub sent: [u64; VECTORS],
    /// Gets the messages.
    pub messages: Option<MessageSink>,
    answer: Option<Completion>,
    cycle: u64,
}

impl Pcie7 {
    pub fn new(model: &Model, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut part = || ChaCha8Rng::seed_from_u64(random.random());
        let packets = Link::new(LinkPace { rx: 90, tx: 80, straddle: 50 }, part());
        let mut root = Root::new(part());
        root.message_page = Some(MESSAGES / 4096);
        Self {
            pins: Pins::of(model),
            packets,
            root,
            running: false,
            link: true,
            msix: false,
            sent: [0; VECTORS],
            messages: None,
            answer: None,
            cycle: 0,
        }
    }

    /// PERST: everything on the link is gone.
    pub fn reset(&mut self) {
        (self.running, self.msix, self.answer) = (false, false, None);
        self.packets.reset();
        self.root.reset();
    }

    /// The link goes down, with everything on it, or comes back: the host gives the function its settings again.
    pub fn set_link(&mut self, up: bool) {
        self.reset();
        (self.running, self.link) = (true, up);
    }

    /// Begins a read of a register.
    pub fn read(&mut self, address: u64) {
        self.packets.send(read(address).packet());
    }

    /// Writes a register: posted.
    pub fn write(&mut self, address: u64, value: u32) {
        self.packets.send(write(address, value).packet());
    }

    /// Writes a vector into the table of MSI-X, and unmasks it.
    pub fn set_vector(&mut self, vector: usize) {
        let words = [MESSAGES as u32, 0, vector as u32, 0];
        for (i, word) in words.into_iter().enumerate() {
            let request = write((16 * vector + 4 * i) as u64, word);
            self.packets.send(Request { bars: MSIX, ..request }.packet());
        }
    }

    /// The word of the read that was begun; all ones if it failed.
    pub fn take_answer(&mut self) -> Option<u32> {
        let answer = self.answer.take()?;
        let data = answer.data.filter(|_| answer.status == 0);
        Some(data.map_or(u32::MAX, |data| u32::from_le_bytes(data.try_into().expect("a DW"))))
    }

    /// Packets of the host that have not left.
    pub fn pending(&self) -> usize {
        self.packets.pending()
    }

    /// Inputs of the shell for the next edge.
    pub fn drive(&mut self, model: &mut Model) {
        let pins = self.pins;
        self.cycle += 1;
        model.set(pins.user_reset_out, (!self.running).into());
        let up = self.running && self.link;
        model.set(pins.user_lnk_up, up.into());
        model.set(pins.pl_ltssm_state, if up { 0x16 } else { 0 });
        let code = |bytes: usize| u64::from(bytes.trailing_zeros() - 7);
        model.set(pins.cfg_command, 4);
        model.set(pins.cfg_dcommand, code(self.root.max_payload) << 5 | code(self.root.max_read) << 12 | 0x10);
        let id = u64::from(self.root.id);
        model.set(pins.cfg_bus_number, id >> 8);
        model.set(pins.cfg_device_number, id >> 3 & 31);
        model.set(pins.cfg_function_number, id & 7);
        model.set(pins.cfg_interrupt_msixenable, self.msix.into());
        model.set(pins.cfg_interrupt_msixfm, 0);
        model.set(pins.tx_buf_av, 32);
        model.set(pins.fc_nph, 32);
        if !up {
            model.set(pins.m_axis_rx_tvalid, 0);
            model.set(pins.s_axis_tx_tready, 0);
            return;
        }
        if self.packets.pending() < 4 {
            if let Some(dws) = self.root.completion(self.cycle) {
                self.packets.send(Packet { dws, bars: 0, cut: false });
            }
        }
        self.packets.drive(&mut Beats { pins, model, cycle: self.cycle });
    }

    /// What moves at the edge to come; the model has settled.
    pub fn sample(&mut self, model: &mut Model) {
        if !self.running || !self.link {
            return;
        }
        self.packets.sample(&mut Beats { pins: self.pins, model, cycle: self.cycle });
        while let Some(dws) = self.packets.receive() {
            if dws[0] >> 24 & 0x1E == 0x0A {
                self.answer = Some(Completion::parse(&dws));
                continue;
            }
            self.root.take(&dws, self.cycle);
            for (_, vector) in self.root.messages.drain(..) {
                self.sent[vector as usize] += 1;
                if let Some(sink) = &mut self.messages {
                    sink(vector as usize);
                }
            }
        }
    }
}
