"""Searchers are found by entry points and configured strictly; a cell says what its search depends on."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path

import numpy as np
import pytest

from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.run import Cell
from dse.search.searcher import (
    GROUP,
    make_searcher,
    parse_settings,
    searcher_class,
    searchers,
)
from dse.support.errors import InputError
from searchers import SEARCHERS
from searchers.peers import PEERS
from searchers.random import Random
from searchers.walk import Walk
from workloads import load_layer

PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge"], "edp", "maestro")

PLUGIN = """
from __future__ import annotations
from dataclasses import dataclass
from typing import ClassVar, Literal

@dataclass(frozen=True)
class Climber:
    population: int
    rate: float = 0.5
    mode: Literal["fast", "slow"] = "fast"
    shape: tuple[int, ...] = (2, 3)
    name: str | None = None
    greedy: bool = False
    libraries: ClassVar[tuple[str, ...]] = ("pydantic", "nowhere-to-be-found")

    def __post_init__(self):
        if self.population < 2:
            raise ValueError(f"population must be at least 2, got {self.population}")

    def search(self, evaluate, rng):
        while True:
            evaluate(evaluate.space.sample(rng, self.population))

@dataclass(frozen=True)
class Versioned(Climber):
    version = "5"

@dataclass(frozen=True)
class Heir(Versioned):
    pass

@dataclass
class Thawed:
    def search(self, evaluate, rng): ...

@dataclass(frozen=True)
class Aimless:
    pass

def function(evaluate, rng): ...
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch) -> Path:
    """An installed distribution of somebody else's, with searchers good and bad."""
    (tmp_path / "climbing.py").write_text(PLUGIN)
    (tmp_path / "crashing.py").write_text("raise RuntimeError('no licence\\nwas found')")
    install(
        tmp_path,
        "dse-climbing",
        climber="climbing:Climber",
        versioned="climbing:Versioned",
        heir="climbing:Heir",
        thawed="climbing:Thawed",
        aimless="climbing:Aimless",
        function="climbing:function",
        crashing="crashing:Any",
        missing="climbing_not:Climber",
        absent="climbing:Absent",
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("climbing", None)


def install(folder: Path, distribution: str, **entries: str) -> None:
    info = folder / f"{distribution.replace('-', '_')}-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.2\n")
    lines = "\n".join(f"{name} = {value}" for name, value in entries.items())
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{lines}\n")


def test_the_entry_points_are_the_table_of_searchers() -> None:
    ours = {
        entry.name: entry.value
        for entry in entry_points(group=GROUP)
        if entry.dist is not None and entry.dist.name == "dse-arena"
    }
    assert ours == SEARCHERS | PEERS


def test_every_searcher_of_the_table_is_made_with_its_defaults() -> None:
    for name in SEARCHERS | PEERS:
        assert callable(make_searcher(name).search)
    assert set(SEARCHERS) <= set(searchers())


