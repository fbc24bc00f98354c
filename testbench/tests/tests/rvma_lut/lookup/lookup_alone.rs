//! The look-up alone, against maps of mailboxes and of catch-all mailboxes: any descriptor, also contradictory ones, while
//! mailboxes come and go; every packet and every answer in its cycle.

use rand::seq::IndexedRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rvma_lut::lookup::mailbox_table::LATENCY as TABLE;
use rvma_lut::lookup::{Lookup, CREDITS, LATENCY};
use rvma_lut::types::{LookedUpPacket, Packet, TableRequest, CLOSING, INSERT, MODE_CLOSING, NUMBER, PROBE, REMOVE};
use spindle_blocks::desc::PlacementDesc;
use spindle_contract::reasons::{BAD_KEY, CLOSED, NO_MAILBOX, UNSUPPORTED};
use spindle_contract::registers::mailbox_mode::{CATCH_ALL, DROP, FRAMES, MANAGED, NACK_OFF, SPILL, TAGGED};
use spindle_contract::wire::{flag, opcode, SPINDLE_BYTES};
use spindle_harness::{near, random_bits, random_value, run_with_wave_on_failure, share, Dut, WaveContext};
use spindle_verilog::prelude::*;
use std::collections::{BTreeMap, VecDeque};

const MAILBOXES: usize = 1024;
const PROCESSES: u64 = 64;
/// Cycles from a request to the one in which the table decides about it: later changes are not seen.
const DECIDES: u64 = 3;
/// Cycles between two changes of the table, at least.
const BETWEEN: u64 = 32;

#[derive(Clone, Copy, Debug)]
struct Mailbox {
    number: u64,
    generation: u64,
    key: u32,
    mode: u64,
    window: u64,
}

/// Whose mailbox, and its address.
type Place = (u64, u64);

/// A request under way: since when, and what the table knows of its mailbox.
#[derive(Clone, Copy, Debug)]
struct Request {
    since: u64,
    /// The packet and its fence phase; else it is a command.
    packet: Option<(PlacementDesc, bool)>,
    command: TableRequest,
    found: Option<Mailbox>,
}

#[derive(Debug, Default)]
struct Counts {
    good: usize,
    unsupported: usize,
    no_mailbox: usize,
    closed: usize,
    bad_key: usize,
    caught: usize,
    spills: usize,
    silent: usize,
    silent_unbound: usize,
    inconsistent: usize,
    redirected: usize,
    frames: usize,
    gets: usize,
    full: usize,
    closed_catch_alls: usize,
    numbers: [usize; 2],
}

struct Bench {
    dut: Dut<Lookup>,
    rng: ChaCha8Rng,
    counts: Counts,
    mailboxes: BTreeMap<Place, Mailbox>,
    /// Catch-all mailbox of each process.
    catch_alls: BTreeMap<u64, u64>,
    places: Vec<Place>,
    offered: Option<PlacementDesc>,
    requests: VecDeque<Request>,
    /// Packets with the cycle from which on they are offered.
    results: VecDeque<(u64, LookedUpPacket)>,
    /// Packets that have entered and not left.
    inside: u64,
    command: Option<TableRequest>,
    /// The answer to a command is due.
    awaits: bool,
    /// The command in the block's register.
    waits: Option<TableRequest>,
    /// What the commands do: place, next operation, generation; from when on.
    plan: Option<(Place, u64, TableRequest)>,
    next_command: u64,
    /// Cycles in which the table took nothing.
    stalls: u64,
}

impl Bench {
    fn new(wave: &WaveContext) -> Self {
        let mut rng = wave.rng();
        // Processes and addresses that differ in one bit.
        let (pid, addr) = (rng.random_range(0..PROCESSES), rng.random::<u64>());
        let mut places = vec![(pid, addr)];
        for _ in 0..12 {
            places.push((pid ^ 1 << rng.random_range(0..6), addr ^ 1 << rng.random_range(0..64)));
            places.push((pid, addr ^ 1 << rng.random_range(0..64)));
        }
        places.sort_unstable();
        places.dedup();
        let bench = Self {
            dut: Dut::new(wave, Lookup::new(MAILBOXES), "lookup"),
            rng,
            counts: Counts::default(),
            mailboxes: BTreeMap::new(),
            catch_alls: BTreeMap::new(),
            places,
            offered: None,
            requests: VecDeque::new(),
            results: VecDeque::new(),
            inside: 0,
            command: None,
            awaits: false,
            waits: None,
            plan: None,
            next_command: 0,
            stalls: 0,
        };
        bench.dut.placement.valid.set(false);
        bench.dut.command.valid.set(false);
        bench.dut.reset();
        bench
    }

