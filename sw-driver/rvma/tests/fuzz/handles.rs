//! Handles that a program has: live ones with their owners, and those that are dead.

use spindle_fuzz::Source;

/// What a handle stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Network,
    Nic,
    Window,
    Context,
    Stock,
}

/// A live handle.
#[derive(Clone, Copy, Debug)]
pub struct Handle {
    pub kind: Kind,
    pub value: usize,
    /// The NIC that it ends with; 0 of a network.
    pub nic: usize,
    /// A window that was closed.
    pub closed: bool,
}

/// All handles so far.
#[derive(Default)]
pub struct Handles {
    live: Vec<Handle>,
    dead: Vec<usize>,
}

impl Handles {
    pub fn add(&mut self, kind: Kind, value: usize, nic: usize) {
        assert!(value != 0 && self.live.iter().all(|known| known.value != value) && !self.dead.contains(&value));
        self.live.push(Handle { kind, value, nic, closed: false });
    }

    /// The live handle of this value and kind.
    pub fn find(&mut self, kind: Kind, value: usize) -> Option<&mut Handle> {
        self.live.iter_mut().find(|known| known.kind == kind && known.value == value)
    }

    pub fn live(&self, kind: Kind, value: usize) -> bool {
        self.live.iter().any(|known| known.kind == kind && known.value == value)
    }

    /// Ends a handle, and all that end with it.
    pub fn remove(&mut self, kind: Kind, value: usize) {
        let gone = |known: &Handle| match kind {
            Kind::Network => true,
            Kind::Nic => known.value == value || known.nic == value,
            _ => known.value == value,
        };
        self.dead.extend(self.live.iter().filter(|known| gone(known)).map(|known| known.value));
        self.live.retain(|known| !gone(known));
    }

    /// A handle of a kind, most often a live one; or NULL, a dead one, one of another kind, or a value that was never one.
    pub fn pick(&self, kind: Kind, source: &mut Source) -> usize {
        let good: Vec<usize> = self.live.iter().filter(|known| known.kind == kind).map(|known| known.value).collect();
        let all: Vec<usize> = self.live.iter().map(|known| known.value).collect();
        match source.below(16) {
            0 => 0,
            1 if !self.dead.is_empty() => *source.pick(&self.dead),
            2 if !all.is_empty() => *source.pick(&all),
            3 => source.number() as usize,
            _ if !good.is_empty() => *source.pick(&good),
            _ => 0,
        }
    }
}
