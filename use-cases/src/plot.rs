//! Plots of figures, drawn from their results alone.

use crate::figure::{Declared, Results};
use anyhow::{anyhow, Result};
use plotters::coord::combinators::IntoLogRange;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::prelude::*;
use spindle_harness::palette::{COLOURS, GRID, TEXT};
use std::ops::Range;

pub(crate) const SIZE: (u32, u32) = (860, 520);
const LIMIT: RGBColor = RGBColor(120, 120, 120);
const PAPER: RGBColor = RGBColor(0, 0, 0);

/// The plot as SVG.
///
/// # Errors
/// There is nothing to draw.
pub fn draw(declared: &Declared, results: &Results) -> Result<String> {
    let mut text = String::new();
    let x = range(&declared.x, points(declared, results).map(|(x, _)| x));
    let y =
        range(&declared.y, points(declared, results).map(|(_, y)| y).chain(declared.limit.iter().map(|limit| limit.y)));
    let (x, y) = (x.ok_or_else(|| anyhow!("no point to draw"))?, y.ok_or_else(|| anyhow!("no point to draw"))?);
    {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        let drawn = match (declared.x.log, declared.y.log) {
            (false, false) => chart(&area, declared, results, x, y),
            (true, false) => chart(&area, declared, results, x.log_scale(), y),
            (false, true) => chart(&area, declared, results, x, y.log_scale()),
            (true, true) => chart(&area, declared, results, x.log_scale(), y.log_scale()),
        };
        drawn?;
        area.present()?;
    }
    Ok(text + "\n")
}

/// All points of the drawn host, and those of the paper.
fn points<'a>(declared: &'a Declared, results: &'a Results) -> impl Iterator<Item = (f64, f64)> + 'a {
    let rows = results.rows.iter().filter(|row| row.host == declared.drawn);
    let ours = rows.filter_map(|row| Some((row.point as f64, *row.values.get(&declared.y.value)?)));
    ours.chain(declared.paper.iter().map(|paper| (paper.x, paper.y)))
}

/// The range of an axis, with a margin.
fn range(axis: &crate::figure::Axis, values: impl Iterator<Item = f64>) -> Option<Range<f64>> {
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (least.min(v), most.max(v)));
    if !least.is_finite() {
        return None;
    }
    Some(if axis.log { least / 1.3..most * 1.3 } else { 0.0_f64.min(least)..most * 1.08 })
}

/// A number of an axis, short: 65536 as 64 Ki where powers of two are usual.
fn label(value: f64) -> String {
    let rounded = value.round();
    if (value - rounded).abs() < 1e-9 && rounded >= 1024.0 && (rounded as u64).is_multiple_of(1024) {
        let kibi = rounded as u64 / 1024;
        return if kibi.is_multiple_of(1024) { format!("{} Mi", kibi / 1024) } else { format!("{kibi} Ki") };
    }
    if value != 0.0 && value.abs() < 1.0 {
        format!("{value:.2}")
    } else if (value - rounded).abs() < 1e-9 || value.abs() >= 100.0 {
        format!("{rounded}")
    } else {
        format!("{value:.1}")
    }
}

fn chart<X, Y>(
    area: &DrawingArea<SVGBackend, plotters::coord::Shift>,
    declared: &Declared,
    results: &Results,
    x: X,
    y: Y,
) -> Result<()>
where
    X: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    Y: plotters::coord::ranged1d::AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
{
    area.fill(&WHITE)?;
    area.draw_text(&declared.title, &("sans-serif", 20).into_text_style(area).color(&TEXT), (24, 14))?;
    let note = format!(
        "{}; configuration {}, host {}, wire {}, commit {}",
        declared.caption, results.config, declared.drawn, results.wire, results.commit
    );
    area.draw_text(&note, &("sans-serif", 12).into_text_style(area).color(&TEXT), (24, 42))?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(66)
        .margin_right(24)
        .margin_left(12)
        .margin_bottom(8)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .label_style(("sans-serif", 13).into_font().color(&TEXT))
        .x_desc(&declared.x.label)
        .y_desc(&declared.y.label)
        .x_label_formatter(&|value| label(*value))
        .y_label_formatter(&|value| label(*value))
        .draw()?;
    let ends = declared.points.iter().map(|point| *point as f64);
    let (from, to) = ends.fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(v), most.max(v)));
    if let Some(limit) = &declared.limit {
        chart
            .draw_series(DashedLineSeries::new([(from, limit.y), (to, limit.y)], 6, 4, LIMIT.stroke_width(1)))?
            .label(&limit.label)
            .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], LIMIT.stroke_width(1)));
    }
    let mut modes: Vec<&str> = Vec::new();
    for row in &results.rows {
        if !modes.contains(&row.mode.as_str()) {
            modes.push(&row.mode);
        }
    }
    for (number, mode) in modes.into_iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let rows = results.rows.iter().filter(|row| row.mode == mode && row.host == declared.drawn);
        let series: Vec<(f64, f64)> =
            rows.filter_map(|row| Some((row.point as f64, *row.values.get(&declared.y.value)?))).collect();
        if let Some(name) = &declared.y.deviation {
            let rows = results.rows.iter().filter(|row| row.mode == mode && row.host == declared.drawn);
            let bars = rows.filter_map(|row| {
                let (x, y) = (row.point as f64, *row.values.get(&declared.y.value)?);
                let deviation = *row.values.get(name)?;
                Some(PathElement::new([(x, y - deviation), (x, y + deviation)], colour.stroke_width(5)))
            });
            chart.draw_series(bars)?;
        }
        // Colours come again, for lines of dashes.
        let dashed = number >= COLOURS.len();
        let drawn = if dashed {
            let dash = if number < 2 * COLOURS.len() { 6 } else { 2 };
            chart.draw_series(series.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
            chart.draw_series(DashedLineSeries::new(series.iter().copied(), dash, 4, colour.stroke_width(2)))?
        } else {
            chart.draw_series(LineSeries::new(series.iter().copied(), colour.stroke_width(2)).point_size(4))?
        };
        let (end, label) = if dashed { (8, format!("{mode} (dashes)")) } else { (18, mode.to_string()) };
        drawn.label(label).legend(move |(x, y)| PathElement::new([(x, y), (x + end, y)], colour.stroke_width(2)));
    }
    for paper in &declared.paper {
        chart
            .draw_series([Cross::new((paper.x, paper.y), 5, PAPER.stroke_width(2))])?
            .label(format!("{} [{}]", paper.label, paper.evidence))
            .legend(|(x, y)| Cross::new((x + 9, y), 4, PAPER.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.85))
        .border_style(GRID)
        .label_font(("sans-serif", 13).into_font().color(&TEXT))
        .draw()?;
    Ok(())
}
