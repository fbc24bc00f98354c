//! Execution contexts: placement of an image, installation, activation.

use crate::device::Info;
use crate::image::{Image, ImageError};
use crate::{Bar, Device, Error, HostMemory, Result};
use spindle_contract::registers::hpu;

/// Number of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContextId(pub usize);

/// What a context gets besides its image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextOptions {
    /// Cycle budget of a handler, at least 1.
    pub watchdog: u32,
    /// Bytes of context memory; at least what the image's variables take.
    pub state_bytes: usize,
    /// Host memory that the context's handlers may write: address and bytes.
    pub host_region: Option<(u64, u32)>,
}

impl Default for ContextOptions {
    /// A budget of 100,000 cycles, the image's own variables, no host memory.
    fn default() -> Self {
        ContextOptions { watchdog: 100_000, state_bytes: 0, host_region: None }
    }
}

/// Which pieces of the card's memories are taken.
pub(crate) struct Contexts {
    slots: Vec<Option<Placement>>,
    active: u32,
    imem_bytes: usize,
    l2_bytes: usize,
}

/// Where a context lies: base and bytes reserved.
#[derive(Clone, Copy, Debug)]
struct Placement {
    code: (usize, usize),
    state: (usize, usize),
}

impl Contexts {
    pub(crate) fn new(info: &Info) -> Self {
        Contexts { slots: vec![None; info.contexts], active: 0, imem_bytes: info.imem_bytes, l2_bytes: info.l2_bytes }
    }
}

/// Bytes that a piece takes: hardware ORs the base into an address, so a piece is a power of two, aligned to itself.
fn reserved(bytes: usize) -> usize {
    if bytes == 0 {
        0
    } else {
        bytes.next_power_of_two().max(64)
    }
}

