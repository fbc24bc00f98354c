//! SystemVerilog as tokens, and the tokens of a module as statements whose order does not matter.

use anyhow::{bail, Context, Result};
use std::collections::{HashMap, HashSet};

/// Words of the language that the emitter and the hand-written modules use.
const KEYWORDS: &[&str] = &[
    "always",
    "always_comb",
    "always_ff",
    "always_latch",
    "assign",
    "automatic",
    "begin",
    "bit",
    "case",
    "casez",
    "default",
    "else",
    "end",
    "endcase",
    "endfunction",
    "endmodule",
    "endpackage",
    "for",
    "function",
    "generate",
    "endgenerate",
    "genvar",
    "if",
    "initial",
    "inout",
    "input",
    "int",
    "integer",
    "localparam",
    "logic",
    "module",
    "negedge",
    "output",
    "package",
    "packed",
    "parameter",
    "posedge",
    "reg",
    "return",
    "signed",
    "string",
    "struct",
    "typedef",
    "union",
    "unique",
    "unsigned",
    "wire",
];

/// The kind of an identifier: two designs agree if their names agree up to one renaming.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// A module, package, type or value of a package.
    Global(String),
    /// A net, port, instance or label of a module.
    Local(String, String),
    /// A field of a structure, whose type comes first; empty if it is not known.
    Field(String, String),
}

/// A piece of a statement.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Piece {
    /// A keyword, number, operator or attribute, which has to be equal.
    Text(String),
    /// A name, which may differ.
    Name(Name),
}

/// A statement of a module.
#[derive(Clone, Debug)]
pub struct Statement {
    pub module: String,
    pub pieces: Vec<Piece>,
}

impl Statement {
    /// The statement without its layout.
    pub fn text(&self) -> String {
        let words = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) | Piece::Name(Name::Global(text) | Name::Local(_, text) | Name::Field(_, text)) => {
                text.as_str()
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

/// Cuts a text into words; comments and compiler directives go.
pub fn words(text: &str) -> Vec<String> {
    const LONG: [&str; 12] = ["<<<", ">>>", "===", "!==", "<=", ">=", "==", "!=", "&&", "||", "<<", ">>"];
    let bytes = text.as_bytes();
    let part = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'$' | b'\'');
    let (mut words, mut at) = (vec![], 0);
    while at < bytes.len() {
        let rest = &text[at..];
        let skip_to = |end: &str| rest.find(end).map_or(rest.len(), |found| found + end.len());
        let length = if bytes[at].is_ascii_whitespace() {
            1
        } else if rest.starts_with("//") || rest.starts_with('`') {
            skip_to("\n")
        } else if rest.starts_with("/*") {
            skip_to("*/")
        } else {
            let length = match bytes[at] {
                b'"' => 1 + rest[1..].find('"').map_or(rest.len() - 1, |found| found + 1),
                c if part(c) => rest.bytes().take_while(|c| part(*c)).count(),
                _ => LONG.iter().find(|long| rest.starts_with(**long)).map_or(1, |long| long.len()),
            };
            words.push(rest[..length].to_owned());
            length
        };
        at += length;
    }
    words
}

fn is_identifier(word: &str) -> bool {
    let first = word.as_bytes().first().copied().unwrap_or(b'0');
    (first.is_ascii_alphabetic() || first == b'_') && !KEYWORDS.contains(&word)
}

/// The type of each field of each structure.
type Structures<'w> = HashMap<&'w str, HashMap<&'w str, &'w str>>;

/// The structures of all packages of a text.
fn structures(words: &[String]) -> Structures<'_> {
    let mut structures = Structures::new();
    for at in words.iter().enumerate().filter(|(_, word)| *word == "typedef").map(|(at, _)| at) {
        let (Some(open), Some(close)) = (find(words, at, "{"), find(words, at, "}")) else { continue };
        let Some(name) = words.get(close + 1) else { continue };
        let mut fields = HashMap::new();
        for member in words[open + 1..close].split(|word| word == ";") {
            let kind = member.first().map_or("", String::as_str);
            let named = member.windows(2).filter(|pair| pair[1] == ",").map(|pair| &pair[0]).chain(member.last());
            fields.extend(named.map(|field| (field.as_str(), kind)));
        }
        structures.insert(name, fields);
    }
    structures
}

