"""The part of the package that is the driver's."""

from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Protocol, Self, SupportsIndex, final, overload

from typing_extensions import Buffer

from .records import Completion, ContextInfo, Event, Info, Stats

__all__ = [
    "Card",
    "Handlers",
    "Memory",
    "Observer",
    "Operation",
    "Posted",
    "Stream",
    "Window",
    "attach",
    "numbered_node",
    "open",
]

class _Array(Protocol):
    """An array of numpy, whose stubs know the buffer protocol from Python 3.12 on."""

    @property
    def __array_interface__(self) -> dict[str, Any]: ...

_Bytes = Buffer | _Array
_Addresses = tuple[str, str, SupportsIndex]

def open(
    address: str,
    *,
    process: SupportsIndex | None = None,
    node: SupportsIndex = 0,
    nodes: SupportsIndex | Sequence[_Addresses] | None = None,
    round_trip_ns: SupportsIndex = 0,
) -> Card:
    """Open a card for this program, or another process of a card that this program has open.

    ``address``: ``0000:65:00.0`` (VFIO), ``sysfs:0000:65:00.0``, ``unix:PATH`` (a served card, or a share of spindled), or
    ``sim:CONFIG`` (simulated in this program, by librvma-sim.so). Contexts and rules of earlier programs end.

    ``process``: process of the card; by default that of the share, or 0. ``node``: number of the card in its network.
    ``nodes``: addresses of nodes 0, 1, ... (``Node``), or how many have the addresses of their numbers; by default 16.
    ``round_trip_ns``: nanoseconds of the card's time that a packet and its acknowledgement take; 0 stands for 64,000.
    """

def attach(address: str) -> Observer:
    """Attach to a running card, and change nothing: for its configuration, its counters and its reset."""

def numbered_node(number: SupportsIndex) -> tuple[str, str, int]:
    """Addresses of a node by its number; ``Node.numbered`` has them as a ``Node``."""

