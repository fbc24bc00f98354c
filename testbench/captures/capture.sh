#!/bin/bash
# Records kernel.pcap: what a Linux host sends to another one, pings and UDP datagrams of many sizes together with the
# kernel's own ARP and IPv6 chatter. Only frames towards 10.77.0.2 (the host the NIC stands for) are kept, with true
# checksums. Needs root, iproute2, ethtool, iputils-ping, tshark and python3; ends by itself within two minutes.
#
# usage: capture.sh [output file]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
output=${1:-$here/kernel.pcap}
host=spindle-host-$$
card=spindle-card-$$
work=$(mktemp -d)
recorder=
touch "$work/log"

cleanup() {
    if [ -n "$recorder" ]; then kill "$recorder" 2>/dev/null || true; wait "$recorder" 2>/dev/null || true; fi
    ip netns del "$host" 2>/dev/null || true
    ip netns del "$card" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

for tool in ip ethtool ping tshark python3; do
    command -v "$tool" >/dev/null && continue
    echo "capture: $tool is missing; run: apt-get install -y iproute2 ethtool iputils-ping tshark python3" >&2
    exit 1
done

ip netns add "$host"
ip netns add "$card"
ip -n "$host" link add wire type veth peer name wire netns "$card"
ip -n "$host" link set wire address 02:00:00:77:00:01
ip -n "$card" link set wire address 02:00:00:77:00:02
for side in "$host" "$card"; do
    # Without these the kernel leaves checksums and segmentation to hardware that is not there.
    ip netns exec "$side" ethtool -K wire tx off rx off tso off gso off gro off >/dev/null
    ip -n "$side" link set lo up
done

# Record on the receiving side, inbound only, before the link comes up, so that the chatter is on it too.
ip -n "$card" link set wire up
ip netns exec "$card" timeout 110 tshark -q -n -F pcap -i wire -f 'ether src 02:00:00:77:00:01' -w "$work/raw.pcap" \
    2>"$work/log" &
recorder=$!
for _ in $(seq 50); do grep -q Capturing "$work/log" && break; sleep 0.1; done
sleep 0.5

ip -n "$host" addr add 10.77.0.1/24 dev wire
ip -n "$card" addr add 10.77.0.2/24 dev wire
ip -n "$host" link set wire up
sleep 3 # duplicate address detection, router solicitations, multicast reports

for size in 0 1 2 3 4 7 8 15 16 17 18 19 20 21 22 23 24 31 32 33 48 56 64 85 86 87 100 128 150 200 256 300 400 512 600 \
            800 1000 1200 1400 1472; do
    ip netns exec "$host" timeout 5 ping -q -n -c 1 -W 2 -M do -s "$size" 10.77.0.2 >/dev/null
done

ip netns exec "$host" timeout 30 python3 - <<'PYTHON'
import socket, time

sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.bind(("10.77.0.1", 40077))
sizes = [1, 2, 3, 4, 5, 8, 10, 12, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 32, 40, 48, 60, 63, 64, 65, 86, 87, 100, 120,
         128, 150, 151, 200, 214, 215, 255, 256, 257, 300, 342, 343, 400, 470, 471, 500, 512, 600, 700, 726, 800, 900,
         982, 1000, 1024, 1100, 1200, 1300, 1400, 1471, 1472]
for size in sizes:
    sender.sendto(bytes((7 * i + size) & 0xFF for i in range(size)), ("10.77.0.2", 9))
    time.sleep(0.01)
for port in (7, 53, 4791, 9000, 9000, 65535):
    sender.sendto(f"to port {port}".encode(), ("10.77.0.2", port))
    time.sleep(0.01)
PYTHON
sleep 1.5

kill -INT "$recorder"
wait "$recorder" || true
recorder=

tshark -n -r "$work/raw.pcap" -o ip.check_checksum:TRUE -o udp.check_checksum:TRUE \
    -Y 'ip.checksum.status == 0 || udp.checksum.status == 0 || icmp.checksum.status == 0' >"$work/wrong" 2>/dev/null
if [ -s "$work/wrong" ]; then
    echo "capture: frames with wrong checksums, nothing written:" >&2
    head -5 "$work/wrong" >&2
    exit 1
fi
count() { tshark -n -r "$work/raw.pcap" -Y "$1" 2>/dev/null | wc -l; }
pings=$(count icmp.type==8)
datagrams=$(count 'udp && ip.dst==10.77.0.2')
if [ "$pings" -lt 40 ] || [ "$datagrams" -lt 60 ]; then
    echo "capture: only $pings pings and $datagrams datagrams were recorded, nothing written" >&2
    exit 1
fi
cp "$work/raw.pcap" "$output"
chmod 644 "$output"
echo "capture: $(count frame) frames ($pings pings, $datagrams datagrams) in $output"
