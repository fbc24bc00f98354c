//! The server's side of a function: answers each request.

use super::channel::Message;
use super::dma_table::MapRequest;
use super::function::{Doorbell, Function, Host, Interrupts, MSIX};
use super::message::*;
use crate::config_space::{ConfigSpace, Layout, BYTES as CONFIG_BYTES};
use crate::irq;
use rustix::io::Errno;
use spindle_contract::pci;
use std::fs::File;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use vfio_bindings::bindings::vfio as v;

/// Bit of DMA_UNMAP that another revision of the protocol has for "everything".
const UNMAP_ALL_OLDER: u32 = 1 << 2;
const CONFIG_REGION: u32 = v::VFIO_PCI_CONFIG_REGION_INDEX;
const REGISTERS: u32 = pci::REGISTER_BAR as u32;
const MSIX_BAR: u32 = pci::MSIX_BAR as u32;
const OWN: u32 = pci::TIME_REGION as u32;

/// Body and file descriptors of a reply.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub body: Vec<u8>,
    pub fds: Vec<OwnedFd>,
}

impl From<Vec<u8>> for Reply {
    fn from(body: Vec<u8>) -> Reply {
        Reply { body, fds: Vec::new() }
    }
}

type Answer = Result<Reply, Errno>;

/// A function with what the server keeps for it.
#[derive(Debug)]
pub(super) struct Served {
    pub host: Host,
    pub config: ConfigSpace,
    /// MSI-X table and pending bits: memory that a client may keep its own copy of.
    table: Vec<u8>,
    /// Eventfds that a client has asked for.
    pub doorbells: Vec<(Doorbell, OwnedFd)>,
    /// Capabilities of the server.
    pub own: Capabilities,
    /// Capabilities of the client.
    pub client: Capabilities,
}

impl Served {
    pub fn new(layout: Layout, host: Host, own: Capabilities) -> Served {
        Served {
            host,
            config: ConfigSpace::new(layout),
            table: vec![0; pci::MSIX_BAR_BYTES],
            doorbells: Vec::new(),
            own,
            client: Capabilities::default(),
        }
    }

    /// The client is gone: what it gave is forgotten, and the function as after power-on.
    pub fn forget(&mut self, function: &mut dyn Function) {
        function.leaving();
        self.host.memory.set_master(false);
        for range in self.host.memory.ranges() {
            function.unmap(&range);
        }
        self.host.memory.clear();
        self.host.interrupts.clear();
        function.interrupts_changed();
        self.config.reset();
        self.table.fill(0);
        self.doorbells.clear();
        function.disconnected();
    }

    /// Answers a request that is no VERSION.
    pub fn answer(&mut self, function: &mut dyn Function, message: Message) -> Answer {
        if message.fds_lost {
            return Err(Errno::INVAL);
        }
        let Some(command) = Command::of(message.header.command) else { return Err(Errno::OPNOTSUPP) };
        let body = &message.body[..];
        match command {
            Command::DmaMap => self.map(function, DmaMap::parse(body).ok_or(Errno::INVAL)?, message.fds),
            Command::DmaUnmap => self.unmap(function, DmaUnmap::parse(body).ok_or(Errno::INVAL)?),
            Command::GetInfo => self.info(function),
            Command::GetRegionInfo => self.region_info(function, RegionInfo::parse(body).ok_or(Errno::INVAL)?),
            Command::GetRegionIoFds => self.io_fds(function, RegionIoFds::parse(body).ok_or(Errno::INVAL)?),
            Command::GetIrqInfo => self.irq_info(IrqInfo::parse(body).ok_or(Errno::INVAL)?),
            Command::SetIrqs => {
                let request = SetIrqs::parse(body).ok_or(Errno::INVAL)?;
                self.set_irqs(request, &body[SetIrqs::BYTES..], message.fds)?;
                function.interrupts_changed();
                Ok(Reply::default())
            }
            Command::RegionRead => self.read(function, RegionAccess::parse(body).ok_or(Errno::INVAL)?),
            Command::RegionWrite => {
                let access = RegionAccess::parse(body).ok_or(Errno::INVAL)?;
                self.write(function, access, &body[RegionAccess::BYTES..])
            }
            Command::Reset => {
                // As the kernel does: the configuration is restored after the reset.
                self.reset(function);
                Ok(Reply::default())
            }
            Command::Version => Err(Errno::INVAL),
            Command::DmaRead | Command::DmaWrite => Err(Errno::OPNOTSUPP),
        }
    }

