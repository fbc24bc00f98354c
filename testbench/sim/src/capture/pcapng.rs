//! pcapng.
//!
//! The reader is our own, since the `pcap-file` crate takes time stamps for nanoseconds whatever the interface states,
//! refuses options without an end mark, and gives no length to simple packet blocks. The crate writes.

use super::{Annotated, Found, RrMux, LONGEST};
use anyhow::{bail, ensure, Context, Result};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::{DataLink, Endianness};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::Write;
use std::time::Duration;

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
/// Obsolete form of the enhanced packet block.
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER: u32 = 0x1A2B_3C4D;
const ETHERNET: u16 = 1;

const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;

/// Bytes in the byte order of a section.
#[derive(Clone, Copy)]
struct Fields<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Fields<'a> {
    /// The first bytes; `None` if there are fewer.
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(head)
    }

    fn u16(&mut self) -> Option<u16> {
        let bytes = self.take(2)?.try_into().ok()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn u32(&mut self) -> Option<u32> {
        let bytes = self.take(4)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    /// A 64-bit number whose upper half comes first in either byte order.
    fn split_u64(&mut self) -> Option<u64> {
        Some(u64::from(self.u32()?) << 32 | u64::from(self.u32()?))
    }

    /// An option: code and value. `None` at the end of the list, with or without an end mark.
    fn option(&mut self) -> Option<(u16, Fields<'a>)> {
        let (code, length) = (self.u16()?, usize::from(self.u16()?));
        let value = self.take(length)?;
        self.take(length.next_multiple_of(4) - length);
        (code != 0).then_some((code, Fields { bytes: value, big_endian: self.big_endian }))
    }
}

/// An interface of a section.
struct Interface {
    number: usize,
    name: String,
    link_type: u16,
    snap_length: u32,
    /// Units of a time stamp in a second.
    resolution: u128,
    /// Seconds to add to each time stamp.
    offset: i64,
    /// Bytes of FCS at the end of each packet.
    fcs_bytes: usize,
}

impl Interface {
    fn parse(mut body: Fields, number: usize) -> Option<Interface> {
        let link_type = body.u16()?;
        body.u16()?;
        let mut interface = Interface {
            number,
            name: String::new(),
            link_type,
            snap_length: body.u32()?,
            resolution: 1_000_000,
            offset: 0,
            fcs_bytes: 0,
        };
        while let Some((code, mut value)) = body.option() {
            match code {
                IF_NAME => interface.name = String::from_utf8_lossy(value.bytes).escape_debug().to_string(),
                IF_TSRESOL => interface.resolution = resolution(*value.bytes.first()?)?,
                IF_FCSLEN => interface.fcs_bytes = (*value.bytes.first()?).into(),
                IF_TSOFFSET => {
                    // The option's two halves are in the section's byte order as one number.
                    let (first, second) = (value.u32()?, value.u32()?);
                    let (high, low) = if value.big_endian { (first, second) } else { (second, first) };
                    interface.offset = (u64::from(high) << 32 | u64::from(low)) as i64;
                }
                _ => {}
            }
        }
        Some(interface)
    }

    fn time(&self, units: u64) -> Duration {
        let (seconds, rest) = (u128::from(units) / self.resolution, u128::from(units) % self.resolution);
        let nanoseconds = rest * 1_000_000_000 / self.resolution;
        // The quotient of a 64-bit number fits, and the rest is less than a second.
        Duration::new((seconds as u64).saturating_add_signed(self.offset), nanoseconds as u32)
    }

    fn title(&self) -> String {
        if self.name.is_empty() {
            format!("interface {}", self.number)
        } else {
            format!("interface {} (`{}`)", self.number, self.name)
        }
    }
}

/// Units in a second: a power of ten, or of two where the top bit is set. `None` for units too small for 64-bit time stamps.
fn resolution(code: u8) -> Option<u128> {
    let exponent = u32::from(code & 0x7F);
    let resolution = if code & 0x80 != 0 { 2u128.checked_pow(exponent) } else { 10u128.checked_pow(exponent) };
    // Below, a remainder is multiplied by 10^9.
    resolution.filter(|units| *units < 1 << 90)
}

/// Reads all packets; returns the number of interfaces that they are of.
pub(super) fn read(file: &[u8], collector: &mut RrMux) -> Result<usize> {
    let mut rest = Fields { bytes: file, big_endian: false };
    let mut reader = Reader { interfaces: Vec::new(), section: 0, used: BTreeSet::new(), last: Duration::ZERO };
    let mut number = 0;
    while !rest.bytes.is_empty() {
        number += 1;
        let (kind, body) = block(&mut rest).with_context(|| {
            format!(
                "block {number} of the pcapng file is damaged or cut short; {} packets come before it",
                collector.number
            )
        })?;
        reader
            .block(kind, body, collector)
            .with_context(|| format!("block {number} of the pcapng file is unusable"))?;
    }
    Ok(reader.used.len())
}

/// The next block: its type and body. A section header sets the byte order.
fn block<'a>(rest: &mut Fields<'a>) -> Result<(u32, Fields<'a>)> {
    let start = *rest;
    let short = "the file ends inside the block";
    let kind = rest.u32().context(short)?;
    if kind == SECTION {
        let mut magic = Fields { bytes: start.bytes.get(8..).context(short)?, big_endian: true };
        rest.big_endian = match magic.u32().context(short)? {
            BYTE_ORDER => true,
            other if other.swap_bytes() == BYTE_ORDER => false,
            other => bail!("the byte order mark of a section is {other:#010x}"),
        };
    }
    let length = rest.u32().context(short)?;
    ensure!(length >= 12 && length % 4 == 0, "its length is stated as {length} bytes");
    let body = rest.take(length as usize - 12).context(short)?;
    let again = rest.u32().context(short)?;
    ensure!(again == length, "its length is stated as {length} bytes at its start and {again} at its end");
    Ok((kind, Fields { bytes: body, big_endian: rest.big_endian }))
}

