//! `wave.svg`: a few signals of a wave, with marks where a frame comes in and its answer leaves.
//!
//! `wave.toml` names the run, the signals and the marks. `wave.vcd` has these signals alone, in the cycles of the picture.

use super::svg::{Anchor, Svg};
use crate::process::{cargo, target_folder};
use anyhow::{ensure, Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::Path;
use vcd::{Command, ScopeItem, Value};

#[derive(Deserialize)]
struct Wave {
    title: String,
    /// Arguments of `spindle run`, without those for the wave.
    run: Vec<String>,
    /// First cycle, and the cycle after the last.
    window: [u64; 2],
    row: Vec<Row>,
    mark: Vec<Mark>,
}

#[derive(Deserialize)]
struct Row {
    signal: String,
    label: String,
    /// What passes here, for a stranger.
    note: String,
    /// A signal of several bits: the value is shown while this signal is 1.
    valid: Option<String>,
    /// Bits of the value, from the first up to the second without it: all if absent.
    #[serde(default)]
    bits: Option<[usize; 2]>,
    /// How a value is written.
    #[serde(default)]
    format: Format,
    /// Registers between the event and this signal: the row is drawn as many cycles earlier.
    #[serde(default)]
    delay: u64,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Bit,
    Hexadecimal,
    /// A box from the rise of the first bit to the rise of the second.
    Span,
}

/// A vertical line where a signal rises.
#[derive(Deserialize)]
struct Mark {
    signal: String,
    /// Bit of the signal.
    #[serde(default)]
    bit: usize,
    /// As of a row.
    #[serde(default)]
    delay: u64,
    text: String,
}

/// Values of a signal from their cycles on; bits from the lowest on.
type Values = Vec<(u64, Vec<bool>)>;

fn source(folder: &Path) -> Result<Wave> {
    let path = folder.join("wave.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| format!("{} is wrong", path.display()))
}

impl Wave {
    /// Every signal that the picture needs.
    fn signals(&self) -> Vec<&str> {
        let rows = self.row.iter().flat_map(|row| [Some(row.signal.as_str()), row.valid.as_deref()]);
        let mut names: Vec<&str> = rows.flatten().chain(self.mark.iter().map(|mark| mark.signal.as_str())).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Runs the simulated NIC and writes `wave.vcd`.
pub fn record(folder: &Path) -> Result<()> {
    let wave = source(folder)?;
    let whole = target_folder().join("wave.vcd");
    let mut arguments = wave.run.clone();
    let window = format!("{}..{}", wave.window[0], wave.window[1]);
    arguments.extend(["--vcd-window".into(), window, "--vcd".into(), whole.to_string_lossy().into_owned()]);
    cargo(["run", "--quiet", "--package", "spindle-cli", "--", "run"], &arguments)?;
    let input = File::open(&whole).with_context(|| format!("cannot read {}", whole.display()))?;
    let output = BufWriter::new(File::create(folder.join("wave.vcd"))?);
    select(BufReader::new(input), output, &wave.signals())
}

/// Copies the signals `names` of a wave, and no others.
fn select(input: impl std::io::BufRead, output: impl std::io::Write, names: &[&str]) -> Result<()> {
    let mut parser = vcd::Parser::new(input);
    let mut writer = vcd::Writer::new(output);
    let header = parser.parse_header()?;
    if let Some((number, unit)) = header.timescale {
        writer.timescale(number, unit)?;
    }
    let variables = variables(&header.items);
    let mut codes = BTreeMap::new();
    for name in names {
        let variable = variables.get(*name).with_context(|| format!("the wave has no signal {name}"))?;
        let scopes: Vec<&str> = name.split('.').collect();
        for scope in &scopes[..scopes.len() - 1] {
            writer.add_module(scope)?;
        }
        codes.insert(variable.0, writer.add_wire(variable.1, scopes[scopes.len() - 1])?);
        for _ in 1..scopes.len() {
            writer.upscope()?;
        }
    }
    writer.enddefinitions()?;
    let mut time = None;
    for command in parser {
        match command? {
            Command::Timestamp(now) => time = Some(now),
            Command::ChangeScalar(code, value) => {
                if let Some(code) = codes.get(&code) {
                    if let Some(now) = time.take() {
                        writer.timestamp(now)?;
                    }
                    writer.change_scalar(*code, value)?;
                }
            }
            Command::ChangeVector(code, value) => {
                if let Some(code) = codes.get(&code) {
                    if let Some(now) = time.take() {
                        writer.timestamp(now)?;
                    }
                    writer.change_vector(*code, &value)?;
                }
            }
            _ => (),
        }
    }
    Ok(())
}

/// Code and width of each variable, by its path without the outermost scope's brackets.
fn variables(items: &[ScopeItem]) -> BTreeMap<String, (vcd::IdCode, u32)> {
    fn walk(prefix: &str, items: &[ScopeItem], found: &mut BTreeMap<String, (vcd::IdCode, u32)>) {
        let path = |name: &str| if prefix.is_empty() { name.to_string() } else { format!("{prefix}.{name}") };
        for item in items {
            match item {
                ScopeItem::Scope(scope) => walk(&path(&scope.identifier), &scope.items, found),
                ScopeItem::Var(variable) => _ = found.insert(path(&variable.reference), (variable.code, variable.size)),
                _ => (),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk("", items, &mut found);
    found
}

/// The values of every signal of a wave, by cycle.
fn values(input: impl std::io::BufRead, period: u64) -> Result<BTreeMap<String, Values>> {
    let mut parser = vcd::Parser::new(input);
    let header = parser.parse_header()?;
    let mut by_code: BTreeMap<vcd::IdCode, Values> = BTreeMap::new();
    let mut cycle = 0;
    for command in parser {
        match command? {
            // The rising edge that ends a cycle is in its middle, so what changes there is seen in the next one.
            Command::Timestamp(time) => cycle = time.div_ceil(period),
            Command::ChangeScalar(code, value) => enter(&mut by_code, code, cycle, vec![value == Value::V1]),
            Command::ChangeVector(code, value) => {
                let bits: Vec<bool> = value.iter().map(|value| value == Value::V1).collect();
                enter(&mut by_code, code, cycle, bits.into_iter().rev().collect());
            }
            _ => (),
        }
    }
    let named = variables(&header.items).into_iter();
    Ok(named.map(|(name, (code, _))| (name, by_code.get(&code).cloned().unwrap_or_default())).collect())
}

/// The last value of a cycle counts.
fn enter(by_code: &mut BTreeMap<vcd::IdCode, Values>, code: vcd::IdCode, cycle: u64, value: Vec<bool>) {
    let values = by_code.entry(code).or_default();
    if values.last().is_some_and(|(last, _)| *last == cycle) {
        values.pop();
    }
    values.push((cycle, value));
}

fn at(values: &Values, cycle: u64) -> &[bool] {
    let index = values.partition_point(|(from, _)| *from <= cycle);
    index.checked_sub(1).map_or(&[], |index| &values[index].1)
}

fn is_one(values: &Values, bit: usize, cycle: u64) -> bool {
    at(values, cycle).get(bit).copied().unwrap_or_default()
}

pub fn draw(folder: &Path) -> Result<String> {
    let wave = source(folder)?;
    let path = folder.join("wave.vcd");
    let file = File::open(&path)
        .with_context(|| format!("cannot read {}; run `cargo xtask pictures --record`", path.display()))?;
    let values = values(BufReader::new(file), PERIOD).with_context(|| format!("{} is no wave", path.display()))?;
    render(&wave, &values)
}

/// Time of a cycle in the wave: 4 ns in picoseconds, that of a configuration with 250 MHz.
const PERIOD: u64 = 4_000;
/// Geometry: left edge of the waves, width of a cycle, height of a row.
const LEFT: f64 = 300.0;
const WIDTH: f64 = 900.0;
const ROW: f64 = 40.0;

fn render(wave: &Wave, values: &BTreeMap<String, Values>) -> Result<String> {
    let [first, end] = wave.window;
    ensure!(first < end, "the window of the picture is empty");
    let step = WIDTH / (end - first) as f64;
    let x = |cycle: u64| LEFT + (cycle - first) as f64 * step;
    let find = |name: &str, delay: u64| -> Result<Values> {
        let values = values.get(name).with_context(|| format!("the wave has no signal {name}"))?;
        Ok(values.iter().map(|(cycle, value)| (cycle.saturating_sub(delay), value.clone())).collect())
    };
    let rise = |signal: &str, bit: usize, delay: u64| -> Result<u64> {
        let values = find(signal, delay)?;
        let rises = |cycle: &u64| is_one(&values, bit, *cycle) && !(*cycle > first && is_one(&values, bit, cycle - 1));
        (first..end).find(rises).with_context(|| format!("bit {bit} of {signal} does not rise in the picture"))
    };
    let marks = wave.mark.iter().map(|mark| rise(&mark.signal, mark.bit, mark.delay)).collect::<Result<Vec<u64>>>()?;
    let zero = marks.first().copied().unwrap_or(first);
    let is_right = |cycle: &u64| x(*cycle) > LEFT + 0.6 * WIDTH;
    let right = marks.iter().filter(|cycle| is_right(cycle)).count();
    let top = 26.0 + 18.0 * right.max(marks.len() - right) as f64;
    let bottom = top + ROW * wave.row.len() as f64;
    let mut svg = Svg::new(&wave.title, LEFT + WIDTH + 16.0, bottom + 40.0);
    for cycle in (first..=end).filter(|cycle| cycle.abs_diff(zero) % 10 == 0) {
        svg.path("grid", &[(x(cycle), top), (x(cycle), bottom)]);
        svg.text("soft", x(cycle), bottom + 18.0, Anchor::Middle, &(cycle as i64 - zero as i64).to_string());
    }
    svg.text("soft", LEFT - 12.0, bottom + 18.0, Anchor::End, "cycle");
    for (mark, cycle) in wave.mark.iter().zip(&marks) {
        // A text on the right ends at its line, so a later line must end above it.
        let slot = match is_right(cycle) {
            false => marks.iter().filter(|other| !is_right(other) && *other < cycle).count(),
            true => marks.iter().filter(|other| *other > cycle).count(),
        };
        let height = 16.0 + 18.0 * slot as f64;
        svg.path("guide", &[(x(*cycle), height + 5.0), (x(*cycle), bottom)]);
        let text = if *cycle == zero { mark.text.clone() } else { format!("{}: {}", cycle - zero, mark.text) };
        let (anchor, edge) = if is_right(cycle) { (Anchor::End, -2.0) } else { (Anchor::Start, 2.0) };
        svg.text("mark", x(*cycle) + edge, height, anchor, &text);
    }
    for (index, row) in wave.row.iter().enumerate() {
        let (high, low) = (top + ROW * index as f64 + 8.0, top + ROW * (index + 1) as f64 - 8.0);
        svg.text("code", LEFT - 12.0, (high + low) / 2.0 - 2.0, Anchor::End, &row.label);
        svg.text("soft", LEFT - 12.0, (high + low) / 2.0 + 13.0, Anchor::End, &row.note);
        let signal = find(&row.signal, row.delay)?;
        match row.format {
            Format::Bit => line(&mut svg, &signal, row.bits.map_or(0, |bits| bits[0]), wave.window, &x, (high, low)),
            Format::Span => {
                let [from, to] = row.bits.context("a span has two bits")?;
                let (from, to) = (rise(&row.signal, from, row.delay)?, rise(&row.signal, to, row.delay)?);
                let shown = |cycle: u64| (from..to).contains(&cycle).then(|| format!("handler, {} cycles", to - from));
                boxes(&mut svg, &shown, wave.window, &x, (high, low));
            }
            format => {
                let valid = row.valid.as_deref().map(|valid| find(valid, row.delay)).transpose()?;
                let shown = |cycle: u64| -> Option<String> {
                    if valid.as_ref().is_some_and(|valid| !is_one(valid, 0, cycle)) {
                        return None;
                    }
                    let bits = at(&signal, cycle);
                    let [from, to] = row.bits.unwrap_or([0, bits.len()]);
                    bits.get(from..to).map(|bits| text(bits, format))
                };
                boxes(&mut svg, &shown, wave.window, &x, (high, low));
            }
        }
    }
    Ok(svg.finish())
}

/// One bit as a line that is high or low.
fn line(
    svg: &mut Svg,
    signal: &Values,
    bit: usize,
    [first, end]: [u64; 2],
    x: &impl Fn(u64) -> f64,
    (high, low): (f64, f64),
) {
    let height = |cycle: u64| if is_one(signal, bit, cycle) { high } else { low };
    let mut points = vec![(x(first), height(first))];
    for cycle in first + 1..end {
        if height(cycle) != height(cycle - 1) {
            points.extend([(x(cycle), height(cycle - 1)), (x(cycle), height(cycle))]);
        }
    }
    points.push((x(end), height(end - 1)));
    svg.path("wave", &points);
}

/// Values as boxes, a line in the middle where there is none.
fn boxes(
    svg: &mut Svg,
    shown: &impl Fn(u64) -> Option<String>,
    [first, end]: [u64; 2],
    x: &impl Fn(u64) -> f64,
    (high, low): (f64, f64),
) {
    let mut cycle = first;
    while cycle < end {
        let value = shown(cycle);
        let next = (cycle + 1..end).find(|next| shown(*next) != value).unwrap_or(end);
        let (left, right, middle) = (x(cycle), x(next), (high + low) / 2.0);
        match value {
            None => svg.path("wave", &[(left, middle), (right, middle)]),
            Some(text) => {
                let edge = 3.0f64.min((right - left) / 4.0);
                let upper = [(left, middle), (left + edge, high), (right - edge, high), (right, middle)];
                svg.polygon("bus", &[&upper[..], &[(right - edge, low), (left + edge, low)]].concat());
                let room = ((right - left - 2.0 * edge) / 7.3) as usize;
                if text.len() <= room {
                    svg.text("code", (left + right) / 2.0, middle + 4.0, Anchor::Middle, &text);
                }
            }
        }
        cycle = next;
    }
}

fn text(bits: &[bool], format: Format) -> String {
    let number = |bits: &[bool]| bits.iter().rev().fold(0u8, |number, bit| number << 1 | u8::from(*bit));
    match format {
        Format::Bit | Format::Span => String::new(),
        Format::Hexadecimal => bits.chunks(4).rev().map(|digit| format!("{:x}", number(digit))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VCD: &str =
        "$timescale 1 ps $end\n$scope module nic $end\n$var wire 1 ! go $end\n$var wire 8 \" data [7:0] $end\n\
                       $var wire 1 # other $end\n$upscope $end\n$enddefinitions $end\n\
                       #0\n0!\nb00000001 \"\n0#\n#4000\n1!\n#8000\n0!\nb10100101 \"\n1#\n";

    fn wave(signal: &str) -> Wave {
        toml::from_str(&format!(
            "title = 't'\nrun = []\nwindow = [0, 4]\n[[row]]\nsignal = 'nic.data'\nlabel = 'data'\nnote = 'n'\nformat = 'hexadecimal'\n\
             [[row]]\nsignal = 'nic.go'\nlabel = 'go'\nnote = 'n'\n[[mark]]\nsignal = '{signal}'\ntext = 'here'\n"
        ))
        .unwrap()
    }

    #[test]
    fn values_and_marks_stand_in_their_cycles() {
        let values = values(VCD.as_bytes(), PERIOD).unwrap();
        assert_eq!(text(at(&values["nic.data"], 1), Format::Hexadecimal), "01");
        assert_eq!(text(at(&values["nic.data"], 3), Format::Hexadecimal), "a5");
        let picture = render(&wave("nic.go"), &values).unwrap();
        let line = LEFT + WIDTH / 4.0;
        assert!(picture.contains(&format!(r#"<text class="mark" x="{}""#, line + 2.0)), "{picture}");
        assert!(picture.contains(">a5<") && picture.contains(">01<"), "{picture}");
        assert!(render(&wave("nic.none"), &values).unwrap_err().to_string().contains("nic.none"));
    }

    #[test]
    fn what_changes_at_the_rising_edge_is_seen_in_the_next_cycle() {
        let values = values(VCD.replace("#4000", "#2000").as_bytes(), PERIOD).unwrap();
        assert_eq!(values["nic.go"], [(0, vec![false]), (1, vec![true]), (2, vec![false])]);
        // A mark one register later than its event is drawn in the cycle of the event.
        let mut late = wave("nic.go");
        late.mark[0].delay = 1;
        let picture = render(&late, &values).unwrap();
        assert!(picture.contains(&format!(r#"<text class="mark" x="{}""#, LEFT + 2.0)), "{picture}");
    }

    #[test]
    fn a_copy_has_the_chosen_signals_alone() {
        let mut copy = Vec::new();
        select(VCD.as_bytes(), &mut copy, &["nic.data", "nic.go"]).unwrap();
        let (all, chosen) = (values(VCD.as_bytes(), PERIOD).unwrap(), values(&copy[..], PERIOD).unwrap());
        assert_eq!(chosen.len(), 2);
        assert!(chosen.iter().all(|(name, values)| all[name] == *values), "{chosen:?}");
        assert!(select(VCD.as_bytes(), Vec::new(), &["nic.none"]).is_err());
    }
}
