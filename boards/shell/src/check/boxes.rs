//! What the checks know of black boxes: the clock of each pin.

use std::collections::BTreeMap;

/// What a pin of a black box is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pin {
    /// A clock: into the box, or made by it.
    Clock,
    /// Follows this input: a buffer. A clock after it is the same clock.
    Through(String),
    /// A clock that is divided from this input: its edges are edges of the other.
    Divided(String),
    /// Of the clock at this pin of the box, registered there.
    Of(String),
    /// Without a clock: a constant, or asynchronous.
    Free,
}

/// A black box: what its pins are, and what those are that are not named.
#[derive(Clone, Debug)]
struct Known {
    pins: BTreeMap<String, Pin>,
    others: Pin,
}

/// Black boxes by the name of their module, each with its pins.
#[derive(Clone, Debug, Default)]
pub struct Boxes(BTreeMap<String, Known>);

/// Buffers of the device: module, output, input.
const BUFFERS: &[(&str, &str, &str)] = &[
    ("BUFG", "O", "I"),
    ("BUFG_GT", "O", "I"),
    ("IBUF", "O", "I"),
    ("IBUFDS", "O", "I"),
    ("IBUFDS_GTE2", "O", "I"),
    ("IBUFDS_GTE4", "O", "I"),
    ("OBUF", "O", "I"),
    ("IOBUF", "O", "IO"),
];

impl Boxes {
    /// The buffers and dividers of the devices.
    pub fn primitives() -> Self {
        let mut boxes = Self::default();
        for (module, output, input) in BUFFERS {
            boxes.add(module, [((*output).to_owned(), Pin::Through((*input).to_owned()))]);
        }
        for module in ["IBUFDS_GTE2", "IBUFDS_GTE4"] {
            boxes.add(module, [("ODIV2".to_owned(), Pin::Through("I".to_owned()))]);
        }
        for output in ["CLKFBOUT", "CLKOUT0"] {
            boxes.add("MMCME2_BASE", [(output.to_owned(), Pin::Divided("CLKIN1".to_owned()))]);
        }
        boxes.add("BUFGCE_DIV", [("O".to_owned(), Pin::Divided("I".to_owned()))]);
        boxes
    }

    /// Adds pins of a module; its other pins have no clock.
    pub fn add(&mut self, module: &str, pins: impl IntoIterator<Item = (String, Pin)>) {
        let known = Known { pins: BTreeMap::new(), others: Pin::Free };
        self.0.entry(module.to_owned()).or_insert(known).pins.extend(pins);
    }

    /// Adds a module with one clock, at this pin: all other pins are of it.
    pub fn add_synchronous(&mut self, module: &str, clock: &str) {
        let pins = [(clock.to_owned(), Pin::Clock)].into();
        self.0.insert(module.to_owned(), Known { pins, others: Pin::Of(clock.to_owned()) });
    }

    /// Whether the module is known.
    pub fn has(&self, module: &str) -> bool {
        self.0.contains_key(module)
    }

    /// A pin; one of an unknown module has no clock.
    pub fn pin(&self, module: &str, pin: &str) -> Pin {
        let Some(known) = self.0.get(module) else { return Pin::Free };
        known.pins.get(pin).unwrap_or(&known.others).clone()
    }
}
