//! The card through VFIO: binding, one owner, memory, an interrupt, a kick, reset, killed owners, the end.

use crate::checks::Checks;
use crate::{machine, refused, victim};
use anyhow::{bail, ensure, Context, Result};
use rustix::process::{kill_process, Pid, Signal};
use spindle::moderation::vector;
use spindle::rule_table::Action;
use spindle::transport::pci::{Function, VFIO_PCI};
use spindle::transport::vfio::VfioCard;
use spindle::window::WindowOptions;
use spindle::{irq, Bar, Card, Device, Error, EventKind, HostMemory, Image, InterruptOptions, SharedCard};
use spindle_contract::registers::{doorbell, doorbell_command, doorbell_error, node, PAGE};
use spindle_contract::wire;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest wait for a simulated card, in seconds and in its cycles.
const PATIENCE: Duration = Duration::from_secs(60);
const CYCLES: u64 = 2_000_000;
/// The process whose window is used.
const PROCESS: usize = 0;

/// The window.
fn window() -> WindowOptions {
    WindowOptions { address: 0x1000, key: 7, threshold: 4096, ..WindowOptions::default() }
}

type Nic = Device<SharedCard, SharedCard>;

/// Runs the checks.
pub fn check(checks: &mut Checks, address: &str) {
    checks.run("bind", || bind(address));
    let Some(card) = checks.run("open", || open(address)) else { return };
    checks.run("one owner", || one_owner(address));
    checks.run("interrupts are eventfds", || vectors(&card));
    checks.run("register by eventfd", || register(&card));
    if let Some(mut nic) = checks.run("driver", || driver(&card)) {
        checks.run("kick", || kick(&mut nic, &card));
        checks.run("load", || load(&mut nic));
        checks.run("packet and interrupt", || packet(&mut nic, &card));
        checks.run("buffer and interrupt", || buffer(&mut nic, &card));
        checks.run("program memory", || program_memory(&mut nic, &card));
    }
    checks.run("reset", || reset(&card));
    checks.run("end", || end(card, address));
    checks.run("permission", || refused::permission(address));
    checks.run("memory limit", || refused::memory_limit(address));
    checks.run("killed owners", || victim::kill_some(address, 5));
    checks.run("command line", || command_line(address));
    checks.run("taken back", || refused::taken_back(address));
}

fn bind(address: &str) -> Result<((), String)> {
    let function = Function::find(Path::new("/"), address)?;
    let group = function.group().context("the function is in no IOMMU group")?;
    // Unbound, the card is refused with the commands that bind it.
    let refusal = VfioCard::open(address).err().context("an unbound card was opened")?.to_string();
    ensure!(refusal.contains("it is bound to no driver; bind it to vfio-pci"), "{refusal}");
    function.bind(VFIO_PCI)?;
    Ok(((), format!("vfio-pci, IOMMU group {group}")))
}

fn open(address: &str) -> Result<(SharedCard, String)> {
    let mut card = VfioCard::open(address)?;
    let memory = card.alloc(4096, 4096)?;
    HostMemory::write(&mut card, memory, b"spindle")?;
    let (identity, vectors) = (card.identity(), card.vectors());
    ensure!(vectors > 0, "the card has no interrupts");
    Ok((
        SharedCard::new(card),
        format!("{} {}, memory at {memory:#x}, {vectors} vectors", identity.transport, identity.address),
    ))
}

fn one_owner(address: &str) -> Result<((), String)> {
    match VfioCard::open(address) {
        Err(error @ Error::Busy { .. }) => Ok(((), error.to_string())),
        Err(error) => bail!("another error: {error}"),
        Ok(_) => bail!("a card with an owner was opened again"),
    }
}

fn vectors(card: &SharedCard) -> Result<((), String)> {
    let count = card.lock().vectors();
    for vector in 0..count {
        let event = card.lock().interrupt(vector)?;
        ensure!(irq::wait(&event, Duration::ZERO)? == 0, "vector {vector} fires without a cause");
    }
    let absent = card.lock().interrupt(count).err().context("a vector too many was given")?;
    Ok(((), format!("{count}, quiet; {absent}")))
}

fn register(card: &SharedCard) -> Result<((), String)> {
    let register = node::BASE + node::LOCAL_NID;
    let mut bar = card.clone();
    let before = bar.read32(register)?;
    let value = before ^ 0x155;
    let event = card.lock().kick(register, value)?.context("VFIO has no ioeventfd")?;
    ensure!(irq::signal(&event), "the eventfd takes no event");
    let start = Instant::now();
    while bar.read32(register)? != value {
        ensure!(start.elapsed() < PATIENCE, "the register was not written");
    }
    let seen = format!("the kernel wrote a register {} µs after the eventfd", start.elapsed().as_micros());
    bar.write32(register, before)?;
    Ok(((), seen))
}

