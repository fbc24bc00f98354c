//! Cases of a study: all combinations of what its table `[sweep]` changes, each a run of its own, so that an array of processes can share
//! them, and a run that was stopped goes on with what is missing.
//!
//! ```toml
//! [sweep.arm.rvma]
//! "program.arm" = "rvma"
//! [sweep.arm.write_imm]
//! "program.arm" = "write_imm"
//! "switches.routing" = "static"
//! [sweep.gbps.400]
//! "nodes.gbps" = 400
//! "cables.gbps" = 400
//!
//! [compare]
//! arm = "rvma"
//! ```
//!
//! These are two cases, `arm=rvma gbps=400` and `arm=write_imm gbps=400`. With `[compare]`, the collected table has the time of each case
//! as a multiple of that with the arm `rvma` and everything else the same.

use crate::endpoint::{digest_with, EMPTY_DIGEST};
use crate::engine::Counts;
use crate::run::{Outcome, Speed};
use crate::study::Study;
use crate::VERSION;
use anyhow::{bail, ensure, Context, Result};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Most cases of a study.
const MOST_CASES: usize = 10_000;

/// Settings of a case: the value of each axis, by its name.
pub type Settings = BTreeMap<String, String>;

/// A study and its cases.
#[derive(Debug)]
pub struct Cases {
    /// The study's file.
    pub name: String,
    /// Digest of its text.
    pub digest: String,
    base: Table,
    /// For each axis its values, with the keys that they change.
    axes: BTreeMap<String, BTreeMap<String, Table>>,
    compare: Option<(String, String)>,
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Version of the program that made it.
    pub version: String,
    /// Digest of the study's text.
    pub study: String,
    /// What was run.
    pub settings: Settings,
    /// Cycles from the start of the motif to the last record of a node; from reset on, of nodes without a motif.
    pub cycles: u64,
    /// What became of the frames.
    pub frames: Counts,
    /// Digest of all receive logs.
    pub digest: String,
    /// Seconds of the run, and the most memory that it had, in megabytes.
    pub seconds: f64,
    /// See `seconds`.
    pub peak_mb: f64,
}

/// All results of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Collected {
    /// Version of the program.
    pub version: String,
    /// The study's file.
    pub study: String,
    /// Digest of its text.
    pub digest: String,
    /// Commit of the checkout in which they were collected.
    pub commit: String,
    /// The results.
    pub cases: Vec<Row>,
}

/// A row of the collected table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The case.
    #[serde(flatten)]
    pub case: Case,
    /// Its cycles over those of the case that it is compared with.
    pub ratio: Option<f64>,
}

