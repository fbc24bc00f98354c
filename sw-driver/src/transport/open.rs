//! A card by its address.

use super::pci::is_address;
use super::sysfs::SysfsCard;
use super::vfio::VfioCard;
use super::vfio_user::UserCard;
use crate::{Error, Result, SharedCard};
use std::path::Path;

/// The forms of an address, as a sentence's end.
pub const FORMS: &str =
    "0000:65:00.0 (a card that is bound to vfio-pci), sysfs:0000:65:00.0 (one without a driver, for root), \
     unix:/run/nic0.sock (a served card, or spindled's)";

/// Opens the card at an address.
///
/// | address | card |
/// |---|---|
/// | `0000:65:00.0` | through the kernel's VFIO |
/// | `sysfs:0000:65:00.0` | through sysfs, without IOMMU and interrupts |
/// | `unix:/run/nic0.sock` | of another program, over vfio-user |
///
/// # Errors
/// The address has none of these forms, or what the transport says of its card. `sim:` addresses are simulated cards in the program:
/// programs with the feature `sim` open them before they call this function.
pub fn open(address: &str) -> Result<SharedCard> {
    match address.split_once(':') {
        Some(("unix", path)) if !path.is_empty() => Ok(SharedCard::new(UserCard::open(Path::new(path))?)),
        Some(("sysfs", address)) => Ok(SharedCard::new(SysfsCard::open(address)?)),
        Some(("sim", _)) => Err(Error::Argument(format!(
            "`{address}` is a simulated card, and this program was built without the feature `sim`; \
             serve it with `spindle serve` and open unix:PATH"
        ))),
        _ if is_address(address) => Ok(SharedCard::new(VfioCard::open(address)?)),
        _ => Err(Error::Argument(format!("`{address}` is no address of a card; give one such as {FORMS}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_no_form_gets_the_forms() {
        for address in ["", "eth0", "unix:", "65:00", "tcp:1.2.3.4", "sysfs:65:00"] {
            let error = open(address).unwrap_err().to_string();
            let form = if address.starts_with("sysfs") { "0000:65:00.0" } else { "unix:/run/nic0.sock" };
            assert!(error.contains(form) && error.contains(address.trim_start_matches("sysfs:")), "{error}");
        }
        let error = open("sim:small").unwrap_err().to_string();
        assert!(error.contains("feature `sim`"), "{error}");
        let error = open("unix:/nonexistent/nic0.sock").unwrap_err().to_string();
        assert!(error.contains("start `spindle serve`"), "{error}");
    }

    #[test]
    fn an_address_of_a_pci_function_goes_to_its_transport() {
        for address in ["ffff:ff:1f.7", "sysfs:ffff:ff:1f.7"] {
            let error = open(address).unwrap_err().to_string();
            assert!(error.contains("ffff:ff:1f.7: no PCI function has this address"), "{error}");
        }
    }
}
