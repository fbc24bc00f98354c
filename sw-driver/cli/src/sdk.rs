//! From a file of the user to an image: compiles C with the handler SDK, which this program carries with it.

use anyhow::{bail, ensure, Context, Result};
use spindle::Image;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of the SDK, by their path in its folder.
const SDK: [(&str, &str); 5] = [
    ("include/spindle.h", include_str!("../../../hpu-core/handlers/include/spindle.h")),
    (
        "include/generated/spindle_contract.h",
        include_str!("../../../hpu-core/handlers/include/generated/spindle_contract.h"),
    ),
    ("generated/memory.ld", include_str!("../../../hpu-core/handlers/generated/memory.ld")),
    ("handler.ld", include_str!("../../../hpu-core/handlers/handler.ld")),
    ("lib/memory.c", include_str!("../../../hpu-core/handlers/lib/memory.c")),
];

/// Code generation and warnings.
const FLAGS: [&str; 10] = [
    "-march=rv32im",
    "-mabi=ilp32",
    "-O2",
    "-ffreestanding",
    "-fno-common",
    "-ffunction-sections",
    "-fdata-sections",
    "-Wall",
    "-Wextra",
    "-std=gnu11",
];

/// The compiler, unless `SPINDLE_CC` names another.
const COMPILER: &str = "riscv64-unknown-elf-gcc";

/// A handler that comes with this program.
pub struct Shipped {
    /// Stem of its file.
    pub name: &'static str,
    /// Its C source.
    pub source: &'static str,
    /// The rule it is meant for.
    pub rule: &'static str,
}

macro_rules! shipped { ($($name:literal $folder:literal $rule:literal;)*) => {
    /// All handlers that come with this program.
    pub const SHIPPED: &[Shipped] = &[$(Shipped { name: $name, source: include_str!(concat!("../../../hpu-core/handlers/examples/", $folder, $name, ".c")), rule: $rule }),*];
} }
shipped! {
    "ping_pong" "" "udp";
    "icmp_echo" "" "icmp.type == 8";
    "place" "" "spindle";
    "udp_to_host" "" "udp";
    "never_returns" "faulty/" "udp";
    "foreign_access" "faulty/" "udp";
}

impl Shipped {
    /// The handler of this name.
    pub fn by_name(name: &str) -> Option<&'static Shipped> {
        SHIPPED.iter().find(|shipped| shipped.name == name)
    }

    /// Its first comment, on one line.
    pub fn summary(&self) -> String {
        let comment =
            self.source.strip_prefix("/*").and_then(|rest| rest.split_once("*/")).map_or("", |(comment, _)| comment);
        comment
            .lines()
            .map(|line| line.trim().trim_start_matches('*').trim())
            .collect::<Vec<_>>()
            .join(" ")
            .trim()
            .to_owned()
    }

    /// Compiles it.
    pub fn load(&'static self) -> Result<Handler> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join(format!("{}.c", self.name));
        std::fs::write(&path, self.source)?;
        load(&path)
    }
}

/// A handler, ready to be installed.
pub struct Handler {
    /// Stem of its file.
    pub name: String,
    /// Its image.
    pub image: Image,
    /// The shipped handler whose source this is, byte for byte.
    pub shipped: Option<&'static Shipped>,
}

/// Reads an ELF image or compiles a C file.
pub fn load(path: &Path) -> Result<Handler> {
    let content = std::fs::read(path)
        .with_context(|| format!("cannot read {}; give a .c file or an ELF image", path.display()))?;
    let name = path.file_stem().map_or_else(|| "handler".into(), |stem| stem.to_string_lossy().into_owned());
    let is_c = path.extension().is_some_and(|extension| extension == "c");
    let shipped = SHIPPED.iter().find(|shipped| is_c && shipped.source.as_bytes() == content);
    let elf = if is_c {
        let folder = tempfile::tempdir()?;
        let output = folder.path().join("handler.elf");
        compile(path, &output)?;
        std::fs::read(&output).context("the compiler wrote no image")?
    } else {
        content
    };
    let image = Image::parse(&elf).with_context(|| format!("{} cannot be loaded", path.display()))?;
    Ok(Handler { name, image, shipped })
}

/// Compiles and links one C file.
pub fn compile(source: &Path, output: &Path) -> Result<()> {
    let sdk = tempfile::tempdir().context("cannot make a temporary folder for the handler SDK")?;
    for (name, text) in SDK {
        let path = sdk.path().join(name);
        std::fs::create_dir_all(path.parent().expect("every file of the SDK has a folder"))?;
        std::fs::write(path, text)?;
    }
    let compiler = std::env::var_os("SPINDLE_CC").map_or_else(|| PathBuf::from(COMPILER), PathBuf::from);
    // With -lgcc this compiler takes its 64-bit library; it knows the right one by path.
    let libgcc = run(Command::new(&compiler).args(&FLAGS[..2]).arg("-print-libgcc-file-name"))?;
    let folder = sdk.path();
    let mut command = Command::new(&compiler);
    command.args(FLAGS).arg("-I").arg(folder.join("include"));
    command.args(["-nostdlib", "-static", "-Wl,--gc-sections", "-Wl,--no-warn-rwx-segments"]);
    command.arg("-L").arg(folder.join("generated")).arg("-T").arg(folder.join("handler.ld"));
    command.arg(source).arg(folder.join("lib/memory.c")).arg(libgcc.trim()).arg("-o").arg(output);
    run(&mut command).with_context(|| format!("{} does not compile", source.display()))?;
    Ok(())
}

/// Runs the compiler; its words are the error.
fn run(command: &mut Command) -> Result<String> {
    let compiler = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!("the RISC-V compiler {compiler} is not installed; run `apt-get install gcc-riscv64-unknown-elf` as root, or name another one in SPINDLE_CC")
        }
        other => other.with_context(|| format!("cannot run {compiler}"))?,
    };
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{compiler} says:\n{}", words.trim_end());
    if !words.trim().is_empty() {
        eprintln!("{}", words.trim_end());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Arguments of `spindle build`.
#[derive(clap::Args)]
pub struct BuildArguments {
    /// The C file.
    source: PathBuf,
    /// The image to write.
    #[arg(long, short, value_name = "HANDLER.elf")]
    output: PathBuf,
}

/// `spindle build`: compiles, and checks what came out.
pub fn build(arguments: &BuildArguments) -> Result<()> {
    compile(&arguments.source, &arguments.output)?;
    let image = Image::parse(&std::fs::read(&arguments.output)?)?;
    println!(
        "{}: {} bytes of code, {} bytes of state",
        arguments.output.display(),
        image.code.len(),
        image.state.len()
    );
    Ok(())
}
