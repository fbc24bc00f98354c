//! Pages of the documentation.

use spindle_contract::descriptors::{self, MatchPlace};
use spindle_contract::{commands, events, memory_map as map, params, reasons, registers, wire, VERSION};
use std::fmt::Write;

/// Heading and the note that the page is generated.
fn page(title: &str) -> String {
    format!(
        "<!-- Generated from rtl/contract by `cargo run -p spindle-contract --bin generate`. Do not edit. -->\n\
         # {title}\n\nContract version {VERSION}.\n"
    )
}

/// A table with these columns and rows.
fn table(out: &mut String, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) {
    let _ = write!(out, "\n| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    for row in rows {
        let cells: Vec<_> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
}

/// The BAR.
pub fn registers() -> String {
    let mut out = page("Registers of the BAR");
    let _ = write!(
        out,
        "\nThe BAR has {} KiB of 32-bit registers, one block per page of {} bytes. The block list of the page `global` names \
         every block; its word SHELL names the page of a board's shell.\n\n\
         A control takes effect when it is written, a stage with the commit that follows. A status is a state of the hardware, a counter a \
         number of events since reset. A pointer is an address that each access to its window advances. A write to a trigger starts an \
         operation, and a read gives its state. Fields without a reset value are 0 after reset.\n",
        (1u32 << registers::BAR_BITS) >> 10,
        registers::PAGE
    );
    for block in registers::pages() {
        let _ = write!(out, "\n## `{}` at {:#07x}, id {}\n\n{}\n", block.name, block.base, block.id, block.doc);
        table(
            &mut out,
            &["offset", "register", "kind", "access", "bits", "meaning"],
            block.registers.iter().flat_map(register_rows),
        );
    }
    for (title, codes) in [
        ("Commands of the doorbell page", registers::DOORBELL_COMMANDS),
        ("Errors of the doorbell page", registers::DOORBELL_ERRORS),
    ] {
        let _ = write!(out, "\n## {title}\n");
        table(
            &mut out,
            &["code", "name", "meaning"],
            codes.iter().map(|code| vec![code.value.to_string(), format!("`{}`", code.name), code.doc.into()]),
        );
    }
    out
}

/// The row of a register, and one for each of its fields that has a meaning of its own.
fn register_rows(register: &registers::Register) -> Vec<Vec<String>> {
    let name = if register.count > 1 {
        format!("`{}[{}]`", register.name, register.count)
    } else {
        format!("`{}`", register.name)
    };
    let meaning = |field: &registers::Field| {
        let values: Vec<_> = field.values.iter().map(|v| format!("{} `{}`: {}", v.value, v.name, v.doc)).collect();
        let reset = if field.reset == 0 { String::new() } else { format!("; {} after reset", field.reset) };
        let values = if values.is_empty() { String::new() } else { format!("; {}", values.join("; ")) };
        format!("{}{reset}{values}", field.doc)
    };
    let range = |field: &registers::Field| match field.bits {
        1 => field.low.to_string(),
        bits => format!("{}:{}", field.low + bits - 1, field.low),
    };
    let row = |bits: String, doc: String| {
        vec![
            format!("{:#05x}", register.offset),
            name.clone(),
            register.kind.name().into(),
            register.access.name().into(),
            bits,
            doc,
        ]
    };
    match register.fields {
        [] => vec![row("31:0".into(), register.doc.into())],
        [field] if field.doc == register.doc => vec![row(range(field), meaning(field))],
        fields => {
            let mut rows = vec![row(String::new(), register.doc.into())];
            rows.extend(fields.iter().map(|field| {
                let empty = String::new;
                vec![empty(), format!("\u{2003}`{}`", field.name), empty(), empty(), range(field), meaning(field)]
            }));
            rows
        }
    }
}

/// Descriptors between blocks.
pub fn descriptors() -> String {
    let mut out = page("Descriptors");
    out.push_str("\nFields are packed from the least significant bit in the order given.\n");
    for descriptor in descriptors::DESCRIPTORS {
        let _ = write!(out, "\n## `{}`, {} bits\n\n{}\n", descriptor.name, descriptor.bits(), descriptor.doc.trim());
        let mut low = 0;
        table(
            &mut out,
            &["bits", "field", "meaning"],
            descriptor.fields.iter().map(|field| {
                let range = if field.bits == 1 { format!("{low}") } else { format!("{}:{low}", low + field.bits - 1) };
                low += field.bits;
                vec![range, format!("`{}`", field.name), field.doc.into()]
            }),
        );
    }
    out.push_str(
        "\n## Match fields\n\nFields of the rule language. An offset is that of the field's first byte in a frame without VLAN \
         tag; + 4: a tag moves the field. Flags cost no term.\n",
    );
    table(
        &mut out,
        &["field", "where", "bits", "meaning"],
        descriptors::MATCH_FIELDS.iter().map(|f| {
            let place = match f.place {
                MatchPlace::Flag(number) => format!("flag {number}"),
                MatchPlace::Length => "length".into(),
                MatchPlace::Word { offset, behind_tag, shift } => {
                    format!("byte {}{}", offset + (32 - shift - f.bits) / 8, if behind_tag { " + 4" } else { "" })
                }
            };
            vec![format!("`{}`", f.name), place, f.bits.to_string(), f.doc.into()]
        }),
    );
    out
}

/// The handler's view.
pub fn memory_map() -> String {
    let mut out = page("What a handler sees");
    table(
        &mut out,
        &["address", "region", "access", "meaning"],
        map::REGIONS
            .iter()
            .map(|r| vec![format!("{:#010x}", map::base(r.number)), r.name.into(), r.access.into(), r.doc.into()]),
    );
    let _ = write!(
        out,
        "\nA jump to {:#010x} returns from the handler; `ra` holds that address at the start.\n",
        map::RETURN_ADDRESS
    );
    let words = |out: &mut String, title: &str, region: u32, words: &[map::Word]| {
        let _ = write!(out, "\n## {title}, from {:#010x}\n", map::base(region));
        table(
            out,
            &["offset", "word", "meaning"],
            words.iter().map(|w| vec![format!("{:#04x}", w.offset), format!("`{}`", w.name), w.doc.into()]),
        );
    };
    words(&mut out, "Task page", map::TASK, map::TASK_PAGE);
    words(&mut out, "Command port", map::COMMAND, map::COMMAND_PORT);
    let _ = writeln!(out, "\nAn HPU has {} handles.", map::COMMAND_HANDLES);
    let _ = write!(out, "\n## Operations of `COMBINE`\n\nElements of more than one byte are little-endian.\n");
    table(
        &mut out,
        &["ADDR_HI", "name", "meaning"],
        map::COMBINE_OPERATIONS
            .iter()
            .map(|(name, value, doc)| vec![format!("{value:#05x}"), format!("`{name}`"), (*doc).into()]),
    );
    for (title, codes) in
        [("Commands", map::COMMANDS), ("Return codes", map::RETURN_CODES), ("Causes of a fault", map::FAULTS)]
    {
        let _ = write!(out, "\n## {title}\n");
        table(
            &mut out,
            &["code", "name", "meaning"],
            codes.iter().map(|(name, value, doc)| vec![value.to_string(), format!("`{name}`"), (*doc).into()]),
        );
    }
    out
}

/// Bytes on the wire and in host memory.
pub fn wire() -> String {
    let mut out = page("Spindle transport");
    let _ = write!(
        out,
        "\nOver UDP (default port {}), big-endian, {} bytes ({} for GET). A full-size segment carries {} bytes.\n",
        params::SPINDLE_PORT,
        wire::SPINDLE_BYTES,
        wire::SPINDLE_GET_BYTES,
        params::SEGMENT_BYTES
    );
    for (title, start, fields) in [
        ("Ethernet", wire::ethernet::START, wire::ETHERNET_FIELDS),
        ("IPv4", wire::ipv4::START, wire::IPV4_FIELDS),
        ("UDP", wire::udp::START, wire::UDP_FIELDS),
        ("ICMP echo", wire::icmp::START, wire::ICMP_FIELDS),
        ("Spindle", wire::spindle::START, wire::SPINDLE_FIELDS),
        ("Reply address of a GET", wire::get_reply::START, wire::GET_REPLY_FIELDS),
    ] {
        let _ = write!(out, "\n## {title}: from byte {start} of a frame without VLAN tag\n");
        table(
            &mut out,
            &["byte", "bits", "field", "meaning"],
            fields.iter().map(|field| {
                let bits = if field.at % 8 == 0 && field.bits % 8 == 0 {
                    field.bits.to_string()
                } else {
                    format!("{}, from bit {}", field.bits, 7 - field.at % 8)
                };
                vec![(field.at / 8).to_string(), bits, format!("`{}`", field.name), field.doc.into()]
            }),
        );
    }
    out.push_str("\n## Opcodes\n");
    table(
        &mut out,
        &["opcode", "value", "meaning"],
        wire::OPCODES.iter().map(|(name, value, doc)| vec![format!("`{name}`"), value.to_string(), (*doc).into()]),
    );
    out.push_str("\n## Flags\n");
    table(
        &mut out,
        &["flag", "bit", "meaning"],
        wire::FLAGS
            .iter()
            .map(|(name, value, doc)| vec![format!("`{name}`"), value.trailing_zeros().to_string(), (*doc).into()]),
    );
    out.push_str("\n## Codes of a NACK\n\nBelow 16 the sender tries again; from 16 on the operation has failed.\n");
    table(
        &mut out,
        &["code", "name", "meaning"],
        wire::NACKS.iter().map(|(name, value, doc)| vec![value.to_string(), format!("`{name}`"), (*doc).into()]),
    );
    let _ = write!(
        out,
        "\n## Completion record\n\n{0} bytes in host memory, {0}-aligned, little-endian; the host zeroes it before posting.\n",
        wire::RECORD_BYTES
    );
    let record = [
        (wire::RECORD_LENGTH, "length, u32"),
        (wire::RECORD_STATUS, "status, u8: 0 not complete, 1 done, 2 partial, 3 cancelled"),
        (wire::RECORD_EPOCH, "epoch, u16"),
        (wire::RECORD_BUFFER, "buffer pointer, u64"),
    ];
    table(&mut out, &["offset", "field"], record.iter().map(|(o, d)| vec![o.to_string(), (*d).into()]));
    let _ = write!(
        out,
        "\n## Command of a command ring\n\n{} bytes, little-endian words; a ring has up to {} of them and is aligned to its size.\n",
        commands::BYTES,
        commands::MAX_COMMANDS
    );
    let command = [
        (commands::WORD_CODE, "code [7:0]: 0 nothing, 2 post a buffer; mailbox [31:16]"),
        (commands::WORD_SIZE, "bytes of the buffer"),
        (commands::WORD_BUFFER, "host address of the buffer, u64"),
        (commands::WORD_RECORD, "host address of its completion record, u64"),
    ];
    table(&mut out, &["word", "field"], command.iter().map(|(o, d)| vec![o.to_string(), (*d).into()]));
    let _ = write!(
        out,
        "\n## Event record\n\n{} bytes, little-endian words; a ring has up to {} of them and is aligned to its size.\n",
        events::BYTES,
        events::MAX_RECORDS
    );
    let event = [
        (events::WORD_KIND, "kind [3:0], context [11:8], code [23:16], flags [31:24]"),
        (events::WORD_ID, "id"),
        (events::WORD_LENGTH, "length"),
        (events::WORD_EXTRA, "extra"),
        (events::WORD_SOURCE, "source"),
        (events::WORD_USER, "user, u64"),
        (events::WORD_SEQUENCE, "sequence number in the ring, from 1; 0 = nothing was written yet"),
    ];
    table(&mut out, &["word", "field"], event.iter().map(|(o, d)| vec![o.to_string(), (*d).into()]));
    table(
        &mut out,
        &["kind", "name", "meaning"],
        events::KINDS.iter().map(|(name, number, doc)| vec![number.to_string(), format!("`{name}`"), (*doc).into()]),
    );
    out
}

/// Drop reasons and trace points.
pub fn reasons() -> String {
    let mut out = page("Reasons and trace points");
    out.push_str("\n## Why a frame is dropped\n");
    let rows = |list: &'static [(&str, &str)]| {
        list.iter().enumerate().map(|(i, (name, doc))| vec![i.to_string(), format!("`{name}`"), (*doc).into()])
    };
    table(&mut out, &["index", "reason", "meaning"], rows(reasons::DROP_REASONS));
    out.push_str("\n## Trace points\n\nBit of `trace_valid`.\n");
    table(&mut out, &["bit", "point", "meaning"], rows(reasons::TRACE_POINTS));
    out
}
