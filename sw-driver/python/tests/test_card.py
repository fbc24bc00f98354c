"""Cards: what they are, their counters, handlers and events; cards of others; shares of spindled."""

import gc
import json
import os
import subprocess
import time
from pathlib import Path

import pytest
import spindle
from conftest import CHECKOUT, LIMIT, PROGRAMS, Pair, Server, patiently, serve


def command(*arguments: str | Path) -> str:
    words = [PROGRAMS / "spindle", *arguments]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def built(name: str, folder: Path) -> Path:
    """The image of a program of the tests."""
    source = CHECKOUT / f"sw-driver/rvma/tests/programs/{name}.c"
    output = folder / f"{name}.elf"
    try:
        command("build", source, "--output", output)
    except AssertionError as error:
        if "riscv64-unknown-elf-gcc" not in str(error):
            raise
        pytest.skip("there is no compiler for RISC-V")
    return output


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image that counts, reports and places the messages of its window."""
    return built("count_handler", tmp_path_factory.mktemp("image"))


def test_what_a_card_is(pair: Pair) -> None:
    info = pair[1].info
    transport = "sim" if pair[1].address == "sim:" else "vfio-user"
    assert (info.transport, info.pci is None) == (transport, transport == "sim")
    assert info.clusters > 0 and info.hpus_per_cluster > 0 and info.clock_mhz > 0 and info.processes > 1
    before = pair[1].cycle
    assert pair[1].cycle > before
    assert repr(pair[1]) == f"<spindle.Card {pair[1].address}, process 0>"


def test_counters(pair: Pair) -> None:
    sender, receiver = pair
    window = receiver.window(1, threshold=500)
    window.post(receiver.alloc(500))
    before = receiver.stats()
    sender.put(bytes(500), node=1, address=1).wait(LIMIT)
    after = receiver.stats()
    grown = after["counters"]["rvma"]["placed_bytes"] - before["counters"]["rvma"]["placed_bytes"]
    assert grown == 500 and after["cycle"] > before["cycle"]
    # Packets of the transport end in the card and are no loss.
    assert {reason for reason, count in after["drops"].items() if count != before["drops"][reason]} <= {"control"}
    assert len(after["hpus"]) == receiver.info.clusters * receiver.info.hpus_per_cluster
    assert len(after["live_messages"]) == receiver.info.contexts_max


def test_icrc(pair: Pair) -> None:
    sender, receiver = pair
    window = receiver.window(2, threshold=100)
    window.post(receiver.alloc(100))
    before = receiver.stats()["drops"]["icrc_missing"]
    receiver.set_node(0, spindle.Node.numbered(0), icrc=True)
    operation = sender.put(b"\x11" * 100, node=1, address=2)
    with pytest.raises(spindle.Timeout):
        operation.wait(0.3)
    assert receiver.stats()["drops"]["icrc_missing"] > before
    # The put is repeated, from now on with the ICRC.
    sender.set_node(1, spindle.Node.numbered(1), icrc=True)
    operation.wait(LIMIT)
    assert window.wait(LIMIT).data == b"\x11" * 100
    with pytest.raises(spindle.BadArgument, match="leave icrc out"):
        sender.set_node(1, None, icrc=True)


def test_tasks(pair: Pair, image: Path, tmp_path: Path) -> None:
    card = pair[1]
    with card.load(built("task_handler", tmp_path)) as handlers:
        handlers.start_task(3)
        handlers.start_task(39, delay=500)
        end = time.monotonic() + LIMIT
        while handlers.read(0, 4) != (42).to_bytes(4, "little"):
            assert time.monotonic() < end, handlers.read(0, 4)
        handlers.start_task(7, delay=(1 << 31) - 1)
        assert handlers.cancel_task(7) and not handlers.cancel_task(7)
        for argument, delay, sentence in ((1, 1 << 31, "cannot wait"), (1 << 64, 0, "argument of the task"), (1, -1, "delay")):
            with pytest.raises(spindle.BadArgument, match=sentence):
                handlers.start_task(argument, delay=delay)
    with card.load(image) as handlers, pytest.raises(spindle.BadArgument, match="no task_handler"):
        handlers.start_task(1)


def test_handlers(pair: Pair, image: Path) -> None:
    sender, receiver = pair
    with receiver.load(image) as handlers:
        window = receiver.window(8, key=9, threshold=600, handlers=handlers, events=True)
        memory = receiver.alloc(600)
        window.post(memory)
        sender.put(b"\x3c" * 600, node=1, address=8, key=9).wait(LIMIT)
        assert window.wait(LIMIT).data == b"\x3c" * 600
        events = [receiver.next_event(LIMIT) for _ in range(3)]
        kinds = {event.kind: event for event in events}
        assert set(kinds) == {"user", "message", "buffer"}
        assert kinds["user"].user == 0x5350494E << 32 | 5 and kinds["user"].context == handlers.number
        assert (kinds["buffer"].length, kinds["buffer"].user, kinds["message"].code) == (600, memory.address, 0)
        # Its variables.
        assert handlers.read(0, 4) == (6).to_bytes(4, "little")
        handlers.write(0, (70).to_bytes(4, "little"))
        assert handlers.read(0, 4) == (70).to_bytes(4, "little")
        for offset, length in ((1 << 30, 4), (0, 1 << 31), (-1, 4)):
            with pytest.raises(spindle.BadArgument):
                handlers.read(offset, length)
        # Rules.
        handlers.connect(["udp.dport == 9000", "icmp"])
        with pytest.raises(spindle.BadArgument):
            handlers.connect("udp.dport ==")
        handlers.disconnect()
        window.close()
    assert "unloaded" in repr(handlers)
    with pytest.raises(spindle.Refused, match="context"):
        handlers.read(0, 4)
    handlers.unload()
    # Bytes of an image are an image; its context ends with the object, so more are loaded than the card has.
    content = image.read_bytes()
    for _ in range(receiver.info.contexts_max + 2):
        receiver.load(content, "udp.dport == 9000", messages=True, weight=3, overload="pause")


def test_memory_that_handlers_write_is_in_use(card: spindle.Card, image: Path) -> None:
    memory = card.alloc(4096)
    handlers = card.load(image, memory=memory)
    with pytest.raises(spindle.Refused, match="unload them first"):
        memory.free()
    handlers.unload()
    memory.free()


def test_a_card_of_others(tmp_path: Path, image: Path) -> None:
    socket = tmp_path / "nic.sock"
    server = serve(socket, "--keep")
    address = f"unix:{socket}"
    try:
        command("--card", address, "load", image, "--match", "udp.dport == 9000", "--name", "counter")
        listed = json.loads(command("--card", address, "stats", "--json"))
        with patiently(lambda: spindle.attach(address)) as card:
            assert card.info.address == address == card.address
            assert card.contexts() == [(0, "counter", 0)]
            stats = card.stats()
            # One name for a counter, wherever it is read.
            assert stats["counters"].keys() == listed["counters"].keys()
            assert stats["drops"].keys() == listed["drops"].keys()
            assert stats["counters"]["packet"].keys() == listed["counters"]["packet"].keys()
            assert stats["hpus"] == listed["hpus"] and stats["cycle"] > listed["cycle"]
            with pytest.raises(spindle.Busy, match="in use by another client"):
                spindle.open(address)
            card.reset()
            assert card.contexts() == []
        with pytest.raises(spindle.Refused, match="attach to it again"):
            card.stats()
        with patiently(lambda: spindle.open(address)) as gone:
            server.process.kill()
            server.process.wait()
            for call in (lambda: gone.cycle, lambda: gone.next_event(LIMIT), lambda: gone.put(b"x", node=1, address=1)):
                with pytest.raises(spindle.Gone, match="open it again when it is back"):
                    call()
    finally:
        server.end()


def test_a_share_of_a_card(tmp_path: Path) -> None:
    server = serve(tmp_path / "nic.sock")
    folder = tmp_path / "shares"
    folder.mkdir()
    daemon = subprocess.Popen([PROGRAMS / "spindled", "--card", f"unix:{tmp_path / 'nic.sock'}", "--socket", folder])
    try:
        end = time.monotonic() + LIMIT
        while not (folder / "process4.sock").exists() and time.monotonic() < end:
            time.sleep(0.01)
        with spindle.open(f"unix:{folder / 'process4.sock'}") as share:
            assert share.process == 4
            with share.window(1, threshold=16) as window:
                posted = window.post(share.alloc(16))
            assert posted.wait(LIMIT).status == "cancelled"
            with pytest.raises(spindle.BadArgument, match="process 4's share"):
                spindle.open(f"unix:{folder / 'process4.sock'}", process=5)
    finally:
        daemon.terminate()
        daemon.wait(20)
        server.end()


def test_a_forked_child_leaves_the_card_to_its_parent(pair: Pair, image: Path) -> None:
    sender, receiver = pair
    window = receiver.window(30, threshold=4)
    memory = receiver.alloc(4)
    posted = window.post(memory)
    handlers = receiver.load(image, "udp.dport == 9000")
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for call in (lambda: receiver.cycle, lambda: receiver.alloc(1), window.wait, lambda: handlers.read(0, 4)):
                with pytest.raises(spindle.Refused, match="forked"):
                    call()
            memory.free()
            window.close()
            handlers.unload()
            receiver.close()
            sender.close()
            del posted, window, handlers, memory, receiver, sender
            gc.collect()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    sender.put(b"mine", node=1, address=30).wait(LIMIT)
    assert bytes(posted.wait(LIMIT).data) == b"mine" and window.epoch == 1
    assert len(handlers.read(0, 4)) == 4
