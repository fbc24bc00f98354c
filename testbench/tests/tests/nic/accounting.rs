//! Nothing is lost silently: every drop reason is provoked by itself, counted once for each frame, and the sums close.

use crate::nic::bench::{at_once, Installed, Nic, Played, CONFIG};
use spindle::rule_table::Action;
use spindle::{Bar, ContextOptions, Overload};
use spindle_contract::params::{BEAT_BYTES, CELL_BYTES, MAX_FRAME, SPINDLE_PORT};
use spindle_contract::reasons::*;
use spindle_contract::registers::{doorbell, doorbell_command};
use spindle_contract::wire::{self, control, flag, opcode, status};
use spindle_model::frames::{echo_request, spindle, udp, Ends, SpindleHeader, UDP_HEADERS};
use spindle_sim::{Options, WireFrame};

/// Bytes of the payload of a packet of the puts below.
const PIECE: usize = 64;
const KEY: u32 = 77;
/// Cycles for which a handler that never returns keeps its HPU.
const BUSY: u32 = 8000;
/// Process whose messages have to begin with a user header.
const WAITING: u16 = 9;
/// A handler that takes longer than the frames that meet its quota.
const LINGERS: &str = r#"
#include "spindle.h"
int header_handler(const spin_header_t *h, void *state) {
    (void)h;
    (void)state;
    for (uint32_t start = spin_cycles(); spin_cycles() - start < 1000;) {}
    return SPIN_PROCESS_DATA;
}"#;
/// Mailboxes: one that works, one without buffers, one whose host memory fails.
const GOOD: u64 = 0x100;
const EMPTY: u64 = 0x200;
const FAILING: u64 = 0x300;
const TAKEN: u64 = 0x400;

/// A put of one packet.
fn put(addr: u64, change: impl FnOnce(&mut SpindleHeader)) -> Vec<u8> {
    let length = PIECE as u32;
    let mut header =
        SpindleHeader { addr, key: KEY, msg_len: length, payload_len: length as u16, ..SpindleHeader::default() };
    change(&mut header);
    spindle(&Ends::default(), 50_000, SPINDLE_PORT, &header, &[header.msg_id as u8; PIECE])
}

/// Packet `half` of two of message `id`.
fn half(id: u32, half: u32) -> Vec<u8> {
    put(GOOD, |header| {
        (header.msg_id, header.msg_len) = (id, 2 * PIECE as u32);
        (header.msg_off, header.buf_off) = (half * PIECE as u32, id * 2 * PIECE as u32);
    })
}

/// A datagram to ping_pong with one byte changed.
fn changed(at: usize, value: u8) -> Vec<u8> {
    let mut frame = udp(&Ends::default(), 1, 9, &[5; 100]);
    assert_ne!(frame[at], value);
    frame[at] = value;
    frame
}

/// Plays frames that all fall to one reason.
fn provoke(nic: &mut Nic, reason: usize, frames: Vec<WireFrame>) -> Played {
    let count = frames.len() as u32;
    let played = nic.play(frames);
    assert_eq!(played.drop_names(), [(DROP_REASONS[reason].0, count)]);
    played
}

