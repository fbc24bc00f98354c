//! Completions of shells and man pages, out of the command line itself.

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::Shell;
use std::io::Write;
use std::path::Path;

/// Prints the completions of a shell.
///
/// # Errors
/// Standard output cannot be written.
pub fn completions(shell: Shell, mut command: Command) -> Result<()> {
    let name = command.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut text);
    std::io::stdout().write_all(&text).context("cannot write the completions")
}

/// Writes `spindle.1` and a page for each command, such as `spindle-load.1`, into a folder.
///
/// # Errors
/// The folder or a page cannot be written.
pub fn man(folder: &Path, command: Command) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    for (name, text) in pages(command)? {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Names and texts of the man pages.
fn pages(command: Command) -> Result<Vec<(String, Vec<u8>)>> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let name = command.get_name().to_owned();
    let mut pages = vec![page(command.clone(), name.clone())?];
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        pages.push(page(sub.clone(), format!("{name}-{}", sub.get_name()))?);
    }
    Ok(pages)
}

fn page(command: Command, name: String) -> Result<(String, Vec<u8>)> {
    let file = format!("{name}.1");
    let usage = name.replace('-', " ");
    let command = command.display_name(&name).bin_name(usage);
    let mut text = Vec::new();
    // No date: the pages of one source are equal.
    clap_mangen::Man::new(command)
        .date("")
        .source("Spindle")
        .manual("Spindle")
        .render(&mut text)
        .context("cannot make a man page")?;
    Ok((file, text))
}
