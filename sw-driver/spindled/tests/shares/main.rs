//! `spindled` over a served card: clients beside each other, hostile ones, ones that die; the administrator; requests.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod clients;
mod model;
mod requests;
mod setup;
