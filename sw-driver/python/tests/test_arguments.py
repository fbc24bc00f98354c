"""What a program does wrong is an exception with a sentence, and never the end of the program."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import spindle
from spindle import BadArgument, Card, SpindleError


def test_every_failure_is_a_spindle_error_and_some_are_errors_of_python() -> None:
    for name in spindle.errors.__all__:
        assert issubclass(getattr(spindle.errors, name), SpindleError)
        assert getattr(spindle, name) is getattr(spindle.errors, name)
    assert issubclass(spindle.Timeout, TimeoutError) and issubclass(spindle.Gone, ConnectionError)
    assert issubclass(spindle.Permission, PermissionError) and issubclass(BadArgument, ValueError)


@pytest.mark.parametrize(
    ("address", "kind", "sentence"),
    [
        ("eth0", BadArgument, "`eth0` is no address of a card"),
        ("", BadArgument, "is no address of a card"),
        ("unix:/nonexistent/nic0.sock", SpindleError, "start `spindle serve`"),
        ("sim:nothing", SpindleError, "nothing"),
        ("0000:ff:1f.7", SpindleError, "0000:ff:1f.7"),
    ],
)
def test_what_cannot_be_opened(address: str, kind: type[Exception], sentence: str) -> None:
    for call in (spindle.open, spindle.attach):
        with pytest.raises(kind) as error:
            call(address)
        # A simulated card in the program cannot be attached to, because no other program has it.
        assert sentence in str(error.value) or (call is spindle.attach and address.startswith("sim:"))


def test_options_of_a_network() -> None:
    def refused(sentence: str, **options: Any) -> None:
        with pytest.raises(BadArgument, match=sentence):
            spindle.open("eth0", **options)

    refused("number of the node is -1", node=-1)
    refused("number of the node is 1000", node=10**3 * 10**9)
    refused("network of 0 nodes", nodes=0)
    refused("network of 257 nodes", nodes=257)
    refused("list of nodes is empty", nodes=[])
    refused("`02:00` is no MAC address", nodes=[spindle.Node("02:00", "10.0.0.1", 1)])
    refused("`10.0.0` is no IPv4 address", nodes=[("02:00:00:00:00:01", "10.0.0", 1)])
    refused("port of a node is 65536", nodes=[("02:00:00:00:00:01", "10.0.0.1", 65536)])
    refused("process is -1", process=-1)
    with pytest.raises(TypeError):
        spindle.open("eth0", nodes="two")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        spindle.open(7)  # type: ignore[arg-type]


def test_a_node_has_the_addresses_of_its_number() -> None:
    node = spindle.Node.numbered(5)
    assert (node.mac, node.ip) == ("02:00:00:00:01:05", "10.78.0.5") and node.port > 0
    with pytest.raises(BadArgument, match="256"):
        spindle.Node.numbered(256)


def test_wrong_types_numbers_and_words(card: Card) -> None:
    window = card.window(1, threshold=64)
    memory = card.alloc(64)
    message: dict[str, Any] = {"node": 1, "address": 1}
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: card.alloc("many"), TypeError, ""),  # type: ignore[arg-type]
        (lambda: card.alloc(True), TypeError, "bool"),
        (lambda: card.alloc(1.5), TypeError, ""),  # type: ignore[arg-type]
        (lambda: card.alloc(0), BadArgument, "0 bytes"),
        (lambda: card.alloc(-1), BadArgument, "number of bytes is -1"),
        (lambda: card.alloc(1 << 200), BadArgument, "number of bytes"),
        (lambda: card.alloc(1 << 62), MemoryError, "ask for less"),
        (lambda: card.window(-1, threshold=1), BadArgument, "address of the window is -1"),
        (lambda: card.window(2, threshold=1 << 32), BadArgument, "threshold"),
        (lambda: card.window(2, threshold=0), SpindleError, "threshold of 0"),
        (lambda: card.window(2, threshold=1, kind="new"), BadArgument, '"managed"'),  # type: ignore[arg-type]
        (lambda: card.window(2, threshold=1, kind="managed", counting="operations"), BadArgument, "count"),
        (lambda: card.window(2), TypeError, "threshold"),  # type: ignore[call-arg]
        (lambda: card.window(1, threshold=1), spindle.Refused, "open already"),
        (lambda: window.wait(timeout=-1), BadArgument, "timeout of -1"),
        (lambda: window.wait(timeout=float("nan")), BadArgument, "timeout of NaN"),
        (lambda: window.wait(timeout="1"), TypeError, ""),  # type: ignore[arg-type]
        (lambda: window.wait(), spindle.Refused, "no buffer is posted"),
        (lambda: window.post(None), TypeError, "bytes-like"),  # type: ignore[arg-type]
        (lambda: window.post(b"read-only"), BadArgument, "read-only"),
        (lambda: window.post(bytearray(64)), BadArgument, "not memory of this card"),
        (lambda: window.post(memory[0:0]), BadArgument, "no bytes"),
        (lambda: window.post(np.asarray(memory)[::2]), BadArgument, "contiguous"),
        (lambda: window.post(memory[:32]), spindle.Refused, "threshold"),
        (lambda: card.put("text", **message), TypeError, "bytes-like"),  # type: ignore[arg-type]
        (lambda: card.put(b"x", node=1 << 8, address=1), BadArgument, "node is 256"),
        (lambda: card.put(b"x", node=200, address=1), BadArgument, "no node 200"),
        (lambda: card.put(b"x", **message, process=60_000), BadArgument, "no process 60000"),
        (lambda: card.put(b"x", **message, key=-5), BadArgument, "key is -5"),
        (lambda: card.put(b"x", **message, kind="stream"), BadArgument, "kind of put"),  # type: ignore[arg-type]
        (lambda: card.put(b"x", **message, kind="tagged"), BadArgument, "give epoch"),
        (lambda: card.put(b"x", **message, epoch=1), BadArgument, "leave epoch out"),
        (lambda: card.get(0, **message, reply=window), BadArgument, "no bytes"),
        (lambda: card.load(b"no image"), BadArgument, "not an ELF file"),
        (lambda: card.load("/nowhere/handler.elf"), FileNotFoundError, "/nowhere/handler.elf"),
        (lambda: card.load(7), TypeError, ""),  # type: ignore[arg-type]
        (lambda: card.load(b"", "udp.dport =="), BadArgument, ""),
        (lambda: card.load(b"", weight=256), BadArgument, "weight is 256"),
        (lambda: card.load(b"", overload="wait"), BadArgument, '"pause"'),  # type: ignore[arg-type]
        (lambda: card.load(b"", memory=bytearray(8)), BadArgument, "not memory of this card"),
        (lambda: card.set_node(256, None), BadArgument, "node 256"),
        (lambda: card.set_node(1, ("x", "y", 1)), BadArgument, "MAC"),
        (lambda: card.set_put_limit(0), BadArgument, "put limit"),
        (lambda: card.set_congestion_control(True, least=0), BadArgument, "windows of 0, 32 and 1023"),
        (lambda: card.set_put_turns(0), BadArgument, "turns of 0 puts; choose 1 to 64"),
        (lambda: card.set_congestion_control(True, shrink=4), BadArgument, "choose at most 3"),
        (lambda: spindle.Card(), TypeError, ""),
    ]
    for number, (call, kind, sentence) in enumerate(wrong):
        with pytest.raises(kind, match=re.escape(sentence) if sentence else None):
            call()
            pytest.fail(f"call {number} is accepted")
    # The card is as before.
    assert window.posted == 0 and card.alloc(8)[:] == bytes(8)


def test_numbers_of_numpy_are_numbers(card: Card) -> None:
    with card.window(np.uint64(5), threshold=np.int32(8), key=np.uint8(3)) as window:
        assert (window.address, window.key) == (5, 3)
    assert len(card.alloc(np.int64(100))) == 100
