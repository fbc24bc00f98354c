//! The picture of `spindle top`.

use crate::card::live::Live;
use crate::card::stats::{load, short};
use anyhow::Result;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, Paragraph, Row, Table};
use ratatui::Frame;
use spindle::counters::{ContextCounters, Counters};

/// Counters whose rates are shown: page, name, label.
const RATES: [(&str, &str, &str); 12] = [
    ("packet", "frames_in", "frames in"),
    ("packet", "bytes_in", "bytes in"),
    ("packet", "frames_out", "frames out"),
    ("packet", "bytes_out", "bytes out"),
    ("packet", "frames_handled", "frames handled"),
    ("packet", "frames_placed", "frames placed"),
    ("packet", "messages_done", "messages done"),
    ("hpu", "tasks_done", "tasks"),
    ("hpu", "tasks_faulted", "faults"),
    ("hpu", "instret", "instructions"),
    ("rvma", "completions", "buffers completed"),
    ("node", "segments_resent", "segments sent again"),
];
/// States of the card that are shown.
const LEVELS: [(&str, &str, &str); 4] = [
    ("packet", "messages_open", "live messages"),
    ("packet", "cells_free", "packet cells free"),
    ("rvma", "mailboxes", "mailboxes open"),
    ("rvma", "buffers", "buffers posted"),
];
/// Width of the bar of an HPU.
const BAR: usize = 10;
/// Columns that an HPU takes.
const HPU_COLUMNS: usize = 24;

/// What is shown.
pub struct Screen {
    address: String,
    clock_mhz: u32,
    hpus_of_cluster: usize,
    contexts: Vec<(usize, String, u8)>,
    now: Counters,
    before: Option<Counters>,
}

