//! The compiler of handlers: GCC, or Clang with LLD.

use anyhow::{anyhow, bail, ensure, Context, Result};
use spindle::image::ENTRY_SYMBOLS;
use spindle::Image;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Extensions of the processor.
const ARCHITECTURE: &str = "rv32ima_zicsr_zba_zbb_zbs";
/// Old Clangs refuse this name and know its instructions all the same.
const CSR_EXTENSION: &str = "_zicsr";
/// GCC before 13 dies of the constant 2048 if it may use this one on a 32-bit machine: a source that has it is compiled without.
const SINGLE_BIT_EXTENSION: &str = "_zbs";
const GCC_DIES: &str = "internal compiler error";
const ABI: &str = "-mabi=ilp32";
/// libgcc is built for this subset; asking for it by path keeps the linker from taking the 64-bit one.
const LIBRARY_ARCHITECTURE: &str = "-march=rv32im";

/// Code generation. Debug information changes no instruction; faults are reported with the source line.
const FLAGS: [&str; 5] = ["-g", "-ffreestanding", "-fno-common", "-ffunction-sections", "-fdata-sections"];
const C_FLAGS: [&str; 1] = ["-std=gnu11"];
/// A payload handler where a header handler is wanted, in a connect().
const WRONG_KIND: &str = "-Werror=incompatible-pointer-types";
/// Of C++ only what needs no library.
const CPP_FLAGS: [&str; 4] = ["-std=gnu++17", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics"];
/// Ends of the names of files that a compiler takes: C, assembly, objects, libraries.
const EXTENSIONS: [&str; 5] = ["c", "S", "s", "o", "a"];
/// The same of C++.
const CPP_EXTENSIONS: [&str; 3] = ["cpp", "cc", "cxx"];
/// Warnings. The signatures of handlers are prescribed, so an unused parameter is no mistake.
const WARNINGS: [&str; 3] = ["-Wall", "-Wextra", "-Wno-unused-parameter"];
/// Handlers that were written for PsPIN have packed structures in network byte order, and read headers through pointers of other types.
const PSPIN_FLAGS: [&str; 3] = ["-Wno-address-of-packed-member", "-Wno-scalar-storage-order", "-fno-strict-aliasing"];
/// The header of handlers with the types of Portals 4.
const PORTALS_HEADER: &str = "spin_portals.h";
/// Selects FPsPIN's conventions in the SDK.
const FPSPIN_DEFINE: &str = "-DSPINDLE_FPSPIN";
/// Linking. Handlers have no entry point of the whole program.
const LINK_FLAGS: [&str; 4] = ["-nostdlib", "-static", "-Wl,--gc-sections", "-Wl,-e,0"];

const GCC: &str = "riscv64-unknown-elf-gcc";
const INSTALL_GCC: &str = "`apt-get install gcc-riscv64-unknown-elf`";
const INSTALL_CLANG: &str = "`apt-get install clang lld`";
/// Clang by these names is looked for, newest first; a name without a number comes before all.
const CLANG_VERSIONS: std::ops::RangeInclusive<u32> = 14..=24;

/// Makers of compilers: they take different arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Family {
    /// riscv64-unknown-elf-gcc.
    Gcc,
    /// clang and ld.lld.
    Clang,
}

impl Family {
    fn of(program: &Path) -> Family {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        if name.contains("clang") {
            Family::Clang
        } else {
            Family::Gcc
        }
    }
}

/// The sources that are compiled, besides the SDK's own files.
#[derive(Clone, Debug, clap::Args)]
pub struct Sources {
    /// C, C++ or assembly files, together one image; to run, also an ELF image.
    #[arg(required = true, value_name = "HANDLER.c")]
    pub files: Vec<PathBuf>,
    /// Folder of headers, searched before those of the SDK.
    #[arg(short = 'I', value_name = "FOLDER")]
    pub includes: Vec<PathBuf>,
    /// Macro, as the compiler takes it.
    #[arg(short = 'D', value_name = "NAME[=VALUE]")]
    pub defines: Vec<String>,
    /// Level of optimisation.
    #[arg(short = 'O', value_name = "LEVEL", default_value = "2", value_parser = ["0", "1", "2", "3", "s", "g"])]
    pub optimisation: String,
    /// The handlers are written for PsPIN (handler.h, packets.h, init_handlers).
    #[arg(long, conflicts_with = "fpspin")]
    pub pspin: bool,
    /// The handlers are written for FPsPIN: PsPIN's API with packets from the Ethernet header on, and spin_host.h.
    #[arg(long)]
    pub fpspin: bool,
    /// The handlers have the types of the sPIN paper (ptl_header_t, PtlHandlerPutFromDevice, __handler): spin_portals.h is included.
    #[arg(long, conflicts_with_all = ["pspin", "fpspin"])]
    pub portals: bool,
    /// Handler set of an image with several, such as pp of pp_header_handler and pp_payload_handler.
    #[arg(long, value_name = "NAME")]
    pub handlers: Option<String>,
}

