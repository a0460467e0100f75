"""The examples that every command's help ends with are what it says, and run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dse.cli.application import build_application, examples_of_commands
from tests.cli.example_files import write_files
from tests.conftest import Dse

LINES = [(path, line) for path, lines in examples_of_commands().items() for line in lines]
QUICK = ("evaluate", "explain", "export", "list", "search", "space")
"""Commands whose examples take a second, of fewer samples; `prove_examples.py` runs all as they are."""


def commands_of(command: Any, path: str = "") -> Iterator[str]:
    """The paths of a command and of those below it."""
    yield path
    for name, below in getattr(command, "commands", {}).items():
        yield from commands_of(below, f"{path} {name}".strip())


def test_every_command_has_two_examples_or_more_and_its_help_shows_them(dse: Dse) -> None:
    assert sorted(examples_of_commands()) == sorted(commands_of(build_application()))
    for path, lines in examples_of_commands().items():
        assert len(set(lines)) >= 2
        shown = dse(*path.split(), "--help").out.splitlines()
        stripped = [line.strip() for line in shown]
        assert stripped[stripped.index("Examples:") + 1 :][: len(lines)] == list(lines)


@pytest.mark.parametrize(("path", "line"), LINES, ids=[line for _, line in LINES])
def test_an_example_is_of_its_command_and_names_options_that_there_are(path: str, line: str) -> None:
    program, *words = shlex.split(line)
    assert program == "dse"
    assert words[: len(path.split())] == path.split()
    command: Any = build_application()
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    # This raises what is wrong with options and their values' types.
    command.make_context("example", words)


@pytest.mark.parametrize("line", [line for path, line in LINES if path in QUICK])
def test_an_example_runs(dse: Dse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)
    ended = dse(*shlex.split(line)[1:], *(("--budget", "30") if line.startswith("dse search") else ()))
    assert ended.code == 0, ended
    assert ended.out
