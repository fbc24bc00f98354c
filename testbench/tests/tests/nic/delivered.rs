//! The configurations that are delivered, as whole NICs: the packets and puts that the simulated configuration gets in `answers` and `mailboxes`.

use crate::nic::answers::the_capture_is_answered;
use crate::nic::bench::Nic;
use crate::nic::mailboxes::shuffled_puts_complete;
use spindle_contract::params::Config;

fn serves(config: Config) {
    the_capture_is_answered(|options| Nic::of(config, options));
    shuffled_puts_complete(|options| Nic::of(config, options), 0..1);
}

#[test]
fn alveo_answers_and_completes() {
    serves(Config::ALVEO);
}

#[test]
fn kintex7_answers_and_completes() {
    serves(Config::KINTEX7);
}
