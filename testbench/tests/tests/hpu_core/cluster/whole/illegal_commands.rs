//! Illegal commands of random programs, each of which has one fault.

use crate::hpu_core::cluster::whole::bench::Context;
use crate::hpu_core::cluster::whole::handlers::{PACKET, STATE};
use crate::hpu_core::cluster::whole::off_cluster_commands::COUNTERS;
use crate::hpu_core::cluster::whole::program_writer::{piece, Writer, BOUNDS, PIECES, SCRATCHPAD, STATES, XOR};
use rand::seq::IndexedRandom;
use rand::Rng;
use spindle_contract::memory_map::{self as map, base, combine as operations, command};
use spindle_contract::params::SLOT_BYTES;

impl Writer<'_> {
    /// An address that no command may use.
    fn outside(&mut self) -> u32 {
        let memory = self.rng.random_range(0..3);
        let stray = 1 << self.rng.random_range(BOUNDS[memory].ilog2()..28);
        let region = *[map::STACK, map::TASK, map::CODE, map::COMMAND].choose(self.rng).expect("four");
        *[
            piece(memory, self.frame) | stray,
            base(region) + self.rng.random_range(0..64),
            self.rng.random_range(0..4096),
        ]
        .choose(self.rng)
        .expect("three")
    }

    /// An illegal command: one fault in words that would be legal.
    pub(super) fn illegal(&mut self) {
        let host = Context::default().host_size;
        let (memory, at, length) = self.bytes(14);
        let source = (map::CMD_SOURCE, piece(memory, self.frame) + at as u32);
        let length = (map::CMD_LENGTH, length as u32);
        let data_commands =
            [command::SEND_PACKET, command::DMA_TO_HOST, command::DMA_FROM_HOST, command::PUT, command::COMBINE];
        let data_command = *data_commands.choose(self.rng).expect("five");
        // What follows is legal for each of them: an XOR with other bytes of the packet, or the host's first bytes.
        let far = [(map::CMD_NODE, 0x7_0003)];
        let rest = match data_command {
            command::COMBINE => [(map::CMD_ADDR_LO, piece(0, self.frame)), XOR],
            _ => [(map::CMD_ADDR_LO, 0), (map::CMD_ADDR_HI, 0)],
        };
        let (opcode, words): (u32, Vec<(u32, u32)>) = match self.rng.random_range(0..12) {
            0 => (0, [&[source, length], &rest[..]].concat()),
            1 => {
                let bit = loop {
                    let bit = self.rng.random_range(4..32);
                    if data_command != command::SEND_PACKET || 1 << bit != map::ISSUE_CHECKSUM {
                        break bit;
                    }
                };
                (u32::from(data_command) | 1 << bit, [&[source, length], &rest[..]].concat())
            }
            2 => {
                let source = (map::CMD_SOURCE, self.outside());
                (data_command.into(), [&[source, length], &rest[..], &far].concat())
            }
            3 => {
                let at = self.rng.random_range(0..BOUNDS[memory]);
                let source = (map::CMD_SOURCE, [PACKET, SCRATCHPAD, STATE][memory] + at as u32);
                let most = (BOUNDS[memory] - at).min(SLOT_BYTES) as u32;
                let more = [1, self.rng.random_range(1..64), 1 << self.rng.random_range(12..32)];
                let length =
                    if self.rng.random_range(0..4) == 0 { 0 } else { most + more.choose(self.rng).expect("three") };
                (data_command.into(), [&[source, (map::CMD_LENGTH, length)], &rest[..], &far].concat())
            }
            4 => {
                let opcode = *[command::DMA_TO_HOST, command::DMA_FROM_HOST].choose(self.rng).expect("two");
                let over = host - length.1 + self.rng.random_range(1..=64);
                let (low, high) =
                    *[(over, 0), (host, 0), (u32::MAX, 0), (0, 1), (0, 1 << 31)].choose(self.rng).expect("five");
                (opcode.into(), vec![source, length, (map::CMD_ADDR_LO, low), (map::CMD_ADDR_HI, high)])
            }
            5 => {
                let opcodes = [command::PUT, command::GET, command::PUT_HOST, command::PUT_CONTEXT];
                let opcode = *opcodes.choose(self.rng).expect("four");
                let source = match opcode {
                    command::PUT_HOST => (map::CMD_SOURCE, 0),
                    command::PUT_CONTEXT => (map::CMD_SOURCE, piece(2, 0)),
                    _ => source,
                };
                let node = self.rng.random::<u32>() | 1 << self.rng.random_range(8..16);
                (opcode.into(), vec![source, length, (map::CMD_NODE, node)])
            }
            6 => (command::SEND_PACKET.into(), vec![source, (map::CMD_LENGTH, self.rng.random_range(1..14))]),
            7 => {
                // A destination that may not be written, or that is too short.
                let short = (PACKET + (SLOT_BYTES as u32 - length.1) + self.rng.random_range(1..8))
                    .min(PACKET + SLOT_BYTES as u32);
                let to = *[self.outside(), piece(2, self.frame), short].choose(self.rng).expect("three");
                (command::COMBINE.into(), vec![source, length, (map::CMD_ADDR_LO, to), XOR])
            }
            8 => {
                let (part, add) = (length.1 & !3 | 4, operations::operation(operations::ADD, 2));
                let part = part.min(PIECES[memory] as u32 & !3) - self.rng.random_range(1..4);
                let unknown =
                    1u32 << *[5, 6, 7, 16, 31].choose(self.rng).expect("five") | 1 << operations::CONSTANT_SHIFT;
                let (length, high) = *[
                    ((map::CMD_LENGTH, part), add),
                    (length, unknown),
                    ((map::CMD_LENGTH, 4), add | 1 << operations::CONSTANT_SHIFT),
                    ((map::CMD_LENGTH, 8), operations::operation(operations::MIN, 3)),
                ]
                .choose(self.rng)
                .expect("four");
                let source = (map::CMD_SOURCE, piece(memory, self.frame));
                let to = (map::CMD_ADDR_LO, piece(0, self.frame));
                (command::COMBINE.into(), vec![source, length, to, (map::CMD_ADDR_HI, high)])
            }
            9 => {
                let opcode = *[command::HOST_ADD, command::HOST_CAS].choose(self.rng).expect("two");
                let counter = COUNTERS + 16 * self.frame;
                let cases = [
                    (counter + 2, 4),
                    (counter + 4, 8),
                    (counter, 2),
                    (counter, 0),
                    (host, 4),
                    (host - 4, 8),
                    (counter, 16),
                ];
                let (low, length) = *cases.choose(self.rng).expect("seven");
                (opcode.into(), vec![(map::CMD_ADDR_LO, low), (map::CMD_LENGTH, length)])
            }
            10 => {
                let state = STATE + STATES;
                let room = (BOUNDS[2] as u32) - STATES;
                let cases = [
                    (PACKET, 64),
                    (SCRATCHPAD, 64),
                    (state, 0),
                    (state, room + 1),
                    (state, u32::MAX),
                    (state | 1 << 20, 4),
                ];
                let (source, length) = *cases.choose(self.rng).expect("six");
                (command::PUT_CONTEXT.into(), vec![(map::CMD_SOURCE, source), (map::CMD_LENGTH, length)])
            }
            _ => {
                let cases = [
                    (command::PUT_HOST, 0, 0),
                    (command::PUT_HOST, host, 1),
                    (command::PUT_HOST, 1, host),
                    (command::PUT_HOST, 1, u32::MAX),
                    (command::GET, 0, 0),
                ];
                let (opcode, source, length) = *cases.choose(self.rng).expect("five");
                (opcode.into(), vec![(map::CMD_SOURCE, source), (map::CMD_LENGTH, length)])
            }
        };
        let waits = self.rng.random();
        self.push(opcode, waits, &words);
    }
}
