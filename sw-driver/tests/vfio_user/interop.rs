//! The crate `vfio_user` on the other side.

use crate::dummy::{Served, BYTES, DONE, FROM, GO, SCRATCH, TO};
use rustix::event::{eventfd, EventfdFlags};
use spindle::transport::vfio_user::UserCard;
use spindle::vfio_user::Client as OwnClient;
use spindle::{irq, Bar, Error, HostMemory};
use spindle_contract::registers::MAGIC;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;
use vfio_bindings::bindings::vfio as v;
use vfio_user::{Client, DmaMapFlags, DmaUnmapFlags, IrqInfo, Server, ServerBackend, ServerRegion};

const LIMIT: Duration = Duration::from_secs(5);

#[test]
fn the_crates_client_with_own_server() {
    let served = Served::new();
    let mut client = Client::new(&served.path()).unwrap();
    let sizes: Vec<u64> = (0..10).map(|region| client.region(region).unwrap().size).collect();
    assert_eq!(sizes, [1 << 20, 0, 4096, 0, 0, 0, 0, 4096, 0, 64]);
    let irqs: Vec<u32> = (0..5).map(|index| client.get_irq_info(index).unwrap().count).collect();
    assert_eq!(irqs, [0, 0, 16, 1, 1]);

    let read = |client: &mut Client, at: u32| {
        let mut word = [0; 4];
        client.region_read(0, at.into(), &mut word).unwrap();
        u32::from_le_bytes(word)
    };
    let write = |client: &mut Client, at: u32, value: u32| {
        client.region_write(0, at.into(), &value.to_le_bytes()).unwrap();
    };
    assert_eq!(read(&mut client, 0), u32::MAX, "memory is not enabled yet");
    client.region_write(7, 4, &6u16.to_le_bytes()).unwrap();
    assert_eq!(read(&mut client, 0), MAGIC);
    write(&mut client, SCRATCH, 0xABCD_EF01);
    assert_eq!(read(&mut client, SCRATCH), 0xABCD_EF01);

    let memory = tempfile::tempfile().unwrap();
    memory.write_all_at(&[7; 8192], 0).unwrap();
    memory.write_all_at(b"a frame", 4096).unwrap();
    client.dma_map(4096, 0x1_0000_0000, 4096, memory.as_raw_fd()).unwrap();
    let event = eventfd(0, EventfdFlags::NONBLOCK).unwrap();
    let flags = v::VFIO_IRQ_SET_DATA_EVENTFD | v::VFIO_IRQ_SET_ACTION_TRIGGER;
    client.set_irqs(v::VFIO_PCI_MSIX_IRQ_INDEX, flags, 3, 1, &[event.as_raw_fd()]).unwrap();
    for (register, value) in [(FROM, 0), (FROM + 4, 1), (TO, 1024), (TO + 4, 1), (BYTES, 7), (GO, 3)] {
        write(&mut client, register, value);
    }
    assert_eq!(read(&mut client, DONE), 1);
    assert_eq!(irq::wait(&event, LIMIT).unwrap(), 1);
    let mut copied = [0; 7];
    memory.read_exact_at(&mut copied, 4096 + 1024).unwrap();
    assert_eq!(&copied, b"a frame");

    client.set_irqs(v::VFIO_PCI_MSIX_IRQ_INDEX, flags, 3, 1, &[]).unwrap();
    write(&mut client, GO, 3);
    assert_eq!((read(&mut client, DONE), irq::take(&event)), (1, 0), "no descriptors take the eventfd back");
    client.dma_unmap(0x1_0000_0000, 0xFFFF_FFFF_0000_0000 - 0x1_0000_0000).unwrap();
    assert!(served.host.memory.ranges().is_empty());
    client.reset().unwrap();
    assert_eq!(read(&mut client, SCRATCH), 0);
    client.shutdown().unwrap();
}

/// A register file on the crate's server, which refuses the register 0x30 and maps beyond 1 TiB.
struct Backend {
    registers: [u8; 256],
    config: [u8; 256],
    events: Vec<File>,
    maps: usize,
}

