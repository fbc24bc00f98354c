//! Match rules in the card: slots for rules, terms and extracted words.
//!
//! The card judges by one set of words, terms and rules while the driver writes the slots of the next one; one write of
//! MATCH_COMMIT makes that one judge, between two frames. So a change of any number of rules takes effect at once.

use crate::rule::{Conjunction, Literal, Rule, Source, Term};
use crate::rvma::Window;
use crate::{Bar, ContextId, Device, Error, HostMemory, Result};
use spindle_contract::descriptors::action;
use spindle_contract::params::{MATCH_TERMS, MATCH_WORDS, MAX_CONTEXTS, MESSAGE_WORDS, WORD_TERMS};
use spindle_contract::registers::packet::{self, RuleAction, WordSource};
use spindle_contract::wire::VLAN_BYTES;

/// Cycles within which a commit has happened; it waits for frames that are being received.
const COMMIT_CYCLES: u64 = 100_000;
/// Registers of a rule's positive literals.
const LITERAL_WORDS: usize = 3;

/// Treatment of the frames that match a rule.
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
    /// The whole frame goes to the host: see [`frames`](crate::frames).
    Host,
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
    /// Holds for the last packet of a message that a field names; the packets of such a message must come in order.
    pub end: Option<Term>,
    /// The packet also goes to the host, through the mailbox that its header names.
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
    /// Sources of words that name messages: the last extracted word, the one before it, and so on.
    fields: Vec<Source>,
    rows: Vec<Row>,
    /// By row: number of its rule among all that were added.
    owners: Vec<usize>,
    /// Rules that were added.
    added: usize,
    /// Rules of windows whose messages handlers run on; they come first.
    ahead: Vec<(Window, Rule, Action)>,
    /// All others.
    given: Vec<(Rule, Action)>,
    slots: usize,
    /// The slots of the card hold exactly this.
    written: bool,
}

impl RuleTable {
    pub(crate) fn new(slots: usize) -> Self {
        RuleTable { slots, ..RuleTable::default() }
    }

    /// A table of these rules.
    fn of(slots: usize, ahead: Vec<(Window, Rule, Action)>, given: Vec<(Rule, Action)>) -> Result<Self> {
        let mut table = RuleTable::new(slots);
        for (rule, action) in
            ahead.iter().map(|(_, rule, action)| (rule, action)).chain(given.iter().map(|g| (&g.0, &g.1)))
        {
            table.add(rule, *action)?;
        }
        Ok(RuleTable { ahead, given, ..table })
    }

