//! The packet buffer as a bag of frames with a number of cells.

use spindle_contract::params::{CELL_BYTES, MAX_FRAME};
use std::collections::HashMap;

/// Frames in the buffer, by name.
#[derive(Clone, Debug)]
pub struct PacketBuffer {
    cells: usize,
    frames: HashMap<u16, Vec<u8>>,
}

impl PacketBuffer {
    /// An empty buffer.
    pub fn new(cells: usize) -> Self {
        Self { cells, frames: HashMap::new() }
    }

    /// Cells that a frame of this length takes.
    pub fn cells_of(length: usize) -> usize {
        length.div_ceil(CELL_BYTES)
    }

    /// Cells without a frame.
    pub fn free_cells(&self) -> usize {
        self.cells - self.frames.values().map(|f| Self::cells_of(f.len())).sum::<usize>()
    }

    /// Stores a frame under the name that the hardware chose; says what is wrong with that.
    pub fn store(&mut self, pkt: u16, frame: Vec<u8>) -> Result<(), String> {
        if usize::from(pkt) >= self.cells {
            return Err(format!("cell {pkt} does not exist"));
        }
        if frame.len() > MAX_FRAME {
            return Err(format!("a frame of {} bytes was stored", frame.len()));
        }
        if self.free_cells() < Self::cells_of(frame.len()) {
            return Err(format!("a frame of {} bytes was stored with {} cells free", frame.len(), self.free_cells()));
        }
        match self.frames.insert(pkt, frame) {
            None => Ok(()),
            Some(_) => Err(format!("cell {pkt} is in use")),
        }
    }

    /// The bytes of a frame.
    pub fn frame(&self, pkt: u16) -> Option<&[u8]> {
        self.frames.get(&pkt).map(Vec::as_slice)
    }

    /// Names of all frames, in order.
    pub fn names(&self) -> Vec<u16> {
        let mut names: Vec<u16> = self.frames.keys().copied().collect();
        names.sort_unstable();
        names
    }

    /// Frees a frame; false when there is none.
    pub fn free(&mut self, pkt: u16) -> bool {
        self.frames.remove(&pkt).is_some()
    }
}
