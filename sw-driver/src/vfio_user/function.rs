//! What a server serves: a function, and the host that the function reaches.

use super::dma_table::{DmaTable, MapRequest};
use crate::irq;
use rustix::io::Errno;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A PCI function in software.
///
/// The server has the configuration space, the MSI-X table, and the bookkeeping of memory and interrupts; it calls these methods from
/// [`super::Server::service`] alone. A call may take long (a simulated card runs until its registers answer), and may use the
/// function's [`Host`] meanwhile.
pub trait Function {
    /// Reads BAR 0. The bytes lie in the BAR; their number and alignment are the client's.
    fn read(&mut self, offset: u64, bytes: &mut [u8]) -> Result<(), Errno>;
    /// Writes BAR 0, likewise.
    fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno>;
    /// Resets the function: by DEVICE_RESET, or by function-level reset. Maps and eventfds stay; the function is no bus master.
    fn reset(&mut self);

    /// Bytes of the device's own region (`pci::TIME_REGION`); 0: there is none.
    fn own_region(&self) -> u64 {
        0
    }
    /// Reads the device's own region; the bytes lie in it.
    fn read_own(&mut self, _offset: u64, _bytes: &mut [u8]) -> Result<(), Errno> {
        Err(Errno::NXIO)
    }
    /// Writes the device's own region; the bytes lie in it.
    fn write_own(&mut self, _offset: u64, _bytes: &[u8]) -> Result<(), Errno> {
        Err(Errno::NXIO)
    }
    /// Registers of BAR 0 that an eventfd can write: a signal of it writes the value, as `write` with 4 bytes.
    fn doorbells(&self) -> Vec<Doorbell> {
        Vec::new()
    }
    /// An eventfd that writes a doorbell without the function; `None`: the server makes one, and calls `write`.
    fn doorbell_event(&mut self, _doorbell: Doorbell) -> Option<OwnedFd> {
        None
    }
    /// A client has agreed on the protocol.
    fn connected(&mut self) {}
    /// The client is gone; its maps are still there. The function ends what uses them.
    fn leaving(&mut self) {}
    /// The client is gone; its maps and eventfds are gone already. The function must not keep a state that names them.
    fn disconnected(&mut self) {
        self.reset();
    }
    /// The client gives memory, which is no part of the table yet. An error refuses the map.
    fn map(&mut self, _map: &MapRequest) -> Result<(), Errno> {
        Ok(())
    }
    /// The client takes memory back, which is still part of the table: after the return nothing may use the memory. The range may
    /// have several maps or none. Also called for every map when a client goes.
    fn unmap(&mut self, _range: &Range<u64>) {}
    /// The client gave or took eventfds.
    fn interrupts_changed(&mut self) {}
}

/// A register of BAR 0 that an eventfd can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// Its offset.
    pub offset: u64,
    /// What is written.
    pub value: u32,
}

/// What a function reaches: the memory and the interrupts of the client. Clones are the same.
#[derive(Clone, Debug)]
pub struct Host {
    /// Memory.
    pub memory: DmaTable,
    /// Interrupts.
    pub interrupts: Interrupts,
}

impl Host {
    /// The host of a function with so many MSI-X vectors, before a client is there.
    pub fn new(vectors: usize) -> Host {
        Host { memory: DmaTable::default(), interrupts: Interrupts::new(vectors) }
    }
}

/// Kinds of interrupts, in the order of VFIO's indexes: INTx, MSI, MSI-X, error, request.
const KINDS: usize = 5;
/// Index of MSI-X.
pub const MSIX: usize = 2;
/// Index of the interrupt that reports an error of the device.
pub const ERROR: usize = 3;
/// Index of the interrupt that requests the device back.
pub const REQUEST: usize = 4;

type Eventfds = [Vec<Option<OwnedFd>>; KINDS];

/// The eventfds that a client gave.
#[derive(Clone, Debug)]
pub struct Interrupts(Arc<Mutex<Eventfds>>);

impl Interrupts {
    fn new(vectors: usize) -> Interrupts {
        let none = |count: usize| (0..count).map(|_| None).collect();
        Interrupts(Arc::new(Mutex::new([none(0), none(0), none(vectors), none(1), none(1)])))
    }

