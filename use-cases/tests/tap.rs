//! Programs of Debian against handlers of a served NIC, and against broken handlers, which each of them must notice.

use spindle_contract::params::Config;
use spindle_use_cases::figure::{FOLDER, GALLERY};
use spindle_use_cases::tap::{by_name, draw, page, run, Options, Outcome, Results, ALL, PLOT};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// One at a time: served NICs share the machine's processors with the other tests.
static TURN: Mutex<()> = Mutex::new(());

/// A test for each client.
macro_rules! clients {
    ($($test:ident = $name:literal),* $(,)?) => {
        mod a_client_is_served {
            $(#[test] fn $test() { super::is_served($name) })*
        }

        mod a_client_notices_a_broken_handler {
            $(#[test] fn $test() { super::notices($name) })*
        }

        #[test]
        fn every_client_is_tested() {
            assert_eq!([$($name),*], *ALL.iter().map(|client| client.name).collect::<Vec<_>>());
        }
    };
}

clients! {
    fping = "fping",
    ping = "ping",
    sockperf = "sockperf",
    dig = "dig",
    dnsperf = "dnsperf",
    memcaslap = "memcaslap",
    curl = "curl",
}

fn is_served(name: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options { config: Config::SIM, pace: None, broken: false };
    match run(by_name(name).unwrap(), &options).unwrap() {
        Outcome::Skipped(sentence) => spindle_harness::skip(&sentence),
        Outcome::Measured(measured) => assert!(measured.values["answers"] > 0.0),
    }
}

fn notices(name: &str) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let options = Options { config: Config::SIM, pace: None, broken: true };
    match run(by_name(name).unwrap(), &options) {
        Ok(Outcome::Skipped(sentence)) => spindle_harness::skip(&sentence),
        Ok(Outcome::Measured(measured)) => panic!("{name} is content with a broken handler: {:?}", measured.values),
        Err(error) => {
            let error = format!("{error:#}");
            assert!(!error.contains("too slow") && !error.contains("compiled"), "{error}");
        }
    }
}

#[test]
fn the_table_and_the_plot_are_those_of_the_results() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let results = Results::load(&root.join(FOLDER)).unwrap();
    let measured: BTreeSet<&str> = results.clients.iter().map(|one| one.client.as_str()).collect();
    assert_eq!(measured, ALL.iter().map(|client| client.name).collect());
    let text = std::fs::read_to_string(root.join(GALLERY)).unwrap();
    assert_eq!(page(&text, &results).unwrap(), text);
    assert_eq!(draw(&results).unwrap(), std::fs::read_to_string(root.join(FOLDER).join(PLOT)).unwrap());
}
