//! What sweeps over a grid must leave: each node computes what it sends on from what came from both neighbours before it.

/// A node sends to each of these.
pub const EAST: usize = 0;
/// The next row.
pub const SOUTH: usize = 1;
/// Back.
pub const WEST: usize = 2;
/// Back.
pub const NORTH: usize = 3;

/// Nodes in a row, and rows.
#[derive(Clone, Copy, Debug)]
pub struct Grid(pub usize, pub usize);

impl Grid {
    /// The neighbour in a direction, if the grid goes on there.
    pub fn neighbour(self, node: usize, direction: usize) -> Option<usize> {
        let Grid(width, height) = self;
        let (x, y) = (node % width, node / width);
        match direction {
            EAST => (x + 1 < width).then(|| node + 1),
            SOUTH => (y + 1 < height).then(|| node + width),
            WEST => (x > 0).then(|| node - 1),
            _ => (y > 0).then(|| node - width),
        }
    }
}

/// What comes in at the rim of the grid.
pub fn rim(node: usize, plane: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 11 + node * 3 + plane * 17 + 5) as u8).collect()
}

/// What each node receives from each direction: `[node][direction]`, sweeps and their planes one after another. Even sweeps go to the
/// south-east, odd ones back.
pub fn received(grid: Grid, bytes: usize, planes: usize, sweeps: usize) -> Vec<Vec<Vec<u8>>> {
    let nodes = grid.0 * grid.1;
    let mut all = vec![vec![Vec::new(); 4]; nodes];
    for sweep in 0..sweeps {
        let (ways, order): ([usize; 2], Vec<usize>) = if sweep % 2 == 0 {
            ([EAST, SOUTH], (0..nodes).collect())
        } else {
            ([WEST, NORTH], (0..nodes).rev().collect())
        };
        for plane in 0..planes {
            let mut came: Vec<[Option<Vec<u8>>; 2]> = vec![[None, None]; nodes];
            for &node in &order {
                let [first, second] =
                    came[node].clone().map(|bytes_in| bytes_in.unwrap_or_else(|| rim(node, plane, bytes)));
                for (k, way) in ways.iter().enumerate() {
                    let Some(to) = grid.neighbour(node, *way) else { continue };
                    let out: Vec<u8> = (0..bytes)
                        .map(|i| first[i].wrapping_mul(7).wrapping_add(second[bytes - 1 - i]) ^ (k as u8 + sweep as u8))
                        .collect();
                    // It comes from the other side.
                    all[to][(way + 2) % 4].extend_from_slice(&out);
                    came[to][k] = Some(out);
                }
            }
        }
    }
    all
}
