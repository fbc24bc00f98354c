//! What an example did: the frames it answered, the host region, its memory.

use anyhow::{ensure, Context, Result};
use object::{Object, ObjectSymbol};
use spindle::{ContextId, HostMemory};
use spindle_cli::check::compare_bytes;
use spindle_cli::play::Played;
use spindle_cli::session::Session;
use spindle_contract::memory_map::{self as map, base};
use spindle_sdk::Handler;

/// Bytes of the host region.
pub const HOST_BYTES: usize = 1 << 16;
/// Scratchpads of an image, one for each cluster that its handlers see.
pub const SCRATCHPADS: u32 = 4;
/// Bytes of each.
pub const SCRATCHPAD_BYTES: u32 = 8192;

/// An example's run.
pub struct Ran {
    /// The NIC.
    pub session: Session,
    /// Contexts and their images.
    pub contexts: Vec<(ContextId, Handler)>,
    /// Frames that were played in.
    pub frames: Vec<Vec<u8>>,
    /// Their fates.
    pub played: Played,
    /// Address of the host region.
    pub host: u64,
}

/// What an example did.
pub struct Did {
    /// Bytes of host memory that it wrote.
    pub bytes_to_host: usize,
    /// In words.
    pub sentence: String,
}

/// The host region before the run.
pub fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 256 + 3) as u8).collect()
}

/// Address of a variable or of a symbol of the link script.
pub fn data_symbol(elf: &[u8], name: &str) -> Result<Option<u32>> {
    let file = object::File::parse(elf).context("the image cannot be read")?;
    let mut symbols = file.symbols().filter(|symbol| symbol.name() == Ok(name));
    Ok(symbols.next().map(|symbol| symbol.address() as u32))
}

/// Sets a variable of a handler that has not been installed.
pub fn set_variable(handler: &mut Handler, name: &str, bytes: &[u8]) -> Result<()> {
    let address = data_symbol(&handler.elf, name)?.with_context(|| format!("the image has no variable `{name}`"))?;
    let at = (address - base(map::CONTEXT)) as usize;
    handler.image.state[at..at + bytes.len()].copy_from_slice(bytes);
    Ok(())
}

impl Ran {
    /// Every frame came to its end, and no handler by a fault.
    pub fn sound(&mut self) -> Result<()> {
        if let Some(fault) = self.session.device.pop_fault()? {
            let symbol = self.contexts[fault.context.0].1.image.symbol(fault.pc);
            anyhow::bail!("{} in {symbol:x?}, address {:#010x}", fault.cause_text().0, fault.address);
        }
        ensure!(self.played.drained, "{} packets were still inside", self.played.stats.inside());
        let handled = self.played.stats.frames_handled as usize;
        ensure!(handled == self.frames.len(), "{handled} of {} packets were handled", self.frames.len());
        Ok(())
    }

    /// Address of a scratchpad of a context, as its handlers see it.
    pub fn scratchpad_address(&self, context: usize, cluster: u32) -> Result<u32> {
        let start = data_symbol(&self.contexts[context].1.elf, "scratchpads")?;
        Ok(start.context("the image has no scratchpads")? + cluster * SCRATCHPAD_BYTES)
    }

    /// Words at the start of a scratchpad.
    pub fn scratchpad(&mut self, context: usize, cluster: u32, words: usize) -> Result<Vec<u32>> {
        let address = self.scratchpad_address(context, cluster)?;
        self.words(context, address, words)
    }

    /// Words of a variable of the first context.
    #[cfg(test)]
    pub fn variable(&mut self, name: &str, words: usize) -> Result<Vec<u32>> {
        let address = data_symbol(&self.contexts[0].1.elf, name)?.context("there is no such variable")?;
        self.words(0, address, words)
    }

    fn words(&mut self, context: usize, address: u32, words: usize) -> Result<Vec<u32>> {
        let mut bytes = vec![0; 4 * words];
        let offset = (address - base(map::CONTEXT)) as usize;
        self.session.device.read_state(self.contexts[context].0, offset, &mut bytes)?;
        Ok(little_endian(&bytes))
    }

    /// The host region has these pieces, each at its offset, over what it had before; gives their bytes.
    pub fn host_has(&mut self, pieces: impl IntoIterator<Item = (usize, Vec<u8>)>) -> Result<usize> {
        let mut wanted = pattern(HOST_BYTES);
        let mut written = 0;
        for (offset, piece) in pieces {
            wanted[offset..offset + piece.len()].copy_from_slice(&piece);
            written += piece.len();
        }
        let mut region = vec![0; HOST_BYTES];
        self.session.device.memory.read(self.host, &mut region)?;
        compare_bytes("the host region", &wanted, &region)?;
        Ok(written)
    }

    /// Each frame was answered by these, in order.
    pub fn answered(&self, answers: impl Fn(&[u8]) -> Vec<Vec<u8>>) -> Result<()> {
        for (index, frame) in self.frames.iter().enumerate() {
            let replies: Vec<_> = self.played.replies.iter().filter(|reply| reply.cause == Some(index)).collect();
            let wanted = answers(frame);
            ensure!(
                replies.len() == wanted.len(),
                "frame {index} got {} answers instead of {}",
                replies.len(),
                wanted.len()
            );
            for (reply, wanted) in replies.iter().zip(&wanted) {
                compare_bytes(&format!("an answer to frame {index}"), wanted, &reply.frame.bytes)?;
            }
        }
        Ok(())
    }

    /// Frames and their numbers, which are those of their messages.
    pub fn numbered(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.played.numbers.iter().map(|number| u32::from(*number)).zip(self.frames.iter().map(Vec::as_slice))
    }
}

/// Words of four bytes.
pub fn little_endian(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}
