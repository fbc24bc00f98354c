//! Frames: what a process is prepared with, which buffers are posted again and when, and what is sent.

use crate::card::{page, refused, Handle, Step};
use spindle::rvma::Window;
use spindle::{Device, Error, EventKind, Frames};
use spindle_contract::events::{self, FrameCode, Head, Received};
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, mailbox_mode, packet, rvma};
use spindle_contract::{commands, wire};

const PROCESS: u32 = 2;
const TAIL: u32 = page(PROCESS) + doorbell::RING_TAIL;
const DONE: u32 = page(PROCESS) + doorbell::RING_DONE;
const SENDERS: u32 = rvma::BASE + rvma::SENDERS;
const CONTROL: u32 = packet::BASE + packet::CONTROL;
const HOST_WINDOW: u32 = packet::BASE + packet::HOST_WINDOW;
/// Two frames of the greatest length: no buffer is smaller.
const BYTES: u32 = 2 * 9216;

/// A process that receives and sends frames, and where its memory is.
struct Open {
    handle: Handle,
    device: Device<Handle, Handle>,
    frames: Frames,
    pool: u64,
    events: u64,
    commands: u64,
    /// Buffer and record.
    buffers: Vec<(u64, u64)>,
    /// Records that the card has written to the event ring.
    written: u32,
}

fn open(buffers: u32) -> Open {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().doorbell = (0x3123, 0);
    handle.poke(DONE, buffers);
    let frames = device.open_frames(PROCESS as usize, buffers as usize, BYTES).unwrap();
    let allocated: Vec<u64> = handle.0.borrow().allocations.iter().map(|piece| piece.0).collect();
    let buffers = allocated[3..].chunks(2).map(|pair| (pair[0], pair[1])).collect();
    let [pool, events, commands] = [allocated[0], allocated[1], allocated[2]];
    Open { handle, device, frames, pool, events, commands, buffers, written: 0 }
}

impl Open {
    /// The card writes a record to the event ring.
    fn event(&mut self, head: Head, words: [u32; 6]) {
        let at = self.events + 32 * u64::from(self.written % 1024);
        self.written += 1;
        let [a, b, c, d, e, f] = words;
        self.handle.store(at, &[head.0, a, b, c, d, e, f, self.written].map(u32::to_le_bytes).concat());
    }

    /// A frame of so many bytes, all of this value, lies at an address.
    fn frame(&mut self, address: u64, length: u32, value: u8) {
        self.handle.store(address, &vec![value; length as usize]);
        let code = FrameCode::ZERO.with_ruled(true).with_vlan(true).0;
        let head = Head::ZERO.with_kind(events::FRAME.into()).with_code(code);
        let source = Received::ZERO.with_frame(u32::from(value)).with_rule(9).0;
        self.event(head, [0x123, length, 0x5150, source, address as u32, (address >> 32) as u32]);
    }

    /// A buffer is complete, with so many bytes in it.
    fn complete(&mut self, buffer: usize, bytes: u32) {
        let mut record = [0; 16];
        record[wire::RECORD_LENGTH..][..4].copy_from_slice(&bytes.to_le_bytes());
        record[wire::RECORD_STATUS] = wire::status::DONE;
        self.handle.store(self.buffers[buffer].1, &record);
    }

    fn receive(&mut self) -> Option<Vec<u8>> {
        self.device.receive_frame(&mut self.frames).unwrap().map(|frame| frame.bytes)
    }

    /// The card has read frames up to this command.
    fn sent(&mut self, commands: u16) {
        let head = Head::ZERO.with_kind(events::SENT.into());
        self.event(head, [commands.into(), 0, 0, 0, 0, 0]);
    }

    /// Words of the command in this place.
    fn command(&self, number: u64) -> [u32; 5] {
        self.handle.words(self.commands + 64 * (number % 256))
    }
}