#[test]
fn every_reason_is_counted() {
    let mut nic = Nic::new(Options::default());
    let incomplete = ContextOptions { user_header: 16, ..ContextOptions::default() };
    let Installed { context: waiting, .. } = nic.install("place", incomplete);
    nic.rule(&format!("spindle.dst_pid == {WAITING}"), Action::ContextPerMessage(waiting));
    nic.device.activate(waiting).unwrap();
    nic.rule("spindle", Action::Mailbox);
    nic.rule("udp.dport == 1", Action::Drop);
    let Installed { context, .. } = nic.install("ping_pong", ContextOptions::default());
    nic.rule("udp.dport == 2", Action::Context(context));
    nic.handler("icmp_echo", "udp.dport == 3", ContextOptions::default());
    nic.handler("faulty/foreign_access", "udp.dport == 4", ContextOptions::default());
    let busy = ContextOptions { watchdog: BUSY, ..ContextOptions::default() };
    nic.handler("faulty/never_returns", "udp.dport == 5", busy);
    for (port, overload) in [(6, Overload::Drop), (7, Overload::Pause)] {
        let options = ContextOptions { message_quota: 1, overload, ..ContextOptions::default() };
        let Installed { context, .. } = nic.install_source(LINGERS, options);
        nic.rule(&format!("udp.dport == {port}"), Action::Context(context));
        nic.device.activate(context).unwrap();
    }
    nic.handler("ping_pong", "udp", ContextOptions::default());
    let datagram = |port: u16| udp(&Ends::default(), 1, port, &[5; 22]);
    let one = |frame: Vec<u8>| at_once(&[frame]);

    provoke(&mut nic, RX_DISABLED, one(datagram(9)));
    nic.device.set_receive(true).unwrap();
    provoke(&mut nic, BAD_FRAME, vec![WireFrame { bytes: datagram(9), gap: 0, bad: true }]);

    let mut ping = echo_request(&Ends::default(), 1, 1, &[1; 50]);
    ping[50] ^= 1;
    let mut absurd = put(GOOD, |_| {});
    absurd[UDP_HEADERS + wire::spindle::OPCODE] = 0xEE;
    let mut other = datagram(9);
    other[12..14].copy_from_slice(&[0x86, 0xDD]);
    let simple = [
        (RUNT, vec![0; 13]),
        (TOO_LONG, vec![0; MAX_FRAME + 1]),
        (BAD_IP_LENGTH, changed(17, 200)),
        (BAD_IP_CHECKSUM, changed(24, 1)),
        (BAD_UDP_LENGTH, changed(39, 9)),
        (BAD_UDP_CHECKSUM, changed(60, 6)),
        (BAD_ICMP_CHECKSUM, ping),
        (BAD_TRANSPORT, absurd),
        (NO_RULE, other),
        (RULE_DROP, datagram(1)),
        (NO_CONTEXT, datagram(2)),
        (HANDLER_DROP, datagram(3)),
        (HANDLER_FAIL, datagram(4)),
    ];
    for (reason, frame) in simple {
        provoke(&mut nic, reason, at_once(&[frame.clone(), frame]));
    }
    assert_eq!(nic.device.pop_fault().unwrap().map(|fault| fault.cause_text().0), Some("FAULT_STORE"));

    // The first of them is handled, meanwhile the others come.
    for (reason, port) in [(QUOTA, 6), (PAUSED, 7)] {
        let played = nic.play(at_once(&vec![datagram(port); 3]));
        assert_eq!(played.drop_names(), [(DROP_REASONS[reason].0, 2)]);
    }
    too_old(&mut nic);
    sequence_numbers(&mut nic);
    mailbox_reasons(&mut nic);
    too_many_messages(&mut nic);
    full_buffer(&mut nic, &datagram(9));

    let stats = nic.device.stats().unwrap();
    let never: Vec<&str> =
        DROP_REASONS.iter().zip(stats.drops).filter(|(_, n)| *n == 0).map(|((name, _), _)| *name).collect();
    assert_eq!(never, Vec::<&str>::new(), "every reason has occurred");
    nic.assert_empty();
}

/// Packets that wait for their message's user header, which never comes.
fn too_old(nic: &mut Nic) {
    let late = |at| {
        put(GOOD, |header| {
            (header.dst_pid, header.msg_len, header.msg_off) = (WAITING, 3 * PIECE as u32, at * PIECE as u32)
        })
    };
    nic.device.set_message_timeout(1000).unwrap();
    let played = provoke(nic, MESSAGE_AGED, at_once(&[late(2), late(1)]));
    assert_eq!(played.stats.messages_aged, 1);
    nic.device.set_message_timeout(0).unwrap();
}

/// The reasons of the PSN filter, of the check of sources and of the ICRC, which are off otherwise.
fn sequence_numbers(nic: &mut Nic) {
    let nop = |psn, src_nid| {
        let header = SpindleHeader { opcode: opcode::CTRL, msg_id: control::NOP, psn, src_nid, ..Default::default() };
        at_once(&[spindle(&Ends::default(), 50_000, SPINDLE_PORT, &header, &[])])
    };
    let other = 1 + CONFIG.peers as u32;
    nic.knows(1);
    nic.device.set_sequence_filter(true).unwrap();
    provoke(nic, BAD_SOURCE, nop(0, other));
    nic.knows(other);
    provoke(nic, CONTROL, nop(0, 1));
    provoke(nic, DUPLICATE, nop(0, 1));
    provoke(nic, PSN_WINDOW, nop(5000, 1));
    provoke(nic, NO_PEER, nop(0, other));
    nic.requires_icrc(1);
    provoke(nic, ICRC_MISSING, nop(1, 1));
    let header = SpindleHeader { opcode: opcode::CTRL, flags: flag::ICRC, psn: 1, ..Default::default() };
    let mut wrong = spindle(&Ends::default(), 50_000, SPINDLE_PORT, &header, &[]);
    wrong[UDP_HEADERS + wire::spindle::ADDR] ^= 1;
    provoke(nic, BAD_ICRC, at_once(&[wrong]));
    nic.knows(1);
    nic.device.set_sequence_filter(false).unwrap();
}

