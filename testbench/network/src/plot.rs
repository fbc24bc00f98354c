//! Plots of collected studies: the last axis across, a line for each value of the first one, and a panel for each choice of the others.

use crate::cases::{by_number, Collected};
use anyhow::{bail, Result};
use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::Shift;
use plotters::prelude::*;
use spindle_harness::palette::{COLOURS, GRID, TEXT};

/// Size of a panel, in pixels.
const PANEL: (u32, u32) = (420, 420);
/// Pixels above the panels, and below them for each line's name.
const HEAD: u32 = 66;
const NAME: u32 = 20;

/// Some cases of a study: a name, and a line of points for each of `names`.
struct Panel<'a> {
    title: String,
    lines: Vec<(&'a str, Vec<(i32, f64)>)>,
}

/// The plot as SVG: ratios, or cycles where the study compares nothing.
///
/// # Errors
/// There is no case.
pub fn draw(collected: &Collected) -> Result<String> {
    let axes: Vec<&String> = collected.cases.iter().take(1).flat_map(|row| row.case.settings.keys()).collect();
    let (first, others, across) = match &axes[..] {
        [] => bail!("{} has no case to draw", collected.study),
        [across] => (None, &[][..], *across),
        [first, others @ .., across] => (Some(first.as_str()), others, *across),
    };
    let values = |axis: &str| -> Vec<&str> {
        let mut all: Vec<&str> = collected.cases.iter().map(|row| row.case.settings[axis].as_str()).collect();
        all.sort_unstable_by(|a, b| by_number(a, b));
        all.dedup();
        all
    };
    let (names, places) = (first.map_or(vec![""], values), values(across));
    let compares = collected.cases.iter().all(|row| row.ratio.is_some());
    let mut titles: Vec<Vec<&str>> = vec![vec![]];
    for axis in others {
        titles = titles
            .iter()
            .flat_map(|title| values(axis).into_iter().map(move |value| [&title[..], &[value]].concat()))
            .collect();
    }
    let panels: Vec<Panel> = titles
        .iter()
        .map(|chosen| Panel {
            title: others
                .iter()
                .zip(chosen)
                .map(|(axis, value)| format!("{axis} {value}"))
                .collect::<Vec<_>>()
                .join(", "),
            lines: names
                .iter()
                .map(|name| (*name, line(collected, (first, name), (others, chosen), (across, &places))))
                .collect(),
        })
        .collect();
    let size = (
        PANEL.0 * (panels.len() as u32).max(2),
        HEAD + PANEL.1 + NAME * names.len().div_ceil(panels.len().max(2)) as u32,
    );
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let style = |size: u32| ("sans-serif", size).into_text_style(&area).color(&TEXT);
        area.draw_text(&collected.study, &style(20), (24, 14))?;
        let what = if compares { "time as a multiple of that of the compared case" } else { "cycles" };
        area.draw_text(&format!("{what}; models of NICs, commit {}", collected.commit), &style(12), (24, 42))?;
        let (_, body) = area.split_vertically(HEAD);
        let (charts, legend) = body.split_vertically(PANEL.1);
        let most = panels.iter().flat_map(|panel| &panel.lines).flat_map(|(_, points)| points).map(|point| point.1);
        let (least, most) = most.fold((f64::INFINITY, 0.0_f64), |(least, most), y| (least.min(y), most.max(y)));
        for (area, panel) in charts.split_evenly((1, panels.len())).iter().zip(&panels) {
            if compares {
                chart(area, panel, (across, &places), 0.0..most * 1.08)?;
            } else {
                chart(area, panel, (across, &places), (least / 1.3..most * 1.3).log_scale())?;
            }
        }
        let columns = panels.len().max(2);
        for (number, name) in names.iter().enumerate() {
            let (x, y) = ((number % columns) as i32 * PANEL.0 as i32 + 24, (number / columns) as i32 * NAME as i32 + 8);
            legend.draw(&PathElement::new([(x, y), (x + 24, y)], colour(number).stroke_width(2)))?;
            match is_round(number) {
                true => legend.draw(&Circle::new((x + 12, y), 4, colour(number).filled()))?,
                false => legend.draw(&TriangleMarker::new((x + 12, y), 6, colour(number).filled()))?,
            }
            legend.draw_text(name, &style(13), (x + 34, y - 7))?;
        }
        area.present()?;
    }
    Ok(text + "\n")
}

/// The points of a line: the place of each value across, and its ratio or its cycles.
fn line(
    collected: &Collected,
    (first, name): (Option<&str>, &str),
    (others, chosen): (&[&String], &[&str]),
    (across, places): (&str, &[&str]),
) -> Vec<(i32, f64)> {
    let mut points = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let found = collected.cases.iter().find(|row| {
            let settings = &row.case.settings;
            first.is_none_or(|first| settings[first] == name)
                && settings[across] == **place
                && others.iter().zip(chosen).all(|(axis, value)| settings[*axis] == **value)
        });
        points.extend(found.map(|row| (at as i32, row.ratio.unwrap_or(row.case.cycles as f64))));
    }
    points
}

fn colour(number: usize) -> RGBColor {
    COLOURS[number % COLOURS.len()]
}

/// The points of a line have circles; of one whose colour comes again, triangles.
fn is_round(number: usize) -> bool {
    number < COLOURS.len()
}

fn chart<Y>(area: &DrawingArea<SVGBackend, Shift>, panel: &Panel, (across, places): (&str, &[&str]), y: Y) -> Result<()>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
{
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .caption(&panel.title, ("sans-serif", 14).into_font().color(&TEXT))
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((0..places.len() as i32 - 1).into_segmented(), y)?;
    let place = |at: &SegmentValue<i32>| match at {
        SegmentValue::CenterOf(at) => places.get(*at as usize).map_or(String::new(), ToString::to_string),
        SegmentValue::Exact(_) | SegmentValue::Last => String::new(),
    };
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .label_style(("sans-serif", 13).into_font().color(&TEXT))
        .disable_x_mesh()
        .x_desc(across)
        .x_label_formatter(&place)
        .y_label_formatter(&|value| if *value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") })
        .draw()?;
    for (number, (_, points)) in panel.lines.iter().enumerate() {
        let points = || points.iter().map(|(at, y)| (SegmentValue::CenterOf(*at), *y));
        let filled = colour(number).filled();
        chart.draw_series(LineSeries::new(points(), colour(number).stroke_width(2)))?;
        match is_round(number) {
            true => drop(chart.draw_series(points().map(|point| Circle::new(point, 4, filled)))?),
            false => drop(chart.draw_series(points().map(|point| TriangleMarker::new(point, 6, filled)))?),
        }
    }
    Ok(())
}
