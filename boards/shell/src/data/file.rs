//! The file of a board: TOML to [`Board`], with the line of each row.

use super::rows::*;
use super::{Board, Issue, Issues};
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    title: String,
    part: String,
    board_part: String,
    configuration: String,
    core_clock: CoreClock,
    sources: Vec<String>,
    open: Vec<String>,
    origin: BTreeMap<String, Origin>,
    device: Spanned<Device>,
    pcie: Spanned<Pcie>,
    #[serde(default)]
    mac: Vec<Spanned<Mac>>,
    #[serde(default)]
    clock: Vec<Spanned<Clock>>,
    free_running: Spanned<FreeRunning>,
    limits: Spanned<Limits>,
    #[serde(default)]
    banks: Option<Spanned<Banks>>,
    bitstream: Spanned<Bitstream>,
    flash: Spanned<Flash>,
    pins: BTreeMap<String, Vec<Spanned<Pin>>>,
}

/// A row that keeps its line.
trait Row {
    fn set_line(&mut self, line: usize);
}

macro_rules! rows {
    ($($name:ty),*) => { $(impl Row for $name {
        fn set_line(&mut self, line: usize) {
            self.line = line;
        }
    })* };
}
rows!(Device, Pcie, Mac, Clock, FreeRunning, Limits, Banks, Bitstream, Flash, Pin);

/// The board of a text, whose rules are not checked.
pub(crate) fn read(path: &str, text: &str) -> Result<Board, Issues> {
    let line_at = |offset: usize| text[..offset.min(text.len())].matches('\n').count() + 1;
    let file: File = toml::from_str(text).map_err(|e| {
        let line = e.span().map_or(0, |s| line_at(s.start));
        // The parser's message may have several lines, of which the first says what is wrong.
        let message = e.message().lines().next().unwrap_or_default().to_owned();
        Issue { path: path.into(), line, text: message }
    })?;
    fn place<T: Row>(row: Spanned<T>, line_at: impl Fn(usize) -> usize) -> T {
        let line = line_at(row.span().start);
        let mut row = row.into_inner();
        row.set_line(line);
        row
    }
    Ok(Board {
        name: file.name,
        title: file.title,
        part: file.part,
        board_part: file.board_part,
        configuration: file.configuration,
        core_clock: file.core_clock,
        sources: file.sources,
        open: file.open,
        origins: file.origin,
        device: place(file.device, line_at),
        pcie: place(file.pcie, line_at),
        macs: file.mac.into_iter().map(|m| place(m, line_at)).collect(),
        clocks: file.clock.into_iter().map(|c| place(c, line_at)).collect(),
        free_running: place(file.free_running, line_at),
        limits: place(file.limits, line_at),
        banks: file.banks.map(|b| place(b, line_at)).unwrap_or_default(),
        bitstream: place(file.bitstream, line_at),
        flash: place(file.flash, line_at),
        pins: file
            .pins
            .into_iter()
            .map(|(group, pins)| (group, pins.into_iter().map(|p| place(p, line_at)).collect()))
            .collect(),
        path: path.into(),
        text: text.into(),
    })
}