impl Screen {
    /// Of a card, with a first reading.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn new(live: &mut Live) -> Result<Screen> {
        let contexts = live.device.residents().iter();
        Ok(Screen {
            address: live.identity.address.clone(),
            clock_mhz: live.device.info().clock_mhz,
            hpus_of_cluster: live.device.info().hpus,
            contexts: contexts.map(|r| (r.context.0, r.name.clone(), r.process)).collect(),
            now: live.device.counters()?,
            before: None,
        })
    }

    /// Reads the card again.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn read(&mut self, live: &mut Live) -> Result<()> {
        let now = live.device.counters()?;
        self.before = Some(std::mem::replace(&mut self.now, now));
        Ok(())
    }

    /// Draws all of it; what has no room is cut.
    pub fn draw(&self, frame: &mut Frame) {
        let hpu_lines = self.hpus(frame.area().width as usize);
        let height = (RATES.len() + LEVELS.len()).div_ceil(2) as u16;
        let [head, rates, hpus, rest] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(height + 2),
            Constraint::Length(hpu_lines.len() as u16 + 2),
            Constraint::Min(4),
        ])
        .areas(frame.area());
        let bold = Style::new().add_modifier(Modifier::BOLD);
        frame.render_widget(Paragraph::new(self.head()).style(bold), head);
        self.draw_rates(frame, rates);
        frame.render_widget(Paragraph::new(hpu_lines).block(Block::bordered().title("HPUs")), hpus);
        let [drops, contexts] = Layout::horizontal([2, 3].map(Constraint::Fill)).areas(rest);
        self.draw_drops(frame, drops);
        self.draw_contexts(frame, contexts);
    }

    fn head(&self) -> String {
        format!("{}  cycle {}  {} MHz  q ends", self.address, self.now.cycle, self.clock_mhz)
    }

    /// Seconds of the card between the two readings.
    fn interval(&self) -> f64 {
        let before = self.before.as_ref().map_or(self.now.cycle, |before| before.cycle);
        self.now.cycle.saturating_sub(before) as f64 / (f64::from(self.clock_mhz.max(1)) * 1e6)
    }

    fn per_second(&self, grown: u64) -> String {
        match self.interval() {
            time if time > 0.0 => format!("{}/s", short(grown as f64 / time)),
            _ => "-".into(),
        }
    }

    fn draw_rates(&self, frame: &mut Frame, area: Rect) {
        let rates = RATES.iter().map(|(page, name, label)| {
            let total = self.now.get(page, name).map_or(0, |counter| counter.value);
            let grown = self.before.as_ref().map_or(0, |before| self.now.grown(before, page, name));
            (*label, total.to_string(), self.per_second(grown))
        });
        let levels = LEVELS.iter().map(|(page, name, label)| {
            let value = self.now.get(page, name).map_or(0, |counter| counter.value);
            (*label, value.to_string(), String::new())
        });
        let cells: Vec<_> = rates.chain(levels).collect();
        let half = cells.len().div_ceil(2);
        let rows = (0..half).map(|i| {
            let (left, right) = (&cells[i], cells.get(half + i));
            let (label, total, rate) = right.map_or(("", "", ""), |(l, t, r)| (l, t, r));
            Row::new([left.0, &left.1, &left.2, label, total, rate].map(str::to_owned))
        });
        let widths = [20, 14, 12, 20, 14, 12].map(Constraint::Length);
        frame.render_widget(Table::new(rows, widths).block(Block::bordered().title("card")), area);
    }

    /// A bar for each HPU, as many on a line as fit.
    fn hpus(&self, width: usize) -> Vec<Line<'static>> {
        let bars: Vec<String> = (0..self.now.hpus.len())
            .map(|hpu| {
                let load = self.before.as_ref().map_or(0.0, |before| load(&self.now, before, hpu));
                let full = (load.min(1.0) * BAR as f64).round() as usize;
                let name = format!("{}.{}", hpu / self.hpus_of_cluster, hpu % self.hpus_of_cluster);
                format!("{name:>4} {}{} {:>4.0} %", "█".repeat(full), "·".repeat(BAR - full), 100.0 * load)
            })
            .collect();
        let across = (width.saturating_sub(2) / HPU_COLUMNS).max(1);
        bars.chunks(across)
            .map(|bars| Line::from(bars.iter().map(|bar| format!("{bar:<HPU_COLUMNS$}")).collect::<String>()))
            .collect()
    }

    fn draw_drops(&self, frame: &mut Frame, area: Rect) {
        let rows =
            self.now.drop_reasons().enumerate().filter(|(_, (_, count))| *count > 0).map(|(i, (name, count))| {
                let grown = self.before.as_ref().map_or(0, |before| count.wrapping_sub(before.drops[i]).into());
                Row::new([name.to_owned(), count.to_string(), self.per_second(grown)])
            });
        let widths = [17, 10, 9].map(Constraint::Length);
        frame.render_widget(Table::new(rows, widths).block(Block::bordered().title("frames dropped for")), area);
    }

    fn draw_contexts(&self, frame: &mut Frame, area: Rect) {
        // Residents, and contexts of programs once they have counted something.
        let rows = self.now.contexts.iter().zip(&self.now.live).enumerate().filter_map(|(context, (now, live))| {
            let resident = self.contexts.iter().find(|(number, ..)| *number == context);
            if resident.is_none() && *now == ContextCounters::default() {
                return None;
            }
            let (name, process) = resident.map(|(_, name, process)| (name.clone(), process.to_string())).unzip();
            let grown = now.since(self.before.as_ref().map_or(now, |before| &before.contexts[context]));
            Some(Row::new([
                context.to_string(),
                name.unwrap_or_else(|| "-".into()),
                process.unwrap_or_else(|| "-".into()),
                live.to_string(),
                self.per_second(grown.tasks.into()),
                self.per_second(grown.instructions),
                now.dropped().to_string(),
            ]))
        });
        let widths = [3, 12, 7, 4, 9, 9, 8].map(Constraint::Length);
        let table = Table::new(rows, widths)
            .header(Row::new(["no.", "name", "process", "live", "tasks", "instr.", "dropped"]))
            .block(Block::bordered().title("contexts"));
        frame.render_widget(table, area);
    }
}
