//! Names the program by its version and a digest of what it is made of: results of another program are another's.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Files and folders of this package that decide the results.
const INPUTS: [&str; 4] = ["src", "shim", "handlers", "calibration.json"];

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut digest = Fnv::default();
    for input in INPUTS {
        println!("cargo:rerun-if-changed={input}");
        add(&package.join(input), &mut digest)?;
    }
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    println!("cargo:rustc-env=SPINDLE_NETWORK_VERSION={version}+{:016x}", digest.0);
    Ok(())
}

/// The files of a folder, in the order of their names.
fn add(path: &Path, digest: &mut Fnv) -> io::Result<()> {
    if path.is_file() {
        digest.add(path.file_name().unwrap_or_default().as_encoded_bytes());
        digest.add(&fs::read(path)?);
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    entries.sort();
    entries.iter().try_for_each(|entry| add(entry, digest))
}

/// FNV-1a with 64 bits, and the length of each part.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, bytes: &[u8]) {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
