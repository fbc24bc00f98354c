//! From a file of the user to an image: compiles C with the handler SDK, which this program carries with it.

use crate::stack::{Code, HandlerStack};
use crate::toolchain::{is_source, Sources, Toolchain};
use anyhow::{ensure, Context, Result};
use spindle::Image;
use std::path::Path;

/// A handler that comes with this program.
pub struct Shipped {
    /// Stem of its file.
    pub name: &'static str,
    /// Its C source.
    pub source: &'static str,
    /// Its default rule.
    pub rule: &'static str,
    /// It runs per message, not per packet.
    pub messages: bool,
}

macro_rules! shipped { ($($name:literal $folder:literal $rule:literal $messages:literal;)*) => {
    /// All handlers that come with this program.
    pub const SHIPPED: &[Shipped] = &[$(Shipped {
        name: $name,
        source: include_str!(concat!("../examples/", $folder, $name, ".c")),
        rule: $rule,
        messages: $messages,
    }),*];
} }
shipped! {
    "ping_pong" "" "udp" false;
    "icmp_echo" "" "icmp.type == 8" false;
    "dns" "" "udp.dport == 53" false;
    "place" "" "spindle" false;
    "udp_to_host" "" "udp" false;
    "aggregate" "" "spindle" true;
    "reduce" "" "spindle" true;
    "histogram" "" "udp" false;
    "filtering" "" "udp" false;
    "firewall" "" "frame.len >= 0" false;
    "unpack" "" "spindle" true;
    "broadcast" "" "udp" false;
    "copy_from_host" "" "udp" false;
    "counter" "" "udp" false;
    "partition" "" "udp" false;
    "scatter" "" "udp" false;
    "accumulate" "" "spindle" true;
    "parity" "" "spindle" true;
    "heartbeat" "" "udp" false;
    "forward" "" "spindle" true;
    "ping_pong_stream" "" "spindle" true;
    "ping_pong_host" "" "spindle" true;
    "never_returns" "faulty/" "udp" false;
    "foreign_access" "faulty/" "udp" false;
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
        load(&Sources::one(&path))
    }
}

/// A handler, ready to be installed.
pub struct Handler {
    /// Stem of its file.
    pub name: String,
    /// Its image.
    pub image: Image,
    /// The file from which the image was read.
    pub elf: Vec<u8>,
    /// Compiler and target of sources; `None` for an image.
    pub compiler: Option<String>,
    /// Stack that its handlers need.
    pub stack: Vec<HandlerStack>,
    /// The shipped handler whose source this is, byte for byte.
    pub shipped: Option<&'static Shipped>,
}

/// Reads an ELF image or compiles C and assembly files.
pub fn load(sources: &Sources) -> Result<Handler> {
    let path = &sources.files[0];
    let content = std::fs::read(path)
        .with_context(|| format!("cannot read {}; give a .c file or an ELF image", path.display()))?;
    let name = path.file_stem().map_or_else(|| "handler".into(), |stem| stem.to_string_lossy().into_owned());
    let is_source = is_source(path);
    let alone = is_source && sources.files.len() == 1 && sources.defines.is_empty();
    let shipped = SHIPPED.iter().find(|shipped| alone && shipped.source.as_bytes() == content);
    let mut compiler = None;
    let mut set = sources.handlers.as_deref();
    let elf = if is_source {
        let folder = tempfile::tempdir()?;
        let output = folder.path().join("handler.elf");
        compiler = Some(compile(&Toolchain::find(None)?, sources, &output)?);
        // The linker has made its functions the entry points.
        set = None;
        std::fs::read(&output).context("the compiler wrote no image")?
    } else {
        ensure!(sources.files.len() == 1, "{} is an image and runs alone; give one image or sources", path.display());
        content
    };
    let image = Image::parse_handlers(&elf, set).with_context(|| format!("{} cannot be loaded", path.display()))?;
    let stack = Code::of(&elf).map(|code| code.handlers(&image)).unwrap_or_default();
    Ok(Handler { name, image, elf, compiler, stack, shipped })
}

/// Compiles and links with the SDK, which is unpacked for it; returns what compiled it, and for which machine.
pub fn compile(toolchain: &Toolchain, sources: &Sources, output: &Path) -> Result<String> {
    let sdk = tempfile::tempdir().context("cannot make a temporary folder for the handler SDK")?;
    crate::files::unpack(sdk.path())?;
    toolchain.build(sources, sdk.path(), output)
}
