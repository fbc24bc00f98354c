//! Off-cluster unit: hands each command that is carried out outside the clusters to its executor.
//!
//! | neighbour | ports |
//! |---|---|
//! | clusters | in `command[i]`; out `put_left`, `host_put_left`: a bit per cluster |
//! | registers | in `policy`: process of a context; out `context_puts`: puts of context memory and reliable puts of packets in flight |
//! | | the highest bit: commands wait |
//! | RVMA engine | out `host_read`; out `host_atomic` |
//! | host writer | out `target`, with `host_read`: beat of L1 or L2 for the first byte |
//! | initiator | out `put`: payload on the egress stream; out `host_put`; in `context_put_ended`: end of such a put |
//! | completions | in `atomic_ended`: end of an atomic |
//!
//! Round robin among the clusters, a command per cycle into a register, from which it is offered in the cycle after it was
//! taken. Latency of a put: 2 cycles to `put`.
//!
//! Puts wait for the initiator in queues of their own, which hold one of each cluster, so they delay no other command.
//! A read of host memory waits while the RVMA engine has enough of them; at most 16 atomics are in flight. Meanwhile
//! the other off-cluster commands wait too.

use crate::array::off_cluster_queue::{OffClusterCommand, OffClusterHeader};
use crate::array::rr_arbiter4::RrArbiter4;
use crate::cluster::command_rules::{reads_later, ADD, CAS, DMA_IN, GET, PUT, PUT_CONTEXT, PUT_HOST};
use spindle_blocks::{replicate, CommandIssuer, HostAtomic, HostRead, LutFifo, LutMemory, PolicySink, PutDesc};
use spindle_contract::descriptors::{array_address, client};
use spindle_contract::events::atomic;
use spindle_contract::memory_map::HANDLE_BITS;
use spindle_verilog::prelude::*;

/// A put of handler memory that waits for the initiator.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WaitingPut {
    /// Cluster of the issuer.
    pub cluster: Bits<3>,
    /// Who asks.
    pub header: OffClusterHeader,
    /// Node table index.
    pub node: Bits<8>,
    /// Process there.
    pub pid: Bits<16>,
    /// LENGTH.
    pub length: Bits<12>,
    /// ADDR.
    pub address: Bits<64>,
    /// KEY.
    pub key: Bits<32>,
    /// OFFSET.
    pub offset: Bits<32>,
}

/// A put of host memory, of context memory or, reliably, of a packet, or a get, that waits for the initiator.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct WaitingHostPut {
    /// What it has in common with a put of handler memory.
    pub put: WaitingPut,
    /// Upper bits of LENGTH.
    pub length_high: Bits<20>,
    /// SOURCE: an offset, the low half of a host address, or an `array_address`.
    pub source: Bits<32>,
    /// OTHER, the low half of which is the high half of a host address for a put.
    pub other: Bits<64>,
    /// Key of the reply.
    pub reply_key: Bits<32>,
}

/// What all puts of a process have in common.
#[hdl_fn]
fn put_desc(put: WaitingPut, pid: Bits<6>) -> PutDesc {
    PutDesc {
        node: put.node,
        dst_pid: put.pid,
        src_pid: bit_cast::<16, 6>(pid),
        addr: put.address,
        key: put.key,
        buf_off: put.offset,
        context: put.header.context,
        issuer: CommandIssuer {
            cluster: put.cluster,
            hpu: put.header.hpu,
            handle: zext::<4, HANDLE_BITS>(put.header.handle),
        },
        frame: put.header.frame,
        ..Default::default()
    }
}

/// The off-cluster unit. See the module text.
#[block]
pub struct OffClusterUnit {
    /// Commands of each cluster.
    pub command: Vec<Sink<OffClusterCommand>>,
    /// Policy of a context.
    pub policy: PolicySink,
    /// Read of host memory.
    pub host_read: Source<HostRead>,
    /// Target of its bytes: {in L2, beat}.
    pub target: Signal<Out, Bits<15>>,
    /// Atomic on host memory.
    pub host_atomic: Source<HostAtomic>,
    /// End of an atomic.
    pub atomic_ended: Signal<In, Bit>,
    /// End of a put of context memory, or of a reliable put of a packet.
    pub context_put_ended: Signal<In, Bit>,
    /// As the register CONTEXT_PUTS.
    pub context_puts: Signal<Out, Bits<9>>,
    /// Put of handler memory.
    pub put: Source<PutDesc>,
    /// Put of host memory, or get.
    pub host_put: Source<PutDesc>,
    /// Clusters whose put is taken.
    pub put_left: Signal<Out, Bits<8>>,
    /// Clusters whose put of host memory or get is taken.
    pub host_put_left: Signal<Out, Bits<8>>,
    arbiter: RrArbiter4,
    /// The command that is offered to its executor, and the number of its cluster.
    offered: Reg<Bit>,
    current: DFF<OffClusterCommand>,
    number: DFF<Bits<3>>,
    /// Process of each context, for the put and for the put of host memory that are offered.
    processes: [LutMemory<Bits<6>, 4>; 2],
    puts: LutFifo<WaitingPut, 3>,
    host_puts: LutFifo<WaitingHostPut, 3>,
    /// Atomics in flight.
    atomics: Reg<Bits<5>>,
    /// Puts of context memory and reliable puts of packets in flight, and whether commands wait that may be another one.
    pinned: Reg<Bits<9>>,
    commands_wait: Reg<Bit>,
    leaves: Signal<Local, Bit>,
    _clusters: usize,
    /// Highest number of a cluster: the mask of numbers.
    _highest: u64,
}

