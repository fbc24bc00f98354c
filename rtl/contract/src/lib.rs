//! Parameters, wire formats, descriptors, registers and memory map of Spindle: the single source.
#![no_std]
