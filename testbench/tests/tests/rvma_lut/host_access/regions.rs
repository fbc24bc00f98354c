//! Memory regions: what a process names outside of them is refused, by whatever command.

use crate::rvma_lut::commands::command_rings::{posting, Post, Ring};
use crate::rvma_lut::rvma_engine::bench::Bench;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::{Config, REGIONS};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, rvma};
use spindle_harness::run_with_wave_on_failure;

const PAGE_BYTES: u64 = 4096;

/// A region: first and last page, readable, writable.
type Region = (u64, u64, bool, bool);

fn set(bench: &mut Bench, pid: u16, number: usize, region: Option<Region>) {
    let (first, last, readable, writable) = region.unwrap_or_default();
    let words = [(rvma::REGION_FIRST, first * PAGE_BYTES + 5), (rvma::REGION_LAST, last * PAGE_BYTES + 9)];
    for (register, address) in words {
        bench.csr(true, rvma::BASE + register, address as u32);
        bench.csr(true, rvma::BASE + register + 4, (address >> 32) as u32);
    }
    let rights = u32::from(readable) << 30 | u32::from(writable) << 31;
    bench.csr(true, rvma::BASE + rvma::REGION_COMMIT, rights | u32::from(pid) << 4 | number as u32);
}

/// The model: one of the regions holds all of it, with the right.
fn may(regions: &[Option<Region>; REGIONS], write: bool, address: u64, length: u32) -> bool {
    let Some(end) = address.checked_add(u64::from(length) - 1) else { return false };
    regions.iter().flatten().any(|(first, last, readable, writable)| {
        (if write { *writable } else { *readable }) && *first <= address / PAGE_BYTES && end / PAGE_BYTES <= *last
    })
}

/// Error of a put, an event ring or a command ring there; those that are open close again.
fn name(bench: &mut Bench, pid: u16, command: u32, address: u64, length: u32) -> u32 {
    for (register, value) in [
        (doorbell::BUFFER_LO, address as u32),
        (doorbell::BUFFER_HI, (address >> 32) as u32),
        (doorbell::SIZE, length),
        (doorbell::LENGTH, length),
        (doorbell::EVENT_HEAD, 0),
        (doorbell::RING_TAIL, 0),
        (doorbell::MODE, 0),
    ] {
        bench.stage(pid, register, value);
    }
    bench.ring(pid, command).0
}

