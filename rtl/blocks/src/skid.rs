//! Registers on a valid/ready port.

use spindle_verilog::prelude::*;

/// Cuts every combinational path of a valid/ready port: payload, `valid` and `ready` all come from registers.
///
/// | ports | neighbour |
/// |---|---|
/// | in `write`, `write_valid` / out `write_ready` | source |
/// | out `read`, `read_valid` / in `read_ready` | sink |
///
/// Latency 1 cycle. Throughput one word per cycle without bubbles. Holds at most two words: the one that the sink looks
/// at, and the one that arrived in the cycle in which `ready` could no longer be taken back.
#[block]
pub struct Skid<T: Synth> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Word for the sink.
    pub read: Source<T>,
    head: DFF<T>,
    spare: DFF<T>,
    head_valid: Reg<Bit>,
    spare_valid: Reg<Bit>,
}

#[hdl]
impl<T: Synth> Skid<T> {
    fn update(&mut self) {
        let room = !self.spare_valid.q.val();
        let advance = self.read.ready.val() | !self.head_valid.q.val();
        // The spare word follows the input until it is needed, so its enable is one register.
        self.spare.load(room, self.write.val());
        if advance {
            self.head_valid.d.next = self.write.valid.val() | self.spare_valid.q.val();
            self.spare_valid.d.next = false;
            if room {
                self.head.d.next = self.write.val();
            } else {
                self.head.d.next = self.spare.q.val();
            }
        } else {
            self.spare_valid.d.next = self.write.valid.val() | self.spare_valid.q.val();
        }
        self.write.ready.next = room;
        self.read.offer(self.head_valid.q.val(), self.head.q.val());
    }
}

/// Forward register: payload and `valid` come from registers, `ready` is combinational.
///
/// Ports as [`Skid`]. Latency 1 cycle, one word per cycle, holds one word; `write_ready` = empty or `read_ready`. Use
/// it where the path backwards is short, and a [`Skid`] every few stages.
#[block]
pub struct Slice<T: Synth> {
    /// Word from the source.
    pub write: Sink<T>,
    /// Word for the sink.
    pub read: Source<T>,
    head: DFF<T>,
    head_valid: Reg<Bit>,
}

#[hdl]
impl<T: Synth> Slice<T> {
    fn update(&mut self) {
        let advance = self.read.ready.val() | !self.head_valid.q.val();
        if advance {
            self.head.d.next = self.write.val();
            self.head_valid.d.next = self.write.valid.val();
        }
        self.write.ready.next = advance;
        self.read.offer(self.head_valid.q.val(), self.head.q.val());
    }
}