fn find(words: &[String], from: usize, word: &str) -> Option<usize> {
    words[from..].iter().position(|other| other == word).map(|found| from + found)
}

/// The structure of each net of a module that is one.
fn nets<'w>(words: &'w [String], structures: &Structures) -> HashMap<&'w str, &'w str> {
    let mut nets = HashMap::new();
    for at in 3..words.len() {
        if words[at - 1] != ":" || words[at - 2] != ":" || !structures.contains_key(words[at].as_str()) {
            continue;
        }
        let (mut depth, mut expected) = (0, true);
        for word in &words[at + 1..] {
            match word.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" if depth > 0 => depth -= 1,
                _ if depth > 0 => {}
                "," => expected = true,
                ";" | ")" => break,
                word if expected && !is_identifier(word) => break,
                word if expected => {
                    nets.insert(word, words[at].as_str());
                    expected = false;
                }
                _ => {}
            }
        }
    }
    nets
}

/// Cursor over the words of one module or package.
struct Body<'w> {
    words: &'w [String],
    module: String,
    structures: &'w Structures<'w>,
    /// Nets that are structures.
    nets: HashMap<&'w str, &'w str>,
    /// Labels of generate blocks: what follows their dot is a name of the module.
    labels: HashSet<&'w str>,
    statements: Vec<Statement>,
}

/// The statements of all modules and packages of a text.
pub fn statements(text: &str) -> Result<Vec<Statement>> {
    let words = words(text);
    let structures = structures(&words);
    let (mut all, mut at) = (vec![], 0);
    while at < words.len() {
        let end_word = match words[at].as_str() {
            "module" => "endmodule",
            "package" => "endpackage",
            other => bail!("`{other}` stands where a module or package should begin"),
        };
        let name = words.get(at + 1).context("the text ends after the word `module`")?.clone();
        let end = words[at..].iter().position(|word| word == end_word).map(|found| at + found);
        let end = end.with_context(|| format!("`{name}` has no `{end_word}`"))?;
        let inside = &words[at..end];
        let labels = inside.windows(3).filter(|w| w[0] == "begin" && w[1] == ":").map(|w| w[2].as_str()).collect();
        let nets = nets(inside, &structures);
        let mut body = Body { words: inside, module: name, structures: &structures, nets, labels, statements: vec![] };
        body.header()?;
        all.append(&mut body.statements);
        at = end + 1;
    }
    Ok(all)
}

