//! TAP interfaces of Linux: a network interface whose frames a program reads and writes.

use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

const DEVICE: &str = "/dev/net/tun";
/// Bytes of a `virtio_net_hdr`, which precedes each frame of an interface that was opened with it.
pub const HEADER_BYTES: usize = 10;
/// Checksums that the interface leaves to the program (`TUN_F_CSUM`).
const OFFLOAD_CHECKSUM: libc::c_ulong = 1;

/// An interface that is open. Reads and writes do not block.
#[derive(Debug)]
pub struct Tap {
    file: File,
    name: String,
}

impl Tap {
    /// Opens the interface of this name, which is made if there is none and then lives as long as this value. With `header`, each
    /// frame has a `virtio_net_hdr` in front, and the system leaves checksums of its frames to the program.
    ///
    /// # Errors
    /// The name is no name of an interface, another program has the interface, or the program may not open it.
    pub fn open(name: &str, header: bool) -> Result<Tap> {
        let plain = |byte: u8| byte.is_ascii_graphic() && !b"/:%".contains(&byte);
        if !(1..libc::IFNAMSIZ).contains(&name.len()) || !name.bytes().all(plain) {
            return Err(Error::Argument(format!(
                "`{name}` is no name of an interface; give 1 to 15 letters such as spindle0"
            )));
        }
        let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
        let file = file.map_err(|error| refused(name, error))?;
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | if header { libc::IFF_VNET_HDR } else { 0 };
        // SAFETY: all bits zero are a valid request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (place, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *place = byte as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = flags as libc::c_short;
        // SAFETY: the descriptor is open, and the request is one of this call, which the system reads and fills.
        if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as _, &mut request) } != 0 {
            return Err(refused(name, io::Error::last_os_error()));
        }
        // SAFETY: as above; the argument is a number. An old system refuses it, and then computes its checksums itself.
        if header && unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD as _, OFFLOAD_CHECKSUM) } != 0 {
            log::info!("{name}: checksums are computed by the system: {}", io::Error::last_os_error());
        }
        Ok(Tap { file, name: name.into() })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next frame that the system sends, in `buffer`, which must have room for the longest one; `None`: there is none.
    ///
    /// # Errors
    /// The interface was removed.
    pub fn receive(&mut self, buffer: &mut [u8]) -> Result<Option<usize>> {
        match self.file.read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if waits(&error) => Ok(None),
            Err(error) => Err(lost(&self.name, error)),
        }
    }

    /// Hands the system a frame; false: the interface is down or full, and the frame is lost.
    ///
    /// # Errors
    /// The interface was removed.
    pub fn send(&mut self, frame: &[u8]) -> Result<bool> {
        match self.file.write(frame) {
            Ok(_) => Ok(true),
            // EIO: the interface is down; EINVAL: the system refuses the frame's length or its header.
            Err(error) if waits(&error) || matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL)) => Ok(false),
            Err(error) => Err(lost(&self.name, error)),
        }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

fn lost(name: &str, source: io::Error) -> Error {
    Error::Transport {
        action: format!("use the interface {name}"),
        source,
        cure: "start the program again if the interface was removed".into(),
    }
}

fn refused(name: &str, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::PermissionDenied => Error::Permission {
            path: DEVICE.into(),
            cure: format!("run as root, or have root make the interface: ip tuntap add {name} mode tap user $USER"),
        },
        io::ErrorKind::NotFound => {
            Error::Transport { action: format!("open {DEVICE}"), source, cure: "load the module: modprobe tun".into() }
        }
        _ if source.raw_os_error() == Some(libc::EBUSY) => {
            Error::Busy { address: format!("interface {name}"), owner: "another program that has opened it".into() }
        }
        _ => Error::Transport {
            action: format!("open the interface {name}"),
            source,
            cure: "give the name of a TAP interface, or one that is not taken".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for name in ["", "a/b", "sixteen-letters-", "a b", "a%d"] {
            assert!(matches!(Tap::open(name, false), Err(Error::Argument(_))), "{name}");
        }
    }
}