    /// A packet for one of the places, or for one beside them.
    fn packet(&mut self) -> PlacementDesc {
        let rng = &mut self.rng;
        let place = *self.places.choose(rng).unwrap();
        let mailbox = self.mailboxes.get(&place).copied();
        let mode = mailbox.map_or_else(|| rng.random(), |mailbox| mailbox.mode);
        let host =
            if mode & u64::from(FRAMES) != 0 { rng.random_range(0..4) != 0 } else { rng.random_range(0..40) == 0 };
        // Frames name the mailbox by number and generation; their process is one of the 64.
        let pid = near(rng, place.0, if host { 6 } else { 16 }, 12);
        let addr = if let Some(mailbox) = mailbox.filter(|_| host) {
            let name = near(rng, mailbox.number | mailbox.generation << 12, 16, 8);
            name | rng.random::<u64>() << 16
        } else {
            near(rng, place.1, 64, 12)
        };
        let key = mailbox.map_or(5, |mailbox| mailbox.key);
        let mut flags: u64 = rng.random_range(0..1 << 16);
        let all = [(MANAGED, flag::MANAGED), (TAGGED, flag::EPOCH_VALID)];
        for (mode_bit, flag_bit) in all {
            // Most packets are of the kind that the mailbox takes.
            if rng.random_range(0..10) != 0 {
                flags &= !u64::from(flag_bit);
                flags |= if mode & u64::from(mode_bit) != 0 { u64::from(flag_bit) } else { 0 };
            }
        }
        let msg_len: u64 = match rng.random_range(0..4) {
            0 => random_value::<Bits<32>>(rng).to_u64(),
            1 => u64::from(u32::MAX) - rng.random_range(0..3),
            _ => rng.random_range(0..3000),
        };
        let payload_len = match rng.random_range(0..4) {
            0 => rng.random_range(0..1 << 16),
            1 => msg_len % (1 << 16),
            _ => rng.random_range(0..=msg_len.min(1500)),
        };
        let has_slot = rng.random_range(0..3) != 0;
        let payload_len = if !has_slot && rng.random_range(0..8) != 0 { msg_len % (1 << 16) } else { payload_len };
        let msg_off = match rng.random_range(0..8) {
            0 => random_value::<Bits<32>>(rng).to_u64(),
            1 => msg_len.wrapping_sub(payload_len).wrapping_add(1) % (1 << 32),
            2 => (1 << 32) - payload_len.clamp(1, 1 << 16),
            3 | 4 => msg_len.saturating_sub(payload_len),
            _ => 0,
        };
        let buf_off = match rng.random_range(0..4) {
            0 => random_value::<Bits<32>>(rng).to_u64(),
            1 => ((1 << 32) - msg_len).min(u64::from(u32::MAX)),
            2 => (1u64 << 32).wrapping_sub(msg_len + 1) % (1 << 32),
            _ => rng.random_range(0..10_000),
        };
        let redirected = !host && rng.random_range(0..10) == 0;
        PlacementDesc {
            payload_offset: bits(rng.random_range(SPINDLE_BYTES as u64..if redirected { 2048 } else { 128 })),
            payload_len: bits(payload_len),
            opcode: bits(match rng.random_range(0..10) {
                0 => rng.random_range(0..256),
                1 | 2 => u64::from(opcode::GET),
                3 => u64::from(opcode::GET_RESP),
                _ => u64::from(opcode::PUT),
            }),
            flags: bits(flags),
            dst_pid: bits(pid),
            addr: bits(addr),
            key: bits(near(rng, key.into(), 32, 10)),
            msg_len: bits(msg_len),
            msg_off: bits(msg_off),
            buf_off: bits(buf_off),
            has_slot,
            redirected,
            host,
            ..random_bits(rng)
        }
    }

