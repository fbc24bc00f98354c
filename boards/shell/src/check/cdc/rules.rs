//! What a netlist does not say: clocks of ports, clocks with common edges, and buses that cross without a synchroniser of
//! their own.

use crate::check::boxes::Boxes;

/// A bus that crosses because a synchroniser says when it stands still: the words of a FIFO, a value with a handshake.
///
/// The three names are patterns of the ends of names; what stands before them is the same instance. So `words`, `head`,
/// `written.near` mean, of each FIFO, its own memory, its own output and its own pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Registers or memory that send.
    pub from: String,
    /// Registers that receive.
    pub to: String,
    /// First register of the synchroniser that guards the bus; it crosses between the same clocks in the same direction.
    pub guard: String,
    /// Why that is safe.
    pub reason: String,
}

/// Bits of one register that may be seen in different cycles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Independent {
    /// Pattern of the first registers of the synchroniser.
    pub to: String,
    /// Why the bits may come apart.
    pub reason: String,
}

/// A signal that never changes while its receiver works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Pattern of what sends: a register, a port or a pin.
    pub from: String,
    /// Pattern of what receives.
    pub to: String,
    /// Why it stands still.
    pub reason: String,
}

/// The clock of a port of the top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortClock {
    /// Pattern of the port's name.
    pub port: String,
    /// Its clock: a port that is a clock; none: asynchronous.
    pub clock: Option<String>,
}

/// The rules of a design. Ports without an entry belong to the one clock that reads them.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Clocks of ports; the first entry that fits counts.
    pub ports: Vec<PortClock>,
    /// Pins of black boxes.
    pub boxes: Boxes,
    /// Pairs of clocks from one source, whose paths the timing analysis bounds.
    pub related: Vec<(String, String)>,
    /// Buses with a guard.
    pub held: Vec<Held>,
    /// Buses of independent bits.
    pub independent: Vec<Independent>,
    /// Signals that do not change.
    pub constant: Vec<Constant>,
}

impl Rules {
    /// Adds a guarded bus.
    #[must_use]
    pub fn held(mut self, from: &str, to: &str, guard: &str, reason: &str) -> Self {
        let [from, to, guard, reason] = [from, to, guard, reason].map(str::to_owned);
        self.held.push(Held { from, to, guard, reason });
        self
    }

    /// Adds a bus of independent bits.
    #[must_use]
    pub fn independent(mut self, to: &str, reason: &str) -> Self {
        self.independent.push(Independent { to: to.to_owned(), reason: reason.to_owned() });
        self
    }

    /// Adds a signal that does not change.
    #[must_use]
    pub fn constant(mut self, from: &str, to: &str, reason: &str) -> Self {
        let [from, to, reason] = [from, to, reason].map(str::to_owned);
        self.constant.push(Constant { from, to, reason });
        self
    }

    /// Adds the clock of ports; `clock` empty: asynchronous.
    #[must_use]
    pub fn port(mut self, port: &str, clock: &str) -> Self {
        let clock = (!clock.is_empty()).then(|| clock.to_owned());
        self.ports.push(PortClock { port: port.to_owned(), clock });
        self
    }

    /// Adds a pair of clocks with common edges.
    #[must_use]
    pub fn related(mut self, one: &str, other: &str) -> Self {
        self.related.push((one.to_owned(), other.to_owned()));
        self
    }
}