impl OffClusterUnit {
    /// For `clusters` clusters.
    pub fn new(clusters: usize) -> Self {
        let highest = clusters.next_power_of_two() as u64 - 1;
        Self { command: replicate(clusters), _clusters: clusters, _highest: highest, ..Self::blank() }
    }
}

/// What the command that is offered is.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct CommandKind {
    /// As in `memory_map::command`.
    pub opcode: Bits<4>,
    /// Issuer of the command.
    pub issuer: CommandIssuer,
    /// PUT of bytes that leave at once.
    pub is_put: Bit,
    /// PUT_HOST, PUT_CONTEXT, GET, or a reliable put of a packet.
    pub is_host_put: Bit,
    /// DMA_FROM_HOST.
    pub is_read: Bit,
    /// An atomic that compares.
    pub is_swap: Bit,
    /// HOST_CAS or HOST_ADD.
    pub is_atomic: Bit,
}

#[hdl]
impl OffClusterUnit {
    fn update(&mut self) {
        let command = self.classify();
        let starts = self.offer_host_accesses(command);
        self.queue_puts(command, starts);
        self.count_context_puts(command);
        self.choose();
        self.offer_puts();
    }

    /// What the command that is offered is.
    fn classify(&mut self) -> CommandKind {
        let offered = self.offered.q.val();
        let header = self.current.q.val().header;
        let opcode = header.opcode;
        let issuer = CommandIssuer {
            cluster: self.number.q.val(),
            hpu: header.hpu,
            handle: zext::<4, HANDLE_BITS>(header.handle),
        };
        let is_get = opcode == bits::<4>(GET);
        let is_put = offered & (opcode == bits::<4>(PUT)) & !header.of_packet;
        let is_host_put = offered & (reads_later(opcode) | is_get | header.of_packet);
        let is_read = offered & (opcode == bits::<4>(DMA_IN));
        let is_swap = opcode == bits::<4>(CAS);
        let is_atomic = offered & (is_swap | (opcode == bits::<4>(ADD)));
        CommandKind { opcode, issuer, is_put, is_host_put, is_read, is_swap, is_atomic }
    }

    /// Offers reads and atomics of host memory; at most 16 atomics are in flight.
    fn offer_host_accesses(&mut self, command: CommandKind) -> Bit {
        let current = self.current.q.val();
        let header = current.header;
        let length = current.length;
        self.host_read.next = HostRead {
            client: bits::<2>(client::HANDLER),
            issuer: command.issuer,
            context: header.context,
            frame: header.frame,
            address: current.address,
            length: length.get_bits::<16>(0),
            offset: current.source.get_bits::<6>(0),
        };
        self.target.next = current.source.get_bits::<15>(6);
        self.host_read.valid.next = command.is_read;
        let may_start = !self.atomics.q.val().get_bit(4);
        let starts = command.is_atomic & may_start & self.host_atomic.ready.val();
        self.host_atomic.next = HostAtomic {
            issuer: command.issuer,
            op: if command.is_swap { bits::<2>(atomic::COMPARE_AND_SWAP) } else { bits::<2>(atomic::FETCH_AND_ADD) },
            wide: length.get_bit(3),
            address: current.address,
            operand: (current.offset, current.key).cat::<64>(),
            compare: current.other,
        };
        self.host_atomic.valid.next = command.is_atomic & may_start;
        if starts & !self.atomic_ended.val() {
            self.atomics.d.next = self.atomics.q.val() + 1;
        } else if !starts & self.atomic_ended.val() {
            self.atomics.d.next = self.atomics.q.val() - 1;
        }
        starts
    }

