//! Versions of the outside tools, for reports.

use crate::linked;
use crate::tools::Tools;

/// Version of the Verilator that makes models: that of the linked models, or of the one installed; `None` if there is neither.
pub fn verilator_version() -> Option<String> {
    let linked = linked::linked().first().map(|model| model.verilator.to_owned());
    linked.or_else(|| Tools::get().ok().map(|tools| tools.verilator_version.clone()))
}
