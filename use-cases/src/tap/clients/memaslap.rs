//! `memcaslap`, the load generator of libmemcached.

use crate::tap::samples::{named, number_after};
use crate::tap::{Client, Reply, Values};
use anyhow::{ensure, Context, Result};

/// `memcaslap --udp`.
pub const MEMASLAP: Client = Client {
    name: "memcaslap",
    about: "get and set of values of 100 bytes by the ASCII protocol over UDP",
    program: "memcaslap",
    package: "libmemcached-tools",
    handler: ("memcached.c", include_str!("../../../tap/handlers/memcached.c")),
    rule: "udp.dport == 11211",
    host: Vec::new,
    variable: ("", Vec::new),
    prepare: |folder| {
        // Keys of 16 bytes, values of 100; one set to nine gets. Each set has a key of its own: the table has room for ten keys wherever
        // they fall.
        let text = "key\n16 16 1\nvalue\n100 100 1\ncmd\n0 0.1\n1 0.9\n";
        std::fs::write(folder.join("load"), text).context("cannot write the load")
    },
    arguments: &[
        "--servers=10.78.0.2:11211",
        "--udp",
        "--threads=1",
        "--concurrency=1",
        "--win_size=1k",
        "--execute_number=100",
        "--cfg_cmd={folder}/load",
        "--verify=1.0",
        // Without this it keeps no times of requests.
        "--stat_freq=1s",
    ],
    malformed: (
        11211,
        &[
            b"",
            b"\0\x01\0\0\0\x01\0",
            // The second of two datagrams.
            b"\0\x01\0\x01\0\x02\0\0get a\r\n",
            b"\0\x01\0\0\0\x01\0\0get a",
            b"\0\x01\0\0\0\x01\0\0\r\n",
            b"\0\x01\0\0\0\x01\0\0get\r\n",
            b"\0\x01\0\0\0\x01\0\0set a 0 0 100\r\nshort\r\n",
            b"\0\x01\0\0\0\x01\0\0set a 0 0 1401\r\nshort\r\n",
            b"\0\x01\0\0\0\x01\0\0set a 0 0 99999999999\r\nshort\r\n",
            b"\0\x01\0\0\0\x01\0\0set a 0 0 -1\r\nshort\r\n",
            b"\0\x01\0\0\0\x01\0\0set a 0\r\n\r\n",
        ],
    ),
    check,
    broken: ("to = append(to, value);", "to = append(to, (text_t){value.at + 1, value.end}); *to++ = 0;"),
};

fn check(reply: &Reply) -> Result<Values> {
    let text = &reply.output;
    for word in ["get_misses:", "verify_misses:", "verify_failed:", "packet_disorder:", "packet_drop:", "udp_timeout:"]
    {
        let count = number_after(text, word)?;
        ensure!(count == 0.0, "{word} {count}");
    }
    let (gets, sets) = (number_after(text, "cmd_get:")?, number_after(text, "cmd_set:")?);
    ensure!(gets > 0.0 && sets > 0.0, "{gets} gets and {sets} sets");
    // One request is under way at a time. Its times are whole microseconds of all requests, get and set.
    let (_, total) = text.split_once("Total Statistics (").context("the client's output has no total")?;
    let ns = |words| Ok::<_, anyhow::Error>(reply.ns(number_after(total, words)? * 1e-6));
    Ok(named(&[
        ("answers", gets + sets),
        ("min_ns", ns("Min:")?),
        ("mean_ns", ns("Avg:")?),
        ("max_ns", ns("Max:")?),
        ("per_second", number_after(text, "TPS:")? / reply.ns(1.0) * 1e9),
    ]))
}
