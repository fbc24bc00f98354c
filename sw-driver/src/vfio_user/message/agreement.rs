//! VERSION: what the two sides agree on.

use super::{Version, MAJOR, MAX_DATA, MAX_FDS, MINOR};
use serde::{Deserialize, Serialize};

/// Bytes that a client should map at once: a page.
const PAGE_BYTES: u64 = 4096;

/// What a side can do, as both say in VERSION.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// The capabilities.
    #[serde(default)]
    pub capabilities: Capabilities,
}

/// Limits and extensions of a side. A field that is missing has the protocol's default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// File descriptors in a message.
    #[serde(default = "one")]
    pub max_msg_fds: u32,
    /// Bytes of a read or write.
    #[serde(default = "max_data")]
    pub max_data_xfer_size: u64,
    /// Page size, as crate and QEMU expect it.
    #[serde(default)]
    pub migration: Migration,
    /// Spindle's own: addresses that the client may use for its memory, first and after the last; without it, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<[u64; 2]>,
    /// Spindle's own: the process whose doorbell page BAR 0 is; without it, BAR 0 is the whole card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<usize>,
}

/// The part of the capabilities about migration, of which only the page size is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migration {
    /// Bytes of a page.
    #[serde(default = "page")]
    pub pgsize: u64,
}

fn one() -> u32 {
    1
}

fn max_data() -> u64 {
    MAX_DATA as u64
}

fn page() -> u64 {
    PAGE_BYTES
}

impl Default for Migration {
    fn default() -> Self {
        Migration { pgsize: PAGE_BYTES }
    }
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities {
            max_msg_fds: one(),
            max_data_xfer_size: max_data(),
            migration: Migration::default(),
            window: None,
            process: None,
        }
    }
}

impl Capabilities {
    /// What this module can do.
    pub fn own() -> Capabilities {
        Capabilities { max_msg_fds: MAX_FDS as u32, ..Capabilities::default() }
    }
}

/// Body of VERSION, as a client sends it.
pub fn version_body(capabilities: Capabilities) -> Vec<u8> {
    version_answer(MINOR, capabilities)
}

/// Body of the answer to a client of a minor version: never a later one than the client's, which QEMU, of minor version 0, refuses.
pub fn version_answer(client: u16, capabilities: Capabilities) -> Vec<u8> {
    let mut body = Version { major: MAJOR, minor: client.min(MINOR) }.bytes();
    let text = serde_json::to_string(&Agreement { capabilities }).expect("numbers are JSON");
    body.extend_from_slice(text.as_bytes());
    body.push(0);
    body
}

/// Version and capabilities of a VERSION; `None` if they are not to be understood. No JSON at all is the defaults.
pub fn parse_version(body: &[u8]) -> Option<(Version, Capabilities)> {
    let version = Version::parse(body)?;
    let text = &body[Version::BYTES..];
    let text = text.strip_suffix(&[0]).unwrap_or(text);
    if text.is_empty() {
        return Some((version, Capabilities::default()));
    }
    let agreement: Agreement = serde_json::from_slice(text).ok()?;
    Some((version, agreement.capabilities))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_may_be_missing() {
        assert_eq!(parse_version(&[0, 0, 1, 0]).unwrap().1, Capabilities::default());
        assert_eq!(parse_version(b"\0\0\x01\0{}\0").unwrap().1, Capabilities::default());
        assert_eq!(parse_version(b"\0\0\x01\0{\"capabilities\":{\"twin_socket\":{}}}").unwrap().1.max_msg_fds, 1);
        assert_eq!(parse_version(&version_body(Capabilities::own())).unwrap().1, Capabilities::own());
        let minor = |client| parse_version(&version_answer(client, Capabilities::own())).unwrap().0.minor;
        assert_eq!((minor(0), minor(MINOR), minor(9)), (0, MINOR, MINOR));
        assert!(parse_version(b"\0\0\x01\0{\0").is_none() && parse_version(&[0]).is_none());
    }

    #[test]
    fn capabilities_are_text_between_the_version_and_a_zero() {
        let own = Capabilities { process: Some(3), window: Some([1, 2]), ..Capabilities::own() };
        let body = version_body(own.clone());
        assert_eq!(body[..4], [0, 0, 1, 0]);
        assert_eq!(body.last(), Some(&0));
        let text = std::str::from_utf8(&body[4..body.len() - 1]).unwrap();
        assert_eq!(
            text,
            "{\"capabilities\":{\"max_msg_fds\":16,\"max_data_xfer_size\":1048576,\"migration\":{\"pgsize\":4096},\
             \"window\":[1,2],\"process\":3}}"
        );
        assert_eq!(parse_version(&body).unwrap().1, own);
        let plain = version_body(Capabilities::own());
        assert!(!std::str::from_utf8(&plain[4..]).unwrap().contains("window"), "what is not there is not named");
        let other =
            parse_version(b"\x02\0\x03\0{\"capabilities\":{\"max_data_xfer_size\":5,\"migration\":{}}}\0").unwrap();
        assert_eq!(other.0, Version { major: 2, minor: 3 });
        let expected = Capabilities { max_msg_fds: 1, max_data_xfer_size: 5, ..Capabilities::default() };
        assert_eq!(other.1.migration.pgsize, 4096);
        assert_eq!(other.1, expected);
    }
}
