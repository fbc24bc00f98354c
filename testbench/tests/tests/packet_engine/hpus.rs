//! The HPU array as the packet engine sees it: room that is announced, tasks that are sent to an HPU, and their ends.

use crate::packet_engine::dut::{Dut, Record};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use spindle_contract::params::{Config, HPU_BANKS, MAX_CONTEXTS};

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
    pub fn policies(&mut self, policy: impl Fn(usize) -> (u64, u32)) -> Vec<Record> {
        let mut record = |context: usize| {
            let (weight, mask) = policy(context);
            self.masks[context] = mask;
            Record::new(&[("weight", weight), ("core_mask", mask.into())])
        };
        (0..MAX_CONTEXTS).map(&mut record).collect()
    }

    /// Waits for the end of the set-up after reset and installs them.
    pub fn install(&mut self, dut: &mut Dut, policy: impl Fn(usize) -> (u64, u32)) {
        (0..20).for_each(|_| dut.tick());
        for (context, record) in self.policies(policy).iter().enumerate() {
            dut.put("policy", "context_policy", record);
            dut.set("policy_index", context as u64);
            dut.set("policy_valid", 1);
            dut.tick();
        }
        dut.set("policy_valid", 0);
    }

    /// Announces room.
    pub fn drive(&mut self, dut: &mut Dut, port: &str, now: u64) {
        let mut bits = 0;
        for (i, hpu) in self.hpus.iter_mut().enumerate() {
            // A launch needs a bank.
            if hpu.announced.is_some_and(|at| at <= now) && hpu.tasks < HPU_BANKS {
                (hpu.announced, hpu.room) = (None, true);
                bits |= 1 << i;
            }
        }
        dut.set(port, bits);
    }

    /// A task was sent.
    pub fn takes(&mut self, task: &Record, now: u64, rng: &mut ChaCha8Rng) -> Result<usize, String> {
        let at = task.get("cluster") as usize * self.per_cluster + task.get("hpu") as usize;
        let mask = self.masks[task.get("context") as usize];
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
    pub fn ends(&mut self, done: &Record) {
        let at = done.get("cluster") as usize * self.per_cluster + done.get("hpu") as usize;
        self.hpus[at].tasks -= 1;
    }

    /// Tasks inside, of each HPU, and whether it has room.
    pub fn loads(&self) -> Vec<(usize, bool)> {
        self.hpus.iter().map(|hpu| (hpu.tasks, hpu.room)).collect()
    }
}
