//! The blocks that the clusters share.

pub mod completions;
pub mod context_counts;
pub mod dispatcher;
pub mod dma_router;
pub mod end_order;
pub mod host_writer;
pub mod l2;
pub mod l2_copy;
pub mod load_router;
pub mod off_cluster_unit;
pub mod reports;
pub mod rr_arbiter4;
pub mod shapes;
pub mod tally;
