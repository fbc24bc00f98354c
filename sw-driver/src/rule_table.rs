//! Match rules in the card: slots for rules, terms and extracted words.
//!
//! The card judges by one set of words, terms and rules while the driver writes the slots of the next one; one write of
//! MATCH_COMMIT makes that one judge, between two frames. So a change of any number of rules takes effect at once.

use crate::rule::{Conjunction, Literal, Rule, Source, Term};
use crate::{Bar, ContextId, Device, Error, HostMemory, Result};
use spindle_contract::descriptors::action;
use spindle_contract::params::{MATCH_TERMS, MATCH_WORDS, WORD_TERMS};
use spindle_contract::registers::{match_source, packet, rule_action};
use spindle_contract::wire::VLAN_BYTES;

/// Cycles within which a commit has happened; it waits for frames that are being received.
const COMMIT_CYCLES: u64 = 100_000;
/// Registers of a rule's positive literals.
const LITERAL_WORDS: usize = 3;

/// What becomes of the frames that a rule wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Dropped and counted.
    Drop,
    /// Handlers of this context run; each frame is a message.
    Context(ContextId),
    /// Handlers of this context run; the Spindle header names the message.
    ContextPerMessage(ContextId),
    /// Placed through the mailbox that the Spindle header names.
    Mailbox,
    /// Handlers run, with everything that a rule can say.
    Deliver(Delivery),
}

/// All that a rule can say of the frames it gives to a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Handlers of this context run.
    pub context: ContextId,
    /// What a message is.
    pub message: Message,
    /// Holds for the last packet of a message.
    pub end: Option<Term>,
    /// The packet also goes to the host.
    pub to_host: bool,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Every packet.
    Packet,
    /// The Spindle header names it.
    SpindleHeader,
    /// This word of the frame names it.
    Field(Source),
}

impl Action {
    /// Value of the register RULE_ACTION, valid.
    ///
    /// # Errors
    /// What the card's message table does not know.
    fn bits(self) -> Result<u32> {
        let not_yet = |what: &str| {
            Err(Error::Argument(format!(
                "the message table of this card knows messages of one packet and Spindle messages, {what}"
            )))
        };
        let context = |context: ContextId, message: u32| (action::CONTEXT, context.0, message);
        let (action, context, message) = match self {
            Action::Drop => (action::DROP, 0, rule_action::PACKET),
            Action::Context(c) => context(c, rule_action::PACKET),
            Action::ContextPerMessage(c) => context(c, rule_action::HEADER),
            Action::Mailbox => (action::MAILBOX, 0, rule_action::HEADER),
            Action::Deliver(Delivery { to_host: true, .. }) => {
                return not_yet("and hands a packet to handlers only; leave `to_host` off and send it from the handler")
            }
            Action::Deliver(Delivery { end: Some(_), .. }) => {
                return not_yet("whose end it finds itself; leave the end test out")
            }
            Action::Deliver(Delivery { message: Message::Field(_), .. }) => {
                return not_yet("none that a field of the frame names; make every packet a message")
            }
            Action::Deliver(Delivery { context: c, message: Message::Packet, .. }) => context(c, rule_action::PACKET),
            Action::Deliver(Delivery { context: c, .. }) => context(c, rule_action::HEADER),
        };
        Ok(rule_action::VALID
            | message << rule_action::MESSAGE_SHIFT
            | (context as u32) << rule_action::CONTEXT_SHIFT
            | u32::from(action) << rule_action::ACTION_SHIFT)
    }
}

/// A rule slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Row {
    positive: u128,
    negative: u128,
    action: u32,
}

/// What is in the slots of the card.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleTable {
    /// By extracted word: where it comes from, and its terms.
    words: Vec<(Source, Vec<Term>)>,
    rows: Vec<Row>,
    slots: usize,
    /// The slots of the card hold exactly this.
    written: bool,
}

impl RuleTable {
    pub(crate) fn new(slots: usize) -> Self {
        RuleTable { slots, ..RuleTable::default() }
    }

    /// Adds a rule behind those that are there. What was in a slot stays there.
    fn add(&mut self, rule: &Rule, action: Action) -> Result<()> {
        let action = action.bits()?;
        let alternatives = rule.alternatives();
        let free = self.slots - self.rows.len();
        if alternatives.len() > free {
            return Err(Error::Full {
                what: "the alternatives of the rule",
                wanted: alternatives.len(),
                free,
                cure: "use fewer rules or `||`",
            });
        }
        for Conjunction { positive, negative } in alternatives {
            let row = Row { positive: self.mask(positive)?, negative: self.mask(negative)?, action };
            self.rows.push(row);
        }
        Ok(())
    }

