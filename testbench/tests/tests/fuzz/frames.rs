//! Malformed frames: a good frame with a byte changed, cut at any length, or worse. The NIC drops what the naive model of its
//! parser drops, for the same reason, and each frame comes to one end that is counted.

use crate::bench::Nic;
use spindle::rule_table::Action;
use spindle_contract::params::{MAX_FRAME, SPINDLE_PORT};
use spindle_contract::reasons::{self, BAD_FRAME, BAD_TRANSPORT, DROP_COUNT, NO_RULE, RULE_DROP};
use spindle_contract::wire::opcode;
use spindle_fuzz::Source;
use spindle_model::frames::{echo_request, spindle, udp, Ends, SpindleHeader};
use spindle_model::packet_engine::parser::{parse, Verdict};
use spindle_sim::{Options, WireFrame};

/// Frames that are played at once: the NIC comes to rest after them, which takes longer than the frames themselves.
const BATCH: usize = 256;
/// Cycles after which a message whose rest does not come is over.
const MESSAGE_TIMEOUT: u64 = 4096;
/// Port of a rule.
const DROPPED: u16 = 9;
const ADDRESS: u64 = 0x100;
const KEY: u32 = 5;
const WINDOW_BYTES: u32 = 1 << 16;

fn good(source: &mut Source) -> Vec<u8> {
    let ends = Ends { vlan: source.chance(3).then_some(7), ..Ends::default() };
    let payload = source.bytes(90);
    match source.below(8) {
        0 => udp(&ends, 5, DROPPED, &payload),
        1 => udp(&ends, 5, 10, &payload),
        2 => echo_request(&ends, 1, 1, &payload),
        _ => {
            let length = payload.len() as u32;
            let codes = [opcode::PUT, opcode::GET, opcode::CTRL, opcode::PUT];
            let header = SpindleHeader {
                opcode: *source.pick(&codes),
                addr: ADDRESS,
                key: KEY,
                msg_id: source.word(),
                msg_len: if source.chance(8) { source.word() } else { length },
                buf_off: source.below(4096) as u32,
                payload_len: length as u16,
                ..SpindleHeader::default()
            };
            spindle(&ends, 50_000, SPINDLE_PORT, &header, &payload)
        }
    }
}

/// The frame with one byte changed, cut, longer, or with several of these.
fn malformed(source: &mut Source) -> Vec<u8> {
    let mut frame = good(source);
    match source.below(8) {
        0..=3 => {
            let at = source.below(frame.len());
            frame[at] ^= source.byte();
        }
        4 => frame.truncate(1 + source.below(frame.len())),
        5 => frame.extend(source.bytes(64)),
        6 => {
            frame = source.mutated(&frame);
            frame.truncate(MAX_FRAME + 1);
        }
        _ => {}
    }
    if frame.is_empty() {
        frame.push(source.byte());
    }
    frame
}

struct Bench {
    nic: Nic,
    frames: Vec<WireFrame>,
    /// Frames that the parser and the rules drop, by reason, and all others.
    drops: [u32; DROP_COUNT],
    others: u32,
}

impl Bench {
    fn new() -> Bench {
        let mut nic = Nic::new(Options::default());
        nic.rule("spindle", Action::Mailbox);
        nic.rule(&format!("udp.dport == {DROPPED}"), Action::Drop);
        let window = nic.device.init_window(0, ADDRESS, KEY, WINDOW_BYTES).expect("the NIC has a mailbox");
        nic.device.post_buffer(window, WINDOW_BYTES).expect("the NIC has room for a buffer");
        nic.device.set_message_timeout(MESSAGE_TIMEOUT).expect("the NIC answers");
        nic.device.set_receive(true).expect("the NIC answers");
        Bench { nic, frames: Vec::new(), drops: [0; DROP_COUNT], others: 0 }
    }

    /// Adds a frame; true: the parser accepts the frame.
    fn add(&mut self, frame: WireFrame) -> bool {
        let reason = match parse(&frame.bytes, SPINDLE_PORT) {
            _ if frame.bad => Some(BAD_FRAME),
            Verdict::Drop(reason) => Some(reason),
            Verdict::Accept(parsed) if parsed.is_spindle => None,
            Verdict::Accept(parsed) if parsed.is_udp && parsed.dst_port == DROPPED => Some(RULE_DROP),
            Verdict::Accept(_) => Some(NO_RULE),
        };
        match reason {
            Some(reason) => self.drops[reason] += 1,
            None => self.others += 1,
        }
        self.frames.push(frame);
        !reason.is_some_and(|reason| (BAD_FRAME..=BAD_TRANSPORT).contains(&reason))
    }

    /// Plays what there is, and compares the counters.
    fn play(&mut self) {
        let frames = std::mem::take(&mut self.frames);
        let entered = frames.len() as u32;
        let before = self.nic.device.stats().expect("the NIC answers");
        let played = self.nic.play(frames);
        let judged =
            |reason: usize| (BAD_FRAME..=BAD_TRANSPORT).contains(&reason) || [NO_RULE, RULE_DROP].contains(&reason);
        for reason in (0..DROP_COUNT).filter(|reason| judged(*reason)) {
            let (hardware, model) = (played.drops[reason], self.drops[reason]);
            assert_eq!(hardware, model, "frames dropped for {}", reasons::DROP_REASONS[reason].0);
        }
        // The mailbox takes the rest, or refuses it.
        let refused: u32 = (0..DROP_COUNT).filter(|reason| !judged(*reason)).map(|reason| played.drops[reason]).sum();
        let placed = played.stats.frames_placed.wrapping_sub(before.frames_placed);
        assert_eq!(refused + placed, self.others, "frames for mailboxes");
        assert_eq!(played.stats.frames_in.wrapping_sub(before.frames_in), entered, "frames that entered");
        self.nic.assert_empty();
        (self.drops, self.others) = ([0; DROP_COUNT], 0);
    }
}

#[test]
fn fuzz_frame() {
    let mut bench = Bench::new();
    spindle_fuzz::run("frame", 2000, |source| {
        let frame = WireFrame { bytes: malformed(source), gap: source.below(4) as u64, bad: source.chance(32) };
        let accepted = bench.add(frame);
        if bench.frames.len() == BATCH {
            bench.play();
        }
        accepted
    });
    bench.play();
}
