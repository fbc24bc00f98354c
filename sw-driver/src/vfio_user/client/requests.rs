//! The requests, one call each.

use super::{refused, Client, Region};
use crate::irq;
use crate::vfio_user::message::*;
use crate::Result;
use std::ops::Range;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;
use vfio_bindings::bindings::vfio as v;

impl Client {
    /// Number of regions and of kinds of interrupts, and flags.
    pub fn info(&mut self) -> Result<DeviceInfo> {
        let request = DeviceInfo { argsz: DeviceInfo::BYTES as u32, ..DeviceInfo::default() };
        let reply = self.call(Command::GetInfo, "information about the device", &request.bytes(), &[])?;
        self.parsed(DeviceInfo::parse(&reply.body))
    }

    /// A region.
    pub fn region(&mut self, index: u32) -> Result<Region> {
        let mut argsz = RegionInfo::BYTES as u32;
        for _ in 0..2 {
            let request = RegionInfo { argsz, index, ..RegionInfo::default() };
            let reply = self.call(Command::GetRegionInfo, "information about a region", &request.bytes(), &[])?;
            let info = self.parsed(RegionInfo::parse(&reply.body))?;
            if info.argsz <= argsz || info.argsz as usize > MAX_MESSAGE {
                return Ok(Region { bytes: info.size, kind: kind(&info, &reply.body) });
            }
            argsz = info.argsz;
        }
        Err(self.lost("its server changes the size of what it reports"))
    }

    /// Reads a region.
    pub fn read(&mut self, region: u32, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let access = RegionAccess { offset, region, count: bytes.len() as u32 };
        let reply = self.call(Command::RegionRead, "a read", &access.bytes(), &[])?;
        match reply.body.get(RegionAccess::BYTES..).filter(|data| data.len() == bytes.len()) {
            Some(data) => {
                bytes.copy_from_slice(data);
                Ok(())
            }
            None => Err(self.lost("its server answered a read with another number of bytes")),
        }
    }

    /// Writes a region, and waits for the reply.
    pub fn write(&mut self, region: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let access = RegionAccess { offset, region, count: bytes.len() as u32 };
        let written = self.exchange(Command::RegionWrite, &[&access.bytes(), bytes], &[])?;
        written.map(drop).map_err(|error| refused("a write", error))
    }

    /// Writes a region without a reply, as a bus does: a later read comes after it, and a refusal is not noticed.
    pub fn post(&mut self, region: u32, offset: u64, bytes: &[u8]) -> Result<()> {
        let access = RegionAccess { offset, region, count: bytes.len() as u32 };
        let end = Instant::now() + self.limit;
        self.send(Command::RegionWrite, &[&access.bytes(), bytes], &[], flags::NO_REPLY, end)?;
        Ok(())
    }

    /// Gives the function memory: `file` from `offset`, at the function's addresses `range`.
    pub fn map(&mut self, file: BorrowedFd<'_>, offset: u64, range: &Range<u64>) -> Result<()> {
        let size = range.end.saturating_sub(range.start);
        let both = v::VFIO_DMA_MAP_FLAG_READ | v::VFIO_DMA_MAP_FLAG_WRITE;
        let map = DmaMap { argsz: DmaMap::BYTES as u32, flags: both, offset, address: range.start, size };
        self.call(Command::DmaMap, "a map of memory", &map.bytes(), &[file]).map(drop)
    }

    /// Takes all memory of a range back.
    pub fn unmap(&mut self, range: &Range<u64>) -> Result<()> {
        let size = range.end.saturating_sub(range.start);
        let unmap = DmaUnmap { argsz: DmaUnmap::BYTES as u32, flags: 0, address: range.start, size };
        self.call(Command::DmaUnmap, "to take memory back", &unmap.bytes(), &[]).map(drop)
    }

    /// How many interrupts there are of a kind.
    pub fn interrupts(&mut self, kind: usize) -> Result<usize> {
        let request = IrqInfo { argsz: IrqInfo::BYTES as u32, index: kind as u32, ..IrqInfo::default() };
        let reply = self.call(Command::GetIrqInfo, "information about interrupts", &request.bytes(), &[])?;
        Ok(self.parsed(IrqInfo::parse(&reply.body))?.count as usize)
    }

    /// Gives eventfds for the interrupts of a kind from `start`; several messages if the server takes few descriptors in one.
    pub fn set_interrupts(&mut self, kind: usize, start: usize, fds: &[BorrowedFd<'_>]) -> Result<()> {
        let most = (self.server.max_msg_fds as usize).clamp(1, MAX_FDS);
        for (part, fds) in fds.chunks(most).enumerate() {
            let request = SetIrqs {
                argsz: SetIrqs::BYTES as u32,
                flags: v::VFIO_IRQ_SET_DATA_EVENTFD | v::VFIO_IRQ_SET_ACTION_TRIGGER,
                index: kind as u32,
                start: (start + part * most) as u32,
                count: fds.len() as u32,
            };
            self.call(Command::SetIrqs, "eventfds for interrupts", &request.bytes(), fds)?;
        }
        Ok(())
    }

    /// Takes back all eventfds of a kind.
    pub fn clear_interrupts(&mut self, kind: usize) -> Result<()> {
        let flags = v::VFIO_IRQ_SET_DATA_NONE | v::VFIO_IRQ_SET_ACTION_TRIGGER;
        let request = SetIrqs { argsz: SetIrqs::BYTES as u32, flags, index: kind as u32, start: 0, count: 0 };
        self.call(Command::SetIrqs, "to take eventfds back", &request.bytes(), &[]).map(drop)
    }

    /// Registers of a region that an eventfd can write, with their eventfds.
    pub fn doorbells(&mut self, region: u32) -> Result<Vec<(IoEventFd, OwnedFd)>> {
        let argsz = (RegionIoFds::BYTES + MAX_FDS * IoEventFd::BYTES) as u32;
        let request = RegionIoFds { argsz, flags: 0, index: region, count: 0 };
        let reply = self.call(Command::GetRegionIoFds, "eventfds of registers", &request.bytes(), &[])?;
        let head = self.parsed(RegionIoFds::parse(&reply.body))?;
        let entries = reply.body[RegionIoFds::BYTES..].chunks_exact(IoEventFd::BYTES);
        let entries = entries.filter_map(IoEventFd::parse).take(head.count as usize);
        entries
            .filter_map(|entry| Some((entry, reply.fds.get(entry.fd as usize)?)))
            .map(|(entry, fd)| Ok((entry, irq::duplicate(fd)?)))
            .collect()
    }

    /// Resets the function.
    pub fn reset(&mut self) -> Result<()> {
        self.call(Command::Reset, "a reset", &[], &[]).map(drop)
    }
}

/// The kind of a region that is the device's own, from its capabilities.
fn kind(info: &RegionInfo, body: &[u8]) -> Option<(u32, u32)> {
    let mut at = info.cap_offset as usize;
    while at >= RegionInfo::BYTES {
        let capability = TypeCapability::parse(body.get(at..)?)?;
        if u32::from(capability.id) == v::VFIO_REGION_INFO_CAP_TYPE {
            return Some((capability.kind, capability.subtype));
        }
        let next = capability.next as usize;
        // A list that does not advance has no end.
        at = if next > at { next } else { 0 };
    }
    None
}
