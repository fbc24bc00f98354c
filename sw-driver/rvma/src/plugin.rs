//! Simulated cards of `librvma-sim.so`: beside this library, or where the dynamic linker finds libraries.

use anyhow::Result;
use libloading::{Library, Symbol};
use spindle::plugin::{PluginCard, Table, ENTRY};
use spindle::Error;
use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::OnceLock;

/// File name of the library.
const LIBRARY: &str = "librvma-sim.so";

/// Opens a card of the library.
///
/// # Errors
/// The library is not installed, or refuses the address.
pub fn open(address: &str, node: u32) -> Result<PluginCard> {
    static LOADED: OnceLock<std::result::Result<Library, String>> = OnceLock::new();
    let library = LOADED.get_or_init(load).as_ref().map_err(|why| {
        Error::Plugin(format!(
            "{address} needs {LIBRARY}, which is not installed ({why}); install it beside librvma.so with \
             `cargo xtask install`, or use a served card: `spindle serve`, then its address unix:PATH"
        ))
    })?;
    // SAFETY: the name belongs to a function of this type (`spindle::plugin`).
    let entry: Symbol<extern "C" fn() -> *const Table> = unsafe { library.get(ENTRY.as_bytes()) }
        .map_err(|why| Error::Plugin(format!("{LIBRARY} is no library of cards ({why}); install it again")))?;
    // SAFETY: the table is of that function, and the library is never unloaded.
    Ok(unsafe { PluginCard::open(entry(), address, node) }?)
}

fn load() -> std::result::Result<Library, String> {
    let beside = folder().map(|folder| folder.join(LIBRARY)).filter(|path| path.exists());
    let path = beside.unwrap_or_else(|| PathBuf::from(LIBRARY));
    // SAFETY: the library's constructors do nothing but what Rust's runtime does.
    unsafe { Library::new(path) }.map_err(|error| error.to_string())
}

/// The folder of this library.
fn folder() -> Option<PathBuf> {
    // SAFETY: an empty `Dl_info` is valid, and `dladdr` fills it.
    let name = unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(folder as *const () as *const _, &mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    Some(PathBuf::from(name.to_str().ok()?).parent()?.to_path_buf())
}
