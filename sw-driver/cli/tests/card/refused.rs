//! Bad arguments: one sentence, a status that is not 0, and a card that is not touched.

use crate::fake::Fake;
use crate::{example, on};
use std::process::Command;

/// Expects a refusal with these words, and a card without any change.
fn refused(arguments: &[&str], words: &str) {
    let fake = Fake::new();
    let before = fake.state().registers.clone();
    let error = on(&fake, arguments).expect_err(words);
    assert!(error.contains(words), "{arguments:?} should say `{words}`: {error}");
    assert_eq!(fake.state().registers, before, "{arguments:?} changed the card");
}

#[test]
fn arguments_are_checked_before_the_card_is_touched() {
    let ping = example("ping_pong");
    refused(&["load", "/nowhere.c"], "cannot read /nowhere.c");
    refused(&["load", &ping, "--match", "port == 9"], "no field `port`");
    refused(&["load", &ping, "--message-end", "udp[8] == 1"], "--message-end needs --message-field");
    refused(&["load", &ping, "--state-bytes", "0"], "out of range");
    refused(&["load", &ping, "--overload", "explode"], "invalid value 'explode'");
    refused(&["unload"], "required");
    refused(&["unload", "x"], "invalid value 'x'");
    refused(&["unload", "1", "--all"], "cannot be used with");
    refused(&["stats", "--watch", "0"], "`0` is no time");
    refused(&["stats", "--intervals", "3"], "--watch");
    refused(&["top", "--interval", "soon"], "`soon` is no time");
    refused(&["trace", "--every", "3"], "`3` is no power of two");
    refused(&["trace", "--packets", "0"], "invalid value '0'");
    refused(&["put", "/nowhere", "--node", "1", "--address", "1"], "cannot read /nowhere");
    refused(&["put", "-", "--node", "256", "--address", "1"], "256 is not in 0..=255");
    refused(&["put", "-", "--node", "1", "--address", "here"], "`here` is no number");
    refused(&["put", "-", "--node", "1", "--address", "1", "--as", "x"], "`x` is no node");
    refused(&["get", "0", "--node", "1", "--address", "1"], "out of range");
    refused(&["get", "1", "--node", "1", "--address", "1", "-o", "/nowhere/x"], "cannot write /nowhere/x");
    refused(&["window", "--address", "1", "--size", "100", "--threshold", "101"], "raise --size");
    refused(&["window", "--address", "1", "--threshold", "0"], "at least 1");
    refused(&["window", "--address", "1", "--operations", "--stream"], "cannot be used with");
    refused(&["window", "--address", "1", "--buffers", "0"], "0 is not in 1..=1024");
}

#[test]
fn what_the_card_cannot_do_is_a_sentence() {
    let fake = Fake::new();
    let ping = example("ping_pong");
    let on = |line: &[&str], words: &str| {
        let error = on(&fake, line).expect_err(words);
        assert!(error.contains(words), "{line:?}: {error}");
    };
    on(&["load", &ping, "--process", "99"], "there is no process 99");
    on(&["load", &ping, "--watchdog", "0"], "watchdog budget is 0");
    on(&["load", &ping, "--core-mask", "0x100"], "no HPU is in the core mask");
    on(&["load", &ping, "--state-bytes", "1M"], "bytes of state");
    on(&["unload", "5"], "context 5 is not loaded");
    on(&["events", "--process", "64"], "there is no process 64");
    on(&["events", "--records", "3"], "event ring of 3 records");
    on(&["top"], "needs a terminal");
}

/// The program itself: status and sentence.
fn program(arguments: &[&str], words: &[&str]) {
    let output = Command::new(env!("CARGO_BIN_EXE_spindle"))
        .args(arguments)
        .env_remove("SPINDLE_CARD")
        .output()
        .expect("the program starts");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{arguments:?}: {:?} {text}", output.status);
    assert!(!text.contains("panicked"), "{text}");
    assert_eq!(text.trim_end().lines().count(), 1, "one sentence: {text}");
    for word in words {
        assert_eq!(text.matches(word).count(), 1, "{arguments:?} should say `{word}` once: {text}");
    }
}

#[test]
fn addresses_that_are_none_get_the_forms() {
    program(&["--card", "unix:/x", "handlers"], &["uses no card; leave --card out"]);
    program(&["stats", "--card", "eth0"], &["eth0", "no address of a card"]);
    program(&["--card", "unix:/nowhere/nic0.sock", "info"], &["/nowhere/nic0.sock"]);
    program(&["--card", "0000:99:00.0", "reset"], &["0000:99:00.0"]);
    program(&["--card", "sysfs:0000:99:00.0", "stats"], &["0000:99:00.0"]);
}
