//! The BAR bridge: bursts of the host on one side, a register slave with random answer times on the other.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::CsrResponse;
use spindle_boards::hdl::bar::BarBridge;
use spindle_contract::registers::{global, shell};
use spindle_harness::{run_with_wave_on_failure, Dut, WaveContext};
use spindle_verilog::prelude::bits;
use std::collections::HashMap;

const SLVERR: u8 = 2;
const DECERR: u8 = 3;
/// Addresses of the NIC that are answered with DECERR.
const UNKNOWN: std::ops::Range<u64> = 0x4000..0x5000;
const PATIENCE: u64 = 60;

/// An access as a block sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    shell: bool,
    address: u64,
    /// Data and strobes of a write.
    write: Option<(u32, u8)>,
}

/// A burst of the host.
#[derive(Clone, Debug)]
struct Burst {
    id: u64,
    address: u64,
    size: u32,
    /// Beats of a write: data and strobes; a read has as many without.
    beats: Vec<(Vec<u8>, u64)>,
    write: bool,
}

/// What the host gets: id, response and data of each beat; a write has one without data.
type Answer = Vec<(u64, u8, Vec<u8>)>;

/// The registers on the other side of the bridge, as one map; what an access does.
#[derive(Default)]
struct Registers(HashMap<u64, u32>);

impl Registers {
    fn serve(&mut self, access: &Access) -> (u32, u8) {
        if UNKNOWN.contains(&access.address) {
            return (0, DECERR);
        }
        match access.write {
            Some((data, 15)) => {
                self.0.insert(access.address, data);
                (0, 0)
            }
            Some(_) => (0, SLVERR),
            None => (self.0.get(&access.address).copied().unwrap_or(access.address as u32 ^ 0x5A5A_0000), 0),
        }
    }
}

fn to_shell(address: u64) -> bool {
    address >> 12 == u64::from(shell::BASE) >> 12 || address == u64::from(global::BASE + global::SHELL)
}

/// The naive model: the accesses of a burst, and its answer.
fn expected(burst: &Burst, bytes: usize, registers: &mut Registers) -> (Vec<Access>, Answer) {
    let mut accesses = vec![];
    let mut answer = vec![];
    let mut worst = 0;
    let mut address = burst.address;
    let span = 1u64 << burst.size;
    for (data, strobes) in &burst.beats {
        let line = address & !(bytes as u64 - 1);
        let end = (address & !(span - 1)) + span;
        let mut read = vec![0; bytes];
        let mut of_beat = 0;
        for lane in 0..bytes / 4 {
            let word = line + 4 * lane as u64;
            let strobe = (strobes >> (4 * lane)) as u8 & 15;
            let wanted = if burst.write { strobe != 0 } else { word + 4 > address && word < end };
            if !wanted {
                continue;
            }
            let at = word & 0xF_FFFF;
            let data = u32::from_le_bytes(data[4 * lane..4 * lane + 4].try_into().unwrap());
            let access = Access { shell: to_shell(at), address: at, write: burst.write.then_some((data, strobe)) };
            let (word, response) = if burst.address >> 20 != 0 {
                (0, DECERR)
            } else if access.shell && burst.write && strobe != 15 {
                (0, SLVERR)
            } else {
                accesses.push(access);
                registers.serve(&access)
            };
            of_beat |= response;
            let word = if response == 0 { word } else { u32::MAX };
            read[4 * lane..4 * lane + 4].copy_from_slice(&word.to_le_bytes());
        }
        worst |= of_beat;
        if !burst.write {
            answer.push((burst.id, of_beat, read));
        }
        address = end;
    }
    if burst.write {
        answer.push((burst.id, worst, vec![]));
    }
    (accesses, answer)
}

