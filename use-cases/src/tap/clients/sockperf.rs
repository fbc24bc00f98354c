//! `sockperf`: one message after the other, each after the answer to the one before.

use crate::tap::samples::{named, number_after};
use crate::tap::{Client, Reply, Values, NIC};
use anyhow::{ensure, Result};

/// `sockperf ping-pong`.
pub const SOCKPERF: Client = Client {
    name: "sockperf",
    about: "ping-pong of 14 bytes over UDP",
    program: "sockperf",
    package: "sockperf",
    handler: ("sockperf.c", include_str!("../../../tap/handlers/sockperf.c")),
    rule: "udp.dport == 11111",
    host: Vec::new,
    variable: ("", Vec::new),
    prepare: |_| Ok(()),
    arguments: &["ping-pong", "-i", NIC, "--port", "11111", "--no-rdtsc", "--full-rtt", "--msg-size", "14", "-t", "8"],
    // Shorter than a header; an answer; one that wants none.
    malformed: (
        11111,
        &[b"", b"too short", b"\0\0\0\0\0\0\0\x01\0\x02\0\0\0\x0e", b"\0\0\0\0\0\0\0\x01\0\x01\0\0\0\x0e"],
    ),
    check,
    broken: ("flags & ~CLIENT", "flags & ~ANSWER_WANTED"),
};

fn check(reply: &Reply) -> Result<Values> {
    let text = &reply.output;
    for word in ["dropped messages", "duplicated messages", "out-of-order messages"] {
        let count = number_after(text, word)?;
        ensure!(count == 0.0, "{count} {word}");
    }
    let answers = number_after(text, "ReceivedMessages")?;
    ensure!(answers > 20.0, "only {answers} answers");
    let ns = |words| Ok::<_, anyhow::Error>(reply.ns(number_after(text, words)? * 1e-6));
    Ok(named(&[
        ("answers", answers),
        ("min_ns", ns("<MIN> observation")?),
        ("p50_ns", ns("percentile 50.000")?),
        ("p99_ns", ns("percentile 99.000")?),
        ("max_ns", ns("<MAX> observation")?),
        ("mean_ns", ns("avg-rtt")?),
    ]))
}
