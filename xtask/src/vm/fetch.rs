//! QEMU and a kernel, as packages of Debian: apt with its own state below `target/vm`, as an ordinary user. apt checks the
//! signatures; packages are unpacked, not installed.

use crate::process::{installed, quiet};
use anyhow::{ensure, Context, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest QEMU that has the device `vfio-user-pci`.
const OLDEST: (u32, u32) = (10, 1);
const PROGRAM: &str = "qemu-system-x86_64";
/// Suites of Debian: QEMU is of the second one, the kernel of the first.
const SUITES: [&str; 2] = ["trixie", "trixie-backports"];
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// A way to start QEMU.
pub struct Qemu {
    program: OsString,
    arguments: Vec<OsString>,
}

impl Qemu {
    /// A command without arguments of the machine.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments);
        command
    }

    fn installed(program: impl Into<OsString>) -> Qemu {
        Qemu { program: program.into(), arguments: Vec::new() }
    }

    /// Version, such as 11.1.
    fn version(&self) -> Option<(u32, u32)> {
        version(&quiet(self.command().arg("--version")).ok()?)
    }
}

/// A kernel, unpacked.
pub struct Kernel {
    /// Its image.
    pub image: PathBuf,
    /// The folder of its modules.
    pub modules: PathBuf,
    /// Its version.
    pub version: String,
}

/// `$SPINDLE_QEMU`, or a QEMU on the search path that is new enough, or Debian's.
pub fn qemu(folder: &Path) -> Result<Qemu> {
    if let Some(program) = std::env::var_os("SPINDLE_QEMU") {
        let qemu = Qemu::installed(&program);
        ensure!(
            qemu.version() >= Some(OLDEST),
            "SPINDLE_QEMU is {}, which is no QEMU of version {}.{} or later",
            program.to_string_lossy(),
            OLDEST.0,
            OLDEST.1
        );
        return Ok(qemu);
    }
    let found = Qemu::installed(PROGRAM);
    if installed(PROGRAM) && found.version() >= Some(OLDEST) {
        return Ok(found);
    }
    let root = folder.join("qemu");
    let apt = Apt::new(folder);
    unpacked_once(&root, || {
        apt.update()?;
        println!("vm: fetching QEMU (38 MB of packages)");
        let options = ["install", "--yes", "--download-only", "--no-install-recommends", "qemu-system-x86"];
        quiet(apt.command("apt-get").args(options))?;
        debs(&apt.folder.join("cache/archives"))
    })?;
    let library = |path: &str| root.join(path).into_os_string();
    let libraries = ["usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu"].map(library).join(std::ffi::OsStr::new(":"));
    let mut arguments = vec!["--library-path".into(), libraries, root.join("usr/bin").join(PROGRAM).into_os_string()];
    for data in ["usr/share/qemu", "usr/share/seabios", "usr/share/ipxe"] {
        arguments.extend(["-L".into(), library(data)]);
    }
    let qemu = Qemu { program: library("usr/lib64/ld-linux-x86-64.so.2"), arguments };
    ensure!(
        qemu.version() >= Some(OLDEST),
        "the unpacked QEMU does not start; remove {} and try again",
        root.display()
    );
    Ok(qemu)
}

/// The kernel of Debian for clouds: the smallest one with VFIO.
pub fn kernel(folder: &Path) -> Result<Kernel> {
    let root = folder.join("kernel");
    let apt = Apt::new(folder);
    unpacked_once(&root, || {
        apt.update()?;
        println!("vm: fetching a kernel (34 MB)");
        let newest = quiet(apt.command("apt-cache").args(["show", &format!("linux-image-cloud-amd64/{}", SUITES[0])]))?;
        let name = depends(&newest).context("Debian's linux-image-cloud-amd64 names no kernel")?;
        let to = apt.folder.join("kernel");
        fs::create_dir_all(&to)?;
        quiet(apt.command("apt-get").current_dir(&to).args(["download", &name]))?;
        debs(&to)
    })?;
    let modules = root.join("usr/lib/modules");
    let version = only(&modules)?.file_name().context("modules have a version")?.to_string_lossy().into_owned();
    Ok(Kernel {
        image: root.join("boot").join(format!("vmlinuz-{version}")),
        modules: modules.join(&version).join("kernel"),
        version,
    })
}

/// apt with a state of its own.
struct Apt {
    folder: PathBuf,
}

