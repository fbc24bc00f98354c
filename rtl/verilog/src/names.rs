//! Legal and unique names.

use std::collections::HashSet;

/// Words that Verilog-2005 and SystemVerilog-2017 reserve.
const KEYWORDS: &str = " accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind \
bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const constraint context \
continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge else end endcase endchecker endclass \
endclocking endconfig endfunction endgenerate endgroup endinterface endmodule endpackage endprimitive endprogram endproperty endspecify \
endsequence endtable endtask enum event eventually expect export extends extern final first_match for force foreach forever fork forkjoin \
function generate genvar global highz0 highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial \
inout input inside instance int integer interconnect interface intersect join join_any join_none large let liblist library local localparam \
logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null or \
output package packed parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown pullup \
pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg reject_on release repeat restrict \
return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal \
showcancelled signed small soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1 sync_accept_on \
sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type \
typedef union unique unique0 unsigned until until_with untyped use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 \
while wildcard wire with within wor xnor xor ";

/// Whether a word is reserved in Verilog.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&format!(" {word} "))
}

/// The names taken in one module.
#[derive(Debug, Default, Clone)]
pub(crate) struct Names {
    used: HashSet<String>,
}

impl Names {
    /// `base`, or `base_2`, `base_3`, ... when it is taken.
    pub fn unique(&mut self, base: &str) -> String {
        let mut name = base.to_string();
        let mut n = 2;
        while is_keyword(&name) || !self.used.insert(name.clone()) {
            name = format!("{base}_{n}");
            n += 1;
        }
        name
    }
}

/// `rx.data` and `core$3` as Verilog names.
pub(crate) fn flatten(key: &str) -> String {
    key.replace(['.', '$'], "_")
}

/// `RxFifo` -> `rx_fifo`.
pub(crate) fn snake(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut out = String::new();
    for (i, c) in chars.iter().enumerate() {
        let starts = c.is_uppercase()
            && i > 0
            && (chars[i - 1].is_lowercase() || chars[i - 1].is_ascii_digit() || chars.get(i + 1).is_some_and(|n| n.is_lowercase()) && chars[i - 1].is_uppercase());
        if starts {
            out.push('_');
        }
        if c.is_alphanumeric() || *c == '_' {
            out.extend(c.to_lowercase());
        } else {
            out.push('_');
        }
    }
    out
}

/// `Step::WaitLow` -> `STEP_WAIT_LOW`.
pub(crate) fn state_name(variant: &str) -> String {
    variant.split("::").map(|part| snake(part).to_uppercase()).collect::<Vec<_>>().join("_")
}

/// Module name from a Rust type: `hpu::Fifo<Beat, 16>` gives `fifo` and the suffix `_beat_16`.
pub(crate) fn module_name(type_name: &str) -> (String, String) {
    let (head, rest) = match type_name.find('<') {
        Some(at) => (&type_name[..at], &type_name[at + 1..type_name.len() - 1]),
        None => (type_name, ""),
    };
    let base = snake(head.rsplit("::").next().unwrap_or(head));
    let mut suffix = String::new();
    for word in rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')) {
        let last = word.rsplit("::").next().unwrap_or(word);
        if !last.is_empty() && last != "Bits" {
            suffix.push('_');
            suffix.push_str(&snake(last));
        }
    }
    (base, suffix)
}

/// Whether a word can name a module.
pub(crate) fn is_legal(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
