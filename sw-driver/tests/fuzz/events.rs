//! Event records and completion records: whatever bytes a card writes are one event, whose fields are those of the record.

use spindle::events::Outcome;
use spindle::rvma::Completed;
use spindle::{Event, EventKind};
use spindle_contract::events::*;
use spindle_contract::wire;
use spindle_fuzz::Source;

/// A record of these words.
fn record(words: [u32; BYTES / 4]) -> [u8; BYTES] {
    let mut record = [0; BYTES];
    for (bytes, word) in record.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    record
}

/// The words of an event as far as its kind has them, and which bits of the record have a meaning.
fn words_of(event: &Event) -> ([u32; BYTES / 4], [u32; BYTES / 4]) {
    let head = |kind: u8, code: u8| Head::ZERO.with_kind(kind.into()).with_code(code.into());
    let place = |hpu: usize, cluster: usize| Handler::ZERO.with_hpu(hpu as u32).with_cluster(cluster as u32);
    let packet = |frame: u16, handler: u8| Packet::ZERO.with_frame(frame.into()).with_handler(handler.into()).0;
    let [low, high] = [|wide: u64| wide as u32, |wide: u64| (wide >> 32) as u32];
    const ALL: u32 = u32::MAX;
    const CODE: u32 = 0xFF_0F0F;
    const KIND: u32 = 0x0F0F;
    let (head, words, used) = match &event.kind {
        EventKind::Message { outcome, id, length, dropped, source, match_bits, flow_control } => {
            let code = match outcome {
                Outcome::Done => message::DONE,
                Outcome::Dropped => message::DROPPED,
                Outcome::Failed => message::FAILED,
                Outcome::Aged => message::AGED,
            };
            let head = head(MESSAGE, code).with_flags((*flow_control).into());
            let words = [*id, *length, *dropped, *source, low(*match_bits), high(*match_bits)];
            (head, words, [CODE | 3 << 24, ALL, ALL, ALL, ALL, ALL, ALL])
        }
        EventKind::TaskFailed { argument } => {
            let head = head(MESSAGE, 0).with_flags(message::TASK.into());
            (head, [0, 0, 0, 0, low(*argument), high(*argument)], [KIND | 2 << 24, 0, 0, 0, 0, ALL, ALL])
        }
        EventKind::Fault(fault) => {
            let place = place(fault.hpu, fault.cluster).with_msg_slot(fault.msg_slot as u32);
            let words = [fault.pc, place.0, fault.address, packet(fault.frame, fault.kind), 0, 0];
            (head(FAULT, fault.cause), words, [CODE, ALL, 0xFF_FFFF, ALL, 0x3_FFFF, 0, 0])
        }
        EventKind::Print(print) => {
            let mut text = [0; 8];
            text[..print.text.len()].copy_from_slice(&print.text);
            let text = u64::from_le_bytes(text);
            let shown = u64::MAX.checked_shr(64 - 8 * print.text.len() as u32).unwrap_or(0);
            let place = place(print.hpu, print.cluster);
            let words = [0, place.0, 0, packet(print.frame, print.kind), low(text), high(text)];
            let used = [KIND | 0xF << 16, 0, 0xFFFF, 0, 0x3_FFFF, low(shown), high(shown)];
            (head(PRINT, print.text.len() as u8), words, used)
        }
        EventKind::User { user, length } => {
            (head(USER, 0), [0, *length, 0, 0, low(*user), high(*user)], [KIND, 0, ALL, 0, 0, ALL, ALL])
        }
        EventKind::Complete { user, length } => {
            (head(COMPLETE, 0), [0, *length, 0, 0, low(*user), high(*user)], [KIND, 0, ALL, 0, 0, ALL, ALL])
        }
        EventKind::Put { number, acknowledged, refusal, id, length, node, address } => {
            let put = HostPut::ZERO.with_node(*node).with_number((*number).into());
            let refused = refusal.map_or(0, u32::from);
            let words = [*id, *length, refused, put.0, low(*address), high(*address)];
            (head(PUT, (!acknowledged).into()), words, [KIND | 1 << 16, ALL, ALL, 0xFF, 0xFFFF_00FF, ALL, ALL])
        }
        EventKind::Buffer { mailbox, status, length, high_water, epoch, buffer } => {
            let words = [*mailbox, *length, *high_water, u32::from(*epoch), low(*buffer), high(*buffer)];
            (head(BUFFER, *status), words, [CODE, ALL, ALL, ALL, 0xFFFF, ALL, ALL])
        }
        EventKind::Frame(frame) => {
            let code = FrameCode::ZERO
                .with_ip_checksum(frame.ip_checksum)
                .with_l4_checksum(frame.l4_checksum)
                .with_vlan(frame.vlan)
                .with_ruled(frame.rule.is_some())
                .with_host_error(frame.host_error);
            let rule = frame.rule.unwrap_or(0) as u32;
            let received = Received::ZERO.with_frame(frame.number.into()).with_rule(rule).0;
            let words = [frame.mailbox, frame.length, frame.stamp, received, low(frame.address), high(frame.address)];
            let numbered = if frame.rule.is_some() { 0x3F_FFFF } else { 0xFFFF };
            (head(FRAME, code.0 as u8), words, [KIND | 0x1F << 16, ALL, ALL, ALL, numbered, ALL, ALL])
        }
        EventKind::Sent { commands, cookie, failed } => {
            let words = [u32::from(*commands), 0, 0, u32::from(*cookie), 0, 0];
            (head(SENT, (*failed).into()), words, [KIND | 1 << 16, 0xFFFF, 0, 0, 0xFFFF, 0, 0])
        }
        EventKind::Lost(count) => (head(LOST, 0), [0, *count, 0, 0, 0, 0], [KIND, 0, ALL, 0, 0, 0, 0]),
        EventKind::Unknown(kind) => (head(*kind, 0), [0; 6], [KIND, 0, 0, 0, 0, 0, 0]),
    };
    let head = head.with_context(event.context.0 as u32).0;
    let [a, b, c, d, e, f] = words;
    let [u, v, w, x, y, z, t] = used;
    ([head, a, b, c, d, e, f, event.number], [u, v, w, x, y, z, t, ALL])
}

