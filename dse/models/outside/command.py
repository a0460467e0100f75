"""`command`: a program of the user's prices. It reads a line of JSON a mapping, and answers each with a line.

A line that it reads is a case (`docs/files.md`) with a number:

    {"id": 7, "layer": {...}, "mapping": {...}, "hardware": {...}}

The layer is as it is, with stride and padding; the hardware has the capacities. A line that it writes has the
figures as `dse evaluate --cases --json` prints them, `{"cycles": 1200}` at least, or
`{"status": "invalid", "reason": "too many banks"}`; an `id` in it must be the one that was asked.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import queue
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from dse.core.layer import Layer
from dse.core.model_settings import ModelSettings
from dse.domains.clustered.accelerator import Accelerator
from dse.domains.clustered.mapping import Mapping
from dse.models.outside.answers import Answer, Refusal, garbled_answer, read_answer
from dse.models.outside.memory import LASTING
from dse.models.outside.model import RULES, OutsideModel
from dse.models.outside.processes import LineProcess, ask_each, find_program
from dse.support import strict_json
from dse.support.errors import InputError, shorten
from dse.support.schema import Limits

Seconds = Annotated[float, Limits("seconds above 0", gt=0, le=1e6)]
Processes = Annotated[int, Limits(ge=1, le=256)]
Repeats = Annotated[int, Limits(ge=1, le=1000)]
Retries = Annotated[int, Limits(ge=0, le=100)]


@dataclass(frozen=True)
class CommandSettings(ModelSettings):
    """`run` is the program with its arguments, as in a shell, though no shell sees it.

    A mapping that has no answer after `timeout` seconds, or whose answer is garbled, or at which the program
    dies, is asked for again `retries` times, of the program started anew. `processes` run at the same time;
    `cache` names a file in which answers are kept. One that is noisy is asked `repeats` times, of which the
    `least` cycles or the `median` are taken. `misfits` says what becomes of a mapping that does not fit into
    the buffers (see MISFITS).
    """

    label: ClassVar[str] = "settings of cost model 'command'"
    main: ClassVar[str] = "run"
    neutral: ClassVar[tuple[str, ...]] = ("retries", "processes", "cache")

    run: str
    timeout: Seconds = 60.0
    retries: Retries = 1
    processes: Processes = 1
    cache: str = ""
    repeats: Repeats = 1
    take: Literal["least", "median"] = "least"
    misfits: Literal["asked", "charged", "free"] = "charged"


class Command(OutsideModel):
    """A program of your own that prices: kept running, and asked line by line."""

    name = "command"
    refuses_below_floors = False
    settings_type = CommandSettings
    settings: CommandSettings

    def __init__(self, settings: CommandSettings) -> None:
        """InputError if there is no such program."""
        self.settings = settings
        self._words = _words(settings.run)
        self.cache, self.at_once, self.misfits = settings.cache, settings.processes, settings.misfits
        self.version = f"{files_digest([settings.run, *self._words])} {RULES}"

    def answers(
        self, layer: Layer, accelerator: Accelerator, mappings: list[Mapping]
    ) -> Iterator[tuple[int, Answer]]:
        """What the program says of each mapping."""
        free = _processes(self._words, self.settings.processes, os.getpid())
        about = {"layer": layer.to_dict(), "hardware": accelerator.figures}

        def ask(item: tuple[int, Mapping]) -> Answer:
            number, mapping = item
            line = json.dumps({"id": number, **about, "mapping": mapping.to_dict()})
            process = free.get()
            try:
                return self._repeated(process, line, number)
            finally:
                free.put(process)

        return ask_each(ask, list(enumerate(mappings)), self.settings.processes)

    def _repeated(self, process: LineProcess, line: str, number: int) -> Answer:
        """The answer, or of several that of the least or the median cycles: the lower one of two."""
        found: list[dict[str, Any]] = []
        for _ in range(self.settings.repeats):
            answer = self._asked(process, line, number)
            if isinstance(answer, Refusal):
                return answer
            found.append(answer)
        found.sort(key=itemgetter("cycles"))
        return found[(len(found) - 1) // 2 if self.settings.take == "median" else 0]

    def _asked(self, process: LineProcess, line: str, number: int) -> Answer:
        answer: Answer = garbled_answer("")
        for _ in range(self.settings.retries + 1):
            answer = _answer(process, line, number, self.settings.timeout)
            if not isinstance(answer, Refusal) or answer.reason in LASTING:
                break
        return answer


def _answer(process: LineProcess, line: str, number: int, seconds: float) -> Answer:
    said = process.ask(line, seconds)
    if isinstance(said, Refusal):
        return said
    try:
        data = strict_json.parse_json(said, "its line")
    except InputError as error:
        process.close()
        return garbled_answer(f"expected a line of JSON, got {shorten(said)} ({error})")
    if isinstance(data, dict) and data.get("id", number) != number:
        process.close()
        return garbled_answer(f"it answers {shorten(data['id'])} where {number} was asked")
    return read_answer(data)


def _words(run: str) -> tuple[str, ...]:
    where = "cost model 'command'"
    try:
        words = shlex.split(run)
    except ValueError as error:
        raise InputError(f"{where}: run must be words as in a shell, got {shorten(run)} ({error})") from None
    if not words:
        raise InputError(f"{where}: run must be a program with its arguments, got {shorten(run)}")
    return find_program(words[0], where), *words[1:]


def files_digest(names: list[str]) -> str:
    """What the files among some names hold, in short: records of another program are other records."""
    digest = hashlib.sha256()
    for name in names:
        if Path(name).is_file():
            digest.update(Path(name).read_bytes())
    return f"files {digest.hexdigest()[:12]}"


@cache
def _processes(words: tuple[str, ...], count: int, process_id: int) -> queue.SimpleQueue[LineProcess]:
    """The programs of this process that are free to be asked; they end with it."""
    free: queue.SimpleQueue[LineProcess] = queue.SimpleQueue()
    for _ in range(count):
        process = LineProcess(words)
        atexit.register(process.close)
        free.put(process)
    return free
