//! Shares of HPU cycles: deficit round robin by the cycles that handlers take.
//!
//! Each context has a balance. A task costs its context the cycles of the context's last task; when the task has ended, the balance
//! is corrected to the cycles that it took. A context is *funded* while its balance is not negative. When tasks could leave and
//! none of their contexts is funded, or when no HPU has room and no context that waits is funded, every context that waits and is
//! not funded is granted its weight times a quantum. The quantum is 4096 cycles, and doubles up to 16 times that as long as no
//! context becomes funded, so that long handlers need few rounds. While no context waits, every context that is not
//! funded is granted one quantum after another until it is, so no context owes cycles that no other context wanted. A grant lifts a
//! context at most one round above zero, except by a correction that arrives during the round.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `weight`, `policy_index`, `policy_valid` | HPU array: a context is installed |
//! | in `charge`, `charge_context` / out `cost` | dispatch: a task is given an HPU; its charge, 1 cycle later |
//! | in `sent`, `sent_pkt`, `sent_cost` | dispatch: the charge is kept until the packet's task ends |
//! | in `ended`, `ended_context`, `ended_pkt`, `ended_cycles` | scheduler: a task came back |
//! | in `backlog`, `starved`, `served` | dispatch: contexts that wait; no candidate is funded, or none waits; a funded one could go |
//! | out `funded` | dispatch |
//!
//! One charge and one correction per cycle. A charge shows in `funded` 7 cycles later, a correction 8. A cost saturates at
//! 2^18 - 1 cycles. The balance is the sum of two memories, one for each kind of change, so that both can change in one cycle; only
//! the sum has a meaning. After reset the balances are cleared, which takes 16 cycles; tasks come later.

use crate::dispatch::bare_base;
use spindle_blocks::ram::{LutMemory, LutRam, RamStyle, SdpMemory};
use spindle_contract::{memory_map::WATCHDOG_BITS, params::Config};
use spindle_verilog::prelude::*;

/// The quantum is 2^12 cycles times the weight.
const QUANTUM_SHIFT: usize = 12;
/// Doublings of the quantum at most.
const DOUBLINGS: u64 = 4;
/// Cycles from a grant to its effect on the choice of HPUs: four to `funded`, one to the register that `starved` reads.
const GRANT_LATENCY: u64 = 5;

/// A change of a context's balance.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// The context.
    pub context: Bits<4>,
    /// Added to its balance.
    pub amount: Bits<26>,
}

/// The 18 bits that a cost has.
#[hdl_fn]
fn cost_of(cycles: Bits<WATCHDOG_BITS>) -> Bits<18> {
    if cycles.get_bits::<{ WATCHDOG_BITS - 18 }>(18).any() {
        bits::<18>(0x3_FFFF)
    } else {
        cycles.get_bits::<18>(0)
    }
}

/// See the head of this file.
#[block]
pub struct FairShare {
    /// Weight of a context.
    pub weight: Signal<In, Bits<8>>,
    /// The context.
    pub policy_index: Signal<In, Bits<4>>,
    /// A context is installed.
    pub policy_valid: Signal<In, Bit>,
    /// A task is given an HPU.
    pub charge: Signal<In, Bit>,
    /// Its context.
    pub charge_context: Signal<In, Bits<4>>,
    /// What the task of the last cycle was charged.
    pub cost: Signal<Out, Bits<18>>,
    /// Remember a cost.
    pub sent: Signal<In, Bit>,
    /// Of the task of this packet, or of this slot: as `Dispatch` numbers them.
    pub sent_pkt: Signal<In, Bits<11>>,
    /// The cost.
    pub sent_cost: Signal<In, Bits<18>>,
    /// A task ended.
    pub ended: Signal<In, Bit>,
    /// Of this context.
    pub ended_context: Signal<In, Bits<4>>,
    /// Its packet.
    pub ended_pkt: Signal<In, Bits<11>>,
    /// What it took.
    pub ended_cycles: Signal<In, Bits<WATCHDOG_BITS>>,
    /// Contexts with tasks that wait.
    pub backlog: Signal<In, Bits<16>>,
    /// None of the contexts that could go, or without an HPU none of those that wait, is funded; also if none waits.
    pub starved: Signal<In, Bit>,
    /// One could go and is funded.
    pub served: Signal<In, Bit>,
    /// Contexts whose balance is not negative.
    pub funded: Signal<Out, Bits<16>>,
    weights: LutMemory<Bits<8>, 4>,
    /// What the last task of a context took.
    last: LutMemory<Bits<18>, 4>,
    /// What the task of a packet was charged.
    costs: SdpMemory<Bits<18>, 11>,
    /// Charges and grants; the first copy is read for a charge, the second for a correction.
    given: LutRam<4, 26, 2>,
    /// Corrections, likewise.
    corrected: LutRam<4, 26, 2>,
    clearing: Reg<Bits<5>>,
    charged: Reg<Bit>,
    charged_context: DFF<Bits<4>>,
    /// An end on its way through the memory of costs.
    ending: [Reg<Bit>; 2],
    ending_context: [DFF<Bits<4>>; 2],
    ending_cost: [DFF<Bits<18>>; 2],
    /// A charge and a correction, step by step: alone, of different contexts, beside a grant, with it.
    raw_charge: DFF<Change>,
    raw_charge_valid: Reg<Bit>,
    raw_correction: DFF<Change>,
    raw_correction_valid: Reg<Bit>,
    own_charge: DFF<Change>,
    own_charge_valid: Reg<Bit>,
    own_correction: DFF<Change>,
    own_correction_valid: Reg<Bit>,
    with_grant: DFF<Change>,
    with_grant_valid: Reg<Bit>,
    beside_grant: DFF<Change>,
    beside_grant_valid: Reg<Bit>,
    grant: DFF<Bits<26>>,
    full_charge: DFF<Change>,
    full_charge_valid: Reg<Bit>,
    full_correction: DFF<Change>,
    full_correction_valid: Reg<Bit>,
    /// New balance of the context charged, and of the one corrected, as two summands.
    charge_sum: [DFF<Bits<26>>; 2],
    charge_of: DFF<Bits<4>>,
    charge_done: Reg<Bit>,
    correction_sum: [DFF<Bits<26>>; 2],
    correction_of: DFF<Bits<4>>,
    correction_done: Reg<Bit>,
    funded_now: Reg<Bits<16>>,
    /// Contexts that a grant is on its way to.
    due: Reg<Bits<16>>,
    /// The first of them, a cycle late when a round begins.
    next_due: DFF<Bits<4>>,
    grant_delay: Reg<Bits<3>>,
    doublings: Reg<Bits<3>>,
    /// The last round of grants funded a context, or there was none since reset.
    funded_one: Reg<Bit>,
}

