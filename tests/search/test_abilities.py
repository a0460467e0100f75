"""What a searcher declares of itself is read in one place, checked, and shown."""

from __future__ import annotations

import dataclasses
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import dse as package
from dse.analysis.sources import read_folder
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.abilities import Abilities, abilities_of, misnamed_abilities
from dse.search.evaluator import Evaluator
from dse.search.searcher import GROUP, make_searcher, searchers
from dse.support.errors import InputError
from dse.testing import RULES, check_searcher, suite
from tests.campaign.test_campaign import campaign, run
from tests.conftest import Dse
from workloads import load_layer

PROBLEM = Problem(load_layer("alexnet:conv2"), PRESETS["eyeriss-small"], "edp")


@dataclass(frozen=True)
class Plain:
    """Declares nothing, and inherits from nothing."""

    chains: int = 2

    def search(self, evaluate: Evaluator, rng: np.random.Generator) -> None:
        while True:
            evaluate(evaluate.space.sample(rng, self.chains))


@dataclass(frozen=True)
class Taught(Plain):
    """Declares what there is: by class variables, a field and a property."""

    taught: int = 7
    samples_elsewhere: int = field(init=False, default=0)
    random_start: ClassVar[dict[str, Any]] = {"taught": 0}
    portable: ClassVar[bool] = False
    plans_for_budget: ClassVar[bool] = True
    takes_several: ClassVar[bool] = True
    has_policy: ClassVar[bool] = True
    has_adviser: ClassVar[bool] = True
    version: ClassVar[str] = "2"
    aliases: ClassVar[dict[str, str]] = {"lessons": "taught"}

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples_elsewhere", self.taught)

    @property
    def libraries(self) -> tuple[str, ...]:
        return ("scipy",) if self.taught else ()

    def begins(self, space: object) -> str:
        return "a taught point"

    def search(self, evaluate: Evaluator, rng: np.random.Generator, keep: object = None) -> None:
        super().search(evaluate, rng)


def declaring(**values: Any) -> Any:
    """A searcher whose class has these variables."""
    return type("Odd", (Plain,), values)()


def test_a_searcher_that_declares_nothing_has_the_defaults() -> None:
    assert abilities_of(Plain()) == Abilities()
    assert abilities_of(Plain()).declared == {}


def test_class_variables_fields_and_properties_declare_alike() -> None:
    able = abilities_of(Taught())
    assert able.begins is not None
    assert able.begins(PROBLEM.space) == "a taught point"
    assert able.declared == {
        "version": "2",
        "libraries": ["scipy"],
        "portable": False,
        "plans_for_budget": True,
        "samples_elsewhere": 7,
        "takes_several": True,
        "random_start": {"taught": 0},
        "begins": True,
        "has_policy": True,
        "has_adviser": True,
        "aliases": {"lessons": "taught"},
    }
    assert able.declared.keys() == {item.name for item in dataclasses.fields(Abilities)}
    assert abilities_of(Taught(taught=0)).libraries == ()


def test_a_version_is_of_the_class_that_says_it() -> None:
    assert abilities_of(type("Heir", (Taught,), {})()).version == ""
    assert abilities_of(type("Heir", (Taught,), {})()).libraries == ("scipy",)


