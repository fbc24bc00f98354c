//! Which card a command is for.

use anyhow::{bail, Result};
use spindle::transport::pci::is_address;
use spindle_contract::pci;
use std::path::{Path, PathBuf};

/// Variable that names the card.
pub const VARIABLE: &str = "SPINDLE_CARD";
/// How an address is written.
const FORMS: &str = "0000:65:00.0 (VFIO), sysfs:0000:65:00.0, unix:/run/spindle/nic0.sock (a served card)";

/// Socket of spindled: the card for its administrator.
pub const ADMINISTRATOR: &str = "admin.sock";
/// Socket of spindled: requests in JSON.
const REQUESTS: &str = "control.sock";

/// Whether a socket of spindled has this name that gives a share of the card: the next one, or that of a process.
pub fn is_share(name: &str) -> bool {
    let process = name.strip_prefix("process").and_then(|rest| rest.strip_suffix(".sock"));
    name == "card.sock" || process.is_some_and(|number| number.parse::<u8>().is_ok())
}

/// Folders in which cards are found.
pub struct Places {
    /// PCI functions of the machine.
    pub functions: PathBuf,
    /// Sockets of served cards.
    pub sockets: PathBuf,
}

impl Default for Places {
    fn default() -> Self {
        Places { functions: "/sys/bus/pci/devices".into(), sockets: "/run/spindle".into() }
    }
}

impl Places {
    /// Addresses of the cards that are there, PCI functions first.
    pub fn cards(&self) -> Vec<String> {
        let mut functions: Vec<String> =
            names(&self.functions).into_iter().filter(|name| is_address(name) && self.is_ours(name)).collect();
        functions.sort();
        let names_of_sockets = names(&self.sockets);
        let has_daemon = names_of_sockets.iter().any(|name| name == ADMINISTRATOR);
        let mut sockets: Vec<String> = names_of_sockets
            .into_iter()
            .filter(|name| name.ends_with(".sock") && name != REQUESTS && !(has_daemon && is_share(name)))
            .map(|name| format!("unix:{}", self.sockets.join(name).display()))
            .collect();
        sockets.sort();
        functions.extend(sockets);
        functions
    }

    fn is_ours(&self, function: &str) -> bool {
        let id = |file: &str| {
            let text = std::fs::read_to_string(self.functions.join(function).join(file)).unwrap_or_default();
            u16::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
        };
        (id("vendor"), id("device")) == (Some(pci::VENDOR), Some(pci::DEVICE))
    }

    /// The address that was given, else that of SPINDLE_CARD, else that of the only card.
    ///
    /// # Errors
    /// No card is named, and there is none, or there are several.
    pub fn choose(&self, given: Option<&str>, variable: Option<&str>) -> Result<String> {
        if let Some(address) = given.or(variable.filter(|address| !address.is_empty())) {
            return Ok(address.to_owned());
        }
        match &self.cards()[..] {
            [only] => Ok(only.clone()),
            [] => bail!(
                "there is no card: no PCI function {:04x}:{:04x}, and no served card in {}; name one by --card or \
                 {VARIABLE}: {FORMS}",
                pci::VENDOR,
                pci::DEVICE,
                self.sockets.display()
            ),
            several => bail!("there are several cards; choose one by --card or {VARIABLE}: {}", several.join(", ")),
        }
    }
}

/// Names of the entries of a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(functions: &[(&str, &str, &str)], sockets: &[&str]) -> (tempfile::TempDir, Places) {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { functions: folder.path().join("pci"), sockets: folder.path().join("run") };
        for (name, vendor, device) in functions {
            let path = places.functions.join(name);
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("vendor"), format!("{vendor}\n")).unwrap();
            std::fs::write(path.join("device"), format!("{device}\n")).unwrap();
        }
        std::fs::create_dir_all(&places.sockets).unwrap();
        for name in sockets {
            std::fs::write(places.sockets.join(name), "").unwrap();
        }
        (folder, places)
    }

    const CARD: (&str, &str, &str) = ("0000:65:00.0", "0x1af4", "0x10f0");
    const DISK: (&str, &str, &str) = ("0000:01:00.0", "0x1af4", "0x1001");

    #[test]
    fn the_option_comes_before_the_variable_and_both_before_the_only_card() {
        let (_folder, places) = machine(&[CARD, DISK], &["nic0.pid"]);
        assert_eq!(places.choose(Some("a"), Some("b")).unwrap(), "a");
        assert_eq!(places.choose(None, Some("b")).unwrap(), "b");
        assert_eq!(places.choose(None, Some("")).unwrap(), "0000:65:00.0");
        assert_eq!(places.choose(None, None).unwrap(), "0000:65:00.0");
    }

    #[test]
    fn several_cards_are_listed() {
        let (folder, places) = machine(&[CARD, DISK], &["nic1.sock", "nic0.sock"]);
        let error = places.choose(None, None).unwrap_err().to_string();
        let run = folder.path().join("run");
        let list = format!("0000:65:00.0, unix:{0}/nic0.sock, unix:{0}/nic1.sock", run.display());
        assert!(error.contains("several cards") && error.ends_with(&list), "{error}");
    }

    #[test]
    fn a_card_of_spindled_is_one_card() {
        let (folder, places) = machine(&[], &["card.sock", "admin.sock", "control.sock", "process1.sock"]);
        let administrator = format!("unix:{}", folder.path().join("run/admin.sock").display());
        assert_eq!(places.choose(None, None).unwrap(), administrator);
    }

    #[test]
    fn without_a_card_the_sentence_says_how_to_name_one() {
        let (_folder, places) = machine(&[DISK], &[]);
        let error = places.choose(None, None).unwrap_err().to_string();
        assert!(error.contains("no PCI function 1af4:10f0") && error.contains("unix:"), "{error}");
        let nowhere = Places { functions: "/nowhere".into(), sockets: "/nowhere".into() };
        assert!(nowhere.choose(None, None).is_err());
    }
}
