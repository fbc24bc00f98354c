//! The plot of what clients measured.

use super::Results;
use crate::plot::SIZE;
use anyhow::{ensure, Result};
use plotters::prelude::*;
use spindle_harness::palette::{COLOURS, GRID, TEXT};

/// Pixels of a client.
const ROW: u32 = 44;
/// Pixels above and below the rows.
const FRAME: u32 = 140;

/// Times from request to answer as SVG, a row for each client: from the shortest to the longest one as a thin line and to the 99th
/// percentile as a thick one, with the median as a point and the mean as a circle.
///
/// # Errors
/// There is nothing to draw.
pub fn draw(results: &Results) -> Result<String> {
    let clients = &results.clients;
    let values = |names: &[&str]| -> Vec<f64> {
        names.iter().flat_map(|name| clients.iter().filter_map(|one| one.values.get(*name).copied())).collect()
    };
    let least = values(&["min_ns", "mean_ns"]).into_iter().fold(f64::INFINITY, f64::min);
    let most = values(&["max_ns", "mean_ns"]).into_iter().fold(0.0, f64::max);
    ensure!(least.is_finite() && most > 0.0, "no client has measured a time");
    let mut text = String::new();
    {
        let size = (SIZE.0, FRAME + ROW * clients.len() as u32);
        let area = SVGBackend::with_string(&mut text, size).into_drawing_area();
        area.fill(&WHITE)?;
        let style = |size: u32| ("sans-serif", size).into_text_style(&area).color(&TEXT);
        area.draw_text("Programs of Debian over TAP: time from request to answer", &style(20), (24, 14))?;
        let note =
            format!("{}; line: shortest to longest, thick: to 99 %, point: median, circle: mean", results.settings());
        area.draw_text(&note, &style(12), (24, 42))?;
        let rows = -0.5..clients.len() as f64 - 0.5;
        let mut chart = ChartBuilder::on(&area)
            .margin_top(66)
            .margin_right(24)
            .margin_left(12)
            .margin_bottom(8)
            .x_label_area_size(44)
            .y_label_area_size(92)
            .build_cartesian_2d((least / 1.3..most * 1.3).log_scale(), rows)?;
        chart
            .configure_mesh()
            .light_line_style(WHITE)
            .bold_line_style(GRID)
            .axis_style(TEXT)
            .label_style(("sans-serif", 13).into_font().color(&TEXT))
            .disable_y_mesh()
            .y_labels(0)
            .x_desc("ns of the simulation")
            .x_label_formatter(&|value| format!("{value:.0}"))
            .draw()?;
        for (row, one) in clients.iter().rev().enumerate() {
            let value = |name| one.values.get(name).map(|time| (*time, row as f64));
            let (_, y) = chart.backend_coord(&(least, row as f64));
            area.draw_text(&one.client, &style(14), (16, y - 8))?;
            for (from, to, width) in [("min_ns", "max_ns", 1), ("min_ns", "p99_ns", 6)] {
                let ends = value(from).into_iter().zip(value(to));
                chart.draw_series(
                    ends.map(|(from, to)| PathElement::new([from, to], COLOURS[0].mix(0.6).stroke_width(width))),
                )?;
            }
            chart.draw_series(value("p50_ns").map(|point| Circle::new(point, 5, COLOURS[1].filled())))?;
            chart.draw_series(value("mean_ns").map(|point| Circle::new(point, 5, TEXT.stroke_width(1))))?;
        }
        area.present()?;
    }
    Ok(text + "\n")
}
