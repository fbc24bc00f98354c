//! Read DMA: moves bytes of L1 to the wire, to the host and to the combiner, one job after the other.
//!
//! | neighbour | ports |
//! |---|---|
//! | command unit | in `job`: always taken, since the HPUs have no more handles than the queue has room, |
//! | | and the stage has one segment at most |
//! | | out `stage_left`: the last beat of a job from the stage is read |
//! | command ports | out `sent`: issuer of a frame that has left (the host and the initiator report the ends of the others) |
//! | L1 | `wide`; in `data[g]`: the beat of group g, two cycles after its read |
//! | | out `combined`: beats that a COMBINE writes |
//! | command ports | out `combine_ended`: issuer of a COMBINE whose bytes are in L1 |
//! | cluster | in `number` |
//! | egress | out `egress` |
//! | RVMA engine | out `dma`; out `dma_data` |
//!
//! Jobs are done in order. A job begins at any byte of L1; the beats that go out begin with its first byte.
//!
//! | cycle | event |
//! |---|---|
//! | 0 | `job` |
//! | 2 | the first beat is read, then one beat per cycle |
//! | 4 | the beat comes from L1, and is turned by a multiple of 4 bytes; the beat before it stands below |
//! | 5 | it is turned by the rest |
//! | 6 | the beat is offered |
//!
//! There is no bubble inside a job nor between two. A job that does not begin at a multiple of 64 bytes needs one beat
//! of L1 more than it sends, so a cycle without a beat precedes it. In the stage the first beat follows the last one.
//! A beat is read only if there is room for it after the turns, so nothing stalls before. DMA descriptors and DMA data
//! come in the same order, a descriptor before its first beat.
//!
//! **COMBINE.** A beat of the source and one of the destination are read in turn, and both pass the same turn: the
//! destination goes up by at most three lanes, so that elements begin at multiples of four, and the source goes to the
//! same lanes. They do not wait for beats of other jobs. The next job starts after the last byte was written, so that it
//! reads the result, and no two COMBINEs of a cluster overlap. From the job to its end: 11 cycles, and 2 for each beat of
//! the destination, and 1 if the source does not begin in the destination's lane; more if L1 holds up reads.

use crate::bundles::{BeatWrite, WideRead};
use crate::cluster::combine_lanes::Operation;
use crate::cluster::combiner::{CombineJob, Combiner};
use crate::types::{CombineTarget, Destination, Issuer, MoveJob};
use spindle_blocks::aligner::{down_ones, down_to_ones};
use spindle_blocks::{BeatSource, CommandIssuer, DmaDesc, LutFifo, TailedSource};
use spindle_contract::memory_map::HANDLE_BITS;
use spindle_contract::params::{L1_STAGE_BASE, SLOT_BYTES};
use spindle_verilog::prelude::*;

/// The stage is this slot of L1.
const STAGE: u64 = (L1_STAGE_BASE / SLOT_BYTES) as u64;
/// A read is announced while fewer beats than this are on their way or wait. Six beats fill the way from L1 at a beat per
/// cycle. More would be read in bursts while other clusters send, and hold up the loader, which serves all clusters.
const ROOM: u64 = 6;

/// The queue has room for the commands of eight HPUs. A segment needs no room of its own: one job is always outside.
const JOB_BITS: usize = 3 + HANDLE_BITS;

/// Tag of a beat.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Tag {
    /// Last beat.
    pub last: Bit,
    /// Its bytes, if it is the last one; 0 = all.
    pub tail: Bits<6>,
    /// Where it goes.
    pub destination: Destination,
    /// Checksums are inserted.
    pub checksum: Bit,
    /// Frame sequence number of the issuer's packet.
    pub frame: Bits<16>,
    /// Issuer.
    pub issuer: Issuer,
}

/// A beat on its way from L1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Passing {
    /// The beat is of the second group.
    pub odd: Bit,
    /// Nothing goes out before the next beat has come.
    pub leads: Bit,
    /// Bytes that the beat, with the one before it below, is turned down.
    pub down: Bits<6>,
    /// The beat is for the combiner,
    pub combines: Bit,
    /// and of the destination.
    pub of_destination: Bit,
    /// Of the beat that goes out.
    pub tag: Tag,
}

/// A job that is being read from L1.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Next beat.
    pub beat: Bits<10>,
    /// Beats to read; of a COMBINE: of the source.
    pub beats: Bits<6>,
    /// Beat after it, of a COMBINE: the next one of its other operand.
    pub other: Bits<10>,
    /// Lanes that the destination goes up.
    pub up: Bits<2>,
    /// The bytes are in the stage.
    pub staged: Bit,
    /// Of the next beat; its tag is that of the last one.
    pub passing: Passing,
}