impl FairShare {
    /// For the cells of `config`.
    pub fn new(config: &Config) -> Self {
        Self {
            costs: SdpMemory::with_depth(RamStyle::sparing(2 * bare_base(config)), 2, 2 * bare_base(config)),
            funded_now: Reg::new(bits(0xFFFF)),
            funded_one: Reg::new(true),
            ..Self::blank()
        }
    }
}

#[hdl]
impl FairShare {
    fn update(&mut self) {
        let clears = !self.clearing.q.val().get_bit(4);
        self.clearing.load(clears, self.clearing.q.val() + 1);
        let cleared = self.clearing.q.val().get_bits::<4>(0);

        // What tasks cost: the last one's cycles, remembered with the packet.
        let took = cost_of(self.ended_cycles.val());
        self.last.write_enable.next = self.ended.val() | clears;
        self.last.write_address.next = if clears { cleared } else { self.ended_context.val() };
        self.last.write_data.next = if clears { bits::<18>(0) } else { took };
        self.charged.d.next = self.charge.val();
        self.charged_context.d.next = self.charge_context.val();
        self.last.read_address.next = self.charged_context.q.val();
        let cost = self.last.read_data.val();
        self.cost.next = cost;
        self.costs.write(self.sent.val(), self.sent_pkt.val(), self.sent_cost.val());
        self.costs.read(true, self.ended_pkt.val());
        self.ending[0].d.next = self.ended.val();
        self.ending_context[0].d.next = self.ended_context.val();
        self.ending_cost[0].d.next = took;
        self.ending[1].d.next = self.ending[0].q.val();
        self.ending_context[1].d.next = self.ending_context[0].q.val();
        self.ending_cost[1].d.next = self.ending_cost[0].q.val();

        // Step 1: amounts.
        self.raw_charge_valid.d.next = self.charged.q.val();
        self.raw_charge.d.next =
            Change { context: self.charged_context.q.val(), amount: bits::<26>(0) - bit_cast::<26, 18>(cost) };
        self.raw_correction_valid.d.next = self.ending[1].q.val();
        self.raw_correction.d.next = Change {
            context: self.ending_context[1].q.val(),
            amount: bit_cast::<26, 18>(self.costs.read_data.val()) - bit_cast::<26, 18>(self.ending_cost[1].q.val()),
        };

        // Step 2: both of one context become one charge.
        let raw_charge = self.raw_charge.q.val();
        let raw_correction = self.raw_correction.q.val();
        let meet = self.raw_charge_valid.q.val()
            & self.raw_correction_valid.q.val()
            & (raw_charge.context == raw_correction.context);
        self.own_charge_valid.d.next = self.raw_charge_valid.q.val();
        self.own_charge.d.next = Change {
            context: raw_charge.context,
            amount: raw_charge.amount + if meet { raw_correction.amount } else { bits::<26>(0) },
        };
        self.own_correction_valid.d.next = self.raw_correction_valid.q.val() & !meet;
        self.own_correction.load(self.raw_correction_valid.q.val(), raw_correction);

        // Step 3: a grant comes with the charge of its context, or alone, unless the context is being corrected.
        let own = self.own_charge.q.val();
        let charges = self.own_charge_valid.q.val();
        let account = if charges { own.context } else { self.next_due.q.val() };
        let corrects = self.own_correction_valid.q.val() & (self.own_correction.q.val().context == account);
        let gives = self.due.q.val().get_bit(account.index()) & !corrects;
        self.weights.write(self.policy_valid.val(), self.policy_index.val(), self.weight.val());
        self.weights.read_address.next = account;
        let grant = if gives {
            bit_cast::<26, 20>((self.weights.read_data.val(), bits::<QUANTUM_SHIFT>(0)).cat::<20>())
                << self.doublings.q.val()
        } else {
            bits::<26>(0)
        };
        self.grant.d.next = grant;
        self.with_grant_valid.d.next = charges | gives;
        self.with_grant.d.next = Change { context: account, amount: if charges { own.amount } else { bits::<26>(0) } };
        self.beside_grant_valid.d.next = self.own_correction_valid.q.val();
        self.beside_grant.load(self.own_correction_valid.q.val(), self.own_correction.q.val());

        // Step 4: their sum.
        let with_grant = self.with_grant.q.val();
        self.full_charge_valid.d.next = self.with_grant_valid.q.val();
        self.full_charge.d.next =
            Change { context: with_grant.context, amount: self.grant.q.val() + with_grant.amount };
        self.full_correction_valid.d.next = self.beside_grant_valid.q.val();
        self.full_correction.d.next = self.beside_grant.q.val();

        // Step 5: the memories. A charge and a correction are of different contexts here.
        let charge = self.full_charge.q.val();
        let correction = self.full_correction.q.val();
        self.given.read_address[0].next = charge.context;
        self.given.read_address[1].next = correction.context;
        self.corrected.read_address[0].next = charge.context;
        self.corrected.read_address[1].next = correction.context;
        let given = self.given.read_data[0].val() + charge.amount;
        let corrected = self.corrected.read_data[1].val() + correction.amount;
        self.given.write_enable.next = self.full_charge_valid.q.val() | clears;
        self.given.write_address.next = if clears { cleared } else { charge.context };
        self.given.write_data.next = if clears { bits::<26>(0) } else { given };
        self.corrected.write_enable.next = self.full_correction_valid.q.val() | clears;
        self.corrected.write_address.next = if clears { cleared } else { correction.context };
        self.corrected.write_data.next = if clears { bits::<26>(0) } else { corrected };
        self.charge_done.d.next = self.full_charge_valid.q.val();
        self.charge_of.d.next = charge.context;
        self.charge_sum[0].d.next = given;
        self.charge_sum[1].d.next = self.corrected.read_data[0].val();
        self.correction_done.d.next = self.full_correction_valid.q.val();
        self.correction_of.d.next = correction.context;
        self.correction_sum[0].d.next = corrected;
        self.correction_sum[1].d.next = self.given.read_data[1].val();

        // Step 6: the signs of the balances.
        let charge_balance = self.charge_sum[0].q.val() + self.charge_sum[1].q.val();
        let correction_balance = self.correction_sum[0].q.val() + self.correction_sum[1].q.val();
        let mut funded: Bits<16> = self.funded_now.q.val();
        for c in 0..16 {
            if self.charge_done.q.val() & (self.charge_of.q.val() == bits::<4>(c)) {
                funded = funded.replace_bit(c, !charge_balance.get_bit(25));
            }
            if self.correction_done.q.val() & (self.correction_of.q.val() == bits::<4>(c)) {
                funded = funded.replace_bit(c, !correction_balance.get_bit(25));
            }
        }
        self.funded_now.d.next = funded;
        self.funded.next = self.funded_now.q.val();
        self.grant_rounds(gives, account);
    }

