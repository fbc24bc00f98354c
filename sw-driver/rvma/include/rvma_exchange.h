/* The exchange protocols of RDMA over RVMA windows: eager messages, rendezvous, a ring with credits, remote calls.
 *
 * A header without a library: it calls `rvma.h` only, and so runs over every card of RVMA_Open. It is C, and no module of
 * the driver with C on top, since the protocols need nothing that C programs do not have, and a program can read and
 * change them. What RDMA does by polled flags, immediates and exchanged addresses, windows do by themselves:
 *
 *     protocol    RDMA                                        here
 *     eager       a write into a slot, and a flag after it    a TAGGED window that counts operations: message n goes to
 *                 that the receiver polls                     the buffer of epoch n, whose record is the completion
 *     rendezvous  an exchange of addresses for each message   an announcement; the bytes move by RVMA_Get or by a put,
 *                                                             from and to the programs' own buffers
 *     ring        a write, and a write of the tail            a STREAM window with a buffer for each slot; credits come
 *                                                             back by a put
 *     call        a queue of receives that clients share      a window of requests, and a window of replies for each
 *                                                             client, whose epoch is the number of the call
 *
 * No protocol needs an order of the network: messages may be lost, doubled and overtake each other on the wire.
 *
 * Common to all
 *
 * - An end belongs to one thread at a time; the two ends may be of one thread, of two, or of two programs. Nothing runs in the
 *   background: what a protocol owes its peer, it does in the calls of the program.
 * - Memory is the program's: RVMAX_..._BYTES names how much an end needs, as a constant. It is aligned to 64 bytes and
 *   registered (RVMA_Register) as long as the end is open, and so are buffers of rendezvous.
 * - Sizes are in bytes, limits in nanoseconds of the card's time as in `rvma.h`. A call with a limit waits, all others do
 *   not. 0 looks once; RVMA_FOREVER is no limit, and such a call waits for a peer that is gone.
 * - A call returns an RVMA_Status. RVMA_ERR_ARGUMENT: an argument is not one, or a message is longer than a slot.
 *   RVMA_ERR_REFUSED: not in this state, or the NIC has refused. RVMA_ERR_TIMEOUT: the peer did not do its part within the
 *   limit; nothing has changed, and the call may be repeated. RVMA_ERR_PUT: the peer has refused a message or is gone; the end has
 *   failed and is closed next. `end.why` of the object has the reason, a sentence.
 * - An end takes several window addresses: `address` and the RVMAX_ADDRESSES - 1 after it, at both peers. A channel
 *   joins one process to one other. Two ends of one process need addresses of their own.
 * - The side that listens opens first or second, as it likes: RVMAX_..._connect of the other side waits for it.
 */
#ifndef RVMA_EXCHANGE_H
#define RVMA_EXCHANGE_H

#include <rvma_call.h>
#include <rvma_eager.h>
#include <rvma_rendezvous.h>
#include <rvma_ring.h>

#endif
