//! Regions: registers, MSI-X table, configuration space, and the device's own.

use super::{Answer, Reply, Served};
use crate::config_space::BYTES as CONFIG_BYTES;
use crate::irq;
use crate::vfio_user::function::{Doorbell, Function};
use crate::vfio_user::message::*;
use rustix::io::Errno;
use spindle_contract::pci;
use std::ops::Range;
use std::os::fd::OwnedFd;
use vfio_bindings::bindings::vfio as v;

const CONFIG_REGION: u32 = v::VFIO_PCI_CONFIG_REGION_INDEX;
const REGISTERS: u32 = pci::REGISTER_BAR as u32;
const MSIX_BAR: u32 = pci::MSIX_BAR as u32;
const OWN: u32 = pci::TIME_REGION as u32;

impl Served {
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

    pub(super) fn region_info(&self, function: &dyn Function, request: RegionInfo) -> Answer {
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

    pub(super) fn io_fds(&mut self, function: &mut dyn Function, request: RegionIoFds) -> Answer {
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

    /// The bytes of an access, if they are in the region.
    fn range(&self, function: &dyn Function, access: RegionAccess) -> Result<Range<u64>, Errno> {
        let end = access.offset.checked_add(access.count.into()).ok_or(Errno::INVAL)?;
        let fits = access.count > 0 && access.count as usize <= MAX_DATA;
        match fits && end <= self.region_bytes(function, access.region) {
            true => Ok(access.offset..end),
            false => Err(Errno::INVAL),
        }
    }

    pub(super) fn read(&mut self, function: &mut dyn Function, access: RegionAccess) -> Answer {
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

    pub(super) fn write(&mut self, function: &mut dyn Function, access: RegionAccess, data: &[u8]) -> Answer {
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
