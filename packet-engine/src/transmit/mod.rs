//! Frames that leave: puts and their retransmission, answers to peers, frames of handlers.

pub mod egress;
pub mod icrc_inserter;
pub mod initiator;
pub mod responder;
pub mod sender;