    fn mask(&mut self, literals: &[Literal]) -> Result<u128> {
        literals.iter().try_fold(0, |mask, literal| {
            let number = match literal {
                Literal::Flag(number) => MATCH_TERMS + number,
                Literal::Term(term) => self.slot(*term)?,
            };
            Ok(mask | 1 << number)
        })
    }

    /// The slot of a term: that of an equal one, else a free one of a word with its source, else of a new word.
    fn slot(&mut self, term: Term) -> Result<usize> {
        for (w, (_, terms)) in self.words.iter().enumerate() {
            if let Some(t) = terms.iter().position(|known| *known == term) {
                return Ok(WORD_TERMS * w + t);
            }
        }
        let free = |(source, terms): &(Source, Vec<Term>)| *source == term.source && terms.len() < WORD_TERMS;
        let w = match self.words.iter().position(free) {
            Some(w) => w,
            None if self.words.len() < MATCH_WORDS => {
                self.words.push((term.source, Vec::new()));
                self.words.len() - 1
            }
            None => return Err(Error::Terms(self.crowd(term.source))),
        };
        self.words[w].1.push(term);
        Ok(WORD_TERMS * w + self.words[w].1.len() - 1)
    }

    /// Says what the words are taken by.
    fn crowd(&self, wanted: Source) -> String {
        let mut sources: Vec<(Source, usize, usize)> = Vec::new();
        for (source, terms) in &self.words {
            match sources.iter_mut().find(|known| known.0 == *source) {
                Some(known) => *known = (*source, known.1 + 1, known.2 + terms.len()),
                None => sources.push((*source, 1, terms.len())),
            }
        }
        sources.sort_by_key(|(_, words, _)| std::cmp::Reverse(*words));
        let part = |(source, words, terms): &(Source, usize, usize)| {
            let plural = |n: usize| if n == 1 { "" } else { "s" };
            format!("{source} {words} word{} ({terms} term{})", plural(*words), plural(*terms))
        };
        format!("{wanted}: taken are {}", sources.iter().map(part).collect::<Vec<_>>().join(", "))
    }
}

impl<B: Bar, M: HostMemory> Device<B, M> {
    /// Adds a rule behind those that are there: the first rule that matches decides.
    ///
    /// # Errors
    /// What the card has no room for, or cannot do; the rules stay as they are.
    pub fn add_rule(&mut self, rule: &Rule, action: Action) -> Result<()> {
        let mut table = self.rules.clone();
        table.add(rule, action)?;
        self.install_rules(table)
    }

    /// Replaces all rules: each frame is judged by the rules of before or by these ones. The first rule that matches decides.
    ///
    /// # Errors
    /// As [`Device::add_rule`].
    pub fn replace_rules<'a>(&mut self, rules: impl IntoIterator<Item = (&'a Rule, Action)>) -> Result<()> {
        let mut table = RuleTable::new(self.rules.slots);
        for (rule, action) in rules {
            table.add(rule, action)?;
        }
        self.install_rules(table)
    }

    /// Removes all rules.
    pub fn clear_rules(&mut self) -> Result<()> {
        self.install_rules(RuleTable::new(self.rules.slots))
    }

    /// Writes the slots that change, or all if it is not known what they hold, and commits.
    fn install_rules(&mut self, mut table: RuleTable) -> Result<()> {
        self.committed()?;
        // Until this is done, nobody knows.
        let known = std::mem::replace(&mut self.rules.written, false);
        let old = if known { self.rules.clone() } else { RuleTable::new(table.slots) };
        for (w, (source, terms)) in table.words.iter().enumerate() {
            let before = old.words.get(w);
            if before.map(|word| word.0) != Some(*source) {
                self.stage(&[(packet::WORD_SOURCE, source_bits(*source)), (packet::WORD_COMMIT, w as u32)])?;
            }
            for (t, term) in terms.iter().enumerate() {
                if before.and_then(|word| word.1.get(t)) != Some(term) {
                    self.stage(&[
                        (packet::TERM_MASK, term.mask),
                        (packet::TERM_LOW, term.low),
                        (packet::TERM_HIGH, term.high),
                        (packet::TERM_COMMIT, (WORD_TERMS * w + t) as u32),
                    ])?;
                }
            }
        }
        for (slot, row) in table.rows.iter().enumerate().filter(|(slot, row)| old.rows.get(*slot) != Some(row)) {
            for i in 0..LITERAL_WORDS {
                let part = |mask: u128| (mask >> (32 * i)) as u32;
                let at = 4 * i as u32;
                self.stage(&[
                    (packet::RULE_POSITIVE + at, part(row.positive)),
                    (packet::RULE_NEGATIVE + at, part(row.negative)),
                ])?;
            }
            self.stage(&[(packet::RULE_ACTION, row.action), (packet::RULE_COMMIT, slot as u32)])?;
        }
        self.stage(&[(packet::RULE_ACTION, 0)])?;
        for slot in table.rows.len()..if known { old.rows.len() } else { table.slots } {
            self.stage(&[(packet::RULE_COMMIT, slot as u32)])?;
        }
        self.stage(&[(packet::MATCH_COMMIT, 1)])?;
        self.committed()?;
        table.written = true;
        self.rules = table;
        Ok(())
    }

    /// Waits until the last commit has happened.
    fn committed(&mut self) -> Result<()> {
        let start = self.cycle()?;
        while self.bar.read32(packet::BASE + packet::MATCH_COMMIT)? != 0 {
            if self.cycle()? - start > COMMIT_CYCLES {
                return Err(Error::Timeout { what: "the commit of the match rules".into(), cycles: COMMIT_CYCLES });
            }
        }
        Ok(())
    }

    fn stage(&mut self, writes: &[(u32, u32)]) -> Result<()> {
        writes.iter().try_for_each(|(register, value)| self.bar.write32(packet::BASE + register, *value))
    }
}