    /// The next request of the commands: mailboxes are opened and closed, and named by their number.
    fn next_command(&mut self) {
        let rng = &mut self.rng;
        let place = *self.places.choose(rng).unwrap();
        let (pid, addr) = (bits(place.0), bits(place.1));
        let request = TableRequest { pid, addr, ..random_bits(rng) };
        let (op, request) = match self.mailboxes.get(&place) {
            Some(mailbox) if rng.random_range(0..3) != 0 => {
                let name = near(rng, mailbox.number | mailbox.generation << 12, 16, 4);
                let pid = bits(near(rng, place.0, 6, 6));
                (NUMBER, TableRequest { pid, mailbox: bits(name % (1 << 12)), generation: bits(name >> 12), ..request })
            }
            Some(mailbox) => {
                let generation = bits((mailbox.generation + 1) % 16);
                let mailbox = bits(mailbox.number);
                (CLOSING, TableRequest { mode: bits(MODE_CLOSING), mailbox, generation, ..request })
            }
            None => (PROBE, request),
        };
        self.plan = Some((place, op, request));
        self.command = Some(TableRequest { op: bits(op), ..request });
    }

    /// What the answer to a command leads to.
    fn answered(&mut self, cycle: u64) {
        let (place, op, request) = self.plan.take().unwrap();
        let result = self.dut.command_result.payload.get();
        self.next_command = cycle + BETWEEN;
        self.awaits = op == PROBE;
        match op {
            PROBE => {
                let hit = self.mailboxes.contains_key(&place);
                assert!(!hit && !result.full, "cycle {cycle}: {place:x?}");
                let number = result.mailbox.to_u64();
                assert!(self.mailboxes.values().all(|mailbox| mailbox.number != number), "cycle {cycle}: {number}");
                // Most modes have few bits.
                let mode =
                    self.rng.random_range(0..256) & if self.rng.random() { self.rng.random_range(0..256) } else { 255 };
                let request = TableRequest {
                    mode: bits(mode),
                    mailbox: result.mailbox,
                    generation: result.generation,
                    ..request
                };
                self.plan = Some((place, INSERT, request));
                self.command = Some(TableRequest { op: bits(INSERT), ..request });
            }
            CLOSING => {
                // With the mode that the process has staged, which is that of another mailbox perhaps.
                let request = TableRequest { mode: bits(self.rng.random_range(0..256)), ..request };
                self.plan = Some((place, REMOVE, request));
            }
            _ => {}
        }
    }

    fn cycle(&mut self, packets: f64, ready: f64) {
        let cycle = self.dut.cycle();
        if self.offered.is_none() && self.rng.random_bool(packets) {
            self.offered = Some(self.packet());
        }
        if !self.awaits && cycle >= self.next_command {
            // A closing mailbox is removed some time later.
            if let Some((_, op, request)) = self.plan {
                self.command = Some(TableRequest { op: bits(op), ..request });
            } else {
                self.next_command();
            }
            self.awaits = true;
        }
        let command = self.command;
        let dut = &self.dut;
        dut.placement.offer(self.offered);
        dut.command.offer(self.command);
        let phase: bool = self.rng.random();
        dut.fence_phase.set(phase);
        let takes = self.rng.random_bool(ready);
        dut.looked_up.ready.set(takes);
        self.dut.eval();

        self.check_result(cycle);
        let taken = self.check_looked_up(cycle, takes);
        self.check_requests(cycle, phase, command);
        self.inside -= u64::from(taken);
        self.dut.tick();
    }

