//! Starting other programs and finding the checkout's folders.

use anyhow::{anyhow, bail, Context, Result};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

/// All targets of the workspace are built, and stay as they are while this process runs.
static ALL_ARE_BUILT: AtomicBool = AtomicBool::new(false);

/// Makes the checkout's root the current folder.
pub fn enter_checkout() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask lies in no checkout")?;
    std::env::set_current_dir(root).with_context(|| format!("cannot enter the checkout {}", root.display()))
}

/// The cargo target folder.
pub fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from)
}

/// Has compiled models kept in the target folder where no home folder is set, and on a machine of continuous integration.
pub fn choose_model_cache() -> Result<()> {
    if wants_model_cache(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty())) {
        std::env::set_var("SPINDLE_CACHE", std::path::absolute(target_folder().join("verilated"))?);
    }
    Ok(())
}

/// Whether the user's own cache cannot be the one, by which variables are set.
fn wants_model_cache(set: impl Fn(&str) -> bool) -> bool {
    !set("SPINDLE_CACHE") && (set("CI") || !set("HOME") && !set("XDG_CACHE_HOME"))
}

/// A program of the checkout's Python environment.
pub fn venv_program(name: &str) -> PathBuf {
    Path::new(".venv/bin").join(name)
}

/// The cargo that started us.
pub fn cargo_command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// From now on [`program`] starts what the last build of the whole workspace has left.
pub fn all_are_built() {
    ALL_ARE_BUILT.store(true, Ordering::Relaxed);
}

/// A program of the checkout, to which arguments are added. It is built first, unless [`all_are_built`]: with one package alone the
/// libraries have other features, and cargo would compile half of the workspace again.
pub fn program(package: &str, name: &str) -> Command {
    if ALL_ARE_BUILT.load(Ordering::Relaxed) {
        return Command::new(target_folder().join("debug").join(name));
    }
    let mut command = cargo_command();
    command.args(["run", "--quiet", "--package", package, "--bin", name, "--"]);
    command
}

/// Runs all of `items`, two at a time (the tools are single-threaded); the results, in the order of the items.
pub fn two_at_a_time<T: Sync, R: Send>(items: &[T], run: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let waiting = Mutex::new(items.iter().enumerate());
    let done = Mutex::new(Vec::new());
    let worker = || loop {
        let Some((index, item)) = waiting.lock().expect("no worker panics").next() else { return };
        let result = run(item);
        done.lock().expect("no worker panics").push((index, result));
    };
    std::thread::scope(|scope| {
        scope.spawn(worker);
        worker();
    });
    let mut done = done.into_inner().expect("no worker panics");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs cargo with our own input and output.
pub fn cargo<const N: usize>(fixed: [&str; N], more: &[impl AsRef<OsStr>]) -> Result<()> {
    visible(cargo_command().args(fixed).args(more))
}

/// Runs `command` with our own input and output; a non-zero exit is an error.
pub fn visible(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| cannot_run(command, &error))?;
    if !status.success() {
        bail!("{} ended with {status}", text(command));
    }
    Ok(())
}

/// Runs `command` silently and returns its standard output; an error carries its last words, or the
/// tool's own from the line that begins with ERROR on.
pub fn quiet(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| cannot_run(command, &error))?;
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let all = format!("{out}{}", String::from_utf8_lossy(&output.stderr));
        let lines: Vec<&str> = all.trim_end().lines().collect();
        let first = lines.iter().position(|line| line.starts_with("ERROR"));
        let tail = lines[first.unwrap_or(0).max(lines.len().saturating_sub(20))..].join("\n");
        bail!("{} ended with {}:\n{tail}", text(command), output.status);
    }
    Ok(out)
}

/// Whether `program` is on the search path.
pub fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn cannot_run(command: &Command, error: &std::io::Error) -> anyhow::Error {
    anyhow!("cannot run `{}`: {error}; run `cargo xtask setup`", command.get_program().to_string_lossy())
}

fn text(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let text = words.join(" ");
    let short: String = text.chars().take(200).collect();
    if short.len() < text.len() {
        format!("`{short} ...`")
    } else {
        format!("`{short}`")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_home_keeps_models_in_the_target_folder() {
        let wants = |variables: &[&str]| wants_model_cache(|name| variables.contains(&name));
        assert!(wants(&[]) && wants(&["HOME", "CI"]));
        assert!(!wants(&["HOME"]) && !wants(&["XDG_CACHE_HOME"]) && !wants(&["SPINDLE_CACHE", "CI"]));
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        // The first item is the last to be done.
        let (sender, receiver) = std::sync::mpsc::channel();
        let (sender, receiver) = (Mutex::new(sender), Mutex::new(receiver));
        let squares = two_at_a_time(&[1, 2, 3, 4], |item| {
            let wait = std::time::Duration::from_secs(10);
            match item {
                1 => receiver.lock().unwrap().recv_timeout(wait).expect("the others run beside it"),
                4 => sender.lock().unwrap().send(()).unwrap(),
                _ => (),
            }
            item * item
        });
        assert_eq!(squares, [1, 4, 9, 16]);
    }
}
