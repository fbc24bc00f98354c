//! Windows that name an execution context: handlers decide what becomes of what is sent to them.

use crate::nic::bench::{at_once, Nic};
use rand::seq::SliceRandom;
use rand::Rng;
use spindle::rule_table::Action;
use spindle::window::WindowOptions;
use spindle::{ContextOptions, Error, HostMemory};
use spindle_contract::params::SPINDLE_PORT;
use spindle_contract::wire::status;
use spindle_harness::seeded_rng;
use spindle_model::frames::{put_message, Ends, SpindleHeader};
use spindle_sim::Options;

const ADDRESS: u64 = 0x7_0000_0077;
const KEY: u32 = 3;
/// Bytes of the context's host region.
const REGION: usize = 1 << 16;

/// By the last digit of the message's number: 0 placed without more, 1 dropped, 2 placed packet by packet but for those at 1408, 3 written as
/// frames to another place in host memory, by their offset in the message.
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

/// Messages to the window meet its context, whatever rules come later, and those to another window do not; when it is closed, nothing is left
/// of it, and its rule can be used again.
#[test]
fn handlers_decide_about_a_window() {
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
        assert!(read(&nic, region + 2 * 1408 * i as u64, frame.len()) == *frame, "packet {i} is in the host region");
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
}
