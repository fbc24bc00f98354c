//! The HPU array as the packet engine sees it: room that is announced, tasks that are sent to an HPU, and their ends.

use packet_engine::dispatch::Dispatch;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_blocks::desc::{ContextPolicy, TaskDesc, TaskDone};
use spindle_contract::params::{Config, HPU_BANKS, MAX_CONTEXTS};
use spindle_harness::Dut;
use spindle_verilog::ports::Wire;
use spindle_verilog::prelude::{bits, Bits, In};

/// An HPU.
#[derive(Clone, Default)]
struct Hpu {
    /// Announced and not used.
    room: bool,
    /// Cycle in which room is announced next.
    announced: Option<u64>,
    /// Tasks that were sent and have not ended.
    tasks: usize,
}

/// All of them.
pub struct Hpus {
    hpus: Vec<Hpu>,
    per_cluster: usize,
    masks: [u32; MAX_CONTEXTS],
    /// Cycles from a task to the announcement of room for the next: at least 1, below this.
    pub patience: u64,
}

impl Hpus {
    /// The HPUs of a configuration; the first announcement of room is due at once.
    pub fn new(config: &Config) -> Self {
        let hpu = Hpu { announced: Some(0), ..Default::default() };
        Self {
            hpus: vec![hpu; config.total_hpus()],
            per_cluster: config.hpus,
            masks: [u32::MAX; MAX_CONTEXTS],
            patience: 2,
        }
    }

    /// Policies of all contexts from their weights and HPUs.
    pub fn policies(&mut self, policy: impl Fn(usize) -> (u64, u32)) -> Vec<ContextPolicy> {
        let mut record = |context: usize| {
            let (weight, mask) = policy(context);
            self.masks[context] = mask;
            ContextPolicy { weight: bits(weight), core_mask: bits(mask), ..ContextPolicy::default() }
        };
        (0..MAX_CONTEXTS).map(&mut record).collect()
    }

    /// Waits for the end of the set-up after reset and installs them.
    pub fn install(&mut self, dut: &Dut<Dispatch>, policy: impl Fn(usize) -> (u64, u32)) {
        (0..20).for_each(|_| dut.tick());
        for (context, record) in self.policies(policy).iter().enumerate() {
            dut.policy.set(*record);
            dut.policy.index.set(context);
            dut.policy.valid.set(true);
            dut.tick();
        }
        dut.policy.valid.set(false);
    }

    /// Announces room.
    pub fn drive(&mut self, room: &Wire<In, Bits<32>>, now: u64) {
        let mut bits = 0;
        for (i, hpu) in self.hpus.iter_mut().enumerate() {
            // A launch needs a bank.
            if hpu.announced.is_some_and(|at| at <= now) && hpu.tasks < HPU_BANKS {
                (hpu.announced, hpu.room) = (None, true);
                bits |= 1 << i;
            }
        }
        room.set(bits);
    }

    /// A task was sent.
    pub fn takes(&mut self, task: &TaskDesc, now: u64, rng: &mut ChaCha8Rng) -> Result<usize, String> {
        let at = task.cluster.to_u64() as usize * self.per_cluster + task.hpu.to_u64() as usize;
        let mask = self.masks[task.context.to_u64() as usize];
        let hpu = self.hpus.get_mut(at).ok_or(format!("there is no HPU {at}"))?;
        if !hpu.room {
            return Err(format!("HPU {at} has no room for {task:?}"));
        }
        if mask >> at & 1 == 0 {
            return Err(format!("HPU {at} is not one of {mask:#x}: {task:?}"));
        }
        hpu.room = false;
        hpu.announced = Some(now + rng.random_range(1..self.patience.max(2)));
        hpu.tasks += 1;
        Ok(at)
    }

    /// The task came back.
    pub fn ends(&mut self, done: &TaskDone) {
        let at = done.cluster.to_u64() as usize * self.per_cluster + done.hpu.to_u64() as usize;
        self.hpus[at].tasks -= 1;
    }

    /// Tasks inside, of each HPU, and whether it has room.
    pub fn loads(&self) -> Vec<(usize, bool)> {
        self.hpus.iter().map(|hpu| (hpu.tasks, hpu.room)).collect()
    }
}