/// A record as a card writes it, or as none does.
fn words(source: &mut Source) -> [u32; BYTES / 4] {
    let mut words: [u32; BYTES / 4] = std::array::from_fn(|_| source.word());
    if !source.chance(4) {
        // A kind that exists, a code that exists, and as many characters as fit.
        let head = Head(words[WORD_KIND]).with_kind(source.pick(KINDS).1.into()).with_code(source.below(9) as u32);
        words[WORD_KIND] = head.0;
    }
    words
}

#[test]
fn fuzz_event() {
    spindle_fuzz::run_total("event", 4000, |source| {
        let given = words(source);
        let event = Event::parse(&record(given));
        let (back, used) = words_of(&event);
        let head = Head(given[WORD_KIND]);
        for (at, ((given, back), used)) in given.into_iter().zip(back).zip(used).enumerate() {
            // Codes beyond those that a kind has: a failed message, put or frame, or a full piece of text.
            let most = match head.kind() as u8 {
                MESSAGE => 3,
                PUT | SENT => 1,
                PRINT => 8,
                _ => u32::MAX,
            };
            let used = if at == WORD_KIND && head.code() > most { used & !(0xFF << 16) } else { used };
            assert_eq!(given & used, back & used, "word {at} of {event:?}");
        }
        if given[WORD_EXTRA] == 0 {
            assert!(!matches!(event.kind, EventKind::Put { refusal: Some(_), .. }));
        }
    });
}

#[test]
fn fuzz_completion_record() {
    spindle_fuzz::run("completion_record", 4000, |source| {
        let mut record: [u8; wire::RECORD_BYTES] = std::array::from_fn(|_| source.byte());
        if source.chance(3) {
            record[wire::RECORD_STATUS] = 0;
        }
        let Some(completed) = Completed::parse(&record) else {
            assert_eq!(record[wire::RECORD_STATUS], 0);
            return false;
        };
        let mut back = [0; wire::RECORD_BYTES];
        back[wire::RECORD_LENGTH..][..4].copy_from_slice(&completed.length.to_le_bytes());
        back[wire::RECORD_STATUS] = completed.status;
        back[wire::RECORD_EPOCH..][..2].copy_from_slice(&completed.epoch.to_le_bytes());
        back[wire::RECORD_BUFFER..][..8].copy_from_slice(&completed.buffer.to_le_bytes());
        // The byte after the status has no meaning.
        record[wire::RECORD_STATUS + 1] = 0;
        assert_eq!(record, back);
        true
    });
}