def test_naming_the_searchers_imports_none() -> None:
    code = (
        "import sys, dse.search.searcher; dse.search.searcher.searchers()\n"
        "print([name for name in sys.modules if name.startswith('searchers')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_searcher_of_another_distribution_is_found_by_its_entry_point(plugin: Path) -> None:
    assert "climber" in searchers()
    climber = make_searcher(
        "climber", {"population": 5, "shape": [4], "rate": 1, "name": "x", "mode": "slow"}
    )
    assert (climber.population, climber.shape, climber.rate, climber.name) == (5, (4,), 1.0, "x")
    assert isinstance(climber, searcher_class("climber"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"popultion": 5}, "unknown key 'popultion' in [searchers.climber]; did you mean 'population'?"),
        (
            {"zzz": 5},
            "unknown key 'zzz' in [searchers.climber]; expected one of "
            "population, rate, mode, shape, name, greedy",
        ),
        ({"libraries": ["x"]}, "unknown key 'libraries' in [searchers.climber]; expected one of"),
        ({}, "[searchers.climber] lacks 'population'"),
        ({"population": 1}, "[searchers.climber]: population must be at least 2, got 1"),
        ({"population": "5"}, "[searchers.climber]: population must be a whole number, got '5'"),
        ({"population": 5.0}, "[searchers.climber]: population must be a whole number, got 5.0"),
        ({"population": True}, "[searchers.climber]: population must be a whole number, got True"),
        ({"population": 5, "rate": "high"}, "[searchers.climber]: rate must be a number, got 'high'"),
        ({"population": 5, "rate": float("nan")}, "[searchers.climber]: rate must be finite, got nan"),
        ({"population": 5, "rate": float("inf")}, "[searchers.climber]: rate must be finite, got inf"),
        (
            {"population": 5, "mode": "quick"},
            "[searchers.climber]: mode must be 'fast' or 'slow', got 'quick'",
        ),
        (
            {"population": 5, "shape": [1, "x"]},
            "[searchers.climber]: shape must be a whole number, got [1, 'x']",
        ),
        ({"population": 5, "greedy": 1}, "[searchers.climber]: greedy must be true or false, got 1"),
        (
            {"population": 5, "name": object},
            "[searchers.climber]: name must be plain data, got <class 'object'>",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_would_be_right(
    plugin: Path, settings: dict, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        make_searcher("climber", settings, where="[searchers.climber]")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("crashing", "cannot be loaded: RuntimeError: no licence was found"),
        ("missing", "cannot be loaded: ModuleNotFoundError: No module named 'climbing_not'"),
        ("absent", "cannot be loaded: AttributeError: module 'climbing' has no attribute 'Absent'"),
        ("thawed", "must be a frozen dataclass with a method search(evaluate, rng)"),
        ("aimless", "must be a frozen dataclass with a method search(evaluate, rng)"),
        ("function", "must be a frozen dataclass with a method search(evaluate, rng)"),
    ],
)
def test_a_broken_plug_in_is_named_with_its_entry_point_and_distribution(
    plugin: Path, name: str, message: str
) -> None:
    value = next(entry.value for entry in entry_points(group=GROUP, name=name))
    with pytest.raises(InputError) as caught:
        make_searcher(name)
    assert str(caught.value) == f"searcher {name!r} (entry point {value!r} of dse-climbing 1.2) {message}"


def test_a_broken_plug_in_does_not_keep_the_others_from_being_found(plugin: Path) -> None:
    assert {"crashing", "climber", "random"} <= set(searchers())
    assert make_searcher("random") == Random()


def test_two_distributions_that_offer_one_name_are_both_named(plugin: Path) -> None:
    install(plugin, "dse-other", climber="elsewhere:Climber")
    with pytest.raises(
        InputError, match=r"searcher 'climber' is offered by dse-climbing 1.2 and dse-other 1.2;"
    ):
        make_searcher("climber", {"population": 3})


def test_an_unknown_searcher_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(
        InputError, match="unknown searcher 'randm' in the installed searchers; did you mean 'random'"
    ):
        make_searcher("randm")


def test_settings_are_read_from_text_as_toml_or_else_as_text() -> None:
    texts = ["agents=9", "rate = 0.2", "actions=gaussian", "on=true", 'name="9"', "shape=[1, 2]", "is=a=b"]
    assert parse_settings(texts) == {
        "agents": 9, "rate": 0.2, "actions": "gaussian", "on": True, "name": "9", "shape": [1, 2],
        "is": "a=b",
    }  # fmt: skip
    assert parse_settings(["text=1\nother = 2"]) == {"text": "1\nother = 2"}


@pytest.mark.parametrize("text", ["agents", "=9", "agents=", ""])
def test_a_setting_without_a_name_or_a_value_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--set must read NAME=VALUE, like agents=9, got"):
        parse_settings([text])


def test_a_setting_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="--set gives 'agents' twice"):
        parse_settings(["agents=9", "agents=8"])


def draws(cell: Cell) -> list[int]:
    return cell.rng().integers(2**62, size=4).tolist()


def test_a_cells_generator_depends_on_what_the_cell_is() -> None:
    cell = Cell(PROBLEM, "walk", Walk(), 0, 100)
    others = [
        replace(cell, seed=1),
        replace(cell, name="random"),
        replace(cell, searcher=Walk(n_walkers=17)),
        replace(cell, problem=replace(PROBLEM, objective="latency")),
        replace(cell, problem=replace(PROBLEM, layer=load_layer("resnet18:2"))),
        replace(cell, problem=replace(PROBLEM, accelerator=PRESETS["edge-small"])),
        replace(cell, problem=replace(PROBLEM, tiles="any")),
        replace(cell, problem=replace(PROBLEM, fixed={"cluster": 16})),
    ]
    assert len({tuple(draws(one)) for one in [cell, *others]}) == 9
    assert len({one.fingerprint for one in [cell, *others]}) == 9


