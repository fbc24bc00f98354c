//! Random programs of commands: every opcode, any byte, any length, each memory, and illegal commands of every kind, against what a
//! handler may do. Bytes, results, handles and faults are compared.

use crate::hpu_core::cluster::whole::bench::{Bench, Context, Task, HPUS};
use crate::hpu_core::cluster::whole::handlers::{random_bytes, word, ENTRY};
use crate::hpu_core::cluster::whole::off_cluster::Put;
use crate::hpu_core::cluster::whole::off_cluster_commands::{interpreter, COUNTERS, LEFT, STEPS};
use crate::hpu_core::cluster::whole::program_writer::{Program, Writer, BOUNDS, PIECES, STATES};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::memory_map::{self as map, base, command};
use spindle_harness::run_with_wave_on_failure;
use spindle_hart::assembler::sw;
use spindle_testing::share;

/// Commands that a run of the test issues, at least, with all its seeds.
const COMMANDS: usize = 20_000;
/// Handlers of a round: each has its pieces of the scratchpad, of context memory and of host memory for itself.
const HANDLERS: u32 = 32;
/// The contexts: with and without an event ring.
const CONTEXTS: [u64; 2] = [3, 4];

/// A program of a handler whose memories begin with random bytes, and the task that carries the program.
fn task(rng: &mut ChaCha8Rng, bench: &mut Bench, host: &[u8], frame: u32) -> (Program, Task) {
    let memories = PIECES.map(|bytes| random_bytes(rng, bytes));
    let state = (STATES + PIECES[2] as u32 * frame) as usize;
    bench.l2[state..state + PIECES[2]].copy_from_slice(&memories[2]);
    let counter = (COUNTERS + 16 * frame) as usize;
    let counters =
        [u64::from(word(host, counter)), u64::from_le_bytes(host[counter + 8..][..8].try_into().expect("eight"))];
    let has_ring = rng.random_range(0..4) > 0;
    let context = CONTEXTS[usize::from(!has_ring)];
    let program = Program::default();
    let (packet, program) = Writer { rng, frame, context, has_ring, host, memories, counters, program }.write();
    let [_, scratch_size, state_size] = BOUNDS.map(|bytes| bytes as u32);
    let task = Task {
        fields: vec![("frame", frame.into()), ("context", context), ("kind", 1)],
        packet: Some(packet),
        context: Context { scratch_size, state_size, ..Context::default() },
    };
    (program, task)
}

/// Whatever has come of all handlers, by kind.
struct Came {
    puts: Vec<(Put, Option<Vec<u8>>)>,
    all: usize,
}

impl Came {
    /// Payloads come in the order of their puts.
    fn of(bench: &mut Bench) -> Self {
        let mut payloads = std::mem::take(&mut bench.far.payloads).into_iter();
        let puts: Vec<_> = std::mem::take(&mut bench.far.puts)
            .into_iter()
            .map(|mut put| {
                // A put of handler memory has no place for the initiator; of a place in L2 twenty bits count, and no high half.
                match put.opcode {
                    command::PUT => put.words[0] = 0,
                    command::PUT_CONTEXT => put.words = [&[put.words[0] & 0xF_FFFF], &put.words[1..7]].concat(),
                    _ => {}
                }
                let payload = (put.opcode == command::PUT).then(|| payloads.next().expect("a payload for each put"));
                (put, payload)
            })
            .collect();
        assert_eq!(payloads.len(), 0, "payloads without a put");
        let all = bench.egress.len() + bench.summed.len() + bench.transfers.len() + puts.len();
        Self { puts, all: all + bench.messages.len() + bench.places.len() }
    }

    /// Compares the effects of a program; returns how many there are.
    fn check(&self, bench: &Bench, frame: u32, program: &Program) -> usize {
        let of = |found: u16| u32::from(found) == frame;
        let frames: Vec<_> = bench.egress.iter().filter(|sent| of(sent.0)).map(|sent| &sent.1).collect();
        assert!(frames.iter().copied().eq(&program.frames), "frames of handler {frame}");
        let summed = bench.summed.iter().filter(|sent| of(**sent)).count();
        assert_eq!(summed, program.summed, "frames with checksums, of handler {frame}");
        let to_host = bench.transfers.iter().filter(|transfer| of(transfer.frame));
        let to_host: Vec<_> = to_host.map(|transfer| (transfer.address, transfer.data.clone())).collect();
        assert!(to_host == program.to_host, "transfers of handler {frame}");
        for opcode in [command::PUT, command::PUT_HOST, command::PUT_CONTEXT, command::GET] {
            let found: Vec<_> = self.puts.iter().filter(|(put, _)| of(put.frame) && put.opcode == opcode).collect();
            let wanted: Vec<_> = program.puts.iter().filter(|(put, _)| put.opcode == opcode).collect();
            assert_eq!(found, wanted, "puts or gets of handler {frame} by command {opcode}");
        }
        let said: Vec<_> = bench
            .messages
            .iter()
            .filter(|said| of(said.frame))
            .map(|said| {
                assert_eq!(said.count, said.length.min(8) as usize, "characters of handler {frame}");
                (said.opcode, [word(&said.characters, 0), word(&said.characters, 4)], said.length)
            })
            .collect();
        assert_eq!(said, program.said, "what handler {frame} said");
        let redirects = bench.redirects.iter().filter(|redirect| of(redirect.0));
        assert!(redirects.map(|found| (found.1, found.2)).eq(program.redirects.iter().copied()), "of handler {frame}");
        let places = bench.places.iter().filter(|place| of(place.0)).count();
        assert_eq!(places, program.places + program.redirects.len(), "placements of handler {frame}");
        let state = (STATES + PIECES[2] as u32 * frame) as usize;
        assert!(bench.l2[state..state + PIECES[2]] == program.state, "context memory of handler {frame}");
        let results = check_left(&bench.l2, frame, program);
        assert_eq!(results, program.results, "results of handler {frame}");
        frames.len() + summed + to_host.len() + program.puts.len() + said.len() + places
    }
}

