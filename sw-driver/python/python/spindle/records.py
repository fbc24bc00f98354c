"""Named tuples that calls return and take, and the types of dictionaries."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypedDict

from . import _spindle

__all__ = ["Completion", "ContextInfo", "Event", "HpuStats", "Info", "Node", "Stats"]


class Node(NamedTuple):
    """Addresses of a node."""

    mac: str
    """MAC address, such as ``02:00:00:00:01:05``."""
    ip: str
    """IPv4 address."""
    port: int
    """UDP port of its Spindle transport."""

    @classmethod
    def numbered(cls, number: int) -> Node:
        """The addresses that node ``number`` has where the network has no other plan: 02:00:00:00:01:n and 10.78.0.n."""
        return cls(*_spindle.numbered_node(number))


class Info(NamedTuple):
    """What a card is."""

    address: str
    """Address by which it was opened."""
    transport: str
    """``vfio``, ``sysfs``, ``vfio-user`` or ``sim``."""
    pci: str | None
    """Vendor and device, of a PCI function."""
    contract_version: int
    """Version of registers and descriptors."""
    clock_mhz: int
    """Nominal clock."""
    clusters: int
    """Clusters of handler processors."""
    hpus_per_cluster: int
    """Handler processors of a cluster."""
    contexts_max: int
    """Execution contexts."""
    match_rules_max: int
    """Match rules."""
    live_messages_max: int
    """Messages that can be alive."""
    mailboxes_max: int
    """Windows of all processes."""
    posted_buffers_max: int
    """Buffers of all windows that are posted and not complete."""
    processes: int
    """Processes."""
    imem_bytes: int
    """Bytes of instruction memory."""
    l2_bytes: int
    """Bytes of context memory."""
    packet_buffer_bytes: int
    """Bytes of packet buffer."""


class Completion(NamedTuple):
    """A buffer of a window that is complete, or that was taken back."""

    data: memoryview
    """The bytes that have arrived, where they lie: from the first byte of the buffer on."""
    length: int
    """Their count."""
    status: Literal["complete", "partial", "cancelled", "unknown"]
    """``partial`` after ``Window.advance``, ``cancelled`` after ``Window.close``."""
    epoch: int
    """Number of the buffer in its window, its low 16 bits."""
    buffer: Any
    """The object that was posted."""


class Event(NamedTuple):
    """What happened on the card for a process. What ``code``, ``id``, ``length`` and ``user`` are depends on the kind."""

    kind: Literal["message", "fault", "print", "user", "complete", "buffer", "lost", "other"]
    """``message``: a message ended. ``fault``: a handler was ended. ``print``: a handler printed. ``user``, ``complete``: a
    handler's command. ``buffer``: a buffer of a window ended. ``lost``: ``length`` events found no room."""
    context: int
    """Number of the context."""
    code: int
    """How a message ended (0 done, 1 dropped, 2 failed, 3 aged), the cause of a fault, or the status of a buffer."""
    id: int
    """Number of the message or mailbox, or the program counter of a fault."""
    length: int
    """Bytes."""
    user: int
    """The handler's 64 bits, the match bits of a message, or the address of a fault or of a buffer."""
    text: bytes
    """What a handler printed: up to eight bytes."""


class ContextInfo(NamedTuple):
    """A context that was loaded to outlive its program, as by ``spindle load``."""

    context: int
    """Its number."""
    name: str
    """Name by which it was loaded."""
    process: int
    """Process that gets its events."""


class HpuStats(TypedDict):
    """What a handler processor has done."""

    tasks: int
    busy_cycles: int


class Stats(TypedDict):
    """The counters of a card at one time, under the names of ``spindle stats --json``."""

    card: str
    cycle: int
    clock_mhz: int
    counters: dict[str, dict[str, int]]
    drops: dict[str, int]
    live_messages: list[int]
    hpus: list[HpuStats]