fn random(rng: &mut ChaCha8Rng, bytes: usize) -> Burst {
    let write = rng.random();
    // Mostly the 32-bit beats that an XDMA makes, also whole lines and bursts of them.
    let size = *[2, 2, 2, bytes.ilog2(), 0, 3].get(rng.random_range(0..6)).unwrap();
    let page = [0u64, 0x1000, 0x4000, 0xF000, 0x1_0000, 0xF_F000][rng.random_range(0..6)];
    let mut address = page + rng.random_range(0..0x140);
    if rng.random_range(0..20) == 0 {
        address = u64::from(global::SHELL);
    }
    if rng.random_range(0..20) == 0 {
        address += 1 << rng.random_range(20..64);
    }
    if size != bytes.ilog2() || rng.random() {
        address &= !((1 << size) - 1);
    }
    let count = if rng.random_range(0..3) == 0 { rng.random_range(1..5) } else { 1 };
    let mut at = address;
    let beats = (0..count)
        .map(|_| {
            let span = 1u64 << size;
            let (first, end) = (at & (bytes as u64 - 1), ((at & !(span - 1)) + span - 1) & (bytes as u64 - 1));
            let mut strobes = (first..=end).fold(0u64, |mask, byte| mask | 1 << byte);
            if rng.random_range(0..6) == 0 {
                strobes &= rng.random::<u64>();
            }
            at = (at & !(span - 1)) + span;
            ((0..bytes).map(|_| rng.random()).collect(), if write { strobes } else { 0 })
        })
        .collect();
    Burst { id: rng.random_range(0..16), address, size, beats, write }
}

/// The NIC and the shell's page.
struct Slave {
    registers: Registers,
    seen: Vec<Access>,
    /// Address and data of the write that has come, and the answer that waits: cycles left, data, response.
    address: Option<u64>,
    data: Option<(u32, u8)>,
    due: Option<(u64, bool, u32, u8)>,
    shell_due: Option<u64>,
    slowest: u64,
    /// Takes no address and gives no answer.
    deaf: bool,
    mute: bool,
    /// What was offered and not taken: it must stand.
    held: [Option<(u64, u64)>; 3],
}

impl Slave {
    fn new(slowest: u64) -> Self {
        Self {
            registers: Registers::default(),
            seen: vec![],
            address: None,
            data: None,
            due: None,
            shell_due: None,
            slowest,
            deaf: false,
            mute: false,
            held: [None; 3],
        }
    }

    /// Inputs of the bridge in this cycle.
    fn drive<const W: usize, const S: usize, const L: usize, const A: usize>(
        &mut self,
        dut: &Dut<BarBridge<W, S, L, A>>,
        rng: &mut ChaCha8Rng,
    ) {
        let ready = |rng: &mut ChaCha8Rng, deaf: bool, slowest: u64| !deaf && (slowest == 0 || rng.random_bool(0.6));
        dut.nic.awready.set(ready(rng, self.deaf, self.slowest) && self.address.is_none() && self.due.is_none());
        dut.nic.wready.set(ready(rng, self.deaf, self.slowest) && self.data.is_none() && self.due.is_none());
        dut.nic.arready.set(ready(rng, self.deaf, self.slowest) && self.due.is_none());
        let now = self.due.filter(|due| due.0 == 0 && !self.mute);
        dut.nic.bvalid.set(now.is_some_and(|due| due.1));
        dut.nic.rvalid.set(now.is_some_and(|due| !due.1));
        let (data, response) = now.map_or((0xDEAD, 1), |due| (due.2, due.3));
        dut.nic.rdata.set(data);
        dut.nic.bresp.set(response & 3);
        dut.nic.rresp.set(response & 3);
        dut.csr_answer.set(CsrResponse::default());
        dut.eval();
        let request = dut.csr.get();
        if request.valid {
            let left = *self.shell_due.get_or_insert_with(|| rng.random_range(0..=self.slowest));
            self.shell_due = Some(left.saturating_sub(1));
            if left == 0 {
                let write = request.write.then(|| (request.wdata.to_u32(), 15));
                let access = Access { shell: true, address: request.addr.to_u64(), write };
                self.seen.push(access);
                let (read, response) = self.registers.serve(&access);
                let rdata = bits(u64::from(read));
                dut.csr_answer.set(CsrResponse { ack: true, error: response != 0, rdata });
                self.shell_due = None;
            }
        }
    }

