//! Regions by their registers: order of the writes, and what is known of the card after an error.

use crate::card::{refused, Handle};
use spindle::Access;
use spindle_contract::params::Config;
use spindle_contract::registers::rvma;

const FIRST: u32 = rvma::BASE + rvma::REGION_FIRST;
const LAST: u32 = rvma::BASE + rvma::REGION_LAST;
const COMMIT: u32 = rvma::BASE + rvma::REGION_COMMIT;
const UNCHECKED: u32 = rvma::BASE + rvma::UNCHECKED;
const READABLE: u32 = 1 << 30;
const WRITABLE: u32 = 1 << 31;

/// The writes of a region: its pages, then what makes it one.
fn region(first: u64, last: u64, commit: u32) -> Vec<(u32, u32)> {
    let half = |value: u64| [value as u32, (value >> 32) as u32];
    let ([a, b], [c, d]) = (half(first), half(last));
    vec![(FIRST, a), (FIRST + 4, b), (LAST, c), (LAST + 4, d), (COMMIT, commit)]
}

#[test]
fn the_pages_of_a_region_are_staged_before_it_is_committed() {
    let (handle, mut device) = Handle::opened(&Config::ALVEO);
    for (number, (access, rights)) in
        [(Access::Read, READABLE), (Access::Write, WRITABLE), (Access::ReadWrite, READABLE | WRITABLE)]
            .into_iter()
            .enumerate()
    {
        device.register_region(63, 0x7_1234_5678..0x8_0000_0001, access).unwrap();
        let expected = region(0x7_1234_5000, 0x8_0000_0000, rights | 63 << 4 | number as u32);
        assert_eq!(handle.writes(), expected, "{access:?}");
    }
    device.deregister_region(63, &(0x7_1234_5678..0x8_0000_0001), Access::Write).unwrap();
    assert_eq!(handle.writes(), region(0, 0, 63 << 4 | 1));
    // The place is free again, and the first free one is taken.
    device.register_region(63, 0..1, Access::Write).unwrap();
    assert_eq!(handle.writes(), region(0, 0, WRITABLE | 63 << 4 | 1));
    device.forget_regions(63).unwrap();
    let removed: Vec<(u32, u32)> = [2, 1, 0].into_iter().flat_map(|at| region(0, 0, 63 << 4 | at)).collect();
    assert_eq!(handle.writes(), removed);
}

#[test]
fn what_cannot_be_registered_has_its_sentence() {
    let (handle, mut device) = Handle::opened(&Config::SIM);
    let pages = |number: u64| 0x2000 * number..0x2000 * number + 1;
    (0..16).for_each(|number| device.register_region(1, pages(number), Access::Write).unwrap());
    handle.steps();
    let sentence = "process 1 would need 17 regions, and can have 16; register neighbouring memory at once, or take \
                    some back";
    assert_eq!(refused(device.register_region(1, pages(16), Access::Write)), sentence);
    for (start, end) in [(5, 5), (6, 5)] {
        assert_eq!(
            refused(device.register_region(1, start..end, Access::Read)),
            "a region of no bytes; register at least one"
        );
    }
    assert_eq!(
        refused(device.deregister_region(1, &(0x2000..0x2002), Access::Write)),
        "process 1 has not registered the 2 bytes at 0x2000 as one region; give the range that was registered"
    );
    assert!(refused(device.deregister_region(1, &(0x2000..0x2001), Access::Read)).contains("has not registered"));
    let absent = "there is no process 16; the card has 16";
    for result in [
        device.register_region(16, 0..1, Access::Read),
        device.deregister_region(16, &(0..1), Access::Read),
        device.forget_regions(16),
        device.confine(16),
        device.trust(16),
    ] {
        assert_eq!(refused(result), absent);
    }
    assert_eq!(handle.steps(), vec![]);
}

#[test]
fn a_process_is_confined_by_its_bit_alone() {
    let (handle, mut device) = Handle::opened(&Config::ALVEO);
    for (process, confined, low, high) in [
        (0, true, 0xFFFF_FFFE, u32::MAX),
        (31, true, 0x7FFF_FFFE, u32::MAX),
        (32, true, 0x7FFF_FFFE, 0xFFFF_FFFE),
        (63, true, 0x7FFF_FFFE, 0x7FFF_FFFE),
        (63, true, 0x7FFF_FFFE, 0x7FFF_FFFE),
        (31, false, 0xFFFF_FFFE, 0x7FFF_FFFE),
        (31, false, 0xFFFF_FFFE, 0x7FFF_FFFE),
        (32, false, 0xFFFF_FFFE, 0x7FFF_FFFF),
    ] {
        let done = if confined { device.confine(process) } else { device.trust(process) };
        done.unwrap();
        assert_eq!(handle.writes(), vec![(UNCHECKED, low), (UNCHECKED + 4, high)], "{process} {confined}");
        assert_eq!(device.trusts(process), !confined);
    }
    assert_eq!([1, 62, 64, 65].map(|process| device.trusts(process)), [true, true, false, false]);
}

#[test]
fn a_region_that_the_card_did_not_take_is_registered_when_that_is_repeated() {
    for broken in [FIRST, LAST + 4, COMMIT] {
        let (handle, mut device) = Handle::opened(&Config::SIM);
        device.register_region(2, 0x8000..0x9000, Access::Write).unwrap();
        handle.break_register(Some(broken));
        device.register_region(2, 0x4000..0x5000, Access::Write).unwrap_err();
        device.deregister_region(2, &(0x8000..0x9000), Access::Write).unwrap_err();
        handle.break_register(None);
        handle.steps();
        device.register_region(2, 0x4000..0x5000, Access::Write).unwrap();
        assert_eq!(handle.writes(), region(0x4000, 0x4000, WRITABLE | 2 << 4 | 1));
        device.deregister_region(2, &(0x4000..0x5000), Access::Write).unwrap();
        assert_eq!(handle.writes(), region(0, 0, 2 << 4 | 1), "it was registered once");
        device.deregister_region(2, &(0x8000..0x9000), Access::Write).unwrap();
        assert_eq!(handle.writes(), region(0, 0, 2 << 4));
    }
}
