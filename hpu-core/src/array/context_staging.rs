//! The CTX_* registers: a context is put together word by word and installed with one write.

use crate::types::ContextEntry;
use spindle_blocks::desc::ContextPolicy;
use spindle_contract::memory_map::WATCHDOG_BITS;
use spindle_contract::registers::hpu;
use spindle_verilog::prelude::*;

const CTX_HEADER: u64 = hpu::CTX_HEADER as u64;
const CTX_PAYLOAD: u64 = hpu::CTX_PAYLOAD as u64;
const CTX_COMPLETION: u64 = hpu::CTX_COMPLETION as u64;
const CTX_CODE_BASE: u64 = hpu::CTX_CODE_BASE as u64;
const CTX_CODE_SIZE: u64 = hpu::CTX_CODE_SIZE as u64;
const CTX_STATE_BASE: u64 = hpu::CTX_STATE_BASE as u64;
const CTX_STATE_SIZE: u64 = hpu::CTX_STATE_SIZE as u64;
const CTX_HOST_LO: u64 = hpu::CTX_HOST_LO as u64;
const CTX_HOST_HI: u64 = hpu::CTX_HOST_HI as u64;
const CTX_HOST_SIZE: u64 = hpu::CTX_HOST_SIZE as u64;
const CTX_WATCHDOG: u64 = hpu::CTX_WATCHDOG as u64;
const CTX_SCRATCH_BASE: u64 = hpu::CTX_SCRATCH_BASE as u64;
const CTX_SCRATCH_SIZE: u64 = hpu::CTX_SCRATCH_SIZE as u64;
const CTX_INSTALL: u64 = hpu::CTX_INSTALL as u64;
const CTX_WEIGHT: u64 = hpu::CTX_WEIGHT as u64;
const CTX_QUOTA: u64 = hpu::CTX_QUOTA as u64;
const CTX_OVERLOAD: u64 = hpu::CTX_OVERLOAD as u64;
const CTX_CORE_MASK: u64 = hpu::CTX_CORE_MASK as u64;
const CTX_USER_HEADER: u64 = hpu::CTX_USER_HEADER as u64;
const CTX_PROCESS: u64 = hpu::CTX_PROCESS as u64;
const CTX_ACTIVE: u64 = hpu::CTX_ACTIVE as u64;

/// Staged context, and the mask of active ones.
///
/// | neighbour | ports |
/// |---|---|
/// | registers | in `offset`, `data`, `write` / out `word`, `known`, the same cycle |
/// | context table, clusters | out `staged`, `install`, `install_index`, `active` |
/// | packet engine | out `policy`, with `install` and `install_index` |
///
/// `install` comes one cycle after the write, once; a number beyond the last context installs nothing.
#[block]
pub struct ContextStaging {
    /// Offset in the page.
    pub offset: Signal<In, Bits<12>>,
    /// What to write.
    pub data: Signal<In, Bits<32>>,
    /// Write it.
    pub write: Signal<In, Bit>,
    /// The word at the offset.
    pub word: Signal<Out, Bits<32>>,
    /// There is a register.
    pub known: Signal<Out, Bit>,
    /// The staged context.
    pub staged: Signal<Out, ContextEntry>,
    /// Its policy.
    pub policy: Signal<Out, ContextPolicy>,
    /// Install both.
    pub install: Signal<Out, Bit>,
    /// Where.
    pub install_index: Signal<Out, Bits<4>>,
    /// Contexts that accept packets.
    pub active: Signal<Out, Bits<16>>,
    entry: Reg<ContextEntry>,
    policy_register: Reg<ContextPolicy>,
    active_mask: Reg<Bits<16>>,
    installing: Reg<Bit>,
    slot: DFF<Bits<4>>,
    _contexts: u64,
}

impl ContextStaging {
    /// For `contexts` contexts.
    pub fn new(contexts: usize) -> Self {
        let policy = ContextPolicy { weight: bits(1), core_mask: bits(u32::MAX), ..Default::default() };
        Self { _contexts: contexts as u64, policy_register: Reg::new(policy), ..Self::blank() }
    }
}

