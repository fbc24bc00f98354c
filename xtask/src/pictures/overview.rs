//! `overview.svg`: engines with their stages, what is around them, and what flows between.

use super::svg::{Anchor, Svg};
use anyhow::{bail, ensure, Context, Result};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct Overview {
    title: String,
    width: f64,
    height: f64,
    engine: Vec<Engine>,
    plain: Vec<Stage>,
    flow: Vec<Flow>,
}

#[derive(Deserialize)]
struct Engine {
    name: String,
    /// x, y, width, height.
    at: [f64; 4],
    stages: Vec<Stage>,
}

#[derive(Deserialize)]
struct Stage {
    name: String,
    lines: Vec<String>,
    #[serde(default)]
    at: [f64; 4],
    /// No packet comes from the stage before.
    #[serde(default)]
    apart: bool,
}

#[derive(Deserialize)]
struct Flow {
    from: String,
    to: String,
    /// Where a vertical arrow leaves, and ends if `to_x` says nothing else.
    x: Option<f64>,
    to_x: Option<f64>,
    turn: Option<f64>,
    /// Height of a horizontal arrow.
    y: Option<f64>,
    label: Option<String>,
}

pub fn draw(folder: &Path) -> Result<String> {
    let path = folder.join("overview.toml");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let overview: Overview = toml::from_str(&text).with_context(|| format!("{} is wrong", path.display()))?;
    for engine in &overview.engine {
        let source = Path::new(&engine.name).join("src");
        let stages: Vec<&str> = engine.stages.iter().map(|stage| stage.name.as_str()).collect();
        same_folders(&stages, &folders(&source)?)
            .with_context(|| format!("{} and {}", path.display(), source.display()))?;
    }
    render(&overview)
}

/// The names of the folders in `folder`, sorted.
fn folders(folder: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    let names = paths.iter().filter(|path| path.is_dir()).filter_map(|path| path.file_name());
    let mut names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Whether the picture has every folder, and no other.
fn same_folders(drawn: &[&str], there: &[String]) -> Result<()> {
    let mut drawn: Vec<&str> = drawn.to_vec();
    drawn.sort_unstable();
    ensure!(drawn == there, "the picture has the stages {}, the folders are {}", drawn.join(", "), there.join(", "));
    Ok(())
}

fn render(overview: &Overview) -> Result<String> {
    let mut svg = Svg::new(&overview.title, overview.width, overview.height);
    let mut boxes = BTreeMap::new();
    for stage in &overview.plain {
        svg.rectangle("plain", stage.at);
        label(&mut svg, stage, stage.at);
        boxes.insert(stage.name.clone(), stage.at);
    }
    for engine in &overview.engine {
        let [x, y, width, height] = engine.at;
        svg.rectangle("engine", engine.at);
        svg.text("name", x + 14.0, y + 22.0, Anchor::Start, &engine.name);
        boxes.insert(engine.name.clone(), engine.at);
        let (gap, count) = (14.0, engine.stages.len() as f64);
        let wide = (width - gap * (count + 1.0)) / count;
        let mut left = x + gap;
        for (index, stage) in engine.stages.iter().enumerate() {
            let at = [left, y + 34.0, wide, height - 34.0 - gap];
            svg.rectangle("stage", at);
            label(&mut svg, stage, at);
            boxes.insert(format!("{}/{}", engine.name, stage.name), at);
            if index > 0 && !stage.apart {
                let middle = at[1] + at[3] / 2.0;
                arrow(&mut svg, &[(left - gap, middle), (left, middle)]);
            }
            left += wide + gap;
        }
    }
    for flow in &overview.flow {
        let find =
            |name: &str| boxes.get(name).copied().with_context(|| format!("an arrow names `{name}`, which is no box"));
        let (from, to) = (find(&flow.from)?, find(&flow.to)?);
        let points = match (flow.x, flow.y) {
            (Some(x), None) => {
                let down = from[1] < to[1];
                let start = if down { from[1] + from[3] } else { from[1] };
                let end = if down { to[1] } else { to[1] + to[3] };
                match (flow.to_x, flow.turn) {
                    (Some(to_x), Some(turn)) => vec![(x, start), (x, turn), (to_x, turn), (to_x, end)],
                    _ => vec![(x, start), (x, end)],
                }
            }
            (None, Some(y)) => vec![(from[0] + from[2], y), (to[0], y)],
            _ => bail!("the arrow from {} to {} has neither x nor y, or both", flow.from, flow.to),
        };
        arrow(&mut svg, &points);
        if let Some(text) = &flow.label {
            let (x, y) = match points[..] {
                [_, (x, y), (to_x, _), _] => ((x + to_x) / 2.0, y - 6.0),
                [(x, start), (_, end)] => (x, (start + end) / 2.0 + 4.0),
                _ => bail!("an arrow has two points or four"),
            };
            let (anchor, x) = if points.len() == 4 { (Anchor::Middle, x) } else { (Anchor::Start, x + 8.0) };
            svg.text("soft", x, y, anchor, text);
        }
    }
    Ok(svg.finish())
}

/// The name of a box and what it does, one below the other.
fn label(svg: &mut Svg, stage: &Stage, [x, y, width, height]: [f64; 4]) {
    let rows = stage.lines.len() as f64;
    let mut line = y + (height - 17.0 * (rows + 1.0)) / 2.0 + 13.0;
    svg.text("name", x + width / 2.0, line, Anchor::Middle, &stage.name);
    for text in &stage.lines {
        line += 17.0;
        svg.text("soft", x + width / 2.0, line, Anchor::Middle, text);
    }
}

/// A line with a head at its last point.
fn arrow(svg: &mut Svg, points: &[(f64, f64)]) {
    svg.path("flow", points);
    let [.., (from_x, from_y), (x, y)] = *points else { return };
    let (dx, dy) = ((x - from_x).signum() * f64::from(x != from_x), (y - from_y).signum() * f64::from(y != from_y));
    let (back_x, back_y) = (x - 9.0 * dx, y - 9.0 * dy);
    svg.polygon("head", &[(x, y), (back_x - 4.0 * dy, back_y - 4.0 * dx), (back_x + 4.0 * dy, back_y + 4.0 * dx)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_box_and_a_box_without_a_folder_are_errors() {
        let there = ["a".to_string(), "b".to_string()];
        same_folders(&["b", "a"], &there).unwrap();
        assert!(same_folders(&["a"], &there).unwrap_err().to_string().contains("a, b"));
        assert!(same_folders(&["a", "b", "c"], &there).is_err());
    }

    #[test]
    fn arrows_name_boxes() {
        let source = "title = 't'\nwidth = 10\nheight = 10\nengine = []\n\
                      plain = [{name = 'a', lines = [], at = [0, 0, 4, 4]}, {name = 'b', lines = ['<x>'], at = [0, 6, 4, 4]}]\n\
                      [[flow]]\nfrom = 'a'\nto = 'B'\nx = 2\n";
        let overview = |text: &str| toml::from_str::<Overview>(text).unwrap();
        assert!(render(&overview(source)).unwrap_err().to_string().contains("`B`"));
        let picture = render(&overview(&source.replace("'B'", "'b'"))).unwrap();
        assert!(picture.contains("&lt;x&gt;") && picture.contains(r#"points="2,4 2,6""#), "{picture}");
    }
}