/// A beat that goes out.
#[derive(LogicStruct, Copy, Clone, Debug, Default, PartialEq)]
pub struct Outgoing {
    /// The bytes.
    pub data: Bits<512>,
    /// Its tag.
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
    /// Beats that a COMBINE writes.
    pub combined: BeatWrite,
    /// Issuer of a COMBINE whose bytes are in L1.
    pub combine_ended: Pulse<Issuer>,
    jobs: LutFifo<MoveJob, JOB_BITS>,
    combiner: Combiner,
    /// A COMBINE has not ended.
    combining: Reg<Bit>,
    host_write: DFF<DmaDesc>,
    host_write_waits: Reg<Bit>,
    reading: DFF<Reading>,
    reads: Reg<Bit>,
    /// A beat is read in this cycle: `next`, delayed by one cycle.
    wants: Reg<Bit>,
    /// Beats that go out, from their read on.
    held: Reg<Bits<5>>,
    /// Beat that L1 reads.
    in_flight: DFF<Passing>,
    in_flight_valid: Reg<Bit>,
    /// Beat that comes from L1.
    coming: DFF<Passing>,
    coming_valid: Reg<Bit>,
    /// The beat before, without its first byte.
    earlier: DFF<Bits<504>>,
    /// Its last three bytes, of the destination of a COMBINE.
    earlier_destination: DFF<Bits<24>>,
    /// The beat, turned by a multiple of four bytes.
    turned: DFF<Bits<536>>,
    turning: DFF<Passing>,
    turning_valid: Reg<Bit>,
    outgoing: LutFifo<Outgoing, 3>,
}