    /// Which requests go to the table in this cycle.
    fn check_requests(&mut self, cycle: u64, phase: bool, offered: Option<TableRequest>) {
        let dut = &self.dut;
        let credit = self.inside < CREDITS;
        self.counts.full += usize::from(!credit);
        // Only one of the two ports shows whether the table is ready.
        let ready = if self.waits.is_some() {
            assert!(!dut.placement.ready.is_high(), "cycle {cycle}: a command goes first");
            dut.command.ready.is_high()
        } else {
            assert!(dut.command.ready.is_high(), "cycle {cycle}");
            assert!(credit || !dut.placement.ready.is_high(), "cycle {cycle}: {} packets", self.inside);
            !credit || dut.placement.ready.is_high()
        };
        self.stalls += u64::from(!ready);
        let enters = self.offered.is_some() && dut.placement.ready.is_high();
        assert_eq!(dut.taken.is_high(), enters, "cycle {cycle}");
        if let Some(command) = self.waits.filter(|_| ready) {
            self.requests.push_back(Request { since: cycle, packet: None, command, found: None });
            self.apply(&command);
            self.waits = None;
        }
        if enters {
            let desc = self.offered.take().unwrap();
            let command = TableRequest::default();
            self.requests.push_back(Request { since: cycle, packet: Some((desc, phase)), command, found: None });
            self.inside += 1;
        }
        if self.waits.is_none() && offered.is_some() {
            self.waits = offered;
            self.command = None;
        }
        // A change is seen by packets that came up to two cycles before.
        for request in self.requests.iter_mut().filter(|request| request.since + DECIDES - 1 == cycle) {
            let Some((desc, _)) = &request.packet else {
                let TableRequest { op, mailbox, generation, pid, .. } = request.command;
                if op.to_u64() == NUMBER {
                    request.found = by_number(&self.mailboxes, pid.to_u64(), mailbox.to_u64(), generation.to_u64());
                }
                continue;
            };
            request.found = if desc.host {
                let (number, generation) = (desc.addr.to_u64() % (1 << 12), desc.addr.to_u64() >> 12 & 15);
                by_number(&self.mailboxes, desc.dst_pid.to_u64(), number, generation)
            } else {
                self.mailboxes.get(&(desc.dst_pid.to_u64(), desc.addr.to_u64())).copied()
            };
        }
    }

    /// What a command changes.
    fn apply(&mut self, command: &TableRequest) {
        let place = (command.pid.to_u64(), command.addr.to_u64());
        let (number, mode) = (command.mailbox.to_u64(), command.mode.to_u64());
        match command.op.to_u64() {
            INSERT => {
                let mailbox = Mailbox {
                    number,
                    generation: command.generation.to_u64(),
                    key: command.key.to_u64() as u32,
                    mode,
                    window: command.window.to_u64(),
                };
                self.mailboxes.insert(place, mailbox);
                if mode & u64::from(CATCH_ALL) != 0 {
                    self.catch_alls.insert(place.0, number);
                }
            }
            CLOSING => {
                let mailbox = self.mailboxes.get_mut(&place).unwrap();
                mailbox.mode = mode;
                mailbox.generation = command.generation.to_u64();
                if self.catch_alls.get(&place.0) == Some(&number) {
                    self.catch_alls.remove(&place.0);
                    self.counts.closed_catch_alls += 1;
                }
            }
            REMOVE => {
                self.mailboxes.remove(&place);
            }
            _ => {}
        }
    }

    /// The table's answer: to a command, or for a packet, which is offered two cycles later.
    fn check_result(&mut self, cycle: u64) {
        let due = self.requests.front().is_some_and(|request| request.since + TABLE as u64 == cycle);
        let request = if due { self.requests.pop_front() } else { None };
        let command = request.filter(|request| request.packet.is_none());
        assert_eq!(self.dut.command_result.valid.is_high(), command.is_some(), "cycle {cycle}");
        let Some(request) = request else { return };
        if let Some((desc, phase)) = request.packet {
            let looked_up = self.look_up(&desc, phase, request.found);
            self.results.push_back((request.since + LATENCY as u64, looked_up));
        } else {
            if request.command.op.to_u64() == NUMBER {
                let hit = self.dut.command_result.payload.get().hit;
                assert_eq!(hit, request.found.is_some(), "cycle {cycle}: {:x?}", request.command);
                self.counts.numbers[usize::from(hit)] += 1;
            }
            self.answered(cycle);
        }
    }