/// The first place for `bytes` in a memory of `limit` bytes in which `taken` is taken.
fn place(
    what: &'static str,
    bytes: usize,
    limit: usize,
    taken: impl Iterator<Item = (usize, usize)> + Clone,
) -> Result<(usize, usize)> {
    let size = reserved(bytes);
    if size == 0 {
        return Ok((0, 0));
    }
    let free = |base: &usize| taken.clone().all(|(start, length)| base + size <= start || start + length <= *base);
    (0..limit).step_by(size).filter(|base| base + size <= limit).find(free).map(|base| (base, size)).ok_or_else(|| {
        Error::Full {
            what,
            wanted: size,
            free: limit.saturating_sub(taken.map(|(_, length)| length).sum()),
            cure: "remove a context first",
        }
    })
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Writes an image and everything else a context needs into a free context, which stays inactive.
    pub fn install(&mut self, image: &Image, options: &ContextOptions) -> Result<ContextId> {
        let slot = self.contexts.slots.iter().position(Option::is_none).ok_or(Error::Full {
            what: "an execution context",
            wanted: 1,
            free: 0,
            cure: "remove a context first",
        })?;
        if options.watchdog == 0 {
            return Err(Error::Argument("the watchdog budget is 0; give a handler at least one cycle".into()));
        }
        let state_bytes = image.state.len().max(options.state_bytes).next_multiple_of(4);
        for (what, bytes, limit) in
            [("code", image.code.len(), self.info.imem_bytes), ("state", state_bytes, self.info.l2_bytes)]
        {
            if bytes > limit {
                return Err(ImageError::TooLarge { what, bytes, limit }.into());
            }
        }
        let taken = self.contexts.slots.iter().flatten();
        let code =
            place("the handlers' code", image.code.len(), self.contexts.imem_bytes, taken.clone().map(|p| p.code))?;
        let state = place("the handlers' state", state_bytes, self.contexts.l2_bytes, taken.map(|p| p.state))?;
        self.load(hpu::IMEM_ADDR, hpu::IMEM_DATA, code.0, &image.code)?;
        let mut initial = image.state.clone();
        initial.resize(state_bytes, 0);
        self.load(hpu::L2_ADDR, hpu::L2_DATA, state.0, &initial)?;

        let (host, host_bytes) = options.host_region.unwrap_or((0, 0));
        let [header, payload, completion] = image.entries.map(|entry| entry.unwrap_or(0));
        let staging = [
            (hpu::CTX_HEADER, header),
            (hpu::CTX_PAYLOAD, payload),
            (hpu::CTX_COMPLETION, completion),
            (hpu::CTX_CODE_BASE, code.0 as u32),
            (hpu::CTX_CODE_SIZE, image.code.len() as u32),
            (hpu::CTX_STATE_BASE, state.0 as u32),
            (hpu::CTX_STATE_SIZE, state_bytes as u32),
            (hpu::CTX_HOST_LO, host as u32),
            (hpu::CTX_HOST_HI, (host >> 32) as u32),
            (hpu::CTX_HOST_SIZE, host_bytes),
            (hpu::CTX_WATCHDOG, options.watchdog),
            (hpu::CTX_INSTALL, slot as u32),
        ];
        for (register, value) in staging {
            self.bar.write32(hpu::BASE + register, value)?;
        }
        self.contexts.slots[slot] = Some(Placement { code, state });
        Ok(ContextId(slot))
    }

    fn load(&mut self, address: u32, data: u32, base: usize, bytes: &[u8]) -> Result<()> {
        self.bar.write32(hpu::BASE + address, base as u32)?;
        for word in bytes.chunks(4) {
            let mut padded = [0; 4];
            padded[..word.len()].copy_from_slice(word);
            self.bar.write32(hpu::BASE + data, u32::from_le_bytes(padded))?;
        }
        Ok(())
    }

    /// Lets the context accept packets.
    pub fn activate(&mut self, context: ContextId) -> Result<()> {
        self.set_active(context, true)
    }

    /// Stops the context from accepting packets; what it has accepted is still handled.
    pub fn deactivate(&mut self, context: ContextId) -> Result<()> {
        self.set_active(context, false)
    }

    fn set_active(&mut self, context: ContextId, on: bool) -> Result<()> {
        if self.contexts.slots.get(context.0).is_none_or(Option::is_none) {
            return Err(Error::Argument(format!("context {} is not installed; install an image first", context.0)));
        }
        let bit = 1 << context.0;
        let active = if on { self.contexts.active | bit } else { self.contexts.active & !bit };
        self.bar.write32(hpu::BASE + hpu::CTX_ACTIVE, active)?;
        self.contexts.active = active;
        Ok(())
    }

    pub(crate) fn deactivate_all(&mut self) -> Result<()> {
        self.contexts.active = 0;
        self.bar.write32(hpu::BASE + hpu::CTX_ACTIVE, 0)
    }

    /// Gives the memory of an inactive context back. The caller knows that it has drained: no task of it is under way.
    pub fn remove(&mut self, context: ContextId) -> Result<()> {
        self.deactivate(context)?;
        self.contexts.slots[context.0] = None;
        Ok(())
    }

    /// Bytes of the context's memory, as handlers have left them.
    pub fn read_state(&mut self, context: ContextId, offset: usize, bytes: &mut [u8]) -> Result<()> {
        let Some(Some(placement)) = self.contexts.slots.get(context.0) else {
            return Err(Error::Argument(format!("context {} is not installed", context.0)));
        };
        let (base, size) = placement.state;
        if !offset.is_multiple_of(4) || offset + bytes.len() > size {
            return Err(Error::Argument(format!(
                "bytes {offset} to {} are not in the {size} bytes of the context's memory, or not aligned to 4",
                offset + bytes.len()
            )));
        }
        self.bar.write32(hpu::BASE + hpu::L2_ADDR, (base + offset) as u32)?;
        for word in bytes.chunks_mut(4) {
            let value = self.bar.read32(hpu::BASE + hpu::L2_DATA)?.to_le_bytes();
            word.copy_from_slice(&value[..word.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_aligned_to_their_size_and_do_not_overlap() {
        let mut taken = Vec::new();
        for bytes in [276, 404, 100, 1000, 64, 3000] {
            let (base, size) = place("code", bytes, 32 << 10, taken.iter().copied()).unwrap();
            assert!(size >= bytes && base % size == 0 && base + size <= 32 << 10);
            assert!(taken.iter().all(|(start, length)| base + size <= *start || start + length <= base));
            taken.push((base, size));
        }
        let full = place("code", 20 << 10, 32 << 10, taken.iter().copied()).unwrap_err().to_string();
        assert!(full.contains("no room") && full.contains("32768 wanted"), "{full}");
        assert_eq!(place("state", 0, 0, std::iter::empty()).unwrap(), (0, 0));
    }
}
