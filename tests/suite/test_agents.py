"""The gate for agents: what its tools say and count, by the desk itself and by a client of the protocol."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import dse as arena
from dse.search.record import read_parquet
from dse.suite.agents import TOOLS, Desk, server_of
from dse.suite.records import read_runs
from dse.support.errors import InputError
from tests.conftest import Dse

SHORT = arena.suite("short")
PLACE = 7
TEMPLATES = list(SHORT[PLACE].entry.templates.values())


def desk(budget: int = 12, out: Path | None = None) -> Desk:
    return Desk(SHORT, budget, "scripted", "nothing", 0, out)


def test_an_agent_is_told_the_problem_and_never_the_optimum() -> None:
    made = desk()
    said = made.describe(PLACE)
    assert made.problems()[PLACE] == said["name"]
    assert said["samples_left"] == 12
    text = json.dumps([said, made.problems()])
    assert repr(SHORT[PLACE].loss) not in text
    assert json.dumps(SHORT[PLACE].entry.genes) not in text
    assert "optimal" not in text


def test_every_point_and_mapping_is_a_sample_and_an_overrun_costs_nothing() -> None:
    made = desk(5)
    found = made.evaluate(PLACE, TEMPLATES)
    assert all(one["feasible"] for one in found)
    again = made.evaluate(PLACE, mappings=[found[0]["mapping"]])
    assert again[0]["loss"] == found[0]["loss"]
    with pytest.raises(InputError, match="2 points are more than the 1 samples that are left"):
        made.evaluate(PLACE, TEMPLATES[:2])
    with pytest.raises(InputError, match="must be within 0 and"):
        made.evaluate(PLACE, [[99] * 13])
    with pytest.raises(InputError, match="give points, or mappings"):
        made.evaluate(PLACE)
    with pytest.raises(InputError, match="problem must be at most 11"):
        made.left(12)
    assert made.left(PLACE) == 1
    assert made.left(0) == 5


def test_a_refusal_is_explained_and_a_submission_is_a_record(tmp_path: Path) -> None:
    made = desk(12, tmp_path)
    low = [0] * 13
    told = made.evaluate(PLACE, [*SHORT[PLACE].entry.random, low])
    refused = [one for one in told if not one["feasible"]]
    assert refused[0]["reason"]
    assert made.why(PLACE, refused[0]["point"])
    made.evaluate(PLACE, TEMPLATES)
    best = made.submit(PLACE)
    assert best["samples_used"] == 9
    assert best["point"] in TEMPLATES
    with pytest.raises(InputError, match="more than the 0 samples that are left"):
        made.evaluate(PLACE, [low])
    (run,) = read_runs(SHORT, tmp_path)
    assert (run.searcher, run.best_after(12)) == ("scripted", best["loss"])
    (path,) = tmp_path.rglob("cells/*.parquet")
    assert len(read_parquet(path)[0]) == 12


def play(server: Any) -> list[Any]:
    """A scripted client: it looks, evaluates the templates, overruns once, and submits."""
    anyio, mcp = pytest.importorskip("anyio"), pytest.importorskip("mcp")
    said: list[Any] = []

    async def session() -> None:
        async with mcp.Client(server) as client:
            said.append(sorted(tool.name for tool in (await client.list_tools()).tools))
            for name, given in (
                ("describe", {"problem": PLACE}),
                ("evaluate", {"problem": PLACE, "points": TEMPLATES}),
                ("evaluate", {"problem": PLACE, "points": TEMPLATES * 9}),
                ("submit", {"problem": PLACE}),
            ):
                said.append(await client.call_tool(name, given))

    anyio.run(session)
    return said


def test_a_scripted_agent_plays_by_the_protocol(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    tools, described, evaluated, overrun, submitted = play(server_of(desk(6, tmp_path)))
    assert tools == sorted(TOOLS)
    assert not described.is_error
    assert not evaluated.is_error
    assert overrun.is_error
    assert "more than the 3 samples that are left" in overrun.content[0].text
    best = json.loads(submitted.content[0].text)
    (run,) = read_runs(SHORT, tmp_path)
    assert run.best_after(6) == best["loss"]


def test_without_the_sdk_it_is_said_what_to_install(dse: Dse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    assert "pip install 'dse-arena[mcp]'" in dse("mcp", "short").refused()
    assert "unknown suite" in dse("mcp", "shortest-of-all").refused()
