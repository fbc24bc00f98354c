"""Waits: other threads go on, Ctrl-C ends them, and so does the end of the card."""

import _thread
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import pytest
import spindle
from conftest import LIMIT, Pair

KEPT: list[spindle.Window] = []
"""Windows without a buffer, until their cards are closed."""

SERVED = pytest.mark.parametrize("pair", ["addresses"], ids=["served"], indirect=True)
"""For tests of what no transport changes."""


def waits(pair: Pair) -> list[Callable[[float | None], object]]:
    """Every wait of the module, for what never comes: bytes from others, and a buffer for a put."""
    card, other = pair
    window = card.window(1, threshold=8)
    posted = window.post(card.alloc(8))
    KEPT.append(other.window(2, threshold=8))
    put = card.put(b"early", node=1, address=2)
    return [window.wait, posted.wait, put.wait, card.next_event]


@SERVED
def test_a_timeout_is_one_of_the_host(pair: Pair) -> None:
    for wait in waits(pair):
        begin = time.monotonic()
        with pytest.raises(spindle.Timeout, match="0.3 seconds"):
            wait(0.3)
        assert 0.3 <= time.monotonic() - begin < 5
        begin = time.monotonic()
        with pytest.raises(TimeoutError):
            wait(0)
        assert time.monotonic() - begin < 2


def test_ctrl_c_ends_a_wait(pair: Pair) -> None:
    # A shell starts what runs in its background with Ctrl-C ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for wait in waits(pair):
            timer = threading.Timer(0.2, _thread.interrupt_main)
            timer.start()
            begin = time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                wait(LIMIT)
            assert time.monotonic() - begin < 5
            timer.join()
    finally:
        signal.signal(signal.SIGINT, before)


@SERVED
def test_handlers_of_signals_run_during_a_wait(pair: Pair) -> None:
    seen: list[float] = []

    def handle(number: int, frame: FrameType | None) -> None:
        seen.append(time.monotonic())

    before = signal.signal(signal.SIGALRM, handle)
    try:
        for wait in waits(pair):
            seen.clear()
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(spindle.Timeout):
                wait(1)
            assert len(seen) == 1 and time.monotonic() - seen[0] > 0.5
    finally:
        signal.signal(signal.SIGALRM, before)


def test_other_threads_go_on_during_a_wait(pair: Pair) -> None:
    turns = 0
    over = threading.Event()

    def turn() -> None:
        nonlocal turns
        while not over.is_set():
            turns += 1
            time.sleep(0.001)

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        for wait in waits(pair):
            before = turns
            with pytest.raises(spindle.Timeout):
                wait(0.5)
            assert turns - before > 20
    finally:
        over.set()
        thread.join()


def test_threads_wait_side_by_side_for_what_arrives(pair: Pair) -> None:
    sender, receiver = pair
    windows = [receiver.window(20 + number, threshold=100) for number in range(4)]
    for window in windows:
        window.post(receiver.alloc(100))
    got: dict[int, bytes] = {}

    def receive(number: int) -> None:
        got[number] = bytes(windows[number].wait(LIMIT).data)

    def send(number: int) -> None:
        sender.put(bytes([number] * 100), node=1, address=20 + number).wait(LIMIT)

    threads = [threading.Thread(target=call, args=[number]) for number in range(4) for call in (receive, send)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert got == {number: bytes([number] * 100) for number in range(4)}


def test_the_end_of_the_card_ends_waits(pair: Pair) -> None:
    failures: list[BaseException] = []

    def wait_for_ever(wait: Callable[[float | None], object]) -> None:
        try:
            wait(None)
        except spindle.SpindleError as failure:
            failures.append(failure)

    calls = waits(pair)
    threads = [threading.Thread(target=wait_for_ever, args=[wait]) for wait in calls]
    for thread in threads:
        thread.start()
    time.sleep(0.2)
    pair[0].close()
    for thread in threads:
        thread.join(20)
    # A wait that sees the end of the window before that of the card returns the buffer, as cancelled, or its event.
    assert not any(thread.is_alive() for thread in threads)
    assert len(failures) >= 1 and all("card is closed" in str(failure) for failure in failures)
