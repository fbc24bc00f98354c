//! vfio-user: own client and server with each other and with those of the crate `vfio_user`, and with peers that break the protocol,
//! hang, die, or take their memory away.

#[macro_use(assert_eq)]
extern crate spindle_testing;

mod answers;
mod dummy;
mod fuzz;
mod hostile;
mod interop;
mod memory;
mod own;
mod plugin;
mod requests;

use dummy::{BYTES, DONE, FROM, GO, TO};
use spindle::Card;

/// Has the dummy card copy bytes; its result.
fn copy(card: &mut dyn Card, from: u64, to: u64, bytes: u32, vector: u32) -> u32 {
    for (register, value) in [(FROM, from), (TO, to)] {
        card.write32(register, value as u32).unwrap();
        card.write32(register + 4, (value >> 32) as u32).unwrap();
    }
    card.write32(BYTES, bytes).unwrap();
    card.write32(GO, vector).unwrap();
    card.read32(DONE).unwrap()
}

/// Fails unless a condition holds within a few seconds.
fn soon(what: &str, mut condition: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !condition() {
        assert!(begin.elapsed().as_secs() < 5, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
