//! Registers of a card through a mapping of its BAR, and what a card that has left looks like.

use crate::{Error, Result};
use rustix::mm::{mmap, munmap, MapFlags, ProtFlags};
use spindle_contract::registers::{self, global};
use std::os::fd::AsFd;
use std::sync::atomic::{fence, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What a read of an absent PCI function gives.
const ALL_ONES: u32 = u32::MAX;
/// How long a card may take to answer after a reset.
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);

/// Whether the card is there. Once gone, it is gone for this owner: its state is lost even if another one has its place.
#[derive(Clone, Debug)]
pub(crate) struct Presence {
    address: String,
    gone: Arc<OnceLock<&'static str>>,
}

impl Presence {
    pub fn new(address: &str) -> Presence {
        Presence { address: address.into(), gone: Arc::default() }
    }

    /// The card has left. The first reason stays.
    pub fn lose(&self, why: &'static str) -> Error {
        let why = *self.gone.get_or_init(|| why);
        Error::Gone { address: self.address.clone(), why: why.into() }
    }

    /// An error if the card has left.
    pub fn check(&self) -> Result<()> {
        match self.gone.get() {
            None => Ok(()),
            Some(why) => Err(self.lose(why)),
        }
    }
}

/// A BAR, mapped. Its owner alone reaches it: a reset borrows the card, so that no program accesses a register meanwhile.
#[derive(Debug)]
pub(crate) struct MappedBar {
    start: *mut u32,
    bytes: usize,
    presence: Presence,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for MappedBar {}

impl MappedBar {
    /// Maps a file's bytes from `offset` on, which are a BAR.
    pub fn map(file: impl AsFd, offset: u64, bytes: usize, presence: Presence) -> std::io::Result<MappedBar> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the system chooses the place, so that no other mapping is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, MapFlags::SHARED, file, offset) }?;
        Ok(MappedBar { start: start.cast(), bytes, presence })
    }

    fn register(&self, access: &'static str, address: u32) -> Result<*mut u32> {
        self.presence.check()?;
        if !address.is_multiple_of(4) || address as usize + 4 > self.bytes {
            let why = format!("the BAR has {} bytes, and registers are aligned to 4", self.bytes);
            return Err(Error::Bar { access, address, why });
        }
        // SAFETY: the address was checked to lie in the mapping.
        Ok(unsafe { self.start.byte_add(address as usize) })
    }

    /// Reads a register. A card that answers with ones only, to its first register too, is gone.
    pub fn read32(&mut self, address: u32) -> Result<u32> {
        let register = self.register("read", address)?;
        // SAFETY: `register` lies in the mapping and is aligned.
        let value = u32::from_le(unsafe { register.read_volatile() });
        if value == ALL_ONES && self.magic()? == ALL_ONES {
            return Err(self.presence.lose("its registers read all ones, as those of an unplugged card do"));
        }
        fence(Ordering::Acquire);
        Ok(value)
    }

    fn magic(&self) -> Result<u32> {
        let register = self.register("read", global::BASE + global::MAGIC)?;
        // SAFETY: `register` lies in the mapping and is aligned.
        Ok(u32::from_le(unsafe { register.read_volatile() }))
    }

    /// Writes a register, after everything that the program wrote to memory before.
    pub fn write32(&mut self, address: u32, value: u32) -> Result<()> {
        let register = self.register("write", address)?;
        fence(Ordering::SeqCst);
        // SAFETY: `register` lies in the mapping and is aligned.
        unsafe { register.write_volatile(value.to_le()) };
        Ok(())
    }

    /// Waits, after a reset, until the first register is right again.
    pub fn await_card(&mut self) -> Result<()> {
        let start = Instant::now();
        while self.magic()? != registers::MAGIC {
            if start.elapsed() > ANSWERS_WITHIN {
                return Err(self.presence.lose("it does not answer after a reset"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }
}

impl Drop for MappedBar {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's.
        let _ = unsafe { munmap(self.start.cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    fn bar() -> (std::fs::File, MappedBar) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        file.write_all_at(&registers::MAGIC.to_le_bytes(), 0).unwrap();
        let bar = MappedBar::map(&file, 0, 4096, Presence::new("0000:65:00.0")).unwrap();
        (file, bar)
    }

    #[test]
    fn registers_are_words_of_the_file() {
        let (file, mut bar) = bar();
        bar.write32(0x10, 0x1234_5678).unwrap();
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, 0x10).unwrap();
        assert_eq!(bytes, [0x78, 0x56, 0x34, 0x12]);
        assert_eq!(bar.read32(0x10).unwrap(), 0x1234_5678);
        for address in [2, 4096, 4094] {
            assert!(bar.read32(address).unwrap_err().to_string().contains("the BAR has 4096 bytes"));
            assert!(bar.write32(address, 0).is_err());
        }
    }

    #[test]
    fn a_register_of_ones_is_a_value_while_the_first_register_is_right() {
        let (_file, mut bar) = bar();
        bar.write32(0x20, ALL_ONES).unwrap();
        assert_eq!(bar.read32(0x20).unwrap(), ALL_ONES);
    }

    #[test]
    fn a_card_of_ones_is_gone_for_ever() {
        let (file, mut bar) = bar();
        file.write_all_at(&[0xFF; 4096], 0).unwrap();
        let first = bar.read32(0x30).unwrap_err();
        assert!(matches!(first, Error::Gone { .. }), "{first}");
        file.write_all_at(&registers::MAGIC.to_le_bytes(), 0).unwrap();
        for error in [bar.read32(0).unwrap_err(), bar.write32(0x10, 1).unwrap_err(), bar.await_card().unwrap_err()] {
            assert_eq!(error.to_string(), first.to_string());
        }
        let mut bytes = [0; 4];
        file.read_exact_at(&mut bytes, 0x10).unwrap();
        assert_eq!(bytes, [0xFF; 4], "no write reaches the card");
    }

    #[test]
    fn the_last_register_is_one() {
        let (_file, mut bar) = bar();
        bar.write32(4092, 7).unwrap();
        assert_eq!(bar.read32(4092).unwrap(), 7);
        for address in [1, 3, 4093, u32::MAX - 3] {
            match bar.write32(address, 0).unwrap_err() {
                Error::Bar { access: "write", address: at, .. } => assert_eq!(at, address),
                other => panic!("{other}"),
            }
            assert!(matches!(bar.read32(address), Err(Error::Bar { access: "read", .. })));
        }
    }

    #[test]
    fn a_card_that_answers_after_a_reset_is_there() {
        let (file, mut bar) = bar();
        bar.await_card().unwrap();
        // It answers a little later.
        file.write_all_at(&[0; 4], 0).unwrap();
        let answers = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(3));
            file.write_all_at(&registers::MAGIC.to_le_bytes(), 0).unwrap()
        });
        bar.await_card().unwrap();
        answers.join().unwrap();
    }

    #[test]
    fn the_first_reason_stays() {
        let presence = Presence::new("0000:65:00.0");
        presence.check().unwrap();
        let other = presence.clone();
        let first = presence.lose("it was pulled out").to_string();
        assert_eq!(first, "the card 0000:65:00.0 is gone: it was pulled out; open it again when it is back");
        assert_eq!(other.lose("something else").to_string(), first);
        assert_eq!(other.check().unwrap_err().to_string(), first);
    }

    #[test]
    fn a_mapping_goes_with_its_owner() {
        crate::transport::fake::mapping_goes_with_its_owner(|file| {
            MappedBar::map(file, 0, 4096, Presence::new("0000:65:00.0")).unwrap()
        });
    }
}