    /// Resets the function; it reaches no memory meanwhile.
    fn reset(&mut self, function: &mut dyn Function) {
        self.host.memory.set_master(false);
        function.reset();
        self.host.memory.set_master(self.config.masters());
    }

    fn map(&mut self, function: &mut dyn Function, map: DmaMap, mut fds: Vec<OwnedFd>) -> Answer {
        if map.flags & !3 != 0 || fds.len() > 1 {
            return Err(Errno::INVAL);
        }
        let end = map.address.checked_add(map.size).ok_or(Errno::INVAL)?;
        let request = MapRequest {
            range: map.address..end,
            readable: map.flags & 1 != 0,
            writable: map.flags & 2 != 0,
            file: fds.pop().map(|fd| (Arc::new(File::from(fd)), map.offset)),
        };
        self.host.memory.check(&request)?;
        function.map(&request)?;
        let entered = self.host.memory.map(&request);
        if entered.is_err() {
            function.unmap(&request.range);
        }
        entered.map(|()| Reply::default())
    }

    fn unmap(&mut self, function: &mut dyn Function, unmap: DmaUnmap) -> Answer {
        let range = match unmap.flags {
            0 => unmap.address..unmap.address.saturating_add(unmap.size),
            UNMAP_ALL | UNMAP_ALL_OLDER if (unmap.address, unmap.size) == (0, 0) => 0..u64::MAX,
            UNMAP_ALL | UNMAP_ALL_OLDER => return Err(Errno::INVAL),
            _ => return Err(Errno::OPNOTSUPP),
        };
        self.host.memory.check_unmap(&range)?;
        if self.host.memory.touches(&range) {
            function.unmap(&range);
        }
        self.host.memory.unmap(&range)?;
        Ok(unmap.bytes().into())
    }

    fn info(&self, function: &dyn Function) -> Answer {
        let own = u32::from(function.own_region() > 0);
        let info = DeviceInfo {
            argsz: DeviceInfo::BYTES as u32,
            flags: v::VFIO_DEVICE_FLAGS_PCI | v::VFIO_DEVICE_FLAGS_RESET,
            regions: v::VFIO_PCI_NUM_REGIONS + own,
            irqs: Interrupts::KINDS as u32,
        };
        Ok(info.bytes().into())
    }

    /// Bytes of a region; 0 if it has none.
    fn region_bytes(&self, function: &dyn Function, region: u32) -> u64 {
        match region {
            REGISTERS => self.config.layout().registers.into(),
            MSIX_BAR => pci::MSIX_BAR_BYTES as u64,
            CONFIG_REGION => CONFIG_BYTES as u64,
            OWN => function.own_region(),
            _ => 0,
        }
    }

