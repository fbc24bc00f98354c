//! `spindle build`: an image, and its use of the card's memories.

use crate::config::config;
use crate::table::table;
use anyhow::{ensure, Context, Result};
use serde::Serialize;
use spindle::context::reserved;
use spindle::image::{Entries, ImageError};
use spindle::Image;
use spindle_contract::params::Config;
use spindle_sdk::{compile, warn_of_stack, Code, Family, HandlerStack, Sections, Sources, Toolchain};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Arguments of `spindle build`.
#[derive(clap::Args)]
pub struct BuildArguments {
    #[command(flatten)]
    sources: Sources,
    /// The image to write [default: the first file's name, ending in .elf].
    #[arg(long, short, value_name = "HANDLER.elf")]
    output: Option<PathBuf>,
    /// Compiler [default: the one that SPINDLE_CC names, else GCC, else Clang].
    #[arg(long, value_enum)]
    cc: Option<Family>,
    /// Configuration of the NIC whose limits count: sim, kintex7, alveo or alveo32.
    #[arg(long, default_value = "sim")]
    config: String,
    /// Report to write as JSON.
    #[arg(long, value_name = "REPORT.json")]
    json: Option<PathBuf>,
}

/// Compiles, reports, and checks that the card can run the image.
pub fn build(arguments: &BuildArguments) -> Result<()> {
    let config = config(&arguments.config)?;
    let default = || arguments.sources.files[0].with_extension("elf");
    let output = arguments.output.clone().unwrap_or_else(default);
    arguments.sources.check()?;
    check_output(&output, &arguments.sources.files)?;
    let toolchain = Toolchain::find(arguments.cc)?;
    let compiler = compile(&toolchain, &arguments.sources, &output)?;
    let file = std::fs::read(&output).with_context(|| format!("the compiler wrote no {}", output.display()))?;
    let report = Report::of(&file, &output, compiler, &config)?;
    print!("{}", report.text());
    if let Some(path) = &arguments.json {
        let text = serde_json::to_string_pretty(&report)?;
        std::fs::write(path, text + "\n").with_context(|| format!("cannot write {}", path.display()))?;
    }
    warn_of_stack(&report.handlers, report.stack_limit);
    for (what, memory) in [("code", &report.instruction_memory), ("state", &report.context_memory)] {
        if memory.used > memory.limit {
            return Err(ImageError::TooLarge { what, bytes: memory.used, limit: memory.limit })
                .with_context(|| format!("{} does not fit configuration `{}`", output.display(), config.name));
        }
    }
    Ok(())
}

/// Checks that an image can be written there: the linker would report it as an error of the sources.
fn check_output(output: &Path, sources: &[PathBuf]) -> Result<()> {
    let name = output.display();
    ensure!(!output.is_dir(), "cannot write the image to {name}: it is a folder; name a file in it");
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    ensure!(
        folder.is_none_or(Path::is_dir),
        "cannot write the image to {name}: there is no folder {}; make it or choose another by -o",
        folder.unwrap_or(output).display()
    );
    // By identity: a source may be named in several ways.
    let same = |source: &PathBuf| source.canonicalize().ok() == output.canonicalize().ok();
    ensure!(
        !output.exists() || !sources.iter().any(same),
        "the image would replace its source {name}; choose another name by -o"
    );
    Ok(())
}

/// A memory of the card.
#[derive(Clone, Copy, Debug, Serialize)]
struct Memory {
    /// Bytes of the image.
    used: usize,
    /// Bytes that the driver sets aside: a power of two.
    reserved: usize,
    /// Bytes of the memory.
    limit: usize,
}

/// A user header that the image declares.
#[derive(Debug, Serialize)]
struct Declared {
    /// Its type.
    name: String,
    /// Its bytes.
    bytes: u8,
}

/// What an image takes.
#[derive(Debug, Serialize)]
struct Report {
    image: String,
    compiler: String,
    config: &'static str,
    sections: Sections,
    /// Code and constants.
    instruction_memory: Memory,
    /// Variables.
    context_memory: Memory,
    /// The user header that the header handler waits for.
    user_header: Option<Declared>,
    /// Bytes of zeros that the image wants after a packet; 0 = none.
    tailroom: u16,
    /// Bytes of stack of a handler.
    stack_limit: usize,
    handlers: Vec<HandlerStack>,
}

impl Report {
    fn of(file: &[u8], path: &Path, compiler: String, config: &Config) -> Result<Report> {
        let refused = || format!("{} cannot be loaded", path.display());
        // Without entry points of its own, the image has those of each of its sets.
        let sets = Image::handler_sets(file).with_context(refused)?;
        let set = sets.keys().next().filter(|set| !set.is_empty());
        let image = Image::parse_handlers(file, set.map(String::as_str)).with_context(refused)?;
        let code = Code::of(file)?;
        let handlers = if set.is_none() {
            code.handlers(&image)
        } else {
            let of_set = |(set, entries): (&String, &Entries)| {
                let mut handlers = code.handlers(&Image { entries: *entries, ..image.clone() });
                for handler in &mut handlers {
                    handler.set.clone_from(set);
                    handler.path.splice(..1.min(handler.path.len()), [format!("{set}_{}", handler.handler)]);
                }
                handlers
            };
            sets.iter().flat_map(of_set).collect()
        };
        let memory = |used: usize, limit| Memory { used, reserved: reserved(used), limit };
        Ok(Report {
            image: path.display().to_string(),
            compiler,
            config: config.name,
            sections: Sections::of(file)?,
            instruction_memory: memory(image.code.len(), config.imem_bytes),
            context_memory: memory(image.state.len(), config.l2_bytes),
            user_header: image.user_header.clone().map(|header| Declared { name: header.name, bytes: header.bytes }),
            tailroom: image.tailroom,
            stack_limit: config.stack_bytes(),
            handlers,
        })
    }

    fn text(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{}: built by {}, for configuration `{}`\n", self.image, self.compiler, self.config);
        let s = self.sections;
        let rows = [
            ("instruction memory", format!("{} code + {} rodata", s.code, s.rodata), self.instruction_memory),
            ("context memory", format!("{} data + {} bss", s.data, s.bss), self.context_memory),
        ];
        let rows = rows.map(|(name, parts, memory)| {
            [name.into(), parts, memory.used.to_string(), memory.reserved.to_string(), memory.limit.to_string()]
        });
        let _ = writeln!(out, "{}\n", table(["bytes of", "image", "used", "set aside", "there are"], rows, true));
        if let Some(header) = &self.user_header {
            let _ = writeln!(out, "user header: `{}`, {} bytes\n", header.name, header.bytes);
        }
        if self.tailroom > 0 {
            let _ = writeln!(out, "tailroom: {} bytes\n", self.tailroom);
        }
        let rows = self.handlers.iter().map(|handler| {
            let depth = handler.bytes.map_or_else(|| "unbounded".into(), |bytes| bytes.to_string());
            let name = if handler.set.is_empty() {
                handler.handler.to_owned()
            } else {
                format!("{}_{}", handler.set, handler.handler)
            };
            [name, depth, self.stack_limit.to_string(), handler.path.join(" > ")]
        });
        let _ = writeln!(out, "{}", table(["handler", "stack, at most", "there are", "deepest calls"], rows, false));
        for handler in self.handlers.iter().filter(|handler| handler.bytes.is_none()) {
            let _ = writeln!(
                out,
                "{} has no bound, at least {} bytes: {}",
                handler.handler,
                handler.at_least,
                handler.unbounded.join("; ")
            );
        }
        out
    }
}
