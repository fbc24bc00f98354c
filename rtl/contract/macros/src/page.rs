//! What a declaration of a register page says.

use proc_macro2::Ident;
use quote::format_ident;
use syn::parse::{Parse, ParseStream};
use syn::{braced, bracketed, parenthesized, Error, LitInt, LitStr, Result, Token};

/// A page of registers.
pub struct Page {
    pub module: Ident,
    pub table: Ident,
    pub id: u32,
    pub base: u32,
    pub doc: String,
    pub registers: Vec<Register>,
}

/// Who holds a register, and what an access does; see `registers::Kind`.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Control,
    Stage,
    Commit,
    Counter,
    Tally,
    Status,
    Report,
    Pointer,
    Trigger,
    Window { reads: bool, writes: bool },
}

/// A register.
pub struct Register {
    pub kind: Kind,
    pub name: Ident,
    pub count: u32,
    pub offset: u32,
    pub doc: String,
    pub fields: Vec<Field>,
}

/// Bits of a register.
pub struct Field {
    pub name: Ident,
    pub low: u32,
    pub bits: u32,
    pub reset: u32,
    pub doc: String,
    pub values: Vec<(Ident, u32, String)>,
}

impl Page {
    /// The first part of the names of the page's hardware types: `Packet`.
    pub fn camel(&self) -> String {
        camel(&self.module.to_string())
    }
}

impl Register {
    pub fn reads(&self) -> bool {
        match self.kind {
            Kind::Commit => false,
            Kind::Window { reads, .. } => reads,
            _ => true,
        }
    }

    pub fn writes(&self) -> bool {
        match self.kind {
            Kind::Counter | Kind::Tally | Kind::Status | Kind::Report => false,
            Kind::Window { writes, .. } => writes,
            _ => true,
        }
    }

    pub fn lower(&self) -> String {
        self.name.to_string().to_lowercase()
    }

    /// The type of the register's value: `SpindlePort`.
    pub fn value_type(&self) -> Ident {
        Ident::new(&camel(&self.lower()), self.name.span())
    }

    /// What hardware holds of this register, for each of its words: name, lowest bit, width, reset.
    pub fn parts(&self, word: u32) -> Vec<(Ident, u32, u32, u32)> {
        let suffix = if self.count > 1 { format!("_{word}") } else { String::new() };
        let register = self.lower();
        if self.fields.is_empty() || self.kind == Kind::Report {
            return vec![(format_ident!("{register}{suffix}"), 0, 32, 0)];
        }
        let part = |field: &Field| {
            let name = if field.name == register { register.clone() } else { format!("{register}_{}", field.name) };
            (format_ident!("{name}{suffix}"), field.low, field.bits, field.reset)
        };
        self.fields.iter().map(part).collect()
    }
}

pub fn camel(snake: &str) -> String {
    let upper = |part: &str| part[..1].to_uppercase() + &part[1..];
    snake.split('_').filter(|part| !part.is_empty()).map(upper).collect()
}

fn number(input: ParseStream) -> Result<u32> {
    input.parse::<LitInt>()?.base10_parse()
}

fn word(input: ParseStream, text: &str) -> Result<()> {
    let ident: Ident = input.parse()?;
    if ident == text {
        return Ok(());
    }
    Err(Error::new(
        ident.span(),
        format!("a page begins `name TABLE, id number, at address: \"doc\";`; `{text}` is missing"),
    ))
}

impl Parse for Page {
    fn parse(input: ParseStream) -> Result<Self> {
        let (module, table) = (input.parse()?, input.parse()?);
        input.parse::<Token![,]>()?;
        word(input, "id")?;
        let id = number(input)?;
        input.parse::<Token![,]>()?;
        word(input, "at")?;
        let base = number(input)?;
        input.parse::<Token![:]>()?;
        let doc = input.parse::<LitStr>()?.value();
        input.parse::<Token![;]>()?;
        let mut registers: Vec<Register> = vec![];
        while !input.is_empty() {
            let register: Register = input.parse()?;
            if let Some(before) = registers.last() {
                if register.offset < before.offset + 4 * before.count {
                    let sentence = format!("{} begins inside {}, or before it", register.name, before.name);
                    return Err(Error::new(register.name.span(), sentence));
                }
            }
            registers.push(register);
        }
        Ok(Page { module, table, id, base, doc, registers })
    }
}

impl Parse for Register {
    fn parse(input: ParseStream) -> Result<Self> {
        let kind = input.parse()?;
        let name: Ident = input.parse()?;
        let mut count = 1;
        if input.peek(syn::token::Bracket) {
            let inner;
            bracketed!(inner in input);
            count = number(&inner)?;
        }
        let offset = number(input)?;
        if offset % 4 != 0 || offset + 4 * count > 0x1000 {
            return Err(Error::new(name.span(), format!("{name} is not a word of a page of 4096 bytes")));
        }
        let doc = input.parse::<LitStr>()?.value();
        let mut fields: Vec<Field> = vec![];
        if input.peek(syn::token::Brace) {
            fields = braces(input)?;
        } else {
            input.parse::<Token![;]>()?;
        }
        Ok(Register { kind, name, count, offset, doc, fields })
    }
}

