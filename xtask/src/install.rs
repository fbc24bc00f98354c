//! `install`: programs, libraries, headers and their pkg-config file below a prefix, as a distribution's package has them.
//!
//! `librvma.so` is built without the simulator, and `librvma-sim.so` beside it has the simulated cards.

use crate::process::{cargo_command, quiet, target_folder, visible};
use anyhow::{ensure, Context, Result};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Version of the library's binary interface: programs name `librvma.so.0`.
const SONAME: &str = "librvma.so.0";
/// Headers.
const HEADERS: &[&str] = &[
    "rvma.h",
    "spin.h",
    "rvma_exchange.h",
    "rvma_end.h",
    "rvma_eager.h",
    "rvma_rendezvous.h",
    "rvma_ring.h",
    "rvma_call.h",
];
/// Files of the daemon, and their places below the prefix.
const DAEMON: &[(&str, &str)] = &[
    ("sw-driver/spindled/systemd/spindled.service", "lib/systemd/system/spindled.service"),
    ("sw-driver/spindled/systemd/90-spindle.rules", "lib/udev/rules.d/90-spindle.rules"),
    ("sw-driver/spindled/systemd/spindle.sysusers.conf", "lib/sysusers.d/spindle.conf"),
];
/// Shells, and the files of their completions.
const SHELLS: &[(&str, &str)] = &[
    ("bash", "share/bash-completion/completions/spindle"),
    ("zsh", "share/zsh/site-functions/_spindle"),
    ("fish", "share/fish/vendor_completions.d/spindle.fish"),
];

/// Arguments of `install`.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Where the files are used.
    #[arg(long, default_value = "/usr/local")]
    prefix: PathBuf,
    /// Folder before the prefix, as packagers want it: files go to DESTDIR/PREFIX.
    #[arg(long)]
    destdir: Option<PathBuf>,
    /// Libraries and headers alone.
    #[arg(long)]
    library: bool,
    /// Profile of cargo.
    #[arg(long, default_value = "release")]
    profile: String,
    /// Afterwards, check headers against the library, and compile and run the C example with pkg-config.
    #[arg(long = "try")]
    try_it: bool,
}

impl Options {
    /// The place of a file below the prefix.
    fn place(&self, below: &str) -> Result<PathBuf> {
        let prefix = self.prefix.strip_prefix("/").unwrap_or(&self.prefix);
        let place = match &self.destdir {
            Some(folder) => folder.join(prefix).join(below),
            None => self.prefix.join(below),
        };
        fs::create_dir_all(place.parent().context("a file has a folder")?)
            .with_context(|| format!("cannot make the folder of {}; choose another --prefix", place.display()))?;
        Ok(place)
    }

