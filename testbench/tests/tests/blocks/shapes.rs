//! Every block over its parameters: emitted, and clean under `verilator -Wall`.

use spindle_blocks::*;
use spindle_harness::{lint, Source};
use spindle_verilog::prelude::Bits;

macro_rules! shapes {
    ($($name:ident: $block:expr;)*) => {
        /// Every shape, by name.
        pub fn shapes() -> Vec<(&'static str, Source)> {
            vec![$((stringify!($name), crate::source(&mut $block, stringify!($name)))),*]
        }
    };
}

shapes! {
    skid_1: Skid::<bool>::default();
    skid_beat: Skid::<Beat>::default();
    skid_packet: Skid::<PacketDesc>::default();
    slice_task: Slice::<TaskDesc>::default();
    fifo_1: Fifo::<Bits<8>, 1>::default();
    fifo_2_packet: Fifo::<PacketDesc, 2>::default();
    fifo_5_beat: Fifo::<Beat, 5>::default();
    fifo_8_beat: Fifo::<Beat, 8>::default();
    fifo_8_packet: Fifo::<PacketDesc, 8>::default();
    fifo_12: Fifo::<Bits<9>, 12>::default();
    fifo_12_ultra: Fifo::<Bits<72>, 12>::new(RamStyle::Ultra);
    pass_fifo_1: PassFifo::<Bits<8>, 1>::default();
    pass_fifo_5_beat: PassFifo::<Beat, 5>::default();
    async_fifo_2: AsyncFifo::<Bits<8>, 2>::default();
    async_fifo_5_beat: AsyncFifo::<Beat, 5>::default();
    async_fifo_9: AsyncFifo::<Bits<8>, 9>::default();
    async_fifo_9_block: AsyncFifo::<Bits<576>, 9>::new(RamStyle::Block);
    async_fifo_15_block: AsyncFifo::<Bits<9>, 15>::new(RamStyle::Block);
    gray_count_12: GrayCount::<12>::default();
    clear_pair: ClearPair::default();
    sdp_1: SdpRam::<1, 1>::default();
    sdp_10_72: SdpRam::<10, 72>::new(RamStyle::Block, 2);
    sdp_6_20: SdpRam::<6, 20>::new(RamStyle::Distributed, 1);
    sdp_12_512: SdpRam::<12, 512>::with_depth(RamStyle::Ultra, 2, 4096);
    byte_9_32: ByteRam::<9, 4, 32>::default();
    byte_9_512: ByteRam::<9, 64, 512>::new(RamStyle::Block, 2);
    ram_1w2r_9: Ram1w2r::<9, 512>::default();
    ram_1w2r_13: Ram1w2r::<13, 576>::new(RamStyle::Ultra, 2);
    tdp_9: TdpRam::<9, 4, 32>::default();
    tdp_9_2: TdpRam::<9, 1, 2>::default();
    lut_5_1: LutRam::<5, 32, 1>::default();
    lut_5_3: LutRam::<5, 32, 3>::default();
    lut_1: LutRam::<1, 1, 1>::default();
    tdp_9_of_10: TdpRam::<10, 4, 32>::with_depth(512);
    round_robin_1: RoundRobin::<1>::default();
    round_robin_3: RoundRobin::<3>::default();
    round_robin_32: RoundRobin::<32>::default();
    stream_arbiter_1: StreamArbiter::new(1);
    stream_arbiter_5: StreamArbiter::new(5);
    stream_arbiter_8: StreamArbiter::new(8);
    byte_aligner: ByteAligner::default();
    csr_block: CsrBlock::default();
    count_memory: CountMemory::new(15);
    counter_bank_1: CounterBank::<1, 32>::default();
    counter_bank_8: CounterBank::<8, 32>::default();
    sum_bank_1: SumBank::<1>::default();
    sum_bank_8: SumBank::<8>::new(RamStyle::Block);
    stream_monitor: StreamMonitor::default();
}

#[test]
fn every_shape_is_lint_clean() {
    let mut reported = vec![];
    for (name, source) in shapes() {
        let warnings = lint(&source).unwrap_or_else(|e| panic!("{name}: {e:#}"));
        reported.extend(warnings.into_iter().map(|w| format!("{name}: {w}")));
    }
    assert!(reported.is_empty(), "{} warnings:\n{}", reported.len(), reported.join("\n"));
}
