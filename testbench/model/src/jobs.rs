//! What those shipped handlers do that keep something from packet to packet: from all messages or packets of a run to what
//! is left in context memory and host memory, and to the frames that leave.
//!
//! Nothing here is shared with the C sources, the SDK or the driver.

use crate::checksums;
use crate::combine::product;
use crate::frames::SpindleHeader;
use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use std::collections::HashMap;

/// A whole message.
#[derive(Clone, Debug)]
pub struct Message {
    /// Its id.
    pub id: u32,
    /// Its bytes.
    pub data: Vec<u8>,
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
}

/// `aggregate`: pieces of the host region, of `host_bytes`.
pub fn aggregate(messages: &[Message], host_bytes: usize) -> Vec<(usize, Vec<u8>)> {
    let record = |message: &Message| {
        let sum = words(&message.data).fold(0u32, u32::wrapping_add);
        let at = message.id as usize % (host_bytes / 8) * 8;
        (at, [sum.to_le_bytes(), message.id.to_le_bytes()].concat())
    };
    messages.iter().map(record).collect()
}

/// `reduce`: the vector of sums.
pub fn reduce(messages: &[Message], elements: usize) -> Vec<u32> {
    let mut sums = vec![0u32; elements];
    for message in messages {
        for (sum, word) in sums.iter_mut().zip(words(&message.data)) {
            *sum = sum.wrapping_add(word);
        }
    }
    sums
}

/// `accumulate`: the host region after messages, each with its place in the region.
pub fn accumulate(messages: &[(usize, Message)], host: &[u8]) -> Vec<u8> {
    let mut sums = host.to_vec();
    for (place, message) in messages {
        for (sum, word) in sums[*place..].chunks_exact_mut(4).zip(words(&message.data)) {
            let before = u32::from_le_bytes([sum[0], sum[1], sum[2], sum[3]]);
            sum.copy_from_slice(&before.wrapping_add(word).to_le_bytes());
        }
    }
    sums
}

/// `parity`: likewise.
pub fn parity(messages: &[(usize, Message)], host: &[u8], coefficient: u8) -> Vec<u8> {
    let mut parity = host.to_vec();
    for (place, message) in messages {
        for (sum, byte) in parity[*place..].iter_mut().zip(&message.data) {
            *sum ^= product(coefficient, *byte);
        }
    }
    parity
}

/// `histogram`: how many bytes of each value the payloads have.
pub fn histogram<'a>(payloads: impl Iterator<Item = &'a [u8]>) -> Vec<u32> {
    let mut counts = vec![0; 256];
    payloads.flatten().for_each(|byte| counts[usize::from(*byte)] += 1);
    counts
}

/// `filtering`: the frame that leaves, if one does; `table` says which port becomes which.
pub fn filtering(frame: &[u8], table: &HashMap<([u8; 4], u16), u16>) -> Option<Vec<u8>> {
    let packet = SlicedPacket::from_ethernet(frame).ok()?;
    let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Udp(udp))) = (&packet.net, &packet.transport) else {
        return None;
    };
    let port = table.get(&(ip.header().destination(), udp.destination_port()))?;
    let mut out = frame.to_vec();
    let at = udp.slice().as_ptr() as usize - frame.as_ptr() as usize + 2;
    out[at..at + 2].copy_from_slice(&port.to_be_bytes());
    checksums::send(&mut out);
    Some(out)
}

/// `unpack`: pieces of the host region.
pub fn unpack(message: &Message, block_length: usize, stride: usize) -> Vec<(usize, Vec<u8>)> {
    message.data.chunks(block_length).enumerate().map(|(i, block)| (i * stride, block.to_vec())).collect()
}

/// A UDP frame on its way back with another payload of the same length, without a checksum.
fn answered(frame: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut out = frame.to_vec();
    let (headers, udp) = (out.len() - payload.len(), out.len() - payload.len() - 8);
    for (at, from, bytes) in
        [(0, 6, 6), (6, 0, 6), (udp - 8, udp - 4, 4), (udp - 4, udp - 8, 4), (udp, udp + 2, 2), (udp + 2, udp, 2)]
    {
        out[at..at + bytes].copy_from_slice(&frame[from..from + bytes]);
    }
    out[udp + 6..udp + 8].fill(0);
    out[headers..].copy_from_slice(payload);
    out
}

/// Payload of a UDP frame, if it is one.
fn udp_payload(frame: &[u8]) -> Option<&[u8]> {
    match SlicedPacket::from_ethernet(frame).ok()?.transport? {
        TransportSlice::Udp(udp) => Some(udp.payload()),
        _ => None,
    }
}

