//! Parameters of a NIC and their legal ranges.

/// Width of the internal stream in bytes (512 bits).
pub const BEAT_BYTES: usize = 64;
/// Bytes of a packet-buffer cell; packets are linked lists of cells.
pub const CELL_BYTES: usize = 512;
/// Beats of a cell.
pub const CELL_BEATS: usize = CELL_BYTES / BEAT_BYTES;
/// Width of a cell number (the largest packet buffer has 1024 cells).
pub const CELL_BITS: usize = 10;
/// Longest frame that is accepted, in bytes (without FCS).
pub const MAX_FRAME: usize = 9216;
/// Shortest frame that is not a runt: an Ethernet header. A MAC strips padding at most down to this.
pub const MIN_FRAME: usize = 14;
/// Bytes of an L1 packet slot: what a handler sees of its packet.
pub const SLOT_BYTES: usize = 2048;
/// Most bytes of tailroom, zeros after a packet: a packet has a beat at least.
pub const MAX_TAILROOM: usize = SLOT_BYTES - BEAT_BYTES;
/// Images of handlers lie in instruction memory at multiples of it, in bytes.
pub const CODE_ALIGN: usize = 128;
/// Packet slots of a cluster.
pub const SLOTS: usize = 12;
/// L1 bytes of a cluster.
pub const L1_BYTES: usize = 64 * 1024;
/// L1 banks of a cluster, each 512 words of 32 bits, in two groups by address bit 6.
pub const L1_BANKS: usize = 32;
/// L1 byte address of the stacks: after the packet slots.
pub const L1_STACK_BASE: usize = SLOTS * SLOT_BYTES;
/// Banks of an HPU: tasks that it knows at a time, each with a stack and a task page.
pub const HPU_BANKS: usize = 4;
/// L1 bytes of all stacks, {HPU, bank} times [`Config::stack_bytes`].
pub const L1_STACK_BYTES: usize = 16 << 10;
/// L1 byte address of the scratchpads; the driver gives each context its share.
pub const L1_SCRATCH_BASE: usize = 0xA000;
/// L1 bytes of all scratchpads.
pub const L1_SCRATCH_BYTES: usize = 18 << 10;
/// L1 byte address of the stage: what a command sends from context memory passes through it. A slot's worth, aligned to itself.
pub const L1_STAGE_BASE: usize = 0xE800;
/// L1 byte address of the task pages, {HPU, bank} times 128 bytes.
pub const L1_TASK_BASE: usize = 0xF000;
/// Bytes of scratchpad of a context unless it asks for another size.
pub const SCRATCH_BYTES: usize = 2048;
/// Most hardware contexts (sPIN execution contexts) any configuration has.
pub const MAX_CONTEXTS: usize = 16;
/// Tasks of a context that can wait at a time, each for its delay or for a message slot: a power of two.
pub const WAITING_TASKS: usize = 16;
/// Words that the header matcher extracts from a frame.
pub const MATCH_WORDS: usize = 16;
/// Match terms of each extracted word.
pub const WORD_TERMS: usize = 5;
/// Match terms, shared by all rules: term t looks at extracted word t / [`WORD_TERMS`].
pub const MATCH_TERMS: usize = MATCH_WORDS * WORD_TERMS;
/// Flags of a frame that rules know besides terms (`descriptors::MATCH_FIELDS`).
pub const MATCH_FLAGS: usize = 5;
/// What a rule may ask for: the terms, then the flags.
pub const MATCH_LITERALS: usize = MATCH_TERMS + MATCH_FLAGS;
/// Bytes of a frame, from its start, that words are extracted from.
pub const MATCH_BYTES: usize = 128;
/// The last so many extracted words can be a message id.
pub const MESSAGE_WORDS: usize = 4;
/// Longest AXI burst to host memory in bytes; no burst crosses a 4 KiB boundary.
pub const MAX_BURST: usize = 256;
/// Host writes in flight.
pub const MAX_OUTSTANDING_WRITES: usize = 256;
/// Bytes of payload of a full-size Spindle segment at an MTU of 1500 (a multiple of 64).
pub const SEGMENT_BYTES: usize = 1408;
/// Memory regions of a process.
pub const REGIONS: usize = 16;
/// Bits of the ordinals of a stream's messages that count: far more messages than can be under way.
pub const STREAM_BITS: usize = 13;
/// Receive maps: posted buffers of which the host can see what has arrived.
pub const RECEIVE_MAPS: usize = 8;
/// Bits of a receive map.
pub const RECEIVE_MAP_BITS: usize = 1024;
/// Default UDP destination port of Spindle transport.
pub const SPINDLE_PORT: u16 = 4795;

