//! Commands on a card, each against a card that is a table of registers.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod commands;
mod fake;
mod generated;
mod refused;
mod transfer;

use anyhow::Result;
use clap::Parser;
use fake::Fake;
use spindle_cli::card::live::Stop;
use spindle_cli::card::CardCommand;

#[derive(Parser)]
struct Line {
    #[command(subcommand)]
    command: CardCommand,
}

/// Carries out a line of the shell on a card; its output, or its error as a sentence.
fn on(fake: &Fake, arguments: &[&str]) -> Result<String, String> {
    let line = Line::try_parse_from([&["spindle"], arguments].concat()).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let done: Result<()> = line.command.carry_out(|| Ok(fake.card()), &mut out, &Stop::default());
    done.map(|()| String::from_utf8(out).expect("text")).map_err(|error| format!("{error:#}"))
}

/// A shipped handler.
fn example(name: &str) -> String {
    format!("{}/../../handlers/examples/{name}.c", env!("CARGO_MANIFEST_DIR"))
}
