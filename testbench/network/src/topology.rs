//! Topologies: switches, the cables between them, the switch of each node, and all shortest paths.
//!
//! Switches are numbered pod by pod, slab by slab, group by group, and nodes switch by switch. Ranks get whole pods, slabs or groups, so
//! that only cables between these change ranks; a node is always on the rank of its switch.

use anyhow::{bail, ensure, Result};

/// Most switches of a network: the table of paths has a place for each pair.
const MOST_SWITCHES: u64 = 1 << 12;
/// Most cables between switches.
const MOST_LINKS: u64 = 1 << 20;
/// Most nodes.
const MOST_NODES: u64 = 1 << 17;

/// A cable between two switches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// One end.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Joins groups of a dragonfly.
    pub long: bool,
}

/// A topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// How many switches; 0 for two nodes on one cable.
    pub switches: u32,
    /// Cables between them; parallel ones are several.
    pub links: Vec<Link>,
    /// The switch of each node, or the other node where there is no switch.
    pub nodes: Vec<u32>,
    /// The part that stays on one rank, by switch.
    parts: Vec<u32>,
    /// How many parts, and the word for them.
    part_count: u32,
    part_word: &'static str,
}

/// What a topology is made of, as a study names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two nodes on one cable.
    Cable,
    /// All nodes on one switch.
    Star {
        /// How many.
        nodes: u32,
    },
    /// Each switch has `down` cables towards the nodes and `up` away from them, level by level from the nodes on; the top level has no
    /// `up`. One to three levels.
    FatTree {
        /// Nodes of a switch; switches below a switch; and so on.
        down: Vec<u32>,
        /// Switches above a switch: one level less.
        up: Vec<u32>,
    },
    /// Rings in every dimension.
    Torus {
        /// Switches in each dimension.
        shape: Vec<u32>,
        /// Parallel cables.
        width: u32,
        /// Nodes of a switch.
        nodes: u32,
    },
    /// Every switch is joined to all that differ in one coordinate.
    HyperX {
        /// Switches in each dimension.
        shape: Vec<u32>,
        /// Parallel cables.
        width: u32,
        /// Nodes of a switch.
        nodes: u32,
    },
    /// Groups in which all switches are joined, and cables between all pairs of groups.
    Dragonfly {
        /// Groups.
        groups: u32,
        /// Switches of a group.
        switches: u32,
        /// Cables of a switch to other groups.
        long: u32,
        /// Nodes of a switch.
        nodes: u32,
    },
}

/// Outputs on shortest paths, for each pair of switches: those of pair `i` are `ports[start[i]..start[i + 1]]`, pair by pair of switch
/// and destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routes {
    /// Where the outputs of a pair begin.
    pub start: Vec<u64>,
    /// Direction d of link l is 2 l + d.
    pub ports: Vec<u32>,
}

impl Topology {
    /// The topology of a shape.
    ///
    /// # Errors
    /// A number does not fit.
    pub fn new(shape: &Shape) -> Result<Topology> {
        let positive = |numbers: &[u32]| -> Result<()> {
            ensure!(!numbers.contains(&0), "a topology has a 0 among its numbers; choose at least 1 for each");
            Ok(())
        };
        match shape {
            Shape::Cable => Ok(Topology {
                switches: 0,
                links: vec![],
                nodes: vec![1, 0],
                parts: vec![],
                part_count: 1,
                part_word: "cable",
            }),
            Shape::Star { nodes } => {
                positive(&[*nodes])?;
                limit(1, 0, u64::from(*nodes))?;
                Ok(Topology { nodes: vec![0; *nodes as usize], ..Topology::of(vec![], vec![0], "switch") })
            }
            Shape::FatTree { down, up } => {
                positive(down)?;
                positive(up)?;
                fat_tree(down, up)
            }
            Shape::Torus { shape, width, nodes } => {
                positive(&[*width, *nodes])?;
                positive(shape)?;
                grid(shape, *width, *nodes, |size, from| match size {
                    // The two ways round a ring of two are one.
                    2 if from == 1 => vec![],
                    1 => vec![],
                    _ => vec![(from + 1) % size],
                })
            }
            Shape::HyperX { shape, width, nodes } => {
                positive(&[*width, *nodes])?;
                positive(shape)?;
                grid(shape, *width, *nodes, |size, from| (from + 1..size).collect())
            }
            Shape::Dragonfly { groups, switches, long, nodes } => {
                positive(&[*groups, *switches, *nodes])?;
                dragonfly(*groups, *switches, *long, *nodes)
            }
        }
    }