    fn lock(&self) -> MutexGuard<'_, Eventfds> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fires an MSI-X vector; false: the client has given no eventfd for it.
    pub fn fire(&self, vector: usize) -> bool {
        self.signal(MSIX, vector)
    }

    /// Reports an error of the device: the client stops to use it.
    pub fn report_error(&self) -> bool {
        self.signal(ERROR, 0)
    }

    /// Requests the device back: the client should close it.
    pub fn request_back(&self) -> bool {
        self.signal(REQUEST, 0)
    }

    /// Another descriptor of the eventfd of an MSI-X vector.
    pub fn eventfd(&self, vector: usize) -> Option<OwnedFd> {
        self.lock()[MSIX].get(vector)?.as_ref()?.try_clone().ok()
    }

    pub(super) fn signal(&self, kind: usize, number: usize) -> bool {
        let all = self.lock();
        let fd = all.get(kind).and_then(|fds| fds.get(number)).and_then(Option::as_ref);
        fd.is_some_and(irq::signal)
    }

    /// How many there are of a kind; `None`: there is no such kind.
    pub(super) fn count(&self, kind: usize) -> Option<usize> {
        self.lock().get(kind).map(Vec::len)
    }

    /// Sets those of a kind from `start`: the caller has checked that they exist.
    pub(super) fn set(&self, kind: usize, start: usize, fds: impl IntoIterator<Item = Option<OwnedFd>>) {
        let mut all = self.lock();
        for (place, fd) in all[kind][start..].iter_mut().zip(fds) {
            *place = fd;
        }
    }

    pub(super) fn clear(&self) {
        self.lock().iter_mut().flatten().for_each(|fd| *fd = None);
    }

    pub(super) const KINDS: usize = KINDS;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function that has nothing but registers.
    struct Plain {
        resets: u32,
    }

    impl Function for Plain {
        fn read(&mut self, _: u64, _: &mut [u8]) -> Result<(), Errno> {
            Ok(())
        }
        fn write(&mut self, _: u64, _: &[u8]) -> Result<(), Errno> {
            Ok(())
        }
        fn reset(&mut self) {
            self.resets += 1;
        }
    }

    #[test]
    fn a_plain_function_has_no_more_than_registers_and_is_reset_when_its_client_goes() {
        let mut plain = Plain { resets: 0 };
        assert_eq!(plain.own_region(), 0);
        assert_eq!((plain.read_own(0, &mut [0]), plain.write_own(0, &[0])), (Err(Errno::NXIO), Err(Errno::NXIO)));
        assert_eq!(plain.doorbells(), []);
        assert!(plain.doorbell_event(Doorbell { offset: 0, value: 1 }).is_none());
        plain.connected();
        plain.leaving();
        plain.interrupts_changed();
        assert_eq!(plain.resets, 0);
        plain.disconnected();
        assert_eq!(plain.resets, 1);
        let request = MapRequest { range: 0..1, readable: true, writable: true, file: None };
        assert_eq!(plain.map(&request), Ok(()));
    }

    #[test]
    fn interrupts_are_of_five_kinds() {
        let host = Host::new(3);
        let counts: Vec<_> = (0..6).map(|kind| host.interrupts.count(kind)).collect();
        assert_eq!(counts, [Some(0), Some(0), Some(3), Some(1), Some(1), None]);
        assert!(!host.interrupts.fire(0) && !host.interrupts.report_error() && !host.interrupts.request_back());
        let fds: Vec<OwnedFd> = (0..2).map(|_| irq::create().unwrap()).collect();
        let copies = fds.iter().map(|fd| Some(irq::duplicate(fd).unwrap()));
        host.interrupts.set(MSIX, 1, copies);
        assert_eq!([0, 1, 2, 3].map(|vector| host.interrupts.fire(vector)), [false, true, true, false]);
        assert_eq!(fds.iter().map(irq::take).collect::<Vec<_>>(), [1, 1]);
        assert!(irq::signal(host.interrupts.eventfd(2).unwrap()));
        assert_eq!(irq::take(&fds[1]), 1);
        assert!(host.interrupts.eventfd(0).is_none() && host.interrupts.eventfd(3).is_none());
        host.interrupts.clear();
        assert!(!host.interrupts.fire(1) && host.interrupts.eventfd(2).is_none());
        assert_eq!(host.interrupts.count(MSIX), Some(3));
    }
}
