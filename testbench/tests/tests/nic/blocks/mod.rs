//! The blocks of `rtl/nic/src`, each alone.

mod host_gate;
mod interrupts;
mod reset_control;
