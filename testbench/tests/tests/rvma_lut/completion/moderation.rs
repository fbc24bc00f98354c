//! Interrupts of event rings.

use crate::rvma_lut::completion::event_rings::{base, credit, open, send};
use crate::rvma_lut::rvma_engine::bench::Bench;
use rand::Rng;
use spindle_contract::events::{BYTES, USER, WORD_SEQUENCE};
use spindle_contract::params::Config;
use spindle_contract::registers::doorbell;
use spindle_harness::run_with_wave_on_failure;
use spindle_model::rvma_lut::host_access::{Event, Interrupt};
use spindle_sim::host_memory::Timing;

/// Longest time from an answer, or a pointer written, to the interrupt: two rounds over all processes.
const SEEN: u64 = 2 * 64 + 8;

fn settings(bench: &mut Bench, pid: u16, events: u32, time: u32, enable: bool) {
    let word = doorbell::Irq::ZERO.with_events(events).with_time(time).with_enable(enable);
    bench.stage(pid, doorbell::IRQ, word.0);
}

fn arm(bench: &mut Bench, pid: u16, head: u32) {
    bench.stage(pid, doorbell::EVENT_HEAD, doorbell::EventHead::ZERO.with_event_head(head & 0xFFFF).with_arm(true).0);
}

fn event(bench: &mut Bench, pid: u16) {
    send(bench, 0, pid, &Event { kind: USER, ..Event::default() });
}

/// The number in the last word of record `number` of a ring.
fn sequence(bench: &Bench, pid: u16, number: u32) -> u8 {
    let at = base(pid) + u64::from(number - 1) * BYTES as u64 + 4 * WORD_SEQUENCE as u64;
    bench.host.memory.bytes(at, 1)[0]
}

#[test]
fn one_interrupt_for_each_arming() {
    run_with_wave_on_failure("rvma_moderation", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (20, 20));
        open(&mut bench, 2, 64).unwrap();
        open(&mut bench, 5, 64).unwrap();
        let expect = |bench: &mut Bench, fired: &[u16]| {
            bench.drain();
            bench.steps(SEEN);
            let got: Vec<u16> = bench.fired.drain(..).map(|(pid, _)| pid).collect();
            assert_eq!(got, fired);
        };
        // Neither enabled nor armed: nothing.
        event(&mut bench, 2);
        event(&mut bench, 5);
        expect(&mut bench, &[]);
        settings(&mut bench, 2, 3, 0, true);
        expect(&mut bench, &[]);
        // Unread records: at once, and once.
        arm(&mut bench, 2, 0);
        expect(&mut bench, &[2]);
        event(&mut bench, 2);
        expect(&mut bench, &[]);
        // The third unread record.
        arm(&mut bench, 2, 2);
        event(&mut bench, 2);
        event(&mut bench, 2);
        expect(&mut bench, &[]);
        event(&mut bench, 2);
        expect(&mut bench, &[2]);
        // Records that were read meanwhile do not count.
        arm(&mut bench, 2, 5);
        event(&mut bench, 2);
        event(&mut bench, 2);
        expect(&mut bench, &[]);
        credit(&mut bench, 2, 7);
        event(&mut bench, 2);
        event(&mut bench, 2);
        expect(&mut bench, &[]);
        event(&mut bench, 2);
        expect(&mut bench, &[2]);
        // A process that is armed fires when it is enabled.
        arm(&mut bench, 5, 0);
        expect(&mut bench, &[]);
        settings(&mut bench, 5, 0, 0, true);
        expect(&mut bench, &[5]);
        // A ring that is opened again begins with no record.
        open(&mut bench, 2, 64).unwrap();
        expect(&mut bench, &[]);
        arm(&mut bench, 2, 0);
        expect(&mut bench, &[]);
        for _ in 0..3 {
            event(&mut bench, 2);
        }
        expect(&mut bench, &[2]);
    });
}

