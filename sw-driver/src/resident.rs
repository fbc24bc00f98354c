//! Residents: contexts and rules that outlive the program that loaded them.
//!
//! A card keeps its contexts and rules until it is reset, but its registers do not give them back. So programs that come
//! and go, such as the `spindle` command, keep a list of both in the card itself: in the last bytes of L2, which
//! contexts then cannot have. The register SCRATCH holds the checksum of the list. It is 0 after a reset and while the
//! list changes, so a list that is not valid is never believed. Whoever attaches to the card finds the list, from
//! whatever machine, user or guest.
//!
//! [`Device::open`] begins with a card of its own: it voids the list.

use crate::context::Placement;
use crate::{Bar, ContextId, ContextOptions, Device, Error, HostMemory, Image, Result};
use spindle_contract::registers::{global, hpu};

mod list;
mod rule;

pub use rule::{Effect, ResidentRule};

/// Most bytes of the list; of a small L2, a sixteenth.
const MOST_BYTES: usize = 4096;

/// A context that outlives its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Its number.
    pub context: ContextId,
    /// Name by which it was loaded.
    pub name: String,
    /// Process whose event ring gets its events.
    pub process: u8,
    placement: Placement,
}

impl Resident {
    /// Bytes of its code, its variables and its scratchpad, as set aside.
    pub fn bytes(&self) -> [usize; 3] {
        [self.placement.code.1, self.placement.state.1, self.placement.scratch.1]
    }
}

