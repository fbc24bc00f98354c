//! The model itself, on cases that can be checked by hand.

use super::*;
use spindle_contract::wire::{flag, opcode};

fn put(message: u32, buf_off: u32, msg_off: u32, msg_len: u32, payload: &[u8]) -> Put {
    Put {
        opcode: opcode::PUT,
        addr: 7,
        key: 9,
        message: (1, 2, message),
        buf_off,
        msg_off,
        msg_len,
        payload: payload.to_vec(),
        slot: Some(message as u8),
        ..Default::default()
    }
}

#[test]
fn two_messages_complete_one_buffer_exactly_once() {
    let mut rvma = Rvma::default();
    rvma.init_window(0, 7, 9, 8, 0).unwrap();
    rvma.post_buffer(0, 7, 0x1000, 8, 0x2000).unwrap();
    for p in [put(1, 0, 0, 4, &[1, 2]), put(2, 4, 2, 4, &[7, 8]), put(2, 4, 0, 4, &[5, 6])] {
        rvma.put(&p).unwrap();
        assert!(rvma.records.is_empty());
    }
    rvma.put(&put(1, 0, 2, 4, &[3, 4])).unwrap();
    assert_eq!(rvma.records, [Record { address: 0x2000, length: 8, status: status::DONE, epoch: 0, buffer: 0x1000 }]);
    assert_eq!(rvma.memory.values().copied().collect::<Vec<u8>>(), [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_refused_message_stays_refused() {
    let mut rvma = Rvma::default();
    rvma.init_window(0, 7, 9, 4, 0).unwrap();
    let lost = |off, bytes: &[u8]| Put { flags: flag::UNSEQ, ..put(1, 0, off, 4, bytes) };
    assert_eq!(rvma.put(&lost(0, &[1, 2])), Err(reasons::NO_POSTED_BUFFER));
    rvma.post_buffer(0, 7, 0x1000, 4, 0x2000).unwrap();
    assert_eq!(rvma.put(&lost(2, &[3, 4])), Err(reasons::NO_POSTED_BUFFER));
    assert_eq!(rvma.put(&put(1, 0, 0, 4, &[1, 2])), Ok(()));
    rvma.post_buffer(0, 7, 0x3000, 4, 0x2010).unwrap();
    assert_eq!(rvma.put(&put(2, 1, 0, 4, &[1, 2])), Err(reasons::OUT_OF_BOUNDS));
    assert_eq!(rvma.put(&put(2, 0, 2, 4, &[3, 4])), Err(reasons::OUT_OF_BOUNDS));
}

#[test]
fn records_are_little_endian() {
    let record = Record { address: 0, length: 0x0102_0304, status: 1, epoch: 0x0506, buffer: 0x0708_090A_0B0C_0D0E };
    assert_eq!(record.bytes(), [4, 3, 2, 1, 1, 0, 6, 5, 0x0E, 0x0D, 0x0C, 0x0B, 0x0A, 9, 8, 7]);
}

#[test]
fn tags_name_one_of_four_buffers() {
    let mut rvma = Rvma::default();
    rvma.init_window(0, 7, 9, 2, mailbox_mode::TAGGED).unwrap();
    for i in 0..5 {
        rvma.post_buffer(0, 7, 0x1000 * (i + 1), 2, 0x9000 + 16 * i).unwrap();
    }
    let tagged = |id, epoch| Put { flags: flag::EPOCH_VALID, epoch, slot: None, ..put(id, 0, 0, 2, &[1, 2]) };
    assert_eq!(rvma.put(&put(1, 0, 0, 2, &[1, 2])), Err(reasons::UNSUPPORTED));
    assert_eq!(rvma.put(&tagged(2, 0xFFFF)), Err(reasons::STALE_EPOCH));
    assert_eq!(rvma.put(&tagged(3, 4)), Err(reasons::NO_POSTED_BUFFER));
    assert_eq!(rvma.put(&tagged(4, 1)), Ok(()));
    assert_eq!((rvma.put(&tagged(5, 1)), rvma.get_epoch(0, 7)), (Err(reasons::STALE_EPOCH), Ok(0)));
    assert_eq!((rvma.put(&tagged(6, 0)), rvma.get_epoch(0, 7)), (Ok(()), Ok(2)));
    assert_eq!(rvma.put(&tagged(7, 4)), Ok(()));
    assert_eq!(rvma.records.iter().map(|r| r.epoch).collect::<Vec<_>>(), [1, 0, 4]);
}

#[test]
fn a_catch_all_takes_header_and_payload() {
    let mut rvma = Rvma::default();
    rvma.init_window(0, 0xCA, 1, 4, mailbox_mode::MANAGED | mailbox_mode::CATCH_ALL).unwrap();
    rvma.init_window(0, 7, 9, 4, mailbox_mode::SPILL).unwrap();
    rvma.post_buffer(0, 0xCA, 0x1000, 100, 0x9000).unwrap();
    let with_header = |put: Put| Put { header: vec![0xAA; 3], ..put };
    assert_eq!(rvma.put(&with_header(put(1, 50, 0, 4, &[1, 2]))), Ok(()));
    rvma.post_buffer(0, 7, 0x2000, 4, 0x9010).unwrap();
    assert_eq!(rvma.put(&with_header(put(1, 50, 2, 4, &[3, 4]))), Ok(()));
    assert_eq!(rvma.put(&with_header(Put { addr: 8, ..put(2, 0, 0, 1, &[5]) })), Ok(()));
    let bytes: Vec<u8> = rvma.memory.range(0x1000..0x1100).map(|(_, byte)| *byte).collect();
    assert_eq!(bytes, [0xAA, 0xAA, 0xAA, 1, 2, 0xAA, 0xAA, 0xAA, 3, 4, 0xAA, 0xAA, 0xAA, 5]);
    rvma.close(0, 0xCA).unwrap();
    assert_eq!(rvma.unfilled.iter().map(|u| (u.high, u.record.length)).collect::<Vec<_>>(), [(14, 14)]);
    assert_eq!(rvma.put(&with_header(Put { addr: 8, ..put(3, 0, 0, 1, &[5]) })), Err(reasons::NO_MAILBOX));
}