/// What the commands that were waited for have left: no error, a handle that is free, and the results of atomics, by step.
fn check_left(l2: &[u8], frame: u32, program: &Program) -> Vec<(usize, u64)> {
    let mut results = vec![];
    let legal = program.steps.len() - usize::from(program.faults);
    for (index, step) in program.steps[..legal].iter().enumerate() {
        if step[map::CMD_STATUS as usize / 4] == 0 {
            continue;
        }
        let left = |i: usize| word(l2, 4 * LEFT * (STEPS * frame as usize + index) + 4 * i);
        let opcode = step[map::CMD_ISSUE as usize / 4] as u8;
        assert_eq!(left(0), 0, "error of step {index} of handler {frame}, opcode {opcode}");
        let (handle, status) = (left(3) & 0xFF, left(3) >> 8);
        assert!(
            (handle as usize) < map::COMMAND_HANDLES && status >> handle & 1 == 0,
            "handle {handle} of step {index} of handler {frame}"
        );
        if [command::HOST_ADD, command::HOST_CAS].contains(&opcode) {
            results.push((index, u64::from(left(2)) << 32 | u64::from(left(1))));
        }
    }
    results
}

#[test]
fn programs_of_every_command() {
    run_with_wave_on_failure("cluster_programs", |wave| {
        let mut bench = Bench::new(wave);
        let mut rng = wave.rng();
        let interpreter = interpreter();
        let issue = sw(5, 9, map::CMD_ISSUE as i32);
        let issue = interpreter.iter().position(|word| *word == issue).expect("the interpreter issues");
        bench.program(0, &interpreter);
        bench.serve_far();
        bench.rings_open(!(1 << CONTEXTS[1]) & 0xFFFF);
        let wanted = share(COMMANDS);
        let (mut commands, mut refused, mut issuers) = (0, 0, [0; HPUS]);
        for stall in [0, 30, 60, 85].into_iter().cycle() {
            bench.stall = stall;
            bench.forget();
            bench.l2.fill(0xAA);
            let host = bench.far.memory.clone();
            let mut programs = vec![];
            for frame in 0..HANDLERS {
                let (program, task) = task(&mut rng, &mut bench, &host, frame);
                programs.push(program);
                bench.tasks.push_back(task);
            }
            bench.run_until(HANDLERS as usize);
            // What stopped handlers have under way ends.
            bench.stall = 0;
            (0..600).for_each(|_| bench.step());
            let (came, faults) = (Came::of(&mut bench), std::mem::take(&mut bench.faults));
            let mut all = 0;
            for (frame, program) in (0..HANDLERS).zip(&programs) {
                let found: Vec<_> = faults.iter().filter(|fault| fault[3] & 0xFFFF == frame).collect();
                let last = program.steps.last();
                assert_eq!(
                    found.len(),
                    usize::from(program.faults),
                    "faults of handler {frame}, which ends with {last:x?}"
                );
                for [who, pc, address, _] in found {
                    assert_eq!(*pc, ENTRY + 4 * issue as u32, "the instruction that issued the command");
                    assert_eq!(*address, base(map::COMMAND) + map::CMD_ISSUE, "the word that was written");
                    issuers[(who >> 8 & 0xFF) as usize] += 1;
                }
                let done = bench.done.iter().find(|done| u32::from(done.frame) == frame).expect("it is done");
                assert_eq!(done.cause, if program.faults { map::FAULT_COMMAND } else { 0 }, "end of handler {frame}");
                all += came.check(&bench, frame, program);
                commands += program.steps.len();
                refused += usize::from(program.faults);
            }
            assert_eq!(came.all, all, "nothing else comes");
            if commands >= wanted {
                break;
            }
        }
        assert!(refused > wanted / 40, "{refused} commands were refused");
        assert!(issuers.iter().all(|faults| *faults > refused / 20), "each HPU issues: {issuers:?}");
    });
}