#[test]
fn cycles_to_an_interrupt() {
    run_with_wave_on_failure("rvma_moderation_cycles", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (10, 10));
        bench.host.keep_log = true;
        open(&mut bench, 2, 1024).unwrap();
        settings(&mut bench, 2, 1, 0, true);
        for head in 0..20 {
            arm(&mut bench, 2, head);
            event(&mut bench, 2);
            bench.drain();
            let answered = bench.host.log.last().expect("a record").response_cycle;
            let (_, fired) = bench.fired.pop().expect("an interrupt");
            assert_eq!(fired - answered, 4, "answer to interrupt");
            assert!(bench.fired.is_empty());
        }
        // The time begins with the first unread record.
        const UNITS: u32 = 10;
        settings(&mut bench, 2, 255, UNITS, true);
        for head in 20..30 {
            let pause = bench.rng.random_range(1..64);
            bench.steps(pause);
            arm(&mut bench, 2, head);
            event(&mut bench, 2);
            bench.drain();
            let answered = bench.host.log.last().expect("a record").response_cycle;
            bench.run_until("the interrupt", |b| !b.fired.is_empty());
            let (_, fired) = bench.fired.pop().expect("an interrupt");
            let time = 64 * u64::from(UNITS);
            let waited = fired - answered;
            assert!((time - 64..=time + SEEN).contains(&waited), "{waited} cycles instead of {time}");
        }
    });
}

/// Random settings, records, readers and arming against the model; each step is over before the next.
#[test]
fn interrupts_are_the_models() {
    run_with_wave_on_failure("rvma_moderation_model", |context| {
        const PROCESSES: [u16; 4] = [0, 3, 9, 15];
        let mut bench = Bench::new(context, &Config::SIM, (1, 30));
        let mut models = [Interrupt::default(); 4];
        let mut written = [0u32; 4];
        for pid in PROCESSES {
            open(&mut bench, pid, 1 << 15).unwrap();
        }
        let mut total = 0;
        for step in 0..500 {
            let i = bench.rng.random_range(0..4);
            let pid = PROCESSES[i];
            let fires = match bench.rng.random_range(0..10) {
                0 => {
                    models[i].enable = bench.rng.random_range(0..4) > 0;
                    models[i].events = bench.rng.random_range(0..6);
                    settings(&mut bench, pid, models[i].events, 0, models[i].enable);
                    models[i].look(written[i])
                }
                1..=5 => {
                    written[i] += 1;
                    event(&mut bench, pid);
                    models[i].look(written[i])
                }
                _ => {
                    let head = bench.rng.random_range(models[i].head..=written[i]);
                    let arms = bench.rng.random_range(0..3) > 0;
                    if arms {
                        arm(&mut bench, pid, head);
                    } else {
                        credit(&mut bench, pid, head);
                    }
                    models[i].write_head(head, arms, written[i])
                }
            };
            bench.drain();
            bench.steps(SEEN);
            let got: Vec<u16> = bench.fired.drain(..).map(|(pid, _)| pid).collect();
            assert_eq!(got, if fires { vec![pid] } else { vec![] }, "step {step}");
            total += usize::from(fires);
        }
        assert!(total > 40, "only {total} interrupts");
    });
}

/// Records in quick succession, a slow host, and a reader that sleeps until its interrupt: none is missed, and the record that an
/// interrupt is for is in memory before it.
#[test]
fn a_sleeping_reader_gets_every_record() {
    run_with_wave_on_failure("rvma_moderation_sleep", |context| {
        let mut bench = Bench::new(context, &Config::SIM, (1, 1));
        bench.host.timing = Timing { aw_stall: 50, w_stall: 50, response_min: 1, response_max: 300, read_stall: 0 };
        bench.agents.idle = 60;
        const RECORDS: u32 = 250;
        open(&mut bench, 7, 256).unwrap();
        settings(&mut bench, 7, 4, 3, true);
        for _ in 0..RECORDS {
            event(&mut bench, 7);
        }
        let mut read = 0;
        let mut interrupts = 0;
        while read < RECORDS {
            arm(&mut bench, 7, read);
            bench.run_until("an interrupt", |b| !b.fired.is_empty());
            assert_eq!(bench.fired.len(), 1);
            bench.fired.clear();
            interrupts += 1;
            let before = read;
            while read < RECORDS && sequence(&bench, 7, read + 1) == (read + 1) as u8 {
                read += 1;
            }
            assert!(read > before, "the interrupt came before its record");
        }
        assert!(interrupts < RECORDS / 2, "{interrupts} interrupts for {RECORDS} records: they are not moderated");
    });
}
