//! Memory regions, on a card that keeps what the driver commits: after every call, the card may touch exactly the pages that the
//! registered ranges touch.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle::{Access, Bar, Device, Error, HostMemory, Result};
use spindle_contract::params::{Config, REGIONS};
use spindle_contract::registers::rvma::{self, RegionCommit};
use spindle_contract::registers::{self, Word};
use spindle_testing::{assert_eq, seeded_rng, share, with_seeds};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

const PAGE: u64 = 4096;
/// Pages of the random test: few, so that ranges meet.
const PAGES: u64 = 64;
const ACCESSES: [Access; 3] = [Access::Read, Access::Write, Access::ReadWrite];

/// A region of the card: pages, first and last, and whether the card may read and write them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Region {
    first: u64,
    last: u64,
    readable: bool,
    writable: bool,
}

#[derive(Default)]
struct Card {
    registers: HashMap<u32, u32>,
    /// By process and number.
    regions: HashMap<(u32, u32), Region>,
    /// The regions of the process after each commit.
    steps: Vec<Vec<Region>>,
}

impl Card {
    fn address(&self, register: u32) -> u64 {
        let half = |at: u32| u64::from(self.registers.get(&(rvma::BASE + at)).copied().unwrap_or(0));
        half(register + 4) << 32 | half(register)
    }

    fn of(&self, process: u32) -> Vec<Region> {
        let mut all: Vec<Region> =
            self.regions.iter().filter(|(at, _)| at.0 == process).map(|(_, region)| *region).collect();
        all.sort();
        all
    }
}

#[derive(Clone)]
struct Handle(Rc<RefCell<Card>>);

impl Handle {
    fn open() -> (Handle, Device<Handle, Handle>) {
        let registers = registers::identity(&Config::SIM).collect();
        let handle = Handle(Rc::new(RefCell::new(Card { registers, ..Card::default() })));
        let device = Device::open(handle.clone(), handle.clone()).unwrap();
        (handle, device)
    }

    fn of(&self, process: usize) -> Vec<Region> {
        self.0.borrow().of(process as u32)
    }
}

impl Bar for Handle {
    fn read32(&mut self, address: u32) -> Result<u32> {
        Ok(self.0.borrow().registers.get(&address).copied().unwrap_or(0))
    }

    fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        let card = &mut *self.0.borrow_mut();
        // What other registers do is not of interest here.
        if (rvma::BASE..rvma::BASE + registers::PAGE).contains(&address) {
            card.registers.insert(address, value);
        }
        if address == RegionCommit::ADDRESS {
            let commit = RegionCommit(value);
            let (readable, writable) = (commit.readable(), commit.writable());
            // The card ignores the place in a page.
            let page = |register: u32| card.address(register) / PAGE;
            let region = Region { first: page(rvma::REGION_FIRST), last: page(rvma::REGION_LAST), readable, writable };
            let at = (commit.process(), commit.region());
            match readable || writable {
                true => drop(card.regions.insert(at, region)),
                false => drop(card.regions.remove(&at)),
            }
            let now = card.of(commit.process());
            card.steps.push(now);
        }
        Ok(())
    }
}

impl HostMemory for Handle {
    fn alloc(&mut self, _bytes: usize, align: usize) -> Result<u64> {
        Ok(align as u64)
    }

    fn free(&mut self, _address: u64) -> Result<()> {
        Ok(())
    }

    fn read(&self, _address: u64, bytes: &mut [u8]) -> Result<()> {
        bytes.fill(0);
        Ok(())
    }

    fn write(&mut self, _address: u64, _bytes: &[u8]) -> Result<()> {
        Ok(())
    }
}

fn writable(first: u64, last: u64) -> Region {
    Region { first, last, readable: false, writable: true }
}