#[test]
fn a_process_of_frames_has_rings_a_window_buffers_and_the_right_to_send() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().doorbell = (0x3123, 0);
    for (buffers, bytes) in [(0, BYTES), (1, BYTES - 64), (1, BYTES + 32), (1, BYTES + 1), (1, 0)] {
        let sentence = refused(device.open_frames(2, buffers, bytes));
        assert_eq!(
            sentence,
            format!(
                "{buffers} buffers of {bytes} bytes cannot receive frames; choose at least one, of a multiple of 64 \
                 bytes and at least 18432 bytes"
            )
        );
        assert_eq!(handle.steps(), vec![]);
    }
    handle.poke(SENDERS, 0x8001);
    handle.poke(DONE, 2);
    let frames = device.open_frames(2, 2, BYTES).unwrap();
    assert_eq!(frames.window(), Window { process: 2, mailbox: 0x3123 });
    assert_eq!((frames.sending(), frames.lost()), (0, 0));
    let sizes: Vec<(usize, usize)> = handle.0.borrow().allocations.iter().map(|piece| (piece.1, piece.2)).collect();
    let buffer = (BYTES as usize, 64);
    assert_eq!(
        sizes,
        [(64 * 8192, 64), (1024 * 32, 1024 * 32), (256 * 64, 256 * 64), buffer, (16, 16), buffer, (16, 16)]
    );
    let commands: Vec<u32> = handle.0.borrow().commands.iter().map(|command| command.1).collect();
    assert_eq!(commands, [doorbell_command::OPEN_RING, doorbell_command::OPEN_COMMANDS, doorbell_command::INIT_WINDOW]);
    let mode = mailbox_mode::FRAMES | mailbox_mode::MANAGED | mailbox_mode::NACK_OFF;
    let staged = [doorbell::MODE, doorbell::THRESHOLD, doorbell::KEY].map(|at| handle.register(page(2) + at));
    assert_eq!(staged, [mode, 9216, 0]);
    let last: Vec<(u32, u32)> = handle.writes().into_iter().rev().take(3).collect();
    assert_eq!(last, [(SENDERS, 0x8005), (TAIL, 2), (TAIL, 1)], "the right comes when the buffers are there");
}

#[test]
fn posts_that_are_not_carried_out_end_the_preparation() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    handle.0.borrow_mut().step = 1 << 18;
    let sentence = refused(device.open_frames(2, 1, BYTES));
    assert_eq!(sentence, "posts of process 2 did not come within 1048576 cycles");
    assert_eq!(handle.register(SENDERS), 0, "it may not send");
}

#[test]
fn frames_come_with_what_the_card_knows_of_them() {
    let mut open = open(2);
    assert_eq!(open.receive(), None);
    let (buffer, _) = open.buffers[0];
    open.frame(buffer, 100, 7);
    let frame = open.device.receive_frame(&mut open.frames).unwrap().unwrap();
    assert_eq!(frame.bytes, vec![7; 100]);
    let arrived = frame.arrived;
    assert_eq!((arrived.mailbox, arrived.address, arrived.length, arrived.stamp), (0x123, buffer, 100, 0x5150));
    assert_eq!((arrived.number, arrived.rule, arrived.vlan, arrived.host_error), (7, Some(9), true, false));
    assert_eq!((arrived.ip_checksum, arrived.l4_checksum), (false, false));
    // The longest one, and one byte more.
    open.frame(buffer + 128, 9216, 8);
    assert_eq!(open.receive(), Some(vec![8; 9216]));
    open.frame(buffer + 128, 9217, 9);
    match open.device.receive_frame(&mut open.frames).unwrap_err() {
        Error::Implausible(what) => assert!(what.starts_with("a frame of 9217 bytes at"), "{what}"),
        other => panic!("{other}"),
    }
}

#[test]
fn a_frame_that_host_memory_refused_is_passed_over() {
    let mut open = open(1);
    let (buffer, _) = open.buffers[0];
    let code = FrameCode::ZERO.with_host_error(true).0;
    let head = Head::ZERO.with_kind(events::FRAME.into()).with_code(code);
    open.event(head, [0x123, 60, 0, 0, buffer as u32, 0]);
    open.frame(buffer + 64, 60, 3);
    assert_eq!(open.receive(), Some(vec![3; 60]));
}

#[test]
fn other_events_are_kept_in_order_and_losses_are_counted() {
    let mut open = open(1);
    let user = Head::ZERO.with_kind(events::USER.into());
    let lost = Head::ZERO.with_kind(events::LOST.into());
    open.event(user, [0, 1, 0, 0, 11, 0]);
    open.event(lost, [0, 3, 0, 0, 0, 0]);
    open.event(user, [0, 2, 0, 0, 12, 0]);
    open.event(lost, [0, 4, 0, 0, 0, 0]);
    assert_eq!(open.receive(), None);
    assert_eq!(open.frames.lost(), 7);
    let kinds: Vec<EventKind> = open.frames.other_events().map(|event| event.kind).collect();
    assert_eq!(kinds, [EventKind::User { user: 11, length: 1 }, EventKind::User { user: 12, length: 2 }]);
    assert_eq!(open.frames.other_events().count(), 0);
}

