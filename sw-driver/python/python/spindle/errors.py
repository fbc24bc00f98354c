"""What calls on a card fail at. Every exception carries the driver's sentence, which ends with what to do next."""

__all__ = [
    "SpindleError",
    "BadArgument",
    "Busy",
    "Gone",
    "Permission",
    "PutFailed",
    "Refused",
    "Timeout",
    "WrongCard",
]


class SpindleError(Exception):
    """Any failure of a card, its transport or the driver."""


class BadArgument(SpindleError, ValueError):
    """An argument is outside its range, a rule is not understood, or an image cannot run on the card."""


class Busy(SpindleError):
    """Another program owns the card."""


class Gone(SpindleError, ConnectionError):
    """The card has left for good: it was unplugged, or its server ended."""


class Permission(SpindleError, PermissionError):
    """The system refuses access to the card."""


class PutFailed(SpindleError):
    """A put or get is over, and its bytes did not arrive."""


class Refused(SpindleError):
    """The card, its server or the library refuses the call in the present state: no room, a closed window, memory in use."""


class Timeout(SpindleError, TimeoutError):
    """What a call waited for did not come within its limit. It may still come."""


class WrongCard(SpindleError):
    """What the address opens is no Spindle card, or one of another version."""