impl ServerBackend for Backend {
    fn region_read(&mut self, region: u32, offset: u64, data: &mut [u8]) -> std::io::Result<()> {
        let (at, bytes) = (offset as usize, if region == 7 { &self.config } else { &self.registers });
        if region == 0 && at == 0x30 {
            return Err(std::io::ErrorKind::PermissionDenied.into());
        }
        data.copy_from_slice(bytes.get(at..at + data.len()).ok_or(std::io::ErrorKind::InvalidInput)?);
        Ok(())
    }

    fn region_write(&mut self, region: u32, offset: u64, data: &[u8]) -> std::io::Result<()> {
        let (at, bytes) = (offset as usize, if region == 7 { &mut self.config } else { &mut self.registers });
        bytes.get_mut(at..at + data.len()).ok_or(std::io::ErrorKind::InvalidInput)?.copy_from_slice(data);
        if region == 0 && offset == u64::from(GO) {
            use std::io::Write;
            self.events[data[0] as usize].write_all(&1u64.to_ne_bytes())?;
        }
        Ok(())
    }

    fn dma_map(&mut self, _: DmaMapFlags, _: u64, _: u64, _: u64, fd: Option<File>) -> std::io::Result<()> {
        assert!(fd.is_some());
        self.maps += 1;
        match self.maps {
            1 => Ok(()),
            _ => Err(std::io::ErrorKind::OutOfMemory.into()),
        }
    }

    fn dma_unmap(&mut self, _: DmaUnmapFlags, _: u64, _: u64) -> std::io::Result<()> {
        Ok(())
    }

    fn reset(&mut self) -> std::io::Result<()> {
        self.registers[4..].fill(0);
        Ok(())
    }

    fn set_irqs(&mut self, _: u32, _: u32, start: u32, count: u32, fds: Vec<File>) -> std::io::Result<()> {
        assert_eq!((start as usize, count as usize), (self.events.len(), fds.len()));
        self.events.extend(fds);
        Ok(())
    }
}

fn serve(path: &Path) -> std::thread::JoinHandle<()> {
    let flags = v::VFIO_REGION_INFO_FLAG_READ | v::VFIO_REGION_INFO_FLAG_WRITE;
    let regions = (0..9u32).map(|index| {
        let size = if index == 0 || index == 7 { 256 } else { 0 };
        let region_info = v::vfio_region_info { argsz: 32, flags, index, size, ..Default::default() };
        ServerRegion { region_info, sparse_areas: Vec::new(), mmap_fd: None }
    });
    let irqs = (0..5u32).map(|index| IrqInfo { index, flags: 1, count: if index == 2 { 16 } else { 0 } });
    let server = Server::new(path, true, irqs.collect(), regions.collect()).unwrap();
    std::thread::spawn(move || {
        let mut backend = Backend { registers: [0; 256], config: [0; 256], events: Vec::new(), maps: 0 };
        backend.registers[..4].copy_from_slice(&MAGIC.to_le_bytes());
        let _ = server.run(&mut backend);
    })
}

#[test]
fn own_client_with_the_crates_server() {
    use spindle::Card;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("crate.sock");
    let server = serve(&path);
    let mut card = UserCard::over(OwnClient::connect_within(&path, LIMIT).unwrap()).unwrap();
    assert_eq!(card.read32(0).unwrap(), MAGIC);
    card.write32(SCRATCH, 0x5EED).unwrap();
    assert_eq!(card.read32(SCRATCH).unwrap(), 0x5EED);
    assert!(matches!(card.read32(0x30).unwrap_err(), Error::Bar { address: 0x30, .. }), "an error reply is an error");
    assert_eq!(card.read32(SCRATCH).unwrap(), 0x5EED);
    assert!(!card.time_moves_by_calls());

    // One descriptor in a message is all that this server takes.
    let events: Vec<_> = (0..4).map(|vector| card.interrupt(vector).unwrap()).collect();
    card.write32(GO, 2).unwrap();
    assert_eq!(irq::wait(&events[2], LIMIT).unwrap(), 1);
    assert_eq!(irq::take(&events[1]), 0);

    let memory = card.alloc(64, 64).unwrap();
    card.write(memory, b"spindle").unwrap();
    let refused = card.alloc(64 << 20, 64).unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    card.reset().unwrap();
    assert_eq!(card.read32(SCRATCH).unwrap(), 0);
    drop(card);
    server.join().unwrap();
}
