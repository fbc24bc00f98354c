//! Calls of the driver with any arguments, and what the card writes into host memory between them.

use crate::card::Hostile;
use spindle::congestion::Congestion;
use spindle::image::ENTRY_SYMBOLS;
use spindle::put::{Kind, Reply, Target};
use spindle::reliable::Reliability;
use spindle::resident::{Effect, ResidentRule};
use spindle::rule_table::Action;
use spindle::rvma::{Posted, Window};
use spindle::window::{Counting, WindowOptions};
use spindle::{
    Access, CommandRing, ContextId, ContextOptions, Device, EventRing, FrameOptions, Frames, Image, InterruptOptions,
    Node, Rule, Stock,
};
use spindle_contract::events::{self, Head, BYTES};
use spindle_contract::memory_map::{base, CODE};
use spindle_contract::params::MAX_FRAME;
use spindle_contract::wire;

type Card<'c, 's, 'a, 'b> = &'c Hostile<'s, 'a, 'b>;

/// What calls have returned, for the next ones.
#[derive(Default)]
pub struct Calls {
    /// A ring, where its records lie, how many there are, and how many the card has written.
    ring: Option<(EventRing, u64, usize, u32)>,
    commands: Option<CommandRing>,
    /// Its event ring, likewise.
    frames: Option<(Frames, u64, u32)>,
    stock: Option<Stock>,
    windows: Vec<Window>,
    posted: Vec<Posted>,
    contexts: Vec<ContextId>,
}

/// Records of the event ring that frames come through.
const FRAME_EVENTS: u32 = 1024;