/// The page of the last byte is the last page of the region, wherever in its page the byte lies.
#[test]
fn a_region_ends_with_the_page_of_its_last_byte() {
    for (range, first, last) in [
        (0x5000..0x6000, 5, 5),
        (0x5000..0x6001, 5, 6),
        (0x5000..0x5001, 5, 5),
        (0x5FFF..0x6000, 5, 5),
        (0x5FFF..0x6001, 5, 6),
        (0x5001..0x8000, 5, 7),
        (0..1, 0, 0),
        (0..PAGE, 0, 0),
        // High halves of the registers.
        (0xFFFF_F000..0x1_0000_0000, 0xF_FFFF, 0xF_FFFF),
        (0xFFFF_F000..0x1_0000_0001, 0xF_FFFF, 0x10_0000),
        (0xABCD_0000_0000..0xABCD_0000_1000, 0xA_BCD0_0000, 0xA_BCD0_0000),
        (u64::MAX - PAGE..u64::MAX, (1 << 52) - 2, (1 << 52) - 1),
    ] {
        let (handle, mut device) = Handle::open();
        device.register_region(3, range.clone(), Access::Write).unwrap();
        assert_eq!(handle.of(3), vec![writable(first, last)], "{range:x?}");
        device.deregister_region(3, &range, Access::Write).unwrap();
        assert_eq!(handle.of(3), vec![], "{range:x?}");
    }
}

/// Neighbours are one region and others are not, in any order; what is taken back leaves the rest.
#[test]
fn neighbours_are_one_region() {
    let (handle, mut device) = Handle::open();
    let mut register = |range: Range<u64>| device.register_region(2, range, Access::Write).unwrap();
    register(0x3000..0x4000);
    register(0x5000..0x6000);
    assert_eq!(handle.of(2), vec![writable(3, 3), writable(5, 5)], "a page lies between them");
    register(0x4000..0x4001);
    assert_eq!(handle.of(2), vec![writable(3, 5)], "the page between them joins all three");
    register(0x1FFF..0x2000);
    assert_eq!(handle.of(2), vec![writable(1, 1), writable(3, 5)]);
    register(0x0..0x9000);
    assert_eq!(handle.of(2), vec![writable(0, 8)], "all lie inside of it");
    device.register_region(2, 0x9000..0xA000, Access::Read).unwrap();
    let readable = Region { first: 9, last: 9, readable: true, writable: false };
    assert_eq!(handle.of(2), vec![writable(0, 8), readable], "another access is a region of its own");
    device.deregister_region(2, &(0x0..0x9000), Access::Write).unwrap();
    assert_eq!(handle.of(2), vec![writable(1, 1), writable(3, 5), readable]);
    device.deregister_region(2, &(0x4000..0x4001), Access::Write).unwrap();
    assert_eq!(handle.of(2), vec![writable(1, 1), writable(3, 3), writable(5, 5), readable]);
    device.forget_regions(2).unwrap();
    assert_eq!(handle.of(2), vec![]);
}

#[test]
fn a_region_more_than_the_card_has_is_refused() {
    let (handle, mut device) = Handle::open();
    let page = |number: u64| 2 * number * PAGE..(2 * number + 1) * PAGE;
    (0..REGIONS as u64).for_each(|number| device.register_region(1, page(number), Access::Write).unwrap());
    let before = handle.of(1);
    assert_eq!(before.len(), REGIONS);
    let refused = device.register_region(1, page(REGIONS as u64), Access::Write).unwrap_err();
    assert!(matches!(refused, Error::Argument(_)), "{refused}");
    assert_eq!(handle.of(1), before, "nothing is registered");
    device.register_region(1, PAGE..2 * PAGE, Access::Write).unwrap();
    assert_eq!(handle.of(1).len(), REGIONS - 1, "the page between two regions makes one of them");
    device.register_region(1, page(REGIONS as u64), Access::Write).unwrap();
    let before = handle.of(1);
    assert!(device.deregister_region(1, &(PAGE..2 * PAGE), Access::Write).is_err(), "its hole needs a region more");
    assert_eq!(handle.of(1), before, "nothing is taken back");
    assert!(device.register_region(1, 0x5000..0x5000, Access::Write).is_err(), "no bytes");
}

/// The rights of each page: readable, writable.
type Rights = Vec<(bool, bool)>;

fn rights(regions: &[Region]) -> Rights {
    let of = |page: u64, right: fn(&Region) -> bool| {
        regions.iter().any(|region| (region.first..=region.last).contains(&page) && right(region))
    };
    (0..=PAGES + 1).map(|page| (of(page, |region| region.readable), of(page, |region| region.writable))).collect()
}

