//! Windows that name an execution context: handlers decide what becomes of what is sent to them.

use crate::nic::bench::{at_once, Nic};
use rand::seq::SliceRandom;
use rand::Rng;
use spindle::rule_table::Action;
use spindle::window::WindowOptions;
use spindle::{ContextOptions, Error, HostMemory};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::wire::status;
use spindle_harness::{seeded_rng, with_seeds};
use spindle_model::frames::{put_message, udp, Ends, SpindleHeader};
use spindle_sim::Options;

const ADDRESS: u64 = 0x7_0000_0077;
const KEY: u32 = 3;
/// Bytes of the context's host region.
const REGION: usize = 1 << 16;

/// By the last digit of the message's number: 0 placed without more, 1 dropped, 2 placed packet by packet but for those at
/// 1408, 3 written as frames to another place in host memory, by their offset in the message.
const CHOOSES: &str = r#"
#include "spindle.h"

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    switch (h->msg_id & 3) {
    case 0: return SPIN_PROCEED;
    case 1: return SPIN_DROP;
    default: return SPIN_PROCESS_DATA;
    }
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (p->msg_id & 1) {
        spin_dma_to_host(p->msg_off * 2, spin_packet(p), p->packet_len);
        spin_wait();
    } else if (p->msg_off != 1408) {
        spin_place();
    }
    return SPIN_SUCCESS;
}"#;

/// Messages to the window meet its context, whatever rules come later, and those to another window do not; when it is
/// closed, nothing is left of it, and its rule can be used again.
#[test]
fn handlers_decide_about_a_window() {
    with_seeds(|| {
        let mut rng = seeded_rng("handlers_decide_about_a_window");
        let mut nic = Nic::new(Options::default());
        nic.rule("spindle", Action::Mailbox);
        let region = nic.device.memory.alloc(REGION, 4096).unwrap();
        let options = ContextOptions { host_region: Some((region, REGION as u32)), ..ContextOptions::default() };
        let context = nic.install_source(CHOOSES, options).context;
        nic.device.activate(context).unwrap();
        // Messages 0 and 2 reserve their bytes; of the latter one packet never comes.
        let wanted = WindowOptions {
            address: ADDRESS,
            key: KEY,
            threshold: 8000,
            context: Some(context),
            ..WindowOptions::default()
        };
        let window = nic.device.open_window(0, &wanted).unwrap();
        let posted = nic.device.post_buffer(window, 20_000).unwrap();
        let other = nic.device.init_window(0, ADDRESS + 1, KEY, 4000).unwrap();
        let beside = nic.device.post_buffer(other, 20_000).unwrap();
        nic.device.set_receive(true).unwrap();

        let message = |id: u32, address: u64, data: &[u8]| {
            let header =
                SpindleHeader { addr: address, key: KEY, msg_id: id, buf_off: 5000 * id, ..SpindleHeader::default() };
            put_message(&Ends::default(), SPINDLE_PORT, &header, data, 1408)
        };
        let data: Vec<Vec<u8>> = (0..4).map(|_| (0..4000).map(|_| rng.random()).collect()).collect();
        let mut frames: Vec<Vec<u8>> = (0..4).flat_map(|id| message(id, ADDRESS, &data[id as usize])).collect();
        let redirected = message(3, ADDRESS, &data[3]);
        frames.extend(message(1, ADDRESS + 1, &data[1]));
        frames.shuffle(&mut rng);
        let played = nic.play(at_once(&frames));
        assert_eq!(played.drop_names(), [("handler_drop", 3)]);

        let read = |nic: &Nic, at: u64, length: usize| {
            let mut got = vec![0; length];
            nic.card.sim().memory().memory.read(at, &mut got);
            got
        };
        let buffer = posted.buffer;
        assert!(read(&nic, buffer, 4000) == data[0], "placed as it came");
        assert!(read(&nic, buffer + 5000, 4000) == [0; 4000], "dropped");
        let mut chosen = data[2].clone();
        chosen[1408..2816].fill(0);
        assert!(read(&nic, buffer + 10_000, 4000) == chosen, "placed but for one packet");
        assert!(read(&nic, buffer + 15_000, 4000) == [0; 4000], "nothing here: it went elsewhere");
        for (i, frame) in redirected.iter().enumerate() {
            assert!(
                read(&nic, region + 2 * 1408 * i as u64, frame.len()) == *frame,
                "packet {i} is in the host region"
            );
        }
        let whole = nic.device.poll(&beside).unwrap().expect("the other window knows nothing of handlers");
        assert_eq!((whole.status, whole.length), (status::DONE, 4000));
        assert!(read(&nic, beside.buffer + 5000, 4000) == data[1]);

        // The buffer waits for the packet that no handler placed; closing returns it.
        assert_eq!(nic.device.poll(&posted).unwrap(), None);
        nic.device.close_window(window).unwrap();
        let back = nic.device.poll(&posted).unwrap().expect("it came back");
        assert_eq!((back.status, back.length), (status::CANCELLED, 4000 + 4000 - 1408));
        let late = nic.play(at_once(&message(4, ADDRESS, &data[0])));
        assert_eq!(late.drop_names(), [("no_mailbox", 3)], "the rules of before");
        nic.assert_empty();

        // Each such window takes a rule: when there is none, nothing is left open.
        let rules = nic.device.info().match_rules - 1;
        for i in 0..=rules {
            if let Err(error) = nic.device.open_window(1, &WindowOptions { address: i as u64, ..wanted }) {
                assert!(matches!(error, Error::Full { .. } | Error::Terms(_)), "{error}");
                assert_eq!(i, rules, "{error}");
                nic.device.init_window(1, i as u64, KEY, 1).expect("the window was closed again");
                return;
            }
        }
        panic!("a window took no rule");
    });
}

