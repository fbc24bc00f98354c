//! Names in the backticks of docs and comments: paths, commands, options, crates and symbols that the project must have.

use super::sources::{Kind, Source};
use super::{links, Finding};
use crate::Arguments;
use anyhow::{Context, Result};
use clap::CommandFactory;
use regex::Regex;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Ends of the names of files that the project writes by hand.
const ENDS: &[&str] = &["rs", "md", "c", "h", "toml", "ld", "sh", "js", "css", "html", "tcl", "xdc", "py"];

/// Parts that the back end adds to the name of a bundle's field.
const SUFFIXES: &[&str] = &[
    "valid", "ready", "data", "keep", "last", "user", "id", "addr", "len", "strb", "resp", "next", "q", "d", "i", "n",
];

/// The names that the project has.
struct Known {
    /// Words of code.
    words: BTreeSet<String>,
    /// Paths of files and folders.
    paths: BTreeSet<PathBuf>,
    /// Names of files.
    files: BTreeSet<String>,
    /// Top folders.
    tops: BTreeSet<String>,
    crates: BTreeSet<String>,
    /// Commands of `cargo xtask` and of `spindle`.
    xtask: BTreeSet<String>,
    spindle: BTreeSet<String>,
    options: BTreeSet<String>,
    foreign: BTreeSet<String>,
    patterns: Patterns,
}

struct Patterns {
    quoted: Regex,
    word: Regex,
    option: Regex,
    path: Regex,
    symbol: Regex,
    command: Regex,
}

/// Names that the project does not have.
pub fn check(sources: &[Source], foreign: &[String]) -> Result<Vec<Finding>> {
    let known = Known::of(sources, foreign)?;
    let mut findings = vec![];
    for source in sources.iter().filter(|source| !source.generated) {
        for (index, line) in source.lines.iter().enumerate() {
            let mut sentences = vec![];
            let prose = line.prose.as_str();
            for quoted in known.patterns.quoted.captures_iter(prose) {
                sentences.extend(known.quoted(quoted[1].trim(), &source.path));
            }
            // Paths of the project are checked in backticks or not.
            let bare = known.patterns.quoted.replace_all(prose, "");
            for path in known.patterns.path.find_iter(&bare) {
                if !bare[..path.start()].ends_with(['/', '(', '-', '.', ':', '"', '=']) {
                    sentences.extend(known.path(path.as_str().trim_end_matches(['.', '/', '-']), &source.path));
                }
            }
            let shown = if source.kind == Kind::Markdown { line.text.as_str() } else { prose };
            sentences.extend(known.commands(shown));
            sentences.sort();
            sentences.dedup();
            findings.extend(sentences.into_iter().map(|sentence| source.finding(index, sentence)));
        }
    }
    Ok(findings)
}

