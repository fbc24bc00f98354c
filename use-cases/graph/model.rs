//! The graph, the distances of its vertices by Dijkstra's algorithm, and batches that are to have no effect.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nodes that own vertices: vertex v belongs to node v % NODES, and is its vertex v / NODES.
pub const NODES: usize = 4;
/// Edges that leave each vertex.
pub const DEGREE: usize = 8;
/// Distance of a vertex that has not been reached.
pub const FAR: u32 = u32::MAX;

/// Target and length, 1 to `longest`, of the edges of each vertex. One of them leads to the next vertex, so that all can be reached.
pub fn graph(vertices: usize, longest: usize) -> Vec<Vec<(usize, u32)>> {
    let mut x = 0x2545_F491u32;
    let mut random = |below: usize| {
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        (x >> 4) as usize % below
    };
    let edges = |v: usize| {
        let mut edges = vec![((v + 1) % vertices, 1 + random(longest) as u32)];
        edges.extend((1..DEGREE).map(|_| (random(vertices), 1 + random(longest) as u32)));
        edges
    };
    (0..vertices).map(edges).collect()
}

/// Distances of all vertices from the source.
pub fn distances(graph: &[Vec<(usize, u32)>], source: usize) -> Vec<u32> {
    let mut distances = vec![FAR; graph.len()];
    let mut heap = BinaryHeap::from([Reverse((0, source))]);
    while let Some(Reverse((distance, v))) = heap.pop() {
        if distance >= distances[v] {
            continue;
        }
        distances[v] = distance;
        heap.extend(graph[v].iter().map(|(to, length)| Reverse((distance + length, *to))));
    }
    distances
}

/// The words of this node, as bytes.
pub fn of_node(words: &[u32], node: usize) -> Vec<u8> {
    words.iter().skip(node).step_by(NODES).flat_map(|word| word.to_le_bytes()).collect()
}

/// The least distances that edges from other nodes offer to the vertices of each node, in the order of all vertices.
pub fn offers(graph: &[Vec<(usize, u32)>], source: usize) -> Vec<u32> {
    let distances = distances(graph, source);
    let mut offers = vec![FAR; graph.len()];
    for (v, edges) in graph.iter().enumerate() {
        for (to, length) in edges.iter().filter(|(to, _)| to % NODES != v % NODES) {
            offers[*to] = offers[*to].min(distances[v] + length);
        }
    }
    offers
}

/// Batches for a node of so many vertices in this round that are to have no effect: too short, of an odd length, of another number of
/// pairs, beyond their number, of a round that is not near, for vertices that there are not.
pub fn malformed(vertices: usize, round: u32) -> Vec<Vec<u8>> {
    let batch = |numbers: [u16; 4], round: u32, pairs: &[[u32; 2]]| -> Vec<u8> {
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        bytes.extend(round.to_le_bytes());
        bytes.extend(pairs.iter().flatten().flat_map(|word| word.to_le_bytes()));
        bytes
    };
    let good = batch([0, 1, 2, 2], round, &[[1, 0], [2, 0]]);
    let beyond = vertices as u32;
    vec![
        good[..3].to_vec(),
        good[..11].to_vec(),
        good[..good.len() - 1].to_vec(),
        good[..good.len() - 4].to_vec(),
        batch([0, 1, 1, 2], round, &[[1, 0], [2, 0]]),
        batch([0, 1, u16::MAX, 2], round, &[[1, 0], [2, 0]]),
        batch([1, 1, 2, 2], round, &[[1, 0], [2, 0]]),
        batch([0, 0, 2, 2], round, &[[1, 0], [2, 0]]),
        batch([0, 1, 2, 2], round + 2, &[[1, 0], [2, 0]]),
        batch([0, 1, 2, 2], round.wrapping_sub(1), &[[1, 0], [2, 0]]),
        batch([0, 1, 2, 2], round, &[[1, 0], [beyond, 0]]),
        batch([0, 1, 2, 2], round, &[[u32::MAX, 0], [2, 0]]),
    ]
}
