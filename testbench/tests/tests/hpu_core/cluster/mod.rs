//! The blocks of a cluster, and the cluster as a whole.

pub mod combiner;
pub mod command_bench;
pub mod command_port;
pub mod host_arrivals;
pub mod instruction_memory;
pub mod l1;
pub mod l1_atomics;
pub mod l1_read_dma;
pub mod loader;
pub mod remote_router;
pub mod shapes;
pub mod slots;
pub mod task_page;
pub mod whole;
