//! Captures: pcap and pcapng files in and out.
//!
//! Reading takes classic pcap (either byte order, microseconds or nanoseconds) and pcapng (several sections and interfaces),
//! recognised by the first bytes of the file; the link type must be Ethernet. Writing takes the format from the suffix of
//! the name. Time stamps keep nanoseconds both ways. An error names the packet, or the block, and the reason in one
//! sentence.

mod classic;
mod pcapng;
#[cfg(test)]
mod tests;

use anyhow::{bail, Context, Result};
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest packet that a capture may hold; a longer one is taken for damage.
const LONGEST: usize = 65_535;

/// A captured packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Captured {
    /// Time since the epoch.
    pub time: Duration,
    /// The frame without FCS.
    pub bytes: Vec<u8>,
}

/// File format of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Classic pcap.
    Pcap,
    /// pcapng: packets may carry comments.
    PcapNg,
}

impl Format {
    /// The format that a file name asks for: pcapng for `.pcapng` and `.ntar`, else pcap.
    pub fn of(path: &Path) -> Format {
        let suffix = path.extension().unwrap_or_default().to_ascii_lowercase();
        if suffix == "pcapng" || suffix == "ntar" {
            Format::PcapNg
        } else {
            Format::Pcap
        }
    }

    /// Whether a time stamp of nanoseconds can be this one: pcap has 32 bits for seconds, pcapng 64 for nanoseconds.
    fn holds(self, time: Duration) -> bool {
        match self {
            Format::Pcap => time.as_secs() <= u64::from(u32::MAX),
            Format::PcapNg => time.as_nanos() <= u128::from(u64::MAX),
        }
    }

    /// `pcap` or `pcapng`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Pcap => "pcap",
            Format::PcapNg => "pcapng",
        }
    }
}

/// Treatment of packets of which the capture holds only the first bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncated {
    /// The capture is an error.
    #[default]
    Refuse,
    /// Such packets are left out and counted.
    Skip,
}

/// A capture that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Its packets, in the order of the file.
    pub packets: Vec<Captured>,
    /// Its format.
    pub format: Format,
    /// Packets that were left out because the capture holds only their first bytes.
    pub truncated: usize,
    /// Interfaces from which packets were captured; classic pcap has one.
    pub interfaces: usize,
}

/// Reads all packets of a capture; a packet that was captured in part is an error.
///
/// # Errors
/// As for [`read_with`].
pub fn read(path: &Path) -> Result<Vec<Captured>> {
    Ok(read_with(path, Truncated::Refuse)?.packets)
}

/// Reads all packets of a capture.
///
/// # Errors
/// A file that cannot be read, is neither pcap nor pcapng, has packets of another link type than Ethernet, is cut short or
/// is damaged.
pub fn read_with(path: &Path, truncated: Truncated) -> Result<Capture> {
    parse(&load(path)?, truncated).with_context(|| format!("{} cannot be used", path.display()))
}

/// The bytes of a capture's file, for [`parse`].
///
/// # Errors
/// A file that cannot be read.
pub fn load(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .with_context(|| format!("cannot open {}: give the path of a pcap or pcapng file", path.display()))
}

/// Reads a capture from the bytes of its file.
///
/// # Errors
/// As for [`read_with`].
pub fn parse(file: &[u8], truncated: Truncated) -> Result<Capture> {
    let mut collector = RrMux { policy: truncated, packets: Vec::new(), number: 0, truncated: 0 };
    let (format, interfaces) = match file {
        [0x0a, 0x0d, 0x0d, 0x0a, ..] => (Format::PcapNg, pcapng::read(file, &mut collector)?),
        [0x1f, 0x8b, ..] => bail!("it is compressed; run `gunzip` first"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => bail!("it is compressed; run `unzstd` first"),
        _ => {
            classic::read(file, &mut collector)?;
            (Format::Pcap, 1)
        }
    };
    Ok(Capture { packets: collector.packets, format, truncated: collector.truncated, interfaces })
}

/// A packet as a file holds it.
struct Found<'a> {
    time: Duration,
    bytes: &'a [u8],
    /// Bytes of the packet on the wire.
    original: usize,
    /// Limit that the file states for the bytes of a packet; 0 = none.
    snap_length: u32,
}