/// Everything that distinguishes one NIC from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Name as used on command lines.
    pub name: &'static str,
    /// Core clock in MHz; only converts cycles to time.
    pub clock_mhz: u32,
    /// Clusters, 1 to 8.
    pub clusters: usize,
    /// HPUs of a cluster, 1 to 8.
    pub hpus: usize,
    /// Instruction memory of a cluster in bytes; a power of two.
    pub imem_bytes: usize,
    /// Context memory shared by all clusters in bytes; a power of two.
    pub l2_bytes: usize,
    /// Packet buffer in bytes; a power of two, at most 1024 cells.
    pub packet_buffer_bytes: usize,
    /// sPIN execution contexts, 1 to 16.
    pub contexts: usize,
    /// Match rules, 8 to 64.
    pub match_rules: usize,
    /// Live messages; a power of two from 16 to 256.
    pub live_messages: usize,
    /// Peers whose sequence numbers are kept; a power of two from 16 to 256.
    pub peers: usize,
    /// RVMA mailboxes; a power of two.
    pub mailboxes: usize,
    /// Posted buffers; a power of two.
    pub posted_buffers: usize,
    /// Doorbell pages.
    pub processes: usize,
    /// The HPUs have their retirement ports (RVFI): simulation only.
    pub rvfi: bool,
}

impl Default for Config {
    /// The simulation default.
    fn default() -> Self {
        Config::SIM
    }
}

impl Config {
    /// VU9P-class Alveo cards (U280, U250, U50).
    pub const ALVEO: Config = Config {
        name: "alveo",
        clock_mhz: 250,
        clusters: 4,
        hpus: 4,
        imem_bytes: 32 << 10,
        l2_bytes: 512 << 10,
        packet_buffer_bytes: 512 << 10,
        contexts: 16,
        match_rules: 64,
        live_messages: 256,
        peers: 256,
        mailboxes: 4096,
        posted_buffers: 16384,
        processes: 64,
        rvfi: false,
    };
    /// As many HPUs as PsPIN has, for comparison: everything but the clusters is as in [`Config::ALVEO`].
    pub const ALVEO32: Config = Config { name: "alveo32", clusters: 8, ..Config::ALVEO };
    /// Kintex-7 325T.
    pub const KINTEX7: Config = Config {
        name: "kintex7",
        clock_mhz: 125,
        clusters: 2,
        hpus: 4,
        imem_bytes: 32 << 10,
        l2_bytes: 128 << 10,
        packet_buffer_bytes: 128 << 10,
        contexts: 8,
        match_rules: 32,
        live_messages: 128,
        peers: 64,
        mailboxes: 1024,
        posted_buffers: 4096,
        processes: 16,
        rvfi: false,
    };
    /// Simulation default: the Kintex shape with all contexts. Its clock converts cycles at the Alveo rate.
    pub const SIM: Config =
        Config { name: "sim", clock_mhz: 250, contexts: 16, match_rules: 64, live_messages: 256, ..Config::KINTEX7 };
    /// All named configurations.
    pub const ALL: [Config; 4] = [Config::SIM, Config::KINTEX7, Config::ALVEO, Config::ALVEO32];

