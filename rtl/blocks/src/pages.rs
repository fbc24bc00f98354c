//! Register pages: the hardware that `spindle_contract::registers` declares.
//!
//! The owner of a page gives [`PacketPage`] and its kin the offset and the word of an access, a write pulse, and the
//! status. The page holds the control and stage registers, decodes the offset, and chooses the word. Commits, triggers,
//! pointers and windows are the owner's: `select` has a bit for each of them. When an access is answered is the owner's
//! as well.
use spindle_verilog::prelude::*;

spindle_contract::packet_page!();
spindle_contract::node_page!();
spindle_contract::hpu_page!();
spindle_contract::rvma_page!();
spindle_contract::shell_page!();
