//! Classic pcap.

use super::{Annotated, Found, RrMux, LONGEST};
use anyhow::{anyhow, bail, ensure, Result};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapReader, PcapWriter};
use pcap_file::{DataLink, Endianness, TsResolution};
use std::io::Write;
use std::time::Duration;

/// First bytes of the format that some old systems wrote: longer packet headers, known by the magic number alone.
const MODIFIED: [[u8; 4]; 2] = [[0xa1, 0xb2, 0xcd, 0x34], [0x34, 0xcd, 0xb2, 0xa1]];

pub(super) fn read(file: &[u8], collector: &mut RrMux) -> Result<()> {
    if MODIFIED.iter().any(|magic| file.starts_with(magic)) {
        bail!("it is in the modified pcap format; convert the file with `editcap -F pcap IN OUT`");
    }
    let mut reader = PcapReader::new(file).map_err(|error| {
        anyhow!("it is not a pcap or pcapng file ({error}); give a capture of tcpdump or Wireshark")
    })?;
    let header = reader.header();
    if header.datalink != DataLink::ETHERNET {
        bail!("its link type is {:?}, not Ethernet; capture on an Ethernet interface", header.datalink);
    }
    // Raw packets: the reader's own check takes a packet that is longer than the snap length for damage.
    while let Some(packet) = reader.next_raw_packet() {
        let number = collector.next();
        let packet = packet.map_err(|error| {
            anyhow!("packet {number} is damaged or cut short ({error}); {} whole packets come before it", number - 1)
        })?;
        let unit = if header.ts_resolution == TsResolution::MicroSecond { 1000 } else { 1 };
        let nanoseconds = u64::from(packet.ts_frac) * unit;
        ensure!(
            nanoseconds < 1_000_000_000,
            "packet {number} is damaged: the fraction of its time stamp is a second or more"
        );
        collector.take(&Found {
            time: Duration::new(packet.ts_sec.into(), nanoseconds as u32),
            bytes: &packet.data,
            original: packet.orig_len as usize,
            snap_length: header.snaplen,
        })?;
    }
    Ok(())
}

/// Begins a file: time stamps of nanoseconds, Ethernet.
pub(super) fn begin<W: Write>(output: W) -> Result<PcapWriter<W>> {
    let header = PcapHeader {
        ts_resolution: TsResolution::NanoSecond,
        datalink: DataLink::ETHERNET,
        endianness: Endianness::Little,
        snaplen: LONGEST as u32,
        ..PcapHeader::default()
    };
    Ok(PcapWriter::with_header(output, header)?)
}

pub(super) fn write<'a>(output: &mut dyn Write, packets: impl IntoIterator<Item = Annotated<'a>>) -> Result<()> {
    let mut writer = begin(output)?;
    for packet in packets {
        writer.write_packet(&PcapPacket::new(packet.time, packet.bytes.len() as u32, packet.bytes))?;
    }
    Ok(())
}