#[test]
fn nothing_outside_is_named() {
    run_with_wave_on_failure("rvma_regions", |context| {
        use doorbell_error::{BAD_ARGUMENT, NONE, OUT_OF_REGION};
        let mut bench = Bench::new(context, &Config::SIM, (1, 20));
        bench.trust(0);
        let mailbox = bench.init_window(2, 5, 1, 1, 0).unwrap();
        // No region, no memory; nor by those of another process.
        set(&mut bench, 3, 0, Some((0, 0xF_FFFF_FFFF_FFFF, true, true)));
        assert_eq!(bench.post_buffer(2, mailbox, 0x10_0000, 64, 0x5000), Err(OUT_OF_REGION));
        set(&mut bench, 2, REGIONS - 1, Some((0x100, 0x101, false, true)));
        set(&mut bench, 2, 0, Some((0x5, 0x5, false, true)));
        set(&mut bench, 2, 3, Some((0x200, 0x200, true, false)));
        // Both ends of the buffer, and the record.
        for (base, size, record, error) in [
            (0x10_0000, 0x2000, 0x5000, Ok(())),
            (0x10_0000, 0x2000, 0x5FF0, Ok(())),
            (0x10_1FFF, 1, 0x10_0000, Ok(())),
            (0x0F_FFFF, 1, 0x5000, Err(OUT_OF_REGION)),
            (0x0F_FFFF, 2, 0x5000, Err(OUT_OF_REGION)),
            (0x10_1FFF, 2, 0x5000, Err(OUT_OF_REGION)),
            (0x10_0000, 0x2001, 0x5000, Err(OUT_OF_REGION)),
            (0x10_0000, u32::MAX, 0x5000, Err(OUT_OF_REGION)),
            (0x10_0000, 64, 0x4FF0, Err(OUT_OF_REGION)),
            (0x10_0000, 64, 0x6000, Err(OUT_OF_REGION)),
            (0x20_0000, 64, 0x5000, Err(OUT_OF_REGION)),
            (0x1_0010_0000, 64, 0x5000, Err(OUT_OF_REGION)),
            (u64::MAX, 64, 0x5000, Err(OUT_OF_REGION)),
        ] {
            assert_eq!(bench.post_buffer(2, mailbox, base, size, record), error, "{base:#x} {size} {record:#x}");
        }
        for (command, address, length, error) in [
            (doorbell_command::PUT, 0x20_0000, 0x1000, NONE),
            (doorbell_command::PUT, 0x20_0000, 0x1001, OUT_OF_REGION),
            (doorbell_command::PUT, 0x10_0000, 1, OUT_OF_REGION),
            (doorbell_command::PUT, 0x10_0000, 0, NONE),
            (doorbell_command::GET, 0x10_0000, 0, BAD_ARGUMENT),
            (doorbell_command::OPEN_RING, 0x10_0000, 0x2000, NONE),
            (doorbell_command::OPEN_RING, 0x20_0000, 0x1000, OUT_OF_REGION),
            (doorbell_command::OPEN_RING, 0, 0, NONE),
            (doorbell_command::OPEN_COMMANDS, 0x20_0000, 0x1000, NONE),
            (doorbell_command::OPEN_COMMANDS, 0x10_0000, 64, OUT_OF_REGION),
            (doorbell_command::OPEN_COMMANDS, 0, 0, NONE),
        ] {
            assert_eq!(name(&mut bench, 2, command, address, length), error, "{command} {address:#x} {length}");
        }
        // A region that is taken back, and a process that is trusted.
        set(&mut bench, 2, REGIONS - 1, None);
        assert_eq!(bench.post_buffer(2, mailbox, 0x10_0000, 64, 0x5000), Err(OUT_OF_REGION));
        bench.trust(1 << 2);
        assert_eq!(bench.post_buffer(2, mailbox, 0x10_0000, 64, 0x5000), Ok(()));
        bench.dut.reset();
        bench.steps(600);
        let mailbox = bench.init_window(2, 5, 1, 1, 0).unwrap();
        assert_eq!(bench.post_buffer(2, mailbox, 0x5000, 64, 0x5000), Err(OUT_OF_REGION), "a reset takes all back");
    });
}