#[test]
fn a_buffer_is_posted_again_when_it_is_complete_and_all_of_it_was_received() {
    let mut open = open(2);
    let [(first, record), (second, _)] = open.buffers[..] else { panic!("two buffers") };
    open.handle.steps();
    // 60 bytes take 64, 9,216 take 9,216.
    open.frame(first, 60, 1);
    open.frame(first + 64, 9216, 2);
    open.complete(0, 64 + 9216);
    open.receive().unwrap();
    assert_eq!(open.handle.writes(), vec![], "a frame of it has not been received");
    open.receive().unwrap();
    assert_eq!(open.handle.writes(), vec![(TAIL, 3)]);
    assert_eq!(open.command(2), [0x3123_0002, BYTES, first as u32, 0, record as u32]);
    assert_eq!(open.handle.bytes(record, 16), vec![0; 16]);
    // The other one is the oldest now; a frame of it is no frame of the first.
    open.frame(second, 128, 3);
    open.complete(1, 128);
    open.receive().unwrap();
    assert_eq!(open.handle.writes(), vec![(TAIL, 4)]);
    assert_eq!(open.command(3)[2], second as u32);
}

#[test]
fn a_buffer_goes_when_a_frame_of_the_next_one_comes() {
    let mut open = open(3);
    let [(first, _), (second, _), (third, _)] = open.buffers[..] else { panic!("three buffers") };
    open.handle.steps();
    // Its last frame was refused by host memory: what was received is less than what lies in it.
    open.frame(first, 60, 1);
    open.receive().unwrap();
    open.complete(0, 128);
    open.complete(1, 128);
    open.frame(third, 60, 2);
    assert_eq!(open.receive(), Some(vec![2; 60]));
    assert_eq!(open.handle.writes(), vec![(TAIL, 4), (TAIL, 5)], "both buffers before it");
    assert_eq!([open.command(3)[2], open.command(4)[2]], [first as u32, second as u32]);
    // What was received of the third counts from its beginning.
    open.complete(2, 64);
    open.frame(third, 10, 3);
    open.receive().unwrap();
    assert_eq!(open.handle.writes(), vec![], "128 bytes are not 64");
}

#[test]
fn a_buffer_that_is_not_complete_is_not_posted_again() {
    let mut open = open(2);
    let [(first, _), (second, _)] = open.buffers[..] else { panic!("two buffers") };
    open.handle.steps();
    open.frame(first, 60, 1);
    open.receive().unwrap();
    open.frame(second, 60, 2);
    assert_eq!(open.receive(), Some(vec![2; 60]));
    assert_eq!(open.handle.writes(), vec![]);
}

#[test]
fn a_frame_has_as_many_bytes_as_the_card_sends() {
    let mut open = open(1);
    for length in [0, 13, 8193] {
        let sentence = refused(open.device.send_frame(&mut open.frames, &vec![1; length], None));
        assert_eq!(sentence, format!("a frame of {length} bytes cannot be sent; choose 14 to 8192 bytes"));
    }
    open.handle.steps();
    for (number, length) in [14, 8192].into_iter().enumerate() {
        assert!(open.device.send_frame(&mut open.frames, &vec![number as u8 + 1; length], None).unwrap());
        let address = open.pool + 8192 * number as u64;
        let head = u32::from(commands::SEND_FRAME) | (number as u32) << 16;
        assert_eq!(open.command(1 + number as u64), [head, length as u32, address as u32, 0, 0]);
        assert_eq!(open.handle.bytes(address, length), vec![number as u8 + 1; length]);
        assert_eq!(open.frames.sending(), number + 1);
    }
    assert_eq!(open.handle.writes(), vec![(TAIL, 2), (TAIL, 3)]);
}

#[test]
fn a_checksum_is_inserted_where_the_card_can() {
    let mut open = open(1);
    let frame = [1; 60];
    assert!(open.device.send_frame(&mut open.frames, &frame, Some((34, 24))).unwrap());
    let head = u32::from(commands::SEND_FRAME) | commands::FRAME_CHECKSUM << 8;
    assert_eq!(open.command(1)[..2], [head, 60]);
    assert_eq!(open.command(1)[4], 24 << 16 | 34);
    let sentence = refused(open.device.send_frame(&mut open.frames, &frame, Some((34, 26))));
    assert_eq!(
        sentence,
        "the card cannot insert a checksum at byte 26 of a sum from byte 34 of a frame of 60 bytes; choose even \
         numbers up to 254 inside the frame, or compute the checksum"
    );
    assert_eq!(open.frames.sending(), 1);
}