struct Reader {
    interfaces: Vec<Interface>,
    section: usize,
    /// Section and number of each interface that packets are of.
    used: BTreeSet<(usize, usize)>,
    /// Time stamp of the packet before.
    last: Duration,
}

impl Reader {
    fn block(&mut self, kind: u32, mut body: Fields, collector: &mut RrMux) -> Result<()> {
        let short = "its fields are incomplete";
        match kind {
            SECTION => {
                body.take(4).context(short)?;
                let major = body.u16().context(short)?;
                ensure!(major == 1, "its section is of version {major} of the format; this program reads version 1");
                self.section += 1;
                self.interfaces.clear();
            }
            INTERFACE => {
                let interface = Interface::parse(body, self.interfaces.len());
                self.interfaces.push(interface.context("its description of an interface is damaged")?);
            }
            ENHANCED_PACKET | PACKET => {
                let interface = if kind == PACKET {
                    let interface = body.u16().context(short)?;
                    body.u16().context(short)?;
                    interface.into()
                } else {
                    body.u32().context(short)?
                };
                let units = body.split_u64().context(short)?;
                let captured = body.u32().context(short)? as usize;
                let original = body.u32().context(short)? as usize;
                let bytes = body
                    .take(captured)
                    .with_context(|| format!("packet {} is longer than its block", collector.next()))?;
                self.packet(interface as usize, Some(units), bytes, original, collector)?;
            }
            SIMPLE_PACKET => {
                let original = body.u32().context(short)? as usize;
                let limit = self.interfaces.first().map_or(0, |interface| interface.snap_length) as usize;
                let kept = if limit > 0 { original.min(limit) } else { original };
                let bytes = body.take(kept.min(body.bytes.len())).unwrap_or_default();
                self.packet(0, None, bytes, original, collector)?;
            }
            // Names, statistics, secrets, custom blocks.
            _ => {}
        }
        Ok(())
    }

    /// A packet; one without a time stamp has that of the packet before.
    fn packet(
        &mut self,
        interface: usize,
        units: Option<u64>,
        bytes: &[u8],
        original: usize,
        collector: &mut RrMux,
    ) -> Result<()> {
        let number = collector.next();
        let Some(interface) = self.interfaces.get(interface) else {
            bail!("packet {number} is of interface {interface}, which the file does not describe")
        };
        if interface.link_type != ETHERNET {
            bail!(
                "packet {number} is of {}, whose link type is {:?}, not Ethernet; \
                 keep the packets of Ethernet interfaces only, or capture on one",
                interface.title(),
                DataLink::from(u32::from(interface.link_type))
            );
        }
        self.used.insert((self.section, interface.number));
        self.last = units.map_or(self.last, |units| interface.time(units));
        // Frames are played without FCS; of a frame that is cut, the FCS is missing already.
        let fcs = if bytes.len() == original && original > interface.fcs_bytes { interface.fcs_bytes } else { 0 };
        collector.take(&Found {
            time: self.last,
            bytes: &bytes[..bytes.len() - fcs],
            original: original - fcs,
            snap_length: interface.snap_length,
        })
    }
}

/// Longest comment that an option holds.
const LONGEST_COMMENT: usize = u16::MAX as usize;

pub(super) fn write<'a>(
    output: &mut dyn Write,
    comment: Option<&str>,
    packets: impl IntoIterator<Item = Annotated<'a>>,
) -> Result<()> {
    let mut options = vec![SectionHeaderOption::UserApplication(concat!("spindle ", env!("CARGO_PKG_VERSION")).into())];
    options.extend(comment.map(|text| SectionHeaderOption::Comment(shortened(text).to_owned().into())));
    let section = SectionHeaderBlock { endianness: Endianness::Little, options, ..SectionHeaderBlock::default() };
    let mut writer = PcapNgWriter::with_section_header(output, section)?;
    writer.write_pcapng_block(InterfaceDescriptionBlock {
        linktype: DataLink::ETHERNET,
        snaplen: LONGEST as u32,
        options: vec![InterfaceDescriptionOption::IfName("tx".into()), InterfaceDescriptionOption::IfTsResol(9)],
    })?;
    for packet in packets {
        let comment = packet.comment.as_deref().map(shortened);
        writer.write_pcapng_block(EnhancedPacketBlock {
            interface_id: 0,
            timestamp: packet.time,
            original_len: packet.bytes.len() as u32,
            data: Cow::Borrowed(packet.bytes),
            options: comment.map(|text| EnhancedPacketOption::Comment(text.into())).into_iter().collect(),
        })?;
    }
    Ok(())
}

/// The text, or as much of it as an option holds.
fn shortened(text: &str) -> &str {
    let end = (0..=text.len().min(LONGEST_COMMENT)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}
