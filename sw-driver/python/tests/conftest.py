"""Cards for tests: served in processes of their own, or simulated in this one."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import spindle

CHECKOUT = Path(__file__).parents[3]
PROGRAMS = Path(os.environ.get("SPINDLE_PROGRAMS", CHECKOUT / "target/debug"))
T = TypeVar("T")
LIMIT = 120.0
"""Seconds after which a wait of a test has failed."""


class Server:
    """A process that serves until the test ends."""

    def __init__(self, *command: str | Path, ready: str) -> None:
        self.process = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith(ready), f"{command[0]} printed {line!r}"

    def end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(socket: Path, *options: str) -> Server:
    return Server(PROGRAMS / "spindle", "serve", "--socket", socket, *options, ready="serving a card")


def patiently(call: Callable[[], T]) -> T:
    """The result of an opening call: a server notices the end of its last client only after some time."""
    end = time.monotonic() + LIMIT
    while True:
        try:
            return call()
        except spindle.Busy:
            if time.monotonic() > end:
                raise
            time.sleep(0.01)


@pytest.fixture(scope="session")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Two served cards on one cable. Each is reset when its client goes."""
    folder = tmp_path_factory.mktemp("cards")
    sockets = folder / "nic0.sock", folder / "nic1.sock"
    servers = [serve(socket, "--link", f"unix:{folder / 'cable'}") for socket in sockets]
    yield f"unix:{sockets[0]}", f"unix:{sockets[1]}"
    for server in servers:
        server.end()


@pytest.fixture(scope="session")
def simulated() -> Iterator[tuple[str, str]]:
    """Two cards that are simulated in this process. Others than the tests' processes keep them from test to test."""
    with spindle.open("sim:", process=15, node=0), spindle.open("sim:", process=15, node=1):
        yield "sim:", "sim:"


Pair = tuple[spindle.Card, spindle.Card]


@pytest.fixture(params=["addresses", "simulated"], ids=["served", "simulated"])
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Nodes 0 and 1 of a network."""
    names: tuple[str, str] = request.getfixturevalue(request.param)
    with patiently(lambda: spindle.open(names[0], node=0)) as first:
        with patiently(lambda: spindle.open(names[1], node=1)) as second:
            yield first, second


@pytest.fixture
def card(addresses: tuple[str, str]) -> Iterator[spindle.Card]:
    """A served card."""
    with patiently(lambda: spindle.open(addresses[0])) as card:
        yield card
