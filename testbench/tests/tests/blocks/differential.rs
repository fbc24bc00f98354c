//! rust-hdl's simulator against Verilator: every block gets the same random inputs in both, and all outputs must be equal in
//! every cycle. For the memories this compares the hand-written Verilog with its Rust model, for the rest the back end with
//! the meaning of the source. Inputs are wild: no protocol is kept, the blocks only have to do the same.

use spindle_blocks::*;
use spindle_harness::{random_value, seeded_rng, with_seeds, Dut};
use spindle_verilog::ports::to_bytes;
use spindle_verilog::prelude::*;

/// Settles the Rust side.
fn settle(block: &mut impl Block) {
    assert!(simulate(block, 100), "the block does not settle in rust-hdl's simulator");
}

/// Compares a block for a number of cycles; `adjust` may change the inputs of a cycle.
macro_rules! differential {
    ($test:ident, $cycles:literal, $block:expr, in [$(($($input:tt)+))*], out [$(($($output:tt)+))*], $adjust:expr) => {
        #[test]
        fn $test() {
            with_seeds(|| {
                let mut rng = seeded_rng(stringify!($test));
                let mut block = $block;
                block.connect_all();
                let dut = Dut::zeroed($block, concat!("differential_", stringify!($test)));
                dut.ignore_all();
                let mut seen = std::collections::HashSet::new();
                for cycle in 0..$cycles {
                    $(block.$($input)+.next = random_value(&mut rng);)*
                    ($adjust)(&mut block, cycle);
                    $(dut.$($input)+.set_bytes(&to_bytes(block.$($input)+.next));)*
                    settle(&mut block);
                    dut.eval();
                    $(
                        let rust = to_bytes(block.$($output)+.val());
                        let name = stringify!($($output)+);
                        assert_eq!(dut.$($output)+.bytes(), rust, "cycle {cycle}: {name} (Verilog left, Rust right)");
                        seen.insert(rust);
                    )*
                    for level in [true, false] {
                        block.clock.next = Clock { clk: level };
                        settle(&mut block);
                    }
                    dut.tick();
                }
                assert!(seen.len() > 5, "the outputs hardly move: {} values", seen.len());
            });
        }
    };
}

/// Reset for two cycles, then now and then.
macro_rules! resets {
    () => {
        |block: &mut _, cycle: u32| reset_of(block).next = cycle < 2 || cycle % 97 == 0
    };
}

trait HasReset {
    fn reset(&mut self) -> &mut Signal<In, Bit>;
}

fn reset_of(block: &mut impl HasReset) -> &mut Signal<In, Bit> {
    block.reset()
}

macro_rules! has_reset {
    ($($ty:ty)*) => { $(impl HasReset for $ty { fn reset(&mut self) -> &mut Signal<In, Bit> { &mut self.reset } })* };
}
has_reset! {
    Skid<Beat> Slice<Beat> Fifo<Bits<40>, 2> Fifo<Bits<40>, 7> RoundRobin<5> StreamArbiter ByteAligner CsrBlock
    CounterBank<2, 32> SumBank<2> StreamMonitor
}

differential!(sdp_ram_1, 1500, SdpRam::<3, 40>::new(RamStyle::Block, 1),
    in [(write_enable) (write_address) (write_data) (read_enable) (read_address)],
    out [(read_data)], |_: &mut _, _| ());
differential!(sdp_ram_2, 1500, SdpRam::<3, 40>::new(RamStyle::Ultra, 2),
    in [(write_enable) (write_address) (write_data) (read_enable) (read_address)],
    out [(read_data)], |_: &mut _, _| ());
differential!(byte_ram_1, 1500, ByteRam::<3, 4, 32>::new(RamStyle::Block, 1),
    in [(write_strobe) (write_address) (write_data) (read_enable) (read_address)],
    out [(read_data)], |_: &mut _, _| ());
differential!(byte_ram_2, 1500, ByteRam::<3, 4, 32>::new(RamStyle::Block, 2),
    in [(write_strobe) (write_address) (write_data) (read_enable) (read_address)],
    out [(read_data)], |_: &mut _, _| ());
differential!(ram_1w2r, 500, Ram1w2r::<3, 72>::default(),
    in [(write_enable) (write_address) (write_data)
        (a_enable) (a_address) (b_enable) (b_address)],
    out [(a_data) (b_data)], |_: &mut _, _| ());