#[test]
fn many_frames_are_one_write_and_those_before_a_bad_one_are_sent_with_the_next() {
    let mut open = open(1);
    open.handle.steps();
    let (good, bad) = ([2u8; 20], [3u8; 13]);
    let batch = [(&good[..], None), (&good[..], None), (&good[..], None)];
    assert_eq!(open.device.send_frames(&mut open.frames, &batch).unwrap(), 3);
    assert_eq!(open.handle.writes(), vec![(TAIL, 4)]);
    open.device.send_frames(&mut open.frames, &[(&good[..], None), (&bad[..], None), (&good[..], None)]).unwrap_err();
    assert_eq!((open.frames.sending(), open.handle.writes()), (4, vec![]));
    assert_eq!(open.device.send_frames(&mut open.frames, &[]).unwrap(), 0);
    assert_eq!(open.handle.writes(), vec![(TAIL, 5)]);
}

#[test]
fn sixty_four_frames_wait_and_no_more() {
    let mut open = open(1);
    let frame = [5u8; 60];
    let batch: Vec<_> = (0..70).map(|_| (&frame[..], None)).collect();
    open.handle.steps();
    assert_eq!(open.device.send_frames(&mut open.frames, &batch).unwrap(), 64);
    assert_eq!(open.handle.writes(), vec![(TAIL, 65)]);
    assert_eq!(open.frames.sending(), 64);
    // Each sixteenth has an event.
    for number in 0..64u32 {
        let flags = if number % 16 == 15 { commands::FRAME_EVENT } else { 0 };
        let head = u32::from(commands::SEND_FRAME) | flags << 8 | number << 16;
        assert_eq!(open.command(1 + u64::from(number))[0], head, "frame {number}");
    }
    assert!(!open.device.send_frame(&mut open.frames, &frame, None).unwrap());
    assert_eq!(open.frames.sending(), 64);
    // The sixteenth is command 17: a buffer was posted before the first.
    open.sent(17);
    assert_eq!(open.receive(), None);
    assert_eq!(open.frames.sending(), 48);
    open.sent(17);
    open.sent(16);
    assert_eq!(open.receive(), None);
    assert_eq!(open.frames.sending(), 48, "an older report changes nothing");
    open.sent(18);
    open.receive();
    assert_eq!(open.frames.sending(), 47);
    // The next one lies where the first was.
    assert!(open.device.send_frame(&mut open.frames, &[6; 14], None).unwrap());
    assert_eq!(open.command(65)[1..3], [14, open.pool as u32]);
    assert_eq!(open.handle.bytes(open.pool, 15), [vec![6; 14], vec![5; 1]].concat());
    open.sent(66);
    open.receive();
    assert_eq!(open.frames.sending(), 0);
}

#[test]
fn counts_of_frames_go_on_after_sixteen_bits() {
    let mut open = open(1);
    for number in 0..(1u32 << 16) + 100 {
        assert!(open.device.send_frame(&mut open.frames, &[1; 14], None).unwrap(), "{number}");
        if number % 16 == 15 {
            // Commands, of which one is the post.
            let commands = (number + 2) as u16;
            open.handle.poke(DONE, commands.into());
            open.sent(commands);
            open.receive();
            assert_eq!(open.frames.sending(), 0, "{number}");
            open.handle.steps();
        }
    }
    assert_eq!(open.frames.sending(), 4);
}

#[test]
fn frames_go_to_a_window_or_to_none() {
    let (handle, mut device) = Handle::opened(&Config::ALVEO);
    let window = Window { process: 63, mailbox: 0xF123 };
    handle.poke(CONTROL, 1);
    for (window, unmatched, word, control) in [
        (Some(window), true, 1 << 31 | 63 << 16 | 0xF123, 3),
        (Some(window), false, 1 << 31 | 63 << 16 | 0xF123, 1),
        (None, true, 0, 1),
        (None, false, 0, 1),
    ] {
        device.frames_to_host(window, unmatched).unwrap();
        assert_eq!(handle.writes(), vec![(HOST_WINDOW, word), (CONTROL, control)], "{window:?} {unmatched}");
    }
}

