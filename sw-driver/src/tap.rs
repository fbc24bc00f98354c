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

    /// An interface whose other end is a socket.
    fn tap() -> (Tap, std::os::unix::net::UnixStream) {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(ours));
        (Tap { file, name: "spindle0".into() }, theirs)
    }

    #[test]
    fn names_have_one_to_fifteen_plain_letters() {
        let sentence = |name: &str| match Tap::open(name, false) {
            Err(Error::Argument(sentence)) => sentence,
            other => panic!("{name}: {other:?}"),
        };
        for name in ["", "a:b", "0123456789abcdef", "\u{e9}", "a\tb", "\x7f"] {
            assert_eq!(
                sentence(name),
                format!("`{name}` is no name of an interface; give 1 to 15 letters such as spindle0")
            );
        }
    }

    #[test]
    fn frames_pass_and_what_is_not_there_is_none() {
        let (mut tap, mut other) = tap();
        let mut buffer = [0; 100];
        assert_eq!(tap.name(), "spindle0");
        assert_eq!(tap.receive(&mut buffer).unwrap(), None);
        other.write_all(b"frame").unwrap();
        assert_eq!(tap.receive(&mut buffer).unwrap(), Some(5));
        assert_eq!(&buffer[..5], b"frame");
        assert!(tap.send(b"answer").unwrap());
        let mut answer = [0; 6];
        other.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"answer");
        assert_eq!(tap.as_fd().as_raw_fd(), tap.file.as_raw_fd());
        // A socket that is full takes no frame, and none is sent in part.
        let large = vec![7; 1 << 20];
        while tap.send(&large).unwrap() {}
        assert!(!tap.send(b"one more").unwrap());
    }

    #[test]
    fn an_interface_that_is_gone_is_an_error() {
        let (mut tap, other) = tap();
        drop(other);
        let error = tap.send(b"frame").unwrap_err().to_string();
        assert!(error.starts_with("cannot use the interface spindle0: "), "{error}");
        assert!(error.ends_with("start the program again if the interface was removed"), "{error}");
        tap.file = File::open("/").unwrap();
        let error = tap.receive(&mut [0; 4]).unwrap_err().to_string();
        assert!(error.starts_with("cannot use the interface spindle0: "), "{error}");
    }

    #[test]
    fn reasons_why_an_interface_cannot_be_opened_have_their_cures() {
        let sentence = |code| refused("spindle0", io::Error::from_raw_os_error(code)).to_string();
        for (code, start, end) in [
            (libc::EPERM, "no permission for /dev/net/tun", "ip tuntap add spindle0 mode tap user $USER"),
            (libc::EACCES, "no permission for /dev/net/tun", "ip tuntap add spindle0 mode tap user $USER"),
            (libc::ENOENT, "cannot open /dev/net/tun", "load the module: modprobe tun"),
            (libc::EBUSY, "the card interface spindle0 is in use by another program that has opened it", "spindled"),
            (libc::EINVAL, "cannot open the interface spindle0", "or one that is not taken"),
        ] {
            let text = sentence(code);
            assert!(text.starts_with(start) && text.ends_with(end), "{text}");
        }
        let error = |code| io::Error::from_raw_os_error(code);
        assert!(waits(&error(libc::EAGAIN)) && waits(&error(libc::EINTR)) && !waits(&error(libc::EIO)));
    }
}
