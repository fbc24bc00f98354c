//! `Wire64` as a whole, between the NIC and an XGMII, with three clocks.

use crate::shell::wire::Wire;
use rand_chacha::ChaCha8Rng;
use spindle_boards::hdl::heartbeat::PATIENCE;
use spindle_boards::hdl::link::MacState;
use spindle_boards::hdl::pause::ADDRESS;
use spindle_boards::hdl::wire_64::Wire64;
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_shell_bench::shell::Frame as OnWire;
use spindle_shell_bench::{frame, into, out_of, Frame, Receiver, Sender};

const CORE: usize = 0;
const RX: usize = 1;
const TX: usize = 2;
/// Periods, ps: 125 MHz, and 156.25 MHz with 470 millionths between receiver and transmitter.
const PERIODS: [u64; 3] = [8000, 6403, 6400];

struct Bench {
    dut: Dut<Wire64>,
    rng: ChaCha8Rng,
    from_nic: Sender<512, 64>,
    to_nic: Receiver<512, 64>,
    wire: Wire,
    next: [u64; 3],
    runs: [bool; 3],
    /// All is in reset, or just was: what comes out means nothing.
    blind: bool,
}

impl Bench {
    /// After a reset, the link up.
    fn new(wave: &WaveContext, block: Wire64, name: &str) -> Self {
        // As after configuration: the reset of counts relies on it.
        let dut = Dut::zeroed(block, name);
        let (from_nic, to_nic) = (Sender::new(into!(dut.from_nic)), Receiver::new(out_of!(dut.to_nic)));
        dut.rx_enable.set(true);
        dut.tx_enable.set(true);
        dut.aligned.set(true);
        dut.high_errors.set(false);
        let wire = Wire::new(1);
        let mut bench = Self {
            dut,
            rng: wave.rng(),
            from_nic,
            to_nic,
            wire,
            next: [100, 2000, 3000],
            runs: [true; 3],
            blind: true,
        };
        for reset in [true, false] {
            bench.dut.core_reset.set(reset);
            bench.dut.rx_reset.set(reset);
            bench.dut.tx_reset.set(reset);
            bench.run(60);
        }
        bench.blind = false;
        bench.run(300);
        assert!(bench.state().up);
        bench
    }

    fn state(&self) -> MacState {
        self.dut.state.get()
    }

    /// One instant at which clocks rise.
    fn step(&mut self) -> [bool; 3] {
        let now = self.next.into_iter().min().expect("there are clocks");
        let mut rises = [false; 3];
        for (clock, rises) in rises.iter_mut().enumerate() {
            if self.next[clock] == now {
                self.next[clock] += PERIODS[clock];
                *rises = self.runs[clock];
            }
        }
        if rises[CORE] {
            self.from_nic.drive(&mut self.rng);
            self.to_nic.drive(&mut self.rng);
        }
        if rises[RX] {
            let word = self.wire.word(now);
            self.dut.rx_xgmii.data.set(u64::from_le_bytes(word.map(|(byte, _)| byte)));
            let control = (0..8).fold(0u64, |control, lane| control | u64::from(word[lane].1) << lane);
            self.dut.rx_xgmii.control.set(control);
        }
        self.dut.eval();
        if rises[CORE] && !self.blind {
            self.from_nic.sample();
            self.to_nic.sample();
        }
        if rises[TX] && !self.blind {
            let (bytes, control) = (self.dut.tx_xgmii.data.number().to_le_bytes(), self.dut.tx_xgmii.control.number());
            self.wire.take(std::array::from_fn(|lane| (bytes[lane], control >> lane & 1 == 1)), now);
        }
        for high in [true, false] {
            self.dut.core_clock.set(high && rises[CORE]);
            self.dut.rx_clock.set(high && rises[RX]);
            self.dut.tx_clock.set(high && rises[TX]);
            self.dut.eval();
        }
        rises
    }

    /// So many cycles of the core.
    fn run(&mut self, cycles: u64) {
        let end = self.next[CORE] + cycles * PERIODS[CORE];
        while self.next[CORE] < end {
            self.step();
        }
    }

    /// A frame to the NIC arrives, and one of the NIC leaves.
    fn passes(&mut self, number: u32) {
        let (in_frame, out_frame) = (frame(&mut self.rng, number, 200), frame(&mut self.rng, number, 300));
        self.wire.incoming.push_back(OnWire { bytes: in_frame.bytes.clone(), bad: false, at: 0 });
        self.from_nic.frames.push_back(out_frame.clone());
        self.run(300);
        let arrived: Vec<Frame> = self.to_nic.frames.drain(..).collect();
        assert_eq!(arrived, [in_frame]);
        let sent: Vec<_> = self.wire.sent.drain(..).map(|frame| (frame.bytes, frame.bad)).collect();
        assert_eq!(sent, [(out_frame.bytes, false)]);
    }
}

