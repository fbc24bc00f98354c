//! The list of residents as text: one line a context or a rule, with tabs between its fields.

use super::{Effect, Placement, Resident, ResidentRule, Residents};
use crate::ContextId;

/// Checksum of a list, not 0: FNV-1a.
pub fn checksum(bytes: &[u8]) -> u32 {
    let sum = bytes.iter().fold(0x811C_9DC5u32, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    sum.max(1)
}

/// The list as text.
pub fn text(residents: &Residents) -> String {
    let contexts = residents.contexts.iter().map(|resident| {
        let Placement { code, state, scratch } = resident.placement;
        let numbers = [code.0, code.1, state.0, state.1, scratch.0, scratch.1];
        let numbers: Vec<_> = numbers.iter().map(usize::to_string).collect();
        let name = resident.name.replace(char::is_control, " ");
        format!("context\t{}\t{}\t{}\t{name}\n", resident.context.0, resident.process, numbers.join("\t"))
    });
    let rules = residents.rules.iter().map(|ResidentRule { rule, effect }| {
        // White space has no meaning in a rule.
        let plain = |text: &str| text.replace(char::is_control, " ");
        let rule = plain(rule);
        match effect {
            Effect::Mailbox => format!("mailbox\t{rule}\n"),
            Effect::Host => format!("host\t{rule}\n"),
            Effect::Packets(context) => format!("packets\t{}\t{rule}\n", context.0),
            Effect::Messages(context) => format!("messages\t{}\t{rule}\n", context.0),
            Effect::Field { context, field, end } => {
                format!("field\t{}\t{}\t{}\t{rule}\n", context.0, plain(field), plain(end))
            }
        }
    });
    contexts.chain(rules).collect()
}

/// The residents of a text, of a card with so many contexts; `None` if the text is no list.
pub fn parse(text: &str, contexts: usize) -> Option<Residents> {
    let mut residents = Residents::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let context = |text: &str| text.parse().ok().filter(|c| *c < contexts).map(ContextId);
        let effect = match fields[..] {
            ["context", number, process, ref rest @ ..] => {
                residents.contexts.push(resident(context(number)?, process.parse().ok()?, rest)?);
                continue;
            }
            ["mailbox", _] => Effect::Mailbox,
            ["host", _] => Effect::Host,
            ["packets", number, _] => Effect::Packets(context(number)?),
            ["messages", number, _] => Effect::Messages(context(number)?),
            ["field", number, field, end, _] => {
                Effect::Field { context: context(number)?, field: field.into(), end: end.into() }
            }
            _ => return None,
        };
        residents.rules.push(ResidentRule { rule: fields[fields.len() - 1].into(), effect });
    }
    Some(residents)
}

fn resident(context: ContextId, process: u8, fields: &[&str]) -> Option<Resident> {
    let [ref numbers @ .., name] = *fields else { return None };
    let numbers: Vec<usize> = numbers.iter().map(|text| text.parse().ok()).collect::<Option<_>>()?;
    let [a, b, c, d, e, f] = numbers[..] else { return None };
    let placement = Placement { code: (a, b), state: (c, d), scratch: (e, f) };
    Some(Resident { context, name: name.into(), process, placement })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn residents() -> Residents {
        let placement = Placement { code: (1024, 512), state: (0, 64), scratch: (40960, 8192) };
        let resident =
            |context, name: &str| Resident { context: ContextId(context), name: name.into(), process: 3, placement };
        let rule = |rule: &str, effect| ResidentRule { rule: rule.into(), effect };
        let field = Effect::Field { context: ContextId(1), field: "udp[10:4]".into(), end: "udp[8] == 1".into() };
        Residents {
            contexts: vec![resident(0, "ping pong.elf"), resident(15, "x")],
            rules: vec![
                rule("udp.dport == 9 || icmp", Effect::Packets(ContextId(0))),
                rule("", Effect::Messages(ContextId(15))),
                rule("udp", field),
                rule("spindle", Effect::Mailbox),
                rule("icmp", Effect::Host),
            ],
            strangers: 0,
        }
    }

    #[test]
    fn a_list_comes_back() {
        let residents = residents();
        assert_eq!(parse(&text(&residents), 16), Some(residents.clone()));
        assert_eq!(parse(&text(&residents), 15), None, "the card has no context 15");
        assert_eq!(parse("", 16), Some(Residents::default()));
    }

    #[test]
    fn control_characters_do_not_break_lines() {
        let mut residents = residents();
        residents.contexts[0].name = "a\nb\tc".into();
        residents.rules[0].rule = "udp\t&&\nicmp".into();
        let back = parse(&text(&residents), 16).unwrap();
        assert_eq!(back.contexts[0].name, "a b c");
        assert_eq!(back.rules[0].rule, "udp && icmp");
    }

    #[test]
    fn other_texts_are_no_lists() {
        for text in [
            "x",
            "context\t1\t0\t1\t2\t3\t4\t5\tname",
            "packets\t0",
            "packets\t-1\tudp",
            "context\t0\t256\t0\t0\t0\t0\t0\t0\tn",
        ] {
            assert_eq!(parse(text, 16), None, "{text}");
        }
    }

    #[test]
    fn checksums_see_every_byte() {
        let bytes = text(&residents()).into_bytes();
        for at in 0..bytes.len() {
            let mut other = bytes.clone();
            other[at] ^= 0x10;
            assert_ne!(checksum(&other), checksum(&bytes), "byte {at}");
        }
    }
}