    /// A packet with its mailbox, or the reason of its refusal; of fields that nothing reads then, zero.
    fn look_up(&mut self, desc: &PlacementDesc, fence_phase: bool, found: Option<Mailbox>) -> LookedUpPacket {
        let counts = &mut self.counts;
        let has_flag = |flag: u16| desc.flags.to_u64() & u64::from(flag) != 0;
        let mode = found.map_or(0, |mailbox| mailbox.mode);
        let has_mode = |bit: u32| mode & u64::from(bit) != 0;
        let code = desc.opcode.to_u64() as u8;
        let (host, redirected) = (desc.host, desc.redirected);
        let get = code == opcode::GET && !redirected && !host;
        let managed = has_flag(flag::MANAGED);
        let (length, msg_len, msg_off) = (desc.payload_len.to_u64(), desc.msg_len.to_u64(), desc.msg_off.to_u64());
        let buf_off = if managed { 0 } else { desc.buf_off.to_u64() };
        let whole = get || desc.has_slot || msg_len == length;
        let mut packet = Packet {
            frame: desc.frame,
            pkt: desc.pkt,
            payload_offset: desc.payload_offset,
            payload_len: desc.payload_len,
            src_nid: desc.src_nid,
            src_pid: desc.src_pid,
            msg_id: desc.msg_id,
            msg_len: desc.msg_len,
            has_slot: desc.has_slot,
            msg_slot: desc.msg_slot,
            start: bits((buf_off + msg_off) % (1 << 32)),
            end: bits((buf_off + msg_len) % (1 << 32)),
            sequenced: !has_flag(flag::UNSEQ),
            managed,
            fence_phase,
            inconsistent: buf_off + msg_len >= 1 << 32 || msg_off + length > msg_len || !whole,
            single: redirected,
            tagged: has_flag(flag::EPOCH_VALID),
            epoch: desc.epoch,
            pending: desc.pending && desc.has_slot,
            get,
            active: has_flag(flag::ACTIVE),
            unsupported: match code {
                opcode::PUT | opcode::GET_RESP => false,
                opcode::GET => redirected,
                // Other operations are served neither in packets nor for a handler; frames have none.
                _ => !host && !redirected,
            },
            host,
            of_bytes: desc.of_bytes,
        };
        let catch_all = self.catch_alls.get(&desc.dst_pid.to_u64()).copied();
        let caught = catch_all.filter(|_| !packet.unsupported && !get && !redirected && !host);
        let Some(mailbox) = found else {
            if let Some(number) = caught {
                counts.caught += 1;
                let whole = length + SPINDLE_BYTES as u64;
                packet.payload_offset = bits(desc.payload_offset.to_u64() - SPINDLE_BYTES as u64);
                packet.payload_len = bits(whole % (1 << 16));
                packet.msg_len = bits(whole % (1 << 16));
                (packet.start, packet.end) = (bits(0), packet.msg_len);
                (packet.single, packet.inconsistent) = (true, false);
                return LookedUpPacket { packet, mailbox: bits(number), ..LookedUpPacket::default() };
            }
            let reason = if packet.unsupported { UNSUPPORTED } else { NO_MAILBOX };
            counts.no_mailbox += usize::from(!packet.unsupported);
            return LookedUpPacket { packet, refused: true, reason: bits(reason as u64), ..LookedUpPacket::default() };
        };
        if redirected && has_mode(MANAGED) {
            (packet.start, packet.end, packet.inconsistent) = (bits(0), packet.msg_len, false);
        }
        let closing = mode & MODE_CLOSING != 0;
        let same_kind = (redirected || managed == has_mode(MANAGED)) && packet.tagged == has_mode(TAGGED);
        let same_class = (get || same_kind) && host == has_mode(FRAMES);
        let key_fits = desc.key.to_u64() == u64::from(mailbox.key);
        let reason = if packet.unsupported || (!closing && !same_class) {
            counts.unsupported += 1;
            Some(UNSUPPORTED)
        } else if closing {
            counts.closed += 1;
            Some(CLOSED)
        } else if !(key_fits || redirected || host) {
            counts.bad_key += 1;
            Some(BAD_KEY)
        } else {
            counts.good += 1;
            counts.inconsistent += usize::from(packet.inconsistent);
            counts.redirected += usize::from(redirected);
            counts.frames += usize::from(host);
            counts.gets += usize::from(get);
            None
        };
        let spills = caught.is_some() && has_mode(SPILL);
        counts.spills += usize::from(spills && reason.is_none());
        counts.silent += usize::from(has_mode(NACK_OFF));
        counts.silent_unbound += usize::from(has_mode(DROP));
        LookedUpPacket {
            packet,
            refused: reason.is_some(),
            reason: bits(reason.unwrap_or_default() as u64),
            mailbox: bits(mailbox.number),
            tagged: has_mode(TAGGED) && !has_mode(MANAGED),
            window: bits(mailbox.window),
            silent: has_mode(NACK_OFF),
            silent_unbound: has_mode(DROP),
            spills,
            catch_all: bits(caught.unwrap_or_default()),
        }
    }

