//! RV32 handler processor, cluster and array.
