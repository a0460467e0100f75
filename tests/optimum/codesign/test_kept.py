"""Results of co-design that are kept: read again as they were, or proven again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.optimum.codesign import by_shares, kept
from dse.optimum.verification.codesign import verify_codesign
from dse.support.errors import StorageError
from tests.domains.codesign.spaces import gemmini
from tests.optimum.codesign.enumerated import LAYERS
from tests.optimum.codesign.test_codesign import KB

SPACE = gemmini([2], KB[:1], KB[1:2])


def proven(folder: Path, **more: Any) -> Any:
    return dse.codesign(LAYERS[:1], SPACE, "edp", cache=folder, **more)


def the_file(folder: Path) -> Path:
    (found,) = folder.glob("codesign-*.json")
    return found


@pytest.mark.usefixtures("few_draws")
def test_a_result_is_read_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = proven(tmp_path)
    monkeypatch.setattr("dse.optimum.codesign._prove", None)
    again = proven(tmp_path)
    assert again.best == json.loads(json.dumps(first.best))
    told, before = again.to_dict(), first.to_dict()
    for name in ("best", "cpu_seconds", "seconds", "proofs_kept"):
        told.pop(name)
        before.pop(name)
    assert told == before
    assert again.proofs_kept == again.proofs > 0
    assert all(check.passed for check in verify_codesign(again))


def test_another_question_has_another_file(tmp_path: Path) -> None:
    free = proven(tmp_path)
    latency = free.best["totals"]["latency"]
    capped = proven(tmp_path, max_latency=latency * 0.01)
    assert (free.status, capped.status) == ("optimal", "infeasible")
    again = proven(tmp_path, max_latency=latency * 0.01)
    assert (again.status, again.lower_bound, again.best) == ("infeasible", float("inf"), None)
    dse.codesign(by_shares(LAYERS[:1], [(LAYERS[1:2], 0.5)]), SPACE, "edp", cache=tmp_path)
    dse.codesign(by_shares(LAYERS[:1], [(LAYERS[1:2], 0.4)]), SPACE, "edp", cache=tmp_path)
    assert len(list(tmp_path.glob("codesign-*.json"))) == 4


@pytest.mark.parametrize("harm", ["code", "digest", "text", "value"])
def test_what_is_damaged_or_of_other_code_is_proven_again(harm: str, tmp_path: Path) -> None:
    first = proven(tmp_path)
    path = the_file(tmp_path)
    data = json.loads(path.read_text())
    if harm == "value":
        data["result"]["lower_bound"] *= 2
    else:
        data[harm] = "another"
    path.write_text("{" if harm == "text" else json.dumps(data))
    assert proven(tmp_path).lower_bound == first.lower_bound
    assert json.loads(path.read_text())["code"] == kept.code_version()


def test_nothing_is_kept_where_nothing_was_asked_to_be_or_the_time_ran_out(tmp_path: Path) -> None:
    dse.codesign(LAYERS[:1], SPACE, "edp", cache=False)
    proven(tmp_path, time_limit=1e-9)
    assert not list(tmp_path.glob("codesign-*.json"))


def test_a_folder_that_was_named_has_to_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        proven(tmp_path / "file")
