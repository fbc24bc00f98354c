//! Vendor blocks: one table each.
