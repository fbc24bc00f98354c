//! The `#[hdl]` attribute.
