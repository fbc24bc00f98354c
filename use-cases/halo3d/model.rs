//! What an exchange of halos must leave: in each iteration the faces that the neighbours computed from those of the iteration before.

/// A node sends a face to each of these: less and more in x, y and z.
pub const FACES: usize = 6;

/// The grid: periodic in each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Grid(pub [usize; 3]);

impl Grid {
    /// Nodes.
    pub fn nodes(self) -> usize {
        self.0.iter().product()
    }

    /// The neighbour of a node beyond a face: face 2d is the lower one of dimension d, 2d + 1 the upper one.
    pub fn neighbour(self, node: usize, face: usize) -> usize {
        let mut at = [node % self.0[0], node / self.0[0] % self.0[1], node / self.0[0] / self.0[1]];
        let size = self.0[face / 2];
        at[face / 2] = (at[face / 2] + if face % 2 == 1 { 1 } else { size - 1 }) % size;
        at[0] + self.0[0] * (at[1] + self.0[1] * at[2])
    }
}

/// Faces that each node sends first.
pub fn first(node: usize, face: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 3 + i / 253 + node * 29 + face * 7 + 1) as u8).collect()
}

/// What each node receives through each face in each iteration: `[node][face]`, iterations one after another.
pub fn received(grid: Grid, bytes: usize, iterations: usize) -> Vec<Vec<Vec<u8>>> {
    let nodes = grid.nodes();
    let mut sent: Vec<Vec<Vec<u8>>> =
        (0..nodes).map(|node| (0..FACES).map(|face| first(node, face, bytes)).collect()).collect();
    let mut all = vec![vec![Vec::new(); FACES]; nodes];
    for _ in 0..iterations {
        let mut got = vec![vec![Vec::new(); FACES]; nodes];
        for (node, faces) in sent.iter().enumerate() {
            for (face, bytes) in faces.iter().enumerate() {
                // What leaves through a lower face comes in through the neighbour's upper one.
                got[grid.neighbour(node, face)][face ^ 1] = bytes.clone();
            }
        }
        for node in 0..nodes {
            for face in 0..FACES {
                all[node][face].extend_from_slice(&got[node][face]);
                sent[node][face] = (0..bytes)
                    .map(|i| got[node][face][i].wrapping_mul(5) ^ got[node][(face + 1) % FACES][bytes - 1 - i])
                    .collect();
            }
        }
    }
    all
}