impl Cases {
    /// The cases of a study's file; none if it has no table `[sweep]`.
    ///
    /// # Errors
    /// The file cannot be read, or `[sweep]` or `[compare]` is wrong. Cases that are no studies are found by [`Cases::study`].
    pub fn read(path: &Path) -> Result<Option<Cases>> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read the study {}", path.display()))?;
        Cases::parse(&path.display().to_string(), &text)
    }

    /// The cases of a text; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As of [`Cases::read`].
    pub fn parse(name: &str, text: &str) -> Result<Option<Cases>> {
        // What is no TOML is refused, with its line, as a study.
        let Ok(mut base) = text.parse::<Table>() else { return Study::parse(name, text).map(|_| None) };
        let (sweep, compare) = (base.remove("sweep"), base.remove("compare"));
        let Some(sweep) = sweep else {
            ensure!(compare.is_none(), "{name}: `[compare]` without `[sweep]`; leave it out, or give the study cases");
            return Ok(None);
        };
        let wrong =
            || format!("{name}: `[sweep]` has tables such as [sweep.AXIS.VALUE] with the keys that the value changes");
        let tables = |value: Value| match value {
            Value::Table(table) if !table.is_empty() => Ok(table),
            _ => bail!(wrong()),
        };
        let mut axes = BTreeMap::new();
        for (axis, values) in tables(sweep)? {
            let values = tables(values)?.into_iter().map(|(value, keys)| match keys {
                Value::Table(keys) => Ok((value, keys)),
                _ => bail!(wrong()),
            });
            axes.insert(axis, values.collect::<Result<BTreeMap<_, _>>>()?);
        }
        let compare = compare.map(|compare| {
            let one = compare.as_table().filter(|table| table.len() == 1).and_then(|table| table.iter().next());
            let one = one.and_then(|(axis, value)| Some((axis.clone(), value.as_str()?.to_string())));
            one.filter(|(axis, value)| axes.get(axis).is_some_and(|values| values.contains_key(value)))
                .with_context(|| format!("{name}: `[compare]` has one axis of `[sweep]` with one of its values"))
        });
        let digest = format!("{:016x}", digest_with(EMPTY_DIGEST, text.as_bytes()));
        let cases = Cases { name: name.into(), digest, base, axes, compare: compare.transpose()? };
        let count = cases.axes.values().try_fold(1_usize, |count, values| count.checked_mul(values.len()));
        ensure!(
            count.is_some_and(|count| count <= MOST_CASES),
            "{name}: the axes of `[sweep]` make more than {MOST_CASES} cases; divide the study"
        );
        Ok(Some(cases))
    }

    /// The studies of all cases.
    ///
    /// # Errors
    /// One is no study.
    pub fn studies(&self) -> Result<Vec<Study>> {
        self.settings().iter().map(|settings| self.study(settings)).collect()
    }

    /// The settings of all cases, in their order.
    pub fn settings(&self) -> Vec<Settings> {
        self.axes.iter().fold(vec![Settings::new()], |all, (axis, values)| {
            let with = |settings: &Settings, value: &String| {
                let mut settings = settings.clone();
                settings.insert(axis.clone(), value.clone());
                settings
            };
            all.iter()
                .flat_map(|settings| values.keys().map(|value| with(settings, value)).collect::<Vec<_>>())
                .collect()
        })
    }

    /// The study of a case.
    ///
    /// # Errors
    /// It is none.
    pub fn study(&self, settings: &Settings) -> Result<Study> {
        let mut file = self.base.clone();
        for (axis, value) in settings {
            let keys = self.axes.get(axis).and_then(|values| values.get(value));
            for (key, value) in keys.with_context(|| format!("{}: no `[sweep.{axis}.{value}]`", self.name))? {
                let (table, key) = key.split_once('.').with_context(|| {
                    format!("{}: `{key}` in `[sweep]` names no key; write \"TABLE.KEY\" = VALUE", self.name)
                })?;
                let table = file.entry(table).or_insert_with(|| Value::Table(Table::new()));
                let table =
                    table.as_table_mut().with_context(|| format!("{}: a key of `[sweep]` is no key", self.name))?;
                table.insert(key.into(), value.clone());
            }
        }
        // Lines are those of a text that the user has not seen, so the case is named and the line is not.
        let text = toml::to_string(&file).context("a case is no TOML")?;
        Study::parse("", &text).map_err(|error| {
            let words = format!("{error:#}");
            let words = words.trim_start_matches([':', ' ']).trim_start_matches(|digit: char| digit.is_ascii_digit());
            anyhow::anyhow!("{}, case {}{words}", self.name, title(settings))
        })
    }

    /// The file of a case.
    pub fn file(&self, folder: &Path, settings: &Settings) -> PathBuf {
        let parts: Vec<String> = settings.iter().map(|(axis, value)| format!("{axis}-{value}")).collect();
        folder.join(format!("{}.json", parts.join(".")))
    }

    /// The result of a case that has been run; none if it has not.
    ///
    /// # Errors
    /// The file cannot be read, or is of another version or another text of the study.
    pub fn result(&self, folder: &Path, settings: &Settings) -> Result<Option<Case>> {
        let path = self.file(folder, settings);
        let text = match std::fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        let case: Case = serde_json::from_slice(&text)
            .with_context(|| format!("{} is no result of a case; remove the file", path.display()))?;
        ensure!(
            case.version == VERSION && case.study == self.digest && case.settings == *settings,
            "{} is of another version of the program or of the study; remove the file, or choose another folder",
            path.display()
        );
        Ok(Some(case))
    }

    /// Keeps the result of a case: whole, or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep(&self, folder: &Path, settings: &Settings, outcome: &Outcome, speed: &Speed) -> Result<()> {
        let last = outcome.nodes.iter().filter_map(|node| node.values.get("last_message_cycle")).max().copied();
        let case = Case {
            version: outcome.version.into(),
            study: self.digest.clone(),
            settings: settings.clone(),
            cycles: last.unwrap_or(outcome.end_cycle) - outcome.start_cycle,
            frames: outcome.frames,
            digest: outcome.digest.clone(),
            seconds: speed.seconds,
            peak_mb: speed.peak_mb,
        };
        let path = self.file(folder, settings);
        let write = || -> Result<()> {
            std::fs::create_dir_all(folder)?;
            let whole = path.with_extension("part");
            std::fs::write(&whole, serde_json::to_string_pretty(&case)? + "\n")?;
            Ok(std::fs::rename(whole, &path)?)
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    /// The cases with these values, and those with which they are compared, in the order of all cases.
    ///
    /// # Errors
    /// There is no such axis or value.
    pub fn row(&self, wanted: &Settings) -> Result<Vec<Settings>> {
        for (axis, value) in wanted {
            let names = |names: Vec<&String>| names.into_iter().cloned().collect::<Vec<_>>().join(", ");
            let values = self.axes.get(axis);
            let values = values.with_context(|| {
                format!("{} has no axis `{axis}`; there are {}", self.name, names(self.axes.keys().collect()))
            })?;
            ensure!(
                values.contains_key(value),
                "axis `{axis}` of {} has no value `{value}`; there are {}",
                self.name,
                names(values.keys().collect())
            );
        }
        let all = self.settings();
        let has = |case: &&Settings| wanted.iter().all(|(axis, value)| case.get(axis) == Some(value));
        let mut row: Vec<Settings> = all.iter().filter(has).cloned().collect();
        let bases: Vec<Settings> = row.iter().filter_map(|case| self.base_of(case)).collect();
        row.extend(bases);
        Ok(all.into_iter().filter(|case| row.contains(case)).collect())
    }

    /// The case with which one is compared.
    fn base_of(&self, settings: &Settings) -> Option<Settings> {
        let (axis, value) = self.compare.clone()?;
        let mut base = settings.clone();
        base.insert(axis, value);
        Some(base)
    }

    /// The results of these cases.
    ///
    /// # Errors
    /// One is missing, cannot be read, or is of another version.
    pub fn collect(&self, folder: &Path, wanted: &[Settings], commit: String) -> Result<Collected> {
        let (mut cases, mut missing) = (Vec::new(), Vec::new());
        for (number, settings) in self.settings().iter().enumerate().filter(|(_, case)| wanted.contains(case)) {
            match self.result(folder, settings)? {
                Some(case) => cases.push(case),
                None => missing.push(number.to_string()),
            }
        }
        ensure!(
            missing.is_empty(),
            "{}: {} of {} cases are missing in {}: {}; run them with --case, or all that are missing without it",
            self.name,
            missing.len(),
            wanted.len(),
            folder.display(),
            missing.join(", ")
        );
        let ratio = |case: &Case| {
            let base = self.base_of(&case.settings)?;
            let base = cases.iter().find(|case| case.settings == base)?;
            Some((case.cycles as f64 / base.cycles as f64 * 1e4).round() / 1e4)
        };
        let rows = cases.iter().map(|case| Row { ratio: ratio(case), case: case.clone() }).collect();
        let (version, study) = (VERSION.into(), self.name.clone());
        Ok(Collected { version, study, digest: self.digest.clone(), commit, cases: rows })
    }
}