differential!(tdp_ram, 1500, TdpRam::<3, 4, 32>::default(),
in [(a_enable) (a_strobe) (a_address) (a_write) (a_advance)
    (b_enable) (b_strobe) (b_address) (b_write) (b_advance)],
out [(a_read) (b_read)], |ram: &mut TdpRam<3, 4, 32>, _| {
    if ram.a_address.next == ram.b_address.next && ram.a_strobe.next.any() {
        ram.b_strobe.next = Bits::default(); // two writers of one word are ruled out
    }
});
// Bytes of two bits.
differential!(tdp_ram_of_pairs, 1500, TdpRam::<3, 2, 4>::default(),
in [(a_enable) (a_strobe) (a_address) (a_write) (a_advance)
    (b_enable) (b_strobe) (b_address) (b_write) (b_advance)],
out [(a_read) (b_read)], |ram: &mut TdpRam<3, 2, 4>, _| {
    if ram.a_address.next == ram.b_address.next && ram.a_strobe.next.any() {
        ram.b_strobe.next = Bits::default();
    }
});
differential!(lut_ram, 1500, LutRam::<3, 40, 2>::default(),
    in [(write_enable) (write_address) (write_data) (read_address[0]) (read_address[1])],
    out [(read_data[0]) (read_data[1])], |_: &mut _, _| ());
differential!(skid_of_beats, 400, Skid::<Beat>::default(),
    in [(reset) (write) (write.valid) (read.ready)],
    out [(write.ready) (read) (read.valid)], resets!());
differential!(slice_of_beats, 400, Slice::<Beat>::default(),
    in [(reset) (write) (write.valid) (read.ready)],
    out [(write.ready) (read) (read.valid)], resets!());
differential!(fifo_in_luts, 600, Fifo::<Bits<40>, 2>::default(),
    in [(reset) (write) (write.valid) (read.ready)],
    out [(write.ready) (read) (read.valid) (level)], resets!());
differential!(fifo_in_block_ram, 600, Fifo::<Bits<40>, 7>::default(),
    in [(reset) (write) (write.valid) (read.ready)],
    out [(write.ready) (read) (read.valid) (level)], resets!());
differential!(round_robin, 600, RoundRobin::<5>::default(),
    in [(reset) (request) (accept) (lock)],
    out [(grant) (index) (any)], resets!());
differential!(stream_arbiter, 200, StreamArbiter::new(2),
    in [(reset) (sink_data[0]) (sink_tail[0]) (sink_last[0]) (sink_valid[0])
        (sink_data[1]) (sink_tail[1]) (sink_last[1]) (sink_valid[1]) (source.ready)],
    out [(sink_ready[0]) (sink_ready[1]) (source.data) (source.keep) (source.last)
        (source_index) (source.valid)], resets!());
differential!(byte_aligner, 200, ByteAligner::default(),
    in [(reset) (job) (job.valid) (source_data) (source_data.last) (source_data.valid) (out_ready)],
    out [(job.ready) (source_data.ready) (out_data) (out_strobe) (out_last) (out_valid)], resets!());
differential!(csr_block, 1000, CsrBlock::default(),
    in [(reset) (bar.awaddr) (bar.awvalid) (bar.wdata) (bar.wstrb) (bar.wvalid)
        (bar.bready) (bar.araddr) (bar.arvalid) (bar.rready) (csr_answer)],
    out [(bar.awready) (bar.wready) (bar.bresp) (bar.bvalid) (bar.arready)
        (bar.rdata) (bar.rresp) (bar.rvalid) (csr)], resets!());
differential!(counter_bank, 1000, CounterBank::<2, 32>::default(),
    in [(reset) (a_valid) (a_index) (b_valid) (b_index) (read_index)],
    out [(read_count) (clearing)], resets!());
differential!(sum_bank, 1000, SumBank::<2>::default(),
    in [(reset) (add) (index) (amount) (read_index)],
    out [(read_sum) (carry) (carry_index) (clearing)], resets!());
differential!(stream_monitor, 1500, StreamMonitor::default(),
    in [(reset) (data) (keep) (last) (valid) (ready)],
    out [(violation)], resets!());
