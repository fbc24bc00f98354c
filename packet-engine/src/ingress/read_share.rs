//! Read share: two users of the packet buffer's second read port.
//!
//! | neighbour | ports |
//! |---|---|
//! | placement, segments of puts | in `request[i]`; out `data[i]` |
//! | packet buffer | out `port_request` (its `ready` is a register); in `port_data` |
//!
//! Requests take turns when both users have one. The turn is the first user's while no one asks, so its request costs no cycle, and one
//! of the second user a cycle. Beats come in the order of the requests. Up to eight requests are
//! under way. A beat that its user does not take holds up those of the other one: a user that asks takes its beats without waiting for
//! anything that waits for a beat of the other. See `docs/decisions/0046-reliable-puts-of-packets.md`.

use spindle_blocks::{BeatSink, BeatSource, LutFifo, ReadRequest};
use spindle_verilog::prelude::*;

/// See the head of this file.
#[block]
pub struct ReadShare {
    /// Packet that a user reads.
    pub request: [Sink<ReadRequest>; 2],
    /// Its beats.
    pub data: [BeatSource; 2],
    /// Packet for the read port.
    pub port_request: Source<ReadRequest>,
    /// Beat of the read port.
    pub port_data: BeatSink,
    /// It is the second user's turn, not the first one's: a register, so that no path leads from a request to the ready of the other.
    second_turn: Reg<Bit>,
    /// Users whose beats have not all come: 1 = the second one.
    users: LutFifo<Bits<1>, 3>,
}

#[hdl]
impl ReadShare {
    fn update(&mut self) {
        let room = self.users.write.ready.val();
        let ready = self.port_request.ready.val() & room;
        let first_asks = self.request[0].valid.val();
        let second_asks = self.request[1].valid.val();
        let second = self.second_turn.q.val();
        let asks = if second { second_asks } else { first_asks };
        self.port_request.offer(asks & room, if second { self.request[1].val() } else { self.request[0].val() });
        self.users.write.offer(asks & ready, repeat::<1>(second));
        self.request[0].ready.next = ready & !second;
        self.request[1].ready.next = ready & second;
        // A turn ends with a request that is taken, or without one.
        let waits = asks & !ready;
        self.second_turn.d.next = if second { waits } else { second_asks & !waits };

        let valid = self.port_data.valid.val() & self.users.read.valid.val();
        let of_second = self.users.read.val().get_bit(0);
        for i in 0..2 {
            self.data[i].next = self.port_data.val();
            self.data[i].last.next = self.port_data.last.val();
        }
        self.data[0].valid.next = valid & !of_second;
        self.data[1].valid.next = valid & of_second;
        let taken =
            self.users.read.valid.val() & if of_second { self.data[1].ready.val() } else { self.data[0].ready.val() };
        self.port_data.ready.next = taken;
        self.users.read.ready.next = self.port_data.valid.val() & taken & self.port_data.last.val();
    }
}