    fn region_info(&self, function: &dyn Function, request: RegionInfo) -> Answer {
        let size = self.region_bytes(function, request.index);
        if request.index >= v::VFIO_PCI_NUM_REGIONS && size == 0 {
            return Err(Errno::INVAL);
        }
        let mut capabilities = Vec::new();
        if request.index == OWN {
            let kind = v::VFIO_REGION_TYPE_PCI_VENDOR_TYPE | u32::from(pci::VENDOR);
            let id = v::VFIO_REGION_INFO_CAP_TYPE as u16;
            let capability = TypeCapability { id, version: 1, next: 0, kind, subtype: pci::TIME_REGION_KIND };
            capabilities = capability.bytes();
        }
        let access = v::VFIO_REGION_INFO_FLAG_READ | v::VFIO_REGION_INFO_FLAG_WRITE;
        let some = !capabilities.is_empty();
        let argsz = RegionInfo::BYTES + capabilities.len();
        let info = RegionInfo {
            argsz: argsz as u32,
            flags: if size > 0 { access } else { 0 } | if some { v::VFIO_REGION_INFO_FLAG_CAPS } else { 0 },
            index: request.index,
            cap_offset: if some { RegionInfo::BYTES as u32 } else { 0 },
            size,
            offset: 0,
        };
        let mut body = info.bytes();
        if request.argsz as usize >= argsz {
            body.append(&mut capabilities);
        }
        Ok(body.into())
    }

    fn io_fds(&mut self, function: &mut dyn Function, request: RegionIoFds) -> Answer {
        if request.flags != 0 || self.region_bytes(function, request.index) == 0 {
            return Err(Errno::INVAL);
        }
        let most = MAX_FDS.min(self.client.max_msg_fds as usize);
        let wanted = if request.index == REGISTERS { function.doorbells() } else { Vec::new() };
        let count = wanted.len().min(most);
        let argsz = RegionIoFds::BYTES + count * IoEventFd::BYTES;
        let reply = RegionIoFds { argsz: argsz as u32, flags: 0, index: request.index, count: count as u32 };
        let mut reply = Reply::from(reply.bytes());
        if (request.argsz as usize) < argsz {
            return Ok(reply);
        }
        for (number, doorbell) in wanted.into_iter().take(most).enumerate() {
            let fd = match function.doorbell_event(doorbell) {
                Some(event) => event,
                None => self.doorbell(doorbell)?,
            };
            let Doorbell { offset, value } = doorbell;
            let (fd_index, value) = (number as u32, value.into());
            let entry = IoEventFd { offset, size: 4, fd: fd_index, kind: 0, flags: DATA_MATCH, padding: 0, value };
            reply.body.extend_from_slice(&entry.bytes());
            reply.fds.push(fd);
        }
        Ok(reply)
    }

    /// Another descriptor of a doorbell's eventfd.
    fn doorbell(&mut self, doorbell: Doorbell) -> Result<OwnedFd, Errno> {
        if let Some((_, fd)) = self.doorbells.iter().find(|(known, _)| *known == doorbell) {
            return irq::duplicate(fd).map_err(|_| Errno::MFILE);
        }
        let fd = irq::create().map_err(|_| Errno::MFILE)?;
        let other = irq::duplicate(&fd).map_err(|_| Errno::MFILE)?;
        self.doorbells.push((doorbell, fd));
        Ok(other)
    }

    fn irq_info(&self, request: IrqInfo) -> Answer {
        let count = self.host.interrupts.count(request.index as usize).ok_or(Errno::INVAL)?;
        let info = IrqInfo {
            argsz: IrqInfo::BYTES as u32,
            flags: if count > 0 { v::VFIO_IRQ_INFO_EVENTFD } else { 0 },
            index: request.index,
            count: count as u32,
        };
        Ok(info.bytes().into())
    }

