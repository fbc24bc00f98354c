//! `curl` and a file in host memory.

use crate::tap::samples::{named, number_after};
use crate::tap::{Client, Reply, Values};
use anyhow::{ensure, Context, Result};
use sha2::{Digest, Sha256};

/// Bytes of the file, no multiple of a block.
const BYTES: u32 = 100_100;
/// Bytes of a block.
const BLOCK: u32 = 512;

/// `curl tftp://`.
pub const CURL: Client = Client {
    name: "curl",
    about: "a file of 100,100 bytes of host memory by TFTP",
    program: "curl",
    package: "curl",
    handler: ("tftp.c", include_str!("../../../tap/handlers/tftp.c")),
    rule: "udp.dport == 69",
    host: file,
    variable: ("", Vec::new),
    prepare: |_| Ok(()),
    arguments: &[
        "--silent",
        "--show-error",
        "--output",
        "{folder}/got",
        "--write-out",
        "seconds %{time_total}\nbytes %{size_download}\n",
        "tftp://10.78.0.2/spindle.bin",
    ],
    // Too short; no such operation; a name without its end; another file; a request to write; a block that the file has not.
    malformed: (
        69,
        &[
            b"",
            b"\0\x01\0",
            b"\0\x09abc\0octet\0",
            b"\0\x01spindle.bin",
            b"\0\x01another.bin\0octet\0",
            b"\0\x02spindle.bin\0octet\0",
            b"\0\x04\xff\xff",
            b"\0\x04\x80\0",
        ],
    ),
    check,
    broken: (
        "spin_dma_from_host(tftp + HEADER, offset, length)",
        "spin_dma_from_host(tftp + HEADER, offset & 0xfff, length)",
    ),
};

/// Bytes that repeat nowhere near.
fn file() -> Vec<u8> {
    (0..BYTES).map(|number| (number.wrapping_mul(2_654_435_761) >> 23) as u8).collect()
}

fn check(reply: &Reply) -> Result<Values> {
    let got = std::fs::read(reply.folder.join("got")).context("curl wrote no file")?;
    ensure!(Sha256::digest(&got) == Sha256::digest(file()), "the file that arrived has another sha256");
    let seconds = reply.ns(number_after(&reply.output, "seconds")?) * 1e-9;
    let blocks = f64::from(BYTES / BLOCK + 1);
    Ok(named(&[
        ("answers", blocks),
        ("mean_ns", seconds * 1e9 / blocks),
        ("per_second", blocks / seconds),
        ("mbit_per_second", f64::from(BYTES) * 8.0 / seconds / 1e6),
    ]))
}
