"""Windows, puts, gets and streams between two nodes, served and simulated."""

import numpy as np
import pytest
import spindle
from conftest import LIMIT, Pair


def pattern(bytes: int, seed: int = 1) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, 256, bytes, np.uint8)


def test_a_message_of_an_array_arrives_in_an_array(pair: Pair) -> None:
    sender, receiver = pair
    source = np.asarray(sender.alloc(9000))
    source[:] = pattern(9000)
    received = np.asarray(receiver.alloc(12_000))
    with receiver.window(0x77, key=5, threshold=9000) as window:
        posted = window.post(received[1000:10_000])
        assert posted.poll() is None and window.posted == 1 and window.epoch == 0
        put = sender.put(source, node=1, address=0x77, key=5)
        put.wait(LIMIT)
        put.wait(0)
        assert put.done()
        completion = window.wait(LIMIT)
        assert completion[1:4] == (9000, "complete", 0) and window.posted == 0 and window.epoch == 1
        # Where it lies: no copy.
        assert np.asarray(completion.data).ctypes.data == received[1000:].ctypes.data
        assert posted.wait(0) == completion
    assert (received[1000:10_000] == source).all() and not received[:1000].any() and not received[10_000:].any()


def test_bytes_of_any_object_and_parts_of_a_message(pair: Pair) -> None:
    sender, receiver = pair
    window = receiver.window(3, threshold=16)
    memory = receiver.alloc(16)
    window.post(memory)
    numbers = np.array([[1, 2], [3, 4]], ">u2")
    puts = [
        sender.put(numbers, node=1, address=3, offset=4),
        sender.put(b"ab", node=1, address=3, offset=2),
        sender.put(bytearray(b"cd"), node=1, address=3),
    ]
    for put in puts:
        put.wait(LIMIT)
    assert bytes(memory[:12]) == b"cdab\0\1\0\2\0\3\0\4"
    # No bytes are a message as well.
    sender.put(b"", node=1, address=3).wait(LIMIT)
    with pytest.raises(spindle.BadArgument, match="contiguous"):
        sender.put(numbers[:, 0], node=1, address=3)
    assert window.posted == 1 and window.epoch == 0
    sender.put(b"efgh", node=1, address=3, offset=12).wait(LIMIT)
    assert bytes(window.wait(LIMIT).data) == b"cdab\0\1\0\2\0\3\0\4efgh"


def test_buffers_complete_in_their_order(pair: Pair) -> None:
    sender, receiver = pair
    window = receiver.window(4, threshold=1, counting="operations")
    memory = np.asarray(receiver.alloc(4 * 64)).reshape(4, 64)
    for buffer in memory:
        window.post(buffer)
    for number in range(4):
        sender.put(bytes([number] * (10 + number)), node=1, address=4).wait(LIMIT)
    for number in range(4):
        data, length, status, epoch, buffer = window.wait(LIMIT)
        assert bytes(data) == bytes([number] * (10 + number)) and length == 10 + number
        assert (status, epoch) == ("complete", number) and buffer.ctypes.data == memory[number].ctypes.data


def test_kinds_of_windows(pair: Pair) -> None:
    sender, receiver = pair
    managed = receiver.window(5, threshold=1, kind="managed")
    first = receiver.alloc(6)
    managed.post(first)
    for data in (b"abc", b"def"):
        sender.put(data, node=1, address=5, kind="managed").wait(LIMIT)
    assert bytes(managed.wait(LIMIT).data) == b"abcdef"

    tagged = receiver.window(6, threshold=4, kind="tagged")
    buffers = [receiver.alloc(4), receiver.alloc(4)]
    posted = [tagged.post(buffer) for buffer in buffers]
    sender.put(b"two!", node=1, address=6, kind="tagged", epoch=1).wait(LIMIT)
    sender.put(b"one!", node=1, address=6, kind="tagged", epoch=0).wait(LIMIT)
    assert [bytes(buffer.wait(LIMIT).data) for buffer in posted] == [b"one!", b"two!"]

    streamed = receiver.window(7, threshold=1, kind="stream")
    streamed.post(receiver.alloc(600))
    stream = sender.stream(node=1, address=7)
    puts = [stream.put(bytes([number] * 60)) for number in range(10)]
    for put in puts:
        put.wait(LIMIT)
    assert bytes(streamed.wait(LIMIT).data) == b"".join(bytes([number] * 60) for number in range(10))


