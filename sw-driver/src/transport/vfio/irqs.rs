//! Interrupts of a VFIO device: a vector's eventfd, and the watch over the kernel's own two signals.

use super::ioctl;
use crate::transport::bar::Presence;
use rustix::event::{eventfd, poll, EventfdFlags, PollFd, PollFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{read, write};
use std::io;
use std::thread::JoinHandle;
use vfio_bindings::bindings::vfio::{VFIO_PCI_ERR_IRQ_INDEX, VFIO_PCI_MSIX_IRQ_INDEX, VFIO_PCI_REQ_IRQ_INDEX};

/// An eventfd with no event.
pub fn new_event() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)
}

/// The MSI-X vectors of a device, each with its eventfd.
#[derive(Debug)]
pub struct Vectors(Vec<OwnedFd>);

impl Vectors {
    /// Switches on the first vectors, at most `wanted`.
    pub fn enable(device: BorrowedFd, wanted: usize) -> io::Result<Vectors> {
        let count = ioctl::vectors(device, VFIO_PCI_MSIX_IRQ_INDEX)?.min(wanted);
        let events = (0..count).map(|_| new_event()).collect::<io::Result<Vec<OwnedFd>>>()?;
        if count > 0 {
            let borrowed: Vec<BorrowedFd> = events.iter().map(|event| event.as_fd()).collect();
            ioctl::set_vectors(device, VFIO_PCI_MSIX_IRQ_INDEX, &borrowed)?;
        }
        Ok(Vectors(events))
    }

    /// Switches them off.
    pub fn disable(&mut self, device: BorrowedFd) -> io::Result<()> {
        match std::mem::take(&mut self.0).is_empty() {
            true => Ok(()),
            false => ioctl::set_vectors(device, VFIO_PCI_MSIX_IRQ_INDEX, &[]),
        }
    }

    /// Vectors with these eventfds.
    #[cfg(test)]
    pub fn of(events: Vec<OwnedFd>) -> Vectors {
        Vectors(events)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The eventfd of one.
    pub fn event(&self, vector: usize) -> Option<BorrowedFd<'_>> {
        self.0.get(vector).map(|event| event.as_fd())
    }
}

/// Watches for an error of the card and for the kernel's wish to have the card back: the card is gone from then on.
#[derive(Debug)]
pub struct Watch {
    stop: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Begins to watch. A device without these signals is not watched.
    pub fn begin(device: BorrowedFd, presence: Presence) -> io::Result<Watch> {
        let signals = [
            (VFIO_PCI_ERR_IRQ_INDEX, "the card reported an error that cannot be corrected"),
            (VFIO_PCI_REQ_IRQ_INDEX, "the kernel takes the card back"),
        ];
        let mut watched = Vec::new();
        for (index, why) in signals {
            if ioctl::vectors(device, index).is_ok_and(|count| count > 0) {
                let event = new_event()?;
                ioctl::set_vectors(device, index, &[event.as_fd()])?;
                watched.push((event, why));
            }
        }
        let stop = new_event()?;
        let stopped = stop.try_clone()?;
        let thread = std::thread::Builder::new()
            .name("spindle-watch".into())
            .spawn(move || watch(&watched, &stopped, &presence))?;
        Ok(Watch { stop, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The eventfd takes one event: it has had none.
        let _ = write(&self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(signals: &[(OwnedFd, &'static str)], stop: &OwnedFd, presence: &Presence) {
    let mut fds: Vec<PollFd> = signals.iter().map(|(event, _)| PollFd::new(event, PollFlags::IN)).collect();
    fds.push(PollFd::new(stop, PollFlags::IN));
    loop {
        if let Err(error) = poll(&mut fds, None) {
            match error == rustix::io::Errno::INTR {
                true => continue,
                false => return log::warn!("the signals of the card are not watched any more: {error}"),
            }
        }
        if !fds[signals.len()].revents().is_empty() {
            return;
        }
        for ((event, why), fd) in signals.iter().zip(&fds) {
            if !fd.revents().is_empty() && read(event, &mut [0u8; 8]).is_ok() {
                // Not as an argument of the message: those are not computed when messages are off.
                let gone = presence.lose(why);
                log::warn!("{gone}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_signal_ends_the_presence_of_the_card() {
        let presence = Presence::new("0000:65:00.0");
        let (event, stop) = (new_event().unwrap(), new_event().unwrap());
        let (signal, stopper) = (event.try_clone().unwrap(), stop.try_clone().unwrap());
        let stopped = stop.try_clone().unwrap();
        let watched = presence.clone();
        let thread = std::thread::spawn(move || watch(&[(event, "the kernel takes the card back")], &stop, &watched));
        let watch = Watch { stop: stopper, thread: Some(thread) };
        assert!(presence.check().is_ok());
        write(&signal, &1u64.to_ne_bytes()).unwrap();
        let start = Instant::now();
        while presence.check().is_ok() {
            assert!(start.elapsed() < Duration::from_secs(10), "the signal is not seen");
            std::thread::yield_now();
        }
        let error = presence.check().unwrap_err().to_string();
        assert!(error.contains("is gone: the kernel takes the card back"), "{error}");
        drop(watch);
        assert_eq!(crate::irq::take(&stopped), 1, "the thread is to end");
    }

    #[test]
    fn vectors_have_their_eventfds_until_they_are_switched_off() {
        let file = tempfile::tempfile().unwrap();
        assert!(Vectors::enable(file.as_fd(), 4).is_err(), "a plain file has no vectors");
        let mut vectors = Vectors(vec![new_event().unwrap(), new_event().unwrap()]);
        assert_eq!(vectors.count(), 2);
        write(vectors.event(1).unwrap(), &3u64.to_ne_bytes()).unwrap();
        let mut count = [0; 8];
        read(vectors.event(1).unwrap(), &mut count).unwrap();
        assert_eq!(u64::from_ne_bytes(count), 3);
        assert!(read(vectors.event(0).unwrap(), &mut count).is_err(), "it has had none");
        assert!(vectors.event(2).is_none());
        assert!(vectors.disable(file.as_fd()).is_err(), "the kernel is asked");
        assert_eq!(vectors.count(), 0);
        vectors.disable(file.as_fd()).unwrap();
    }

    #[test]
    fn a_device_without_signals_is_not_watched_and_the_watch_ends() {
        let file = tempfile::tempfile().unwrap();
        let presence = Presence::new("0000:65:00.0");
        drop(Watch::begin(file.as_fd(), presence.clone()).unwrap());
        presence.check().unwrap();
    }
}
