//! Versions of the outside tools, for reports.

use crate::tools::Tools;

/// Version of the Verilator that builds models; `None` if none is installed.
pub fn verilator_version() -> Option<String> {
    Tools::get().ok().map(|tools| tools.verilator_version.clone())
}
