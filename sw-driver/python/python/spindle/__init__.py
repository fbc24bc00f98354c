"""Spindle SmartNICs: handlers, windows, puts, events and counters.

>>> import spindle
>>> with spindle.open("unix:/run/spindle/nic0.sock") as card:  # doctest: +SKIP
...     window = card.window(0x77, key=99, threshold=5)
...     window.post(card.alloc(4096))
...     print(bytes(window.wait(timeout=10).data))

``open`` takes the card for the program, ``attach`` looks at a running one. Waits release the lock of the interpreter and end
with Ctrl-C; a timeout is in seconds of the host's time, and None waits without a limit. Failures are in ``spindle.errors``.
"""

from ._spindle import (
    Card,
    Handlers,
    Memory,
    Observer,
    Operation,
    Posted,
    Stream,
    Window,
    attach,
    open,
)
from .errors import (
    BadArgument,
    Busy,
    Gone,
    Permission,
    PutFailed,
    Refused,
    SpindleError,
    Timeout,
    WrongCard,
)
from .records import Completion, ContextInfo, Event, HpuStats, Info, Node, Stats

__all__ = [
    "BadArgument",
    "Busy",
    "Card",
    "Completion",
    "ContextInfo",
    "Event",
    "Gone",
    "Handlers",
    "HpuStats",
    "Info",
    "Memory",
    "Node",
    "Observer",
    "Operation",
    "Permission",
    "Posted",
    "PutFailed",
    "Refused",
    "SpindleError",
    "Stats",
    "Stream",
    "Timeout",
    "Window",
    "WrongCard",
    "attach",
    "open",
]
