//! Memory of the program that the card reaches at the program's own addresses: which pages, for how many owners.
//!
//! An IOMMU maps pages and gives back only what was mapped as a whole, while programs register ranges of bytes that share pages
//! or overlap. The table keeps segments: pages mapped by one call, with the ranges that use them. A segment goes when its last
//! range goes. The first and the last page of a range are segments of their own, so that neighbours share them and nothing more.

use crate::{Error, Result};
use std::collections::BTreeMap;
use std::ops::Range;

/// Lets a device reach pages at their own addresses.
pub(crate) trait MapPages {
    fn map_pages(&mut self, pages: &Range<u64>) -> Result<()>;
    fn unmap_pages(&mut self, pages: &Range<u64>) -> Result<()>;
}

#[derive(Debug)]
struct Segment {
    end: u64,
    /// What of the segment each owner uses.
    users: Vec<Range<u64>>,
}

impl Segment {
    /// Whether owners hold all of a range. What none holds may be other memory of the program by now.
    fn holds(&self, range: &Range<u64>) -> bool {
        let mut users = self.users.clone();
        users.sort_by_key(|user| user.start);
        let reached = users.iter().fold(range.start, |at, user| if user.start <= at { at.max(user.end) } else { at });
        reached >= range.end
    }
}

/// The pages of the program that the card reaches.
#[derive(Debug)]
pub(crate) struct Pages {
    page: u64,
    segments: BTreeMap<u64, Segment>,
    ranges: Vec<Range<u64>>,
}

impl Pages {
    /// A table of no pages; `page` is the size of a page.
    pub fn new(page: u64) -> Pages {
        Pages { page, segments: BTreeMap::new(), ranges: Vec::new() }
    }

    fn pages_of(&self, range: &Range<u64>) -> Range<u64> {
        let mask = self.page - 1;
        range.start & !mask..range.end.saturating_add(mask) & !mask
    }

    /// Starts and ends of the segments that overlap these pages.
    fn overlapping(&self, pages: &Range<u64>) -> Vec<Range<u64>> {
        let before = self.segments.range(..=pages.start).next_back().map_or(pages.start, |(start, _)| *start);
        let near = self.segments.range(before..pages.end);
        near.filter(|(_, segment)| segment.end > pages.start).map(|(start, segment)| *start..segment.end).collect()
    }

    /// What of a range is in no segment, cut where neighbours may share a page.
    fn gaps(&self, range: &Range<u64>, pages: &Range<u64>, known: &[Range<u64>]) -> Vec<Range<u64>> {
        let mut cuts = vec![pages.start, pages.end];
        if range.start > pages.start {
            cuts.push(pages.start + self.page);
        }
        if range.end < pages.end {
            cuts.push(pages.end - self.page);
        }
        cuts.extend(known.iter().flat_map(|segment| [segment.start, segment.end]));
        cuts.retain(|cut| (pages.start..=pages.end).contains(cut));
        cuts.sort_unstable();
        cuts.dedup();
        let pieces = cuts.windows(2).map(|pair| pair[0]..pair[1]);
        pieces.filter(|piece| !known.iter().any(|segment| segment.contains(&piece.start))).collect()
    }

    /// Lets the card reach a range.
    ///
    /// # Errors
    /// The range is empty, a page cannot be mapped, or pages are still held for an overlapping range. Then nothing is changed.
    pub fn map(&mut self, range: &Range<u64>, device: &mut impl MapPages) -> Result<()> {
        if range.is_empty() || range.end > u64::MAX - self.page {
            return Err(Error::Argument("a range of no bytes cannot be mapped for the card; give at least one".into()));
        }
        let pages = self.pages_of(range);
        let known = self.overlapping(&pages);
        let clip = |segment: &Range<u64>| segment.start.max(pages.start)..segment.end.min(pages.end);
        if let Some(held) = known.iter().find(|segment| !self.segments[&segment.start].holds(&clip(segment))) {
            return Err(Error::Argument(format!(
                "the pages {:#x} to {:#x} are still mapped for a range that overlaps {:#x} to {:#x}; unmap that range first",
                held.start, held.end, range.start, range.end
            )));
        }
        let gaps = self.gaps(range, &pages, &known);
        for (done, gap) in gaps.iter().enumerate() {
            if let Err(error) = device.map_pages(gap) {
                for mapped in &gaps[..done] {
                    device.unmap_pages(mapped)?;
                }
                return Err(error);
            }
        }
        for gap in gaps {
            self.segments.insert(gap.start, Segment { end: gap.end, users: vec![gap] });
        }
        for segment in known {
            self.segments.get_mut(&segment.start).expect("it is known").users.push(clip(&segment));
        }
        self.ranges.push(range.clone());
        Ok(())
    }

