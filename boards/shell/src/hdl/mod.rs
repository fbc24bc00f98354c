//! Blocks of the shell.