    fn check_looked_up(&mut self, cycle: u64, takes: bool) -> bool {
        let next = self.results.front().filter(|result| result.0 <= cycle).map(|result| result.1);
        let found = self.dut.looked_up.offered().map(|found| {
            // What counts of a refused packet, and of one that does not go to the catch-all mailbox.
            let expected = next.unwrap_or_default();
            LookedUpPacket {
                reason: if found.refused { found.reason } else { bits(0) },
                mailbox: if found.refused { expected.mailbox } else { found.mailbox },
                tagged: if found.refused { expected.tagged } else { found.tagged },
                window: if found.refused || !found.tagged { expected.window } else { found.window },
                // A GET needs no buffer.
                spills: if found.refused || found.packet.get { expected.spills } else { found.spills },
                catch_all: if found.refused || found.packet.get || !found.spills {
                    expected.catch_all
                } else {
                    found.catch_all
                },
                packet: Packet {
                    // A packet that is redirected nowhere has no place.
                    start: if found.refused && found.packet.single {
                        expected.packet.start
                    } else {
                        found.packet.start
                    },
                    end: if found.refused && found.packet.single { expected.packet.end } else { found.packet.end },
                    inconsistent: if found.refused && found.packet.single {
                        expected.packet.inconsistent
                    } else {
                        found.packet.inconsistent
                    },
                    ..found.packet
                },
                ..found
            }
        });
        assert_eq!(found, next, "cycle {cycle}");
        let taken = next.is_some() && takes;
        if taken {
            self.results.pop_front();
        }
        taken
    }
}

fn by_number(mailboxes: &BTreeMap<Place, Mailbox>, pid: u64, number: u64, generation: u64) -> Option<Mailbox> {
    let named = |(place, mailbox): &(&Place, &Mailbox)| {
        place.0 == pid && mailbox.number == number && mailbox.generation == generation
    };
    mailboxes.iter().find(named).map(|(_, mailbox)| *mailbox)
}

#[test]
fn random_packets_are_the_models() {
    run_with_wave_on_failure("lookup_alone_random", |wave| {
        let mut bench = Bench::new(wave);
        let begin = bench.dut.cycle();
        // A reset empties the table.
        while !{
            bench.dut.looked_up.ready.set(true);
            bench.dut.eval();
            bench.dut.placement.ready.is_high()
        } {
            bench.dut.tick();
        }
        let emptied = bench.dut.cycle() - begin;
        assert!((emptied as usize).abs_diff(MAILBOXES / 4) < 3, "{emptied} cycles");
        let cycles = share(120_000) as u64;
        for cycle in 0..cycles {
            // Phases of full speed, of few packets, of a slow binding.
            let (packets, ready) = match cycle / 300 % 4 {
                0 => (1.0, 1.0),
                1 => (0.6, 0.8),
                2 => (0.9, 0.2),
                _ => (0.1, 0.6),
            };
            bench.cycle(packets, ready);
        }
        // The table takes a request in almost every cycle.
        assert!(bench.stalls < cycles / 8, "{} of {cycles} cycles", bench.stalls);
        let counts = &bench.counts;
        let refused = [counts.unsupported, counts.no_mailbox, counts.closed, counts.bad_key, counts.caught];
        let kinds = [counts.good, counts.redirected, counts.frames, counts.gets, counts.inconsistent];
        let others = [counts.spills, counts.silent, counts.silent_unbound, counts.full];
        let commands = [counts.closed_catch_alls, counts.numbers[0], counts.numbers[1]];
        assert!(refused.iter().chain(&kinds).chain(&others).all(|count| *count > 30), "{counts:?}");
        assert!(commands.iter().all(|count| *count > 5), "{counts:?}");
    });
}