def test_a_cells_generator_does_not_depend_on_budget_names_or_the_cost_model() -> None:
    class Renamed:
        name, version = "another", "7"
        evaluate = PROBLEM.model.evaluate

    cell = Cell(PROBLEM, "walk", Walk(), 0, 100)
    for other in (
        replace(cell, budget=200),
        replace(cell, searcher=Walk(n_walkers=16)),
        replace(cell, problem=replace(PROBLEM, layer=replace(PROBLEM.layer, name="x", repeats=3))),
        replace(cell, problem=replace(PROBLEM, cost_model=Renamed())),
    ):
        assert draws(other) == draws(cell)


def test_a_cells_generator_is_the_same_in_every_release() -> None:
    # A change here changes every search: say so in the release notes.
    assert draws(Cell(PROBLEM, "walk", Walk(16, 50, 0.0), 0, 100)) == [
        2408021557069419755,
        2278340769679360473,
        3495149416313474271,
        1172949774109518599,
    ]


def test_a_fingerprint_holds_budget_model_and_versions(plugin: Path) -> None:
    climber = make_searcher("climber", {"population": 5})
    identity = Cell(PROBLEM, "climber", climber, 3, 100).identity
    assert identity["budget"] == 100
    assert identity["seed"] == 3
    assert identity["problem"]["cost_model"] == "maestro"
    assert identity["settings"]["rate"] == 0.5
    import pydantic

    assert identity["versions"] == {
        "dse-arena": "0.1.0",
        "model maestro": "0.1.0",
        "dse-climbing": "1.2",
        "numpy": np.__version__,
        "pydantic": pydantic.VERSION,
        "nowhere-to-be-found": "not installed",
    }


def test_a_release_of_the_package_leaves_records_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(PROBLEM, "walk", Walk(), 0, 100)
    before = cell.fingerprint
    released = {"dse-arena": "7.0"}
    monkeypatch.setattr("dse.__version__", "7.0")
    monkeypatch.setattr("dse.search.run.searcher_origin", lambda name: released)
    monkeypatch.setattr("dse.search.run.model_origin", lambda name: released)
    assert replace(cell).fingerprint == before


def test_a_new_version_of_a_searcher_makes_its_own_records_others(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("random", "walk", "marl", "genetic")
    all_made = {name: make_searcher(name, {"agents": 6} if name == "marl" else {}) for name in names}

    def fingerprints() -> dict[str, str]:
        return {name: Cell(PROBLEM, name, made, 0, 100).fingerprint for name, made in all_made.items()}

    before = fingerprints()
    monkeypatch.setattr(Walk, "version", "2", raising=False)
    after = fingerprints()
    assert {name for name in names if after[name] != before[name]} == {"walk"}
    assert Cell(PROBLEM, "walk", Walk(), 0, 100).identity["versions"]["searcher walk"] == "2"
    monkeypatch.setattr(Random, "version", "3", raising=False)
    # MARL has its dataset drawn by random; an agent alone needs none.
    assert {name for name, one in fingerprints().items() if one != after[name]} == {"random", "marl"}
    alone = make_searcher("marl", {"agents": 1})
    assert "searcher marl" not in Cell(PROBLEM, "marl", alone, 0, 100).identity["versions"]


def test_a_version_of_its_own_takes_the_place_of_the_packages(plugin: Path) -> None:
    own, heir = (make_searcher(name, {"population": 5}) for name in ("versioned", "heir"))
    versions = Cell(PROBLEM, "versioned", own, 0, 100).identity["versions"]
    assert versions["searcher versioned"] == "5"
    assert "dse-climbing" not in versions
    # What it derives from says nothing of what it does itself.
    assert Cell(PROBLEM, "heir", heir, 0, 100).identity["versions"]["dse-climbing"] == "1.2"


@pytest.mark.parametrize(("seed", "budget"), [(-1, 100), (1.5, 100), ("1", 100), (0, 0), (0, True)])
def test_a_cell_with_a_wrong_seed_or_budget_is_refused(seed: object, budget: object) -> None:
    with pytest.raises(InputError, match=r"seed must be|budget must be"):
        Cell(PROBLEM, "walk", Walk(), seed, budget)
