//! All cycle-level tests of the emitted design, in one binary, so that the design is linked once. A folder is a part of the design.

mod array;
mod backend;
mod blocks;
mod cluster;
mod hart;
mod hpu;
mod nic;
mod packet_back;
mod packet_front;
mod rvma;
