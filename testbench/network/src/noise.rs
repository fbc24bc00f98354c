//! Noise: pauses of hosts, as an operating system makes them. Each host pauses once in every interval of cycles, at a place and for a
//! time that follow from the seed, the number of its node and that of the interval: so the pauses are the same on any number of ranks.

/// Pauses of hosts, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Noise {
    /// Cycles of an interval, in which each host begins one pause.
    pub every: u64,
    /// Shortest pause.
    pub least: u64,
    /// Longest pause: at most half of an interval, so that hosts get on.
    pub most: u64,
    /// Seed of places and lengths.
    pub seed: u64,
}

impl Noise {
    /// The cycle in which the host of a node goes on: this one, or the end of the pause in which this one lies.
    pub fn goes_on(&self, node: u32, cycle: u64) -> u64 {
        let mut at = cycle;
        loop {
            let interval = at / self.every;
            // A pause may reach into the next interval.
            let ends = [interval.checked_sub(1), Some(interval)].into_iter().flatten().filter_map(|interval| {
                let (begin, end) = self.pause(node, interval);
                (begin..end).contains(&at).then_some(end)
            });
            match ends.max() {
                Some(end) => at = end,
                None => return at,
            }
        }
    }

    /// The pause that begins in an interval, and its end.
    fn pause(&self, node: u32, interval: u64) -> (u64, u64) {
        let draw = |which: u64| mix(mix(mix(self.seed, node.into()), interval), which);
        let begin = interval * self.every + draw(0) % self.every;
        (begin, begin + self.least + draw(1) % (self.most - self.least + 1))
    }
}

/// A hash of both numbers (SplitMix64).
fn mix(state: u64, value: u64) -> u64 {
    let mut z = state.wrapping_add(value.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOISE: Noise = Noise { every: 1000, least: 50, most: 500, seed: 7 };

    /// Cycles of the first million in which a host pauses.
    fn paused(noise: &Noise, node: u32) -> Vec<bool> {
        (0..1_000_000).map(|cycle| noise.goes_on(node, cycle) > cycle).collect()
    }

    #[test]
    fn a_host_pauses_in_each_interval_for_as_long_as_it_may() {
        let paused = paused(&NOISE, 3);
        let share = paused.iter().filter(|paused| **paused).count() as f64 / paused.len() as f64;
        // 275 cycles of 1000 in the mean, less where two pauses overlap.
        assert!((0.2..0.29).contains(&share), "{share}");
        for interval in 0..999 {
            let (begin, end) = NOISE.pause(3, interval);
            assert!(begin / 1000 == interval && (50..=500).contains(&(end - begin)));
            assert!(paused[begin as usize] && NOISE.goes_on(3, begin) >= end);
        }
        for cycle in 0..100_000 {
            let goes_on = NOISE.goes_on(3, cycle);
            assert!(goes_on >= cycle && NOISE.goes_on(3, goes_on) == goes_on);
        }
    }

    #[test]
    fn nodes_and_seeds_differ() {
        let one = paused(&NOISE, 0);
        assert!(one != paused(&NOISE, 1) && one != paused(&Noise { seed: 8, ..NOISE }, 0));
        assert!(one == paused(&NOISE, 0));
    }
}