/// What the list of a card has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Residents {
    contexts: Vec<Resident>,
    rules: Vec<ResidentRule>,
    /// Bit c: context c is active, and the list does not have it.
    strangers: u32,
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Contexts that outlive their programs.
    pub fn residents(&self) -> &[Resident] {
        &self.residents.contexts
    }

    /// Rules that outlive their programs; the first that matches a frame decides.
    pub fn resident_rules(&self) -> &[ResidentRule] {
        &self.residents.rules
    }

    /// Active contexts that no list has: a program has loaded them for itself.
    pub fn strangers(&self) -> Vec<ContextId> {
        (0..self.info.contexts).filter(|c| self.residents.strangers >> c & 1 == 1).map(ContextId).collect()
    }

    /// Installs and activates an image as a resident, with rules of these texts and effects for it. Rules of other
    /// residents come first. For a device of [`Device::attach`].
    ///
    /// # Errors
    /// The card is in use by contexts that are no residents; the image, a rule or the list has no room. The card then
    /// is as it was.
    pub fn load_resident(
        &mut self,
        name: &str,
        image: &Image,
        options: &ContextOptions,
        rules: impl FnOnce(ContextId) -> Vec<ResidentRule>,
    ) -> Result<ContextId> {
        self.refuse_strangers()?;
        let context = self.install(image, options)?;
        let before = self.residents.clone();
        let placement = self.contexts.slots[context.0].expect("the context has just been installed");
        self.residents.contexts.push(Resident { context, name: name.into(), process: options.process, placement });
        self.residents.rules.extend(rules(context));
        // Active before its rules: a frame that matches finds the context.
        let done = self.activate(context).and_then(|()| self.install_residents());
        if let Err(error) = done {
            self.residents = before;
            self.deactivate(context)?;
            self.contexts.slots[context.0] = None;
            self.write_residents()?;
            return Err(error);
        }
        Ok(context)
    }

    /// Takes the rules of a resident out and stops it from accepting packets. What it has accepted is still handled;
    /// then [`Device::remove_resident`] gives its memory back.
    ///
    /// # Errors
    /// There is no such resident.
    pub fn stop_resident(&mut self, context: ContextId) -> Result<()> {
        if !self.residents.contexts.iter().any(|resident| resident.context == context) {
            return Err(Error::Argument(format!(
                "context {} is not loaded; `spindle info` lists the contexts of the card",
                context.0
            )));
        }
        self.residents.rules.retain(|rule| rule.effect.context() != Some(context));
        self.install_residents()?;
        self.deactivate(context)
    }

    /// Removes a resident that was stopped, and has drained.
    ///
    /// # Errors
    /// As [`Device::remove`].
    pub fn remove_resident(&mut self, context: ContextId) -> Result<()> {
        self.remove(context)?;
        self.residents.contexts.retain(|resident| resident.context != context);
        self.write_residents()
    }

    /// Adds a rule that outlives the program, after the others; nothing if the list has it.
    ///
    /// # Errors
    /// As [`Device::load_resident`].
    pub fn add_resident_rule(&mut self, rule: ResidentRule) -> Result<()> {
        if self.residents.rules.contains(&rule) {
            return Ok(());
        }
        self.change_resident_rules(|rules| rules.push(rule))
    }

    /// Adds rules that outlive the program, in their order, before the others. Those that the list has move there.
    ///
    /// # Errors
    /// As [`Device::load_resident`].
    pub fn put_resident_rules_first(&mut self, first: &[ResidentRule]) -> Result<()> {
        self.change_resident_rules(|rules| {
            rules.retain(|rule| !first.contains(rule));
            rules.splice(0..0, first.iter().cloned());
        })
    }

    /// Removes these rules; those that the list does not have are none.
    ///
    /// # Errors
    /// As [`Device::load_resident`].
    pub fn remove_resident_rules(&mut self, gone: &[ResidentRule]) -> Result<()> {
        self.change_resident_rules(|rules| rules.retain(|rule| !gone.contains(rule)))
    }

    fn change_resident_rules(&mut self, change: impl FnOnce(&mut Vec<ResidentRule>)) -> Result<()> {
        self.refuse_strangers()?;
        let before = self.residents.rules.clone();
        change(&mut self.residents.rules);
        let done = self.install_residents();
        if done.is_err() {
            self.residents.rules = before;
            self.write_residents()?;
        }
        done
    }

    fn refuse_strangers(&self) -> Result<()> {
        match self.strangers()[..] {
            [] => Ok(()),
            ref strangers => {
                let numbers: Vec<_> = strangers.iter().map(|context| context.0.to_string()).collect();
                Err(Error::Argument(format!(
                    "a program has loaded contexts {} of this card for itself, and its rules are not known; end it and \
                     reset the card",
                    numbers.join(", ")
                )))
            }
        }
    }

    /// Writes the rules of the list into the card, and the list.
    fn install_residents(&mut self) -> Result<()> {
        let parsed = self.residents.rules.iter().map(ResidentRule::parsed).collect::<Result<Vec<_>>>()?;
        // Before the rules: a list without room changes nothing.
        self.write_residents()?;
        self.replace_rules(parsed.iter().map(|(rule, action)| (rule, *action)))
    }

    /// The bytes of L2 that the list has: the last ones.
    fn list_place(&self) -> (usize, usize) {
        let bytes = (self.info.l2_bytes / 16).min(MOST_BYTES);
        (self.info.l2_bytes - bytes, bytes)
    }

    /// Writes the list; it is not valid meanwhile.
    fn write_residents(&mut self) -> Result<()> {
        let (base, room) = self.list_place();
        let text = list::text(&self.residents);
        if 4 + text.len() > room {
            return Err(Error::Full {
                what: "the list of its contexts and rules",
                wanted: 4 + text.len(),
                free: room,
                cure: "unload a context, or use fewer or shorter rules",
            });
        }
        let bytes = [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
        self.forget_residents()?;
        self.load(hpu::L2_ADDR, hpu::L2_DATA, base, &bytes)?;
        self.bar.write32(global::BASE + global::SCRATCH, list::checksum(text.as_bytes()))
    }

    /// Voids the list.
    pub(crate) fn forget_residents(&mut self) -> Result<()> {
        self.bar.write32(global::BASE + global::SCRATCH, 0)
    }

    /// Learns the residents from the list.
    pub(crate) fn read_residents(&mut self) -> Result<()> {
        let (base, room) = self.list_place();
        self.contexts.l2_bytes = base;
        self.contexts.active = self.bar.read32(hpu::BASE + hpu::CTX_ACTIVE)?;
        self.residents = match self.bar.read32(global::BASE + global::SCRATCH)? {
            0 => Residents::default(),
            checksum => self.read_list(base, room, checksum)?.unwrap_or_default(),
        };
        let mut listed = 0;
        for resident in &self.residents.contexts {
            listed |= 1 << resident.context.0;
            self.contexts.slots[resident.context.0] = Some(resident.placement);
        }
        self.residents.strangers = self.contexts.active & !listed;
        Ok(())
    }

    fn read_list(&mut self, base: usize, room: usize, checksum: u32) -> Result<Option<Residents>> {
        self.bar.write32(hpu::BASE + hpu::L2_ADDR, base as u32)?;
        let length = self.bar.read32(hpu::BASE + hpu::L2_DATA)? as usize;
        if length > room - 4 {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        for _ in 0..length.div_ceil(4) {
            bytes.extend(self.bar.read32(hpu::BASE + hpu::L2_DATA)?.to_le_bytes());
        }
        bytes.truncate(length);
        if list::checksum(&bytes) != checksum {
            return Ok(None);
        }
        let list = list::parse(&String::from_utf8_lossy(&bytes), self.info.contexts);
        Ok(list.filter(|list| list.contexts.iter().all(|resident| self.contexts.has(&resident.placement))))
    }
}