/// Of a clock that stands still the page says so, and that the link is down; a reset of the MAC, however long, is another thing.
#[test]
fn a_clock_that_stops_takes_the_link_down() {
    run_with_wave_on_failure("wire_64_clocks", |wave| {
        let mut bench = Bench::new(wave, Wire64::default(), "wire_64");
        bench.passes(0);
        for (round, clock) in [RX, TX, RX].into_iter().enumerate() {
            let losses = bench.state().losses.to_u64();
            bench.runs[clock] = false;
            bench.run(PATIENCE + 10);
            let state = bench.state();
            assert!(state.clock_stopped && !state.up && !state.aligned, "{state:?}");
            assert_eq!(state.losses.to_u64(), losses + 1);
            bench.run(1000);
            assert!(bench.state().clock_stopped);
            bench.runs[clock] = true;
            bench.run(300);
            let state = bench.state();
            assert!(!state.clock_stopped && state.up && state.aligned, "{state:?}");
            // A word of before may be left in the receiver, and makes a bad frame with the next one.
            bench.to_nic.frames.clear();
            bench.wire.sent.clear();
            bench.passes(round as u32);
        }
        bench.dut.rx_reset.set(true);
        bench.dut.tx_reset.set(true);
        bench.run(4 * PATIENCE);
        assert!(!bench.state().clock_stopped, "a reset is no clock that stands still");
        bench.dut.rx_reset.set(false);
        bench.dut.tx_reset.set(false);
        bench.run(300);
        bench.passes(9);
    });
}

/// A pause frame by annex 31B.
fn pause(source: u64, quanta: u16) -> Vec<u8> {
    let mut bytes = vec![0x01, 0x80, 0xC2, 0x00, 0x00, 0x01];
    bytes.extend(&source.to_be_bytes()[2..]);
    bytes.extend([0x88, 0x08, 0x00, 0x01]);
    bytes.extend(quanta.to_be_bytes());
    bytes.resize(60, 0);
    bytes
}

/// A received pause holds transmission for its quanta, also when the receiver's clock stops meanwhile; the NIC sees nothing of it.
#[test]
fn a_received_pause_holds_transmission() {
    run_with_wave_on_failure("wire_64_hold", |wave| {
        let mut bench = Bench::new(wave, Wire64::with_pause(), "wire_64_pause");
        bench.passes(0);
        for (quanta, stops) in [(100u64, false), (200, false), (200, true)] {
            for number in 0..4000 {
                let frame = frame(&mut bench.rng, number, 100);
                bench.from_nic.frames.push_back(frame);
            }
            bench.run(100);
            bench.wire.incoming.push_back(OnWire { bytes: pause(1, quanta as u16), bad: false, at: 0 });
            bench.run(100);
            bench.runs[RX] = !stops;
            bench.run(quanta * 7);
            bench.runs[RX] = true;
            let longest = bench.wire.sent.windows(2).map(|pair| pair[1].at - pair[0].at).max().expect("frames leave");
            let held = longest / PERIODS[TX];
            // Eight cycles a quantum, of which the frame that had begun takes some.
            assert!((quanta * 8 - 20..=quanta * 8 + 40).contains(&held), "{held} cycles for {quanta} quanta");
            assert!(bench.to_nic.frames.is_empty());
            bench.from_nic.frames.truncate(1);
            bench.run(1000);
            bench.wire.sent.clear();
        }
    });
}

/// A NIC that takes no frames: the other end is asked for a pause, and for its end when there is room again. No frame is lost.
#[test]
fn a_full_crossing_asks_for_a_pause() {
    run_with_wave_on_failure("wire_64_ask", |wave| {
        let mut bench = Bench::new(wave, Wire64::with_pause(), "wire_64_pause");
        bench.passes(0);
        bench.to_nic.pace = 0;
        let frames: Vec<Frame> = (0..500).map(|number| frame(&mut bench.rng, number, 100)).collect();
        let mut waiting = frames.iter();
        let mut asked = vec![];
        for _ in 0..40_000 {
            // The other end obeys.
            if asked.last() != Some(&pause(ADDRESS, 0xFFFF)) && bench.wire.incoming.is_empty() {
                let next = waiting.next().map(|frame| OnWire { bytes: frame.bytes.clone(), bad: false, at: 0 });
                bench.wire.incoming.extend(next);
            }
            bench.step();
            asked.extend(bench.wire.sent.drain(..).map(|frame| frame.bytes));
            if asked.len() == 1 && bench.to_nic.pace == 0 {
                bench.run(300);
                bench.to_nic.pace = 100;
            }
        }
        assert!(waiting.next().is_none() && bench.wire.incoming.is_empty(), "all frames came");
        assert_eq!(asked, [pause(ADDRESS, 0xFFFF), pause(ADDRESS, 0)]);
        assert!(bench.to_nic.frames.drain(..).eq(frames), "no frame is lost");
        assert_eq!(bench.state().rx_overflow.to_u64(), 0);
    });
}