    /// Switches, by their parts, without nodes.
    fn of(links: Vec<Link>, parts: Vec<u32>, part_word: &'static str) -> Topology {
        let part_count = parts.iter().max().map_or(0, |last| last + 1);
        Topology { switches: parts.len() as u32, links, nodes: vec![], parts, part_count, part_word }
    }

    /// As many nodes at each of the first switches.
    fn with_nodes(self, switches: u32, each: u32) -> Topology {
        Topology { nodes: (0..switches).flat_map(|switch| (0..each).map(move |_| switch)).collect(), ..self }
    }

    /// The rank of each switch, pods, slabs and groups being dealt out in their order.
    ///
    /// # Errors
    /// There are more ranks than parts.
    pub fn partition(&self, ranks: u32) -> Result<Vec<u32>> {
        let Topology { part_count, part_word, .. } = self;
        ensure!(
            ranks <= *part_count,
            "{ranks} ranks, but the topology can be cut into {part_count} at most, by its unit `{part_word}`: start fewer ranks"
        );
        let rank = |part: &u32| (u64::from(*part) * u64::from(ranks) / u64::from(*part_count)) as u32;
        Ok(self.parts.iter().map(rank).collect())
    }

    /// All shortest paths to switches with nodes. A cable between groups is as long as three others, so that no path has two of them where
    /// one is enough.
    pub fn routes(&self) -> Routes {
        let switches = self.switches as usize;
        let mut neighbours: Vec<Vec<(u32, u32, u32)>> = vec![vec![]; switches];
        for (i, link) in self.links.iter().enumerate() {
            let weight = if link.long { 3 } else { 1 };
            let port = 2 * i as u32;
            neighbours[link.a as usize].push((link.b, weight, port));
            neighbours[link.b as usize].push((link.a, weight, port + 1));
        }
        let mut ends = vec![false; switches];
        if switches > 0 {
            self.nodes.iter().for_each(|switch| ends[*switch as usize] = true);
        }
        // By destination: the distance of each switch.
        let distances: Vec<Vec<u32>> =
            (0..switches).map(|end| if ends[end] { distances(&neighbours, end) } else { vec![] }).collect();
        let (mut start, mut ports) = (vec![0], vec![]);
        for (from, neighbours) in neighbours.iter().enumerate() {
            for (to, distances) in distances.iter().enumerate() {
                if from != to && !distances.is_empty() && distances[from] != u32::MAX {
                    let shortest = |(next, weight, _): &&(u32, u32, u32)| {
                        distances[*next as usize].checked_add(*weight) == Some(distances[from])
                    };
                    ports.extend(neighbours.iter().filter(shortest).map(|(.., port)| port));
                }
                start.push(ports.len() as u64);
            }
        }
        Routes { start, ports }
    }
}

/// Distances to one switch: Dijkstra's, with a list for each distance since weights are small.
fn distances(neighbours: &[Vec<(u32, u32, u32)>], end: usize) -> Vec<u32> {
    let mut distances = vec![u32::MAX; neighbours.len()];
    let mut lists: Vec<Vec<usize>> = vec![vec![end]];
    distances[end] = 0;
    let mut distance = 0;
    while distance < lists.len() {
        let list = std::mem::take(&mut lists[distance]);
        for switch in list {
            if (distances[switch] as usize) < distance {
                continue;
            }
            for (next, weight, _) in &neighbours[switch] {
                let (next, further) = (*next as usize, distance + *weight as usize);
                if further < distances[next] as usize {
                    distances[next] = further as u32;
                    lists.resize(lists.len().max(further + 1), vec![]);
                    lists[further].push(next);
                }
            }
        }
        distance += 1;
    }
    distances
}

/// Refuses sizes for which there is no room.
fn limit(switches: u64, links: u64, nodes: u64) -> Result<()> {
    ensure!(links <= MOST_LINKS, "{links} cables between switches; a network has at most {MOST_LINKS}");
    ensure!(switches <= MOST_SWITCHES, "{switches} switches; a network has at most {MOST_SWITCHES}");
    ensure!(nodes <= MOST_NODES, "{nodes} nodes; a network has at most {MOST_NODES}");
    Ok(())
}

/// The product, or what is beyond every limit.
fn product(numbers: &[u32]) -> u64 {
    numbers.iter().fold(1, |product: u64, number| product.saturating_mul(u64::from(*number)))
}

