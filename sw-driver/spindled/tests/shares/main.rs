//! `spindled` over a served card: clients beside each other, hostile ones, ones that die; the administrator; requests.

mod clients;
mod model;
mod requests;
mod setup;
