//! Wire side of the shell: crossings, widths, pause frames, and all of it together.

mod emission;
mod formal;
mod line_rate;
mod pause;
mod rx;
mod tx;
mod width;
mod wire_64;