    /// What has moved.
    fn sample<const W: usize, const S: usize, const L: usize, const A: usize>(
        &mut self,
        dut: &Dut<BarBridge<W, S, L, A>>,
        rng: &mut ChaCha8Rng,
    ) {
        let nic = &dut.nic;
        let strobed = nic.wdata.number() << 4 | nic.wstrb.number();
        let offers = [
            (nic.awvalid.is_high(), nic.awready.number() == 1, nic.awaddr.number(), 0),
            (nic.wvalid.is_high(), nic.wready.number() == 1, strobed, 1),
            (nic.arvalid.is_high(), nic.arready.number() == 1, nic.araddr.number(), 2),
        ];
        if self.due.is_some_and(|due| due.0 == 0) && !self.mute {
            self.due = None;
        }
        for (valid, ready, payload, channel) in offers {
            if let Some(held) = self.held[channel] {
                assert_eq!((valid, payload), (true, held.0), "channel {channel}: an offer was withdrawn or changed");
            }
            self.held[channel] = (valid && !ready).then_some((payload, 0));
        }
        if offers[0].0 && offers[0].1 {
            self.address = Some(nic.awaddr.number());
        }
        if offers[1].0 && offers[1].1 {
            self.data = Some((nic.wdata.number() as u32, nic.wstrb.number() as u8));
        }
        let mut access = None;
        if offers[2].0 && offers[2].1 {
            access = Some(Access { shell: false, address: nic.araddr.number(), write: None });
        }
        if let (Some(address), Some(data)) = (self.address, self.data) {
            (self.address, self.data) = (None, None);
            access = Some(Access { shell: false, address, write: Some(data) });
        }
        if let Some(access) = access {
            self.seen.push(access);
            let (read, response) = self.registers.serve(&access);
            self.due = Some((rng.random_range(0..=self.slowest), access.write.is_some(), read, response));
        } else if let Some(due) = &mut self.due {
            due.0 = due.0.saturating_sub(1);
        }
    }
}

/// The host plays one burst; returns its answer, and the cycles from its last part taken to the answer offered.
fn play<const W: usize, const S: usize, const L: usize, const A: usize>(
    dut: &Dut<BarBridge<W, S, L, A>>,
    slave: &mut Slave,
    rng: &mut ChaCha8Rng,
    burst: &Burst,
    eager: bool,
    most: u64,
) -> (Answer, u64) {
    let pcie = &dut.pcie;
    let chance = |rng: &mut ChaCha8Rng| eager || rng.random_bool(0.5);
    let (mut address_sent, mut sent, mut answer) = (false, 0, vec![]);
    let (mut address_offered, mut data_offered) = (false, false);
    let mut since = 0;
    let mut held: Option<(u64, u64, Vec<u8>)> = None;
    for cycle in 0.. {
        assert!(cycle < most, "no answer to {burst:?} within {most} cycles");
        address_offered |= !address_sent && chance(rng);
        let data_may = burst.write && sent < burst.beats.len();
        data_offered |= data_may && chance(rng);
        let last = sent + 1 == burst.beats.len();
        pcie.awvalid.set(burst.write && address_offered && !address_sent);
        pcie.arvalid.set(!burst.write && address_offered && !address_sent);
        pcie.awaddr.set(burst.address);
        pcie.araddr.set(burst.address);
        pcie.awid.set(burst.id);
        pcie.arid.set(burst.id);
        pcie.awlen.set(burst.beats.len() - 1);
        pcie.arlen.set(burst.beats.len() - 1);
        pcie.awsize.set(burst.size);
        pcie.arsize.set(burst.size);
        pcie.awburst.set(1);
        pcie.arburst.set(1);
        pcie.wvalid.set(data_may && data_offered);
        if data_may {
            pcie.wdata.set(&burst.beats[sent].0);
            pcie.wstrb.set_bytes(&burst.beats[sent].1.to_le_bytes()[..S / 8]);
        }
        pcie.wlast.set(last);
        let takes = chance(rng);
        pcie.bready.set(takes);
        pcie.rready.set(takes);
        slave.drive(dut, rng);
        dut.eval();
        let (b, r) = (pcie.bvalid.is_high(), pcie.rvalid.is_high());
        let whole = address_sent && (!burst.write || sent == burst.beats.len());
        assert!(!(b || r) || whole, "an answer before the request");
        assert!(!if burst.write { r } else { b }, "the wrong answer");
        let offered = if b {
            Some((pcie.bid.number(), pcie.bresp.number(), vec![]))
        } else if r {
            assert_eq!(pcie.rlast.is_high(), answer.len() + 1 == burst.beats.len());
            Some((pcie.rid.number(), pcie.rresp.number(), pcie.rdata.bytes()))
        } else {
            None
        };
        assert!(held.is_none() || held == offered, "an answer was withdrawn or changed");
        held = offered.clone().filter(|_| !takes);
        if whole && offered.is_none() && answer.is_empty() {
            since += 1;
        }
        if let (Some((id, response, data)), true) = (offered, takes) {
            answer.push((id, response as u8, data));
        }
        let address_moves = if burst.write {
            address_offered && !address_sent && pcie.awready.is_high()
        } else {
            address_offered && !address_sent && pcie.arready.is_high()
        };
        if data_may && data_offered && pcie.wready.is_high() {
            sent += 1;
            data_offered = false;
        }
        address_sent |= address_moves;
        slave.sample(dut, rng);
        dut.tick();
        if answer.len() == if burst.write { 1 } else { burst.beats.len() } {
            pcie.bready.set(false);
            pcie.rready.set(false);
            break;
        }
    }
    (answer, since + 1)
}

