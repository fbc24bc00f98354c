//! The configurations that are delivered, as whole NICs: handlers that answer, mailboxes, handlers that fault, and reliable puts over
//! a wire that loses frames, as the simulated configuration has them in `answers`, `mailboxes`, `faults` and `reliable`. `alveo`
//! takes part in each run, the others where long tests run.

use crate::nic::answers::the_capture_is_answered;
use crate::nic::bench::{nodes_of, Nic};
use crate::nic::faults::faults_name_their_place;
use crate::nic::mailboxes::shuffled_puts_complete;
use crate::nic::reliable::a_bad_wire_loses_nothing;
use spindle_contract::params::Config;
use spindle_harness::long_tests_run;

fn serves(config: Config) {
    the_capture_is_answered(|options| Nic::of(config, options));
    shuffled_puts_complete(|options| Nic::of(config, options));
    faults_name_their_place(|options| Nic::of(config, options));
}

#[test]
fn alveo_answers_and_completes() {
    serves(Config::ALVEO);
}

#[test]
fn alveo32_answers_and_completes() {
    if !long_tests_run() {
        return;
    }
    serves(Config::ALVEO32);
}

#[test]
fn kintex7_answers_and_completes() {
    if !long_tests_run() {
        return;
    }
    serves(Config::KINTEX7);
}

#[test]
fn alveo_sends_reliably() {
    a_bad_wire_loses_nothing(|wire| nodes_of(Config::ALVEO, 2, wire));
}

#[test]
fn kintex7_sends_reliably() {
    if !long_tests_run() {
        return;
    }
    a_bad_wire_loses_nothing(|wire| nodes_of(Config::KINTEX7, 2, wire));
}
