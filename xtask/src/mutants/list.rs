//! What `mutate -list` prints, and the commands that put its mutations into a netlist.

use anyhow::{bail, Context, Result};

/// One mutation of a netlist.
#[derive(Clone, Debug, PartialEq)]
pub struct Mutation {
    /// `inv`, `const0`, `const1`, `cnot0` or `cnot1`.
    mode: String,
    cell: String,
    port: String,
    bit: u32,
    /// The bit of the same port that decides about a conditional inversion.
    control: Option<u32>,
    /// The named wire at that place, with its bit.
    wire: Option<String>,
    /// The places in the Verilog, `file:line`; the last one is the cell's own.
    sources: Vec<String>,
}

impl Mutation {
    /// Reads a line such as
    /// `mutate -mode inv -module m -cell $xor$m.sv:4$2 -port Y -portbit 5 -wire sum -wirebit 5 -src m.sv:4.1-4.20`.
    pub fn parse(line: &str) -> Result<Mutation> {
        let mut mutation = Mutation {
            mode: String::new(),
            cell: String::new(),
            port: String::new(),
            bit: 0,
            control: None,
            wire: None,
            sources: vec![],
        };
        let mut words = line.split_whitespace();
        if words.next() != Some("mutate") {
            bail!("yosys listed `{line}`, which is no mutation");
        }
        let (mut wire, mut wire_bit) = (None, None);
        while let Some(option) = words.next() {
            let value = words.next().with_context(|| format!("`{option}` has no value in `{line}`"))?;
            let number = || value.parse::<u32>().with_context(|| format!("`{value}` is no bit in `{line}`"));
            match option {
                "-mode" => mutation.mode = value.into(),
                "-module" => (),
                "-cell" => mutation.cell = value.into(),
                "-port" => mutation.port = value.trim_start_matches('\\').into(),
                "-portbit" => mutation.bit = number()?,
                "-ctrlbit" => mutation.control = Some(number()?),
                "-wire" => wire = Some(value.trim_start_matches('\\').to_string()),
                "-wirebit" => wire_bit = Some(number()?),
                "-src" => mutation.sources.extend(value.split('|').map(place)),
                _ => bail!("`{option}` of `{line}` is unknown; the pinned version of yosys does not print it"),
            }
        }
        if mutation.mode.is_empty() || mutation.cell.is_empty() || mutation.port.is_empty() {
            bail!("`{line}` lacks a mode, a cell or a port");
        }
        mutation.wire = wire.map(|name| wire_bit.map_or(name.clone(), |bit| format!("{name}[{bit}]")));
        Ok(mutation)
    }

    /// The command that makes this mutation of `module`, followed by `more` options.
    pub fn command(&self, module: &str, more: &str) -> String {
        let Mutation { mode, cell, port, bit, control, .. } = self;
        let control = control.map_or(String::new(), |bit| format!(" -ctrlbit {bit}"));
        format!("mutate -mode {mode} -module {module} -cell {cell} -port \\{port} -portbit {bit}{control}{more}")
    }

    /// Whether a clock is mutated.
    pub fn is_of_a_clock(&self) -> bool {
        let name = self.port.to_lowercase();
        ["clk", "clock"].iter().any(|clock| name == *clock || name.ends_with(&format!("_{clock}")))
            || self.wire.as_ref().is_some_and(|wire| wire == "clock[0]" || wire.ends_with(".clock[0]"))
    }

    /// Whether the enable of one of `cells` is mutated, each of which is a line `module/cell`.
    pub fn enables(&self, cells: &str) -> bool {
        self.port == "EN" && cells.lines().any(|line| line.split_once('/').is_some_and(|(_, cell)| cell == self.cell))
    }

    /// File and line of the mutated cell.
    pub fn at(&self) -> &str {
        self.sources.last().map_or("?", String::as_str)
    }

    /// What changes, for people: `inv of Y[5] of xor, wire sum[5]`.
    pub fn what(&self) -> String {
        let kind = kind(&self.cell);
        let control = self.control.map_or(String::new(), |bit| format!(" by [{bit}]"));
        let wire = self.wire.as_ref().map_or(String::new(), |wire| format!(", wire {wire}"));
        format!("{}{control} of {}[{}] of {kind}{wire}", self.mode, self.port, self.bit)
    }
}

