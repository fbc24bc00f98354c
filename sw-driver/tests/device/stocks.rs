//! Stocks of buffers: where they lie, and which of them are posted after an error.

use crate::card::{refused, Handle};
use spindle::rvma::{Completed, Posted, Window};
use spindle::Stock;
use spindle_contract::params::Config;
use spindle_contract::registers::{doorbell, doorbell_error};

const WINDOW: Window = Window { process: 1, mailbox: 7 };

/// Buffers that a stock waits for.
fn waiting(stock: &Stock) -> Vec<u64> {
    stock.waiting().map(|posted| posted.buffer).collect()
}

#[test]
fn records_come_first_and_buffers_begin_on_lines() {
    for (count, size, records, stride) in
        [(1, 1, 64, 64), (4, 64, 64, 64), (5, 65, 128, 128), (8, 4096, 128, 4096), (9, 63, 192, 64)]
    {
        assert_eq!(Stock::bytes(count, size), records + count as u64 * stride, "{count} of {size}");
        let mut stock = Stock::layout(0x1000, count, size);
        for number in 0..count as u64 {
            let expected = Posted { buffer: 0x1000 + records + number * stride, size, record: 0x1000 + 16 * number };
            assert_eq!(stock.posting(), Some(expected));
            stock.posted();
        }
        assert_eq!(stock.posting(), None);
        stock.posted();
        assert_eq!(stock.waiting().count(), count);
    }
}

#[test]
fn a_stock_is_posted_whole() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    for (count, size) in [(0, 64), (4, 0), (0, 0)] {
        let sentence = refused(device.stock(WINDOW, count, size));
        assert_eq!(sentence, "a stock of no bytes; choose at least one buffer of one byte");
    }
    assert_eq!(handle.steps(), vec![]);
    let stock = device.stock(WINDOW, 3, 100).unwrap();
    let (start, bytes, align) = *handle.0.borrow().allocations.last().unwrap();
    assert_eq!((bytes, align), (64 + 3 * 128, 64));
    assert_eq!(waiting(&stock), [start + 64, start + 192, start + 320]);
    assert_eq!(handle.0.borrow().commands.len(), 3);
    let card = [doorbell::BUFFER_LO, doorbell::SIZE, doorbell::RECORD_LO].map(|at| handle.register(0x1_1000 + at));
    assert_eq!(card, [start as u32 + 320, 100, start as u32 + 32]);
    device.stock(WINDOW, 1, 1).unwrap();
}

#[test]
fn a_buffer_that_the_card_refuses_stays_free() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let mut stock = Stock::layout(0x4000, 3, 64);
    let full = doorbell::Result::ZERO.with_error(doorbell_error::NO_SLOT).0;
    handle.results(1, [0, full]);
    device.restock(WINDOW, &mut stock).unwrap_err();
    assert_eq!((waiting(&stock), stock.posting().map(|posted| posted.buffer)), (vec![0x4040], Some(0x4080)));
    device.restock(WINDOW, &mut stock).unwrap();
    assert_eq!(waiting(&stock), [0x4040, 0x4080, 0x40C0]);
    assert_eq!(handle.0.borrow().commands.len(), 4);
    device.restock(WINDOW, &mut stock).unwrap();
    assert_eq!(handle.0.borrow().commands.len(), 4, "nothing is free");
}

#[test]
fn what_was_read_is_posted_again() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let mut stock = device.stock(WINDOW, 2, 64).unwrap();
    let [first, second] = waiting(&stock)[..] else { panic!("two buffers") };
    assert!(device.arrived(&mut stock).unwrap().is_none());
    let record = stock.waiting().nth(1).unwrap().record;
    handle.store(record, &[9, 0, 0, 0, 1, 0, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    let (posted, completed) = device.arrived(&mut stock).unwrap().unwrap();
    assert_eq!((posted.buffer, completed), (second, Completed { length: 9, status: 1, epoch: 5, buffer: 1 }));
    assert!(device.arrived(&mut stock).unwrap().is_none(), "it was taken");
    assert!(stock.give(second) && !stock.give(second) && !stock.give(first));
    device.restock(WINDOW, &mut stock).unwrap();
    assert_eq!(waiting(&stock), [first, second]);
}

#[test]
fn the_first_buffer_is_taken_in_its_turn_and_a_failed_look_takes_none() {
    let mut stock = Stock::layout(0x1000, 2, 64);
    assert_eq!(stock.first(|_| Err("no buffer is looked at")), Ok(None));
    stock.posted();
    stock.posted();
    let done = |posted: &Posted| Completed { length: 7, status: 1, epoch: 0, buffer: posted.buffer };
    assert_eq!(stock.first(|_| Ok::<_, ()>(None)), Ok(None));
    assert_eq!(stock.first(|_| Err("broken")), Err("broken"));
    assert_eq!(stock.complete(|_| Err("broken")), Err("broken"));
    assert_eq!(waiting(&stock), [0x1040, 0x1080]);
    for buffer in [0x1040, 0x1080] {
        let (posted, completed) = stock.first(|posted| Ok::<_, ()>(Some(done(posted)))).unwrap().unwrap();
        assert_eq!((posted.buffer, completed.buffer), (buffer, buffer));
        assert!(stock.give(buffer));
    }
    assert_eq!(waiting(&stock), Vec::<u64>::new());
}
