//! Bridge between the packets of `pcie_7x` and the ports of `nic`: its BAR, its host memory and its interrupts.
//!
//! ```text
//!               ┌ router ── requests ── target ─┬─ register access ── nic.bar
//! rx ─ aligner ─┤                               ├─ MSI-X ──────────── nic.irq
//!               └ returns ── answers ── nic.host└─ completer
//!                   slots ── issue ──── nic.host    │
//!          sender ── collector ──────── nic.host    │
//! tx ─ transmitter: completions, messages, reads, writes
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`ports`], [`header`] | the core's user side; headers |
//! | [`align`], [`route`] | packets that straddle beats; which block a packet is for |
//! | [`target`], [`words`], [`completer`] | reads and writes of the host, word by word; the shell's page |
//! | [`msix`] | MSI-X table, pending bits, messages |
//! | [`write_collect`], [`write_send`] | writes of host memory |
//! | [`read_issue`], [`read_slots`], [`read_return`], [`read_answer`] | reads of host memory |
//! | [`transmit`] | one stream to the link |
//! | [`bridge`] | the whole |
//!
//! # Host
//!
//! AXI4 bursts are INCR with beats of 64 bytes, at any 64-bit address. Reads and writes are answered in the order of
//! their addresses, each kind for itself, with their ids. A write is answered when its packets are in the stream to the
//! core, where nothing overtakes them: a read, a completion or an interrupt that follows the answer follows the write
//! on the link. As everywhere on PCI Express, a write that was answered is lost if the link goes down before the host
//! has it. Packets have no relaxed ordering, no snoop hint, class 0.
//!
//! Every transaction is answered:
//!
//! | when | answer |
//! |---|---|
//! | completion with a status, poisoned, of wrong length | SLVERR, data 0 |
//! | no completion | SLVERR after 2 to 3 periods; its tag rests until the completion comes or the link has been down |
//! | bus master off, link down | SLVERR, no packet |
//! | link goes down | reads under way and the write being sent SLVERR; nothing of older packets is left |
//! | a line of a write whose strobes have a gap | SLVERR, the line is not written |
//!
//! # BARs
//!
//! BAR 0 has the registers, BAR 2 the MSI-X table; both are decoded by the core. Every read of the host is answered
//! within a bound, whatever the registers do. The bound is in [`words`]. A register that is silent or answers with an
//! error reads all ones.
//!
//! # Link down
//!
//! The core resets its user side. So does the bridge, if the link is down for at least 3 cycles, with everything that
//! belongs to packets: requests of the host that were not carried out, completions, messages that were not sent. An
//! access to a register that is under way ends in peace, and its answer is dropped. The MSI-X table is masked.
//! Interrupt requests stay in the NIC.
//!
//! # Figures
//!
//! Latencies are in the texts of the modules; from pin to pin, with the core ready:
//!
//! | what | cycles |
//! |---|---|
//! | last `wvalid` of a burst → its packet on `s_axis_tx` | 5 |
//! | last beat of its last packet on `s_axis_tx` → `bvalid` | 0 |
//! | `arvalid` → its packet on `s_axis_tx` | 3 |
//! | last beat of the last completion on `m_axis_rx` → `rvalid` | 5 |
//! | read or write of a register on `m_axis_rx` → `bar.arvalid`, or `bar.awvalid` and `bar.wvalid` | 6 |
//! | `bar.rvalid` → its completion on `s_axis_tx` | 3 |
//! | `irq_request` → its message on `s_axis_tx` | 3 |
//!
//! Bytes of host memory in 100 cycles, of 1600 on the interface, with bursts of 256 bytes (`tlp::host`):
//!
//! | maximum payload | writes | reads |
//! |---|---|---|
//! | 256 | 1504 | 1430, with completions of 64 bytes and multiples |
//! | 128 | 1421 | 1463, with completions of 128 and 256 bytes |
//!
//! 32 reads of 256 bytes are under way at most: 8 KiB, which is the link's 2 GB/s for 4 µs.
//!
//! Area on 7 series, mapped by yosys and not placed: 4,594 LUTs (700 of them LUT RAM), 3,073 flip-flops, 10 RAMB36, 12
//! levels between registers.

pub mod align;
pub mod bridge;
pub mod completer;
pub mod header;
pub mod msix;
pub mod ports;
pub mod read_answer;
pub mod read_issue;
pub mod read_return;
pub mod read_slots;
pub mod route;
pub mod target;
pub mod transmit;
pub mod words;
pub mod write_collect;
pub mod write_send;

pub use bridge::TlpBridge;
