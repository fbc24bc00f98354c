//! Parser, header matcher, packet buffer, message table, payload scheduler, egress.
