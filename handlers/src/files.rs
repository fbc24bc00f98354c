//! The handler SDK, carried along so that handlers and kernels compile wherever the program stands.

use std::io::Result;
use std::path::Path;

macro_rules! sdk_files { ($($path:literal)*) => {
    /// Files of the SDK, by their path in its folder.
    const SDK: &[(&str, &str)] = &[$(($path, include_str!(concat!("../", $path)))),*];
} }
sdk_files! {
    "include/spindle.h"
    "include/spin_base.h"
    "include/spin_atomic.h"
    "include/spin_buffers.h"
    "include/spin_commands.h"
    "include/spin_portals.h"
    "include/spin_printf.h"
    "include/spin_update.h"
    "include/generated/spindle_contract.h"
    "generated/memory.ld"
    "handler.ld"
    "bench/bench.h"
    "bench/bench.ld"
    "bench/start.c"
    "bench/coremark/core_portme.c"
    "bench/coremark/core_portme.h"
    "bench/embench/boardsupport.c"
    "lib/memory.c"
    "lib/portals.c"
    "lib/printf.c"
    "lib/pspin.c"
    "include/fpspin/handler.h"
    "include/fpspin/host_data.h"
    "include/fpspin/packets.h"
    "include/fpspin/pspin.h"
    "include/fpspin/pspin_rt.h"
    "include/fpspin/spin_host.h"
    "include/fpspin/util.h"
    "include/pspin/assert.h"
    "include/pspin/handler.h"
    "include/pspin/hpu.h"
    "include/pspin/packets.h"
    "include/pspin/pspin.h"
    "include/pspin/pspin_rt.h"
    "include/pspin/pspin_task.h"
    "include/pspin/spin_conf.h"
    "include/pspin/spin_dma.h"
    "include/pspin/stdio.h"
    "include/pspin/stdlib.h"
    "include/pspin/string.h"
    "include/pspin/util.h"
}

/// Writes the SDK into `folder`, in its own order of folders.
///
/// # Errors
/// A file cannot be written.
pub fn unpack(folder: &Path) -> Result<()> {
    for (name, text) in SDK {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("every file of the SDK has a folder"))?;
        std::fs::write(path, text)?;
    }
    Ok(())
}
