//! A program that is killed while the card works for it; then the card is opened again.

use anyhow::{ensure, Context, Result};
use spindle::transport::vfio::VfioCard;
use spindle::{Device, HostMemory, Node, SharedCard, Target};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Posts buffers and puts, for ever.
pub fn work(address: &str) -> Result<()> {
    let card = SharedCard::new(VfioCard::open(address)?);
    let mut nic = Device::open(card.clone(), card)?;
    nic.set_node(0, Some(Node { mac: [2, 0, 0, 0, 0, 9], ip: [10, 0, 0, 9], port: 4791 }))?;
    let data = nic.memory.alloc(4096, 64)?;
    let target = Target { node: 0, process: 0, address: 1, key: 0, offset: 0, kind: Default::default() };
    println!("working");
    for round in 0u64.. {
        let window = nic.init_window(0, round, 0, 64)?;
        nic.post_buffer(window, 4096)?;
        nic.put(0, data, 4096, &target)?;
        nic.close_window(window)?;
    }
    Ok(())
}

/// Starts so many victims one after another and kills each, at another moment of its work.
pub fn kill_some(address: &str, count: u64) -> Result<((), String)> {
    for number in 0..count {
        let mut victim = Command::new("/proc/self/exe").args(["victim", address]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(victim.stdout.take().context("it has an output")?).read_line(&mut line)?;
        std::thread::sleep(Duration::from_millis(number * 37 % 101));
        victim.kill()?;
        victim.wait()?;
        ensure!(line == "working\n", "the victim {number} did not begin: {line}");
    }
    let card = SharedCard::new(VfioCard::open(address)?);
    let mut nic = Device::open(card.clone(), card)?;
    let window = nic.init_window(0, 1, 0, 64)?;
    let posted = nic.post_buffer(window, 64)?;
    nic.close_window(window)?;
    nic.wait(&posted, 2_000_000)?;
    Ok(((), format!("the card works after {count} owners were killed")))
}