impl Calls {
    /// One call. What it returns is an error or what a caller can use.
    pub fn one(&mut self, device: &mut Device<Card, Card>, card: Card) {
        let word = || card.source.borrow_mut().word();
        let number = || card.source.borrow_mut().number();
        let below = |limit: usize| card.source.borrow_mut().below(limit);
        let process = if below(8) == 0 { number() as usize } else { below(4) };
        let window = match self.windows.last() {
            Some(window) if below(8) > 0 => *window,
            _ => Window { process, mailbox: word() },
        };
        let context = match self.contexts.last() {
            Some(context) if below(8) > 0 => *context,
            _ => ContextId(number() as usize),
        };
        let cycles = [0, 1000, 1 << 20][below(3)];
        match below(52) {
            0 => drop(device.stats()),
            1 => drop(device.counters()),
            2 => drop(device.context_counters(context)),
            3 => drop(device.hpu_load()),
            4 => drop(device.pop_fault().map(|fault| fault.map(|fault| (fault.cause_text(), fault.kind_text())))),
            5 => {
                if let Ok(prints) = device.prints() {
                    assert!(prints.len() <= 1 << 16, "{} pieces of text", prints.len());
                }
            }
            6 => drop(device.shell().map(|shell| shell.map(|shell| (shell.board().is_some(), shell.configuration())))),
            7 => drop(spindle::device::block_list(&mut device.bar)),
            8 => drop(device.start_trace(word())),
            9 => drop(device.trace()),
            10 => drop(device.trace_since(word())),
            11 => {
                let records = [2, 4, 64, 0, 3, 1 << 16][below(6)];
                if let Ok(ring) = device.open_ring(process, records) {
                    let (start, _) = *card.allocations.borrow().last().expect("a ring is memory");
                    self.ring = Some((ring, start, records, 0));
                }
            }
            12..=14 => {
                if let Some((ring, start, records, written)) = &mut self.ring {
                    let at = *start + u64::from(*written % *records as u32) * BYTES as u64;
                    *written += 1;
                    card.store(at, &event(card, *written));
                    drop(device.poll_event(ring));
                }
            }
            15 => {
                if let Some((ring, ..)) = &mut self.ring {
                    drop(device.wait_event(ring, cycles));
                    drop(device.arm(ring));
                }
            }
            16 => {
                if let Some((ring, ..)) = self.ring.take() {
                    drop(device.close_ring(ring));
                }
            }
            17 => self.commands = device.open_commands(process, [2, 4, 64, 5][below(4)]).ok(),
            18..=21 => self.command(device, card, window),
            22 => {
                if let Ok(frames) = device.open_frames(process, below(4), [0, 64, 2 * 9216, 1 << 20][below(4)]) {
                    let start = card
                        .allocations
                        .borrow()
                        .iter()
                        .rev()
                        .find(|(_, bytes)| *bytes == FRAME_EVENTS as usize * BYTES)
                        .expect("frames have a ring of events")
                        .0;
                    self.frames = Some((frames, start, 0));
                }
            }
            23..=27 => self.frame(device, card),
            28 => {
                if let Some((frames, ..)) = self.frames.take() {
                    drop(device.close_frames(frames));
                }
            }
            29 | 30 => {
                let options = WindowOptions {
                    address: number(),
                    key: word(),
                    threshold: word(),
                    counting: [Counting::Bytes, Counting::Operations][below(2)],
                    tagged: below(2) == 0,
                    managed: below(2) == 0,
                    silent: below(2) == 0,
                    spills: below(4) == 0,
                    catch_all: below(4) == 0,
                    event: below(2) == 0,
                    frames: below(8) == 0,
                    context: (below(4) == 0).then_some(context),
                };
                self.windows.extend(device.open_window(process, &options));
            }
            31 => drop(device.close_window(window)),
            32 => drop((device.inc_epoch(window), device.epoch(window))),
            33 => drop((device.completed_buffer(window, word()), device.rewind(window, word()))),
            34 => {
                let size = [0, 1, 64, 4096][below(4)];
                self.posted.extend(device.post_buffer(window, size));
            }
            35 => {
                if let Some(posted) = self.posted.last() {
                    let record: [u8; wire::RECORD_BYTES] = std::array::from_fn(|_| card.source.borrow_mut().byte());
                    card.store(posted.record, &record);
                    drop((device.poll(posted), device.wait(posted, cycles)));
                }
            }
            36 => {
                let posted = Posted { buffer: number(), size: word(), record: number() };
                if let Ok(map) = device.post_mapped(window, posted, word()) {
                    if let Ok(received) = device.read_map(&map) {
                        received.begins_at(word());
                        let (offset, length) = (word(), word() % (1 << 20));
                        let missing = received.missing(offset, length, 1 + word() % 9000);
                        assert!(missing.iter().all(|part| part.start <= part.end));
                    }
                    drop(device.free_map(map));
                }
            }
            37 => {
                let target = target(card);
                if let Ok(put) = device.put(process, number(), word(), &target) {
                    drop((device.put_is_over(&put), device.wait_put(&put, cycles)));
                }
            }
            38 => {
                let reply = Reply { address: number(), key: word(), offset: word() };
                drop(device.get(process, word(), &target(card), &reply));
                drop(device.get_active(process, word(), &target(card), &reply));
            }
            39 => drop((device.failed_puts(), device.puts(), device.responses(), device.last_refusal())),
            40 => {
                let node = Node { mac: [2, 0, 0, 0, 0, word() as u8], ip: word().to_be_bytes(), port: word() as u16 };
                drop(device.set_node(number() as usize, (below(2) == 0).then_some(node)));
                drop((device.set_identity(word(), node.mac, node.ip), device.own_addresses()));
            }
            41 => drop(device.peer(word() as u8)),
            42 => {
                let (timeout, hole_time) = (word() as u16, word() as u16);
                let reliability = Reliability { timeout, hole_time, retries: word() as u8, incarnation: word() };
                drop(device.set_reliability((below(2) == 0).then_some(reliability)));
                drop((device.sends_reliably(), device.set_put_limit(Some(number())), device.segments_resent()));
                drop(device.set_put_turns(word() as u8));
                let congestion = Congestion {
                    shrink: number() as u8,
                    least: number() as u16,
                    first: number() as u16,
                    most: number() as u16,
                };
                drop((device.set_congestion_control(Some(congestion)), device.obeys_marks()));
            }
            43 => {
                let options = InterruptOptions { events: word() as u8, cycles: number() };
                drop(device.set_interrupt(process, (below(2) == 0).then_some(options)));
                drop((device.set_vector(process, number() as usize), device.set_card_interrupt(true, false)));
            }
            44 => {
                let range = number()..number();
                let access = [Access::Read, Access::Write, Access::ReadWrite][below(3)];
                let _ = device.register_region(process, range.clone(), access);
                drop(device.confine(process));
                device.trusts(process);
                drop((device.deregister_region(process, &range, access), device.forget_regions(process)));
            }
            45 | 46 => {
                let options = options(card, process);
                let image = image(card);
                if below(2) == 0 {
                    self.contexts.extend(device.install(&image, &options));
                } else {
                    let rule = |context| vec![ResidentRule { rule: "udp".into(), effect: Effect::Packets(context) }];
                    self.contexts.extend(device.load_resident("name", &image, &options, rule));
                }
            }
            47 => {
                drop((device.activate(context), device.live_messages(context), device.deactivate(context)));
                drop((device.remove(context), device.stop_resident(context), device.remove_resident(context)));
            }
            48 => {
                let mut bytes = vec![0; below(300)];
                drop((
                    device.read_state(context, number() as usize, &mut bytes),
                    device.write_state(context, number() as usize, &bytes),
                ));
            }
            49 => self.rules(device, card, context),
            50 => {
                if below(64) == 0 {
                    drop(device.reset());
                }
                drop((device.set_receive(true), device.receives(), device.set_message_timeout(number())));
            }
            _ => {
                if self.stock.is_none() {
                    self.stock = device.stock(window, below(4), 100).ok();
                }
                if let Some(stock) = &mut self.stock {
                    if let Ok(Some((posted, _))) = device.arrived(stock) {
                        assert!(stock.give(posted.buffer));
                    }
                    drop(device.restock(window, stock));
                }
            }
        }
    }

