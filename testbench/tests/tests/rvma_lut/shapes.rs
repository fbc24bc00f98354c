//! The engine and each of its blocks, over the configurations: emitted, deterministic and clean under `verilator -Wall`.

use crate::rvma_lut::rvma_engine::bench::source;
use rvma_lut::commands::command_rings::CommandRings;
use rvma_lut::commands::command_unit::CommandUnit;
use rvma_lut::commands::doorbell::Doorbell;
use rvma_lut::commands::kicks::Kicks;
use rvma_lut::commands::put_arbiter::PutArbiter;
use rvma_lut::commands::ring_posts::RingPosts;
use rvma_lut::completion::buffer_reclaim::BufferReclaim;
use rvma_lut::completion::counters::Counters;
use rvma_lut::completion::epochs::Epochs;
use rvma_lut::completion::event_rings::EventRings;
use rvma_lut::completion::frame_events::FrameEvents;
use rvma_lut::completion::frame_places::FramePlaces;
use rvma_lut::completion::moderation::Moderation;
use rvma_lut::completion::report::Report;
use rvma_lut::completion::CompletionUnit;
use rvma_lut::host_access::dma_writer::DmaWriter;
use rvma_lut::host_access::frame_sends::FrameSends;
use rvma_lut::host_access::frame_sums::FrameSums;
use rvma_lut::host_access::get_responder::GetResponder;
use rvma_lut::host_access::host_atomics::HostAtomics;
use rvma_lut::host_access::read_answers::ReadAnswers;
use rvma_lut::host_access::read_buffer::ReadBuffer;
use rvma_lut::host_access::read_requests::ReadRequests;
use rvma_lut::host_access::regions::Regions;
use rvma_lut::host_access::ring_reads::RingReads;
use rvma_lut::lookup::mailbox_table::MailboxTable;
use rvma_lut::lookup::stash::Stash;
use rvma_lut::lookup::Lookup;
use rvma_lut::placement::binding::Binding;
use rvma_lut::placement::buffer_queue::BufferQueue;
use rvma_lut::placement::holds::Holds;
use rvma_lut::placement::windows::Windows;
use rvma_lut::placement::Placement;
use rvma_lut::registers::Registers;
use rvma_lut::RvmaEngine;
use spindle_blocks::RamStyle;
use spindle_contract::params::Config;
use spindle_harness::{lint, Source};

/// Smallest tables.
const SMALL: Config = Config { mailboxes: 64, posted_buffers: 64, processes: 1, ..Config::SIM };

/// No design has a warning.
fn assert_clean(sources: &[Source]) {
    let mut reported = vec![];
    for design in sources {
        reported.extend(
            lint(design).unwrap_or_else(|error| panic!("{error:#}")).iter().map(|w| format!("{}: {w}", design.top)),
        );
    }
    assert!(reported.is_empty(), "{} warnings:\n{}", reported.len(), reported.join("\n"));
}

#[test]
fn blocks_of_packets_are_lint_clean() {
    assert_clean(&alone! {
        lookup: Lookup::new(1024);
        mailbox_table: MailboxTable::new(4096);
        mailbox_table_64: MailboxTable::new(64);
        stash: Stash::new(1024);
        binding: Binding::new(RamStyle::Block);
        holds: Holds::new(RamStyle::Block);
        holds_lut: Holds::new(RamStyle::Distributed);
        buffer_queue: BufferQueue::new(1024, 4096, RamStyle::Block);
        buffer_queue_ultra: BufferQueue::new(4096, 16384, RamStyle::Distributed);
        windows: Windows::new(1024, RamStyle::Block);
        windows_least: Windows::new(64, RamStyle::Distributed);
        placement: Placement::default();
        dma_writer: DmaWriter::new(RamStyle::Block);
        report: Report::new(RamStyle::Distributed);
        counters: Counters::new(4096);
        epochs: Epochs::new(1024, 4096);
        epochs_ultra: Epochs::new(4096, 16384);
        buffer_reclaim: BufferReclaim::default();
        completion_unit: CompletionUnit::new(4096);
        completion_unit_ultra: CompletionUnit::new(16384);
    });
}

#[test]
fn blocks_of_the_hosts_side_are_lint_clean() {
    assert_clean(&alone! {
        read_buffer_ultra: ReadBuffer::new(RamStyle::Ultra);
        read_requests: ReadRequests::default();
        read_answers: ReadAnswers::default();
        read_buffer: ReadBuffer::new(RamStyle::Distributed);
        host_atomics: HostAtomics::default();
        event_rings: EventRings::new();
        frame_events: FrameEvents::default();
        frame_places: FramePlaces::new();
        frame_sends: FrameSends::default();
        frame_sums: FrameSums::default();
        moderation: Moderation::new();
        kicks: Kicks::default();
        ring_reads: RingReads::default();
        doorbell: Doorbell::new(64);
        doorbell_one: Doorbell::new(1);
        doorbell_five: Doorbell::new(5);
        command_unit: CommandUnit::new(1024);
        command_rings: CommandRings::new(RamStyle::Block);
        ring_posts: RingPosts::new(1024);
        get_responder: GetResponder::default();
        put_arbiter: PutArbiter::new(RamStyle::Block);
        put_arbiter_in_luts: PutArbiter::new(RamStyle::Distributed);
        regions: Regions::new(64);
        regions_in_luts: Regions::new(16);
        registers: Registers::default();
    });
}

#[test]
fn every_engine_is_lint_clean() {
    let sources: Vec<Source> = Config::ALL.iter().chain([&SMALL]).map(source).collect();
    assert_clean(&sources);
}

#[test]
fn emission_is_deterministic() {
    assert_eq!(source(&Config::SIM).files, source(&Config::SIM).files);
}

#[test]
#[should_panic(expected = "mailboxes must be a power of two")]
fn an_odd_number_of_mailboxes_is_refused() {
    RvmaEngine::new(&Config { mailboxes: 100, ..Config::SIM });
}