/// Checks packets of both formats alike.
struct RrMux {
    policy: Truncated,
    packets: Vec<Captured>,
    /// Packets so far, those left out included.
    number: usize,
    truncated: usize,
}

impl RrMux {
    /// Number of the packet that follows, from 1.
    fn next(&self) -> usize {
        self.number + 1
    }

    fn take(&mut self, found: &Found) -> Result<()> {
        self.number += 1;
        let (number, length) = (self.number, found.bytes.len());
        if length > LONGEST || found.original == 0 {
            bail!("packet {number} has {} bytes; a frame has 1 to {LONGEST}", length.max(found.original));
        }
        if length < found.original {
            if self.policy == Truncated::Skip {
                self.truncated += 1;
                return Ok(());
            }
            let limit = match found.snap_length {
                0 => String::new(),
                limit => format!("; the file was written with a snap length of {limit}"),
            };
            bail!(
                "packet {number} was captured in part ({length} of {} bytes{limit}); \
                 `spindle run --truncated skip` leaves such packets out; \
                 else capture with a snap length of at least 9216",
                found.original
            );
        }
        if length > found.original {
            bail!("packet {number} is damaged: it holds {length} bytes of a frame of {}", found.original);
        }
        self.packets.push(Captured { time: found.time, bytes: found.bytes.to_vec() });
        Ok(())
    }
}

/// A classic pcap file that grows packet by packet, and can be read meanwhile.
pub struct Growing {
    path: PathBuf,
    writer: pcap_file::pcap::PcapWriter<File>,
}

impl Growing {
    /// Begins the file.
    ///
    /// # Errors
    /// The name asks for pcapng, or the file cannot be written.
    pub fn create(path: &Path) -> Result<Growing> {
        if Format::of(path) == Format::PcapNg {
            bail!(
                "{} would be a pcapng file, which is written at once; give a name that ends in .pcap",
                path.display()
            );
        }
        let cannot = || format!("cannot write {}", path.display());
        let file = File::create(path).with_context(cannot)?;
        Ok(Growing { path: path.into(), writer: classic::begin(file).with_context(cannot)? })
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn push(&mut self, time: Duration, bytes: &[u8]) -> Result<()> {
        let packet = pcap_file::pcap::PcapPacket::new(time, bytes.len() as u32, bytes);
        self.writer.write_packet(&packet).with_context(|| format!("cannot write {}", self.path.display()))?;
        Ok(())
    }
}

/// A packet to write, with a comment for formats that hold comments.
#[derive(Clone, Debug)]
pub struct Annotated<'a> {
    /// Time since the epoch.
    pub time: Duration,
    /// The frame without FCS.
    pub bytes: &'a [u8],
    /// Comment, `None` for none. Classic pcap has no comments.
    pub comment: Option<Cow<'a, str>>,
}

/// Writes packets to a file with nanosecond time stamps, in the format that its name asks for.
///
/// # Errors
/// A file that cannot be written.
pub fn write(path: &Path, packets: &[Captured]) -> Result<()> {
    let cannot = || format!("cannot write {}", path.display());
    let mut file = BufWriter::new(File::create(path).with_context(cannot)?);
    let packets = packets.iter().map(|packet| Annotated { time: packet.time, bytes: &packet.bytes, comment: None });
    write_to(&mut file, Format::of(path), None, packets).with_context(cannot)?;
    file.flush().with_context(cannot)
}

/// Writes packets with nanosecond time stamps; `comment` is of the whole capture and, as the packets' comments, for pcapng
/// only.
///
/// # Errors
/// The output cannot be written, or a packet is longer or later than the format can hold.
pub fn write_to<'a>(
    output: &mut dyn Write,
    format: Format,
    comment: Option<&str>,
    packets: impl IntoIterator<Item = Annotated<'a>>,
) -> Result<()> {
    let mut late = None;
    let packets = packets.into_iter().enumerate().map_while(|(at, packet)| {
        late = (!format.holds(packet.time)).then_some(at + 1);
        late.is_none().then_some(packet)
    });
    let written = match format {
        Format::Pcap => classic::write(output, packets),
        Format::PcapNg => pcapng::write(output, comment, packets),
    };
    match late {
        Some(number) => bail!(
            "the time of packet {number} is later than a {} file can hold; give times that begin with the run",
            format.name()
        ),
        None => written,
    }
}
