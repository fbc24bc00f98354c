//! `book`: the pages of `docs` as an mdBook in `target/book`, every link in it checked.
//!
//! A page may link to a file of the checkout. The book has no checkout beside it, so such a file is copied into the book as
//! text, and the link leads there.

use crate::process::{cargo, quiet, target_folder};
use anyhow::{bail, ensure, Context, Result};
use regex::{Captures, Regex};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// The renderer, and its pinned version.
const MDBOOK: &str = "0.5.4";
const PAGES: &str = "docs";
/// Folder of the book for files of the checkout.
const FILES: &str = "files";

/// Renders the book and checks it; returns its folder.
pub fn run() -> Result<PathBuf> {
    let mdbook = install()?;
    let staged = target_folder().join("book-source");
    stage(&staged)?;
    let book = std::path::absolute(target_folder().join("book"))?;
    let _ = fs::remove_dir_all(&book);
    quiet(Command::new(mdbook).arg("build").arg(&staged).arg("--dest-dir").arg(&book))?;
    let (pages, broken) = broken_links(&book)?;
    ensure!(broken.is_empty(), "the book has links that lead nowhere:\n{}", broken.join("\n"));
    println!("book: {} pages, all links lead somewhere: {}", pages, book.join("index.html").display());
    Ok(book)
}

/// The pinned mdbook, installed below the target folder unless it is there.
fn install() -> Result<PathBuf> {
    let root = std::path::absolute(target_folder().join("tools"))?;
    let program = root.join("bin/mdbook");
    let version = quiet(Command::new(&program).arg("--version")).unwrap_or_default();
    if version.trim() != format!("mdbook v{MDBOOK}") {
        println!("book: installing mdbook {MDBOOK} (some minutes, once)");
        let build = target_folder().join("tools/build");
        let fixed =
            ["install", "--quiet", "--locked", "--force", "mdbook", "--no-default-features", "--features", "search"];
        let (root, folder) = (root.to_string_lossy(), build.to_string_lossy());
        cargo(fixed, &["--version", MDBOOK, "--root", &root, "--target-dir", &folder])?;
        let _ = fs::remove_dir_all(build);
    }
    Ok(program)
}

/// Copies `docs` to `staged`, with the files that its pages link to outside of it.
fn stage(staged: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(staged);
    let listed = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", PAGES];
    let listed = quiet(Command::new("git").args(listed))?;
    let pages: BTreeSet<PathBuf> =
        listed.split('\0').filter(|path| !path.is_empty()).map(PathBuf::from).filter(|path| path.is_file()).collect();
    ensure!(pages.contains(&Path::new(PAGES).join("SUMMARY.md")), "there is no {PAGES}/SUMMARY.md");
    for path in &pages {
        let to = staged.join(path.strip_prefix(PAGES)?);
        fs::create_dir_all(to.parent().context("a page has a folder")?)?;
        if path.extension().is_some_and(|end| end == "md") {
            let (text, files) = rewritten(path, &fs::read_to_string(path)?);
            fs::write(to, text)?;
            for file in files {
                let to = staged.join(copied(&file));
                fs::create_dir_all(to.parent().context("a file has a folder")?)?;
                fs::copy(&file, &to).with_context(|| format!("{} links to {}", path.display(), file.display()))?;
            }
        } else {
            fs::copy(path, to)?;
        }
    }
    Ok(())
}

/// Where the book has a file of the checkout: as text, which every browser shows. mdbook takes every `.md` for a page of its own.
fn copied(file: &Path) -> PathBuf {
    let picture = file.extension().is_some_and(|end| ["svg", "png"].iter().any(|kind| end == *kind));
    let name = file.display().to_string();
    Path::new(FILES).join(if picture { name } else { name.trim_end_matches(".md").to_owned() + ".txt" })
}