impl Known {
    fn of(sources: &[Source], foreign: &[String]) -> Result<Known> {
        let regex = |pattern: &str| Regex::new(pattern).expect("the pattern is well formed");
        let tops = "docs|xtask|rtl|testbench|packet-engine|hpu-core|rvma-lut|sw-driver|handlers|boards|constraints";
        let patterns = Patterns {
            quoted: regex(r"`([^`]+)`"),
            word: regex(r"[A-Za-z_][A-Za-z0-9_]*"),
            option: regex(r"--[a-z][a-z0-9-]*"),
            path: regex(&format!(r"\b(?:{tops})/[A-Za-z0-9_./-]+")),
            symbol: regex(r"^[A-Za-z_]\w*(?:(?:::|\.)[A-Za-z_]\w*)*(?:\(\))?$"),
            command: regex(r"\b(cargo xtask|spindle) ([a-z][a-z-]+)\b"),
        };
        let mut known = Known {
            words: BTreeSet::new(),
            paths: BTreeSet::new(),
            files: BTreeSet::new(),
            tops: tops.split('|').map(str::to_owned).collect(),
            crates: BTreeSet::new(),
            xtask: BTreeSet::new(),
            spindle: BTreeSet::new(),
            options: BTreeSet::new(),
            foreign: foreign.iter().cloned().collect(),
            patterns,
        };
        for source in sources {
            known.files.extend(source.path.file_name().map(|name| name.to_string_lossy().into_owned()));
            known.words.extend(source.path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
            known.paths.extend(source.path.ancestors().map(Path::to_path_buf));
            if source.kind != Kind::Markdown {
                for line in &source.lines {
                    let words = known.patterns.word.find_iter(&line.code);
                    known.words.extend(words.map(|word| word.as_str().to_owned()));
                    let options = known.patterns.option.find_iter(&line.code);
                    known.options.extend(options.map(|option| option.as_str().to_owned()));
                }
            }
            if source.path.ends_with("Cargo.toml") {
                let name = source.lines.iter().filter_map(|line| line.code.trim().strip_prefix("name = "));
                known.crates.extend(name.map(|name| name.trim().trim_matches('"').to_owned()));
            }
            known.options.extend(options(source));
        }
        let folders: Vec<String> =
            known.paths.iter().filter_map(|path| path.file_name()?.to_str().map(str::to_owned)).collect();
        known.words.extend(folders);
        let xtask = Arguments::command();
        known.xtask.extend(xtask.get_subcommands().map(|command| command.get_name().to_owned()));
        let main = sources.iter().find(|source| source.path.ends_with("sw-driver/cli/src/main.rs"));
        known.spindle = variants(main.context("the lint reads the commands of spindle in sw-driver/cli/src/main.rs")?);
        let on_cards = sources.iter().find(|source| source.path.ends_with("sw-driver/cli/src/card/mod.rs"));
        known.spindle.extend(on_cards.map(variants).unwrap_or_default());
        Ok(known)
    }

    /// The fault of a name in backticks.
    fn quoted(&self, name: &str, page: &Path) -> Option<String> {
        if self.foreign.contains(name) || name.contains(['*', '<', '{', '…', '$', '%', '~', '|']) {
            return None;
        }
        if name.contains(char::is_whitespace) {
            let package = name.split_whitespace().skip_while(|word| !["-p", "--package"].contains(word)).nth(1)?;
            return (!self.crates.contains(package)).then(|| format!("`{package}` is no crate of the project"));
        }
        if name.starts_with("--") {
            let option = self.patterns.option.find(name)?.as_str();
            let known = self.options.contains(option) || self.foreign.contains(option);
            return (!known).then(|| format!("no command has the option `{option}`"));
        }
        if self.is_path(name) {
            return self.path(name, page);
        }
        let is_crate = ["spindle-", "rvma-", "hpu-", "packet-"].iter().any(|start| name.starts_with(start));
        if is_crate && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            return (!self.crates.contains(name)).then(|| format!("`{name}` is no crate of the project"));
        }
        self.symbol(name)
    }

    /// Whether a name in backticks is one of a file of the project.
    fn is_path(&self, name: &str) -> bool {
        let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte));
        let ours = name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && ENDS.contains(&end));
        let below = name.split_once('/').is_some_and(|(top, _)| self.tops.contains(top));
        plain && !name.starts_with(['/', '.', '-']) && !name.starts_with("target/") && (ours || below)
    }

    /// The fault of a path: it may begin at the root, at the file that names it, or at a folder above that file or its `src`.
    fn path(&self, name: &str, page: &Path) -> Option<String> {
        if self.foreign.contains(name) {
            return None;
        }
        let from = page.ancestors().skip(1);
        let there = |path: PathBuf| self.paths.contains(&links::normal(&path)) || path.exists();
        let found = (!name.contains('/') && self.files.contains(name))
            || from.flat_map(|folder| [folder.join(name), folder.join("src").join(name)]).any(there);
        (!found).then(|| format!("there is no file `{name}`"))
    }

    /// The fault of a symbol: each part of its path is a word of code.
    fn symbol(&self, name: &str) -> Option<String> {
        if !self.patterns.symbol.is_match(name) {
            return None;
        }
        let telling = |part: &str| {
            let mut inner = part.trim_matches('_').chars().skip(1);
            part.len() > 3 && inner.any(|c| c == '_' || c.is_ascii_uppercase())
        };
        let mut parts = self.patterns.word.find_iter(name).map(|part| part.as_str());
        let several = name.contains("::") || name.ends_with("()");
        let missing = parts.find(|part| (several || telling(part)) && !self.has(part))?;
        Some(format!("`{missing}` is no name in the code"))
    }

    fn has(&self, word: &str) -> bool {
        if self.words.contains(word) || self.foreign.contains(word) {
            return true;
        }
        // A field of a bundle, or a numbered copy, as the Verilog names it.
        let emitted = |end: &str| SUFFIXES.contains(&end) || end.bytes().all(|byte| byte.is_ascii_digit());
        word.rsplit_once('_').is_some_and(|(name, end)| emitted(end) && self.has(name))
    }

    /// Faults of commands in a line.
    fn commands(&self, line: &str) -> Vec<String> {
        let mut faults = vec![];
        for command in self.patterns.command.captures_iter(line) {
            let (program, name) = (&command[1], &command[2]);
            let at = command.get(0).expect("the whole match").start();
            // The program `spindle` is only meant where code begins; elsewhere the word is the project's name.
            let code = line[..at].ends_with('`') || line[..at].trim().is_empty() || line[..at].ends_with("$ ");
            let commands = if program == "spindle" { &self.spindle } else { &self.xtask };
            if (program != "spindle" || code) && !commands.contains(name) {
                faults.push(format!("`{program}` has no command `{name}`"));
            }
        }
        faults
    }
}

