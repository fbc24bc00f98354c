//! The command `spindled`.

use anyhow::{Context, Result};
use clap::{CommandFactory, Parser};
use spindled::arguments::{node, station};
use spindled::card::{Peer, Station};
use spindled::{Daemon, Options, Quota};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Owns a card and gives each client process its share of it.
///
/// A client that connects to card.sock gets a process of the card for as long as it is connected; process1.sock to process15.sock give
/// that process; admin.sock gives root process 0 and the rest of the card; control.sock takes requests in JSON, one a line. SIGTERM
/// ends the daemon, and all clients lose the card. RUST_LOG sets what it logs: warn, info, debug.
#[derive(Parser, Debug)]
#[command(version)]
struct Arguments {
    /// Address of the card: 0000:65:00.0, or unix:/run/nic0.sock of a served card.
    #[arg(long)]
    card: String,
    /// Folder of the sockets card.sock, admin.sock and control.sock.
    #[arg(long, default_value = "/run/spindle")]
    socket: PathBuf,
    /// Number, MAC and IPv4 address of the card: 1,02:00:00:00:00:01,10.0.0.1. Without it, `set_station` sets them later.
    #[arg(long, value_parser = station)]
    station: Option<Station>,
    /// A node that processes can put to: 2,02:00:00:00:00:02,10.0.0.2; a UDP port may follow, and at the end icrc, with which packets in
    /// both directions have the ICRC. May be given several times.
    #[arg(long, value_parser = node)]
    node: Vec<(usize, Peer)>,
    /// Cycles of a packet and its acknowledgement: a put that is not acknowledged for four times as long is sent again.
    #[arg(long, default_value_t = 4096)]
    round_trip: u64,
    /// Mailboxes of a client.
    #[arg(long, default_value_t = Quota::default().mailboxes)]
    mailboxes: usize,
    /// Buffers that a client has posted by doorbell.
    #[arg(long, default_value_t = Quota::default().buffers)]
    buffers: u64,
    /// Maps of memory of a client.
    #[arg(long, default_value_t = Quota::default().maps)]
    maps: usize,
    /// Bytes that a client has mapped.
    #[arg(long, default_value_t = Quota::default().bytes)]
    bytes: u64,
    /// Cycles of the card for each INC_EPOCH and CLOSE of a client.
    #[arg(long, default_value_t = Quota::default().reclaim_cycles)]
    reclaim_cycles: u64,
}

impl Arguments {
    fn options(self) -> Options {
        let quota = Quota {
            mailboxes: self.mailboxes,
            buffers: self.buffers,
            maps: self.maps,
            bytes: self.bytes,
            reclaim_cycles: self.reclaim_cycles,
            ..Quota::default()
        };
        let Arguments { socket, station, node, round_trip, .. } = self;
        Options { sockets: socket, station, nodes: node, round_trip, quota }
    }
}

/// Prints the page `spindled(8)`.
fn man_page() -> Result<()> {
    let page = clap_mangen::Man::new(Arguments::command()).section("8").date("").source("Spindle").manual("Spindle");
    page.render(&mut std::io::stdout().lock()).context("cannot write the man page")
}

fn main() -> Result<()> {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    // For packagers, so not in the page itself.
    if std::env::args().nth(1).as_deref() == Some("--man-page") {
        return man_page();
    }
    let arguments = Arguments::parse();
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGINT] {
        signal_hook::flag::register(signal, ends.clone()).context("cannot handle signals")?;
    }
    let card = spindle::open(&arguments.card)?;
    let address = arguments.card.clone();
    let mut daemon = Daemon::new(card, arguments.options())?;
    log::info!("the card {address} is served");
    daemon.run(|| ends.load(Ordering::Relaxed))?;
    log::info!("ends");
    Ok(())
}