    /// Appends a rule. The contents of the other slots stay.
    fn add(&mut self, rule: &Rule, action: Action) -> Result<()> {
        let action = self.bits(action)?.0;
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
            self.owners.push(self.added);
        }
        self.added += 1;
        Ok(())
    }

    /// Value of the register RULE_ACTION, valid.
    fn bits(&mut self, action: Action) -> Result<RuleAction> {
        let rule = |action: u8, message: u32| {
            RuleAction::ZERO.with_valid(true).with_action(action.into()).with_message(message)
        };
        let context = |context: ContextId, message: u32| match context.0 {
            number @ 0..MAX_CONTEXTS => Ok(rule(action::CONTEXT, message).with_context(number as u32)),
            number => Err(Error::Argument(format!("there is no context {number}; a card has at most {MAX_CONTEXTS}"))),
        };
        Ok(match action {
            Action::Drop => rule(action::DROP, RuleAction::MESSAGE_PACKET),
            Action::Context(c) => context(c, RuleAction::MESSAGE_PACKET)?,
            Action::ContextPerMessage(c) => context(c, RuleAction::MESSAGE_HEADER)?,
            Action::Mailbox => rule(action::MAILBOX, RuleAction::MESSAGE_HEADER),
            Action::Host => rule(action::HOST, RuleAction::MESSAGE_PACKET),
            Action::Deliver(delivery) => {
                let to_context = context(delivery.context, RuleAction::MESSAGE_PACKET)?;
                let message = self.delivery(delivery)?;
                message.with_valid(true).with_action(to_context.action()).with_context(to_context.context())
            }
        })
    }

    /// The given rule that has this slot.
    fn rule_of(&self, slot: usize) -> Option<usize> {
        self.owners.get(slot)?.checked_sub(self.ahead.len())
    }

    /// The fields of RULE_ACTION that concern messages.
    fn delivery(&mut self, delivery: Delivery) -> Result<RuleAction> {
        let wrong = |words: &str| Err(Error::Argument(words.into()));
        let action = RuleAction::ZERO.with_to_host(delivery.to_host);
        Ok(match (delivery.message, delivery.end) {
            (Message::Packet, None) => action.with_message(RuleAction::MESSAGE_PACKET),
            (Message::SpindleHeader, None) => action.with_message(RuleAction::MESSAGE_HEADER),
            (Message::Field(_), None) => {
                return wrong("a message that a field names has no length, so the rule has to name an end test")
            }
            (Message::Field(source), Some(end)) => {
                let word = self.field(source)? - (MATCH_WORDS - MESSAGE_WORDS);
                let term = self.slot(end)?;
                action
                    .with_message(RuleAction::MESSAGE_FIELD)
                    .with_message_word(word as u32)
                    .with_end_term(term as u32)
                    .with_has_end(true)
            }
            _ => {
                return wrong("an end test is for messages that a field names; leave it out, the others have a length")
            }
        })
    }

    /// The extracted word that names messages by this source.
    fn field(&mut self, source: Source) -> Result<usize> {
        let known = self.fields.iter().position(|field| *field == source);
        let index = match known {
            Some(index) => index,
            None if self.fields.len() < MESSAGE_WORDS && self.words.len() + self.fields.len() < MATCH_WORDS => {
                self.fields.push(source);
                self.fields.len() - 1
            }
            None => return Err(Error::Terms(self.crowd(source))),
        };
        Ok(MATCH_WORDS - 1 - index)
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
            None if self.words.len() + self.fields.len() < MATCH_WORDS => {
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
        let named = self.fields.iter().map(|source| (*source, 0));
        for (source, terms) in self.words.iter().map(|(source, terms)| (*source, terms.len())).chain(named) {
            match sources.iter_mut().find(|known| known.0 == source) {
                Some(known) => *known = (source, known.1 + 1, known.2 + terms),
                None => sources.push((source, 1, terms)),
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
    /// Appends a rule: the first rule that matches decides.
    ///
    /// # Errors
    /// What the card has no room for, or cannot do; the rules stay as they are.
    pub fn add_rule(&mut self, rule: &Rule, action: Action) -> Result<()> {
        let mut table = self.rules.clone();
        table.add(rule, action)?;
        table.given.push((rule.clone(), action));
        self.install_rules(table)
    }

    /// Replaces all rules but those of windows: each frame is judged by the rules of before or by these ones. The
    /// first rule that matches decides.
    ///
    /// # Errors
    /// As [`Device::add_rule`].
    pub fn replace_rules<'a>(&mut self, rules: impl IntoIterator<Item = (&'a Rule, Action)>) -> Result<()> {
        let given = rules.into_iter().map(|(rule, action)| (rule.clone(), action)).collect();
        self.install_rules(RuleTable::of(self.rules.slots, self.rules.ahead.clone(), given)?)
    }

    /// Index of the rule that has this slot of the header matcher, in the order of [`Device::add_rule`]: a rule has a
    /// slot for each alternative of `||`. `None` for the rule of a window and for an empty slot.
    pub fn rule_of_slot(&self, slot: usize) -> Option<usize> {
        self.rules.rule_of(slot)
    }

    /// Removes all rules but those of windows.
    pub fn clear_rules(&mut self) -> Result<()> {
        self.replace_rules([])
    }

    /// Has handlers of a context run on what is sent to a window, before any other rule is asked.
    pub(crate) fn add_window_rule(&mut self, window: Window, address: u64, context: ContextId) -> Result<()> {
        let text = format!(
            "spindle.addr_lo == {} && spindle.addr_hi == {} && spindle.dst_pid == {}",
            address as u32,
            address >> 32,
            window.process
        );
        let mut ahead = self.rules.ahead.clone();
        ahead.push((window, text.parse()?, Action::ContextPerMessage(context)));
        self.install_rules(RuleTable::of(self.rules.slots, ahead, self.rules.given.clone())?)
    }

    /// Removes the rule of a window, if it has one.
    pub(crate) fn remove_window_rule(&mut self, window: Window) -> Result<()> {
        let mut ahead = self.rules.ahead.clone();
        ahead.retain(|rule| rule.0 != window);
        if ahead.len() == self.rules.ahead.len() {
            return Ok(());
        }
        self.install_rules(RuleTable::of(self.rules.slots, ahead, self.rules.given.clone())?)
    }

    /// Writes the slots that change, or all if it is not known what they hold, and commits.
    fn install_rules(&mut self, mut table: RuleTable) -> Result<()> {
        self.committed()?;
        // Until this is done, the contents of the slots are unknown.
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
        for (i, source) in table.fields.iter().enumerate().filter(|(i, source)| old.fields.get(*i) != Some(source)) {
            let word = (MATCH_WORDS - 1 - i) as u32;
            self.stage(&[(packet::WORD_SOURCE, source_bits(*source)), (packet::WORD_COMMIT, word)])?;
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
        let mut patience = self.patience(COMMIT_CYCLES)?;
        while self.bar.read32(packet::BASE + packet::MATCH_COMMIT)? != 0 {
            if self.is_over(&mut patience)? {
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
        Source::Length => WordSource::length().0,
        Source::Frame { offset, behind_tag } => {
            WordSource::word(offset, offset + if behind_tag { VLAN_BYTES } else { 0 }).0
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
    fn a_slot_leads_to_its_rule() {
        let window = Window { process: 0, mailbox: 0 };
        let rule = |text: &str| (text.parse::<Rule>().unwrap(), Action::Drop);
        let given = vec![rule("udp.dport == 1 || udp.dport == 2"), rule("icmp")];
        let (of_window, action) = rule("udp || icmp");
        let table = RuleTable::of(8, vec![(window, of_window, action)], given).unwrap();
        let rules: Vec<_> = (0..8).map(|slot| table.rule_of(slot)).collect();
        assert_eq!(rules, [None, None, Some(0), Some(0), Some(1), None, None, None]);
    }

    #[test]
    fn flags_take_no_term() {
        let mut table = RuleTable::new(64);
        add(&mut table, "udp || !vlan && icmp || spindle && ipv4").unwrap();
        assert!(terms(&table).is_empty());
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
    fn terms_leave_the_words_that_name_messages() {
        let mut table = RuleTable::new(64);
        let end = Some(Term { source: Source::Length, mask: u32::MAX, low: 0, high: 64 });
        for offset in [42, 46] {
            let message = Message::Field(Source::Frame { offset, behind_tag: true });
            let delivery = Delivery { context: ContextId(1), message, end, to_host: false };
            table.add(&Rule::any(), Action::Deliver(delivery)).unwrap();
        }
        // Two words name messages, one has the end test: thirteen are left.
        for word in 0..13 {
            add(&mut table, &format!("eth[{}:4] == 1", 4 * word)).unwrap();
        }
        let error = add(&mut table, "eth[52:4] == 1").unwrap_err();
        assert!(matches!(error, Error::Terms(_)), "{error}");
        assert_eq!(table.words.len() + table.fields.len(), MATCH_WORDS);
    }

    #[test]
    fn deliveries_say_what_a_message_is() {
        let plain = Delivery { context: ContextId(1), message: Message::Packet, end: None, to_host: false };
        let end = Term { source: Source::Length, mask: u32::MAX, low: 0, high: 64 };
        let id = Source::Frame { offset: 42, behind_tag: true };
        let mut table = RuleTable::new(8);
        let mut add =
            |delivery| table.add(&Rule::any(), Action::Deliver(delivery)).map(|()| table.rows.last().unwrap().action);
        let base = RuleAction::ZERO.with_valid(true).with_context(1).with_action(RuleAction::ACTION_CONTEXT);
        assert_eq!(add(plain).unwrap(), base.0);
        assert_eq!(add(Delivery { to_host: true, ..plain }).unwrap(), base.with_to_host(true).0);
        let header = add(Delivery { message: Message::SpindleHeader, ..plain }).unwrap();
        assert_eq!(header, base.with_message(RuleAction::MESSAGE_HEADER).0);
        let field = Delivery { message: Message::Field(id), end: Some(end), ..plain };
        // The last of the extracted words names the message; the first term, of the first word, ends it.
        let named = |word: usize| {
            base.with_message(RuleAction::MESSAGE_FIELD).with_message_word(word as u32).with_has_end(true).0
        };
        assert_eq!(add(field).unwrap(), named(MESSAGE_WORDS - 1));
        let other = Delivery { message: Message::Field(Source::Length), ..field };
        assert_eq!(add(other).unwrap(), named(MESSAGE_WORDS - 2));
        assert_eq!(add(field).unwrap(), named(MESSAGE_WORDS - 1), "equal sources share a word");
        for (delivery, words) in
            [(Delivery { end: None, ..field }, "end test"), (Delivery { end: Some(end), ..plain }, "end test is for")]
        {
            let error = add(delivery).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert_eq!((table.words.len(), table.fields.len()), (1, 2));
    }

    #[test]
    fn a_word_that_names_messages_is_one_of_sixteen() {
        let mut table = RuleTable::new(64);
        for word in 0..15 {
            add(&mut table, &format!("eth[{}:4] == 1", 4 * word)).unwrap();
        }
        let end = Some(table.words[0].1[0]);
        let mut deliver = |offset: usize| {
            let message = Message::Field(Source::Frame { offset, behind_tag: true });
            let delivery = Delivery { context: ContextId(1), message, end, to_host: false };
            table.add(&Rule::any(), Action::Deliver(delivery))
        };
        deliver(42).unwrap();
        deliver(42).unwrap();
        let error = deliver(46).unwrap_err();
        assert!(matches!(error, Error::Terms(_)), "{error}");
        assert_eq!((table.words.len(), table.fields.len()), (15, 1));
    }

    #[test]
    fn a_set_of_rules_gives_the_same_table_as_its_rules_one_by_one() {
        let window = Window { process: 1, mailbox: 2 };
        let rule = |text: &str| text.parse::<Rule>().unwrap();
        let ahead = vec![(window, rule("udp.dport == 1"), Action::Drop)];
        let given = vec![(rule("udp.dport == 1 || icmp"), Action::Host), (rule("vlan"), Action::Mailbox)];
        let table = RuleTable::of(8, ahead.clone(), given.clone()).unwrap();
        assert_eq!((table.added, &table.owners[..], table.slots, table.written), (3, &[0, 1, 1, 2][..], 8, false));
        assert_eq!(terms(&table), [1]);
        assert_eq!((&table.ahead, &table.given), (&ahead, &given));
        match RuleTable::of(3, ahead, given).unwrap_err() {
            Error::Full { wanted: 1, free: 0, .. } => {}
            other => panic!("{other}"),
        }
    }
}
