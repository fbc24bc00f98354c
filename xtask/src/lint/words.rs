//! Words that the project does not use, and lines that are too long.

use super::sources::{Kind, Source};
use super::{Finding, Rules};
use anyhow::{Context, Result};
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use std::path::PathBuf;

/// A word or phrase, as a regular expression that matches whole words in any case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    word: String,
    /// What to write.
    instead: String,
    /// Uses that are meant: a match inside one of these is no finding.
    #[serde(default)]
    except: Vec<String>,
    /// Folders in which the rule holds; everywhere if there is none.
    #[serde(default)]
    paths: Vec<PathBuf>,
    /// The rule holds in comments and Markdown only, not in names and strings.
    #[serde(default)]
    prose: bool,
}

struct Compiled<'a> {
    rule: &'a Word,
    word: Regex,
    except: Option<Regex>,
}

/// Findings of the list of words, and lines of source over the limit.
pub fn check(sources: &[Source], rules: &Rules) -> Result<Vec<Finding>> {
    let compiled = rules.words.iter().map(compile).collect::<Result<Vec<_>>>()?;
    let mut findings = vec![];
    for source in sources.iter().filter(|source| !source.generated) {
        let here: Vec<_> = compiled
            .iter()
            .filter(|word| {
                word.rule.paths.is_empty() || word.rule.paths.iter().any(|path| source.path.starts_with(path))
            })
            .collect();
        for (index, line) in source.lines.iter().enumerate() {
            let columns = line.text.chars().count();
            if source.kind != Kind::Markdown && columns > rules.columns {
                findings.push(
                    source.finding(index, format!("the line has {columns} columns, more than {}", rules.columns)),
                );
            }
            for word in &here {
                let text = if word.rule.prose { &line.prose } else { &line.text };
                for found in word.word.find_iter(text) {
                    let meant = |except: &Regex| {
                        except.find_iter(text).any(|meant| meant.start() <= found.start() && found.end() <= meant.end())
                    };
                    if !word.except.as_ref().is_some_and(meant) {
                        findings.push(source.finding(index, format!("`{}`: {}", found.as_str(), word.rule.instead)));
                    }
                }
            }
        }
    }
    Ok(findings)
}

fn compile(rule: &Word) -> Result<Compiled<'_>> {
    let build = |pattern: &str| {
        let built = RegexBuilder::new(pattern).case_insensitive(true).build();
        built.with_context(|| format!("the word `{}` of .config/prose.toml", rule.word))
    };
    let word = build(&format!(r"\b(?:{})(?:\b|$)", rule.word))?;
    let except = if rule.except.is_empty() { None } else { Some(build(&rule.except.join("|"))?) };
    Ok(Compiled { rule, word, except })
}

#[cfg(test)]
mod tests {
    use super::super::sources::source;
    use super::*;

    #[test]
    fn words_and_long_lines_are_found_where_the_rule_holds() {
        let rules: Rules = toml::from_str(
            "columns = 40\nskip = []\nforeign = []\n\
             [[words]]\nword = \"behind\"\ninstead = \"after\"\nexcept = [\"behind the port\"]\n\
             [[words]]\nword = \"told\"\ninstead = \"given\"\npaths = [\"rtl\"]\nprose = true\n",
        )
        .unwrap();
        let text =
            format!("// A cycle behind.\n// RAM behind the port.\nlet told = 1; // told\n// {}\n", "x".repeat(50));
        let found = |path: &str| {
            let findings = check(&[source(path, &text)], &rules).unwrap();
            findings.into_iter().map(|finding| (finding.line, finding.sentence)).collect::<Vec<_>>()
        };
        let all = [(1, "`behind`: after"), (3, "`told`: given"), (4, "the line has 53 columns, more than 40")];
        let all: Vec<_> = all.iter().map(|(line, sentence)| (*line, sentence.to_string())).collect();
        assert_eq!(found("rtl/a.rs"), all);
        assert_eq!(found("xtask/a.rs"), [all[0].clone(), all[2].clone()]);
    }
}
