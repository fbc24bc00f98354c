//! Colours of plots.

use plotters::style::RGBColor;

/// Words, axes.
pub const TEXT: RGBColor = RGBColor(31, 41, 55);
/// Lines of the grid.
pub const GRID: RGBColor = RGBColor(226, 232, 240);
/// Colours of lines, distinct also to the colour-blind (Okabe and Ito).
pub const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(90, 90, 90),
];
