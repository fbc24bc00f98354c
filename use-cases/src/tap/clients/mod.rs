//! The clients.

mod curl;
mod dns;
mod memaslap;
mod ping;
mod sockperf;

use super::Client;

/// All of them.
pub const ALL: &[Client] =
    &[ping::FPING, ping::PING, sockperf::SOCKPERF, dns::DIG, dns::DNSPERF, memaslap::MEMASLAP, curl::CURL];