impl<'w> Body<'w> {
    fn word(&self, at: usize) -> &'w str {
        self.words.get(at).map_or("", String::as_str)
    }

    /// The word after the bracket that closes the one at `at`.
    fn after_bracket(&self, at: usize) -> Result<usize> {
        let mut depth = 0;
        for (index, word) in self.words.iter().enumerate().skip(at) {
            match word.as_str() {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Ok(index + 1);
            }
        }
        bail!("a bracket of module `{}` is not closed", self.module)
    }

    /// Parts of `from..to` between commas outside brackets.
    fn list(&self, from: usize, to: usize) -> Vec<(usize, usize)> {
        let (mut parts, mut depth, mut start) = (vec![], 0, from);
        for at in from..to {
            match self.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                "," if depth == 0 => {
                    parts.push((start, at));
                    start = at + 1;
                }
                _ => {}
            }
        }
        if start < to {
            parts.push((start, to));
        }
        parts
    }

    fn pieces(&self, from: usize, to: usize) -> Vec<Piece> {
        (from..to).map(|at| self.piece(at)).collect()
    }

    fn piece(&self, at: usize) -> Piece {
        let word = self.word(at).to_owned();
        if !is_identifier(&word) {
            return Piece::Text(word);
        }
        let before = if at == 0 { "" } else { self.word(at - 1) };
        if before == "." {
            // `label[i].net` and `label.net` name a net of the module.
            let base = self.base(at);
            if !self.labels.contains(self.word(base)) {
                return Piece::Name(Name::Field(self.structure(base).into(), word));
            }
        }
        if self.word(at + 1) == ":" && self.word(at + 2) == ":" || before == ":" && at > 1 && self.word(at - 2) == ":" {
            return Piece::Name(Name::Global(word));
        }
        Piece::Name(Name::Local(self.module.clone(), word))
    }

    /// The identifier before the dot before the word at `at`, and before the index between them.
    fn base(&self, at: usize) -> usize {
        let mut base = at - 2;
        let mut depth = 0;
        while base > 0 {
            match self.word(base) {
                "]" => depth += 1,
                "[" => depth -= 1,
                _ if depth == 0 => break,
                _ => {}
            }
            base -= 1;
        }
        base
    }

    /// The structure that the net or field at `at` is.
    fn structure(&self, at: usize) -> &'w str {
        let word = self.word(at);
        if at > 1 && self.word(at - 1) == "." {
            let base = self.base(at);
            if !self.labels.contains(self.word(base)) {
                let fields = self.structures.get(self.structure(base));
                return fields.and_then(|fields| fields.get(word)).copied().unwrap_or_default();
            }
        }
        self.nets.get(word).copied().unwrap_or_default()
    }

    fn push(&mut self, prefix: &[Piece], pieces: Vec<Piece>) {
        let pieces = prefix.iter().cloned().chain(pieces).collect();
        self.statements.push(Statement { module: self.module.clone(), pieces });
    }

    /// `module name #(parameters) (ports);`, then the items.
    fn header(&mut self) -> Result<()> {
        let kind = Piece::Text(self.word(0).to_owned());
        self.push(&[], vec![kind, Piece::Name(Name::Global(self.module.clone()))]);
        let mut at = 2;
        while self.word(at) != ";" {
            if matches!(self.word(at), "#" | "") {
                at += 1;
                continue;
            }
            let end = self.after_bracket(at)?;
            self.declarations(&[], &self.list(at + 1, end - 1));
            at = end;
        }
        if self.word(0) == "package" {
            self.package(at + 1);
            return Ok(());
        }
        self.items(&[], at + 1, self.words.len())
    }

    /// Types and values of a package: their names are global, the names of members are fields.
    fn package(&mut self, mut at: usize) {
        while at < self.words.len() {
            let mut end = at;
            let mut depth = 0;
            while end < self.words.len() && !(depth == 0 && self.word(end) == ";") {
                depth += i32::from(self.word(end) == "{") - i32::from(self.word(end) == "}");
                end += 1;
            }
            let last = end - 1;
            let owner = self.word(last).to_owned();
            let mut depth = 0;
            let mut pieces = vec![];
            for index in at..end {
                let word = self.word(index);
                depth += i32::from(word == "{") - i32::from(word == "}");
                let global = index == last || self.word(index + 1) == "=" || !self.word(at).eq("typedef");
                let member = depth > 0 && matches!(self.word(index + 1), "," | ";");
                pieces.push(match is_identifier(word) {
                    false => Piece::Text(word.to_owned()),
                    true if member && !global => Piece::Name(Name::Field(owner.clone(), word.to_owned())),
                    true => Piece::Name(Name::Global(word.to_owned())),
                });
            }
            self.push(&[], pieces);
            at = end + 1;
        }
    }

    /// `output logic [3:0] a, b`: one statement for each name.
    fn declarations(&mut self, prefix: &[Piece], parts: &[(usize, usize)]) {
        let mut kind: Vec<Piece> = vec![];
        for &(from, to) in parts {
            // The declared name is the last identifier before `=` and before dimensions after the name.
            let stop = (from..to).find(|at| self.word(*at) == "=").unwrap_or(to);
            let mut name = stop - 1;
            while name > from && self.word(name) == "]" {
                while self.word(name) != "[" {
                    name -= 1;
                }
                name -= 1;
            }
            if name > from {
                kind = self.pieces(from, name);
            }
            let rest = self.pieces(name, to);
            let statement = kind.iter().cloned().chain(rest).collect();
            self.push(prefix, statement);
        }
    }

    /// Items of a module or of a generate block.
    fn items(&mut self, prefix: &[Piece], mut at: usize, to: usize) -> Result<()> {
        while at < to {
            let end = match self.word(at) {
                "generate" | "endgenerate" => at + 1,
                "for" | "if" => self.generate(prefix, at)?,
                "else" => {
                    let mut inner = prefix.to_vec();
                    inner.push(Piece::Text("else".into()));
                    match self.word(at + 1) {
                        "if" => self.generate(&inner, at + 1)?,
                        _ => self.block(&inner, at + 1)?,
                    }
                }
                "always" | "always_ff" | "always_comb" | "always_latch" | "initial" => self.process(prefix, at)?,
                "function" => {
                    let end = (at..to).find(|i| self.word(*i) == "endfunction").context("a function has no end")? + 1;
                    self.push(prefix, self.pieces(at, end));
                    end
                }
                _ => self.simple(prefix, at)?,
            };
            at = end;
        }
        Ok(())
    }

    fn generate(&mut self, prefix: &[Piece], at: usize) -> Result<usize> {
        let head = self.after_bracket(at + 1)?;
        let inner: Vec<Piece> = prefix.iter().cloned().chain(self.pieces(at, head)).collect();
        self.block(&inner, head)
    }

    fn block(&mut self, prefix: &[Piece], at: usize) -> Result<usize> {
        if self.word(at) != "begin" {
            let end = self.statement_end(at)?;
            self.items(prefix, at, end)?;
            return Ok(end);
        }
        let end = self.statement_end(at)?;
        let labelled = self.word(at + 1) == ":";
        let inner: Vec<Piece> = match labelled {
            true => prefix.iter().cloned().chain([self.piece(at + 2)]).collect(),
            false => prefix.to_vec(),
        };
        self.items(&inner, if labelled { at + 3 } else { at + 1 }, end - 1)?;
        Ok(end)
    }

    /// The word after a procedural statement (or a generate block) that begins at `at`.
    fn statement_end(&self, at: usize) -> Result<usize> {
        Ok(match self.word(at) {
            "begin" | "case" | "casez" => {
                let mut depth = 0;
                let mut end = at;
                loop {
                    match self.word(end) {
                        "begin" | "case" | "casez" => depth += 1,
                        "end" | "endcase" => depth -= 1,
                        "" => bail!("a block of module `{}` has no end", self.module),
                        _ => {}
                    }
                    end += 1;
                    if depth == 0 {
                        break end;
                    }
                }
            }
            "unique" => self.statement_end(at + 1)?,
            "if" => {
                let end = self.statement_end(self.after_bracket(at + 1)?)?;
                if self.word(end) == "else" {
                    self.statement_end(end + 1)?
                } else {
                    end
                }
            }
            "for" => self.statement_end(self.after_bracket(at + 1)?)?,
            "always" | "always_ff" | "always_comb" | "always_latch" | "initial" => {
                let mut body = at + 1;
                if self.word(body) == "@" {
                    body = self.after_bracket(body + 1)?;
                }
                self.statement_end(body)?
            }
            _ => {
                let end = (at..self.words.len()).find(|index| self.word(*index) == ";");
                end.with_context(|| format!("a statement of module `{}` has no semicolon", self.module))? + 1
            }
        })
    }

    /// A process. The statements of a clocked block are independent if none assigns what another assigns.
    fn process(&mut self, prefix: &[Piece], at: usize) -> Result<usize> {
        let end = self.statement_end(at)?;
        let mut body = at + 1;
        if self.word(body) == "@" {
            body = self.after_bracket(body + 1)?;
        }
        let clocked = (at..body).any(|index| self.word(index) == "posedge");
        let whole = (body, end);
        let parts = if clocked && self.word(body) == "begin" { self.parts(body + 1, end - 1)? } else { vec![whole] };
        let targets: Vec<HashSet<&str>> = parts.iter().map(|(from, to)| self.targets(*from, *to)).collect();
        let distinct: HashSet<&str> = targets.iter().flatten().copied().collect();
        let independent = distinct.len() == targets.iter().map(HashSet::len).sum::<usize>();
        let parts = if independent { parts } else { vec![whole] };
        let head = self.pieces(at, body);
        for (from, to) in parts {
            let pieces = head.iter().cloned().chain(self.pieces(from, to)).collect();
            self.push(prefix, pieces);
        }
        Ok(end)
    }

    fn parts(&self, mut at: usize, to: usize) -> Result<Vec<(usize, usize)>> {
        let mut parts = vec![];
        while at < to {
            let end = self.statement_end(at)?;
            parts.push((at, end));
            at = end;
        }
        Ok(parts)
    }

    /// Names that are assigned in `from..to`: those that begin a statement.
    fn targets(&self, from: usize, to: usize) -> HashSet<&'w str> {
        let begins = |at: usize| at == from || matches!(self.word(at - 1), ";" | "begin" | "end" | ")" | "else" | ":");
        (from..to).filter(|at| begins(*at) && is_identifier(self.word(*at))).map(|at| self.word(at)).collect()
    }

    /// A declaration, an assignment or an instance.
    fn simple(&mut self, prefix: &[Piece], at: usize) -> Result<usize> {
        let end = self.statement_end(at)?;
        let last = end - 1;
        let mut from = at;
        // Attributes `(* .. *)` stay in front of a declaration.
        let mut attributes = prefix.to_vec();
        while self.word(from) == "(" && self.word(from + 1) == "*" {
            let after = self.after_bracket(from)?;
            attributes.extend(self.pieces(from, after));
            from = after;
        }
        let word = self.word(from);
        let is_assign = word == "assign";
        let is_type = matches!(
            word,
            "logic" | "wire" | "reg" | "int" | "integer" | "localparam" | "parameter" | "genvar" | "bit"
        ) || self.word(from + 1) == ":" && self.word(from + 2) == ":";
        if is_assign {
            self.push(prefix, self.pieces(from, last));
        } else if is_type {
            let unused = self.word(from + 1).starts_with("_unused") && self.word(from + 3) == "&";
            if unused {
                for (a, b) in self.list(from + 5, last - 1) {
                    let mut pieces = vec![Piece::Text("unused".into())];
                    pieces.extend(self.pieces(a, b));
                    self.push(prefix, pieces);
                }
            } else {
                self.declarations(&attributes, &self.list(from, last));
            }
        } else {
            self.instance(&attributes, from, last)?;
        }
        Ok(end)
    }

    /// `module #(.P(1)) name (.a, .b(x));`: one statement for the instance and one for each pin.
    fn instance(&mut self, prefix: &[Piece], at: usize, to: usize) -> Result<()> {
        let target = self.word(at).to_owned();
        let mut next = at + 1;
        let mut head = vec![Piece::Text("instance".into()), Piece::Name(Name::Global(target.clone()))];
        let mut lists = vec![];
        if self.word(next) == "#" {
            let end = self.after_bracket(next + 1)?;
            lists.push((next + 2, end - 1));
            next = end;
        }
        let name = self.piece(next);
        if !matches!(name, Piece::Name(_)) {
            bail!("`{target} {}` in module `{}` is not understood", self.word(next), self.module);
        }
        head.push(name.clone());
        let mut open = next + 1;
        while self.word(open) == "[" {
            let end = self.after_bracket(open)?;
            head.extend(self.pieces(open, end));
            open = end;
        }
        lists.push((open + 1, to - 1));
        self.push(prefix, head.clone());
        for (from, to) in lists {
            for (a, b) in self.list(from, to) {
                // `.pin(value)`, or `.pin` for a net of that name.
                let pin = self.word(a + 1).to_owned();
                let mut pieces = head.clone();
                pieces.push(Piece::Name(Name::Local(target.clone(), pin.clone())));
                match self.word(a + 2) {
                    "(" => pieces.extend(self.pieces(a + 3, b - 1)),
                    _ => pieces.push(Piece::Name(Name::Local(self.module.clone(), pin))),
                }
                self.push(prefix, pieces);
            }
        }
        Ok(())
    }
}