/// Posts at random places of random regions, by the doorbell and by the command ring.
#[test]
fn random_regions_are_the_models() {
    run_with_wave_on_failure("rvma_regions_random", |context| {
        let mut rng = context.rng();
        let mut bench = Bench::new(context, &Config::SIM, (1, 20));
        bench.trust(0);
        let mut regions = [[None::<Region>; REGIONS]; 16];
        let mailboxes: Vec<u32> = (0..16).map(|pid| bench.init_window(pid, 5, 1, 1, 0).unwrap()).collect();
        for pid in 0..16 {
            // The ring lies in a region of its own.
            let ring = 0xFF80_0000 / PAGE_BYTES + u64::from(pid) * 256;
            regions[usize::from(pid)][0] = Some((ring, ring + 255, true, false));
            set(&mut bench, pid, 0, regions[usize::from(pid)][0]);
        }
        let mut rings: Vec<Ring> = (0..16).map(|pid| Ring::open(&mut bench, pid, 64)).collect();
        let mut counts = [0; 2];
        // Few places in the whole of the memory; half of what is named there differs in one bit of the address.
        let places: [u64; 4] = std::array::from_fn(|_| rng.random::<u64>() >> 13 & !63);
        let place = |rng: &mut ChaCha8Rng| {
            places[rng.random_range(0..4)] ^ u64::from(rng.random::<bool>()) << rng.random_range(6..52)
        };
        for _ in 0..600 {
            let pid = rng.random_range(0..16usize);
            if rng.random_range(0..3) == 0 {
                let number = rng.random_range(1..REGIONS);
                let first = place(&mut rng) + rng.random_range(0..40);
                let region = (first, first + rng.random_range(0..6), rng.random(), rng.random_range(0..4) != 0);
                regions[pid][number] = (rng.random_range(0..6) != 0).then_some(region);
                set(&mut bench, pid as u16, number, regions[pid][number]);
            }
            let mut somewhere = || place(&mut rng) * PAGE_BYTES + rng.random_range(0..50 * PAGE_BYTES);
            let (mut address, mut record) = (somewhere(), somewhere() & !15);
            // Half of them where a region is.
            let known: Vec<Region> = regions[pid][1..].iter().flatten().copied().collect();
            if !known.is_empty() && rng.random() {
                // Also a page outside, at either end.
                let mut page = |first| {
                    let region = known[rng.random_range(0..known.len())];
                    let outside = rng.random_range(0..6) == 0;
                    if first {
                        region.0.saturating_sub(u64::from(outside))
                    } else {
                        region.1 + u64::from(outside)
                    }
                };
                (address, record) = (page(true) * PAGE_BYTES, page(false) * PAGE_BYTES);
                address += rng.random_range(0..PAGE_BYTES);
                record += rng.random_range(0..256) * 16;
                if rng.random_range(0..4) == 0 {
                    address ^= 1 << rng.random_range(18..64);
                }
                if rng.random_range(0..4) == 0 {
                    record ^= 1 << rng.random_range(18..64);
                }
            }
            let size = 1 << rng.random_range(0..15);
            let size = rng.random_range(1..=size);
            let good = may(&regions[pid], true, address, size) && may(&regions[pid], true, record, 16);
            let expected = if good { doorbell_error::NONE } else { doorbell_error::OUT_OF_REGION };
            counts[usize::from(good)] += 1;
            if rng.random() {
                let got = bench.post_buffer(pid as u16, mailboxes[pid], address, size, record);
                assert_eq!(got.err().unwrap_or(0), expected, "{address:#x} {size} {record:#x} {:x?}", regions[pid]);
            } else {
                let ring = &mut rings[pid];
                ring.push(&mut bench, &[Post::new(mailboxes[pid], address, size, record)]);
                ring.kick(&mut bench);
                let first = ring.tail - 1;
                let (count, error) = ring.wait(&mut bench);
                assert_eq!((count, error), if good { (first + 1, 0) } else { (first, expected) }, "{address:#x}");
                if !good {
                    ring.write(&mut bench, first, &Post::default());
                    ring.kick(&mut bench);
                    bench.steps(300);
                    assert_eq!(ring.wait(&mut bench), (first + 1, 0));
                }
            }
        }
        assert!(counts[0] > 60 && counts[1] > 30, "{counts:?} refused, taken");
        assert_eq!(bench.counter(rvma::BUFFERS), counts[1]);
    });
}

/// A checked process posts as fast as promised.
#[test]
fn cycles_per_checked_post() {
    run_with_wave_on_failure("rvma_regions_cycles", |context| {
        // Regions of the buffer and of the record; cycles a post.
        for (buffer, record, per_post) in
            [(0, 0, 7.0), (5, 5, 7.0), (15, 15, 7.0), (0, 1, 8.0), (3, 6, 10.0), (2, 15, 20.0)]
        {
            let mut bench = Bench::new(context, &Config::SIM, (20, 20));
            let mailbox = bench.init_window(1, 5, 1, 64, 0).unwrap();
            let mut ring = Ring::open(&mut bench, 1, 1024);
            bench.trust(0);
            set(&mut bench, 1, record, Some((0x8, 0xF, false, true)));
            set(&mut bench, 1, buffer, Some((if buffer == record { 0x8 } else { 0x100 }, 0x1FF, false, true)));
            let cycles = |bench: &mut Bench, ring: &mut Ring, count| posting(bench, ring, mailbox, count);
            let short = cycles(&mut bench, &mut ring, 128);
            let long = cycles(&mut bench, &mut ring, 256);
            let per = (long - short) as f64 / 128.0;
            println!("regions {buffer} and {record}: {per:.2} cycles per post");
            assert!(per <= per_post + 0.2, "{per} cycles per post");
        }
    });
}