/// Only bytes of the words that were asked for count.
fn masked(burst: &Burst, bytes: usize, answer: &Answer) -> Answer {
    let span = 1u64 << burst.size;
    let mut address = burst.address;
    let mut masked = answer.clone();
    for (_, _, data) in &mut masked {
        let end = (address & !(span - 1)) + span;
        let line = address & !(bytes as u64 - 1);
        for (i, byte) in data.iter_mut().enumerate() {
            let word = line + (i as u64 & !3);
            if word + 4 <= address || word >= end {
                *byte = 0;
            }
        }
        address = end;
    }
    masked
}

fn bridge<const W: usize, const S: usize, const L: usize, const A: usize>(
    wave: &WaveContext,
) -> Dut<BarBridge<W, S, L, A>> {
    let dut = Dut::new(wave, BarBridge::with_patience(PATIENCE), &format!("bar_bridge_{W}"));
    dut.reset();
    dut
}

fn random_bursts<const W: usize, const S: usize, const L: usize, const A: usize>(wave: &WaveContext) {
    let mut rng = wave.rng();
    let dut = bridge::<W, S, L, A>(wave);
    let bytes = W / 8;
    let mut model = Registers::default();
    let (mut words, mut shells, mut far) = (0, 0, 0);
    for slowest in [0, 3, 12] {
        let mut slave = Slave::new(slowest);
        std::mem::swap(&mut slave.registers.0, &mut model.0);
        model.0 = slave.registers.0.clone();
        for n in 0..700 {
            let burst = random(&mut rng, bytes);
            let (accesses, wanted) = expected(&burst, bytes, &mut model);
            slave.seen.clear();
            let eager = n % 3 == 0;
            let (answer, _) = play(&dut, &mut slave, &mut rng, &burst, eager, 4000);
            assert_eq!(slave.seen, accesses, "accesses of {burst:x?}");
            assert_eq!(masked(&burst, bytes, &answer), wanted, "answer to {burst:x?}");
            words += accesses.len();
            shells += accesses.iter().filter(|access| access.shell).count();
            far += usize::from(burst.address >> 20 != 0);
            assert!(!dut.silent.is_high());
        }
        model.0 = slave.registers.0;
    }
    assert!(words > 4000 && shells > 300 && far > 30, "{words} {shells} {far}");
}