/// Whether a file is C++ by its name.
fn is_cpp(file: &Path) -> bool {
    file.extension().is_some_and(|extension| CPP_EXTENSIONS.iter().any(|known| extension == *known))
}

/// Whether a file is a source by its name, not an image.
pub fn is_source(file: &Path) -> bool {
    is_cpp(file) || file.extension().is_some_and(|extension| extension == "c" || extension == "S")
}

impl Sources {
    /// One file, compiled as `spindle run` does it.
    pub fn one(file: &Path) -> Sources {
        Sources::of(vec![file.into()])
    }

    /// Several files, compiled as `spindle run` does it.
    pub fn of(files: Vec<PathBuf>) -> Sources {
        Sources {
            files,
            includes: Vec::new(),
            defines: Vec::new(),
            optimisation: "2".into(),
            pspin: false,
            fpspin: false,
            portals: false,
            handlers: None,
        }
    }

    /// Are they written for PsPIN or FPsPIN?
    pub fn ported(&self) -> bool {
        self.pspin || self.fpspin
    }

    /// Checks conditions that the compiler would report in its own way or not at all.
    ///
    /// # Errors
    /// A file, folder or macro is none.
    pub fn check(&self) -> Result<()> {
        for file in &self.files {
            let name = file.display();
            ensure!(file.exists(), "cannot read {name}; give a .c file");
            ensure!(!file.is_dir(), "{name} is a folder; give the .c files in it");
            let known = file.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known));
            ensure!(
                known || is_cpp(file),
                "{name} is no source by its name; give files that end in .{}, .{}",
                EXTENSIONS.join(", ."),
                CPP_EXTENSIONS.join(", .")
            );
        }
        for folder in &self.includes {
            ensure!(folder.is_dir(), "there is no folder {} for -I; give a folder of headers", folder.display());
        }
        for define in &self.defines {
            let name = define.split(['=', '(']).next().unwrap_or_default();
            let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
                && name.chars().all(|other| other.is_ascii_alphanumeric() || other == '_');
            ensure!(is_name, "`{name}` is no name of a macro; give -D NAME or -D NAME=VALUE");
        }
        Ok(())
    }

    /// The files by name, for sentences.
    pub fn names(&self) -> String {
        self.files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
    }
}

/// A compiler that is there.
pub struct Toolchain {
    program: PathBuf,
    family: Family,
    /// As it takes it.
    architecture: String,
    /// ABI and further arguments that the compiler needs.
    arguments: Vec<String>,
    /// Library with division of 64-bit integers and similar functions; Clang has no such library.
    library: Option<String>,
}

impl Toolchain {
    /// The compiler of the given family; otherwise the one in SPINDLE_CC, then GCC, then Clang.
    pub fn find(family: Option<Family>) -> Result<Toolchain> {
        let named = std::env::var_os("SPINDLE_CC").map(PathBuf::from);
        let named = named.filter(|program| family.is_none_or(|family| family == Family::of(program)));
        let program = match (named, family) {
            (Some(program), _) => program,
            (None, Some(Family::Gcc)) => GCC.into(),
            (None, Some(Family::Clang)) => clang().ok_or_else(|| {
                anyhow!("Clang is not installed; run {INSTALL_CLANG} as root, or build with --cc gcc")
            })?,
            (None, None) => in_path(GCC).or_else(clang).ok_or_else(|| {
                anyhow!("no compiler for RISC-V is installed; run {INSTALL_GCC} or {INSTALL_CLANG} as root, or name one in SPINDLE_CC")
            })?,
        };
        match Family::of(&program) {
            Family::Gcc => Toolchain::gcc(program),
            Family::Clang => Toolchain::clang(program),
        }
    }

    fn gcc(program: PathBuf) -> Result<Toolchain> {
        let library = libgcc(&program)?;
        // Code and constants share a segment, which is neither writable nor what this warning is about.
        let arguments = [ABI, "-Wl,--no-warn-rwx-segments"].map(String::from).to_vec();
        Ok(Toolchain {
            program,
            family: Family::Gcc,
            architecture: ARCHITECTURE.into(),
            arguments,
            library: Some(library),
        })
    }

