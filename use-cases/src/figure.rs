//! Figures: what `figure.toml` declares, and the results that are kept as JSON, CSV and SVG.

use crate::bench::Setting;
use crate::case::{rounded, Case, Row, ALL};
use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Folder of the results, from the root of the checkout.
pub const FOLDER: &str = "docs/figures";

/// `figure.toml` of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    /// Heading of the plot.
    pub title: String,
    /// Sentence below the plot.
    pub caption: String,
    /// What the points are.
    pub x: Axis,
    /// What is drawn.
    pub y: Axis,
    /// Points.
    pub points: Vec<u64>,
    /// Points of a quick run.
    pub quick: Vec<u64>,
    /// Hosts that are compared.
    pub hosts: Vec<String>,
    /// Points at which hosts other than the drawn one are measured; all if it is left out.
    pub compared: Option<Vec<u64>>,
    /// Wire of `host-cost.toml`.
    pub wire: String,
    /// Host whose curves are drawn; the others are in the table and the CSV.
    pub drawn: String,
    /// Points of the paper.
    #[serde(default)]
    pub paper: Vec<Paper>,
    /// A line that cannot be passed.
    pub limit: Option<Limit>,
    /// What the case is judged by.
    pub target: Vec<Target>,
}

/// An axis.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// Label with unit.
    pub label: String,
    /// Logarithmic.
    #[serde(default)]
    pub log: bool,
    /// Name of the value, of the y axis.
    #[serde(default)]
    pub value: String,
    /// Name of its standard deviation, which is drawn up and down from each point.
    pub deviation: Option<String>,
}

/// A point of a publication.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Which publication, page and series.
    pub label: String,
    /// Place.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Q read, A abstract, D computed from published data, R recalled.
    pub evidence: String,
}

/// A line across the plot.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// What it is.
    pub label: String,
    /// Value on the y axis.
    pub y: f64,
}

/// A figure that the case is judged by.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Key, after `use_cases.NAME.`.
    pub key: String,
    /// What it says, with unit.
    pub what: String,
    /// Least value.
    pub at_least: Option<f64>,
    /// Most.
    pub at_most: Option<f64>,
    /// What the publication has, with its evidence mark.
    pub paper: String,
    /// What cannot be passed, and why.
    pub limit: String,
}

impl Target {
    /// Whether a value reaches the target; `None` if there is no target.
    pub fn reached(&self, value: f64) -> Option<bool> {
        match (self.at_least, self.at_most) {
            (None, None) => None,
            (least, most) => Some(least.is_none_or(|least| value >= least) && most.is_none_or(|most| value <= most)),
        }
    }

    /// The target as text.
    pub fn text(&self) -> String {
        match (self.at_least, self.at_most) {
            (Some(least), None) => format!("≥ {least}"),
            (None, Some(most)) => format!("≤ {most}"),
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (None, None) => "–".into(),
        }
    }
}

impl Declared {
    /// The declaration of a case.
    ///
    /// # Errors
    /// It is wrong, or names a host that does not exist.
    pub fn of(case: &Case) -> Result<Declared> {
        let declared: Declared =
            toml::from_str(case.figure).with_context(|| format!("use-cases/{}/figure.toml is wrong", case.name))?;
        let file = format!("use-cases/{}/figure.toml", case.name);
        ensure!(!declared.points.is_empty() && !declared.quick.is_empty(), "{file} has no points");
        for host in declared.hosts.iter().chain([&declared.drawn]) {
            crate::cost::HostKind::by_name(host).with_context(|| file.clone())?;
        }
        let compared = declared.compared.iter().flatten().find(|point| !declared.points.contains(point));
        ensure!(compared.is_none(), "{file}: there is no point {}", compared.copied().unwrap_or_default());
        Ok(declared)
    }
}

/// The result of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Name of the case.
    pub case: String,
    /// Configuration of the NIC.
    pub config: String,
    /// Commit at which it was measured.
    pub commit: String,
    /// Digest of the NIC's Verilog, the handlers and the case ([`inputs`]).
    pub inputs: String,
    /// The constants of `host-cost.toml`, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub costs: BTreeMap<String, f64>,
    /// The wire.
    pub wire: String,
    /// All points.
    pub rows: Vec<Row>,
    /// Figures by key.
    pub summary: BTreeMap<String, f64>,
}

impl Results {
    /// Where the results of a case are kept.
    pub fn path(folder: &Path, case: &str) -> PathBuf {
        folder.join(format!("{case}.json"))
    }

    /// The results that are kept; `None` if there are none.
    ///
    /// # Errors
    /// The file cannot be read or is wrong.
    pub fn load(folder: &Path, case: &str) -> Result<Option<Results>> {
        let path = Results::path(folder, case);
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let what = || format!("{} is no result; `spindle use-case {case} --figure` writes a new one", path.display());
        Ok(Some(serde_json::from_str(&text).with_context(what)?))
    }

    /// Whether the case and every constant that there was are the same today. Constants that came later are not of these results.
    pub fn are_fresh(&self, inputs: &str, costs: &BTreeMap<String, f64>) -> bool {
        self.inputs == inputs && self.costs.iter().all(|(name, value)| costs.get(name) == Some(value))
    }

