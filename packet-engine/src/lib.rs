//! The packet engine: ingress, schedule, dispatch, transmit, in the order in which a packet passes.

pub mod bundles;
pub mod context_drops;
pub mod dispatch;
pub mod ingress;
pub mod packet_engine;
pub mod registers;
pub mod schedule;
pub mod trace_points;
pub mod traffic;
pub mod transmit;

pub use packet_engine::PacketEngine;
