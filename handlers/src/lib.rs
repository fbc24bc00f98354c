//! The handler SDK: its C files, the handlers that come with it, and how C becomes an image.
//!
//! | module | content |
//! |---|---|
//! | [`files`] | headers, linker scripts and libraries, carried in the program |
//! | [`handler`] | shipped handlers; [`load`] reads an image or compiles sources |
//! | [`toolchain`] | GCC or Clang for RISC-V |
//! | [`sections`], [`stack`] | bytes of an image, and the stack that its handlers need |

pub mod files;
pub mod handler;
pub mod sections;
pub mod stack;
pub mod toolchain;
pub mod variables;

pub use handler::{compile, load, Handler, Shipped, SHIPPED};
pub use sections::Sections;
pub use stack::{warn_of_stack, Code, HandlerStack};
pub use toolchain::{Family, Sources, Toolchain};