#[test]
fn the_right_to_send_is_a_bit_of_each_process() {
    let (handle, mut device) = Handle::opened(&Config::ALVEO);
    handle.poke(SENDERS, 0xF0);
    handle.poke(SENDERS + 4, 0xF00);
    for (process, may, expected) in [
        (0, true, (SENDERS, 0xF1)),
        (0, true, (SENDERS, 0xF1)),
        (31, true, (SENDERS, 0x8000_00F1)),
        (32, true, (SENDERS + 4, 0xF01)),
        (63, true, (SENDERS + 4, 0x8000_0F01)),
        (31, false, (SENDERS, 0xF1)),
        (31, false, (SENDERS, 0xF1)),
        (32, false, (SENDERS + 4, 0x8000_0F00)),
    ] {
        device.set_sender(process, may).unwrap();
        assert_eq!(handle.writes(), vec![expected], "{process} {may}");
    }
    assert!(refused(device.set_sender(64, true)).contains("process 64"));
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn the_end_of_frames_comes_in_an_order_in_which_nothing_is_written_late() {
    let mut open = open(1);
    open.handle.poke(CONTROL, 3);
    open.handle.poke(SENDERS, 0xFF);
    let events = open.events;
    open.handle.steps();
    open.device.close_frames(open.frames).unwrap();
    let step = |register: u32, value: u32| Step::Write(page(PROCESS) + register, value);
    let closed = |last: u32, command: u32| {
        [
            step(doorbell::BUFFER_LO, 0),
            step(doorbell::BUFFER_HI, 0),
            step(doorbell::SIZE, 0),
            step(last, 0),
            step(doorbell::COMMAND, command),
        ]
    };
    let expected = [
        vec![Step::Write(HOST_WINDOW, 0), Step::Write(CONTROL, 1)],
        closed(doorbell::RING_TAIL, doorbell_command::OPEN_COMMANDS).to_vec(),
        vec![Step::Write(SENDERS, 0xFB)],
        vec![
            step(doorbell::MAILBOX, 0x3123),
            step(doorbell::COUNT, 0),
            step(doorbell::COMMAND, doorbell_command::CLOSE),
        ],
        closed(doorbell::EVENT_HEAD, doorbell_command::OPEN_RING).to_vec(),
    ];
    assert_eq!(open.handle.steps(), expected.concat());
    assert_eq!(open.handle.0.borrow().freed, vec![events]);
}

#[test]
fn frames_that_were_handed_on_are_waited_for() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let (handed, read) = (rvma::BASE + rvma::HOST_FRAMES, rvma::BASE + rvma::HOST_FRAMES_READ);
    for (count, reads) in [
        (7, vec![7]),
        (7, vec![5, 6, 7]),
        // More were handed on meanwhile.
        (7, vec![6, 9]),
        // The counters wrap around.
        (2, vec![u32::MAX, 0, 1, 2]),
        (u32::MAX, vec![u32::MAX - 1, 0]),
    ] {
        handle.answer(handed, [count]);
        handle.answer(read, reads.iter().copied());
        handle.steps();
        device.wait_frames_read(10_000).unwrap();
        assert_eq!(handle.reads_of(read), reads.len(), "{reads:?}");
        assert_eq!(handle.reads_of(handed), 1);
    }
    handle.poke(handed, 7);
    handle.poke(read, 6);
    let sentence = refused(device.wait_frames_read(500));
    assert_eq!(sentence, "the end of the frames that are sent did not come within 500 cycles");
}

#[test]
fn a_frame_whose_buffer_cannot_be_posted_again_comes_with_the_next_call() {
    let mut open = open(2);
    let [(first, record), (second, _)] = open.buffers[..] else { panic!("two buffers") };
    // A post to a full ring looks at RING_DONE, by which a command could not be carried out.
    for number in 0..256u16 {
        assert!(open.device.send_frame(&mut open.frames, &[1; 14], None).unwrap());
        open.sent(number + 3);
        assert_eq!(open.receive(), None);
    }
    open.handle.poke(DONE, doorbell::RingDone::ZERO.with_done(100).with_error(doorbell_error::OUT_OF_REGION).0);
    open.frame(first, 60, 7);
    open.complete(0, 64);
    open.handle.steps();
    let sentence = refused(open.device.receive_frame(&mut open.frames));
    assert!(sentence.contains("outside of its regions"), "{sentence}");
    assert_eq!(open.receive(), Some(vec![7; 60]), "it is not lost");
    assert_eq!(open.receive(), None);
    // Nor is its buffer: a frame of the next one has it posted.
    open.handle.poke(DONE, 200);
    open.frame(second, 60, 8);
    open.handle.steps();
    assert_eq!(open.receive(), Some(vec![8; 60]));
    assert_eq!(open.handle.writes(), vec![(TAIL, 259)]);
    assert_eq!(open.command(258), [0x3123_0002, BYTES, first as u32, 0, record as u32]);
    open.frame(second + 64, 60, 9);
    open.complete(1, 128);
    assert_eq!(open.receive(), Some(vec![9; 60]));
    assert_eq!(open.handle.writes(), vec![(TAIL, 260)], "bytes of the second buffer count from its beginning");
}
