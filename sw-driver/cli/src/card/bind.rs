//! `spindle bind`: which driver of the kernel a card has. The command needs root, and no access to the card.

use anyhow::Result;
use clap::Args;
use spindle::transport::pci::{Function, VFIO_PCI};
use std::io::Write;
use std::path::Path;

/// A function and what becomes of it.
#[derive(Args, Clone, Debug)]
pub struct Arguments {
    /// Address of the PCI function, such as 0000:65:00.0, if it is not the card of `--card`.
    #[arg(value_name = "FUNCTION")]
    function: Option<String>,
    /// Take the function from its driver instead; then `sysfs:FUNCTION` is the card.
    #[arg(long)]
    release: bool,
}

/// Binds a function to vfio-pci, or takes it from its driver. `root` is the folder of `sys`; `chosen` gives the address of a
/// card without argument.
///
/// # Errors
/// There is no such function, the system refuses, or the driver does not take it.
pub fn run(
    arguments: &Arguments,
    root: &Path,
    chosen: impl FnOnce() -> Result<String>,
    out: &mut dyn Write,
) -> Result<()> {
    let address = arguments.function.clone().map_or_else(chosen, Ok)?;
    let address = address.strip_prefix("sysfs:").unwrap_or(&address);
    let function = Function::find(root, address)?;
    if arguments.release {
        function.release()?;
        writeln!(out, "{address} has no driver; open it as sysfs:{address}")?;
    } else {
        function.bind(VFIO_PCI)?;
        let group = function.group().map_or("no IOMMU group".into(), |group| format!("IOMMU group {group}"));
        writeln!(out, "{address} is bound to {VFIO_PCI}, {group}; open it as {address}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(release: bool) -> (Result<()>, String, String) {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("sys/bus/pci/devices/0000:65:00.0");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::create_dir_all(root.path().join("sys/bus/pci/drivers/vfio-pci")).unwrap();
        std::fs::write(folder.join("driver_override"), "").unwrap();
        if !release {
            std::os::unix::fs::symlink("../../drivers/vfio-pci", folder.join("driver")).unwrap();
        }
        let mut out = Vec::new();
        let arguments = Arguments { function: None, release };
        let result = run(&arguments, root.path(), || Ok("sysfs:0000:65:00.0".into()), &mut out);
        let left = std::fs::read_to_string(folder.join("driver_override")).unwrap();
        (result, String::from_utf8(out).unwrap(), left)
    }

    #[test]
    fn the_card_that_is_chosen_is_bound_or_released() {
        let (result, out, _) = bound(false);
        result.unwrap();
        assert_eq!(out, "0000:65:00.0 is bound to vfio-pci, no IOMMU group; open it as 0000:65:00.0\n");
        let (result, out, left) = bound(true);
        result.unwrap();
        assert_eq!(
            (out.as_str(), left.as_str()),
            ("0000:65:00.0 has no driver; open it as sysfs:0000:65:00.0\n", "\n")
        );
    }

    #[test]
    fn an_address_of_no_function_is_an_error() {
        let arguments = Arguments { function: Some("unix:/x".into()), release: false };
        let error = run(&arguments, Path::new("/nonexistent"), || unreachable!(), &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("is no address of a PCI function"), "{error}");
    }
}