/// What the ranges ask for.
fn wanted(ranges: &[(Range<u64>, Access)]) -> Rights {
    let touches = |page: u64, range: &Range<u64>| range.start < (page + 1) * PAGE && page * PAGE < range.end;
    let of = |page: u64, other: Access| ranges.iter().any(|(range, access)| *access != other && touches(page, range));
    (0..=PAGES + 1).map(|page| (of(page, Access::Write), of(page, Access::Read))).collect()
}

/// Runs of pages that ranges of one access touch: the regions that are needed.
fn runs(ranges: &[(Range<u64>, Access)]) -> usize {
    let of = |access: Access| {
        let own: Vec<_> = ranges.iter().filter(|range| range.1 == access).cloned().collect();
        let touched: Vec<bool> = wanted(&own).iter().map(|rights| *rights != (false, false)).collect();
        usize::from(touched[0]) + touched.windows(2).filter(|pair| !pair[0] && pair[1]).count()
    };
    ACCESSES.into_iter().map(of).sum()
}

fn random_range(rng: &mut ChaCha8Rng) -> Range<u64> {
    let near = |rng: &mut ChaCha8Rng| {
        let page = PAGE * rng.random_range(0..PAGES);
        page + [0, 1, PAGE / 2, PAGE - 1][rng.random_range(0..4)]
    };
    let start = near(rng);
    let bytes = [1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 5 * PAGE + 7][rng.random_range(0..6)];
    start..(start + bytes).min(PAGES * PAGE)
}

/// Ranges come and go: every page has the rights that its ranges give, neighbours share a region, no process has pages of
/// another, and a page that keeps its ranges is never without them while the card has a free region.
#[test]
fn pages_have_the_rights_of_their_ranges() {
    with_seeds(|| {
        let mut rng = seeded_rng("regions");
        let (handle, mut device) = Handle::open();
        let mut ranges: Vec<Vec<(Range<u64>, Access)>> = vec![vec![]; 2];
        let (mut refused, mut most) = (0, 0);
        for _ in 0..share(6000) {
            let process = rng.random_range(0..2);
            let mut after = ranges[process].clone();
            // More come than go until there is no room, and then more go.
            let adds = after.is_empty() || rng.random_bool(if refused % 40 < 20 { 0.6 } else { 0.3 });
            let before = handle.of(process);
            handle.0.borrow_mut().steps.clear();
            let done = if adds {
                let (range, access) = (random_range(&mut rng), ACCESSES[rng.random_range(0..3)]);
                after.push((range.clone(), access));
                device.register_region(process, range, access)
            } else {
                let (range, access) = after.swap_remove(rng.random_range(0..after.len()));
                device.deregister_region(process, &range, access)
            };
            let fits = runs(&after) <= REGIONS;
            assert_eq!(done.is_ok(), fits, "{after:x?}");
            if !fits {
                refused += 1;
                assert_eq!(handle.of(process), before, "what is refused changes nothing");
                continue;
            }
            let keeps = wanted(&ranges[process]).into_iter().zip(wanted(&after));
            let keeps: Rights = keeps.map(|(old, new)| (old.0 && new.0, old.1 && new.1)).collect();
            ranges[process] = after;
            most = most.max(handle.of(process).len());
            for (process, ranges) in ranges.iter().enumerate() {
                assert_eq!(rights(&handle.of(process)), wanted(ranges), "{ranges:x?}");
                assert_eq!(handle.of(process).len(), runs(ranges), "{ranges:x?}");
            }
            let steps = std::mem::take(&mut handle.0.borrow_mut().steps);
            let fresh = handle.of(process).iter().filter(|region| !before.contains(region)).count();
            for step in steps.iter().filter(|_| before.len() + fresh <= REGIONS) {
                let gap =
                    rights(step).into_iter().zip(&keeps).any(|(now, keep)| (keep.0 && !now.0) || (keep.1 && !now.1));
                assert!(!gap, "pages that stay registered are without a region: {before:?}, {step:?}");
            }
        }
        assert!(refused > 5 && most == REGIONS, "{refused} were refused, {most} regions at most");
    });
}