    /// Rounds of grants: the next round begins when the effect of the last one is known.
    fn grant_rounds(&mut self, gives: Bit, account: Bits<4>) {
        let due = self.due.q.val();
        let grants_done = !due.any() & !self.grant_delay.q.val().any();
        let waits = self.backlog.val().any();
        let unfunded = (self.backlog.val() | repeat::<16>(!waits)) & !self.funded_now.q.val();
        let begins = self.starved.val() & grants_done & unfunded.any();
        let still_due = if gives { due & !(bits::<16>(1) << account) } else { due };
        let mut next_due: Bits<4> = bits::<4>(0);
        for c in 0..16 {
            if still_due.get_bit(15 - c) {
                next_due = bits::<4>(15 - c as u64);
            }
        }
        self.next_due.d.next = next_due;
        if begins {
            self.due.d.next = unfunded;
            // The round after one in which none waits has one quantum.
            self.funded_one.d.next = !waits;
            if self.funded_one.q.val() | !waits {
                self.doublings.d.next = bits::<3>(0);
            } else if self.doublings.q.val() != bits::<3>(DOUBLINGS) {
                self.doublings.d.next = self.doublings.q.val() + 1;
            }
        } else {
            self.due.d.next = still_due;
            self.funded_one.load(self.served.val(), true);
        }
        if due.any() {
            self.grant_delay.d.next = bits::<3>(GRANT_LATENCY);
        } else if self.grant_delay.q.val().any() {
            self.grant_delay.d.next = self.grant_delay.q.val() - 1;
        }
    }
}
