//! Legal and unique names.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// Words that Verilog-2005 and SystemVerilog-2017 reserve.
const KEYWORDS: &str = " \
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins \
binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const \
constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge \
else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule \
endpackage endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event eventually expect \
export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global highz0 \
highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input inside \
instance int integer interconnect interface intersect join join_any join_none large let liblist library local \
localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor \
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program \
property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase \
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 \
s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small \
soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1 sync_accept_on \
sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand \
trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var vectored virtual void \
wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor ";

/// Classes of SystemVerilog's built-in package, which Verilator takes for type names everywhere.
const BUILT_INS: &str = " mailbox process semaphore std ";

/// Words of C++ that Verilator warns about when a port has the name (SYMRSVDWORD), because it has to rename them in the model.
const CPP_WORDS: &str = " \
abort alignas alignof and_eq asm auto bitand bitor bit_vector bool catch cdecl char char16_t char32_t compl complex \
concept const_cast constexpr decltype delete deque double dynamic_cast explicit false far float friend goto huge \
inline int16_t int32_t int64_t int8_t interrupt long mutable namespace near noexcept not_eq nullptr operator or_eq \
pascal private public register reinterpret_cast requires sensitive set short sizeof static_assert static_cast switch \
synchronized template thread_local throw true try typeid typename uint16_t uint32_t uint64_t uint8_t using volatile \
wchar_t xor_eq ";

/// Whether a word cannot name anything in the output.
pub(crate) fn is_keyword(word: &str) -> bool {
    reserved(word).is_some()
}

/// Every reserved word and why it is one: the end of a sentence that starts with the word.
static RESERVED: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    let classes = BUILT_INS.split_whitespace().map(|word| (word, "is a built-in class of SystemVerilog"));
    classes.chain(KEYWORDS.split_whitespace().map(|word| (word, "is a Verilog keyword"))).collect()
});

/// Why nothing can have this name.
pub(crate) fn reserved(word: &str) -> Option<&'static str> {
    RESERVED.get(word).copied()
}

/// Why no port can have this name. Inside a module the words of C++ do no harm.
pub(crate) fn reserved_for_ports(word: &str) -> Option<&'static str> {
    let cpp = CPP_WORDS.split_whitespace().any(|known| known == word);
    reserved(word).or(cpp.then_some("is a word of C++ that Verilator cannot keep"))
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

    /// The same for an inner scope, in which `others` are the names: what is outside is not hidden, and stays as it is.
    pub fn inner(&self, base: &str, others: &[String]) -> String {
        let mut name = base.to_string();
        let mut n = 2;
        while self.used.contains(&name) || (n > 2 && others.contains(&name)) {
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
            && (chars[i - 1].is_lowercase()
                || chars[i - 1].is_ascii_digit()
                || chars.get(i + 1).is_some_and(|n| n.is_lowercase()) && chars[i - 1].is_uppercase());
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
    let (head, rest) = type_name.split_once('<').unwrap_or((type_name, ""));
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

/// What all suffixes end with, from an underscore on: `_beat_16` and `_word_16` have `_16`.
pub(crate) fn common_end<'a>(suffixes: &[&'a str]) -> &'a str {
    let Some(first) = suffixes.first() else { return "" };
    let starts = first.char_indices().filter(|(_, c)| *c == '_').map(|(i, _)| &first[i..]);
    starts.into_iter().find(|end| suffixes.iter().all(|s| s.ends_with(end))).unwrap_or("")
}

/// Whether a word can name a module.
pub(crate) fn is_legal(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_rust_names_are_apart() {
        for (name, wanted) in [
            ("RxFifo", "rx_fifo"),
            ("Fifo", "fifo"),
            ("fifo", "fifo"),
            // An acronym is one word, up to the capital that begins the next one.
            ("RDMARead", "rdma_read"),
            ("ReadDMA", "read_dma"),
            ("CRC", "crc"),
            // A digit ends a word, and does not begin one.
            ("L1Cache", "l1_cache"),
            ("Crc32C", "crc32_c"),
            ("Lut6x2", "lut6x2"),
            ("A1", "a1"),
            ("wait_low", "wait_low"),
            ("Wait-Low", "wait_low"),
        ] {
            assert_eq!(snake(name), wanted, "{name}");
        }
        assert_eq!(state_name("Step::WaitLow"), "STEP_WAIT_LOW");
    }

    #[test]
    fn a_module_is_named_after_its_type_and_what_tells_it_from_others() {
        for (name, base, suffix) in [
            ("Fifo", "fifo", ""),
            ("nic::rx::RxFifo", "rx_fifo", ""),
            ("hpu::Fifo<hpu::Beat, 16>", "fifo", "_beat_16"),
            ("a::Fifo<Bits<8>>", "fifo", "_8"),
            ("a::Fifo<a::Pair<a_b::C_d, 2>, 3>", "fifo", "_pair_c_d_2_3"),
            ("Fifo<{7}>", "fifo", "_7"),
        ] {
            assert_eq!(module_name(name), (base.to_string(), suffix.to_string()), "{name}");
        }
    }

    #[test]
    fn inner_names_may_be_those_of_outer_scopes_only_if_free() {
        let mut names = Names::default();
        names.unique("total");
        let pins = ["total", "total_2", "word"].map(String::from);
        assert_eq!(names.inner("word", &pins), "word");
        // A number is added to what is taken outside, and not one that makes the name of another port.
        assert_eq!(names.inner("total", &pins), "total_3");
        assert_eq!(names.inner("total", &pins[..1]), "total_2");
    }

    #[test]
    fn a_module_name_is_a_word() {
        for word in ["a", "_a", "A9_b"] {
            assert!(is_legal(word), "{word}");
        }
        for word in ["", "9a", "a b", "a-b", "\u{e4}"] {
            assert!(!is_legal(word), "{word}");
        }
    }

    #[test]
    fn ends_are_cut_at_underscores() {
        assert_eq!(common_end(&["_beat_16", "_word_16"]), "_16");
        assert_eq!(common_end(&["_beat_16", "_beat_6"]), "");
        assert_eq!(common_end(&["_task_done", "_host_done"]), "_done");
    }

    #[test]
    fn words_that_no_tool_takes_are_reserved() {
        for word in ["task", "context", "begin", "end", "always_ff", "checker", "mailbox", "process", "semaphore"] {
            assert!(is_keyword(word) && reserved_for_ports(word).is_some(), "{word}");
        }
        for word in ["next", "d", "q", "clock", "index", "tasks", "en", ""] {
            assert!(!is_keyword(word) && reserved_for_ports(word).is_none(), "{word}");
        }
        assert!(!is_keyword("short") && reserved_for_ports("short").is_some());
    }

    #[test]
    fn taken_and_reserved_names_are_numbered() {
        let mut names = Names::default();
        let given = ["a", "a", "end", "a"].map(|n| names.unique(n));
        assert_eq!(given, ["a", "a_2", "end_2", "a_3"]);
    }
}
