"""Memory of the card: views without copies, and their lives."""

import gc
import random

import numpy as np
import pytest
import spindle
from conftest import patiently
from spindle import Card


def test_an_array_is_the_memory(card: Card) -> None:
    memory = card.alloc(1000)
    assert len(memory) == 1000 and memory.address % 4096 == 0
    array = np.asarray(memory)
    assert array.dtype == np.uint8 and array.shape == (1000,) and array.flags.writeable
    assert array.ctypes.data == memory.address and not array.any()
    array.view(np.uint32)[:] = np.arange(250)
    assert bytes(memory[4:8]) == b"\x01\0\0\0" and memory[4] == 1
    memory[0:3] = b"abc"
    memory[3] = 100
    assert array[:4].tobytes() == b"abcd"
    with pytest.raises(IndexError):
        memory[1000]
    with pytest.raises(ValueError):
        memory[0:2] = b"longer"


def test_views_keep_the_memory(card: Card) -> None:
    memory = card.alloc(1 << 20)
    array = np.asarray(memory)[4096:].view(np.uint64)
    array[:] = 7
    del memory
    gc.collect()
    # Memory that was given back would be given out again.
    others = [card.alloc(1 << 20) for _ in range(4)]
    for other in others:
        other[:] = b"\xff" * (1 << 20)
    assert (array == 7).all()


def test_memory_is_freed_with_its_last_view(card: Card) -> None:
    def resident() -> int:
        with open("/proc/self/statm") as statm:
            return int(statm.read().split()[1]) * 4096

    before = resident()
    for turn in range(1, 20):
        array = np.asarray(card.alloc(16 << 20))
        assert not array.any()
        array[:] = turn
        del array
    assert resident() - before < 100 << 20


def test_free_is_refused_while_views_exist(card: Card) -> None:
    memory = card.alloc(64)
    array = np.asarray(memory)
    view = memoryview(memory)
    with pytest.raises(BufferError, match="2 views"):
        memory.free()
    array[0] = 1
    del array
    view.release()
    memory.free()
    memory.free()
    assert "freed" in repr(memory)
    for use in (lambda: memoryview(memory), lambda: memory[0], lambda: bytes(memory)):
        with pytest.raises(BufferError, match="was freed"):
            use()
    with pytest.raises(spindle.Refused, match="was freed"):
        memory.address
    with card.alloc(64) as other:
        other[0] = 3
    assert "freed" in repr(other)


def test_views_outlive_the_card(addresses: tuple[str, str]) -> None:
    card = patiently(lambda: spindle.open(addresses[0]))
    array = np.asarray(card.alloc(4096))
    array[:] = 9
    card.close()
    card.close()
    assert card.closed and (array == 9).all()
    with pytest.raises(spindle.Refused, match="open it again"):
        card.alloc(1)
    # Its server has a place for the next client at once.
    with patiently(lambda: spindle.open(addresses[0])) as again:
        assert again.alloc(10)[:] == bytes(10)


def test_many_pieces_in_any_order(card: Card) -> None:
    choice = random.Random(5)
    pieces: list[tuple[int, spindle.Memory]] = []
    others: list[object] = []
    for turn in range(120):
        piece = card.alloc(choice.randrange(1, 20_000))
        assert not any(piece[:])
        piece[:] = bytes([turn + 1]) * len(piece)
        pieces.append((turn + 1, piece))
        # Memory of others in between costs no region.
        others.append(np.empty(1 << 18, np.uint8))
        if turn % 3 == 2:
            pieces.pop(choice.randrange(len(pieces)))
    assert len(pieces) == 80 and all(set(piece[:]) == {number} for number, piece in pieces)


def test_memory_of_another_card_is_no_memory_of_this_one(pair: tuple[Card, Card]) -> None:
    window = pair[0].window(1, threshold=8)
    with pytest.raises(spindle.BadArgument, match="not memory of this card"):
        window.post(pair[1].alloc(8))