/// By the last digit of the message's number: 0 at another offset of its own window, 1 in another one, 2 across the end of a
/// third one, 3 in a window of another process, 4 placed as it came. The payload of a raw frame goes to a managed window.
const REDIRECTS: &str = r#"
#include "spindle.h"

#define WINDOW 0x700000077u

int header_handler(const spin_header_t *h, void *state) {
    (void)state;
    return h->opcode != 0 && h->msg_id == 4 ? SPIN_PROCEED : SPIN_PROCESS_DATA;
}
int payload_handler(const spin_payload_t *p, void *state) {
    (void)state;
    if (p->opcode == 0) {
        spin_redirect(WINDOW + 3, 0);
        return SPIN_SUCCESS;
    }
    switch (p->msg_id) {
    case 0: spin_redirect(WINDOW, p->buf_off + p->msg_off + 10000); break;
    case 1: spin_redirect(WINDOW + 1, p->msg_off); break;
    case 2: spin_redirect(WINDOW + 4, 4001 - p->payload_len); break;
    default: spin_redirect(WINDOW + 2, 0); break;
    }
    return SPIN_SUCCESS;
}"#;

/// A handler sends packets to other places of its window and to other windows of its process, but to no one else's.
#[test]
fn handlers_redirect_what_is_sent_to_a_window() {
    with_seeds(|| {
        const PID: usize = 2;
        let mut rng = seeded_rng("handlers_redirect_what_is_sent_to_a_window");
        let mut nic = Nic::new(Options::default());
        let options = ContextOptions { process: PID as u8, ..ContextOptions::default() };
        let context = nic.install_source(REDIRECTS, options).context;
        nic.rule("spindle", Action::Mailbox);
        nic.rule("udp.dport == 9", Action::Context(context));
        nic.device.activate(context).unwrap();
        let mut open = |pid: usize, number: u64, threshold: u32, options: WindowOptions| {
            let wanted = WindowOptions { address: ADDRESS + number, key: KEY, threshold, ..options };
            let window = nic.device.open_window(pid, &wanted).unwrap();
            nic.device.post_buffer(window, if number == 0 { 20_000 } else { 4000 }).unwrap()
        };
        let own = open(PID, 0, 8000, WindowOptions { context: Some(context), ..WindowOptions::default() });
        let other = open(PID, 1, 4000, WindowOptions::default());
        let foreign = open(PID - 1, 2, 1, WindowOptions::default());
        let packed = open(PID, 3, 1500, WindowOptions { managed: true, ..WindowOptions::default() });
        let narrow = open(PID, 4, 4000, WindowOptions::default());
        nic.device.set_receive(true).unwrap();

        let message = |id: u32, data: &[u8]| {
            let dst_pid = PID as u16;
            let header = SpindleHeader { addr: ADDRESS, key: KEY, msg_id: id, dst_pid, ..SpindleHeader::default() };
            put_message(&Ends::default(), SPINDLE_PORT, &header, data, 1408)
        };
        let data: Vec<Vec<u8>> = (0..5).map(|_| (0..4000).map(|_| rng.random()).collect()).collect();
        // Raw frames carry as source port, which would be their process, one that has a window of the same address.
        let raw: Vec<Vec<u8>> = (0..3).map(|i| vec![0x50 + i; 990 + usize::from(i)]).collect();
        let mut frames: Vec<Vec<u8>> = (0..5).flat_map(|id| message(id, &data[id as usize])).collect();
        frames.extend(raw.iter().map(|payload| udp(&Ends::default(), PID as u16 - 1, 9, payload)));
        frames.shuffle(&mut rng);
        let played = nic.play(at_once(&frames));
        assert_eq!(played.drop_names(), [("no_mailbox", 3), ("out_of_bounds", 3)]);
        assert_eq!(
            played.stats.frames_placed,
            3 + 3 + 3 + 3,
            "two messages elsewhere, one as it came, and the raw frames"
        );

        let read = |nic: &Nic, at: u64, length: usize| {
            let mut got = vec![0; length];
            nic.card.sim().memory().memory.read(at, &mut got);
            got
        };
        let ended = |posted, what: &str| {
            let record = nic.device.poll(posted).unwrap().unwrap_or_else(|| panic!("{what} is complete"));
            assert_eq!(record.status, status::DONE, "{what}");
            record.length as usize
        };
        assert_eq!(ended(&own, "its own window"), 8000);
        assert_eq!(ended(&other, "the other window"), 4000);
        let length = ended(&packed, "the managed window");
        assert_eq!(length, raw.concat().len());
        assert_eq!((nic.device.poll(&foreign).unwrap(), nic.device.poll(&narrow).unwrap()), (None, None));
        assert!(read(&nic, own.buffer, 4000) == data[4], "placed as it came");
        assert!(read(&nic, own.buffer + 10_000, 4000) == data[0], "at another offset");
        assert!(read(&nic, other.buffer, 4000) == data[1], "in another window");
        for (posted, why) in [(&foreign, "no process writes to another's window"), (&narrow, "nor after a buffer")] {
            assert!(read(&nic, posted.buffer, 4000) == [0; 4000], "{why}");
        }
        let mut rest = &read(&nic, packed.buffer, length)[..];
        let mut found: Vec<Vec<u8>> = vec![];
        while let Some(mark) = rest.first() {
            let (piece, after) = rest.split_at(rest.iter().position(|byte| byte != mark).unwrap_or(rest.len()));
            found.push(piece.to_vec());
            rest = after;
        }
        found.sort();
        assert_eq!(found, raw, "payloads of raw frames, one after the other");
        nic.assert_empty();
    });
}
