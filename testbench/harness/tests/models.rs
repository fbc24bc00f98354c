//! The harness on small hand-written designs.

#[macro_use(assert_eq)]
extern crate spindle_testing;

use rand::Rng;
use spindle_harness::stream::{Frame, Pace};
use spindle_harness::{
    run_with_wave_on_failure, seeded_rng, Model, PortDirection, Source, StreamMonitor, StreamSink, StreamSource,
};
use std::panic::{catch_unwind, AssertUnwindSafe};

const COUNTER: &str = "
module counter(input logic clock, input logic reset, input logic enable, output logic [11:0] count,
               output logic [11:0] next);
  assign next = count + {11'd0, enable};
  always_ff @(posedge clock) if (reset) count <= 12'd0; else count <= next;
endmodule
";

const WIDE: &str = "
module wide_pipe(input logic clock, input logic [511:0] a, input logic [64:0] b, input logic [32:0] c,
                 output logic [511:0] a_q, output logic [64:0] b_q, output logic [32:0] c_q);
  always_ff @(posedge clock) begin a_q <= ~a; b_q <= b + 65'd1; c_q <= {c[0], c[32:1]}; end
endmodule
";

/// A register slice that breaks the stream law on request: `fault` 1 drops valid, 2 changes the payload,
/// 3 punches a hole into keep, 4 shortens a beat that is not the last.
const SLICE: &str = "
module slice(input logic clock, input logic reset, input logic [2:0] fault,
  input logic [511:0] s_data, input logic [63:0] s_keep, input logic s_last, input logic s_valid, input logic s_user,
  output logic s_ready,
  output logic [511:0] m_data, output logic [63:0] m_keep, output logic m_last, output logic m_valid,
  output logic m_user, input logic m_ready);
  logic full, last; logic [63:0] keep;
  assign s_ready = !full || m_ready;
  assign m_valid = full;
  assign m_last = last;
  assign m_keep = (fault == 3'd3) ? keep & ~64'd2 : (fault == 3'd4 && !last) ? 64'd1 : keep;
  always_ff @(posedge clock) begin
    if (s_ready) begin
      full <= s_valid; m_data <= s_data; keep <= s_keep; last <= s_last; m_user <= s_user;
    end else begin
      if (fault == 3'd1) full <= 1'b0;
      if (fault == 3'd2) m_data[511] <= !m_data[511];
    end
    if (reset) full <= 1'b0;
  end
endmodule
";

fn source(top: &str, text: &str) -> Source {
    Source::from_text(top, text)
}

fn panic_text(body: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(body)).expect_err("this must panic");
    payload.downcast_ref::<String>().cloned().or_else(|| payload.downcast_ref::<&str>().map(|s| s.to_string())).unwrap()
}

#[test]
fn counter_counts_and_the_sampling_convention_holds() {
    let library = Model::build(&source("counter", COUNTER)).unwrap();
    let mut model = library.instance();
    let (enable, count, next) =
        (model.port("enable").unwrap(), model.port("count").unwrap(), model.port("next").unwrap());
    model.reset(2);
    assert_eq!((model.get(count), model.cycle()), (0, 2));
    for cycle in 0..5000 {
        model.set(enable, 1);
        model.eval();
        assert_eq!((model.get(count), model.get(next)), (cycle & 0xfff, (cycle + 1) & 0xfff));
        model.tick();
    }
    model.set(enable, 0);
    model.tick();
    assert_eq!(model.get(count), 5000 & 0xfff);
    model.set(enable, 1);
    model.ticks(100); // inputs take effect at the edge without an eval in between
    assert_eq!((model.get(count), model.cycle()), ((5100) & 0xfff, 5103));
}

#[test]
fn wide_ports_carry_every_bit() {
    let mut model = Model::build(&source("wide_pipe", WIDE)).unwrap().instance();
    let port = |name: &str| model.port(name).unwrap();
    let (a, b, c, a_q, b_q, c_q) = (port("a"), port("b"), port("c"), port("a_q"), port("b_q"), port("c_q"));
    let mut rng = seeded_rng("wide_ports");
    for _ in 0..200 {
        let bytes: [u8; 64] = rng.random();
        model.set_bytes(a, &bytes);
        model.set_words(b, &[u32::MAX, u32::MAX, 0]);
        let value = rng.random::<u64>() >> 31;
        model.set(c, value);
        model.tick();
        let expected: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        assert_eq!(model.get_bytes(a_q), expected);
        assert_eq!(model.get_words(a_q)[15], u32::from_le_bytes(expected[60..].try_into().unwrap()));
        assert_eq!(model.get_words(b_q), [0, 0, 1]);
        assert_eq!(model.get(c_q), value >> 1 | (value & 1) << 32);
    }
    model.set_bytes(a, &[0xff]); // missing bytes are zero
    model.tick();
    assert_eq!(model.get_bytes(a_q)[..2], [0, 0xff]);
}

#[test]
fn misuse_is_refused_with_a_sentence() {
    let library = Model::build(&source("wide_pipe", WIDE)).unwrap();
    let mut model = library.instance();
    let (a, b, c, c_q) =
        (model.port("a").unwrap(), model.port("b").unwrap(), model.port("c").unwrap(), model.port("c_q").unwrap());
    assert!(panic_text(|| model.set(c, 1 << 33)).contains("`c` of `wide_pipe` is 33 bits wide"));
    assert!(panic_text(|| model.set(c_q, 0)).contains("is an output"));
    assert!(panic_text(|| model.set(a, 0)).contains("use set_bytes"));
    assert!(panic_text(|| _ = model.get(a)).contains("use get_bytes"));
    assert!(panic_text(|| model.set_bytes(b, &[0, 0, 0, 0, 0, 0, 0, 0, 2])).contains("does not fit"));
    assert!(panic_text(|| model.set_words(b, &[0, 0, 2])).contains("does not fit"));
    assert!(panic_text(|| model.reset(1)).contains("no port `reset`"));
    let error = model.port("d").unwrap_err().to_string();
    assert!(error.contains("no port `d`") && error.contains("a_q"), "{error}");
    let other = Model::build(&source("counter", COUNTER)).unwrap().instance();
    let stranger = other.port("enable").unwrap();
    assert!(panic_text(|| model.set(stranger, 0)).contains("another model"));
    assert_eq!(library.ports().iter().filter(|p| p.direction == PortDirection::Output).count(), 3);
}

#[test]
fn instances_are_independent_and_start_reproducibly() {
    let library = Model::build(&source("counter", COUNTER)).unwrap();
    let (mut first, mut second) = (library.instance(), library.instance());
    let (enable, count) = (first.port("enable").unwrap(), first.port("count").unwrap());
    // Same seed, same start; the seeds reach different starts; zeroed starts at zero.
    assert_eq!(first.get(count), second.get(count));
    let starts: std::collections::BTreeSet<u64> =
        (0..8).map(|seed| library.instance_with_seed(seed).get(count)).collect();
    assert!(starts.len() > 2, "{starts:?}");
    assert_eq!(library.instance_zeroed().get(count), 0);
    first.reset(1);
    second.reset(1);
    first.set(enable, 1);
    first.ticks(7);
    second.ticks(3);
    assert_eq!((first.get(count), second.get(count)), (7, 0));
    let moved = std::thread::spawn(move || first.get(count)).join().unwrap();
    assert_eq!(moved, 7);
}

/// A model that says its name has a scope, which its destructor takes out of its context: its own one, in whatever thread, also after
/// the context that was made last has gone.
#[test]
fn a_model_ends_in_another_thread_than_its_own() {
    let text = COUNTER.replace("endmodule", "always_ff @(posedge clock) if (&count) $display(\"%m\");\nendmodule");
    let library = Model::build(&source("counter", &text)).unwrap();
    for _ in 0..20 {
        let (first, last) = (library.instance(), library.instance());
        drop(last);
        // What the last one has left is overwritten.
        let filled: Vec<Vec<u8>> = (0..2000).map(|i| vec![0xFF; 16 + 8 * (i % 500)]).collect();
        std::thread::spawn(move || drop(first)).join().unwrap();
        drop(filled);
    }
}

#[test]
fn the_cache_is_hit_and_is_by_content() {
    let path = |text: &str| Model::build(&source("counter", text)).unwrap().path().to_path_buf();
    let first = path(COUNTER);
    let stamp = std::fs::metadata(&first).unwrap().modified().unwrap();
    assert_eq!(path(COUNTER), first);
    assert_eq!(std::fs::metadata(&first).unwrap().modified().unwrap(), stamp);
    let changed = COUNTER.replace("12'd0", "12'd9");
    let library = Model::build(&source("counter", &changed)).unwrap();
    assert_ne!(library.path(), first);
    let mut model = library.instance();
    model.reset(1);
    assert_eq!(model.get(model.port("count").unwrap()), 9);
}

#[test]
fn bad_verilog_is_refused_in_the_tools_words() {
    let error = format!("{:#}", Model::build(&source("bad", "module bad; assign x = ; endmodule")).err().unwrap());
    assert!(error.contains("refuses `bad`") && error.contains("syntax error"), "{error}");
    let error = format!("{:#}", Model::build(&source("missing", "module other; endmodule")).err().unwrap());
    assert!(error.contains("missing"), "{error}");
}

#[test]
fn a_model_that_gives_up_is_a_panic_with_its_words() {
    let text = "module fatal(input logic clock, input logic boom);
      always_ff @(posedge clock) if (boom) $fatal(1, \"went boom\"); endmodule";
    let mut model = Model::build(&source("fatal", text)).unwrap().instance();
    let boom = model.port("boom").unwrap();
    model.ticks(3);
    model.set(boom, 1);
    let words = panic_text(|| model.tick());
    assert!(words.contains("`fatal` gave up in cycle 3") && words.contains("fatal.sv:2"), "{words}");
    let text = "module loops(input logic a, output logic q); logic w; assign w = !w && a; assign q = w; endmodule";
    let mut model = Model::build(&source("loops", text)).unwrap().instance();
    let a = model.port("a").unwrap();
    model.set(a, 1);
    let words = panic_text(|| model.eval());
    assert!(words.contains("converge"), "{words}");
}

#[test]
fn a_wave_holds_the_ports_cycle_by_cycle() {
    let library = Model::build(&source("counter", COUNTER).with_trace(true)).unwrap();
    let mut model = library.instance();
    let enable = model.port("enable").unwrap();
    let path = std::env::temp_dir().join(format!("spindle-wave-{}.vcd", std::process::id()));
    model.reset(1); // cycle 0 is not recorded
    model.trace_open(&path).unwrap();
    model.set(enable, 1);
    model.ticks(5);
    model.trace_close().unwrap();
    model.ticks(5);
    let mut parser = vcd::Parser::new(std::io::BufReader::new(std::fs::File::open(&path).unwrap()));
    let header = parser.parse_header().unwrap();
    let count = header.find_var(&["counter", "count"]).unwrap().code;
    let (mut time, mut changes) = (0, Vec::new());
    for command in parser {
        match command.unwrap() {
            vcd::Command::Timestamp(t) => time = t,
            vcd::Command::ChangeVector(code, value) if code == count => {
                let bit = |v: vcd::Value| u64::from(v == vcd::Value::V1);
                changes.push((time, value.iter().fold(0, |n, v| n << 1 | bit(v))));
            }
            _ => {}
        }
    }
    // 250 MHz in picoseconds: cycle 1 begins at 4 ns, its edge is at 6 ns.
    assert_eq!(changes, [(4000, 0), (6000, 1), (10_000, 2), (14_000, 3), (18_000, 4), (22_000, 5)]);
    std::fs::remove_file(&path).unwrap();

    let mut untraced = Model::build(&source("counter", COUNTER)).unwrap().instance();
    let error = format!("{:#}", untraced.trace_open(&path).unwrap_err());
    assert!(error.contains("trace: true") && !path.exists(), "{error}");
    assert!(model.trace_open("/no/such/folder/x.vcd").unwrap_err().to_string().contains("cannot be written"));
}

#[test]
fn a_failing_test_leaves_a_wave() {
    if std::env::var_os("SPINDLE_VCD").is_some() {
        return spindle_harness::skip("SPINDLE_VCD is set: the first run records, and there is no second");
    }
    let runs = std::cell::RefCell::new(Vec::new());
    let wave = || spindle_wave("harness_failing");
    let _ = std::fs::remove_file(wave());
    let words = panic_text(|| {
        run_with_wave_on_failure("harness_failing", |context| {
            runs.borrow_mut().push((context.recording(), context.seed()));
            let mut model = context.model(&source("counter", COUNTER)).unwrap();
            model.reset(1);
            model.ticks(3);
            panic!("the test's own words");
        })
    });
    let runs = runs.into_inner();
    assert_eq!(words, "the test's own words");
    assert_eq!(runs, [(false, runs[0].1), (true, runs[0].1)]);
    assert!(std::fs::read_to_string(wave()).unwrap().contains("#14000\n"));
}

#[test]
fn the_wave_of_a_long_test_holds_its_end() {
    if std::env::var_os("SPINDLE_VCD").is_some() {
        return spindle_harness::skip("SPINDLE_VCD is set: the first run records, and there is no second");
    }
    let wave = spindle_wave("harness_long");
    let _ = std::fs::remove_file(&wave);
    panic_text(|| {
        run_with_wave_on_failure("harness_long", |context| {
            let mut model = context.model(&source("counter", COUNTER)).unwrap();
            model.reset(1);
            (0..99_999).for_each(|_| model.tick());
            panic!("at last");
        })
    });
    let times: Vec<u64> = std::fs::read_to_string(wave)
        .unwrap()
        .lines()
        .filter_map(|line| line.strip_prefix('#')?.parse().ok())
        .collect();
    let (first, last) = (times[0] / 4000, times.last().unwrap() / 4000);
    assert!(first == 80_000 && last >= 99_999, "recorded {first} to {last}");
}

/// Where the harness puts the wave of test `name`: in the target folder, whatever cache there is.
fn spindle_wave(name: &str) -> std::path::PathBuf {
    let folder = spindle_harness::wave_folder();
    assert!(folder.parent().unwrap().join("CACHEDIR.TAG").exists(), "{} is in no target folder", folder.display());
    folder.join(format!("{name}.vcd"))
}

/// Sends random frames through the slice and returns what came out, with the source side watched too.
fn through_slice(fault: u64, seed: u64, frames: &[Frame]) -> (Vec<Frame>, u64, u64) {
    let mut model = Model::build(&source("slice", SLICE)).unwrap().instance_with_seed(seed);
    let fault_port = model.port("fault").unwrap();
    model.set(fault_port, fault);
    model.reset(1);
    let mut sender = StreamSource::new(&model, "s").unwrap().with_pace(Pace::runs(seed, 4));
    let mut receiver = StreamSink::new(&model, "m").unwrap().with_pace(Pace::percent(seed + 1, 40));
    let mut input = StreamMonitor::new(&model, "s").unwrap();
    frames.iter().for_each(|frame| sender.send(frame.clone()));
    let mut got = Vec::new();
    for _ in 0..20_000 {
        sender.drive(&mut model);
        receiver.drive(&mut model);
        model.eval();
        sender.sample(&model);
        input.sample(&model);
        receiver.sample(&model);
        model.tick();
        got.extend(receiver.receive());
        if got.len() == frames.len() {
            break;
        }
    }
    assert!(receiver.is_empty() && sender.pending() == 0);
    (got, input.stalls(), receiver.monitor().stalls())
}

fn random_frames() -> Vec<Frame> {
    let mut rng = seeded_rng("slice");
    let mut frame = |length| Frame { bytes: (0..length).map(|_| rng.random()).collect(), bad: length % 5 == 0 };
    (1..=200).map(&mut frame).collect()
}

#[test]
fn frames_pass_a_register_slice_unchanged() {
    let frames = random_frames();
    let (got, input_stalls, output_stalls) = through_slice(0, 7, &frames);
    assert_eq!(got, frames);
    assert!(input_stalls > 50 && output_stalls > 50, "{input_stalls} {output_stalls}");
}

#[test]
fn each_breach_of_the_stream_law_is_found() {
    let frames = random_frames();
    let words = |fault| panic_text(|| _ = through_slice(fault, 7, &frames));
    assert!(words(1).contains("stream `m`") && words(1).contains("valid fell"));
    assert!(words(2).contains("payload changed"));
    assert!(words(3).contains("keep has a hole"));
    assert!(words(4).contains("not full"));
}
