//! Read DMA: moves bytes of L1 to the wire and to the host, one job after the other.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `job`: always taken, since the HPUs have no more handles than the queue has room, |
//! | | and at most one segment is in flight |
//! | | out `stage_left`: the last beat of a job from the stage is read |
//! | command ports | out `sent`: issuer of a frame that has left (the host and the initiator report the ends of the others) |
//! | L1 | `wide`; in `data[g]`: the beat of group g, from two cycles after its read until two cycles after the next one's |
//! | cluster | in `number` |
//! | egress | out `egress` |
//! | RVMA engine | out `dma`; out `dma_data` |
//!
//! Jobs are done in order. From `job` to the first beat on `egress`: 4 cycles; then one beat per cycle while ready, no
//! bubble inside a job nor between two, except one before a job that begins in the group in which the last one ended;
//! jobs of one beat in the same group take two cycles each. Two beats of each group can wait for their sink, in the
//! banks' output registers and in one register more. DMA descriptors and DMA data come in the same order, a descriptor
//! before its first beat.

use crate::bundles::WideRead;
use crate::types::{Destination, Issuer, MoveJob};
use spindle_blocks::{BeatSource, CommandIssuer, DmaDesc, LutFifo, TailedSource};
use spindle_contract::params::{L1_STAGE_BASE, SLOT_BYTES};
use spindle_verilog::prelude::*;

/// The stage is this slot of L1.
const STAGE: u64 = (L1_STAGE_BASE / SLOT_BYTES) as u64;

/// Tag of a beat.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Tag {
    /// It is of the second group.
    pub odd: Bit,
    /// Last beat.
    pub last: Bit,
    /// Its bytes, if it is the last one; 0 = all.
    pub tail: Bits<6>,
    /// Where it goes.
    pub destination: Destination,
    /// Frame sequence number of the issuer's packet.
    pub frame: Bits<16>,
    /// Issuer.
    pub issuer: Issuer,
}

/// A job that is being read from L1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Next beat.
    pub beat: Bits<10>,
    /// Beats to read.
    pub beats: Bits<6>,
    /// Of the last beat.
    pub tag: Tag,
}

/// The read DMA. See the module text.
#[block]
pub struct L1ReadDma {
    /// Number of the cluster.
    pub number: Signal<In, Bits<3>>,
    /// Bytes to move.
    pub job: PulseSink<MoveJob>,
    /// The bytes in the stage have been read.
    pub stage_left: Signal<Out, Bit>,
    /// Issuer of a frame that has left.
    pub sent: Pulse<Issuer>,
    /// Beats of L1 that are read.
    pub wide: WideRead,
    /// The beat of each group that was read last.
    pub data: [Signal<In, Bits<512>>; 2],
    /// Bytes for the wire.
    pub egress: TailedSource,
    /// Write to host memory.
    pub dma: Source<DmaDesc>,
    /// Its bytes.
    pub dma_data: BeatSource,
    jobs: LutFifo<MoveJob, 5>,
    host_write: DFF<DmaDesc>,
    host_write_waits: Reg<Bit>,
    reading: DFF<Reading>,
    reads: Reg<Bit>,
    /// A beat is read in this cycle: `next`, delayed by one cycle.
    wants: Reg<Bit>,
    /// Beats of each group in flight or waiting, two at most.
    held: [Reg<Bits<2>>; 2],
    /// Tag of the beat that L1 reads.
    in_flight: DFF<Tag>,
    in_flight_valid: Reg<Bit>,
    /// `data` has a beat that has not left; an older one of its group waits here.
    newer_valid: [Reg<Bit>; 2],
    older_valid: [Reg<Bit>; 2],
    older: [DFF<Bits<512>>; 2],
    /// Tags of the beats that wait, in their order.
    outgoing: LutFifo<Tag, 2>,
}