def test_a_class_declares_what_does_not_depend_on_its_settings() -> None:
    able = abilities_of(Taught)
    assert (able.portable, able.random_start) == (False, {"taught": 0})
    assert (able.libraries, able.samples_elsewhere, able.begins) == ((), 0, None)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"portable": "no"}, "portable must be True or False, got 'no'"),
        ({"plans_for_budget": 1}, "plans_for_budget must be True or False, got 1"),
        ({"libraries": "torch"}, "libraries must be a tuple of names of distributions, got 'torch'"),
        (
            {"libraries": ("torch", 2)},
            "libraries must be a tuple of names of distributions, got ('torch', 2)",
        ),
        ({"version": 2}, "version must be a text, got 2"),
        ({"aliases": {"links": "chain"}}, "aliases must be a table of former names and of the settings that"),
        ({"samples_elsewhere": -3}, "samples_elsewhere must be at least 0, got -3"),
        ({"samples_elsewhere": 1.5}, "samples_elsewhere must be a whole number, got 1.5"),
        ({"random_start": ["chains"]}, "random_start must be a table of settings, got ['chains']"),
        ({"random_start": {"chain": 1}}, "random_start must set some of chains, got {'chain': 1}"),
        ({"begins": "at random"}, "begins must be a method, got 'at random'"),
        ({"has_policy": True}, "has_policy is for one whose search takes keep, a third argument"),
        (
            {"libraries": property(lambda self: self.missing)},
            "libraries cannot be read: AttributeError: 'Odd' object has no attribute 'missing'",
        ),
        ({"samples_elsewhere": property(lambda self: 1 // 0)}, "samples_elsewhere cannot be read: ZeroDiv"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_before_a_sample_is_spent(
    values: dict[str, Any], message: str
) -> None:
    odd = declaring(**values)
    for attempt in (
        lambda: abilities_of(odd),
        lambda: package.search(PROBLEM, odd, budget=10),
        lambda: check_searcher(odd),
    ):
        with pytest.raises(InputError) as refused:
            attempt()
        assert str(refused.value).startswith(f"searcher Odd: {message}")


def test_a_slip_in_an_ability_s_name_is_seen_but_settings_and_methods_are_free() -> None:
    slip = declaring(plan_for_budget=True, library=("torch",), notes="a class variable of its own")
    assert misnamed_abilities(slip) == {"plan_for_budget": "plans_for_budget"}
    assert misnamed_abilities(declaring(begin=lambda self: None, portables=())) == {"portables": "portable"}
    assert {name: misnamed_abilities(make_searcher(name)) for name in searchers()} == {
        name: {} for name in searchers()
    }
    [verdict] = check_searcher(slip, rules=[rule for rule in RULES if rule.name == "configuration"])
    assert not verdict.passed
    assert "plan_for_budget declares nothing: is it plans_for_budget?" in verdict.why


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of somebody else's, with one searcher."""
    source = """
        from dataclasses import dataclass
        from typing import ClassVar

        @dataclass(frozen=True)
        class Lucky:
            samples_elsewhere: ClassVar[int] = 300
            random_start: ClassVar[dict] = {}

            def search(self, evaluate, rng):
                while True:
                    evaluate(evaluate.space.sample(rng, 5))
    """
    (tmp_path / "lucky.py").write_text("\n".join(line[8:] for line in source.splitlines()))
    info = tmp_path / "lucky-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lucky\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\nlucky = lucky:Lucky\nplain = {__name__}:Plain\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("lucky", None)


@pytest.mark.usefixtures("installed")
def test_samples_elsewhere_of_somebody_else_s_searcher_are_recorded(tmp_path: Path) -> None:
    run(tmp_path / "runs", campaign(("lucky", make_searcher("lucky")), ("random", None), budget=10))
    summaries, _ = read_folder(tmp_path / "runs")
    assert {summary.searcher: summary.elsewhere for summary in summaries} == {"lucky": 300, "random": 0}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("name", "declared"),
    [("lucky", {"samples_elsewhere": 300, "random_start": {}}), ("plain", {})],
)
def test_a_check_says_first_what_a_searcher_declares(
    name: str, declared: dict[str, Any], dse: Dse, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partial(suite.check_rules, rules=[rule for rule in RULES if rule.name == "inside"])
    monkeypatch.setattr(suite, "check_rules", few)
    words = ", ".join(f"{ability} = {value}" for ability, value in declared.items()) or "nothing"
    assert dse("check", name).out.splitlines()[1].strip() == f"declares {words}"
    assert dse("check", name, "--json").json["declares"] == declared
