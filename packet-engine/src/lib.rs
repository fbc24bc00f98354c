//! Parser, header matcher, packet buffer, message table, payload scheduler, egress.

pub mod bundles;
pub mod dispatch;
pub mod ingress;
pub mod packet_engine;
pub mod registers;
pub mod schedule;
pub mod trace_points;
pub mod traffic;
pub mod transmit;

pub use packet_engine::PacketEngine;