fn fat_tree(down: &[u32], up: &[u32]) -> Result<Topology> {
    ensure!(
        up.len() + 1 == down.len() && (1..=3).contains(&down.len()),
        "a fat tree of {} levels with {} numbers of cables upwards; give one to three levels, and one number less upwards",
        down.len(),
        up.len()
    );
    let link = |a, b| Link { a, b, long: false };
    match (down, up) {
        (&[nodes], []) => {
            limit(1, 0, nodes.into())?;
            Ok(Topology::of(vec![], vec![0], "switch").with_nodes(1, nodes))
        }
        (&[nodes, leaves], &[spines]) => {
            limit(u64::from(leaves) + u64::from(spines), product(&[leaves, spines]), product(down))?;
            let links = (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| link(leaf, leaves + spine)));
            // Spines belong to no leaf, and are dealt out.
            let parts = (0..leaves).chain((0..spines).map(|spine| spine % leaves)).collect();
            Ok(Topology::of(links.collect(), parts, "leaf switch").with_nodes(leaves, nodes))
        }
        (&[nodes, leaves, pods], &[middles, tops]) => {
            let all = product(&[pods, leaves]).saturating_add(product(&[pods, middles])).saturating_add(product(up));
            let cables = product(&[pods, leaves, middles]).saturating_add(product(&[pods, middles, tops]));
            limit(all, cables, product(down))?;
            // Leaves first, by pods, so that nodes are numbered by pods; then the middle by pods; then the top.
            let (leaf_count, middle_count) = (pods * leaves, pods * middles);
            let mut links = vec![];
            for pod in 0..pods {
                for middle in 0..middles {
                    let of_pod = leaf_count + pod * middles + middle;
                    links.extend((0..leaves).map(|leaf| link(pod * leaves + leaf, of_pod)));
                    links.extend((0..tops).map(|top| link(of_pod, leaf_count + middle_count + middle * tops + top)));
                }
            }
            let of_leaves = (0..leaf_count).map(|leaf| leaf / leaves);
            let of_middles = (0..middle_count).map(|middle| middle / middles);
            let of_tops = (0..middles * tops).map(|top| top % pods);
            let parts = of_leaves.chain(of_middles).chain(of_tops).collect();
            Ok(Topology::of(links, parts, "pod").with_nodes(leaf_count, nodes))
        }
        _ => bail!("a fat tree has one to three levels"),
    }
}

/// A grid: `joined` gives the coordinates to which a coordinate is joined in a dimension of a size, each pair once.
fn grid(shape: &[u32], width: u32, nodes: u32, joined: impl Fn(u32, u32) -> Vec<u32>) -> Result<Topology> {
    ensure!((1..=6).contains(&shape.len()), "{} dimensions; choose 1 to 6", shape.len());
    let of_rows =
        shape.iter().map(|size| if *size <= MOST_SWITCHES as u32 { joined_in_row(*size, &joined) } else { u64::MAX });
    let rows =
        shape.iter().zip(of_rows).map(|(size, cables)| (product(shape) / u64::from(*size)).saturating_mul(cables));
    let cables = rows.fold(0, u64::saturating_add).saturating_mul(width.into());
    limit(product(shape), cables, product(shape).saturating_mul(nodes.into()))?;
    let switches = product(shape) as u32;
    let mut links = vec![];
    let mut step = 1;
    for size in shape {
        for switch in 0..switches {
            let from = switch / step % size;
            for to in joined(*size, from) {
                let other = switch - from * step + to * step;
                links.extend((0..width).map(|_| Link { a: switch, b: other, long: false }));
            }
        }
        step *= size;
    }
    // The last dimension that is one changes slowest: its slabs are runs of numbers.
    let slab = shape.iter().rposition(|size| *size > 1).unwrap_or(0);
    let run = product(&shape[..slab]) as u32;
    Ok(Topology::of(links, (0..switches).map(|switch| switch / run).collect(), "slab").with_nodes(switches, nodes))
}

/// Cables of a row of a grid.
fn joined_in_row(size: u32, joined: &impl Fn(u32, u32) -> Vec<u32>) -> u64 {
    (0..size).map(|from| joined(size, from).len() as u64).sum()
}

