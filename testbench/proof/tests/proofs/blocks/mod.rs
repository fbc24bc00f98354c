//! The blocks of `rtl/blocks`.

mod arbiter;
mod async_fifo;
mod csr;
mod words;