    fn copy(&self, from: &Path, below: &str, mode: u32) -> Result<()> {
        let to = self.place(below)?;
        // A library that a program runs with is replaced, not overwritten.
        let _ = fs::remove_file(&to);
        fs::copy(from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
        fs::set_permissions(&to, fs::Permissions::from_mode(mode))?;
        Ok(())
    }

    fn write(&self, below: &str, text: &str) -> Result<()> {
        let to = self.place(below)?;
        fs::write(&to, text).with_context(|| format!("cannot write {}", to.display()))
    }

    fn link(&self, to: &str, below: &str) -> Result<()> {
        let place = self.place(below)?;
        let _ = fs::remove_file(&place);
        symlink(to, &place).with_context(|| format!("cannot make the link {}", place.display()))
    }

    /// A file that cargo has built in one of its folders.
    fn built(&self, folder: &Path, name: &str) -> PathBuf {
        folder.join(if self.profile == "dev" { "debug" } else { &self.profile }).join(name)
    }

    /// Builds `packages` in the folder of all other builds. In the profile of the tests all targets are built, as for the tests: with
    /// fewer the libraries would have other features, and cargo would compile them again.
    fn build(&self, packages: &[&str]) -> Result<()> {
        let chosen = packages.iter().flat_map(|package| ["-p", package]);
        let chosen: Vec<&str> =
            if self.profile == "dev" { vec!["--workspace", "--all-targets"] } else { chosen.collect() };
        self.cargo(&target_folder(), &[&["build"], &chosen[..]].concat())
    }

    fn cargo(&self, folder: &Path, arguments: &[&str]) -> Result<()> {
        let mut command = cargo_command();
        command.arg(arguments[0]).args(["--profile", &self.profile, "--target-dir"]).arg(folder);
        visible(command.args(&arguments[1..]))
    }
}

/// Where the library without the simulator is built: in the folder of all other builds it would take the place of the library with the
/// simulator, which tests use, and cargo would not notice.
pub fn apart() -> PathBuf {
    target_folder().join("install")
}

/// Installs the present state in the profile of the tests, and tries it.
pub fn check() -> Result<bool> {
    tree(true).map(|()| true)
}

/// Installs the present state in the profile of the tests, into a folder of its own, and tries it on request.
pub fn tree(try_it: bool) -> Result<()> {
    let root = apart().join("root");
    if root.exists() {
        fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    let (prefix, destdir, profile) = ("/usr".into(), Some(root), "dev".into());
    run(&Options { prefix, destdir, library: false, profile, try_it })
}

/// Builds and installs.
pub fn run(options: &Options) -> Result<()> {
    ensure!(options.prefix.is_absolute(), "--prefix is the absolute folder in which the files are used");
    library(options)?;
    if !options.library {
        programs(options)?;
    }
    println!("install: done below {}", options.place(".")?.display());
    if options.try_it {
        check_symbols(options)?;
        try_example(options)?;
    }
    Ok(())
}

/// The libraries, their headers, and the pkg-config file.
fn library(options: &Options) -> Result<()> {
    let (all, apart) = (target_folder(), apart());
    options.build(&["spindle-rvma-sim"])?;
    options.copy(&options.built(&all, "libspindle_rvma_sim.so"), "lib/librvma-sim.so", 0o755)?;
    options.cargo(&apart, &["build", "-p", "spindle-sockets"])?;
    options.copy(&options.built(&apart, "libspindle_sockets.so"), "lib/librvma-sockets.so", 0o755)?;
    let soname = format!("link-arg=-Wl,-soname,{SONAME}");
    let rustc = ["rustc", "-p", "spindle-rvma", "--no-default-features", "--lib", "--crate-type", "cdylib"];
    options.cargo(&apart, &[&rustc[..], &["--", "-C", &soname]].concat())?;
    let version = env!("CARGO_PKG_VERSION");
    let file = format!("librvma.so.{version}");
    options.copy(&options.built(&apart, "libspindle_rvma.so"), &format!("lib/{file}"), 0o755)?;
    options.link(&file, &format!("lib/{SONAME}"))?;
    options.link(SONAME, "lib/librvma.so")?;
    for header in HEADERS {
        options.copy(&Path::new("sw-driver/rvma/include").join(header), &format!("include/{header}"), 0o644)?;
    }
    options.copy(Path::new("sw-driver/include/generated/spindle_registers.h"), "include/spindle_registers.h", 0o644)?;
    let text = format!(
        "prefix={}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: rvma\nDescription: RVMA and packet handlers on Spindle cards\nVersion: {version}\n\
         Libs: -L${{libdir}} -lrvma\nCflags: -I${{includedir}}\n",
        options.prefix.display()
    );
    options.write("lib/pkgconfig/rvma.pc", &text)
}

/// Command and daemon, with what a system knows of them.
fn programs(options: &Options) -> Result<()> {
    let all = target_folder();
    options.build(&["spindle-cli", "spindled"])?;
    for program in ["spindle", "spindled"] {
        options.copy(&options.built(&all, program), &format!("bin/{program}"), 0o755)?;
    }
    for (from, to) in DAEMON {
        let text = fs::read_to_string(from).with_context(|| format!("cannot read {from}"))?;
        options.write(to, &text.replace("/usr/bin/", &format!("{}/bin/", options.prefix.display())))?;
    }
    let spindle = options.built(&all, "spindle");
    for (shell, place) in SHELLS {
        options.write(place, &quiet(Command::new(&spindle).args(["completions", shell]))?)?;
    }
    let pages = options.place("share/man/man1/spindle.1")?;
    let folder = pages.parent().context("a file has a folder")?;
    quiet(Command::new(&spindle).arg("man").arg(folder))?;
    let page = quiet(Command::new(options.built(&all, "spindled")).arg("--man-page"))?;
    options.write("share/man/man8/spindled.8", &page)?;
    Ok(())
}

/// The calls that the headers declare are those that the library exports.
fn check_symbols(options: &Options) -> Result<()> {
    let listed = quiet(Command::new("nm").args(["-D", "--defined-only"]).arg(options.place("lib/librvma.so")?))?;
    let exported = listed.lines().filter_map(|line| line.split_whitespace().nth(2));
    let exported: BTreeSet<&str> = exported.filter(|name| is_call(name)).collect();
    let mut declared = BTreeSet::new();
    let mut texts = vec![];
    for header in HEADERS {
        texts.push(fs::read_to_string(options.place(&format!("include/{header}"))?)?);
    }
    let code: String = texts.iter().map(|text| without_comments(text)).collect();
    for (at, _) in code.match_indices('(') {
        let start = code[..at].rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |before| before + 1);
        if is_call(&code[start..at]) {
            declared.insert(&code[start..at]);
        }
    }
    let odd: Vec<&&str> = exported.symmetric_difference(&declared).collect();
    ensure!(odd.is_empty(), "headers and library differ in {odd:?}; declare or export them");
    println!("install: the headers declare the {} calls of the library", declared.len());
    Ok(())
}

fn is_call(name: &str) -> bool {
    name.starts_with("RVMA_") || name.starts_with("SPIN_")
}

fn without_comments(text: &str) -> String {
    text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect()
}

/// Compiles the example by pkg-config, and runs it with two simulated cards.
fn try_example(options: &Options) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("exchange");
    let library = options.place("lib/librvma.so")?;
    let library = library.parent().context("a file has a folder")?;
    let mut flags = Command::new("pkg-config");
    flags.args(["--cflags", "--libs", "rvma"]).env("PKG_CONFIG_PATH", library.join("pkgconfig"));
    if let Some(root) = &options.destdir {
        flags.env("PKG_CONFIG_SYSROOT_DIR", root);
    }
    let flags = quiet(&mut flags).context("pkg-config does not find rvma; install pkg-config")?;
    let mut compile = Command::new("cc");
    compile.args(["-Wall", "-Wextra", "-Werror", "sw-driver/rvma/examples/exchange.c"]).args(flags.split_whitespace());
    quiet(compile.arg("-o").arg(&program))?;
    let mut run = Command::new(&program);
    let words = quiet(run.args(["sim:", "0", "sim:", "1"]).env("LD_LIBRARY_PATH", library))?;
    ensure!(words.contains("node 1: 1048576 bytes sent, 1048576 bytes received"), "the example printed\n{words}");
    println!("install: the example, compiled with pkg-config, exchanges 1 MiB between two simulated cards");
    Ok(())
}