fn dragonfly(groups: u32, switches: u32, long: u32, nodes: u32) -> Result<Topology> {
    let (all, places) = (product(&[groups, switches]), product(&[switches, long]));
    let cables = (product(&[groups, switches, switches]) / 2).saturating_add(product(&[groups, switches, long]) / 2);
    limit(all, cables, all.saturating_mul(nodes.into()))?;
    ensure!(
        places >= u64::from(groups - 1),
        "{groups} groups of {switches} switches with {long} cables each to other groups: {places} cables reach no {} groups; \
         give more of them",
        groups - 1
    );
    let mut links = vec![];
    for group in 0..groups {
        for a in 0..switches {
            links.extend((a + 1..switches).map(|b| Link {
                a: group * switches + a,
                b: group * switches + b,
                long: false,
            }));
        }
    }
    // Cables between two groups: as many between all pairs; what is left over is not used.
    let each = if groups > 1 { (places / u64::from(groups - 1)) as u32 } else { 0 };
    // The switch of a group that has the cable `k` to the group `ahead` places further on.
    let of = |group: u32, ahead: u32, k: u32| group * switches + ((ahead - 1) * each + k) / long;
    for group in 0..groups {
        for other in group + 1..groups {
            let ahead = other - group;
            let cable = |k| Link { a: of(group, ahead, k), b: of(other, groups - ahead, k), long: true };
            links.extend((0..each).map(cable));
        }
    }
    let parts = (0..groups * switches).map(|switch| switch / switches).collect();
    Ok(Topology::of(links, parts, "group").with_nodes(groups * switches, nodes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(shape: Shape) -> Topology {
        Topology::new(&shape).unwrap()
    }

    fn tree(down: &[u32], up: &[u32]) -> Shape {
        Shape::FatTree { down: down.into(), up: up.into() }
    }

    /// The balanced dragonfly of nine groups.
    const DRAGONFLY: Shape = Shape::Dragonfly { groups: 9, switches: 4, long: 2, nodes: 2 };

    #[test]
    fn sizes_are_those_of_the_papers() {
        let sizes = |shape| {
            let topology = of(shape);
            (topology.switches, topology.links.len(), topology.nodes.len())
        };
        assert_eq!(sizes(tree(&[32, 32, 8], &[32, 32])), (256 + 256 + 1024, 256 * 32 + 256 * 32, 8192));
        let hyperx = Shape::HyperX { shape: vec![8, 8, 8], width: 2, nodes: 16 };
        assert_eq!(sizes(hyperx), (512, 3 * 512 * 7, 8192));
        assert_eq!(sizes(Shape::Torus { shape: vec![4, 4, 2], width: 1, nodes: 1 }), (32, 32 + 32 + 16, 32));
        assert_eq!(sizes(DRAGONFLY), (36, 9 * 6 + 36, 72));
        assert_eq!(sizes(Shape::Cable), (0, 0, 2));
    }

    #[test]
    fn a_switch_has_as_many_cables_as_its_shape_says() {
        let topology = of(DRAGONFLY);
        for switch in 0..topology.switches {
            let of_switch = |long| {
                let ends = topology.links.iter().filter(|link| link.long == long).flat_map(|link| [link.a, link.b]);
                ends.filter(|end| *end == switch).count()
            };
            assert_eq!((of_switch(false), of_switch(true)), (3, 2), "switch {switch}");
        }
    }

    #[test]
    fn parts_stay_together() {
        let topology = of(tree(&[2, 2, 4], &[2, 2]));
        let ranks = topology.partition(2).unwrap();
        assert_eq!(ranks, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1]);
        let refused = topology.partition(5).unwrap_err().to_string();
        assert!(refused.contains("5 ranks") && refused.contains("`pod`"), "{refused}");
        let slabs = of(Shape::Torus { shape: vec![2, 4, 1], width: 1, nodes: 1 });
        assert_eq!(slabs.partition(4).unwrap(), [0, 0, 1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let torus = |shape: &[u32]| Shape::Torus { shape: shape.into(), width: 1, nodes: 1 };
        let most = u32::MAX;
        for (shape, words) in [
            (torus(&[4, 0]), "a 0 among its numbers"),
            (torus(&[]), "0 dimensions"),
            (
                Shape::HyperX { shape: vec![4000, 4000], width: 1, nodes: 1 },
                "cables between switches; a network has at most",
            ),
            (torus(&[100, 100]), "10000 switches"),
            (torus(&[most, most]), "at most"),
            (Shape::Torus { shape: vec![4, 4], width: most, nodes: 1 }, "at most"),
            (Shape::Dragonfly { groups: 2, switches: 2, long: most, nodes: 2 }, "at most"),
            (Shape::Star { nodes: most }, "4294967295 nodes"),
            (tree(&[2, 2], &[2, 2]), "one number less upwards"),
            (tree(&[most, most, most], &[1, 1]), "at most"),
            (Shape::Dragonfly { groups: 10, switches: 4, long: 2, nodes: 2 }, "8 cables reach no 9 groups"),
        ] {
            let refused = Topology::new(&shape).unwrap_err().to_string();
            assert!(refused.contains(words), "{shape:?}: {refused}");
        }
    }
}
