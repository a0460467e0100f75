"""A setting with a new name is read by both, and a search is the same by either."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

import pytest

from dse.campaign.config import changes_of_identity
from dse.domains.clustered.accelerator import PRESETS
from dse.domains.clustered.problem import Problem
from dse.search.abilities import abilities_of, current_settings, recorded_settings
from dse.search.run import Cell
from dse.search.searcher import make_searcher, searcher_class, searchers
from dse.support.errors import InputError
from searchers import SEARCHERS
from searchers.peers import PEERS
from workloads import load_layer

OURS = sorted(SEARCHERS | PEERS)
PROBLEM = Problem(load_layer("resnet18:1"), PRESETS["edge"], "edp", "maestro")


@dataclass(frozen=True)
class Before:
    population: int = 20
    rate: float = 0.5


@dataclass(frozen=True)
class Renamed:
    """The same, but for the name of one setting."""

    population_size: int = 20
    rate: float = 0.5
    aliases: ClassVar[Mapping[str, str]] = {"population": "population_size"}


@dataclass(frozen=True)
class Twice(Renamed):
    aliases: ClassVar[Mapping[str, str]] = {"crowd": "population_size", "people": "population_size"}


def test_a_renamed_setting_changes_neither_fingerprint_nor_draws() -> None:
    before, after = (Cell(PROBLEM, "s", made(30), 0, 10) for made in (Before, Renamed))
    assert after.identity_text == before.identity_text
    assert after.fingerprint == before.fingerprint
    assert after.rng().random() == before.rng().random()


def test_a_setting_that_was_renamed_twice_is_recorded_by_its_first_name() -> None:
    assert recorded_settings(Twice(population_size=7)) == {"crowd": 7, "rate": 0.5}
    for name in ("crowd", "people", "population_size"):
        assert current_settings(Twice, {name: 7}) == {"population_size": 7}


@pytest.mark.parametrize("pair", ["crowd population_size", "population_size people", "crowd people"])
def test_a_setting_that_is_given_by_two_names_is_refused(pair: str) -> None:
    with pytest.raises(InputError, match=r"^here: '.*' .* 'population_size'; give one of them$"):
        current_settings(Twice, dict.fromkeys(pair.split(), 5), "here")


@pytest.mark.parametrize("table", [{"rate": "population_size"}, {"old": "nothing"}, ["old"]])
def test_aliases_that_name_no_setting_are_refused(table: object) -> None:
    made = dataclass(frozen=True)(type("Wrong", (Renamed,), {"aliases": table}))
    with pytest.raises(InputError, match="searcher Wrong: aliases must be a table of former names"):
        abilities_of(made)


@pytest.mark.parametrize("name", OURS)
def test_every_searcher_of_ours_is_the_same_by_its_former_names(name: str) -> None:
    """What a record says of its settings makes the searcher that it is of."""
    made = searcher_class(name)
    given = {item.name for item in fields(made) if item.init}
    searcher = make_searcher(name)
    recorded = recorded_settings(searcher)
    # What a searcher has got since, and does nothing by default, is not mentioned.
    added = sum("added" in item.metadata for item in fields(made))
    assert len(recorded) == len(asdict(searcher)) - added
    read = {
        key: value for key, value in recorded.items() if abilities_of(made).aliases.get(key, key) in given
    }
    again = make_searcher(name, read)
    assert again == searcher
    assert (
        Cell(PROBLEM, name, again, 1, 5).rng().random() == Cell(PROBLEM, name, searcher, 1, 5).rng().random()
    )


def test_what_has_changed_is_told_by_the_names_that_settings_have_now() -> None:
    name = next(name for name in searchers() if name in OURS and abilities_of(searcher_class(name)).aliases)
    former, current = next(iter(abilities_of(searcher_class(name)).aliases.items()))
    before, now = ({"searcher": name, "settings": {former: value}} for value in (1, 2))
    assert changes_of_identity(before, now, "mine") == f"mine.{current} 1 -> 2"