def test_a_get_reads_what_has_arrived(pair: Pair) -> None:
    reader, owner = pair
    window = owner.window(8, key=1, threshold=300)
    # The bytes of a buffer can be read as long as its memory exists.
    memory = owner.alloc(300)
    window.post(memory)
    data = pattern(300, 3)
    reader.put(data, node=1, address=8, key=1).wait(LIMIT)
    window.wait(LIMIT)
    answers = reader.window(9, key=2, threshold=100)
    answers.post(reader.alloc(100))
    reader.get(100, node=1, address=8, key=1, offset=150, reply=answers)
    assert bytes(answers.wait(LIMIT).data) == data[150:250].tobytes()
    assert bytes(memory[:]) == data.tobytes()
    with pytest.raises(spindle.BadArgument, match="another card"):
        reader.get(1, node=1, address=8, reply=window)


def test_puts_that_do_not_arrive(pair: Pair) -> None:
    sender, receiver = pair
    with pytest.raises(spindle.PutFailed, match="no such window"):
        sender.put(b"lost", node=1, address=0x99).wait(LIMIT)
    window = receiver.window(10, key=1, threshold=4)
    bad = sender.put(b"lost", node=1, address=10, key=2)
    for _ in range(2):
        with pytest.raises(spindle.PutFailed, match="key"):
            bad.wait(LIMIT)
    # A put without a buffer waits for one.
    early = sender.put(b"soon", node=1, address=10, key=1)
    with pytest.raises(TimeoutError, match="did not come within 0.2 seconds"):
        early.wait(0.2)
    assert not early.done()
    window.post(receiver.alloc(4))
    assert bytes(window.wait(LIMIT).data) == b"soon"
    early.wait(LIMIT)


def test_buffers_that_are_taken_back(pair: Pair) -> None:
    sender, receiver = pair
    window = receiver.window(11, threshold=100)
    memories = [receiver.alloc(100) for _ in range(2)]
    for memory in memories:
        window.post(memory)
    with pytest.raises(spindle.Refused, match="is posted to a window"):
        memories[0].free()
    with pytest.raises(spindle.Timeout, match="no buffer of the window was complete"):
        window.wait(0.1)
    sender.put(b"x" * 30, node=1, address=11).wait(LIMIT)
    window.advance()
    assert window.wait(LIMIT)[1:4] == (30, "partial", 0)
    memories[0].free()
    window.close()
    window.close()
    assert window.wait(LIMIT)[1:3] == (0, "cancelled")
    memories[1].free()
    with pytest.raises(spindle.Refused, match="the window is closed"):
        window.post(receiver.alloc(100))


def test_objects_may_go_in_any_order(pair: Pair) -> None:
    sender, receiver = pair
    for turn in range(5):
        # Puts that nothing waits for go on, so each turn has an address of its own.
        window = receiver.window(100 + turn, threshold=2000)
        memory = receiver.alloc(2000)
        posted = window.post(memory)
        put = sender.put(pattern(2000, turn), node=1, address=100 + turn)
        del memory
        if turn % 2:
            del put
            assert np.array_equal(np.asarray(posted.wait(LIMIT).data), pattern(2000, turn))
        del posted, window
    # A process of the card goes on when the object of another one goes.
    second = spindle.open(receiver.address, process=3, node=1)
    assert second.process == 3 and receiver.process == 0
    window = second.window(13, threshold=3)
    window.post(second.alloc(3))
    receiver.close()
    sender.put(b"yes", node=1, process=3, address=13).wait(LIMIT)
    assert bytes(window.wait(LIMIT).data) == b"yes"
    second.close()
