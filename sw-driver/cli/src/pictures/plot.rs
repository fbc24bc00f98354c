//! `--plot`: histogram and cumulative distribution of each stage's latency, as SVG.

use super::spans::{latencies, rank};
use super::Recording;
use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use spindle_harness::palette::{GRID, TEXT};
use std::io::Write;

/// Size of the plot of one stage, in pixels.
const CELL: (u32, u32) = (420, 280);
/// Height of the title.
const TITLE: u32 = 70;
/// Stages beside each other.
const COLUMNS: usize = 3;
/// Bars of a histogram, at most.
const BARS: u64 = 40;
/// Points of a distribution, at most.
const POINTS: usize = 400;

const BAR: RGBColor = RGBColor(147, 184, 240);
const LINE: RGBColor = RGBColor(190, 80, 10);

/// Writes the plot of a run.
///
/// # Errors
/// The output cannot be written.
pub fn write(recording: &Recording, mut output: impl Write) -> Result<()> {
    let mut stages = latencies(recording.fates);
    // The measure over all stages comes first.
    stages.sort_by_key(|(name, _)| *name != "first beat to answer");
    let columns = COLUMNS.min(stages.len()).max(1);
    let rows = stages.len().div_ceil(columns).max(1);
    // Never narrower than the title.
    let size = (CELL.0 * columns.max(2) as u32, TITLE + CELL.1 * rows as u32);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let clock = recording.config.clock_mhz;
        let title = format!("{}: latency by stage", recording.handler);
        area.draw_text(&title, &("sans-serif", 22).into_text_style(&area).color(&TEXT), (20, 12))?;
        let note = format!(
            "configuration {}, {} packets; a cycle is {} ns ({clock} MHz); bars: count, line: share of packets within the latency",
            recording.config.name,
            recording.fates.len(),
            1000.0 / f64::from(clock)
        );
        area.draw_text(&note, &("sans-serif", 13).into_text_style(&area).color(&TEXT), (20, 42))?;
        let (_, body) = area.split_vertically(TITLE);
        if stages.is_empty() {
            let style = ("sans-serif", 16).into_text_style(&body).color(&TEXT);
            body.draw_text("No packet passed a stage.", &style, (20, 20))?;
        }
        for (cell, (name, sorted)) in body.split_evenly((rows, columns)).iter().zip(&stages) {
            stage(cell, name, sorted)?;
        }
        area.present()?;
    }
    output.write_all(text.as_bytes())?;
    Ok(())
}

/// Share of the values that are at most x, in percent, as points of a step function.
fn distribution(sorted: &[u64]) -> Vec<(f64, f64)> {
    let share = |count: usize| 100.0 * count as f64 / sorted.len() as f64;
    let mut steps = vec![(sorted[0] as f64, 0.0)];
    let mut points: Vec<usize> =
        (1..=sorted.len()).filter(|count| sorted.get(*count) != Some(&sorted[count - 1])).collect();
    if points.len() > POINTS {
        let last = points.len() - 1;
        points = (0..POINTS).map(|i| points[i * last / (POINTS - 1)]).collect();
    }
    for count in points {
        let x = sorted[count - 1] as f64;
        steps.push((x, steps[steps.len() - 1].1));
        steps.push((x, share(count)));
    }
    steps
}

/// One stage.
fn stage(cell: &DrawingArea<SVGBackend, Shift>, name: &str, sorted: &[u64]) -> Result<()> {
    let (min, max) = (sorted[0], sorted[sorted.len() - 1]);
    let width = (max - min) / BARS + 1;
    let mut bars = vec![0u64; ((max - min) / width + 1) as usize];
    for value in sorted {
        bars[((value - min) / width) as usize] += 1;
    }
    let most = bars.iter().copied().max().unwrap_or(1) as f64;
    let text = |size: i32| ("sans-serif", size).into_font().color(&TEXT);
    // A bar is centred on its values; one value alone gets room on both sides.
    let margin = (max - min) as f64 * 0.03 + 1.0;
    let x = min as f64 - margin..(min + bars.len() as u64 * width - 1) as f64 + margin;
    let (median, p99) = (rank(sorted, 50), rank(sorted, 99));
    let caption = format!("{name}: median {median}, p99 {p99}, max {max}");
    let mut chart = ChartBuilder::on(cell)
        .caption(caption, text(15))
        .margin(10)
        .x_label_area_size(38)
        .y_label_area_size(52)
        .right_y_label_area_size(44)
        .build_cartesian_2d(x.clone(), 0.0..most * 1.05)?
        .set_secondary_coord(x.clone(), 0.0..105.0);
    let whole = |value: &f64| if (value - value.round()).abs() < 1e-6 { format!("{value:.0}") } else { String::new() };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .x_labels(6)
        .y_labels(5)
        .x_label_formatter(&whole)
        .y_label_formatter(&whole)
        .label_style(text(12))
        .x_desc(format!("cycles, {} packets", sorted.len()))
        .axis_desc_style(text(12))
        .draw()?;
    chart
        .configure_secondary_axes()
        .y_labels(5)
        .y_label_formatter(&|share| format!("{share:.0} %"))
        .label_style(text(12))
        .axis_style(TEXT)
        .draw()?;
    chart.draw_series(bars.iter().enumerate().filter(|(_, count)| **count > 0).map(|(index, count)| {
        let from = (min + index as u64 * width) as f64 - 0.45;
        Rectangle::new([(from, 0.0), (from + width as f64 - 0.1, *count as f64)], BAR.filled())
    }))?;
    let mut steps = distribution(sorted);
    steps.insert(0, (x.start, 0.0));
    steps.push((x.end, 100.0));
    chart.draw_secondary_series(LineSeries::new(steps, LINE.stroke_width(2)))?;
    Ok(())
}