#[hdl]
impl L1ReadDma {
    fn update(&mut self) {
        // Reading.
        let job = self.reading.q.val();
        let odd = job.beat.get_bit(0);
        let last = job.beats == 1;
        let reads = self.wants.q.val() & self.wide.ready.val();
        self.stage_left.next = reads & last & (job.beat.get_bits::<5>(5) == bits::<5>(STAGE));
        self.wide.read.next = self.wants.q.val();
        self.wide.beat.next = job.beat;
        self.in_flight_valid.d.next = reads;
        if reads {
            self.in_flight.d.next = job.tag;
            self.in_flight.d.next.odd = odd;
            self.in_flight.d.next.last = last;
            self.reading.d.next.beat = job.beat + 1;
            self.reading.d.next.beats = job.beats - 1;
        }

        // The next job starts when this one is read. One for the host also needs room for its descriptor.
        self.jobs.write.offer(self.job.valid.val(), self.job.val());
        let next = self.jobs.read.val();
        let to_host = next.destination == Destination::Host;
        let descriptor_waits = self.host_write_waits.q.val();
        let job_ends = !self.reads.q.val() | (reads & last);
        let starts = self.jobs.read.valid.val() & job_ends & !(to_host & descriptor_waits);
        self.jobs.read.ready.next = job_ends & !(to_host & descriptor_waits);
        let tail = next.length.get_bits::<6>(0);
        if starts {
            self.reading.d.next = Reading {
                beat: next.beat,
                beats: next.length.get_bits::<6>(6) + bit_cast::<6, 1>(tail.any().into()),
                tag: Tag {
                    odd: false,
                    last: false,
                    tail,
                    destination: next.destination,
                    frame: next.frame,
                    issuer: next.issuer,
                },
            };
        }
        self.reads.d.next = starts | !job_ends;

        // The next read: at most two beats of each group are in flight or wait. A beat that leaves in this cycle still
        // counts, since the writes that L1 takes in this cycle depend on the read of the next one.
        let next_odd = if starts { next.beat.get_bit(0) } else { odd ^ reads };
        let held = if next_odd { self.held[1].q.val() } else { self.held[0].q.val() };
        let fills = held.get_bit(0) & reads & (odd == next_odd);
        let reads_next = (starts | !job_ends) & !held.get_bit(1) & !fills;
        self.wants.d.next = reads_next;
        self.wide.next.next = reads_next;
        self.wide.next_odd.next = next_odd;
        if starts & to_host {
            self.host_write.d.next = DmaDesc {
                version: bits::<4>(spindle_contract::VERSION),
                context: next.context,
                issuer: CommandIssuer {
                    cluster: self.number.val(),
                    hpu: next.issuer.hpu,
                    handle: zext::<4, 2>(next.issuer.handle),
                },
                frame: next.frame,
                address: next.address,
                length: bit_cast::<16, 12>(next.length),
                spare: bits::<8>(0),
            };
        }
        self.host_write_waits.d.next = (starts & to_host) | (descriptor_waits & !self.dma.ready.val());
        self.dma.offer(descriptor_waits, self.host_write.q.val());

        // Out: a beat that does not leave at once makes room for the next one of its group.
        self.outgoing.write.offer(self.in_flight_valid.q.val(), self.in_flight.q.val());
        let out = self.outgoing.read.val();
        let stands = self.outgoing.read.valid.val();
        let is_host = out.destination == Destination::Host;
        let is_wire = stands & !is_host;
        let waited = if out.odd { self.older_valid[1].q.val() } else { self.older_valid[0].q.val() };
        let data = match (out.odd, waited).cat::<2>().index() {
            0 => self.data[0].val(),
            1 => self.older[0].q.val(),
            2 => self.data[1].val(),
            _ => self.older[1].q.val(),
        };
        self.egress.data.next = data;
        self.egress.last.next = out.last;
        self.egress.tail.next = out.tail;
        self.egress.frame.next = out.frame;
        self.egress.put.next = out.destination == Destination::Put;
        self.egress.segment.next = out.destination == Destination::Segment;
        self.egress.valid.next = is_wire;
        self.dma_data.next = data;
        self.dma_data.last.next = out.last;
        self.dma_data.valid.next = stands & is_host;
        let taken = if is_host { self.dma_data.ready.val() } else { self.egress.ready.val() };
        self.outgoing.read.ready.next = taken;
        let leaves = stands & taken;
        for g in 0..2 {
            let comes = reads & (odd == (g == 1));
            let goes = leaves & (out.odd == (g == 1));
            let arrives = self.in_flight_valid.q.val() & (self.in_flight.q.val().odd == (g == 1));
            let newer = self.newer_valid[g].q.val();
            let older = self.older_valid[g].q.val();
            self.newer_valid[g].d.next = arrives | (newer & older);
            self.older_valid[g].d.next = (newer | older) & !goes;
            self.older[g].load(newer & !older, self.data[g].val());
            if comes & !goes {
                self.held[g].d.next = self.held[g].q.val() + 1;
            } else if goes & !comes {
                self.held[g].d.next = self.held[g].q.val() - 1;
            }
        }
        self.sent.valid.next = is_wire & self.egress.ready.val() & out.last & (out.destination == Destination::Wire);
        self.sent.next = out.issuer;
    }
}
