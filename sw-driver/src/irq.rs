//! Interrupts as eventfds.

use crate::{Error, Result};
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// A new eventfd, which is not readable yet. Reads and writes do not block.
pub fn create() -> Result<OwnedFd> {
    eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|error| Error::Transport {
        action: "create an eventfd".into(),
        source: error.into(),
        cure: "close files, or raise `ulimit -n`".into(),
    })
}

/// Another descriptor of the same eventfd.
pub fn duplicate(fd: impl AsFd) -> Result<OwnedFd> {
    fd.as_fd().try_clone_to_owned().map_err(|source| Error::Transport {
        action: "duplicate an eventfd".into(),
        source,
        cure: "close files, or raise `ulimit -n`".into(),
    })
}

/// Makes an eventfd readable. False: it cannot be, because the descriptor is none or was closed by its owner.
pub fn signal(fd: impl AsFd) -> bool {
    // A counter at its maximum (EAGAIN) is readable.
    matches!(rustix::io::write(fd, &1u64.to_ne_bytes()), Ok(_) | Err(Errno::AGAIN))
}

/// How often an eventfd was signalled since it was read last; 0: not at all.
pub fn take(fd: impl AsFd) -> u64 {
    let mut count = [0; 8];
    match rustix::io::read(fd, &mut count) {
        Ok(8) => u64::from_ne_bytes(count),
        _ => 0,
    }
}

/// Waits until a descriptor is ready, at most so long; false: it is not.
pub fn ready(fd: BorrowedFd<'_>, interest: PollFlags, limit: Duration) -> io::Result<bool> {
    let end = Instant::now() + limit;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(|_| Errno::INVAL)?;
        match poll(&mut [PollFd::from_borrowed_fd(fd, interest)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Waits until an eventfd is signalled, at most so long, and reads it: how often it was signalled, 0 if it was not.
pub fn wait(fd: impl AsFd, limit: Duration) -> io::Result<u64> {
    match ready(fd.as_fd(), PollFlags::IN, limit)? {
        true => Ok(take(fd)),
        false => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_by_a_signal_or_by_its_limit() {
        let fd = create().unwrap();
        let other = duplicate(&fd).unwrap();
        let begin = Instant::now();
        assert_eq!(wait(&fd, Duration::from_millis(20)).unwrap(), 0);
        assert!(begin.elapsed() >= Duration::from_millis(20));
        assert!(signal(&other) && signal(&other));
        assert_eq!(wait(&fd, Duration::from_secs(10)).unwrap(), 2);
        assert_eq!(take(&fd), 0);
    }

    #[test]
    fn a_full_counter_is_still_a_signal() {
        let fd = create().unwrap();
        rustix::io::write(&fd, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        assert!(signal(&fd));
        assert_eq!(take(&fd), u64::MAX - 1);
    }

    #[test]
    fn a_descriptor_that_is_no_eventfd_neither_signals_nor_counts() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(!signal(&file), "it was opened for reading");
        assert_eq!(take(&file), 0);
        let fd = create().unwrap();
        assert!(!ready(fd.as_fd(), PollFlags::IN, Duration::ZERO).unwrap());
        assert!(ready(fd.as_fd(), PollFlags::OUT, Duration::ZERO).unwrap());
        assert!(signal(&fd));
        assert!(ready(fd.as_fd(), PollFlags::IN, Duration::ZERO).unwrap());
        assert_eq!((take(&fd), take(&fd)), (1, 0));
    }
}
