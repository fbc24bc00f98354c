//! `spindle info` and `spindle handlers`.

use crate::card;
use crate::table::table;
use anyhow::Result;
use spindle_contract::descriptors::MATCH_FIELDS;
use spindle_contract::params::Config;
use spindle_contract::params::{MATCH_BYTES, MATCH_WORDS, WORD_TERMS};
use spindle_contract::reasons::DROP_REASONS;
use spindle_sdk::SHIPPED;

/// Arguments of `spindle info`.
#[derive(clap::Args)]
pub struct InfoArguments {
    /// Print what a card is as JSON.
    #[arg(long)]
    json: bool,
}

/// Shows the card, if one is named; else lists configurations, fields and reasons.
///
/// # Errors
/// The card cannot be opened or does not answer.
pub fn info(arguments: &InfoArguments, card: Option<&str>) -> Result<()> {
    let variable = std::env::var(card::address::VARIABLE).is_ok_and(|address| !address.is_empty());
    if card.is_some() || variable || arguments.json {
        return card::info(card, arguments.json);
    }
    lists();
    Ok(())
}

/// Lists configurations, fields and reasons.
fn lists() {
    let kib = |bytes: usize| format!("{} KiB", bytes >> 10);
    let rows = Config::ALL.map(|c| {
        [
            c.name.to_owned(),
            format!("{} MHz", c.clock_mhz),
            format!("{} x {}", c.clusters, c.hpus),
            kib(c.imem_bytes),
            kib(c.l2_bytes),
            kib(c.packet_buffer_bytes),
            c.contexts.to_string(),
            c.match_rules.to_string(),
            c.live_messages.to_string(),
            c.mailboxes.to_string(),
            c.posted_buffers.to_string(),
        ]
    });
    let header = [
        "configuration",
        "clock",
        "HPUs",
        "code",
        "L2",
        "packets",
        "contexts",
        "rules",
        "messages",
        "mailboxes",
        "buffers",
    ];
    println!("{}\n", table(header, rows, true));
    let rows = MATCH_FIELDS.iter().map(|f| [f.name.to_owned(), f.bits.to_string(), f.doc.to_owned()]);
    println!("Fields of the rule language; also eth.dst, eth.src (MAC addresses) and spindle.addr (64 bits), with == and != only,");
    println!("and numbers of 1, 2 or 4 bytes: udp[8:4] are the first four bytes after the UDP header; also of eth, ip, icmp, spindle.");
    println!(
        "A NIC extracts {MATCH_WORDS} words of 32 bits from the first {MATCH_BYTES} bytes, with {WORD_TERMS} \
            different tests each; flags cost none."
    );
    println!("{}\n", table(["field", "bits", "meaning"], rows, false));
    let rows = DROP_REASONS.iter().map(|(name, doc)| [(*name).to_owned(), (*doc).to_owned()]);
    println!("{}", table(["dropped for", "when"], rows, false));
}

/// Lists the shipped handlers.
pub fn handlers() -> Result<()> {
    let rows = SHIPPED.iter().map(|shipped| {
        [
            shipped.name.to_owned(),
            shipped.rule.to_owned(),
            if shipped.messages { "message" } else { "packet" }.to_owned(),
            checked(shipped.name).to_owned(),
            shipped.summary().split(". ").next().unwrap_or_default().to_owned(),
        ]
    });
    println!("{}", table(["handler", "default rule", "runs per", "run is", "what it does"], rows, false));
    println!("Sources: handlers/examples");
    Ok(())
}

/// Whether a run of a shipped handler is compared with a model.
#[cfg(feature = "sim")]
fn checked(name: &str) -> &'static str {
    match spindle_model::handlers::by_name(name) {
        Some(_) => "compared with its model",
        None => "unchecked",
    }
}

/// Runs need the feature `sim`.
#[cfg(not(feature = "sim"))]
fn checked(_name: &str) -> &'static str {
    "not built in"
}