    fn set_irqs(&mut self, request: SetIrqs, data: &[u8], fds: Vec<OwnedFd>) -> Result<(), Errno> {
        let interrupts = &self.host.interrupts;
        let kind = request.index as usize;
        let have = interrupts.count(kind).ok_or(Errno::INVAL)?;
        let (start, count) = (request.start as usize, request.count as usize);
        let end = start.checked_add(count).filter(|end| *end <= have).ok_or(Errno::INVAL)?;
        if request.flags & v::VFIO_IRQ_SET_ACTION_TYPE_MASK != v::VFIO_IRQ_SET_ACTION_TRIGGER {
            // Masking: the client does that in its own eventfds.
            return Err(Errno::OPNOTSUPP);
        }
        match request.flags & v::VFIO_IRQ_SET_DATA_TYPE_MASK {
            v::VFIO_IRQ_SET_DATA_NONE if count == 0 => interrupts.set(kind, 0, (0..have).map(|_| None)),
            v::VFIO_IRQ_SET_DATA_NONE => (start..end).for_each(|at| {
                interrupts.signal(kind, at);
            }),
            v::VFIO_IRQ_SET_DATA_BOOL if data.len() >= count => {
                (start..end).zip(data).filter(|(_, set)| **set != 0).for_each(|(at, _)| {
                    interrupts.signal(kind, at);
                });
            }
            v::VFIO_IRQ_SET_DATA_EVENTFD if count == 0 => interrupts.set(kind, 0, (0..have).map(|_| None)),
            v::VFIO_IRQ_SET_DATA_EVENTFD if fds.is_empty() => interrupts.set(kind, start, (0..count).map(|_| None)),
            v::VFIO_IRQ_SET_DATA_EVENTFD if fds.len() == count => {
                fds.iter().try_for_each(check_eventfd)?;
                interrupts.set(kind, start, fds.into_iter().map(Some));
            }
            _ => return Err(Errno::INVAL),
        }
        if kind != MSIX {
            log::debug!("interrupts of kind {kind} set");
        }
        Ok(())
    }

    /// The bytes of an access, if they are in the region.
    fn range(&self, function: &dyn Function, access: RegionAccess) -> Result<Range<u64>, Errno> {
        let end = access.offset.checked_add(access.count.into()).ok_or(Errno::INVAL)?;
        let fits = access.count > 0 && access.count as usize <= MAX_DATA;
        match fits && end <= self.region_bytes(function, access.region) {
            true => Ok(access.offset..end),
            false => Err(Errno::INVAL),
        }
    }

    fn read(&mut self, function: &mut dyn Function, access: RegionAccess) -> Answer {
        let range = self.range(function, access)?;
        let mut bytes = vec![0; access.count as usize];
        match access.region {
            CONFIG_REGION => {
                self.config.read(range.start, &mut bytes);
            }
            OWN => function.read_own(range.start, &mut bytes)?,
            // As on a bus: no function answers.
            _ if !self.config.answers() => bytes.fill(0xFF),
            MSIX_BAR => bytes.copy_from_slice(&self.table[range.start as usize..range.end as usize]),
            _ => function.read(range.start, &mut bytes)?,
        }
        let mut body = access.bytes();
        body.append(&mut bytes);
        Ok(body.into())
    }

    fn write(&mut self, function: &mut dyn Function, access: RegionAccess, data: &[u8]) -> Answer {
        let range = self.range(function, access)?;
        if data.len() != access.count as usize {
            return Err(Errno::INVAL);
        }
        match access.region {
            CONFIG_REGION => {
                let resets = self.config.write(range.start, data) == Some(true);
                self.host.memory.set_master(self.config.masters());
                if resets {
                    self.reset(function);
                }
            }
            OWN => function.write_own(range.start, data)?,
            _ if !self.config.answers() => {}
            MSIX_BAR => self.table[range.start as usize..range.end as usize].copy_from_slice(data),
            _ => function.write(range.start, data)?,
        }
        Ok(access.bytes().into())
    }
}

/// Refuses what is no eventfd: a write to a pipe or a terminal could block the server.
fn check_eventfd(fd: &OwnedFd) -> Result<(), Errno> {
    use std::os::fd::AsRawFd;
    let target = std::fs::read_link(format!("/proc/self/fd/{}", fd.as_raw_fd())).map_err(|_| Errno::INVAL)?;
    match target.to_str().is_some_and(|target| target.starts_with("anon_inode:[eventfd")) {
        true => Ok(()),
        false => Err(Errno::INVAL),
    }
}
