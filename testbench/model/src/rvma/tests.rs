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
