//! The served NIC, and the machine that has it as a PCI function. Both end with the command, by their process ids.

use super::fetch::Qemu;
use crate::process::cargo_command;
use anyhow::{bail, ensure, Context, Result};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long the NIC's model may be built, and the machine may run.
const SERVED_WITHIN: Duration = Duration::from_secs(1800);
const ENDS_WITHIN: Duration = Duration::from_secs(300);
/// Frames that enter the card.
const FRAMES: &str = "testbench/captures/kernel.pcap";
/// Megabytes of the machine's memory, and its huge pages.
const MEMORY: u32 = 512;
const HUGE_PAGES: u32 = 16;

/// A process that ends with its owner.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The card.
pub struct Card {
    socket: PathBuf,
    _server: Option<Process>,
}

impl Card {
    /// A card that another program serves.
    pub fn at(socket: &Path) -> Card {
        Card { socket: socket.into(), _server: None }
    }

    /// Serves the NIC, and waits until it can be used.
    pub fn serve(folder: &Path) -> Result<Card> {
        let socket = folder.join("nic0.sock");
        let _ = fs::remove_file(&socket);
        let log = folder.join("serve.log");
        let output = File::create(&log)?;
        let built = ["build", "--quiet", "--package", "spindle-cli"];
        crate::process::visible(cargo_command().args(built))?;
        let program = crate::process::target_folder().join("debug/spindle");
        let server = Command::new(program)
            .args(["serve", "--pcap", FRAMES, "--socket"])
            .arg(&socket)
            .stdin(Stdio::null())
            .stderr(output.try_clone()?)
            .stdout(output)
            .spawn()
            .context("cannot run `spindle serve`")?;
        let mut server = Process(server);
        let start = Instant::now();
        // The server listens before the model is there, and QEMU does not wait.
        while !fs::read_to_string(&log).is_ok_and(|text| text.contains("serving a card")) {
            if let Some(status) = server.0.try_wait()? {
                bail!("`spindle serve` ended with {status}; see {}", log.display());
            }
            ensure!(start.elapsed() < SERVED_WITHIN, "`spindle serve` does not serve; see {}", log.display());
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(Card { socket, _server: Some(server) })
    }
}

/// Runs the machine to its end; what it printed.
pub fn boot(qemu: &Qemu, kernel: &Path, initramfs: &Path, card: &Card, log: &Path) -> Result<String> {
    let output = File::create(log)?;
    let memory = format!("memory-backend-memfd,id=memory,size={MEMORY}M,share=on");
    let device = format!(
        r#"{{"driver":"vfio-user-pci","socket":{{"type":"unix","path":"{}"}},"addr":"0x4"}}"#,
        card.socket.display()
    );
    // Functions have the whole memory unless a driver asks for less: sysfs needs that, and VFIO does not mind.
    let line = format!("console=ttyS0 quiet panic=-1 intel_iommu=on iommu=pt hugepages={HUGE_PAGES}");
    let mut command = qemu.command();
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio"])
        .args(["-machine", "q35,memory-backend=memory", "-cpu", "max", "-smp", "1"])
        .args(["-m", &MEMORY.to_string(), "-object", &memory])
        .args(["-device", "intel-iommu,intremap=on,caching-mode=on", "-device", &device])
        .args(["-append", &line, "-kernel"])
        .arg(kernel)
        .arg("-initrd")
        .arg(initramfs)
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output);
    let mut machine = Process(command.spawn().context("cannot run QEMU")?);
    let start = Instant::now();
    let status = loop {
        if let Some(status) = machine.0.try_wait()? {
            break status;
        }
        ensure!(start.elapsed() < ENDS_WITHIN, "the machine does not end; see {}", log.display());
        std::thread::sleep(Duration::from_millis(20));
    };
    ensure!(status.success(), "QEMU ended with {status}; see {}", log.display());
    Ok(String::from_utf8_lossy(&fs::read(log)?).into_owned())
}
