"""maddpg and masac as searchers: every form spends its budget, and an update is due after so many samples."""

from __future__ import annotations

import numpy as np
import pytest

from dse.search.evaluator import BudgetExhausted, Evaluator
from dse.search.record import Record
from dse.search.searcher import make_searcher
from dse.support.errors import InputError
from dse.testing.toy_problem import ToyProblem
from learners.offpolicy import TeamNetworks

FORMS = ("one-step", "construct", "refine")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["maddpg", "masac"])
def test_every_form_spends_the_budget_and_learns_meanwhile(
    name: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    updates = []
    monkeypatch.setattr(TeamNetworks, "follow", lambda networks: updates.append(len(networks.replay)))
    settings = {"form": form, "batch_size": 8, "train_freq": 10, "agents": "blocks"}
    record = Record(7)
    with pytest.raises(BudgetExhausted):
        make_searcher(name, settings).search(
            Evaluator(ToyProblem(), 40, record=record), np.random.default_rng(0)
        )
    assert len(record) == 40
    assert len(updates) in (3, 4)


def test_a_form_is_a_setting_that_changes_what_is_drawn() -> None:
    drawn = []
    for form in FORMS:
        record = Record(7)
        with pytest.raises(BudgetExhausted):
            make_searcher("masac", {"form": form}).search(
                Evaluator(ToyProblem(), 20, record=record), np.random.default_rng(0)
            )
        drawn.append(record.genes().tolist())
    assert drawn[0] != drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"form": "refined"}, "form"),
        ({"agents": "teams"}, "agents"),
        ({"batch_size": 10**9}, "batch_size must be at most 100000"),
        ({"ent_coef": -1.0}, "ent_coef must be a finite number of at least 0"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: dict, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        make_searcher("masac", settings)