@final
class Card:
    """A process of a card. It is open until ``close``, the end of its ``with`` block, or until nothing of it is left.

    Every thread may use it and what it returns.
    """

    @property
    def address(self) -> str:
        """Address by which it was opened."""
    @property
    def info(self) -> Info:
        """What the card is."""
    @property
    def process(self) -> int:
        """The process of the card."""
    @property
    def cycle(self) -> int:
        """Cycles of the card since its reset."""
    @property
    def closed(self) -> bool:
        """Whether the program has closed the card."""
    def alloc(self, bytes: SupportsIndex) -> Memory:
        """Zeroed memory that the card and the program share.

        A process has 16 regions of whole pages. Neighbouring allocations share one, and new ones fill gaps first.
        """
    def load(
        self,
        image: bytes | str | PathLike[str],
        rules: str | Sequence[str] = (),
        *,
        messages: bool = False,
        memory: _Bytes | None = None,
        watchdog: SupportsIndex = 100_000,
        state_bytes: SupportsIndex = 0,
        weight: SupportsIndex = 1,
        message_quota: SupportsIndex = 0,
        packet_quota: SupportsIndex = 0,
        overload: Literal["drop", "place", "pause"] = "drop",
    ) -> Handlers:
        """Load handlers into a context of the card, and give them the packets of rules.

        ``image``: an ELF file of ``spindle build``, or its bytes. ``rules``: such as ``"udp.dport == 9000"``; the empty rule
        has every packet. ``messages``: the Spindle header names the message, and handlers run for each message, not for each
        packet. ``memory``: memory of the card that the handlers may write. ``watchdog``: cycles after which a handler is
        ended. ``state_bytes``: context memory beyond the image's variables. ``weight``: share of the processors' time, 1 to
        255. Quotas limit live messages and packets inside; 0 is no limit. ``overload``: treatment of packets beyond a limit.
        """
    def window(
        self,
        address: SupportsIndex,
        *,
        threshold: SupportsIndex,
        key: SupportsIndex = 0,
        counting: Literal["bytes", "operations"] = "bytes",
        kind: Literal["bound", "tagged", "managed", "stream"] = "bound",
        silent: bool = False,
        spills: bool = False,
        catch_all: bool = False,
        events: bool = False,
        handlers: Handlers | None = None,
    ) -> Window:
        """Open a window at a virtual address, for senders that know the key.

        ``threshold``: a buffer is complete after so many bytes or operations; one of a managed window or stream, when less
        than this is left of it. ``kind``: where a message goes. ``bound``: to its offset in the oldest buffer. ``tagged``: the
        sender names the buffer by its epoch. ``managed``: after the message before. ``stream``: likewise, in the sender's
        order. ``silent``: senders are not informed of refused packets. ``spills``: messages without buffer go to the catch-all
        window. ``catch_all``: this managed window is that of its process. ``events``: ``next_event`` reports each complete
        buffer. ``handlers``: they run on the messages of the window.
        """
    def put(
        self,
        data: _Bytes,
        *,
        node: SupportsIndex,
        address: SupportsIndex,
        process: SupportsIndex = 0,
        key: SupportsIndex = 0,
        offset: SupportsIndex = 0,
        kind: Literal["bound", "tagged", "managed"] = "bound",
        epoch: SupportsIndex | None = None,
    ) -> Operation:
        """Put bytes into a window of another node, as one message.

        Bytes in memory of this card are sent from where they lie and must stay as they are until the put is over. Other bytes
        are copied first. ``kind`` is that of the window; ``epoch`` names the buffer of a tagged one.
        """
    def stream(
        self,
        *,
        node: SupportsIndex,
        address: SupportsIndex,
        process: SupportsIndex = 0,
        key: SupportsIndex = 0,
    ) -> Stream:
        """The sender's end of a stream, which begins when the window is opened. A window has one sender."""
    def get(
        self,
        length: SupportsIndex,
        *,
        node: SupportsIndex,
        address: SupportsIndex,
        reply: Window,
        process: SupportsIndex = 0,
        key: SupportsIndex = 0,
        offset: SupportsIndex = 0,
        reply_offset: SupportsIndex = 0,
        active: bool = False,
    ) -> Operation:
        """Ask for bytes of the buffer that a window of another node completed last. They arrive in ``reply``.

        The memory of that buffer must exist as long as it is read. ``active``: of the oldest buffer that is not complete, in its present state.
        """
    def next_event(self, timeout: float | None = None) -> Event:
        """Wait for the next event of the process: of handlers that it loaded, and of its windows."""
    def stats(self) -> Stats:
        """All counters of the card. A share of spindled has only some of the registers, and refuses this call."""
    def set_node(self, number: SupportsIndex, addresses: _Addresses | None, *, icrc: bool = False) -> None:
        """Enter the addresses of a node (``Node``), or take the node out. With ``icrc``, packets to the node have the ICRC, and those of it
        must have the ICRC; enter this card likewise at the node."""
    def set_put_limit(self, nanoseconds: SupportsIndex | None) -> None:
        """Limit how long puts and gets of the card find no buffer, in the card's time; None is no limit."""
    def set_put_turns(self, puts: SupportsIndex) -> None:
        """Have up to ``puts`` puts, 1 to 64, take turns, a segment each, so that a short put does not wait for the end of a long one.
        1 after reset: puts to one node over one path arrive in their order."""
    def set_congestion_control(
        self,
        on: bool,
        *,
        shrink: SupportsIndex | None = None,
        least: SupportsIndex | None = None,
        first: SupportsIndex | None = None,
        most: SupportsIndex | None = None,
    ) -> None:
        """Have the card obey the marks of switches: a window of segments in flight to each node, of ``first`` segments at first, between
        ``least`` and ``most``, from which a marked packet takes 2**-``shrink`` of a segment. ``on`` is False after reset."""
    def close(self) -> None:
        """End contexts and windows, take the memory back from the card, and leave the card. Views of memory stay valid."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

@final
class Memory(Buffer):
    """Memory that a card and the program share, with the buffer protocol: ``numpy.asarray(memory)`` is a view, not a copy.

    The memory is freed when the object and all views of it are gone, and the card uses it no more.
    """

    @property
    def address(self) -> int:
        """Its address, in the program and for the card."""
    def free(self) -> None:
        """Free the memory now. Refused while views exist, a put of it is under way, or a buffer in it is posted."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> memoryview: ...
    @overload
    def __setitem__(self, key: SupportsIndex, value: SupportsIndex, /) -> None: ...
    @overload
    def __setitem__(self, key: slice, value: _Bytes, /) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __release_buffer__(self, view: memoryview, /) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