impl Parse for Kind {
    fn parse(input: ParseStream) -> Result<Self> {
        let ident: Ident = input.parse()?;
        Ok(match ident.to_string().as_str() {
            "control" => Kind::Control,
            "stage" => Kind::Stage,
            "commit" => Kind::Commit,
            "counter" => Kind::Counter,
            "tally" => Kind::Tally,
            "status" => Kind::Status,
            "report" => Kind::Report,
            "pointer" => Kind::Pointer,
            "trigger" => Kind::Trigger,
            "window" => {
                let inner;
                parenthesized!(inner in input);
                let access = inner.parse::<Ident>()?.to_string();
                Kind::Window { reads: access != "wo", writes: access != "ro" }
            }
            other => {
                let sentence = format!(
                    "`{other}` is no kind of register; there are control, stage, commit, counter, tally, status, \
                     report, pointer, trigger, window(ro)"
                );
                return Err(Error::new(ident.span(), sentence));
            }
        })
    }
}

impl Parse for Field {
    fn parse(input: ParseStream) -> Result<Self> {
        let name: Ident = input.parse()?;
        let high = number(input)?;
        let low = if input.peek(Token![:]) {
            input.parse::<Token![:]>()?;
            number(input)?
        } else {
            high
        };
        if high > 31 || low > high {
            return Err(Error::new(name.span(), format!("{name} does not lie in 31:0, the higher bit first")));
        }
        let mut reset = 0;
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            reset = number(input)?;
        }
        let bits = high - low + 1;
        if u64::from(reset) >> bits != 0 {
            return Err(Error::new(name.span(), format!("{name} has {bits} bits, too few for {reset}")));
        }
        let doc = if input.peek(LitStr) { input.parse::<LitStr>()?.value() } else { String::new() };
        let mut values = vec![];
        if input.peek(syn::token::Brace) {
            let inner;
            braced!(inner in input);
            while !inner.is_empty() {
                let value = inner.parse::<Ident>()?;
                inner.parse::<Token![=]>()?;
                values.push((value, number(&inner)?, inner.parse::<LitStr>()?.value()));
                if inner.peek(Token![,]) {
                    inner.parse::<Token![,]>()?;
                }
            }
        }
        Ok(Field { name, low, bits, reset, doc, values })
    }
}

/// Words in host memory: name, meaning, fields.
pub struct Words(pub Vec<(Ident, String, Vec<Field>)>);

impl Parse for Words {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut words = vec![];
        while !input.is_empty() {
            let name = input.parse()?;
            let doc = input.parse::<LitStr>()?.value();
            words.push((name, doc, braces(input)?));
        }
        Ok(Words(words))
    }
}

/// Fields in braces.
fn braces(input: ParseStream) -> Result<Vec<Field>> {
    let inner;
    braced!(inner in input);
    let mut fields: Vec<Field> = vec![];
    for field in inner.parse_terminated(Field::parse, Token![;])? {
        let mask = |field: &Field| (u32::MAX >> (32 - field.bits)) << field.low;
        if fields.iter().any(|other| mask(other) & mask(&field) != 0) {
            return Err(Error::new(field.name.span(), format!("{} overlaps another field", field.name)));
        }
        fields.push(field);
    }
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::Page;

    fn refusal(registers: &str) -> String {
        let text = format!("packet PACKET, id 2, at 0x1000: \"doc\"; {registers}");
        syn::parse_str::<Page>(&text).map_or_else(|error| error.to_string(), |_| panic!("accepted: {registers}"))
    }

    #[test]
    fn what_a_page_cannot_be() {
        for (registers, words) in [
            ("counter A 0x102 \"doc\";", "not a word of a page"),
            ("counter A 0x100 \"doc\"; counter B 0x100 \"doc\";", "B begins inside A"),
            ("window(ro) A[2] 0x100 \"doc\"; counter B 0x104 \"doc\";", "B begins inside A"),
            ("memory A 0x100 \"doc\";", "`memory` is no kind of register"),
            ("control A 0x0 \"doc\" { a 3:0; b 4:2 }", "b overlaps another field"),
            ("control A 0x0 \"doc\" { a 0:3 }", "the higher bit first"),
            ("control A 0x0 \"doc\" { a 3:0 = 16 }", "too few for 16"),
        ] {
            let sentence = refusal(registers);
            assert!(sentence.contains(words), "{registers}: {sentence}");
        }
    }
}