    fn command(&mut self, device: &mut Device<Card, Card>, card: Card, window: Window) {
        let word = || card.source.borrow_mut().word();
        let number = || card.source.borrow_mut().number();
        let below = |limit: usize| card.source.borrow_mut().below(limit);
        let Some(ring) = &mut self.commands else { return };
        match below(6) {
            0 => {
                let buffer = Posted { buffer: number(), size: word(), record: number() };
                let posted = device.post_many(ring, window, &vec![buffer; below(5)]);
                assert!(posted.is_err() || posted.is_ok_and(|posted| posted <= 4));
            }
            1 => drop(device.add_put(ring, number(), word(), &target(card), word() as u16)),
            2 => {
                let reply = Reply { address: number(), key: word(), offset: word() };
                drop(device.add_get(ring, word(), &target(card), &reply, below(2) == 0, word() as u16));
            }
            3 => {
                let options = FrameOptions {
                    cookie: word() as u16,
                    event: below(2) == 0,
                    checksum: (below(2) == 0).then(|| (word() as u16, word() as u16)),
                };
                drop(device.add_frame(ring, number(), word(), options));
            }
            4 => drop((device.write_commands(ring), device.posts_left(ring))),
            _ => drop((device.command_room(ring, below(100)), device.wait_posts(ring, 1000))),
        }
    }

    fn frame(&mut self, device: &mut Device<Card, Card>, card: Card) {
        let word = || card.source.borrow_mut().word();
        let below = |limit: usize| card.source.borrow_mut().below(limit);
        let Some((frames, start, written)) = &mut self.frames else { return };
        match below(4) {
            0 => {
                let bytes = vec![7; below(100)];
                let checksum = (below(2) == 0).then(|| (word() as u16, word() as u16));
                drop(device.send_frame(frames, &bytes, checksum));
            }
            1 => drop(device.frames_to_host((below(2) == 0).then(|| frames.window()), below(2) == 0)),
            _ => {
                let at = *start + u64::from(*written % FRAME_EVENTS) * BYTES as u64;
                *written += 1;
                card.store(at, &event(card, *written));
                if below(2) == 0 {
                    if let Some((record, _)) = card.allocations.borrow().iter().find(|(_, bytes)| *bytes == 16) {
                        card.store(*record, &std::array::from_fn::<u8, 16, _>(|_| card.source.borrow_mut().byte()));
                    }
                }
                if let Ok(Some(frame)) = device.receive_frame(frames) {
                    assert!(frame.bytes.len() <= MAX_FRAME, "a frame of {} bytes", frame.bytes.len());
                }
            }
        }
    }