/// `copy_from_host`: the answer to a frame, from the host region.
pub fn copy_from_host(frame: &[u8], host: &[u8]) -> Option<Vec<u8>> {
    let payload = udp_payload(frame)?;
    let offset = u32::from_be_bytes(payload.get(..4)?.try_into().ok()?) as usize;
    Some(answered(frame, host.get(offset..offset.checked_add(payload.len())?)?))
}

/// `counter`: the answer to a frame that draws this number.
pub fn counter(frame: &[u8], number: u64) -> Option<Vec<u8>> {
    let payload = udp_payload(frame)?;
    let rest = payload.get(8..)?;
    Some(answered(frame, &[&number.to_be_bytes(), rest].concat()))
}

/// `partition`: the payloads that each of `parts` mailboxes gets.
pub fn partition(frames: &[Vec<u8>], parts: usize) -> Vec<Vec<&[u8]>> {
    let mut sorted = vec![vec![]; parts];
    for payload in frames.iter().filter_map(|frame| udp_payload(frame)) {
        if let Some(key) = payload.first_chunk() {
            let hash = u32::from_be_bytes(*key).wrapping_mul(0x9e37_79b1);
            sorted[(hash as usize * parts) >> 32].push(payload);
        }
    }
    sorted
}

/// `scatter`: the blocks of a frame, each with its offset in the mailbox, and whether the list ends with the payload.
pub fn scatter(frame: &[u8]) -> (Vec<(usize, &[u8])>, bool) {
    let mut blocks = vec![];
    let mut rest = udp_payload(frame).unwrap_or_default();
    while let Some((header, after)) = rest.split_first_chunk::<6>() {
        let [a, b, c, d, high, low] = *header;
        let length = usize::from(u16::from_be_bytes([high, low]));
        if after.is_empty() || length == 0 || length > after.len() {
            return (blocks, false);
        }
        let (block, next) = after.split_at(length);
        blocks.push((u32::from_be_bytes([a, b, c, d]) as usize, block));
        rest = next;
    }
    (blocks, rest.is_empty())
}

/// `ping_pong_stream`: the header of the put that answers a packet; `nid` and `key` are this node's, number and sequence are
/// the NIC's own.
pub fn ping_pong_stream(packet: &SpindleHeader, nid: u32, key: u32) -> SpindleHeader {
    SpindleHeader {
        src_nid: nid,
        src_pid: 0,
        dst_pid: packet.src_pid,
        key,
        msg_len: packet.payload_len.into(),
        msg_off: 0,
        buf_off: packet.buf_off + packet.msg_off,
        ..*packet
    }
}

/// `forward`: the header of the put that passes a packet on to mailbox `to`, with its key and from its offset on, at
/// process `pid`; `nid` is this node's, number and sequence are the NIC's own.
pub fn forward(packet: &SpindleHeader, nid: u32, pid: u16, to: (u64, u32, u32)) -> SpindleHeader {
    let (addr, key, offset) = to;
    SpindleHeader {
        src_nid: nid,
        src_pid: 0,
        dst_pid: pid,
        addr,
        key,
        msg_len: packet.payload_len.into(),
        msg_off: 0,
        buf_off: offset + packet.msg_off,
        ..*packet
    }
}

/// `broadcast`: who gets a frame from whom, when node 0 of `size` starts: the children of each node, in order of time.
pub fn tree(size: usize) -> Vec<Vec<usize>> {
    let mut children = vec![Vec::new(); size];
    let mut reached = 1;
    while reached < size {
        for (node, of) in children.iter_mut().enumerate().take(reached.min(size - reached)) {
            of.push(node + reached);
        }
        reached *= 2;
    }
    children
}

/// `broadcast`: a frame to node `from`, on its way to node `to`; nodes are the last bytes of MAC and IP addresses after
/// `first`.
pub fn passed_on(frame: &[u8], first: u8, from: usize, to: usize) -> Vec<u8> {
    let mut out = frame.to_vec();
    let (from, to) = (first + from as u8, first + to as u8);
    (out[5], out[11], out[14 + 15], out[14 + 19]) = (to, from, from, to);
    checksums::send(&mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_of_a_tree_is_reached_once() {
        for size in 1..40 {
            let mut reached: Vec<usize> = tree(size).into_iter().flatten().collect();
            reached.sort_unstable();
            assert_eq!(reached, (1..size).collect::<Vec<_>>());
        }
        assert_eq!(tree(6), [vec![1, 2, 4], vec![3, 5], vec![], vec![], vec![], vec![]]);
    }

    #[test]
    fn blocks_lie_apart() {
        let message = Message { id: 1, data: vec![7; 25] };
        let offsets: Vec<_> = unpack(&message, 10, 16).iter().map(|(at, block)| (*at, block.len())).collect();
        assert_eq!(offsets, [(0, 10), (16, 10), (32, 5)]);
    }
}
