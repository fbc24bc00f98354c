//! Interrupts: how many there are, and the eventfds of a client.

use super::{Answer, Served};
use crate::vfio_user::function::MSIX;
use crate::vfio_user::message::*;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use vfio_bindings::bindings::vfio as v;

impl Served {
    pub(super) fn irq_info(&self, request: IrqInfo) -> Answer {
        let count = self.host.interrupts.count(request.index as usize).ok_or(Errno::INVAL)?;
        let info = IrqInfo {
            argsz: IrqInfo::BYTES as u32,
            flags: if count > 0 { v::VFIO_IRQ_INFO_EVENTFD } else { 0 },
            index: request.index,
            count: count as u32,
        };
        Ok(info.bytes().into())
    }

    pub(super) fn set_irqs(&mut self, request: SetIrqs, data: &[u8], fds: Vec<OwnedFd>) -> Result<(), Errno> {
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
