//! The NIC: three engines, the CSR block and the global page, wired; and the emitter.
//!
//! `rtl/nic` is the only crate in which the engines meet. [`Nic`] has the vendor-neutral ports of `docs/interfaces.md`;
//! [`emit`] turns a configuration into Verilog, [`blocks`] does the same for every block that is synthesised on its own.

mod elaborate;
mod export;
mod global_page;
mod host_gate;
mod interrupts;
mod nic;
mod reset_control;
mod synthesis;
mod trace_ring;

pub use elaborate::elaborate;
pub use export::{export, export_blocks, export_processor, ExportError};
pub use global_page::GlobalPage;
pub use host_gate::HostGate;
pub use interrupts::Interrupts;
pub use nic::Nic;
pub use reset_control::ResetControl;
pub use synthesis::{emit_for_synthesis, with_interfaces, without_trace};
pub use trace_ring::TraceRing;

use hpu_core::processor::hpu::HpuOptions;
use packet_engine::PacketEngine;
use rvma_lut::RvmaEngine;
use spindle_blocks::csr::CsrBlock;
use spindle_blocks::RamStyle;
use spindle_contract::params::Config;
use spindle_contract::wire::NODE_TABLE_ENTRIES;
use spindle_verilog::prelude::Block;
use spindle_verilog::{Design, EmitError};

/// Name of the top module.
pub const TOP: &str = "nic";

/// The Verilog of a whole NIC.
///
/// # Errors
/// An illegal configuration, with the sentence of [`Config::validate`].
pub fn emit(config: &Config) -> Result<Design, EmitError> {
    config.validate().map_err(EmitError::parameter)?;
    elaborate(|| spindle_verilog::emit(&mut Nic::new(config), TOP))
}

/// The Verilog of a handler processor alone, top module `hpu`, with its retirement port: what formal tools and instruction tests attach to.
/// The words that it fetches are those of the image.
///
/// # Errors
/// As for [`emit`].
pub fn emit_hpu(config: &Config) -> Result<Design, EmitError> {
    config.validate().map_err(EmitError::parameter)?;
    let options =
        HpuOptions { rvfi: true, predecodes: true, stack_bytes: config.stack_bytes(), ..HpuOptions::default() };
    elaborate(|| spindle_verilog::emit(&mut hpu_core::processor::hpu::Hpu::new(options), "hpu"))
}

/// The Verilog of every block that is linted and synthesised on its own, by name: the names of `xtask/budgets.toml`.
///
/// The array is missing on purpose: it is clusters and wiring, and flattened it is more than yosys can map in a sitting. The NIC covers it.
///
/// # Errors
/// As for [`emit`].
pub fn blocks(config: &Config) -> Result<Vec<(String, Design)>, EmitError> {
    config.validate().map_err(EmitError::parameter)?;
    elaborate(|| all_blocks(config))
}

fn all_blocks(c: &Config) -> Result<Vec<(String, Design)>, EmitError> {
    let small = RamStyle::on(c, NODE_TABLE_ENTRIES);
    Ok(vec![
        one("parser", &mut packet_engine::ingress::parser::Parser::default())?,
        one("header_matcher", &mut packet_engine::ingress::header_matcher::HeaderMatcher::new(c.match_rules, small))?,
        one("psn_filter", &mut packet_engine::ingress::psn_filter::PsnFilter::new(c))?,
        one("message_index", &mut packet_engine::schedule::message_index::MessageIndex::new(c.live_messages, small))?,
        one("initiator", &mut packet_engine::transmit::initiator::Initiator::new(small, RamStyle::spare(c)))?,
        one("packet_sums", &mut packet_engine::transmit::initiator::packet_sums::PacketSums::default())?,
        one("packet_engine", &mut PacketEngine::new(c))?,
        one("hpu", &mut hpu_core::processor::hpu::Hpu::new(HpuOptions::default()))?,
        one("cluster", &mut hpu_core::cluster::Cluster::new(c))?,
        one("l2", &mut hpu_core::array::l2::L2::new(c.l2_bytes, c.clusters, c.hpus))?,
        one("context_counts", &mut hpu_core::array::context_counts::ContextCounts::default())?,
        one("context_drops", &mut packet_engine::context_drops::ContextDrops::new(c))?,
        one("rvma_lut", &mut RvmaEngine::new(c))?,
        one("frame_events", &mut rvma_lut::completion::frame_events::FrameEvents::default())?,
        one("frame_places", &mut rvma_lut::completion::frame_places::FramePlaces::new())?,
        one("frame_sends", &mut rvma_lut::host_access::frame_sends::FrameSends::default())?,
        one("frame_sums", &mut rvma_lut::host_access::frame_sums::FrameSums::default())?,
        one("moderation", &mut rvma_lut::completion::moderation::Moderation::new())?,
        one("ring_posts", &mut rvma_lut::commands::ring_posts::RingPosts::new(c.mailboxes))?,
        one("csr_block", &mut CsrBlock::default())?,
        one("global_page", &mut GlobalPage::new(c))?,
        one("host_gate", &mut HostGate::default())?,
        one("interrupts", &mut Interrupts::new())?,
        one("reset_control", &mut ResetControl::new(nic::clear_cycles(c)))?,
        one("trace_ring", &mut TraceRing::new(c))?,
    ])
}

fn one(name: &str, block: &mut impl Block) -> Result<(String, Design), EmitError> {
    Ok((name.to_string(), spindle_verilog::emit(block, name)?))
}