/// Value of WORD_SOURCE.
fn source_bits(source: Source) -> u32 {
    match source {
        Source::Length => match_source::length(),
        Source::Frame { offset, behind_tag } => {
            match_source::word(offset, offset + if behind_tag { VLAN_BYTES } else { 0 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(table: &mut RuleTable, text: &str) -> Result<()> {
        table.add(&text.parse().unwrap(), Action::Drop)
    }

    fn terms(table: &RuleTable) -> Vec<usize> {
        table.words.iter().map(|word| word.1.len()).collect()
    }

    #[test]
    fn terms_are_shared() {
        let mut table = RuleTable::new(64);
        add(&mut table, "udp.dport == 9 && ip.src in 10.0.0.0/8").unwrap();
        assert_eq!(terms(&table), [1, 1]);
        add(&mut table, "udp.dport == 10 && ip.src in 10.0.0.0/8 && udp.sport == 9").unwrap();
        assert_eq!(terms(&table), [1, 3]);
        assert_eq!(table.rows[0].positive & table.rows[1].positive, 1 << 81 | 1 << 82 | 1);
    }

    #[test]
    fn flags_take_no_term() {
        let mut table = RuleTable::new(64);
        add(&mut table, "udp || !vlan && icmp || spindle && ipv4").unwrap();
        assert_eq!(terms(&table), []);
        assert_eq!((table.rows[1].positive, table.rows[1].negative), (1 << 83, 1 << 80));
    }

    #[test]
    fn a_popular_word_is_extracted_several_times() {
        let mut table = RuleTable::new(64);
        for port in 0..64 {
            add(&mut table, &format!("udp.dport == {port}")).unwrap();
        }
        assert_eq!(table.words.len(), 13);
        for offset in [44, 48, 52] {
            add(&mut RuleTable { rows: vec![], ..table.clone() }, &format!("eth[{offset}:4] == 1")).unwrap();
        }
        table.rows.clear();
        let error = add(&mut table, "ip.src == 1.2.3.4 && ip.dst == 1.2.3.4 && frame.len < 100 && vlan.id == 4");
        let text = error.unwrap_err().to_string();
        for part in ["16 words", "`vlan.id`", "13 words (64 terms)", "`udp.dport`", "`ip.src` 1 word (1 term)"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    /// The bound of the rule language's page: 16 words with up to five terms each.
    #[test]
    fn sixteen_words_of_five_terms_fit() {
        let mut table = RuleTable::new(64);
        for word in 0..16 {
            let tests: Vec<String> = (0..5).map(|i| format!("eth[{}:4] != {i}", 4 * word)).collect();
            add(&mut table, &tests.join(" && ")).unwrap();
        }
        assert_eq!(terms(&table), [5; 16]);
        assert!(add(&mut table, "eth[2:4] == 1").is_err());
    }

    #[test]
    fn what_the_message_table_does_not_know_is_refused() {
        let plain = Delivery { context: ContextId(1), message: Message::Packet, end: None, to_host: false };
        let end = Term { source: Source::Length, mask: u32::MAX, low: 0, high: 64 };
        let try_it = |delivery| RuleTable::new(8).add(&Rule::any(), Action::Deliver(delivery));
        try_it(plain).unwrap();
        try_it(Delivery { message: Message::SpindleHeader, ..plain }).unwrap();
        for (delivery, words) in [
            (Delivery { message: Message::Field(Source::Length), ..plain }, "field of the frame"),
            (Delivery { end: Some(end), ..plain }, "end test"),
            (Delivery { to_host: true, ..plain }, "to_host"),
        ] {
            let error = try_it(delivery).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