    /// The configuration of that name.
    pub fn by_name(name: &str) -> Option<Config> {
        Config::ALL.into_iter().find(|c| c.name == name)
    }

    /// Cells of the packet buffer.
    pub const fn cells(&self) -> usize {
        self.packet_buffer_bytes / CELL_BYTES
    }

    /// The device has UltraRAM: what only large devices can hold is larger than block RAM is good for.
    pub const fn has_ultra_ram(&self) -> bool {
        self.packet_buffer_bytes > 256 << 10
    }

    /// All HPUs of the NIC.
    pub const fn total_hpus(&self) -> usize {
        self.clusters * self.hpus
    }

    /// Bits of the number of an HPU in its cluster.
    pub const fn hpu_bits(&self) -> usize {
        self.hpus.next_power_of_two().trailing_zeros() as usize
    }

    /// Number of a command among those of all HPUs: 8 bits.
    pub const fn command_number(&self, cluster: usize, hpu: usize, handle: usize) -> usize {
        (cluster << self.hpu_bits() | hpu) << crate::memory_map::HANDLE_BITS | handle
    }

    /// Bytes of stack of a handler: the L1 of a cluster holds one stack for each bank of each HPU.
    pub const fn stack_bytes(&self) -> usize {
        if self.hpus <= 4 {
            1024
        } else {
            512
        }
    }

    /// Refuses an illegal configuration with the sentence that a user should read.
    pub fn validate(&self) -> Result<(), &'static str> {
        let checks: [(bool, &'static str); 14] = [
            (self.clusters >= 1 && self.clusters <= 8, "clusters must be 1 to 8"),
            (self.hpus >= 1 && self.hpus <= 8, "hpus must be 1 to 8 per cluster"),
            (
                self.imem_bytes.is_power_of_two() && self.imem_bytes >= 4096 && self.imem_bytes <= 64 << 10,
                "imem_bytes must be a power of two from 4 KiB to 64 KiB",
            ),
            (
                self.l2_bytes.is_power_of_two() && self.l2_bytes >= 4096 && self.l2_bytes <= 1 << 20,
                "l2_bytes must be a power of two from 4 KiB to 1 MiB",
            ),
            (
                self.packet_buffer_bytes.is_power_of_two() && self.cells() >= 32 && self.cells() <= 1 << CELL_BITS,
                "packet_buffer_bytes must be a power of two from 16 KiB to 512 KiB",
            ),
            (self.contexts >= 1 && self.contexts <= MAX_CONTEXTS, "contexts must be 1 to 16"),
            (self.match_rules >= 8 && self.match_rules <= 64, "match_rules must be 8 to 64"),
            (
                self.live_messages.is_power_of_two() && self.live_messages >= 16 && self.live_messages <= 256,
                "live_messages must be a power of two from 16 to 256",
            ),
            (
                self.peers.is_power_of_two() && self.peers >= 16 && self.peers <= 256,
                "peers must be a power of two from 16 to 256",
            ),
            (
                self.mailboxes.is_power_of_two() && self.mailboxes >= 64 && self.mailboxes <= 4096,
                "mailboxes must be a power of two from 64 to 4096",
            ),
            (
                self.posted_buffers.is_power_of_two() && self.posted_buffers >= 64 && self.posted_buffers <= 16384,
                "posted_buffers must be a power of two from 64 to 16384",
            ),
            (self.processes >= 1 && self.processes <= 64, "processes must be 1 to 64"),
            (
                self.clusters.next_power_of_two() << self.hpu_bits() <= crate::reasons::TRACE_HPUS,
                "clusters times hpus, each rounded up to a power of two, must be at most 32",
            ),
            (self.clock_mhz > 0, "clock_mhz must be positive"),
        ];
        for (ok, sentence) in checks {
            if !ok {
                return Err(sentence);
            }
        }
        Ok(())
    }
}