/// A program that has an eventfd alone arms its interrupt: the kernel writes KICK, and the card reads the shadow line.
fn kick(nic: &mut Nic, card: &SharedCard) -> Result<((), String)> {
    let mut ring = nic.open_ring(PROCESS, 64)?;
    let shadow = nic.open_shadow(PROCESS)?;
    let window = nic.open_window(PROCESS, &window())?;
    nic.post_buffer(window, 4096)?;
    nic.set_interrupt(PROCESS, Some(InterruptOptions::default()))?;
    let event = card.lock().interrupt(vector(PROCESS))?;
    // The event is there before the interrupt is armed, so the kick alone makes it fire.
    nic.inc_epoch(window)?;
    ensure!(irq::wait(&event, Duration::from_millis(200))? == 0, "an interrupt that is not armed fires");
    nic.shadow_head(&shadow, &ring, true)?;
    let page = doorbell::BASE + PROCESS as u32 * PAGE;
    let bell = card.lock().kick(page + doorbell::KICK, 1)?.context("VFIO has no ioeventfd")?;
    let start = Instant::now();
    ensure!(irq::signal(&bell), "the eventfd takes no event");
    ensure!(irq::wait(&event, PATIENCE)? > 0, "no interrupt came: the card has not read its shadow line");
    let seen = format!("KICK by the kernel, and the interrupt {} ms after the eventfd", start.elapsed().as_millis());
    let happened = nic.wait_event(&mut ring, CYCLES)?;
    ensure!(matches!(happened.kind, EventKind::Buffer { .. }), "another event: {happened:?}");
    nic.set_interrupt(PROCESS, None)?;
    nic.close_shadow(shadow)?;
    nic.close_window(window)?;
    nic.close_ring(ring)?;
    Ok(((), seen))
}

fn driver(card: &SharedCard) -> Result<(Nic, String)> {
    let start = Instant::now();
    let nic = Device::open(card.clone(), card.clone())?;
    let info = *nic.info();
    let seen =
        format!("{} HPUs, {} processes, in {} ms", info.total_hpus(), info.processes, start.elapsed().as_millis());
    Ok((nic, seen))
}

fn load(nic: &mut Nic) -> Result<((), String)> {
    let image = Image::parse(&std::fs::read("/ping_pong.elf")?)?;
    let context = nic.install(&image, &spindle::ContextOptions::default())?;
    nic.activate(context)?;
    Ok(((), format!("ping_pong.elf is context {}", context.0)))
}

/// A packet of the card's wire meets a handler that faults: the card's own interrupt, and the report.
fn packet(nic: &mut Nic, card: &SharedCard) -> Result<((), String)> {
    let image = Image::parse(&std::fs::read("/foreign_access.elf")?)?;
    let context = nic.install(&image, &spindle::ContextOptions::default())?;
    nic.activate(context)?;
    nic.add_rule(&"icmp".parse()?, Action::Context(context))?;
    let event = card.lock().interrupt(0)?;
    let start = Instant::now();
    nic.set_receive(true)?;
    ensure!(irq::wait(&event, PATIENCE)? > 0, "no interrupt came");
    let took = start.elapsed();
    let fault = nic.pop_fault()?.context("the card interrupts, and has no fault report")?;
    ensure!(fault.context == context, "another fault: {fault:?}");
    nic.set_receive(false)?;
    Ok(((), format!("MSI-X vector 0, {} ms after reception began; the fault is that of the handler", took.as_millis())))
}

/// Posts a buffer, takes it back, and waits for the interrupt of the event.
fn buffer(nic: &mut Nic, card: &SharedCard) -> Result<((), String)> {
    let mut bar = card.clone();
    let event = card.lock().interrupt(1 + PROCESS)?;
    let mut ring = nic.open_ring(PROCESS, 64)?;
    let window = nic.open_window(PROCESS, &window())?;
    let posted = nic.post_buffer(window, 4096)?;
    let page = doorbell::BASE + PROCESS as u32 * PAGE;
    bar.write32(page + doorbell::IRQ, doorbell::Irq::ZERO.with_events(1).with_enable(true).0)?;
    bar.write32(page + doorbell::EVENT_HEAD, doorbell::EventHead::ZERO.with_arm(true).0)?;
    let start = Instant::now();
    nic.inc_epoch(window)?;
    let came = irq::wait(&event, PATIENCE)? > 0;
    let took = start.elapsed();
    let happened = nic.wait_event(&mut ring, CYCLES)?;
    let record = nic.wait(&posted, CYCLES)?;
    nic.close_window(window)?;
    nic.close_ring(ring)?;
    ensure!(came, "no interrupt came");
    ensure!(matches!(happened.kind, EventKind::Buffer { length: 0, .. }), "another event: {happened:?}");
    ensure!(record.status == wire::status::PARTIAL && record.buffer == posted.buffer, "another record: {record:?}");
    let vector = 1 + PROCESS;
    Ok(((), format!("MSI-X vector {vector}, {} ms after the command; event and record are right", took.as_millis())))
}