    fn rules(&mut self, device: &mut Device<Card, Card>, card: Card, context: ContextId) {
        let below = |limit: usize| card.source.borrow_mut().below(limit);
        let texts = [
            "udp",
            "udp.dport == 9 || icmp",
            "ip.src in 10.0.0.0/8 && eth[8:4] == 3",
            "",
            "nonsense",
            "!udp && spindle",
        ];
        let effects = [Effect::Mailbox, Effect::Host, Effect::Packets(context), Effect::Messages(context)];
        let rule = ResidentRule { rule: texts[below(texts.len())].into(), effect: effects[below(4)].clone() };
        match below(5) {
            0 => drop(device.add_resident_rule(rule)),
            1 => drop(device.put_resident_rules_first(&[rule])),
            2 => drop(device.remove_resident_rules(&[rule])),
            3 => {
                if let Ok(parsed) = rule.rule.parse::<Rule>() {
                    drop(device.add_rule(&parsed, Action::Context(context)));
                    device.rule_of_slot(below(200));
                }
            }
            _ => drop(device.clear_rules()),
        }
        drop((device.residents().len(), device.resident_rules().len(), device.strangers()));
    }
}

/// A record that the card writes, of any kind, with this number.
fn event(card: Card, number: u32) -> [u8; BYTES] {
    let source = &mut **card.source.borrow_mut();
    let mut words: [u32; BYTES / 4] = std::array::from_fn(|_| source.word());
    let kind = *source.pick(&[events::FRAME, events::SENT, events::LOST, events::PRINT, events::PUT, events::FAULT]);
    words[events::WORD_KIND] = Head(words[events::WORD_KIND]).with_kind(kind.into()).0;
    words[events::WORD_SEQUENCE] = number;
    if source.chance(2) {
        // A frame of the right length where a buffer lies.
        let of_card = card.allocations.borrow();
        let (at, _) = of_card[source.below(of_card.len())];
        words[events::WORD_LENGTH] = source.below(2000) as u32;
        words[events::WORD_USER] = at as u32;
        words[events::WORD_USER + 1] = (at >> 32) as u32;
    }
    let mut record = [0; BYTES];
    for (bytes, word) in record.chunks_exact_mut(4).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    record
}

fn target(card: Card) -> Target {
    let source = &mut **card.source.borrow_mut();
    let ordinal = source.word() as u16;
    Target {
        node: source.byte(),
        process: source.word() as u16,
        address: source.number(),
        key: source.word(),
        offset: source.word(),
        kind: *source.pick(&[Kind::Bound, Kind::Tagged(ordinal), Kind::Managed, Kind::Ordered(ordinal)]),
    }
}

fn image(card: Card) -> Image {
    let source = &mut **card.source.borrow_mut();
    let (code, state) = (source.below(3000), source.below(3000));
    let entries = ENTRY_SYMBOLS.map(|_| source.chance(2).then_some(base(CODE)));
    Image { code: vec![0x13; code], state: vec![1; state], entries, ..Image::default() }
}

fn options(card: Card, process: usize) -> ContextOptions {
    let source = &mut **card.source.borrow_mut();
    let default = ContextOptions { process: process as u8, ..ContextOptions::default() };
    match source.below(8) {
        0 => ContextOptions { watchdog: source.word(), ..default },
        1 => ContextOptions { state_bytes: source.number() as usize & 0xFF_FFFF, ..default },
        2 => ContextOptions { scratch_bytes: Some(source.number() as usize), ..default },
        3 => ContextOptions { weight: source.byte(), message_quota: source.word() as u16, ..default },
        4 => ContextOptions {
            core_mask: source.word(),
            user_header: source.byte(),
            tailroom: source.word() as u16,
            ..default
        },
        5 => ContextOptions { host_region: Some((source.number(), source.word())), ..default },
        _ => default,
    }
}
