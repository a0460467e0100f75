"""Cost models are found by entry points, say what they can do, and are asked for nothing else."""

from __future__ import annotations

import tomllib
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from dse.core import cost_models as registry
from dse.core.cost_models import (
    GROUP,
    all_models,
    cost_model,
    cost_model_class,
    cost_models,
    models_with,
    other_model,
    unit_of,
)
from dse.core.figures import CostBatch
from dse.core.model_settings import ModelConstants
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.cost_model import CostModel
from dse.domains.clustered.mapping import MappingBatch
from dse.domains.clustered.problem import Problem
from dse.domains.clustered.templates import TEMPLATES
from dse.models.loopnest import LoopNest
from dse.search.run import Cell
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from tests import ROOT
from workloads import load_layer

LAYER, EDGE = load_layer("resnet18:0"), PRESETS["edge"]
HERE = __name__


class Least(CostModel):
    """As little as a cost model may be: a name, and prices."""

    name = "least"
    seen = None

    def evaluate(self, layer, accelerator, mappings, *, threads=1):
        type(self).seen = layer
        count = np.full(len(mappings), layer.macs)
        figures, ones = count.astype(np.float64), np.ones(len(mappings), np.int64)
        valid = np.ones(len(mappings), np.bool_)
        reasons = np.zeros(len(mappings), np.uint8)
        return CostBatch(count, figures, figures, figures, ones, ones, count, valid, reasons)


class Unregistered:
    """Looks like a cost model, and does not say that it is one."""

    name = "unregistered"
    evaluate = Least.evaluate


class Misnamed(Least):
    name = "something else"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plug-ins beside ours, as if their packages were installed."""
    plugins = {
        "least": f"{HERE}:Least",
        "unregistered": f"{HERE}:Unregistered",
        "misnamed": f"{HERE}:Misnamed",
        "absent": "no_such_package:Model",
    }
    entries = (*registry._entries(), *(EntryPoint(name, value, GROUP) for name, value in plugins.items()))
    monkeypatch.setattr(registry, "_entries", lambda: entries)


def test_our_models_are_entries_like_anybodys() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][GROUP]
    assert set(declared) <= set(all_models())


def test_a_model_declares_what_it_can_do() -> None:
    assert models_with("prices_strides") == ("command", "loopnest", "python", "timeloop", "zigzag")
    assert models_with("explains") == ("loopnest", "timeloop")
    assert models_with("prices_cases") == ("loopnest", "maestro", "timeloop")
    assert models_with("proof_module") == ("loopnest", "maestro", "timeloop")
    assert models_with("settings_type") == (
        "chains",
        "command",
        "loopnest",
        "maestro-exe",
        "python",
        "zigzag",
    )


def test_a_model_prices_the_designs_of_its_own_domain_alone() -> None:
    assert cost_models("levels") == ("timeloop",)
    assert "timeloop" not in cost_models()
    with pytest.raises(InputError, match="'timeloop' prices no mappings of two levels; expected loopnest"):
        Problem(LAYER, EDGE, cost_model="timeloop")


@pytest.mark.usefixtures("installed")
def test_a_model_of_somebodys_own_is_used_by_its_name_and_has_honest_defaults() -> None:
    assert cost_models() == ("least", "loopnest", "maestro")
    assert isinstance(cost_model("least"), Least)
    assert models_with("prices_cases") == ("loopnest", "maestro", "timeloop")
    assert unit_of("area", "least") == "model units"
    assert unit_of("area", "loopnest(dram_pj=640)") == "mm2"
    problem = Problem(LAYER, EDGE, "edp", "least")
    mapping = TEMPLATES["nvdla"](LAYER, EDGE)
    assert problem.evaluate(MappingBatch.of([mapping])).macs.tolist() == [LAYER.macs]
    assert Least.seen == LAYER.lowered()
    assert problem.detail(mapping) is None
    assert Problem(LAYER, EDGE, cost_model="least").judge(mapping).figures["cycles"] == LAYER.macs
    assert Least.seen == LAYER.lowered()


def test_a_model_that_returns_no_costs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    price = Least().prepared(LAYER, EDGE)
    rows = MappingBatch.of([TEMPLATES["nvdla"](LAYER, EDGE)]).rows
    assert len(price(rows).cycles) == 1
    for wrong in (5, CostBatch.zeros(2)):
        monkeypatch.setattr(Least, "evaluate", lambda *batch, wrong=wrong, threads=1: wrong)
        with pytest.raises(TypeError, match="cost model 'least' must return a CostBatch with a row for each"):
            price(rows)


@pytest.mark.usefixtures("installed")
def test_another_model_is_one_that_prices_the_same_mappings_and_is_not_the_same() -> None:
    assert other_model("least", "loopnest") == "least"
    assert other_model("loopnest", "loopnest(dram_pj=640)") == "loopnest"
    with pytest.raises(InputError, match="expected another cost model than maestro"):
        other_model("maestro", "maestro")
    with pytest.raises(InputError, match="'maestro' does not price the designs of timeloop"):
        other_model("maestro", "timeloop")
    with pytest.raises(InputError, match="'timeloop' does not price the designs of maestro"):
        other_model("timeloop", "maestro")
    with pytest.raises(InputError, match="unknown cost model 'leest'"):
        other_model("leest", "maestro")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leest", "unknown cost model 'leest'; did you mean 'least'?"),
        ("least(pj=1)", r"unknown cost model 'least\(pj=1\)'"),
        ("command", r"cost model 'command' needs run; expected command:RUN"),
        ("unregistered", "must be a subclass of dse.CostModel"),
        ("misnamed", "calls itself 'something else'"),
        ("absent", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'"),
    ],
)
def test_what_is_no_model_is_refused_with_where_it_is_from(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        cost_model(name)


def test_a_name_that_two_packages_offer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    values = (f"{HERE}:Least", "dse.models.maestro:Maestro")
    monkeypatch.setattr(registry, "_entries", lambda: tuple(EntryPoint("two", at, GROUP) for at in values))
    with pytest.raises(InputError, match=r"cost model 'two' is offered by .* uninstall all but one"):
        cost_model_class("two")


def test_a_record_depends_on_the_models_version(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(Problem(LAYER, EDGE, "edp", Least()), "random", make_searcher("random"), 0, 10)
    assert cell.identity["versions"]["model least"] == "1"
    monkeypatch.setattr(Least, "version", "2")
    again = Cell(cell.problem, "random", cell.searcher, 0, 10)
    assert again.fingerprint != cell.fingerprint


def test_the_package_of_a_model_counts_only_where_the_model_says_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Heir(LoopNest):
        name = "heir"

    class Versioned(Heir):
        version = "4"

    monkeypatch.setattr("dse.search.run.model_origin", lambda name: {"their-models": "1.2"})
    cells = [
        Cell(Problem(LAYER, EDGE, "edp", made()), "random", make_searcher("random"), 0, 10)
        for made in (Heir, Versioned)
    ]
    heir, versioned = (cell.identity["versions"] for cell in cells)
    assert heir["their-models"] == "1.2"
    assert versioned["model heir"] == "4"
    assert "their-models" not in versioned


def test_any_model_may_have_constants() -> None:
    from dataclasses import dataclass

    @dataclass(frozen=True)
    class Prices(ModelConstants):
        word_pj: float = 2.0

    assert Prices.parse("word_pj=3", "here") == Prices(3.0)
    assert Prices(3).replaced == {"word_pj": 3.0}
    with pytest.raises(InputError, match="word_pj must be a finite number above 0, got 0"):
        Prices.parse("word_pj=0", "here")
