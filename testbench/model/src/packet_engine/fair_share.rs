//! Shares of HPU cycles: the balance of each context as one number, with every change in the cycle in which it shows.

use std::collections::{HashMap, VecDeque};

/// Contexts.
pub const CONTEXTS: usize = 16;
/// Cycles of the quantum of weight 1.
const QUANTUM: i64 = 4096;
/// Times that the quantum is doubled at most.
const DOUBLINGS: u32 = 4;
/// A cost is this at most.
const MOST: u32 = (1 << 18) - 1;
/// Cycles from a charge to its effect on who is funded; from an end; from a grant.
const CHARGE: u64 = 7;
const END: u64 = 8;
const GRANT: u64 = 4;
/// Cycles after the last grant of a round in which no round begins.
const REST: u64 = 5;

/// What happens in a cycle.
#[derive(Clone, Debug, Default)]
pub struct Events {
    /// A task of this context is given an HPU.
    pub charge: Option<usize>,
    /// The charge of the task of this packet is kept.
    pub sent: Option<(u16, u32)>,
    /// A task ends: context, packet, cycles.
    pub ended: Option<(usize, u16, u32)>,
    /// A context gets a weight.
    pub policy: Option<(usize, u8)>,
    /// Contexts that wait.
    pub backlog: u16,
    /// None of them is funded; also if there are none.
    pub starved: bool,
    /// A funded one could go.
    pub served: bool,
}

/// The balances of all contexts.
#[derive(Clone, Debug)]
pub struct FairShare {
    /// HPU cycles that each context has left.
    pub balances: [i64; CONTEXTS],
    /// Grants with a charge of their context; grants that waited for the correction of their context; charges and corrections
    /// of one context at once.
    pub meetings: [usize; 3],
    /// Rounds by their doublings.
    pub rounds: [usize; DOUBLINGS as usize + 1],
    /// Rounds while no context waited.
    pub idle_rounds: usize,
    weights: [i64; CONTEXTS],
    /// What the last task of each context took.
    last: [u32; CONTEXTS],
    /// What the tasks of packets were charged.
    costs: HashMap<u16, u32>,
    /// Changes that do not show yet: cycle, context, amount.
    under_way: Vec<(u64, usize, i64)>,
    /// Contexts that were charged, and contexts whose tasks ended, in the last cycles, the newest first.
    charges: VecDeque<Option<usize>>,
    ends: VecDeque<Option<usize>>,
    now: u64,
    /// Contexts with a grant to come, the first of them as known one cycle earlier, and the cycles of rest after the round.
    due: u16,
    first_due: usize,
    rest: u64,
    doublings: u32,
    /// The last round funded a context that could go.
    funds: bool,
}

impl Default for FairShare {
    fn default() -> Self {
        Self {
            balances: [0; CONTEXTS],
            meetings: [0; 3],
            rounds: Default::default(),
            idle_rounds: 0,
            weights: [0; CONTEXTS],
            last: [0; CONTEXTS],
            costs: HashMap::new(),
            under_way: vec![],
            charges: vec![None; 3].into(),
            ends: vec![None; 4].into(),
            now: 0,
            due: 0,
            first_due: 0,
            rest: 0,
            doublings: 0,
            // No round has failed.
            funds: true,
        }
    }
}

impl FairShare {
    /// Contexts whose balance is not negative.
    pub fn funded(&self) -> u16 {
        (0..CONTEXTS).filter(|context| self.balances[*context] >= 0).fold(0, |all, context| all | 1 << context)
    }

    /// What the task that was given an HPU in the last cycle costs: as much as the last task of its context took.
    pub fn cost(&self) -> Option<u32> {
        self.charges[0].map(|context| self.last[context])
    }

    /// Goes to the next cycle.
    pub fn step(&mut self, events: &Events) {
        if let (Some(context), Some(cost)) = (self.charges[0], self.cost()) {
            self.under_way.push((self.now - 1 + CHARGE, context, -i64::from(cost)));
        }
        self.grant(events);
        if let Some((context, pkt, cycles)) = events.ended {
            self.last[context] = cycles.min(MOST);
            let correction = i64::from(self.costs[&pkt]) - i64::from(self.last[context]);
            self.under_way.push((self.now + END, context, correction));
        }
        self.costs.extend(events.sent);
        if let Some((context, weight)) = events.policy {
            self.weights[context] = weight.into();
        }
        self.charges.pop_back();
        self.charges.push_front(events.charge);
        self.ends.pop_back();
        self.ends.push_front(events.ended.map(|ended| ended.0));
        self.now += 1;
        self.under_way.retain(|(at, context, amount)| {
            if *at == self.now {
                self.balances[*context] += amount;
            }
            *at > self.now
        });
    }

    /// A grant goes to the context that is charged, else to the first that is due; not to one that is corrected alone. A
    /// round begins when the last one shows.
    fn grant(&mut self, events: &Events) {
        // Both have come as far in this cycle.
        let (charged, corrected) = (self.charges[2], self.ends[3]);
        let account = charged.unwrap_or(self.first_due);
        let alone = corrected.filter(|context| charged != Some(*context));
        self.meetings[2] += usize::from(charged.is_some() && charged == corrected);
        let mut left = self.due;
        if self.due >> account & 1 == 1 {
            if alone == Some(account) {
                self.meetings[1] += 1;
            } else {
                self.meetings[0] += usize::from(charged.is_some());
                left &= !(1 << account);
                self.under_way.push((self.now + GRANT, account, (self.weights[account] * QUANTUM) << self.doublings));
            }
        }
        self.first_due = if left == 0 { 0 } else { left.trailing_zeros() as usize };
        // While none waits, all debts are forgiven.
        let idle = events.backlog == 0;
        let unfunded = !self.funded() & if idle { u16::MAX } else { events.backlog };
        let begins = events.starved && self.due == 0 && self.rest == 0 && unfunded != 0;
        self.rest = if self.due != 0 { REST } else { self.rest.saturating_sub(1) };
        if begins {
            self.due = unfunded;
            self.doublings = if self.funds || idle { 0 } else { DOUBLINGS.min(self.doublings + 1) };
            self.rounds[self.doublings as usize] += 1;
            self.idle_rounds += usize::from(idle);
            self.funds = idle;
        } else {
            self.due = left;
            self.funds |= events.served;
        }
    }
}