/// What a cell does, from the name that yosys gives it: `$xor$m.sv:4$2`, `$flatten\part.$procdff$7`,
/// `$auto$ff.cc:337:slice$9`; a box keeps the name of its instance.
fn kind(cell: &str) -> &str {
    let own = cell.rfind(".$").map_or(cell, |at| &cell[at + 1..]);
    match own.strip_prefix('$').and_then(|rest| rest.split('$').next()) {
        Some("auto") if own.starts_with("$auto$ff.cc") => "register",
        Some("procdff") => "register",
        Some("auto") => "cell",
        Some(kind) => kind,
        None => own.rsplit(['.', '\\']).next().unwrap_or(own),
    }
}

/// `file:line` of `file:line.column-line.column`.
fn place(source: &str) -> String {
    match source.rsplit_once(':') {
        Some((file, range)) => format!("{file}:{}", range.split(['.', '-']).next().unwrap_or(range)),
        None => source.into(),
    }
}

/// All lines of a list, without repetitions: a mutation that is listed twice is one mutant.
pub fn parse(text: &str) -> Result<Vec<Mutation>> {
    let mut list: Vec<Mutation> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mutation = Mutation::parse(line)?;
        if !list.iter().any(|other| other.command("m", "") == mutation.command("m", "")) {
            list.push(mutation);
        }
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
mutate -mode cnot1 -module parser -cell $ternary$parser.sv:98$830 -port B -portbit 4 -ctrlbit 2 \
    -wire rx_data -wirebit 204 -src parser.sv:5.22-5.29 -src parser.sv:98.22-98.59
mutate -mode inv -module parser -cell $flatten\\check.$procdff$1882 -port Q -portbit 81 \
    -wire parsed -wirebit 81 -src parser.sv:19.23-19.29 -src header_check.sv:135.1-215.4
mutate -mode const1 -module parser -cell $xor$compressor.sv:51$242 -port B -portbit 4 -src compressor.sv:51.19-51.66
mutate -mode const1 -module parser -cell $xor$compressor.sv:51$242 -port B -portbit 4 -src compressor.sv:51.19-51.66
";

    #[test]
    fn a_list_is_read_without_repetitions() {
        let list = parse(LINES).unwrap();
        let shown: Vec<String> =
            list.iter().map(|mutation| format!("{} at {}", mutation.what(), mutation.at())).collect();
        let wanted = [
            "cnot1 by [2] of B[4] of ternary, wire rx_data[204] at parser.sv:98",
            "inv of Q[81] of register, wire parsed[81] at header_check.sv:135",
            "const1 of B[4] of xor at compressor.sv:51",
        ];
        assert_eq!(shown, wanted);
    }

    #[test]
    fn a_cell_is_named_by_what_it_does() {
        let kinds = [
            "$flatten\\a.\\b.$auto$ff.cc:337:slice$1462",
            "$auto$opt_expr.cc:1:x$3",
            "bx",
            "\\a.\\bx",
            "$add$m.sv:3$1",
        ];
        assert_eq!(kinds.map(kind), ["register", "cell", "bx", "bx", "add"]);
    }

    #[test]
    fn a_mutation_is_made_again_by_its_command() {
        let line = "mutate -mode cnot0 -module gate -cell $and$m.sv:3$1 -port \\A -portbit 6 -ctrlbit 3";
        let mutation = Mutation::parse(line).unwrap();
        assert_eq!(mutation.command("gate", ""), line);
        assert_eq!(mutation.command("m", " -ctrl mutant 16 7"), line.replace("gate", "m") + " -ctrl mutant 16 7");
    }

    #[test]
    fn the_enable_of_a_named_cell_is_known() {
        let mutation = |cell: &str, port: &str| {
            Mutation::parse(&format!("mutate -mode inv -module m -cell {cell} -port {port} -portbit 0")).unwrap()
        };
        let cells = "m/$auto$mem.cc:305:emit$33\nm/$auto$mem.cc:305:emit$37\n";
        assert!(mutation("$auto$mem.cc:305:emit$37", "EN").enables(cells));
        assert!(!mutation("$auto$mem.cc:305:emit$37", "DATA").enables(cells));
        assert!(!mutation("$auto$mem.cc:305:emit$3", "EN").enables(cells));
    }

    #[test]
    fn what_is_no_mutation_is_refused() {
        for bad in ["stat", "mutate -mode inv", "mutate -mode inv -cell a -port A -portbit x", "mutate -news 3"] {
            assert!(Mutation::parse(bad).is_err(), "{bad}");
        }
    }
}
