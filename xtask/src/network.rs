//! `setup` of `spindle network`: ns-3, Open MPI, and the MPI module of ns-3, which Debian compiles into no package.
//!
//! The sources of the module come from Debian's own source package of the installed version, by a list of sources that only these
//! calls see. Sources and objects are kept beside the compiled models, never in the checkout: `spindle-network` links the objects.

use crate::process::{quiet, two_at_a_time};
use anyhow::{bail, ensure, Context, Result};
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian packages, each with a file that shows it is there.
pub const PACKAGES: &[(&str, &str)] = &[
    ("libns3-dev", "/usr/share/doc/libns3-dev"),
    ("libopenmpi-dev", "/usr/share/doc/libopenmpi-dev"),
    ("openmpi-bin", "/usr/share/doc/openmpi-bin"),
    ("bzip2", "/usr/share/doc/bzip2"),
];

/// Key of Debian's archive, where it is not among the keys that apt trusts for every archive.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The bound on a message between ranks, as ns-3 has it and as frames of the NIC need it (`MAX_FRAME` and a header).
const MESSAGE: [&str; 2] = ["MAX_MPI_MSG_SIZE = 2000;", "MAX_MPI_MSG_SIZE = 16384;"];
/// The header that has the bound.
const MESSAGE_HEADER: &str = "granted-time-window-mpi-interface.h";

/// Compiles the MPI module of the installed ns-3 into the cache, unless it is there.
pub fn module() -> Result<()> {
    let version = quiet(Command::new("dpkg-query").args(["-W", "-f", "${source:Version}", "libns3-dev"]))?;
    let version = version.trim();
    let cache = cache_folder(|name| std::env::var_os(name).map(PathBuf::from))?;
    let folder = cache.join(folder_name(version));
    if folder.exists() {
        println!("setup: the MPI module of ns-3 is there");
        return Ok(());
    }
    println!("setup: compiling the MPI module of ns-3 {version}");
    DirBuilder::new().recursive(true).mode(0o700).create(&cache)?;
    // In the cache, so that the last step is a rename within one file system.
    let work = cache.join(format!("ns3-work-{}", std::process::id()));
    DirBuilder::new().mode(0o700).create(&work).with_context(|| format!("cannot create {}", work.display()))?;
    let built = download(version, &work).and_then(|archive| compile(&archive, &work));
    let kept = built.and_then(|built| {
        // Another set-up may have been quicker.
        fs::rename(&built, &folder).or_else(|error| if folder.exists() { Ok(()) } else { Err(error) })?;
        Ok(())
    });
    let _ = fs::remove_dir_all(&work);
    kept.context(
        "the MPI module of ns-3 cannot be set up, and `spindle network` needs it; `--no-network` leaves it out",
    )
}

/// Name of the module's folder in the cache; `spindle-network` looks there.
fn folder_name(version: &str) -> String {
    format!("ns3-mpi-{version}")
}

/// The folder of compiled models, as `spindle_harness` chooses it.
fn cache_folder(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    let folder = |name: &str| variable(name).filter(|path| !path.as_os_str().is_empty());
    if let Some(path) = folder("SPINDLE_CACHE") {
        return Ok(path);
    }
    let base = folder("XDG_CACHE_HOME").filter(|path| path.is_absolute());
    let base = base.or_else(|| Some(folder("HOME")?.join(".cache")));
    Ok(base
        .context("neither HOME nor XDG_CACHE_HOME is set; set SPINDLE_CACHE to a folder of your own")?
        .join("spindle/verilated"))
}

/// Where the archive has the installed version: address, suite and component.
fn origin(madison: &str, version: &str) -> Option<[String; 3]> {
    madison.lines().find_map(|line| {
        let mut fields = line.split('|').map(str::trim);
        let (_, listed, place) = (fields.next()?, fields.next()?, fields.next()?);
        let mut words = place.split_whitespace();
        let (address, suite) = (words.next()?, words.next()?);
        // A rebuilt package has the version of its source, and `+b` and a number after it.
        let source = listed.rsplit_once("+b").map_or(listed, |(source, _)| source);
        let (suite, component) = suite.split_once('/')?;
        let found = source == version && address.contains("://");
        found.then(|| [address, suite, component].map(String::from))
    })
}