#[hdl]
impl L1ReadDma {
    fn update(&mut self) {
        // Reading.
        let job = self.reading.q.val();
        let odd = job.beat.get_bit(0);
        let combines = job.passing.combines;
        let of_destination = job.passing.of_destination;
        // Source and destination in turn.
        let alternates = combines & !job.passing.leads;
        let last = (job.beats == 1) & (!combines | of_destination);
        let reads = self.wants.q.val() & self.wide.ready.val();
        self.stage_left.next = reads & last & job.staged;
        self.wide.read.next = self.wants.q.val();
        self.wide.beat.next = job.beat;
        self.in_flight_valid.d.next = reads;
        if reads {
            self.in_flight.d.next = job.passing;
            self.in_flight.d.next.odd = odd;
            self.in_flight.d.next.tag.last = last;
            if of_destination {
                self.in_flight.d.next.down = (bits::<4>(0xF), !job.up).cat::<6>();
            }
            // The bytes in the stage go on with its first beat.
            let in_stage = job.staged & !of_destination;
            let beat = job.beat + 1;
            let following = if in_stage { (bits::<5>(STAGE), beat.get_bits::<5>(0)).cat::<10>() } else { beat };
            self.reading.d.next.beat = if alternates { job.other } else { following };
            if alternates {
                self.reading.d.next.other = following;
            }
            if !alternates | of_destination {
                self.reading.d.next.beats = job.beats - 1;
            }
            self.reading.d.next.passing.leads = false;
            self.reading.d.next.passing.of_destination = alternates & !of_destination;
        }

        // The next job starts when this one is read. One for the host also needs room for its descriptor.
        self.jobs.write.offer(self.job.valid.val(), self.job.val());
        let next = self.jobs.read.val();
        let to_host = next.destination == Destination::Host;
        let descriptor_waits = self.host_write_waits.q.val();
        let job_ends = !self.reads.q.val() | (reads & last);
        let may_start = job_ends & !(to_host & descriptor_waits) & !self.combining.q.val();
        let starts = self.jobs.read.valid.val() & may_start;
        self.jobs.read.ready.next = may_start;
        let to_combiner = next.destination == Destination::Combiner;
        let target = unpack::<CombineTarget, 64>(next.address);
        let tail = next.length.get_bits::<6>(0);
        let offset = next.at.get_bits::<6>(0);
        // Beats in which its bytes lie: those that go out, or those of the destination. Lanes of a COMBINE have one more.
        let first = if to_combiner { target.to.get_bits::<6>(0) } else { bits::<6>(0) };
        let bytes = bit_cast::<8, 6>(first) + bit_cast::<8, 6>(tail);
        let beats = next.length.get_bits::<6>(6) + bit_cast::<6, 2>((bytes + 63).get_bits::<2>(6));
        if starts {
            self.reading.d.next = Reading {
                beat: next.at.get_bits::<10>(6),
                beats: beats + bit_cast::<6, 1>(to_combiner.into()) + bit_cast::<6, 1>(offset.any().into()),
                other: target.to.get_bits::<10>(6),
                up: bits::<2>(0) - target.to.get_bits::<2>(0),
                staged: if to_combiner { target.staged } else { next.at.get_bits::<5>(11) == bits::<5>(STAGE) },
                passing: Passing {
                    odd: false,
                    leads: offset.any(),
                    // A beat that is not turned stands above the 63 bytes of the one before.
                    down: offset - 1,
                    combines: to_combiner,
                    of_destination: false,
                    tag: Tag {
                        last: false,
                        tail,
                        destination: next.destination,
                        checksum: next.checksum,
                        frame: next.frame,
                        issuer: next.issuer,
                    },
                },
            };
        }
        self.reads.d.next = starts | !job_ends;
        self.combiner.job.next = CombineJob {
            issuer: next.issuer,
            to: target.to,
            beats,
            end: bytes.get_bits::<6>(0),
            operation: unpack::<Operation, 5>(target.operation),
            constant: target.constant,
        };
        self.combiner.job.valid.next = starts & to_combiner;
        let combine_ended = self.combiner.ended.valid.val();
        self.combining.d.next = (starts & to_combiner) | (self.combining.q.val() & !combine_ended);
        self.combine_ended.offer(combine_ended, self.combiner.ended.val());
        self.combiner.write.join(&mut self.combined);

        // The next read, if there is room. A beat that leaves in this cycle still counts, since the writes that L1 takes
        // in this cycle depend on the read of the next one.
        let then_odd = if alternates { job.other.get_bit(0) } else { !odd };
        let next_odd = if starts {
            next.at.get_bit(6)
        } else if reads {
            then_odd
        } else {
            odd
        };
        let has_room = self.held.q.val() < bits::<5>(ROOM);
        let reads_next = (starts & (has_room | to_combiner)) | (!job_ends & (has_room | combines));
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
                    handle: zext::<4, HANDLE_BITS>(next.issuer.handle),
                },
                frame: next.frame,
                address: next.address,
                length: bit_cast::<16, 12>(next.length),
                spare: bits::<8>(0),
            };
        }
        self.host_write_waits.d.next = (starts & to_host) | (descriptor_waits & !self.dma.ready.val());
        self.dma.offer(descriptor_waits, self.host_write.q.val());

        // From L1, turned so that the first byte of the job comes first.
        self.coming_valid.d.next = self.in_flight_valid.q.val();
        self.coming.d.next = self.in_flight.q.val();
        let coming = self.coming.q.val();
        let beat = if coming.odd { self.data[1].val() } else { self.data[0].val() };
        self.turning_valid.d.next = self.coming_valid.q.val() & !coming.leads;
        if self.coming_valid.q.val() {
            if coming.of_destination {
                self.earlier_destination.d.next = beat.get_bits::<24>(488);
            } else {
                self.earlier.d.next = beat.get_bits::<504>(8);
            }
            let earlier = self.earlier.q.val();
            let nearest =
                if coming.of_destination { self.earlier_destination.q.val() } else { earlier.get_bits::<24>(480) };
            let lanes = (beat, nearest, earlier.get_bits::<480>(0)).cat::<1016>();
            self.turned.d.next = down_to_ones(lanes, coming.down);
            self.turning.d.next = coming;
        }
        let turning = self.turning.q.val();
        let turning_valid = self.turning_valid.q.val();
        let turned = down_ones(self.turned.q.val(), turning.down.get_bits::<2>(0));
        self.outgoing.write.offer(turning_valid & !turning.combines, Outgoing { data: turned, tag: turning.tag });
        self.combiner.operand.next = turned;
        self.combiner.of_source.next = turning_valid & turning.combines & !turning.of_destination;
        self.combiner.of_destination.next = turning_valid & turning.combines & turning.of_destination;

        // Out.
        let out = self.outgoing.read.val();
        let stands = self.outgoing.read.valid.val();
        let tag = out.tag;
        let is_host = tag.destination == Destination::Host;
        let is_wire = stands & !is_host;
        self.egress.data.next = out.data;
        self.egress.last.next = tag.last;
        self.egress.tail.next = tag.tail;
        self.egress.frame.next = tag.frame;
        self.egress.put.next = tag.destination == Destination::Put;
        self.egress.segment.next = tag.destination == Destination::Segment;
        self.egress.checksum.next = tag.checksum;
        self.egress.valid.next = is_wire;
        self.dma_data.next = out.data;
        self.dma_data.last.next = tag.last;
        self.dma_data.valid.next = stands & is_host;
        let taken = if is_host { self.dma_data.ready.val() } else { self.egress.ready.val() };
        self.outgoing.read.ready.next = taken;
        let comes = reads & !job.passing.leads & !combines;
        let goes = stands & taken;
        if comes & !goes {
            self.held.d.next = self.held.q.val() + 1;
        } else if goes & !comes {
            self.held.d.next = self.held.q.val() - 1;
        }
        self.sent.valid.next = is_wire & self.egress.ready.val() & tag.last & (tag.destination == Destination::Wire);
        self.sent.next = tag.issuer;
    }
}