    /// Puts puts and gets into the queues of the initiator.
    fn queue_puts(&mut self, command: CommandKind, starts: Bit) {
        let current = self.current.q.val();
        let waiting = WaitingPut {
            cluster: self.number.q.val(),
            header: current.header,
            node: current.node.get_bits::<8>(0),
            pid: current.node.get_bits::<16>(16),
            length: current.length.get_bits::<12>(0),
            address: current.address,
            key: current.key,
            offset: current.offset,
        };
        self.puts.write.offer(command.is_put, waiting);
        self.host_puts.write.next = WaitingHostPut {
            put: waiting,
            length_high: current.length.get_bits::<20>(12),
            source: current.source,
            other: current.other,
            reply_key: current.result,
        };
        self.host_puts.write.valid.next = command.is_host_put;
        self.leaves.next = (command.is_read & self.host_read.ready.val())
            | starts
            | (command.is_put & self.puts.write.ready.val())
            | (command.is_host_put & self.host_puts.write.ready.val());
    }

    /// Counts puts of context memory and reliable puts of packets: what they need stays in place until the host sees that none is in
    /// flight.
    fn count_context_puts(&mut self, command: CommandKind) {
        let of_array = (command.opcode == bits::<4>(PUT_CONTEXT)) | (command.opcode == bits::<4>(PUT));
        let pins = command.is_host_put & self.host_puts.write.ready.val() & of_array;
        let frees = self.context_put_ended.val();
        if pins & !frees {
            self.pinned.d.next = self.pinned.q.val() + 1;
        } else if frees & !pins {
            self.pinned.d.next = self.pinned.q.val() - 1;
        }
        let pinned = self.pinned.q.val();
        let shown = pinned.get_bits::<8>(0) | repeat::<8>(pinned.get_bit(8));
        self.context_puts.next = (self.commands_wait.q.val(), shown).cat::<9>();
    }

    /// Takes the next command of a cluster.
    fn choose(&mut self) {
        let offered = self.offered.q.val();
        let takes = !offered | self.leaves.val();
        let mut request: Bits<8> = bits::<8>(0);
        for i in 0..self._clusters {
            request = request.replace_bit(i, self.command[i].valid.val());
            self.command[i].ready.next = takes & self.arbiter.grant.val().get_bit(i);
        }
        self.arbiter.request.next = request;
        self.arbiter.accept.next = takes;
        self.offered.load(takes, self.arbiter.any.val());
        if takes {
            self.current.d.next = select(self.arbiter.index.val() & self._highest, self.command.vals());
            self.number.d.next = self.arbiter.index.val();
        }
        self.commands_wait.d.next = request.any() | offered;
    }

    /// Offers the oldest puts to the initiator.
    fn offer_puts(&mut self) {
        let put = self.puts.read.val();
        let host_put = self.host_puts.read.val();
        for i in 0..2 {
            self.processes[i].write(self.policy.valid.val(), self.policy.index.val(), self.policy.val().pid);
        }
        self.processes[0].read_address.next = put.header.context;
        self.processes[1].read_address.next = host_put.put.header.context;
        self.put.next =
            PutDesc { length: bit_cast::<32, 12>(put.length), ..put_desc(put, self.processes[0].read_data.val()) };
        let gets = host_put.put.header.opcode == bits::<4>(GET);
        // SOURCE of a PUT_CONTEXT has the number of its region above the address in L2.
        let of_context = host_put.put.header.opcode == bits::<4>(PUT_CONTEXT);
        let marked = host_put.source.get_bit(array_address::OF_PACKET) & !of_context;
        let source = host_put.source.replace_bit(array_address::OF_PACKET, marked);
        self.host_put.next = PutDesc {
            op: if gets { bits::<2>(1) } else { bits::<2>(0) },
            from_host: host_put.put.header.opcode == bits::<4>(PUT_HOST),
            length: (host_put.length_high, host_put.put.length).cat::<32>(),
            host_address: (host_put.other.get_bits::<32>(0), source).cat::<64>(),
            reply_addr: host_put.other,
            reply_off: host_put.source,
            reply_key: host_put.reply_key,
            ..put_desc(host_put.put, self.processes[1].read_data.val())
        };
        self.put.valid.next = self.puts.read.valid.val();
        self.puts.read.ready.next = self.put.ready.val();
        self.host_put.valid.next = self.host_puts.read.valid.val();
        self.host_puts.read.ready.next = self.host_put.ready.val();
        let put_leaves = self.puts.read.valid.val() & self.put.ready.val();
        let host_put_leaves = self.host_puts.read.valid.val() & self.host_put.ready.val();
        self.put_left.next = if put_leaves { bits::<8>(1) << put.cluster } else { bits::<8>(0) };
        self.host_put_left.next = if host_put_leaves { bits::<8>(1) << host_put.put.cluster } else { bits::<8>(0) };
    }
}
