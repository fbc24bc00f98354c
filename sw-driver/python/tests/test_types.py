"""Example, documentation and types belong to the module that is installed."""

import ast
import inspect
import operator
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import spindle
from conftest import CHECKOUT

HERE = Path(__file__).parents[1]


def test_the_example_runs(addresses: tuple[str, str]) -> None:
    words = [sys.executable, str(HERE / "examples/first_message.py"), *addresses]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == (f"complete {sum(range(1024))}\n", "")


def test_the_readmes_have_the_example() -> None:
    example = (HERE / "examples/first_message.py").read_text()
    for readme in (HERE / "README.md", CHECKOUT / "README.md", CHECKOUT / "docs/api.md"):
        assert f"```python\n{example}```\n" in readme.read_text(), readme


STUBS = ["mypy.stubtest", "spindle", "--allowlist", "tests/stubtest-allowlist.txt", "--ignore-unused-allowlist"]
ANNOTATIONS = ["mypy", "--strict", "python", "examples", "tests"]


@pytest.mark.parametrize("words", [STUBS, ANNOTATIONS], ids=["stubs", "annotations"])
def test_types(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=300, cwd=HERE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_call_has_a_description() -> None:
    for name in spindle.__all__:
        thing = getattr(spindle, name)
        if isinstance(thing, type) and thing.__module__ == "spindle":
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    assert inspect.getdoc(value), f"{name}.{member}"


def documents(of: ast.Module | ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Names of classes, calls and attributes of a stub, and their descriptions."""
    for node in of.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            prefix = f"{of.name}." if isinstance(of, ast.ClassDef) else ""
            yield prefix + node.name, ast.get_docstring(node) or ""
            if isinstance(node, ast.ClassDef):
                yield from documents(node)


def test_help_has_the_descriptions_of_the_stubs() -> None:
    """Editors show the stubs, and `help` what is compiled."""
    stubs = ast.parse((HERE / "python/spindle/_spindle.pyi").read_text())
    for name, description in documents(stubs):
        thing = operator.attrgetter(name)(spindle._spindle)
        assert description and (inspect.getdoc(thing) or "").split() == description.split(), name