    /// Takes back one mapping of exactly this range.
    ///
    /// # Errors
    /// The range is not mapped, or pages cannot be taken back: then the range stays, and the call can be repeated.
    pub fn unmap(&mut self, range: &Range<u64>, device: &mut impl MapPages) -> Result<()> {
        let Some(at) = self.ranges.iter().position(|known| known == range) else {
            return Err(Error::Argument(format!(
                "the range {:#x} to {:#x} is not mapped for the card; give the range that was mapped",
                range.start, range.end
            )));
        };
        let pages = self.pages_of(range);
        let (own, shared): (Vec<_>, Vec<_>) =
            self.overlapping(&pages).into_iter().partition(|segment| self.segments[&segment.start].users.len() == 1);
        // What can fail comes first: after an error the range is still there, and can be taken back again.
        for segment in own {
            device.unmap_pages(&segment)?;
            self.segments.remove(&segment.start);
        }
        for segment in shared {
            let clip = segment.start.max(pages.start)..segment.end.min(pages.end);
            let users = &mut self.segments.get_mut(&segment.start).expect("it is known").users;
            users.swap_remove(users.iter().position(|user| *user == clip).expect("the range is a user"));
        }
        self.ranges.swap_remove(at);
        Ok(())
    }

    /// Takes back everything.
    pub fn unmap_all(&mut self, device: &mut impl MapPages) -> Result<()> {
        self.ranges.clear();
        let all = std::mem::take(&mut self.segments);
        all.into_iter().try_for_each(|(start, segment)| device.unmap_pages(&(start..segment.end)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    /// Type 1 of VFIO: no overlapping map, and what is taken back was mapped as a whole.
    #[derive(Default)]
    struct Iommu(Vec<Range<u64>>, usize);

    /// An IOMMU that takes so many more pieces back.
    struct Tired<'a>(&'a mut Iommu, usize);

    impl MapPages for Tired<'_> {
        fn map_pages(&mut self, pages: &Range<u64>) -> Result<()> {
            self.0.map_pages(pages)
        }
        fn unmap_pages(&mut self, pages: &Range<u64>) -> Result<()> {
            match self.1.checked_sub(1) {
                Some(left) => {
                    self.1 = left;
                    self.0.unmap_pages(pages)
                }
                None => Err(Error::Memory("not now".into())),
            }
        }
    }

    impl MapPages for Iommu {
        fn map_pages(&mut self, pages: &Range<u64>) -> Result<()> {
            assert!(self.0.iter().all(|known| known.end <= pages.start || pages.end <= known.start), "overlap");
            if self.0.len() == self.1 {
                return Err(Error::Memory("no entry".into()));
            }
            self.0.push(pages.clone());
            Ok(())
        }
        fn unmap_pages(&mut self, pages: &Range<u64>) -> Result<()> {
            self.0.swap_remove(self.0.iter().position(|known| known == pages).expect("mapped as a whole"));
            Ok(())
        }
    }

    #[test]
    fn neighbours_share_a_page_and_nothing_more() {
        let (mut pages, mut iommu) = (Pages::new(4096), Iommu(vec![], 100));
        pages.map(&(0x1800..0x8800), &mut iommu).unwrap();
        assert_eq!(iommu.0, [0x1000..0x2000, 0x2000..0x8000, 0x8000..0x9000]);
        pages.map(&(0x8800..0x9000), &mut iommu).unwrap();
        pages.unmap(&(0x1800..0x8800), &mut iommu).unwrap();
        assert!(iommu.0.len() == 1 && iommu.0[0] == (0x8000..0x9000));
        pages.unmap(&(0x8800..0x9000), &mut iommu).unwrap();
        assert!(iommu.0.is_empty());
        let error = pages.unmap(&(0x8800..0x9000), &mut iommu).unwrap_err().to_string();
        assert!(error.contains("is not mapped for the card"), "{error}");
        assert!(pages.map(&(5..5), &mut iommu).is_err());
    }

    #[test]
    fn a_range_inside_of_a_range_that_is_gone_is_not_widened_again() {
        let (mut pages, mut iommu) = (Pages::new(4096), Iommu(vec![], 100));
        pages.map(&(0x1000..0x9000), &mut iommu).unwrap();
        pages.map(&(0x3000..0x4000), &mut iommu).unwrap();
        pages.unmap(&(0x1000..0x9000), &mut iommu).unwrap();
        let error = pages.map(&(0x1000..0x9000), &mut iommu).unwrap_err().to_string();
        assert!(error.contains("still mapped for a range that overlaps"), "{error}");
        pages.map(&(0x3000..0x4000), &mut iommu).unwrap();
        pages.unmap(&(0x3000..0x4000), &mut iommu).unwrap();
        pages.unmap(&(0x3000..0x4000), &mut iommu).unwrap();
        pages.map(&(0x1000..0x9000), &mut iommu).unwrap();
    }

    #[test]
    fn every_mapped_byte_is_reached_and_nothing_stays() {
        spindle_testing::with_seeds(|| {
            let mut random = spindle_testing::seeded_rng("mapped_pages");
            for _ in 0..200 {
                let (mut pages, mut iommu) = (Pages::new(4096), Iommu(vec![], random.random_range(1..30)));
                let mut mapped: Vec<Range<u64>> = Vec::new();
                for _ in 0..60 {
                    if random.random_ratio(2, 5) && !mapped.is_empty() {
                        let range = mapped.swap_remove(random.random_range(0..mapped.len()));
                        pages.unmap(&range, &mut iommu).unwrap();
                    } else {
                        let start = random.random_range(0..40_000);
                        let range = start..start + random.random_range(1..20_000);
                        let before = iommu.0.len();
                        match pages.map(&range, &mut iommu) {
                            Ok(()) => mapped.push(range),
                            Err(_) => assert_eq!(iommu.0.len(), before),
                        }
                    }
                    for range in &mapped {
                        for at in (range.start..range.end).step_by(4096).chain([range.end - 1]) {
                            assert!(iommu.0.iter().any(|pages| pages.contains(&at)), "{at:#x} of {range:x?}");
                        }
                    }
                }
                for range in mapped.drain(..) {
                    pages.unmap(&range, &mut iommu).unwrap();
                }
                assert!(iommu.0.is_empty());
            }
            let (mut pages, mut iommu) = (Pages::new(4096), Iommu(vec![], 9));
            pages.map(&(1..100_000), &mut iommu).unwrap();
            pages.unmap_all(&mut iommu).unwrap();
            assert!(iommu.0.is_empty() && pages.unmap(&(1..100_000), &mut iommu).is_err());
        });
    }

    #[test]
    fn ranges_end_before_the_last_page_of_all_addresses() {
        let (mut pages, mut iommu) = (Pages::new(4096), Iommu(vec![], 100));
        let last = u64::MAX - 4096;
        pages.map(&(last - 1..last), &mut iommu).unwrap();
        for range in [last..last + 1, 0..u64::MAX, 7..7, std::ops::Range { start: 8, end: 7 }] {
            let error = pages.map(&range, &mut iommu).unwrap_err().to_string();
            assert_eq!(error, "a range of no bytes cannot be mapped for the card; give at least one");
        }
        assert_eq!(iommu.0.len(), 1);
    }

    #[test]
    fn a_page_that_cannot_be_mapped_takes_the_others_back() {
        for room in 0..3 {
            let (mut pages, mut iommu) = (Pages::new(4096), Iommu(vec![], room));
            assert_eq!(pages.map(&(0x1800..0x8800), &mut iommu).unwrap_err().to_string(), "host memory: no entry");
            assert!(iommu.0.is_empty(), "{room}");
            assert!(pages.unmap(&(0x1800..0x8800), &mut iommu).is_err());
            iommu.1 = 3;
            pages.map(&(0x1800..0x8800), &mut iommu).unwrap();
        }
    }

    #[test]
    fn a_range_that_was_mapped_twice_is_taken_back_twice() {
        let (mut pages, mut iommu) = (Pages::new(4096), Iommu(vec![], 100));
        for _ in 0..2 {
            pages.map(&(0x1000..0x3000), &mut iommu).unwrap();
        }
        assert_eq!(iommu.0, vec![0x1000..0x3000; 1]);
        pages.unmap(&(0x1000..0x3000), &mut iommu).unwrap();
        assert_eq!(iommu.0.len(), 1);
        pages.unmap(&(0x1000..0x3000), &mut iommu).unwrap();
        assert!(iommu.0.is_empty());
        // Pages beside and around: only what is not there is mapped.
        pages.map(&(0x2000..0x4000), &mut iommu).unwrap();
        pages.map(&(0x4000..0x5000), &mut iommu).unwrap();
        pages.map(&(0x1000..0x7000), &mut iommu).unwrap();
        assert_eq!(iommu.0, [0x2000..0x4000, 0x4000..0x5000, 0x1000..0x2000, 0x5000..0x7000]);
        let error = pages.unmap(&(0x1000..0x6000), &mut iommu).unwrap_err().to_string();
        assert_eq!(error, "the range 0x1000 to 0x6000 is not mapped for the card; give the range that was mapped");
    }

    #[test]
    fn a_range_that_cannot_be_taken_back_stays_and_can_be_taken_back_again() {
        for left in 0..2 {
            let (mut pages, mut iommu) = (Pages::new(4096), Iommu(vec![], 100));
            // Three pieces, of which another range shares the last.
            pages.map(&(0x1800..0x8800), &mut iommu).unwrap();
            pages.map(&(0x8000..0x9000), &mut iommu).unwrap();
            let error = pages.unmap(&(0x1800..0x8800), &mut Tired(&mut iommu, left)).unwrap_err();
            assert_eq!(error.to_string(), "host memory: not now");
            assert_eq!(iommu.0.len(), 3 - left);
            pages.unmap(&(0x1800..0x8800), &mut iommu).unwrap();
            assert_eq!(iommu.0, vec![0x8000..0x9000; 1], "the other range still has its page");
            assert!(pages.unmap(&(0x1800..0x8800), &mut iommu).is_err());
            pages.unmap(&(0x8000..0x9000), &mut iommu).unwrap();
            assert!(iommu.0.is_empty());
        }
    }
}
