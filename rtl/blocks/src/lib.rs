//! Streams, FIFOs, RAMs, arbiters and the CSR block.
