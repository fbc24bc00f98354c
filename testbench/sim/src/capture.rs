//! Captures: pcap files in, pcap files out.
//!
//! Reading takes classic pcap of either endianness and resolution, link type Ethernet. What is wrong with a file is said in one sentence with
//! the number of the packet.

use anyhow::{bail, Context, Result};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::Path;
use std::time::Duration;

/// Longest packet that a capture may hold; beyond it the file is taken for damaged.
const LONGEST: usize = 65_535;

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Time since the epoch.
    pub time: Duration,
    /// The frame without FCS.
    pub bytes: Vec<u8>,
}

/// Reads all packets of a capture.
///
/// # Errors
/// A file that cannot be read, is no pcap, is not Ethernet, is cut short, or holds absurd lengths.
pub fn read(path: &Path) -> Result<Vec<Captured>> {
    let file =
        File::open(path).with_context(|| format!("cannot open {}: give the path of a pcap file", path.display()))?;
    read_from(BufReader::new(file)).with_context(|| format!("{} cannot be used", path.display()))
}

fn read_from(input: impl Read) -> Result<Vec<Captured>> {
    let mut reader = PcapReader::new(input).map_err(|error| {
        anyhow::anyhow!("it is not a pcap file ({error}); convert pcapng with `editcap -F pcap IN OUT`")
    })?;
    if reader.header().datalink != DataLink::ETHERNET {
        bail!("its link type is {:?}, not Ethernet; capture on an Ethernet interface", reader.header().datalink);
    }
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let number = packets.len() + 1;
        let packet = packet.map_err(|error| {
            anyhow::anyhow!(
                "packet {number} is damaged or cut short ({error}); {} whole packets come before it",
                number - 1
            )
        })?;
        if packet.data.is_empty() || packet.data.len() > LONGEST {
            bail!("packet {number} has {} bytes; a frame has 1 to {LONGEST}", packet.data.len());
        }
        if (packet.data.len() as u32) < packet.orig_len {
            bail!(
                "packet {number} was captured in part ({} of {} bytes); capture with a snap length of at least 9216",
                packet.data.len(),
                packet.orig_len
            );
        }
        packets.push(Captured { time: packet.timestamp, bytes: packet.data.into_owned() });
    }
    Ok(packets)
}

/// Writes packets to a capture with nanosecond time stamps.
///
/// # Errors
/// A file that cannot be written.
pub fn write(path: &Path, packets: &[Captured]) -> Result<()> {
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let header = PcapHeader {
        ts_resolution: TsResolution::NanoSecond,
        datalink: DataLink::ETHERNET,
        endianness: Endianness::Little,
        snaplen: LONGEST as u32,
        ..PcapHeader::default()
    };
    let mut writer = PcapWriter::with_header(BufWriter::new(file), header)?;
    for packet in packets {
        writer.write_packet(&PcapPacket::new(packet.time, packet.bytes.len() as u32, &packet.bytes))?;
    }
    writer.into_writer();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Vec<Captured> {
        (1..5u8)
            .map(|n| Captured {
                time: Duration::from_nanos(1_000_000_007 * u64::from(n)),
                bytes: vec![n; 60 + usize::from(n)],
            })
            .collect()
    }

    #[test]
    fn what_is_written_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), &sample()).unwrap();
        assert_eq!(read(file.path()).unwrap(), sample());
    }

    #[test]
    fn a_cut_file_names_the_packet() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), &sample()).unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        let error = format!("{:#}", read_from(&bytes[..bytes.len() - 10]).unwrap_err());
        assert!(error.contains("packet 4"), "{error}");
    }

    #[test]
    fn absurd_lengths_and_foreign_files_are_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        write(file.path(), &sample()).unwrap();
        let mut bytes = std::fs::read(file.path()).unwrap();
        bytes[24 + 8..24 + 12].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
        assert!(format!("{:#}", read_from(&bytes[..]).unwrap_err()).contains("packet 1"));
        assert!(
            format!("{:#}", read_from(&b"GIF89a, surely not a capture file"[..]).unwrap_err()).contains("not a pcap")
        );
    }
}
