//! Proofs by induction on the emitted Verilog, for all lengths of time, with yosys.
//!
//! A clock is an input with an edge in each instant in which it is high, so the two clocks have any ratio, phase and
//! pauses, and a synchroniser sees the old or the new value. The FIFO between two clocks is proved by `spindle-proof`.
//!
//! | proof | shows |
//! |---|---|
//! | `rx.sv` | the receive crossing gives the FIFO no frame without end; a frame with a good end has all of its beats |
//! | `tx.sv` | the transmit crossing has a beat in every cycle from the first of a frame to its last: the MAC never starves |

use crate::yosys::yosys;
use spindle_boards::hdl::rx_cross::RxCross;
use spindle_boards::hdl::tx_cross::TxCross;
use spindle_harness::source_of;
use spindle_proof::Proof;
use spindle_verilog::prelude::Block;

/// A proof: its harness, the wires of its cell `probes` by the wires of the flattened block, and modules that are
/// left out so that their outputs may do anything.
struct Crossing {
    harness: &'static str,
    probes: &'static [(&'static str, &'static str)],
    free: &'static [&'static str],
}

const RX: Crossing = Crossing {
    harness: include_str!("rx.sv"),
    probes: &[
        ("open", "dut.open"),
        ("taking", "dut.taking"),
        ("held_valid", "dut.held_valid"),
        ("held_data", "dut.held[511:0]"),
        ("held_last", "dut.held[518]"),
        ("held_user", "dut.held[519]"),
        ("held_cut", "dut.held[520]"),
        ("fifo_ready", "dut.fifo_write_ready"),
        ("stop", "dut.clearing_mac_stop"),
    ],
    free: &["async_fifo", "cross_clear"],
};

const TX: Crossing = Crossing {
    harness: include_str!("tx.sv"),
    probes: &[
        ("written_binary", "dut.fifo.written.binary"),
        ("written_coded", "dut.fifo.written.coded"),
        ("written_near", "dut.fifo.written.near"),
        ("written_far", "dut.fifo.written.far"),
        ("taken_binary", "dut.fifo.taken.binary"),
        ("taken_coded", "dut.fifo.taken.coded"),
        ("taken_near", "dut.fifo.taken.near"),
        ("taken_far", "dut.fifo.taken.far"),
        ("word_0", "dut.fifo.block_0.words[0][518]"),
        ("word_1", "dut.fifo.block_0.words[1][518]"),
        ("word_2", "dut.fifo.block_0.words[2][518]"),
        ("word_3", "dut.fifo.block_0.words[3][518]"),
        ("room", "dut.fifo.room"),
        ("head", "dut.fifo.head[518]"),
        ("head_valid", "dut.fifo.head_valid"),
        ("fetching", "dut.fifo.taken.step"),
        ("latch", "dut.fifo.block_0.fetched[518]"),
        ("latch_valid", "dut.fifo.fetched_0"),
        ("pushing", "dut.fifo.written.step"),
        ("push_last", "dut.fifo.write[518]"),
        ("taking", "dut.fifo_read_ready"),
        ("ended", "dut.ended"),
        ("whole_binary", "dut.whole.binary"),
        ("whole_coded", "dut.whole.coded"),
        ("whole_near", "dut.whole.near"),
        ("whole_far", "dut.whole.far"),
        ("known", "dut.known"),
        ("begun", "dut.begun"),
        ("mid_frame", "dut.mid_frame"),
        ("discarding", "dut.discarding"),
        ("out_valid", "dut.out_valid"),
        ("out_last", "dut.out[576]"),
        ("left_stop", "dut.clearing_core_stop"),
        ("left_clear", "dut.clearing_core_clear"),
        ("right_stop", "dut.clearing_mac_stop"),
        ("right_clear", "dut.clearing_mac_clear"),
    ],
    free: &["cross_clear"],
};

/// Instants within which a broken block has to show its fault.
const DEPTH: u32 = 24;

impl Crossing {
    /// The proof, with clocks of any ratio, by induction over one instant.
    fn proof(&self, block: &mut impl Block, top: &str) -> Proof {
        let source = source_of(block, top).unwrap_or_else(|error| panic!("{top}: {error}"));
        Proof::new(source, self.harness).probes(self.probes.iter().copied()).free(self.free).any_clocks().depth(DEPTH)
    }
}

#[test]
fn the_receive_crossing_ends_every_frame() {
    let Some(yosys) = yosys() else {
        return;
    };
    let faults = [
        ("wire broken = taking & (!aligned | (mac_valid & !moves));", "wire broken = taking & mac_valid & !moves;"),
        ("wire moves = !held_valid | fifo_write_ready;", "wire moves = 1'b1;"),
        ("closing = {aligned, 1'b1, 1'b1,", "closing = {aligned, 1'b0, 1'b1,"),
        ("wire first = !open;", "wire first = !open | mac_user;"),
        ("wire more = mac_valid & taking &", "wire more = mac_valid &"),
    ];
    RX.proof(&mut RxCross::<4>::default(), "rx_cross_4").prove(&yosys, &faults);
}

#[test]
fn the_mac_never_starves() {
    let Some(yosys) = yosys() else {
        return;
    };
    let faults = [
        // A frame begins when it is seen, while the beat after the first may still be in the block RAM.
        ("!= known)", "!= (link ? whole_seen : known))"),
        ("wire whole_2 = fifo_read_valid & ", "wire whole_2 = fifo_read_valid | "),
        ("whole_step = ended ", "whole_step = (ended | push) "),
        ("moves | !fetched_0", "moves & !fetched_0"),
    ];
    TX.proof(&mut TxCross::<2>::with_longest(3), "tx_cross_2").prove(&yosys, &faults);
}
