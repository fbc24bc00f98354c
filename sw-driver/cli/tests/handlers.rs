//! The shipped handlers' machine code, run by an independent processor model (qemu-riscv32), against their Rust models.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod common;

use common::{compilers, qemu, sdk, Compiler};
use rand::{Rng, RngCore};
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base, command};
use spindle_contract::params::{SCRATCH_BYTES, SLOT_BYTES, SPINDLE_PORT};
use spindle_model::checksums;
use spindle_model::frames::{dns_query, echo_request, udp, udp_without_checksum, Ends};
use spindle_model::handlers::{by_name, Circumstances, Outcome};
use spindle_model::packet_engine::parser::{parse, Verdict};
use std::path::{Path, PathBuf};

const HOST_BYTES: u32 = 7 * 2048 + 100;
/// Bytes of tailroom.
const TAILROOM: usize = 64;
/// Bytes of a result of the harness.
const RESULT_BYTES: usize = 4 + 32 + 2 * SLOT_BYTES;

/// Links a handler with the harness into a Linux program.
fn program(compiler: &Compiler, name: &str, folder: &Path) -> PathBuf {
    let harness = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/qemu_harness.c");
    let files = [sdk().join(format!("examples/{name}.c")), sdk().join("lib/memory.c"), harness];
    let output = folder.join(name);
    common::program(compiler, &[], &files, &output);
    output
}

/// The header descriptor that the hardware would make of this frame.
fn task_page(frame: &[u8], number: u16) -> Option<Vec<u8>> {
    let Verdict::Accept(parsed) = parse(frame, SPINDLE_PORT) else { return None };
    let packet = base(map::PACKET);
    let mut page = vec![0; map::TASK_PAGE_BYTES as usize];
    let mut put = |offset: u32, value: u32| page[offset as usize..][..4].copy_from_slice(&value.to_le_bytes());
    put(map::TASK_PACKET, packet);
    put(map::TASK_PACKET_LEN, frame.len().min(SLOT_BYTES) as u32);
    put(map::TASK_FRAME_LEN, frame.len() as u32);
    put(map::TASK_PAYLOAD, packet + parsed.payload_offset as u32);
    put(map::TASK_PAYLOAD_LEN, parsed.payload_len.into());
    put(map::TASK_L3, packet + parsed.l3_offset as u32);
    put(map::TASK_SRC_NID, parsed.src_nid);
    put(map::TASK_SRC_PID, parsed.src_pid.into());
    put(map::TASK_DST_PID, parsed.dst_pid.into());
    put(map::TASK_FRAME, number.into());
    put(map::TASK_HOST_SIZE, HOST_BYTES);
    put(map::TASK_SCRATCH_SIZE, SCRATCH_BYTES as u32);
    put(map::TASK_ROOM, (frame.len() + TAILROOM).min(SLOT_BYTES) as u32);
    Some(page)
}

/// Results of a handler: return code, words of the command port, packet slot, scratchpad.
type Left = (u32, [u32; 8], Vec<u8>, Vec<u8>);

/// Runs the handler on every frame.
fn results(program: &Path, frames: &[Vec<u8>]) -> Vec<Left> {
    let mut input = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        input.extend(task_page(frame, number as u16).expect("only frames that the parser passes are given"));
        let cut = &frame[..frame.len().min(SLOT_BYTES)];
        input.extend((cut.len() as u32).to_le_bytes());
        input.extend_from_slice(cut);
    }
    let output = qemu(program, input);
    assert_eq!(output.len(), frames.len() * RESULT_BYTES);
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    output
        .chunks(RESULT_BYTES)
        .map(|r| {
            let port = std::array::from_fn(|i| word(&r[4 + 4 * i..8 + 4 * i]));
            (word(&r[..4]), port, r[36..36 + SLOT_BYTES].to_vec(), r[36 + SLOT_BYTES..].to_vec())
        })
        .collect()
}

/// A source: any, or one around the prefixes of `firewall`.
fn source(random: &mut ChaCha8Rng) -> [u8; 4] {
    let near =
        [[192, 0, 2, 255], [192, 0, 3, 0], [10, 9, 200, 1], [10, 8, 255, 255], [203, 0, 113, 128], [203, 0, 113, 127]];
    if random.random_bool(0.5) {
        near[random.random_range(0..near.len())]
    } else {
        random.random()
    }
}

