//! Links of Markdown files: the file and the heading that they name must exist.

use super::sources::{Kind, Source};
use super::Finding;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

/// Links of Markdown files that lead nowhere. Addresses of other sites are not visited.
pub fn check(sources: &[Source]) -> Vec<Finding> {
    let pages = sources.iter().filter(|source| source.kind == Kind::Markdown);
    let headings: BTreeMap<&Path, BTreeSet<String>> =
        pages.clone().map(|page| (page.path.as_path(), anchors(page))).collect();
    let mut findings = vec![];
    for page in pages {
        for (index, line) in page.lines.iter().enumerate() {
            for target in targets(&line.prose) {
                if let Err(sentence) = resolve(&page.path, target, &headings) {
                    findings.push(page.finding(index, sentence));
                }
            }
        }
    }
    findings
}

/// Targets of `[text](target)`, `![text](target)` and `src="target"` outside inline code.
fn targets(prose: &str) -> Vec<&str> {
    let outside = outside_code(prose);
    let mut targets = vec![];
    for (open, close) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
        for (at, _) in outside.match_indices(open) {
            let target = &prose[at + open.len()..];
            if let Some(end) = target.find(close) {
                targets.push(target[..end].split(' ').next().unwrap_or_default());
            }
        }
    }
    targets
}

/// The line with the insides of inline code blanked, at the same byte positions.
fn outside_code(prose: &str) -> String {
    let mut inside = false;
    let blanked = prose.bytes().map(|byte| {
        inside ^= byte == b'`';
        if inside {
            b' '
        } else {
            byte
        }
    });
    String::from_utf8(blanked.collect()).unwrap_or_default()
}

/// Checks one target of a page.
fn resolve(page: &Path, target: &str, headings: &BTreeMap<&Path, BTreeSet<String>>) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") || target.is_empty() {
        return Ok(());
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = match file {
        "" => page.to_path_buf(),
        _ => normal(&page.parent().unwrap_or(Path::new("")).join(file)),
    };
    if !path.exists() && !headings.contains_key(path.as_path()) {
        return Err(format!("the link leads to {}, which does not exist", path.display()));
    }
    match (anchor, headings.get(path.as_path())) {
        (Some(anchor), Some(known)) if !known.contains(anchor) => {
            Err(format!("{} has no heading `#{anchor}`", path.display()))
        }
        _ => Ok(()),
    }
}

/// A path without `.` and `..`.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(normal.pop()),
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal
}

/// Anchors of a page: its headings as mdBook and GitHub name them, and explicit `id`s.
fn anchors(page: &Source) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for line in &page.lines {
        for (at, open) in line.prose.match_indices("id=\"") {
            anchors.extend(line.prose[at + open.len()..].split('"').next().map(str::to_owned));
        }
        let heading = line.prose.trim_start_matches('#');
        if heading.len() == line.prose.len() || !heading.starts_with(' ') {
            continue;
        }
        let slug: String = heading
            .trim()
            .to_lowercase()
            .chars()
            .filter_map(|c| match c {
                ' ' => Some('-'),
                c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
                _ => None,
            })
            .collect();
        let again = (1..).map(|count| format!("{slug}-{count}"));
        let name = std::iter::once(slug.clone()).chain(again).find(|name| !anchors.contains(name));
        anchors.extend(name);
    }
    anchors
}

#[cfg(test)]
mod tests {
    use super::super::sources::source;
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let other = source("docs/b.md", "# What it is, in `code`\n## Twice\n## Twice\n");
        let text = "[a](b.md) [b](b.md#what-it-is-in-code) [c](b.md#twice-1) [d](https://x.y/z#w) `[no](link)`\n\
                    [e](b.md#three) and [f](none.md)\n[g](#here) ![h](../none.svg)\n# There\n";
        let findings = check(&[source("docs/a.md", text), other]);
        let found: Vec<_> = findings.iter().map(|finding| (finding.line, finding.sentence.as_str())).collect();
        let wanted = [
            (2, "docs/b.md has no heading `#three`"),
            (2, "the link leads to docs/none.md, which does not exist"),
            (3, "docs/a.md has no heading `#here`"),
            (3, "the link leads to none.svg, which does not exist"),
        ];
        let mut found = found;
        found.sort();
        assert_eq!(found, wanted);
    }
}
