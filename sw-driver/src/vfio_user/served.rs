//! The server's side of a function: answers each request.

use super::channel::Message;
use super::dma_table::MapRequest;
use super::function::{Doorbell, Function, Host, Interrupts};
use super::message::*;
use crate::config_space::{ConfigSpace, Layout};
use rustix::io::Errno;
use spindle_contract::pci;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use vfio_bindings::bindings::vfio as v;

mod interrupts;
mod regions;

/// Bit of DMA_UNMAP that another revision of the protocol has for "everything".
const UNMAP_ALL_OLDER: u32 = 1 << 2;

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
}