/// Frames of all sizes, tagged or not, padded or not, with payloads that bring out the corners of checksums.
fn traffic(random: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for length in (0..100).chain((100..2100).step_by(37)) {
        for kind in 0..6 {
            let ends = Ends {
                vlan: random.random_bool(0.3).then(|| random.random_range(1..4095)),
                src_ip: source(random),
                dst_ip: random.random(),
                src_mac: random.random(),
                dst_mac: random.random(),
            };
            let mut payload = vec![if kind == 1 { 0xff } else { 0 }; length];
            if kind > 2 {
                random.fill_bytes(&mut payload);
            }
            let (a, b) = if kind % 3 == 0 { (0, 0) } else { (random.random(), random.random()) };
            for mut frame in [
                udp(&ends, a, b, &payload),
                echo_request(&ends, a, b, &payload),
                udp_without_checksum(&ends, a, b, &payload),
            ] {
                if frame.len() < 60 && random.random_bool(0.5) {
                    frame.resize(60, 0);
                }
                frames.push(frame);
            }
        }
    }
    // Queries, most of them right; of some a byte differs, of some the end is missing.
    for number in 0..400 {
        let name: String =
            (0..random.random_range(0..5)).map(|_| "spindle."[random.random_range(0..7)..].to_owned()).collect();
        let vlan = random.random_bool(0.3).then(|| random.random_range(1..4095));
        let ends = Ends { vlan, src_ip: source(random), ..Ends::default() };
        let additional = &[7; 40][..random.random_range(0..40)];
        let kind = if random.random_bool(0.8) { 1 } else { random.random_range(0..300) };
        let mut frame = dns_query(&ends, 4000, number, &name, kind, additional);
        let payload = if vlan.is_some() { 46 } else { 42 };
        if random.random_bool(0.3) {
            let query = &frame[payload..];
            let mut query = query[..random.random_range(0..=query.len())].to_vec();
            if !query.is_empty() {
                let at = random.random_range(0..query.len().min(20));
                query[at] ^= 1 << random.random_range(0..8);
            }
            frame = udp(&ends, 4000, 53, &query);
        }
        frames.push(frame);
    }
    let mut arp = vec![0xff; 60];
    arp[12..14].copy_from_slice(&[8, 6]);
    frames.push(arp);
    frames.retain(|frame| task_page(frame, 0).is_some());
    frames
}

fn agrees_with_its_model(name: &str) {
    for compiler in compilers() {
        spindle_testing::with_seeds(|| built_by(&compiler, name));
    }
}

fn built_by(compiler: &Compiler, name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let frames = traffic(&mut spindle_testing::seeded_rng("handlers"));
    let model = by_name(name).unwrap();
    let (mut acted, mut dropped) = (0, 0);
    for (number, (frame, (code, port, packet, scratch))) in
        frames.iter().zip(results(&program(compiler, name, folder.path()), &frames)).enumerate()
    {
        let issued = port[map::CMD_ISSUE as usize / 4];
        let (source, length) = (port[map::CMD_SOURCE as usize / 4], port[map::CMD_LENGTH as usize / 4] as usize);
        let circumstances = Circumstances { number: number as u16, host_bytes: HOST_BYTES as usize };
        let what = format!("{name}, frame {number} of {} bytes", frame.len());
        match model(frame, circumstances) {
            Outcome::Answer(answer) => {
                acted += 1;
                // The checksums that the handler leaves to the NIC.
                let opcode = issued & !map::ISSUE_CHECKSUM;
                assert_eq!((code, opcode, source), (0, command::SEND_PACKET.into(), base(map::PACKET)), "{what}");
                let mut sent = packet[..length].to_vec();
                if issued & map::ISSUE_CHECKSUM != 0 {
                    checksums::send(&mut sent);
                }
                assert!(sent == answer, "{what}: {:?}", (0..length).find(|i| Some(&sent[*i]) != answer.get(*i)));
            }
            Outcome::ToHost(offset, record) => {
                acted += 1;
                assert_eq!((code, issued), (0, command::DMA_TO_HOST.into()), "{what}");
                assert_eq!(port[map::CMD_ADDR_LO as usize / 4] as usize, offset, "{what}");
                let (memory, start) = if source < base(map::SCRATCH) {
                    (&packet, base(map::PACKET))
                } else {
                    (&scratch, base(map::SCRATCH))
                };
                let written = memory.get((source - start) as usize..).and_then(|bytes| bytes.get(..length));
                assert!(written == Some(&record[..]), "{what}: {length} bytes from {source:#x} on");
            }
            Outcome::Drop => {
                dropped += 1;
                assert_eq!((code, issued), (map::SPIN_DROP.into(), 0), "{what}");
            }
            Outcome::Proceed => {
                acted += 1;
                assert_eq!((code, issued), (map::SPIN_PROCEED.into(), 0), "{what}");
            }
        }
    }
    assert!(acted > 100, "{name} acted on {acted} frames only");
    assert!(dropped > 100 || name == "place", "{name} dropped {dropped} frames only");
}

#[test]
fn ping_pong() {
    agrees_with_its_model("ping_pong");
}

#[test]
fn icmp_echo() {
    agrees_with_its_model("icmp_echo");
}

#[test]
fn dns() {
    agrees_with_its_model("dns");
}

#[test]
fn firewall() {
    agrees_with_its_model("firewall");
}

#[test]
fn udp_to_host() {
    agrees_with_its_model("udp_to_host");
}

#[test]
fn place() {
    agrees_with_its_model("place");
}