impl Cases {
    /// Results that were collected from this study.
    ///
    /// # Errors
    /// The file cannot be read, or is of another text of the study.
    pub fn collected(&self, path: &Path) -> Result<Collected> {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let collected: Collected =
            serde_json::from_slice(&text).with_context(|| format!("{} has no collected results", path.display()))?;
        ensure!(
            collected.digest == self.digest,
            "{} has the results of another text of {}; run the study again with `cargo xtask studies`",
            path.display(),
            self.name
        );
        Ok(collected)
    }
}

/// The order of values of an axis: numbers by their size, others by their letters.
pub fn by_number(a: &str, b: &str) -> Ordering {
    let number = |value: &str| value.parse::<f64>().unwrap_or(f64::INFINITY);
    number(a).total_cmp(&number(b)).then_with(|| a.cmp(b))
}

/// A case by its settings.
pub fn title(settings: &Settings) -> String {
    settings.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(" ")
}

impl Collected {
    /// A table in Markdown: a row for all settings but those of the last axis, whose values are the columns. The cells are ratios, or
    /// cycles where nothing is compared.
    pub fn table(&self) -> String {
        let Some(first) = self.cases.first() else { return String::new() };
        let axes: Vec<&String> = first.case.settings.keys().collect();
        let Some((across, along)) = axes.split_last() else { return String::new() };
        let mut columns: Vec<&String> = self.cases.iter().map(|row| &row.case.settings[*across]).collect();
        columns.sort_unstable_by(|a, b| by_number(a, b));
        columns.dedup();
        let mut rows: Vec<(Vec<&String>, Vec<String>)> = Vec::new();
        for row in &self.cases {
            let head: Vec<&String> = along.iter().map(|axis| &row.case.settings[*axis]).collect();
            if rows.iter().all(|(other, _)| *other != head) {
                let cell = |column: &&String| {
                    let found = self.cases.iter().find(|other| {
                        other.case.settings[*across] == **column
                            && along.iter().zip(&head).all(|(axis, value)| other.case.settings[*axis] == **value)
                    });
                    found.map_or("–".into(), |found| match found.ratio {
                        Some(ratio) => format!("{ratio:.2}"),
                        None => found.case.cycles.to_string(),
                    })
                };
                let cells = columns.iter().map(cell).collect();
                rows.push((head, cells));
            }
        }
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let heads: Vec<String> = along.iter().map(ToString::to_string).collect();
        let columns = columns.iter().map(|value| format!("{across} {value}"));
        let head: Vec<String> = heads.into_iter().chain(columns).collect();
        let mut text = line(&head) + &line(&vec!["---".into(); head.len()]);
        for (heads, cells) in rows {
            text += &line(&heads.into_iter().cloned().chain(cells).collect::<Vec<_>>());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::draw;

    const STUDY: &str = "[topology]\nkind = 'star'\nnodes = 4\n[nodes]\nkind = 'model'\n[program]\nkind = 'motif'\npattern = 'sweep'\n\
                         grid = [2, 2]\nbytes = 100\n[sweep.arm.rvma]\n'program.arm' = 'rvma'\n[sweep.arm.write_imm]\n\
                         'program.arm' = 'write_imm'\n[sweep.gbps.64]\n'cables.gbps' = 64\n'nodes.gbps' = 64\n[sweep.gbps.128]\n\
                         'cables.gbps' = 128\n[compare]\narm = 'rvma'\n";

    fn cases() -> Cases {
        Cases::parse("s.toml", STUDY).unwrap().unwrap()
    }

    fn results(folder: &Path, cases: &Cases) {
        for (number, settings) in cases.settings().iter().enumerate() {
            let case = Case {
                version: VERSION.into(),
                study: cases.digest.clone(),
                settings: settings.clone(),
                cycles: 100 + 20 * number as u64,
                frames: Counts::default(),
                digest: String::new(),
                seconds: 1.0,
                peak_mb: 1.0,
            };
            std::fs::write(cases.file(folder, settings), serde_json::to_string(&case).unwrap()).unwrap();
        }
    }

    #[test]
    fn cases_are_all_combinations() {
        let cases = cases();
        let titles: Vec<String> = cases.settings().iter().map(title).collect();
        let wanted = ["arm=rvma gbps=128", "arm=rvma gbps=64", "arm=write_imm gbps=128", "arm=write_imm gbps=64"];
        assert_eq!(titles, wanted);
        let bytes: Vec<i64> = cases.settings().iter().map(|case| cases.study(case).unwrap().physics.byte).collect();
        assert_eq!(bytes, [62_500, 125_000, 62_500, 125_000]);
        let without = STUDY.split("[sweep").next().unwrap();
        assert!(Cases::parse("s.toml", without).unwrap().is_none());
    }

    #[test]
    fn a_table_has_ratios() {
        let folder = tempfile::tempdir().unwrap();
        let cases = cases();
        results(folder.path(), &cases);
        let collected = cases.collect(folder.path(), &cases.settings(), "c".into()).unwrap();
        assert_eq!(
            collected.table(),
            "| arm | gbps 64 | gbps 128 |\n| --- | --- | --- |\n| rvma | 1.00 | 1.00 |\n| write_imm | 1.33 | 1.40 |\n"
        );
    }

    #[test]
    fn a_row_has_the_cases_that_it_is_compared_with() {
        let folder = tempfile::tempdir().unwrap();
        let cases = cases();
        let of = |wanted: &[(&str, &str)]| {
            cases.row(&wanted.iter().map(|(axis, value)| (axis.to_string(), value.to_string())).collect())
        };
        let titles = |wanted: &[(&str, &str)]| of(wanted).unwrap().iter().map(title).collect::<Vec<_>>();
        assert_eq!(titles(&[("arm", "rvma")]), ["arm=rvma gbps=128", "arm=rvma gbps=64"]);
        assert_eq!(titles(&[("gbps", "64"), ("arm", "write_imm")]), ["arm=rvma gbps=64", "arm=write_imm gbps=64"]);
        assert_eq!(titles(&[]).len(), 4);
        results(folder.path(), &cases);
        let row = of(&[("gbps", "64")]).unwrap();
        // The other column is not needed.
        cases.settings().iter().filter(|case| !row.contains(case)).for_each(|case| {
            std::fs::remove_file(cases.file(folder.path(), case)).unwrap();
        });
        let table = cases.collect(folder.path(), &row, "c".into()).unwrap().table();
        assert_eq!(table, "| arm | gbps 64 |\n| --- | --- |\n| rvma | 1.00 |\n| write_imm | 1.33 |\n");
        for (axis, value, words) in [
            ("rate", "64", "s.toml has no axis `rate`; there are arm, gbps"),
            ("arm", "64", "axis `arm` of s.toml has no value `64`; there are rvma, write_imm"),
        ] {
            assert_eq!(of(&[(axis, value)]).unwrap_err().to_string(), words);
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        let refused = |from: &str, to: &str, wanted: &str| {
            assert!(STUDY.contains(from), "{from}");
            let parsed = Cases::parse("s.toml", &STUDY.replacen(from, to, 1));
            let error = format!("{:#}", parsed.and_then(|cases| cases.unwrap().studies()).unwrap_err());
            assert!(error.starts_with("s.toml") && error.contains(wanted) && !error.contains('\n'), "{error}");
        };
        refused("'cables.gbps' = 64", "'cables' = 64", "`cables` in `[sweep]` names no key");
        refused("'cables.gbps' = 64", "'cables.gbp' = 64", "case arm=rvma gbps=64: unknown field `gbp`");
        refused("arm = 'rvma'\n", "arm = 'other'\n", "`[compare]` has one axis");
        refused("[sweep.arm.rvma]\n'program.arm' = 'rvma'", "[sweep.arm]\nrvma = 'rvma'", "`[sweep]` has tables");
        refused("[topology]", "[topology", "s.toml:1:");
        refused(
            "[program]",
            "[switches]\nrouting = 'adaptive'\n[program]",
            "case arm=write_imm gbps=128: this arm is right",
        );
    }

    /// Results in docs/studies are those of the study's text, and their table is in docs/scale.md.
    #[test]
    fn tables_of_the_docs_are_those_of_the_results() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = std::fs::read_to_string(root.join("docs/scale.md")).unwrap();
        let mut found = 0;
        for entry in std::fs::read_dir(root.join("testbench/network/studies")).unwrap() {
            let path = entry.unwrap().path();
            let Some(cases) = Cases::read(&path).unwrap() else { continue };
            let name = path.file_stem().unwrap().to_str().unwrap();
            let results = root.join("docs/studies").join(format!("{name}.json"));
            if !results.exists() {
                continue;
            }
            let collected = cases.collected(&results).unwrap();
            assert!(
                page.contains(&collected.table()),
                "docs/scale.md lacks this table of {name}:\n{}",
                collected.table()
            );
            let plot = std::fs::read_to_string(results.with_extension("svg")).unwrap();
            assert!(
                plot == draw(&collected).unwrap(),
                "the plot of {name} is another one; run `cargo xtask studies --tables`"
            );
            found += 1;
        }
        let results = std::fs::read_dir(root.join("docs/studies")).unwrap();
        let results =
            results.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|kind| kind == "json"));
        let results = results.count();
        assert!(found == results && found > 0, "{found} of {results} results belong to a study");
    }

    #[test]
    fn results_of_another_study_and_missing_ones_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let cases = cases();
        results(folder.path(), &cases);
        let other = Cases::parse("s.toml", &STUDY.replace("bytes = 100", "bytes = 101")).unwrap().unwrap();
        let error = other.collect(folder.path(), &other.settings(), "c".into()).unwrap_err().to_string();
        assert!(error.contains("another version of the program or of the study"), "{error}");
        std::fs::remove_file(cases.file(folder.path(), &cases.settings()[2])).unwrap();
        let error = cases.collect(folder.path(), &cases.settings(), "c".into()).unwrap_err().to_string();
        assert!(error.contains("1 of 4 cases are missing") && error.contains(": 2; run them"), "{error}");
    }
}
