//! Bodies described with rust-hdl's own `#[hdl_gen]`.

use crate::build::Body;
use crate::error::{EmitError, Result};
use rust_hdl_core::ast::VerilogBlock;

/// Lowers rust-hdl's syntax tree.
pub(crate) fn lower(_block: &VerilogBlock, body: Body) -> Result<Body> {
    Err(EmitError::new(&body.file, 0, "this block uses #[hdl_gen]; describe it with #[hdl]"))
}