@final
class Handlers:
    """Handlers in an execution context of a card. The context ends with ``unload``, the object, or the card."""

    @property
    def number(self) -> int:
        """Number of the context on the card."""
    def connect(self, rules: str | Sequence[str], *, messages: bool = False) -> None:
        """Give the handlers the packets of further rules."""
    def disconnect(self) -> None:
        """Take all rules back. What the context has accepted is still handled."""
    def read(self, offset: SupportsIndex, length: SupportsIndex) -> bytes:
        """Bytes of the context memory, as the handlers have left them."""
    def write(self, offset: SupportsIndex, data: bytes | bytearray) -> None:
        """Write bytes of the context memory, in words of four bytes; the last one is padded with zeros."""
    def start_task(self, argument: SupportsIndex, *, delay: SupportsIndex = 0) -> None:
        """Run the image's ``task_handler`` with this argument of 64 bits, after a delay in cycles of the card."""
    def cancel_task(self, argument: SupportsIndex) -> bool:
        """Cancel one task that waits with this argument; whether there was one."""
    def unload(self) -> None:
        """Take the rules back, let messages end, and give the context back."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

@final
class Window:
    """A window: what other nodes put to its address arrives in the buffers that are posted to it, in their order."""

    @property
    def address(self) -> int:
        """Its virtual address."""
    @property
    def key(self) -> int:
        """The key that senders must know."""
    @property
    def posted(self) -> int:
        """Buffers that were posted, and that no call of ``wait`` has returned."""
    @property
    def epoch(self) -> int:
        """How many buffers have been completed since the window was opened."""
    def post(self, buffer: _Bytes) -> Posted:
        """Post memory of the card, or a contiguous view of it, as the next buffer."""
    def wait(self, timeout: float | None = None) -> Completion:
        """Wait for the oldest buffer that is complete and that no call of ``wait`` has returned."""
    def advance(self) -> None:
        """Take the oldest buffer back that is not complete: its status is ``partial``."""
    def close(self) -> None:
        """Close the window: buffers that are not complete come back with the status ``cancelled``."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...

@final
class Posted:
    """A buffer that was posted to a window."""

    def poll(self) -> Completion | None:
        """What has arrived, if the buffer is complete. This look costs no access to the card."""
    def wait(self, timeout: float | None = None) -> Completion:
        """Wait until the buffer is complete."""

@final
class Operation:
    """A put or get."""

    def done(self) -> bool:
        """Whether it is over: acknowledged, or failed."""
    def wait(self, timeout: float | None = None) -> None:
        """Wait until every byte has been acknowledged. ``PutFailed`` is raised if that will never be."""

@final
class Stream:
    """The sender's end of a stream: messages arrive in the order in which they were put."""

    def put(self, data: _Bytes) -> Operation:
        """Put the next message."""

@final
class Observer:
    """A running card that the program looks at; nothing of it changes but by ``reset``."""

    @property
    def address(self) -> str:
        """Address of the card."""
    @property
    def info(self) -> Info:
        """What the card is."""
    def stats(self) -> Stats:
        """All counters."""
    def contexts(self) -> list[ContextInfo]:
        """Contexts that were loaded to outlive their program, as by ``spindle load``."""
    def reset(self) -> None:
        """Reset the card: contexts, rules, windows and counters are gone."""
    def close(self) -> None:
        """Leave the card."""
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None, /
    ) -> None: ...
