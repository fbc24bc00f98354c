//! Initiator, reliable sender and responder.

pub mod icrc_inserter;
pub mod initiator;
pub mod packet_sums;
pub mod responder;
pub mod sender;
pub mod sender_alone;