/// The card writes a record into memory of the program, at the program's own address.
fn program_memory(nic: &mut Nic, card: &SharedCard) -> Result<((), String)> {
    let memory = machine::Bytes::new(3 * 4096, 0xA5);
    let record = memory.address().next_multiple_of(4096) + 64;
    let range = record..record + 4096;
    card.lock().map(&range)?;
    let window = nic.open_window(PROCESS, &WindowOptions { threshold: 64, ..window() })?;
    let (page, mut bar) = (doorbell::BASE + PROCESS as u32 * PAGE, card.clone());
    for (register, value) in [
        (doorbell::MAILBOX, window.mailbox),
        (doorbell::BUFFER_LO, (record + 64) as u32),
        (doorbell::BUFFER_HI, ((record + 64) >> 32) as u32),
        (doorbell::SIZE, 1024),
        (doorbell::RECORD_LO, record as u32),
        (doorbell::RECORD_HI, (record >> 32) as u32),
        (doorbell::COMMAND, doorbell_command::POST_BUFFER),
    ] {
        bar.write32(page + register, value)?;
    }
    let start = Instant::now();
    let result = loop {
        let result: doorbell::Result = doorbell::Result(bar.read32(page + doorbell::RESULT)?);
        if !result.busy() {
            break result;
        }
        ensure!(start.elapsed() < PATIENCE, "the command does not end");
    };
    ensure!(result.error() == doorbell_error::NONE, "the buffer was refused with code {}", result.error());
    nic.close_window(window)?;
    let (start, status) = (Instant::now(), record + wire::RECORD_STATUS as u64);
    while memory.byte(status) == 0xA5 {
        ensure!(start.elapsed() < PATIENCE, "the record was not written");
    }
    card.lock().unmap(&range)?;
    ensure!(card.lock().unmap(&range).is_err(), "memory was taken back twice");
    ensure!(memory.byte(status) == wire::status::CANCELLED, "the record has status {}", memory.byte(status));
    let outside = memory.range().filter(|at| !(record..record + wire::RECORD_BYTES as u64).contains(at));
    ensure!(outside.into_iter().all(|at| memory.byte(at) == 0xA5), "a byte outside of the record has changed");
    Ok(((), format!("a record came to {record:#x}, the program's own address")))
}

fn reset(card: &SharedCard) -> Result<((), String)> {
    let (mut bar, register) = (card.clone(), node::BASE + node::LOCAL_NID);
    bar.write32(register, 0x155)?;
    ensure!(bar.read32(register)? == 0x155, "a register does not keep its value");
    let start = Instant::now();
    card.lock().reset()?;
    let took = start.elapsed();
    ensure!(bar.read32(register)? == 0, "the reset left a register as it was");
    Ok(((), format!("registers are fresh after {} ms", took.as_millis())))
}

fn end(card: SharedCard, address: &str) -> Result<((), String)> {
    drop(card);
    let config = std::fs::read(Function::find(Path::new("/"), address)?.folder().join("config"))?;
    ensure!(config[4] & 4 == 0, "the bus master is on");
    Ok(((), "no bus master".into()))
}

/// The command of users, on the same card: it binds, loads and resets as the checks above do.
fn command_line(address: &str) -> Result<((), String)> {
    let mut seen = Vec::new();
    for call in ["bind", "info", "reset"] {
        let output = Command::new("/spindle").args([call, "--card", address]).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "`spindle {call}` ended with {}: {text}{error}", output.status);
        seen.push(format!("`spindle {call}`: {} lines", text.lines().count()));
    }
    // With --stay the command has the card until Ctrl-C.
    let load = ["load", "/ping_pong.elf", "--match", "udp", "--stay", "--card", address];
    let mut child = Command::new("/spindle").args(load).stdout(Stdio::piped()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().context("it has an output")?).read_line(&mut line)?;
    kill_process(Pid::from_child(&child), Signal::INT)?;
    let status = child.wait()?;
    ensure!(status.success() && !line.is_empty(), "`spindle load --stay` ended with {status}: {line}");
    seen.push(format!("`spindle load --stay`: {}", line.trim()));
    Ok(((), seen.join(", ")))
}
