//! The blocks of `rtl/blocks`.

mod arbiter;
mod async_fifo;
mod checksum;
mod csr;
mod words;