impl Apt {
    fn new(folder: &Path) -> Apt {
        Apt { folder: folder.join("apt") }
    }

    /// Writes the configuration and fetches the lists of packages.
    fn update(&self) -> Result<()> {
        ensure!(
            installed("apt-get") && Path::new(KEYRING).exists(),
            "QEMU and the kernel are fetched by apt-get of Debian; elsewhere, name a QEMU of version {}.{} or later in \
             SPINDLE_QEMU, and unpack Debian's linux-image-cloud-amd64 in target/vm/kernel",
            OLDEST.0,
            OLDEST.1
        );
        for below in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(self.folder.join(below))?;
        }
        let source = |suite: &str| format!("deb [signed-by={KEYRING}] http://deb.debian.org/debian {suite} main\n");
        fs::write(self.folder.join("sources.list"), SUITES.map(source).concat())?;
        fs::write(self.folder.join("status"), "")?;
        fs::write(self.folder.join("apt.conf"), configuration(&self.folder))?;
        quiet(self.command("apt-get").arg("update")).context("the lists of Debian's packages cannot be had")?;
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("APT_CONFIG", self.folder.join("apt.conf")).env("LC_ALL", "C");
        command
    }
}

fn configuration(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "Dir::State \"{folder}\";\nDir::State::lists \"{folder}/lists\";\nDir::State::status \"{folder}/status\";\n\
         Dir::Cache \"{folder}/cache\";\nDir::Etc::sourcelist \"{folder}/sources.list\";\nDir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\nDir::Etc::preferencesparts \"/dev/null\";\nAPT::Architecture \"amd64\";\n\
         APT::Architectures {{ \"amd64\"; }};\nAPT::Sandbox::User \"\";\nAPT::Default-Release \"{}\";\n\
         Acquire::Languages \"none\";\nAcquire::IndexTargets::deb::DEP-11::DefaultEnabled \"false\";\n",
        SUITES[1]
    )
}

/// Unpacks packages into a folder, unless that was done before.
fn unpacked_once(root: &Path, packages: impl FnOnce() -> Result<Vec<PathBuf>>) -> Result<()> {
    if root.exists() {
        return Ok(());
    }
    let packages = packages()?;
    ensure!(!packages.is_empty(), "apt fetched no package");
    // Under its name, the folder is whole.
    let part = root.with_extension("part");
    let _ = fs::remove_dir_all(&part);
    fs::create_dir_all(&part)?;
    for package in packages {
        quiet(Command::new("dpkg").arg("-x").arg(&package).arg(&part))?;
        fs::remove_file(package)?;
    }
    fs::rename(part, root)?;
    Ok(())
}

/// The packages in a folder.
fn debs(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let paths = entries.into_iter().map(|entry| entry.path());
    Ok(paths.filter(|path| path.extension().is_some_and(|extension| extension == "deb")).collect())
}

/// The only entry of a folder.
fn only(folder: &Path) -> Result<PathBuf> {
    let mut entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries.next().with_context(|| format!("{} is empty", folder.display()))??.path())
}

/// The version in "QEMU emulator version 11.1.3 (Debian ...)".
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split("version ").nth(1)?.split(|byte: char| !byte.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The package of the kernel in the fields of the package that depends on the newest one.
fn depends(fields: &str) -> Option<String> {
    let line = fields.lines().find_map(|line| line.strip_prefix("Depends: "))?;
    line.split(", ")
        .find(|name| name.starts_with("linux-image-"))
        .and_then(|name| name.split(' ').next())
        .map(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_numbers() {
        assert_eq!(version("QEMU emulator version 11.1.3 (Debian 1:11.1.3+ds-1~bpo13+1)\n"), Some((11, 1)));
        assert_eq!(version("QEMU emulator version 9.2"), Some((9, 2)));
        assert_eq!(version("no program"), None);
        assert!(
            version("version 9.2.0") < Some(OLDEST) && version("version 10.1.0") >= Some(OLDEST) && None < Some(OLDEST)
        );
    }

    #[test]
    fn the_newest_kernel_is_a_dependency() {
        let fields = "Package: linux-image-cloud-amd64\nDepends: linux-base, linux-image-6.12.117+deb13-cloud-amd64 (= 6.12.117-1)\n";
        assert_eq!(depends(fields).as_deref(), Some("linux-image-6.12.117+deb13-cloud-amd64"));
        assert_eq!(depends("Package: x\n"), None);
    }
}
