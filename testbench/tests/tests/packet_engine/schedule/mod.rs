//! Message table and payload scheduler.

use spindle_blocks::CommandIssuer;
use spindle_contract::memory_map::{COMMAND_HANDLES, HANDLE_BITS};
use spindle_contract::params::Config;
use spindle_verilog::prelude::bits;

pub mod byte_redirects_alone;
pub mod evaluator_alone;
pub mod message_index;
pub mod packet_holds;
pub mod payload_scheduler;
pub mod quota_alone;
pub mod task_timers;

/// Numbers of the commands that all HPUs can have at once.
fn all_commands(config: &Config) -> Vec<u64> {
    let hpus = (0..config.clusters).flat_map(|cluster| (0..config.hpus).map(move |hpu| (cluster, hpu)));
    let commands = hpus.flat_map(|(cluster, hpu)| (0..COMMAND_HANDLES).map(move |handle| (cluster, hpu, handle)));
    commands.map(|(cluster, hpu, handle)| config.command_number(cluster, hpu, handle) as u64).collect()
}

/// Who issued the command of this number.
fn issuer_of(config: &Config, number: u64) -> CommandIssuer {
    let hpu = number >> HANDLE_BITS;
    CommandIssuer {
        cluster: bits(hpu >> config.hpu_bits()),
        hpu: bits(hpu & ((1 << config.hpu_bits()) - 1)),
        handle: bits(number & (COMMAND_HANDLES as u64 - 1)),
    }
}

/// Number of the command of this issuer.
fn number_of(config: &Config, issuer: CommandIssuer) -> u64 {
    config.command_number(issuer.cluster.index(), issuer.hpu.index(), issuer.handle.index()) as u64
}