/// Options that a source gives to clap: fields below an attribute `#[arg(long)]`.
fn options(source: &Source) -> Vec<String> {
    let mut options = vec![];
    if source.kind != Kind::Rust {
        return options;
    }
    let named = Regex::new(r#"long = "([a-z0-9-]+)""#).expect("the pattern is well formed");
    let field = Regex::new(r"^\s*(?:pub(?:\([a-z]+\))? )?([a-z_0-9]+): ").expect("the pattern is well formed");
    let mut waits = false;
    for line in &source.lines {
        let code = line.code.as_str();
        options.extend(named.captures_iter(code).map(|name| format!("--{}", &name[1])));
        waits |= code.contains("#[arg(") && code.contains("long");
        if let (true, Some(name)) = (waits, field.captures(code)) {
            options.push(format!("--{}", name[1].replace('_', "-")));
            waits = false;
        }
    }
    options
}

/// Names of the variants of the enum of commands, as clap names them.
fn variants(main: &Source) -> BTreeSet<String> {
    let lines = main.lines.iter().map(|line| line.code.as_str());
    let body = lines.skip_while(|code| !is_commands(code)).skip(1).take_while(|code| !code.starts_with('}'));
    let name = |code: &str| {
        let word: String = code.trim().chars().take_while(char::is_ascii_alphanumeric).collect();
        word.starts_with(|c: char| c.is_ascii_uppercase()).then(|| kebab(&word))
    };
    body.filter_map(name).chain(["help".to_owned()]).collect()
}

/// A variant as clap names it on the command line: `use-case` of `UseCase`.
fn kebab(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Whether the enum of a program's commands, or of its commands on cards, begins here.
fn is_commands(code: &str) -> bool {
    ["enum Command", "pub enum CardCommand"].iter().any(|start| code.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::super::sources::source;
    use super::*;

    #[test]
    fn names_that_the_project_lacks_are_found() {
        let main = "enum Command {\n    Run(X),\n}\nstruct X {\n    #[arg(long)]\n    all_of: bool,\n}\n";
        let code = "pub struct HeaderMatcher { rx: u8 } // `put_done`\n";
        let page = "`HeaderMatcher` `rx_valid` `HeaderMatcher::gone` `spindle run` `spindle reset` `spindle fly` `cargo xtask demo` \n\
                    `cargo xtask fly` `--all-of` `--none-of` `docs/a.md` `docs/gone.md` see rtl/a/matcher.rs and rtl/a/b.rs\n\
                    `matcher.rs` `other.rs` `my_tool` `cargo run -p spindle-x` `spindle-a`\n";
        let manifest = source("rtl/a/Cargo.toml", "[package]\nname = \"spindle-a\"\n");
        let sources = [
            source("sw-driver/cli/src/main.rs", main),
            source("sw-driver/cli/src/card/mod.rs", "pub enum CardCommand {\n    Reset,\n}\n"),
            source("rtl/a/matcher.rs", code),
            source("docs/a.md", page),
            manifest,
        ];
        let findings = check(&sources, &["my_tool".into()]).unwrap();
        let found: Vec<_> =
            findings.iter().map(|f| format!("{}:{}: {}", f.path.display(), f.line, f.sentence)).collect();
        let wanted = [
            "rtl/a/matcher.rs:1: `put_done` is no name in the code",
            "docs/a.md:1: `gone` is no name in the code",
            "docs/a.md:1: `spindle` has no command `fly`",
            "docs/a.md:2: `cargo xtask` has no command `fly`",
            "docs/a.md:2: no command has the option `--none-of`",
            "docs/a.md:2: there is no file `docs/gone.md`",
            "docs/a.md:2: there is no file `rtl/a/b.rs`",
            "docs/a.md:3: `spindle-x` is no crate of the project",
            "docs/a.md:3: there is no file `other.rs`",
        ];
        assert_eq!(found, wanted);
    }
}
