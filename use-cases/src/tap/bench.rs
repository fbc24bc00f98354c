//! The namespace, the served NIC, and the client.

use super::{Client, Measurement, NIC};
use anyhow::{anyhow, bail, ensure, Context, Result};
use rustix::thread::{unshare_unsafe, UnshareFlags};
use spindle::rule_table::Action;
use spindle::{ContextOptions, Device, HostMemory, Rule, SharedCard};
use spindle_contract::params::Config;
use spindle_sdk::handler;
use spindle_sdk::toolchain::Sources;
use spindle_sdk::variables::variable;
use spindle_sim::address;
use spindle_sim::serve::{Background, End, ServeOptions};
use std::io::Read;
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{sleep, JoinHandle};
use std::time::{Duration, Instant};

/// The interface at the other end of the NIC's wire.
const INTERFACE: &str = "spindle0";
/// The host's address there.
const HOST: &str = "10.78.0.1/24";
/// Number of the NIC's address.
const NUMBER: usize = 2;
/// Bound of a client.
const LIMIT: Duration = Duration::from_secs(60);
/// Between two looks whether a client has ended.
const LOOK: Duration = Duration::from_millis(5);
/// The card's time may lose this share of what its pace asks for, and be late by so many seconds, or measured times are too short.
const LOST: f64 = 0.02;
const LATE: f64 = 0.2;

/// How a client is run.
#[derive(Clone)]
pub struct Options {
    /// The NIC.
    pub config: Config,
    /// Its cycles per second; a machine that is too slow for them is an error, since times would be wrong. `None`: as many as the machine
    /// can, so that times are estimates, by the average.
    pub pace: Option<u64>,
    /// The handler is the client's broken one.
    pub broken: bool,
}

/// What became of a client.
pub enum Outcome {
    /// It cannot run here. A sentence says why, and what to do.
    Skipped(String),
    /// It ran, and all was as it must be.
    Measured(Measurement),
}

/// A client that has ended.
pub struct Reply {
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
    /// Folder of its files.
    pub folder: PathBuf,
    /// Nanoseconds of the simulation in a second of the machine.
    pub second: f64,
}

impl Reply {
    /// Nanoseconds of the simulation in so many seconds of the machine, by whose clock the client measures.
    pub fn ns(&self, seconds: f64) -> f64 {
        seconds * self.second
    }
}

/// Runs a client against the handler of a NIC of its own.
///
/// # Errors
/// The NIC cannot be served, the client fails or takes too long, or its output is wrong.
pub fn run(client: &'static Client, options: &Options) -> Result<Outcome> {
    let tools = match Tools::find(client) {
        Ok(tools) => tools,
        Err(sentence) => return Ok(Outcome::Skipped(sentence)),
    };
    let options = options.clone();
    // The namespace is that of one thread.
    let thread = std::thread::spawn(move || {
        // SAFETY: the flag concerns network namespaces alone, not the descriptors of this process.
        if let Err(error) = unsafe { unshare_unsafe(UnshareFlags::NEWNET) } {
            let sentence = "clients over TAP need root, or the rights CAP_SYS_ADMIN and CAP_NET_ADMIN";
            return Ok(Outcome::Skipped(format!("{sentence} ({error})")));
        }
        inside(client, &options, &tools).map(Outcome::Measured)
    });
    thread.join().map_err(|_| anyhow!("{}: the thread of the client has panicked", client.name))?
}

/// In the namespace.
fn inside(client: &Client, options: &Options, tools: &Tools) -> Result<Measurement> {
    let folder = tempfile::tempdir()?;
    let mut server = Server::start(client, options, folder.path())?;
    tools.interface()?;
    for datagram in client.malformed.1 {
        let socket = UdpSocket::bind(("0.0.0.0", 0))?;
        socket.send_to(datagram, (NIC, client.malformed.0))?;
    }
    (client.prepare)(folder.path())?;
    let place = folder.path().to_string_lossy();
    let arguments: Vec<String> = client.arguments.iter().map(|text| text.replace("{folder}", &place)).collect();
    let mut command = Command::new(&tools.program);
    command.args(&arguments).current_dir(folder.path()).env("LC_ALL", "C");
    let (begin, first) = (Instant::now(), server.device.cycle()?);
    let (status, output, errors) = finish(command)?;
    let (cycles, time) = (server.device.cycle()? - first, begin.elapsed().as_secs_f64());
    let said = || format!("{}\n{}", output.trim(), errors.trim());
    ensure!(status.success(), "{} fails ({status}):\n{}", client.program, said());
    let pace = options.pace.unwrap_or((cycles as f64 / time) as u64);
    ensure!(
        cycles as f64 > (time * (1.0 - LOST) - LATE) * pace as f64,
        "this machine is too slow for {pace} cycles per second: {cycles} in {time:.1} s; give a smaller --pace"
    );
    let second = pace as f64 * 1e3 / f64::from(options.config.clock_mhz);
    let reply = Reply { output, errors, folder: folder.path().into(), second };
    let values = (client.check)(&reply).with_context(|| {
        format!(
            "{} {} is not content:\n{}\n{}",
            client.program,
            arguments.join(" "),
            reply.output.trim(),
            reply.errors.trim()
        )
    })?;
    server.faultless()?;
    let command = format!("{} {}", client.program, client.arguments.join(" ").replace("{folder}/", ""));
    Ok(Measurement {
        client: client.name.into(),
        package: tools.version.clone(),
        command,
        config: options.config.name.into(),
        pace,
        commit: String::new(),
        values,
    })
}

