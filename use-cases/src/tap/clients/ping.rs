//! Echo requests.

use crate::tap::samples::numbers_after;
use crate::tap::{quantities, Client, Reply, Values, NIC};
use anyhow::{ensure, Result};

const HANDLER: (&str, &str) = ("icmp_echo.c", include_str!("../../../../handlers/examples/icmp_echo.c"));
/// Echo requests of a run.
const REQUESTS: usize = 100;
/// What every answer carries besides its header.
const BROKEN: (&str, &str) = ("icmp->type = ECHO_REPLY;", "icmp->type = ECHO_REPLY + 3;");

/// `fping`.
pub const FPING: Client = Client {
    name: "fping",
    about: "echo requests of 64 bytes, one after the other",
    program: "fping",
    package: "fping",
    handler: HANDLER,
    rule: "icmp",
    host: Vec::new,
    variable: ("", Vec::new),
    prepare: |_| Ok(()),
    arguments: &["-c", "100", "--period=60", "-t", "2000", NIC],
    malformed: (0, &[]),
    // 10.78.0.2 : [0], 64 bytes, 0.452 ms (0.452 avg, 0% loss)
    check: |reply| round_trips(reply, "64 bytes, "),
    broken: BROKEN,
};

/// `ping`.
pub const PING: Client = Client {
    name: "ping",
    about: "echo requests of 64 bytes, timed by the program (-U)",
    program: "ping",
    package: "iputils-ping",
    // 64 bytes from 10.78.0.2: icmp_seq=1 ttl=64 time=0.452 ms
    check: |reply| round_trips(reply, "time="),
    arguments: &["-U", "-n", "-c", "100", "-i", "0.06", "-W", "2", NIC],
    ..FPING
};

/// Every request has its answer. Times are in milliseconds.
fn round_trips(reply: &Reply, words: &str) -> Result<Values> {
    let times: Vec<f64> = numbers_after(&reply.output, words).into_iter().map(|time| reply.ns(time * 1e-3)).collect();
    ensure!(times.len() == REQUESTS, "{} of {REQUESTS} requests were answered", times.len());
    quantities(times)
}
