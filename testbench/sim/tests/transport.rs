//! Cards of this process by their addresses: two on a wire, memory of both kinds, reset.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use spindle::rule_table::Action;
use spindle::{Bar, Device, Error, HostMemory, Kind, SharedCard, Target};
use spindle_contract::registers::global;
use spindle_contract::wire::status;
use spindle_sim::{address, transport};

const PROCESS: usize = 2;
const MAILBOX: u64 = 0x77;
const KEY: u32 = 0xBEEF;
/// Bound of each wait.
const LIMIT: u64 = 60_000;

type Nic = Device<SharedCard, SharedCard>;

fn opened(card: &SharedCard, number: usize) -> Nic {
    let mut device = Device::open(card.clone(), card.clone()).unwrap();
    let own = address(number);
    device.set_identity(number as u32, own.mac, own.ip).unwrap();
    (0..2).for_each(|node| device.set_node(node, Some(address(node))).unwrap());
    device.add_rule(&"spindle".parse().unwrap(), Action::Mailbox).unwrap();
    device.set_receive(true).unwrap();
    device
}

/// Puts `data` from memory of the sender at `from` to a window of the receiver; what arrives.
fn put(sender: &mut Nic, receiver: &mut Nic, from: u64, length: usize) -> Vec<u8> {
    let window = receiver.init_window(PROCESS, MAILBOX, KEY, length as u32).unwrap();
    let posted = receiver.post_buffer(window, length as u32).unwrap();
    let target = Target { node: 1, process: PROCESS as u16, address: MAILBOX, key: KEY, offset: 0, kind: Kind::Bound };
    let put = sender.put(PROCESS, from, length as u32, &target).unwrap();
    sender.wait_put(&put, LIMIT).unwrap();
    let completed = receiver.wait(&posted, LIMIT).unwrap();
    assert_eq!((completed.status, completed.length as usize), (status::DONE, length));
    let mut got = vec![0; length];
    receiver.memory.read(posted.buffer, &mut got).unwrap();
    receiver.memory.free(posted.buffer).unwrap();
    receiver.close_window(window).unwrap();
    got
}

#[test]
fn cards_of_a_network_exchange_a_put_and_work_after_a_reset() {
    let cards = [0, 1].map(|_| transport::open("sim:sim/two").unwrap());
    {
        let card = cards[1].lock();
        assert_eq!((card.identity().transport, card.vectors(), card.time_moves_by_calls()), ("sim", 16, true));
    }
    for round in 0..2u8 {
        let [mut first, mut second] = [0, 1].map(|number| opened(&cards[number], number));
        let data: Vec<u8> = (0..5000u32).map(|i| (i * 7) as u8 ^ round).collect();
        let memory = first.memory.alloc(data.len(), 64).unwrap();
        first.memory.write(memory, &data).unwrap();
        assert!(put(&mut first, &mut second, memory, data.len()) == data);
        // Memory of the program, at its own addresses.
        let range = data.as_ptr_range();
        let range = range.start as u64..range.end as u64;
        cards[0].lock().map(&range).unwrap();
        assert!(put(&mut first, &mut second, range.start, data.len()) == data);
        cards[0].lock().unmap(&range).unwrap();
        assert!(matches!(cards[0].lock().unmap(&range), Err(Error::Memory(_))));
        // What is not mapped any more cannot be read: the put fails, and the card goes on.
        let target =
            Target { node: 1, process: PROCESS as u16, address: MAILBOX, key: KEY, offset: 0, kind: Kind::Bound };
        let failed = first.put(PROCESS, range.start, 64, &target).unwrap();
        first.wait_put(&failed, LIMIT).unwrap();
        assert_eq!(first.failed_puts().unwrap(), 1);
        // A reset in the middle of a transfer; the next round works again.
        first.put(PROCESS, memory, data.len() as u32, &Target { node: 1, ..target }).unwrap();
        for card in &cards {
            card.lock().reset().unwrap();
        }
        assert_eq!(first.failed_puts().unwrap(), 0);
    }
}

#[test]
fn a_card_moves_to_another_thread() {
    let mut card = transport::open("sim:sim").unwrap();
    let cycle = |card: &mut SharedCard| card.read32(global::BASE + global::CYCLE_LO).unwrap();
    let before = cycle(&mut card);
    let mut moved = card.clone();
    let within = std::thread::spawn(move || {
        moved.lock().pause(1000).unwrap();
        cycle(&mut moved)
    })
    .join()
    .unwrap();
    assert!(within >= before + 1000 && cycle(&mut card) > within);
}