/// A page whose links out of `docs` lead into the book, and the files they lead to. A link to a folder becomes its text.
fn rewritten(page: &Path, text: &str) -> (String, BTreeSet<PathBuf>) {
    let link = Regex::new(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)").expect("the pattern is well formed");
    let files = RefCell::new(BTreeSet::new());
    let folder = page.parent().unwrap_or(Path::new(""));
    let replace = |found: &Captures| {
        let whole = found[0].to_owned();
        let path = normal(&folder.join(&found[3]));
        if found[3].contains("://") || path.starts_with(PAGES) {
            return whole;
        }
        if !path.is_file() {
            return found[2].to_owned();
        }
        let up = "../".repeat(folder.components().count() - 1);
        let to = format!("{}[{}]({up}{})", &found[1], &found[2], copied(&path).display());
        files.borrow_mut().insert(path);
        to
    };
    let mut fenced = false;
    let lines = text.lines().map(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if fenced || fence {
            line.to_owned()
        } else {
            link.replace_all(line, replace).into_owned()
        }
    });
    let text = lines.collect::<Vec<_>>().join("\n") + "\n";
    (text, files.into_inner())
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, part| {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            other => path.push(other),
        }
        path
    })
}

/// How many pages the book has, and its relative links to files or anchors that it has not.
fn broken_links(book: &Path) -> Result<(usize, Vec<String>)> {
    let mut pages = BTreeMap::new();
    read_pages(book, &mut pages)?;
    if pages.is_empty() {
        bail!("mdbook wrote no page to {}", book.display());
    }
    let link = Regex::new(r#"<[^>]*\b(?:href|src)="([^"]+)"[^>]*>"#).expect("the pattern is well formed");
    let mut broken = vec![];
    // The page for printing holds all others, so its links are theirs; the page for unknown addresses has absolute links.
    let judged = pages.iter().filter(|(path, _)| !path.ends_with("print.html") && !path.ends_with("404.html"));
    for (page, text) in judged {
        for found in link.captures_iter(text) {
            let target = found[1].replace("&amp;", "&");
            if target.contains("://") || target.starts_with("mailto:") || target.starts_with("data:") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file = file.split('?').next().unwrap_or(file);
            let path = if file.is_empty() { page.clone() } else { normal(&page.parent().unwrap_or(book).join(file)) };
            let has_anchor = || pages.get(&path).is_none_or(|text| text.contains(&format!("id=\"{anchor}\"")));
            if !path.exists() || !anchor.is_empty() && !has_anchor() {
                broken.push(format!("{}: {target}", page.strip_prefix(book).unwrap_or(page).display()));
            }
        }
    }
    broken.dedup();
    Ok((pages.len(), broken))
}

fn read_pages(folder: &Path, pages: &mut BTreeMap<PathBuf, String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|end| end == "html") {
            let text = fs::read_to_string(&path)?;
            pages.insert(path, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_out_of_the_pages_lead_to_copies() {
        let page = "[a](run.md#x) [m](../xtask/Cargo.toml) [f](../xtask/src) [w](https://x.y/z)\n```\n[k](../Cargo.toml)\n```\n";
        std::env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap();
        let (text, files) = rewritten(Path::new("docs/a.md"), page);
        assert_eq!(
            text,
            "[a](run.md#x) [m](files/xtask/Cargo.toml.txt) f [w](https://x.y/z)\n```\n[k](../Cargo.toml)\n```\n"
        );
        assert_eq!(files.into_iter().collect::<Vec<_>>(), [Path::new("xtask/Cargo.toml")]);
        let (text, _) = rewritten(Path::new("docs/lab/a.md"), "[m](../../Cargo.toml) [r](../run.md)\n");
        assert_eq!(text, "[m](../files/Cargo.toml.txt) [r](../run.md)\n");
    }

    #[test]
    fn links_of_the_book_that_lead_nowhere_are_found() {
        let folder = std::env::temp_dir().join(format!("spindle-book-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write(
            "a.html",
            "<a href=\"b.html#there\">x</a> <a href=\"b.html#gone\">x</a> <img src=\"no.png\"> <a href=\"https://x\">",
        );
        write("b.html", "<h1 id=\"there\">x</h1>");
        let found = broken_links(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, (2, vec!["a.html: b.html#gone".to_owned(), "a.html: no.png".to_owned()]));
    }
}
