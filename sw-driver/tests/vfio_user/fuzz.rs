//! Random messages, with and without sense: the server answers or leaves, and serves the next client.

use crate::dummy::Served;
use crate::hostile::{works, Raw};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
use spindle::vfio_user::channel::{Broken, Channel};
use spindle::vfio_user::message::*;
use spindle::{irq, vfio_user::Client};
use spindle_testing::{seeded_rng, with_seeds};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;

const GUARD: u8 = 0xA5;

#[test]
fn random_bytes() {
    with_seeds(|| {
        let served = Served::new();
        let mut random = seeded_rng("vfio_user_bytes");
        for round in 0..60 {
            let mut raw = if round % 2 == 0 { Raw::connect(&served.path()) } else { Raw::agreed(&served.path()) };
            let bytes: Vec<u8> = (0..random.random_range(0..4000)).map(|_| random.random()).collect();
            let _ = raw.0.write_all(&bytes);
            drop(raw);
            assert!(served.lives());
            crate::soon("the next client is served", || Client::connect(&served.path()).is_ok());
        }
        works(&served);
    });
}

/// A number near the borders of what a field may have.
fn number(random: &mut ChaCha8Rng) -> u64 {
    let borders = [0, 1, 2, 4, 7, 8, 9, 16, 20, 24, 32, 4095, 4096, 4097, 1 << 20, 1 << 31, 1 << 32, 1 << 63];
    let border = borders[random.random_range(0..borders.len())];
    match random.random_range(0..4) {
        0 => border,
        1 => u64::wrapping_sub(border, 1),
        2 => u64::wrapping_neg(border),
        _ => random.random_range(0..64),
    }
}

/// A request whose fields have such numbers.
fn request(random: &mut ChaCha8Rng) -> (u16, Vec<u8>) {
    let mut n = |_: &str| number(random);
    let (a, b, c, d, e) = (n("a"), n("b"), n("c"), n("d"), n("e"));
    let body = match a % 9 {
        0 => DmaMap { argsz: 32, flags: (b % 5) as u32, offset: c, address: d, size: e }.bytes(),
        1 => DmaUnmap { argsz: 24, flags: (b % 5) as u32, address: d, size: e }.bytes(),
        2 => DeviceInfo { argsz: b as u32, ..DeviceInfo::default() }.bytes(),
        3 => RegionInfo { argsz: b as u32, index: c as u32, ..RegionInfo::default() }.bytes(),
        4 => RegionIoFds { argsz: b as u32, flags: 0, index: c as u32, count: d as u32 }.bytes(),
        5 => IrqInfo { argsz: b as u32, flags: 0, index: c as u32, count: 0 }.bytes(),
        6 => {
            let set = SetIrqs { argsz: 20, flags: b as u32 & 0x3F, index: c as u32, start: d as u32, count: e as u32 };
            [set.bytes(), vec![1; (d % 40) as usize]].concat()
        }
        7 => RegionAccess { offset: b, region: c as u32, count: d as u32 }.bytes(),
        _ => {
            let data = vec![e as u8; (d % 5000) as usize];
            let access = RegionAccess { offset: b, region: c as u32, count: data.len() as u32 };
            [access.bytes(), data].concat()
        }
    };
    // Seldom another request than the body's.
    let command = if e % 16 == 15 { random.random_range(0..16) } else { 2 + (a % 9) as u16 };
    (command, body)
}

#[test]
fn structured_requests_leave_other_memory_as_it_is() {
    with_seeds(|| {
        let served = Served::new();
        let mut random = seeded_rng("vfio_user_requests");
        let guard = File::from(memfd_create("guard", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC).unwrap());
        guard.write_all_at(&[GUARD; 8192], 0).unwrap();
        fcntl_add_seals(&guard, SealFlags::SHRINK).unwrap();
        let (mut answered, mut refused) = (0, 0);
        for _ in 0..20 {
            let mut channel = Channel::new(UnixStream::connect(served.path()).unwrap()).unwrap();
            let version = Header { command: Command::Version as u16, ..Header::default() };
            channel.send(version, &[&version_body(Capabilities::own())], Vec::new()).unwrap();
            if wait(&mut channel).is_none_or(|header| header.error != 0) {
                std::thread::sleep(std::time::Duration::from_millis(5));
                continue;
            }
            for _ in 0..300 {
                let (command, body) = request(&mut random);
                let no_reply = random.random_ratio(1, 8);
                let fds = (0..random.random_range(0..3)).map(|_| descriptor(&mut random, &guard)).collect();
                let flags = if no_reply { flags::NO_REPLY } else { 0 };
                if channel.send(Header { command, flags, ..Header::default() }, &[&body], fds).is_err() {
                    break;
                }
                if !no_reply {
                    let Some(header) = wait(&mut channel) else { break };
                    answered += 1;
                    refused += usize::from(header.error != 0);
                }
            }
            assert!(served.lives());
            drop(channel);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(
            answered > 3000 && refused > answered / 4 && refused < answered,
            "{answered} answered, {refused} refused"
        );
        let mut bytes = [0; 8192];
        guard.read_exact_at(&mut bytes, 0).unwrap();
        assert!(bytes.iter().all(|byte| *byte == GUARD), "the dummy has copied, and no request asked for a copy");
        works(&served);
    });
}

fn descriptor(random: &mut ChaCha8Rng, guard: &File) -> OwnedFd {
    match random.random_ratio(1, 2) {
        true => irq::create().unwrap(),
        false => guard.as_fd().try_clone_to_owned().unwrap(),
    }
}

/// The header of the next reply; `None`: the connection has ended.
fn wait(channel: &mut Channel) -> Option<Header> {
    loop {
        match channel.flush().and_then(|()| channel.receive()) {
            Ok(Some(message)) => return Some(message.header),
            Ok(None) => {
                let limit = std::time::Duration::from_secs(5);
                assert!(irq::ready(channel.fd(), channel.interest(), limit).unwrap(), "no answer");
            }
            Err(Broken::Closed | Broken::Size(_) | Broken::Socket(_)) => return None,
        }
    }
}
