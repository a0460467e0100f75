"""The counted gate for agents, by the Model Context Protocol: `dse mcp`. Nothing of it tells an optimum."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from dse.core.reasons import Reason
from dse.search.session import Session
from dse.suite.problem import SuiteProblem
from dse.suite.suites import Suite
from dse.support.arrays import IntArray
from dse.support.errors import InputError, shorten
from dse.support.validation import whole_number

INSTRUCTIONS = """\
Find mappings of least loss. `problems` lists them, `describe` says what one is, `evaluate` prices points
or mappings, a sample each, `why` explains a refusal, `left` counts, `submit` ends a run with the
best mapping that was evaluated. A point is a list of whole numbers, one a gene, 0 to `values` - 1."""
Point = list[int]


class Desk:
    """What an agent may do: its methods are the tools. One run of each problem, which its number names."""

    def __init__(
        self, suite: Suite, budget: int, searcher: str, saw: str, seed: int, out: Path | None
    ) -> None:
        self._suite, self._runs = suite, dict[int, Session]()
        self._named: dict[str, Any] = {"searcher": searcher, "saw": saw, "seed": seed, "out": out}
        self._budget = budget

    def problems(self) -> list[str]:
        """The names of the problems, in order: a problem's number is its place, from 0."""
        return [problem.name for problem in self._suite]

    def describe(self, problem: int) -> dict[str, Any]:
        """A problem: layer, machine, objective, genes with their values, known dataflows, samples left."""
        said = dict(self._problem(problem).describe())
        mapping = self._mapping(problem, [0] * len(said["genes"]))
        return said | {
            "samples_left": self.left(problem),
            "example": {"point": [0] * len(said["genes"])} | mapping,
        }

    def evaluate(
        self, problem: int, points: list[Point] | None = None, mappings: list[dict[str, Any]] | None = None
    ) -> list[dict[str, Any]]:
        """Price points, or mappings as `describe` shows one: a sample each. Too many cost nothing."""
        rows = [list(point) for point in points or []]
        if mappings:
            there = self._problem(problem).problem
            read = [there.read_mapping(data, f"mappings[{place}]") for place, data in enumerate(mappings)]
            rows += there.vectors(read).tolist()
        run = self._run(problem)
        if not rows:
            raise InputError("give points, or mappings, one or more")
        if len(rows) > run.remaining:
            raise InputError(f"{len(rows)} points are more than the {run.remaining} samples that are left")
        found = run.tell(rows)
        return [self._told(problem, row, found, place) for place, row in enumerate(rows)]

    def left(self, problem: int) -> int:
        """How many samples of a problem are left."""
        return self._run(problem).remaining

    def why(self, problem: int, point: Point) -> str:
        """Why a point that was evaluated is refused, with figures."""
        return self._run(problem).why(point)

    def submit(self, problem: int) -> dict[str, Any]:
        """End the run of a problem with the best that was evaluated, and keep its record."""
        run = self._run(problem)
        used = len(run.result.record)
        best = run.close().best
        said = {"samples_used": used, "loss": None, "point": None}
        return said if best is None else said | {"loss": best.loss, "point": list(best.genes)}

    def close(self) -> None:
        """End all runs."""
        for run in self._runs.values():
            run.close()

    def _problem(self, place: int) -> SuiteProblem:
        return self._suite[whole_number(place, "problem", least=0, most=len(self._suite) - 1)]

    def _run(self, place: int) -> Session:
        if place not in self._runs:
            self._runs[place] = self._problem(place).ask_tell(self._budget, **self._named)
        return self._runs[place]

    def _told(self, place: int, row: Point, found: Any, sample: int) -> dict[str, Any]:
        reason = Reason(int(found.reason[sample]))
        if reason:
            return {"point": row, "feasible": False, "loss": None, "reason": reason.text}
        figures = {name: getattr(found, name)[sample].item() for name in ("loss", "cycles", "energy_nj")}
        return {"point": row, "feasible": True} | figures | self._mapping(place, row)

    def _mapping(self, place: int, row: Point) -> dict[str, Any]:
        points: IntArray = np.array([row], np.int64)
        return {"mapping": self._problem(place).problem.space.decode(points)[0].to_dict()}


TOOLS = ("problems", "describe", "evaluate", "left", "why", "submit")


def server_of(desk: Desk) -> Any:
    """The server whose tools are the desk's; InputError where the protocol's SDK is not installed."""
    try:
        sdk, errors = import_module("mcp.server.mcpserver"), import_module("mcp.server.mcpserver.exceptions")
    except ImportError as error:
        raise InputError(
            f"dse mcp needs the protocol's SDK ({shorten(str(error))}): pip install 'dse-arena[mcp]'"
        ) from None
    lock, server = Lock(), sdk.MCPServer("dse-arena", instructions=INSTRUCTIONS, log_level="WARNING")
    for name in TOOLS:
        server.add_tool(_tool(getattr(desk, name), errors.ToolError, lock))
    return server


def _tool(method: Callable[..., Any], error: type[Exception], lock: Lock) -> Callable[..., Any]:
    """The method, one call at a time; what is wrong with what it is given reaches the agent in a line."""

    @wraps(method)
    def call(*given: Any, **named: Any) -> Any:
        with lock:
            try:
                return method(*given, **named)
            except ValueError as wrong:
                raise error(str(wrong)) from None

    return call