    /// Whether rows of these results are rows of a new measurement, too.
    pub fn are_of(&self, inputs: &str, setting: &Setting, declared: &Declared) -> bool {
        self.are_fresh(inputs, &setting.costs.values())
            && self.wire == declared.wire
            && self.config == setting.config.name
    }

    /// JSON, CSV and SVG.
    ///
    /// # Errors
    /// The plot cannot be drawn.
    pub fn files(&self, declared: &Declared) -> Result<[(String, String); 3]> {
        let file = |ending: &str| format!("{}.{ending}", self.case);
        Ok([
            (file("json"), serde_json::to_string_pretty(self)? + "\n"),
            (file("csv"), self.csv()?),
            (file("svg"), crate::plot::draw(declared, self)?),
        ])
    }

    /// Writes the three files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, declared: &Declared, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for (name, text) in self.files(declared)? {
            let path = folder.join(name);
            std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }

    fn csv(&self) -> Result<String> {
        let mut names: Vec<&str> = self.rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
        names.sort_unstable();
        names.dedup();
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(["mode", "host", "point"].iter().chain(&names))?;
        for row in &self.rows {
            let values =
                names.iter().map(|name| row.values.get(*name).map_or(String::new(), |value| format!("{value}")));
            writer
                .write_record([row.mode.clone(), row.host.clone(), row.point.to_string()].into_iter().chain(values))?;
        }
        Ok(String::from_utf8(writer.into_inner()?)?)
    }
}

/// The figures of a case by key.
pub fn summary(case: &Case, rows: &[Row]) -> BTreeMap<String, f64> {
    (case.summary)(rows).into_iter().map(|(key, value)| (key, rounded(value))).collect()
}

/// The page of the gallery, from the root of the checkout.
pub const GALLERY: &str = "docs/use-cases.md";
const BEGIN: &str = "<!-- use cases -->\n";
const END: &str = "<!-- end of use cases -->\n";

/// The gallery with the table of all targets, from the results that are kept.
///
/// # Errors
/// The page has no place for the table, or a result is wrong.
pub fn gallery(page: &str, folder: &Path) -> Result<String> {
    let (before, rest) = page.split_once(BEGIN).with_context(|| format!("{GALLERY} has no line {BEGIN}"))?;
    let (_, after) = rest.split_once(END).with_context(|| format!("{GALLERY} has no line {END}"))?;
    let mut table = String::from(
        "\n| case | figure | paper | target | limit | measured | integrated | free | commit |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for case in ALL {
        let Some(results) = Results::load(folder, case.name)? else { continue };
        for target in Declared::of(case)?.target {
            let Some(value) = results.summary.get(&target.key) else { continue };
            let verdict = match target.reached(*value) {
                Some(false) => ", missed",
                Some(true) | None => "",
            };
            let (what, paper, limit, bound) = (&target.what, &target.paper, &target.limit, target.text());
            let (name, commit) = (case.name, &results.commit);
            let [integrated, free] = ["integrated", "free"].map(|host| {
                let value = results.summary.get(&format!("{}_{host}", target.key));
                value.map_or("–".into(), f64::to_string)
            });
            table += &format!(
                "| {name} | {what} | {paper} | {bound} | {limit} | {value}{verdict} | {integrated} | {free} | {commit} |\n"
            );
        }
    }
    Ok(format!("{before}{BEGIN}{table}\n{END}{after}"))
}

/// Digest of the NIC's Verilog, the handlers and the case, without comments and indentation. The bench and the driver are not part of
/// it: `cargo xtask figures --measure` measures everything again after their changes.
pub fn inputs(case: &Case, verilog: &[(String, String)]) -> String {
    let mut digest = Sha256::new();
    let verilog = verilog.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    let sources = verilog.chain(case.handlers.iter().copied()).chain([("case.rs", case.source)]);
    for (name, text) in sources {
        digest.update(name);
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
            digest.update(line);
            digest.update("\n");
        }
    }
    digest.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_later_constants_leave_results_fresh() {
        let case = crate::ping_pong::CASE;
        let commented =
            Case { source: Box::leak(format!("    // A comment.\n\n{}", case.source).into_boxed_str()), ..case };
        let changed =
            Case { source: Box::leak(format!("{}\nconst ONE: u32 = 1;", case.source).into_boxed_str()), ..case };
        let digest = inputs(&case, &[]);
        assert_eq!(inputs(&commented, &[]), digest);
        assert_ne!(inputs(&changed, &[]), digest);

        let costs = BTreeMap::from([("overhead".to_string(), 65.0)]);
        let results = Results {
            case: case.name.into(),
            config: "alveo".into(),
            commit: "unknown".into(),
            inputs: digest.clone(),
            costs: costs.clone(),
            wire: "paper".into(),
            rows: Vec::new(),
            summary: BTreeMap::new(),
        };
        let mut later = costs.clone();
        later.insert("memory.search".into(), 1.8);
        assert!(results.are_fresh(&digest, &later));
        later.insert("overhead".into(), 66.0);
        assert!(!results.are_fresh(&digest, &later) && !results.are_fresh("another", &costs));
    }
}
