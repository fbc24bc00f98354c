//! MSI-X: the table word by word, masks, pending bits, and messages.

use super::bars::{read, write, MSIX};
use super::bench::Bench;
use super::link::LinkPace;
use super::packet::Request;
use rand::Rng;
use spindle_contract::pci::{MSIX_PBA_OFFSET, VECTORS};
use spindle_harness::run_with_wave_on_failure;

fn table(request: Request) -> Request {
    Request { bars: MSIX, ..request }
}

impl Bench {
    fn set(&mut self, address: usize, word: u32) {
        self.link.send(table(write(address as u64, word)).packet());
    }

    fn look(&mut self, address: usize) -> u32 {
        self.link.send(table(read(address as u64)).packet());
        let data = self.completion(500).data.expect("a word");
        u32::from_le_bytes(data.try_into().expect("4 bytes"))
    }

    fn entry(&mut self, vector: usize, address: u64, data: u32, masked: bool) {
        self.set(16 * vector, address as u32);
        self.set(16 * vector + 4, (address >> 32) as u32);
        self.set(16 * vector + 8, data);
        self.set(16 * vector + 12, masked as u32);
    }
}

#[test]
fn the_table_holds_what_is_written_and_nothing_else_does() {
    run_with_wave_on_failure("tlp_msix_table", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, LinkPace::FULL);
        bench.steps(5);
        let mut model = vec![0u32; 1024];
        for vector in 0..VECTORS {
            assert_eq!(bench.look(16 * vector + 12), 1, "a reset masks");
            model[4 * vector + 3] = 1;
            for i in 0..3 {
                bench.set(16 * vector + 4 * i, 0);
            }
        }
        for _ in 0..2000 {
            let word = if rng.random() { rng.random_range(0..4 * VECTORS) } else { rng.random_range(0..1024) };
            let (value, strobes) = (rng.random::<u32>(), rng.random_range(0..16u8));
            bench.link.send(table(Request { first: strobes, ..write(4 * word as u64, value) }).packet());
            let mask = (0..4).fold(0, |mask, i| mask | if strobes >> i & 1 == 1 { 0xFFu32 << (8 * i) } else { 0 });
            if word < 4 * VECTORS {
                model[word] = model[word] & !mask | value & mask;
                if word % 4 == 3 {
                    model[word] &= 1;
                }
            }
            let word = if rng.random() { word } else { rng.random_range(0..4 * VECTORS) };
            assert_eq!(bench.look(4 * word), model[word], "word {word}");
        }
        // A read of the whole table in one packet.
        bench.link.send(table(Request { words: 64, last: 15, ..read(0) }).packet());
        let bytes: Vec<u8> = (0..2).flat_map(|_| bench.completion(1000).data.expect("data")).collect();
        let expected: Vec<u8> = model[..64].iter().flat_map(|word| word.to_le_bytes()).collect();
        assert_eq!(bytes, expected);
    });
}

#[test]
fn messages_are_sent_once_per_request_unless_masked() {
    run_with_wave_on_failure("tlp_msix_messages", |wave| {
        let mut rng = wave.rng();
        let mut bench = Bench::new(wave, LinkPace { rx: 100, tx: 70, straddle: 50 });
        bench.root.message_page = Some(0xFEE0_0000 / 4096);
        bench.steps(5);
        let mut masks = 0xFFFFu16;
        let address = |vector: usize| 0xFEE0_0000 + 16 * vector as u64;
        for vector in 0..VECTORS {
            bench.entry(vector, address(vector), 0x4000 + vector as u32, false);
            masks &= !(1 << vector);
        }
        bench.look(0);
        for _ in 0..600 {
            // Masks change: once the host has read them back, no message of a masked vector comes.
            if rng.random_range(0..3) == 0 {
                let vector = rng.random_range(0..VECTORS);
                masks ^= 1 << vector;
                bench.set(16 * vector + 12, (masks >> vector & 1) as u32);
                bench.look(12);
                bench.root.messages.clear();
                bench.acknowledged.clear();
            }
            let before = bench.irq;
            let raised = rng.random::<u16>() & rng.random::<u16>() & !before;
            bench.irq |= raised;
            bench.steps(rng.random_range(100..200));
            assert_eq!(bench.irq, (before | raised) & masks, "requests of masked vectors stay");
            assert_eq!(bench.look(MSIX_PBA_OFFSET), bench.irq as u32);
            let mut got = std::mem::take(&mut bench.root.messages);
            got.sort_unstable();
            let sent = (0..VECTORS).filter(|v| (raised & !masks) >> v & 1 == 1);
            let expected: Vec<_> = sent.map(|v| (address(v), 0x4000 + v as u32)).collect();
            // A vector that was unmasked in this round may have had a request from before; it was sent before the
            // clear.
            assert_eq!(got, expected);
            assert_eq!(bench.acknowledged.drain(..).map(u16::count_ones).sum::<u32>() as usize, expected.len());
        }
    });
}

#[test]
fn messages_wait_for_msix_and_bus_master_and_take_turns() {
    run_with_wave_on_failure("tlp_msix_off", |wave| {
        let mut bench = Bench::new(wave, LinkPace::FULL);
        // A wide address.
        bench.root.message_page = Some(0x12_FEE0_0000 / 4096);
        bench.steps(5);
        for vector in 0..VECTORS {
            bench.entry(vector, 0x12_FEE0_0000 + 4 * vector as u64, 0xAB00_00CD + vector as u32, false);
        }
        bench.look(0);
        bench.dut.cfg.interrupt_msixenable.set(false);
        bench.steps(3);
        bench.irq = 0xFFFF;
        bench.steps(100);
        bench.dut.cfg.interrupt_msixfm.set(true);
        bench.dut.cfg.interrupt_msixenable.set(true);
        bench.steps(100);
        bench.dut.cfg.command.set(0);
        bench.dut.cfg.interrupt_msixfm.set(false);
        bench.steps(100);
        assert_eq!((bench.irq, bench.look(MSIX_PBA_OFFSET)), (0xFFFF, 0xFFFF));
        bench.dut.cfg.command.set(4);
        bench.steps(200);
        let expected: Vec<_> = (0..16).map(|v| (0x12_FEE0_0000 + 4 * v, 0xAB00_00CD + v as u32)).collect();
        let mut got = std::mem::take(&mut bench.root.messages);
        got.sort_unstable();
        assert_eq!((got, bench.irq), (expected, 0));
        // A vector that is always requested does not hold up another one.
        for _ in 0..50 {
            bench.irq |= 1;
            bench.step();
        }
        bench.irq |= 1 << 9;
        for _ in 0..40 {
            bench.irq |= 1;
            bench.step();
        }
        assert!(bench.root.messages.contains(&(0x12_FEE0_0000 + 36, 0xAB00_00CD + 9)));
        // Latency.
        bench.steps(50);
        bench.irq = 2;
        let from = bench.dut.cycle();
        bench.steps(30);
        assert_eq!(bench.link.began - from, REQUEST_TO_MESSAGE);
    });
}

/// `irq_request` → message on `s_axis_tx`.
const REQUEST_TO_MESSAGE: u64 = 3;