    fn clang(program: PathBuf) -> Result<Toolchain> {
        let mut arguments = ["--target=riscv32-unknown-elf", ABI].map(String::from).to_vec();
        let probe = |architecture: &str| {
            let mut command = Command::new(&program);
            run(command.args(&arguments).arg(march(architecture)).args(["-E", "-x", "c", "/dev/null"]))
        };
        let mut architecture = ARCHITECTURE.to_owned();
        if probe(&architecture).is_err() {
            architecture = architecture.replace(CSR_EXTENSION, "");
            probe(&architecture)?;
        }
        let linker = linker(&program).ok_or_else(|| {
            anyhow!("{} is installed, its linker ld.lld is not; run {INSTALL_CLANG} as root", program.display())
        })?;
        arguments.push(format!("--ld-path={}", linker.display()));
        let library = in_path(GCC).map(|gcc| libgcc(&gcc)).transpose()?;
        Ok(Toolchain { program, family: Family::Clang, architecture, arguments, library })
    }

    /// Compiles and links with the SDK in `sdk`; the compiler's warnings go to standard error. Returns what compiled it, and for which
    /// machine.
    pub fn build(&self, sources: &Sources, sdk: &Path, output: &Path) -> Result<String> {
        sources.check()?;
        let compile = |architecture: &str, entries: &[String]| -> Result<String> {
            let command = || {
                let mut command = Command::new(&self.program);
                command.arg(march(architecture)).args(&self.arguments).args(FLAGS);
                command
                    .args(if sources.ported() { &PSPIN_FLAGS[..] } else { &WARNINGS })
                    .args(sources.fpspin.then_some(FPSPIN_DEFINE))
                    .arg(format!("-O{}", sources.optimisation));
                // The SDK is unpacked to a folder with a random name, which must not make images differ.
                command.arg(format!("-fdebug-prefix-map={}=spindle-sdk", sdk.display()));
                // The user's headers come first, then the more special ones of the SDK.
                let fpspin = sources.fpspin.then(|| sdk.join("include/fpspin"));
                let pspin = sources.ported().then(|| sdk.join("include/pspin"));
                let own = fpspin.into_iter().chain(pspin).chain([sdk.join("include")]);
                for folder in sources.includes.iter().cloned().chain(own) {
                    command.arg("-I").arg(folder);
                }
                command.args(sources.defines.iter().map(|define| format!("-D{define}")));
                command
            };
            // C++ has flags of its own, and the types of Portals are for the user's files alone: such files are objects first.
            let (apart, mut files): (Vec<_>, Vec<_>) =
                sources.files.iter().cloned().partition(|file| is_cpp(file) || (sources.portals && is_source(file)));
            let mut words = String::new();
            for (number, file) in apart.iter().enumerate() {
                let object = sdk.join(format!("file{number}.o"));
                let mut command = command();
                command.args(if is_cpp(file) { &CPP_FLAGS[..] } else { &[C_FLAGS[0], WRONG_KIND] });
                let assembly = file.extension().is_some_and(|extension| extension == "S");
                command.args(["-include", PORTALS_HEADER].iter().filter(|_| sources.portals && !assembly));
                words += &run(command.arg("-c").arg(file).arg("-o").arg(&object))?;
                files.push(object);
            }
            let mut command = command();
            command.args(C_FLAGS);
            command.args(LINK_FLAGS).arg("-L").arg(sdk.join("generated")).arg("-T").arg(sdk.join("handler.ld"));
            command.args(&files);
            let adapter = sources.ported().then_some("pspin.c").or(sources.portals.then_some("portals.c"));
            command.args(["memory.c", "printf.c"].into_iter().chain(adapter).map(|file| sdk.join("lib").join(file)));
            command.args(&self.library).args(entries).arg("-o").arg(output);
            words += &run(&mut command)?;
            Ok(words)
        };
        let mut architecture = self.architecture.clone();
        let mut result = compile(&architecture, &[]);
        if self.family == Family::Gcc && result.as_ref().is_err_and(|error| error.to_string().contains(GCC_DIES)) {
            architecture = architecture.replace(SINGLE_BIT_EXTENSION, "");
            result = compile(&architecture, &[]);
        }
        let words = result.with_context(|| format!("{} does not compile", sources.names())).map_err(|error| {
            if self.library.is_none() && format!("{error:#}").contains("undefined symbol: __") {
                return error
                    .context(format!("64-bit division and floating point need libgcc: run {INSTALL_GCC} as root"));
            }
            match missing_api(sources, &format!("{error:#}")) {
                Some(hint) => error.context(hint),
                None => error,
            }
        })?;
        if !words.trim().is_empty() {
            eprintln!("{}", words.trim_end());
        }
        if let Some(set) = &sources.handlers {
            // Linked again, the set's functions are the image's entry points for whoever loads it.
            let image = std::fs::read(output).context("the compiler wrote no image")?;
            let entries = Image::parse_handlers(&image, Some(set))?.entries;
            if Image::handler_sets(&image)?.contains_key("") {
                bail!(
                    "{} defines header_handler or its like, so no other handler set can be its own; give it a prefix",
                    sources.names()
                );
            }
            let symbol = |(name, entry): (&str, Option<u32>)| Some(format!("-Wl,--defsym={name}={:#x}", entry?));
            compile(&architecture, &ENTRY_SYMBOLS.into_iter().zip(entries).filter_map(symbol).collect::<Vec<_>>())?;
        }
        Ok(format!("{} for {architecture}", self.name()))
    }