/// A NIC with a handler, served to the TAP interface of the present namespace.
pub struct Server {
    device: Device<SharedCard, SharedCard>,
    _served: Background,
}

impl Server {
    /// Serves one, and loads the client's handler.
    ///
    /// # Errors
    /// The NIC cannot be built or served, or the handler cannot be compiled.
    pub fn start(client: &Client, options: &Options, folder: &Path) -> Result<Server> {
        let served = Background::start(ServeOptions {
            config: options.config,
            pace: options.pace,
            end: End::Tap(INTERFACE.into()),
            ..ServeOptions::at(&folder.join("nic.sock"))
        })?;
        let card = served.card()?;
        let mut device = Device::open(card.clone(), card)?;
        let own = address(NUMBER);
        device.set_identity(NUMBER as u32, own.mac, own.ip)?;
        let (name, mut source) = (client.handler.0, client.handler.1.to_string());
        if options.broken {
            let (from, to) = client.broken;
            ensure!(source.matches(from).count() == 1, "`{from}` does not occur once in {name}");
            source = source.replace(from, to);
        }
        let file = folder.join(name);
        std::fs::write(&file, source)?;
        let handler = handler::load(&Sources::one(&file)).with_context(|| format!("{name} cannot be compiled"))?;
        let bytes = (client.host)();
        let host_region = match bytes.len() {
            0 => None,
            length => {
                let memory = device.memory.alloc(length, 64)?;
                device.memory.write(memory, &bytes)?;
                Some((memory, u32::try_from(length)?))
            }
        };
        let context = device.install(&handler.image, &ContextOptions { host_region, ..ContextOptions::default() })?;
        let (name, bytes) = (client.variable.0, (client.variable.1)());
        if !bytes.is_empty() {
            let variable = variable(&handler.elf, &handler.image, name)?;
            ensure!(bytes.len() <= variable.bytes, "`{name}` has {} bytes, {} are set", variable.bytes, bytes.len());
            device.write_state(context, variable.offset, &bytes)?;
        }
        device.add_rule(&client.rule.parse::<Rule>()?, Action::Context(context))?;
        device.activate(context)?;
        device.set_receive(true)?;
        Ok(Server { device, _served: served })
    }

    /// No handler has had a fault.
    fn faultless(&mut self) -> Result<()> {
        let stats = self.device.stats()?;
        ensure!(stats.tasks_faulted == 0, "{} handlers had a fault", stats.tasks_faulted);
        ensure!(stats.messages_failed == 0, "{} requests failed in their handler", stats.messages_failed);
        Ok(())
    }
}

/// The programs that are needed.
struct Tools {
    program: PathBuf,
    /// Package and version.
    version: String,
    ip: PathBuf,
}

impl Tools {
    /// Finds them, or says what is missing.
    fn find(client: &Client) -> Result<Tools, String> {
        if !Path::new("/dev/net/tun").exists() {
            return Err("clients over TAP need /dev/net/tun; load the module: modprobe tun".into());
        }
        let lacks = |program: &str, package: &str| format!("a client is missing: {program}; apt-get install {package}");
        let find = |program: &str, package: &str| {
            let folders = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"].map(Path::new);
            let mut places = folders.iter().map(|folder| folder.join(program));
            places.find(|place| place.exists()).ok_or_else(|| lacks(program, package))
        };
        let program = find(client.program, client.package)?;
        let ip = find("ip", "iproute2")?;
        let version = Command::new("dpkg-query").args(["-W", "-f", "${Package} ${Version}", client.package]).output();
        let version = version.ok().filter(|output| output.status.success());
        let version = version
            .map_or_else(|| client.package.into(), |output| String::from_utf8_lossy(&output.stdout).into_owned());
        Ok(Tools { program, version, ip })
    }

    /// Brings the interface up. The NIC answers no ARP: its address is a static neighbour.
    fn interface(&self) -> Result<()> {
        let mac = address(NUMBER).mac.map(|byte| format!("{byte:02x}")).join(":");
        for arguments in [
            // Without IPv6 addresses, the system sends nothing on its own.
            &["link", "set", INTERFACE, "addrgenmode", "none"][..],
            &["address", "add", HOST, "dev", INTERFACE],
            &["link", "set", INTERFACE, "up"],
            &["neighbour", "add", NIC, "lladdr", &mac, "dev", INTERFACE],
        ] {
            let output = Command::new(&self.ip).args(arguments).output().context("cannot start ip")?;
            let said = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.success(), "ip {} fails: {}", arguments.join(" "), said.trim());
        }
        Ok(())
    }
}

/// A program that is ended with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program to its end, which must come in time: status, standard output, standard error.
fn finish(mut command: Command) -> Result<(ExitStatus, String, String)> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().with_context(|| format!("cannot start {program}"))?);
    let (output, errors) = (running.0.stdout.take().map(reader), running.0.stderr.take().map(reader));
    let end = Instant::now() + LIMIT;
    let status = loop {
        match running.0.try_wait()? {
            Some(status) => break Some(status),
            None if Instant::now() > end => break None,
            None => sleep(LOOK),
        }
    };
    drop(running);
    let text = |reader: Option<JoinHandle<String>>| reader.and_then(|reader| reader.join().ok()).unwrap_or_default();
    let (output, errors) = (text(output), text(errors));
    match status {
        Some(status) => Ok((status, output, errors)),
        None => bail!("{program} did not end within {} s:\n{}\n{}", LIMIT.as_secs(), output.trim(), errors.trim()),
    }
}

/// Reads to the end, however much it is.
fn reader(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
