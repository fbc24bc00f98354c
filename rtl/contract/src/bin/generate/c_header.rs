//! C headers and linker symbols.

use spindle_contract::{descriptors, memory_map as map, params, reasons, registers, wire, VERSION};
use std::fmt::Write;

const BANNER: &str =
    "/* Generated from rtl/contract by `cargo run -p spindle-contract --bin generate`. Do not edit. */\n";

/// Columns of a generated line.
const COLUMNS: usize = 120;

/// `#define NAME VALUE /* doc */` with aligned values; a long text stands before the definition.
fn define(out: &mut String, name: &str, value: &str, doc: &str) {
    let doc = doc.replace("*/", "* /");
    let line = format!("#define {name:<32} {value:<12} /* {doc} */");
    if line.len() <= COLUMNS {
        let _ = writeln!(out, "{line}");
    } else {
        comment(out, "", &doc);
        let _ = writeln!(out, "{}", format!("#define {name:<32} {value}").trim_end());
    }
}

/// A comment of as many lines as it takes.
fn comment(out: &mut String, indent: &str, doc: &str) {
    let mut line = format!("{indent}/*");
    for word in doc.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS - 3 {
            let _ = writeln!(out, "{line}");
            line = format!("{indent}  ");
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(out, "{line} */");
}

fn section(out: &mut String, title: &str) {
    let _ = write!(out, "\n/* {title} */\n");
}

/// Opens an include guard.
fn open(guard: &str) -> String {
    format!("{BANNER}#ifndef {guard}\n#define {guard}\n")
}

/// `spindle_contract.h`: what a handler is compiled against.
pub fn handlers() -> String {
    let mut out = open("SPINDLE_CONTRACT_H");
    out.push_str("\n#include <stdint.h>\n\n");
    define(&mut out, "SPIN_CONTRACT_VERSION", &VERSION.to_string(), "version of the contract");
    section(&mut out, "Regions of a handler's address space. Everything else faults.");
    for region in map::REGIONS {
        let doc = format!("{}: {}", region.access, region.doc);
        define(
            &mut out,
            &format!("SPIN_REGION_{}", region.name.to_uppercase()),
            &format!("{:#010x}u", map::base(region.number)),
            &doc,
        );
    }
    section(&mut out, "Bytes of the regions of fixed size.");
    define(&mut out, "SPIN_PACKET_BYTES", &params::SLOT_BYTES.to_string(), "packet slot: longer frames are cut in it");
    define(&mut out, "SPIN_SEGMENT_BYTES", &params::SEGMENT_BYTES.to_string(), "payload of a full packet of a put");
    define(&mut out, "SPIN_TAILROOM_MAX", &params::MAX_TAILROOM.to_string(), "most bytes of SPIN_TAILROOM");
    define(&mut out, "SPIN_SCRATCH_BYTES", &params::SCRATCH_BYTES.to_string(), "scratchpad, unless asked otherwise");
    let stack = params::Config::ALL.iter().map(params::Config::stack_bytes).min().unwrap_or(0);
    define(&mut out, "SPIN_STACK_BYTES", &stack.to_string(), "stack with up to 4 HPUs a cluster");
    define(&mut out, "SPIN_BEAT_BYTES", &params::BEAT_BYTES.to_string(), "a beat of L1");
    define(&mut out, "SPIN_COMMAND_HANDLES", &map::COMMAND_HANDLES.to_string(), "commands in flight per HPU");
    define(&mut out, "SPIN_PORT", &params::SPINDLE_PORT.to_string(), "default UDP port of Spindle transport");
    section(&mut out, "The task page: what is known of the packet and of the message.");
    out.push_str("typedef struct spin_task {\n");
    let mut at = 0;
    for word in map::TASK_PAGE {
        assert_eq!(word.offset, at, "the task page has no holes");
        let _ = writeln!(out, "    uint32_t {:<15} /* {:#04x} {} */", format!("{};", word.name), word.offset, word.doc);
        at += 4;
    }
    out.push_str("} spin_task_t;\n\n");
    let _ = writeln!(
        out,
        "_Static_assert(sizeof(spin_task_t) == {at} && {at} <= {}, \"the task page is as in the contract\");",
        map::TASK_PAGE_BYTES
    );
    section(&mut out, "Words of the command port, from SPIN_REGION_COMMAND.");
    for word in map::COMMAND_PORT {
        define(
            &mut out,
            &format!("SPIN_CMD_{}", word.name.to_uppercase()),
            &format!("{:#04x}u", word.offset),
            word.doc,
        );
    }
    section(&mut out, "Opcodes of commands.");
    for (name, opcode, doc) in map::COMMANDS {
        define(&mut out, &format!("SPIN_OP_{name}"), &opcode.to_string(), doc);
    }
    define(
        &mut out,
        "SPIN_ISSUE_CHECKSUM",
        &format!("{:#x}u", map::ISSUE_CHECKSUM),
        "with SPIN_OP_SEND_PACKET: the NIC inserts the checksums",
    );
    let task = u32::from(map::command::REDIRECT) | map::ISSUE_TASK;
    define(&mut out, "SPIN_OP_TASK", &format!("{task:#x}u"), "start a task of the context, or cancel one");
    let put_packet = u32::from(map::command::PUT) | map::ISSUE_RELIABLE;
    define(
        &mut out,
        "SPIN_OP_PUT_PACKET",
        &format!("{put_packet:#x}u"),
        "put bytes of the packet until they are acknowledged",
    );
    define(
        &mut out,
        "SPIN_TASK_CANCEL",
        &format!("{:#x}u", map::TASK_CANCEL),
        "delay of SPIN_OP_TASK: the task that waits with this argument is cancelled",
    );
    let waiting = params::WAITING_TASKS.to_string();
    define(&mut out, "SPIN_WAITING_TASKS", &waiting, "tasks of a context that can wait at a time");
    let bytes = u32::from(map::command::REDIRECT) | map::ISSUE_BYTES;
    define(&mut out, "SPIN_OP_REDIRECT_BYTES", &format!("{bytes:#x}u"), "put bytes of the packet into a mailbox");
    define(
        &mut out,
        "SPIN_REDIRECT_EPOCH",
        &format!("{:#x}u", map::REDIRECT_EPOCH),
        "key of SPIN_OP_REDIRECT_BYTES: bits 15 to 0 are the epoch or ordinal",
    );
    section(&mut out, "Operations of COMBINE. Bytes of elements of more than 8 bits are little-endian.");
    for (name, value, doc) in map::COMBINE_OPERATIONS {
        define(&mut out, &format!("SPIN_{name}"), &format!("{value:#x}u"), doc);
    }
    let shift = map::combine::CONSTANT_SHIFT.to_string();
    define(&mut out, "SPIN_GF_SHIFT", &shift, "bit of the operation where the constant of GF begins");
    section(&mut out, "Return codes of handlers; others count as SPIN_FAIL.");
    for (name, value, doc) in map::RETURN_CODES {
        define(&mut out, name, &value.to_string(), doc);
    }
    section(&mut out, "Kinds of handler.");
    define(&mut out, "SPIN_KIND_HEADER", &descriptors::kind::HEADER.to_string(), "header handler");
    define(&mut out, "SPIN_KIND_PAYLOAD", &descriptors::kind::PAYLOAD.to_string(), "payload handler");
    define(&mut out, "SPIN_KIND_COMPLETION", &descriptors::kind::COMPLETION.to_string(), "completion handler");
    define(&mut out, "SPIN_KIND_TASK", &descriptors::kind::TASK.to_string(), "task handler");
    section(&mut out, "Wire formats.");
    let wire: [(&str, u32, &str); 8] = [
        ("SPIN_ETHERTYPE_IPV4", wire::ETHERTYPE_IPV4.into(), "EtherType of IPv4"),
        ("SPIN_ETHERTYPE_VLAN", wire::ETHERTYPE_VLAN.into(), "EtherType of an 802.1Q tag"),
        ("SPIN_IPPROTO_ICMP", wire::IP_ICMP.into(), "IPv4 protocol number of ICMP"),
        ("SPIN_IPPROTO_UDP", wire::IP_UDP.into(), "IPv4 protocol number of UDP"),
        ("SPIN_IPV4_BYTES", wire::IPV4_BYTES as u32, "IPv4 header without options"),
        ("SPIN_UDP_BYTES", wire::UDP_BYTES as u32, "UDP header"),
        ("SPIN_ICMP_BYTES", wire::ICMP_BYTES as u32, "ICMP echo header"),
        ("SPIN_TRANSPORT_BYTES", wire::SPINDLE_BYTES as u32, "Spindle transport header"),
    ];
    for (name, value, doc) in wire {
        define(&mut out, name, &value.to_string(), doc);
    }
    for (prefix, title, fields) in [
        ("IPV4", "Byte offsets in the IPv4 header.", wire::IPV4_FIELDS),
        ("UDP", "Byte offsets in the UDP header.", wire::UDP_FIELDS),
        ("ICMP", "Byte offsets in the ICMP echo header.", wire::ICMP_FIELDS),
        ("TRANSPORT", "Byte offsets in the Spindle header.", wire::SPINDLE_FIELDS),
    ] {
        section(&mut out, title);
        for field in fields.iter().filter(|field| field.at % 8 == 0) {
            let doc = format!("{} bits: {}", field.bits, field.doc);
            let name = format!("SPIN_{prefix}_{}", field.name.to_uppercase());
            define(&mut out, &name, &(field.at / 8).to_string(), &doc);
        }
    }
    let mut codes = |title: &str, prefix: &str, codes: &[(&str, u16, &str)]| {
        section(&mut out, title);
        for (name, value, doc) in codes {
            define(&mut out, &format!("SPIN_{prefix}_{name}"), &value.to_string(), doc);
        }
    };
    let opcodes: Vec<_> = wire::OPCODES.iter().map(|(name, value, doc)| (*name, u16::from(*value), *doc)).collect();
    codes("Opcodes of the Spindle header.", "TRANSPORT_OP", &opcodes);
    codes("Flags of the Spindle header.", "TRANSPORT_FLAG", wire::FLAGS);
    out.push_str("\n#endif\n");
    out
}

/// `memory.ld`: addresses and sizes that the linker script of the handlers needs.
pub fn linker_symbols() -> String {
    let mut out = BANNER.to_owned();
    for region in map::REGIONS {
        let _ = writeln!(out, "SPIN_REGION_{} = {:#010x};", region.name.to_uppercase(), map::base(region.number));
    }
    let largest = |f: fn(&params::Config) -> usize| params::Config::ALL.iter().map(f).max().unwrap_or(0);
    out.push_str("/* The largest that any configuration has; the loader checks against the card at hand. */\n");
    let _ = writeln!(out, "MEMORY {{");
    let _ = writeln!(
        out,
        "    code (rx)     : ORIGIN = {:#010x}, LENGTH = {}",
        map::base(map::CODE),
        largest(|c| c.imem_bytes)
    );
    let _ = writeln!(
        out,
        "    context (rw)  : ORIGIN = {:#010x}, LENGTH = {}",
        map::base(map::CONTEXT),
        largest(|c| c.l2_bytes)
    );
    out.push_str("}\n");
    out
}

/// Offset and reset value of a register, mask and lowest bit of its fields.
fn register_words(out: &mut String, prefix: &str, register: &registers::Register) {
    let count = if register.count > 1 { format!(", {} registers", register.count) } else { String::new() };
    let name = format!("{prefix}_{}", register.name);
    let doc = format!("{}, {}{count}: {}", register.access.name(), register.kind.name(), register.doc);
    define(out, &name, &format!("{:#05x}u", register.offset), &doc);
    for field in register.fields {
        let upper = field.name.to_uppercase();
        let field_name = if upper == register.name { name.clone() } else { format!("{name}_{upper}") };
        let mask = (u32::MAX >> (32 - field.bits)) << field.low;
        define(out, &format!("{field_name}_MASK"), &format!("{mask:#010x}u"), field.doc);
        define(out, &format!("{field_name}_SHIFT"), &field.low.to_string(), &format!("lowest bit of {}", field.name));
        for value in field.values {
            define(out, &format!("{field_name}_{}", value.name), &value.value.to_string(), value.doc);
        }
    }
    let reset = register.reset();
    if reset != 0 {
        define(out, &format!("{name}_RESET"), &format!("{reset:#010x}u"), "value after reset");
    }
}

/// `spindle_registers.h`: the BAR.
pub fn registers() -> String {
    let mut out = open("SPINDLE_REGISTERS_H");
    out.push('\n');
    define(&mut out, "SPINDLE_CONTRACT_VERSION", &VERSION.to_string(), "version of the contract");
    define(&mut out, "SPINDLE_MAGIC", &format!("{:#010x}u", registers::MAGIC), "value of the first register");
    define(&mut out, "SPINDLE_BAR_BYTES", &format!("{:#x}u", 1u32 << registers::BAR_BITS), "size of the BAR");
    define(&mut out, "SPINDLE_PAGE_BYTES", &format!("{:#x}u", registers::PAGE), "size of a page");
    for page in registers::pages() {
        section(&mut out, page.doc);
        let prefix = format!("SPINDLE_{}", page.name.to_uppercase());
        define(&mut out, &format!("{prefix}_ID"), &page.id.to_string(), "id in the block list");
        define(&mut out, &format!("{prefix}_BASE"), &format!("{:#07x}u", page.base), "address of the page");
        for register in page.registers {
            register_words(&mut out, &prefix, register);
        }
    }
    let mut codes = |title: &str, prefix: &str, values: &[registers::Value]| {
        section(&mut out, title);
        for value in values {
            define(&mut out, &format!("SPINDLE_{prefix}_{}", value.name), &value.value.to_string(), value.doc);
        }
    };
    codes("Commands: values of SPINDLE_DOORBELL_COMMAND.", "COMMAND", registers::DOORBELL_COMMANDS);
    codes(
        "Errors: SPINDLE_DOORBELL_RESULT_ERROR and SPINDLE_DOORBELL_RING_DONE_ERROR.",
        "ERROR",
        registers::DOORBELL_ERRORS,
    );
    section(&mut out, "Reasons for dropping a frame: index of SPINDLE_PACKET_DROPS.");
    for (index, (name, doc)) in reasons::DROP_REASONS.iter().enumerate() {
        define(&mut out, &format!("SPINDLE_DROP_{}", name.to_uppercase()), &index.to_string(), doc);
    }
    section(&mut out, "Completion record in host memory, little-endian.");
    let record: [(&str, usize, &str); 5] = [
        ("LENGTH", wire::RECORD_LENGTH, "offset of the length, u32"),
        ("STATUS", wire::RECORD_STATUS, "offset of the status, u8; 0 = not complete"),
        ("EPOCH", wire::RECORD_EPOCH, "offset of the epoch, u16"),
        ("BUFFER", wire::RECORD_BUFFER, "offset of the buffer pointer, u64"),
        ("BYTES", wire::RECORD_BYTES, "size of a record"),
    ];
    for (name, value, doc) in record {
        define(&mut out, &format!("SPINDLE_RECORD_{name}"), &value.to_string(), doc);
    }
    out.push_str("\n#endif\n");
    out
}
