//! Writes the C++ that joins a Verilated model to the harness, from the port list in the model's own header.

use anyhow::{bail, Result};
use std::fmt::Write;

/// Changes whenever a cached model of an older shim must not be used.
pub(crate) const SHIM: &str = include_str!("shim.cpp");

/// The functions of the shim as one table, for programs into which the model is linked; the order is that of `ffi::Face`.
pub(crate) const FACE: &str = "struct SpindleFace {
    const SpindlePort* (*ports)();
    SpindleModel* (*create)(int, int);
    const char* (*error)(SpindleModel*);
    int (*ready)(SpindleModel*);
    void* (*port)(SpindleModel*, uint32_t);
    int (*eval)(SpindleModel*);
    int (*ticks)(SpindleModel*, uint8_t*, uint64_t);
    uint64_t (*cycle)(SpindleModel*);
    int (*finished)(SpindleModel*);
    int (*wave_open)(SpindleModel*, int, const SpindleWindow*);
    void (*wave_close)(SpindleModel*);
    void (*free)(SpindleModel*);
};
extern \"C\" {
extern const SpindleFace spindle_face;
const SpindleFace spindle_face = {spindle_ports, spindle_new, spindle_error, spindle_ready, spindle_port, spindle_eval, \
spindle_ticks, spindle_cycle, spindle_finished, spindle_wave_open, spindle_wave_close, spindle_free};
}
";

/// The symbol of that table.
pub(crate) const FACE_SYMBOL: &str = "spindle_face";

/// One port as Verilator's header declares it.
#[derive(Debug, PartialEq, Eq)]
struct HeaderPort {
    /// The C++ member.
    member: String,
    /// The name in Verilog.
    name: String,
    width: u32,
    output: bool,
}

/// The shim's text for the model whose `Vdut.h` is `header`.
pub(crate) fn generate(header: &str) -> Result<String> {
    let ports = parse_header(header)?;
    let (mut table, mut pointers) = (String::new(), String::new());
    for (index, port) in ports.iter().enumerate() {
        let HeaderPort { member, name, width, output } = port;
        write!(table, "{{\"{name}\", {width}, {}}}, ", u32::from(*output))?;
        write!(pointers, "case {index}: return &self->model->{member}; ")?;
    }
    Ok(format!("#define PORT_TABLE {table}\n#define PORT_POINTERS {pointers}\n{SHIM}\n{FACE}"))
}

/// Reads lines such as `VL_INW(&s_data,511,0,16);`. The macro's name carries direction and storage.
fn parse_header(header: &str) -> Result<Vec<HeaderPort>> {
    let mut ports = Vec::new();
    for line in header.lines().map(str::trim) {
        let Some((name, rest)) = line.strip_prefix("VL_").and_then(|rest| rest.split_once("(&")) else { continue };
        let output = match name.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'W') {
            "IN" => false,
            "OUT" => true,
            "INOUT" => bail!("the top module has a bidirectional port, which the harness does not drive: {line}"),
            _ => continue,
        };
        let Some(arguments) = rest.strip_suffix(");") else {
            bail!("the top module has a port that is an array or a struct; give the top flat ports: {line}")
        };
        let fields: Vec<&str> = arguments.split(',').collect();
        let bounds = (fields.get(1).and_then(|f| f.parse().ok()), fields.get(2).and_then(|f| f.parse::<u32>().ok()));
        let (Some(high), Some(low)): (Option<u32>, Option<u32>) = bounds else {
            bail!("cannot read the width of a port from Verilator's header: {line}")
        };
        let member = fields[0].to_string();
        ports.push(HeaderPort { name: decode(&member), member, width: high - low + 1, output });
    }
    Ok(ports)
}

/// Undoes Verilator's encoding of names: `__05F` for the second of two underscores, `__SYM__` before C++ keywords.
fn decode(member: &str) -> String {
    let member = member.strip_prefix("__SYM__").unwrap_or(member);
    let (mut name, mut rest) = (String::new(), member);
    while let Some(at) = rest.find("__0") {
        let digits = rest.get(at + 3..at + 5).and_then(|hex| u8::from_str_radix(hex, 16).ok());
        name.push_str(&rest[..at]);
        match digits {
            Some(byte) => {
                name.push(byte as char);
                rest = &rest[at + 5..];
            }
            None => {
                name.push_str("__0");
                rest = &rest[at + 3..];
            }
        }
    }
    name + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_lines_become_ports() {
        let header =
            "  VL_IN8(&clock,0,0);\n VL_OUT16(&m_h,15,0);\n VL_INW(&s_data,511,0,16);\n VL_OUT64(&m_w,32,0);\n";
        let ports = parse_header(header).unwrap();
        let list: Vec<_> = ports.iter().map(|p| (p.name.as_str(), p.width, p.output)).collect();
        assert_eq!(list, [("clock", 1, false), ("m_h", 16, true), ("s_data", 512, false), ("m_w", 33, true)]);
    }

    #[test]
    fn encoded_names_are_decoded() {
        assert_eq!(decode("switch___05Fq"), "switch__q");
        assert_eq!(decode("__SYM__class"), "class");
        assert_eq!(decode("plain_name"), "plain_name");
    }

    #[test]
    fn unsupported_ports_are_refused() {
        assert!(parse_header("VL_INOUT8(&pad,0,0);").unwrap_err().to_string().contains("bidirectional"));
        assert!(parse_header("VL_IN8((&x)[4],0,0);").unwrap().is_empty());
    }
}
