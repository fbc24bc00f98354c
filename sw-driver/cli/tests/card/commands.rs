//! Commands that look at a card, and those that load it.

use crate::fake::Fake;
use crate::{example, on};
use ratatui::backend::TestBackend;
use ratatui::Terminal;
use serde_json::Value;
use spindle_cli::card::live::Live;
use spindle_cli::card::top::Screen;
use spindle_cli::card::{info, reset};
use spindle_contract::events;
use spindle_contract::reasons::{CONTEXT_DROP_COUNT, NO_RULE, QUOTA, T_FIRST_BEAT, T_HANDLER_START, T_PARSED};
use spindle_contract::registers::{global, hpu, packet, rvma, shell, trace};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn card_info(fake: &Fake, as_json: bool) -> String {
    let mut out = Vec::new();
    info::run(as_json, &mut Live::attach(fake.card()).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_context_goes_through_its_life() {
    let fake = Fake::new();
    let loaded = on(&fake, &["load", &example("ping_pong"), "--match", "udp.dport == 9", "--process", "3"]).unwrap();
    assert_eq!(loaded, "context 0: ping_pong, 1 rule, process 3\n");
    let receives = packet::Control(fake.peek(packet::BASE, packet::CONTROL)).receive();
    assert!(receives, "loading switches reception on");
    assert_eq!(fake.peek(hpu::BASE, hpu::CTX_ACTIVE), 1);
    assert_eq!(fake.peek(hpu::BASE, hpu::CTX_PROCESS), 3);

    let other = on(&fake, &["load", &example("icmp_echo"), "--name", "echo", "--weight", "7", "--overload", "pause"]);
    assert_eq!(other.unwrap(), "context 1: echo, 1 rule, process 0\n");
    assert_eq!((fake.peek(hpu::BASE, hpu::CTX_WEIGHT), fake.peek(hpu::BASE, hpu::CTX_OVERLOAD)), (7, 2));

    let shown = card_info(&fake, false);
    for part in
        ["unix:/run/fake.sock", "ping_pong", "echo", "udp.dport == 9", "icmp.type == 8", "reception", "1af4:10f0"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let shown = json(&card_info(&fake, true));
    assert_eq!(shown["contexts"][1]["name"], "echo");
    assert_eq!(shown["rules"][0]["context"], 0);
    assert_eq!(shown["hpus_per_cluster"], 4);

    assert_eq!(on(&fake, &["unload", "0"]).unwrap(), "context 0: ping_pong is unloaded\n");
    assert_eq!(fake.peek(hpu::BASE, hpu::CTX_ACTIVE), 2);
    assert!(on(&fake, &["unload", "0"]).unwrap_err().contains("context 0 is not loaded"));
    assert_eq!(on(&fake, &["unload", "--all"]).unwrap(), "context 1: echo is unloaded\n");
    assert!(!card_info(&fake, false).contains("icmp"));
}

/// A card with a board's shell shows it; one without says nothing of it, and its page is not read.
#[test]
fn the_board_is_shown_where_there_is_one() {
    let fake = Fake::new();
    assert_eq!(json(&card_info(&fake, true))["board"], Value::Null);
    assert!(!card_info(&fake, false).contains("commit"));

    fake.poke(global::BASE, global::SHELL, shell::BASE);
    let poke = |offset: u32, word: u32| fake.poke(shell::BASE, offset, word);
    poke(shell::REVISION, 1);
    poke(shell::BOARD, 0x280);
    let build = shell::Build::ZERO.with_macs(1).with_configuration(shell::Build::CONFIGURATION_ALVEO).with_dna_bits(96);
    poke(shell::BUILD, build.0);
    poke(shell::MAC_RATE, 100);
    (0..5).for_each(|i| poke(shell::GIT + 4 * i, 0x0123_4560 + i));
    poke(shell::DNA, 0x89AB_CDEF);
    poke(shell::DNA + 8, 0x4002);
    poke(shell::PCIE, shell::Pcie::ZERO.with_up(true).with_vectors_set(true).0);
    poke(shell::MAC, shell::Mac::ZERO.with_remote_fault(true).with_aligned(true).0);
    poke(shell::RX_OVERFLOW, 77);
    poke(shell::HOST_REFUSED, 5);
    let shown = card_info(&fake, false);
    for part in [
        "Alveo U280",
        "0123456001234561012345620123456301234564",
        "alveo",
        "not read yet",
        "up, lost 0 times",
        "off, vector map set",
        "5 bursts refused",
        "100 Gbit/s, down, fault at the other end, lost 0 times",
        "77 overflow",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("MAC 1"), "{shown}");
    poke(shell::MAC, shell::Mac::ZERO.with_clock_stopped(true).0);
    let shown = card_info(&fake, false);
    assert!(shown.contains("100 Gbit/s, down, MAC clock stopped, lost 0 times"), "{shown}");
    assert_eq!(json(&card_info(&fake, true))["board"]["macs"][0]["clock_stopped"], true);
    poke(shell::PCIE, shell::Pcie::ZERO.with_dna_valid(true).0);
    poke(shell::BOARD, 0x999);
    let shown = json(&card_info(&fake, true));
    assert_eq!(shown["board"]["dna"], "000040020000000089abcdef");
    assert_eq!(shown["board"]["name"], Value::Null);
    assert_eq!(shown["board"]["macs"][0]["rx_overflow"], 77);

    // What the LEDs do.
    let mut live = Live::attach(fake.card()).unwrap();
    assert!(live.device.identify_board(true).unwrap());
    assert_eq!(fake.peek(shell::BASE, shell::IDENTIFY), 1);
    poke(shell::REVISION, 2);
    let sentence = live.device.shell().unwrap_err().to_string();
    assert!(sentence.contains("version 2") && sentence.contains("use the library"), "{sentence}");
    fake.poke(global::BASE, global::SHELL, 0x1234);
    assert!(live.device.shell().unwrap_err().to_string().contains("`shell`"));
    fake.poke(global::BASE, global::SHELL, 0);
    assert!(!live.device.identify_board(true).unwrap());
}

#[test]
fn messages_by_field_and_images_are_loaded() {
    let fake = Fake::new();
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("counter.elf");
    let built = std::process::Command::new(env!("CARGO_BIN_EXE_spindle"))
        .args(["build", &example("counter"), "-o", image.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let field = ["--message-field", "udp[10:4]", "--message-end", "udp[8:2] >= 0x8000", "--match", "udp"];
    let line = [&["load", image.to_str().unwrap()], &field[..]].concat();
    assert_eq!(on(&fake, &line).unwrap(), "context 0: counter, 1 rule, process 0\n");
    assert!(card_info(&fake, false).contains("context 0, per message of udp[10:4]"));
    assert!(on(&fake, &line[..4]).unwrap_err().contains("--message-field needs --message-end"));
}

#[test]
fn a_context_with_live_messages_stays() {
    let fake = Fake::new();
    on(&fake, &["load", &example("ping_pong")]).unwrap();
    fake.poke(packet::BASE, packet::CONTEXT_LIVE, 2);
    let error = on(&fake, &["unload", "0", "--timeout", "0.01"]).unwrap_err();
    assert!(error.contains("2 of its messages are still alive"), "{error}");
    assert_eq!(fake.peek(hpu::BASE, hpu::CTX_ACTIVE), 0, "it gets no packets");
    fake.poke(packet::BASE, packet::CONTEXT_LIVE, 0);
    on(&fake, &["unload", "0"]).unwrap();
}

#[test]
fn a_card_that_forgets_is_loaded_only_to_stay() {
    let fake = Fake::new();
    fake.state().transport = "vfio";
    let error = on(&fake, &["load", &example("ping_pong")]).unwrap_err();
    assert!(error.contains("is reset when this program leaves it") && error.contains("--stay"), "{error}");
    assert_eq!(fake.peek(hpu::BASE, hpu::CTX_ACTIVE), 0);
}

#[test]
fn stats_have_counters_drops_and_rates() {
    let fake = Fake::new();
    on(&fake, &["load", &example("ping_pong")]).unwrap();
    fake.poke(packet::BASE, packet::FRAMES_IN, 41);
    fake.poke(packet::BASE, packet::DROPS + 4 * NO_RULE as u32, 5);
    fake.poke(hpu::BASE, hpu::HPU_BUSY + 4, 1000);
    // Context 0 is that of the resident, context 2 that of a program.
    for (context, tasks) in [(0, 71), (2, 72)] {
        fake.poke(hpu::BASE, hpu::CONTEXT_TASKS + 4 * context, tasks);
        fake.poke(hpu::BASE, hpu::CONTEXT_FAULTED + 4 * context, 3);
        fake.poke(hpu::BASE, hpu::CONTEXT_INSTRET_LO + 4 * context, 8001);
        fake.poke(hpu::BASE, hpu::CONTEXT_CYCLES_LO + 4 * context, 6);
        fake.poke(hpu::BASE, hpu::CONTEXT_CYCLES_HI + 4 * context, 1);
    }
    fake.poke(packet::BASE, packet::DROPS + 4 * QUOTA as u32, 9);
    fake.poke(packet::BASE, packet::CONTEXT_DROPS + 4 * (2 * CONTEXT_DROP_COUNT + QUOTA) as u32, 8);
    let text = on(&fake, &["stats"]).unwrap();
    for part in ["packet.frames_in", "41", "drops.no_rule", "ping_pong", "| 0.1", "4294967302", "8001", "| quota"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("frames_out"), "counters of 0 are left out: {text}");
    assert!(on(&fake, &["stats", "--all"]).unwrap().contains("packet.frames_out"));
    let object = json(&on(&fake, &["stats", "--json"]).unwrap());
    assert_eq!(object["counters"]["packet"]["frames_in"], 41);
    assert_eq!((&object["drops"]["no_rule"], &object["drops"]["runt"]), (&5.into(), &0.into()));
    assert_eq!(object["hpus"][1]["busy_cycles"], 1000);
    let contexts = object["contexts"].as_array().unwrap();
    assert_eq!(contexts.len(), 2, "a context that has counted nothing and is not loaded is left out");
    assert_eq!((&contexts[0]["name"], &contexts[1]["name"]), (&"ping_pong".into(), &Value::Null));
    assert_eq!((&contexts[0]["tasks"], &contexts[1]["tasks"]), (&71.into(), &72.into()));
    assert_eq!((&contexts[1]["context"], &contexts[1]["faulted"]), (&2.into(), &3.into()));
    assert_eq!((&contexts[1]["instructions"], &contexts[1]["cycles"]), (&8001.into(), &((1u64 << 32) + 6).into()));
    assert_eq!((&contexts[0]["drops"], &contexts[1]["drops"]["quota"]), (&serde_json::json!({}), &8.into()));
    assert!(object.get("per_second").is_none() && contexts[1].get("per_second").is_none());
    let lines = on(&fake, &["stats", "--json", "--watch", "0.01", "--intervals", "2"]).unwrap();
    let lines: Vec<Value> = lines.lines().map(json).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["per_second"]["packet.frames_in"], 0.0);
    assert_eq!(lines[1]["contexts"][1]["per_second"]["tasks"], 0.0);
    assert!(lines[1]["cycle"].as_u64() > lines[0]["cycle"].as_u64());
}

/// Looking at a card leaves it as it is.
#[test]
fn looking_changes_nothing() {
    let fake = Fake::new();
    on(&fake, &["load", &example("ping_pong")]).unwrap();
    let registers = |fake: &Fake| {
        let mut registers = fake.state().registers.clone();
        registers.remove(&(hpu::BASE + hpu::L2_ADDR));
        registers
    };
    let before = registers(&fake);
    on(&fake, &["stats"]).unwrap();
    card_info(&fake, true);
    Screen::new(&mut Live::attach(fake.card()).unwrap()).unwrap();
    assert_eq!(registers(&fake), before);
}

fn screen(fake: &Fake, width: u16, height: u16, change: impl FnOnce(&Fake)) -> String {
    let mut live = Live::attach(fake.card()).unwrap();
    let mut screen = Screen::new(&mut live).unwrap();
    change(fake);
    screen.read(&mut live).unwrap();
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    terminal.backend().to_string()
}

#[test]
fn top_shows_rates_hpus_drops_and_contexts() {
    let fake = Fake::new();
    on(&fake, &["load", &example("ping_pong")]).unwrap();
    fake.poke(rvma::BASE, rvma::MAILBOXES, 17);
    let picture = screen(&fake, 100, 30, |fake| {
        fake.poke(packet::BASE, packet::FRAMES_IN, 4096);
        fake.poke(packet::BASE, packet::DROPS + 4 * NO_RULE as u32, 5);
        fake.poke(hpu::BASE, hpu::HPU_BUSY + 4 * 5, 1 << 20);
        // Context 2 is that of a program.
        fake.poke(hpu::BASE, hpu::CONTEXT_TASKS + 4 * 2, 4096);
        fake.poke(packet::BASE, packet::DROPS + 4 * QUOTA as u32, 7655);
        fake.poke(packet::BASE, packet::CONTEXT_DROPS + 4 * (2 * CONTEXT_DROP_COUNT + QUOTA) as u32, 7654);
    });
    for part in ["unix:/run/fake.sock", "q ends", "frames in", "4096", "M/s", "no_rule", "ping_pong", "mailboxes open"]
    {
        assert!(picture.contains(part), "{part}:\n{picture}");
    }
    let of_program = picture.lines().find(|line| line.contains(" 7654 ")).unwrap_or_else(|| panic!("{picture}"));
    let row = of_program.rsplit_once("││").unwrap_or_else(|| panic!("{picture}")).1;
    let [number, name, process, _, tasks, ..] = row.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{picture}")
    };
    assert!((number, name, process) == ("2", "-", "-") && tasks.parse::<f64>().is_ok_and(|n| n > 0.0), "{picture}");
    let of_hpu = |name: &str| picture.lines().find_map(|line| line.split(name).nth(1)).unwrap().to_owned();
    assert!(of_hpu(" 1.1 ").starts_with("██████████"), "{picture}");
    assert!(of_hpu(" 1.0 ").starts_with("··········    0 %"), "{picture}");
    // Nothing breaks on a terminal that is too small.
    for (width, height) in [(1, 1), (20, 5), (300, 100)] {
        screen(&fake, width, height, |_| ());
    }
}

#[test]
fn events_are_printed_as_they_come() {
    let fake = Fake::new();
    // The ring is opened by the command, so the events come from a second thread.
    let card = fake.clone();
    let sender = std::thread::spawn(move || {
        for _ in 0..10_000 {
            let mut state = card.state();
            if state.has_ring(2) {
                let head = |kind: u8| events::Head::ZERO.with_kind(kind.into()).with_context(4).0;
                state.event(2, [head(events::USER), 0, 12, 0, 0, 0xABCD, 0]);
                state.event(2, [head(events::LOST), 0, 3, 0, 0, 0, 0]);
                return;
            }
            drop(state);
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
    let lines = on(&fake, &["events", "--process", "2", "--count", "2", "--timeout", "20", "--json"]).unwrap();
    sender.join().unwrap();
    let lines: Vec<Value> = lines.lines().map(json).collect();
    assert_eq!(
        (&lines[0]["kind"], &lines[0]["user"], &lines[0]["context"]),
        (&"user".into(), &0xABCD.into(), &4.into())
    );
    assert_eq!((&lines[1]["kind"], &lines[1]["count"], &lines[1]["number"]), (&"lost".into(), &3.into(), &2.into()));
    assert!(!fake.state().has_ring(2), "the ring is closed again");
    assert_eq!(fake.peek(rvma::BASE, rvma::UNCHECKED), 0, "the process is confined again");
    assert_eq!(on(&fake, &["events", "--timeout", "0.01"]).unwrap(), "");
}

#[test]
fn traces_are_tables_of_stages() {
    let fake = Fake::new();
    let record = |cycle: u32, frame: u32, stages: &[usize], hpu: u32| {
        let stages = stages.iter().fold(0, |mask, stage| mask | 1 << stage);
        [cycle, trace::RecordStages::ZERO.with_frame(frame).with_stages(stages).0, hpu]
    };
    fake.state().traced = vec![
        record(100, 8, &[T_FIRST_BEAT], 0),
        record(103, 8, &[T_PARSED], 0),
        record(121, 8, &[T_HANDLER_START], 6),
        record(500, 16, &[T_FIRST_BEAT], 0),
        record(900, 24, &[T_FIRST_BEAT], 0),
    ];
    let text = on(&fake, &["trace", "--every", "8", "--packets", "2"]).unwrap();
    assert_eq!(fake.peek(trace::BASE, trace::SAMPLE_MASK), 7);
    assert_eq!(fake.peek(trace::BASE, trace::CONTROL), 0, "the trace is switched off");
    for part in ["frame 8, first seen in cycle 100", "handler_start", "| 21 ", "+18", "| 6 ", "frame 16"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("frame 24"), "{text}");
    let lines = on(&fake, &["trace", "--json", "--timeout", "0.05"]).unwrap();
    let lines: Vec<Value> = lines.lines().map(json).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["stages"][2], serde_json::json!({"stage": "handler_start", "cycle": 21, "hpu": 6}));
}

#[test]
fn a_reset_forgets_contexts_and_rules() {
    let fake = Fake::new();
    on(&fake, &["load", &example("ping_pong")]).unwrap();
    let text = on(&fake, &["reset"]).unwrap();
    assert!(text.contains("was reset"), "{text}");
    assert_eq!(fake.state().resets, 1);
    assert!(!card_info(&fake, false).contains("ping_pong"));
    // A card that is none any more: the reset is done, and the sentence says what is there.
    fake.poke(global::BASE, global::MAGIC, 0);
    let mut out = Vec::new();
    reset::run(&fake.card(), &mut out).unwrap();
}