/// The reasons for which the RVMA engine refuses a packet.
fn mailbox_reasons(nic: &mut Nic) {
    let size = (4 * CONFIG.live_messages * PIECE) as u32;
    let open = |nic: &mut Nic, address, threshold| nic.device.init_window(0, address, KEY, threshold).unwrap();
    open(nic, EMPTY, 64);
    // As many bytes as the messages of `too_many_messages` that find a slot.
    let window = open(nic, GOOD, (2 * CONFIG.live_messages * PIECE) as u32);
    nic.device.post_buffer(window, size).unwrap();
    let window = open(nic, FAILING, PIECE as u32);
    let failing = nic.device.post_buffer(window, size).unwrap();
    nic.card.sim().memory().failing.push(failing.buffer..failing.buffer + 1);

    for (reason, frame) in [
        (NO_MAILBOX, put(0x999, |_| {})),
        (BAD_KEY, put(GOOD, |header| header.key += 1)),
        (NO_POSTED_BUFFER, put(EMPTY, |_| {})),
        (OUT_OF_BOUNDS, put(GOOD, |header| header.buf_off = size)),
        (UNSUPPORTED, put(GOOD, |header| header.flags |= flag::EPOCH_VALID)),
        (HOST_ERROR, put(FAILING, |_| {})),
    ] {
        provoke(nic, reason, at_once(&[frame]));
    }
    // Two messages of two packets, and between their halves the buffer is taken back, or the mailbox closed and opened
    // again.
    let taken = |id, half| {
        put(TAKEN, |header| {
            (header.msg_id, header.msg_len, header.msg_off) = (id, 2 * PIECE as u32, half * PIECE as u32)
        })
    };
    let window = open(nic, TAKEN, 2 * PIECE as u32);
    for (reason, command) in [(STALE_EPOCH, doorbell_command::INC_EPOCH), (CLOSED, doorbell_command::CLOSE)] {
        let posted = nic.device.post_buffer(window, 2 * PIECE as u32).unwrap();
        assert_eq!(nic.play(at_once(&[taken(command, 0)])).drop_names(), []);
        nic.device.bar.write32(doorbell::BASE + doorbell::MAILBOX, window.mailbox).unwrap();
        nic.device.bar.write32(doorbell::BASE + doorbell::COMMAND, command).unwrap();
        assert_eq!(nic.device.wait(&posted, 10_000).unwrap().length, PIECE as u32);
        if reason == CLOSED {
            // One command after another: the mailbox has been closed when this one is carried out.
            open(nic, TAKEN, 64);
        }
        provoke(nic, reason, at_once(&[taken(command, 1)]));
    }
    let record = nic.device.poll(&failing).unwrap().expect("the host's refusal ends the buffer");
    assert_eq!((record.status, record.length), (status::PARTIAL, 0));
}

/// More messages begin than the table holds; those that found a slot are then completed.
fn too_many_messages(nic: &mut Nic) {
    const SURPLUS: u32 = 3;
    let live = CONFIG.live_messages as u32;
    let firsts: Vec<_> = (0..live + SURPLUS).map(|id| half(id, 0)).collect();
    let played = nic.play(at_once(&firsts));
    assert_eq!(played.drop_names(), [("no_message_slot", SURPLUS)]);
    assert_eq!(played.stats.messages_open, live);
    let before = played.stats.completions;
    let seconds: Vec<_> = (0..live).map(|id| half(id, 1)).collect();
    let played = nic.play(at_once(&seconds));
    assert_eq!(played.drop_names(), []);
    assert_eq!((played.stats.messages_open, played.stats.completions), (0, before + 1));
}

/// Long frames while every HPU is busy for longer than they take to arrive: the packet buffer runs over. What it holds comes
/// to its end, and a small frame that still fits is answered.
fn full_buffer(nic: &mut Nic, small: &[u8]) {
    const FRAMES: usize = 40;
    let long = udp(&Ends::default(), 1, 5, &[3; 9000]);
    assert!(FRAMES * long.len().div_ceil(BEAT_BYTES) < BUSY as usize);
    let held = CONFIG.cells() / long.len().div_ceil(CELL_BYTES);
    let mut frames = vec![long; FRAMES];
    frames.push(small.to_vec());
    let played = nic.play(at_once(&frames));
    assert_eq!(played.drop_names(), [("no_buffer", (FRAMES - held) as u32), ("handler_fail", held as u32)]);
    assert!(played.sent.len() == 1 && played.sent[0].0 == FRAMES);
}