#[test]
fn bursts_are_accesses_of_words() {
    run_with_wave_on_failure("bar_512", random_bursts::<512, 64, 16, 4>);
    run_with_wave_on_failure("bar_256", random_bursts::<256, 32, 8, 3>);
}

/// The figures of the module text, with a slave that answers in the cycle after the access.
#[test]
fn timing() {
    run_with_wave_on_failure("bar_timing", |wave| {
        let mut rng = wave.rng();
        let dut = bridge::<512, 64, 16, 4>(wave);
        let mut slave = Slave::new(0);
        // Address or data taken, two to the access, one to the slave's answer, two to the answer.
        for (write, cycles) in [(false, 2 + 1 + 2), (true, 2 + 1 + 2)] {
            let beats = vec![(vec![7; 64], if write { 0xF << 8 } else { 0 })];
            let one = Burst { id: 3, address: 0x1008, size: 2, beats, write };
            let (_, since) = play(&dut, &mut slave, &mut rng, &one, true, 100);
            assert_eq!(since, cycles, "write: {write}");
        }
        // Each further word of a beat: taken, answered, and two.
        let line = Burst { id: 3, address: 0x1000, size: 6, beats: vec![(vec![7; 64], 0)], write: false };
        let (_, since) = play(&dut, &mut slave, &mut rng, &line, true, 100);
        assert_eq!(since, 5 + 15 * 3);
    });
}

/// A NIC that takes nothing, or gives no answer: every burst is answered within its bound, the page of the shell works, and
/// what is still owed stands and is taken when it comes.
#[test]
fn a_silent_nic_holds_nothing_up() {
    run_with_wave_on_failure("bar_silent", |wave| {
        let mut rng = wave.rng();
        let dut = bridge::<512, 64, 16, 4>(wave);
        for round in 0..60 {
            let mut slave = Slave::new(2);
            let before = if round % 2 == 0 { &mut slave.deaf } else { &mut slave.mute };
            *before = true;
            let mut silences = 0;
            for n in 0..6 {
                let mut burst = random(&mut rng, 64);
                burst.address &= 0xF_FFFF;
                // Words that are refused anyway, or belong to the shell.
                let shell = (0..64 * burst.beats.len() as u64).any(|byte| to_shell((burst.address & !3) + (byte & !3)));
                if shell || burst.beats.iter().all(|beat| burst.write && beat.1 == 0) {
                    continue;
                }
                let bound = PATIENCE + 64 * 4 * burst.beats.len() as u64 + 40;
                let (answer, _) = play(&dut, &mut slave, &mut rng, &burst, false, bound);
                let worst = answer.iter().fold(0, |worst, beat| worst | beat.1);
                assert_eq!(worst, SLVERR, "burst {n}");
                silences += 1;
                let (beats, id) = (vec![(vec![0; 64], 0)], 5);
                let of_shell = Burst { id, address: u64::from(shell::BASE) + 4, size: 2, beats, write: false };
                let (answer, _) = play(&dut, &mut slave, &mut rng, &of_shell, false, 200);
                assert_eq!((answer[0].0, answer[0].1), (5, 0), "the page of the shell answers");
            }
            // The NIC wakes up; its late answer has no reader.
            (slave.deaf, slave.mute) = (false, false);
            for _ in 0..20 {
                slave.drive(&dut, &mut rng);
                slave.sample(&dut, &mut rng);
                dut.tick();
            }
            let beats = vec![(vec![0; 64], 0)];
            let one = Burst { id: 9, address: 0x2010, size: 2, beats, write: false };
            slave.seen.clear();
            let (answer, _) = play(&dut, &mut slave, &mut rng, &one, false, 200);
            assert_eq!((answer[0].0, answer[0].1), (9, 0), "round {round}, after {silences} silences");
            assert_eq!(slave.seen.len(), 1);
        }
    });
}