/// Downloads the source package; the archive of the sources.
fn download(version: &str, work: &Path) -> Result<PathBuf> {
    let madison = || quiet(Command::new("apt-cache").args(["madison", "libns3-dev"]));
    let found = match origin(&madison()?, version) {
        Some(found) => Some(found),
        // The package lists may be absent.
        None => {
            quiet(Command::new("apt-get").args(["-q", "update"]))?;
            origin(&madison()?, version)
        }
    };
    let Some([address, suite, component]) = found else {
        bail!("no archive that apt knows has libns3-dev {version}; run `apt-get update` and install libns3-dev again");
    };
    let signed = if Path::new(KEYRING).exists() { format!("[signed-by={KEYRING}] ") } else { String::new() };
    let list = work.join("sources.list");
    fs::write(&list, format!("deb-src {signed}{address} {suite} {component}\n"))?;
    for folder in ["lists/partial", "archives/partial"] {
        fs::create_dir_all(work.join(folder))?;
    }
    let apt = || {
        let mut command = Command::new("apt-get");
        command.current_dir(work).arg("-q").env("DEBIAN_FRONTEND", "noninteractive");
        for (name, value) in [
            ("Dir::Etc::sourcelist", list.clone()),
            ("Dir::Etc::sourceparts", "/dev/null".into()),
            ("Dir::State::lists", work.join("lists")),
            ("Dir::Cache::archives", work.join("archives")),
            // The lists of the machine stay as they are.
            ("Dir::Cache::pkgcache", "".into()),
            ("Dir::Cache::srcpkgcache", "".into()),
            // apt's own user may not read a folder of this one.
            ("APT::Sandbox::User", "root".into()),
        ] {
            command.arg("-o").arg(format!("{name}={}", value.display()));
        }
        command
    };
    quiet(apt().arg("update"))?;
    quiet(apt().args(["source", "--download-only", &format!("ns3={version}")]))?;
    let archive = fs::read_dir(work)?.flatten().map(|entry| entry.path());
    let original = |path: &PathBuf| path.to_string_lossy().contains(".orig.tar");
    archive.into_iter().find(original).context("Debian's source package of ns-3 has no archive of sources")
}

/// Compiles the module; the folder of its headers (`include/ns3`) and objects.
fn compile(archive: &Path, work: &Path) -> Result<PathBuf> {
    let built = work.join("module");
    let headers = built.join("include/ns3");
    fs::create_dir_all(&headers)?;
    // Debian's patches do not touch the module.
    let members = ["*/src/mpi/model/*.cc", "*/src/mpi/model/*.h"];
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(archive).arg("--directory").arg(&headers);
    quiet(tar.args(["--wildcards", "--transform=s,.*/,,"]).args(members))?;
    let path = headers.join(MESSAGE_HEADER);
    let text = fs::read_to_string(&path).with_context(|| format!("the sources of ns-3 have no {MESSAGE_HEADER}"))?;
    ensure!(
        text.matches(MESSAGE[0]).count() == 1,
        "{MESSAGE_HEADER} of this version of ns-3 has no `{}`; use the version of Debian 12",
        MESSAGE[0]
    );
    fs::write(&path, text.replace(MESSAGE[0], MESSAGE[1]))?;
    let mut sources: Vec<PathBuf> = fs::read_dir(&headers)?.flatten().map(|entry| entry.path()).collect();
    sources.retain(|path| path.extension().is_some_and(|end| end == "cc"));
    sources.sort();
    let objects = two_at_a_time(&sources, |source| {
        let object = built.join(source.file_name().expect("a source has a name")).with_extension("o");
        // The headers of ns-3 3.37 are C++17.
        let mut compiler = Command::new("mpicxx");
        compiler.args(["-std=c++17", "-O2", "-fPIC", "-w", "-DNS3_MPI", "-I"]).arg(built.join("include"));
        quiet(compiler.arg("-c").arg(source).arg("-o").arg(object)).map(|_| ())
    });
    objects.into_iter().collect::<Result<Vec<()>>>()?;
    Ok(built)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_archive_of_the_installed_version_is_found() {
        let madison = "libns3-dev | 3.40-1 | http://deb.debian.org/debian trixie/main amd64 Packages\n\
                       libns3-dev | 3.37-2+b1 | http://deb.debian.org/debian bookworm/main amd64 Packages\n\
                       libns3-dev | 3.37-2 | /var/lib/dpkg/status\n";
        let wanted = ["http://deb.debian.org/debian", "bookworm", "main"].map(String::from);
        assert_eq!(origin(madison, "3.37-2"), Some(wanted));
        assert_eq!(origin(madison, "3.36-1"), None);
        assert_eq!(origin("libns3-dev | 3.37-2 | /var/lib/dpkg/status\n", "3.37-2"), None);
    }

    #[test]
    fn the_module_lies_beside_the_models() {
        let chosen = |variables: &[(&str, &str)]| {
            cache_folder(|name| variables.iter().find(|one| one.0 == name).map(|one| PathBuf::from(one.1)))
        };
        let home = ("HOME", "/home/a");
        assert_eq!(chosen(&[home, ("SPINDLE_CACHE", "/x")]).unwrap(), Path::new("/x"));
        assert_eq!(chosen(&[home]).unwrap(), Path::new("/home/a/.cache/spindle/verilated"));
        assert_eq!(chosen(&[home, ("XDG_CACHE_HOME", "/y")]).unwrap(), Path::new("/y/spindle/verilated"));
        assert!(chosen(&[("HOME", "")]).unwrap_err().to_string().contains("SPINDLE_CACHE"));
        assert_eq!(folder_name("3.37-2"), "ns3-mpi-3.37-2");
    }
}