    fn name(&self) -> String {
        let version = Command::new(&self.program).arg("-dumpversion").output();
        let version =
            version.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
        let family = match self.family {
            Family::Gcc => "gcc",
            Family::Clang => "clang",
        };
        format!("{family} {version}")
    }
}

/// Advice if the compiler misses a header of another API.
fn missing_api(sources: &Sources, words: &str) -> Option<&'static str> {
    let lacks = |header: &str| {
        words.contains(&format!("{header}: No such file")) || words.contains(&format!("'{header}' file not found"))
    };
    if !sources.fpspin && lacks("spin_host.h") {
        return Some("handlers that include spin_host.h are written for FPsPIN and are built with --fpspin");
    }
    if !sources.portals
        && ["ptl_header_t", "ptl_payload_t", "__handler"].into_iter().any(|name| words.contains(&format!("'{name}'")))
    {
        return Some("handlers with the types of the sPIN paper are built with --portals");
    }
    if !sources.ported() && ["handler.h", "pspin.h", "packets.h"].into_iter().any(lacks) {
        return Some("handlers that are written for PsPIN are built with --pspin, those for FPsPIN with --fpspin");
    }
    None
}

fn march(architecture: &str) -> String {
    format!("-march={architecture}")
}

/// Path of the 32-bit libgcc that this GCC has.
fn libgcc(program: &Path) -> Result<String> {
    let mut command = Command::new(program);
    command.args([LIBRARY_ARCHITECTURE, ABI, "-print-libgcc-file-name"]);
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(
            "the RISC-V compiler {} is not installed; run {INSTALL_GCC} as root, or name another one in SPINDLE_CC",
            program.display()
        ),
        other => other.with_context(|| format!("cannot run {}", program.display()))?,
    };
    ensure!(
        output.status.success(),
        "{} is no compiler for 32-bit RISC-V: {}",
        program.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Clang by the first of its names.
fn clang() -> Option<PathBuf> {
    in_path("clang").or_else(|| CLANG_VERSIONS.rev().find_map(|version| in_path(format!("clang-{version}"))))
}

/// The linker that belongs to a Clang.
fn linker(clang: &Path) -> Option<PathBuf> {
    let own = Command::new(clang).arg("-print-prog-name=ld.lld").output().ok()?;
    let own = PathBuf::from(String::from_utf8_lossy(&own.stdout).trim());
    let version = clang.file_name()?.to_string_lossy().split_once('-').map(|(_, version)| format!("ld.lld-{version}"));
    own.is_absolute().then_some(own).or_else(|| in_path("ld.lld")).or_else(|| version.and_then(in_path))
}

/// A program of that name in the folders of PATH.
fn in_path(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name.as_ref())).find(|path| path.is_file());
    found
}

/// Runs the compiler; its words are the result, or the error.
fn run(command: &mut Command) -> Result<String> {
    let compiler = command.get_program().to_string_lossy().into_owned();
    let output = match command.output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            bail!(
                "the compiler {compiler} is not installed; run {INSTALL_GCC} or {INSTALL_CLANG} as root, or name \
                another one in SPINDLE_CC"
            )
        }
        other => other.with_context(|| format!("cannot run {compiler}"))?,
    };
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{compiler} says:\n{}", words.trim_end());
    Ok(words)
}
