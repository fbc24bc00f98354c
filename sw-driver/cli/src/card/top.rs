//! `spindle top`: a running card, live.

mod screen;

pub use screen::Screen;

use super::live::{Live, Patience, Stop};
use super::values::seconds;
use anyhow::{ensure, Context, Result};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::DefaultTerminal;
use std::io::IsTerminal;
use std::time::Duration;

/// Arguments of `spindle top`.
#[derive(clap::Args, Clone, Debug)]
pub struct Arguments {
    /// Seconds between two readings.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: f64,
}

/// Shows the card until `q`, Esc or Ctrl-C.
///
/// # Errors
/// Standard output is no terminal, or the card does not answer.
pub fn run(arguments: &Arguments, live: &mut Live, stop: &Stop) -> Result<()> {
    ensure!(
        std::io::stdout().is_terminal() && std::io::stdin().is_terminal(),
        "top needs a terminal; for a file or a pipe, use `spindle stats --watch SECONDS`"
    );
    // Before the terminal changes: an error of the card then is a line like any other.
    let mut screen = Screen::new(live)?;
    let mut terminal = ratatui::try_init().context("cannot use the terminal")?;
    let shown = show(arguments, live, &mut screen, &mut terminal, stop);
    ratatui::restore();
    shown
}

fn show(
    arguments: &Arguments,
    live: &mut Live,
    screen: &mut Screen,
    terminal: &mut DefaultTerminal,
    stop: &Stop,
) -> Result<()> {
    loop {
        terminal.draw(|frame| screen.draw(frame))?;
        let patience = Patience::new(stop, Some(arguments.interval));
        let ended = live.wait(&patience, |_| key(terminal, screen))?;
        if ended.is_some() || stop.is_set() {
            return Ok(());
        }
        screen.read(live)?;
    }
}

/// Takes a key, if there is one; `Some`: the user ends the command.
fn key(terminal: &mut DefaultTerminal, screen: &Screen) -> Result<Option<()>> {
    if !event::poll(Duration::ZERO)? {
        return Ok(None);
    }
    match event::read()? {
        Event::Key(key) if key.kind == KeyEventKind::Press => {
            let interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
            Ok((interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc)).then_some(()))
        }
        Event::Resize(..) => {
            terminal.draw(|frame| screen.draw(frame))?;
            Ok(None)
        }
        _ => Ok(None),
    }
}
