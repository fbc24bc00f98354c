//! Tasks that wait for an HPU: a queue for each context, in one memory.
//!
//! | ports | neighbour |
//! |---|---|
//! | in `push`, `order`, `push_context` | dispatch: a task |
//! | in `queue` / out `has_task` | dispatch: whether this context has a task, in the same cycle |
//! | in `pop`, `queue` / out `popped` | dispatch: the oldest task of the context leaves, and is at `popped` 2 cycles later |
//! | out `backlog` | dispatch: contexts with a task |
//!
//! One task in and one out per cycle, of one context or of several. A task can leave in the cycle after its `push`. Each queue
//! holds as many tasks as there are head cells and message slots, so none overflows. After reset the pointers are cleared, which takes 16
//! cycles; tasks come later.

use crate::schedule::message::TaskOrder;
use spindle_blocks::ram::{LutMemory, LutRam, RamStyle, SdpMemory};
use spindle_contract::params::Config;
use spindle_verilog::prelude::*;

/// See the head of this file.
#[block]
pub struct TaskQueues {
    /// A task comes.
    pub push: Signal<In, Bit>,
    /// Order of that task.
    pub order: Signal<In, TaskOrder>,
    /// Its context.
    pub push_context: Signal<In, Bits<4>>,
    /// Context that is asked about, and acted on.
    pub queue: Signal<In, Bits<4>>,
    /// The context has a task.
    pub has_task: Signal<Out, Bit>,
    /// Its oldest task leaves.
    pub pop: Signal<In, Bit>,
    /// The task that left two cycles ago.
    pub popped: Signal<Out, TaskOrder>,
    /// Contexts that wait.
    pub backlog: Signal<Out, Bits<16>>,
    orders: SdpMemory<TaskOrder, 15>,
    /// Tasks that came, modulo 4096.
    pushed: LutRam<4, 12, 2>,
    /// Tasks that left.
    popped_count: LutMemory<Bits<12>, 4>,
    clearing: Reg<Bits<5>>,
    backlogged: Reg<Bits<16>>,
    _shift: u64,
    _inside: u64,
}

impl TaskQueues {
    /// A queue for each context of `config`, with a place for each cell and each message slot.
    pub fn new(config: &Config) -> Self {
        let style = if config.has_ultra_ram() { RamStyle::Ultra } else { RamStyle::Block };
        let places = (config.cells() + config.live_messages).next_power_of_two();
        let depth = config.contexts.next_power_of_two() * places;
        Self {
            orders: SdpMemory::with_depth(style, 2, depth),
            _shift: places.trailing_zeros().into(),
            _inside: places as u64 - 1,
            ..Self::blank()
        }
    }
}

#[hdl]
impl TaskQueues {
    fn update(&mut self) {
        let clears = !self.clearing.q.val().get_bit(4);
        self.clearing.load(clears, self.clearing.q.val() + 1);
        let push_context = self.push_context.val();
        let queue = self.queue.val();

        self.pushed.read_address[0].next = push_context;
        self.pushed.read_address[1].next = queue;
        let pushed = self.pushed.read_data[0].val();
        self.pushed.write_enable.next = self.push.val() | clears;
        self.pushed.write_address.next = if clears { self.clearing.q.val().get_bits::<4>(0) } else { push_context };
        self.pushed.write_data.next = if clears { bits::<12>(0) } else { pushed + 1 };
        self.popped_count.read_address.next = queue;
        let popped_count = self.popped_count.read_data.val();
        let popped_next = popped_count + 1;
        self.popped_count.write_enable.next = self.pop.val() | clears;
        self.popped_count.write_address.next = if clears { self.clearing.q.val().get_bits::<4>(0) } else { queue };
        self.popped_count.write_data.next = if clears { bits::<12>(0) } else { popped_next };
        let pushed_here = self.pushed.read_data[1].val();
        self.has_task.next = pushed_here != popped_count;

        self.orders.write_enable.next = self.push.val();
        self.orders.write_address.next =
            (bit_cast::<15, 4>(push_context) << self._shift) | (bit_cast::<15, 12>(pushed) & bits::<15>(self._inside));
        self.orders.write_data.next = self.order.val();
        self.orders.read_enable.next = true;
        self.orders.read_address.next =
            (bit_cast::<15, 4>(queue) << self._shift) | (bit_cast::<15, 12>(popped_count) & bits::<15>(self._inside));
        self.popped.next = self.orders.read_data.val();

        // A context is backlog from the cycle after its task on, until the last one leaves.
        let one: Bits<16> = bits::<16>(1);
        let empties = self.pop.val() & (pushed_here == popped_next);
        let ends = if empties { one << queue } else { bits::<16>(0) };
        let begins = if self.push.val() { one << push_context } else { bits::<16>(0) };
        self.backlogged.d.next = (self.backlogged.q.val() & !ends) | begins;
        self.backlog.next = self.backlogged.q.val();
    }
}