#[hdl]
impl ContextStaging {
    fn update(&mut self) {
        let entry = self.entry.q.val();
        let policy = self.policy_register.q.val();
        let data = self.data.val();
        let offset = self.offset.val();
        let mut word: Bits<32> = bits::<32>(0);
        let mut known: Bit = true;
        match offset.to_u64() {
            CTX_HEADER => word = entry.header,
            CTX_PAYLOAD => word = entry.payload,
            CTX_COMPLETION => word = entry.completion,
            CTX_CODE_BASE => word = bit_cast::<32, 16>(entry.limits.code_base),
            CTX_CODE_SIZE => word = bit_cast::<32, 17>(entry.limits.code_size),
            CTX_STATE_BASE => word = bit_cast::<32, 20>(entry.limits.state_base),
            CTX_STATE_SIZE => word = bit_cast::<32, 21>(entry.limits.state_size),
            CTX_HOST_LO => word = entry.limits.host_lo,
            CTX_HOST_HI => word = entry.limits.host_hi,
            CTX_HOST_SIZE => word = entry.limits.host_size,
            CTX_WATCHDOG => word = bit_cast::<32, WATCHDOG_BITS>(entry.limits.watchdog),
            CTX_SCRATCH_BASE => word = bit_cast::<32, 16>(entry.limits.scratch_base),
            CTX_SCRATCH_SIZE => word = bit_cast::<32, 16>(entry.limits.scratch_size),
            CTX_WEIGHT => word = bit_cast::<32, 8>(policy.weight),
            CTX_QUOTA => word = (bits::<5>(0), policy.packets, bits::<7>(0), policy.messages).cat::<32>(),
            CTX_OVERLOAD => word = bit_cast::<32, 2>(policy.overload),
            CTX_CORE_MASK => word = policy.core_mask,
            CTX_USER_HEADER => word = bit_cast::<32, 7>(policy.user_header),
            CTX_PROCESS => word = bit_cast::<32, 6>(policy.pid),
            CTX_ACTIVE => word = bit_cast::<32, 16>(self.active_mask.q.val()),
            CTX_INSTALL => word = bits::<32>(0),
            _ => known = false,
        }
        self.word.next = word;
        self.known.next = known;

        self.installing.d.next = false;
        self.slot.d.next = data.get_bits::<4>(0);
        if self.write.val() {
            match offset.to_u64() {
                CTX_HEADER => self.entry.d.next.header = data,
                CTX_PAYLOAD => self.entry.d.next.payload = data,
                CTX_COMPLETION => self.entry.d.next.completion = data,
                // Images are aligned.
                CTX_CODE_BASE => self.entry.d.next.limits.code_base = (data.get_bits::<9>(7), bits::<7>(0)).cat::<16>(),
                CTX_CODE_SIZE => self.entry.d.next.limits.code_size = data.get_bits::<17>(0),
                CTX_STATE_BASE => self.entry.d.next.limits.state_base = data.get_bits::<20>(0),
                CTX_STATE_SIZE => self.entry.d.next.limits.state_size = data.get_bits::<21>(0),
                CTX_HOST_LO => self.entry.d.next.limits.host_lo = data,
                CTX_HOST_HI => self.entry.d.next.limits.host_hi = data,
                CTX_HOST_SIZE => self.entry.d.next.limits.host_size = data,
                CTX_WATCHDOG => self.entry.d.next.limits.watchdog = data.get_bits::<WATCHDOG_BITS>(0),
                CTX_SCRATCH_BASE => self.entry.d.next.limits.scratch_base = data.get_bits::<16>(0),
                CTX_SCRATCH_SIZE => self.entry.d.next.limits.scratch_size = data.get_bits::<16>(0),
                CTX_WEIGHT => self.policy_register.d.next.weight = data.get_bits::<8>(0),
                CTX_QUOTA => {
                    self.policy_register.d.next.messages = data.get_bits::<9>(0);
                    self.policy_register.d.next.packets = data.get_bits::<11>(16);
                }
                CTX_OVERLOAD => self.policy_register.d.next.overload = data.get_bits::<2>(0),
                CTX_CORE_MASK => self.policy_register.d.next.core_mask = data,
                CTX_USER_HEADER => self.policy_register.d.next.user_header = data.get_bits::<7>(0),
                CTX_PROCESS => self.policy_register.d.next.pid = data.get_bits::<6>(0),
                CTX_ACTIVE => self.active_mask.d.next = data.get_bits::<16>(0),
                CTX_INSTALL => self.installing.d.next = data < bits::<32>(self._contexts),
                _ => {}
            }
        }
        self.install.next = self.installing.q.val();
        self.install_index.next = self.slot.q.val();
        self.staged.next = entry;
        self.policy.next = policy;
        self.active.next = self.active_mask.q.val();
    }
}
